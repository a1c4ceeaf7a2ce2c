"""The joint posterior of thousands of label sets in one compiled call, on whatever device JAX sees.

The model is `fit_joint`'s under independence, with fixed priors: class prior ~ Dirichlet(1), every row of
every rater's matrix ~ Dirichlet with 2 on the diagonal and 1 in all off it, the classifier being the last
rater. One Gibbs sweep draws the class of every sample given the rows, and the rows given the classes; both
halves are products with one matrix of zeros and ones, (raters * classes, samples), which never changes, so
that a sweep is two matrix products, one exponential and one uniform number for each sample. Sets are worked
on a few at a time (`lax.map`), chains of a set together.

Every set has its own key, by its number, so a draw depends neither on how many sets are worked on together
nor on which device has it. Sizes are fixed: a set with fewer samples is filled up with samples without labels
and predictions, which have no class and count nowhere. What `fit_joint` does and this does not: sampling on
until converged, priors that are learned, strata, resuming. Merging equal samples is the other half of its
speed: where labelers are few and label everything, its sweeps are cheaper (benchmarks/batch_speed.py).
"""

from functools import partial, reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jtruth._arrays import as_array
from jtruth._either import JaxGenerator, log_gamma_draws
from jtruth._mesh import over_sets
from jtruth._random import as_key, stream

_AT_ONCE = 8  # sets, on a CPU: what stays in the cache


class BatchEffort(NamedTuple):
    """How long to sample: the same for every set."""

    chains: int = 4
    burn_in: int = 100  # from vote shares
    sweeps: int = 750  # kept of every chain
    at_once: int | None = None  # sets that are worked on together; None: 8 on a CPU, 256 elsewhere


STANDARD = BatchEffort()


class JointBatch(NamedTuple):
    """Draws and means of every set."""

    counts: Float[Array, "sets chains sweeps classes symbols"]  # n[c, u]: true class, predicted
    prior: Float[Array, "sets classes"]  # posterior means from here on
    matrices: Float[Array, "sets raters classes symbols"]  # the classifier's is the last
    class_posterior: Float[Array, "sets samples classes"]  # of filled-up samples: the class prior


def joint_batch(
    key: Any,
    labels: Int[Array | np.ndarray, "sets samples labelers"],
    y_pred: Int[Array | np.ndarray, "sets samples"],
    num_classes: int,
    *,
    gold: Int[Array | np.ndarray, "sets samples"] | None = None,
    numbers: Int[np.ndarray, " sets"] | None = None,
    effort: BatchEffort = STANDARD,
    mesh: jax.sharding.Mesh | None = None,
) -> JointBatch:
    """Sample every set.

    Args:
        key: a whole number or a JAX key.
        labels: codes 0..C-1, -1 for no label.
        y_pred: predicted classes, -1 for none. A sample with neither is filling.
        num_classes: C.
        gold: known classes, -1 where unknown.
        numbers: of the sets, for their keys; 0, 1, ... by default.
        effort: chains and sweeps.
        mesh: devices to share the sets; one axis of it is used.

    >>> import numpy as np
    >>> z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [40, 30, 6, 5], axis=0)
    >>> found = joint_batch(0, z[None], z[None, :, 0], 2)
    >>> found.counts.shape, bool(found.matrices[0, 0, 0, 0] > 0.9)
    ((1, 4, 750, 2, 2), True)
    """
    seen = jnp.concatenate([as_array(labels), as_array(y_pred)[:, :, None]], axis=2).astype(jnp.int32)
    known = jnp.full(seen.shape[:2], -1, jnp.int32) if gold is None else as_array(gold).astype(jnp.int32)
    keys = keys_of_sets(key, seen.shape[0] if numbers is None else numbers, "joint batch")
    chunk = effort.at_once or (_AT_ONCE if jax.default_backend() == "cpu" else 256)
    run = partial(_sample_all, num_classes=num_classes, effort=effort, chunk=chunk)
    return over_sets(run, mesh, jax.random.key_data(keys), seen, known)


def keys_of_sets(key: Any, numbers: int | Int[np.ndarray, " sets"], name: str) -> jax.Array:
    """A key for every set, by its number (the first so many, or these): the stream `name`."""
    given = as_key(key)
    chosen = jnp.asarray(np.arange(numbers) if isinstance(numbers, int) else numbers, jnp.uint32)
    return jax.vmap(lambda n: stream(given, name, n))(chosen)


def row_prior(classes: int, dtype: Any) -> Float[Array, "classes symbols"]:
    """Dirichlet concentrations of a rater's rows: 2 on the diagonal, 1 in all off it."""
    return jnp.where(jnp.eye(classes, dtype=bool), 2.0, 1.0 / max(classes - 1, 1)).astype(dtype)


