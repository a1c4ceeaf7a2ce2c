"""Intervals and regions of a one-dimensional law: shortest interval, highest-density region, equal tails.

For atoms, the mass attained is at least the level and is reported, because a discrete law rarely attains a
level exactly. Host side, float64.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy
from jaxtyping import Bool, Float

from jtruth._one_line import one_line

WITH_MEAN = 0.9  # from this level on an interval contains the mean (see `estimates`)
_SLACK = 1e-12  # a level counts as attained within this much (sums of probabilities round)


class Interval(NamedTuple("_Ends", [("low", float), ("high", float)])):
    """A closed interval, the pair (low, high); `mass` is the probability inside it."""

    mass: float

    def __new__(cls, low: float, high: float, mass: float = float("nan")) -> "Interval":
        """Ends and the probability between them."""
        pair = super().__new__(cls, low, high)
        pair.mass = mass
        return pair

    def __repr__(self) -> str:
        """The ends and the mass."""
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


def shortest_interval(
    values: Float[np.ndarray, " atoms"],
    pmf: Float[np.ndarray, " atoms"],
    level: float,
    point: float | None = None,
) -> Interval:
    """Shortest interval of atoms (sorted `values`) that holds at least `level`; ties go to the larger mass.

    It contains `point`, which lies inside the range of the atoms, if there is one.

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


def equal_tails(
    values: Float[np.ndarray, " atoms"], pmf: Float[np.ndarray, " atoms"], level: float
) -> Interval:
    """Interval between the (1 - level)/2 and (1 + level)/2 quantiles of atoms (sorted `values`)."""
    cumulative = np.cumsum(pmf) / np.sum(pmf)
    low = min(int(np.searchsorted(cumulative, (1 - level) / 2 - _SLACK)), values.size - 1)
    high = min(int(np.searchsorted(cumulative, (1 + level) / 2 - _SLACK)), values.size - 1)
    return Interval(float(values[low]), float(values[high]), float(pmf[low : high + 1].sum() / pmf.sum()))


def densest_cells(
    mass: Float[np.ndarray, " cells"], level: float, by: Float[np.ndarray, " cells"] | None = None
) -> Bool[np.ndarray, " cells"]:
    """The smallest set of cells (taken by decreasing mass, or `by`) that holds at least `level` of all."""
    order = np.argsort(-(mass if by is None else by), kind="stable")
    needed = int(np.searchsorted(np.cumsum(mass[order]), level * mass.sum() - _SLACK)) + 1
    inside = np.zeros(mass.size, bool)
    inside[order[:needed]] = True
    return inside


def merge_cells(
    low: Float[np.ndarray, " cells"], high: Float[np.ndarray, " cells"], inside: Bool[np.ndarray, " cells"]
) -> tuple[tuple[float, float], ...]:
    """Neighbouring cells that are inside, merged into intervals."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(int)))
    return tuple((float(low[i]), float(high[j - 1])) for i, j in zip(edges[::2], edges[1::2], strict=True))


def reach(spline: Any) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of a spline on each of its pieces: a cubic stays within its Bernstein coefficients."""
    step = np.diff(spline.x)
    third, second, first, start = (c * step**k for c, k in zip(spline.c, (3, 2, 1, 0), strict=True))
    end = start + first + second + third
    hull = np.stack([start, start + first / 3, start + (2 * first + second) / 3, end])
    slack = 1e-9 * np.abs(hull).max()
    return hull.min(axis=0) - slack, hull.max(axis=0) + slack


def crossings(spline: Any, bounds: tuple[np.ndarray, np.ndarray], height: float) -> np.ndarray:
    """Where a spline is `height`; only the pieces that may reach it are solved."""
    pieces = np.flatnonzero((bounds[0] <= height) & (height <= bounds[1]))
    if not pieces.size:
        return np.zeros(0)
    left, width = spline.x[pieces], np.diff(spline.x)[pieces]
    ends = np.concatenate([[0.0], np.cumsum(width)])  # the pieces side by side, whatever lay between them
    side_by_side = scipy.interpolate.PPoly(spline.c[:, pieces], ends)
    found = side_by_side.solve(height, discontinuity=False, extrapolate=False)
    found = found[np.isfinite(found)]
    own = np.clip(np.searchsorted(ends, found, side="right") - 1, 0, pieces.size - 1)
    return left[own] + (found - ends[own])
