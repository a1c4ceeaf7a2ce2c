"""Files to labels, predictions and gold labels.

Tables are read as text and every field stays what it is: "001" is not 1, a worker may be called "NA", and a
row that does not fit the header is an error with its line number. Only the *label* can be missing: empty, or
text such as "NA" or "null" that is not named in `classes`.

Task ids connect the files. They are compared as text, so labels built in Python with tasks 1, 2, 3 meet the
ids "1", "2", "3" of a file; where labels have no ids, the number of the sample is its id.
"""

import csv
import gzip
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from jtruth import _validation as check
from jtruth._validation.text import File, Table, read_table
from jtruth.labels import Labels

_ROUNDING = 1e-6  # probabilities summing to 1 this closely are float32 arithmetic
_ROUNDED_TEXT = 1e-2  # ... and this closely they were rounded when written: rescaled, with a note


@dataclass(frozen=True)
class Predictions:
    """Predictions of the samples that have one; entry k is for sample `samples[k]` of the labels."""

    y_pred: Int[np.ndarray, " covered"]  # class codes
    samples: Int[np.ndarray, " covered"]  # increasing; all samples unless only common tasks were asked for
    scores: Float[np.ndarray, " covered"] | None
    probabilities: Float[np.ndarray, "covered classes"] | None
    notes: tuple  # sentences: what was left out


def read_labels(
    path: str | PathLike | File,
    *,
    task: str = "task",
    worker: str = "worker",
    label: str = "label",
    classes: Iterable | None = None,
    repeats: str = "error",
    missing: str = "error",
    sep: str | None = None,
) -> Labels:
    """Labels from a text table with one row per label (CSV or TSV, possibly gzipped).

    Args:
        path: the file, or "-" for standard input; its first line names the columns.
        task, worker, label: which columns to read. Others are ignored.
        classes: class names in order of their codes, for instance ("no", "yes").
        repeats: "error", "keep", "first" or "last", when a worker labelled a task more than once.
        missing: "error" or "drop", for rows without a label.
        sep: separator, a comma (in .tsv files a tab) unless given.

    Raises:
        ValueError: naming the file and the first lines that cannot be used, and what to do.
    """
    table = read_table(path, sep)
    columns = table.pick({"task": task, "worker": worker, "label": label})
    return Labels.from_long(*columns, classes=classes, repeats=repeats, missing=missing, source=table.source)


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


def read_predictions(
    path: str | PathLike,
    labels: Labels,
    *,
    task: str = "task",
    label: str = "label",
    score: str | None = None,
    common_only: bool = False,
    sep: str | None = None,
) -> Predictions:
    """Predictions of one classifier, in the order of the samples of `labels`.

    Args:
        path: a text table with one row per task.
        labels: the labels they are to be compared with; these define tasks and classes.
        task, label: columns of task ids and predicted classes.
        score: column of scores; "score" is used if there is such a column.
        common_only: use the tasks that have labels and a prediction, and say in `notes` what was left out.
            By default any difference is an error.
        sep: separator, a comma (in .tsv files a tab) unless given.

    Probabilities are read if there is one column for each class, called by the name of the class, or by
    p_ or prob_ and the name.

    Raises:
        ValueError: naming the file and the first lines that cannot be used, and what to do.
    """
    table = read_table(path, sep)
    codes = _class_codes(table, task, label, labels)
    score = "score" if score is None and "score" in table.header else score
    scores = None if score is None else _numbers(table, score)
    probabilities, rounded = _probabilities(table, labels, taken=(task, label, score))
    rows, samples, notes = _align(table, task, labels, common_only, complete=True)
    number = np.bincount(codes[rows], minlength=labels.num_classes)
    tasks = None if labels.tasks is None else tuple(labels.tasks[i] for i in samples)
    return Predictions(
        y_pred=check.with_tasks(codes[rows], tasks),
        samples=samples,
        scores=None if scores is None else check.with_tasks(scores[rows], tasks),
        probabilities=None if probabilities is None else probabilities[rows],
        notes=notes + check.unused(number, labels.class_names, "classes are never predicted") + rounded,
    )


