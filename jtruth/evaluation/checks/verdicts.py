"""Do the labels contradict what an answer rests on? Every check has a p-value, a verdict and what to do.

Learned error rates are checked against the model of independent errors by parametric bootstrap
(`_check_bootstrap`): labelers against the model, and the classifier against the labelers. Their verdicts hold
together: labels that fit raise one alarm or more in 5 of 100 sets. Given error rates and a given prior are
checked in `_check_given`, with Holm's correction.

A quiet check proves nothing: raters who make the same mistakes look like better raters, and much dependence
hides in the learned error rates. What the checks see, and how often, is measured in `benchmarks/checks.py`.
"""

from functools import partial
from typing import Any

import numpy as np

from jtruth._host import log, softmax
from jtruth._random import Key, stream
from jtruth._validation import present
from jtruth.evaluation.assumptions.learned import with_classifier
from jtruth.evaluation.checks import _given as given
from jtruth.evaluation.checks._bootstrap import Bootstrap, Component, bootstrap
from jtruth.evaluation.checks._texts import ALIKE, CLASSIFIER, LEARNED, PRIOR, RATES, SATURATED
from jtruth.evaluation.checks.chance import chance_check
from jtruth.evaluation.checks.groups import groups_check
from jtruth.evaluation.checks.missing import missing_check
from jtruth.evaluation.checks.sets import Parameters
from jtruth.evaluation.inputs import Inputs, Model
from jtruth.evaluation.parts import WORTH_KNOWING, Check
from jtruth.labels import Labels
from jtruth.noise import NoiseModel

ALARM = 0.05
FEW_LABELS = 10  # of a labeler


def checks_of(data: Inputs, model: Model, noise: Any, order: Any, key: Key) -> tuple[Check, ...]:
    """What the labels say against the assumptions of independent errors, or against what was given."""
    key, gold, by_chance = stream(key, "checks"), data.gold, chance_check(data, model)
    if model.refusal is not None:
        return (*refused(model.refusal), *by_chance)
    if data.model is not None:
        prior_given = data.prior is not None
        found = given_checks(model.log_likelihood, model.prior, data.y_pred, key, prior_given=prior_given,
                             labels=data.labels, noise=noise, gold=gold)  # fmt: skip
        return (*found, *by_chance)
    raters, start = with_classifier(data.own_labels(), data.y_pred), present(model.rates, "the learned rates")
    found, fit = learned_checks(raters, start, key, gold=gold, order=order, prior=data.prior), model.fit
    found = (*found, *groups_check(data.own_labels(), key))
    if fit is None:
        return (*found, *by_chance)
    missing = data.missing or missing_check(data.own_labels(), fit.class_posterior)
    return (*found, *missing, *by_chance)


def learned_checks(
    raters: Labels,
    start: Parameters,
    key: Key,
    *,
    gold: np.ndarray | None = None,
    order: np.ndarray | None = None,
    prior: np.ndarray | None = None,
) -> tuple[Check, ...]:
    """All checks of the model of independent errors, where error rates were learned.

    Args:
        raters: labels of all raters, the classifier's predictions as the last one's; every sample has one.
        start: fitted parameters, near the mode.
        key: JAX random key.
        gold: (samples,) known classes, -1 elsewhere.
        order: (samples,) when a sample was labelled, any scale; adds the check for drift.
        prior: (classes,) class prior that was given.
    """
    classes, size = raters.num_classes, int((raters.labels_per_labeler() > 0).sum())
    free = (classes - 1) * (size * classes + (prior is None))
    if (gold is None or not (gold >= 0).any()) and size < 30 and classes**size - 1 <= free:
        text = SATURATED.format(size, classes)
        return (Check("label patterns", None, None, "cannot be seen", text), *few_labels(raters))
    when = None
    if order is not None:
        rank = np.argsort(np.argsort(order, kind="stable"), kind="stable")
        when = 2.0 * rank / max(len(rank) - 1, 1) - 1
    found = bootstrap(raters, start, key, gold=gold, order=when, prior=prior)
    checks = [_learned(name, found, raters, free) for name in LEARNED if LEARNED[name][0] in found.checks]
    if "alike" in found.checks:
        checks.append(_alike(found.checks["alike"], raters))
    return (*checks, *few_labels(raters))


