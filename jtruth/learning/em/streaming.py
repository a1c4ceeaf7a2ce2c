"""Dawid and Skene's model for labels that come day by day.

Of the samples only the distinct rows of labels and their numbers are kept (`patterns`), so an update ends at
a fixed point of the EM of all labels together, starting at the parameters of the day before.

On disk a stream is a checkpoint (`jtruth._checkpoint`), written only over a state whose sets of labels
it has counted, so of two processes that update one file the slower is refused.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth import _host
from jtruth import _validation as check
from jtruth._checkpoint import Checkpoint, digest
from jtruth._one_line import one_line
from jtruth._validation.columns import lazy_patterns
from jtruth._validation.in_range import check_shape
from jtruth._validation.words import number_of
from jtruth.labels import Labels, must_be_labels
from jtruth.learning._fit import check_steps, first_guess, not_converged
from jtruth.learning.em import columns
from jtruth.learning.em.columns import CodedPatterns, merge_patterns, posterior_of, rows_of
from jtruth.learning.em.dawid_skene import MAXIMUM_LIKELIHOOD, Smoothing, climbed

_MARK = "stream of labels, Dawid and Skene's model, format 3"
_ARRAYS = ("prior", "matrices", "pattern", "moment", "batch")
_WORDS = ("log_likelihood", "converged", "num_steps", "warnings", "classes", "smoothing", "batches")
_DOUBT = 1e-4  # in yesterday's matrices: what they call impossible, EM could never find possible again


class Stream(NamedTuple):
    """The fit after some days of labels; `update` makes the next one."""

    prior: Float[np.ndarray, " classes"]
    matrices: Float[np.ndarray, "labelers classes classes"]  # rows: true class; columns: given label
    log_likelihood: float
    converged: bool
    num_steps: int  # of the last update
    warnings: tuple[str, ...]
    classes: tuple  # names in order of their codes
    workers: tuple  # id of each labeler
    tasks: tuple  # id of each sample
    pattern: Int[np.ndarray, " samples"]  # which row of `patterns` these samples have
    moment: Float[np.ndarray, " samples"]  # when each was labelled first; NaN where unknown
    batch: Int[np.ndarray, " samples"]  # the set of labels it came with: 1, 2, ...
    patterns: CodedPatterns
    smoothing: Smoothing
    batches: tuple[str, ...]  # a digest of each set of labels that was counted

    __repr__ = one_line

    @property
    def class_posterior(self) -> Float[np.ndarray, "samples classes"]:
        """p(y_i = c | labels) of the samples, in the order of `tasks`."""
        return posterior_of(self.patterns, self.prior, self.matrices)[self.pattern]

    @property
    def pseudo_counts(self) -> tuple[Float[np.ndarray, " classes"], Float[np.ndarray, "t classes classes"]]:
        """Counts added in an M step: of the prior, of the matrices."""
        classes = len(self.classes)
        rows = np.tile(self.smoothing.rows(classes), (len(self.workers), 1, 1))
        return np.full(classes, float(self.smoothing.prior)), rows

    @property
    def order(self) -> Float[np.ndarray, " samples"]:
        """Moments of the samples if all are known; else the number of the set that each came with."""
        return self.moment if np.isfinite(self.moment).all() else self.batch.astype(np.float64)

    def labels(self) -> Labels:
        """The labels of the samples, in the order of `tasks`."""
        codes, length = self.patterns.codes(self.pattern), self.patterns.length[self.pattern]
        labels = CodedPatterns(codes, length, length).labels(len(self.workers), len(self.classes))
        return labels.with_names(tasks=self.tasks, workers=self.workers, classes=self.classes)


def begin_stream(
    labels: Labels, *, smoothing: Smoothing = MAXIMUM_LIKELIHOOD, when: np.ndarray | None = None,
    max_steps: int = 10_000, tol: float = 1e-8,
) -> Stream:  # fmt: skip
    """The first day: a fit of these labels by EM from the majority vote, as `fit_dawid_skene`.

    Args:
        labels: with the names of tasks and workers, by which later labels are matched.
        smoothing, max_steps, tol: as in `fit_dawid_skene`; the smoothing is of all later days too.
        when: (samples,) when each was labelled, in seconds or any numbers; to find labelers who change.

    Raises:
        ValueError: no label at all, or no names.
    """
    must_be_labels(labels)
    return update(_fresh(labels.class_names, smoothing), labels, when=when, max_steps=max_steps, tol=tol)


def _fresh(class_names: tuple, smoothing: Smoothing) -> Stream:
    """A stream before its first day."""
    classes = len(class_names)
    none = np.zeros((0, classes, classes))
    empty = CodedPatterns(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64))
    return Stream(
        np.full(classes, 1 / classes), none, 0.0, False, 0, (), class_names, (), (),
        np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64), empty, smoothing, (),
    )  # fmt: skip


def update(
    state: Stream, new_labels: Labels, *, when: np.ndarray | None = None, max_steps: int = 10_000,
    tol: float = 1e-8,
) -> Stream:  # fmt: skip
    """Add labels and fit again, from the parameters of `state`.

    Args:
        state: of `begin_stream`, `update` or `read_stream`.
        new_labels: of the same classes; tasks and workers are matched by their names.
        when: as in `begin_stream`, of the samples of `new_labels`; a known sample keeps its first.
        max_steps, tol: as in `fit_dawid_skene`.

    Raises:
        ValueError: other classes; labels counted before; a worker who labelled a task twice; no names.

    >>> monday = Labels.from_long(list("aabbcc"), list("xyxyxy"), [0, 0, 1, 1, 0, 1])
    >>> tuesday = Labels.from_long(list("abcddd"), list("zzzxyz"), [0, 1, 1, 1, 1, 1], num_classes=2)
    >>> state = update(begin_stream(monday), tuesday)
    >>> state.tasks, state.workers, state.matrices.shape, state.converged
    (('a', 'b', 'c', 'd'), ('x', 'y', 'z'), (3, 2, 2), True)
    """
    mark = _checked(state, new_labels, max_steps, tol)
    return _climbed(_joined(state, new_labels, when), mark, max_steps, tol)


def stream_of_table(
    frame: Any,
    *,
    task: str = "task",
    worker: str = "worker",
    label: str = "label",
    classes: Any = None,
    missing: str = "error",
    smoothing: Smoothing | Callable[[int], Smoothing] = MAXIMUM_LIKELIHOOD,
    progress: Callable[[int, int], None] = lambda done, planned: None,
) -> Stream:
    """The fit of all labels of a lazy table, as of `begin_stream`, from the patterns that its engine groups.

    Args:
        frame: a Polars LazyFrame, a relation of DuckDB, a PySpark frame, or another frame that narwhals calls
            lazy; a row for each label, in any order. If workers labelled a task again, the most frequent
            label counts, and the codes of all labels must fit into memory.
        task, worker, label: names of its columns.
        classes: names in order of their codes; if None the different labels, sorted.
        missing: "error" or "drop", for rows without a label.
        smoothing: as in `begin_stream`, or a function of the number of classes; intervals
            (`jt.evaluation.quick_labelers`) need some.
        progress: called with (parts of the tasks counted, all parts).

    Returns:
        A stream whose samples have no names: `tasks` and `class_posterior` are empty. Its warnings include
        the notes of `Labels.from_frame`.

    Raises:
        ValueError: a table in memory, and what `Labels.from_frame` refuses.

    >>> import polars as pl
    >>> rows = {"task": [1, 1, 1, 2, 2, 2, 3, 3, 3], "worker": list("abc" * 3), "label": list("xxxyyyxxy")}
    >>> state = stream_of_table(pl.DataFrame(rows).lazy())
    >>> state.workers, state.classes, state.patterns.number.tolist(), state.converged
    (('a', 'b', 'c'), ('x', 'y'), [1, 1, 1], True)
    """
    names_of = {"task": task, "worker": worker, "label": label}
    of_classes = smoothing if callable(smoothing) else lambda _: smoothing
    found = lazy_patterns(frame, names_of, classes, missing, progress)
    if found is None:
        labels = Labels.from_frame(frame, **names_of, classes=classes, missing=missing)
        state = begin_stream(labels, smoothing=of_classes(labels.num_classes))
        return _nameless(state)._replace(warnings=(*state.warnings, *labels.notes))
    (labeler, symbol, length, number), workers, names, notes = found
    code = (labeler * len(names) + symbol).astype(np.int32)
    patterns, _ = merge_patterns(CodedPatterns(code, length, number))
    state = _fresh(names, of_classes(len(names)))._replace(workers=workers, patterns=patterns)
    state = _first_matrices(state, len(workers))
    state = _climbed(state, digest("patterns", workers, code, length, number))
    return state._replace(warnings=(*state.warnings, *notes))


def _climbed(state: Stream, mark: str, max_steps: int = 10_000, tol: float = 1e-8) -> Stream:
    """Parameters by EM, from those of `state`, on the first day from votes; `mark`: digest of new labels."""
    size, classes = len(state.workers), len(state.classes)
    unknown = np.full(state.patterns.number.size, -1, np.int32)
    data = columns.columns_of(state.patterns, unknown, columns.bucket(size) * classes)
    start = np.zeros((data.weight.size, classes))
    likely = (1 - _DOUBT) * state.matrices + _DOUBT / classes
    start[: unknown.size] = (
        posterior_of(state.patterns, state.prior, likely)
        if state.batches
        else first_guess(state.patterns.labels(size, classes), None)
    )
    result = climbed(data, start, state.pseudo_counts, None, max_steps=max_steps, tol=tol)
    converged, steps = bool(result.converged), int(result.num_steps)
    return state._replace(
        prior=np.asarray(result.prior),
        matrices=np.asarray(result.matrices)[:size],
        log_likelihood=float(result.log_likelihood),
        converged=converged,
        num_steps=steps,
        batches=(*state.batches, mark),
        warnings=tuple(not_converged("EM", converged, steps)),
    )


def _nameless(state: Stream) -> Stream:
    return state._replace(tasks=(), pattern=state.pattern[:0], moment=state.moment[:0], batch=state.batch[:0])


def write_stream(path: str | Path, state: Stream) -> None:
    """Write the state to a file that `read_stream` reads.

    Raises:
        ValueError: the file holds sets of labels that the state has not counted, or something else.
    """
    arrays = {name: np.asarray(getattr(state, name)) for name in _ARRAYS}
    arrays |= {f"patterns_{name}": value for name, value in state.patterns._asdict().items()}
    arrays |= {"tasks": _text(state.tasks), "workers": _text(state.workers)}
    words = {name: getattr(state, name) for name in _WORDS}
    keeps = lambda old: state.batches[: len(old["batches"])] == tuple(old["batches"])  # noqa: E731
    Checkpoint(path, _MARK).write(arrays, words, keeps)


def read_stream(path: str | Path) -> Stream:
    """The state that was written.

    Raises:
        ValueError: no such file, a file of something else, or one that was damaged or changed.
    """
    try:
        content = Checkpoint(path, _MARK).read()
    except ValueError as error:
        raise ValueError(f"{path} cannot be used as the state of a stream of labels: {error}") from None
    if content is None:
        raise ValueError(f"there is no file {str(path)!r}; begin_stream makes the first state")
    arrays, words = content
    patterns = CodedPatterns(*(arrays[f"patterns_{name}"] for name in CodedPatterns._fields))
    for name in ("warnings", "classes", "batches"):
        words[name] = tuple(words[name])
    words["smoothing"] = Smoothing(*words["smoothing"])
    return Stream(
        **{name: arrays[name] for name in _ARRAYS},
        **words,
        tasks=tuple(json.loads(arrays["tasks"].tobytes())),
        workers=tuple(json.loads(arrays["workers"].tobytes())),
        patterns=patterns,
    )


def _text(names: tuple) -> np.ndarray:
    """Names as the bytes of JSON text: text stays text and numbers numbers."""
    return np.frombuffer(json.dumps(names, default=lambda name: name.item()).encode(), np.uint8)


def _checked(state: Stream, new: Labels, max_steps: int, tol: float) -> str:
    """Refuse labels that cannot be added; their digest."""
    if not must_be_labels(new, "new_labels").num_labels:
        raise ValueError("new_labels has no label, so there is nothing to add")
    if new.tasks is None or new.workers is None:
        raise ValueError("later labels are matched by names: give tasks and workers (with_names)")
    if tuple(new.class_names) != tuple(state.classes):
        raise ValueError(
            f"the classes of new_labels are {check.quoted(new.class_names, 8)}, those of the state "
            f"{check.quoted(state.classes, 8)}: read the labels with classes={list(state.classes)!r}"
        )
    for what, mine, theirs in (("tasks", state.tasks, new.tasks), ("workers", state.workers, new.workers)):
        if mine and isinstance(mine[0], str) != isinstance(theirs[0], str):
            types = type(mine[0]).__name__, type(theirs[0]).__name__
            raise ValueError(
                f"{what} are {types[0]} in the state and {types[1]} in new_labels ({theirs[0]!r})"
            )
    check_steps(max_steps, tol)
    mark = digest(new.tasks, new.workers, *new.entries())
    if mark in state.batches:
        raise ValueError(
            "the same labels were added before (set "
            f"{state.batches.index(mark) + 1} of {len(state.batches)}); nothing was added"
        )
    return mark


def _joined(state: Stream, new: Labels, when: np.ndarray | None) -> Stream:
    """The state with new labels in its rows, and first matrices for new labelers."""
    classes, patterns, names = len(state.classes), state.patterns, new.tasks or ()
    workers, code_of = _numbered(state.workers, new.workers or ())
    tasks, sample_of, known = *_numbered(state.tasks, names), len(state.tasks)
    sample, labeler, label = new.entries()
    row, labeler = sample.astype(np.int64), code_of[labeler]
    # Samples that come again have their old labels in the row too.
    old = np.append(state.pattern, -1)[np.minimum(sample_of, known)]
    again = np.flatnonzero(old >= 0)
    had, row_had = patterns.codes(old[again]), np.repeat(again, patterns.length[old[again]])
    twice = np.isin(row * len(workers) + labeler, row_had * len(workers) + had // classes)
    if twice.any():
        raise ValueError(
            f"{number_of(twice.sum(), 'label is', 'labels are')} of tasks that their worker has already "
            f"labelled, the first of task {names[row[twice].min()]!r}; remove them, or start again with "
            "all labels"
        )
    labeler, label = np.divmod(np.append(labeler * classes + label, had), classes)
    row = np.append(row, row_had)
    rows = rows_of(Labels(row, labeler, label, new.num_samples, len(workers), classes))
    number = patterns.number - np.bincount(old[old >= 0], minlength=patterns.number.size)
    both = CodedPatterns(
        *(np.concatenate(pair) for pair in zip(patterns._replace(number=number), rows, strict=True))
    )
    merged, row = merge_patterns(both)
    pattern = np.full(len(tasks), -1, np.int64)
    pattern[:known] = row[state.pattern]
    pattern[sample_of] = row[patterns.length.size :]
    moment, batch = np.full(len(tasks), np.nan), np.full(len(tasks), len(state.batches) + 1)
    if when is not None:
        check_shape(when, "when", "samples", samples=new.num_samples)
        moment[sample_of] = when
    moment[:known], batch[:known] = state.moment, state.batch
    state = _first_matrices(state, len(workers) - len(state.workers))
    return state._replace(
        workers=workers, tasks=tasks, pattern=pattern, moment=moment, batch=batch, patterns=merged
    )


def _first_matrices(state: Stream, more: int) -> Stream:
    """The state with the mean matrix for so many new labelers."""
    classes = len(state.classes)
    mean = state.matrices.mean(axis=0) if len(state.matrices) else _host.diagonal_rows(classes, 0.7, 0.3)
    newcomers = np.broadcast_to(mean, (more, classes, classes))
    return state._replace(matrices=np.concatenate([state.matrices, newcomers]))


def _numbered(known: tuple, new: Sequence) -> tuple[tuple, np.ndarray]:
    """All names, the known ones first, and the number of each new one among them."""
    if not known and len(set(new)) == len(new):  # the first day, of perhaps millions
        return tuple(new), np.arange(len(new))
    place = {name: i for i, name in enumerate(known)}
    numbers = np.array([place.setdefault(name, len(place)) for name in new])
    return tuple(place), numbers
