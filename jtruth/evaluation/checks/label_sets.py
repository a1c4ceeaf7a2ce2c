"""Label sets side by side, the observed one and many simulated ones, and Dawid and Skene's EM for all.

Who labelled what is fixed; a simulated set differs from the observed one in the labels only. Where few
patterns of labels are possible, a row stands for all samples with one pattern (by the same raters and, with
gold, of the same class), and simulated sets differ in how many samples each row has. Otherwise a row is a
sample.

The EM is NumPy: all sets share one sparse matrix with a block for each, so that a step costs two sparse
products. Every simulated set starts at the parameters it was drawn from, a standard error away from its own
mode, and every second pair of steps is lengthened (SQUAREM), each set by its own factor; a set whose
likelihood would fall goes on from plain EM. `tests` compare the modes with `fit_dawid_skene`.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from jtruth import _validation as check
from jtruth._host import log
from jtruth._iterate import squarem
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


PSEUDO_COUNT = 0.01  # to every probability: keeps them off 0, and is otherwise maximum likelihood
_LONGEST = 16.0  # jump, where 1 is a step of EM


class Fitted(NamedTuple):
    """Modes of label sets. Rows are those of the design."""

    parameters: Parameters
    posterior: np.ndarray  # (sets, rows, classes) p(class | labels, parameters)
    log_p: np.ndarray  # (sets, rows) log p(labels of the row, and its known class | parameters)
    moved: np.ndarray  # (sets,) largest change of a probability by the last plain EM step


class Modes:
    """EM for label sets that share a design.

    `prior` holds the class prior fixed; `alike` gives all raters but the last, the classifier, one matrix.
    """

    def __init__(self, sets: Sets, prior: np.ndarray | None = None, *, alike: bool = False):
        design, (num, entries) = sets.design, sets.label.shape
        self.sets, self.prior, self.alike = sets, prior, alike
        self.shape = (num, design.known.size, design.num_raters, design.num_classes)
        _, rows, raters, classes = self.shape
        dtype = np.int32 if num * max(entries, raters * classes) < 2**31 else np.int64
        column = design.rater * classes + sets.label + np.arange(num)[:, None] * (raters * classes)
        starts = np.arange(num)[:, None] * entries + design.first
        pointer = np.append(starts.ravel(), num * entries).astype(dtype)
        self.given = sparse.csr_array(
            (np.ones(num * entries), column.ravel().astype(dtype), pointer),
            shape=(num * rows, num * raters * classes),
        )
        self.total = (self.given.T @ sets.weight.ravel()).reshape(num, raters, 1, classes)
        unknown = (design.known < 0)[:, None]
        self.offset = np.where(unknown | (design.known[:, None] == np.arange(classes)), 0.0, -np.inf)

    def posterior(self, at: Parameters) -> tuple[np.ndarray, np.ndarray]:
        """E step: class posterior and log probability of every row."""
        num, rows, raters, classes = self.shape
        log_psi = log(at.matrices).transpose(0, 1, 3, 2).reshape(num * raters * classes, classes)
        joint = (self.given @ log_psi).reshape(num, rows, classes)
        joint += log(at.prior)[:, None, :] + self.offset
        top = joint.max(axis=2)
        joint -= top[:, :, None]
        np.exp(joint, out=joint)
        mass = joint.sum(axis=2)
        joint /= mass[:, :, None]
        return joint, np.log(mass) + top

    def parameters(self, posterior: np.ndarray) -> Parameters:
        """M step, with pseudo-counts."""
        num, rows, raters, classes = self.shape
        weighted = posterior * self.sets.weight[:, :, None]
        counts = (self.given.T @ weighted.reshape(num * rows, classes)).reshape(num, raters, classes, classes)
        if self.alike:
            counts[:, :-1] = counts[:, :-1].sum(axis=1, keepdims=True)
        matrices = counts.transpose(0, 1, 3, 2) + PSEUDO_COUNT
        share = weighted.sum(axis=1) + PSEUDO_COUNT
        prior = np.broadcast_to(self.prior, share.shape) if self.prior is not None else _normal(share)
        return Parameters(prior, _normal(matrices))

    def fit(self, start: Parameters, *, max_cycles: int = 10, tol: float = 2e-4) -> Fitted:
        """Modes near `start`, which is broadcast to all sets. A cycle is three EM steps."""
        num = self.shape[0]
        theta = Parameters(*(np.broadcast_to(a, (num, *a.shape[1:])) for a in start))
        moved = np.full(num, np.inf)
        for _ in range(max_cycles):
            one, _ = self._step(theta)
            two, log_two = self._step(one)
            far = _jump(theta, one, two)
            after, log_far = self._step(far)
            worse = ~(log_far >= log_two)
            theta = Parameters(*(np.where(_like(worse, b), b, a) for a, b in zip(after, two, strict=True)))
            moved = np.max(
                [np.abs(b - a).reshape(num, -1).max(axis=1) for a, b in zip(one, two, strict=True)], 0
            )
            if moved.max() < tol:
                break
        return Fitted(theta, *self.posterior(theta), moved)

    def _step(self, theta: Parameters) -> tuple[Parameters, np.ndarray]:
        """One EM step, and the log likelihood of where it started."""
        posterior, log_p = self.posterior(theta)
        return self.parameters(posterior), (self.sets.weight * log_p).sum(axis=1)


def _jump(zero: Parameters, one: Parameters, two: Parameters) -> Parameters:
    """Further along the way of two EM steps, kept inside the simplex."""
    far, _ = squarem(zero, one, two, _LONGEST, batch=1)
    return Parameters(*(_normal(np.maximum(a, 1e-9)) for a in far))


def _like(values: np.ndarray, array: np.ndarray) -> np.ndarray:
    """(sets,) with further axes of size 1."""
    return values.reshape(-1, *[1] * (array.ndim - 1))


def _normal(array: np.ndarray) -> np.ndarray:
    return array / array.sum(axis=-1, keepdims=True)
