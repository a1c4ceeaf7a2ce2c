"""The samples' part of a sweep where every sample shows one symbol and states are many.

A classifier under labels of known noise is that: the probability of a state is a number of the sample (what
its labels say) times one of its symbol. `kernel` makes a pass over (states, chains, samples) for every state;
here no such array is made. Samples lie in the order of their symbols, and one product of matrices for each
symbol, their numbers times the symbol's in all chains with zeros outside of a block of states, gives totals
of blocks of states. From these the block of a state is drawn, then the place in it, so only the numbers of
one block are looked at. The uniform numbers are those of `kernel`, so draws differ where a number lies within
rounding of an edge only.
"""

import itertools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth.latent.infer import kernel

FEWEST = 8  # states, from which this is faster
_BLOCK = 16  # states that are added up together, at most
_AT_ONCE = 100_000  # numbers of one block that are looked at together; they stay in the cache


class Gathered(NamedTuple):
    """The rows that stand for few samples, each of these by itself, and the problem of the others.

    Samples are in the order of their symbols; `order` says which uniform number of a chain is whose.
    """

    few: Int[np.ndarray, " few"]  # rows
    several: Int[np.ndarray, " several"]  # the other rows
    first: Int[np.ndarray, " few"]  # the first sample of each of the few
    order: Int[np.ndarray, " samples"]
    symbol: Int[np.ndarray, " samples"]  # the column of each sample, ascending
    parts: tuple[tuple[int, slice], ...]  # each column and its samples
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
    order = np.argsort(problem.only_symbol[sample], kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    symbol = problem.only_symbol[sample[order]]
    seen, start = np.unique(symbol, return_index=True)
    ends = np.append(start, symbol.size)[1:]
    parts = tuple((int(u), slice(int(a), int(z))) for u, a, z in zip(seen, start, ends, strict=True))
    blocks = -(-states // _BLOCK)
    length = -(-states // blocks)
    weight = np.zeros((sample.size, blocks * length))
    weight[:, :states] = problem.weight.T[sample[order]]
    upto = np.repeat(np.triu(np.ones((blocks, blocks))), length, axis=0)
    first, rest = place[np.cumsum(times) - times], kernel.of_several(problem, several)
    return Gathered(few, several, first, order, symbol, parts, weight, upto, rest)


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
    theta = np.exp(kernel.log_probabilities(rest, log_theta))
    columns = len(theta)
    table = np.zeros((columns, padded, chains))
    table[:, :states] = theta
    height = 1.0 - rng.random((chains, samples))  # in (0, 1], so a state of probability 0 is not drawn
    state, mean = _drawn(found, table, height[:, found.order].T)
    place = (found.symbol[:, None] * states + state) * chains + np.arange(chains)
    symbols = np.bincount(place.ravel(), minlength=columns * states * chains).astype(np.float64)
    symbols = symbols.reshape(columns, states, chains)
    p = np.empty((states, rest.multiplicity.size + found.few.size))
    p[:, found.few] = mean[found.first, :states].T
    if found.several.size:
        of_several = kernel.state_probabilities(rest, log_theta)
        symbols = symbols + kernel.count_drawn(rest, kernel.draw_states(rest, of_several, rng))
        p[:, found.several] = of_several.sum(axis=1)
    return symbols, p


def _drawn(found: Gathered, table: np.ndarray, height: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """States (samples, chains), and p(state) summed over the chains, (samples, states)."""
    samples, padded = found.weight.shape
    columns, _, chains = table.shape
    blocks = found.upto.shape[1]
    upto = (table[..., None] * found.upto[:, None, :]).reshape(columns, padded, -1)
    below = np.empty((samples, chains * blocks))  # up to each block; up to the last: the total
    for u, part in found.parts:
        np.matmul(found.weight[part], upto[u], out=below[part])
    below = below.reshape(samples, chains, blocks)
    over_total, mean = 1 / below[..., -1], np.empty((samples, padded))
    for u, part in found.parts:
        np.matmul(over_total[part], table[u].T, out=mean[part])
    mean *= found.weight
    # Numbers of a block side by side: (columns, chains, blocks, states of a block), and of the samples.
    numbers = np.ascontiguousarray(table.transpose(0, 2, 1)).reshape(columns * chains * blocks, -1)
    weight = found.weight.reshape(samples * blocks, -1)
    state, size = np.empty(height.shape, np.int64), max(1, _AT_ONCE // (chains * weight.shape[1]))
    for start in range(0, samples, size):
        part = slice(start, start + size)
        state[part] = _states(weight, numbers, found.symbol, below, height, part)
    return state, mean


def _states(weight, numbers, symbol, below, height, part: slice) -> np.ndarray:
    """States (samples, chains) of some samples: the block that the height is in, and the place there."""
    reached, height = below[part], height[part] * below[part, :, -1]
    blocks, sample = reached.shape[2], np.arange(part.start, part.start + len(reached))[:, None]
    block, before = np.zeros(height.shape, np.int64), np.zeros(height.shape)
    for b in range(blocks - 1):
        beyond = reached[..., b] < height
        block += beyond
        before = np.where(beyond, reached[..., b], before)
    row = (symbol[part, None] * height.shape[1] + np.arange(height.shape[1])) * blocks + block
    inside = weight[(sample * blocks + block).ravel()] * numbers[row.ravel()]
    upto = np.ascontiguousarray(inside.T)  # so that a sum over a block is a few long additions
    upto[0] += before.ravel()
    for one, following in itertools.pairwise(upto):
        following += one
    # Sums in another order differ by rounding: no height is beyond the last state that can be.
    height, place = np.minimum(height.ravel(), upto[-1]), block * len(upto)
    for one in upto[:-1]:
        place += (one < height).reshape(place.shape)
    return place
