"""The exact posterior of the counts of a binary classifier: no sampling, no normality (methods: Su 2.1-2.3).

A = number of true positives, B = number of false negatives. With p_D ~ Beta(a_d, b_d), p_FA ~ Beta(a_f, b_f)
integrated out,

    P(A=a, B=b | y_pred, z) ~ PB_1(a) PB_0(b) Beta(a + a_d, b + b_d) Beta(N1 - a + a_f, N0 - b + b_f),

PB_u being the law of the number of positives among the samples predicted u given the labels alone. Written
with gamma functions this is f_1(a) f_0(b) g(a + b). Its sum is the evidence p(y_pred, z) up to the known
p(z). Every metric is a function of (a, b), so its law is a sum over this table. Host side, float64.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Num
from scipy.special import betaincinv, betaln, gammaln

from jtruth._validation import present
from jtruth.stats.estimates import PmfEstimate
from jtruth.stats.poisson_binomial import log_pmf
from jtruth.tables.binary import GridTable
from jtruth.tables.metrics import Metric
from jtruth.testing.binary.operating_point import BetaPrior, LogOdds, OperatingPoint, Side, most_probable

_EDGE_MASS = 1e-14  # a window is wide enough when its edges hold less than this
_FINE_BINS = 1 << 17  # large tables: atoms of a ratio closer than range/this are pooled


@dataclass(frozen=True, eq=False, repr=False)
class CountTable(GridTable):
    """Posterior of (A, B) on a window of the integer lattice.

    probability[i, j] = P(A = a[i], B = b[j] | y_pred, z), summing to 1 over the window; what lies outside
    holds less than about 1e-12. `log_evidence` = log p(y_pred | z) under the priors. Counts may be nodes
    (`nodes`, to the ends), each of which stands for several numbers.
    """

    a: Num[np.ndarray, " true_positives"]
    b: Num[np.ndarray, " false_negatives"]
    probability: Float[np.ndarray, "true_positives false_negatives"]
    n1: int
    n0: int
    log_evidence: float
    bins: int = _FINE_BINS  # of its range, in which very many atoms of a law are pooled
    whole: bool = True  # every count of the window, or nodes

    def count_law(self, axis: int) -> PmfEstimate:
        """Law of the number of true positives (axis 0) or of false negatives (axis 1)."""
        values = (self.a, self.b)[axis].astype(np.float64)
        return PmfEstimate(values, self.probability.sum(1 - axis), lattice=self.whole)

    def difference_law(self) -> PmfEstimate:
        """Law of A - B."""
        if not self.whole:
            return law_of_cells(self.a[:, None] - self.b[None, :], self.probability, self.bins)
        key = (self.a[:, None] - self.a[0]) - (self.b[None, :] - self.b[-1])
        pmf = np.bincount(key.ravel(), weights=self.probability.ravel())
        values = self.a[0] - self.b[-1] + np.arange(pmf.size)
        return PmfEstimate(values.astype(np.float64), pmf, lattice=True)

    def ratio_law(self, metric: Metric) -> PmfEstimate:
        """The law of any metric: its values in the cells, sorted."""
        return law_of_cells(self.values(metric), self.probability, self.bins)


def law_of_cells(
    values: Float[np.ndarray, "a b"], probability: Float[np.ndarray, "a b"], bins: int = _FINE_BINS,
    least: float | None = None,
) -> PmfEstimate:  # fmt: skip
    """Law of what has these values in the cells; of cells of probability below `least` nothing is kept."""
    undefined = np.isnan(values)
    kept = (probability > (1e-13 / probability.size if least is None else least)) & ~undefined
    defined = 1.0 - float(probability[undefined].sum())
    return law_of_atoms(values[kept], probability[kept], defined, bins)


def law_of_atoms(
    values: np.ndarray, pmf: np.ndarray, probability_defined: float, bins: int = _FINE_BINS
) -> PmfEstimate:
    """Sort atoms and merge equal ones; very many atoms are pooled within 1/131072 (1/bins) of their range."""
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
    return PmfEstimate(values, pmf / pmf.sum(), probability_defined)


def log_side_factor(
    count: Float[np.ndarray, "*n"] | Int[np.ndarray, "*n"], total: int, alpha1: float, alpha0: float
) -> Float[np.ndarray, "*n"]:
    """log Gamma(count + alpha1) Gamma(total - count + alpha0): what symbol u adds to its own f_u."""
    return _log_gamma(count + alpha1) + _log_gamma(total - count + alpha0)


def log_sum_factor(
    positives: Float[np.ndarray, "*n"] | Int[np.ndarray, "*n"], total: int, prior: BetaPrior
) -> Float[np.ndarray, "*n"]:
    """log g(a + b) = -log Gamma(a + b + a_d + b_d) Gamma(N - a - b + a_f + b_f)."""
    gain = _log_gamma(positives + (prior.a_d + prior.b_d))
    return -gain - _log_gamma(total - positives + (prior.a_f + prior.b_f))


def _log_gamma(z: np.ndarray) -> np.ndarray:
    """log Gamma; by Stirling's series where every z is large (error 1e-17 from 64 on), ten times as fast."""
    if not z.size or z.min() < 64.0:
        return gammaln(z)
    w = 1.0 / z
    series = w * (1 / 12 - w * w * (1 / 360 - w * w / 1260))
    return (z - 0.5) * np.log(z) - z + (0.5 * np.log(2 * np.pi)) + series


