"""The answer on labels alone: what two readings of the labels say, widened by how far such readings were off.

`model_error` holds how far they were off, by who labels; here they meet a question. A number of the count
table (a metric, a cell, a difference, an area) gets a law by itself: how errors of different numbers hang
together is not known, so there is no joint law and there are no draws of tables.
"""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from jtruth.evaluation.assumptions.model_error import CLASS, OVERALL, group_of, reading, size_of, widened
from jtruth.evaluation.assumptions.ranges import Member
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.predictive import predictive
from jtruth.tables.joint import JointEstimate
from jtruth.tables.metrics import Metric, settled
from jtruth.tables.posterior import Cells, TableDraws, TablePosterior, cells_of

NO_JOINT = (
    "no joint law of {} and {}: the predictive law is made for one number at a time; that of one assumption "
    "is result.joint(..., assumption=...)"
)
NO_DRAWS = (
    "the predictive law is made for one number at a time and there are no draws of tables; take those of one "
    "assumption, assumptions[k].posterior.draws(...)"
)


def readings_of(found: Sequence[Member]) -> dict[str, TableDraws]:
    """By name, the members that are readings."""
    return {member.name: member.posterior for member in found if member.entry.reading}


def law_of(
    draws: dict[str, np.ndarray], group: str, labelers_are: str, size: float,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> DrawsEstimate:  # fmt: skip
    """Predictive law of one number.

    Args:
        draws: by the name of the reading, what it says.
        group: of the number, in `model_error.ERRORS`.
        labelers_are: kind of the labelers.
        size: of the count below the line, if it is a ratio of counts.
        bounds: of the number.
    """
    said = {name: reading(values, size, bounds) for name, values in draws.items()}
    return predictive(*widened(said, group, labelers_are), bounds, size)


class PredictiveTable(TablePosterior, eqx.Module):
    """Readings of the labels, with the errors that such readings had elsewhere."""

    readings: dict[str, TableDraws]  # by the name of the assumption
    labelers_are: str = eqx.field(static=True)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of classes and symbols."""
        return next(iter(self.readings.values())).shape

    @property
    def _predicted(self) -> np.ndarray:
        """(symbols,) how many samples have each."""
        return next(iter(self.readings.values())).counts[0].sum(axis=0)

    def estimate(self, metric: str | Metric) -> DrawsEstimate:
        """Law of a metric; a point where predictions settle it whatever the truth."""
        found = self.metric(metric)
        if found.joint is None and not found.difference:
            value = settled(found, self._predicted, self.shape[0], np.zeros(0, np.int64))
            if value is not None:
                return DrawsEstimate(np.array([value]))
        return self.law(found, group_of(found))

    def law(self, metric: Metric, group: str = OVERALL) -> DrawsEstimate:
        """Law of any number of the table, given which row of errors it takes."""
        size = float(np.mean([size_of(one, metric) for one in self.readings.values()]))
        draws = {
            name: np.asarray(metric.of_table(one.counts), np.float64) for name, one in self.readings.items()
        }
        return law_of(draws, group, self.labelers_are, size, metric.bounds)

    def joint(self, first: str | Metric, second: str | Metric) -> JointEstimate:
        """Does not exist: each metric has a law by itself."""
        raise ValueError(NO_JOINT.format(self.metric(first).name, self.metric(second).name))

    def cell(self, true: int, symbol: int) -> DrawsEstimate:
        """Law of n[true, symbol], given how many samples have this symbol."""
        size = float(self._predicted[symbol])
        if size == 0:
            return DrawsEstimate(np.zeros(1))
        draws = {
            name: one.counts[:, true, symbol] / one.counts[:, :, symbol].sum(axis=1)
            for name, one in self.readings.items()
        }
        return DrawsEstimate(law_of(draws, CLASS, self.labelers_are, size).draws * size)

    def cells(self, level: float = 0.95) -> Cells:
        """Every cell, each column times one factor: then the means add up to the predictions."""
        found = cells_of([self.cell(c, u) for c, u in np.ndindex(*self.shape)], self.shape, level)
        factor = self._predicted / np.maximum(found.mean.sum(axis=0), 1e-300)
        return Cells(*(part * factor[None, :] for part in found))

    def draws(self, key: Any, n: int) -> Float[np.ndarray, "n classes symbols"]:
        """Does not exist."""
        raise ValueError(NO_DRAWS)
