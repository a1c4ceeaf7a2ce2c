"""The samples' part of a Gibbs sweep as one XLA program, for problems too large for NumPy's many passes.

Given the rows of probabilities, every sample takes three steps: the product of the probabilities of what was
seen on it in each state, one uniform number, and a count for each thing seen. NumPy makes a dozen passes over
arrays of samples for that (`kernel`); here it is one pass and a scatter-add, on whatever device JAX uses. The
rows themselves, the repeated rows (multinomial counts) and the uniform numbers stay on the host, so the same
key gives the draws of `kernel`: a sample differs only where its number lies within rounding of an edge.

Products instead of sums of logs spare an exponential for every sample and state, which is most of the time.
They need a guard: probabilities are relative to the largest of their column, at most `_MOST` of them are
multiplied, and where a total comes near the smallest double `None` is returned and `kernel` does that sweep.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jtruth.sampling import kernel

FROM_ROWS = 30_000  # below, compiling costs more than it saves
_MOST = 100  # things seen on one sample
_PADDING = 3.0  # times as many places as things seen, at most
_LEAST = 1e-280  # total over the states of a sample


class Samples(NamedTuple):
    """The rows that stand for one sample each, and the problem of the others."""

    columns: Int[Array, "seen rows"]  # what was seen on a sample; padded with the number of columns
    weight: Float[Array, "states rows"]
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
    with jax.enable_x64(True):
        return Samples(
            jnp.asarray(columns), jnp.asarray(problem.weight[:, :single]), kernel.of_several(problem, several)
        )


def draw(
    samples: Samples, log_theta: Float[np.ndarray, "chains _"], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray] | None:
    """States of all samples given the probabilities.

    Returns:
        Samples behind every column, (columns, states, chains), and p(state | the rest) of every row, summed
        over the chains, (states, rows). None, with nothing drawn, if a product would underflow.
    """
    rest = samples.rest
    chains, single = len(log_theta), samples.columns.shape[1]
    table = kernel.log_probabilities(rest, log_theta)
    table = np.exp(table - table.max(axis=1, keepdims=True))
    table = np.concatenate([table, np.ones((1, *table.shape[1:]))]).transpose(2, 1, 0)
    before = rng.bit_generator.state
    with jax.enable_x64(True):
        height = 1.0 - rng.random((chains, single))
        counts, p, least = _pass(samples.columns, samples.weight, jnp.asarray(table), jnp.asarray(height))
        if not float(least) > _LEAST:
            rng.bit_generator.state = before
            return None
        symbols = np.asarray(counts, np.float64)[:-1]
        p = np.asarray(p)
    if rest.multiplicity.size:
        several = kernel.state_probabilities(rest, log_theta)
        symbols = symbols + kernel.count_drawn(rest, kernel.draw_states(rest, several, rng))
        p = np.concatenate([p, several.sum(axis=1)], axis=1)
    return symbols, p


@jax.jit
def _pass(
    columns: Int[Array, "seen rows"],
    weight: Float[Array, "states rows"],
    table: Float[Array, "chains states columns_and_none"],
    height: Float[Array, "chains rows"],
) -> tuple[Array, Array, Array]:
    """Counts (columns and none, states, chains), p summed over chains (states, rows), the least total."""
    states, size = weight.shape[0], table.shape[2]

    def chain(sums: tuple[Array, Array], one: tuple[Array, Array]) -> tuple[tuple[Array, Array], Array]:
        (total_p, least), (theta, u) = sums, one
        parts, total = [], jnp.zeros_like(u)
        for s in range(states):
            product = weight[s]
            for column in columns:
                product = product * theta[s][column]
            parts.append(product)
        for product in parts:
            total = total + product
        state, below = jnp.zeros(u.shape, columns.dtype), jnp.zeros_like(u)
        for product in parts[:-1]:
            below = below + product
            state = state + (below < u * total).astype(columns.dtype)
        place = columns * states + state[None, :]
        counts = jnp.zeros(size * states, columns.dtype).at[place.ravel()].add(1)
        p = jnp.stack([product / total for product in parts])
        return (total_p + p, jnp.minimum(least, total.min())), counts.reshape(size, states)

    first = jnp.zeros_like(weight), jnp.asarray(jnp.inf, weight.dtype)
    (p, least), counts = jax.lax.scan(chain, first, (table, height))
    return jnp.moveaxis(counts, 0, 2), p, least
