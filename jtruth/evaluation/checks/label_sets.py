"""The observed label set and simulated ones as one array, and Dawid and Skene's EM for all of them.

If few patterns of labels are possible, a row stands for all samples with one pattern (by the same raters and,
with gold, of the same class), and sets differ in the number of samples of each row. Otherwise a row is a
sample. All sets share one sparse matrix with a block for each. Pairs of steps of EM are extrapolated
(SQUAREM), each set by its own factor; a set whose likelihood would fall continues from plain EM.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from jtruth import _validation as check
from jtruth._host import across, log
from jtruth._iterate import squarem
from jtruth._one_line import one_line
from jtruth.labels import Labels

_USUAL = 4  # classes, beyond which a label counts as more
_LEAST_SHARED, _MAX_PAIRS, _MAX_RATERS = 5, 300, 1000  # samples in common; looked at
PSEUDO_COUNT = 0.01  # to every probability: keeps them off 0, and is otherwise maximum likelihood
_LONGEST = 16.0  # jump, where 1 is a step of EM


Parameters = tuple[np.ndarray, ...]  # prior (sets, classes), matrices (sets, raters, classes, labels)


_NONE = np.zeros(0)  # in a design to which nothing was fitted


@dataclass(frozen=True, repr=False)
class Sets:
    """Label sets of one design, sorted by row, with an entry in each row; and (from `modes`) their fits."""

    label: np.ndarray  # (sets, entries) class codes
    weight: np.ndarray  # (sets, rows) samples in each row
    row: np.ndarray  # (entries,)
    rater: np.ndarray  # (entries,)
    known: np.ndarray  # (rows,) class where it is known, -1 elsewhere
    num_raters: int
    num_classes: int
    kind: np.ndarray | None = None  # (rows,) raters and known class, where rows are patterns
    kind_size: np.ndarray = field(default_factory=_NONE.copy)  # (kinds,) samples of each kind
    # Pairs of raters who share most samples, (pairs, 2); and of every meeting of such a pair in a sample,
    # which pair and both entries, (3, meetings). By `with_pairs`.
    pairs: np.ndarray = field(default_factory=_NONE.copy)
    met: np.ndarray = field(default_factory=_NONE.copy)
    prior: np.ndarray = field(default_factory=_NONE.copy)  # these two are `Parameters`
    matrices: np.ndarray = field(default_factory=_NONE.copy)
    # p(class | labels, parameters), (sets, rows, classes); log p(labels of a row, and its known class |
    # parameters), (sets, rows)
    posterior: np.ndarray = field(default_factory=_NONE.copy)
    log_p: np.ndarray = field(default_factory=_NONE.copy)
    fixed: np.ndarray | None = None  # (classes,) class prior, if it was fixed

    __repr__ = one_line

    @property
    def parameters(self) -> Parameters:
        """Prior and matrices, from which sets are simulated and fits start."""
        return self.prior, self.matrices

    @property
    def first(self) -> np.ndarray:
        """First entry of each row."""
        return np.flatnonzero(np.diff(self.row, prepend=-1))

    @property
    def size(self) -> int:
        """Cost of a set: labels, or rows of matrices, times a factor for many classes."""
        number = max(self.row.size, self.num_raters * self.num_classes)
        return int(number * max(self.num_classes / _USUAL, 1))

    def per_row(self, values: np.ndarray) -> np.ndarray:
        """Sums over the entries of each row, (..., entries) to (..., rows)."""
        return np.add.reduceat(values, self.first, axis=-1)

    def per_rater(self, values: np.ndarray) -> np.ndarray:
        """Sums over the entries of each rater, (sets, entries) to (sets, raters)."""
        return sum_by(values, self.rater, self.num_raters)

    @cached_property
    def mass(self) -> np.ndarray:
        """(classes, sets, rows) posterior times samples of the row."""
        return np.moveaxis(self.posterior, 2, 0) * self.weight

    @cached_property
    def entry(self) -> np.ndarray:
        """(classes, sets, entries) residuals."""
        right = np.einsum("stcc->cst", self.matrices)[:, :, self.rater]
        return np.stack([(self.label != c) - (1 - chance) for c, chance in enumerate(right)])

    @cached_property
    def classifier(self) -> np.ndarray:
        """(classes, sets, rows) residual of the classifier's label."""
        last = np.flatnonzero(self.rater == self.num_raters - 1)
        residual = np.zeros((*self.entry.shape[:2], self.known.size))
        residual[:, :, self.row[last]] = self.entry[:, :, last]
        return residual

    @cached_property
    def labelers(self) -> np.ndarray:
        """(classes, sets, rows) sum over the labelers' residuals."""
        return self.per_row(self.entry) - self.classifier


def sum_by(values: np.ndarray, group: np.ndarray, size: int) -> np.ndarray:
    """Sums of the columns of each group, (sets, columns) to (sets, groups)."""
    ones = np.ones(group.size)
    return (sparse.csr_array((ones, (group, np.arange(group.size))), shape=(size, group.size)) @ values.T).T


