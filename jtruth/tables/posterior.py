"""Posteriors over count tables n[true class, predicted symbol], the result of every method of testing.

`TablePosterior` is the interface of `CountTable` and `Mixture` (exact, two classes), `NormalTable` and
`GivenMatrix` (ratios in closed form), `TableDraws` and `CountDraws` (equally weighted draws), `ChainTables`
(evenly spread tables), `PredictiveTable` (estimates from labels, widened), and `NewSamples` (the same for new
samples). An estimated table with resamples is a `TableDraws` with a point: confidence, not a posterior.

Symbols are usually classes; score bins or tuples of several classifiers' predictions work the same. Classes
are numbers here: pass `named_metric("recall[cat]", classes)` for a named class.

Two metrics have a joint posterior: `JointEstimate` is exact, the cells of a count table as points in the
plane of the metrics; `JointDensity` is the paper's normal form, (17) and (18), on the unit square. Host side,
float64.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
import scipy
from jaxtyping import Float, Num

from jtruth._host import evenly
from jtruth._one_line import one_line, picture
from jtruth._random import Key, as_key
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate, Interval, Region
from jtruth.tables.metrics import Metric, default_metrics, named_metric, ratio

CellWeights = Float[np.ndarray, "classes symbols"]
Sums = tuple[np.ndarray, np.ndarray, np.ndarray]  # of two weightings of the cells, and probabilities


class Cells(NamedTuple):
    """Counts of samples, rows true, columns predicted: posterior means and ends of shortest intervals."""

    mean: Float[np.ndarray, "classes symbols"]
    low: Float[np.ndarray, "classes symbols"]
    high: Float[np.ndarray, "classes symbols"]

    __repr__ = one_line


def cells_of(dists: Sequence[Estimate], shape: tuple[int, int], level: float) -> Cells:
    """Mean and shortest interval of every cell, given their distributions, row by row."""
    ends = [dist.interval(level) for dist in dists]
    rows = [dist.mean for dist in dists], [end.low for end in ends], [end.high for end in ends]
    return Cells(*(np.array(row).reshape(shape) for row in rows))


class JointEstimate(eqx.Module):
    """Exact joint distribution of two metrics: points (cells, 2) and their probabilities.

    Cells in which either metric is undefined are left out; `probability_defined` is the mass of the others.
    """

    first: str
    second: str
    points: Float[np.ndarray, "cells 2"]
    weight: Float[np.ndarray, " cells"]
    probability_defined: float

    plot = picture
    __repr__ = one_line

    @property
    def mean(self) -> Float[np.ndarray, " 2"]:
        """Posterior mean of the pair."""
        return self.weight @ self.points

    @property
    def covariance(self) -> Float[np.ndarray, "2 2"]:
        """Posterior covariance of the pair."""
        centred = self.points - self.mean[None, :]
        return (centred * self.weight[:, None]).T @ centred

    @property
    def mode(self) -> Float[np.ndarray, " 2"]:
        """The most probable cell of the count table; of equal weights, the peak of a smoothed grid."""
        if np.ptp(self.weight) > 0 or len(self.weight) < 2:
            return self.points[int(np.argmax(self.weight))]
        from scipy.ndimage import gaussian_filter

        edges = [np.linspace(v.min(), v.max() + 1e-9, 41) for v in self.points.T]
        mass = gaussian_filter(np.histogram2d(*self.points.T, bins=edges)[0], 2.0)
        i, j = np.unravel_index(int(np.argmax(mass)), mass.shape)
        return np.array([0.5 * (e[k] + e[k + 1]) for e, k in zip(edges, (i, j), strict=True)])

    def on_grid(self, x_edges: np.ndarray, y_edges: np.ndarray) -> Float[np.ndarray, "x y"]:
        """Density averaged over the bins of a grid, for pictures."""
        mass, _, _ = np.histogram2d(*self.points.T, bins=[x_edges, y_edges], weights=self.weight)
        return mass / np.outer(np.diff(x_edges), np.diff(y_edges))


class JointDensity(eqx.Module):
    """A joint density of two metrics on the unit square, confined to a box that contains its mass."""

    first: str
    second: str
    density: Callable[[np.ndarray, np.ndarray], np.ndarray]
    box: tuple[tuple[float, float], tuple[float, float]]
    mean: Float[np.ndarray, " 2"]

    plot = picture
    __repr__ = one_line

    @property
    def mode(self) -> Float[np.ndarray, " 2"]:
        """Where the density is highest."""
        x, y, height = self.on_grid()
        i, j = np.unravel_index(int(np.argmax(height)), height.shape)
        optimum = scipy.optimize.minimize(
            lambda p: -float(self.density(p[0], p[1])), [x[i], y[j]], method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-12}, bounds=self.box,
        )  # fmt: skip
        return optimum.x

    def on_grid(self, points: int = 201) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Grid of the box and the density on it: x (points,), y (points,), density (points, points)."""
        x, y = (np.linspace(low, high, points) for low, high in self.box)
        return x, y, self.density(x[:, None], y[None, :])


