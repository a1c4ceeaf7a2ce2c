"""Posteriors of the table of a binary classifier as a distribution of (A, B).

Of the N1 samples predicted positive A are positive, of the N0 others B: the table is

    [[N0 - B, N1 - A], [B, A]]      rows true (negative, positive), columns predicted,

so that every metric is a function of (A, B). A ratio of two sums of counts is a ratio of two linear forms of
them, `linear_forms`; where its denominator is a constant its distribution is that of A, of B or of A - B,
with equally spaced values. `jtruth.testing.binary.exact` makes the `CountTable`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from jaxtyping import Float, Num

from jtruth._random import Key, uniforms
from jtruth.stats.estimates import DensityEstimate, Estimate, PmfEstimate
from jtruth.tables.metrics import Metric
from jtruth.tables.posterior import CellWeights, JointEstimate, Sums, TablePosterior

Form = tuple[Any, Any, Any]  # (a, b, c) of a A + b B + c
_FINE_BINS = 1 << 17  # of the range of a ratio, in which atoms of large tables are pooled
_POINTS = 361  # of the density of a ratio, over +-9 sd
_STEPS_PER_SD = 16  # of the distribution of A - B
_RIDGES = 4.0  # steps of B, in sds of A's effect, from which a distribution has no density


def linear_forms(metric: Metric, n1: Any, n0: Any) -> tuple[Form, Form]:
    """Numerator and denominator of a metric that is a ratio, as linear forms of (A, B).

    n1, n0: samples predicted positive and negative; as shares of all, A and B are shares too (U and V).
    """
    above, below = ((tp - fp, fn - tn, fp * n1 + tn * n0) for tp, fp, fn, tn in metric.weights)
    return above, below


def moved(dist: PmfEstimate, scale: float, shift: float, divisor: float = 1.0) -> PmfEstimate:
    """Distribution of (scale X + shift) / divisor."""
    order = slice(None) if scale >= 0 else slice(None, None, -1)
    values = (scale * dist.values + shift) / divisor
    return PmfEstimate(values[order], dist.pmf[order], dist.probability_defined, dist.lattice)


@dataclass(frozen=True, eq=False, repr=False)
class CountTable(TablePosterior):
    """Posterior of (A, B) on a window of the integer lattice, or at nodes that represent several numbers.

    probability[i, j] = P(A = a[i], B = b[j] | y_pred, z), summing to 1 over the window, which contains all
    but about 1e-12. `log_evidence` = log p(y_pred | z) under the priors. `whole`: whether each axis has every
    count of the window. Smooth distributions have a `density` of real counts, hence also of metrics.
    """

    a: Num[np.ndarray, " true_positives"]
    b: Num[np.ndarray, " false_negatives"]
    probability: Float[np.ndarray, "true_positives false_negatives"]
    n1: int
    n0: int
    log_evidence: float
    bins: int = _FINE_BINS  # in which very many atoms of a distribution are pooled
    whole: tuple[bool, bool] = (True, True)
    # (a (rows, b)) -> posterior mass per unit of a, with the step of b included; 0 off the window
    density: Callable[[np.ndarray], np.ndarray] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Two classes, two symbols."""
        return 2, 2

    def counts(self) -> tuple[Any, Any, Any, Any]:
        """(tp, fp, fn, tn) of every cell, broadcastable to `probability`."""
        a, b = self.a[:, None], self.b[None, :]
        return a, self.n1 - a, b, self.n0 - b

    def counted(self, hits: CellWeights, misses: CellWeights) -> Sums | None:
        """Both sums in every cell of the window."""
        tp, fp, fn, tn = self.counts()
        shape = self.probability.shape
        hit, miss = (
            np.broadcast_to(w[1, 1] * tp + w[0, 1] * fp + w[1, 0] * fn + w[0, 0] * tn, shape).ravel()
            for w in (hits, misses)
        )
        return hit, miss, self.probability.ravel()

    def values(self, metric: str | Metric) -> Float[np.ndarray, "a b"]:
        """The metric in every cell, NaN where it is undefined."""
        return np.broadcast_to(self.metric(metric).of_counts(*self.counts()), self.probability.shape)

    def count_dist(self, axis: int) -> PmfEstimate:
        """Distribution of the number of true positives (axis 0) or of false negatives (axis 1)."""
        nodes, mass = (self.a, self.b)[axis].astype(np.float64), self.probability.sum(1 - axis)
        if self.density is not None and not self.whole[axis]:
            return _on_whole_numbers(nodes, mass)
        return PmfEstimate(nodes, mass, lattice=self.whole[axis])

    def cell(self, true: int, symbol: int) -> PmfEstimate:
        """Distribution of an element of the table."""
        dist = self.count_dist(0 if symbol else 1)
        return dist if true else moved(dist, -1.0, float(self.n1 if symbol else self.n0))

    def difference_dist(self) -> PmfEstimate:
        """Distribution of A - B."""
        difference = self.a[:, None] - self.b[None, :]
        if self.density is not None:
            mean, sd = _moments(difference, self.probability)
            grid = mean + sd * np.arange(-9 * _STEPS_PER_SD, 9 * _STEPS_PER_SD + 1) / _STEPS_PER_SD
            return _on_whole_numbers(grid, self.density(grid[:, None] + self.b[None, :]).sum(1))
        if not all(self.whole):
            return dist_of_cells(difference, self.probability, self.bins)
        first = self.a[0] - self.b[-1]
        pmf = np.bincount((difference - first).ravel(), weights=self.probability.ravel())
        return PmfEstimate((first + np.arange(pmf.size)).astype(np.float64), pmf, lattice=True)

    def estimate(self, metric: str | Metric) -> Estimate:
        """Posterior of any metric; closed forms where it is linear in A, B or A - B."""
        metric = self.metric(metric)
        if metric.is_ratio:
            (a, b, shift), (below_a, below_b, divisor) = linear_forms(metric, self.n1, self.n0)
            if below_a == below_b == 0 < divisor:
                if b == 0 and a != 0:
                    return moved(self.count_dist(0), a, shift, divisor)
                if a == 0 and b != 0:
                    return moved(self.count_dist(1), b, shift, divisor)
                if a == -b and a != 0:
                    return moved(self.difference_dist(), a, shift, divisor)
        values = self.values(metric)
        if self.density is None:
            return dist_of_cells(values, self.probability, self.bins)
        inside = values[self.probability > 1e-17]
        if not metric.is_ratio or self._in_steps(metric) or np.isnan(inside).any():
            return dist_of_cells(values, self.probability, least=1e-18)
        # Density of a ratio that varies with A: its level lines at every B.
        mean, sd = _moments(values, self.probability)
        low, high = max(mean - 9 * sd, inside.min()), min(mean + 9 * sd, inside.max())
        q, b, eps = np.linspace(low, high, _POINTS)[:, None], self.b[None, :], 1e-4
        (top_a, top_b, top), (below_a, below_b, below) = linear_forms(metric, self.n1, self.n0)
        a = (top_b * b + top - q * (below_b * b + below)) / (q * below_a - top_a)
        after, before = (metric.of_counts(c, self.n1 - c, b, self.n0 - b) for c in (a + eps, a - eps))
        return DensityEstimate(q[:, 0], (self.density(a) * 2 * eps / np.abs(after - before)).sum(1))

    def _in_steps(self, metric: Metric) -> bool:
        """Whether a step of the lattice of B moves the metric further than A does, so it has no density."""
        if not self.whole[1]:
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

    def joint(self, first: str | Metric, second: str | Metric) -> JointEstimate:
        """Joint distribution of two metrics: the cells in which both are defined."""
        x, y = self.values(first).ravel(), self.values(second).ravel()
        weight = self.probability.ravel()
        defined = ~(np.isnan(x) | np.isnan(y))
        keep = defined & (weight > 1e-16)
        names = [self.metric(metric).name for metric in (first, second)]
        points, total = np.stack([x[keep], y[keep]], 1), weight[keep].sum()
        return JointEstimate(names[0], names[1], points, weight[keep] / total, float(weight[defined].sum()))

    def draws(self, key: Key, n: int) -> Float[np.ndarray, "n 2 2"]:
        """n draws of the table; of a smooth one nodes of its grid, not whole numbers."""
        u = uniforms(key, n)
        upto = np.cumsum(self.probability.ravel())
        where = np.minimum(np.searchsorted(upto, u * upto[-1], side="right"), upto.size - 1)
        tp, fp, fn, tn = (np.broadcast_to(c, self.probability.shape).ravel()[where] for c in self.counts())
        return np.stack([tn, fp, fn, tp], -1).reshape(n, 2, 2).astype(np.float64)