def read_gold(
    path: str | PathLike,
    labels: Labels,
    *,
    task: str = "task",
    label: str = "label",
    common_only: bool = False,
    sep: str | None = None,
) -> Int[np.ndarray, " samples"]:
    """Class codes that are known to be right, -1 for samples that are not in the file.

    Gold labels for tasks that nobody labelled are an error unless `common_only`; then the array's `notes` say
    what was left out, and answers repeat it.
    """
    table = read_table(path, sep)
    codes = _class_codes(table, task, label, labels)
    rows, samples, notes = _align(table, task, labels, common_only, complete=False)
    gold = np.full(labels.num_samples, -1, np.int32)
    gold[samples] = codes[rows]
    return check.with_tasks(gold, labels.tasks, notes)


def _class_codes(table: Table, task: str, label: str, labels: Labels) -> np.ndarray:
    """Codes of the label column of a table with one row per task."""
    tasks, values = table.pick({"task": task, "label": label})
    check.encode_ids(tasks, "task", None, table.source)  # for its checks
    names = tuple(map(str, labels.class_names))
    coded = "classes" not in labels.inferred
    return check.class_codes(
        values, names, table.source, coded=coded, if_missing="Leave such rows out.", what="label "
    )


def _align(
    table: Table, task: str, labels: Labels, common_only: bool, complete: bool
) -> tuple[np.ndarray, np.ndarray, tuple]:
    """Rows of the table in the order of the samples they belong to, those samples, and notes."""
    (ids,) = table.pick({"task": task})
    tasks = [str(t) for t in (labels.tasks or range(labels.num_samples))]
    hint = f"; the columns are {check.quoted(table.header, 12)}"
    rows, samples, problems = check.match_ids(
        ids, tasks, table.source, complete=complete, noun="row", hint=hint
    )
    if not problems:
        return rows, samples, ()
    text = table.source.says("; ".join(problems))
    if not rows.size:
        raise ValueError(
            f"{text}. No task is in both: do the ids agree? Labels have {check.quoted(tasks, 3)}."
        )
    if not common_only:
        raise ValueError(
            f"{text}. Correct the ids, or set common_only=True to use the {rows.size} common tasks."
        )
    return rows, samples, (f"{text}; the {rows.size} common tasks are used.",)


def _numbers(table: Table, name: str) -> np.ndarray:
    """A column of finite numbers, float64."""
    (column,) = table.pick({name: name})
    values = np.empty(len(column))
    for k, text in enumerate(column):
        try:
            values[k] = float(text) if "_" not in text else np.nan
        except ValueError:
            values[k] = np.nan
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        found = table.source.entry(bad, f"{name} ", column[bad[0]])
        raise ValueError(f"{found} not a finite number.")
    return values


def _probabilities(table: Table, labels: Labels, taken: tuple) -> tuple[np.ndarray | None, tuple]:
    """(rows, classes) probabilities if the table has a column for each class, and notes."""
    header = set(table.header) - set(taken)
    for prefix in ("", "p_", "prob_"):
        names = [prefix + name for name in labels.class_names]
        there = [name for name in names if name in header]
        if there:
            break
    else:
        return None, ()
    absent = [name for name in names if name not in there]
    if absent:
        raise ValueError(
            table.source.says(f"there is a column {there[0]!r} but none for {check.quoted(absent)}.")
        )
    p = np.stack([_numbers(table, name) for name in names], axis=1)
    outside = np.flatnonzero(((p < 0) | (p > 1)).any(axis=1))
    if outside.size:
        found = p[outside[0]].tolist()
        raise ValueError(f"{table.source.at(outside)}: probabilities must lie in [0, 1]; got {found}.")
    off = np.abs(p.sum(axis=1) - 1)
    wrong = np.flatnonzero(off > _ROUNDED_TEXT)
    if wrong.size:
        total = p[wrong[0]].sum()
        raise ValueError(f"{table.source.at(wrong)}: the class probabilities sum to {total:.6g}, not to 1.")
    rescaled = np.count_nonzero(off > _ROUNDING)
    note = f"Class probabilities of {rescaled} rows sum to 1 within {off.max():.1g}: divided by their sum."
    return p / p.sum(axis=1, keepdims=True), (note,) if rescaled else ()
