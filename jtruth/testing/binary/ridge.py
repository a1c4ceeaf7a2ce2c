"""The posterior of the counts where it is a long ridge: many samples whose labels say little.

If labels say nothing, the number of positives is known to its binomial spread, and which of them were
predicted positive is not known at all: A and B run over all of their range while A + B hardly moves. `exact`
would write down every cell of a table of N1 by N0, and the expansion of `large` ends before the ends of the
range. Here the posterior is summed over every h-th cell only. The trapezoid rule has little error as long as
h is below the spread in the narrowest direction (exp(-2 pi^2) = 3e-9 where they are equal), however long the
ridge is; an end of the range that holds mass counts (h + 1)/2, as in the sum over all cells (Euler and
Maclaurin). Steps of A and B have an irrational ratio, so that values of a metric at the nodes lie densely.

Against the whole table at N = 12 000 (labels wrong in .5 to .46): means of metrics within 2e-4 sd, sd within
1e-4, widths of intervals within .6 %. N = 10^6 takes a second and .2 GB where the table would have 2.5 10^11
cells.

P(A = a) given the labels is the saddlepoint expansion of `large` where its variance is large, and exact on
the integers nearer to the ends, through which a spline is laid. Host side, float64; memory is that of the
nodes, which are as many as samples divided by a few.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.interpolate import CubicSpline

from jtruth.stats.estimates import PmfEstimate
from jtruth.stats.poisson_binomial import cumulants, log_pmf, saddlepoint_log_pmf, tilt_for_mean
from jtruth.testing.binary.exact import (
    CountTable,
    law_of_atoms,
    log_prior_constant,
    log_side_factor,
    log_sum_factor,
)
from jtruth.testing.binary.large import SMOOTH_VARIANCE
from jtruth.testing.binary.operating_point import BetaPrior, LogOdds, OperatingPoint

_RATIO = 0.5 * (np.sqrt(5.0) - 1)  # of the steps of B and A
_WANTED, _NEEDED = 3.0, 1.0  # steps in the spread of the narrowest direction
_FEW = 1000  # flips of a side that keeps its integers
_ENOUGH, _MOST = 4_000_000, 20_000_000  # nodes that are wanted, and that are made: .2 GB for each array
_EDGE_MASS = 1e-12
_BINS = 1024  # of the law of a metric


@dataclass(frozen=True, eq=False, repr=False)
class NodeTable(CountTable):
    """Posterior of (A, B) at nodes that are no whole numbers; each stands for the cells around it.

    Laws of metrics are pooled within a thousandth of their range: single nodes mean nothing.
    """

    _bins = _BINS

    def count_law(self, axis: int) -> PmfEstimate:
        """Law of the number of true positives (axis 0) or of false negatives (axis 1)."""
        return PmfEstimate((self.a, self.b)[axis], self.probability.sum(1 - axis))

    def difference_law(self) -> PmfEstimate:
        """Law of A - B."""
        keep = self.probability > 1e-13 / self.probability.size
        difference = (self.a[:, None] - self.b[None, :])[keep]
        return law_of_atoms(difference, self.probability[keep], 1.0, _BINS)


def window_cells(data: LogOdds, mode: OperatingPoint) -> float:
    """Cells of the table that `exact.count_table` writes down first."""
    sides = ((data.sure1, data.n1 - data.never1), (data.sure0, data.n0 - data.never0))
    wide = 18.0 * np.sqrt(np.diag(mode.count_covariance)) + 12.0
    return float(np.prod([min(w, high - low + 1.0) for w, (low, high) in zip(wide, sides, strict=True)]))


def node_table(
    exact: LogOdds, data: LogOdds, mode: OperatingPoint, prior: BetaPrior = BetaPrior()
) -> NodeTable:
    """The posterior of the counts at nodes.

    Args:
        exact: the samples.
        data: the same on a grid.
        mode: of the operating point, with the spread of the counts about it.
        prior: of the operating point.

    Raises:
        ValueError: more nodes than fit into memory.
    """
    spread = mode.count_covariance
    narrow = min(_sd(spread, 1, 0), _sd(spread, 0, 1), _sd(spread, 1, 1), _sd(spread, 1, -1))
    limits = np.array([[data.sure1, data.n1 - data.never1], [data.sure0, data.n0 - data.never0]], float)
    reach = 10.0 * np.sqrt(np.diag(spread))
    while True:
        ends = np.clip(
            np.stack([mode.count_mean - reach, mode.count_mean + reach], 1), limits[:, :1], limits[:, 1:]
        )
        area = float(np.prod(ends[:, 1] - ends[:, 0]))
        finer = min(max(narrow * np.sqrt(_ENOUGH * _RATIO / max(area, 1.0)), _NEEDED), _WANTED)
        steps = max(narrow / finer, 1.0) * np.array([1.0, _RATIO])
        (a, weight_a), (b, weight_b) = (
            _nodes(ends[k], float(steps[k]), bool(counts.sum() <= _FEW))
            for k, counts in enumerate((exact.counts1, exact.counts0))
        )
        if a.size * b.size > _MOST:
            raise ValueError(
                f"these labels say so little of {data.n1 + data.n0} samples that {a.size} x {b.size} values "
                "of the counts would have to be looked at: get more or better labels, or judge a random part "
                "of the samples"
            )
        f1 = _log_law(exact.x1, exact.counts1, data.x1, data.counts1, a - data.sure1)
        f0 = _log_law(exact.x0, exact.counts0, data.x0, data.counts0, b - data.sure0)
        f1 = f1 + log_side_factor(a, data.n1, prior.a_d, prior.a_f) + np.log(weight_a)
        f0 = f0 + log_side_factor(b, data.n0, prior.b_d, prior.b_f) + np.log(weight_b)
        log_p = log_sum_factor(a[:, None] + b[None, :], data.n1 + data.n0, prior)
        log_p += f1[:, None]
        log_p += f0[None, :]
        top = log_p.max()
        p = np.exp(np.subtract(log_p, top, out=log_p), out=log_p)
        total = p.sum()
        cut = [_cut(p, k, ends[k] != limits[k]) > _EDGE_MASS * total for k in (0, 1)]
        if not any(cut):
            evidence = float(top + np.log(total) - log_prior_constant(prior))
            p /= total
            return NodeTable(a, b, p, data.n1, data.n0, evidence)
        reach = reach * np.where(cut, 1.6, 1.0)


def _cut(p: np.ndarray, axis: int, inside: np.ndarray) -> float:
    """Mass at the ends of an axis that are not those of its range."""
    return float(sum(p.take(edge, axis=axis).sum() for edge, cut in zip((0, -1), inside, strict=True) if cut))


def _sd(spread: np.ndarray, a: float, b: float) -> float:
    """Spread of a A + b B."""
    return float(np.sqrt(np.array([a, b]) @ spread @ np.array([a, b])))


def _nodes(ends: np.ndarray, step: float, whole: bool) -> tuple[np.ndarray, np.ndarray]:
    """Evenly spaced counts between two ends, and how many cells each stands for."""
    low, high = float(np.floor(ends[0])), float(np.ceil(ends[1]))
    number = int(np.ceil((high - low) / step)) + 1
    if whole or number > high - low:
        return np.arange(low, high + 1), np.ones(int(high - low) + 1)
    nodes, step = np.linspace(low, high, number, retstep=True)
    weight = np.full(number, float(step))
    weight[[0, -1]] = 0.5 * (step + 1.0)
    return nodes, weight


def _log_law(
    x: Float[np.ndarray, " flips"],
    counts: np.ndarray,
    nodes: Float[np.ndarray, " nodes"],
    weights: np.ndarray,
    wanted: Float[np.ndarray, " counts"],
) -> Float[np.ndarray, " counts"]:
    """log P(count = c) at real c: saddlepoint values in the middle, a spline through integers outside."""
    total = int(counts.sum())
    if total <= _FEW:
        return log_pmf(x, counts, int(wanted[0]), int(wanted[-1]))
    found, tilt, smooth = np.full(wanted.size, np.nan), 0.0, np.zeros(wanted.size, bool)
    for k in np.flatnonzero((wanted > SMOOTH_VARIANCE) & (wanted < total - SMOOTH_VARIANCE)):
        tilt = tilt_for_mean(nodes, weights, float(wanted[k]), tilt)
        k_of = cumulants(nodes, weights, tilt)
        smooth[k] = k_of[2] > SMOOTH_VARIANCE
        found[k] = saddlepoint_log_pmf(k_of, tilt) - tilt * (wanted[k] - k_of[1])
    inner = np.flatnonzero(smooth)
    first, last = (wanted[inner[0]], wanted[inner[-1]]) if inner.size else (np.inf, np.inf)
    for outside in (wanted < first, wanted > last):
        if outside.any():
            low = max(int(np.floor(wanted[outside][0])) - 2, 0)
            high = min(int(np.ceil(wanted[outside][-1])) + 2, total)
            whole = np.arange(low, high + 1)
            found[outside] = CubicSpline(whole, log_pmf(x, counts, low, high))(wanted[outside])
    return found
