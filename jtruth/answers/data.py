"""Results as data: plain numbers, lists and strings for JSON, and data frames of any library.

Libraries of data frames are imported on first use.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from jtruth._files import plain_json
from jtruth._version import __version__
from jtruth.answers.blocks import Block, Curve, Document, Matrix, Notes, Table

SCHEMA = 1  # of the JSON; larger where a name changes its meaning or goes away


def answer_dict(document: Document) -> dict[str, Any]:
    """The result by the names of its blocks; a name with a point is inside another."""
    answer: dict[str, Any] = {
        "jtruth": __version__,
        "schema": SCHEMA,
        "question": document.question,
        "sentence": document.sentence,
        "about": document.about,
        "look_first": list(document.alarms),
    }
    for block in document.blocks:
        for name, value in _values(block):
            _put(answer, name.split("."), plain_json(value))
    return answer | ({"next": document.next} if document.next else {})


def _values(block: Block) -> list[tuple[str, Any]]:
    match block:
        case dict():
            return list(block.items())
        case Table() if block.by_name:
            value = {row[block.key]: _without(row, (block.key, *block.aside)) for row in block.rows}
        case Table():
            value = [_without(row, block.aside) for row in block.rows]
        case Matrix():
            value = dict(block.cells)
        case Curve():
            value = next(iter(block.series.values())) if len(block.series) == 1 else block.series
        case Notes():
            value = [note.text if note.data is None else note.data for note in block.items]
    return [(block.name, value)] if block.name else []


def _without(row: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def _put(tree: dict[str, Any], path: list[str], value: Any) -> None:
    """Put a value at its place; objects of the same name are merged."""
    *folders, name = path
    for folder in folders:
        tree = tree.setdefault(folder, {})
    old = tree.get(name)
    tree[name] = old | value if isinstance(old, dict) and isinstance(value, dict) else value


def dist_row(dist: Any, level: float) -> dict[str, Any]:
    """Mean, mode, sd, shortest interval and P(defined) of an `Estimate`."""
    names = ("mean", "mode", "sd", "low", "high", "probability_defined")
    if dist.mean != dist.mean:  # never defined: there is no more to ask
        return dict.fromkeys(names) | {"probability_defined": plain_json(dist.probability_defined)}
    low, high = dist.interval(level)
    values = (dist.mean, dist.mode, dist.sd, low, high, dist.probability_defined)
    row = dict(zip(names, values, strict=True))
    return {name: plain_json(value) for name, value in row.items()}


BACKENDS = ("pandas", "polars", "pyarrow")


def frame(rows: Sequence[Mapping[str, Any]], backend: str | None = None) -> Any:
    """Rows with the same names as a data frame; `backend` None: the first installed library.

    Raises:
        ValueError: no such library, or no row.
    """
    chosen = next((name for name in BACKENDS if find_spec(name)), None) if backend is None else backend
    if chosen is None or chosen not in BACKENDS or find_spec(chosen) is None:
        raise ValueError(
            f"a data frame needs one of {', '.join(BACKENDS)}; "
            + ("none is installed" if backend is None else f"{backend!r} is not")
        )
    if not rows:
        raise ValueError("this answer has no rows: nothing is determined, so there is nothing to tabulate")
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return import_module("narwhals").from_dict(columns, backend=chosen).to_native()


def answer_frame(document: Document, backend: str | None = None, table: str | None = None) -> Any:
    """A table of a result (the first if None) as a data frame: all numbers of its rows."""
    tables = {one.name: one for one in document.tables() if one.name}
    if table is not None and table not in tables:
        there = ", ".join(map(repr, tables)) or "none"
        raise ValueError(f"this answer has no table {table!r}; there are {there}")
    chosen = next(iter(tables), None) if table is None else table
    rows = [] if chosen is None else table_rows(tables[chosen])
    marked = {"look_first": " ".join(document.alarms)} if document.alarms else {}
    return frame([marked | row for row in rows], backend)


def table_rows(table: Table) -> list[dict[str, Any]]:
    """Flat rows: its name first, then numbers and words; the mean has the name of its posterior."""
    rows = [{table.key: row[table.key]} | dict(_flat(row, "")) for row in table.rows]
    names = dict.fromkeys(name for row in rows for name in row)
    folders = {n for n in names if any(other.startswith(f"{n}_") for other in names)}
    empty = {n for n in folders if all(row.get(n) is None for row in rows)}  # missing distributions
    return [{name: row.get(name) for name in names if name not in empty} for row in rows]


def _flat(row: Mapping[str, Any], above: str) -> list[tuple[str, Any]]:
    pairs = []
    for name, value in row.items():
        path = name if not above else above if name == "mean" else f"{above}_{name}"
        if isinstance(value, Mapping):
            pairs += _flat(value, path)
        elif not isinstance(value, list | tuple):
            pairs.append((path, plain_json(value)))
    return pairs
