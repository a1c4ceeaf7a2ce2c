"""`evaluate`: predictions and noisy labels in, posteriors of the classifier's metrics out.

Three situations. The noise model is given (or the log-likelihood array itself): the exact posterior. The
noise model is given but the class prior is not: the prior is integrated out (two classes). Neither is given:
both are learned from the labels, and unless somebody vouches for an assumption the answer is predictive
(`predictive`): what models of the labels say, widened by how far they were off on other data.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array

from jtruth._random import Stated, as_key, stated
from jtruth._validation import present
from jtruth.evaluation import _smyth, _tars, inputs
from jtruth.evaluation._drawn import drawn_answer
from jtruth.evaluation.answers import (
    answer_of,
    beyond_shares,
    headline_of,
    names_of,
    of_nothing,
    of_votes,
    prior_of,
    vote_metrics,  # fmt: skip
)
from jtruth.evaluation.assumptions.learned import joint_model, plug_in_model
from jtruth.evaluation.assumptions.model_error import check_kind, rests_on
from jtruth.evaluation.assumptions.registry import INDEPENDENT, UNKNOWN, Progress, check_assume, granted
from jtruth.evaluation.assumptions.sensitivity import Basis
from jtruth.evaluation.assumptions.what_if import Rows, WhatIf
from jtruth.evaluation.checks.first_look import look_at
from jtruth.evaluation.checks.groups import all_refused
from jtruth.evaluation.checks.prior_driven import known_noise_check, prior_check
from jtruth.evaluation.checks.verdicts import checks_of
from jtruth.evaluation.gold.answer import gold_answer, without_gold
from jtruth.evaluation.gold.measured import GoldSampling
from jtruth.evaluation.labeler_rows import Labeler
from jtruth.evaluation.labeler_words import odd_things
from jtruth.evaluation.learned_answers import over_assumptions, vouched
from jtruth.evaluation.order import read_order
from jtruth.evaluation.parts import PREDICTIVE, Assumption, Check, Provenance
from jtruth.evaluation.result import Evaluation
from jtruth.evaluation.targets import target_of
from jtruth.labels import Labels
from jtruth.stats.regions import check_level
from jtruth.tables.posterior import estimates
from jtruth.testing import binary_posterior, exact_posterior, unknown_prior
from jtruth.testing.methods import MULTICLASS_METHODS, multiclass_posterior
from jtruth.testing.tested import Tested

REFUSED = (
    "the checks refuse every model of these labels, so what each assumption says is not shown: what remains "
    "is how far such labels misled elsewhere"
)
ONE_AGAINST_REST = (
    "there are more than two classes and this method knows two: the metrics are those of {!r} against all "
    "others, and take errors not to depend on which of the others is true"
)


def evaluate(
    y_pred: Any,
    labels: Labels | np.ndarray | Array,
    *,
    noise: Any = None,
    prior: Sequence[float] | np.ndarray | None = None,
    gold: Any = None,
    assume: str | None = None,
    labelers_are: str | None = None,
    method: str = "bayes",
    positive: int | str | None = None,
    order: Any = None,
    target: str | None = None,
    level: float = 0.95,
    key: Any = None,
    progress: Progress | None = None,
) -> Evaluation:
    """How good is a classifier, judged by noisy labels?

    Args:
        y_pred: (samples,) predicted classes, as class names, or as codes 0..C-1 where their order is known. A
            Series, dict or frame with task ids is matched by them; a plain sequence is in the order of the
            samples (`labels.tasks`). The same holds for `gold` and `order`.
        labels: `Labels`, or the array log p(z_i | y_i = c) of shape (samples, classes).
        noise: a noise model (`jt.noise...`) of known parameters; learned from the labels if None.
        prior: (classes,) class prior. If None and the noise is given, it is integrated out (uniform prior).
        gold: (samples,) known classes, -1 where unknown. With learned error rates and assume "unknown" they
            say what the labels are worth (`jtruth.evaluation.gold.tables`); else they are clamped.
            Gold that is not a random sample of all is a `jtruth.io.Gold`, as `read_gold_sample` reads it.
        assume: what classifier and labelers share given the class: "unknown" (None means the same), as much
            as on public data sets; "independent", nothing; "shared_difficulty", hard samples;
            "partly_shared", an unknown part of them (four or more labels a sample).
            Only with learned error rates and method "bayes"; other answers take errors as independent.
        labelers_are: "people", "experts", "llm_judges" (automatic metrics too) or None, who labels: where
            nobody vouches for an assumption and there is no gold it says how far models of labels may be off.
        method: "bayes" (exact posterior), "empirical_bayes", "sampling", "exact_means", "labels",
            "no_predictions", "prior_marginal" (see `jtruth.testing`), "majority_vote", "plug_in"
            (learned error rates taken as known), "smyth" (classes by EM taken as true), or "tars" (unbiased
            counts with confidence intervals for the population; error rates and prior given).
        positive: code or name of the positive class, whose precision, recall and so on are meant; class 1
            if None. Of more than two classes: where it is given, "empirical_bayes", "sampling",
            "exact_means", "labels", "no_predictions" and "prior_marginal" test this class against all others
            and say so, accuracy too; else, and by the other methods always, the full table is tested.
        order: (samples,) when each sample was labelled, on any scale; adds a check for raters who change.
        target: "in-sample" (the default, but for "tars") or "population", see `jtruth.evaluation.targets`.
        level: probability of the printed intervals.
        key: of whatever is drawn at random: a whole number or a JAX key; 0 if None.
        progress: called with (sweeps done, sweeps planned) while learned error rates are sampled.

    Returns:
        An `Evaluation`; print it.

    Raises:
        ValueError: unusable input, naming what and where.

    >>> import jtruth as jt
    >>> z = np.array([[1, 1], [0, 0], [1, 0], [0, 0], [1, 1], [0, 0]])
    >>> labels, noise = jt.Labels.from_matrix(z, 2), jt.noise.Symmetric(0.1, 2)
    >>> result = jt.evaluate([1, 0, 1, 0, 1, 0], labels, noise=noise, prior=[0.5, 0.5])
    >>> round(result.accuracy.mean, 3)
    0.961
    """
    level = check_level(level)
    check_assume(assume)
    inputs.check_method(method)
    data = inputs.read(y_pred, labels, noise, prior, gold, positive)
    order = read_order(order, data)
    learned, nobody = data.model is None and method == "bayes", assume in (None, UNKNOWN)
    sampling = GoldSampling(*inputs.read_sampling(gold, data, learned and nobody))
    asked = _Asked(method, assume, level, as_key(key), stated(key), progress, order)
    data.labelers_are = check_kind(labelers_are, learned and nobody)
    data.target = target_of(target, method, learned, bool(data.num_gold))
    found = _learned(data, asked, sampling) if learned else _known(data, asked, noise)
    alarms = look_at(data, {"": data.y_pred}, learned and nobody and sampling.unknown)
    checks = (*alarms, *checks_of(data, found.model, noise, order, asked.key))
    if found.kind == PREDICTIVE and all_refused(checks):  # no model's what-if means anything then
        said = (REFUSED, *found.answer.warnings)
        found = found._replace(what_if=Rows(), answer=found.answer._replace(warnings=said))
    return _evaluation(data, asked, found._replace(checks=(*checks, *found.checks)), noise)


class _Asked(NamedTuple):
    """How `evaluate` was asked."""

    method: str
    assume: str | None
    level: float
    key: Array
    stated: Stated
    progress: Progress | None
    order: np.ndarray | None


class _Found(NamedTuple):
    """What came of it."""

    answer: Tested
    model: inputs.Model
    labelers: tuple[Labeler, ...]
    kind: str = "posterior"
    what_if: WhatIf | None = None  # None: the answer is that of one assumption
    advice: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()


def _learned(data: inputs.Inputs, asked: _Asked, sampling: GoldSampling) -> _Found:
    """Error rates are learned: gold, a predictive law, or what somebody vouches for."""
    key, level, progress = asked.key, asked.level, asked.progress
    nobody = asked.assume in (None, UNKNOWN)
    pooled = nobody and data.num_gold > 0
    unaided = without_gold(data) if pooled else data
    model = joint_model(unaided, key, level, progress)
    fit, answered = model.fit, model.refusal is None
    if pooled:
        fit = present(fit, "the joint posterior")
        data.missing = unaided.missing
        pool = gold_answer(data, fit, sampling, level, key, progress)
        if not answered:  # labels alone say nothing of labelers, or exchange classes; gold names them
            model = joint_model(data, key, level, progress)
        return _Found(model=model, **pool._asdict())
    if nobody and fit is not None and fit.identified:
        answer, what_if, labelers = over_assumptions(data, fit, level, key, progress)
        found = _Found(answer, model, labelers, PREDICTIVE, what_if)
    elif answered and asked.assume != INDEPENDENT:  # what the joint posterior itself answers
        answer, rows, checks, labelers = vouched(data, str(asked.assume), level, key, progress)
        return _Found(answer, model, labelers, what_if=Rows(rows), checks=checks)
    else:
        found = _Found(_answer(data, model, key, asked.method), model, model.labelers)
    if answered:
        found = found._replace(checks=prior_check(data, fit, level))
    return found


def _known(data: inputs.Inputs, asked: _Asked, noise: Any) -> _Found:
    """Error rates are given, or taken as known once they are learned."""
    model, method = data.model, asked.method
    if model is None:
        _tars.check_noise(method)
        model = _smyth.smyth_model(data) if method == _smyth.SMYTH else plug_in_model(data)
    if method == _tars.TARS:
        return _Found(_tars.tars_answer(data, model, noise, asked.key), model, model.labelers, _tars.KIND)
    answer = _answer(data, model, asked.key, method)
    return _Found(
        answer, model, model.labelers, checks=known_noise_check(answer, headline_of(data), asked.level)
    )


def _evaluation(data: inputs.Inputs, asked: _Asked, found: _Found, noise: Any) -> Evaluation:
    """Everything that was found, under its public names."""
    answer, model = found.answer, found.model
    metrics = estimates(answer.table, answer.classes, answer.positive)
    said = (*model.warnings, *inputs.warnings(data), *answer.warnings)
    if asked.method != _tars.TARS:  # its unbiased counts are not kept to [0, 1]
        said += beyond_shares(metrics, asked.level)
    learned = model.fit is not None and asked.assume == INDEPENDENT
    sentence = granted(INDEPENDENT, learned=learned) + (_tars.TARGET if asked.method == _tars.TARS else "")
    alone = Assumption(INDEPENDENT, sentence, metrics, None, answer.table)
    return Evaluation(
        provenance=Provenance(asked.method, data.target, asked.level, found.kind, asked.stated),
        metrics=metrics,
        posterior=answer.table,
        cells=answer.table.cells(asked.level),
        num_samples=data.y_pred.size,
        num_labelers=data.num_labelers,
        num_labels=data.num_labels,
        classes=answer.classes,
        positive=data.classes[data.positive],
        headline=headline_of(data),
        prior=prior_of(data, model, answer.classes),
        labelers=found.labelers,
        baselines={"majority_vote": vote_metrics(data, answer)} if data.labels is not None else {},
        what_if=found.what_if or Rows((alone,)),
        checks=found.checks,
        warnings=tuple(dict.fromkeys(said)),
        advice=found.advice,
        num_gold=data.num_gold,
        log_evidence=_log_evidence(answer, model, data),
        fit=answer.fit,
        basis=Basis(data, model, noise),
        rests_on=rests_on(data.labelers_are) if found.kind == PREDICTIVE else "",
        suspicious=odd_things(data, model, asked.order),
    )


def _answer(data: inputs.Inputs, model: inputs.Model, key: Array, method: str) -> Tested:
    """Posterior of the table, by the method and by what is known."""
    if model.refusal is not None:
        return of_nothing(data, method)
    if method == "majority_vote":
        return of_votes(data)
    if data.drawn is not None and method == "bayes":
        model.warnings = tuple(warning for warning in model.warnings if warning != inputs.AT_MEAN)
        return drawn_answer(data, data.drawn, key, partial(_answer, method=method))
    if model.count_draws is not None:
        return answer_of(model.count_draws, data)._replace(fit=model.fit)
    if method != "bayes" and model.prior_unknown:
        raise ValueError(
            f"method={method!r} takes the class prior as known: give prior=[...], or use 'bayes'"
        )
    if method == _smyth.SMYTH:
        return _smyth.smyth_answer(data, model)
    known = "bayes" if method == "plug_in" else method
    if len(data.classes) > 2 and (known == "bayes" or not data.one_against_rest):
        return _any_classes(data, model, known, key)
    y = (data.y_pred == data.positive).astype(np.int32)
    if model.prior_unknown:
        return _prior_integrated_out(data, model, y)
    found = binary_posterior(inputs.log_odds(data, model), y, method=known, key=key)
    found = found._replace(classes=data.binary_classes)
    if len(data.classes) == 2:
        return found
    return found._replace(warnings=(*found.warnings, ONE_AGAINST_REST.format(data.classes[data.positive])))


def _any_classes(data: inputs.Inputs, model: inputs.Model, method: str, key: Array) -> Tested:
    """More than two classes, known noise: the full table."""
    if method not in MULTICLASS_METHODS:
        raise ValueError(
            f"method={method!r} knows two classes: say positive=... for one class against all others, or use "
            f"{', '.join(MULTICLASS_METHODS)}"
        )
    classes, positive = names_of(data)
    found = multiclass_posterior(
        model.log_likelihood, model.prior, data.y_pred, key=key, method=method, classes=classes
    )
    return found._replace(positive=positive)


def _prior_integrated_out(data: inputs.Inputs, model: inputs.Model, y: np.ndarray) -> Tested:
    """Two classes, known noise, unknown prior: a mixture of exact tables over a uniform prior."""
    positive = data.positive
    ratio = model.log_likelihood[:, positive] - model.log_likelihood[:, 1 - positive]
    mixture = unknown_prior(ratio, y, exact_posterior=exact_posterior)
    model.prior_found(float(mixture.parameter @ mixture.weight), positive)
    negative = model.log_likelihood[:, 1 - positive]
    log_evidence = mixture.log_evidence + float(negative[np.isfinite(negative)].sum())
    note = "the class prior was not given; it is integrated out over a uniform prior"
    return Tested("bayes", mixture, None, log_evidence, (note,), data.binary_classes, 1)


def _log_evidence(answer: Tested, model: inputs.Model, data: inputs.Inputs) -> float:
    """log p(y_pred, z) of a known noise model (several classes: of the collapsed predictions); else NaN."""
    if data.model is None or model.prior_unknown:
        return answer.log_evidence
    return answer.log_evidence + inputs.log_label_evidence(model)
