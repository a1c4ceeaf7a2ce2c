"""alpha-calibration (50): how concentrated is the law of class probabilities around a classifier's f?

log alpha_0 is fitted by maximum likelihood of the histograms under Dir(alpha_0 f), with a penalty that draws
it to 0, where the law is broad:

    - sum_i log DirMult(y_i | alpha_i f_i) / sum_i n_i  +  lambda mean_i (log alpha_i)^2     (50)

(The authors' program divides the first term by N: the same with lambda divided by the mean number of labels.)
f is never touched; alpha_0 is a head linear in features. At infinity every sample has exactly Q = f, near 0
labelers of one sample all say the same (Mimori et al. 2021, 5.2). Labels of one sample follow an urn: label
j + 1 is class k with probability (alpha_0 f_k + l) / (alpha_0 + j) if l of the first j were k.
`log_dirichlet_multinomial` multiplies these; no logarithm of a Gamma function enters, whose differences in
float32 are wrong at 1e6 already.
"""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.scipy.special import digamma
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from jtruth._arrays import as_array, safe_log
from jtruth._validation import choose
from jtruth.histograms.label_counts import Histograms, samples_of

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
    """d/d alpha = (f before - mine (1 - f)) / (top whole) without cancellation, d/d f = alpha / top."""
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

    -inf where a class with f = 0 was given; `coefficient`: with the multinomial one. Memory grows with the
    largest count.
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
    choose("unit", unit, ("squared", "bits"))
    if unit == "squared":
        return (f * (1 - f)).sum(axis=1) / (alpha[:, 0] + 1) ** 2
    log_f = jnp.where(f > 0, safe_log(f), 0.0)
    inside = digamma(alpha * f + 1) - digamma(alpha + 1) - log_f  # -H(zeta) averages to sum f (psi - psi)
    return (f * inside).sum(axis=1) / jnp.log(jnp.asarray(2.0, f.dtype))


def one_label(label: Int[Array | np.ndarray, " samples"], num_classes: int) -> Histograms:
    """Histograms of one label each."""
    counts = jax.nn.one_hot(jnp.asarray(label), num_classes, dtype=jnp.int32)
    return Histograms(counts, counts.sum(axis=1), 1)


PENALTY = 0.005  # the paper's lambda_alpha
_HEAD_STEPS, _PATIENCE = 300, 20  # of the solver of heads, and steps without improvement

Where = Bool[Array | np.ndarray, " samples"] | None
Head = tuple[Float[Array, " features"], Float[Array, ""]]  # log alpha_0 = features @ weights + bias


@partial(jax.jit, static_argnames="coefficient")
def concentration_loss(
    log_concentration: Float[Array, " samples"],
    histograms: Histograms,
    probabilities: Rows,
    *,
    penalty: Any = PENALTY,
    coefficient: bool = True,
    where: Where = None,
) -> Float[Array, ""]:
    """(50)."""
    t = as_array(log_concentration)
    f, mask = jnp.asarray(probabilities, t.dtype), samples_of(where, t.shape[0])
    log_p = log_dirichlet_multinomial(histograms, f, jnp.exp(t), coefficient=coefficient)
    number = mask.sum().astype(t.dtype)
    total = jnp.where(mask, jnp.asarray(histograms.n), 0).sum().astype(t.dtype)
    return -jnp.where(mask, log_p, 0.0).sum() / total + penalty * jnp.where(mask, t**2, 0.0).sum() / number


def fit_concentration_head(
    key: PRNGKeyArray,
    features: Float[Array | np.ndarray, "samples features"],
    histograms: Histograms,
    probabilities: Rows,
    *,
    penalty: float = PENALTY,
) -> Head:
    """Fit log alpha_0(x) = x w + b until (50) on held-out samples has not improved for a while.

    Args:
        key: of the split: a fifth is held out, as in the paper.
        features: (samples, features), of the classifier's last layer for instance, or its logits.
        histograms, probabilities: of the same samples.
        penalty: lambda.
    """
    f = as_array(probabilities)
    x = jnp.asarray(features, f.dtype)
    held_out = jax.random.permutation(jax.random.split(key)[1], jnp.arange(f.shape[0]) % 5 == 0)
    centre, sd = x.mean(axis=0), x.std(axis=0)
    sd = jnp.where(sd > 0, sd, 1.0)
    standard = (x - centre[None]) / sd[None]

    def loss(params: Head, where: Array) -> Array:
        t = standard @ params[0] + params[1]
        return concentration_loss(t, histograms, f, penalty=penalty, coefficient=False, where=where)

    start = jnp.zeros_like(sd), jnp.zeros((), f.dtype)
    weights, bias = _early_stopped(lambda p: loss(p, ~held_out), lambda p: loss(p, held_out), *start)
    return weights / sd, bias - centre @ (weights / sd)


def _early_stopped(train: Any, held_out: Any, *start: Array) -> tuple:
    """Minimise `train`; the parameters that `held_out` likes best."""
    solver = optax.lbfgs()

    def step(carry: tuple) -> tuple:
        params, state, best, least, since, count = carry
        value, gradient = jax.value_and_grad(train)(params)
        extra = {"value": value, "grad": gradient, "value_fn": train}
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):  # optax needs both
            updates, state = solver.update(gradient, state, params, **extra)
        params = optax.apply_updates(params, updates)
        now = held_out(params)
        better = now < least
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), params, best)
        return params, state, best, jnp.minimum(now, least), jnp.where(better, 0, since + 1), count + 1

    def unfinished(carry: tuple) -> Array:
        return (carry[-1] < _HEAD_STEPS) & (carry[-2] < _PATIENCE)

    zero = jnp.zeros((), jnp.int32)
    first = (start, solver.init(start), start, held_out(start), zero, zero)
    return jax.lax.while_loop(unfinished, step, first)[2]
