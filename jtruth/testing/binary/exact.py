"""The exact posterior of the counts of a binary classifier: no sampling, no normality (methods: Su 2.1-2.3).

A = number of true positives, B = number of false negatives. With p_D ~ Beta(a_d, b_d), p_FA ~ Beta(a_f, b_f)
integrated out,

    P(A=a, B=b | y_pred, z) ~ PB_1(a) PB_0(b) Beta(a + a_d, b + b_d) Beta(N1 - a + a_f, N0 - b + b_f),

PB_u being the law of the number of positives among the samples predicted u given the labels alone. Written
with gamma functions this is f_1(a) f_0(b) g(a + b). Its sum is the evidence p(y_pred, z) up to the known
p(z). Every metric is a function of (a, b), so its law is a sum over this table. Host side, float64.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Num
from scipy.special import betaln, gammaln

from jtruth.stats.estimates import PmfEstimate
from jtruth.stats.poisson_binomial import log_pmf
from jtruth.tables.binary import GridTable
from jtruth.tables.metrics import Metric
from jtruth.testing.binary.operating_point import BetaPrior, LogOdds, OperatingPoint, most_probable

_EDGE_MASS = 1e-14  # a window is wide enough when its edges hold less than this
_FINE_BINS = 1 << 17  # large tables: atoms of a ratio closer than range/this are pooled


@dataclass(frozen=True, eq=False, repr=False)
class CountTable(GridTable):
    """Posterior of (A, B) on a window of the integer lattice.

    probability[i, j] = P(A = a[i], B = b[j] | y_pred, z), summing to 1 over the window; what lies outside
    holds less than about 1e-12. `log_evidence` = log p(y_pred | z) under the priors.
    """

    a: Num[np.ndarray, " true_positives"]
    b: Num[np.ndarray, " false_negatives"]
    probability: Float[np.ndarray, "true_positives false_negatives"]
    n1: int
    n0: int
    log_evidence: float
    _bins = _FINE_BINS  # in which very many atoms are pooled

    def count_law(self, axis: int) -> PmfEstimate:
        """Law of the number of true positives (axis 0) or of false negatives (axis 1)."""
        values = (self.a, self.b)[axis].astype(np.float64)
        return PmfEstimate(values, self.probability.sum(1 - axis), lattice=True)

    def difference_law(self) -> PmfEstimate:
        """Law of A - B."""
        key = (self.a[:, None] - self.a[0]) - (self.b[None, :] - self.b[-1])
        pmf = np.bincount(key.ravel(), weights=self.probability.ravel())
        values = self.a[0] - self.b[-1] + np.arange(pmf.size)
        return PmfEstimate(values.astype(np.float64), pmf, lattice=True)

    def ratio_law(self, metric: Metric) -> PmfEstimate:
        """The exact law of any metric: its values in the cells, sorted."""
        values, pmf = self.values(metric).ravel(), self.probability.ravel()
        keep = (pmf > 1e-13 / pmf.size) & ~np.isnan(values)
        undefined = float(pmf[np.isnan(values)].sum())
        return law_of_atoms(values[keep], pmf[keep], 1.0 - undefined, self._bins)


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


def log_prior_constant(prior: BetaPrior) -> float:
    """log of the normalising constants of the two Beta priors."""
    return float(betaln(prior.a_d, prior.b_d) + betaln(prior.a_f, prior.b_f))


def _window(centre: float, sd: float, low: int, high: int, reach: float) -> tuple[int, int]:
    half = reach * sd + 6
    return max(low, int(np.floor(centre - half))), min(high, int(np.ceil(centre + half)))


def _log_table(data: LogOdds, prior: BetaPrior, rows: tuple[int, int], columns: tuple[int, int]):
    """Unnormalised log posterior on a window; rows and columns are inclusive ranges of A and B."""
    n1, n0 = data.n1, data.n0
    a, b = np.arange(rows[0], rows[1] + 1), np.arange(columns[0], columns[1] + 1)
    f1 = log_pmf(data.x1, data.counts1, rows[0] - data.sure1, rows[1] - data.sure1)
    f0 = log_pmf(data.x0, data.counts0, columns[0] - data.sure0, columns[1] - data.sure0)
    f1 = f1 + log_side_factor(a, n1, prior.a_d, prior.a_f)
    f0 = f0 + log_side_factor(b, n0, prior.b_d, prior.b_f)
    g = log_sum_factor(np.arange(a[0] + b[0], a[-1] + b[-1] + 1), n1 + n0, prior)
    return a, b, f1[:, None] + f0[None, :] + np.lib.stride_tricks.sliding_window_view(g, b.size)


def count_table(
    data: LogOdds, prior: BetaPrior = BetaPrior(), mode: OperatingPoint | None = None
) -> CountTable:
    """The exact posterior of the counts; `mode` is `most_probable`'s, where it has been found already.

    The window starts at 9 posterior standard deviations around the mode and grows until its edges hold no
    mass (or reach the possible range). Cost: about the number of cells, 10 ms at N = 1000.
    """
    mode = mode or most_probable(data, prior)
    sd = np.sqrt(np.diag(mode.count_covariance))
    limits = ((data.sure1, data.n1 - data.never1), (data.sure0, data.n0 - data.never0))
    reach = [9.0, 9.0]
    while True:
        rows, columns = (
            _window(m, s, *lim, r) for m, s, lim, r in zip(mode.count_mean, sd, limits, reach, strict=True)
        )
        a, b, log_p = _log_table(data, prior, rows, columns)
        top = log_p.max()
        p = np.exp(log_p - top)
        total = p.sum()
        enough = True
        for axis, (used, limit) in enumerate(((rows, limits[0]), (columns, limits[1]))):
            edges = [0] * (used[0] > limit[0]) + [-1] * (used[1] < limit[1])
            if any(p.take(edge, axis=axis).sum() > _EDGE_MASS * total for edge in edges):
                reach[axis] *= 1.6
                enough = False
        if enough:
            break
    log_evidence = float(top + np.log(total) - log_prior_constant(prior))
    return CountTable(a, b, p / total, data.n1, data.n0, log_evidence)
