"""The samples' part of a sweep where every sample shows one symbol and states are many.

A classifier under labels of known noise is that: the probability of a state is a number of the sample (what
its labels say) times one of its symbol. `kernel` makes a pass over (states, chains, samples) for every state;
here the states of a sample lie side by side, so that the probabilities of its symbol are copied in one piece,
and one product with a few columns of ones and zeros gives totals of blocks of states, from which the state is
drawn: first its block, then the place in it. Parts of the samples that fit a processor's cache are worked on
one after the other. The uniform numbers are those of `kernel`, so draws differ where a number lies within
rounding of an edge only.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth.sampling import kernel

FEWEST = 8  # states, from which this is faster
_BLOCK = 16  # states that are added up together, at most
_AT_ONCE = 60_000  # numbers that stay in the cache


class Gathered(NamedTuple):
    """The rows that stand for few samples, each of these by itself, and the problem of the others."""

    few: Int[np.ndarray, " few"]  # rows
    several: Int[np.ndarray, " several"]  # the other rows
    first: Int[np.ndarray, " few"]  # the first sample of each of the few
    symbol: Int[np.ndarray, " samples"]  # the column of each sample
    weight: Float[np.ndarray, "samples states"]  # states padded with 0 to whole blocks
    upto: Float[np.ndarray, "states blocks"]  # 1 where a state is in a block or before it
    rest: kernel.Problem


def gathered(problem: kernel.Problem) -> Gathered | None:
    """What `draw` needs, or None where `kernel` is to do it."""
    states = problem.place.shape[1]
    if problem.only_symbol is None or states < FEWEST:
        return None
    is_few = problem.multiplicity <= states  # a multinomial costs a binomial for every state
    few, several = np.flatnonzero(is_few), np.flatnonzero(~is_few)
    times = problem.multiplicity[few].astype(np.int64)
    sample = np.repeat(few, times)
    blocks = -(-states // _BLOCK)
    length = -(-states // blocks)
    weight = np.zeros((sample.size, blocks * length))
    weight[:, :states] = problem.weight.T[sample]
    upto = np.repeat(np.triu(np.ones((blocks, blocks))), length, axis=0)
    rest = kernel.of_several(problem, several)
    return Gathered(few, several, np.cumsum(times) - times, problem.only_symbol[sample], weight, upto, rest)


def draw(
    found: Gathered, log_theta: Float[np.ndarray, "chains _"], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """States of all samples given the probabilities.

    Returns:
        Samples behind every column, (columns, states, chains), and p(state | the rest) of every row, summed
        over the chains, (states, rows).
    """
    rest, chains, states = found.rest, len(log_theta), found.rest.place.shape[1]
    samples, padded = found.weight.shape
    theta = np.exp(kernel.log_probabilities(rest, log_theta)).transpose(2, 0, 1)
    columns = theta.shape[1]
    table = np.zeros((chains, columns, padded))
    table[:, :, :states] = theta
    height = 1.0 - rng.random((chains, samples))  # in (0, 1], so a state of probability 0 is not drawn
    state, mean = np.empty((chains, samples), np.int64), np.empty((samples, padded))
    size = max(1, _AT_ONCE // (chains * padded))
    for start in range(0, samples, size):
        part = slice(start, start + size)
        state[:, part], mean[part] = _part(
            table, found.symbol[part], found.weight[part], found.upto, height[:, part]
        )
    place = (found.symbol * states + state) * chains + np.arange(chains)[:, None]
    symbols = np.bincount(place.ravel(), minlength=columns * states * chains).astype(np.float64)
    symbols, p = (
        symbols.reshape(columns, states, chains),
        np.empty((states, rest.multiplicity.size + found.few.size)),
    )
    p[:, found.few] = mean[found.first, :states].T
    if found.several.size:
        of_several = kernel.state_probabilities(rest, log_theta)
        symbols = symbols + kernel.count_drawn(rest, kernel.draw_states(rest, of_several, rng))
        p[:, found.several] = of_several.sum(axis=1)
    return symbols, p


def _part(table, symbol, weight, upto, height) -> tuple[np.ndarray, np.ndarray]:
    """States (chains, samples) of some samples, and p(state) summed over the chains, (samples, states)."""
    given = table.take(symbol, axis=1)  # (chains, samples, states)
    p = given * weight
    below = np.moveaxis(p @ upto, 2, 0)  # (blocks, chains, samples), the last is the total
    total, height = below[-1], height * below[-1]
    block, before = np.zeros(total.shape, np.int64), np.zeros(total.shape)
    for reached in below[:-1]:
        beyond = reached < height
        block += beyond
        before = np.where(beyond, reached, before)
    number = upto.shape[1]
    inside = p.reshape(total.size * number, -1)[np.arange(total.size) * number + block.ravel()]
    reached = inside.cumsum(axis=1) + before.reshape(-1, 1)
    # Sums in another order differ by rounding: no height is beyond the last state that can be.
    place = (reached >= np.minimum(height.reshape(-1, 1), reached[:, -1:])).argmax(axis=1)
    state = block * inside.shape[1] + place.reshape(block.shape)
    return state, np.einsum("mns,mn->ns", given, 1 / total) * weight
