"""What draws of classes and chances say under the random effect: tables, right labels, what must converge."""

import numpy as np

from jtruth.learning.joint._rows import Rows, label_columns
from jtruth.sampling.walk import Arrays


def right_labels(rows: Rows, drawn: np.ndarray) -> np.ndarray:
    """Right labels of each labeler (points, labelers), where `drawn` (points, rows) are of class 1."""
    given = label_columns(rows.labels)  # (rows, labelers * 2)
    right = given[:, 1::2].T @ drawn.T + given[:, 0::2].T @ (rows.multiplicity - drawn).T
    return np.rint(right.T).astype(np.int32)


def tables(rows: Rows, drawn: np.ndarray) -> np.ndarray:
    """Count tables (points, classes, symbols), where `drawn` (points, rows) are of class 1."""
    table = np.empty((len(drawn), 2, 2), np.int64)
    for symbol in range(2):
        mine = rows.y_pred == symbol
        table[:, 1, symbol] = drawn[:, mine].sum(axis=1)
        table[:, 0, symbol] = rows.multiplicity[mine].sum() - table[:, 1, symbol]
    return table


def matrix(right: np.ndarray) -> np.ndarray:
    """(..., 2) probabilities of being right in each class -> (..., 2, 2) rows true, columns given."""
    first, second = right[..., 0], right[..., 1]
    return np.stack([np.stack([first, 1 - first], -1), np.stack([1 - second, second], -1)], -2)


def monitored(draws: Arrays, nuisance: bool) -> Arrays:
    """What must converge: of a classifier its metrics, of labelers alone the samples of class 1."""
    found = {"prior": draws["prior"][..., 1]}
    if "counts" in draws:
        counts = draws["counts"].astype(np.float64)
        positives = np.maximum(counts[..., 1, :].sum(axis=-1), 1.0)
        found |= {
            "counts[1,0]": counts[..., 1, 0],
            "counts[1,1]": counts[..., 1, 1],
            "accuracy": counts[..., 0, 0] + counts[..., 1, 1],
            "recall": counts[..., 1, 1] / positives,
            "classifier": np.diagonal(draws["classifier"], axis1=-2, axis2=-1),
        }
    else:
        found["samples"] = draws["class_counts"][..., 1].astype(np.float64)
    return found | {"parameters": draws["shared"]} if nuisance else found
