"""ROC and precision-recall curves from a posterior over count tables whose symbols are ordered score bins.

Two classes, bins from the lowest scores to the highest. The threshold below bin k predicts positive from
there up, so a draw of the table is a whole curve: one point for every threshold, with the exact ends (0, 0)
and (1, 1) of the ROC curve. Areas follow with ties counted half, which is the Mann-Whitney statistic of the
binned scores. Scores of one bin are not told apart: whatever their order is, the area of the full scores lies
within `hidden` of the printed one.

Where nothing is predicted positive precision is not defined and the curve has no point. Average precision is
the sum of precision over steps of recall, one for each bin (as scikit-learn's, tied scores together).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.regions import check_level


class Band(NamedTuple):
    """A curve with uncertainty: at every x the mean and two intervals of y."""

    x: Float[np.ndarray, " points"]
    mean: Float[np.ndarray, " points"]
    low: Float[np.ndarray, " points"]  # pointwise
    high: Float[np.ndarray, " points"]
    low_all: Float[np.ndarray, " points"]  # simultaneous: the whole curve is inside with the probability
    high_all: Float[np.ndarray, " points"]
    level: float


class Curves(NamedTuple):
    """Curves of every draw; thresholds from above all bins (nothing positive) down to below all."""

    false_alarm: Float[np.ndarray, "draws thresholds"]  # NaN where a class has no sample
    detection: Float[np.ndarray, "draws thresholds"]
    precision: Float[np.ndarray, "draws thresholds"]  # NaN at the first, where nothing is predicted
    auc: DrawsEstimate
    average_precision: DrawsEstimate
    hidden: DrawsEstimate  # how far the AUC of the scores themselves can be from that of the bins

    def roc(self, level: float = 0.95, points: int = 101) -> Band:
        """Detection by false alarm rate, interpolated linearly between thresholds."""
        return _band(self.false_alarm, self.detection, np.linspace(0, 1, points), level)

    def precision_recall(self, level: float = 0.95, points: int = 100) -> Band:
        """Precision by recall, at recalls above 0, interpolated linearly between thresholds."""
        x = np.linspace(0, 1, points + 1)[1:]
        return _band(self.detection[:, 1:], self.precision[:, 1:], x, level)


def curves(tables: Int[np.ndarray, "draws classes bins"] | Float[np.ndarray, "draws classes bins"]) -> Curves:
    """Curves of draws of the count table, negative class first, bins in increasing order of score.

    Raises:
        ValueError: not two classes, or fewer bins than two.
    """
    counts = np.asarray(tables, np.float64)
    if counts.ndim != 3 or counts.shape[1] != 2 or counts.shape[2] < 2:
        raise ValueError(f"tables have shape {counts.shape}; curves need (draws, 2 classes, 2 bins or more)")
    zero = np.zeros((len(counts), 2, 1))
    above = np.concatenate([zero, np.cumsum(counts[:, :, ::-1], axis=2)], axis=2)  # from each threshold up
    total = above[:, :, -1:]
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = above / total
        precision = above[:, 1] / above.sum(axis=1)
        below = np.cumsum(counts[:, 0], axis=1) - counts[:, 0]
        pairs = total[:, 0, 0] * total[:, 1, 0]
        auc = (counts[:, 1] * (below + 0.5 * counts[:, 0])).sum(axis=1) / pairs
        hidden = 0.5 * (counts[:, 0] * counts[:, 1]).sum(axis=1) / pairs
        steps = np.diff(rates[:, 1], axis=1)
        average = np.where(steps > 0, steps * precision[:, 1:], 0.0).sum(axis=1)
    average = np.where(total[:, 1, 0] > 0, average, np.nan)
    laws = (DrawsEstimate(values) for values in (auc, average, hidden))
    return Curves(rates[:, 0], rates[:, 1], precision, *laws)


def _band(x: np.ndarray, y: np.ndarray, at: np.ndarray, level: float) -> Band:
    """Interpolated draws, their pointwise quantiles, and the same widened until whole curves are inside."""
    check_level(level)
    good = np.isfinite(x).all(axis=1) & np.isfinite(y).any(axis=1)
    values = np.array([np.interp(at, *_points(a, b)) for a, b in zip(x[good], y[good], strict=True)])
    if not len(values):
        nothing = np.full(at.size, np.nan)
        return Band(at, nothing, nothing, nothing, nothing, nothing, level)
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail], axis=0)
    # The rank of a curve is that of its most extreme point; the band keeps the `level` least extreme ones.
    rank = values.argsort(axis=0).argsort(axis=0) + 1.0
    extreme = np.minimum(rank, len(values) + 1 - rank).min(axis=1)
    inside = values[extreme >= np.quantile(extreme, 1 - level, method="lower")]
    return Band(at, values.mean(axis=0), low, high, inside.min(axis=0), inside.max(axis=0), level)


def _points(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points with a y, x increasing; a vertical step keeps both its ends."""
    defined = np.isfinite(y)
    return x[defined], y[defined]
