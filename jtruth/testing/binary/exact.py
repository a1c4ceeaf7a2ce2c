"""The exact posterior of the counts of a binary classifier: no sampling, no normality (Su 2.1-2.3).

A = number of true positives, B = number of false negatives. With p_D ~ Beta(a_d, b_d), p_FA ~ Beta(a_f, b_f)
integrated out,

    P(A=a, B=b | y_pred, z) ~ PB_1(a) PB_0(b) Beta(a + a_d, b + b_d) Beta(N1 - a + a_f, N0 - b + b_f),

PB_u being the distribution of the number of positives among the samples predicted u given the labels alone;
with gamma functions, f_1(a) f_0(b) g(a + b). Its sum is the evidence p(y_pred, z) up to the known p(z).
`exact_posterior` and `dist_at` choose between two ways to sum by size. Host side, float64.

**The table** (`count_table`): every whole number of a window that holds all but 1e-12.

**Nodes** (`node_table`): sums over widely spread counts are integrals of smooth functions. The trapezoid rule
gives them to rounding error if the steps are below the spread of A given B and of B given A: exp(-2 pi^2) =
3e-9 where they are equal. The ratio of the steps is irrational, so that values of a metric lie densely. PB
comes from second-order saddlepoints, of samples on a grid (`on_grid`). Its ratio to the distribution of as
many fair coins is smooth: polynomials interpolate it to about 1e-9 (nearly certain labels: 1e-6). *Smooth*: A
is spread widely and away from the ends of its range; metrics have densities. *To the ends*: labels are
uninformative, and A and B run over all of their range; an end that has mass counts (h + 1)/2 (Euler and
Maclaurin). Against the table at N = 12 000: means within 2e-4 sd, widths of intervals within .6 %.

**An unknown class prior** (`unknown_prior`): the normaliser of the exact posterior is the evidence p(y_pred,
z | prior), so the posterior of the prior is known on a quadrature grid, and a metric has a mixture
(`Mixture`) of its exact distributions at the nodes.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import equinox as eqx
import jax
import numpy as np
import scipy
from jaxtyping import Array, Float, Int, Key
from numpy.polynomial import Chebyshev
from scipy.special import betaincinv, betaln, gammaln

from jtruth._validation import present
from jtruth.stats.estimates import DensityEstimate, Estimate, PmfEstimate
from jtruth.stats.poisson_binomial import cumulants, log_pmf, saddlepoint_log_pmf, tilt_for_mean
from jtruth.tables.binary import CountTable
from jtruth.tables.metrics import Metric
from jtruth.tables.posterior import CellWeights, JointEstimate, Sums, TablePosterior
from jtruth.testing.binary.operating_point import (
    BetaPrior,
    LogOdds,
    OperatingPoint,
    Side,
    collapse,
    log_likelihood,
    most_probable,
    on_grid,
    shifted,
    tilts,
)

_EDGE_MASS = 1e-14  # a window is wide enough when its edges hold less than this
_LARGE_TABLE = 150_000  # cells above which smooth nodes are used where that is possible
_LARGEST_TABLE = 5_000_000  # cells of a table: .04 GB for each array
_SMOOTH_VARIANCE = 100.0  # smallest variance for which a side is expanded
_NODES = 60_000  # wanted where metrics have densities
_ENOUGH, _MOST = 4_000_000, 20_000_000  # wanted to the ends, and made at most: .2 GB for each array
_RATIO = 0.5 * (np.sqrt(5.0) - 1)  # of the steps of A and B, in their spreads
_FEW = 1000  # flips, up to which a side keeps its whole numbers
_BINS = 1024  # of the distribution of a metric to the ends
_PRIOR_NODES = 24  # of an unknown class prior
_DEGREE, _PIECES = 11, 20  # of the polynomials of a log distribution, and how often a window is halved


def dist_at(data: LogOdds, p_detection: float, p_false_alarm: float) -> CountTable:
    """Distribution of the counts given the operating point, A and B independent.

    `log_evidence` is log p(y_pred | z; p_D, p_FA).
    """
    table = exact_posterior(shifted(data, p_detection, p_false_alarm), None)
    return replace(table, log_evidence=log_likelihood(on_grid(data), p_detection, p_false_alarm))


def exact_posterior(data: LogOdds, prior: BetaPrior | None = BetaPrior()) -> CountTable:
    """The exact posterior of the counts: the table, or nodes where it would be very large."""
    gridded = on_grid(data)
    mode = most_probable(gridded, prior)
    wide = 18.0 * np.sqrt(np.diag(mode.count_covariance)) + 12.0
    if np.prod(wide) > _LARGE_TABLE:
        nodes = node_table(data, prior, gridded, mode)
        if nodes is None and np.prod(np.minimum(wide, np.ptp(_limits(data), axis=1) + 1)) > _LARGEST_TABLE:
            nodes = node_table(data, prior, gridded, mode, to_the_ends=True)
        if nodes is not None:
            return nodes
    off_grid = all(after.x is before.x for after, before in zip(gridded, data, strict=True))
    return count_table(data, prior, mode if off_grid else None)


def _log_sum_factor(positives: np.ndarray, total: int, prior: BetaPrior) -> np.ndarray:
    """log g(a + b) = -log Gamma(a + b + a_d + b_d) Gamma(N - a - b + a_f + b_f), normalised."""
    constant = float(betaln(prior.a_d, prior.b_d) + betaln(prior.a_f, prior.b_f))
    gain = _log_gamma(positives + (prior.a_d + prior.b_d)) + constant
    return -gain - _log_gamma(total - positives + (prior.a_f + prior.b_f))


def _log_gamma(z: np.ndarray) -> np.ndarray:
    """log Gamma; by Stirling's series where every z is large (error 1e-17 from 64 on)."""
    if not z.size or z.min() < 64.0:
        return gammaln(z)
    w = 1.0 / z
    series = w * (1 / 12 - w * w * (1 / 360 - w * w / 1260))
    return (z - 0.5) * np.log(z) - z + (0.5 * np.log(2 * np.pi)) + series


