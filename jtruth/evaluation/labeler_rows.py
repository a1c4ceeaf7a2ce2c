"""Labelers in an answer, the worst first: one each as plain data, and the rows of a labelers' report."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jtruth.answers import Column, Table
from jtruth.labels import Labels
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.learning.labeler_draws import LabelerDraws
from jtruth.stats.estimates import Estimate

_MOST_SAVED, _FEWEST_SAVED = 200_000, 50  # numbers in a file of error rates, and draws


@dataclass(frozen=True)
class Labeler:
    """How often one labeler is right; None where nothing says so."""

    worker: str
    num_labels: int
    accuracy: float | None
    low: float | None  # ends of the interval; None where error rates were plugged in
    high: float | None


def worst_first(
    labels: Labels, accuracies: Sequence[tuple[float, float, float]]
) -> list[tuple[int, Labeler]]:
    """Number of each labeler, and what is known of it; the worst first, who gave no labels last.

    Args:
        labels: the labels that they gave.
        accuracies: of each labeler, mean and the two ends of its interval; NaN where there is none.
    """
    counts = labels.labels_per_labeler()
    workers = labels.workers or tuple(range(labels.num_labelers))
    found = []
    for t in np.argsort([mean for mean, _, _ in accuracies], kind="stable"):
        known = (None if np.isnan(value) else float(value) for value in accuracies[t])
        found.append((int(t), Labeler(str(workers[t]), int(counts[t]), *known)))
    return found


def labeler_rows(
    fit: LabelerDraws,
    workers: tuple,
    num_labels: np.ndarray,
    level: float,
    laws: Sequence[Estimate] | None = None,
) -> list[dict[str, Any]]:
    """A dictionary for each labeler, worst first, intervals between two quantiles of the draws.

    Args:
        fit: the draws.
        workers: name of each labeler.
        num_labels: that each gave.
        level: probability of the intervals.
        laws: of the accuracies, where they are others than the draws.
    """
    at = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(fit.labeler_accuracy, at, axis=0)
    mean, (cell_low, cell_high) = fit.labeler_accuracy.mean(axis=0), np.quantile(fit.matrices, at, axis=0)
    if laws is not None:
        mean = np.array([law.mean for law in laws])
        low, high = np.array([law.interval(level) for law in laws]).T
    rows = []
    for t in np.argsort(mean, kind="stable"):
        ends = {"low": float(low[t]), "high": float(high[t])}
        matrix = {"mean": fit.mean_matrices[t], "low": cell_low[t], "high": cell_high[t]}
        rows.append(
            {
                "worker": str(workers[t]),
                "num_labels": int(num_labels[t]),
                "accuracy": float(mean[t]),
                **ends,
                "by_assumption": {"independent": float(mean[t])},
                "confusion_matrix": {name: part.tolist() for name, part in matrix.items()},
            }
        )
    return rows


def labeler_table(rows: Sequence[dict[str, Any]], level: float, what: str = "share right") -> Table:
    """Accuracies of labelers as a block, the worst first."""
    title = f"{what[0].upper()}{what[1:]}, worst first, with {100 * level:g} % intervals"
    columns = (Column("accuracy", "accuracy", ("low", "high")), Column("num_labels", "labels"))
    return Table("labelers", title, "worker", columns, rows, missing="no label given")


def saved_draws(fit: LabelerDraws | JointPosterior, workers: list[str]) -> dict[str, Any]:
    """Draws of prior and matrices for a file of error rates; thinned to what a file can hold.

    Args:
        fit: the draws; `workers` are in the order of its labelers.
        workers: their names.
    """
    of_matrix = fit.matrix_draw if isinstance(fit, JointPosterior) else np.arange(len(fit.matrices))
    size, classes = fit.matrices.shape[1:3]
    most = max(_FEWEST_SAVED, _MOST_SAVED // (size * classes**2))
    at = np.unique(np.linspace(0, len(of_matrix) - 1, min(most, len(of_matrix))).astype(int))
    matrices = fit.matrices[at].astype(np.float64)
    matrices /= matrices.sum(axis=3, keepdims=True)
    return {
        "prior": fit.prior[of_matrix[at]].tolist(),
        "confusion_matrices": {name: matrices[:, t].tolist() for t, name in enumerate(workers)},
    }
