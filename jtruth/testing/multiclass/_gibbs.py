"""Gibbs sampling of the true classes y and the operating matrix K, for `count_posterior` (Su 2.7).

Given K the classes are independent with the law (25); given the classes, row c of K is Dirichlet with the
counts of class c added to its prior. Samples that have the same p(y | z) and the same prediction are drawn
together, as one multinomial, so the cost follows the number of distinct rows. Host side, float64, all chains
at once: nothing is compiled, and small problems take milliseconds.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp

from jtruth._validation import collapse_rows

Generator = np.random.Generator
_BLOCK = 4096  # rows at a time: intermediate arrays stay in the cache


class Rows(NamedTuple):
    """A data set as its distinct rows, single rows first.

    `rho` (classes, rows) is p(y | z) (21), `symbol` (rows,) the prediction, `count` (rows,) how often the row
    occurs; the first `singles` rows occur once. `certain` (classes, symbols) counts the samples whose class
    has no alternative; they are not among the rows.
    """

    rho: Float[np.ndarray, "classes rows"]
    symbol: Int[np.ndarray, " rows"]
    count: Int[np.ndarray, " rows"]
    singles: int
    certain: Int[np.ndarray, "classes symbols"]

    def tables(self, y_singles: np.ndarray, y_repeated: np.ndarray) -> np.ndarray:
        """Count tables (chains, classes, symbols): singles by class, other rows by their class counts."""
        chains, (classes, symbols) = y_singles.shape[0], self.certain.shape
        size = classes * symbols
        cell = (
            y_singles.astype(np.int64) * symbols
            + self.symbol[: self.singles]
            + size * np.arange(chains)[:, None]
        )
        table = np.bincount(cell.ravel(), minlength=chains * size)
        cell = self.symbol[self.singles :] + symbols * np.arange(chains * classes)[:, None]
        extra = np.bincount(cell.ravel(), weights=y_repeated.ravel(), minlength=chains * size)
        return (table + extra.astype(np.int64)).reshape(chains, classes, symbols) + self.certain


def distinct_rows(
    log_likelihood: Float[np.ndarray, "samples classes"],
    prior: Float[np.ndarray, " classes"],
    y_pred: Int[np.ndarray, " samples"],
    num_symbols: int,
) -> Rows:
    """Collapse samples with the same class posterior (21) and the same prediction."""
    with np.errstate(divide="ignore"):
        log_rho = np.asarray(log_likelihood, np.float64) + np.log(np.asarray(prior, np.float64))
    rho = np.exp(log_rho - np.asarray(logsumexp(log_rho, axis=1, keepdims=True)))
    classes = rho.shape[1]
    sure = (rho > 0).sum(axis=1) == 1
    cells = rho[sure].argmax(axis=1) * num_symbols + y_pred[sure]
    certain = np.bincount(cells, minlength=classes * num_symbols).reshape(classes, num_symbols)
    rho, symbol = rho[~sure], np.asarray(y_pred, np.int64)[~sure]
    columns = [np.unique(column, return_inverse=True)[1] for column in rho.T]
    first, _, count = collapse_rows(np.stack([*columns, symbol], axis=1))
    order = np.argsort(count != 1, kind="stable")
    first, count = first[order], count[order]
    singles = int((count == 1).sum())
    return Rows(np.ascontiguousarray(rho[first].T), symbol[first], count, singles, certain)


def draw_tables(
    rng: Generator, rows: Rows, confusion: Float[np.ndarray, "chains classes symbols"]
) -> Int[np.ndarray, "chains classes symbols"]:
    """One draw of y from (25) for each chain, as count tables."""
    return rows.tables(_draw_singles(rng, rows, confusion), _draw_repeated(rng, rows, confusion))


def _draw_singles(rng: Generator, rows: Rows, confusion: np.ndarray) -> np.ndarray:
    """Classes (chains, singles) of the rows that occur once, by inverting cumulative weights in blocks."""
    chains, classes = confusion.shape[:2]
    y = np.empty((chains, rows.singles), np.int16)
    for start in range(0, rows.singles, _BLOCK):
        part = slice(start, min(start + _BLOCK, rows.singles))
        above = rows.rho[:, part] * confusion[:, :, rows.symbol[part]]
        for c in range(1, classes):
            above[:, c] += above[:, c - 1]
        height = rng.random((chains, above.shape[2])) * above[:, -1]
        y[:, part] = (above[:, :-1] <= height[:, None, :]).sum(axis=1, dtype=np.int16)
    return y


def _draw_repeated(rng: Generator, rows: Rows, confusion: np.ndarray) -> np.ndarray:
    """Class counts (chains, classes, repeated) of the other rows.

    A multinomial as a chain of binomials: a class takes its share of what the classes before it have left.
    The share of the last possible class is exactly 1, so an impossible class gets nothing.
    """
    weight = rows.rho[:, rows.singles :] * confusion[:, :, rows.symbol[rows.singles :]]
    rest = np.cumsum(weight[:, ::-1], axis=1)[:, ::-1]
    share = np.divide(weight, rest, out=np.zeros_like(weight), where=rest > 0)
    counts = np.empty(weight.shape, np.int64)
    left = np.broadcast_to(rows.count[rows.singles :], (len(weight), weight.shape[2]))
    for c in range(weight.shape[1] - 1):
        counts[:, c] = rng.binomial(left, share[:, c])
        left = left - counts[:, c]
    counts[:, -1] = left
    return counts


def draw_dirichlet(rng: Generator, concentration: Float[np.ndarray, "*rows symbols"]) -> np.ndarray:
    """Dirichlet draws along the last axis; log domain, because Gamma(0.01) draws underflow."""
    log_gamma = np.log(rng.standard_gamma(concentration + 1.0))
    log_gamma -= rng.standard_exponential(concentration.shape) / concentration
    weight = np.exp(log_gamma - log_gamma.max(axis=-1, keepdims=True))
    return weight / weight.sum(axis=-1, keepdims=True)


def expected_table(rows: Rows, confusion: Float[np.ndarray, "classes symbols"]) -> np.ndarray:
    """E[count table] given K (Su 2.7.2, with the class l where the paper repeats y-hat)."""
    weight = rows.rho * confusion[:, rows.symbol]
    weight *= rows.count / weight.sum(axis=0)
    symbols = rows.certain.shape[1]
    found = [np.bincount(rows.symbol, weights=w, minlength=symbols) for w in weight]
    return np.array(found) + rows.certain


def starting_table(rows: Rows, alpha: Float[np.ndarray, "classes symbols"], *, steps: int = 50) -> np.ndarray:
    """Where the chains start from: the expected table after some steps of EM under the prior."""
    confusion = np.full(alpha.shape, 1.0 / alpha.shape[1])
    for _ in range(steps):
        table = expected_table(rows, confusion) + alpha
        confusion = table / table.sum(axis=1, keepdims=True)
    return expected_table(rows, confusion)


class Block(NamedTuple):
    """Stored sweeps: count tables and matrices, (chains, draws, classes, symbols)."""

    counts: Int[np.ndarray, "chains draws classes symbols"]
    confusion: Float[np.ndarray, "chains draws classes symbols"]


def run_block(
    rng: Generator, rows: Rows, alpha: np.ndarray, confusion: np.ndarray, draws: int, stride: int
) -> Block:
    """`draws` * `stride` sweeps from `confusion` (chains, classes, symbols), every `stride`-th stored."""
    shape = (len(confusion), draws, *alpha.shape)
    counts, matrices = np.empty(shape, np.int64), np.empty(shape)
    for k in range(draws):
        for _ in range(stride):
            table = draw_tables(rng, rows, confusion)
            confusion = draw_dirichlet(rng, alpha + table)
        counts[:, k], matrices[:, k] = table, confusion
    return Block(counts, matrices)