# One side: its counts in the table, how many whole numbers each represents (None: itself), log f_u there.
_Axis = tuple[np.ndarray, np.ndarray | None, np.ndarray]


def _limits(data: LogOdds) -> Float[np.ndarray, "2 2"]:
    """Smallest and largest possible true positives, and false negatives."""
    return np.array([[side.sure, side.total - side.never] for side in data], np.float64)


def _whole_numbers(side: Side, end: np.ndarray) -> _Axis:
    """Every count between two ends, with the distribution of `side` by convolution."""
    first, last = int(np.floor(end[0])), int(np.ceil(end[1]))
    dist = log_pmf(side.x, side.counts, first - side.sure, last - side.sure)
    return np.arange(first, last + 1), None, dist


def _summed(
    data: LogOdds, prior: BetaPrior | None, mode: OperatingPoint, make_axes: Callable[[np.ndarray], Any]
) -> tuple[_Axis, _Axis, np.ndarray, float] | None:
    """Both axes, P(a, b) and the log evidence on a window that grows until its edges hold no mass."""
    mean, sd = mode.count_mean, np.sqrt(np.diag(mode.count_covariance))
    limits, reach = _limits(data), np.full(2, 9.0)
    while True:
        ends = np.stack([mean - reach * sd - 6, mean + reach * sd + 6], 1)
        if (dists := make_axes(np.clip(ends, limits[:, :1], limits[:, 1:]))) is None:
            return None
        axes = [(*dist[:2], dist[2] + _log_gain(dist[0], data, k, prior)) for k, dist in enumerate(dists)]
        log_p = _log_joint(axes, data[0].total + data[1].total, prior)
        top = log_p.max()
        p = np.exp(np.subtract(log_p, top, out=log_p), out=log_p)
        total = p.sum()
        open_ends = [[count[e] != limits[k, e] for e in (0, -1)] for k, (count, _, _) in enumerate(axes)]
        edges = np.array([[p.take(e, axis=k).sum() for e in (0, -1)] for k in (0, 1)]) * open_ends
        cut = (edges > _EDGE_MASS * total).any(axis=1)
        if not cut.any():
            p /= total
            return axes[0], axes[1], p, float(top + np.log(total))
        reach = reach * np.where(cut, 1.6, 1.0)