def labeler_checks(
    labels: Labels,
    prior: np.ndarray,
    matrices: np.ndarray,
    key: Key,
    *,
    gold: np.ndarray | None = None,
    order: np.ndarray | None = None,
) -> tuple[Check, ...]:
    """The same checks where no classifier is judged: labelers against the model of independent errors.

    Args:
        labels: of all labelers; samples without a label say nothing.
        prior: (classes,) learned.
        matrices: (labelers, classes, classes) learned.
        key: JAX random key.
        gold: (samples,) known classes, -1 elsewhere.
        order: (samples,) when a sample was labelled, any scale; adds the check for drift.
    """
    seen = np.flatnonzero(labels.labels_per_sample() > 0)
    nobody = np.full(seen.size, -1)  # a classifier who predicts nothing stands where the last rater does
    even = np.full((1, *matrices.shape[1:]), 1 / matrices.shape[1])
    start = Parameters(prior[None], np.concatenate([matrices, even])[None])
    known = None if gold is None else gold[seen]
    when = None if order is None else order[seen]
    raters = with_classifier(labels.restrict(seen), nobody)
    return (*learned_checks(raters, start, key, gold=known, order=when), *groups_check(labels, key))


def _learned(name: str, found: Bootstrap, raters: Labels, free: int) -> Check:
    key, fits, misfit, to_do = LEARNED[name]
    one, adjusted = found.checks[key], found.adjusted[key]
    more = "more" if one.value > 0 else "less"
    size = f"p = {one.p_value:.2g}"
    if one.p_value < ALARM <= adjusted:
        size += f", {adjusted:.2g} for all checks together"
    if key == "patterns":
        kinds = present(found.design.kind_size, "the number of rows of a kind").size
        freedom = found.design.known.size - kinds - free
        size = f"G2 = {one.value:.1f} on {freedom} degrees of freedom, {size}"
    elif key == "prior":
        size = f"likelihood ratio {one.value:.1f}, {size}"
    else:
        size = f"{abs(one.value):.1f} standard deviations off, {size}"
    if found.num_samples < raters.num_samples:
        size += f"; seen on {found.num_samples} of {raters.num_samples} samples"
    if adjusted >= ALARM:
        return Check(name, one.value, one.p_value, "fits", f"{fits} ({size})")
    what = misfit.format(_component_name(key, one.worst, found, raters), more)
    return Check(name, one.value, one.p_value, "does not fit", f"{what} ({size}). {to_do}")


def _component_name(key: str, worst: int, found: Bootstrap, raters: Labels) -> str:
    """The class, rater or pair behind a component."""
    if key in ("labelers together", "difficulty"):
        return repr(str(raters.class_names[worst]))
    if key == "agreement":
        return " and ".join(_rater(t, raters) for t in found.pairs[worst])
    return _rater(worst, raters)


def _rater(t: int | np.integer, raters: Labels) -> str:
    if t == raters.num_labelers - 1:
        return "the classifier"
    return f"labeler {str(raters.workers[t])!r}" if raters.workers else f"labeler {t}"


def _alike(one: Component, raters: Labels) -> Check:
    """Are labelers exchangeable? If not it is no misfit: learned error rates take it into account."""
    verdict = WORTH_KNOWING if one.p_value < ALARM else "fits"
    text = ALIKE[1].format(_rater(one.worst % (raters.num_labelers - 1), raters))
    text = text if verdict == WORTH_KNOWING else ALIKE[0]
    return Check("labelers alike", one.value, one.p_value, verdict, f"{text} (p = {one.p_value:.2g})")


def few_labels(raters: Labels) -> tuple[Check, ...]:
    """Are there enough labels to learn error rates from? The classifier is the last rater."""
    per_labeler = raters.labels_per_labeler()[:-1]
    per_sample = float(per_labeler.sum()) / max(raters.num_samples, 1)
    rare = np.flatnonzero(per_labeler < FEW_LABELS)
    if per_sample >= 2 and rare.size == 0:
        text = f"{per_sample:.1f} labels a sample, {per_labeler.min()} or more of every labeler"
        return (Check("enough labels", per_sample, None, "fits", text),)
    parts = []
    if per_sample < 2:
        parts.append(
            f"{per_sample:.1f} labels a sample: shared errors cannot be seen. Get a second and third label"
        )
    if rare.size:
        names = ", ".join(_rater(t, raters) for t in rare[:3]) + (", ..." if rare.size > 3 else "")
        parts.append(
            f"{rare.size} of {per_labeler.size} labelers have fewer than {FEW_LABELS} labels ({names}): "
            "their error rates are mostly prior. Get more labels of fewer labelers, or gold answers"
        )
    return (Check("enough labels", per_sample, None, "cannot be seen", ". ".join(parts)),)


