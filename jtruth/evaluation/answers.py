"""From a posterior to the metrics that an evaluation shows: of exact tables, of draws, of nothing."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate
from jtruth.testing import METRICS, BinaryPosterior, JointEstimate, named_metric
from jtruth.testing import multiclass_metrics as multiclass
from jtruth.testing.plug_in import point_estimate

_AVERAGES = ("macro_precision", "macro_recall", "macro_f1", "weighted_f1", "kappa", "mcc")


class Confusion(NamedTuple):
    """Counts of samples, rows true, columns predicted: posterior mean and ends of intervals."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Answer(NamedTuple):
    """What `evaluate` found by one method under one assumption."""

    metrics: Mapping[str, Estimate]
    confusion: Confusion
    posterior: Any  # has .joint(first, second) in binary problems; None if there is none
    named: Callable[[str], Estimate] | None
    warnings: tuple[str, ...] = ()
    log_evidence: float = float("nan")  # log p(y_pred | z)


class CountDrawsPosterior(NamedTuple):
    """Draws of the count table (draws, classes, symbols), and the metrics that they give."""

    counts: np.ndarray
    classes: tuple[str, ...]
    positive: int
    source: Any  # the sampler's own result: convergence, draws of the parameters

    def binary(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(tp, fp, fn, tn) of the positive class against the rest, each (draws,)."""
        counts = multiclass.class_counts(self.counts.astype(np.float64))
        tp, fp, fn, tn = (count[:, self.positive] for count in counts)
        return tp, fp, fn, tn

    def estimate(self, name: str) -> DrawsEstimate:
        """Law of a metric: a binary one of the positive class, or any of `multiclass_metrics`."""
        if name in METRICS and (name != "accuracy" or len(self.classes) == 2):
            return DrawsEstimate(np.asarray(METRICS[name](*self.binary()), np.float64))
        try:
            metric = multiclass.named_metric(name, self.classes)
        except ValueError:
            return DrawsEstimate(np.asarray(named_metric(name)(*self.binary()), np.float64))
        return DrawsEstimate(np.asarray(metric(self.counts.astype(np.float64)), np.float64))

    def joint(self, first: str, second: str) -> JointEstimate:
        """Joint draws of two metrics."""
        points = np.stack([self.estimate(first).draws, self.estimate(second).draws], 1)
        defined = ~np.isnan(points).any(1)
        weight = np.full(int(defined.sum()), 1.0 / max(int(defined.sum()), 1))
        return JointEstimate(first, second, points[defined], weight, float(defined.mean()))


def of_draws(found: CountDrawsPosterior, level: float, warnings: tuple[str, ...] = ()) -> Answer:
    """Metrics of draws: the binary ones of the positive class; for more classes averages and every class."""
    names = list(METRICS)
    if len(found.classes) > 2:
        names += _AVERAGES
        names += [f"{metric}[{c}]" for c in found.classes for metric in ("precision", "recall", "f1")]
    metrics = {name: found.estimate(name) for name in names}
    cells = found.counts.reshape(len(found.counts), -1)
    ends = np.array([DrawsEstimate(cell.astype(np.float64)).interval(level)[:2] for cell in cells.T])
    shape = found.counts.shape[1:]
    confusion = Confusion(found.counts.mean(0), ends[:, 0].reshape(shape), ends[:, 1].reshape(shape))
    return Answer(metrics, confusion, found, found.estimate, warnings)


def of_binary(found: BinaryPosterior, level: float) -> Answer:
    """Metrics of a binary posterior; the confusion matrix has rows (negative, positive)."""
    metrics = {name: found.estimate(name) for name in METRICS}
    return Answer(metrics, _counts(found, level), found, found.estimate, found.warnings, found.log_evidence)


def of_numbers(numbers: Mapping[str, float], warnings: tuple[str, ...]) -> Answer:
    """Numbers without uncertainty."""
    return Answer({n: point_estimate(v) for n, v in numbers.items()}, _no_counts(), None, None, warnings)


def of_nothing() -> Answer:
    """Not identified: NaN everywhere."""
    return of_numbers(dict.fromkeys(METRICS, float("nan")), ())


def _no_counts() -> Confusion:
    nothing = np.full((2, 2), np.nan)
    return Confusion(nothing, nothing, nothing)


def _counts(found: BinaryPosterior, level: float) -> Confusion:
    """Mean and interval of the four counts from the laws of A and B."""
    table = found.table
    if table is None:
        return _no_counts()
    n1, n0 = table.n1, table.n0
    a, b = table.count_law(0), table.count_law(1)
    ia, ib = a.interval(level), b.interval(level)
    return Confusion(
        np.array([[n0 - b.mean, n1 - a.mean], [b.mean, a.mean]]),
        np.array([[n0 - ib.high, n1 - ia.high], [ib.low, ia.low]]),
        np.array([[n0 - ib.low, n1 - ia.low], [ib.high, ia.high]]),
    )
