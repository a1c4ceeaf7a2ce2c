"""Several assumptions, each with its own posterior: a point in their middle, the hull of their intervals."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from jtruth.stats.estimates import Estimate
from jtruth.stats.regions import WITH_MEAN, Interval, Region
from jtruth.tables.joint import JointEstimate
from jtruth.tables.metrics import Metric
from jtruth.tables.posterior import TablePosterior

NO_LAW = (
    "a sensitivity range has no probability law; take one assumption's law from `assumptions`, or "
    "evaluate with assume='independent' or 'shared_difficulty'"
)


class RangeEstimate(Estimate):
    """A number under several assumptions: mean of some members, hull of the intervals of some.

    There is no law behind it, so mode, sd, density and samples do not exist: NaN, or an error that says so.
    """

    def __init__(self, point: tuple[Estimate, ...], hull: tuple[Estimate, ...]):
        self._point, self._hull = point, hull
        self.probability_defined = min(e.probability_defined for e in (*point, *hull))

    @property
    def mean(self) -> float:
        """Mean of the members' posterior means: a point in the middle of the assumptions."""
        return float(np.mean([e.mean for e in self._point]))

    @property
    def sd(self) -> float:
        """NaN: a range is not a law."""
        return float("nan")

    @property
    def mode(self) -> float:
        """NaN: a range is not a law."""
        return float("nan")

    def interval(self, level: float = 0.95) -> Interval:
        """Hull of the members' shortest intervals, and of the mean; every member gives it at least `level`.

        Some members move the mean and are no part of the hull, so that it may lie a little outside of it.
        """
        low, high, mass = self._hull_of([e.interval(level) for e in self._hull])
        if level >= WITH_MEAN:
            low, high = min(low, self.mean), max(high, self.mean)
        return Interval(low, high, mass)

    def equal_tails(self, level: float = 0.95) -> Interval:
        """Hull of the members' equal-tailed intervals."""
        return self._hull_of([e.equal_tails(level) for e in self._hull])

    def region(self, level: float = 0.95) -> Region:
        """Does not exist."""
        raise ValueError(f"{NO_LAW}; use interval({level:g})")

    def density(self, x: np.ndarray) -> np.ndarray:
        """Does not exist."""
        raise ValueError(NO_LAW)

    def sample(self, key: Any, n: int) -> np.ndarray:
        """Does not exist."""
        raise ValueError(NO_LAW)

    @staticmethod
    def _hull_of(parts: list[Interval]) -> Interval:
        return Interval(min(p.low for p in parts), max(p.high for p in parts), min(p.mass for p in parts))


class SeveralTables(TablePosterior, eqx.Module):
    """Posteriors under several assumptions: the mean over `point`, the hull over `hull`."""

    point: tuple[TablePosterior, ...]
    hull: tuple[TablePosterior, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of classes and symbols."""
        return self.point[0].shape

    def estimate(self, metric: str | Metric) -> RangeEstimate:
        """Point and hull of a metric."""
        found = self.metric(metric)
        laws = [tuple(one.estimate(found) for one in some) for some in (self.point, self.hull)]
        return RangeEstimate(*laws)

    def joint(self, first: str | Metric, second: str | Metric) -> JointEstimate:
        """Does not exist: the members have joint laws, the hull of intervals has none."""
        raise ValueError(
            f"no joint posterior of {self.metric(first).name} and {self.metric(second).name}: {NO_LAW}"
        )

    def cell(self, true: int, symbol: int) -> RangeEstimate:
        """Point and hull of n[true, symbol]."""
        return RangeEstimate(*(tuple(one.cell(true, symbol) for one in s) for s in (self.point, self.hull)))

    def draws(self, key: Any, n: int) -> Float[np.ndarray, "n classes symbols"]:
        """Does not exist."""
        raise ValueError(NO_LAW)
