"""Labels as EM reads them: equal samples are one row, rows are columns of an array, sizes are rounded up.

`CodedPatterns` are the distinct rows and the number of samples of each, sufficient for Dawid and Skene's
model. A row is a stretch of `code` (labeler * classes + label, in increasing order), so that rows of two sets
can be merged without decoding them.

In `LabelColumns` entry (l, r) of `code` is the l-th label of row r, or labelers * classes for no label. Sizes
are rounded up (at most by a quarter, large ones by a 16th), so that compiled programs are reused; padding has
weight 0. A sample with far more labels than the rest takes several rows, with its number in `sample`.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from jtruth import _host
from jtruth._arrays import AnyArray
from jtruth._one_line import one_line
from jtruth._validation import collapse_rows
from jtruth.labels import Labels
from jtruth.latent.rows import merge_samples

_MOST_PADDING = 4  # cells per label, above which long samples are split into several rows


class CodedPatterns(NamedTuple):
    """Rows of labels and how many samples have each; NumPy."""

    code: Int[np.ndarray, " labels"]  # labels of row 0, then of row 1, ...; increasing within a row
    length: Int[np.ndarray, " patterns"]  # labels of each row
    number: Int[np.ndarray, " patterns"]  # samples of each row

    __repr__ = one_line

    def codes(self, rows: Int[np.ndarray, " some"]) -> Int[np.ndarray, " labels"]:
        """The labels of some rows, one row after the other."""
        start = np.cumsum(self.length) - self.length
        return self.code[_stretches(start[rows], self.length[rows])]

    def labels(self, num_labelers: int, num_classes: int) -> Labels:
        """One sample for each row."""
        row = np.repeat(np.arange(self.length.size, dtype=np.int32), self.length)
        labeler, label = np.divmod(self.code, num_classes)
        return Labels(row, labeler, label, self.length.size, num_labelers, num_classes)


def rows_of(labels: Labels) -> CodedPatterns:
    """Every sample of the labels as a row of its own, in the order of the samples."""
    sample, labeler, label = labels.entries(None)
    code = labeler.astype(np.int32) * np.int32(labels.num_classes) + label.astype(np.int32)
    length = np.bincount(sample, minlength=labels.num_samples).astype(np.int32)
    same = sample[1:] == sample[:-1]
    if not ((sample[1:] > sample[:-1]) | (same & (code[1:] >= code[:-1]))).all():
        place = sample.astype(np.int64) * (labels.num_labelers * labels.num_classes) + code
        code = code[np.argsort(place, kind="stable")]
    return CodedPatterns(code, length, np.ones(length.size, np.int64))


def merge_patterns(rows: CodedPatterns) -> tuple[CodedPatterns, Int[np.ndarray, " rows"]]:
    """Equal rows made one, rows of number 0 left out; and the new row of each old one (-1 if left out)."""
    start, order = np.cumsum(rows.length) - rows.length, np.argsort(rows.length, kind="stable")
    first = np.empty(order.size, np.int64)  # the first row that is equal to each
    for some in np.split(order, np.flatnonzero(np.diff(rows.length[order])) + 1):
        table = rows.code[_stretches(start[some], rows.length[some])]
        one, same, _ = collapse_rows(table.reshape(some.size, rows.length[some].max(initial=0)))
        first[some] = some[one[same]]
    number = np.bincount(first, rows.number, order.size).astype(np.int64)
    kept = np.flatnonzero(number > 0)
    new = np.full(order.size, -1, np.int64)
    new[kept] = np.arange(kept.size)
    return CodedPatterns(rows.codes(kept), rows.length[kept], number[kept]), new[first]


def posterior_of(
    patterns: CodedPatterns, prior: np.ndarray, matrices: np.ndarray
) -> Float[np.ndarray, "patterns classes"]:
    """p(class | labels) of each row."""
    labels = patterns.labels(len(matrices), prior.size)
    joint = _host.labels_log_likelihood(matrices, *labels.arrays, labels.num_samples) + _host.log(prior)
    return softmax(joint, axis=1)


def expected_counts(
    patterns: CodedPatterns, posterior: Float[np.ndarray, "patterns classes"], num_labelers: int
) -> tuple[
    Float[np.ndarray, "labelers classes classes"], Float[np.ndarray, "labelers classes classes classes"]
]:
    """For each labeler and label k: the sum of rho[c] as [t, c, k], and of rho[c] rho[d] as [t, k, c, d]."""
    classes = posterior.shape[1]
    row, size = np.repeat(np.arange(patterns.length.size), patterns.length), num_labelers * classes
    mass = patterns.number[:, None] * posterior
    counts, products = np.empty((size, classes)), np.empty((size, classes, classes))
    for c in range(classes):
        counts[:, c] = np.bincount(patterns.code, mass[row, c], size)
        for d in range(c, classes):
            products[:, c, d] = np.bincount(patterns.code, (mass[:, c] * posterior[:, d])[row], size)
            products[:, d, c] = products[:, c, d]
    shape = (num_labelers, classes, classes)
    return counts.reshape(shape).swapaxes(1, 2), products.reshape(*shape, classes)


def _stretches(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """start[0], start[0] + 1, ... for length[0] places, then start[1], ..."""
    ends = np.cumsum(length)
    return np.arange(ends[-1] if ends.size else 0) + np.repeat(start - (ends - length), length)


class LabelColumns(NamedTuple):
    """Labels by columns. The entries are NumPy or JAX arrays."""

    code: Any  # (width, rows) int: labeler * classes + label; labelers * classes is no label
    weight: Any  # (samples,) float: how many samples of the data this one stands for
    known: Any  # (samples,) int: the class where it is known, -1 elsewhere
    sample: Any = None  # (rows,) int: sample of each row; None when row r is sample r

    __repr__ = one_line


def bucket(size: int) -> int:
    """The size rounded up: four sizes from one power of 2 to the next, above 4096 sixteen, up to 8 each."""
    size = int(size)
    if size <= 8:
        return max(size, 1)
    step = 2 ** ((size - 1).bit_length() - (3 if size <= 4096 else 5))
    return -(-size // step) * step


def columns_from_matrix(z: Int[AnyArray, "samples labelers"], num_classes: int) -> LabelColumns:
    """Columns of a label matrix with -1 for no label; pure, for use under jit and vmap."""
    z = jnp.asarray(z, jnp.int32)
    labelers = z.shape[1]
    code = jnp.arange(labelers, dtype=jnp.int32)[None, :] * num_classes + z
    code = jnp.where(z >= 0, code, labelers * num_classes).T
    return LabelColumns(code, jnp.ones(z.shape[0], float), jnp.full(z.shape[0], -1, jnp.int32))


def columns_from_labels(
    labels: Labels, *, gold: np.ndarray | None = None, num_labelers: int | None = None, merge: bool = True
) -> tuple[LabelColumns, np.ndarray]:
    """NumPy columns, and the number of the row of results of every sample of `labels`.

    Args:
        labels: the labels; -1 entries are left out.
        gold: (samples,) known classes, -1 where unknown.
        num_labelers: count labelers up to this number, which sets the code of "no label".
        merge: merge equal samples (of the same known class) where that at least halves their number.
    """
    nothing = (num_labelers or labels.num_labelers) * labels.num_classes
    if merge and 2 * labels.patterns().counts.size <= labels.num_samples:
        rows = merge_samples(labels, None, gold)
        if 2 * rows.multiplicity.size <= labels.num_samples:
            patterns = rows_of(rows.labels)._replace(number=rows.multiplicity)
            return columns_of(patterns, rows.gold.astype(np.int32), nothing), rows.row_of_sample
    known = np.full(labels.num_samples, -1, np.int32) if gold is None else np.asarray(gold, np.int32)
    return columns_of(rows_of(labels), known, nothing), np.arange(labels.num_samples)


def columns_of(rows: CodedPatterns, known: Int[np.ndarray, " rows"], nothing: int) -> LabelColumns:
    """Rows by columns, NumPy; `nothing` is the code of no label."""
    size, number = rows.length.size, rows.code.size
    owner, width = None, max(int(rows.length.max(initial=0)), 1)
    if width * size > _MOST_PADDING * max(number, size):
        width = max(-(-number // size), 1)
        owner = np.repeat(np.arange(size, dtype=np.int32), np.maximum(-(-rows.length // width), 1))
    index = np.int32 if number < 2**31 else np.int64
    place = np.arange(number, dtype=index)  # to become 0, 1, ... in each sample
    place -= np.repeat((np.cumsum(rows.length) - rows.length).astype(index), rows.length)
    first = np.arange(size) if owner is None else np.searchsorted(owner, np.arange(size))
    dense = np.full((size if owner is None else owner.size, width), nothing, np.int32)
    dense[np.repeat(first, rows.length) + place // width, place % width] = rows.code
    more_rows, more = bucket(len(dense)) - len(dense), bucket(size) - size
    code = np.pad(dense, ((0, 0), (0, bucket(width) - width)), constant_values=nothing).T
    return longer(LabelColumns(code, rows.number.astype(np.float64), known, owner), more_rows, more, nothing)


def longer(columns: LabelColumns, more_rows: int, more: int, nothing: int) -> LabelColumns:
    """`more_rows` rows without labels and `more` samples of weight 0 at the end."""
    code = np.pad(columns.code, ((0, 0), (0, more_rows)), constant_values=nothing)
    return LabelColumns(
        np.ascontiguousarray(code),
        np.pad(columns.weight, (0, more)),
        np.pad(columns.known, (0, more), constant_values=-1),
        None if columns.sample is None else np.pad(columns.sample, (0, more_rows)),
    )
