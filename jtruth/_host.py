"""Probabilities on the host: NumPy float64, nothing compiled, -inf and 0 without warnings.

Counterparts of `_arrays` and the noise models for answers that should not wait for a compiler. Sums and
maxima over few columns go column by column; log-softmax and logits are SciPy's (`scipy.special`).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy  # its modules are loaded lazily
from jaxtyping import Float, Int, Num, Shaped
from scipy import sparse

Rows = Float[np.ndarray, "samples classes"]
Shares = Float[np.ndarray, " classes"]


def log(p: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """log p, -inf at p = 0."""
    return np.log(p, where=p > 0, out=np.full(np.shape(p), -np.inf))


def across(combine: np.ufunc, table: Shaped[np.ndarray, "*rows columns"]) -> Shaped[np.ndarray, "*rows"]:
    """`combine.reduce` of the columns, one by one: much faster for few columns."""
    if table.shape[-1] > 16 or not table.shape[-1]:
        return combine.reduce(table, axis=-1)
    columns = table[..., 0].copy()
    for k in range(1, table.shape[-1]):
        combine(columns, table[..., k], out=columns)
    return columns


def log_sum(log_p: Float[np.ndarray, "*rows columns"]) -> Float[np.ndarray, "*rows"]:
    """log of the sum of exponentials of the columns, -inf where all are."""
    top = across(np.maximum, log_p)
    top = np.where(np.isfinite(top), top, 0.0)
    total = across(np.add, np.exp(log_p - top[..., None]))
    return top + log(total)


def softmax(log_p: Float[np.ndarray, "*rows columns"]) -> Float[np.ndarray, "*rows columns"]:
    p = np.exp(log_p - across(np.maximum, log_p)[..., None])
    p /= across(np.add, p)[..., None]
    return p


def log_odds(log_likelihood: Rows, prior: Shares, positive: int = 1) -> Float[np.ndarray, " samples"]:
    """logit p(y_i = positive | z_i), +-inf where certain; all other classes are pooled."""
    joint = log_likelihood + log(prior)[None, :]
    rest = np.delete(joint, positive, axis=1)
    return joint[:, positive] - (rest[:, 0] if rest.shape[1] == 1 else np.logaddexp.reduce(rest, axis=1))


def most_likely_prior(log_likelihood: Rows) -> tuple[Shares, bool]:
    """The prior that maximises sum_i log sum_c pi[c] p(z_i | c), by EM; and whether EM converged."""
    prior = np.full(log_likelihood.shape[1], 1.0 / log_likelihood.shape[1])
    for _ in range(10_000):
        new = softmax(log_likelihood + log(prior)[None, :]).mean(0)
        if np.abs(new - prior).max() < 1e-10:
            return new, True
        prior = new
    return prior, False


def known_classes(
    log_likelihood: Float[np.ndarray, "*draws samples classes"], gold: Int[np.ndarray, " samples"]
) -> Float[np.ndarray, "*draws samples classes"]:
    """The log-likelihood with rows of known samples (gold >= 0) 0 at their class and -inf elsewhere."""
    if not (gold >= 0).any():
        return log_likelihood
    certain = np.where(gold[:, None] == np.arange(log_likelihood.shape[-1])[None, :], 0.0, -np.inf)
    return np.where(gold[:, None] >= 0, certain, log_likelihood)


def labels_log_likelihood(
    matrices: Float[np.ndarray, "*draws labelers classes symbols"],
    sample: Int[np.ndarray, " labels"],
    labeler: Int[np.ndarray, " labels"],
    label: Int[np.ndarray, " labels"],
    num_samples: int,
) -> Float[np.ndarray, "*draws samples classes"]:
    """Su (58): log p(z_i | y_i = c) = sum of log matrices[t, c, z_it] over the labels (label >= 0).

    Rows of matrices are true classes, leading axes draws; samples without labels get 0.
    """
    *draws, labelers, classes, symbols = matrices.shape
    labelled = label >= 0
    cell = labeler[labelled].astype(np.int64) * symbols + label[labelled]
    shape = (num_samples, labelers * symbols)
    seen = sparse.csr_array((np.ones(cell.size), (sample[labelled], cell)), shape=shape)
    table = log(np.moveaxis(matrices, (-3, -1, -2), (0, 1, -1)))  # (labelers, symbols, *draws, classes)
    total = np.asarray(seen @ table.reshape(labelers * symbols, math.prod(draws) * classes))
    return np.moveaxis(total.reshape(num_samples, *draws, classes), 0, -2)


def diagonal_rows(classes: int, diagonal: float, off_total: float) -> Float[np.ndarray, "classes classes"]:
    """Dirichlet concentrations: `diagonal`, and `off_total` spread evenly over the rest of a row."""
    return np.where(np.eye(classes) > 0, float(diagonal), off_total / max(classes - 1, 1))


def best_matching(table: Num[np.ndarray, "classes classes"]) -> Int[np.ndarray, " classes"]:
    """A distinct column for each row with the largest sum; the identity if each diagonal entry is largest."""
    if (np.diagonal(table) >= table.max(axis=1)).all():
        return np.arange(len(table))
    return scipy.optimize.linear_sum_assignment(table, maximize=True)[1]


def picked(rows: Float[np.ndarray, "*n classes"], u: Float[np.ndarray, "*n"]) -> Int[np.ndarray, "*n"]:
    """Draw a class from each row of probabilities by inversion; never one of probability 0."""
    upto = np.cumsum(rows, axis=-1)
    upto[..., -1] = np.inf
    last = rows.shape[-1] - 1 - np.argmax(rows[..., ::-1] > 0, axis=-1)
    return np.minimum((u[..., None] >= upto).sum(axis=-1), last)


def cross_table(row: Any, column: Any, shape: tuple[int, int], times: Any = None) -> np.ndarray:
    """(rows, columns) number of joint occurrences of two codes, or the sum of `times`."""
    code = np.multiply(row, shape[1], dtype=np.int64) + column
    return np.bincount(code, times, shape[0] * shape[1]).reshape(shape)


def vote_shares(votes: Num[np.ndarray, "samples classes"], without: Shares | None = None) -> Rows:
    """Share of each sample's votes that a class received; `without` any vote equal shares, or these."""
    total = across(np.add, votes)
    shares, given = np.empty(votes.shape), total > 0
    total = np.where(given, total, 1.0)
    for share, number in zip(shares.T, votes.T, strict=True):  # many times as fast as all classes at once
        np.divide(number, total, out=share)
    shares[~given] = 1.0 / votes.shape[1] if without is None else without
    return shares


