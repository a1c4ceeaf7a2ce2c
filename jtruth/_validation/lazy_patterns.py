"""Tables that an engine holds, grouped by it into distinct rows of labels: who gave what, and how often.

The engine groups twice. The labels of a task by a worker become one row, the rows of a task become whole
numbers in which every worker has some bits (label code + 1, so 0 is no label), and tasks of equal numbers
become one row with a count. Ids of tasks are never numbered, joined or sorted, and what comes to Python has
as many rows as there are distinct patterns, whatever the number of tasks. Powers of 2 are exact in every
engine, also in those that raise to a power in floating point.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from jtruth._validation.classes import encode_classes
from jtruth._validation.ids import check_columns, read_frame
from jtruth._validation.lazy_frame import collected, names_of
from jtruth._validation.words import Source, choose, shown

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
    for role in ("task", "worker"):
        _refuse_first(picked.filter(nw.col(role).is_null()), f"no {role} id. Fill it in")
    (workers, of_worker), (values, of_label) = (names_of(picked, role) for role in ("worker", "label"))
    if not workers or not values:
        raise ValueError("no labels: the table has no rows with a label")
    codes, names = _class_codes(values, classes)
    nothing = [value for value, code in zip(values, codes.tolist(), strict=True) if code < 0]
    if missing == "error":
        empty = nw.col("label").is_null()
        for value in nothing:
            empty = empty | (nw.col("label") == value)
        _refuse_first(picked.filter(empty), "no label. Leave such rows out, or set missing='drop' to do so")
    coded = picked.join(of_worker, on="worker", how="left").join(of_label, on="label", how="left")
    bits = len(values).bit_length()
    found = collected(_grouped(coded, len(workers), bits))
    if (found["most"].to_numpy() > 1).any():
        twice = coded.group_by("task", "worker").agg(nw.len().alias("times")).filter(nw.col("times") > 1)
        _refuse_first(twice, "labelled the task more than once: keep one label of each in the query")
    numbers = np.stack([found[name].to_numpy() for name in found.columns[:-2]], axis=1)
    place, labeler, value = _unpacked(numbers, len(workers), bits)
    label = codes[value]
    given, number = label >= 0, found["tasks"].to_numpy().astype(np.int64)
    length = np.bincount(place[given], minlength=len(number)).astype(np.int32)
    some = length > 0
    return EnginePatterns(
        labeler[given], label[given], length[some], number[some], tuple(workers), names,
        int(number[~some].sum()),
    )  # fmt: skip


def _class_codes(values: list, classes: Any) -> tuple[np.ndarray, tuple]:
    """The class of each different label, -1 for a word that means none, and the names of the classes."""
    # Three times each: a column in which every value is another would be taken for one of ids.
    found = encode_classes(values * 3, classes, None, Source("", "label"), None)
    return found.codes[: len(values)], found.classes


def _grouped(coded: Any, num_workers: int, bits: int) -> Any:
    """The query: numbers of a pattern, tasks of that pattern, and most labels by one worker of one task."""
    import narwhals as nw

    each = _BITS // bits  # workers in one number
    worker, label = nw.col("code of worker").cast(nw.Int64), nw.col("code of label").cast(nw.Int64)
    rows = coded.with_columns(worker.alias("who"), (label + 1).fill_null(0).alias("what"))
    rows = rows.group_by("task", "who").agg(nw.col("what").max(), nw.len().alias("times"))
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


def _refuse_first(rows: Any, why: str) -> None:
    """ValueError naming a row, if there is one."""
    first = collected(rows.head(1))
    if len(first):
        row = first.rows(named=True)[0]
        said = ", ".join(f"{name} {shown(row[name])}" for name in ("task", "worker", "label") if name in row)
        raise ValueError(f"row ({said}): {why}")
