"""Labels from files of any kind: tables long and wide, and exports of annotation tools.

Fields are read as text and every field stays what it is: "001" is not 1, a worker may be called "NA", and a
row that does not fit the header is an error with its line number. Only the *label* can be missing: empty, or
text such as "NA" or "null" that is not named in `classes`. How a file that is no table of task, worker, label
was read is said in a note.
"""

import csv
import gzip
from collections.abc import Iterable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jtruth import _validation as check
from jtruth._validation.text import File
from jtruth.io import exports
from jtruth.io.exports.rows import LabelRows
from jtruth.io.parsing import Parsed, parsed, table_of
from jtruth.io.vocabulary import Words, in_words
from jtruth.io.wide import wide_rows
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
    sep: str | None = None,
    how: Reading = _READING,
) -> Labels:
    """Labels from any file: a table with a row for each label, a wide table, an export of an annotation tool.

    CSV and TSV (possibly gzipped), JSON, JSON lines and Parquet; exports of Label Studio, Prodigy, Argilla,
    doccano and Mechanical Turk; a matrix of codes (.npy, -1 where there is no label). What a file was read
    as is the first of the labels' notes.

    Args:
        path: the file, or "-" for standard input; or a data frame (eager or lazy: see
            `Labels.from_frame`), or a matrix of codes, or what
            `jtruth.io.parsing.parsed` made of a file.
        task, worker, label: which columns to read. Others are ignored. In an export `label` is the field.
        classes: class names in order of their codes, for instance ("no", "yes").
        repeats: "error", "keep", "first" or "last", when a worker labelled a task more than once.
        missing: "error" or "drop", for rows without a label.
        sep: separator, a comma (in .tsv files a tab) unless given.
        how: wide tables, and words for classes.

    Raises:
        ValueError: naming the file and the first lines that cannot be used, and what to do.
    """
    if check.is_frame(path):
        return Labels.from_frame(path, task=task, worker=worker, label=label, classes=classes,
                                 repeats=repeats, missing=missing)  # fmt: skip
    if not isinstance(path, File | Parsed) and (matrix := _matrix(path)) is not None:
        return Labels.from_matrix(matrix, None if classes else int(matrix.max()) + 1, classes=classes)
    rows = label_rows(path, task=task, worker=worker, label=label, sep=sep, how=how)
    words = how.words if classes is None or not how.words.silent else how.words._replace(recognise=False)
    given, said = in_words(rows.label, words, rows.source)
    form = (f"Read as {rows.form}.",) if rows.form else ()
    found = Labels.from_long(
        rows.task, rows.worker, given, classes=classes, repeats=repeats, missing=missing, source=rows.source
    )
    return replace(found, notes=(*form, *rows.notes, *said, *found.notes))


def label_rows(
    path: Any, *, task: str, worker: str, label: str, sep: str | None = None, how: Reading = _READING
) -> LabelRows:
    """Task, worker and label of every row of a file; arguments as `read_labels`."""
    records, table, source = parsed(path, sep)
    named = None if label == "label" else label
    if records is not None:
        found = exports.of_records(records, source, named)
        if found is not None:
            return found
        table = table_of(records[""], source)
    table = check.present(table, "the table")
    wanted = {"task": task, "worker": worker, "label": label}
    there = set(wanted.values()) <= set(table.header)
    found = None if there and not how.wide else exports.of_table(table, named)
    if found is None and (how.wide or not there):
        known = task if task in table.header else None
        found = wide_rows(table, known, forced=how.wide, leave_out=how.leave_out)
    if found is not None:
        return found
    given = table.pick(wanted)
    return LabelRows(given[0], given[1], given[2], table.source, "")


def _matrix(path: Any) -> np.ndarray | None:
    """A matrix of codes, given or in a .npy file."""
    if isinstance(path, np.ndarray):
        return path
    path = Path(path)
    return np.load(path, allow_pickle=False) if path.suffix == ".npy" else None


def write_labels(path: str | PathLike, labels: Labels) -> None:
    """Write labels as a table task,worker,label that `read_labels` reads (gzipped if it ends in .gz)."""
    tasks = labels.tasks or range(labels.num_samples)
    workers = labels.workers or range(labels.num_labelers)
    entries = zip(*(a.tolist() for a in labels.arrays), strict=True)
    opener: Any = gzip.open if Path(path).suffix == ".gz" else open
    with opener(path, "wt", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("task", "worker", "label"))
        writer.writerows((tasks[i], workers[t], labels.class_names[c]) for i, t, c in entries if c >= 0)
