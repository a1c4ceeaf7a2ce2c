"""Empirical Bayes testing of two classes (Su 2.2-2.5): find the operating point, then plug it in.

The algorithms of `jtruth.testing.steps` for (p_D, p_FA), the second column of the operating matrix, and
Algorithm 1, whose step `ratio_step` is the means of ratios of normals, from the moments (12)-(16). All
iterate from (1/2, 1/2). A data set enters through `log_odds` (samples,), the logit of (21), which may be
infinite (known labels), and `y_pred` (samples,) of 0 and 1. What plugging in costs: the intervals ignore that
the operating point is itself uncertain; `exact` does not.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jtruth._one_line import one_line
from jtruth.stats import ratio_of_normals
from jtruth.stats.ratio_of_normals import Ratio
from jtruth.testing import steps
from jtruth.testing.steps import Step, fixed_point


class OperatingPointFit(NamedTuple):
    """Result of an iteration; `path[j]` is (p_D, p_FA) after j steps, the last of them repeated."""

    p_detection: Float[Array, ""]
    p_false_alarm: Float[Array, ""]
    converged: Bool[Array, ""]
    num_steps: Int[Array, ""]
    path: Float[Array, "steps_and_start 2"]

    __repr__ = one_line


class ShareMoments(NamedTuple):
    """Means and variances of U = A/N and V = B/N, (12)-(16), and n1 = N1/N: scalar arrays or floats."""

    mean_u: Any
    var_u: Any
    mean_v: Any
    var_v: Any
    n1: Any

    __repr__ = one_line


def log_odds_of(
    log_likelihood: Float[Array, "samples 2"], prior: Float[Array, " 2"]
) -> Float[Array, " samples"]:
    """logit p(y_i = 1 | z_i), from (21); +-inf where the label is certain."""
    return (jnp.log(prior[1]) - jnp.log(prior[0])) + log_likelihood[:, 1] - log_likelihood[:, 0]


def posterior_log_odds(
    log_odds: Float[Array, " samples"], y_pred: Int[Array, " samples"], point: Float[Array, " 2"]
) -> Float[Array, " samples"]:
    """logit p(y_i = 1 | y_pred_i, z_i; p_D, p_FA): (10) as a shift of the log-odds."""
    d, f = point[0], point[1]
    shift = jnp.where(y_pred == 1, jnp.log(d) - jnp.log(f), jnp.log1p(-d) - jnp.log1p(-f))
    return log_odds + shift


def moments(
    log_odds: Float[Array, " samples"],
    y_pred: Int[Array, " samples"],
    point: Float[Array, " 2"],
    weight: Float[Array, " samples"] | None = None,
) -> ShareMoments:
    """(12)-(16) at an operating point; `weight` samples of each, where equal ones are merged."""
    n = log_odds.shape[0] if weight is None else weight.sum()
    shifted = posterior_log_odds(log_odds, y_pred, point)
    p, not_p = jax.nn.sigmoid(shifted), jax.nn.sigmoid(-shifted)
    one = (y_pred == 1).astype(p.dtype)
    zero = 1 - one
    if weight is not None:
        one, zero = one * weight, zero * weight
    return ShareMoments(
        mean_u=(p * one).sum() / n,
        var_u=(p * not_p * one).sum() / n**2,
        mean_v=(p * zero).sum() / n,
        var_v=(p * not_p * zero).sum() / n**2,
        n1=one.sum() / n,
    )


def detection_ratio(m: ShareMoments) -> Ratio:
    """P_D = U/(U + V), Su Table 16."""
    return Ratio(m.mean_u, m.mean_u + m.mean_v, m.var_u, m.var_u + m.var_v, m.var_u)


def false_alarm_ratio(m: ShareMoments) -> Ratio:
    """P_FA = (n1 - U)/(1 - U - V), Su Table 16."""
    return Ratio(m.n1 - m.mean_u, 1 - m.mean_u - m.mean_v, m.var_u, m.var_u + m.var_v, m.var_u)


def ratio_mean(ratio: Ratio, mean: str) -> Float[Array, ""]:
    """Mean of a ratio: the named closed form where the moment condition holds, else a numerical integral.

    mean: "second_order" (default elsewhere; integral over [0, 1] divided by the mass there), "marsaglia" (as
    printed: closed form, or the integral not divided), "integral" (always the divided integral) or
    "second_order_always" (no condition).
    """
    if mean == "second_order_always":
        return ratio_of_normals.second_order_mean(ratio)
    integral = ratio_of_normals.mean_on_unit_interval(ratio, normalised=mean != "marsaglia")
    if mean == "integral":
        return integral
    closed = {
        "second_order": ratio_of_normals.second_order_mean,
        "marsaglia": ratio_of_normals.marsaglia_mean,
    }
    if mean not in closed:
        raise ValueError(f"mean={mean!r}; choose second_order, marsaglia, integral or second_order_always")
    return jnp.where(ratio_of_normals.moments_exist(ratio), closed[mean](ratio), integral)


def ratio_step(
    log_odds: Array, y_pred: Array, *, mean: str = "second_order", weight: Array | None = None
) -> Step:
    """Algorithm 1."""

    def step(point, _):
        m = moments(log_odds, y_pred, point, weight)
        return jnp.stack([ratio_mean(detection_ratio(m), mean), ratio_mean(false_alarm_ratio(m), mean)])

    return step


def exact_step(log_odds: Array, y_pred: Array, *, weight: Array | None = None) -> Step:
    """Conditional means of P_D and P_FA given the operating point, each given that it is defined."""
    return of_point(steps.exact_step(class_law(log_odds), y_pred, weight))


def plug_in_step(log_odds: Array, y_pred: Array, *, weight: Array | None = None) -> Step:
    """Ratio of means: one step of EM on the collapsed likelihood."""
    return of_point(steps.plug_in_step(class_law(log_odds), y_pred, weight))


def class_law(log_odds: Float[Array, " samples"]) -> Float[Array, "samples 2"]:
    """log p(y_i = c | z_i) (21)."""
    return jnp.stack([jax.nn.log_sigmoid(-log_odds), jax.nn.log_sigmoid(log_odds)], axis=1)


def matrix_of(point: Float[Array, " 2"]) -> Float[Array, "2 2"]:
    """K at an operating point (p_D, p_FA)."""
    return jnp.stack([1 - point[::-1], point[::-1]], axis=1)


def of_point(step: Step) -> Step:
    """A step of matrices as one of operating points."""
    return lambda point, number: step(matrix_of(point), number)[::-1, 1]


def iterate(
    step: Step, *, dtype, start=(0.5, 0.5), max_steps: int = 30, tol: float = 1e-3, alpha: float = 1e-3
) -> OperatingPointFit:
    """The loop that Algorithms 1, 2 and 3 share. A rate that a step leaves undefined keeps its value."""
    path, number, change = fixed_point(
        step, jnp.asarray(start, dtype), lambda new: jnp.clip(new, alpha, 1.0 - alpha), max_steps, tol
    )
    return OperatingPointFit(path[number, 0], path[number, 1], change < tol, jnp.asarray(number), path)
