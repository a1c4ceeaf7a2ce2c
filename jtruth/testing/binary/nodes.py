"""The classifier's matrix K in the population, as nodes instead of draws, given the law of the count table.

Given the counts the rows of K are beta laws. What is linear or a ratio in K has little error with evenly
spread nodes where draws would need a hundred times as many.
"""

from functools import lru_cache

import numpy as np
from jaxtyping import Float
from scipy.special import betaincinv

from jtruth.testing.binary.exact import CountTable


def _tables(table: CountTable, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(..., 2, 2) counts, rows true, from true positives and false negatives."""
    rows = [[table.n0 - b, table.n1 - a], [b, a]]
    return np.moveaxis(np.array(rows, np.float64), (0, 1), (-2, -1))


def confusion_nodes(table: CountTable, number: int) -> Float[np.ndarray, "nodes 2 2"]:
    """Evenly spread, equally weighted nodes of the classifier's matrix: beta given the counts of `table`.

    The count a is drawn by its own law and b given a, each by a coordinate of its own: one coordinate that
    numbers the cells of both leaves b and the two rates dependent (sd 1.2 % too small). Sobol's sequence
    keeps the sd of accuracy within .2 % of the exact one; powers of one irrational number miss it by 1 %.
    """
    place = _sobol(number)
    i = _pick(np.cumsum(table.probability.sum(axis=1))[None], np.zeros(number, int), place[:, 0])
    j = _pick(np.cumsum(table.probability, axis=1), i, place[:, 1])
    counts = _tables(table, table.a[i], table.b[j]) + 1
    second = betaincinv(counts[:, :, 1], counts[:, :, 0], place[:, 2:])
    return np.stack([1 - second, second], axis=-1)


@lru_cache(maxsize=4)
def _sobol(number: int) -> Float[np.ndarray, "nodes 4"]:
    """Points of [0, 1]^4, in the middle of their finest cells: 0 and 1 are left out."""
    from scipy.stats.qmc import Sobol  # half a second to import, and only here

    finest = int(np.ceil(np.log2(number)))
    return Sobol(4, scramble=False).random_base2(finest)[:number] + 0.5 / 2**finest


def _pick(upto: Float[np.ndarray, "rows cells"], row: np.ndarray, place: np.ndarray) -> np.ndarray:
    """The cell of `row` in which the share `place` falls; `upto` holds cumulative masses."""
    total = upto[:, -1:]
    flat = (upto / np.where(total > 0, total, 1) + np.arange(len(upto))[:, None]).ravel()
    found = np.searchsorted(flat, place + row, side="right") - row * upto.shape[1]
    return np.minimum(found, upto.shape[1] - 1)
