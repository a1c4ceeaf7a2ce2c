"""The exact posterior of the count table for two classes and ordered score bins, with a smooth prior.

As in `chain`, but the rows of K are Polya trees over the bins instead of Dirichlet: bins are halved again
and again, and at a node of depth m (the root has 1) the lower half gets a share ~ Beta(2kw, 2k(1 - w)) of
what the node holds, k = m^2 / 4, around the share w that it has of all samples. So the prior says little
about coarse shares, and more and more that neighbouring bins are alike. A Dirichlet prior of many bins knows
no neighbours and drives the area under the curve: with concentrations of 1 it pulls to one half, with small
ones to 1 (`benchmarks/curves.py`).

With all shares integrated out, a node with a_l positives among the n_l samples of its lower half, and a_r of
n_r in its upper one, has weight

    Beta(a_l + 2kw, a_r + 2k(1-w)) Beta(n_l - a_l + 2kw, n_r - a_r + 2k(1-w)),

so a node is a chain of two symbols: the law of its number of positives is a convolution, tilted to where the
mass is. One pass from the bins to the root, one pass back for independent draws. Host side, float64.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int
from scipy.special import gammaln

from jtruth._random import Key, host_rng
from jtruth.tables.posterior import TableDraws
from jtruth.testing.binary.chain import balanced_tilt, checked_symbols, law_of_positives

_BELOW = 45.0  # what is smaller than e^-45 of the largest is left out


class Node(NamedTuple):
    """A run of bins: the log law of its number of positives from `start` up, and its halves."""

    size: int  # samples
    start: int
    log_law: np.ndarray
    halves: tuple["Half", "Half"] | None  # None for a single bin


class Half(NamedTuple):
    """A half of a node: its node, and the tilted factor of its count, from `first` up, largest 1."""

    node: Node
    first: int
    factor: np.ndarray


class SymbolTree(NamedTuple):
    """Posterior of the numbers of positives in ordered bins."""

    root: Node
    sizes: Int[np.ndarray, " bins"]
    log_evidence: float  # log p(y_pred | z)
    smoothness: float

    def draws(self, key: Key, n: int) -> Int[np.ndarray, "draws bins"]:
        """Independent draws of the numbers of positives."""
        rng = host_rng(key, "symbol tree")
        law = np.exp(self.root.log_law - self.root.log_law.max())
        total = self.root.start + rng.choice(law.size, n, p=law / law.sum())
        return np.stack(list(_below(self.root, total, rng)), axis=1)

    def tables(self, key: Key, n: int) -> TableDraws:
        """Independent draws of the count table, (n, 2, bins)."""
        positives = self.draws(key, n)
        return TableDraws(np.stack([self.sizes - positives, positives], axis=1))

    def shares(
        self, positives: Int[np.ndarray, "draws bins"], key: Key
    ) -> Float[np.ndarray, "draws classes bins"]:
        """A draw of both classes' shares of the bins, given each draw of the numbers of positives."""
        rng = host_rng(key, "shares of bins")
        counts = np.stack([self.sizes - positives, positives], axis=1)
        found = np.ones(counts.shape)
        waiting = [(0, self.sizes.size, 1)]
        while waiting:
            start, end, depth = waiting.pop()
            middle = start + (end - start) // 2
            if middle == start:
                continue
            sizes = self.sizes[start:end]
            lower, size = int(sizes[: middle - start].sum()), int(sizes.sum())
            prior = _concentrations(lower, size, (middle - start, end - start), depth, self.smoothness)
            below = rng.beta(
                prior[0] + counts[:, :, start:middle].sum(axis=2),
                prior[1] + counts[:, :, middle:end].sum(axis=2),
            )
            found[:, :, start:middle] *= below[..., None]
            found[:, :, middle:end] *= 1 - below[..., None]
            waiting += [(start, middle, depth + 1), (middle, end, depth + 1)]
        return found


