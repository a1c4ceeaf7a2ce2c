"""Lam & Stork (5) and (6): the classifier's confusion matrix and the class shares, by a linear solve.

With F[a, b] the share of samples with label a and prediction b, L[c, a] = P(label a | true class c) and
errors independent given the class, F = L' J, where J[c, b] = P(true class c, prediction b). So

    J = solve(L', F),   shares = row sums of J (6),   confusion matrix = J / shares (5).

Rows are true classes here; the paper has the transposes. All estimates are ratios of two linear functions of
J, with one delta method: d(u.J / w.J) = h.dJ with h = (u - ratio * w)/(w.J), and dJ = A (dF - dL' J) with
A = inv(L'), F multinomial over the samples, and each row of L over the gold of its class.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from jtruth._one_line import one_line
from jtruth._validation import by_class
from jtruth._validation.in_range import check_counts, check_positive, check_rows, check_shape
from jtruth.stats.estimates import check_level

WARN_CONDITION = 10.0
_SINGULAR = 1e12
_TINY = 1e-12

Matrix = Float[np.ndarray, "classes classes"]


class Recovered(NamedTuple):
    """Estimates of an array of rates with pointwise intervals; NaN where 0/0."""

    value: Float[np.ndarray, "..."]
    standard_error: Float[np.ndarray, "..."]
    low: Float[np.ndarray, "..."]
    high: Float[np.ndarray, "..."]

    __repr__ = one_line


def forms(size: int, prior: np.ndarray | None) -> list[tuple[np.ndarray, np.ndarray]]:
    """(u, w), each (*shape, classes, classes): u.J / w.J are joint, shares, confusion, precision, accuracy.

    The confusion matrix is J divided by a known `prior`, Lam & Stork (5), else by the shares (6).
    """
    unit = np.eye(size * size).reshape([size] * 4)  # one cell each
    row, ones = np.repeat(np.eye(size)[:, :, None], size, axis=2), np.ones((size, size))
    of_row = (unit, np.repeat(row[:, None], size, axis=1))
    if prior is not None:
        of_row = unit / prior[:, None, None, None], np.broadcast_to(ones, unit.shape)
    diagonal = unit[np.arange(size), np.arange(size)]
    return [
        (unit, np.broadcast_to(ones, unit.shape)),
        (row, np.broadcast_to(ones, row.shape)),
        of_row,
        (diagonal, row.swapaxes(1, 2)),
        (np.eye(size), ones),
    ]


def quotient(u: np.ndarray, w: np.ndarray, joint: np.ndarray) -> np.ndarray:
    """u.J / w.J of forms (*shape, classes, classes); NaN where 0/0."""
    top, bottom = ((part * joint).sum(axis=(-2, -1)) for part in (u, w))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.abs(bottom) < _TINY, np.nan, top / bottom)


def _intervals(
    counts: np.ndarray, labeler: Matrix, gold: np.ndarray, prior: np.ndarray | None, level: float
) -> tuple[Recovered, ...]:
    """The targets at J = solve(L', F), with standard errors by the delta method (module docstring)."""
    observed = counts / counts.sum()  # F
    joint = np.linalg.solve(labeler.T, observed)
    z, targets = float(ndtri(0.5 + level / 2)), []
    for u, w in forms(len(joint), prior):
        value, bottom = quotient(u, w, joint), (w * joint).sum(axis=(-2, -1))
        bottom = np.where(np.abs(bottom) < _TINY, np.nan, bottom)[..., None, None]
        h = (u - value[..., None, None] * w) / bottom
        by_cell = np.linalg.solve(labeler, h)  # A' h: contribution of a sample with label a, prediction b
        by_label = joint @ by_cell.swapaxes(-2, -1)  # (true, label): minus that of a gold answer
        of_gold = _multinomial(labeler, by_label, (-1,)) / gold
        of_table = _multinomial(observed, by_cell, (-2, -1)) / counts.sum()
        error = np.sqrt(np.asarray(of_table + of_gold.sum(axis=-1)))
        targets.append(Recovered(value, error, value - z * error, value + z * error))
    return tuple(targets)


def _multinomial(p: np.ndarray, gradient: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Variance of gradient . p-hat, of one sample."""
    mean = (p * gradient).sum(axis=axes, keepdims=True)
    return np.asarray((p * (gradient - mean) ** 2).sum(axis=axes))


def _checked(
    counts: Any, labeler: Any, gold: Any, prior: Any
) -> tuple[np.ndarray, Matrix, np.ndarray, np.ndarray | None]:
    """Checked counts, labeler's matrix, gold answers behind each row (infinity: known), prior."""
    table = _counts(counts, "counts")
    size = len(table)
    if not table.sum():
        raise ValueError("counts are all 0; there is nothing to learn from")
    if (labeler is None) == (gold is None):
        raise ValueError("give the labeler's confusion matrix either as `labeler` or as counts in `gold`")
    if gold is None:
        matrix, gold_size = np.asarray(labeler, np.float64), np.full(size, np.inf)
        check_shape(matrix, "labeler", "classes labels", classes=size, labels=size)
        check_rows(matrix, "labeler", hint="rows are true classes (the paper's matrix is the transpose)")
    else:
        answers = _counts(gold, "gold")
        check_shape(answers, "gold", "classes labels", classes=size)
        gold_size = answers.sum(axis=1)
        if (gold_size == 0).any():
            raise ValueError(f"class {gold_size.argmin()} has no verified label; every true class needs some")
        matrix = answers / gold_size[:, None]
    condition = np.linalg.cond(matrix)
    if not condition < _SINGULAR:
        raise ValueError(
            f"the labeler's confusion matrix is singular (condition {condition:.3g}), so its labels do not "
            f"distinguish some classes; its rows are {matrix.tolist()}"
        )
    if prior is not None:
        prior = np.asarray(by_class(prior, range(size)), np.float64)
        check_positive(prior, "prior", "a share of each class", size=size)
        check_rows(prior, "prior")
    return table, matrix, gold_size, prior


def _counts(values: Any, name: str) -> np.ndarray:
    table: Int[np.ndarray, "..."] = np.asarray(values)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or len(table) < 2:
        raise ValueError(f"{name} has shape {table.shape}; give a square table, one row and column per class")
    check_counts(table, name)
    return table.astype(np.float64)


class ConfusionRecovery(NamedTuple):
    """Classifier's confusion matrix, class shares and metrics; rows are true classes."""

    joint: Recovered  # (true, predicted) probabilities
    prior: Recovered  # (classes,) shares of the classes
    confusion: Recovered  # (true, predicted) P(predicted | true); its diagonal is the recall
    precision: Recovered  # (classes,)
    accuracy: Recovered  # ()
    labeler: Float[np.ndarray, "classes classes"]  # as used
    condition: float  # of the labeler's matrix: possible amplification of errors
    inside: bool  # is `joint` a table of probabilities?
    level: float
    warnings: tuple[str, ...]

    __repr__ = one_line


def recover_confusion(
    counts: Any, labeler: Any = None, *, gold: Any = None, prior: Any = None, level: float = 0.95
) -> ConfusionRecovery:
    """Confusion matrix of a classifier and class shares from noisy labels, by a linear solve.

    Args:
        counts: (classes, classes) number of samples with label a (row) and prediction b (column).
        labeler: (classes, classes) P(label a | true class c), rows true; or else
        gold: (classes, classes) counts of gold answers, true class c (row) and label a (column).
        prior: (classes,) class shares if they are known; by default those of (6).
        level: of the intervals, each by itself.

    Returns:
        `ConfusionRecovery`, not clipped to probabilities.

    Raises:
        ValueError: wrong shapes, negative or fractional counts, rows that do not sum to 1, no gold of a
            class, neither or both of `labeler` and `gold`, or a labeler matrix that cannot be solved.

    Source: Lam & Stork (5), (6). Predictions and labels err independently given the class.

    >>> labeler = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> found = recover_confusion([[460, 160], [90, 290]], labeler)
    >>> print(found.prior.value.round(3), found.confusion.value.round(3).tolist())
    [0.6 0.4] [[0.833, 0.167], [0.125, 0.875]]
    """
    check_level(level)
    table, matrix, gold_size, known = _checked(counts, labeler, gold, prior)
    joint, shares, confusion, precision, accuracy = _intervals(table, matrix, gold_size, known, level)
    condition, warnings, outside = float(np.linalg.cond(matrix)), [], int((joint.value < -1e-12).sum())
    if condition > WARN_CONDITION:
        warnings.append(
            f"The labels hardly distinguish some classes: errors of the counts may be multiplied by the "
            f"condition number of the confusion matrix, {condition:.3g}."
        )
    if outside:
        warnings.append(
            f"Joint probabilities are negative, which is impossible: {outside} of {table.size}. Use more "
            "samples, or better labels."
        )
    rows = confusion.value.sum(axis=1)
    if known is not None and np.abs(rows - 1).max() > 1e-6:
        warnings.append(
            f"With the given prior, the rows of the confusion matrix sum to {rows.round(3).tolist()}, not 1."
        )
    if np.isfinite(gold_size).any() and ((matrix == 0) | (matrix == 1)).any():
        warnings.append(
            "The intervals are too narrow: some kinds of wrong labels never occur in the gold, and their "
            "rates count as exactly 0."
        )
    return ConfusionRecovery(
        joint, shares, confusion, precision, accuracy, matrix, condition, not outside, level, tuple(warnings)
    )
