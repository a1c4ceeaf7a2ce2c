"""Empirical Bayes testing (Su 2.2-2.5, Algorithms 1, 2 and 3): find the operating point, then plug it in.

Every algorithm iterates (p_D, p_FA) <- f(p_D, p_FA) from (1/2, 1/2), clips to [alpha, 1 - alpha] and stops
when neither changes by more than `tol`. They differ in f, the `Step`:

- `ratio_step`     Algorithm 1: means of ratios of normals, from the moments (12)-(16)
- `exact_step`     the conditional means themselves: no sampling, no normality
- `sampling_step`  Algorithm 2: averages over drawn label vectors
- `labels_step`    Algorithm 3: hard labels by (22); not a posterior mean, kept for comparison
- `plug_in_step`   E[A]/E[A+B]: the EM map of the likelihood of `operating_point`

A data set enters through `log_odds` (samples,), the logit of (21), which may be infinite (known labels), and
`y_pred` (samples,) of 0 and 1. Pure JAX: jit, vmap over data sets, any float dtype. What plugging in costs:
the intervals ignore that the operating point is itself uncertain; `exact` does not.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from jtruth._arrays import from_here
from jtruth._one_line import one_line
from jtruth._random import stream
from jtruth.stats import ratio_of_normals
from jtruth.stats.ratio_of_normals import Ratio
from jtruth.tables.metrics import METRICS, binary_counts
from jtruth.testing.binary.conditional_means import mean_shares

recall, false_alarm_rate = METRICS["recall"], METRICS["false_alarm_rate"]
Step = Callable[[Float[Array, " 2"], Int[Array, ""]], Float[Array, " 2"]]


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


def plug_in_step(log_odds: Array, y_pred: Array, *, weight: Array | None = None) -> Step:
    """Ratio of means: one step of EM on the collapsed likelihood."""

    def step(point, _):
        d, f = detection_ratio(m := moments(log_odds, y_pred, point, weight)), false_alarm_ratio(m)
        return jnp.stack([d.mean_z / d.mean_w, f.mean_z / f.mean_w])

    return step


def exact_step(log_odds: Array, y_pred: Array, *, weight: Array | None = None) -> Step:
    """Conditional means of P_D and P_FA given the operating point, each given that it is defined."""
    one, small = y_pred == 1, jnp.exp(-jnp.abs(log_odds))  # the only exponential of all steps
    for_1, for_0 = (jnp.where(side, 1, small) for side in (log_odds >= 0, log_odds < 0))

    def step(point, _):
        d, f = point[0], point[1]
        heads = for_1 * jnp.where(one, d / f, (1 - d) / (1 - f))  # (10) as odds: p and 1 - p, no difference
        both = heads + for_0
        p = jnp.stack([heads / both, for_0 / both])
        return mean_shares(p, one[None], weight, complementary=True)[:, 0]

    return step


def labels_step(log_odds: Array, y_pred: Array) -> Step:
    """Algorithm 3: metrics of the most probable labels (22); ties go to class 0."""

    def step(point, _):
        y = map_labels(log_odds, y_pred, point)
        counts = binary_counts(y_pred, y)
        return jnp.stack([recall(*counts), false_alarm_rate(*counts)]).astype(log_odds.dtype)

    return step


def map_labels(log_odds: Array, y_pred: Array, point: Array) -> Int[Array, " samples"]:
    """Most probable labels (22)."""
    return (posterior_log_odds(log_odds, y_pred, point) > 0).astype(y_pred.dtype)


def draw_labels(
    key: Key[Array, ""], log_odds: Array, y_pred: Array, point: Array, num_draws: int
) -> Bool[Array, "draws samples"]:
    """Label vectors drawn from (10)."""
    p = jax.nn.sigmoid(posterior_log_odds(log_odds, y_pred, point))
    return jax.random.uniform(key, (num_draws, *p.shape), p.dtype) < p[None, :]


def draw_counts(key: Key[Array, ""], log_odds: Array, y_pred: Array, point: Array, num_draws: int) -> Array:
    """(tp, fp, fn, tn) of `num_draws` label vectors drawn from (10), (draws, 4); a chunk of 100 at a time."""
    chunk = min(100, num_draws)
    keys = jax.random.split(key, -(-num_draws // chunk))

    def draw(k):
        y = draw_labels(k, log_odds, y_pred, point, chunk).astype(y_pred.dtype)
        return jnp.stack(binary_counts(y_pred[None, :], y), axis=-1)

    return jax.lax.map(draw, keys).reshape(-1, 4)[:num_draws]


def sampling_step(key: Key[Array, ""], log_odds: Array, y_pred: Array, *, num_draws: int = 5000) -> Step:
    """Algorithm 2; draws in which a rate is undefined are left out of its mean."""

    def step(point, number):
        counts = draw_counts(stream(key, "algorithm 2", number), log_odds, y_pred, point, num_draws)
        tp, fp, fn, tn = (counts[:, i].astype(log_odds.dtype) for i in range(4))
        return jnp.stack([jnp.nanmean(recall(tp, fp, fn, tn)), jnp.nanmean(false_alarm_rate(tp, fp, fn, tn))])

    return step


def iterate(
    step: Step, *, dtype, start=(0.5, 0.5), max_steps: int = 30, tol: float = 1e-3, alpha: float = 1e-3
) -> OperatingPointFit:
    """The loop that Algorithms 1, 2 and 3 share. A rate that a step leaves undefined keeps its value."""
    path, number, change = fixed_point(
        step, jnp.asarray(start, dtype), lambda new: jnp.clip(new, alpha, 1.0 - alpha), max_steps, tol
    )
    return OperatingPointFit(path[number, 0], path[number, 1], change < tol, jnp.asarray(number), path)


def fixed_point(step: Callable, start: Array, inside: Callable, max_steps: int, tol) -> tuple[Array, ...]:
    """x <- inside(step(x, number)) until no element changes by `tol`; what a step leaves undefined stays.

    Returns:
        Path (max_steps + 1, ...), the number of steps, the last change.
    """

    def body(state):
        old, path, number, _ = state
        new = step(old, number)
        new = inside(jnp.where(jnp.isnan(new), old, new))
        return new, from_here(path, number + 1, new), number + 1, jnp.abs(new - old).max()

    def unfinished(state):
        _, _, number, change = state
        return (number < max_steps) & (change >= tol)

    # The point travels by itself: read out of the path, XLA would take its logarithms anew for each sample.
    path = jnp.broadcast_to(start, (max_steps + 1, *start.shape))
    state = (start, path, 0, jnp.asarray(jnp.inf, start.dtype))
    _, path, number, change = jax.lax.while_loop(unfinished, body, state)
    return path, jnp.asarray(number), change
