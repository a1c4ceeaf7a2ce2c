"""The chain of `chain` in fixed shapes: thousands of label sets in one program, on any device.

The host's chain cuts every factor to where its mass is, so its shapes depend on the data. Here nothing is
cut: a symbol has room for `most` samples, sums run over all of 0..N, and everything is in logs, so one
compiled program serves all sets of a size. Pure JAX, for jit and vmap; `symbol_chains` is the door that
checks its input. In float64 it agrees with the host to 1e-12 (`tests/testing/binary/test_chain_batch.py`); in
float32 the logs of gamma functions cost the error that they have, some 1e-4 at a thousand samples.

With f_u, g and M_u as in `chain`:

    log M_u(s) = log sum_a exp(log f_u(a) + log M_{u+1}(s + a)),   M_{B+1} = g,   evidence = M_1(0),

a draw goes forward, a_u ~ f_u(a) M_{u+1}(s + a), and the marginal of a_u needs the law of the sum before u
too. Cost of a set: symbols x samples x most; time and memory are in `benchmarks/curves.py`.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, Float, Int, Key

from jtruth._one_line import one_line
from jtruth._random import as_key
from jtruth.testing.binary.chain import checked_concentrations, checked_symbols

_AT_ONCE = 30_000_000  # numbers in the largest array of a chunk of sets


class Passes(NamedTuple):
    """What the backward pass leaves of one set."""

    log_factor: Float[Array, "symbols most_and_one"]  # log f_u(a)
    log_ahead: Float[Array, "symbols_and_end samples_and_one"]  # log M_u(s), log g last
    log_evidence: Float[Array, ""]  # log p(y_pred | z)


class SymbolChains(NamedTuple):
    """Posteriors of the numbers of positives of every symbol, for many label sets."""

    log_evidence: Float[np.ndarray, " sets"]
    marginal: Float[np.ndarray, "sets symbols most_and_one"]  # P(a_u = 0, 1, ...)
    draws: Int[np.ndarray, "sets draws symbols"]
    sizes: Int[np.ndarray, "sets symbols"]

    __repr__ = one_line

    @property
    def mean(self) -> Float[np.ndarray, "sets symbols"]:
        """Expected numbers of positives."""
        return self.marginal @ np.arange(self.marginal.shape[2], dtype=self.marginal.dtype)

    def tables(self, number: int) -> Int[np.ndarray, "draws 2 symbols"]:
        """Draws of the count table of one set."""
        positives = self.draws[number]
        return np.stack([self.sizes[number] - positives, positives], axis=1)


def symbol_chains(
    log_odds: Float[Array | np.ndarray, "sets samples"],
    symbols: Int[Array | np.ndarray, "sets samples"],
    num_symbols: int,
    alpha: Float[np.ndarray, "classes symbols"] | float | int = 1.0,
    *,
    key: Any,
    num_draws: int = 0,
) -> SymbolChains:
    """The exact posteriors of many sets, in the float type that JAX uses.

    Args:
        log_odds: (sets, samples) logit p(y_i = 1 | z_i), prior included; +-inf where certain.
        symbols: (sets, samples) 0..num_symbols-1; -1 for no sample, where sets differ in size.
        num_symbols: B, at least 2.
        alpha: Dirichlet concentrations as in `symbol_chain`, the same for all sets.
        key: JAX random key; every set draws by its own.
        num_draws: independent draws of (a_1..a_B) of each set.

    Raises:
        ValueError: as `symbol_chain`, naming the set.

    >>> x = np.array([[2.0, 1.0, -1.0, -2.0], [1.0, 1.0, 0.0, 0.0]])
    >>> found = symbol_chains(x, np.array([[2, 1, 1, 0], [0, 1, 2, -1]]), 3, key=0, num_draws=5)
    >>> found.draws.shape, found.mean.round(2).tolist()[0]
    ((2, 5, 3), [0.11, 1.0, 0.89])
    """
    x, u = _checked(log_odds, symbols, num_symbols)
    rows = checked_concentrations(alpha, num_symbols)
    sizes = np.stack([np.bincount(one[one >= 0], minlength=num_symbols) for one in u])
    most = int(sizes.max(initial=0))
    keys = jax.random.split(as_key(key), len(x))
    number = max(_AT_ONCE // ((x.shape[1] + 1 + num_draws) * (most + 1)), 1)
    number, parts = min(number, len(x)), []
    for k in range(0, len(x), number):
        at = np.minimum(np.arange(k, k + number), len(x) - 1)  # the last chunk repeats its last set
        found = _many(jnp.asarray(x[at], float), jnp.asarray(u[at], int), jnp.asarray(rows, float), keys[at],
                      most, num_draws)  # fmt: skip
        parts.append([np.asarray(part)[: len(x) - k] for part in found])
    evidence, marginal, draws = (np.concatenate(part) for part in zip(*parts, strict=True))
    return SymbolChains(evidence, marginal, draws, sizes)


def backward(
    log_odds: Float[Array, " samples"],
    symbols: Int[Array, " samples"],
    alpha: Float[Array, "2 symbols"],
    most: int,
) -> Passes:
    """The backward pass of one set; a sample of symbol -1 does not exist. No symbol has more than `most`."""
    number, samples = alpha.shape[1], log_odds.shape[0]
    here = symbols[:, None] == jnp.arange(number)[None, :]
    sizes = here.sum(axis=0)
    log_factor = _log_laws(log_odds, symbols, here, most) + _log_gammas(sizes, alpha, most)
    s, used, totals = jnp.arange(samples + 1), sizes.sum(), alpha.sum(axis=1)
    left = jnp.maximum(used - s, 0).astype(alpha.dtype)
    log_g = -gammaln(s.astype(alpha.dtype) + totals[1]) - gammaln(left + totals[0])
    log_g = jnp.where(s <= used, log_g, -jnp.inf)

    def add(after: Array, factor: Array) -> tuple[Array, Array]:
        value = jax.nn.logsumexp(factor[None, :] + _windows(after, most), axis=1)
        return value, value

    _, log_ahead = jax.lax.scan(add, log_g, log_factor, reverse=True)
    constant = gammaln(totals).sum() - gammaln(alpha).sum()
    return Passes(log_factor, jnp.concatenate([log_ahead, log_g[None]]), log_ahead[0, 0] + constant)


def marginals(passes: Passes) -> Float[Array, "symbols most_and_one"]:
    """P(a_u = a) of every symbol."""
    most, samples = passes.log_factor.shape[1] - 1, passes.log_ahead.shape[1] - 1

    def forward(before: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        factor, after = step
        own = factor + jax.nn.logsumexp(before[:, None] + _windows(after, most), axis=0)
        # The sum after this symbol: log sum_a before(s - a) f(a), the window read backwards.
        turned = _windows(before[::-1], most)[::-1]
        return jax.nn.logsumexp(turned + factor[None, :], axis=1), own

    start = jnp.where(jnp.arange(samples + 1) == 0, 0.0, -jnp.inf).astype(passes.log_factor.dtype)
    _, own = jax.lax.scan(forward, start, (passes.log_factor, passes.log_ahead[1:]))
    return jax.nn.softmax(own, axis=1)


def draw(key: Key[Array, ""], passes: Passes, num_draws: int) -> Int[Array, "draws symbols"]:
    """Independent draws of (a_1..a_B)."""
    number, most = passes.log_factor.shape[0], passes.log_factor.shape[1] - 1
    height = jax.random.uniform(key, (number, num_draws), passes.log_factor.dtype)

    def forward(total: Array, step: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        factor, after, point = step
        logs = factor[None, :] + _windows(after, most)[total]
        weight = jnp.cumsum(jnp.exp(logs - logs.max(axis=1, keepdims=True)), axis=1)
        own = (weight <= point[:, None] * weight[:, -1:]).sum(axis=1)
        return total + own, own

    steps = (passes.log_factor, passes.log_ahead[1:], height)
    _, found = jax.lax.scan(forward, jnp.zeros(num_draws, int), steps)
    return found.T


def _windows(values: Array, most: int) -> Array:
    """(samples + 1, most + 1): values at s, s + 1, ..., s + most; -inf beyond the end."""
    padded = jnp.concatenate([values, jnp.full(most, -jnp.inf, values.dtype)])
    return padded[jnp.arange(values.size)[:, None] + jnp.arange(most + 1)[None, :]]


def _log_laws(log_odds: Array, symbols: Array, here: Array, most: int) -> Array:
    """log PB_u(a) for a = 0..most, one flip of every symbol a step."""
    rank = jnp.take_along_axis(jnp.cumsum(here, axis=0), jnp.maximum(symbols, 0)[:, None], axis=1)[:, 0] - 1
    place = (jnp.where(symbols < 0, here.shape[1], symbols), rank)  # outside, hence dropped
    shape = (here.shape[1], most)
    heads = jnp.full(shape, -jnp.inf, log_odds.dtype).at[place].set(jax.nn.log_sigmoid(log_odds), mode="drop")
    tails = jnp.zeros(shape, log_odds.dtype).at[place].set(jax.nn.log_sigmoid(-log_odds), mode="drop")

    def flip(law: Array, step: tuple[Array, Array]) -> tuple[Array, None]:
        head, tail = step
        moved = jnp.pad(law[:, :-1], ((0, 0), (1, 0)), constant_values=-jnp.inf)
        return jnp.logaddexp(law + tail[:, None], moved + head[:, None]), None

    start = jnp.full((shape[0], most + 1), -jnp.inf, log_odds.dtype).at[:, 0].set(0.0)
    return jax.lax.scan(flip, start, (heads.T, tails.T))[0]


def _log_gammas(sizes: Array, alpha: Array, most: int) -> Array:
    """log Gamma(a + alpha_1u) Gamma(N_u - a + alpha_0u), (symbols, most + 1); of no meaning above N_u."""
    a = jnp.arange(most + 1)[None, :]
    left = jnp.maximum(sizes[:, None] - a, 0).astype(alpha.dtype)
    return gammaln(a.astype(alpha.dtype) + alpha[1][:, None]) + gammaln(left + alpha[0][:, None])


@partial(jax.jit, static_argnames=("most", "num_draws"))
def _many(x, u, alpha, keys, most: int, num_draws: int):
    def one(x: Array, u: Array, key: Array) -> tuple[Array, Array, Array]:
        passes = backward(x, u, alpha, most)
        return passes.log_evidence, marginals(passes), draw(key, passes, num_draws)

    return jax.vmap(one)(x, u, keys)


def _checked(log_odds: Any, symbols: Any, num_symbols: int) -> tuple[np.ndarray, np.ndarray]:
    x, u = np.asarray(log_odds, np.float64), np.asarray(symbols)
    if x.ndim != 2 or u.shape != x.shape or not x.size:
        raise ValueError(
            f"log_odds and symbols have shapes {x.shape} and {u.shape}; give (sets, samples) of each"
        )
    for k, (odds, said) in enumerate(zip(x, u, strict=True)):
        there = said != -1
        try:
            checked_symbols(odds[there], said[there], num_symbols)
        except ValueError as error:
            raise ValueError(f"set {k}: {error}") from None
    return np.where(u == -1, 0.0, x), u
