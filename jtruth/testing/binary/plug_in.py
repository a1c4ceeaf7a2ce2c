"""Posteriors of the metrics when the operating point is plugged in (Su 2.2.2-2.3, 2.5).

Two forms. `normal_law` is the paper's: U and V normal by the central limit theorem, so accuracy and
precision are normal and P_D, P_FA, F_beta are ratios of normals, kept to [0, 1]. `law_at` is exact: A and
B are independent Poisson-binomials. Joint densities (17) and (18) are the normal form. Host side, float64.
"""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jtruth.stats import ratio_of_normals
from jtruth.stats.estimates import DensityEstimate, Estimate, PmfEstimate
from jtruth.stats.ratio_of_normals import Ratio
from jtruth.tables.binary import BinaryTable, CountTable, linear_forms
from jtruth.tables.joint import JointDensity
from jtruth.tables.metrics import Metric, named_metric
from jtruth.testing.binary.empirical_bayes import ShareMoments

_POINTS = 2001
_HEAVY = 12.0  # mean(W) / sd(W); above it less than 1e-30 of W is near 0 or below


def point_estimate(value: float) -> PmfEstimate:
    """A law that is all at one value (NaN: undefined for certain)."""
    if np.isnan(value):
        return PmfEstimate(np.zeros(0), np.zeros(0), 0.0)
    return PmfEstimate(np.array([value]), np.ones(1), lattice=True)


def normal_estimate(mean: float, variance: float) -> Estimate:
    """A normal law, +-10 sd; a variance of 0 is a point."""
    if variance <= 0 or np.isnan(mean):
        return point_estimate(mean)
    t = np.linspace(-10, 10, _POINTS)
    sd = np.sqrt(variance)
    return DensityEstimate(mean + sd * t, np.exp(-0.5 * t**2) / (sd * np.sqrt(2 * np.pi)))


def _ratio_law(ratio: Ratio) -> Estimate:
    """Density of Z/W on [0, 1], divided by its mass there; see `ratio_of_normals.density`."""
    ratio = Ratio(*(float(v) for v in ratio))
    if ratio.mean_w <= 0:
        return point_estimate(np.nan)
    centre = ratio.mean_z / ratio.mean_w
    spread = float(np.sqrt(max(ratio_of_normals.second_order_variance(ratio), 0.0)))
    if ratio.var_w <= 0 or spread < 1e-12:
        return point_estimate(float(np.clip(centre, 0.0, 1.0)))
    low, high = max(centre - 14 * spread, 0.0), min(centre + 14 * spread, 1.0)
    if low >= high:
        return point_estimate(float(np.clip(centre, 0.0, 1.0)))
    grid = np.linspace(low, high, 2 * _POINTS - 1)
    if ratio.mean_w < _HEAVY * np.sqrt(ratio.var_w):  # W may be near 0: tails as of Cauchy's law
        grid = np.concatenate([np.linspace(0, low, _POINTS), grid[1:-1], np.linspace(high, 1, _POINTS)])
    with jax.enable_x64(True):
        moments = Ratio(*(jnp.asarray(v, jnp.float64) for v in ratio))
        pdf = np.asarray(_density(moments, jnp.asarray(grid, jnp.float64)))
    grid, first = np.unique(grid, return_index=True)  # a piece that is empty
    return DensityEstimate(grid, pdf[first])


_density = jax.jit(ratio_of_normals.density)


def normal_law(moments: ShareMoments, metric: str | Metric) -> Estimate:
    """Posterior of a metric under the central limit theorem (Su 2.3.1, Tables 8 and 16).

    A ratio of two sums of counts is a ratio of two linear forms of U and V, hence of two normal variables,
    or itself normal where its denominator is a constant.

    Args:
        moments: (12)-(16) at the operating point.
        metric: one that is a ratio: "accuracy", "recall", "f<beta>", ...

    Raises:
        ValueError: the metric is no ratio of two sums of counts.
    """
    found = named_metric(metric) if isinstance(metric, str) else metric
    if not found.is_ratio:
        raise ValueError(f"metric {found.name!r} is no ratio of two sums of counts: it has no normal law")
    ratio = metric_ratio(ShareMoments(*(float(v) for v in moments)), found)
    if ratio.var_w > 0:
        return _ratio_law(ratio)
    if ratio.mean_w <= 0:
        return point_estimate(np.nan)
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


class NormalTable(BinaryTable, eqx.Module):
    """U and V normal at an operating point, as in the paper.

    Single counts, and metrics that are no ratio of two sums of counts, are taken from the exact table there.
    """

    moments: ShareMoments
    exact: CountTable

    @property
    def predicted(self) -> tuple[int, int]:
        """Numbers of samples predicted positive and negative."""
        return self.exact.predicted

    def count_law(self, axis: int) -> PmfEstimate:
        """Law of the number of true positives (axis 0) or of false negatives (axis 1), exact."""
        return self.exact.count_law(axis)

    def estimate(self, metric: str | Metric) -> Estimate:
        """Normal law of a ratio, exact law of anything else."""
        found = self.metric(metric)
        return normal_law(self.moments, found) if found.is_ratio else self.exact.estimate(found)

    def joint(self, first: str | Metric, second: str | Metric) -> JointDensity:
        """The densities (17) and (18), on 8 standard deviations around the mean."""
        names = self.metric(first).name, self.metric(second).name
        cells = self.exact.joint(first, second)
        spread = 8.0 * np.sqrt(np.diag(cells.covariance))
        low, high = np.clip(cells.mean - spread, 0.0, 1.0), np.clip(cells.mean + spread, 0.0, 1.0)
        box = ((float(low[0]), float(high[0])), (float(low[1]), float(high[1])))
        return JointDensity(*names, joint_density(self.moments, *names), box, cells.mean)

    def draws(self, key: Key[Array, ""], n: int) -> Float[np.ndarray, "n 2 2"]:
        """n draws of the exact table at the operating point."""
        return self.exact.draws(key, n)


def roc_density(moments: ShareMoments, p_detection: Any, p_false_alarm: Any) -> Any:
    """Joint density of (P_D, P_FA), Su (17); 0 on the chance line, where the printed form is 0/0.

    Numbers or arrays that broadcast.
    """
    m = ShareMoments(*(float(v) for v in moments))
    d, f = np.asarray(p_detection, np.float64), np.asarray(p_false_alarm, np.float64)
    gap = np.where(d == f, np.nan, d - f)
    share = (m.n1 - f) / gap  # share of positives, U + V
    jacobian = np.abs((m.n1 - f) * (m.n1 - d) / gap**3)
    return np.nan_to_num(jacobian * _uv_density(m, share * d, share * (1 - d)), nan=0.0)


def precision_recall_density(moments: ShareMoments, precision: Any, recall: Any) -> Any:
    """Joint density of (PREC, REC), Su (18); 0 at recall 0, its limit. Numbers or arrays."""
    m = ShareMoments(*(float(v) for v in moments))
    recall = np.where(np.asarray(recall, np.float64) == 0, np.nan, recall)
    u = m.n1 * np.asarray(precision, np.float64)
    jacobian = m.n1 * u / recall**2
    return np.nan_to_num(jacobian * _uv_density(m, u, u * (1 - recall) / recall), nan=0.0)


def _uv_density(m: ShareMoments, u: Any, v: Any) -> Any:
    """Density of (U, V), independent normals."""
    quadratic = (u - m.mean_u) ** 2 / m.var_u + (v - m.mean_v) ** 2 / m.var_v
    return np.exp(-0.5 * quadratic) / (2 * np.pi * np.sqrt(m.var_u * m.var_v))


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
