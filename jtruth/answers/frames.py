"""Rows of an answer as a data frame of whatever library is there. None is imported before somebody asks."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from jtruth.answers.as_json import plain_json
from jtruth.answers.blocks import Shown, Table

BACKENDS = ("pandas", "polars", "pyarrow")


def frame(rows: Sequence[Mapping[str, Any]], backend: str | None = None) -> Any:
    """Rows, all with the same names in the same order, as a data frame.

    Args:
        rows: one at least.
        backend: "pandas", "polars" or "pyarrow"; the first of them that is installed if None.

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


def answer_frame(shown: Shown, backend: str | None = None, table: str | None = None) -> Any:
    """A table of an answer as a data frame: every number of its rows, not only those that are shown.

    Args:
        shown: the answer.
        backend: as in `frame`.
        table: name of the table in the JSON; the first if None.

    Raises:
        ValueError: no such library, no such table, or no row.
    """
    tables = {one.name: one for one in shown.tables() if one.name}
    if table is not None and table not in tables:
        there = ", ".join(map(repr, tables)) or "none"
        raise ValueError(f"this answer has no table {table!r}; there are {there}")
    chosen = next(iter(tables), None) if table is None else table
    rows = [] if chosen is None else table_rows(tables[chosen])
    marked = {"look_first": " ".join(shown.alarms)} if shown.alarms else {}
    return frame([marked | row for row in rows], backend)


def table_rows(table: Table) -> list[dict[str, Any]]:
    """Flat rows: its name first, then numbers and words; the mean of a law is called as the law."""
    rows = [{table.key: row[table.key]} | dict(_flat(row, "")) for row in table.rows]
    names = dict.fromkeys(name for row in rows for name in row)
    folders = {n for n in names if any(other.startswith(f"{n}_") for other in names)}
    empty = {n for n in folders if all(row.get(n) is None for row in rows)}  # a law that is missing somewhere
    return [{name: row.get(name) for name in names if name not in empty} for row in rows]


def _flat(row: Mapping[str, Any], above: str) -> list[tuple[str, Any]]:
    found = []
    for name, value in row.items():
        path = name if not above else above if name == "mean" else f"{above}_{name}"
        if isinstance(value, Mapping):
            found += _flat(value, path)
        elif not isinstance(value, list | tuple):
            found.append((path, plain_json(value)))
    return found
