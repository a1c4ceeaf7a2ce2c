"""States of all samples given the rows, and how many are behind everything seen: the large part of a sweep.

Given the rows, every sample takes three steps: the product of the probabilities of what was seen on it in
each state, one uniform number, and a count for each thing seen. Products instead of sums of logs spare an
exponential for every sample and state, and relative to the first state there is one factor less. They need a
guard: at most `MOST` of them are multiplied, and where a total comes near the smallest or the largest double
the states are drawn by logs from the same uniform numbers.

Counting is no scatter, which XLA does label by label on a CPU: the states of four (chain, state) pairs are
four bytes of one number for each row, and a stretch of rows (`laid_out`) is added up at once. Products and
counts are loops (`lax.scan`), since what no loop carries XLA computes again wherever it is used.
"""

from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Shaped

from jtruth.latent.infer.laid_out import Part

MOST = 100  # things seen on one sample whose probabilities are multiplied
LEAST, LARGEST = 1e-280, 1e280  # total over the states of a sample


def relative(place: Any, log_theta: Any) -> Any:
    """log p(column | state) - log p(column | first state), (chains, states - 1, columns and none)."""
    nothing = jnp.zeros((1, len(log_theta)))  # of a column that uses no probability in a state
    table = jnp.concatenate([log_theta.T, nothing])[place]
    table = table[:, 1:] - table[:, :1]
    return jnp.concatenate([table, jnp.zeros((1, *table.shape[1:]))]).transpose(2, 1, 0)


def products(part: Part, ratio: Any) -> list[Any]:
    """What the states of every row weigh, relative to the first; ratio (states - 1, columns and none)."""
    start = part.weight[1:] * ratio[:, part.everywhere].prod(axis=1)[:, None]
    others, _ = jax.lax.scan(lambda q, column: (q * _at(ratio, column), None), start, part.columns)
    return [part.weight[0], *others]


def by_logs(part: Part, logs: Any) -> list[Any]:
    """The same from logs, relative to the largest."""
    start = jnp.log(part.weight[1:]) + logs[:, part.everywhere].sum(axis=1)[:, None]
    others, _ = jax.lax.scan(lambda q, column: (q + _at(logs, column), None), start, part.columns)
    found = jnp.concatenate([jnp.log(part.weight[:1]), others])
    return list(jnp.exp(found - found.max(axis=0)[None]))


def draw_single(part: Part, logs: Any, key: Any) -> tuple[Any, Any]:
    """Counts of rows that stand for one sample each, and p summed over the chains, (states, rows)."""
    bits = jax.random.bits(key, (len(logs), part.weight.shape[1]), jnp.uint32)
    u = (bits.astype(logs.dtype) + 0.5) * 2.0**-32  # chances are right to 2.3e-10, at half the time
    seen = part.columns.shape[0] + part.everywhere.shape[0]
    if seen > MOST:
        state, p, _ = weighed(part, logs, u, by_logs)
    else:
        state, p, (least, largest) = weighed(part, jnp.exp(logs), u, products)
        safe = (least > LEAST) & (largest < LARGEST)
        state, p = jax.lax.cond(safe, lambda: (state, p), lambda: weighed(part, logs, u, by_logs)[:2])
    states = part.weight.shape[0]
    packed = _packed(state, states)
    sums = _behind(part, packed)
    each = (sums[:, None] >> jnp.asarray([0, 8, 16, 24], jnp.uint32)[None, :, None]) & jnp.uint32(255)
    each = each.reshape(-1, sums.shape[1])[: len(logs) * (states - 1)]
    return _symbols(part, each.reshape(len(logs), states - 1, -1)), p


