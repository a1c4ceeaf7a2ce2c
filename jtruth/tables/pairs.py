"""Several classifiers at once: the tuple of their predictions is the symbol of the count table.

Classifiers are judged on the same samples and by the same labels, so a difference is known better than either
metric. The table of one classifier is the sum over the predictions of all others. Only tuples that occur get
a column of their own; all others are one last column that is always empty. The prior of a row is Dirichlet
with the product of what each classifier alone would get, as in `evaluate`.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth._arrays import namespace
from jtruth._validation.in_range import check_shape
from jtruth.tables.metrics import LinearRatio, Metric, OfTable

Number = float | int
_RIGHT_WHERE_ALIKE = (0.0, 0.25, 0.5, 0.75, 1.0)  # share of the predictions that are alike


class Tuples(NamedTuple):
    """What each symbol says: the class that every classifier predicts; -1 where it says nothing of one.

    Symbols that are a group of samples and the class predicted there (`group_symbols`) say something of one
    "classifier" only: each group has a table of its own, which is a part of the whole one.
    """

    predicted: Int[np.ndarray, "tuples classifiers"]
    num_classes: int

    @property
    def num_classifiers(self) -> int:
        """K."""
        return self.predicted.shape[1]

    @property
    def apart(self) -> bool:
        """Whether each symbol is of one classifier, or group, only."""
        return bool((self.predicted < 0).any())

    @property
    def num_empty(self) -> int:
        """Last symbols, which stand for the tuples that do not occur."""
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
        """What the first classifier has more of than the second.

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

    def most(self, metric: Metric, first: int, second: int, sizes: Int[np.ndarray, " symbols"]) -> float:
        """The largest difference, either way, if wherever two predictions differ one of them is always right.

        `sizes` are the samples of each symbol. What the classes are where both say the same does not cancel
        in a metric such as F1: the largest over shares of these predictions that are right is taken.
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
    """The symbol of every sample, and what the symbols say.

    Raises:
        ValueError: fewer than one classifier or sample.

    >>> symbols, what = tuples(np.array([[0, 1, 1], [0, 1, 0]]), 2)
    >>> symbols.tolist(), what.predicted.tolist(), what.num_symbols
    ([0, 2, 1], [[0, 0], [1, 0], [1, 1]], 4)
    """
    check_shape(predictions, "predictions", "classifiers samples")
    distinct, symbols = np.unique(predictions.T, axis=0, return_inverse=True)
    return np.ravel(symbols).astype(np.int64), Tuples(distinct.astype(np.int64), num_classes)


def group_symbols(num_groups: int, num_classes: int) -> Tuples:
    """What symbols say that are a group g and a predicted class u, numbered g C + u."""
    groups, classes = np.divmod(np.arange(num_groups * num_classes), num_classes)
    return Tuples(np.where(groups[:, None] == np.arange(num_groups), classes[:, None], -1), num_classes)


def smaller_is_better(metric: Metric) -> bool:
    """Whether a smaller value is the better one, by the metric's entry."""
    return isinstance(metric.entry, LinearRatio | OfTable) and metric.entry.smaller_is_better
