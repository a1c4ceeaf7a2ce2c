"""The same posterior of the counts when a million samples make the table too large to write down.

`exact` sums over every cell of the integer lattice. Here the two counts are spread so widely that the sums
are integrals of smooth functions, and the trapezoid rule with steps of sd/16 gives those to rounding error.
The Poisson-binomial factors come from the second-order saddlepoint expansion (relative error about
1/variance^3 < 1e-6/variance, uniformly in the tails) at a few tilts, joined by a polynomial. These need sums
over the samples alone, so many samples are put on a grid first (`log_odds_grid`). Cost: one pass over the
samples, whatever the number of cells. A count that is confined near 0 or near its maximum keeps its integer
lattice, for which the samples themselves are read. Host side, float64.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.polynomial import Chebyshev
from scipy.interpolate import CubicSpline

from jtruth.stats.estimates import DensityEstimate, Estimate, PmfEstimate
from jtruth.stats.poisson_binomial import cumulants, log_pmf, saddlepoint_log_pmf, tilt_for_mean
from jtruth.tables.binary import GridTable, linear_forms
from jtruth.tables.metrics import Metric
from jtruth.testing.binary.exact import law_of_atoms, log_prior_constant, log_side_factor, log_sum_factor
from jtruth.testing.binary.log_odds_grid import on_grid
from jtruth.testing.binary.operating_point import (
    BetaPrior,
    LogOdds,
    OperatingPoint,
    log_likelihood,
    most_probable,
)

SMOOTH_VARIANCE = 100.0  # smallest variance for which the saddlepoint expansion is used
_STEPS_PER_SD = 16
_RIDGES = 4.0
_EDGES = 1e-14  # mass at the edges of a window that is wide enough
_POINTS = 361  # of the density of a ratio, over +-9 sd
_TILTS = (9, 17)  # points of the polynomial on a window that is narrow, or wide, beside the number of samples


class NotSmooth(ValueError):
    """The posterior does not have the form that this file needs; the exact table does it."""


@dataclass(frozen=True, eq=False)
class SideLaw:
    """log P(count = c) for real c on a window: a polynomial through saddlepoint values."""

    polynomial: Any
    sure: int

    def __call__(self, count: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Value at real counts inside the window."""
        return self.polynomial(count - self.sure)


def side_law(x: np.ndarray, counts: np.ndarray, sure: int, low: float, high: float) -> SideLaw:
    """Fit a SideLaw on [low, high]: a polynomial through values near the Chebyshev points of the window.

    Tilts are solved for roughly, each from the one before, so points may lie a little off; the count K'(t)
    that each stands for is exact.
    """
    number = _TILTS[int(high - low > 0.05 * counts.sum())]
    middle, half = 0.5 * (low + high) - sure, 0.5 * (high - low) * 1.02
    wanted = middle - half * np.cos(np.pi * (np.arange(number) + 0.5) / number)
    tilt, points = 0.0, []
    for target in wanted:
        tilt = tilt_for_mean(x, counts, float(target), tilt, tolerance=0.03 * half)
        k = cumulants(x, counts, tilt)
        points.append((k[1], saddlepoint_log_pmf(k, tilt)))
    c, value = np.array(points).T
    return SideLaw(Chebyshev.fit(c, value, number - 1), sure)