def _log_gain(count: np.ndarray, data: LogOdds, side: int, prior: BetaPrior | None) -> np.ndarray | float:
    """log f_u, less the distribution given the labels alone."""
    if prior is None:
        return 0.0
    alpha1, alpha0 = (prior.a_d, prior.a_f) if side == 0 else (prior.b_d, prior.b_f)
    return _log_gamma(count + alpha1) + _log_gamma(data[side].total - count + alpha0)


def _log_joint(axes: list[_Axis], total: int, prior: BetaPrior | None) -> Float[np.ndarray, "a b"]:
    """log f_1(a) f_0(b) g(a + b), times the cells that each node represents."""
    logs = [log_f if cells is None else log_f + np.log(cells) for _, cells, log_f in axes]
    if prior is None:
        return logs[0][:, None] + logs[1][None, :]
    (a, of_a, _), (b, of_b, _) = axes
    if of_a is None and of_b is None:  # g has few distinct sums of whole numbers
        g = _log_sum_factor(np.arange(a[0] + b[0], a[-1] + b[-1] + 1), total, prior)
        log_p = np.lib.stride_tricks.sliding_window_view(g, b.size) + logs[0][:, None]
    else:
        log_p = _log_sum_factor(a[:, None] + b[None, :], total, prior)
        log_p += logs[0][:, None]
    log_p += logs[1][None, :]
    return log_p


def count_table(
    data: LogOdds, prior: BetaPrior | None = BetaPrior(), mode: OperatingPoint | None = None
) -> CountTable:
    """The exact posterior of the counts on whole numbers; 10 ms at N = 1000.

    Without a prior the operating point is inside the log-odds (`shifted`). `mode` is that of `most_probable`,
    if known already.
    """
    mode = mode or most_probable(data, prior)
    summed = _summed(data, prior, mode, lambda ends: list(map(_whole_numbers, data, ends)))
    (a, _, _), (b, _, _), probability, evidence = present(summed, "the window")
    return CountTable(a, b, probability, data[0].total, data[1].total, evidence)


# ---- where the nodes are -----------------------------------------------------------------------------------


def node_table(
    data: LogOdds,
    prior: BetaPrior | None = BetaPrior(),
    gridded: LogOdds | None = None,
    mode: OperatingPoint | None = None,
    *,
    to_the_ends: bool = False,
) -> CountTable | None:
    """Posterior of the counts at nodes; None where the true positives are confined or reach an end.

    `gridded` is `on_grid(data)`, `mode` that of it. With `to_the_ends` nodes go up to the ends of both
    ranges; ValueError if these are more than fit into memory.
    """
    gridded = on_grid(data) if gridded is None else gridded
    mode = most_probable(gridded, prior) if mode is None else mode
    make = _to_the_ends if to_the_ends else _smooth_axes
    summed = _summed(data, prior, mode, partial(make, data, gridded, mode))
    if summed is None:
        return None
    (a, _, of_a), (b, cells, of_b), probability, evidence = summed
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    n1, n0 = data[0].total, data[1].total
    table = (first, second, probability, n1, n0, evidence)
    if to_the_ends:
        return CountTable(*table, bins=_BINS, whole=(False, False))
    whole = cells is None
    log_a = scipy.interpolate.CubicSpline(a, of_a)
    log_b = of_b - evidence + (0.0 if whole else np.log(second[1] - second[0]))

    def density(at: Float[np.ndarray, "rows b_nodes"]) -> Float[np.ndarray, "rows b_nodes"]:
        inside = (at >= first[0]) & (at <= first[-1])
        count, column = at[inside], np.broadcast_to(np.arange(second.size), at.shape)[inside]
        log_p = log_a(count) + log_b[column]
        if prior is not None:
            log_p += _log_sum_factor(count + second[column], n1 + n0, prior)
        out = np.zeros(at.shape)
        out[inside] = np.exp(log_p)
        return out

    return CountTable(*table, whole=(False, whole), density=density)


