"""Columns of plain Python values, and task and worker ids as codes."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import count, pairwise, takewhile
from typing import Any

import numpy as np

from jtruth._validation.coded import Coded, kinds_of, recode
from jtruth._validation.names import check_visible
from jtruth._validation.words import Source, duplicates, quoted, shown

MISSING_TEXT = frozenset({"", "-1", "na", "n/a", "nan", "null", "none", "<na>"})  # compared in lower case
MISSING_TYPES = frozenset({"NoneType", "NAType", "NaTType"})  # None; the missing values of pandas


def as_list(values: Any, what: str) -> Any:
    """A list of plain Python values from a list, a NumPy or JAX array or a column; coded text as it is."""
    if isinstance(values, Coded):
        return values
    iterable = hasattr(values, "__iter__") or hasattr(values, "tolist")
    if isinstance(values, str | bytes | Mapping | Set) or not iterable:
        raise ValueError(f"{what} must be a sequence of values; got {shown(values)}")
    if getattr(values, "ndim", 1) != 1:
        raise ValueError(f"{what} must have one axis; got shape {tuple(values.shape)}")
    for convert in ("tolist", "to_list"):
        if hasattr(values, convert):
            values = getattr(values, convert)()
            break
    values = list(values)
    if any(issubclass(kind, np.generic) for kind in set(map(type, values))):
        values = [v.item() if isinstance(v, np.generic) else v for v in values]
    return values


def is_frame(value: Any) -> bool:
    """Whether a value is a data frame; asked of its type, since lazy frames compute their columns."""
    return any(hasattr(type(value), name) for name in ("columns", "column_names"))


def read_frame(frame: Any, what: str = "frame", lazy: bool = False) -> Any:
    """A narwhals frame from any data frame that narwhals can read; one that is lazy stays so if `lazy`."""
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        table = nw.from_native(frame)
        table = table.collect() if isinstance(table, nw.LazyFrame) and not lazy else table
    except TypeError:
        raise ValueError(
            f"{what} is a {type(frame).__name__}, not a data frame: use Labels.from_long for columns, "
            "Labels.from_matrix for a (samples, labelers) array, jtruth.read_labels for a file"
        ) from None
    except DuplicateError as problem:
        raise ValueError(f"{what}: {' '.join(str(problem).split())}. Rename or remove columns") from None
    return table


class MissingColumn(ValueError):
    """A table lacks a column that was asked for."""


def check_columns(header: Iterable[str], columns: dict[str, str], source: Source, option: str = "--") -> None:
    """Refuse a table without the wanted columns; `option` and the role are what the shell calls them."""
    header = list(header)
    for role, name in columns.items():
        if name not in header:
            raise MissingColumn(
                source.says(
                    f"no column {name!r}; the columns are {quoted(header, 12)}. "
                    f"Say which one holds the {role} by {role}=... (at the command line {option}{role} ...)."
                )
            )


def is_missing(value: Any) -> bool:
    """True for None, NaN and the missing values of data frames."""
    return type(value).__name__ in MISSING_TYPES or (isinstance(value, float) and value != value)


def kind_name(value: Any) -> str:
    """The type of a value in words."""
    names = {str: "text", int: "whole number", float: "decimal number", bool: "true/false"}
    return names.get(type(value), type(value).__name__)


def check_ids(values: Sequence, what: str, source: Source) -> None:
    """Refuse ids that are missing, empty, fractions, or of more than one type."""
    kinds = kinds_of(values)
    rows = []
    if any(k is float or k.__name__ in MISSING_TYPES for k in kinds) or (str in kinds and "" in values):
        rows = [k for k, v in enumerate(values) if is_missing(v) or (isinstance(v, str) and not v)]
    if rows:
        found = f"{source.at(rows)}: no {what} id (got {shown(values[rows[0]])})"
        raise ValueError(f"{found}. Fill it in, or leave the row out.")
    if len(kinds) > 1:
        firsts = sorted(next(k for k, v in enumerate(values) if type(v) is kind) for kind in kinds)
        found = " and ".join(f"{kind_name(values[k])} ({source.at([k])}: {shown(values[k])})" for k in firsts)
        raise ValueError(f"{what} ids mix types: {found}. Make all of them text, or all numbers.")
    if kinds & {float, bool}:
        raise ValueError(
            f"{source.at([0])}: {what} id {values[0]!r} is a {kind_name(values[0])}. "
            f"Ids are text or whole numbers: convert them first, for instance by .astype(int)."
        )


def encode_ids(
    values: Sequence, what: str, known: Iterable | None, source: Source
) -> tuple[np.ndarray, tuple]:
    """Codes 0, 1, ... of ids, and the ids in that order.

    The order is that of `known`; without it, ids 0..n-1 are numbered as they are, and others by first
    appearance.
    """
    check_ids(values, what, source)
    if known is None and isinstance(values, Coded):
        check_visible(values.names, values, f"{what} id", source, inside=what != "task")
        return _as_numbered(values.codes, tuple(values.names))
    codes = defaultdict(count().__next__)  # one pass: an id that is new gets the next number
    if known is not None:
        given = as_list(known, f"the list of {what}s")
        twice = duplicates(given)
        if twice:
            raise ValueError(f"the list of {what}s names some more than once: {quoted(twice)}")
        codes.update((name, k) for k, name in enumerate(given))
        codes.default_factory = count(len(given)).__next__
    try:
        coded = recode(values, codes.__getitem__)
    except TypeError as problem:
        raise ValueError(f"{what} ids must be text or whole numbers ({problem})") from None
    check_visible(codes, values, f"{what} id", source, inside=what != "task")
    if known is None:
        return _as_numbered(coded, tuple(codes))
    if len(codes) > len(given):
        unknown = list(codes)[len(given) :]
        rows = np.flatnonzero(coded >= len(given))
        raise ValueError(
            f"{source.at(rows)}: {len(unknown)} ids are not in the list of {what}s: {quoted(unknown)}. "
            f"That list has {quoted(given)}. Text and numbers are different, and so are '1' and '01'."
        )
    return coded, tuple(codes)


def _as_numbered(coded: np.ndarray, ids: tuple) -> tuple[np.ndarray, tuple]:
    """Ids that are the numbers 0..n-1 stand where they say, whichever of them came first."""
    names = list(map(str, ids))
    number = _numbers(names) if names[:1] and names[0].isdecimal() else None
    if number is None or (number >= len(ids)).any() or (number == np.arange(len(ids))).all():
        return coded, ids
    return number[coded], tuple(ids[k] for k in np.argsort(number))


def _numbers(names: Sequence[str], before: str = "") -> np.ndarray | None:
    """Names as whole numbers without leading zeros after `before`, which all begin with; None if one is none.

    All of them are one text, for there may be millions.
    """
    text = ("\n" + "\n".join(names) + "\n").replace("\n" + before, "\n")
    digits = text.replace("\n", "")
    if not (digits.isascii() and digits.isdecimal()) or "\n\n" in text:
        return None
    if len(digits) + len(names) + 1 != len(text) or max(map(len, names)) - len(before) > 18:
        return None
    if text.count("\n0") != text.count("\n0\n"):
        return None
    return np.fromstring(text.strip(), np.int64, sep="\n")


def in_order(ids: tuple) -> bool:
    """Whether ids are sorted, as text or with their numbers taken as numbers ("t9" before "t10")."""
    names = list(map(str, ids))
    if all(a <= b for a, b in pairwise(names)):
        return True
    ends = zip(min(names), max(names), strict=False)  # what these begin with, all names do
    before = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], ends)).rstrip("0123456789")
    number = _numbers(names, before)
    if number is not None:  # the case of millions of ids: "t0", "t1", ...
        return bool((number[1:] >= number[:-1]).all())
    parts = (list(map(_sort_key, re.split(r"([0-9]+)", name))) for name in names)
    return all(a <= b for a, b in pairwise(parts))


def _sort_key(part: str) -> tuple[bool, int, str]:
    """Numbers before text, numbers by value."""
    return not part.isdecimal(), int(part) if part.isdecimal() else 0, part


def names_for(names: Iterable | None, what: str, size: int) -> tuple | None:
    """Names for an axis of a known size, checked; None stays None."""
    if names is None:
        return None
    given = tuple(as_list(names, what))
    if len(given) != size or duplicates(given):
        raise ValueError(f"{what} needs {size} different names; got {len(given)}: {quoted(given)}")
    return given
