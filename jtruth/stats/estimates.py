"""The posterior distribution of one number, and the estimates taken from it (Su 2.5).

`PmfEstimate` has atoms (an exact distribution of a metric), `DensityEstimate` a density on a grid (the normal
approximations of Su 2.3, and exact distributions of very large samples); `draws` has draws and `student`
Student's t. All implement `Estimate`: mean (MMSE), mode (MAP), intervals, regions, draws.

The shortest interval may miss the mean: a recall that is 1 with probability .96 has the 95 % interval [1, 1].
So from a level of .9 on `interval` is the shortest of those that contain the mean.

A metric may be undefined for some label vectors (recall without positives). The distribution is then
conditional on its being defined, which has probability `probability_defined`; at 0 every estimate is NaN.

The mass of an interval or region of atoms is at least the level and is reported, because a discrete
distribution rarely attains a level exactly. Host side, float64.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy  # its modules are loaded lazily
from jaxtyping import Bool, Float

from jtruth._one_line import one_line, picture
from jtruth._random import Key, uniforms

WITH_MEAN = 0.9  # from this level on an interval contains the mean (see above)
Atoms = Float[np.ndarray, " atoms"]
Cells = Float[np.ndarray, " cells"]
_SLACK = 1e-12  # rounding of sums of probabilities


class Interval(NamedTuple("_Ends", [("low", float), ("high", float)])):
    """A closed interval, the pair (low, high); `mass` is the probability inside it."""

    mass: float

    def __new__(cls, low: float, high: float, mass: float = float("nan")) -> "Interval":
        """Both ends and the mass."""
        pair = super().__new__(cls, low, high)
        pair.mass = mass
        return pair

    def __repr__(self) -> str:
        return f"Interval(low={self.low}, high={self.high}, mass={self.mass})"


class Region(NamedTuple):
    """A union of closed intervals (low, high) and the probability inside it."""

    intervals: tuple[tuple[float, float], ...]
    mass: float

    __repr__ = one_line


def check_level(level: float) -> float:
    """Return the level, or raise ValueError if it is not strictly between 0 and 1."""
    if not isinstance(level, int | float | np.number) or not 0.0 < level < 1.0:
        raise ValueError(f"level is {level}; give a probability strictly between 0 and 1, for example 0.95")
    return float(level)


def shortest_interval(values: Atoms, pmf: Atoms, level: float, point: float | None = None) -> Interval:
    """Shortest interval of atoms (sorted `values`) that holds at least `level`; ties: the larger mass.

    It contains `point`, if given, which lies inside the range of the atoms.

    >>> shortest_interval(np.array([0.0, 0.5, 1.0]), np.array([0.1, 0.6, 0.3]), 0.8)
    Interval(low=0.5, high=1.0, mass=0.9)
    """
    cumulative = np.concatenate([[0.0], np.cumsum(pmf)])
    total = cumulative[-1]
    # For each first atom i the last atom j is the first with cumulative[j + 1] >= cumulative[i] + level.
    first = np.flatnonzero(cumulative[:-1] + level * total <= total + _SLACK)
    last = np.searchsorted(cumulative, cumulative[first] + level * total - _SLACK, side="left") - 1
    last = np.clip(last, first, values.size - 1)
    if point is not None:
        first, last = first[values[first] <= point], last[values[first] <= point]
        last = np.maximum(last, np.searchsorted(values, point))
    width = values[last] - values[first]
    mass = cumulative[last + 1] - cumulative[first]
    near = np.flatnonzero(width <= width.min() + 1e-12)
    best = near[np.argmax(mass[near])]
    return Interval(float(values[first[best]]), float(values[last[best]]), float(mass[best] / total))


def densest_cells(mass: Cells, level: float, by: Cells | None = None) -> Bool[np.ndarray, " cells"]:
    """The smallest set of cells (by decreasing mass, or `by`) with at least `level` of the mass."""
    order = np.argsort(-(mass if by is None else by), kind="stable")
    needed = int(np.searchsorted(np.cumsum(mass[order]), level * mass.sum() - _SLACK)) + 1
    inside = np.zeros(mass.size, bool)
    inside[order[:needed]] = True
    return inside


def merge_cells(
    low: Cells, high: Cells, inside: Bool[np.ndarray, " cells"]
) -> tuple[tuple[float, float], ...]:
    """Neighbouring cells that are inside, merged into intervals."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(int)))
    return tuple((float(low[i]), float(high[j - 1])) for i, j in zip(edges[::2], edges[1::2], strict=True))