def _smooth_axes(data: LogOdds, grid: LogOdds, mode: OperatingPoint, ends: np.ndarray) -> list[_Axis] | None:
    """Nodes away from the ends; None if the true positives do not allow it."""
    sd, limits = np.sqrt(np.diag(mode.count_covariance)), _limits(data)
    shifts = tilts(mode.p_detection, mode.p_false_alarm)
    wide = [
        side.x.size > 0 and cumulants(side.x, side.counts, float(tilt))[2] > _SMOOTH_VARIANCE
        for side, tilt in zip(grid, shifts, strict=True)
    ]
    margin = np.minimum(ends[:, 0] - limits[:, 0], limits[:, 1] - ends[:, 1])
    if not wide[0] or margin[0] < 2 * sd[0]:
        return None
    steps = _steps(mode, ends, _NODES, 16.0)
    a = _spaced(grid[0], ends[0], steps[0], limits[0])
    if wide[1] and margin[1] > 4 * sd[1]:
        return [a, _spaced(grid[1], ends[1], steps[1], limits[1])]
    return [a, _whole_numbers(data[1], ends[1])]


def _to_the_ends(data: LogOdds, gridded: LogOdds, mode: OperatingPoint, ends: np.ndarray) -> list[_Axis]:
    """Nodes over all of both ranges; sides of few flips keep their whole numbers."""
    steps, axes = _steps(mode, ends, _ENOUGH, 3.0), []
    numbers = [np.ptp(end) / max(step, 1.0) for end, step in zip(ends, steps, strict=True)]
    if np.prod(numbers) > _MOST:
        raise ValueError(
            f"the labels of {data[0].total + data[1].total} samples are so uncertain that {numbers[0]:.0f} x "
            f"{numbers[1]:.0f} count values are possible: collect more or better labels, or grade a random "
            "part of the samples"
        )
    for k, (end, step) in enumerate(zip(ends, steps, strict=True)):
        few = data[k].counts.sum() <= _FEW
        whole = _whole_numbers(data[k], end) if few else None
        axes.append(whole or _spaced(gridded[k], end, max(step, 1.0), _limits(data)[k]))
    return axes


def _steps(mode: OperatingPoint, ends: np.ndarray, wanted: int, finest: float) -> Float[np.ndarray, "2"]:
    """Steps of A and B for about `wanted` nodes: 1/finest to 1 of the spread of one given the other."""
    spread = mode.count_covariance
    conditional = np.sqrt(np.linalg.det(spread) / np.diag(spread)[::-1])
    in_spreads = np.prod((ends[:, 1] - ends[:, 0]) / conditional)
    share = np.clip(np.sqrt(in_spreads / (_RATIO * wanted)), 1 / finest, 1.0)
    return conditional * share * np.array([_RATIO, 1.0])


def _spaced(side: Side, end: np.ndarray, step: float, limits: np.ndarray) -> _Axis:
    """Evenly spaced counts; an end of the possible range has half a cell more."""
    low, high = float(end[0]), float(end[1])
    number = max(int(np.ceil((high - low) / step)) + 1, 2)
    nodes, step = np.linspace(low, high, number, retstep=True)
    cells = np.full(number, float(step))
    for k in (0, -1):
        if nodes[k] == limits[k]:
            cells[k] = 0.5 * (step + 1.0)
    return nodes, cells, log_dist(side, low, high)(nodes)


def log_dist(side: Side, low: float, high: float) -> Callable[[np.ndarray], np.ndarray]:
    """log P(count = c) for real c on [low, high]: log C(n, c) plus piecewise polynomials.

    A tilt is solved for roughly, starting from the one before; its count K'(t) is exact. A piece whose
    polynomial has not converged is halved.
    """
    flips = round(float(side.counts.sum()))
    cuts, pieces, left = [], [], [(low - side.sure, high - side.sure, 0)]
    while left:
        first, last, halved = left.pop()
        dist = _polynomial(side, flips, first, last)
        if np.abs(dist.coef[-2:]).max() > 1e-8 + 1e-14 * np.abs(dist.coef).max() and halved < _PIECES:
            middle = 0.5 * (first + last)
            left += [(middle, last, halved + 1), (first, middle, halved + 1)]
        else:
            cuts.append(last)
            pieces.append(dist)

    def dist_of(count: np.ndarray) -> np.ndarray:
        c = count - side.sure
        out = gammaln(flips + 1.0) - gammaln(c + 1.0) - gammaln(flips - c + 1.0)
        piece = np.searchsorted(cuts[:-1], c)
        for k in np.unique(piece):
            out[piece == k] += pieces[k](c[piece == k])
        return out

    return dist_of


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


