"""Equal samples as one row: labels, predictions and gold, merged; and rows as arrays for `density`.

A program is compiled for each number of rows, so rows are filled up to a few sizes.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from jtruth import _validation as check
from jtruth.labels import Labels
from jtruth.latent.density import Seen, numbers
from jtruth.latent.model import Observed

_IMPOSSIBLE = -1e30  # a log probability that float32 can subtract from itself
_GROUPS = 5  # of samples by their number of labels, at most


class Rows(NamedTuple):
    """Labels, predictions and gold classes with equal samples merged."""

    labels: Labels  # one sample per row
    y_pred: np.ndarray  # (rows,) -1 where there is none
    gold: np.ndarray  # (rows,) -1 where unknown
    multiplicity: np.ndarray  # (rows,)
    row_of_sample: np.ndarray  # (samples,)


def merge_samples(labels: Labels, y_pred: np.ndarray | None, gold: np.ndarray | None) -> Rows:
    """Samples with the same labels by the same labelers, prediction and gold class as one."""
    given = [np.asarray(a, np.int64) for a in (y_pred, gold) if a is not None]
    first, row, count = equal_rows(np.column_stack([labels.patterns().inverse, *given]))
    unknown = np.full(labels.num_samples, -1, np.int64)
    extra = [unknown if a is None else np.asarray(a, np.int64) for a in (y_pred, gold)]
    return Rows(replace(labels, tasks=None).restrict(first), extra[0][first], extra[1][first], count, row)


def equal_rows(table: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `collapse_rows`, with the rows that occur once first: the sampler draws them in a cheaper way."""
    first, kind, count = check.collapse_rows(table)
    order = np.argsort(count > 1, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return first[order], place[kind], count[order]


def groups_by_number(labels: Labels, rows: Rows) -> np.ndarray:
    """(rows,) 0..V-1: rows with equally many labels are a group, at most `_GROUPS` of about equal sizes."""
    number = labels.labels_per_sample()
    first = np.zeros(rows.multiplicity.size, np.int64)
    first[rows.row_of_sample] = number
    ends = np.unique(number)
    if ends.size > _GROUPS:
        ends = np.unique(np.quantile(number, np.arange(1, _GROUPS + 1) / _GROUPS, method="higher"))
    return np.unique(np.searchsorted(ends, first), return_inverse=True)[1].ravel()


def label_columns(labels: Labels) -> sparse.csr_array:
    """(samples, labelers * classes) how often each labeler gave each class to each sample."""
    sample, labeler, label = labels.entries()
    shape = (labels.num_samples, labels.num_labelers * labels.num_classes)
    place = sample, labeler * labels.num_classes + label
    return sparse.csr_array((np.ones(label.size), place), shape=shape)


def gold_offset(gold: np.ndarray, state_class: np.ndarray) -> np.ndarray:
    """(states, rows): 0 where the state may be, -inf where its class is not the gold class."""
    wrong = (gold[None, :] >= 0) & (gold[None, :] != state_class[:, None])
    return np.where(wrong, -np.inf, 0.0)


def prediction_columns(y_pred: np.ndarray, num_symbols: int) -> sparse.csr_array:
    """(samples, symbols) one-hot; a row without a prediction is empty."""
    rows = np.flatnonzero(y_pred >= 0)
    return sparse.csr_array((np.ones(rows.size), (rows, y_pred[rows])), shape=(y_pred.size, num_symbols))


def seen_of(observed: Observed) -> Seen:
    """The rows as float32 arrays."""
    groups = number_of_groups(observed)
    group = np.zeros(observed.multiplicity.size, np.int64) if observed.group is None else observed.group
    design = np.concatenate([*(s.toarray() for s in observed.symbols), np.eye(groups)[group]], axis=1)
    times = observed.multiplicity
    parts = (design, np.maximum(observed.offset.T, _IMPOSSIBLE), times, np.log(times / times.sum()))
    fill = rounded(times.size) - times.size  # rows that stand for nothing
    return Seen(*(np.pad(a, [(0, fill), *[(0, 0)] * (a.ndim - 1)]).astype(np.float32) for a in parts))


def work_of(observed: Observed) -> float:
    """Numbers that one evaluation of the density of one point computes."""
    shapes: Any = [symbols.shape for symbols in observed.symbols]
    columns = sum(width for _, width in shapes) + number_of_groups(observed)
    return numbers((rounded(observed.multiplicity.size), len(observed.offset)), columns)


def number_of_groups(observed: Observed) -> int:
    """Groups of samples with a class prior of their own."""
    return 1 if observed.group is None else int(observed.group.max(initial=0)) + 1


def rounded(rows: int) -> int:
    """The next of 32, 48, 64, 96, 128, ..."""
    size = 32
    while size < rows:
        size = size * 3 // 2 if size & (size - 1) == 0 else size * 4 // 3
    return size
