"""Labels from files of any kind: tables long and wide, and exports of annotation tools.

Fields are read as text and every field stays what it is: "001" is not 1, a worker may be called "NA", and a
row that does not fit the header is an error with its line number. Only the *label* can be missing: empty, or
text such as "NA" or "null" that is not named in `classes`. How a file that is no table of task, worker, label
was read is said in a note.

Where labels lie on several machines each process reads its own file, a shard with all labels of some tasks,
and they tell one another which labelers and classes there are (docs/many_devices.md).
"""

from collections.abc import Iterable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jtruth import _mesh
from jtruth import _validation as check
from jtruth._files import write_table
from jtruth._validation.coded import different
from jtruth._validation.guess import look_at, unused_counts
from jtruth._validation.text import NoRows, TextTable
from jtruth._validation.words import column_called
from jtruth.io import exports
from jtruth.io.exports import GOLD, LabelRows
from jtruth.io.parsing import as_table, parsed
from jtruth.io.tables import columns_beside, wide_rows
from jtruth.io.vocabulary import Words, in_words
from jtruth.labels import Labels


class Reading(NamedTuple):
    """How to read a file that is no table of task, worker, label."""

    wide: bool = False  # every other column is a labeler; tables that look wide are read so anyway
    leave_out: tuple[str, ...] = ()  # columns of a wide table that are no labelers
    words: Words = Words()  # what the labels mean


_READING = Reading()


def read_labels(
    path: Any,
    *,
    task: str = "task",
    worker: str = "worker",
    label: str = "label",
    classes: Iterable | None = None,
    repeats: str = "error",
    missing: str = "error",
    abstain: Iterable = (),
    sep: str | None = None,
    how: Reading = _READING,
) -> Labels:
    """Labels from any file: a table with a row for each label, a wide table, an export of an annotation tool.

    CSV and TSV (possibly gzipped), JSON, JSON lines and Parquet; exports of Label Studio, Prodigy, Argilla,
    doccano and Mechanical Turk; a matrix of codes (.npy, -1 where there is no label). What a file was read
    as is the first of the labels' notes.

    Args:
        path: the file, or "-" for standard input; or a data frame (eager or lazy: see `Labels.from_frame`),
            or a matrix of codes, or what `jtruth.io.parsing.parsed` made of a file.
        task, worker, label: which columns to read. Others are ignored. In an export `label` is the field.
        classes: class names in order of their codes, for instance ("no", "yes").
        repeats: "error", "keep", "first" or "last", when a worker labelled a task more than once.
        missing: "error" or "drop", for rows without a label.
        abstain: labels that say nothing, such as ["unsure"]: left out, counted and said.
        sep: separator; a comma (in .tsv files a tab), or what alone stands in the header, unless given.
        how: wide tables, and words for classes.

    Raises:
        ValueError: naming the file and the first lines that cannot be used, and what to do.
    """
    read = isinstance(path, tuple)  # a `File`, or what `parsed` made of it
    if not read and check.is_frame(path):
        return Labels.from_frame(path, task=task, worker=worker, label=label, classes=classes,
                                 repeats=repeats, missing=missing, abstain=abstain)  # fmt: skip
    if not read and (matrix := _matrix(path)) is not None:
        return Labels.from_matrix(matrix, None if classes else int(matrix.max()) + 1, classes=classes)
    rows = label_rows(path, task=task, worker=worker, label=label, sep=sep, how=how)
    words = how.words.with_silent(abstain)
    words = words if classes is None or not words.unsaid else words._replace(recognise=False)
    in_classes, remarks = in_words(rows.label, words, rows.source)
    form = (f"Read as {rows.form}.",) if rows.form else ()
    labels = Labels.from_long(
        rows.task, rows.worker, in_classes, classes=classes, repeats=repeats,
        missing="drop" if rows.form.startswith("wide") else missing,  # a cell of who was not asked
        abstain=words.silent, source=rows.source,
    )  # fmt: skip
    return replace(labels, notes=(*form, *rows.notes, *remarks, *labels.notes))


def label_rows(
    path: Any,
    *,
    task: Any = "task",
    worker: Any = "worker",
    label: Any = "label",
    sep: str | None = None,
    how: Reading = _READING,
) -> LabelRows:
    """Task, worker and label of every row of a file; arguments as `read_labels`."""
    file, named = parsed(path, sep), None if label == "label" else label
    rows = None if isinstance(file, TextTable) else exports.of_records(*file, named)
    if rows is not None:
        return rows
    table = as_table(file)
    wanted, form = {"task": task, "worker": worker, "label": label}, ""
    there = set(wanted.values()) <= set(table.header)
    rows = None if there and not how.wide else exports.of_table(table, named)
    if rows is None and not there and not how.wide:
        wanted, form, there = _by_words(table, wanted)
    if rows is None and (how.wide or not there):
        known = task if task in table.header else None
        rows = wide_rows(table, known, forced=how.wide, leave_out=how.leave_out)
    if rows is None and not there and worker == "worker":
        rows = _by_one(table, wanted)
    if rows is not None:
        return rows
    columns = table.pick(wanted)
    every = lambda name: table.columns[:][table.header.index(name)]  # noqa: E731
    remarks = unused_counts(table.header, set(wanted.values()), every, table.source)
    return LabelRows(columns[0], columns[1], columns[2], table.source, form, remarks)