def confusion_nodes(table: CountTable, number: int) -> Float[np.ndarray, "nodes 2 2"]:
    """Evenly spread nodes of equal weight of the classifier's matrix, beta given the counts of `table`.

    By Sobol's sequence: a from its own distribution, b given a. The sd of accuracy is within .2 %.
    """
    place = _sobol(number)
    i = cell_at(np.cumsum(table.probability.sum(axis=1))[None], np.zeros(number, int), place[:, 0])
    j = cell_at(np.cumsum(table.probability, axis=1), i, place[:, 1])
    a, b = table.a[i], table.b[j]
    rows = [[table.n0 - b, table.n1 - a], [b, a]]  # true, predicted
    counts = np.moveaxis(np.array(rows, np.float64), (0, 1), (-2, -1)) + 1
    second = betaincinv(counts[:, :, 1], counts[:, :, 0], place[:, 2:])
    return np.stack([1 - second, second], axis=-1)


@lru_cache(maxsize=4)
def _sobol(number: int) -> Float[np.ndarray, "nodes 4"]:
    """Points of [0, 1]^4 in the middle of their finest cells, so never 0 or 1."""
    from scipy.stats.qmc import Sobol  # half a second to import, and only here

    finest = int(np.ceil(np.log2(number)))
    return Sobol(4, scramble=False).random_base2(finest)[:number] + 0.5 / 2**finest


def cell_at(upto: Float[np.ndarray, "rows cells"], row: np.ndarray, place: np.ndarray) -> np.ndarray:
    """The cell of `row` that contains the share `place`; `upto` has cumulative masses."""
    total = upto[:, -1:]
    flat = (upto / np.where(total > 0, total, 1) + np.arange(len(upto))[:, None]).ravel()
    cell = np.searchsorted(flat, place + row, side="right") - row * upto.shape[1]
    return np.minimum(cell, upto.shape[1] - 1)


class Mixture(TablePosterior, eqx.Module):
    """Exact tables at the nodes of a parameter, and the posterior probabilities of the nodes."""

    parameter: Float[np.ndarray, " nodes"]
    weight: Float[np.ndarray, " nodes"]
    tables: Sequence[Any]
    log_evidence: float

    @property
    def shape(self) -> tuple[int, int]:
        """Two classes, two symbols."""
        return 2, 2

    def estimate(self, metric: str | Metric) -> Estimate:
        """Distribution of a metric with the parameter integrated out."""
        return mix([table.estimate(metric) for table in self.tables], self.weight)

    def counted(self, hits: CellWeights, misses: CellWeights) -> Sums | None:
        """Both sums in every table of every node."""
        each = [table.counted(hits, misses) for table in self.tables]
        hit, miss = (np.concatenate([one[k] for one in each]) for k in range(2))
        return hit, miss, np.concatenate([w * one[2] for w, one in zip(self.weight, each, strict=True)])

    def cell(self, true: int, symbol: int) -> Estimate:
        """Distribution of an element of the table with the parameter integrated out."""
        return mix([table.cell(true, symbol) for table in self.tables], self.weight)

    def joint(self, first: str | Metric, second: str | Metric) -> JointEstimate:
        """Joint distribution of two metrics with the parameter integrated out."""
        parts = [table.joint(first, second) for table in self.tables]
        mass = self.weight * np.array([p.probability_defined for p in parts])
        weight = np.concatenate([m / mass.sum() * p.weight for m, p in zip(mass, parts, strict=True)])
        points = np.concatenate([p.points for p in parts])
        return JointEstimate(parts[0].first, parts[0].second, points, weight, float(mass.sum()))

    def draws(self, key: Key[Array, ""], n: int) -> Float[np.ndarray, "n 2 2"]:
        """n draws of the table, the parameter integrated out."""
        node, *keys = jax.random.split(key, len(self.tables) + 1)
        nodes = np.asarray(jax.random.choice(node, len(self.tables), (n,), p=np.asarray(self.weight)))
        out = np.empty((n, 2, 2))
        for k in np.unique(nodes):
            out[nodes == k] = self.tables[k].draws(keys[k], int((nodes == k).sum()))
        return out


