"""What Lam & Stork (5), (6) give a user: confusion matrix, class shares and metrics with intervals.

`recover_confusion` solves; `fit_confusion` maximises the likelihood over tables of probabilities. How much
they differ: with three classes, labels that are right in 75 % and a classifier in 80 %, 71 % of the solutions
from 100 samples are no tables of probabilities, and the fit halves the root mean square error of the
confusion matrix; from 1000 samples 7 %, and the two are alike
(`tests/lam_stork/test_lam_stork_confusion.py`).
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth import _validation as check
from jtruth._one_line import one_line
from jtruth.lam_stork import fit as fitting
from jtruth.lam_stork import matrix as algebra
from jtruth.lam_stork.intervals import generator
from jtruth.lam_stork.matrix import Recovered
from jtruth.stats.regions import check_level


class ConfusionRecovery(NamedTuple):
    """Classifier's confusion matrix, class shares and metrics; rows are true classes."""

    joint: Recovered  # (true, predicted) probabilities
    prior: Recovered  # (classes,) shares of the classes
    confusion: Recovered  # (true, predicted) P(predicted | true); its diagonal is the recall
    precision: Recovered  # (classes,)
    accuracy: Recovered  # ()
    labeler: Float[np.ndarray, "classes classes"]  # as used
    condition: float  # of the labeler's matrix: how much errors may be multiplied
    inside: bool  # is `joint` a table of probabilities?
    converged: bool
    method: str
    level: float
    warnings: tuple[str, ...]

    __repr__ = one_line


def recover_confusion(
    counts: Any,
    labeler: Any = None,
    *,
    gold: Any = None,
    prior: Any = None,
    method: str = "delta",
    level: float = 0.95,
    key: Any = None,
    num_draws: int = 2000,
) -> ConfusionRecovery:
    """Confusion matrix of a classifier and class shares from noisy labels, by a linear solve.

    Args:
        counts: (classes, classes) number of samples with label a (row) and prediction b (column).
        labeler: (classes, classes) P(label a | true class c), rows true; or else
        gold: (classes, classes) counts of gold answers, true class c (row) and label a (column).
        prior: (classes,) class shares if they are known; by default those of (6).
        method: "delta" or "bootstrap".
        level: of the intervals, each by itself.
        key: JAX random key, for the bootstrap.
        num_draws: of the bootstrap.

    Returns:
        `ConfusionRecovery`, as computed also where it is no table of probabilities.

    Raises:
        ValueError: see `matrix.checked_problem`; an unknown method; no key for the bootstrap.

    Source: Lam & Stork (5), (6). Predictions and labels err independently given the class.

    >>> labeler = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> found = recover_confusion([[460, 160], [90, 290]], labeler)
    >>> print(found.prior.value.round(3), found.confusion.value.round(3).tolist())
    [0.6 0.4] [[0.833, 0.167], [0.125, 0.875]]
    """
    check.choose("method", method, ("delta", "bootstrap"))
    check_level(level)
    problem = algebra.checked_problem(counts, labeler, gold, prior)
    if method == "delta":
        return _recovery(problem, algebra.delta_intervals(problem, level), method, level, ())
    drawn_counts, drawn_labelers = algebra.redraw(problem, generator(key), num_draws)
    seen = drawn_counts / drawn_counts.sum(axis=(1, 2), keepdims=True)
    draws = algebra.targets(algebra.solve_joint(drawn_labelers, seen), problem.prior)
    values = algebra.targets(algebra.solve_joint(problem.labeler, problem.joint_seen), problem.prior)
    found = algebra.bootstrap_intervals(values, draws, level)
    return _recovery(problem, found, method, level, _lost(draws[0]))


def fit_confusion(
    counts: Any,
    labeler: Any = None,
    *,
    gold: Any = None,
    level: float = 0.95,
    key: Any,
    num_draws: int = 500,
) -> ConfusionRecovery:
    """The same by maximum likelihood over tables of probabilities, with bootstrap intervals.

    Equal to `recover_confusion` where that is a table of probabilities. On the border of the simplex the
    bootstrap is no more than a guide (it is not consistent there). A labeler estimated from `gold` is taken
    as it is in each fit, and redrawn for each bootstrap sample. Arguments as in `recover_confusion`.

    >>> import jax
    >>> labeler = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> found = fit_confusion([[60, 2], [8, 30]], labeler, key=jax.random.key(0))
    >>> print(found.confusion.value.round(3).tolist(), recover_confusion([[60, 2], [8, 30]], labeler).inside)
    [[1.0, 0.0], [0.051, 0.949]] False
    """
    check_level(level)
    problem = algebra.checked_problem(counts, labeler, gold, None)
    best = fitting.maximise(problem.counts, problem.labeler)
    drawn = fitting.maximise(*algebra.redraw(problem, generator(key), num_draws), gap=1e-3)
    found = algebra.bootstrap_intervals(algebra.targets(best.joint), algebra.targets(drawn.joint), level)
    missed = int((drawn.gap > 1e-3).sum())
    text = (f"{missed} of {num_draws} bootstrap fits stopped early",) if missed else ()
    if best.gap > fitting.GAP:
        text = (f"not converged: the log-likelihood may be {best.gap:.2g} higher", *text)
    recovery = _recovery(problem, found, "maximum likelihood", level, text)
    return recovery._replace(converged=bool(best.gap <= fitting.GAP))


def _lost(joint: np.ndarray) -> tuple[str, ...]:
    lost = int(np.isnan(joint).any(axis=(1, 2)).sum())
    return (
        (f"{lost} of {len(joint)} bootstrap labelers are singular: counted as beyond both ends",)
        if lost
        else ()
    )


def _recovery(
    problem: algebra.Problem, found: tuple[Recovered, ...], method: str, level: float, extra: tuple[str, ...]
) -> ConfusionRecovery:
    """The result with its warnings."""
    condition = float(np.linalg.cond(problem.labeler))
    warnings, outside = list(extra), int((found[0].value < -1e-12).sum())
    if condition > algebra.WARN_CONDITION:
        warnings.append(
            f"the condition number of the labeler's confusion matrix is {condition:.3g}: errors of the "
            "counts may be multiplied by as much; some classes are hardly told apart by the labels"
        )
    if outside:
        warnings.append(
            f"{outside} of {problem.counts.size} joint probabilities are negative: no classifier has this "
            "table; use fit_confusion for one that stays within probabilities"
        )
    rows = found[2].value.sum(axis=1)
    if problem.prior is not None and np.abs(rows - 1).max() > 1e-6:
        warnings.append(
            f"with the given prior the rows of the confusion matrix sum to {rows.round(3).tolist()}, not 1"
        )
    if np.isfinite(problem.gold).any() and ((problem.labeler == 0) | (problem.labeler == 1)).any():
        warnings.append(
            "some kinds of wrong labels never occur in the gold: their rates count as exactly 0, and "
            "intervals are too short"
        )
    joint, prior, confusion, precision, accuracy = found
    return ConfusionRecovery(
        joint, prior, confusion, precision, accuracy,
        problem.labeler, condition, not outside, True, method, level, tuple(warnings),
    )  # fmt: skip
