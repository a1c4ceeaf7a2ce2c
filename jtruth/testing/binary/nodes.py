"""The posterior of the counts summed at nodes, where the table of `exact` would be too large to write down.

Many samples spread the two counts so widely that sums over whole numbers are integrals of smooth functions,
which the trapezoid rule gives to rounding error as long as the steps are below the spread of A given B and
of B given A (exp(-2 pi^2) = 3e-9 where they are equal); they are a tenth of it where memory allows. Steps of
A and B have an irrational ratio, so that values of a metric at the nodes lie densely.

The Poisson-binomial factors come from the second-order saddlepoint expansion, which needs sums over the
samples alone, so many samples are put on a grid first (`on_grid`). What is expanded is the ratio to the law
of as many fair coins (`log_law`): it is smooth up to the ends of the range, where both expansions fail alike,
so polynomials through a few tilts join it to about 1e-9 (labels that are nearly certain: 1e-6).

*Smooth*: the true positives are spread widely and away from the ends of their range. Metrics then have
densities. False negatives that are confined near 0 or near their maximum keep their whole numbers, for which
the samples themselves are read.

*To the ends*: labels say little of many samples. If they say nothing, the number of positives is known to its
binomial spread, and which of them were predicted positive is not known at all: A and B run over all of their
range while A + B hardly moves. An end of the range that holds mass counts (h + 1)/2, as Euler and Maclaurin
have it. Against the whole table at N = 12 000 (labels wrong in .5 to .46): means of metrics within 2e-4 sd,
sd within 1e-4, widths of intervals within .6 %; laws are pooled within a thousandth of their range.

`exact_posterior` and `law_at` choose between the table and the nodes. Host side, float64.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy
from jaxtyping import Float
from numpy.polynomial import Chebyshev
from scipy.special import gammaln

from jtruth.stats.estimates import DensityEstimate, Estimate, PmfEstimate
from jtruth.stats.poisson_binomial import cumulants, saddlepoint_log_pmf, tilt_for_mean
from jtruth.tables.binary import GridTable, linear_forms
from jtruth.tables.metrics import Metric
from jtruth.testing.binary.exact import (
    Axis,
    CountTable,
    count_table,
    law_of_cells,
    log_prior_constant,
    log_sum_factor,
    summed,
    whole_numbers,
)
from jtruth.testing.binary.operating_point import (
    BetaPrior,
    LogOdds,
    OperatingPoint,
    Side,
    log_likelihood,
    most_probable,
    on_grid,
)

_LARGE_TABLE = 150_000  # cells above which smooth nodes are used where that is possible
_LARGEST_TABLE = 5_000_000  # cells that are written down: .04 GB for each array of them
_SMOOTH_VARIANCE = 100.0  # smallest variance for which a side is expanded
_NODES = 60_000  # wanted where metrics have densities
_ENOUGH, _MOST = 4_000_000, 20_000_000  # wanted to the ends, and made at most: .2 GB for each array
_RATIO = 0.5 * (np.sqrt(5.0) - 1)  # of the steps of A and B, in their spreads
_FEW = 1000  # flips of a side that keeps its whole numbers to the ends
_STEPS_PER_SD = 16  # of the law of A - B
_RIDGES = 4.0
_POINTS = 361  # of the density of a ratio, over +-9 sd
_BINS = 1024  # of the law of a metric to the ends: single nodes mean nothing
_DEGREE, _PIECES = 11, 20  # of the polynomials of a log law, and how often a window is halved


def exact_posterior(data: LogOdds, prior: BetaPrior = BetaPrior()) -> "CountTable | NodeTable":
    """The exact posterior of the counts: the table, or nodes where it would be very large."""
    return _table_or_nodes(data, prior)


def law_at(data: LogOdds, p_detection: float, p_false_alarm: float) -> "CountTable | NodeTable":
    """The law of the counts given the operating point, A and B independent.

    `log_evidence` is log p(y_pred | z; p_D, p_FA).
    """
    found = _table_or_nodes(data.at(p_detection, p_false_alarm), None)
    return replace(found, log_evidence=log_likelihood(on_grid(data), p_detection, p_false_alarm))


def _table_or_nodes(data: LogOdds, prior: BetaPrior | None) -> "CountTable | NodeTable":
    gridded = on_grid(data)
    mode = most_probable(gridded, prior)
    wide = 18.0 * np.sqrt(np.diag(mode.count_covariance)) + 12.0
    if np.prod(wide) > _LARGE_TABLE:
        found = node_table(data, prior, gridded, mode)
        if found is None and np.prod(np.minimum(wide, np.ptp(data.limits, axis=1) + 1)) > _LARGEST_TABLE:
            found = node_table(data, prior, gridded, mode, to_the_ends=True)
        if found is not None:
            return found
    as_it_was = gridded.x1 is data.x1 and gridded.x0 is data.x0
    return count_table(data, prior, mode if as_it_was else None)


@dataclass(frozen=True, eq=False, repr=False)
class NodeTable(GridTable):
    """Smooth posterior of (A, B) at nodes; `probability[i, j]` is what node (a[i], b[j]) stands for."""

    a: Float[np.ndarray, " a_nodes"]
    b: Float[np.ndarray, " b_nodes"]
    probability: Float[np.ndarray, "a_nodes b_nodes"]
    n1: int
    n0: int
    log_evidence: float
    log_a: Any  # log f_1 at real counts, through its values at the nodes
    log_b: Float[np.ndarray, " b_nodes"]  # log f_0 at the nodes
    log_scale: float  # what log f_1 + log f_0 + log g must lose
    prior: BetaPrior | None  # None: the operating point was given, A and B are independent
    b_is_lattice: bool  # b holds whole numbers

    def count_law(self, axis: int) -> PmfEstimate:
        """Law of the number of true positives (axis 0) or of false negatives (axis 1)."""
        nodes, mass = (self.a, self.b)[axis], self.probability.sum(1 - axis)
        if axis == 1 and self.b_is_lattice:
            return PmfEstimate(nodes, mass, lattice=True)
        return _lattice_law(nodes, mass)

    def _density(self, a: Float[np.ndarray, "rows b_nodes"]) -> Float[np.ndarray, "rows b_nodes"]:
        """Posterior mass per unit of a, with the step of b included, at (a[i, j], b[j]); 0 off the window."""
        inside = (a >= self.a[0]) & (a <= self.a[-1])
        here, column = a[inside], np.broadcast_to(np.arange(self.b.size), a.shape)[inside]
        step = 1.0 if self.b_is_lattice else self.b[1] - self.b[0]
        log_p = self.log_a(here) + (self.log_b - self.log_scale)[column]
        if self.prior is not None:
            log_p += log_sum_factor(here + self.b[column], self.n1 + self.n0, self.prior)
        out = np.zeros(a.shape)
        out[inside] = step * np.exp(log_p)
        return out

    def ratio_law(self, metric: Metric) -> Estimate:
        """Law of a metric: a density for a ratio that varies with A, else atoms at the nodes."""
        values = self.values(metric)
        mean = float((values * self.probability).sum())
        sd = float(np.sqrt(((values - mean) ** 2 * self.probability).sum()))
        inside = self.probability > 1e-17
        if not metric.is_ratio or self._in_steps(metric) or np.isnan(values[inside]).any():
            return law_of_cells(values, self.probability, least=1e-18)
        grid = np.linspace(
            max(mean - 9 * sd, values[inside].min()), min(mean + 9 * sd, values[inside].max()), _POINTS
        )
        a, fn, eps = self._true_positives(metric, grid[:, None]), self.b[None, :], 1e-4
        ends = (metric.of_counts(c, self.n1 - c, fn, self.n0 - fn) for c in (a + eps, a - eps))
        return DensityEstimate(grid, (self._density(a) * 2 * eps / np.abs(next(ends) - next(ends))).sum(1))

    def _in_steps(self, metric: Metric) -> bool:
        """Whether a step of the lattice of B moves the metric further than A does: steps, no density.

        So it is where for some B the metric does not depend on A at all: recall without false negatives.
        """
        if not self.b_is_lattice:
            return False
        top, bottom = linear_forms(metric, self.n1, self.n0)
        ends = np.array([self.b[0] - 1, self.b[-1] + 1])
        turns = top[0] * (bottom[1] * ends + bottom[2]) - bottom[0] * (top[1] * ends + top[2])
        if turns.min() <= 0 <= turns.max():
            return True
        p_a, p_b = self.probability.sum(1), self.probability.sum(0)
        a, b = float(self.a @ p_a), float(self.b @ p_b)
        above, below = (f[0] * a + f[1] * b + f[2] for f in (top, bottom))
        sd = float(np.sqrt((self.a - a) ** 2 @ p_a))
        by_a, by_b = (abs(n * below - d * above) for n, d in zip(top[:2], bottom[:2], strict=True))
        return by_a * sd < _RIDGES * by_b

    def _true_positives(self, metric: Metric, q: np.ndarray) -> np.ndarray:
        """The true positives at which the metric equals q, for every number of false negatives."""
        (top_a, top_b, top), (below_a, below_b, below) = linear_forms(metric, self.n1, self.n0)
        b = self.b[None, :]
        return (top_b * b + top - q * (below_b * b + below)) / (q * below_a - top_a)

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
    pmf = np.exp(scipy.interpolate.CubicSpline(grid, np.log(np.maximum(mass, 1e-300)))(whole))
    return PmfEstimate(whole.astype(np.float64), pmf / pmf.sum(), lattice=True)


# ---- where the nodes are -----------------------------------------------------------------------------------


def node_table(
    data: LogOdds,
    prior: BetaPrior | None = BetaPrior(),
    gridded: LogOdds | None = None,
    mode: OperatingPoint | None = None,
    *,
    to_the_ends: bool = False,
) -> "CountTable | NodeTable | None":
    """The posterior of the counts at nodes; None where the true positives are confined, or reach an end.

    Args:
        data: the samples.
        prior: of the operating point; None: it is given, and inside the log-odds.
        gridded: `on_grid(data)`, where it is there already.
        mode: `most_probable` of these.
        to_the_ends: nodes up to the ends of both ranges, whatever they hold.

    Raises:
        ValueError: more nodes than fit into memory.
    """
    gridded = on_grid(data) if gridded is None else gridded
    mode = most_probable(gridded, prior) if mode is None else mode
    make = _to_the_ends if to_the_ends else _smooth_axes
    found = summed(data, prior, mode, partial(make, data, gridded, mode))
    if found is None:
        return None
    a, b, probability, log_scale = found
    first, second = (np.asarray(axis.count, np.float64) for axis in (a, b))
    table = (first, second, probability, data.n1, data.n0, log_scale - log_prior_constant(prior))
    if to_the_ends:
        return CountTable(*table, bins=_BINS, whole=False)
    log_a = scipy.interpolate.CubicSpline(a.count, a.log_f)
    return NodeTable(*table, log_a, b.log_f, log_scale, prior, b.cells is None)


def _smooth_axes(
    data: LogOdds, gridded: LogOdds, mode: OperatingPoint, ends: np.ndarray
) -> list[Axis] | None:
    """Nodes away from the ends; None if the true positives do not allow it. `gridded`: `data` on a grid."""
    sd, limits = np.sqrt(np.diag(mode.count_covariance)), data.limits
    tilts = (
        np.log(mode.p_detection / mode.p_false_alarm),
        np.log((1 - mode.p_detection) / (1 - mode.p_false_alarm)),
    )
    wide = [
        side.x.size > 0 and cumulants(side.x, side.counts, float(tilt))[2] > _SMOOTH_VARIANCE
        for side, tilt in zip(gridded.sides, tilts, strict=True)
    ]
    room = np.minimum(ends[:, 0] - limits[:, 0], limits[:, 1] - ends[:, 1])
    if not wide[0] or room[0] < 2 * sd[0]:
        return None
    steps = _steps(mode, ends, _NODES, 16.0)
    a = spaced(gridded.sides[0], ends[0], steps[0], limits[0])
    if wide[1] and room[1] > 4 * sd[1]:
        return [a, spaced(gridded.sides[1], ends[1], steps[1], limits[1])]
    return [a, whole_numbers(data.sides[1], ends[1])]


def _to_the_ends(data: LogOdds, gridded: LogOdds, mode: OperatingPoint, ends: np.ndarray) -> list[Axis]:
    """Nodes wherever there may be mass; sides of few flips keep their whole numbers."""
    steps, axes = _steps(mode, ends, _ENOUGH, 3.0), []
    numbers = [np.ptp(end) / max(step, 1.0) for end, step in zip(ends, steps, strict=True)]
    if np.prod(numbers) > _MOST:
        raise ValueError(
            f"these labels say so little of {data.n1 + data.n0} samples that {numbers[0]:.0f} x "
            f"{numbers[1]:.0f} values of the counts would have to be looked at: get more or better labels, "
            "or judge a random part of the samples"
        )
    for k, (end, step) in enumerate(zip(ends, steps, strict=True)):
        few = data.sides[k].counts.sum() <= _FEW
        whole = whole_numbers(data.sides[k], end) if few else None
        axes.append(whole or spaced(gridded.sides[k], end, max(step, 1.0), data.limits[k]))
    return axes


def _steps(mode: OperatingPoint, ends: np.ndarray, wanted: int, finest: float) -> Float[np.ndarray, "2"]:
    """Steps of A and B for so many nodes: between 1 and 1/finest of the spread of one given the other."""
    spread = mode.count_covariance
    given_other = np.sqrt(np.linalg.det(spread) / np.diag(spread)[::-1])
    in_spreads = np.prod((ends[:, 1] - ends[:, 0]) / given_other)
    share = np.clip(np.sqrt(in_spreads / (_RATIO * wanted)), 1 / finest, 1.0)
    return given_other * share * np.array([_RATIO, 1.0])


def spaced(side: Side, end: np.ndarray, step: float, limits: np.ndarray) -> Axis:
    """Evenly spaced counts; an end of the possible range counts half of its cell more."""
    low, high = float(end[0]), float(end[1])
    number = max(int(np.ceil((high - low) / step)) + 1, 2)
    nodes, step = np.linspace(low, high, number, retstep=True)
    cells = np.full(number, float(step))
    for k in (0, -1):
        if nodes[k] == limits[k]:
            cells[k] = 0.5 * (step + 1.0)
    return Axis(nodes, cells, log_law(side, low, high)(nodes))


def log_law(side: Side, low: float, high: float) -> Callable[[np.ndarray], np.ndarray]:
    """log P(count = c) for real c on [low, high]: log C(n, c) and polynomials, joined, of what is left.

    Tilts are solved for roughly, each from the one before, so points may lie a little off their places; the
    count K'(t) that each stands for is exact. A piece whose polynomial has not settled is halved.
    """
    flips = round(float(side.counts.sum()))
    cuts, pieces, left = [], [], [(low - side.sure, high - side.sure, 0)]
    while left:
        first, last, halved = left.pop()
        law = _polynomial(side, flips, first, last)
        if np.abs(law.coef[-2:]).max() > 1e-8 + 1e-14 * np.abs(law.coef).max() and halved < _PIECES:
            middle = 0.5 * (first + last)
            left += [(middle, last, halved + 1), (first, middle, halved + 1)]
        else:
            cuts.append(last)
            pieces.append(law)

    def law_of(count: np.ndarray) -> np.ndarray:
        c = count - side.sure
        out = gammaln(flips + 1.0) - gammaln(c + 1.0) - gammaln(flips - c + 1.0)
        piece = np.searchsorted(cuts[:-1], c)
        for k in np.unique(piece):
            out[piece == k] += pieces[k](c[piece == k])
        return out

    return law_of


def _polynomial(side: Side, flips: int, low: float, high: float) -> Chebyshev:
    """log of P(count = c) / C(flips, c) between two counts."""
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    half = min(1.02 * half, half + 0.99 * min(low, flips - high))
    fair, tilt, points = np.array([float(flips)]), 0.0, []
    for place in -np.cos(np.pi * (np.arange(_DEGREE) + 0.5) / _DEGREE):
        tilt = tilt_for_mean(side.x, side.counts, middle + half * place, tilt, tolerance=0.005 * half)
        k = cumulants(side.x, side.counts, tilt)
        of_fair = float(np.log(k[1] / (flips - k[1])))
        coins = saddlepoint_log_pmf(cumulants(np.zeros(1), fair, of_fair), of_fair)
        points.append((k[1], saddlepoint_log_pmf(k, tilt) - coins - flips * np.log(2)))
    count, value = np.array(points).T
    return Chebyshev.fit(count, value, _DEGREE - 1, domain=[middle - half, middle + half])
