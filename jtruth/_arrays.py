"""Small array helpers that every layer needs: logarithms at 0, concrete or traced, dtypes under x64."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int


def is_concrete(x: object) -> bool:
    """True when `x` has values that the host can look at."""
    return not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(x))


def as_array(x) -> jax.Array:
    """`x` as a JAX array of its own dtype, as far as x64 allows it.

    The dtype is said, because `jnp.asarray(x)` of a NumPy array that a live jitted function has captured
    under the other x64 setting returns that other dtype (jax 0.10.2 keeps such constants by identity).
    """
    return (
        x if isinstance(x, jax.Array) else jnp.asarray(x, jax.dtypes.canonicalize_dtype(np.asarray(x).dtype))
    )


def safe_log(p: Float[Array | np.ndarray, "*shape"]) -> Float[Array, "*shape"]:
    """log p, with -inf and gradient 0 at p = 0.

    The usual gradient 1/p would be inf there, and inf times the zero weight of an impossible or unused
    entry is NaN. Hence two `where`: one picks the value, the other keeps the logarithm away from 0.
    """
    positive = p > 0
    return jnp.where(positive, jnp.log(jnp.where(positive, p, 1.0)), -jnp.inf)


def safe_log1m(p: Float[Array | np.ndarray, "*shape"]) -> Float[Array, "*shape"]:
    """log(1 - p) without cancellation for small p, with -inf and gradient 0 at p = 1."""
    below = p < 1
    return jnp.where(below, jnp.log1p(-jnp.where(below, p, 0.0)), -jnp.inf)


def from_here(
    path: Float[Array, "steps ..."], step: Int[Array, ""] | int, value: Float[Array, "..."]
) -> Float[Array, "steps ..."]:
    """The path of an iteration with `value` at `step` and beyond, so that its unused end repeats the last.

    A NaN in the unused end would stop every program that runs under JAX_DEBUG_NANS.
    """
    later = jnp.arange(path.shape[0], dtype=jnp.int32) >= jnp.asarray(step, jnp.int32)
    return jnp.where(later.reshape(-1, *[1] * (path.ndim - 1)), value[None], path)