_FEW_ATOMS = 64  # at most this many atoms: a region is a set of atoms, not of bins
_CELLS_PER_SD = 40
_BANDWIDTH = 0.2  # of the smoothing kernel, in sd: it widens the distribution by 2 %
_NOWHERE = Interval(float("nan"), float("nan"), float("nan"))


class Estimate(ABC):
    """Posterior distribution of one number. Host side, float64."""

    probability_defined: float

    plot = picture

    @property
    @abstractmethod
    def mean(self) -> float:
        """Posterior mean, the estimate of least mean squared error."""

    @property
    @abstractmethod
    def sd(self) -> float:
        """Posterior standard deviation."""

    @property
    @abstractmethod
    def mode(self) -> float:
        """Most probable value."""

    @abstractmethod
    def interval(self, level: float = 0.95) -> Interval:
        """Shortest interval of at least `level` (from .9 on, of those that contain the mean)."""

    @abstractmethod
    def density(self, x: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Posterior density at x (for atoms: see PmfEstimate)."""

    @abstractmethod
    def _quantile(self, u: np.ndarray) -> np.ndarray:
        """Quantiles at the probabilities u."""

    def p_above(self, limit: float, *, strict: bool = False) -> float:
        """P(number >= limit), or > limit if `strict`, given that it is defined; NaN if it never is."""
        if not self.probability_defined > 0:
            return float("nan")
        low, high = 0.0, 1.0  # of the probability to be below, by bisection
        for _ in range(4):
            u = np.linspace(low, high, 257)
            below = self._quantile(u) <= limit if strict else self._quantile(u) < limit
            k = int(below.sum())
            low, high = u[max(k - 1, 0)], u[min(k, 256)]
        return float(1 - 0.5 * (low + high)) if 0 < k < 257 else float(k == 0)

    def equal_tails(self, level: float = 0.95) -> Interval:
        """Interval that leaves (1 - level)/2 on either side."""
        check_level(level)
        low, high = self._quantile(np.array([(1 - level) / 2, (1 + level) / 2])).tolist()
        return Interval(low, high, 1.0 if low == high else level)

    def region(self, level: float = 0.95) -> Region:
        """Highest-density region, possibly a union of intervals; of one peak the shortest interval."""
        low, high = ends = self.interval(level)
        return Region(((low, high),), ends.mass)

    def sample(self, key: Key, n: int) -> Float[np.ndarray, " n"]:
        """n independent draws from the distribution (DrawsEstimate: with replacement from its draws)."""
        return self._quantile(uniforms(key, n))

    def __repr__(self) -> str:
        low, high = self.interval(0.95)
        return f"{type(self).__name__}(mean {self.mean:.4g}, sd {self.sd:.3g}, 95 % [{low:.4g}, {high:.4g}])"


@dataclass(frozen=True, eq=False, repr=False)
class PmfEstimate(Estimate):
    """A distribution given by atoms: `values` sorted and distinct, `pmf` their probabilities (sum 1).

    A `lattice` has equally spaced values. Otherwise single atoms mean little (ratios such as recall, where
    3/4 collects the mass of 3/4, 6/8, 9/12, ...): mode and region are those of the distribution smoothed by a
    normal kernel of sd/5, unless there are at most 64 atoms.
    """

    values: Atoms
    pmf: Atoms
    probability_defined: float = 1.0
    lattice: bool = False

    @property
    def mean(self) -> float:
        """Sum of value times probability."""
        return float(self.values @ self.pmf) if self.values.size else float("nan")

    @property
    def sd(self) -> float:
        """Standard deviation of the atoms."""
        if not self.values.size:
            return float("nan")
        return float(np.sqrt(max(((self.values - self.mean) ** 2) @ self.pmf, 0.0)))

    @cached_property
    def _smooth(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Edges of cells of sd/40, the mass in each, and the smoothed mass."""
        values, sd = self.values, self.sd
        width = max(sd / _CELLS_PER_SD, float(np.ptp(values)) / 20_000)
        margin = int(np.ceil(4 * _BANDWIDTH * sd / width))
        number = int(np.ceil(np.ptp(values) / width)) + 2 * margin + 1
        edges = values[0] + width * (np.arange(number + 1) - margin - 0.5)
        where = np.clip(((values - edges[0]) / width).astype(int), 0, number - 1)
        raw = np.bincount(where, weights=self.pmf, minlength=number)
        spread = _BANDWIDTH * sd / width
        return edges, raw, scipy.ndimage.gaussian_filter1d(raw, spread, mode="constant", radius=margin)

    @property
    def _by_atom(self) -> bool:
        return self.lattice or self.values.size <= _FEW_ATOMS

    @property
    def mode(self) -> float:
        """Most probable atom, or the peak of the smoothed distribution (see the class)."""
        if not self.values.size:
            return float("nan")
        if self._by_atom:
            return float(self.values[np.argmax(self.pmf)])
        edges, _, smooth = self._smooth
        peak = int(np.argmax(smooth))
        centre = 0.5 * (edges[peak] + edges[peak + 1])
        return float(np.clip(centre, self.values[0], self.values[-1]))

    def p_above(self, limit: float, *, strict: bool = False) -> float:
        """Probability of the atoms at or above the limit, up to rounding."""
        if not self.values.size:
            return float("nan")
        inside = self.values > limit + _SLACK if strict else self.values >= limit - _SLACK
        return float(self.pmf[inside].sum() / self.pmf.sum())

    def interval(self, level: float = 0.95) -> Interval:
        """Shortest interval of atoms with at least `level`; its `mass` is what it attains."""
        check_level(level)
        if not self.values.size:
            return _NOWHERE
        point = float(np.clip(self.mean, self.values[0], self.values[-1]))  # the mean of one atom rounds
        return shortest_interval(self.values, self.pmf, level, point if level >= WITH_MEAN else None)

    def equal_tails(self, level: float = 0.95) -> Interval:
        """Interval between two quantiles."""
        check_level(level)
        if not self.values.size:
            return _NOWHERE
        total = self.pmf.sum()
        ends = np.array([(1 - level) / 2, (1 + level) / 2]) - _SLACK
        low, high = np.minimum(np.searchsorted(np.cumsum(self.pmf) / total, ends), self.values.size - 1)
        inside = float(self.pmf[low : high + 1].sum() / total)
        return Interval(float(self.values[low]), float(self.values[high]), inside)

    def region(self, level: float = 0.95) -> Region:
        """Densest atoms with at least `level`, or those of the smoothed distribution (see the class)."""
        check_level(level)
        if not self.values.size:
            return Region((), float("nan"))
        if self._by_atom:
            inside = densest_cells(self.pmf, level)
            return Region(merge_cells(self.values, self.values, inside), float(self.pmf[inside].sum()))
        edges, raw, smooth = self._smooth
        inside = densest_cells(raw, level, by=smooth)
        ends = np.clip(edges, self.values[0], self.values[-1])
        return Region(merge_cells(ends[:-1], ends[1:], inside), float(raw[inside].sum()))

    def density(self, x: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Lattice: probability over spacing, linear in between; else the distribution smoothed over sd/5."""
        if not self.sd > 0:  # NaN: never defined
            return np.where(np.asarray(x) == self.mean, np.inf, 0.0 * self.sd)
        if self.lattice:
            spacing = (self.values[-1] - self.values[0]) / (self.values.size - 1)
            return np.interp(x, self.values, self.pmf / spacing, left=0.0, right=0.0)
        edges, _, smooth = self._smooth
        centres = 0.5 * (edges[1:] + edges[:-1])
        return np.interp(x, centres, smooth / np.diff(edges), left=0.0, right=0.0)

    def _quantile(self, u: np.ndarray) -> np.ndarray:
        if not self.values.size:
            return np.full(u.shape, np.nan)
        cumulative = np.cumsum(self.pmf)
        where = np.searchsorted(cumulative, u * cumulative[-1], side="right")
        return self.values[np.minimum(where, self.values.size - 1)]


@dataclass(frozen=True, eq=False, repr=False)
class DensityEstimate(Estimate):
    """A distribution given by its density on a grid fine enough for cubic interpolation.

    The density is divided by its integral over the grid, `grid_mass`.
    """

    grid: Float[np.ndarray, " points"]
    pdf: Float[np.ndarray, " points"]
    probability_defined: float = 1.0

    @cached_property
    def _spline(self) -> Any:
        return scipy.interpolate.CubicSpline(self.grid, self.pdf / self.grid_mass)

    @cached_property
    def _cdf(self):
        return self._spline.antiderivative()

    @property
    def grid_mass(self) -> float:
        """Integral of the density as given."""
        return self._integral(self.pdf)

    def _integral(self, values: np.ndarray) -> float:
        spline = scipy.interpolate.CubicSpline(self.grid, values)
        return float(spline.integrate(self.grid[0], self.grid[-1]))

    def _moment(self, power: int, about: float) -> float:
        return self._integral((self.grid - about) ** power * self._spline(self.grid))

    @cached_property
    def mean(self) -> float:
        """Integral of x times the density."""
        return self._moment(1, 0.0)

    @cached_property
    def sd(self) -> float:
        """Root of the integral of (x - mean)^2 times the density."""
        return float(np.sqrt(self._moment(2, self.mean)))

    @cached_property
    def mode(self) -> float:
        """Highest point of the interpolated density."""
        return float(self._turns[np.argmax(self._spline(self._turns))])

    @cached_property
    def _turns(self) -> np.ndarray:
        """The grid and all stationary points: the density is monotone between neighbours."""
        stationary = self._spline.derivative().roots(extrapolate=False)
        return np.union1d(self.grid, stationary[np.isfinite(stationary)])

    @cached_property
    def _first_guess(self) -> tuple[np.ndarray, np.ndarray]:
        fine = np.linspace(self.grid[0], self.grid[-1], 20 * self.grid.size)
        return np.maximum.accumulate(self._cdf(fine)), fine

    def _quantile(self, u: np.ndarray) -> np.ndarray:
        x = np.interp(u, *self._first_guess)
        for _ in range(3):  # Newton polish
            slope = self._spline(x)
            x = np.where(slope > 0, x - (self._cdf(x) - u) / np.where(slope > 0, slope, 1.0), x)
            x = np.clip(x, self.grid[0], self.grid[-1])
        return x

    def interval(self, level: float = 0.95) -> Interval:
        """Shortest interval: the lower tail is searched on ever finer grids."""
        check_level(level)
        low, high = 0.0, 1.0 - level
        if level >= WITH_MEAN:
            below = float(self._cdf(self.mean))
            low, high = max(below - level, low), min(below, high)
        for _ in range(6):
            u = np.linspace(low, high, 65)
            width = self._quantile(np.minimum(u + level, 1.0)) - self._quantile(u)
            best = int(np.argmin(width))
            low, high = u[max(best - 1, 0)], u[min(best + 1, 64)]
        low, high = self._quantile(np.array([u[best], min(u[best] + level, 1.0)])).tolist()
        return Interval(low, high, level)

    def _above(self, height: float) -> tuple[tuple[tuple[float, float], ...], float]:
        """Where the density exceeds `height`, and the mass there."""
        turns, solve = self._turns, scipy.optimize.brentq
        steps = np.flatnonzero(np.diff(self._spline(turns) > height))
        brackets = zip(turns[steps], turns[steps + 1], strict=True)
        crossings = [solve(lambda x: self._spline(x) - height, *ends, xtol=1e-15) for ends in brackets]
        points = np.unique([self.grid[0], *crossings, self.grid[-1]])
        inside = self._spline(0.5 * (points[1:] + points[:-1])) > height
        return merge_cells(points[:-1], points[1:], inside), float(np.diff(self._cdf(points))[inside].sum())

    def region(self, level: float = 0.95) -> Region:
        """Where the density exceeds the height that leaves `level` inside (Su 2.5)."""
        check_level(level)
        top = float(self._spline(self.mode))
        height: Any = top * (1 - 1e-12)
        if self._above(height)[1] < level:  # otherwise a plateau: no height separates part of it
            height = scipy.optimize.brentq(lambda h: self._above(h)[1] - level, 0.0, height, xtol=top * 1e-13)
        return Region(*self._above(float(height)))

    def density(self, x: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """The interpolated density; 0 outside the grid."""
        x = np.asarray(x, np.float64)
        inside = (x >= self.grid[0]) & (x <= self.grid[-1])
        return np.where(inside, np.maximum(self._spline(np.clip(x, self.grid[0], self.grid[-1])), 0.0), 0.0)
