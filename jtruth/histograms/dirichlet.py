"""Class probabilities with a Dirichlet law Dir(alpha_0 f): its likelihood, and what follows from it.

f are the predicted class probabilities, alpha_0 (concentration) says how sure one is of them: at infinity
every sample has exactly Q = f, near 0 labelers of one sample all say the same and f is which (Mimori et al.
2021, 5.2). Labels of one sample then follow an urn: label j + 1 is class k with probability (alpha_0 f_k + l)
/ (alpha_0 + j) if l of the first j were k. `log_dirichlet_multinomial` multiplies these; no logarithm of a
Gamma function enters, whose differences in float32 are wrong at 1e6 already. All here is closed form.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import digamma
from jaxtyping import Array, Float, Int

from jtruth._arrays import as_array, safe_log
from jtruth.histograms.label_counts import Histograms

Rows = Float[Array | np.ndarray, "samples classes"]
Samples = Float[Array | np.ndarray, " samples"]


@jax.custom_jvp
def _log_step(alpha: Array, f: Array, before: Array, mine: Array) -> Array:
    """log of (alpha f + mine) / (alpha + before + mine), `before` labels of other classes; -inf if 0.

    Near 1 it is taken as log1p of the difference.
    """
    top, whole = alpha * f + mine, alpha + before + mine
    rest = (alpha * (1 - f) + before) / whole
    return jnp.where(rest < 0.5, jnp.log1p(-jnp.minimum(rest, 0.75)), safe_log(top / whole))


@_log_step.defjvp
def _log_step_jvp(primals: tuple, tangents: tuple) -> tuple:
    """d/d alpha = (f before - mine (1 - f)) / (top whole): nearly equal terms, subtracted by hand.

    d/d f = alpha / top. Both are 0 where the step is impossible, as for `safe_log`.
    """
    alpha, f, before, mine = primals
    top, whole = alpha * f + mine, alpha + before + mine
    possible = top > 0
    safe = jnp.where(possible, top, 1.0)
    by_alpha = jnp.where(possible, (f * before - mine * (1 - f)) / safe / whole, 0.0)
    by_f = jnp.where(possible, alpha / safe, 0.0)
    return _log_step(*primals), by_alpha * tangents[0] + by_f * tangents[1]


@eqx.filter_jit
def log_dirichlet_multinomial(
    histograms: Histograms, probabilities: Rows, concentration: Samples, *, coefficient: bool = True
) -> Float[Array, " samples"]:
    """log DirMult(y | alpha_0 f), as in (50), accurate in float32 from alpha_0 = 1e-6 to 1e9.

    Args:
        histograms: label counts; memory grows with their largest count.
        probabilities: f, (samples, classes). -inf where a class with f = 0 was given.
        concentration: alpha_0 > 0, (samples,).
        coefficient: with the multinomial coefficient; it does not depend on f and alpha_0.
    """
    f = as_array(probabilities)
    alpha = jnp.asarray(concentration, f.dtype)
    y = jnp.asarray(histograms.counts)
    shape = (*y.shape, histograms.most)
    mine = jnp.broadcast_to(jnp.arange(histograms.most, dtype=y.dtype), shape)
    before = jnp.broadcast_to((jnp.cumsum(y, axis=1, dtype=y.dtype) - y)[..., None], shape)
    used, own, others = mine < y[..., None], mine.astype(f.dtype), before.astype(f.dtype)
    steps = _log_step(
        jnp.broadcast_to(alpha[:, None, None], shape), jnp.broadcast_to(f[..., None], shape), others, own
    )
    if coefficient:
        steps = steps + jnp.log1p(others / (own + 1))
    return jnp.where(used, steps, 0.0).sum(axis=(1, 2))


@eqx.filter_jit
def disagreement_probability(
    probabilities: Rows, concentration: Samples | None = None
) -> Float[Array, " samples"]:
    """(19), (71): alpha_0 / (alpha_0 + 1) (1 - sum f^2); without a concentration 1 - sum f^2."""
    f = as_array(probabilities)
    gini = (f * (1 - f)).sum(axis=1)
    if concentration is None:
        return gini
    alpha = jnp.asarray(concentration, f.dtype)
    return alpha / (alpha + 1) * gini


@eqx.filter_jit
def posterior_probabilities(
    histograms: Histograms, probabilities: Rows, concentration: Samples
) -> Float[Array, "samples classes"]:
    """(19), (79): (alpha_0 f + y) / (alpha_0 + n), the class probabilities after these labels."""
    f = as_array(probabilities)
    alpha = jnp.asarray(concentration, f.dtype)[:, None]
    n = jnp.asarray(histograms.n).astype(f.dtype)[:, None]
    return (alpha * f + jnp.asarray(histograms.counts).astype(f.dtype)) / (alpha + n)


def best_concentration(sum_squares_predicted: Any, sum_squares_true: Any, epistemic: Any) -> dict[str, Array]:
    """Theorem 1: the alpha_0 that are best for disagreement and for the posterior after a label.

    Args:
        sum_squares_predicted: s_Z = sum_k z_k^2, one number or many.
        sum_squares_true: u_Q = E sum_k Q_k^2 of the samples with this prediction.
        epistemic: EL of these samples, E sum_k (z_k - Q_k)^2; if z = E Q it is v_Q = u_Q - s_Z, and both
            agree (62).

    Returns:
        "disagreement" (61) and "posterior" (69), and the least alpha_0 that is no worse than infinity:
        "disagreement_from" and "posterior_from". Infinite where u_Q <= s_Z, or epistemic <= 0.
    """
    s, u, el = (jnp.asarray(v) for v in (sum_squares_predicted, sum_squares_true, epistemic))

    def ratio(top: Array, bottom: Array) -> Array:
        return jnp.where(bottom > 0, top / jnp.where(bottom > 0, bottom, 1.0), jnp.inf)

    return {
        "disagreement": ratio(1 - u, u - s),
        "disagreement_from": ratio(1 - 2 * u + s, 2 * (u - s)),
        "posterior": ratio(1 - u, el),
        "posterior_from": ratio(1 - u - el, 2 * el),
    }


@eqx.filter_jit
def opinion_gain(
    probabilities: Rows, concentration: Samples, *, unit: str = "squared"
) -> Float[Array, " samples"]:
    """What one more label should teach about class probabilities: who deserves another opinion.

    Args:
        probabilities: f, (samples, classes).
        concentration: alpha_0, after the labels so far: `posterior_probabilities` and alpha_0 + n.
        unit: "squared": expected fall of E |zeta - E zeta|^2, (1 - sum f^2) / (alpha_0 + 1)^2; "bits": mutual
            information of the label and zeta.
    """
    f = as_array(probabilities)
    alpha = jnp.asarray(concentration, f.dtype)[:, None]
    if unit == "squared":
        return (f * (1 - f)).sum(axis=1) / (alpha[:, 0] + 1) ** 2
    if unit != "bits":
        raise ValueError(f"unit must be 'squared' or 'bits', got {unit!r}")
    log_f = jnp.where(f > 0, safe_log(f), 0.0)
    inside = digamma(alpha * f + 1) - digamma(alpha + 1) - log_f  # -H(zeta) averages to sum f (psi - psi)
    return (f * inside).sum(axis=1) / jnp.log(jnp.asarray(2.0, f.dtype))


@eqx.filter_jit
def ensemble_disagreement(
    members: Float[Array | np.ndarray, "draws samples classes"],
    concentration: Float[Array | np.ndarray, "draws samples"] | None = None,
) -> Float[Array, " samples"]:
    """(72), and (73) with a concentration for each draw: the mean over draws."""
    f = as_array(members)
    if concentration is None:
        return jax.vmap(disagreement_probability)(f).mean(axis=0)
    return jax.vmap(disagreement_probability)(f, jnp.asarray(concentration, f.dtype)).mean(axis=0)


@eqx.filter_jit
def ensemble_posterior(
    histograms: Histograms,
    members: Float[Array | np.ndarray, "draws samples classes"],
    concentration: Float[Array | np.ndarray, "draws samples"] | None = None,
) -> tuple[Float[Array, "samples classes"], Float[Array, "samples draws"]]:
    """Class probabilities after labels, and the weights of the draws (dropout, ensembles) behind them.

    (81) with w_s = prod_k f_sk^y_k (the paper's sum over s there is a slip: it makes all weights equal). With
    a concentration the draws are Dirichlet laws, w_s their Dirichlet-multinomial probability of the labels,
    and each is updated by (79), which is exact too.
    """
    f = as_array(members)
    y = jnp.asarray(histograms.counts)
    if concentration is None:
        given = jnp.where(y[None] > 0, y.astype(f.dtype)[None] * safe_log(f), 0.0)
        weights = jax.nn.softmax(given.sum(axis=2).T, axis=1)
        return jnp.einsum("is,sik->ik", weights, f), weights
    alpha = jnp.asarray(concentration, f.dtype)
    logs = jax.vmap(lambda p, a: log_dirichlet_multinomial(histograms, p, a, coefficient=False))(f, alpha)
    weights = jax.nn.softmax(logs.T, axis=1)
    after = jax.vmap(lambda p, a: posterior_probabilities(histograms, p, a))(f, alpha)
    return jnp.einsum("is,sik->ik", weights, after), weights


def one_label(label: Int[Array | np.ndarray, " samples"], num_classes: int) -> Histograms:
    """Histograms of one label each."""
    counts = jax.nn.one_hot(jnp.asarray(label), num_classes, dtype=jnp.int32)
    return Histograms(counts, counts.sum(axis=1), 1)
