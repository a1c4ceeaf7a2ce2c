"""Kinds of samples: all samples with the same labels by the same labelers are one row with a number.

For Dawid and Skene's model these rows and their numbers are sufficient: no fit can tell more from the samples
one by one. Here a row is a stretch of `code` (labeler * classes + label, in increasing order), so that rows
of any length cost what they hold, and rows of two sets can be merged without decoding them. Rows are found
equal by a hash of 64 bits and then compared label by label; two different rows of one hash stay two rows.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from jtruth import _host
from jtruth._one_line import one_line
from jtruth.labels import Labels


class Kinds(NamedTuple):
    """Rows of labels and how many samples have each; NumPy."""

    code: Int[np.ndarray, " labels"]  # labels of row 0, then of row 1, ...; increasing within a row
    length: Int[np.ndarray, " kinds"]  # labels of each row
    number: Int[np.ndarray, " kinds"]  # samples of each row

    __repr__ = one_line

    def labels(self, num_labelers: int, num_classes: int) -> Labels:
        """One sample for each row."""
        row = np.repeat(np.arange(self.length.size, dtype=np.int32), self.length)
        labeler, label = np.divmod(self.code, num_classes)
        return Labels(row, labeler, label, self.length.size, num_labelers, num_classes)


def rows_of(labels: Labels) -> Kinds:
    """Every sample of the labels as a row of its own, in the order of the samples."""
    sample, labeler, label = labels.entries()
    code = labeler * labels.num_classes + label
    order = np.argsort(sample * (labels.num_labelers * labels.num_classes) + code, kind="stable")
    length = np.bincount(sample, minlength=labels.num_samples).astype(np.int32)
    return Kinds(code[order].astype(np.int32), length, np.ones(length.size, np.int64))


def merged_kinds(rows: Kinds) -> tuple[Kinds, Int[np.ndarray, " rows"]]:
    """Equal rows made one, rows of number 0 left out; and the new row of each old one (-1 if left out)."""
    start = np.cumsum(rows.length) - rows.length
    mark = _hash(rows.code, start, rows.length)
    order = np.argsort(mark, kind="stable")
    opens = np.ones(order.size, bool)
    opens[1:] = mark[order[1:]] != mark[order[:-1]]
    first = np.empty(order.size, np.int64)  # the first row of the same hash
    first[order] = order[opens][np.cumsum(opens) - 1]
    first = np.where(_same(rows, start, first), first, np.arange(order.size))
    number = np.bincount(first, rows.number, order.size).astype(np.int64)
    kept = np.flatnonzero(number > 0)
    new = np.full(order.size, -1, np.int64)
    new[kept] = np.arange(kept.size)
    code = rows.code[stretches(start[kept], rows.length[kept])]
    return Kinds(code, rows.length[kept], number[kept]), new[first]


def posterior_of(kinds: Kinds, prior: np.ndarray, matrices: np.ndarray) -> Float[np.ndarray, "kinds classes"]:
    """p(class | labels) of each row."""
    labels = kinds.labels(len(matrices), prior.size)
    joint = _host.labels_log_likelihood(matrices, *labels.arrays, labels.num_samples) + _host.log(prior)
    return softmax(joint, axis=1)


def expected_counts(
    kinds: Kinds, posterior: Float[np.ndarray, "kinds classes"], num_labelers: int
) -> tuple[
    Float[np.ndarray, "labelers classes classes"], Float[np.ndarray, "labelers classes classes classes"]
]:
    """For each labeler and label k: the sum of rho[c] as [t, c, k], and of rho[c] rho[d] as [t, k, c, d]."""
    classes = posterior.shape[1]
    row, size = np.repeat(np.arange(kinds.length.size), kinds.length), num_labelers * classes
    mass = kinds.number[:, None] * posterior
    counts, products = np.empty((size, classes)), np.empty((size, classes, classes))
    for c in range(classes):
        counts[:, c] = np.bincount(kinds.code, mass[row, c], size)
        for d in range(c, classes):
            products[:, c, d] = np.bincount(kinds.code, (mass[:, c] * posterior[:, d])[row], size)
            products[:, d, c] = products[:, c, d]
    shape = (num_labelers, classes, classes)
    return counts.reshape(shape).swapaxes(1, 2), products.reshape(*shape, classes)


def stretches(
    start: Int[np.ndarray, " rows"], length: Int[np.ndarray, " rows"]
) -> Int[np.ndarray, " labels"]:
    """start[0], start[0] + 1, ... for length[0] places, then start[1], ..."""
    ends = np.cumsum(length)
    return np.arange(ends[-1] if ends.size else 0) + np.repeat(start - (ends - length), length)


def _hash(code: np.ndarray, start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """64 bits for each row: the sum of its scrambled codes (the last steps of splitmix64), 0 for none."""
    x = (code.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(x ^ (x >> np.uint64(31)), dtype=np.uint64)])
    return total[start + length] - total[start]  # sums wrap around, and so do their differences


def _same(rows: Kinds, start: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Whether each row holds the same labels as row `other` of the same set."""
    alike = rows.length == rows.length[other]
    look = np.flatnonzero(alike & (other != np.arange(other.size)))
    mine = stretches(start[look], rows.length[look])
    theirs = stretches(start[other[look]], rows.length[look])
    wrong = rows.code[mine] != rows.code[theirs]
    alike[np.repeat(look, rows.length[look])[wrong]] = False
    return alike