@dataclass(frozen=True, eq=False, repr=False)
class SmoothTable(GridTable):
    """Posterior of (A, B) at nodes; `probability[i, j]` is what node (a[i], b[j]) stands for.

    a is a uniform grid of real counts; b too, or integers when `b_is_lattice`.
    """

    a: Float[np.ndarray, " a_nodes"]
    b: Float[np.ndarray, " b_nodes"]
    probability: Float[np.ndarray, "a_nodes b_nodes"]
    n1: int
    n0: int
    log_evidence: float
    b_is_lattice: bool
    log_a: CubicSpline  # log f_1 at real counts, through its values at the nodes
    log_b: Float[np.ndarray, " b_nodes"]  # log f_0 at the nodes
    log_scale: float  # log of what log f_1 + log f_0 + log g + log(steps) must be divided by
    prior: BetaPrior | None  # None: the operating point was given, A and B are independent

    def count_law(self, axis: int) -> PmfEstimate:
        """Law of the number of true positives (axis 0) or of false negatives (axis 1)."""
        if axis == 1 and self.b_is_lattice:
            return PmfEstimate(self.b, self.probability.sum(0), lattice=True)
        return _lattice_law((self.a, self.b)[axis], self.probability.sum(1 - axis))

    def _density(self, a: Float[np.ndarray, "rows b_nodes"]) -> Float[np.ndarray, "rows b_nodes"]:
        """Posterior mass per unit of a, with the step of b included, at (a[i, j], b[j]); 0 off the window."""
        inside = (a >= self.a[0]) & (a <= self.a[-1])
        here, column = a[inside], np.broadcast_to(np.arange(self.b.size), a.shape)[inside]
        step = 1.0 if self.b_is_lattice else self.b[1] - self.b[0]
        log_p = _log_g(here + self.b[column], self.n1 + self.n0, self.prior)
        log_p = log_p + self.log_a(here) + (self.log_b - self.log_scale)[column]
        out = np.zeros(a.shape)
        out[inside] = step * np.exp(log_p)
        return out

    def ratio_law(self, metric: Metric) -> Estimate:
        """Law of a metric: a density for a ratio that varies with A, else atoms at the nodes."""
        values = self.values(metric)
        mean = float((values * self.probability).sum())
        sd = float(np.sqrt(((values - mean) ** 2 * self.probability).sum()))
        held = self.probability > 1e-17
        if not metric.is_ratio or self._in_ridges(metric) or np.isnan(values[held]).any():
            held = (self.probability > 1e-18) & ~np.isnan(values)
            undefined = float(self.probability[np.isnan(values)].sum())
            return law_of_atoms(values[held], self.probability[held], 1.0 - undefined)
        grid = np.linspace(
            max(mean - 9 * sd, values[held].min()), min(mean + 9 * sd, values[held].max()), _POINTS
        )
        a, fn, eps = self._true_positives(metric, grid[:, None]), self.b[None, :], 1e-4
        ends = (metric.of_counts(c, self.n1 - c, fn, self.n0 - fn) for c in (a + eps, a - eps))
        return DensityEstimate(grid, (self._density(a) * 2 * eps / np.abs(next(ends) - next(ends))).sum(1))

    def _in_ridges(self, metric: Metric) -> bool:
        """Whether a step of the lattice of B moves the metric further than A does: ridges, no density.

        So it is where for some B the metric does not depend on A at all: recall without false negatives.
        """
        if not self.b_is_lattice:
            return False
        top, bottom = linear_forms(metric, self.n1, self.n0)
        ends = np.array([self.b[0] - 1, self.b[-1] + 1])
        turns = top.of_a * (bottom.of_b * ends + bottom.constant)
        turns -= bottom.of_a * (top.of_b * ends + top.constant)
        if turns.min() <= 0 <= turns.max():
            return True
        p_a, p_b = self.probability.sum(1), self.probability.sum(0)
        a, b = float(self.a @ p_a), float(self.b @ p_b)
        above, below = (f.of_a * a + f.of_b * b + f.constant for f in (top, bottom))
        sd = float(np.sqrt((self.a - a) ** 2 @ p_a))
        by_a, by_b = (abs(n * below - d * above) for n, d in zip(top[:2], bottom[:2], strict=True))
        return by_a * sd < _RIDGES * by_b

    def _true_positives(self, metric: Metric, q: np.ndarray) -> np.ndarray:
        """The true positives at which the metric equals q, for every number of false negatives."""
        top, bottom = linear_forms(metric, self.n1, self.n0)
        b = self.b[None, :]
        return (top.of_b * b + top.constant - q * (bottom.of_b * b + bottom.constant)) / (
            q * bottom.of_a - top.of_a
        )

    def difference_law(self) -> PmfEstimate:
        """Law of A - B."""
        difference = self.a[:, None] - self.b[None, :]
        mean = float((difference * self.probability).sum())
        sd = float(np.sqrt(((difference - mean) ** 2 * self.probability).sum()))
        grid = mean + sd * np.arange(-9 * _STEPS_PER_SD, 9 * _STEPS_PER_SD + 1) / _STEPS_PER_SD
        return _lattice_law(grid, self._density(grid[:, None] + self.b[None, :]).sum(1))


