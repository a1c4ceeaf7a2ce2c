"""Lam & Stork (5) and (6): the classifier's confusion matrix and the class shares, by a linear solve.

With F[a, b] the share of samples with label a and prediction b, L[c, a] = P(label a | true class c) and
errors independent given the class, F = L' J, where J[c, b] = P(true class c, prediction b). So

    J = solve(L', F),   shares = row sums of J (6),   confusion matrix = J / shares (5).

Rows are true classes here; the paper has the transposes. Everything asked for is a ratio of two linear
functions of J: a share J[c].sum(), an entry of the confusion matrix J[c, b] / J[c].sum(), the precision
J[b, b] / J[:, b].sum(), the accuracy trace(J). So one delta method serves all: d(u.J / w.J) = h.dJ with
h = (u - ratio * w)/(w.J), and dJ = A (dF - dL' J) with A = inv(L'), F multinomial over the samples, and each
row of L multinomial over the gold of its class.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from jtruth._one_line import one_line
from jtruth._validation.in_range import check_rows
from jtruth.lam_stork.intervals import percentiles

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


class Problem(NamedTuple):
    """What (5) and (6) start from."""

    counts: Float[np.ndarray, "classes classes"]  # label given, prediction
    labeler: Matrix  # rows true, columns given
    gold: Float[np.ndarray, " classes"]  # gold answers behind each row; infinity: known
    prior: Float[np.ndarray, " classes"] | None  # class shares, if known

    @property
    def joint_seen(self) -> Matrix:
        """F: share of samples with label a and prediction b."""
        return self.counts / self.counts.sum()


def solve_joint(labeler: np.ndarray, joint_seen: np.ndarray) -> np.ndarray:
    """J[..., true, predicted] = solve(L', F); NaN where L is singular. Lam & Stork (5) before its division.

    >>> labeler = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> truth = np.array([[0.50, 0.10], [0.05, 0.35]])
    >>> print(solve_joint(labeler, labeler.T @ truth).round(12))
    [[0.5  0.1 ]
     [0.05 0.35]]
    """
    transposed = np.swapaxes(labeler, -1, -2)
    singular = np.abs(np.linalg.det(transposed)) < _TINY
    found = np.linalg.solve(
        np.where(singular[..., None, None], np.eye(labeler.shape[-1]), transposed), joint_seen
    )
    return np.where(singular[..., None, None], np.nan, found)


def class_shares(joint: np.ndarray) -> np.ndarray:
    """Row sums of J: solve(L', shares of the labels). Lam & Stork (6)."""
    return joint.sum(axis=-1)


def confusion_matrix(joint: np.ndarray, prior: np.ndarray | None = None) -> np.ndarray:
    """J divided by the class shares, those of (6) unless they are known. Lam & Stork (5)."""
    return _ratio(joint, (class_shares(joint) if prior is None else prior)[..., None])


def precision(joint: np.ndarray) -> np.ndarray:
    """P(true class b | predicted b)."""
    return _ratio(np.diagonal(joint, axis1=-2, axis2=-1), joint.sum(axis=-2))


def accuracy(joint: np.ndarray) -> np.ndarray:
    """P(prediction right)."""
    return np.asarray(np.trace(joint, axis1=-2, axis2=-1))


def _ratio(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.abs(bottom) < _TINY, np.nan, top / bottom)


def targets(joint: np.ndarray, prior: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
    """(joint, shares, confusion matrix, precision, accuracy) of J (..., true, predicted)."""
    known = confusion_matrix(joint, prior)
    return joint, class_shares(joint), known, precision(joint), accuracy(joint)


def delta_intervals(problem: Problem, level: float) -> tuple[Recovered, ...]:
    """The targets at J = solve(L', F), with standard errors by the delta method."""
    joint = solve_joint(problem.labeler, problem.joint_seen)
    values = targets(joint, problem.prior)
    z = float(ndtri(0.5 + level / 2))
    found = []
    for value, weights in zip(values, _weights(problem, joint), strict=True):
        error = np.sqrt([_variance(problem, joint, *pair) for pair in weights]).reshape(value.shape)
        error = np.where(np.isnan(value), np.nan, error)
        found.append(Recovered(value, error, value - z * error, value + z * error))
    return tuple(found)


def _weights(problem: Problem, joint: np.ndarray) -> list[list[tuple[np.ndarray, np.ndarray]]]:
    """(u, w) of each target as a ratio u.J / w.J, in the order of `targets`."""
    size = len(joint)
    unit = np.eye(size * size).reshape(size * size, size, size)  # one cell each
    row = np.repeat(np.eye(size)[:, :, None], size, axis=2)
    every = np.ones((size, size))
    if problem.prior is None:
        cells = [(unit[c * size + b], row[c]) for c in range(size) for b in range(size)]
    else:
        share = problem.prior
        cells = [(unit[c * size + b] / share[c], every) for c in range(size) for b in range(size)]
    precise = [(unit[b * size + b], row[b].T) for b in range(size)]
    return [
        [(u, every) for u in unit],
        [(r, every) for r in row],
        cells,
        precise,
        [(np.eye(size), every)],
    ]


def _variance(problem: Problem, joint: np.ndarray, u: np.ndarray, w: np.ndarray) -> float:
    """Variance of u.J / w.J; see the module docstring."""
    bottom = (w * joint).sum()
    if abs(bottom) < _TINY:
        return float("nan")
    h = (u - (u * joint).sum() / bottom * w) / bottom
    by_cell = np.linalg.solve(problem.labeler, h)  # A' h: what one sample with label a, prediction b adds
    by_label = joint @ by_cell.T  # (true, label): minus what one gold answer adds
    return _multinomial(problem.joint_seen, by_cell, problem.counts.sum()) + sum(
        _multinomial(p, g, n) for p, g, n in zip(problem.labeler, by_label, problem.gold, strict=True)
    )


def _multinomial(p: np.ndarray, gradient: np.ndarray, size: float) -> float:
    """Variance of gradient . p-hat for a multinomial p-hat of this size."""
    mean = (p * gradient).sum()
    return float((p * (gradient - mean) ** 2).sum() / size)


def redraw(problem: Problem, rng: np.random.Generator, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Bootstrap samples: counts (draws, label, prediction) and labelers (draws, true, given)."""
    size = len(problem.labeler)
    total = int(problem.counts.sum())
    counts = rng.multinomial(total, problem.joint_seen.ravel(), number).reshape(number, size, size)
    rows = [
        np.broadcast_to(p, (number, size)) if np.isinf(n) else rng.multinomial(int(n), p, number) / n
        for p, n in zip(problem.labeler, problem.gold, strict=True)
    ]
    return counts.astype(np.float64), np.stack(rows, axis=1)


def bootstrap_intervals(
    values: tuple[np.ndarray, ...], draws: tuple[np.ndarray, ...], level: float
) -> tuple[Recovered, ...]:
    """Percentile intervals of the targets from their bootstrap draws (draws first)."""
    found = []
    for value, drawn in zip(values, draws, strict=True):
        low, high = percentiles(drawn, level)
        known = ~np.isnan(drawn)
        number = np.maximum(known.sum(axis=0), 1)
        mean = np.where(known, drawn, 0.0).sum(axis=0) / number
        spread = np.sqrt((np.where(known, drawn - mean, 0.0) ** 2).sum(axis=0) / number)
        found.append(Recovered(value, spread, low, high))
    return tuple(found)


def checked_problem(counts: Any, labeler: Any, gold: Any, prior: Any) -> Problem:
    """Arrays of the right kind; see `recover_confusion` for what they are.

    Raises:
        ValueError: wrong shapes, negative or fractional counts, rows that do not sum to 1, no gold of a
            class, neither or both of `labeler` and `gold`, or a labeler matrix that cannot be solved.
    """
    table = _counts(counts, "counts")
    size = len(table)
    if not table.sum():
        raise ValueError("counts are all 0; there is nothing to learn from")
    if (labeler is None) == (gold is None):
        raise ValueError("give the labeler's confusion matrix either as `labeler` or as counts in `gold`")
    if gold is None:
        matrix, behind = _rows(labeler, size), np.full(size, np.inf)
    else:
        answers = _counts(gold, "gold")
        _same_size("gold", answers.shape, size)
        behind = answers.sum(axis=1)
        if (behind == 0).any():
            raise ValueError(
                f"class {int(np.argmin(behind))} has no gold answer; every true class needs some"
            )
        matrix = answers / behind[:, None]
    condition = np.linalg.cond(matrix)
    if not condition < _SINGULAR:
        raise ValueError(
            f"the labeler's confusion matrix is singular (condition {condition:.3g}): its labels cannot tell "
            f"some classes apart; its rows are {matrix.tolist()}"
        )
    return Problem(table, matrix, behind, None if prior is None else _prior(prior, size))


def _counts(given: Any, name: str) -> np.ndarray:
    table: Int[np.ndarray, "..."] = np.asarray(given)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or len(table) < 2:
        raise ValueError(f"{name} has shape {table.shape}; give a square table, one row and column per class")
    if not np.isfinite(table).all() or (table < 0).any() or (table != np.round(table)).any():
        raise ValueError(f"{name} must hold whole numbers, 0 or more; got {table.tolist()}")
    return table.astype(np.float64)


def _same_size(name: str, shape: tuple[int, ...], size: int) -> None:
    if shape != (size, size):
        raise ValueError(f"{name} has shape {shape}, but counts are of {size} classes")


def _rows(given: Any, size: int) -> np.ndarray:
    matrix = np.asarray(given, np.float64)
    _same_size("labeler", matrix.shape, size)
    check_rows(matrix, "labeler", hint="rows are true classes (the paper's matrix is the transpose)")
    return matrix


def _prior(given: Any, size: int) -> np.ndarray:
    prior = np.asarray(given, np.float64)
    if prior.shape != (size,) or not (prior > 0).all() or not abs(prior.sum() - 1) < 1e-6:
        raise ValueError(f"prior must hold {size} shares above 0 that sum to 1; got {prior.tolist()}")
    return prior
