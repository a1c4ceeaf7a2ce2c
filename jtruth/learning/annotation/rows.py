"""Labels as NUTS takes them: padded rows, equal ones merged into one row with a weight."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from jtruth._one_line import one_line
from jtruth.labels import Labels
from jtruth.learning.em.columns import bucket


class LabelRows(NamedTuple):
    """(rows, width) entries, -1 padded, and how many samples each row stands for."""

    labeler: Any  # (rows, width) int32
    label: Any  # (rows, width) int32; None: let the model draw it
    weight: Any  # (rows,) float

    __repr__ = one_line


class MergedRows(NamedTuple):
    """The rows of a data set. Sample i is row `row_of_sample[i]`; rows from `size` on are padding."""

    rows: LabelRows
    row_of_sample: Int[np.ndarray, " samples"]
    size: int

    __repr__ = one_line


def merged_rows(labels: Labels, *, merge: bool = True) -> MergedRows:
    """Padded rows; sizes are rounded up so that data sets of about the same size share a program."""
    if merge:
        patterns = labels.patterns()
        labeler, label = patterns.labels.padded()
        row_of_sample, weight = patterns.inverse, patterns.counts.astype(np.float64)
    else:
        labeler, label = labels.padded()
        row_of_sample, weight = np.arange(labels.num_samples), np.ones(labels.num_samples)
    size, width = labeler.shape
    pad = ((0, bucket(size) - size), (0, bucket(width) - width))
    rows = LabelRows(
        np.pad(labeler, pad, constant_values=-1).astype(np.int32),
        np.pad(label, pad, constant_values=-1).astype(np.int32),
        np.pad(weight, pad[0]),
    )
    return MergedRows(rows, row_of_sample, size)


def blank_rows(num_samples: int, num_labelers: int) -> LabelRows:
    """Every labeler labels every sample, labels to be drawn."""
    labeler = np.broadcast_to(np.arange(num_labelers, dtype=np.int32), (num_samples, num_labelers))
    return LabelRows(labeler.copy(), None, np.ones(num_samples))
