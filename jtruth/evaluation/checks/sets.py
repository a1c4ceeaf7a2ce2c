"""Label sets for the checks: the observed one and many simulated ones side by side, all of one design.

Who labelled what is fixed; a simulated set differs from the observed one in the labels only. Where few
patterns of labels are possible, a row stands for all samples with one pattern (by the same raters and, with
gold, of the same class), and simulated sets differ in how many samples each row has. Otherwise a row is a
sample.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from jtruth import _validation as check
from jtruth._one_line import one_line
from jtruth.labels import Labels


class Design(NamedTuple):
    """Who labelled what. Entries are sorted by row, and every row has one at least."""

    row: np.ndarray  # (entries,)
    rater: np.ndarray  # (entries,)
    known: np.ndarray  # (rows,) class where it is known, -1 elsewhere
    num_raters: int
    num_classes: int
    kind: np.ndarray | None  # (rows,) raters and known class, where rows are patterns; else None
    kind_size: np.ndarray | None  # (kinds,) samples of each kind
    order: np.ndarray | None = None  # (entries,) when each label was given, between -1 and 1

    @property
    def first(self) -> np.ndarray:
        """First entry of each row."""
        return np.flatnonzero(np.diff(self.row, prepend=-1))

    @property
    def num_samples(self) -> int:
        """Number of samples, whatever the rows are."""
        return self.known.size if self.kind_size is None else int(self.kind_size.sum())

    def per_row(self, values: np.ndarray) -> np.ndarray:
        """Sums over the entries of each row, (..., entries) to (..., rows)."""
        return np.add.reduceat(values, self.first, axis=-1)

    def per_rater(self, values: np.ndarray) -> np.ndarray:
        """Sums over the entries of each rater, (sets, entries) to (sets, raters)."""
        return sum_by(values, self.rater, self.num_raters)


def sum_by(values: np.ndarray, group: np.ndarray, size: int) -> np.ndarray:
    """Sums of the columns of each group, (sets, columns) to (sets, groups)."""
    ones = np.ones(group.size)
    return (sparse.csr_array((ones, (group, np.arange(group.size))), shape=(size, group.size)) @ values.T).T


class Sets(NamedTuple):
    """Label sets of one design."""

    design: Design
    label: np.ndarray  # (sets, entries) class codes
    weight: np.ndarray  # (sets, rows) samples in each row

    def some(self, which: slice) -> "Sets":
        """A part of the sets."""
        return Sets(self.design, self.label[which], self.weight[which])


class Parameters(NamedTuple):
    """Class prior (sets, classes) and matrices (sets, raters, true classes, labels)."""

    prior: np.ndarray
    matrices: np.ndarray

    __repr__ = one_line


def observed(
    raters: Labels, gold: np.ndarray | None = None, order: np.ndarray | None = None, *, collapse: bool = True
) -> Sets:
    """The labels at hand as one set; every sample has a label. `order` for every sample."""
    sample, rater, label = (np.asarray(a, np.int64) for a in (raters.sample, raters.labeler, raters.label))
    given = np.flatnonzero(label >= 0)
    given = given[np.lexsort((rater[given], sample[given]))]
    sample, rater, label = sample[given], rater[given], label[given]
    known = np.full(raters.num_samples, -1, np.int64) if gold is None else np.asarray(gold, np.int64)
    when = None if order is None else order[sample]
    design = Design(sample, rater, known, raters.num_labelers, raters.num_classes, None, None, when)
    if collapse and order is None:
        merged = _collapse(design, label)
        if merged is not None:
            return merged
    return Sets(design, label[None], np.ones((1, raters.num_samples)))


def _collapse(design: Design, label: np.ndarray) -> Sets | None:
    """Rows for all patterns that are possible, if there are no more of them than samples."""
    size, classes = design.known.size, design.num_classes
    table = check.padded_rows(design.row, design.rater, size)
    first, kind, kind_size = check.collapse_rows(np.column_stack([table, design.known]))
    length = (table[first] >= 0).sum(axis=1)
    if (length * np.log(classes)).max() > np.log(size) or (classes**length).sum() > size:
        return None
    place = np.arange(design.row.size) - design.first[design.row]
    code = np.zeros(size, np.int64)
    np.add.at(code, design.row, label * classes**place)
    patterns = classes**length
    start = np.cumsum(patterns) - patterns
    weight = np.bincount(start[kind] + code, minlength=patterns.sum()).astype(np.float64)
    row_kind = np.repeat(np.arange(first.size), patterns)
    number = np.arange(patterns.sum()) - start[row_kind]
    row = np.repeat(np.arange(row_kind.size), length[row_kind])
    begin = np.cumsum(length[row_kind]) - length[row_kind]
    place = np.arange(row.size) - begin[row]
    new = design._replace(
        row=row,
        rater=table[first][row_kind[row], place],
        known=design.known[first][row_kind],
        kind=row_kind,
        kind_size=kind_size,
    )
    return Sets(new, (number[row] // classes**place % classes)[None], weight[None])


def simulate(
    sets: Sets, fitted: Parameters, probability: np.ndarray, num: int, rng: np.random.Generator
) -> Sets:
    """Label sets drawn from the model with parameters `fitted` (one set), of the design of `sets`.

    Args:
        sets: the observed set.
        fitted: parameters of that one set.
        probability: (rows,) of each pattern given its kind; used where rows are patterns.
        num: how many sets.
        rng: source of randomness.
    """
    design = sets.design
    if design.kind is not None and design.kind_size is not None:
        weight = np.empty((num, design.known.size))
        for k, size in enumerate(design.kind_size):
            rows = np.flatnonzero(design.kind == k)
            weight[:, rows] = rng.multinomial(size, probability[rows] / probability[rows].sum(), size=num)
        return Sets(design, np.broadcast_to(sets.label, (num, sets.label.shape[1])), weight)
    rows = design.known.size
    y = _draw(np.broadcast_to(fitted.prior[0], (num, rows, design.num_classes)), rng)
    y = np.where(design.known >= 0, design.known, y)
    of_label = fitted.matrices[0][design.rater[None, :], y[:, design.row]]
    return Sets(design, _draw(of_label, rng), np.ones((num, rows)))


def _draw(probabilities: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One class from each row of (..., classes) probabilities."""
    u = rng.random(probabilities.shape[:-1])
    if probabilities.shape[-1] == 2:
        return (u < probabilities[..., 1]).astype(np.int64)
    below = np.cumsum(probabilities[..., :-1], axis=-1)
    return (u[..., None] >= below).sum(axis=-1)
