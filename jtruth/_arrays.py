"""Array helpers of all modules: logarithms at 0, concrete or traced arrays, dtypes under x64.

And functions with different names in NumPy and in a traced program of JAX: the Gibbs sweep (`jtruth/latent`)
runs on the host or as one XLA program, with each distribution written once. A `JaxGenerator` has the methods
of a `numpy.random.Generator` that it uses, for a JAX key.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int
from scipy import special

AnyArray = Array | np.ndarray


def is_concrete(x: object) -> bool:
    """Whether the host can read the values of `x`: none is traced."""
    x = list(x.values()) if isinstance(x, dict) else x  # JAX sorts keys, which may be of several types
    return not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(x))


def must_be_concrete(name: str, instead: str, *arrays: object) -> None:
    """Refuse traced arrays for a function that works on the host."""
    if not is_concrete(arrays):
        raise ValueError(
            f"{name} works on the host and was given a traced array; under jit, vmap and grad use {instead}"
        )


def is_readable(x: object) -> bool:
    """Whether the host can read all values: not traced, and on one device."""
    spread = (isinstance(a, jax.Array) and len(a.sharding.device_set) > 1 for a in jax.tree.leaves(x))
    return is_concrete(x) and not any(spread)


def as_array(x) -> jax.Array:
    """`x` as a JAX array of its own dtype, as far as x64 allows it.

    The dtype is explicit, because `jnp.asarray(x)` of a NumPy array that a live jitted function has captured
    under the other x64 setting returns that other dtype (jax 0.10.2 keeps such constants by identity).
    """
    if isinstance(x, jax.Array):
        return x
    return jnp.asarray(x, jax.dtypes.canonicalize_dtype(np.asarray(x).dtype))


def safe_log(p: Float[AnyArray, "*shape"]) -> Float[Array, "*shape"]:
    """log p, with -inf and gradient 0 at p = 0.

    The usual gradient 1/p would be inf there, and NaN after multiplication by a zero weight. Hence two
    `where`: one picks the value, the other keeps the logarithm away from 0.
    """
    positive = p > 0
    return jnp.where(positive, jnp.log(jnp.where(positive, p, 1.0)), -jnp.inf)


def safe_log1m(p: Float[AnyArray, "*shape"]) -> Float[Array, "*shape"]:
    """log(1 - p) without cancellation for small p, with -inf and gradient 0 at p = 1."""
    below = p < 1
    return jnp.where(below, jnp.log1p(-jnp.where(below, p, 0.0)), -jnp.inf)


@jax.custom_batching.custom_vmap
def largest(x: Array) -> Array:
    """The largest entry, also over the axes of `vmap`, so that loops and branches stay common."""
    return x.max()


@largest.def_vmap
def _largest_of_all(axis_size: int, in_batched: Any, x: Array) -> tuple[Array, bool]:
    return largest(x), False


def from_here(
    path: Float[Array, "steps ..."], step: Int[Array, ""] | int, value: Float[Array, "..."]
) -> Float[Array, "steps ..."]:
    """The path of an iteration with `value` at `step` and beyond: its unused end repeats the last.

    A NaN there would stop programs under JAX_DEBUG_NANS.
    """
    later = jnp.arange(path.shape[0], dtype=jnp.int32) >= jnp.asarray(step, jnp.int32)
    return jnp.where(later.reshape(-1, *[1] * (path.ndim - 1)), value[None], path)


def namespace(*arrays: Any) -> Any:
    """`jax.numpy` if any array is of JAX, else `numpy`."""
    return jnp if any(isinstance(a, jax.Array) for a in arrays) else np


def systematic(weight: Any, number: int, u: Any) -> Any:
    """Systematic resampling (Kitagawa 1996): points drawn by weight at even distances, from `u` in [0, 1)."""
    xp = namespace(weight)
    below = xp.cumsum(weight)
    heights = (u + xp.arange(number, dtype=below.dtype)) / number * below[-1]
    return xp.minimum(xp.searchsorted(below, heights), weight.size - 1)


def gammaln(a: Any) -> Any:
    """log Gamma(a) of positive a; in a traced program by Stirling's series at a + 4, to 2e-8.

    XLA's own has a branch for negative numbers and a separate derivative, which are slow to compile and run.
    """
    return _gammaln(a) if isinstance(a, jax.Array) else special.gammaln(a)


@jax.custom_jvp
def _gammaln(a: Any) -> Any:
    z = a + 4
    series = (1 / 12 - (1 / 360 - 1 / (1260 * z**2)) / z**2) / z
    stirling = (z - 0.5) * jnp.log(z) - z + float(0.5 * np.log(2 * np.pi)) + series
    return stirling - jnp.log(a * (a + 1)) - jnp.log((a + 2) * (a + 3))


@_gammaln.defjvp
def _digamma(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    """Derivative of the series, in a third of the operations of automatic differentiation."""
    (a,), z = primals, primals[0] + 4
    w = 1 / z
    series = w * (0.5 + w * (1 / 12 - w**2 * (1 / 120 - w**2 / 252)))
    both = a * (a + 3)  # 1/a + 1/(a+3) and 1/(a+1) + 1/(a+2), whose denominators differ by 2
    slope = jnp.log(z) - series - (2 * a + 3) * (1 / both + 1 / (both + 2))
    return _gammaln(a), slope * tangents[0]


def betaln(a: Any, b: Any) -> Any:
    if isinstance(a, jax.Array):
        return gammaln(a) + gammaln(b) - gammaln(a + b)
    return special.betaln(a, b)


def log_gamma_draws(concentration: Any, rng: Any) -> Any:
    """Log of gamma draws by G(a) = G(a + 1) U^(1/a), which never gives log 0."""
    logs = namespace(concentration).log(rng.standard_gamma(concentration + 1))
    return logs - rng.standard_exponential(concentration.shape) / concentration


def metropolis(propose: Any, density: Any, state: Any, moves: Any, random: Any) -> Any:
    """`state` (..., numbers) after a Metropolis step for each of `moves`.

    `propose(state, move)` is another state, `density(state)` (...,) its log density, -inf where it is 0, and
    `random` (moves, ...) are uniform numbers. A first step without move evaluates the density, so that a
    traced program contains it once.
    """
    xp = namespace(state)
    moves = xp.concatenate([xp.zeros_like(moves[:1]), moves])
    heights = xp.concatenate([xp.full_like(random[:1], -np.inf), xp.log1p(-random)])

    def step(reached: tuple[Any, Any], move_and_height: tuple[Any, Any]) -> tuple[tuple[Any, Any], None]:
        (state, now), (move, height) = reached, move_and_height
        new = propose(state, move)
        then = density(new)
        better = height < then - now
        return (xp.where(better[..., None], new, state), xp.where(better, then, now)), None

    reached = state, xp.full_like(heights[0], -np.inf)
    if xp is jnp:
        return jax.lax.scan(step, reached, (moves, heights))[0][0]
    for move_and_height in zip(moves, heights, strict=True):
        reached, _ = step(reached, move_and_height)
    return reached[0]


def replaced(a: Any, where: Any, values: Any) -> Any:
    if isinstance(a, jax.Array):
        return a.at[where].set(values)
    copy = a.copy()
    copy[where] = values
    return copy


class JaxGenerator:
    """Random numbers by the names of NumPy's generator, each call with the next of `keys`."""

    def __init__(self, keys: Any, dtype: Any = jnp.float64):
        self.keys, self.dtype = iter(keys), dtype

    def next_key(self) -> jax.Array:
        return next(self.keys)

    def random(self, shape: Any) -> jax.Array:
        return jax.random.uniform(self.next_key(), shape, self.dtype)

    def uniform(self, low: float, high: float, shape: Any) -> jax.Array:
        return jax.random.uniform(self.next_key(), shape, self.dtype, low, high)

    def standard_normal(self, shape: Any) -> jax.Array:
        return jax.random.normal(self.next_key(), shape, self.dtype)

    def standard_gamma(self, concentration: jax.Array) -> jax.Array:
        """Gamma of these concentrations, at least 1 each, and scale 1; Marsaglia and Tsang (2000).

        All are proposed at once until the last is accepted (.95 of each try or more), three times as fast on
        a CPU as `jax.random.gamma`, to compile too.
        """
        d = concentration - 1 / 3
        c = 1 / jnp.sqrt(9 * d)

        def propose(state: Any) -> Any:
            key, accepted, found = state
            first, second = jax.random.uniform(key, (2, *d.shape), d.dtype, jnp.finfo(d.dtype).tiny)
            x, log_u = np.sqrt(2) * jax.lax.erf_inv(2 * first - 1), jnp.log(second)
            v = (1 + c * x) ** 3
            log_v = jnp.log(jnp.where(v > 0, v, 1.0))
            good = (v > 0) & (log_u < 0.5 * x * x + d * (1 - v + log_v))
            words = jax.random.key_data(key) + jnp.uint32(1)  # another key: cheaper to compile than a fold
            return (
                jax.random.wrap_key_data(words, impl=jax.random.key_impl(key)),
                accepted | good,
                jnp.where(accepted, found, d * v),
            )

        start = self.next_key(), jnp.zeros(d.shape, bool), d
        return jax.lax.while_loop(lambda state: ~state[1].all(), propose, start)[2]

    def standard_exponential(self, shape: Any) -> jax.Array:
        return jax.random.exponential(self.next_key(), shape, self.dtype)