@partial(jax.jit, static_argnames=("num_classes", "effort", "chunk"))
def _sample_all(keys, seen, gold, *, num_classes, effort, chunk) -> JointBatch:
    def one(data):
        key, seen, gold = data
        return _sample(jax.random.wrap_key_data(key), seen, gold, num_classes, effort)

    return jax.lax.map(one, (keys, seen, gold), batch_size=min(chunk, seen.shape[0]))


def _sample(key, seen, gold, classes, effort) -> JointBatch:
    """One set; `seen` (samples, raters), the classifier last."""
    samples, raters = seen.shape
    codes, dtype = jnp.arange(classes, dtype=seen.dtype), jnp.zeros(()).dtype
    x = (seen.T[:, None, :] == codes[None, :, None]).astype(dtype).reshape(-1, samples)
    weight = ((seen >= 0).any(axis=1) | (gold >= 0)).astype(dtype)
    other = (gold[None, :] >= 0) & (gold[None, :] != codes[:, None])  # (classes, samples)
    rows = row_prior(classes, dtype)
    shape = (effort.chains, classes, raters, classes)

    def given(key, z):
        """Log rows (chains, classes, raters, classes), log prior (chains, classes), and the counts."""
        counts = _product("kcn,fn->kcf", z, x).reshape(shape)
        key_rows, key_prior = jax.random.split(key)
        theta = _log_dirichlet(key_rows, counts + rows[None, :, None, :])
        return theta, _log_dirichlet(key_prior, z.sum(axis=2) + 1), counts

    def sweep(carry, keyed):
        (theta, pi), sums = carry
        key, kept = keyed
        key_class, key_rows = jax.random.split(key)
        logits = _product("kcf,fn->kcn", theta.reshape(effort.chains, classes, -1), x) + pi[:, :, None]
        p = _probabilities(jnp.where(other[None], -jnp.inf, logits))
        height = jax.random.uniform(key_class, (effort.chains, samples), dtype)
        z = _drawn(p, height) * weight[None, None, :]
        theta, pi, counts = given(key_rows, z)
        more = jnp.exp(theta).sum(axis=0), jnp.exp(pi).sum(axis=0), p.sum(axis=0)
        return ((theta, pi), tuple(a + kept * b for a, b in zip(sums, more, strict=True))), counts[:, :, -1]

    votes = jnp.where(gold[None, :] >= 0, (~other).astype(dtype), x.reshape(raters, classes, -1).sum(axis=0))
    total = votes.sum(axis=0, keepdims=True)
    shares = jnp.where(total > 0, votes / jnp.maximum(total, 1), 1 / classes) * weight[None, :]
    key_start, key = jax.random.split(key)
    start = given(key_start, jnp.broadcast_to(shares, (effort.chains, *shares.shape)))[:2]
    zero = (jnp.zeros(shape[1:], dtype), jnp.zeros(classes, dtype), jnp.zeros_like(votes))
    number = effort.burn_in + effort.sweeps
    kept = (jnp.arange(number, dtype=jnp.int32) >= effort.burn_in).astype(dtype)
    (_, sums), counts = jax.lax.scan(sweep, (start, zero), (jax.random.split(key, number), kept))
    counts = counts[effort.burn_in :]
    theta, pi, p = (s / (effort.sweeps * effort.chains) for s in sums)
    return JointBatch(counts.swapaxes(0, 1), pi, theta.swapaxes(0, 1), p.T)


def _probabilities(logits: Float[Array, "chains classes samples"]) -> Float[Array, "chains classes samples"]:
    """Softmax over classes, class by class: samples are the axis that a processor works on in parallel."""
    parts = [logits[:, c] for c in range(logits.shape[1])]
    top = reduce(jnp.maximum, parts)
    parts = [jnp.exp(part - top) for part in parts]
    total = reduce(jnp.add, parts)
    return jnp.stack([part / total for part in parts], axis=1)


def _drawn(
    p: Float[Array, "chains classes samples"], height: Float[Array, "chains samples"]
) -> Float[Array, "chains classes samples"]:
    """1 at a class drawn by inversion: the first at which the cumulative probability exceeds the height."""
    below, upto, parts = jnp.ones_like(height), jnp.zeros_like(height), []
    for c in range(p.shape[1] - 1):
        upto = upto + p[:, c]
        above = (height >= upto).astype(p.dtype)
        parts.append(below - above)
        below = above
    return jnp.stack([*parts, below], axis=1)


def _product(subscripts: str, a: Array, b: Array) -> Array:
    """Full precision: accelerators may round float32 products to 10 bits otherwise."""
    return jnp.einsum(subscripts, a, b, precision=jax.lax.Precision.HIGHEST)


def _log_dirichlet(key: Array, alpha: Float[Array, "*shape symbols"]) -> Float[Array, "*shape symbols"]:
    """Log of a draw from a Dirichlet law along the last axis."""
    logs = log_gamma_draws(alpha, JaxGenerator(jax.random.split(key), alpha.dtype))
    return jax.nn.log_softmax(logs, axis=-1)
