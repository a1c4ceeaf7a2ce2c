"""Tables that an engine holds, grouped by it into distinct rows of labels: who gave what, and how often.

The engine groups twice. The labels of a task by a worker become one row, the rows of a task become whole
numbers in which every worker has some bits (label code + 1, so 0 is no label), and tasks of equal numbers
become one row with a count. Ids of tasks are never numbered, joined or sorted, and what comes to Python has
as many rows as there are distinct patterns, whatever the number of tasks. Powers of 2 are exact in every
engine, also in those that raise to a power in floating point.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from jtruth._validation.classes import encode_classes
from jtruth._validation.ids import check_columns, encode_ids, read_frame
from jtruth._validation.lazy_frame import collected, names_of
from jtruth._validation.names import alike_note
from jtruth._validation.rows import unused
from jtruth._validation.words import Source, choose, shown

_PLAIN = r"^[!-~](.*[!-~])?\z"  # text that begins and ends with what can be seen
_BITS = 62  # of a whole number that holds labels, so that no sum reaches the sign


class EnginePatterns(NamedTuple):
    """Distinct rows of labels, the labels of row 0, then of row 1, ...; by labeler within a row."""

    labeler: Int[np.ndarray, " labels"]
    label: Int[np.ndarray, " labels"]
    length: Int[np.ndarray, " patterns"]
    number: Int[np.ndarray, " patterns"]  # tasks of each
    workers: tuple
    classes: tuple
    unlabelled: int  # tasks that have no label at all
    notes: tuple  # sentences about how labels were read, and what was left out


def lazy_patterns(frame: Any, columns: dict[str, str], classes: Any, missing: str) -> EnginePatterns:
    """Patterns of a lazy table.

    Args:
        frame: of any kind that narwhals calls lazy.
        columns: the names of "task", "worker" and "label".
        classes: names in order of their codes, or None.
        missing: "error" or "drop", for rows without a label.

    Raises:
        ValueError: a table that is not lazy, a column that is not there, rows without an id or a label, a
            worker who labelled a task twice.
    """
    choose("missing", missing, ("error", "drop"))
    table = read_frame(frame, lazy=True)
    if not hasattr(table, "collect"):
        raise ValueError(
            f"frame is a {type(frame).__name__}, which is in memory: "
            "use begin_stream(Labels.from_frame(frame))"
        )
    check_columns(table.collect_schema().names(), columns, Source())
    import narwhals as nw

    picked = table.select(*(nw.col(name).alias(role) for role, name in columns.items()))
    read = _read(picked, classes, missing)
    bits = len(read.codes).bit_length()
    found = collected(_grouped(read.coded, len(read.workers), bits))
    if (found["most"].to_numpy() > 1).any():
        times = nw.col("code of label").count().alias("times")
        twice = read.coded.group_by("task", "worker").agg(times).filter(nw.col("times") > 1)
        first = collected(twice.head(1)).rows(named=True)[0]
        raise ValueError(
            f"row {_said(first)}: labelled the task more than once: keep one label of each in the query"
        )
    numbers = np.stack([found[name].to_numpy() for name in found.columns[:-2]], axis=1)
    place, labeler, value = _unpacked(numbers, len(read.workers), bits)
    label = read.codes[value]
    given, number = label >= 0, found["tasks"].to_numpy().astype(np.int64)
    length = np.bincount(place[given], minlength=len(number)).astype(np.int32)
    some, lost = length > 0, read.rows - int((length * number).sum())
    notes = read.notes
    notes += (f"{lost} of {read.rows} rows have no label and were left out (missing='drop').",) * (lost > 0)
    notes += unused(
        np.bincount(labeler[given], minlength=len(read.workers)), read.workers, "labelers gave no label"
    )
    notes += unused(
        np.bincount(label[given], minlength=len(read.classes)), read.classes, "classes were never given"
    )
    return EnginePatterns(
        labeler[given], label[given], length[some], number[some], read.workers, read.classes,
        int(number[~some].sum()), notes,
    )  # fmt: skip


class _Read(NamedTuple):
    """A table whose ids and labels passed the checks of `encode_columns`, and what they are."""

    coded: Any  # the lazy table with "code of worker" and "code of label", a place in `codes`
    rows: int
    workers: tuple
    codes: Int[np.ndarray, " labels"]  # the class of each different label, -1 for a word that means none
    classes: tuple
    notes: tuple


def _read(picked: Any, classes: Any, missing: str) -> _Read:
    """The different workers and labels, and what could be wrong with a task, through the readers' checks."""
    import narwhals as nw

    nulls = (nw.col(role).is_null().sum().alias(role) for role in ("task", "worker", "label"))
    counted = collected(picked.select(nw.len().alias("rows"), *nulls)).rows(named=True)[0]
    size = {name: int(number or 0) for name, number in counted.items()}
    if not size["rows"]:
        raise ValueError("no labels: the table has no rows")
    suspects = _suspect_tasks(picked) + [None] * (size["task"] > 0)
    encode_ids(suspects, "task", None, _rows_of(picked, "task", suspects))
    (workers, of_worker), (values, of_label) = (names_of(picked, role) for role in ("worker", "label"))
    different = workers + [None] * (size["worker"] > 0)
    encode_ids(different, "worker", None, _rows_of(picked, "worker", different))
    different = values + [None] * (size["label"] > 0)
    advice = "Leave such rows out, or set missing='drop' to do so." if missing == "error" else None
    found = encode_classes(
        different, classes, None, _rows_of(picked, "label", different), advice, size["rows"]
    )
    if not (found.codes >= 0).any():
        raise ValueError("no labels: the table has no rows with a label")
    nothing = np.flatnonzero(found.codes[: len(values)] < 0).tolist()  # words that mean no label
    of_label = of_label.filter(~nw.col("code of label").is_in(nothing)) if nothing else of_label
    coded = picked.join(of_worker, on="worker", how="left").join(of_label, on="label", how="left")
    notes = found.notes + alike_note(workers, "worker ids")
    return _Read(coded, size["rows"], tuple(workers), found.codes[: len(values)], found.classes, notes)


