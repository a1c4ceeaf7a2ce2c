"""Several classifiers at once: the tuple of their predictions is the symbol of the count table.

Classifiers are judged on the same samples and labels, so their difference is known better than either metric.
The table of one classifier is the sum over the predictions of all others. Only tuples that occur have a
column; all others share a last one that is always empty. The prior of a row is Dirichlet with the product of
the shares that each classifier alone would get, as in `evaluate`.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Num
from scipy.special import bdtr, betainc, betaincinv

from jtruth._arrays import namespace
from jtruth._host import lattice
from jtruth._one_line import one_line
from jtruth._random import Key
from jtruth._validation.coded import collapse_rows
from jtruth._validation.in_range import check_shape
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Interval
from jtruth.tables.metrics import LinearRatio, Metric, OfTable
from jtruth.tables.new_samples import new_tables
from jtruth.tables.posterior import TableDraws

Number = float | int
Counts = Num[np.ndarray, "draws classes symbols"]
Deciding = Float[np.ndarray, "3 classes symbols"]
_MOST_LAID = 64  # tuples, up to which all have a column for new samples
_TABLES, _MOST_CELLS = 16_000, 4_000_000  # of new samples
_RIGHT_WHERE_ALIKE = (0.0, 0.25, 0.5, 0.75, 1.0)  # share of the predictions that are alike


class Tuples(NamedTuple):
    """The class that every classifier predicts, by symbol; -1 where a symbol is not about it.

    Symbols that are a group of samples and the predicted class (`group_symbols`) are about one "classifier"
    each: every group has a table of its own, a part of the whole one.
    """

    predicted: Int[np.ndarray, "tuples classifiers"]
    num_classes: int

    @property
    def num_classifiers(self) -> int:
        """K."""
        return self.predicted.shape[1]

    @property
    def apart(self) -> bool:
        """Whether each symbol is about one classifier, or group, only."""
        return bool((self.predicted < 0).any())

    @property
    def num_empty(self) -> int:
        """Number of last symbols, for tuples that do not occur."""
        if self.apart or len(self.predicted) == self.num_classes**self.num_classifiers:
            return 0
        return 2 if len(self.predicted) + 1 == self.num_classes else 1

    @property
    def num_symbols(self) -> int:
        """Columns of the table."""
        return len(self.predicted) + self.num_empty

    def prior(self, total: Number, right: Number) -> Float[np.ndarray, "classes symbols"]:
        """Concentrations that sum to `total` in a row (of each group); each is right with `right`."""
        classes = self.num_classes
        one = np.where(np.eye(classes, dtype=bool), right, (1 - right) / (classes - 1))
        share = np.where(self.predicted >= 0, one[:, self.predicted], 1.0).prod(axis=2)
        rest = (1 - share.sum(axis=1)) / max(self.num_empty, 1)
        return total * np.column_stack([share, *[rest] * self.num_empty])

    def marginal(self, table: Any, classifier: int) -> Any:
        """The (..., classes, classes) table of one classifier; NumPy or JAX, whole counts stay whole."""
        mine = self.predicted[:, classifier]
        parts = [table[..., : mine.size][..., np.flatnonzero(mine == u)] for u in range(self.num_classes)]
        return namespace(table).stack([part.sum(-1) for part in parts], -1)

    def of_one(self, metric: Metric, classifier: int) -> Metric:
        """A metric of one classifier as a metric of the whole table."""

        def of_table(table: Any) -> Any:
            return metric.of_table(self.marginal(table, classifier))

        one_of = Metric(metric.name, of_table, position=metric.position, bounds=metric.bounds)
        if not metric.is_ratio:
            return one_of
        alone = metric.terms(np.ones((self.num_classes, self.num_classes)))
        mine = self.predicted[:, classifier]
        laid = np.where(mine >= 0, alone[:, :, mine], 0.0)  # tuples that never occur add nothing
        return one_of._replace(joint=np.pad(laid, ((0, 0), (0, 0), (0, self.num_empty))))

    def difference(self, metric: Metric, first: int, second: int) -> Metric:
        """The metric of the first classifier minus that of the second.

        Where both ratios have one denominator (accuracy, recall) the difference is a ratio of two sums too,
        and its terms are exact.
        """
        one, two = self.of_one(metric, first), self.of_one(metric, second)

        def of_table(table: Any) -> Any:
            return one.of_table(table) - two.of_table(table)

        widest = metric.bounds[1] - metric.bounds[0]
        name, bounds = f"{metric.name}: difference", (-widest, widest)
        found = Metric(name, of_table, bounds=bounds, difference=True)
        if one.joint is None or two.joint is None or (one.joint[1] != two.joint[1]).any():
            return found
        return found._replace(joint=np.stack([one.joint[0] - two.joint[0], one.joint[1]]))

    def decided(self, metric: Metric, first: int, second: int) -> Deciding | None:
        """Cells of a metric's denominator in which only the first classifier is right, only the second, all.

        None where the denominators differ (precision, F1), or the metric is no ratio.
        """
        joint = self.difference(metric, first, second).joint
        if joint is None or not (np.isin(joint[0], (-1, 0, 1)).all() and np.isin(joint[1], (0, 1)).all()):
            return None
        above = -joint[0] if smaller_is_better(metric) else joint[0]
        return np.stack([above > 0, above < 0, joint[1] > 0]).astype(np.float64)

    def all_tuples(self, counts: Counts) -> "tuple[Tuples, Num[np.ndarray, 'draws classes all_symbols']]":
        """The same with a column for tuples that do not occur, where these are few: for new samples."""
        number = self.num_classes**self.num_classifiers
        if self.apart or number > _MOST_LAID:
            return self, counts
        every = np.stack(np.unravel_index(np.arange(number), (self.num_classes,) * self.num_classifiers), 1)
        place = np.ravel_multi_index(tuple(self.predicted.T), (self.num_classes,) * self.num_classifiers)
        laid = np.zeros((*counts.shape[:2], number))
        laid[:, :, place] = counts[:, :, : place.size]
        return Tuples(every.astype(np.int64), self.num_classes), laid

    def same(self, first: int, second: int) -> bool:
        """Whether two classifiers have equal predictions."""
        return bool((self.predicted[:, first] == self.predicted[:, second]).all())

    def most(self, metric: Metric, first: int, second: int, sizes: Int[np.ndarray, " symbols"]) -> float:
        """The largest absolute difference, if one of two different predictions is always right.

        `sizes` are the samples of each symbol. Equal predictions do not cancel in a metric such as F1:
        several shares of right ones are tried.
        """
        found, difference = [0.0], self.difference(metric, first, second)
        alike = (self.predicted[:, first] == self.predicted[:, second])[:, None]
        each = np.eye(self.num_classes)[self.predicted]  # (tuples, classifiers, classes)
        for right in _RIGHT_WHERE_ALIKE:
            same = right * each[:, first] + (1 - right) / (self.num_classes - 1) * (1 - each[:, first])
            for winner in (first, second):
                share = np.where(alike, same, each[:, winner])
                table = np.zeros((self.num_classes, self.num_symbols))
                table[:, : len(share)] = (share * sizes[: len(share), None]).T
                found.append(abs(float(difference.of_table(table))))
        return float(min(np.nanmax(found), difference.bounds[1]))


def tuples(
    predictions: Int[np.ndarray, "classifiers samples"], num_classes: int
) -> tuple[Int[np.ndarray, " samples"], Tuples]:
    """The symbol of every sample, and the meaning of the symbols.

    Raises:
        ValueError: fewer than one classifier or sample.

    >>> symbols, what = tuples(np.array([[0, 1, 1], [0, 1, 0]]), 2)
    >>> symbols.tolist(), what.predicted.tolist(), what.num_symbols
    ([0, 2, 1], [[0, 0], [1, 0], [1, 1]], 4)
    """
    check_shape(predictions, "predictions", "classifiers samples")
    first, symbols, _ = collapse_rows(predictions.T)
    return symbols.astype(np.int64), Tuples(predictions.T[first].astype(np.int64), num_classes)


def group_symbols(num_groups: int, num_classes: int) -> Tuples:
    """Symbols that are a group g and a predicted class u, numbered g C + u."""
    groups, classes = np.divmod(np.arange(num_groups * num_classes), num_classes)
    return Tuples(np.where(groups[:, None] == np.arange(num_groups), classes[:, None], -1), num_classes)


def smaller_is_better(metric: Metric) -> bool:
    """Whether a smaller value is the better one, by the metric's entry."""
    return isinstance(metric.entry, LinearRatio | OfTable) and metric.entry.smaller_is_better


