"""`evaluate`: predictions and noisy labels in, posteriors of the classifier's metrics out.

Three situations. The noise model is given (or the log-likelihood array itself): the exact posterior. The
noise model is given but the class prior is not: the prior is integrated out (two classes). Neither is given:
both are learned from the labels.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Array, Key

from jtruth.evaluation import inputs
from jtruth.evaluation.learned import learned_model
from jtruth.evaluation.result import Assumption, Check, Evaluation
from jtruth.labels import Labels
from jtruth.stats.regions import check_level
from jtruth.testing.baselines import majority_metrics
from jtruth.testing.binary import BinaryPosterior, binary_posterior, exact_posterior
from jtruth.testing.metrics import METRICS
from jtruth.testing.plug_in import point_estimate
from jtruth.testing.unknown import unknown_prior

INDEPENDENT = "given the true class, the classifier and the labelers err independently of one another"


def evaluate(
    y_pred: Any,
    labels: Labels | np.ndarray | Array,
    *,
    noise: Any = None,
    prior: Sequence[float] | np.ndarray | None = None,
    gold: Any = None,
    assume: str | None = None,
    method: str = "bayes",
    positive: int | str = 1,
    level: float = 0.95,
    key: Key[Array, ""] | None = None,
) -> Evaluation:
    """How good is a classifier, judged by noisy labels?

    Args:
        y_pred: (samples,) predicted classes, as codes 0..C-1 or class names.
        labels: `Labels`, or the array log p(z_i | y_i = c) of shape (samples, classes).
        noise: a noise model (`jt.noise...`) of known parameters; learned from the labels if None.
        prior: (classes,) class prior. If None and the noise is given, it is integrated out (uniform prior).
        gold: (samples,) known classes, -1 where unknown.
        assume: "independent" (None means the same): what classifier and labelers share given the class.
        method: "bayes" (exact posterior), "empirical_bayes", "sampling", "exact_means", "labels",
            "no_predictions", "prior_marginal" (see `jtruth.testing`), or "majority_vote".
        positive: code or name of the positive class. Of more than two classes it is tested
            against the rest.
        level: probability of the printed intervals.
        key: PRNG key; "sampling" needs one.

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
    model = data.model if data.model is not None else learned_model(data)
    x = inputs.log_odds(data, model)
    warnings = list(model.warnings) + inputs.warnings(data)
    if not model.identified:
        estimates = {name: point_estimate(float("nan")) for name in METRICS}
        nothing = np.full((2, 2), np.nan)
        found, confusion, named = None, (nothing, nothing, nothing), None
    elif method == "majority_vote":
        answers = _majority(data)
        estimates = {name: point_estimate(answers[name]) for name in METRICS}
        nothing = np.full((2, 2), np.nan)
        found, confusion, named = None, (nothing, nothing, nothing), None
        warnings.append("majority vote is taken as the truth: there is no uncertainty in these numbers")
    else:
        found = _posterior(data, model, x, method, key)
        warnings += found.warnings
        named = found.estimate
        estimates = {name: found.estimate(name) for name in METRICS}
        confusion = _confusion(found, level)
    assumption = Assumption("independent", INDEPENDENT, estimates)
    return Evaluation(
        method=method,
        level=level,
        interval_kind="posterior",
        metrics=estimates,
        confusion_matrix=confusion[0],
        confusion_low=confusion[1],
        confusion_high=confusion[2],
        num_samples=data.y_pred.size,
        num_labelers=data.num_labelers,
        num_labels=data.num_labels,
        classes=data.binary_classes,
        positive=data.classes[data.positive],
        prior=np.array([1 - model.positive_share(data.positive), model.positive_share(data.positive)]),
        labelers=model.labelers,
        baselines={"majority_vote": _majority(data)} if data.labels is not None else {},
        assumptions=(assumption,),
        checks=tuple(_checks(model)),
        warnings=tuple(dict.fromkeys(warnings)),
        posterior=found,
        log_evidence=_log_evidence(found, model, data),
        named=named,
        num_gold=int((data.gold >= 0).sum()),
    )


def _posterior(data, model, x, method, key) -> BinaryPosterior:
    """Posterior by the method; an unknown prior is integrated out where that is exact."""
    y = (data.y_pred == data.positive).astype(np.int32)
    if not model.prior_unknown:
        return binary_posterior(x, y, method=method, key=key)
    if method != "bayes":
        raise ValueError(
            f"method={method!r} takes the class prior as known: give prior=[...], or use 'bayes'"
        )
    mixture = unknown_prior(x - model.log_prior_odds, y, exact_posterior=exact_posterior)
    negative = model.log_likelihood[:, 1 - data.positive]
    log_evidence = mixture.log_evidence + float(negative[np.isfinite(negative)].sum())
    model.prior_found(float(mixture.parameter @ mixture.weight))
    note = "the class prior was not given; it is integrated out over a uniform prior"
    return BinaryPosterior(method, mixture.estimate, mixture.joint, mixture, log_evidence, None, (note,))


def _log_evidence(found, model, data) -> float:
    """log p(y_pred, z) of a known noise model (several classes: of the collapsed predictions); else NaN."""
    if found is None or not np.isfinite(found.log_evidence) or data.model is None:
        return float("nan")
    if model.prior_unknown:
        return found.log_evidence
    return found.log_evidence + inputs.log_label_evidence(model)


def _confusion(found: BinaryPosterior, level: float):
    """Mean and interval of the four counts, rows true (negative, positive), columns predicted."""
    table = found.table
    if table is None:
        nothing = np.full((2, 2), np.nan)
        return nothing, nothing, nothing
    n1, n0 = table.n1, table.n0
    a, b = table.count_law(0), table.count_law(1)
    ia, ib = a.interval(level), b.interval(level)
    mean = np.array([[n0 - b.mean, n1 - a.mean], [b.mean, a.mean]])
    low = np.array([[n0 - ib.high, n1 - ia.high], [ib.low, ia.low]])
    high = np.array([[n0 - ib.low, n1 - ia.low], [ib.high, ia.high]])
    return mean, low, high


def _majority(data) -> dict[str, float]:
    votes = np.asarray(data.labels.counts(), np.float64)
    positive = votes[:, data.positive]
    rest = np.delete(votes, data.positive, axis=1).max(axis=1)  # the strongest other class
    y = (data.y_pred == data.positive).astype(np.int32)
    return majority_metrics(y, np.stack([rest, positive], 1))


def _checks(model) -> list[Check]:
    if model.identified:
        return []
    message = (
        "not identified: with one label a sample, any error rate of the labelers fits as well as any other. "
        "Get a second and third label for some samples, or give noise=... or gold labels"
    )
    return [Check("identified", None, None, "cannot be seen", message)]