def beside_of(path: Any, *, label: str = "label") -> dict[str, str]:
    """Gold, predictions and scores that stand beside the labels of a file, as they are asked for there."""
    file, named = parsed(path), None if label == "label" else label
    rows = None if isinstance(file, TextTable) else exports.of_records(*file, named)
    if rows is None:
        return columns_beside(as_table(file))
    models = [name for name in rows.beside if name != GOLD]
    asked = {"gold": [GOLD] if GOLD in rows.beside else [], "predictions": models[:1]}
    return {role: f"export:{names[0]}" for role, names in asked.items() if names}


def export_table(path: Any, name: str, *, label: str = "label") -> TextTable:
    """What a model or gold says beside the labels of an export, as a table task, label."""
    rows = label_rows(path, label=label)
    if name not in rows.beside:
        there = check.quoted(rows.beside) if rows.beside else "none"
        raise ValueError(rows.source.says(f"no predictions or gold called {name!r} here; there are {there}"))
    columns = list(rows.beside[name]), list(rows.beside[name].values())
    return TextTable(("task", "label"), columns, check.Source(f"export:{name}", "entry"))


def _by_words(table: TextTable, wanted: dict[str, str]) -> tuple[dict[str, str], str, bool]:
    """The three columns by other words for them, how that is said, and whether all three are there."""
    mapping = look_at(table, wanted).mapping
    if mapping is None or any(mapping[role] != name != role for role, name in wanted.items()):
        return wanted, "", False
    remarks = ", ".join(f"{role} {name!r}" for role, name in mapping.items())
    form = f"{remarks}, by the names of the columns (task=..., worker=..., label=... say otherwise)"
    return mapping, form, True


def _by_one(table: TextTable, wanted: dict[str, str]) -> LabelRows | None:
    """One label for each task and no column that says who gave it, as one labeler; None: not such a table."""
    task, label = (
        name if name in table.header else column_called(role, table.header) if name == role else None
        for role, name in wanted.items()
        if role != "worker"
    )
    if task is None or label is None or column_called("worker", table.header) is not None:
        return None
    tasks, labels = (table.columns[table.header.index(name)] for name in (task, label))
    form = f"one label {label!r} for each task {task!r}, all by one labeler: no column says who gave them"
    rows = LabelRows(tasks, [label] * len(tasks), labels, table.source, form)
    return rows if len(different(tasks)) == len(tasks) else None


def _matrix(path: Any) -> np.ndarray | None:
    if isinstance(path, np.ndarray):
        return path
    path = Path(path)
    return np.load(path, allow_pickle=False) if path.suffix == ".npy" else None


def write_labels(path: str | PathLike, labels: Labels) -> None:
    """Write labels as a table task,worker,label that `read_labels` reads (gzipped if it ends in .gz)."""
    tasks, workers = labels.task_names, labels.worker_names
    entries = zip(*(a.tolist() for a in labels.arrays), strict=True)
    rows = ((tasks[i], workers[t], labels.class_names[c]) for i, t, c in entries if c >= 0)
    write_table(path, ("task", "worker", "label"), rows)


def read_shard(
    path: Any,
    *,
    classes: Iterable | None = None,
    repeats: str = "error",
    missing: str = "error",
    how: Reading | None = None,
    **columns: Any,
) -> Labels:
    """This process's part of the labels, with labelers and classes of all parts; every process must call it.

    Args:
        path: this process's file, of any kind that `read_labels` takes; it may be a header alone.
        classes: names in the order of their codes, the same in every process. Otherwise all labels of all
            parts are the classes, in the order that `read_labels` would give them.
        repeats, missing, columns: as in `read_labels`.
        how: words for classes, only such as are said: nothing is recognised by what one part happens to hold.

    Raises:
        ValueError: in every process, what one of them finds: bad rows, other classes than process 0 was given
            (both are shown), a task of which two parts have labels.
    """
    how = how or Reading()
    how = how._replace(words=how.words._replace(recognise=False))
    rows, label = _mesh.together(lambda: _rows(path, how, columns))
    class_names = None if classes is None else [str(name) for name in classes]
    _mesh.same_everywhere("classes", class_names)
    workers = _of_all(different(rows.worker))
    names = [name for name in _of_all(different(label)) if name is not None]
    numbered = lambda: check.encode_classes(names * 3, None, None, rows.source, None)[1]  # noqa: E731
    order = tuple(class_names or _mesh.together(numbered))

    def made() -> Labels:
        if not len(rows.task):
            nothing = np.zeros(0, np.int32)
            return Labels(nothing, nothing, nothing, 0, len(workers), len(order), (), workers, order)
        columns = rows.task, rows.worker, label
        return Labels.from_long(*columns, workers=workers, classes=order, repeats=repeats, missing=missing,
                                source=rows.source)  # fmt: skip

    labels = _mesh.together(made)
    _mesh.no_common("tasks", [str(name) for name in labels.tasks or ()])
    kept = tuple(note for note in labels.notes if "gave no label" not in note and "never given" not in note)
    return replace(labels, notes=(*rows.notes, *kept))


def _rows(path: Any, how: Reading, columns: dict[str, Any]) -> tuple[LabelRows, Any]:
    """Rows of a file, none of one that has only a header, and their labels in the words of the classes."""
    try:
        rows = label_rows(path, how=how, **columns)
    except NoRows:
        rows = LabelRows([], [], [], check.Source(str(path)), "")
    return rows, in_words(rows.label, how.words, rows.source)[0]


def _of_all(names: list) -> tuple:
    return tuple(dict.fromkeys(name for some in _mesh.gathered(names) for name in some))