def _moments(values: np.ndarray, probability: np.ndarray) -> tuple[float, float]:
    mean = float((values * probability).sum())
    return mean, float(np.sqrt(((values - mean) ** 2 * probability).sum()))


def _on_whole_numbers(grid: np.ndarray, mass: np.ndarray) -> PmfEstimate:
    """PMF on the integers from values on a fine real grid."""
    used = np.flatnonzero(mass > 1e-290)
    grid, mass = grid[used[0] : used[-1] + 1], mass[used[0] : used[-1] + 1]
    whole = np.arange(int(np.ceil(grid[0])), int(np.floor(grid[-1])) + 1)
    pmf = np.exp(scipy.interpolate.CubicSpline(grid, np.log(np.maximum(mass, 1e-300)))(whole))
    return PmfEstimate(whole.astype(np.float64), pmf / pmf.sum(), lattice=True)


def dist_of_cells(
    values: np.ndarray, probability: np.ndarray, bins: int = _FINE_BINS, least: float | None = None
) -> PmfEstimate:
    """Posterior of values in the cells, without cells of probability below `least`.

    Equal atoms are merged; very many are pooled within 1/131072 (1/bins) of their range.
    """
    undefined = np.isnan(values)
    kept = (probability > (1e-13 / probability.size if least is None else least)) & ~undefined
    defined = 1.0 - float(probability[undefined].sum())
    values, pmf = values[kept], probability[kept]
    if values.size == 0:
        return PmfEstimate(values, pmf, 0.0)
    low, span = values.min(), np.ptp(values)
    if values.size > 2 * bins and span > 0:
        where = ((values - low) * (bins / span)).astype(np.int64)
        mass = np.bincount(where, weights=pmf)
        first = np.bincount(where, weights=pmf * values)
        used = mass > 0
        values, pmf = first[used] / mass[used], mass[used]
    else:
        order = np.argsort(values)
        values, pmf = values[order], pmf[order]
        # Equal rationals divide to the same float, so atoms can be compared exactly.
        starts = np.concatenate([[0], np.flatnonzero(np.diff(values)) + 1])
        values, pmf = values[starts], np.add.reduceat(pmf, starts)
    return PmfEstimate(values, pmf / pmf.sum(), defined)
