"""Three columns (task, worker, label), one row per label, as integer codes."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from jtruth._validation.classes import encode_classes, inferred_classes
from jtruth._validation.ids import as_list, encode_ids, in_order
from jtruth._validation.names import alike_note
from jtruth._validation.rows import keep_one_label_each
from jtruth._validation.words import Source, choose


class Columns(NamedTuple):
    """Integer codes of the rows that are used, the names, and what was left out."""

    sample: np.ndarray
    labeler: np.ndarray
    label: np.ndarray
    tasks: tuple
    workers: tuple
    classes: tuple
    notes: tuple
    inferred: tuple  # "tasks", "classes": whose order nobody gave and cannot be expected


def encode_columns(
    columns: dict[str, Any],
    *,
    tasks: Iterable | None,
    workers: Iterable | None,
    classes: Iterable | None,
    num_classes: int | None,
    repeats: str,
    missing: str,
    source: Source,
) -> Columns:
    """Codes of the columns "task", "worker" and "label"; options as in `Labels.from_long`."""
    choose("repeats", repeats, ("error", "keep", "first", "last"))
    choose("missing", missing, ("error", "drop"))
    task, worker, label = (as_list(columns[name], name) for name in ("task", "worker", "label"))
    if not len(task) == len(worker) == len(label):
        sizes = f"{len(task)}, {len(worker)} and {len(label)}"
        raise ValueError(source.says(f"task, worker and label must be equally long; got {sizes} values"))
    if not task:
        raise ValueError(source.says("no labels: the table has no rows"))
    sample, task_ids = encode_ids(task, "task", tasks, source)
    labeler, worker_ids = encode_ids(worker, "worker", workers, source)
    advice = "Leave such rows out, or set missing='drop' to do so." if missing == "error" else None
    codes, names, notes = encode_classes(label, classes, num_classes, source, advice)
    notes += alike_note(worker_ids, "worker ids")
    lost = np.flatnonzero(codes < 0)
    if lost.size:
        notes += (f"{lost.size} of {len(label)} rows have no label and were left out (missing='drop').",)
    rows, more = keep_one_label_each(
        sample, labeler, np.flatnonzero(codes >= 0), repeats, (task_ids, worker_ids), source
    )
    inferred = ("tasks",) if tasks is None and not in_order(task_ids) else ()
    inferred += inferred_classes(names, classes, num_classes)
    if rows.size < len(label):
        sample, labeler, codes = sample[rows], labeler[rows], codes[rows]
    return Columns(sample, labeler, codes, task_ids, worker_ids, names, notes + more, inferred)
