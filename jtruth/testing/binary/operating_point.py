"""Where on the ROC plane? The collapsed likelihood of the operating point (p_D, p_FA), and its maximum.

With the true labels summed out, the log-likelihood is a sum of logs of functions that are affine in
(p_D, p_FA), hence concave: Newton finds its unique maximum (this settles Su 2.4.4 for the maximum-likelihood
map). A binary data set enters only through the log-odds `x` of each sample being positive given its labels,
logit(rho_i) of (21), and its prediction. Host side, float64.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from jtruth._one_line import one_line
from jtruth._validation import some
from jtruth._validation.in_range import check_codes

_LOOK = 5_000  # values that show whether many are equal, before a million are sorted
_FEW = 0.9  # share of distinct values above which nothing is merged


class LogOdds(NamedTuple):
    """A binary data set, split by prediction; equal log-odds collapsed to counts.

    `x1`, `counts1`: finite log-odds among samples predicted positive and how often each occurs; `sure1`: how
    many samples predicted positive are positive for certain, `never1`: negative for certain. Likewise for 0.
    On a grid (`log_odds_grid`) the counts are real numbers, which add up to a whole one but for rounding.
    """

    x1: np.ndarray
    counts1: np.ndarray
    sure1: int
    never1: int
    x0: np.ndarray
    counts0: np.ndarray
    sure0: int
    never0: int

    __repr__ = one_line

    @property
    def n1(self) -> int:
        """Number of samples predicted positive."""
        return round(float(self.counts1.sum())) + self.sure1 + self.never1

    @property
    def n0(self) -> int:
        """Number of samples predicted negative."""
        return round(float(self.counts0.sum())) + self.sure0 + self.never0


class BetaPrior(NamedTuple):
    """Independent Beta priors of the operating point: p_D ~ Beta(a_d, b_d), p_FA ~ Beta(a_f, b_f)."""

    a_d: float = 1.0
    b_d: float = 1.0
    a_f: float = 1.0
    b_f: float = 1.0


def collapse(x: Float[np.ndarray, " samples"], y_pred: np.ndarray) -> LogOdds:
    """Split log-odds (samples,) by prediction and collapse equal ones; infinite ones become counts.

    Raises:
        ValueError: a prediction that is not 0 or 1, another number of them, or log-odds that are NaN.
    """
    x, y_pred = np.asarray(x, np.float64), np.asarray(y_pred)
    check_codes(y_pred, 2, "y_pred", size=len(x))
    all_finite = bool(np.isfinite(x).all())
    bad = np.zeros(0, int) if all_finite else np.flatnonzero(np.isnan(x))
    if bad.size:
        raise ValueError(
            f"the log-odds of {bad.size} sample(s) ({some(bad)}) are NaN; check prior and labels"
        )
    parts, one = [], y_pred == 1
    for mine in (x.compress(one), x.compress(~one)):  # x[one] goes by branches, four times as long
        certain = np.zeros(0) if all_finite else mine[~np.isfinite(mine)]
        values, counts = _merged(mine[np.isfinite(mine)] if certain.size else mine)
        parts += [values, counts, int((certain > 0).sum()), int((certain < 0).sum())]
    return LogOdds(*parts)


def _merged(finite: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values and how often each occurs; single flips where merging would spare little."""
    some_of_it = finite[:: max(finite.size // _LOOK, 1)]
    if some_of_it.size < _LOOK or np.unique(some_of_it).size <= _FEW * some_of_it.size:
        values, counts = np.unique(finite, return_counts=True)
        if values.size <= _FEW * finite.size:
            return values, counts
    return finite, np.ones(finite.size, np.int64)


class OperatingPoint(NamedTuple):
    """Maximum of the posterior of (p_D, p_FA) and its curvature there.

    `covariance` (2, 2) is the inverse of minus the Hessian; `count_mean` and `count_covariance` are those of
    (A, B), the true positives and the false negatives, under that Laplace approximation.
    """

    p_detection: float
    p_false_alarm: float
    covariance: np.ndarray
    count_mean: np.ndarray
    count_covariance: np.ndarray
    converged: bool
    num_steps: int

    __repr__ = one_line


def log_likelihood(data: LogOdds, p_detection: float, p_false_alarm: float) -> float:
    """log p(y_pred | z; p_D, p_FA) = sum_i log sum_c rho_i(c) p(y_pred_i | c): the collapsed likelihood."""
    with np.errstate(divide="ignore"):
        d1, f1 = np.log(p_detection), np.log(p_false_alarm)
        d0, f0 = np.log1p(-p_detection), np.log1p(-p_false_alarm)
    total = 0.0
    for x, counts, sure, never, d, f in (
        (data.x1, data.counts1, data.sure1, data.never1, d1, f1),
        (data.x0, data.counts0, data.sure0, data.never0, d0, f0),
    ):
        mixed = np.logaddexp(d - np.logaddexp(0.0, -x), f - np.logaddexp(0.0, x))
        total += float(counts @ mixed) + (sure * d if sure else 0.0) + (never * f if never else 0.0)
    return total


def _derivatives(data: LogOdds, d: float, f: float, prior: BetaPrior):
    """Gradient, minus Hessian, and (mean, variance) of A and B at the operating point (d, f)."""
    q1 = expit(data.x1 + np.log(d) - np.log(f))
    q0 = expit(data.x0 + np.log1p(-d) - np.log1p(-f))
    a, b = data.counts1 @ q1 + data.sure1, data.counts0 @ q0 + data.sure0
    va, vb = data.counts1 @ (q1 * (1 - q1)), data.counts0 @ (q0 * (1 - q0))
    n1, n0 = data.n1, data.n0
    gradient = np.array(
        [
            (a + prior.a_d) / d - (b + prior.b_d) / (1 - d),
            (n1 - a + prior.a_f) / f - (n0 - b + prior.b_f) / (1 - f),
        ]
    )
    # Complete-data information minus what the unknown labels take away.
    dd = (a + prior.a_d - va) / d**2 + (b + prior.b_d - vb) / (1 - d) ** 2
    ff = (n1 - a + prior.a_f - va) / f**2 + (n0 - b + prior.b_f - vb) / (1 - f) ** 2
    df = va / (d * f) + vb / ((1 - d) * (1 - f))
    return gradient, np.array([[dd, df], [df, ff]]), np.array([a, b]), np.array([va, vb])


def most_probable(data: LogOdds, prior: BetaPrior = BetaPrior(), *, max_steps: int = 100) -> OperatingPoint:
    """Mode of the posterior of (logit p_D, logit p_FA): damped Newton on a strictly concave function."""
    point = np.array([0.5, 0.5])
    converged, num_steps = False, 0
    while not converged and num_steps < max_steps:
        gradient, information, _, _ = _derivatives(data, float(point[0]), float(point[1]), prior)
        step = np.linalg.solve(information, gradient)
        room = np.where(step > 0, (1 - point) / np.maximum(step, 1e-300), -point / np.minimum(step, -1e-300))
        point = point + step * min(1.0, 0.9 * float(np.min(np.where(step == 0, np.inf, room))))
        num_steps += 1
        converged = bool(np.max(np.abs(step)) < 1e-7)
    _, information, mean, variance = _derivatives(data, float(point[0]), float(point[1]), prior)
    covariance = np.linalg.inv(information)
    d, f = point
    slopes = np.array([[variance[0] / d, -variance[0] / f], [-variance[1] / (1 - d), variance[1] / (1 - f)]])
    spread = np.diag(variance) + slopes @ covariance @ slopes.T
    return OperatingPoint(float(d), float(f), covariance, mean, spread, converged, num_steps)
