"""Metrics as ratios of two sums over samples, each linear in the class probabilities of a sample.

That form is what gold estimates (`gold`, by the delta method) and what tells which sample matters (`ask`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Terms(NamedTuple):
    """A metric as a ratio of two sums over samples, each linear in the class probabilities of a sample."""

    numerator: Float[np.ndarray, "samples classes"]  # what a sample adds if it is of this class
    denominator: Float[np.ndarray, "samples classes"]


def metric_terms(name: str, y_pred: np.ndarray, classes: Sequence[str], positive: int) -> Terms:
    """The sums behind accuracy, precision, recall, false_alarm_rate and f<beta>; "recall[cat]" names a class.

    >>> metric_terms("recall", np.array([1, 0]), ("a", "b"), 1).denominator.tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    metric, _, rest = name.partition("[")
    known = [str(c) for c in classes]
    if rest and rest.removesuffix("]") not in known:
        raise ValueError(f"metric {name!r}: there is no class {rest.removesuffix(']')!r}; classes: {known}")
    c = known.index(rest.removesuffix("]")) if rest else positive
    of_class = np.eye(len(known))
    predicted = (y_pred == c)[:, None] * np.ones(len(known))
    positives = np.tile(of_class[c], (y_pred.size, 1))
    hit = predicted * positives
    if metric == "accuracy":
        return Terms(of_class[y_pred], np.ones_like(hit))
    if metric == "precision":
        return Terms(hit, predicted)
    if metric == "recall":
        return Terms(hit, positives)
    if metric == "false_alarm_rate":
        return Terms(predicted * (1 - positives), 1 - positives)
    try:
        beta = float(metric.removeprefix("f")) if metric.startswith("f") else -1.0
    except ValueError:
        beta = -1.0
    if not 0 < beta < np.inf:
        raise ValueError(
            f"metric {name!r} is no ratio of two sums; use accuracy, precision, recall, false_alarm_rate, "
            "f<beta>, or one of them of a class, such as recall[cat]"
        )
    return Terms((1 + beta**2) * hit, beta**2 * positives + predicted)