def observed(raters: Labels, gold: np.ndarray | None = None, *, collapse: bool = True) -> Sets:
    """The observed labels as one set; every sample has a label."""
    sample, rater, label = (a.astype(np.int64) for a in raters.entries())
    by_row = np.lexsort((rater, sample))
    sample, rater, label = sample[by_row], rater[by_row], label[by_row]
    known = np.full(raters.num_samples, -1, np.int64) if gold is None else np.asarray(gold, np.int64)
    sets = Sets(label[None], np.ones((1, raters.num_samples)), sample, rater, known, raters.num_labelers,
                raters.num_classes)  # fmt: skip
    return (_collapse(sets) if collapse else None) or sets


def with_classifier(labels: Labels, y_pred: np.ndarray) -> Labels:
    """The labels with the classifier as the last labeler."""
    number, last = labels.num_samples, labels.num_labelers
    predicted = (np.arange(number), np.full(number, last), y_pred)
    columns = zip((labels.sample, labels.labeler, labels.label), predicted, strict=True)
    sample, labeler, label = (np.concatenate(column).astype(np.int32) for column in columns)
    workers = (*labels.workers, "the classifier") if labels.workers else None
    size = (number, last + 1, labels.num_classes)
    return Labels(sample, labeler, label, *size, workers=workers, classes=labels.classes)


