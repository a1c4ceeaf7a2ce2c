"""A column of text as whole numbers: each different text once, and which of them stands in each row.

What is asked of a column (is something missing, which classes are there, which code has each) is asked of its
different values, and there are few of them: ten million labels are three. `different`, `recode` and `renamed`
ask so of a coded column, and of a plain list by going through it, with the same answer.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

_CHUNK = 1 << 16  # rows at a time where somebody goes through all of them


class Coded(Sequence):
    """A column; row k is `names[codes[k]]`. It answers whatever a list answers, and cannot be changed."""

    def __init__(self, codes: np.ndarray, names: list):
        self.codes = codes  # (rows,) int32
        self.names = (
            names  # different values, text but from data frames, in the order in which they first appear
        )

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return [self.names[k] for k in self.codes[key].tolist()]
        return self.names[self.codes[key]]

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self.codes), _CHUNK):
            yield from map(self.names.__getitem__, self.codes[start : start + _CHUNK].tolist())

    def __contains__(self, value: Any) -> bool:
        return value in self.names


def different(values: Sequence) -> list:
    """The different values, in the order in which they first appear."""
    return values.names if isinstance(values, Coded) else list(dict.fromkeys(values))


def kinds_of(values: Sequence) -> set[type]:
    """The types of the values."""
    return set(map(type, values.names if isinstance(values, Coded) else values))


def recode(values: Sequence, code_of: Callable[[Any], Any]) -> np.ndarray:
    """(rows,) int32: the number of each value; new values are asked for in the order of their appearance."""
    if isinstance(values, Coded):
        return np.fromiter(map(code_of, values.names), np.int32, len(values.names))[values.codes]
    return np.fromiter(map(code_of, values), np.int32, len(values))


def occurring(codes: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The different ones of many codes below `size`, increasing; where each stands first; how often."""
    number, first = np.bincount(codes, minlength=size), np.empty(size, np.int64)
    first[codes[::-1]] = np.arange(codes.size - 1, -1, -1)  # NumPy keeps the last assignment to a place
    found = np.flatnonzero(number)
    return found, first[found], number[found]


def as_coded(values: np.ndarray) -> Sequence:
    """An array as a column of plain values: its different numbers once, where they are whole and few."""
    if values.dtype.kind not in "iub" or not values.size:
        return values.tolist()
    low, high = values.min().item(), values.max().item()
    size = high - low + 1
    if size > values.size + _CHUNK:
        return values.tolist()
    codes = values.astype(np.int64) - low if high < 2**63 else (values - values.min()).astype(np.int64)
    found, first, _ = occurring(codes, size)
    order, place = np.argsort(first), np.empty(size, np.int32)
    place[found[order]] = np.arange(found.size)
    return Coded(place[codes], values[first[order]].tolist())


def renamed(values: Sequence[str], names: Mapping[str, str]) -> Sequence[str]:
    """Values with other names; what has none stays. Two values may get one name."""
    if not isinstance(values, Coded):
        return [names.get(value, value) for value in values]
    return merged(values.codes, [names.get(name, name) for name in values.names])


def merged(codes: np.ndarray, names: Sequence) -> Coded:
    """A column of names some of which may be equal."""
    place = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return Coded(np.array([place[name] for name in names], np.int32)[codes], list(place))
