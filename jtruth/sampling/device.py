"""The samples' part of a Gibbs sweep as one XLA program, for problems too large for NumPy's many passes.

Given the rows of probabilities, every sample takes three steps: the product of the probabilities of what was
seen on it in each state, one uniform number, and a count for each thing seen. NumPy makes a dozen passes over
arrays of samples for that (`kernel`); here it is one program, on whatever device JAX uses. The rows
themselves, the repeated rows (multinomial counts) and the uniform numbers stay on the host, so the same key
gives the draws of `kernel`: a sample differs only where its number lies within rounding of an edge.

Products instead of sums of logs spare an exponential for every sample and state, and relative to the first
state there is one factor less. They need a guard: at most `_MOST` of them are multiplied, and where a total
comes near the smallest or the largest double `None` is returned and `kernel` does that sweep.

Counting is no scatter, which XLA does label by label on a CPU. Who has what does not change from sweep to
sweep, so the rows behind each column are laid out once, in stretches of at most 255; the states of four
(chain, state) pairs are four bytes of one number for each row, and a stretch of them is added up at once.
Products and counts are loops (`lax.scan`), since what no loop carries XLA computes again wherever it is used.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped, UInt

from jtruth.sampling import kernel

FROM_ROWS = 30_000  # below, compiling costs more than it saves
_MOST = 100  # things seen on one sample
_PADDING = 3.0  # times as many places as things seen, at most
_LEAST, _LARGEST = 1e-280, 1e280  # total over the states of a sample
_STRETCHES = (15, 63, 255)  # rows that are added up at once; a byte holds as many
_STEP, _PIECE = 2000, 16  # numbers that cost as much as one step of a loop, and as what is done to a stretch


class Samples(NamedTuple):
    """The rows that stand for one sample each, and the problem of the others."""

    columns: Int[Array, "seen rows"]  # what was seen on a sample; padded with the number of columns
    everywhere: Int[Array, " columns_of_all"]  # ... on every one: the class prior's column
    weight: Float[Array, "states rows"]
    behind: Int[Array, "length stretches"]  # rows behind a column; padded with the number of rows
    used: Int[np.ndarray, " used"]  # columns that have rows
    starts: Int[np.ndarray, " used"]  # the first stretch of each
    total: Float[np.ndarray, " columns"]  # how many rows it has
    rest: kernel.Problem


def samples_of(problem: kernel.Problem, wanted: bool | None = None) -> Samples | None:
    """What the program needs, or None where NumPy is to do it.

    Args:
        problem: model and data.
        wanted: True or False to choose; None for "from 30 000 samples on, or on an accelerator".
    """
    single = problem.num_single
    if wanted is None:
        wanted = single >= FROM_ROWS or (single > 0 and jax.default_backend() != "cpu")
    design = problem.design[:single]
    times = design.data.astype(np.int64)
    seen = np.add.reduceat(np.append(times, 0), design.indptr[:-1]) * (np.diff(design.indptr) > 0)
    most = int(seen.max(initial=0))
    if not wanted or not single or most > _MOST or most * single > _PADDING * seen.sum():
        return None
    columns = np.full((most, single), design.shape[1], np.int32)
    row = np.repeat(np.arange(single), seen)
    columns[np.arange(row.size) - np.repeat(np.cumsum(seen) - seen, seen), row] = np.repeat(
        design.indices, times
    )
    several = np.arange(single, problem.multiplicity.size)
    behind, used, starts, total = _stretches(row, np.repeat(design.indices, times), design.shape)
    same = (columns == columns[:, :1]).all(axis=1)
    with jax.enable_x64(True):
        return Samples(
            jnp.asarray(columns[~same]), jnp.asarray(columns[same, 0]),
            jnp.asarray(problem.weight[:, :single]), jnp.asarray(behind),
            used, starts, total, kernel.of_several(problem, several),
        )  # fmt: skip


def _stretches(
    row: Int[np.ndarray, " seen"], column: Int[np.ndarray, " seen"], shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """`behind`, `used`, `starts` and `total` of `Samples`, from what was seen; `shape`: rows and columns."""
    total = np.bincount(column, minlength=shape[1])
    cost = [np.sum(-(-total // length)) * (length + _PIECE) + _STEP * length for length in _STRETCHES]
    length = _STRETCHES[int(np.argmin(cost))]
    pieces = -(-total // length)
    order, first = np.argsort(column, kind="stable"), np.cumsum(pieces) - pieces
    place = np.arange(column.size) - np.repeat(np.cumsum(total) - total, total)
    place += length * np.repeat(first, total)  # every column begins a new stretch
    behind = np.full(int(pieces.sum()) * length, shape[0], np.int32)
    behind[place] = row[order]
    used = np.flatnonzero(total)
    return np.ascontiguousarray(behind.reshape(-1, length).T), used, first[used], total.astype(np.float64)


def draw(
    samples: Samples, log_theta: Float[np.ndarray, "chains _"], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray] | None:
    """States of all samples given the probabilities.

    Returns:
        Samples behind every column, (columns, states, chains), and p(state | the rest) of every row, summed
        over the chains, (states, rows). None, with nothing drawn, if a product would underflow.
    """
    rest = samples.rest
    chains, single = len(log_theta), samples.weight.shape[1]
    table = kernel.log_probabilities(rest, log_theta)
    with np.errstate(over="ignore", invalid="ignore"):
        table = np.exp(table[:, 1:] - table[:, :1])
    table = np.concatenate([table, np.ones((1, *table.shape[1:]))]).transpose(2, 1, 0)
    before = rng.bit_generator.state
    with jax.enable_x64(True):
        u = rng.random((chains, single))
        sums, p, (least, largest) = _pass(samples[:4], jnp.asarray(table), jnp.asarray(u))
        if not (float(least) > _LEAST and float(largest) < _LARGEST):
            rng.bit_generator.state = before
            return None
        p, symbols = np.asarray(p), _symbols(samples, np.asarray(sums), chains)
    if rest.multiplicity.size:
        several = kernel.state_probabilities(rest, log_theta)
        symbols = symbols + kernel.count_drawn(rest, kernel.draw_states(rest, several, rng))
        p = np.concatenate([p, several.sum(axis=1)], axis=1)
    return symbols, p


def _symbols(samples: Samples, sums: UInt[np.ndarray, "numbers stretches"], chains: int) -> np.ndarray:
    """Samples behind every column, (columns, states, chains), from the four bytes of the sums."""
    pairs = chains * (len(samples.weight) - 1)
    each = (sums[:, None] >> (8 * np.arange(4, dtype=np.uint32))[None, :, None]) & np.uint32(255)
    each = each.reshape(-1, sums.shape[1])[:pairs].astype(np.float64)
    found = np.zeros((samples.total.size, len(samples.weight), chains))
    others = np.add.reduceat(each, samples.starts, axis=1).reshape(chains, -1, samples.used.size)
    found[samples.used, 1:] = others.transpose(2, 1, 0)
    found[:, 0] = samples.total[:, None] - found.sum(axis=1)
    return found


@jax.jit
def _pass(
    laid_out: tuple[Array, ...],
    table: Float[Array, "chains states_but_the_first columns_and_none"],
    u: Float[Array, "chains rows"],
) -> tuple[Array, Array, tuple[Array, Array]]:
    """Sums of every stretch (numbers, stretches), p summed over chains, the least and the largest total."""
    columns, everywhere, weight, behind = laid_out
    states, dtype = weight.shape[0], weight.dtype

    def chain(sums: tuple[Array, ...], one: tuple[Array, Array]) -> tuple[tuple[Array, ...], Array]:
        (total_p, least, largest), (ratio, u) = sums, one
        start = weight[1:] * ratio[:, everywhere].prod(axis=1)[:, None]
        others, _ = jax.lax.scan(lambda q, column: (q * _at(ratio, column), None), start, columns)
        parts = [weight[0], *(others[s] for s in range(states - 1))]
        total = sum(parts[1:], parts[0])
        state, below, height = jnp.zeros(u.shape, jnp.uint32), jnp.zeros_like(u), (1.0 - u) * total
        for product in parts[:-1]:
            below = below + product
            state = state + (below < height).astype(jnp.uint32)
        share = 1 / total
        p = jnp.stack([product * share for product in parts])
        return (total_p + p, jnp.minimum(least, total.min()), jnp.maximum(largest, total.max())), state

    first = jnp.zeros_like(weight), jnp.asarray(jnp.inf, dtype), jnp.asarray(0.0, dtype)
    (p, least, largest), state = jax.lax.scan(chain, first, (table, u))
    packed = _packed(state, states)
    zero = jnp.zeros((len(packed), behind.shape[1]), jnp.uint32)
    sums, _ = jax.lax.scan(lambda so_far, rows: (so_far + _at(packed, rows), None), zero, behind)
    return sums, p, (least, largest)


def _at(table: Shaped[Array, "these all"], place: Int[Array, " some"]) -> Shaped[Array, "these some"]:
    """Columns of a table; without the promise every place is looked at twice."""
    return table.at[:, place].get(mode="promise_in_bounds", wrap_negative_indices=False)


def _packed(state: UInt[Array, "chains rows"], states: int) -> UInt[Array, "numbers rows_and_none"]:
    """A byte, 0 or 1, for each chain and each state but the first; four bytes make a number."""
    pairs = [(m, s) for m in range(len(state)) for s in range(1, states)]
    words = [jnp.zeros((0, state.shape[1]), jnp.uint32)]
    for start in range(0, len(pairs), 4):
        four = enumerate(pairs[start : start + 4])
        bits = [(state[m] == s).astype(jnp.uint32) << (8 * k) for k, (m, s) in four]
        words.append(sum(bits[1:], bits[0])[None])
    return jnp.pad(jnp.concatenate(words), ((0, 0), (0, 1)))