def new_by_tuples(counts: Counts, what: Tuples, key: Key) -> tuple[TableDraws, Tuples]:
    """Tables of new samples, cells Dirichlet(counts + a part of half a sample a class), and their symbols.

    A classifier's own cells sum to the weights of `new_tables`.
    """
    what, laid = what.all_tuples(counts)
    copies = max(min(_TABLES // len(laid), _MOST_CELLS // laid.size), 1)
    prior = what.prior(1 / what.num_classes, 0.5)
    return TableDraws(new_tables(laid.repeat(copies, axis=0), key, prior)), what


class Decided(NamedTuple):
    """On how many of these samples one of two classifiers is right where the other is wrong."""

    first: DrawsEstimate
    second: DrawsEstimate
    size: float  # samples that the metric is about, on average
    metric: str
    same: bool  # whether all predictions are equal

    __repr__ = one_line

    @property
    def mcnemar(self) -> float | None:
        """Two-sided exact p-value (binomial, McNemar 1947), where all classes are known."""
        if np.ptp(self.first.draws) > 0 or np.ptp(self.second.draws) > 0:
            return None
        few, all_ = min(self.first.mean, self.second.mean), self.first.mean + self.second.mean
        return min(1.0, 2 * float(bdtr(few, round(all_), 0.5)))


@dataclass(frozen=True, eq=False, repr=False)
class NewDifference(DrawsEstimate):
    """A difference for new samples, by even draws; intervals have equal tails, `above` is P(above 0)."""

    above: float = 0.5

    def interval(self, level: float = 0.95) -> Interval:
        """Interval that leaves (1 - level)/2 on either side."""
        return self.equal_tails(level)

    def p_above(self, limit: float, *, strict: bool = False) -> float:
        """P(difference >= limit), at 0 without Monte Carlo error."""
        return self.above if limit == 0 else super().p_above(limit, strict=strict)


def new_difference(table: TableDraws, cells: Deciding, sign: Number = 1) -> DrawsEstimate:
    """Paired difference for new samples, given the `cells` in which only one of two is right (`decided`).

    With f of n where only the first is right and s where only the second, the probabilities of these two, of
    both and of neither are Dirichlet(counts + 1/2): the share of samples that decide is r ~ Beta(f + s + 1,
    n - f - s + 1), the first's part of them q ~ Beta(f + 1/2, s + 1/2), and the difference r (2 q - 1).
    """
    counted = table.counted(cells[0], cells[1])
    if counted is None:
        return DrawsEstimate(np.full(1, np.nan))
    above = float(counted[2] @ betainc(*(n + 0.5 for n in (counted[1], counted[0])), 0.5))
    points = lattice(table.shape[1] + 3)[:, -2:]  # those before them may have made the tables
    drawn = np.arange(len(points)) % len(table.counts)
    first, second, size = np.einsum("dcs,kcs->kd", table.counts, cells)[:, drawn]
    part = betaincinv(first + 0.5, second + 0.5, points[:, 0])
    reach = betaincinv(first + second + 1, size - first - second + 1, points[:, 1])
    draws = np.where(size > 0, sign * reach * (2 * part - 1), np.nan)
    return NewDifference(draws, above=above if sign > 0 else 1 - above)
