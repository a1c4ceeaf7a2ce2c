"""Do the labels contradict what an answer rests on? Every check has a p-value, a verdict and what to do.

Learned error rates are checked against the model of independent errors by parametric bootstrap
(`checks.bootstrap`): labelers against the model, and the classifier against the labelers. Their verdicts hold
together: labels that fit raise one alarm or more in 5 of 100 sets. Given error rates and a given prior are
checked in `checks.of_given`, with Holm's correction.

A quiet check proves nothing: raters who make the same mistakes look like better raters, and much dependence
hides in the learned error rates. What the checks see, and how often, is measured in `benchmarks/checks.py`.
"""

import numpy as np

from jtruth._random import Key, stream
from jtruth._validation import present
from jtruth.evaluation.assumptions.learned import with_classifier
from jtruth.evaluation.checks.bootstrap import Bootstrap, Component, bootstrap
from jtruth.evaluation.checks.first_look import chance_check
from jtruth.evaluation.checks.label_sets import Parameters
from jtruth.evaluation.checks.of_given import GOLD_TELLS, given_checks
from jtruth.evaluation.checks.of_labels import groups_check, missing_check
from jtruth.evaluation.inputs import Inputs, Model
from jtruth.evaluation.parts import WORTH_KNOWING, Check
from jtruth.labels import Labels

ALARM = 0.05
FEW_LABELS = 10  # of a labeler

SATURATED = (
    "with {} raters and {} classes any labels fit the model of independent errors, so nothing can contradict "
    "it. Get labels of one more labeler, or find out the truth of 30 samples chosen at random"
)
# By name of the check: what fits, what does not, what to do.
LEARNED = {
    "label patterns": (
        "patterns of labels occur as often as independent errors make them",
        "patterns of labels do not occur as often as independent errors make them",
        "Intervals that assume independence are too narrow and may be off centre: " + GOLD_TELLS,
    ),
    "pairwise agreement": (
        "no two raters agree more or less often than the model says",
        "{} agree {} often than independent errors make them",
        "Ask whether one saw the other's answers, or whether some samples are hard for both",
    ),
    "labeler misfit": (
        "no rater's agreements with the others are off",
        "the agreements of {} with the other raters are off",
        "Look at this rater's labels, and evaluate once without them",
    ),
    "labelers share errors": (
        "labelers do not err together more or less often than the model says",
        "where the class is {}, labelers err together {} often than the model says",
        "Labels are worth less than their number: evaluate with assume='shared_difficulty', or " + GOLD_TELLS,
    ),
    "classifier and hard samples": (
        "the classifier's errors do not go with those of the labelers",
        "where the class is {}, the classifier errs {} often on samples that labelers get wrong",
        "assume='independent' does not hold: leave assume out, or " + GOLD_TELLS,
    ),
    "classifier and single labelers": (
        "the classifier's errors do not go with those of any one labeler",
        "the classifier errs {1} often where {0} errs",
        "Ask whether the classifier was trained on this labeler's labels; evaluate once without them",
    ),
    "given prior": (
        "the labels do not contradict the given class prior",
        "the labels contradict the given class prior",
        "Leave prior out to have it learned, or look whether the samples are from elsewhere",
    ),
    "drift": (
        "raters err as often late as early",
        "{} errs {} often late than early",
        "Evaluate early and late samples apart",
    ),
}
ALIKE = "labelers alike"
SAME, DIFFERENT = (
    "labelers are equally good as far as can be seen",
    "labelers are not equally good (farthest off is {}). Learned error rates take that into account; "
    "majority vote does not, so trust it less",
)


def checks_of(data: Inputs, model: Model, order: np.ndarray | None) -> tuple[Check, ...]:
    """What the labels say against the assumptions of independent errors, or against what was given."""
    key, gold, by_chance = stream(data.key, "checks"), data.gold, chance_check(data, model)
    if model.refusal is not None:
        return (*refused(model.refusal), *by_chance)
    if data.model is not None:
        prior_given = data.prior is not None
        found = given_checks(model.log_likelihood, model.prior, data.y_pred, key, prior_given=prior_given,
                             labels=data.labels, noise=data.noise, alike=data.alike)  # fmt: skip
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
    checks = [_learned(name, found, raters, free) for name in LEARNED if name in found.checks]
    if ALIKE in found.checks:
        checks.append(_alike(found.checks[ALIKE], raters))
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
    fits, misfit, to_do = LEARNED[name]
    one, adjusted = found.checks[name], found.adjusted[name]
    more = "more" if one.value > 0 else "less"
    size = f"p = {one.p_value:.2g}"
    if one.p_value < ALARM <= adjusted:
        size += f", {adjusted:.2g} for all checks together"
    if name == "label patterns":
        kinds = present(found.design.kind_size, "the number of rows of a kind").size
        freedom = found.design.known.size - kinds - free
        size = f"G2 = {one.value:.1f} on {freedom} degrees of freedom, {size}"
    elif name == "given prior":
        size = f"likelihood ratio {one.value:.1f}, {size}"
    else:
        size = f"{abs(one.value):.1f} standard deviations off, {size}"
    if found.num_samples < raters.num_samples:
        size += f"; seen on {found.num_samples} of {raters.num_samples} samples"
    if adjusted >= ALARM:
        return Check(name, one.value, one.p_value, "fits", f"{fits} ({size})")
    what = misfit.format(_component_name(name, one.worst, found, raters), more)
    return Check(name, one.value, one.p_value, "does not fit", f"{what} ({size}). {to_do}")


def _component_name(name: str, worst: int, found: Bootstrap, raters: Labels) -> str:
    """The class, rater or pair behind a component."""
    if name in ("labelers share errors", "classifier and hard samples"):
        return repr(str(raters.class_names[worst]))
    if name == "pairwise agreement":
        return " and ".join(_rater(t, raters) for t in found.pairs[worst])
    return _rater(worst, raters)


def _rater(t: int | np.integer, raters: Labels) -> str:
    if t == raters.num_labelers - 1:
        return "the classifier"
    return f"labeler {str(raters.workers[t])!r}" if raters.workers else f"labeler {t}"


def _alike(one: Component, raters: Labels) -> Check:
    """Are labelers exchangeable? If not it is no misfit: learned error rates take it into account."""
    verdict, text = "fits", SAME
    if one.p_value < ALARM:
        verdict = WORTH_KNOWING
        text = DIFFERENT.format(_rater(one.worst % (raters.num_labelers - 1), raters))
    return Check(ALIKE, one.value, one.p_value, verdict, f"{text} (p = {one.p_value:.2g})")


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


def refused(refusal: str) -> tuple[Check, ...]:
    """The check that stands where there is no answer."""
    name = "switching" if "switched" in refusal else "identified"
    return (Check(name, None, None, "cannot be seen", refusal),)