def _collapse(sets: Sets) -> Sets | None:
    """Rows for all possible patterns, if there are no more of them than samples."""
    size, classes = sets.known.size, sets.num_classes
    table = check.padded_rows(sets.row, sets.rater, size)
    first, kind, kind_size = check.collapse_rows(np.column_stack([table, sets.known]))
    length = (table[first] >= 0).sum(axis=1)
    if (length * np.log(classes)).max() > np.log(size) or (classes**length).sum() > size:
        return None
    place = np.arange(sets.row.size) - sets.first[sets.row]
    code = np.zeros(size, np.int64)
    np.add.at(code, sets.row, sets.label[0] * classes**place)
    patterns = classes**length
    start = np.cumsum(patterns) - patterns
    weight = np.bincount(start[kind] + code, minlength=patterns.sum()).astype(np.float64)
    row_kind = np.repeat(np.arange(first.size), patterns)
    number = np.arange(patterns.sum()) - start[row_kind]
    row = np.repeat(np.arange(row_kind.size), length[row_kind])
    begin = np.cumsum(length[row_kind]) - length[row_kind]
    place = np.arange(row.size) - begin[row]
    label = (number[row] // classes**place % classes)[None]
    rater, known = table[first][row_kind[row], place], sets.known[first][row_kind]
    kinds = {"kind": row_kind, "kind_size": kind_size}
    return replace(sets, label=label, weight=weight[None], row=row, rater=rater, known=known, **kinds)


def with_pairs(sets: Sets) -> Sets:
    """Add pairs of raters who share samples, among those with most labels."""
    weight = sets.weight[0][sets.row]
    load = np.bincount(sets.rater, weight, sets.num_raters)
    busy = np.sort(np.argsort(-load, kind="stable")[:_MAX_RATERS])
    place = np.full(sets.num_raters, -1)
    place[busy] = np.arange(busy.size)
    entries = np.flatnonzero(place[sets.rater] >= 0)
    cells = (sets.row[entries], place[sets.rater[entries]])
    present = sparse.csr_array((np.ones(entries.size), cells), shape=(sets.known.size, busy.size))
    weighted = sparse.csr_array((weight[entries], cells), shape=present.shape)
    shared = np.triu((present.T @ weighted).toarray(), 1).ravel()
    usable = np.flatnonzero(shared >= _LEAST_SHARED)
    chosen = np.sort(usable[np.argsort(-shared[usable], kind="stable")[:_MAX_PAIRS]])
    raters = np.stack([busy[chosen // busy.size], busy[chosen % busy.size]], axis=1)
    of_rater = {t: np.flatnonzero(sets.rater == t) for t in np.unique(raters)}  # in the order of the rows
    met = []  # every two entries of a pair of raters that are in one row
    for a, b in ((of_rater[a], of_rater[b]) for a, b in raters):
        left, right = (np.searchsorted(sets.row[b], sets.row[a], side) for side in ("left", "right"))
        times = right - left
        within = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        met.append((np.repeat(a, times), b[np.repeat(left, times) + within]))
    pair = np.repeat(np.arange(len(met)), [first.size for first, _ in met])
    entries = [np.concatenate([[], *(m[k] for m in met)]).astype(np.intp) for k in (0, 1)]
    return replace(sets, pairs=raters, met=np.stack([pair, *entries]))


def simulate(
    sets: Sets, fitted: Parameters, probability: np.ndarray, num: int, rng: np.random.Generator
) -> Sets:
    """`num` sets drawn from the model `fitted`; `probability` (rows,) of patterns, if rows are patterns."""
    rows = sets.known.size
    if sets.kind is not None:
        weight = np.empty((num, rows))
        for k, size in enumerate(sets.kind_size):
            p = probability[sets.kind == k]
            weight[:, sets.kind == k] = rng.multinomial(size, p / p.sum(), size=num)
        return replace(sets, label=np.broadcast_to(sets.label, (num, sets.row.size)), weight=weight)

    def draw(p: np.ndarray) -> np.ndarray:
        """One class from each row of (..., classes) probabilities."""
        u = rng.random(p.shape[:-1])
        if p.shape[-1] == 2:
            return (u < p[..., 1]).astype(np.int64)
        return (u[..., None] >= np.cumsum(p[..., :-1], axis=-1)).sum(axis=-1)

    y = draw(np.broadcast_to(fitted[0][0], (num, rows, sets.num_classes)))
    y = np.where(sets.known >= 0, sets.known, y)
    label = draw(fitted[1][0][sets.rater[None, :], y[:, sets.row]])
    return replace(sets, label=label, weight=np.ones((num, rows)))


def modes(
    sets: Sets, start: Parameters | np.ndarray, *, prior: np.ndarray | None = None, one_matrix: bool = False,
    max_cycles: int = 10, tol: float = 2e-4,
) -> Sets:  # fmt: skip
    """EM from `start`, parameters or class posteriors (sets, rows, classes), for all sets.

    A cycle is three steps. `prior` is a fixed class prior; with `one_matrix` all raters but the last share
    one.
    """
    columns, fixed = _label_columns(sets), (prior, one_matrix)
    if not isinstance(start, tuple):
        start = _m_step(sets, columns, start, *fixed)

    def step(theta: Parameters) -> tuple[Parameters, np.ndarray]:
        posterior, log_p = _e_step(sets, columns, theta)
        return _m_step(sets, columns, posterior, *fixed), (sets.weight * log_p).sum(axis=1)

    theta = tuple(np.broadcast_to(a, (len(sets.label), *a.shape[1:])) for a in start)
    for _ in range(max_cycles):
        first, _ = step(theta)
        second, log_second = step(first)
        far, _ = squarem(theta, first, second, _LONGEST, batch=1)
        after, log_far = step(tuple(_normal(np.maximum(a, 1e-9)) for a in far))
        better, pairs = log_far >= log_second, zip(after, second, strict=True)
        theta = tuple(np.where(better.reshape(-1, *[1] * (a.ndim - 1)), a, b) for a, b in pairs)
        if max(np.abs(b - a).max() for a, b in zip(first, second, strict=True)) < tol:
            break
    posterior, log_p = _e_step(sets, columns, theta)
    return replace(sets, prior=theta[0], matrices=theta[1], posterior=posterior, log_p=log_p, fixed=prior)


def _label_columns(sets: Sets) -> sparse.csr_array:
    """Labels of each row: (sets * rows, sets * raters * classes), a block for each set."""
    (num, entries), width = sets.label.shape, sets.num_raters * sets.num_classes
    dtype = np.int32 if num * max(entries, width) < 2**31 else np.int64
    column = sets.rater * sets.num_classes + sets.label + np.arange(num)[:, None] * width
    starts = np.arange(num)[:, None] * entries + sets.first
    pointer = np.append(starts.ravel(), num * entries).astype(dtype)
    ones, shape = np.ones(num * entries), (num * sets.known.size, num * width)
    return sparse.csr_array((ones, column.ravel().astype(dtype), pointer), shape=shape)


def _e_step(sets: Sets, columns: sparse.csr_array, at: Parameters) -> tuple[np.ndarray, np.ndarray]:
    """Posteriors (sets, rows, classes), in memory class by class, and log p (sets, rows)."""
    classes = sets.num_classes
    joint = np.ascontiguousarray((columns @ log(at[1]).swapaxes(2, 3).reshape(-1, classes)).T)
    joint = joint.reshape(classes, *sets.weight.shape)
    possible = (sets.known == np.arange(classes)[:, None]) | (sets.known < 0)
    joint += log(at[0]).T[:, :, None]
    joint += 0.0 if possible.all() else np.where(possible, 0.0, -np.inf)[:, None, :]
    top = np.maximum(joint.max(axis=0), np.finfo(np.float64).min)
    joint -= top
    total = np.exp(joint, out=joint).sum(axis=0)
    joint /= total
    return np.moveaxis(joint, 0, 2), top + log(total)


def _m_step(
    sets: Sets, columns: sparse.csr_array, posterior: np.ndarray, prior: np.ndarray | None, one_matrix: bool
) -> Parameters:
    classes, weighted = sets.num_classes, np.moveaxis(posterior, 2, 0) * sets.weight
    counts = columns.T @ np.ascontiguousarray(weighted.reshape(classes, -1).T)
    counts = counts.reshape(weighted.shape[1], sets.num_raters, classes, classes)
    if one_matrix:
        counts[:, :-1] = counts[:, :-1].sum(axis=1, keepdims=True)
    share = weighted.sum(axis=2).T + PSEUDO_COUNT
    shares = np.broadcast_to(prior, share.shape) if prior is not None else _normal(share)
    return shares, _normal(counts.swapaxes(2, 3) + PSEUDO_COUNT)


def _normal(array: np.ndarray) -> np.ndarray:
    return array / across(np.add, array)[..., None]
