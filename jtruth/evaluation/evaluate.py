"""`evaluate`: predictions and noisy labels in, posteriors of the classifier's metrics out.

Three situations. The noise model is given (or the log-likelihood array itself): the exact posterior. The
noise model is given but the class prior is not: the prior is integrated out (two classes). Neither is given:
both are learned from the labels, and unless somebody vouches for an assumption the answer is a sensitivity
range over several (`ranges`).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Array

from jtruth._random import as_key, stream
from jtruth.evaluation import inputs, ranges
from jtruth.evaluation._check_chance import chance_check
from jtruth.evaluation._check_data import Parameters
from jtruth.evaluation.answers import (
    Answer,
    CountDrawsPosterior,
    of_binary,
    of_draws,
    of_nothing,
    of_numbers,
)
from jtruth.evaluation.checks import given_checks, learned_checks, refused
from jtruth.evaluation.learned import joint_model, plug_in_model, with_classifier
from jtruth.evaluation.result import Assumption, Check, Evaluation
from jtruth.evaluation.sensitivity import sensitivity
from jtruth.evaluation.with_gold import GoldSampling, gold_answer
from jtruth.labels import Labels
from jtruth.learning.joint import JointPosterior
from jtruth.stats.regions import check_level
from jtruth.testing import BinaryPosterior, binary_posterior, exact_posterior, majority_metrics, unknown_prior
from jtruth.testing.count_posterior import count_posterior

INDEPENDENT = "given the true class, the classifier and the labelers err independently of one another"

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
    gold_inclusion: Any = None,
    gold_strata: Any = None,
    assume: str | None = None,
    method: str = "bayes",
    positive: int | str = 1,
    order: Any = None,
    fast: bool = False,
    level: float = 0.95,
    key: Any = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """How good is a classifier, judged by noisy labels?

    Args:
        y_pred: (samples,) predicted classes, as class names, or as codes 0..C-1 where their order is known. A
            Series, dict or frame with task ids is matched by them; a plain sequence is in the order of the
            samples (`labels.tasks`). The same holds for `gold`, `order` and the two after `gold`.
        labels: `Labels`, or the array log p(z_i | y_i = c) of shape (samples, classes).
        noise: a noise model (`jt.noise...`) of known parameters; learned from the labels if None.
        prior: (classes,) class prior. If None and the noise is given, it is integrated out (uniform prior).
        gold: (samples,) known classes, -1 where unknown. With learned error rates and assume "unknown" they
            correct the answer by the pooled rule of `jtruth.evaluation.gold`; otherwise they are clamped.
        gold_inclusion, gold_strata: (samples,) how gold was chosen: probability of each sample to be asked,
            or strata inside which gold is random. By default gold is a random sample of all.
        assume: what classifier and labelers share given the class: "unknown" (None means the same), a
            sensitivity range over assumptions; "independent", nothing; "shared_difficulty", hard samples.
            Only with learned error rates and method "bayes"; other answers take errors as independent.
        method: "bayes" (exact posterior), "empirical_bayes", "sampling", "exact_means", "labels",
            "no_predictions", "prior_marginal" (see `jtruth.testing`), "majority_vote", or "plug_in":
            learned error rates taken as known.
        positive: code or name of the positive class. Of more than two classes, precision,
            recall and so on are its own.
        order: (samples,) when each sample was labelled, on any scale; adds a check for raters who change.
        fast: a sensitivity range of fewer assumptions, in a second or two.
        level: probability of the printed intervals.
        key: of whatever is drawn at random: a whole number or a JAX key; 0 if None ("sampling" needs one).
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
    inputs.check_options(assume, method, key)
    data = inputs.read(y_pred, labels, noise, prior, gold, positive)
    order = inputs.read_order(order, data)
    pooled = data.model is None and method == "bayes" and assume in (None, "unknown")
    sampling = GoldSampling(*inputs.read_sampling(gold_inclusion, gold_strata, data, pooled))
    key = as_key(key)
    model, learned = data.model, data.model is None and method == "bayes"
    if learned:
        several = assume in (None, "unknown") and not fast and not (data.gold >= 0).any()
        model = joint_model(data, key, level, progress, pointwise=several)
    elif model is None:
        model = plug_in_model(data)
    assumptions: tuple[Assumption, ...] = ()
    kind, advice = "posterior", ()
    if learned and assume in (None, "unknown") and (data.gold >= 0).any() and model.refusal is None:
        answer, assumptions, advice = gold_answer(data, sampling, level, key, progress)
        kind = "pooled interval"
    elif learned and assume != "independent" and model.refusal is None:
        answer, assumptions = _without_independence(data, model, assume, fast, level, key, progress)
        kind = "sensitivity range" if len(assumptions) > 1 else kind
    else:
        answer = _answer(data, model, method, level, key)
    return Evaluation(
        method=method,
        level=level,
        interval_kind=kind,
        metrics=answer.metrics,
        confusion_matrix=answer.confusion.mean,
        confusion_low=answer.confusion.low,
        confusion_high=answer.confusion.high,
        num_samples=data.y_pred.size,
        num_labelers=data.num_labelers,
        num_labels=data.num_labels,
        classes=data.binary_classes if answer.confusion.mean.shape[0] == 2 else data.classes,
        positive=data.classes[data.positive],
        prior=model.prior,
        labelers=model.labelers,
        baselines={"majority_vote": _majority(data)} if data.labels is not None else {},
        assumptions=assumptions or (Assumption("independent", INDEPENDENT, answer.metrics),),
        checks=(*_checks(data, model, noise, order, key), *chance_check(data, model)),
        warnings=tuple(dict.fromkeys((*model.warnings, *inputs.warnings(data), *answer.warnings))),
        advice=advice,
        posterior=answer.posterior,
        named=answer.named,
        num_gold=int((data.gold >= 0).sum()),
        log_evidence=_log_evidence(answer, model, data),
        moved=partial(sensitivity, data, model, level, noise),
    )


