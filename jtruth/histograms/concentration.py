"""alpha-calibration (50)-(51): how concentrated is the law of class probabilities around a classifier's f?

log alpha_0 is fitted by maximum likelihood of the histograms under Dir(alpha_0 f), with a penalty that draws
it to 0, where the law is broad:

    "labels"     - sum_i log DirMult(y_i | alpha_i f_i) / sum_i n_i  +  lambda mean_i (log alpha_i)^2     (50)
    "instances"  - sum_i log DirMult(y_i | alpha_i f_i) / N          +  lambda mean_i (log alpha_i)^2

The second is what the authors' program minimises: the same as (50) with lambda divided by the mean number of
labels. f is never touched, so class probabilities and accuracy stay what they are. Three ways to alpha_0: one
for each sample by Newton's method on (51), for the samples fitted only; one for all; or a head on features or
logits.
"""

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from jtruth._arrays import as_array, is_concrete
from jtruth._minimise import minimise
from jtruth._one_line import one_line
from jtruth._random import stream
from jtruth._validation import choose
from jtruth.histograms.dirichlet import log_dirichlet_multinomial
from jtruth.histograms.label_counts import Histograms, samples_of

NORMALISE = ("labels", "instances")
OPTIMISERS = ("lbfgs", "adam")
PENALTY = 0.005  # the paper's lambda_alpha
_FARTHEST = 40.0  # |log alpha_0| beyond which nothing is looked for

Rows = Float[Array | np.ndarray, "samples classes"]
Where = Bool[Array | np.ndarray, " samples"] | None


@partial(jax.jit, static_argnames=("normalise", "coefficient"))
def concentration_loss(
    log_concentration: Float[Array, " samples"],
    histograms: Histograms,
    probabilities: Rows,
    *,
    penalty: Any = PENALTY,
    normalise: str = "labels",
    coefficient: bool = True,
    where: Where = None,
) -> Float[Array, ""]:
    """(50); with `normalise="instances"` as the authors' program has it."""
    choose("normalise", normalise, NORMALISE)
    t = as_array(log_concentration)
    f, mask = jnp.asarray(probabilities, t.dtype), samples_of(where, t.shape[0])
    log_p = log_dirichlet_multinomial(histograms, f, jnp.exp(t), coefficient=coefficient)
    number = mask.sum().astype(t.dtype)
    total = jnp.where(mask, jnp.asarray(histograms.n), 0).sum().astype(t.dtype)
    size = total if normalise == "labels" else number
    return -jnp.where(mask, log_p, 0.0).sum() / size + penalty * jnp.where(mask, t**2, 0.0).sum() / number


@partial(jax.jit, static_argnames="normalise")
def concentration_slope(
    log_concentration: Float[Array, " samples"],
    histograms: Histograms,
    probabilities: Rows,
    *,
    penalty: Any = PENALTY,
    normalise: str = "labels",
) -> Float[Array, " samples"]:
    """(51): derivative by log alpha_0 of one sample's - log DirMult / n + lambda (log alpha_0)^2.

    With `normalise="instances"` without the division by n.
    """
    choose("normalise", normalise, NORMALISE)
    t = as_array(log_concentration)
    f = jnp.asarray(probabilities, t.dtype)

    def log_p(t: Array) -> Array:
        return log_dirichlet_multinomial(histograms, f, jnp.exp(t), coefficient=False)

    slope = jax.jvp(log_p, (t,), (jnp.ones_like(t),))[1]
    size = jnp.asarray(histograms.n).astype(t.dtype) if normalise == "labels" else jnp.ones_like(t)
    return -slope / size + 2 * penalty * t


def free_concentration(
    histograms: Histograms,
    probabilities: Rows,
    *,
    penalty: float | Float[Array, ""] = PENALTY,
    normalise: str = "labels",
) -> Float[Array, " samples"]:
    """alpha_0 of each sample from its own labels alone: the root of (51) by Newton's method inside a bracket.

    The penalty must be positive: unanimous labels alone send alpha_0 to 0, two different ones to infinity.
    """
    if is_concrete(penalty) and not float(penalty) > 0:
        raise ValueError(f"penalty is {penalty}; alpha_0 of single samples diverges unless it is positive")
    f = as_array(probabilities)
    return _roots(histograms, f, jnp.asarray(penalty, f.dtype), normalise)


@partial(jax.jit, static_argnames="normalise")
def _roots(histograms: Histograms, f: Array, penalty: Array, normalise: str) -> Float[Array, " samples"]:
    """`free_concentration` of a checked penalty."""

    def slope(t: Array) -> Array:
        return concentration_slope(t, histograms, f, penalty=penalty, normalise=normalise)

    def step(_: Any, state: tuple) -> tuple:
        t, low, high = state
        value, curve = jax.jvp(slope, (t,), (jnp.ones_like(t),))
        low, high = jnp.where(value < 0, t, low), jnp.where(value < 0, high, t)
        newton = t - value / jnp.where(curve > 0, curve, 1.0)
        inside = (curve > 0) & (newton > low) & (newton < high)
        return jnp.where(inside, newton, 0.5 * (low + high)), low, high

    far = jnp.full(f.shape[0], _FARTHEST, f.dtype)
    return jnp.exp(jax.lax.fori_loop(0, 60, step, (jnp.zeros_like(far), -far, far))[0])