def mix(dists: Sequence[Estimate], weight: Float[np.ndarray, " dists"]) -> Estimate:
    """Mixture of distributions: atoms are pooled, densities added on a common grid."""
    defined = weight * np.array([dist.probability_defined for dist in dists])
    share, known = defined / max(defined.sum(), 1e-300), float(defined.sum())
    used = [(dist, w) for dist, w in zip(dists, share, strict=True) if w > 1e-14]
    discrete = [(dist, w) for dist, w in used if isinstance(dist, PmfEstimate)]
    if len(discrete) == len(used):
        values = np.concatenate([dist.values for dist, _ in discrete] or [np.zeros(0)])
        pmf = np.concatenate([w * dist.pmf for dist, w in discrete] or [np.zeros(0)])
        values, where = np.unique(values, return_inverse=True)
        pmf = np.bincount(where, weights=pmf, minlength=values.size)
        return PmfEstimate(values, pmf, known, lattice=all(dist.lattice for dist, _ in discrete))
    grids = [dist.grid for dist, _ in used if isinstance(dist, DensityEstimate)]
    grid = np.linspace(min(g[0] for g in grids), max(g[-1] for g in grids), 4001)
    return DensityEstimate(grid, np.sum([w * dist.density(grid) for dist, w in used], axis=0), known)


def unknown_prior(log_ratio: Float[np.ndarray, " samples"], y_pred: Int[np.ndarray, " samples"]) -> Mixture:
    """Integrate the class prior pi(1), uniform a priori, out of the exact posterior.

    Args:
        log_ratio: log p(z_i | y_i = 1) - log p(z_i | y_i = 0); `log_evidence` is then log p(y_pred, z) less
            the sum of log p(z_i | y_i = 0).
        y_pred: predictions, 0 or 1.
    """

    def data_at(share):
        return collapse(log_ratio + np.log(share) - np.log1p(-share), y_pred)

    def log_label_evidence(share):
        certain = np.isposinf(log_ratio)  # known positives: count log pi(1) alone
        terms = np.logaddexp(np.log1p(-share), np.log(share) + log_ratio[~certain])
        return float(terms.sum() + certain.sum() * np.log(share))

    def roughly(share):  # Laplace's approximation of the evidence, to place the nodes
        data = data_at(share)
        mode = most_probable(data)
        spread = 0.5 * np.linalg.slogdet(mode.covariance)[1]
        height = log_likelihood(data, mode.p_detection, mode.p_false_alarm)
        return height + spread + log_label_evidence(share)

    low, high = 0.0, 1.0
    for _ in range(3):  # the part that holds the mass of exp(roughly)
        scan = np.linspace(low, high, 27)
        height = np.array([roughly(float(v)) for v in scan[1:-1]])
        inside = np.flatnonzero(height > height.max() - 30.0)
        low, high = float(scan[inside[0]]), float(scan[inside[-1] + 2])
    node, weight = np.polynomial.legendre.leggauss(_PRIOR_NODES)
    parameter = 0.5 * (high + low) + 0.5 * (high - low) * node
    tables = [exact_posterior(data_at(float(v))) for v in parameter]
    pairs = zip(tables, parameter, strict=True)
    log_w = np.array([t.log_evidence + log_label_evidence(v) for t, v in pairs])
    mass = 0.5 * (high - low) * weight * np.exp(log_w - log_w.max())
    return Mixture(parameter, mass / mass.sum(), tables, float(log_w.max() + np.log(mass.sum())))