class TablePosterior(ABC):
    """Posterior of a count table; a metric is given as its name or as what `named_metric` returns."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Numbers of classes and symbols."""

    @abstractmethod
    def estimate(self, metric: str | Metric) -> Estimate:
        """Distribution of a metric."""

    @abstractmethod
    def joint(self, first: str | Metric, second: str | Metric) -> JointEstimate | JointDensity:
        """Joint distribution of two metrics."""

    @abstractmethod
    def cell(self, true: int, symbol: int) -> Estimate:
        """Distribution of n[true, symbol], an element of the confusion matrix."""

    @abstractmethod
    def draws(self, key: Key, n: int) -> Float[np.ndarray, "n classes symbols"]:
        """n independent draws of the table (of `TableDraws`: with replacement from its draws)."""

    def counted(self, hits: CellWeights, misses: CellWeights) -> Sums | None:
        """Sums of cells with these weights in every possible table, and its probability; None: not known."""
        return None

    def metric(self, metric: str | Metric) -> Metric:
        """The metric by its name, with classes 0, 1, ..."""
        return named_metric(metric, range(self.shape[0])) if isinstance(metric, str) else metric

    def cells(self, level: float = 0.95) -> Cells:
        """Mean and shortest interval of every cell."""
        return cells_of([self.cell(c, u) for c, u in np.ndindex(*self.shape)], self.shape, level)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape[0]} classes, {self.shape[1]} symbols)"