@partial(jax.jit, static_argnames=("normalise", "max_steps"))
def global_concentration(
    histograms: Histograms,
    probabilities: Rows,
    *,
    penalty: Any = PENALTY,
    normalise: str = "labels",
    where: Where = None,
    max_steps: int = 200,
) -> Float[Array, ""]:
    """One alpha_0 for all samples: the minimum of (50)."""
    f = as_array(probabilities)
    options = {"penalty": penalty, "normalise": normalise, "where": where, "coefficient": False}

    def objective(t: Array) -> Array:
        return concentration_loss(jnp.broadcast_to(t, f.shape[:1]), histograms, f, **options)

    tol = 0.1 * float(jnp.finfo(f.dtype).eps) ** 0.5
    return jnp.exp(minimise(objective, jnp.zeros((), f.dtype), max_steps=max_steps, tol=tol).params)


class Head(eqx.Module):
    """log alpha_0 from features: standardised, then linear or a small network with ReLU."""

    centre: Float[Array, " features"]
    scale: Float[Array, " features"]
    layers: Any  # (weights, bias) of each layer; arrays only, so that a head passes through jit and vmap

    __repr__ = one_line

    def __call__(self, features: Float[Array | np.ndarray, "samples features"]) -> Float[Array, " samples"]:
        """alpha_0 of each sample."""
        return jnp.exp(self.log(features))

    def log(self, features: Float[Array | np.ndarray, "samples features"]) -> Float[Array, " samples"]:
        """log alpha_0 of each sample."""
        x = (jnp.asarray(features, self.centre.dtype) - self.centre[None]) / self.scale[None]
        for weights, bias in self.layers[:-1]:
            x = jax.nn.relu(x @ weights + bias[None])
        weights, bias = self.layers[-1]
        return (x @ weights + bias[None])[:, 0]


class HeadOptions(NamedTuple):
    """Hidden layers of a head (depth 0: linear), and how it is fitted, full batch."""

    width: int = 16
    depth: int = 0
    optimiser: str = "lbfgs"  # or "adam" (step 0.01)
    max_steps: int = 300
    patience: int = 20  # steps without improvement


_HEAD = HeadOptions()


class HeadFit(NamedTuple):
    """The head of the step with the least held-out loss."""

    head: Head
    value: Float[Array, ""]  # (50) on the validation samples, there
    first: Float[Array, ""]  # and at the start, where alpha_0 = 1
    num_steps: Int[Array, ""]

    __repr__ = one_line


def fit_concentration_head(
    key: PRNGKeyArray,
    features: Float[Array | np.ndarray, "samples features"],
    histograms: Histograms,
    probabilities: Rows,
    *,
    penalty: float = PENALTY,
    normalise: str = "labels",
    validation: Where = None,
    options: HeadOptions = _HEAD,
) -> HeadFit:
    """Fit alpha_0(x) = exp(head(x)) until (50) on the validation samples has not improved for a while.

    Args:
        key: of first weights and of the validation split.
        features: (samples, features), of the classifier's last layer for instance, or its logits.
        histograms, probabilities: of the same samples.
        penalty, normalise: see the module docstring.
        validation: the samples to stop by; None: a fifth, at random (the paper's 80 to 20).
        options: the head's size and its solver.
    """
    choose("optimiser", options.optimiser, OPTIMISERS)
    f = as_array(probabilities)
    x = jnp.asarray(features, f.dtype)
    first_key, split_key = jax.random.split(key)
    held = (
        jax.random.permutation(split_key, jnp.arange(f.shape[0]) % 5 == 0)
        if validation is None
        else validation
    )
    start = _start(first_key, x, options.width, options.depth)

    def loss(layers: Any, where: Array) -> Array:
        t = Head(start.centre, start.scale, layers).log(x)
        given = {"penalty": penalty, "normalise": normalise, "coefficient": False}
        return concentration_loss(t, histograms, f, where=where, **given)

    held = jnp.asarray(held)
    best, value, steps = _early_stopped(
        lambda p: loss(p, ~held), lambda p: loss(p, held), start.layers, *options[2:]
    )
    return HeadFit(Head(start.centre, start.scale, best), value, loss(start.layers, held), steps)


def _start(key: PRNGKeyArray, x: Array, width: int, depth: int) -> Head:
    """A head that says alpha_0 = 1: its last layer is 0."""
    sizes, layers = (x.shape[1], *(width,) * depth), []
    for k, (before, after) in enumerate(pairwise(sizes)):
        weights = jax.random.normal(stream(key, "layer", k), (before, after), x.dtype)
        layers.append((weights * (2 / before) ** 0.5, jnp.zeros(after, x.dtype)))
    layers.append((jnp.zeros((sizes[-1], 1), x.dtype), jnp.zeros(1, x.dtype)))
    sd = x.std(axis=0)
    return Head(x.mean(axis=0), jnp.where(sd > 0, sd, 1.0), tuple(layers))


def _early_stopped(
    train: Any, held_out: Any, start: Any, optimiser: str, max_steps: int, patience: int
) -> tuple:
    """Minimise `train`, keep the parameters that `held_out` likes best."""
    solver = optax.lbfgs() if optimiser == "lbfgs" else optax.adam(0.01)

    def step(carry: tuple) -> tuple:
        params, state, best, least, since, count = carry
        value, gradient = jax.value_and_grad(train)(params)
        extra = {"value": value, "grad": gradient, "value_fn": train} if optimiser == "lbfgs" else {}
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):  # optax needs both
            updates, state = solver.update(gradient, state, params, **extra)
        params = optax.apply_updates(params, updates)
        now = held_out(params)
        better = now < least
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), params, best)
        return params, state, best, jnp.minimum(now, least), jnp.where(better, 0, since + 1), count + 1

    def unfinished(carry: tuple) -> Array:
        return (carry[-1] < max_steps) & (carry[-2] < patience)

    zero = jnp.zeros((), jnp.int32)
    first = (start, solver.init(start), start, held_out(start), zero, zero)
    _, _, best, least, _, count = jax.lax.while_loop(unfinished, step, first)
    return best, least, count