def _lattice_law(grid: np.ndarray, mass: np.ndarray) -> PmfEstimate:
    """PMF on the integers from values on a fine real grid."""
    used = np.flatnonzero(mass > 1e-290)
    grid, mass = grid[used[0] : used[-1] + 1], mass[used[0] : used[-1] + 1]
    whole = np.arange(int(np.ceil(grid[0])), int(np.floor(grid[-1])) + 1)
    pmf = np.exp(CubicSpline(grid, np.log(np.maximum(mass, 1e-300)))(whole))
    return PmfEstimate(whole.astype(np.float64), pmf / pmf.sum(), lattice=True)


def is_smooth(data: LogOdds, mode: OperatingPoint) -> bool:
    """Whether the true positives are spread widely enough, and far from their limits."""
    sd = np.sqrt(mode.count_covariance[0, 0])
    low, high = data.sure1, data.n1 - data.never1
    room = min(mode.count_mean[0] - low, high - mode.count_mean[0])
    _, variance = _side(data, 0, mode)
    return bool(variance > SMOOTH_VARIANCE and room > 11 * sd)


def _side(data: LogOdds, axis: int, mode: OperatingPoint):
    """Samples of one side and the variance of its count at the mode."""
    d, f = mode.p_detection, mode.p_false_alarm
    tilt = np.log(d / f) if axis == 0 else np.log((1 - d) / (1 - f))
    x, counts = (data.x1, data.counts1) if axis == 0 else (data.x0, data.counts0)
    return (x, counts), float(cumulants(x, counts, tilt)[2]) if x.size else 0.0


def smooth_table(
    data: LogOdds, prior: BetaPrior = BetaPrior(), *, gridded: LogOdds | None = None
) -> SmoothTable:
    """The posterior of the counts by quadrature; see the module docstring and `is_smooth`.

    `gridded` is `on_grid(data)`, where it is there already.
    """
    exact, data = data, on_grid(data) if gridded is None else gridded
    mode = most_probable(data, prior)
    if not is_smooth(data, mode):
        raise NotSmooth("the true positives are not spread widely enough for quadrature; use count_table")
    reach = 9.5 * np.sqrt(np.diag(mode.count_covariance))
    while True:
        a, log_a, b, log_b, lattice = _nodes(exact, data, mode, reach)
        log_a = log_a + log_side_factor(a, data.n1, prior.a_d, prior.a_f)
        log_b = log_b + log_side_factor(b, data.n0, prior.b_d, prior.b_f)
        table, edges = _table(data, a, log_a, b, log_b, lattice, prior)
        if edges.max() < _EDGES:
            return table
        reach = reach * np.where(edges >= _EDGES, 1.5, 1.0)