def given_checks(
    log_likelihood: np.ndarray,
    prior: np.ndarray,
    y_pred: np.ndarray,
    key: Key,
    *,
    prior_given: bool,
    labels: Labels | None = None,
    noise: NoiseModel | None = None,
    gold: np.ndarray | None = None,
) -> tuple[Check, ...]:
    """Checks of given error rates (and of a given prior), where the answer takes them as known.

    Args:
        log_likelihood: (samples, classes) of the labels, without gold.
        prior: (classes,) given, or found from the labels.
        y_pred: (samples,) predicted classes.
        key: JAX random key.
        prior_given: whether to check the prior.
        labels, noise: where known, for the checks that need single labels.
        gold: (samples,) known classes, -1 elsewhere.
    """
    free = np.ones(len(y_pred), bool) if gold is None else gold < 0
    found: list[tuple[str, float, float, str, str]] = []
    if prior_given and (prior > 0).all():
        score = given.prior_score(log_likelihood[free], prior)
        if score is not None:
            found.append(("given prior", *score, *PRIOR))
    quiet: list[Check] = []
    if labels is not None and noise is not None:
        law = None
        if labels.num_labels <= given.MOST_LABELS and not labels.has_repeats():
            law = given.label_law(labels, noise, prior, key)
        if law is None:
            text = f"not checked: over {given.MOST_LABELS} labels, repeated labels, or none to compare"
            quiet.append(Check("given error rates", None, None, "cannot be seen", text))
        else:
            found.append(("given error rates", law.value, law.p_value, *RATES))
    covariates = partial(_covariates, log_likelihood, prior, labels, noise)
    for name, one in given.classifier_dependence(log_likelihood, prior, y_pred, covariates, key).items():
        if one is None:
            quiet.append(Check(name, None, None, "cannot be seen", "labels leave no doubt to compare with"))
        else:
            found.append((name, one.value, one.p_value, *CLASSIFIER))
    return (*_holm(found), *quiet)


def _covariates(
    log_likelihood: np.ndarray,
    prior: np.ndarray,
    labels: Labels | None,
    noise: NoiseModel | None,
    chosen: np.ndarray,
) -> dict[str, np.ndarray]:
    """What the classifier's errors are held against, (covariates, chosen samples, classes) each."""
    found = {"classifier and vote margin": softmax(log_likelihood[chosen] + log(prior))[None]}
    classes = prior.size
    if noise is not None and noise.hardness is not None:
        found["classifier and difficulty"] = np.repeat(noise.hardness[None, chosen, None], classes, axis=2)
    if labels is not None and not labels.has_repeats() and 1 < labels.num_labelers <= 30:
        z = labels.restrict(chosen).to_matrix()
        wrong = (z[:, :, None] != np.arange(classes)) & (z >= 0)[:, :, None]
        found["classifier and single labelers"] = np.moveaxis(wrong, 1, 0).astype(np.float64)
    return found


def _holm(found: list[tuple[str, float, float, str, str]]) -> list[Check]:
    """Verdicts that hold together (Holm), in the order of `found`."""
    order = np.argsort([f[2] for f in found], kind="stable")
    worst, adjusted = 0.0, {}
    for rank, k in enumerate(order):
        worst = max(worst, min(1.0, found[k][2] * (len(found) - rank)))
        adjusted[int(k)] = worst
    checks = []
    for k, (name, statistic, p_value, fits, misfit) in enumerate(found):
        bad = adjusted[k] < ALARM
        size = f"p = {p_value:.2g}"
        if p_value < ALARM <= adjusted[k]:
            size += f", {adjusted[k]:.2g} for all checks together"
        text = f"{misfit if bad else fits} ({size})"
        checks.append(Check(name, statistic, p_value, "does not fit" if bad else "fits", text))
    return checks


def refused(refusal: str) -> tuple[Check, ...]:
    """The check that stands where there is no answer."""
    name = "switching" if "switched" in refusal else "identified"
    return (Check(name, None, None, "cannot be seen", refusal),)