def _without_independence(
    data: inputs.Inputs,
    model: inputs.Model,
    assume: str | None,
    fast: bool,
    level: float,
    key: Any,
    progress: Any,
) -> tuple[Answer, tuple[Assumption, ...]]:
    """Error rates are learned and nobody vouches for independence: a range, or shared difficulty's answer."""
    two = len(data.classes) == 2
    if assume == "shared_difficulty":
        names = ("shared_strata", "random_effect") if two else ("shared_strata",)
        found, doubts = ranges.members(names, data, key, level, progress)
        if not found:
            return of_nothing()._replace(warnings=tuple(doubts)), ()
        answer = ranges.pooled_answer(found, data, level)
        one = Assumption("shared_difficulty", ranges.SHARED, answer.metrics)
        return answer._replace(warnings=tuple(doubts)), (one,)
    names = ranges.FAST if fast and two else tuple(ranges.SENTENCES)
    known = {"independent": model.source}
    found, doubts = ranges.members(names, data, key, level, progress, known, pointwise=not fast)
    answer = ranges.range_answer(found, ranges.FAST if fast and two else ranges.HULL)
    rows = tuple(
        Assumption(m.name, ranges.SENTENCES[m.name], m.answer.metrics, loo)
        for m, loo in zip(found, ranges.loo_of(found), strict=True)
    )
    return answer._replace(warnings=(ranges.ONLY_GOLD, *doubts)), rows


def _answer(data: inputs.Inputs, model: inputs.Model, method: str, level: float, key: Any) -> Answer:
    """Posterior of the metrics, by the method and by what is known."""
    if model.refusal is not None:
        return of_nothing()
    if method == "majority_vote":
        return of_numbers(_majority(data), ("majority vote is taken as the truth: there is no uncertainty",))
    if model.count_draws is not None:
        found = CountDrawsPosterior(model.count_draws, data.classes, data.positive, model.source)
        return of_draws(found, level)
    if len(data.classes) > 2 and method in ("bayes", "plug_in"):
        draws = count_posterior(model.log_likelihood, model.prior, data.y_pred, key=key)
        doubt = () if draws.converged else (f"the sampler did not converge in {draws.num_sweeps} sweeps",)
        return of_draws(CountDrawsPosterior(draws.counts, data.classes, data.positive, draws), level, doubt)
    y = (data.y_pred == data.positive).astype(np.int32)
    if not model.prior_unknown:
        known = "bayes" if method == "plug_in" else method
        found = binary_posterior(inputs.log_odds(data, model), y, method=known, key=key)
        if len(data.classes) > 2:
            found = found._replace(
                warnings=(*found.warnings, ONE_AGAINST_REST.format(data.classes[data.positive]))
            )
        return of_binary(found, level)
    if method != "bayes":
        raise ValueError(
            f"method={method!r} takes the class prior as known: give prior=[...], or use 'bayes'"
        )
    return _prior_integrated_out(data, model, y, level)


def _prior_integrated_out(data: inputs.Inputs, model: inputs.Model, y: np.ndarray, level: float) -> Answer:
    """Two classes, known noise, unknown prior: a mixture of exact tables over a uniform prior."""
    positive = data.positive
    ratio = model.log_likelihood[:, positive] - model.log_likelihood[:, 1 - positive]
    mixture = unknown_prior(ratio, y, exact_posterior=exact_posterior)
    model.prior_found(float(mixture.parameter @ mixture.weight), positive)
    negative = model.log_likelihood[:, 1 - positive]
    log_evidence = mixture.log_evidence + float(negative[np.isfinite(negative)].sum())
    note = "the class prior was not given; it is integrated out over a uniform prior"
    found = BinaryPosterior("bayes", mixture.estimate, mixture.joint, mixture, log_evidence, None, (note,))
    return of_binary(found, level)


def _log_evidence(answer: Answer, model: inputs.Model, data: inputs.Inputs) -> float:
    """log p(y_pred, z) of a known noise model (several classes: of the collapsed predictions); else NaN."""
    if data.model is None or model.prior_unknown:
        return answer.log_evidence
    return answer.log_evidence + inputs.log_label_evidence(model)


def _majority(data) -> dict[str, float]:
    votes = np.asarray(data.labels.counts(), np.float64)
    positive = votes[:, data.positive]
    rest = np.delete(votes, data.positive, axis=1).max(axis=1)  # the strongest other class
    y = (data.y_pred == data.positive).astype(np.int32)
    return majority_metrics(y, np.stack([rest, positive], 1))


def _checks(data: inputs.Inputs, model: inputs.Model, noise: Any, order: Any, key: Any) -> tuple[Check, ...]:
    """What the labels say against the assumptions of independent errors, or against what was given."""
    key, gold = stream(key, "checks"), data.gold
    if model.refusal is not None:
        return refused(model.refusal)
    if data.model is not None:
        prior_given = data.prior is not None
        return given_checks(model.log_likelihood, model.prior, data.y_pred, key, prior_given=prior_given,
                            labels=data.labels, noise=noise, gold=gold)  # fmt: skip
    assert data.labels is not None
    raters, source = with_classifier(data.labels, data.y_pred), model.source
    if isinstance(source, JointPosterior):
        assert source.classifier is not None
        matrices = np.concatenate([source.mean_matrices, source.classifier.mean(0)[None]])
        start = Parameters(source.prior.mean(0)[None], matrices[None])
    else:
        start = Parameters(source.prior[None], source.matrices[None])
    return learned_checks(raters, start, key, gold=gold, order=order, prior=data.prior)