def smooth_table_at(data: LogOdds, p_detection: float, p_false_alarm: float) -> SmoothTable:
    """The law of the counts given the operating point, A and B independent, by quadrature.

    `log_evidence` is log p(y_pred | z; p_D, p_FA).

    Raises:
        NotSmooth: the true positives are confined, or too few; `plug_in.table_at` does it.
    """
    gridded, d, f = on_grid(data), p_detection, p_false_alarm
    shifts = np.array([np.log(d / f), np.log((1 - d) / (1 - f))])
    evidence = log_likelihood(gridded, d, f)
    exact = data._replace(x1=data.x1 + shifts[0], x0=data.x0 + shifts[1])
    moved = gridded._replace(x1=gridded.x1 + shifts[0], x0=gridded.x0 + shifts[1])
    k = [cumulants(x, counts, 0.0) for x, counts in ((moved.x1, moved.counts1), (moved.x0, moved.counts0))]
    mean = np.array([k[0][1] + data.sure1, k[1][1] + data.sure0])
    spread = np.diag([k[0][2], k[1][2]])
    point = OperatingPoint(0.5, 0.5, np.eye(2), mean, spread, True, 0)
    if not is_smooth(moved, point):
        raise NotSmooth("the true positives are not spread widely enough for quadrature; use table_at")
    nodes = _nodes(exact, moved, point, 9.5 * np.sqrt(np.diag(spread)))
    table, _ = _table(moved, *nodes, prior=None)
    return replace(table, log_evidence=evidence)


def _nodes(
    exact: LogOdds, data: LogOdds, mode: OperatingPoint, reach: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, bool]:
    """Nodes of A and of B with the logs of their laws given the labels, and whether B is on its integers."""
    mean, sd = mode.count_mean, np.sqrt(np.diag(mode.count_covariance))
    ends = np.array([mean - reach, mean + reach]).T
    if ends[0, 0] < data.sure1 + sd[0] or ends[0, 1] > data.n1 - data.never1 - sd[0]:
        raise NotSmooth("the true positives reach the end of their range; use count_table")
    a = np.linspace(ends[0, 0], ends[0, 1], 2 * int(np.ceil(reach[0] / sd[0] * _STEPS_PER_SD)) + 1)
    log_a = np.asarray(side_law(data.x1, data.counts1, data.sure1, *ends[0])(a), np.float64)
    return a, log_a, *_false_negatives(exact, data, mode, ends[1], sd[1])


def _table(data, a, log_a, b, log_b, lattice, prior) -> tuple[SmoothTable, np.ndarray]:
    """The table from the logs of f_1 and f_0 at its nodes, and the shares of its mass at the edges."""
    g = _log_g(a[:, None] + b[None, :], data.n1 + data.n0, prior)
    log_p = log_a[:, None] + log_b[None, :] + g
    p = np.exp(log_p - log_p.max())
    total = p.sum()
    edges = np.array([p[[0, -1], :].sum(), 0.0 if lattice else p[:, [0, -1]].sum()]) / total
    steps = (a[1] - a[0]) * (1.0 if lattice else b[1] - b[0])
    log_scale = float(log_p.max() + np.log(total * steps))
    evidence = log_scale - (0.0 if prior is None else log_prior_constant(prior))
    n1, n0, log_f1 = data.n1, data.n0, CubicSpline(a, log_a)
    table = SmoothTable(a, b, p / total, n1, n0, evidence, lattice, log_f1, log_b, log_scale, prior)
    return table, edges


def _log_g(positives: np.ndarray, total: int, prior: BetaPrior | None) -> Any:
    """log g of `exact`; nothing where the operating point is given."""
    return 0.0 if prior is None else log_sum_factor(positives, total, prior)


def _false_negatives(
    exact: LogOdds, data: LogOdds, mode: OperatingPoint, ends: np.ndarray, sd: float
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Nodes for B, log PB_0 there, and whether they are the integers; `data`: `exact` on a grid."""
    (x, counts), variance = _side(data, 1, mode)
    low, high = data.sure0, data.n0 - data.never0
    room = min(ends[0] - low, high - ends[1])
    if variance > SMOOTH_VARIANCE and room > 4 * sd:
        b = np.linspace(
            ends[0], ends[1], 2 * int(np.ceil((ends[1] - ends[0]) / (2 * sd) * _STEPS_PER_SD)) + 1
        )
        return b, side_law(x, counts, data.sure0, ends[0], ends[1])(b), False
    first, last = max(low, int(ends[0]) - 6), min(high, int(ends[1]) + 6)
    law = log_pmf(exact.x0, exact.counts0, first - low, last - low)
    return np.arange(first, last + 1.0), law, True
