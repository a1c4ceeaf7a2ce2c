"""Posteriors of the metrics when the operating point is plugged in (Su 2.2.2-2.3, 2.5).

Two forms. `normal_law` is the paper's: U and V normal by the central limit theorem, so accuracy and
precision are normal and P_D, P_FA, F_beta are ratios of normals, kept to [0, 1]. `table_at` is exact: A and
B are independent Poisson-binomials. Joint densities (17) and (18) are the normal form. Host side, float64.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import expit

from jtruth.stats import ratio_of_normals
from jtruth.stats.estimates import DensityEstimate, Estimate, PmfEstimate
from jtruth.stats.poisson_binomial import log_pmf
from jtruth.stats.ratio_of_normals import Ratio
from jtruth.testing.empirical_bayes import Moments, detection_ratio, f_ratio, false_alarm_ratio
from jtruth.testing.exact import CountTable
from jtruth.testing.operating_point import LogOdds, log_likelihood

_POINTS = 2001
_HEAVY = 12.0  # mean(W) / sd(W); above it less than 1e-30 of W is near 0 or below


def point_estimate(value: float) -> PmfEstimate:
    """A law that is all at one value (NaN: undefined for certain)."""
    if np.isnan(value):
        return PmfEstimate(np.zeros(0), np.zeros(0), 0.0)
    return PmfEstimate(np.array([value]), np.ones(1), lattice=True)


def _normal(mean: float, variance: float) -> Estimate:
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


def normal_law(moments: Moments, metric: str) -> Estimate:
    """Posterior of a metric under the central limit theorem (Su 2.3.1, Tables 8 and 16).

    Args:
        moments: (12)-(16) at the operating point.
        metric: "accuracy", "precision", "recall", "false_alarm_rate" or "f<beta>".
    """
    m = Moments(*(float(v) for v in moments))
    if metric == "accuracy":
        return _normal(m.mean_u - m.mean_v - m.n1 + 1, m.var_u + m.var_v)
    if metric == "precision":
        return _normal(m.mean_u / m.n1, m.var_u / m.n1**2) if m.n1 > 0 else point_estimate(np.nan)
    if metric == "recall":
        return _ratio_law(detection_ratio(m))
    if metric == "false_alarm_rate":
        return _ratio_law(false_alarm_ratio(m))
    return _ratio_law(f_ratio(m, float(metric.removeprefix("f"))))


def table_at(data: LogOdds, p_detection: float, p_false_alarm: float) -> CountTable:
    """Exact posterior of (A, B) given the operating point: two independent Poisson-binomial laws.

    The window leaves out less than 1e-15 on each side. `log_evidence` is log p(y_pred | z; p_D, p_FA).
    """
    d, f = p_detection, p_false_alarm
    a, p_a = _count_law(data.x1 + np.log(d / f), data.counts1, data.sure1)
    b, p_b = _count_law(data.x0 + np.log((1 - d) / (1 - f)), data.counts0, data.sure0)
    return CountTable(a, b, p_a[:, None] * p_b[None, :], data.n1, data.n0, log_likelihood(data, d, f))


def _count_law(x: np.ndarray, counts: np.ndarray, sure: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts and their probabilities for flips of log-odds x plus `sure` certain heads."""
    p = expit(x)
    mean, sd = float(counts @ p), float(np.sqrt(counts @ (p * (1 - p))))
    low = max(0, int(mean - 9 * sd - 20))
    high = min(int(counts.sum()), int(mean + 9 * sd + 20))
    pmf = np.exp(log_pmf(x, counts, low, high))
    return np.arange(low, high + 1) + sure, pmf / pmf.sum()


def roc_density(moments: Moments, p_detection: Any, p_false_alarm: Any) -> Any:
    """Joint density of (P_D, P_FA), Su (17); 0 on the chance line, where the printed form is 0/0.

    Numbers or arrays that broadcast.
    """
    m = Moments(*(float(v) for v in moments))
    d, f = np.asarray(p_detection, np.float64), np.asarray(p_false_alarm, np.float64)
    gap = np.where(d == f, np.nan, d - f)
    share = (m.n1 - f) / gap  # share of positives, U + V
    jacobian = np.abs((m.n1 - f) * (m.n1 - d) / gap**3)
    return np.nan_to_num(jacobian * _uv_density(m, share * d, share * (1 - d)), nan=0.0)


def precision_recall_density(moments: Moments, precision: Any, recall: Any) -> Any:
    """Joint density of (PREC, REC), Su (18); 0 at recall 0, its limit. Numbers or arrays."""
    m = Moments(*(float(v) for v in moments))
    recall = np.where(np.asarray(recall, np.float64) == 0, np.nan, recall)
    u = m.n1 * np.asarray(precision, np.float64)
    jacobian = m.n1 * u / recall**2
    return np.nan_to_num(jacobian * _uv_density(m, u, u * (1 - recall) / recall), nan=0.0)


def _uv_density(m: Moments, u: Any, v: Any) -> Any:
    """Density of (U, V), independent normals."""
    quadratic = (u - m.mean_u) ** 2 / m.var_u + (v - m.mean_v) ** 2 / m.var_v
    return np.exp(-0.5 * quadratic) / (2 * np.pi * np.sqrt(m.var_u * m.var_v))


JOINT_DENSITIES = {
    ("recall", "false_alarm_rate"): roc_density,
    ("precision", "recall"): precision_recall_density,
}


def joint_density(moments: Moments, first: str, second: str):
    """The joint density function of a pair of metrics: (17) or (18), as f(x, y)."""
    if (first, second) not in JOINT_DENSITIES:
        pairs = "; ".join(", ".join(pair) for pair in JOINT_DENSITIES)
        raise ValueError(f"no joint normal density of ({first}, {second}); there is one for {pairs}")
    return partial(JOINT_DENSITIES[first, second], moments)
