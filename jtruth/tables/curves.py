"""ROC and precision-recall curves from a posterior over count tables whose symbols are ordered score bins.

Two classes, bins from the lowest scores to the highest. The threshold below bin k predicts positive from
there up, so a draw of the table is a whole curve, with the exact ends (0, 0) and (1, 1) of the ROC curve.
Areas count ties half; the area of the scores themselves lies within `hidden` of it. Average precision is the
sum of precision over steps of recall, one for each bin. Threshold 0 is above all bins, the last below all.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth._one_line import one_line
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import check_level
from jtruth.tables.metrics import ratio

Number = float | int


class Band(NamedTuple):
    """A curve with uncertainty: at every x the mean and two intervals of y."""

    x: Float[np.ndarray, " points"]
    mean: Float[np.ndarray, " points"]
    low: Float[np.ndarray, " points"]  # pointwise
    high: Float[np.ndarray, " points"]
    low_all: Float[np.ndarray, " points"]  # simultaneous: of the whole curve
    high_all: Float[np.ndarray, " points"]
    level: float

    __repr__ = one_line


class Curves(NamedTuple):
    """Curves of every draw; thresholds from above all bins (nothing positive) down to below all."""

    above: Float[np.ndarray, "draws classes thresholds"]  # samples at or above each, negative class first

    __repr__ = one_line

    @property
    def num_thresholds(self) -> int:
        """One more than there are bins."""
        return self.above.shape[2]

    @property
    def false_alarm(self) -> Float[np.ndarray, "draws thresholds"]:
        """False-alarm rate; NaN where no sample is negative."""
        return ratio(self.above[:, 0], self.above[:, 0, -1:])

    @property
    def detection(self) -> Float[np.ndarray, "draws thresholds"]:
        """Recall; NaN where no sample is positive."""
        return ratio(self.above[:, 1], self.above[:, 1, -1:])

    @property
    def precision(self) -> Float[np.ndarray, "draws thresholds"]:
        """Precision; NaN where nothing is predicted, as at the first threshold."""
        return ratio(self.above[:, 1], self.above.sum(axis=1))

    @property
    def specificity(self) -> Float[np.ndarray, "draws thresholds"]:
        """Share of negatives below the threshold; NaN where no sample is negative."""
        return 1 - self.false_alarm

    @property
    def accuracy(self) -> Float[np.ndarray, "draws thresholds"]:
        """Share of samples on the right side of the threshold."""
        right = self.above[:, 1] + self.above[:, 0, -1:] - self.above[:, 0]
        return right / self.above[:, :, -1:].sum(axis=1)

    @property
    def share(self) -> DrawsEstimate:
        """Share of the positive class among the samples."""
        return DrawsEstimate(self.above[:, 1, -1] / self.above[:, :, -1].sum(axis=1))

    @property
    def auc(self) -> DrawsEstimate:
        """Area under the ROC curve, ties within a bin counted half; NaN where a class has no sample."""
        width, height = np.diff(self.above[:, 0]), self.above[:, 1]
        pairs = self.above[:, :, -1].prod(axis=1)
        return DrawsEstimate(ratio((width * (height[:, 1:] + height[:, :-1])).sum(axis=1), 2 * pairs))

    @property
    def hidden(self) -> DrawsEstimate:
        """How far the AUC of the scores themselves can be from that of the bins."""
        both = np.diff(self.above).prod(axis=1)
        return DrawsEstimate(ratio(0.5 * both.sum(axis=1), self.above[:, :, -1].prod(axis=1)))

    @property
    def average_precision(self) -> DrawsEstimate:
        """Sum of precision over steps of recall; NaN where no sample is positive."""
        steps, precision = np.diff(self.detection), self.precision[:, 1:]
        areas = np.where(steps > 0, steps * precision, 0.0).sum(axis=1)
        return DrawsEstimate(np.where(self.above[:, 1, -1] > 0, areas, np.nan))

    def dist(self, of: Callable[..., DrawsEstimate], bounds: tuple[Number, Number] = (0, 1)) -> DrawsEstimate:
        """Distribution of a number of the curve; the interface that mixtures of curves share."""
        return of(self)

    def partial_auc(self, most: Number) -> DrawsEstimate:
        """Mean recall over the false-alarm rates up to `most`: the area there divided by `most`.

        With a = most times this number, scikit-learn's standardised partial area (McClish) is
        (1 + (a - most^2/2) / (most - most^2/2)) / 2.

        Raises:
            ValueError: `most` outside (0, 1].
        """
        if not 0 < most <= 1:
            raise ValueError(f"most is {most}; give a false-alarm rate above 0 and at most 1")
        x, y = self.false_alarm, self.detection
        width, right = np.diff(x), np.minimum(x[:, 1:], most)
        inside = np.maximum(right - x[:, :-1], 0.0)
        slope = np.where(width > 0, np.diff(y) / np.where(width > 0, width, 1.0), 0.0)
        area = inside * (y[:, :-1] + 0.5 * slope * inside)
        return DrawsEstimate(np.where(np.isnan(x + y).any(axis=1), np.nan, area.sum(axis=1) / most))

    def at(self, rate: str, threshold: int) -> DrawsEstimate:
        """A rate at a threshold by its number: `false_alarm`, `detection`, `precision`, ..., by name."""
        return DrawsEstimate(getattr(self, rate)[:, threshold])

    def cost_at(self, threshold: int, false_alarm: Number, miss: Number) -> DrawsEstimate:
        """Mean cost of a sample, with the costs of a false positive and of a false negative."""
        return DrawsEstimate(self._costs(false_alarm, miss)[:, threshold])

    def best_thresholds(self, false_alarm: Number, miss: Number) -> Int[np.ndarray, " draws"]:
        """The cheapest threshold in every draw; of equal ones the highest."""
        return self._costs(false_alarm, miss).argmin(axis=1)

    def _costs(self, false_alarm: Number, miss: Number) -> Float[np.ndarray, "draws thresholds"]:
        missed = self.above[:, 1, -1:] - self.above[:, 1]
        return (false_alarm * self.above[:, 0] + miss * missed) / self.above[:, :, -1:].sum(axis=1)

    def positives_in(self, number: int) -> DrawsEstimate:
        """Share of positives among the samples of a bin, 0 the lowest; NaN where it has no sample."""
        k = self.num_thresholds - 1 - number
        inside_bin = self.above[:, :, k] - self.above[:, :, k - 1]
        return DrawsEstimate(ratio(inside_bin[:, 1], inside_bin.sum(axis=1)))

    def detection_by(self, rate: Number) -> DrawsEstimate:
        """Recall at a false-alarm rate, interpolated linearly between thresholds."""
        return DrawsEstimate(_interpolated(self.false_alarm, self.detection, np.array([rate]))[:, 0])

    def precision_by(self, recall: Number) -> DrawsEstimate:
        """Precision at a recall above 0, interpolated linearly between thresholds."""
        x, y = self.detection[:, 1:], self.precision[:, 1:]
        return DrawsEstimate(_interpolated(x, y, np.array([recall]))[:, 0])

    def roc(self, level: float = 0.95, points: int = 101) -> Band:
        """Detection by false-alarm rate from (0, 0) to (1, 1), interpolated linearly between thresholds.

        At `points` equally spaced rates, and at the mean rate of each threshold.
        """
        known = np.isfinite(self.false_alarm + self.detection).all(axis=1)
        x, rates = np.linspace(0, 1, points), (self.false_alarm[known], self.detection[known])
        if not known.any():
            return _band(x, _interpolated(self.false_alarm, self.detection, x), level)
        middle = [rate.mean(axis=0) for rate in rates]
        x = np.union1d(x, middle[0])
        return whole_roc(_band(x, _interpolated(*rates, x), level), *middle)

    def precision_recall(self, level: float = 0.95, points: int = 100) -> Band:
        """Precision by recall, at recalls above 0, interpolated linearly between thresholds."""
        x = np.linspace(0, 1, points + 1)[1:]
        return _band(x, _interpolated(self.detection[:, 1:], self.precision[:, 1:], x), level)


def whole_roc(band: Band, false_alarm: np.ndarray, detection: np.ndarray) -> Band:
    """Make a band an ROC curve: from (0, 0) to (1, 1), increasing, its mean on or above the points.

    Where draws differ in both rates, means at a false-alarm rate lie below lines between mean operating
    points (`false_alarm`, `detection`, by threshold), which random predictions between two thresholds reach.
    """
    x, y = np.maximum.accumulate(np.stack([false_alarm, detection]), axis=1)
    x, y = np.append(x[1:-1], 1.0), np.append(y[1:-1], 1.0)
    last = np.append(x[1:] > x[:-1], True)  # upper ends of vertical steps
    floor = np.interp(band.x, np.append(0.0, x[last]), np.append(0.0, y[last]))
    mean = np.fmax(band.mean, floor)
    lines = mean, band.low, np.fmax(band.high, mean), band.low_all, np.fmax(band.high_all, mean)
    lines = (np.append(np.maximum.accumulate(line)[:-1], 1.0) for line in lines)
    return Band(*(np.append(0.0, line) for line in (band.x, *lines)), band.level)


def curves(tables: Int[np.ndarray, "draws classes bins"] | Float[np.ndarray, "draws classes bins"]) -> Curves:
    """Curves of draws of the count table, negative class first, bins in increasing order of score.

    Raises:
        ValueError: not two classes, or fewer bins than two.
    """
    counts = np.asarray(tables, np.float64)
    if counts.ndim != 3 or counts.shape[1] != 2 or counts.shape[2] < 2:
        raise ValueError(f"tables have shape {counts.shape}; curves need (draws, 2 classes, 2 bins or more)")
    zero = np.zeros((len(counts), 2, 1))
    return Curves(np.concatenate([zero, np.cumsum(counts[:, :, ::-1], axis=2)], axis=2))


def against_rest(
    tables: Int[np.ndarray, "draws classes bins"] | Float[np.ndarray, "draws classes bins"], positive: int
) -> Float[np.ndarray, "draws 2 bins"]:
    """Tables of one class and of all the others together, negative first."""
    one_class = np.asarray(tables[:, positive], np.float64)
    return np.stack([tables.sum(axis=1) - one_class, one_class], axis=1)


def _interpolated(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> Float[np.ndarray, "draws points"]:
    """y at `at` for every draw, x increasing: upper ends of steps, the first y before it."""
    known = np.isfinite(y)
    first = known.argmax(axis=1)[:, None]
    order = np.maximum(np.arange(x.shape[1])[None, :], first)
    x, y = np.take_along_axis(x, order, axis=1), np.take_along_axis(y, order, axis=1)
    values = np.empty((len(x), at.size))
    for k, value in enumerate(at):
        left = np.clip((x <= value).sum(axis=1) - 1, 0, x.shape[1] - 2)[:, None]
        (x0, y0), (x1, y1) = (
            (np.take_along_axis(x, i, axis=1)[:, 0], np.take_along_axis(y, i, axis=1)[:, 0])
            for i in (left, left + 1)
        )
        width = x1 - x0
        inside = np.clip((value - x0) / np.where(width > 0, width, 1.0), 0.0, 1.0)
        values[:, k] = y0 + (y1 - y0) * np.where(width > 0, inside, value >= x1)
    values[np.isnan(x).any(axis=1)] = np.nan
    return values


def _band(at: np.ndarray, values: np.ndarray, level: float) -> Band:
    """Pointwise quantiles of draws of a line, and the same widened to contain whole lines."""
    check_level(level)
    values = values[np.isfinite(values).all(axis=1)]
    if not len(values):
        nothing = np.full(at.size, np.nan)
        return Band(at, nothing, nothing, nothing, nothing, nothing, level)
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail], axis=0)
    # The rank of a curve is that of its most extreme point.
    rank = values.argsort(axis=0).argsort(axis=0) + 1.0
    extreme = np.minimum(rank, len(values) + 1 - rank).min(axis=1)
    inside = values[extreme >= np.quantile(extreme, 1 - level, method="lower")]
    return Band(at, values.mean(axis=0), low, high, inside.min(axis=0), inside.max(axis=0), level)
