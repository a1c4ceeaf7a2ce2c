"""Rows of an answer as a data frame of whatever library is there. None is imported before somebody asks."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

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
