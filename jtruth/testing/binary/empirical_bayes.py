"""Empirical Bayes testing of two classes (Su 2.2-2.5): find the operating point, then plug it in.

**Finding it.** The algorithms of `jtruth.testing.steps` for (p_D, p_FA), and Algorithm 1, whose step
`ratio_step` is the means of ratios of normals, from the moments (12)-(16). All iterate from (1/2, 1/2). A
data set is `log_odds` (samples,), the logit of (21), which may be infinite (known labels), and `y_pred`
(samples,) of 0 and 1.

**Plugging it in.** `normal_posterior` is the paper's: U and V normal by the central limit theorem, so
accuracy and precision are normal and P_D, P_FA, F_beta ratios of normals, confined to [0, 1]; so are the
joint densities (17) and (18). Intervals ignore the uncertainty of the operating point, unlike those of
`exact_posterior`.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jtruth._arrays import AnyArray, is_concrete, namespace
from jtruth._one_line import one_line
from jtruth._validation.in_range import check_codes, check_shape
from jtruth.posterior import validate_prior
from jtruth.stats import ratio_of_normals
from jtruth.stats.estimates import DensityEstimate, Estimate, PmfEstimate
from jtruth.stats.ratio_of_normals import MEANS, Ratio, ratio_mean
from jtruth.tables.binary import CountTable, linear_forms
from jtruth.tables.metrics import Metric, named_metric
from jtruth.tables.posterior import JointDensity
from jtruth.testing import steps
from jtruth.testing.binary.operating_point import tilts
from jtruth.testing.steps import Step

Odds = Float[AnyArray, " samples"]
Codes = Int[AnyArray, " samples"]
Point = Float[Array, " 2"]  # (p_D, p_FA)
_POINTS = 2001
_RATES = named_metric("recall"), named_metric("false_alarm_rate")  # P_D, P_FA
_HEAVY = 12.0  # mean(W) / sd(W); above it less than 1e-30 of W is near 0 or below


class ShareMoments(NamedTuple):
    """Means and variances of U = A/N and V = B/N, (12)-(16), and n1 = N1/N: scalar arrays or floats."""

    mean_u: Any
    var_u: Any
    mean_v: Any
    var_v: Any
    n1: Any

    __repr__ = one_line


def log_odds_of(log_likelihood: Float[AnyArray, "samples 2"], prior: Float[AnyArray, " 2"]) -> Odds:
    """logit p(y_i = 1 | z_i), from (21); +-inf where the label is certain; ValueError for other classes."""
    check_shape(log_likelihood, "log_likelihood", "samples classes", classes=2)
    prior = validate_prior(prior, 2) if is_concrete(prior) else prior
    return (jnp.log(prior[1]) - jnp.log(prior[0])) + log_likelihood[:, 1] - log_likelihood[:, 0]


def posterior_log_odds(log_odds: Odds, y_pred: Codes, point: Point) -> Odds:
    """logit p(y_i = 1 | y_pred_i, z_i; p_D, p_FA): (10) as a shift of the log-odds."""
    return log_odds + jnp.where(y_pred == 1, *tilts(point[0], point[1], jnp))


def moments(log_odds: Odds, y_pred: Codes, point: Point, weight: Odds | None = None) -> ShareMoments:
    """(12)-(16) at an operating point; `weight` is the multiplicity of each sample."""
    n = log_odds.shape[0] if weight is None else weight.sum()
    shifted = posterior_log_odds(log_odds, y_pred, point)
    p, not_p = jax.nn.sigmoid(shifted), jax.nn.sigmoid(-shifted)
    positive = (y_pred == 1).astype(p.dtype)
    parts = [part if weight is None else part * weight for part in (positive, 1 - positive)]
    mean_u, mean_v = ((p * part).sum() / n for part in parts)
    var_u, var_v = ((p * not_p * part).sum() / n**2 for part in parts)
    return ShareMoments(mean_u, var_u, mean_v, var_v, parts[0].sum() / n)


def ratio_step(log_odds: Odds, y_pred: Codes, *, weight: Odds | None = None, mean: str = MEANS[0]) -> Step:
    """Algorithm 1; `mean` is that of `jtruth.stats.ratio_mean`."""
    check_codes(y_pred, 2, "y_pred", size=len(log_odds))
    log_odds, y_pred = jnp.asarray(log_odds), jnp.asarray(y_pred)

    def step(point, _):
        m = moments(log_odds, y_pred, point, weight)
        return jnp.stack([ratio_mean(metric_ratio(m, rate), mean) for rate in _RATES])

    return step


def exact_step(log_odds: Odds, y_pred: Codes, *, weight: Odds | None = None) -> Step:
    """Conditional means of P_D and P_FA given the operating point, each given that it is defined."""
    return of_point(steps.exact_step(class_dist(log_odds), y_pred, weight))


def class_dist(log_odds: Odds) -> Float[Array, "samples 2"]:
    """log p(y_i = c | z_i) (21)."""
    return jnp.stack([jax.nn.log_sigmoid(-log_odds), jax.nn.log_sigmoid(log_odds)], axis=1)


def matrix_of(point: Point) -> Float[Array, "2 2"]:
    """K at an operating point (p_D, p_FA)."""
    return jnp.stack([1 - point[::-1], point[::-1]], axis=1)


def of_point(step: Step) -> Step:
    """Convert a step of matrices to one of operating points."""
    return lambda point, number: step(matrix_of(point), number)[::-1, 1]


# ---- plugged in --------------------------------------------------------------------------------------------


def point_estimate(value: float) -> PmfEstimate:
    """A point mass (NaN: never defined)."""
    if np.isnan(value):
        return PmfEstimate(np.zeros(0), np.zeros(0), 0.0)
    return PmfEstimate(np.array([value]), np.ones(1), lattice=True)


def normal_estimate(mean: float, variance: float) -> Estimate:
    """A normal distribution, +-10 sd; a variance of 0 is a point."""
    if variance <= 0 or np.isnan(mean):
        return point_estimate(mean)
    t = np.linspace(-10, 10, _POINTS)
    sd = np.sqrt(variance)
    return DensityEstimate(mean + sd * t, np.exp(-0.5 * t**2) / (sd * np.sqrt(2 * np.pi)))


def _ratio_dist(ratio: Ratio) -> Estimate:
    """Density of Z/W on [0, 1], divided by its mass there; W is above 0 on average."""
    centre = ratio.mean_z / ratio.mean_w
    spread = float(np.sqrt(max(ratio_of_normals.second_order_variance(ratio), 0.0)))
    low, high = max(centre - 14 * spread, 0.0), min(centre + 14 * spread, 1.0)
    if spread < 1e-12 or low >= high:
        return point_estimate(float(np.clip(centre, 0.0, 1.0)))
    grid = np.linspace(low, high, 2 * _POINTS - 1)
    if ratio.mean_w < _HEAVY * np.sqrt(ratio.var_w):  # W may be near 0: tails as of Cauchy's distribution
        grid = np.concatenate([np.linspace(0, low, _POINTS), grid[1:-1], np.linspace(high, 1, _POINTS)])
    with jax.enable_x64(True):
        moments = Ratio(*(jnp.asarray(v, jnp.float64) for v in ratio))
        pdf = np.asarray(_density(moments, jnp.asarray(grid, jnp.float64)))
    grid, first = np.unique(grid, return_index=True)  # a piece that is empty
    return DensityEstimate(grid, pdf[first])


_density = jax.jit(ratio_of_normals.density)


def normal_posterior(moments: ShareMoments, metric: str | Metric) -> Estimate:
    """Posterior of a metric under the central limit theorem (Su 2.3.1, Tables 8 and 16).

    A ratio of two sums of counts is a ratio of two linear forms of U and V, hence of two normal variables, or
    itself normal where its denominator is a constant.

    Args:
        moments: (12)-(16) at the operating point.
        metric: one that is a ratio: "accuracy", "recall", "f<beta>", ...

    Raises:
        ValueError: the metric is no ratio of two sums of counts.
    """
    metric = named_metric(metric) if isinstance(metric, str) else metric
    if not metric.is_ratio:
        raise ValueError(f"metric {metric.name!r} is not a ratio of counts: it has no normal approximation")
    ratio = metric_ratio(ShareMoments(*(float(v) for v in moments)), metric)
    if ratio.mean_w <= 0:
        return point_estimate(np.nan)
    if ratio.var_w > 0:
        return _ratio_dist(ratio)
    return normal_estimate(ratio.mean_z / ratio.mean_w, ratio.var_z / ratio.mean_w**2)


def metric_ratio(moments: ShareMoments, metric: Metric) -> Ratio:
    """Moments of numerator and denominator of a metric, U and V being independent (Su Table 16)."""
    m = moments
    (zu, zv, z), (wu, wv, w) = linear_forms(metric, m.n1, 1.0 - m.n1)
    return Ratio(
        zu * m.mean_u + zv * m.mean_v + z,
        wu * m.mean_u + wv * m.mean_v + w,
        zu**2 * m.var_u + zv**2 * m.var_v,
        wu**2 * m.var_u + wv**2 * m.var_v,
        zu * wu * m.var_u + zv * wv * m.var_v,
    )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NormalTable(CountTable):
    """U and V normal at an operating point, as in the paper: distributions of ratios of sums of counts.

    Single counts, draws and other metrics are exact there.
    """

    moments: ShareMoments

    def estimate(self, metric: str | Metric) -> Estimate:
        """Normal distribution of a ratio, exact distribution of anything else."""
        metric = self.metric(metric)
        return normal_posterior(self.moments, metric) if metric.is_ratio else super().estimate(metric)

    def joint(self, first: str | Metric, second: str | Metric) -> JointDensity:
        """The densities (17) and (18), on 8 standard deviations around the mean."""
        names = self.metric(first).name, self.metric(second).name
        cells = super().joint(first, second)
        spread = 8.0 * np.sqrt(np.diag(cells.covariance))
        low, high = np.clip(cells.mean - spread, 0.0, 1.0), np.clip(cells.mean + spread, 0.0, 1.0)
        box = ((float(low[0]), float(high[0])), (float(low[1]), float(high[1])))
        return JointDensity(*names, joint_density(self.moments, *names), box, cells.mean)


def roc_density(moments: ShareMoments, p_detection: Any, p_false_alarm: Any) -> Any:
    """Joint posterior density of (P_D, P_FA) at an operating point, Su (17).

    Args:
        moments: scalars, `jtruth.testing.moments(log_odds, y_pred, point)`.
        p_detection, p_false_alarm: numbers or arrays that broadcast, of NumPy or JAX.

    Returns:
        The density; 0 outside the unit square, on the chance line, where the printed form is 0/0, and where U
        or V has no variance.
    """
    d, f, n1 = p_detection, p_false_alarm, moments.n1
    xp, inside = _inside(moments, d, f, d != f)
    gap = xp.where(inside, d - f, 1.0)
    share = (n1 - f) / gap  # share of positives, U + V
    jacobian = xp.abs((n1 - f) * (n1 - d) / gap**3)
    return xp.where(inside, jacobian * _uv_density(xp, moments, share * d, share * (1 - d)), 0.0)[()]


def precision_recall_density(moments: ShareMoments, precision: Any, recall: Any) -> Any:
    """Joint posterior density of (PREC, REC) at an operating point, Su (18); 0 at recall 0, its limit.

    Arguments and zeros are those of `roc_density`, without the chance line.
    """
    xp, inside = _inside(moments, precision, recall, recall != 0)
    safe, u = xp.where(inside, recall, 1.0), moments.n1 * precision
    density = _uv_density(xp, moments, u, u * (1 - safe) / safe)
    return xp.where(inside, moments.n1 * u / safe**2 * density, 0.0)[()]


def _inside(m: ShareMoments, x: Any, y: Any, defined: Any) -> tuple[Any, Any]:
    """The namespace of the arrays, and where two metrics have a density."""
    varies = (m.var_u > 0) & (m.var_v > 0)
    return namespace(*m, x, y), varies & defined & (x >= 0) & (x <= 1) & (y >= 0) & (y <= 1)


def _uv_density(xp: Any, m: ShareMoments, u: Any, v: Any) -> Any:
    """Density of (U, V), independent normals."""
    var_u, var_v = (xp.where(v > 0, v, 1.0) for v in (m.var_u, m.var_v))
    quadratic = (u - m.mean_u) ** 2 / var_u + (v - m.mean_v) ** 2 / var_v
    return xp.exp(-0.5 * quadratic) / (2 * np.pi * xp.sqrt(var_u) * xp.sqrt(var_v))


JOINT_DENSITIES = {
    ("recall", "false_alarm_rate"): roc_density,
    ("precision", "recall"): precision_recall_density,
}


def joint_density(moments: ShareMoments, first: str, second: str):
    """The joint density function of a pair of metrics: (17) or (18), as f(x, y)."""
    if (second, first) in JOINT_DENSITIES:
        turned = joint_density(moments, second, first)
        return lambda x, y: turned(y, x)
    if (first, second) not in JOINT_DENSITIES:
        pairs = "; ".join(", ".join(pair) for pair in JOINT_DENSITIES)
        raise ValueError(f"no joint normal density of ({first}, {second}); there is one for {pairs}")
    return partial(JOINT_DENSITIES[first, second], moments)