def log_prior_constant(prior: BetaPrior | None) -> float:
    """log of the normalising constants of the two Beta priors."""
    if prior is None:
        return 0.0
    return float(betaln(prior.a_d, prior.b_d) + betaln(prior.a_f, prior.b_f))


class Axis(NamedTuple):
    """One side's counts at which the posterior is held, and log f_u there."""

    count: Num[np.ndarray, " nodes"]
    cells: Float[np.ndarray, " nodes"] | None  # how many whole numbers each stands for; None: itself
    log_f: Float[np.ndarray, " nodes"]


def whole_numbers(side: Side, end: np.ndarray) -> Axis:
    """Every count between two ends, with the law of `side` by convolution."""
    first, last = int(np.floor(end[0])), int(np.ceil(end[1]))
    law = log_pmf(side.x, side.counts, first - side.sure, last - side.sure)
    return Axis(np.arange(first, last + 1), None, law)


def summed(
    data: LogOdds, prior: BetaPrior | None, mode: OperatingPoint, axes: Callable[[np.ndarray], Any]
) -> tuple[Axis, Axis, np.ndarray, float] | None:
    """The posterior on a window, which grows until its edges hold no mass or are those of the possible range.

    Both axes, the probabilities (a, b), and the logarithm of what these were divided by.

    Args:
        data: the samples.
        prior: of the operating point; None where it is given, and inside the log-odds of `data` already.
        mode: `most_probable` of the data.
        axes: makes the two axes between given ends (2, 2); None if it cannot.
    """
    mean, sd = mode.count_mean, np.sqrt(np.diag(mode.count_covariance))
    limits, reach = data.limits, np.full(2, 9.0)
    while True:
        ends = np.stack([mean - reach * sd - 6, mean + reach * sd + 6], 1)
        if (found := axes(np.clip(ends, limits[:, :1], limits[:, 1:]))) is None:
            return None
        both = [_with_prior(part, data, k, prior) for k, part in enumerate(found)]
        log_p = _log_joint(both, data.n1 + data.n0, prior)
        top = log_p.max()
        p = np.exp(np.subtract(log_p, top, out=log_p), out=log_p)
        total = p.sum()
        open_ends = [[part.count[e] != limits[k, e] for e in (0, -1)] for k, part in enumerate(both)]
        edges = np.array([[p.take(e, axis=k).sum() for e in (0, -1)] for k in (0, 1)]) * open_ends
        cut = (edges > _EDGE_MASS * total).any(axis=1)
        if not cut.any():
            p /= total
            return both[0], both[1], p, float(top + np.log(total))
        reach = reach * np.where(cut, 1.6, 1.0)


def _with_prior(axis: Axis, data: LogOdds, side: int, prior: BetaPrior | None) -> Axis:
    """log f_u of what held the law given the labels alone."""
    if prior is None:
        return axis
    alpha = (prior.a_d, prior.a_f) if side == 0 else (prior.b_d, prior.b_f)
    return axis._replace(log_f=axis.log_f + log_side_factor(axis.count, (data.n1, data.n0)[side], *alpha))