class TableDraws(TablePosterior, eqx.Module):
    """Equally weighted draws of the table: one alone has no uncertainty, NaN is not identified.

    With a `point` it is a table estimated from data, and the draws are its values in resamples.
    """

    counts: Num[np.ndarray, "draws classes symbols"]
    point: Float[np.ndarray, "classes symbols"] | None = eqx.field(default=None, kw_only=True)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of classes and symbols."""
        return self.counts.shape[1], self.counts.shape[2]

    @cached_property
    def mean_counts(self) -> Float[np.ndarray, "classes symbols"]:
        """The mean table."""
        return self.counts.mean(axis=0)

    def estimate(self, metric: str | Metric) -> DrawsEstimate:
        """Distribution of a metric; NaN draws are those in which it is undefined."""
        draws = self.metric(metric)
        if self.point is None:
            return DrawsEstimate(np.asarray(draws.of_table(self.counts), np.float64))
        return DrawsEstimate(_resampled(draws, self.counts), float(_resampled(draws, self.point[None])[0]))

    def joint(self, first: str | Metric, second: str | Metric) -> JointEstimate:
        """Joint draws of two metrics, both defined."""
        names = [self.metric(metric) for metric in (first, second)]
        points = np.stack([TableDraws.estimate(self, metric).draws for metric in names], 1)
        defined = ~np.isnan(points).any(1)
        if np.isnan(self.counts).all():
            raise ValueError("these labels do not determine the counts, so there is no joint posterior")
        if not defined.any():
            raise ValueError(f"{names[0].name} and {names[1].name} are never both defined")
        weight = np.full(int(defined.sum()), 1.0 / int(defined.sum()))
        return JointEstimate(names[0].name, names[1].name, points[defined], weight, float(defined.mean()))

    def cell(self, true: int, symbol: int) -> DrawsEstimate:
        """Distribution of n[true, symbol]."""
        point = None if self.point is None else float(self.point[true, symbol])
        return DrawsEstimate(self.counts[:, true, symbol].astype(np.float64), point)

    def counted(self, hits: CellWeights, misses: CellWeights) -> Sums | None:
        """Both sums in every draw; None of estimated tables."""
        known = ~np.isnan(self.counts).any(axis=(1, 2))
        if self.point is not None or not known.any():
            return None
        hit, miss = (np.einsum("dcs,cs->d", self.counts[known], some) for some in (hits, misses))
        pairs, number = np.unique(np.stack([hit, miss]), axis=1, return_counts=True)
        return pairs[0], pairs[1], number / number.sum()

    def rate(self, true: int, symbol: int) -> DrawsEstimate:
        """Posterior of n[true, symbol] / n[true, :]; may be undefined."""
        row = np.maximum(self.counts[:, true].sum(axis=1), 0)
        return DrawsEstimate(ratio(self.counts[:, true, symbol], row))

    def draws(self, key: Key, n: int) -> Float[np.ndarray, "n classes symbols"]:
        """n draws with replacement."""
        chosen = np.asarray(jax.random.choice(as_key(key), len(self.counts), (n,)))
        return self.counts[chosen].astype(np.float64)


def _resampled(metric: Metric, tables: np.ndarray) -> Float[np.ndarray, " draws"]:
    """The metric of estimated tables, NaN where its denominator is not positive."""
    value = np.asarray(metric.of_table(tables), np.float64)
    if not metric.is_ratio:
        return value
    below = (tables * metric.terms(np.ones(tables.shape[1:]))[1]).sum(axis=(1, 2))
    return np.where(below > 0, value, np.nan)


def estimates(
    posterior: TablePosterior, classes: Sequence[str], positive: int | None = None, more: Iterable[str] = ()
) -> dict[str, Estimate]:
    """Distributions of the metrics shown by default for these classes, and of `more`."""
    names = (*default_metrics(classes), *more)
    return {name: posterior.estimate(named_metric(name, classes, positive)) for name in names}


def thinned(posteriors: Sequence[TableDraws], most: int | None = None) -> TableDraws:
    """Equally many draws of every `TableDraws`, as one."""
    return TableDraws(evenly([one.counts for one in posteriors], most))


NO_DISTRIBUTION = (
    "a range over assumptions has no probability distribution; take that of one assumption from "
    "`assumptions`, or evaluate with assume='independent' or 'shared_difficulty'"
)


class RangeEstimate(Estimate):
    """Range over several assumptions: mean of the means, hull of the intervals; without coverage.

    It has no distribution: mode and sd are NaN, density and samples raise an error.
    """

    sd = mode = float("nan")  # type: ignore[assignment]

    def __init__(self, members: tuple[Estimate, ...]):
        self._members = members
        self.probability_defined = min(e.probability_defined for e in members)

    @property
    def mean(self) -> float:
        """Mean of the members' posterior means."""
        return float(np.mean([e.mean for e in self._members]))

    def interval(self, level: float = 0.95) -> Interval:
        """Hull of the members' shortest intervals."""
        return self._hull_of([e.interval(level) for e in self._members])

    def equal_tails(self, level: float = 0.95) -> Interval:
        """Hull of the members' equal-tailed intervals."""
        return self._hull_of([e.equal_tails(level) for e in self._members])

    def region(self, level: float = 0.95) -> Region:
        """Not available."""
        raise ValueError(f"{NO_DISTRIBUTION}; use interval({level:g})")

    def density(self, x: np.ndarray) -> np.ndarray:
        """Not available."""
        raise ValueError(NO_DISTRIBUTION)

    def _quantile(self, u: np.ndarray) -> np.ndarray:
        raise ValueError(NO_DISTRIBUTION)

    @staticmethod
    def _hull_of(parts: list[Interval]) -> Interval:
        return Interval(min(p.low for p in parts), max(p.high for p in parts), min(p.mass for p in parts))