def _suspect_tasks(picked: Any) -> list:
    """Task ids that the checks of ids refuse if they refuse any: these look at types, and at ends of text."""
    import narwhals as nw

    if picked.collect_schema()["task"] not in (nw.String, nw.Categorical, nw.Enum):
        return collected(picked.select("task").drop_nulls().head(1))["task"].to_list()
    task = nw.col("task").cast(nw.String)
    ends = (task.str.head(1).alias("head"), task.str.tail(1).alias("tail"))
    plain = task.str.contains(_PLAIN)  # found faster than ends
    found = collected(picked.filter(~plain).select(*ends).unique().drop_nulls())
    alone = sorted({end for name in ("head", "tail") for end in found[name].to_list()})
    return [
        collected(picked.filter((ends[0] == end) | (ends[1] == end)).select(task).head(1))["task"].to_list()[
            0
        ]
        for end in alone
        if not end or not end.isprintable()
    ]


class _OneOfEach(Sequence):
    """Names of rows, one for each of the different values of a column; found when a message names it."""

    def __init__(self, table: Any, role: str, values: list):
        self._table, self._role, self._values = table, role, values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, k: Any) -> str:
        import narwhals as nw

        column, value = nw.col(self._role), self._values[k]
        none = isinstance(value, float) and value != value
        here = column.is_null() if value is None else column.is_nan() if none else column == value
        found = collected(self._table.filter(here).head(1)).rows(named=True)
        return _said(found[0] if found else {self._role: value})


def _rows_of(table: Any, role: str, values: list) -> Source:
    """Where the different values of a column stand."""
    return Source("", "row", 0, _OneOfEach(table, role, values))


def _grouped(coded: Any, num_workers: int, bits: int) -> Any:
    """The query: numbers of a pattern, tasks of that pattern, and most labels by one worker of one task."""
    import narwhals as nw

    each = _BITS // bits  # workers in one number
    worker, label = nw.col("code of worker").cast(nw.Int64), nw.col("code of label").cast(nw.Int64)
    rows = coded.with_columns(worker.alias("who"), (label + 1).fill_null(0).alias("what"))
    rows = rows.group_by("task", "who").agg(nw.col("what").max(), (nw.col("what") > 0).sum().alias("times"))
    power = (nw.lit(2.0) ** (nw.col("who") % each * bits)).cast(nw.Int64)
    names = [f"number {k}" for k in range(-(-num_workers // each))]
    rows = rows.with_columns((nw.col("what") * power).alias("part"), (nw.col("who") // each).alias("which"))
    parts = [
        nw.when(nw.col("which") == k).then(nw.col("part")).otherwise(nw.lit(0)).alias(name)
        for k, name in enumerate(names)
    ]
    tasks = rows.with_columns(*parts).group_by("task")
    tasks = tasks.agg(*(nw.col(name).sum().cast(nw.Int64) for name in names), nw.col("times").max())
    found = tasks.group_by(*names).agg(nw.len().alias("tasks"), nw.col("times").max().alias("most"))
    return found.select(*names, "tasks", "most").sort(*names)


def _unpacked(
    numbers: Int[np.ndarray, "patterns numbers"], num_workers: int, bits: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(pattern, worker, code) of every label, in order of patterns, then of workers."""
    each, places, workers, values = _BITS // bits, [], [], []
    for t in range(num_workers):
        value = numbers[:, t // each] >> (t % each * bits) & (1 << bits) - 1
        here = np.flatnonzero(value).astype(np.int32)
        places.append(here)
        workers.append(np.full(here.size, t, np.int32))
        values.append((value[here] - 1).astype(np.int32))
    place, worker, value = (np.concatenate(parts) for parts in (places, workers, values))
    order = np.argsort(place, kind="stable")
    return place[order], worker[order], value[order]


def _said(row: dict[str, Any]) -> str:
    """What stands in a row."""
    return (
        f"({', '.join(f'{name} {shown(row[name])}' for name in ('task', 'worker', 'label') if name in row)})"
    )
