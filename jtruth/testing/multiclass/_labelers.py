"""Each labeler's labels taken as the truth, for any number of classes: a rival of the posterior (Su 5.3)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth._validation.in_range import check_codes
from jtruth.labels import Labels
from jtruth.testing.baselines import geometric_median


class LabelerTables(NamedTuple):
    """Count tables against each labeler's labels, scaled by N / (number of the labeler's labels).

    `each` is NaN for a labeler without labels, whom `mean` and `median` leave out; they are NaN when nobody
    labelled. `median` is the point of least summed distance to the tables as vectors (Vardi and Zhang 2000).
    """

    each: Float[np.ndarray, "labelers classes symbols"]
    mean: Float[np.ndarray, "classes symbols"]
    median: Float[np.ndarray, "classes symbols"]


def labeler_tables(
    y_pred: Int[np.ndarray, " samples"], labels: Labels, *, num_symbols: int | None = None
) -> LabelerTables:
    """Scaled count tables against every labeler, their mean and their geometric median.

    Metrics of them are read off by `jtruth.tables.metrics`. There is no uncertainty, and the labelers' errors
    count as errors of the classifier.
    """
    classes = labels.num_classes
    symbols = classes if num_symbols is None else num_symbols
    y_pred = np.asarray(y_pred)
    check_codes(y_pred, symbols, "y_pred", size=labels.num_samples)
    sample, labeler, label = labels.arrays
    given = label >= 0
    cell = (labeler[given].astype(np.int64) * classes + label[given]) * symbols + y_pred[sample[given]]
    counts = np.bincount(cell, minlength=labels.num_labelers * classes * symbols)
    counts = counts.reshape(labels.num_labelers, classes, symbols)
    total = counts.sum(axis=(1, 2))
    active = total > 0
    each = np.full(counts.shape, np.nan)
    each[active] = counts[active] * (y_pred.size / total[active])[:, None, None]
    if not active.any():
        nothing = np.full((classes, symbols), np.nan)
        return LabelerTables(each, nothing, nothing)
    used = each[active]
    median = geometric_median(used.reshape(len(used), -1)).reshape(classes, symbols)
    return LabelerTables(each, used.mean(axis=0), median)