def draw_several(part: Part, logs: Any, key: Any) -> tuple[Any, Any]:
    """The same of rows that stand for many samples: multinomial counts, as conditional binomials."""

    def shares(logs: Any) -> Any:
        parts = jnp.stack(by_logs(part, logs))
        return parts / parts.sum(axis=0)[None]

    p = jax.lax.map(shares, logs)  # (chains, states, rows)
    tail = jnp.cumsum(p[:, ::-1], axis=1)[:, ::-1]
    share = jnp.where(tail > 0, p / jnp.where(tail > 0, tail, 1.0), 1.0)
    keys = jax.random.split(key, p.shape[1])
    left, counts = jnp.broadcast_to(part.times[None], p[:, 0].shape), []
    for s in range(p.shape[1] - 1):
        sure = (share[:, s] <= 0) | (share[:, s] >= 1)
        drawn = jax.random.binomial(keys[s], left, jnp.where(sure, 0.5, share[:, s]))
        drawn = jnp.where(sure, jnp.where(share[:, s] <= 0, 0.0, left), drawn)
        counts.append(drawn)
        left = left - drawn
    counts.append(left)
    others = jnp.stack(counts[1:], axis=1).reshape(len(logs) * (p.shape[1] - 1), -1)
    sums = _behind(part, jnp.pad(others, ((0, 0), (0, 1))))
    return _symbols(part, sums.reshape(len(logs), p.shape[1] - 1, -1)), p.sum(axis=0)


def weighed(part: Part, table: Any, u: Any, weigh: Any) -> tuple[Any, Any, tuple[Any, Any]]:
    """States (chains, rows), p summed over the chains, the least and the largest total of a row."""

    def chain(sums: Any, one: tuple[Any, Any]) -> tuple[Any, Any]:
        (total_p, least, largest), (table, u) = sums, one
        parts = weigh(part, table)
        total = reduce(jnp.add, parts)
        state, below, height = jnp.zeros(u.shape, jnp.uint32), jnp.zeros_like(u), (1.0 - u) * total
        for product in parts[:-1]:
            below = below + product
            state = state + (below < height).astype(jnp.uint32)
        share = 1 / total
        p = jnp.stack([product * share for product in parts])
        return (total_p + p, jnp.minimum(least, total.min()), jnp.maximum(largest, total.max())), state

    dtype = part.weight.dtype
    first = jnp.zeros_like(part.weight), jnp.asarray(jnp.inf, dtype), jnp.asarray(0.0, dtype)
    (p, least, largest), state = jax.lax.scan(chain, first, (table, u))
    return state, p, (least, largest)


def _behind(part: Part, values: Any) -> Any:
    """Sums (these, stretches) of values (these, rows and none) over the rows of every stretch."""
    zero = jnp.zeros((len(values), part.behind.shape[1]), values.dtype)
    return jax.lax.scan(lambda so_far, rows: (so_far + _at(values, rows), None), zero, part.behind)[0]


def _symbols(part: Part, each: Any) -> Any:
    """Samples behind every column, (columns, states, chains), from sums (chains, states - 1, stretches)."""
    by_stretch = each.astype(part.weight.dtype).transpose(2, 1, 0)
    none = jnp.zeros((part.total.size + 1, *by_stretch.shape[1:]), by_stretch.dtype)
    others = none.at[part.of_column].add(by_stretch, indices_are_sorted=True)[:-1]
    return jnp.concatenate([part.total[:, None, None] - others.sum(axis=1, keepdims=True), others], axis=1)


def _at(table: Shaped[Array, "these all"], place: Int[Array, " some"]) -> Shaped[Array, "these some"]:
    """Columns of a table; without the promise every place is looked at twice."""
    return table.at[:, place].get(mode="promise_in_bounds", wrap_negative_indices=False)


def _packed(state: Any, states: int) -> Any:
    """A byte, 0 or 1, for each chain and each state but the first; four bytes make a number."""
    pairs = [(m, s) for m in range(len(state)) for s in range(1, states)]
    words = [jnp.zeros((0, state.shape[1]), jnp.uint32)]
    for start in range(0, len(pairs), 4):
        four = enumerate(pairs[start : start + 4])
        bits = [(state[m] == s).astype(jnp.uint32) << (8 * k) for k, (m, s) in four]
        words.append(reduce(jnp.bitwise_or, bits)[None])
    return jnp.pad(jnp.concatenate(words), ((0, 0), (0, 1)))
