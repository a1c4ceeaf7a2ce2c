"""Tables that an engine holds (DuckDB, Polars, PySpark, whatever narwhals calls lazy): it numbers the ids.

Such a table may be larger than memory. What comes here are its different ids and classes and, for each row,
three whole numbers; joining, sorting and what does not fit into memory are the engine's work. A table of an
engine has no order of rows, so samples, labelers and rows are in sorted order, and a row is named in
messages by what it says.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jtruth._validation.coded import Coded
from jtruth._validation.ids import check_columns, read_frame
from jtruth._validation.words import Source, shown


class _Contents(Sequence):
    """Names of rows: what stands in them."""

    def __init__(self, columns: dict[str, Coded]):
        self._columns = columns

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __getitem__(self, row: Any) -> str:
        return f"({', '.join(f'{role} {shown(column[row])}' for role, column in self._columns.items())})"


def frame_columns(frame: Any, columns: dict[str, str]) -> tuple[tuple, Source | None]:
    """Columns of any data frame narwhals can read, and where they came from if that is an engine.

    Args:
        frame: of any kind.
        columns: what each one holds and its name.
    """
    table = read_frame(frame, lazy=True)
    if not hasattr(table, "collect"):
        check_columns(table.columns, columns, Source())
        return tuple(table[name].to_list() for name in columns.values()), None
    return lazy_columns(table, columns)


def lazy_columns(table: Any, columns: dict[str, str]) -> tuple[tuple[Coded, ...], Source]:
    """Columns of a lazy table of narwhals, coded by its engine; `columns` maps what each holds to its name.

    Returns:
        The columns in the order of `columns`, rows sorted by their codes, and where they came from.

    Raises:
        ValueError: a column that is not there.
    """
    import narwhals as nw

    check_columns(table.collect_schema().names(), columns, Source())
    picked = table.select(*(nw.col(name).alias(role) for role, name in columns.items()))
    names, codes = {}, [f"code of {role}" for role in columns]
    coded = picked
    for role in columns:
        names[role], numbered = names_of(picked, role)
        coded = coded.join(numbered, on=role, how="left")
    numbers = [nw.col(code).cast(nw.Int64).fill_null(-1) for code in codes]  # -1: a missing value
    found = collected(coded.select(*numbers).sort(*codes))
    made = {role: _column(found[c].to_numpy(), names[role]) for role, c in zip(columns, codes, strict=True)}
    return tuple(made.values()), Source("", "row", 0, _Contents(made))


def names_of(table: Any, role: str) -> tuple[list, Any]:
    """The different values of a column, sorted, and a lazy table of them and of "code of" each."""
    numbered = table.select(role).drop_nulls().unique().with_row_index(f"code of {role}", order_by=role)
    return collected(numbered.sort(f"code of {role}"))[role].to_list(), numbered


def collected(table: Any) -> Any:
    """Run a query."""
    return table.collect()


def _column(codes: np.ndarray, names: list) -> Coded:
    """A column; what is missing becomes None."""
    if (codes < 0).any():
        codes, names = np.where(codes < 0, len(names), codes), [*names, None]
    return Coded(codes.astype(np.int32), names)
