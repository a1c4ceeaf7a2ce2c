"""A binary data set as log-odds, and the mode of the collapsed likelihood of its operating point (p_D, p_FA).

A data set consists of the log-odds `x` of each sample being positive given its labels, logit(rho_i) of (21),
and its prediction. Host side, float64.

**The mode.** With the true labels summed out, the log-likelihood is a sum of logs of functions that are
affine in (p_D, p_FA), hence concave: Newton finds its unique maximum (which settles Su 2.4.4 for maximum
likelihood).

**A grid.** The methods need sums sum_i h(x_i + shift), where h is a sigmoid, its logarithm or a product of
such. So a sample may be replaced by the four nearest nodes of a grid of step 1/128, with the weights of cubic
(Lagrange) interpolation. Error of a sum: for each sample at most 3/128 step^4 = 8.8e-11 times the largest
fourth derivative of h; of the mean of a count 1.2e-11 N. Weights may be negative.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Num
from scipy.special import expit

from jtruth._one_line import one_line
from jtruth._validation import some
from jtruth._validation.in_range import check_codes

_LOOK = 5_000  # values that show whether many are equal, before all are sorted
_MOST_STEPS = 100  # of Newton
_FEW = 0.9  # share of distinct values above which nothing is merged


class Side(NamedTuple):
    """The samples of one prediction: finite log-odds and how often each occurs, and certain ones.

    On a grid (`on_grid`) the counts are real numbers, whose sum is whole but for rounding.
    """

    x: np.ndarray
    counts: np.ndarray
    sure: int  # positive for certain
    never: int  # negative for certain

    __repr__ = one_line

    @property
    def total(self) -> int:
        """Number of samples."""
        return round(float(self.counts.sum())) + self.sure + self.never


# A binary data set: the samples predicted positive, and those predicted negative.
LogOdds = tuple[Side, Side]


def shifted(data: LogOdds, p_detection: float, p_false_alarm: float) -> LogOdds:
    """The same samples with log-odds (10), given the operating point as well."""
    of_1, of_0 = tilts(p_detection, p_false_alarm)
    return data[0]._replace(x=data[0].x + of_1), data[1]._replace(x=data[1].x + of_0)


class BetaPrior(NamedTuple):
    """Independent Beta priors of the operating point: p_D ~ Beta(a_d, b_d), p_FA ~ Beta(a_f, b_f)."""

    a_d: float = 1.0
    b_d: float = 1.0
    a_f: float = 1.0
    b_f: float = 1.0


def collapse(x: Float[np.ndarray, " samples"], y_pred: np.ndarray) -> LogOdds:
    """Split log-odds (samples,) by prediction and merge equal ones; infinite ones become counts.

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
    sides, positive = [], y_pred == 1
    for part in (x.compress(positive), x.compress(~positive)):  # x[positive] takes four times as long
        certain = np.zeros(0) if all_finite else part[~np.isfinite(part)]
        finite = part[np.isfinite(part)] if certain.size else part
        looked_at = finite[:: max(finite.size // _LOOK, 1)]
        values, counts = finite, np.ones(finite.size, np.int64)  # as they are, where merging spares little
        if looked_at.size < _LOOK or np.unique(looked_at).size <= _FEW * looked_at.size:
            merged = np.unique(finite, return_counts=True)
            values, counts = merged if merged[0].size <= _FEW * finite.size else (values, counts)
        sides.append(Side(values, counts, int((certain > 0).sum()), int((certain < 0).sum())))
    return sides[0], sides[1]


class OperatingPoint(NamedTuple):
    """Mode of the posterior of (p_D, p_FA) and its curvature there.

    `covariance` (2, 2) is the inverse of minus the Hessian; `count_mean` and `count_covariance` are those of
    (A, B), true positives and false negatives, under that Laplace approximation.
    """

    p_detection: float
    p_false_alarm: float
    covariance: np.ndarray
    count_mean: np.ndarray
    count_covariance: np.ndarray
    converged: bool

    __repr__ = one_line


def log_likelihood(data: LogOdds, p_detection: float, p_false_alarm: float) -> float:
    """log p(y_pred | z; p_D, p_FA) = sum_i log sum_c rho_i(c) p(y_pred_i | c): the collapsed likelihood."""
    with np.errstate(divide="ignore"):
        d1, f1 = np.log(p_detection), np.log(p_false_alarm)
        d0, f0 = np.log1p(-p_detection), np.log1p(-p_false_alarm)
    total = 0.0
    for side, d, f in zip(data, (d1, d0), (f1, f0), strict=True):
        mixed = np.logaddexp(d - np.logaddexp(0.0, -side.x), f - np.logaddexp(0.0, side.x))
        total += float(side.counts @ mixed)
        total += (side.sure * d if side.sure else 0.0) + (side.never * f if side.never else 0.0)
    return total


def curvature(d: Any, f: Any, sizes: Any, mean: Any, variance: Any, prior: BetaPrior) -> tuple[Any, Any, Any]:
    """Derivatives of the log posterior of the operating point (d, f); NumPy, JAX or numbers.

    From (N1, N0) and the mean and variance of (A, B) there: the gradient (2,); minus the Hessian as (dd, ff,
    df); slopes of E[A] and of E[B], two of each.
    """
    (n1, n0), (a, b), (va, vb) = sizes, mean, variance
    gradient = (
        (a + prior.a_d) / d - (b + prior.b_d) / (1 - d),
        (n1 - a + prior.a_f) / f - (n0 - b + prior.b_f) / (1 - f),
    )
    # Complete-data information minus missing information.
    dd = (a + prior.a_d - va) / d**2 + (b + prior.b_d - vb) / (1 - d) ** 2
    ff = (n1 - a + prior.a_f - va) / f**2 + (n0 - b + prior.b_f - vb) / (1 - f) ** 2
    df = va / (d * f) + vb / ((1 - d) * (1 - f))
    return gradient, (dd, ff, df), ((va / d, -va / f), (-vb / (1 - d), vb / (1 - f)))


def tilts(p_detection: Any, p_false_alarm: Any, xp: Any = np) -> tuple[Any, Any]:
    """Shifts of the log-odds by the operating point, where y_pred = 1 and where y_pred = 0; (10)."""
    d, f = p_detection, p_false_alarm
    return xp.log(d) - xp.log(f), xp.log1p(-d) - xp.log1p(-f)


def _count_moments(data: LogOdds, d: float, f: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of (A, B) at the operating point (d, f)."""
    p = [(side, expit(side.x + tilt)) for side, tilt in zip(data, tilts(d, f), strict=True)]
    mean = [side.counts @ q + side.sure for side, q in p]
    return np.array(mean), np.array([side.counts @ (q * (1 - q)) for side, q in p])


def most_probable(data: LogOdds, prior: BetaPrior | None = BetaPrior()) -> OperatingPoint:
    """Mode of the posterior of (logit p_D, logit p_FA): damped Newton on a strictly concave function.

    Without a prior the operating point is (1/2, 1/2), which leaves the log-odds unchanged.
    """
    point, sizes = np.array([0.5, 0.5]), (data[0].total, data[1].total)
    mean, variance = _count_moments(data, 0.5, 0.5)
    if prior is None:
        return OperatingPoint(0.5, 0.5, np.zeros((2, 2)), mean, np.diag(variance), True)
    for _ in range(_MOST_STEPS):
        gradient, (dd, ff, df), _ = curvature(point[0], point[1], sizes, mean, variance, prior)
        step = np.linalg.solve(np.array([[dd, df], [df, ff]]), np.array(gradient))
        most = np.where(step > 0, (1 - point) / np.maximum(step, 1e-300), -point / np.minimum(step, -1e-300))
        point = point + step * min(1.0, 0.9 * float(np.min(np.where(step == 0, np.inf, most))))
        mean, variance = _count_moments(data, float(point[0]), float(point[1]))
        converged = bool(np.max(np.abs(step)) < 1e-7)
        if converged:
            break
    _, (dd, ff, df), slopes = curvature(point[0], point[1], sizes, mean, variance, prior)
    covariance = np.linalg.inv(np.array([[dd, df], [df, ff]]))
    spread = np.diag(variance) + np.array(slopes) @ covariance @ np.array(slopes).T
    d, f = map(float, point)
    return OperatingPoint(d, f, covariance, mean, spread, converged)


FROM_VALUES = 20_000  # distinct log-odds of a side, below which a grid saves nothing
STEP = 1.0 / 128
_FARTHEST = 512.0  # log-odds beyond are left off the grid
_BLOCK = 1 << 15  # samples whose arrays stay in the cache


def on_grid(data: LogOdds) -> LogOdds:
    """The same data with the log-odds of each large side on the grid."""
    side_1, side_0 = (Side(*grid_weights(side.x, side.counts), *side[2:]) for side in data)
    return side_1, side_0


def grid_weights(
    x: Float[np.ndarray, " values"], counts: Num[np.ndarray, " values"]
) -> tuple[Float[np.ndarray, " nodes"], Num[np.ndarray, " nodes"]]:
    """Nodes and their weights; below 20 000 values these are `x` and `counts` themselves.

    >>> x = np.linspace(-3, 3, 30_000)
    >>> nodes, weights = grid_weights(x, np.ones(x.size))
    >>> nodes.size, round(float(weights @ nodes**2 / (x @ x)), 12)
    (771, 1.0)
    """
    if x.size < FROM_VALUES:
        return x, counts
    far = np.abs(x) > _FARTHEST if max(x.max(), -x.min()) > _FARTHEST else None
    near, times = (x, counts) if far is None else (x[~far], counts[~far])
    if not near.size:
        return x, counts
    first = int(np.floor(near.min() / STEP))
    cells = int(np.floor(near.max() / STEP)) - first + 1
    sums = _powers(near, times, first, cells)
    weights = np.zeros(cells + 3)  # nodes first - 1, ..., first + cells + 1
    for node, row in enumerate(_LAGRANGE @ sums):
        weights[node : node + cells] += row
    used = np.flatnonzero(weights)
    nodes, weights = (used + (first - 1)) * STEP, weights[used]
    if far is None:
        return nodes, weights
    return np.concatenate([nodes, x[far]]), np.concatenate([weights, counts[far]])


def merged_samples(data: LogOdds) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(log-odds, predictions, weights) for the steps of `empirical_bayes`.

    Certain samples are infinite log-odds. Sizes are padded to powers of two by weight 0, so that data of
    similar size share a compiled program.
    """
    x = np.concatenate([part for side in data for part in (side.x, [np.inf, -np.inf])])
    weights = [part for side in data for part in (side.counts, [side.sure, side.never])]
    weight = np.concatenate(weights).astype(np.float64)
    y_pred = np.repeat(np.array([1, 0], np.int32), [side.x.size + 2 for side in data])
    padding = 0, (1 << (x.size - 1).bit_length()) - x.size
    return np.pad(x, padding), np.pad(y_pred, padding), np.pad(weight, padding)


# Weight of the nodes -1, 0, 1, 2 as polynomials in t (columns 1, t, t^2, t^3), t being the place from 0 to 1.
_LAGRANGE = np.array([[0, -2, 3, -1], [6, -3, -6, 3], [0, 6, 3, -3], [0, -1, 0, 1]]) / 6.0


def _powers(x: np.ndarray, counts: np.ndarray, first: int, cells: int) -> Float[np.ndarray, "4 cells"]:
    """Sums of counts times t^0..t^3 in every cell."""
    sums, once = np.zeros((4, cells)), bool((counts == 1).all())
    block = max(_BLOCK, 2 * cells)
    for k in range(0, x.size, block):
        place = x[k : k + block] * (1 / STEP)
        cell = np.floor(place)
        t = place - cell
        where = (cell - first).astype(np.intp)
        weight = None if once else counts[k : k + block].astype(np.float64)
        sums[0] += np.bincount(where, weight, cells)
        for power in (1, 2, 3):
            weight = t if weight is None else weight * t
            sums[power] += np.bincount(where, weight, cells)
    return sums