def _log_joint(axes: list[Axis], total: int, prior: BetaPrior | None) -> Float[np.ndarray, "a b"]:
    """log f_1(a) f_0(b) g(a + b), and of the cells that each node stands for."""
    a, b = axes
    logs = [part.log_f if part.cells is None else part.log_f + np.log(part.cells) for part in axes]
    if prior is None:
        return logs[0][:, None] + logs[1][None, :]
    if a.cells is None and b.cells is None:  # sums of whole numbers come again and again
        g = log_sum_factor(np.arange(a.count[0] + b.count[0], a.count[-1] + b.count[-1] + 1), total, prior)
        log_p = np.lib.stride_tricks.sliding_window_view(g, b.count.size) + logs[0][:, None]
    else:
        log_p = log_sum_factor(a.count[:, None] + b.count[None, :], total, prior)
        log_p += logs[0][:, None]
    log_p += logs[1][None, :]
    return log_p


def count_table(
    data: LogOdds, prior: BetaPrior | None = BetaPrior(), mode: OperatingPoint | None = None
) -> CountTable:
    """The exact posterior of the counts on whole numbers.

    Args:
        data: the samples.
        prior: of the operating point; None: it is given, and inside the log-odds (`LogOdds.at`).
        mode: `most_probable`'s, where it has been found already.

    The window starts at 9 posterior standard deviations around the mode. Cost: about the number of cells,
    10 ms at N = 1000.
    """
    mode = mode or most_probable(data, prior)
    found = summed(data, prior, mode, lambda ends: list(map(whole_numbers, data.sides, ends)))
    a, b, probability, log_scale = present(found, "the window")
    evidence = log_scale - log_prior_constant(prior)
    return CountTable(a.count, b.count, probability, data.n1, data.n0, evidence)


def confusion_nodes(table: CountTable, number: int) -> Float[np.ndarray, "nodes 2 2"]:
    """Evenly spread, equally weighted nodes of the classifier's matrix: beta given the counts of `table`.

    What is linear or a ratio in the matrix has little error with them where draws would need a hundred times
    as many.
    The count a is drawn by its own law and b given a, each by a coordinate of its own: one coordinate that
    numbers the cells of both leaves b and the two rates dependent (sd 1.2 % too small). Sobol's sequence
    keeps the sd of accuracy within .2 % of the exact one; powers of one irrational number miss it by 1 %.
    """
    place = _sobol(number)
    i = _pick(np.cumsum(table.probability.sum(axis=1))[None], np.zeros(number, int), place[:, 0])
    j = _pick(np.cumsum(table.probability, axis=1), i, place[:, 1])
    a, b = table.a[i], table.b[j]
    rows = [[table.n0 - b, table.n1 - a], [b, a]]  # true, predicted
    counts = np.moveaxis(np.array(rows, np.float64), (0, 1), (-2, -1)) + 1
    second = betaincinv(counts[:, :, 1], counts[:, :, 0], place[:, 2:])
    return np.stack([1 - second, second], axis=-1)


@lru_cache(maxsize=4)
def _sobol(number: int) -> Float[np.ndarray, "nodes 4"]:
    """Points of [0, 1]^4, in the middle of their finest cells: 0 and 1 are left out."""
    from scipy.stats.qmc import Sobol  # half a second to import, and only here

    finest = int(np.ceil(np.log2(number)))
    return Sobol(4, scramble=False).random_base2(finest)[:number] + 0.5 / 2**finest


def _pick(upto: Float[np.ndarray, "rows cells"], row: np.ndarray, place: np.ndarray) -> np.ndarray:
    """The cell of `row` in which the share `place` falls; `upto` holds cumulative masses."""
    total = upto[:, -1:]
    flat = (upto / np.where(total > 0, total, 1) + np.arange(len(upto))[:, None]).ravel()
    found = np.searchsorted(flat, place + row, side="right") - row * upto.shape[1]
    return np.minimum(found, upto.shape[1] - 1)
