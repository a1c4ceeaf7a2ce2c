"""Everything that can be seen on one sample under a mix of labelers, with its probability and its scores.

Labelers of one kind are exchangeable, so what matters of their labels is how many of them named each class:
a pattern is one vector of such counts for every kind, and there are few of them. For a pattern, and for the
predicted symbol u, the complete-data score of class c is e_k - p for every categorical law that was used (the
prior, row c of K, row c of the labelers' matrices), in logits relative to class 0.

Labelers of a kind share one parameter here although each is learned on his own. Nothing is lost: their scores
are exchangeable, so what they tell of K they tell through their sum.
"""

from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln, xlogy

from jtruth._host import diagonal_rows
from jtruth.planning.settings import Setting

_MOST_PATTERNS = 60_000
_EDGE = 1e-4  # a probability of 0 or 1 has no logit; the information is taken this far inside


class Patterns(NamedTuple):
    """Per sample: label patterns (X), predicted symbols (U), classes (C), parameters (P)."""

    joint: Float[np.ndarray, "patterns symbols classes"]  # p(pattern, u, c)
    score: Float[np.ndarray, "patterns symbols classes parameters"]  # complete-data scores
    prior_information: Float[np.ndarray, "parameters parameters"]
    prior_score: Float[np.ndarray, " parameters"]


def inside(matrix: np.ndarray) -> np.ndarray:
    """Rows of probabilities moved off 0 and 1."""
    moved = np.maximum(matrix, _EDGE)
    return moved / moved.sum(axis=-1, keepdims=True)


def _compositions(total: int, parts: int):
    """All vectors of `parts` non-negative whole numbers with at most this sum."""
    if parts == 0:
        return np.zeros((1, 0), int)
    rows = [
        np.column_stack([np.full(len(rest), first), rest])
        for first in range(total + 1)
        for rest in [_compositions(total - first, parts - 1)]
    ]
    return np.concatenate(rows)


def _kind(matrix: np.ndarray, people: int, share: float):
    """Counts (X_g, C) of one kind's labels and log p(counts | class), (X_g, C)."""
    classes = matrix.shape[0]
    counts = _compositions(people, classes)
    if share == 1:
        counts = counts[counts.sum(axis=1) == people]
    given = counts.sum(axis=1)
    ways = gammaln(people + 1) - gammaln(counts + 1).sum(axis=1) - gammaln(people - given + 1)
    log_p = ways + xlogy(given, share) + xlogy(people - given, 1 - share)
    return counts, log_p[:, None] + counts @ np.log(matrix).T


def patterns(setting: Setting, labels: tuple[float, ...]) -> Patterns:
    """All patterns of a mix; see the module docstring.

    Raises:
        ValueError: more than 60 000 patterns.
    """
    classes = setting.prior.size
    matrices = [inside(kind.matrix) for kind in setting.labelers]
    used = [g for g, count in enumerate(labels) if count > 0]
    kinds = []
    for g in used:
        people = int(np.ceil(labels[g] - 1e-9))
        kinds.append(_kind(matrices[g], people, labels[g] / people))
    number = prod(len(counts) for counts, _ in kinds) * classes
    if number > _MOST_PATTERNS:
        raise ValueError(f"{number} patterns of labels; put labelers of like error into one kind")
    where = np.array(list(product(*(range(len(counts)) for counts, _ in kinds))), int)
    where = where.reshape(number // classes, len(kinds))
    log_p = np.zeros((len(where), classes))
    for column, (_, of_kind) in enumerate(kinds):
        log_p = log_p + of_kind[where[:, column]]
    confusion = inside(setting.confusion)
    joint = np.exp(log_p)[:, None, :] * (setting.prior[:, None] * confusion).T[None]
    blocks, rows = [_confusion_block(confusion)], [_rows_prior(confusion, 1, setting.rates == "learned")]
    if setting.rates == "learned":
        blocks.insert(0, _prior_block(setting.prior))
        rows.insert(0, [(setting.prior, np.ones(classes))])
        for column, g in enumerate(used):
            blocks.append(_labeler_block(matrices[g], kinds[column][0][where[:, column]]))
            rows.append(_rows_prior(matrices[g], int(np.ceil(labels[g] - 1e-9)), True))
    shape = joint.shape
    score = np.concatenate([np.broadcast_to(b, (*shape, b.shape[-1])) for b in blocks], axis=-1)
    return Patterns(joint, score, *_prior_terms([row for block in rows for row in block]))


def _prior_block(pi: np.ndarray) -> np.ndarray:
    """(1, 1, C, C - 1): e_c - pi."""
    return (np.eye(pi.size) - pi)[None, None, :, 1:]


def _confusion_block(confusion: np.ndarray) -> np.ndarray:
    """(1, U, C, C (U - 1)): in row c e_u - K[c], elsewhere 0."""
    classes, symbols = confusion.shape
    block = np.zeros((symbols, classes, classes, symbols))
    for c in range(classes):
        block[:, c, c] = np.eye(symbols) - confusion[c]
    return block[..., 1:].reshape(1, symbols, classes, -1)


def _labeler_block(matrix: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(X, 1, C, C (C - 1)): in row c counts - (labels given) psi[c], elsewhere 0."""
    classes = len(matrix)
    block = np.zeros((len(counts), classes, classes, classes))
    for c in range(classes):
        block[:, c, c] = counts - counts.sum(axis=1, keepdims=True) * matrix[c]
    return block[..., 1:].reshape(len(counts), 1, classes, -1)


def row_prior(classes: int, learned: bool) -> np.ndarray:
    """(C, C) Dirichlet concentrations of a matrix: those of `fit_joint`, or flat as in `exact`."""
    if not learned:
        return np.ones((classes, classes))
    return diagonal_rows(classes, 2.0, 1.0)


def _rows_prior(matrix: np.ndarray, people: int, learned: bool):
    """(row, concentrations) of every row; people who share a parameter bring a prior each."""
    return list(zip(matrix, people * row_prior(len(matrix), learned), strict=True))


def _prior_terms(rows):
    """Minus the Hessian, and the gradient, of the log prior in logits: a0 (diag p - p p'), a - a0 p."""
    size = sum(row.size - 1 for row, _ in rows)
    information, score, start = np.zeros((size, size)), np.zeros(size), 0
    for row, alpha in rows:
        p, total = row[1:], alpha.sum()
        part = slice(start, start + p.size)
        information[part, part] = total * (np.diag(p) - np.outer(p, p))
        score[part] = alpha[1:] - total * p
        start += p.size
    return information, score
