"""How EM sees labels: by columns, with equal samples merged and sizes rounded up.

The long form is the right form to read and check, and a slow one to sum over. Here entry (l, r) of `code` is
the l-th label of row r as one number: labeler * classes + label, or labelers * classes for no label. A row is
a sample. Two things are done to make rows few and programs reusable:

- samples with the same labels by the same labelers (and the same known class) become one row with a weight;
  five dentists who looked at 3869 X-rays wrote 32 patterns;
- sizes are rounded up (at most by a quarter, large ones by a 16th), so that a second data set of about the
  same size finds the compiled program of the first. Padding has weight 0 and no labels.

Where a few samples have far more labels than the rest, filling up every row to the longest would waste
memory; then a sample takes several rows, and `sample` says which rows belong together.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from jtruth import _host
from jtruth import _validation as check
from jtruth._one_line import one_line
from jtruth._random import host_rng
from jtruth.labels import Labels

_LOOK = 5000  # samples that show whether many are equal
_MOST_PADDING = 4  # cells per label, above which long samples are split into several rows


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


def columns_from_matrix(
    z: Int[Array | np.ndarray, "samples labelers"], num_classes: int, *, dtype: Any = float
) -> LabelColumns:
    """Columns of a label matrix with -1 for no label; pure, for use under jit and vmap."""
    z = jnp.asarray(z, jnp.int32)
    labelers = z.shape[1]
    code = jnp.arange(labelers, dtype=jnp.int32)[None, :] * num_classes + z
    code = jnp.where(z >= 0, code, labelers * num_classes).T
    return LabelColumns(code, jnp.ones(z.shape[0], dtype), jnp.full(z.shape[0], -1, jnp.int32))


def columns_from_labels(
    labels: Labels, *, gold: np.ndarray | None = None, num_labelers: int | None = None, merge: bool = True
) -> tuple[LabelColumns, np.ndarray]:
    """NumPy columns, and for every sample of `labels` the number of the row of results that belongs to it.

    Args:
        labels: the labels; -1 entries are left out.
        gold: (samples,) known classes, -1 where unknown.
        num_labelers: count labelers up to this number, which sets the code of "no label".
        merge: merge equal samples where that at least halves their number.
    """
    size, classes = labels.num_samples, labels.num_classes
    nothing = (num_labelers or labels.num_labelers) * classes
    sample, code, per_sample = _sorted_entries(labels)
    known = np.full(size, -1, np.int32) if gold is None else np.asarray(gold, np.int32)
    index = np.int32 if sample.size < 2**31 else np.int64
    place = np.arange(sample.size, dtype=index)  # to become 0, 1, ... in each sample
    place -= (np.cumsum(per_sample) - per_sample).astype(index)[sample]
    width = max(int(per_sample.max(initial=0)), 1)
    if width * size > _MOST_PADDING * max(sample.size, size):
        width = max(-(-sample.size // size), 1)
        rows_of = np.maximum(-(-per_sample // width), 1)
        row = (np.cumsum(rows_of) - rows_of)[sample] + place // width
        dense = _fill((int(rows_of.sum()), width), row, place % width, code, nothing)
        owner = np.repeat(np.arange(size, dtype=np.int32), rows_of)
        return _pad(LabelColumns(dense, np.ones(size), known, owner), nothing), np.arange(size)
    dense = _fill((size, width), sample, place, code, nothing)
    first = inverse = np.arange(size)
    if merge and _many_equal(np.column_stack([dense, known])[:: max(size // _LOOK, 1)]):
        kinds, kind, _ = check.collapse_rows(np.column_stack([dense, known]))
        if 2 * kinds.size <= size:
            first, inverse = kinds, kind
    weight = np.bincount(inverse, minlength=first.size).astype(np.float64)
    return _pad(LabelColumns(dense[first], weight, known[first]), nothing), inverse


def _many_equal(rows: np.ndarray) -> bool:
    """Whether merging may be worth a pass over all samples, judged by 5000 of them (always by fewer).

    Where hardly any of these has an equal no row is frequent, and a pass would find next to nothing.
    """
    return len(rows) < _LOOK or len(check.collapse_rows(rows)[0]) < 0.99 * len(rows)


def starting_shares(columns: LabelColumns, num_classes: int, trust: np.ndarray) -> np.ndarray:
    """Where EM starts: each sample's vote shares, a vote counting as much as its labeler is trusted. NumPy.

    A sample without votes gets the shares of all votes, and one of a known class that class.
    """
    size, nothing = columns.weight.size, trust.size * num_classes
    sample = np.arange(size) if columns.sample is None else columns.sample
    votes = np.zeros(size * num_classes)
    for code in columns.code:
        given = code != nothing
        labeler, label = np.divmod(code[given], num_classes)
        votes += np.bincount(sample[given] * num_classes + label, trust[labeler], votes.size)
    votes = votes.reshape(size, num_classes)
    pooled = columns.weight @ votes
    pooled = pooled if pooled.any() else np.ones(num_classes)  # a shard without rows
    shares = _host.vote_shares(votes, pooled / pooled.sum())
    return np.where(columns.known[:, None] < 0, shares, np.arange(num_classes) == columns.known[:, None])


def random_trust(key: Any, number: int, num_labelers: int) -> np.ndarray:
    """Positive weights of labelers that differ a lot; NumPy, so that nothing is compiled for them."""
    rng = host_rng(key, "restart", number)
    return rng.standard_exponential(num_labelers) ** 2 + 1e-6


def _sorted_entries(labels):
    """Entries in order of sample, then code, so that equal samples give equal rows; and labels per sample."""
    sample, labeler, label = labels.entries(None)
    code = labeler.astype(np.int32) * np.int32(labels.num_classes) + label.astype(np.int32)
    per_sample = np.bincount(sample, minlength=labels.num_samples)
    same = sample[1:] == sample[:-1]
    if ((sample[1:] > sample[:-1]) | (same & (code[1:] >= code[:-1]))).all():
        return sample, code, per_sample
    order = np.argsort(
        sample.astype(np.int64) * (labels.num_labelers * labels.num_classes) + code, kind="stable"
    )
    return sample[order], code[order], per_sample


def _fill(shape, row, column, code, nothing):
    dense = np.full(shape, nothing, np.int32)
    dense[row, column] = code
    return dense


def _pad(columns, nothing):
    """Round the sizes up; `code` becomes (width, rows), C-contiguous."""
    rows, width = columns.code.shape
    more_rows, more = bucket(rows) - rows, bucket(columns.weight.size) - columns.weight.size
    code = np.pad(columns.code, ((0, 0), (0, bucket(width) - width)), constant_values=nothing).T
    return longer(columns._replace(code=code), more_rows, more, nothing)


def longer(columns: LabelColumns, more_rows: int, more: int, nothing: int) -> LabelColumns:
    """`more_rows` rows without labels and `more` samples of weight 0 at the end."""
    code = np.pad(columns.code, ((0, 0), (0, more_rows)), constant_values=nothing)
    return LabelColumns(
        np.ascontiguousarray(code),
        np.pad(columns.weight, (0, more)),
        np.pad(columns.known, (0, more), constant_values=-1),
        None if columns.sample is None else np.pad(columns.sample, (0, more_rows)),
    )