def smoothed_vote_shares(votes: Num[np.ndarray, "samples classes"]) -> Rows:
    """Vote shares after one more vote, spread evenly over the classes."""
    return vote_shares(votes + 1 / votes.shape[1])


def evenly(parts: Sequence[np.ndarray], most: int | None = None) -> np.ndarray:
    """Equally many evenly spaced rows of every array, at most `most` of each, concatenated."""
    few = min(map(len, parts))
    number = few if most is None else min(few, most)
    return np.concatenate([part[np.linspace(0, len(part) - 1, number).astype(int)] for part in parts])


def majority(votes: Num[np.ndarray, "samples classes"]) -> Rows:
    """1 at the class with the most votes; k tied classes have 1/k each, without votes all."""
    return vote_shares((votes == across(np.maximum, votes)[:, None]).astype(np.float64))


_POINTS, _FACTOR = 4001, 1124  # of the lattice: a prime, and the best factor for up to 12 columns by P_2


def lattice(columns: int) -> Float[np.ndarray, "points columns"]:
    """Evenly spread points of the unit cube, the first column rising (Korobov 1959)."""
    steps = np.array([pow(_FACTOR, k, _POINTS) for k in range(columns)])
    return (np.arange(_POINTS)[:, None] * steps % _POINTS + 0.5) / _POINTS
