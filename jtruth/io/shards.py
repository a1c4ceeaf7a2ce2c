"""Labels that lie on several machines: each process reads its own file, and all get one table of names.

A shard holds all labels of some tasks. Which labelers and classes there are, the processes tell one
another, so that a code means the same on each; its samples stay where they are. `fit_dawid_skene` takes
such labels with a mesh over all devices (docs/many_devices.md). With one process this is `read_labels`.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from jtruth import _processes
from jtruth import _validation as check
from jtruth._validation.coded import different
from jtruth._validation.text import NoRows
from jtruth.io.exports.rows import LabelRows
from jtruth.io.reading import Reading, label_rows
from jtruth.io.vocabulary import in_words
from jtruth.labels import Labels


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
        repeats, missing: as in `read_labels`.
        how: words for classes, only such as are said: nothing is recognised by what one part happens to hold.
        columns: `task`, `worker`, `label`, `sep`, as in `read_labels`.

    Returns:
        The samples of this part, perhaps none; labelers of all parts in the order of the processes.

    Raises:
        ValueError: in every process, what one of them finds: bad rows, other classes than process 0 was given
            (both are shown), a task of which two parts have labels.
    """
    how = how or Reading()
    how = how._replace(words=how.words._replace(recognise=False))
    rows, label = _processes.together(lambda: _rows(path, how, columns))
    given = None if classes is None else [str(name) for name in classes]
    _processes.same_everywhere("classes", given)
    workers = _of_all(different(rows.worker))
    names = [name for name in _of_all(different(label)) if name is not None]
    order = tuple(given or _processes.together(lambda: _order(names, rows)))

    def made() -> Labels:
        if not len(rows.task):
            nothing = np.zeros(0, np.int32)
            return Labels(nothing, nothing, nothing, 0, len(workers), len(order), (), workers, order)
        columns = rows.task, rows.worker, label
        return Labels.from_long(*columns, workers=workers, classes=order, repeats=repeats, missing=missing,
                                source=rows.source)  # fmt: skip

    labels = _processes.together(made)
    _processes.no_common("tasks", [str(name) for name in labels.tasks or ()])
    kept = tuple(note for note in labels.notes if "gave no label" not in note and "never given" not in note)
    return replace(labels, notes=(*rows.notes, *kept))


def _rows(path: Any, how: Reading, columns: dict[str, Any]) -> tuple[LabelRows, Any]:
    """Rows of a file, none of one that has only a header, and their labels in the words of the classes."""
    named = {name: columns.get(name, name) for name in ("task", "worker", "label")}
    try:
        rows = label_rows(path, **named, sep=columns.get("sep"), how=how)
    except NoRows:
        rows = LabelRows([], [], [], check.Source(str(path)), "")
    return rows, in_words(rows.label, how.words, rows.source)[0]


def _of_all(names: list) -> tuple:
    """The names of all processes, in order of the processes."""
    return tuple(dict.fromkeys(name for some in _processes.told(names) for name in some))


def _order(names: list, rows: LabelRows) -> tuple:
    """Names of classes in order of their codes, and the refusals of names that are none."""
    return check.encode_classes(names * 3, None, None, rows.source, None).classes