def symbol_tree(
    log_odds: Float[Array | np.ndarray, " samples"],
    bins: Int[Array | np.ndarray, " samples"],
    num_bins: int,
    smoothness: float = 0.25,
) -> SymbolTree:
    """The exact posterior.

    Args:
        log_odds: (samples,) logit p(y_i = 1 | z_i), prior included; +-inf where certain.
        bins: (samples,) 0..num_bins-1, in the order of the scores.
        num_bins: at least 2.
        smoothness: k = smoothness m^2.

    Raises:
        ValueError: sizes that differ, bins out of range, NaN.

    >>> tree = symbol_tree(np.array([2.0, 1.0, -1.0, -2.0]), np.array([2, 1, 1, 0]), 3)
    >>> tree.draws(0, 3).shape
    (3, 3)
    """
    x, u = checked_symbols(log_odds, bins, num_bins)
    leaves = []
    for k in range(num_bins):
        start, law = law_of_positives(x[u == k])
        leaves.append(Node(int((u == k).sum()), start, law, None))
    root = _grown(leaves, 1, smoothness)
    top = root.log_law.max()
    evidence = float(top + np.log(np.exp(root.log_law - top).sum()))
    return SymbolTree(root, np.bincount(u, minlength=num_bins), evidence, smoothness)


def _concentrations(
    lower: int, size: int, bins: tuple[int, int], depth: int, smoothness: float
) -> Float[np.ndarray, " halves"]:
    """2kw and 2k(1 - w) of a node: `lower` of `size` samples and bins[0] of bins[1] bins are below."""
    weight = (lower + 0.5 * bins[0]) / (size + 0.5 * bins[1])
    return 2.0 * smoothness * depth**2 * np.array([weight, 1 - weight])


def _grown(leaves: list[Node], depth: int, smoothness: float) -> Node:
    """The node of a run of bins."""
    if len(leaves) == 1:
        return leaves[0]
    middle = len(leaves) // 2
    parts = [_grown(part, depth + 1, smoothness) for part in (leaves[:middle], leaves[middle:])]
    size = parts[0].size + parts[1].size
    alpha = _concentrations(parts[0].size, size, (middle, len(leaves)), depth, smoothness)
    starts = [part.start for part in parts]
    sides = []
    for part, a in zip(parts, alpha, strict=True):
        count = part.start + np.arange(part.log_law.size)
        sides.append(part.log_law + gammaln(count + a) + gammaln(part.size - count + a))
    total = float(alpha.sum())
    tilt = balanced_tilt(starts, sides, np.array([total, total]), size)
    halves, scale = [], 0.0
    for part, side in zip(parts, sides, strict=True):
        tilted = side + tilt * (part.start + np.arange(side.size))
        kept = np.flatnonzero(tilted > tilted.max() - _BELOW)
        factor = np.exp(tilted[kept[0] : kept[-1] + 1] - tilted.max())
        halves.append(Half(part, part.start + int(kept[0]), factor))
        scale += float(tilted.max())
    together = np.convolve(halves[0].factor, halves[1].factor)
    start = halves[0].first + halves[1].first
    count = start + np.arange(together.size)
    log_law = np.log(together) + scale - tilt * count
    log_law -= gammaln(count + total) + gammaln(size - count + total)
    log_law += 2 * (gammaln(total) - gammaln(alpha).sum())
    return Node(size, start, log_law, (halves[0], halves[1]))


def _below(node: Node, total: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Draws of the counts of a node's bins, given draws of its total, bin by bin."""
    if node.halves is None:
        yield total
        return
    lower, upper = node.halves
    own = np.arange(lower.factor.size)
    other = total[:, None] - lower.first - own[None, :] - upper.first
    inside = (other >= 0) & (other < upper.factor.size)
    weight = lower.factor * np.where(inside, upper.factor[np.clip(other, 0, upper.factor.size - 1)], 0.0)
    weight = np.cumsum(weight, axis=1)
    height = (1 - rng.random(total.size)) * weight[:, -1]
    chosen = lower.first + (weight < height[:, None]).sum(axis=1)
    yield from _below(lower.node, chosen, rng)
    yield from _below(upper.node, total - chosen, rng)
