"""Columns of text as whole numbers, each different text once; tables of whole numbers, their rows collapsed.

What is asked of a column (is something missing, which classes are there, which code has each) is asked of its
different values, and there are few of them: ten million labels are three. `different`, `recode` and `renamed`
ask so of a coded column, and of a plain list by going through it, with the same answer.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from jtruth._validation.words import Source, number_of, part_of, quoted, some

_CHUNK = 1 << 16  # rows at a time where somebody goes through all of them


class Coded(Sequence):
    """A column; row k is `names[codes[k]]`. It answers whatever a list answers, and cannot be changed."""

    def __init__(self, codes: np.ndarray, names: list):
        self.codes = codes  # (rows,) int32
        self.names = names  # different values (text, but from data frames) in the order of their appearance

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


def coded(values: Sequence[str]) -> Coded:
    """A column as whole numbers, each different text once."""
    if isinstance(values, Coded):
        return values
    number = defaultdict(count().__next__)
    return Coded(recode(values, number.__getitem__), list(number))


def different(values: Sequence) -> list:
    """The different values, in the order in which they first appear."""
    return values.names if isinstance(values, Coded) else list(dict.fromkeys(values))


def types_of(values: Sequence) -> set[type]:
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
    present = np.flatnonzero(number)
    return present, first[present], number[present]


def by_appearance(codes: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes below `size` numbered again in the order in which they first stand; and where each does."""
    _, first, _ = occurring(codes, size)
    first, place = np.sort(first), np.empty(size, np.int32)
    place[codes[first]] = np.arange(first.size)
    return place[codes], first


def as_coded(values: np.ndarray) -> Sequence:
    """An array as a column of plain values: its different numbers once, where they are whole and few."""
    if values.dtype.kind not in "iub" or not values.size:
        return values.tolist()
    low, high = values.min().item(), values.max().item()
    size = high - low + 1
    if size > values.size + _CHUNK:
        return values.tolist()
    codes = values.astype(np.int64) - low if high < 2**63 else (values - values.min()).astype(np.int64)
    codes, first = by_appearance(codes, size)
    return Coded(codes, values[first].tolist())


def renamed(values: Sequence[str], names: Mapping[str, str]) -> Sequence[str]:
    """Values with other names; what has none stays. Two values may get one name."""
    if not isinstance(values, Coded):
        return [names.get(value, value) for value in values]
    return merged(values.codes, [names.get(name, name) for name in values.names])


def merged(codes: np.ndarray, names: Sequence) -> Coded:
    """A column of names some of which may be equal."""
    kept = list(dict.fromkeys(names))
    if len(kept) == len(names):
        return Coded(codes.astype(np.int32, copy=False), kept)
    place = {name: k for k, name in enumerate(kept)}
    return Coded(np.array([place[name] for name in names], np.int32)[codes], kept)


REPEATS = ("majority", "first", "last", "keep", "error")
OWN = np.dtype([*((name, np.int64) for name in ("repeats", "pairs", "agree")), ("effective", np.float64)])


def _labelled_again(key: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, ...]:
    """Entries whose key occurs again, by key, and the number of the key of each.

    And of each different label of a key: the number of the key, where it stands first in these, how often.
    """
    by_key = np.argsort(key, kind="stable")
    again = np.append(False, np.diff(key[by_key]) == 0)
    several = again | np.append(again[1:], False)
    entry, of = by_key[several], np.cumsum(~again[several]) - 1
    classes = int(label.max()) + 1
    cell, place, number = np.unique(of * classes + label[entry], return_index=True, return_counts=True)
    return entry, of, cell // classes, place, number


def _one_of_each(again: tuple[np.ndarray, ...], repeats: str, ordered: bool) -> tuple[np.ndarray, int]:
    """An entry of each key, of ties the first label (or class, if rows have no order); number of ties."""
    entry, of, owner, place, number = again
    if repeats != "majority":
        new = of[1:] != of[:-1]
        return entry[np.append(new, True) if repeats == "last" else np.append(True, new)], 0
    best = np.lexsort((place if ordered else np.arange(place.size), -number, owner))
    start = np.append(True, owner[1:] != owner[:-1])
    tied = start[:-1] & ~start[1:] & (np.diff(number[best]) == 0)
    return entry[place[best[start]]], int(np.count_nonzero(tied))


def _own_agreement(labeler: np.ndarray, again: tuple[np.ndarray, ...], num_labelers: int) -> np.ndarray:
    """(labelers,) of `OWN`; "effective": as many independent pairs have this standard error, by samples.

    (Korn and Graubard 1998.) Of pairs that all agree, or never do, it is the number of samples.
    """
    entry, of, owner, _, number = again
    times = np.bincount(of)
    who, pairs = labeler[entry][np.append(True, of[1:] != of[:-1])], times * (times - 1) // 2
    alike = np.bincount(owner, number * (number - 1) // 2)
    repeats, met, agree = (np.bincount(who, one, num_labelers) for one in (times - 1, pairs, alike))
    spread = np.bincount(who, (alike - (agree / np.maximum(met, 1))[who] * pairs) ** 2, num_labelers)
    worth = np.minimum(met, agree * (met - agree) / np.maximum(spread, 1e-9))
    worth = np.where((agree == 0) | (agree == met), np.bincount(who, minlength=num_labelers), worth)
    return np.array(list(zip(repeats, met, agree, worth, strict=True)), OWN)


def keep_one_label_each(
    codes: tuple, rows: np.ndarray, repeats: str, names: tuple, source: Source
) -> tuple[np.ndarray, tuple, np.ndarray | None]:
    """The rows to use when a worker may have labelled a task several times, notes, and what repeats say."""
    (tasks, workers), (sample, labeler, label) = names, codes
    if rows.size < label.size:  # else no copy of many rows
        sample, labeler, label = sample[rows], labeler[rows], label[rows]
    key = sample.astype(np.int64)
    key *= len(workers)
    key += labeler
    if not has_duplicates(key):
        return rows, (), None
    again = _labelled_again(key, label)
    extra = int(again[0].size - again[1][-1]) - 1
    if repeats == "error":
        pair = np.flatnonzero(key == key[again[0][1:][np.diff(again[1]) == 0].min()])
        task, worker = tasks[sample[pair[0]]], workers[labeler[pair[0]]]
        raise ValueError(
            f"{source.at(rows[pair])}: worker {worker!r} labelled task {task!r} {pair.size} times "
            f"({number_of(extra, 'repeat')} in all). Set repeats='majority' to count the most frequent label "
            "of each, or 'first' or 'last'; 'keep' uses them as independent labels."
        )
    own = _own_agreement(labeler, again, len(workers))
    if repeats == "keep":
        text = f"Repeated labels ({extra}) count as independent, so intervals are too narrow."
        return rows, (f"{text} repeats='majority' counts one label per labeler and sample.",), own
    ordered, kept = not callable(source.numbers), np.ones(rows.size, bool)  # rows of an engine have no order
    chosen, ties = _one_of_each(again, repeats, ordered)
    kept[again[0]] = False
    kept[chosen] = True
    which = "most frequent" if repeats == "majority" else repeats
    more = f" {number_of(ties, 'tie')} went to the earliest label." if ties else ""
    more = more if ordered else " Ties go to the first class, because these rows have no order."
    text = f"{number_of(extra, 'repeated label')}: the {which} per labeler and sample counts"
    return rows[kept], (f"{text} (repeats={repeats!r}).{more}",), own


def has_duplicates(key: np.ndarray) -> bool:
    """Whether some value occurs twice; keys are not negative. A sort is many times faster than np.unique."""
    if (key[1:] > key[:-1]).all():
        return False
    if key.max() < 4 * key.size:
        return bool(np.bincount(key).max() > 1)
    ordered = np.sort(key)
    return bool((ordered[1:] == ordered[:-1]).any())


def padded_rows(row: np.ndarray, entry: np.ndarray, num_rows: int) -> np.ndarray:
    """(rows, most entries in a row) table of the entries of each row in increasing order, -1 padded."""
    width = int(entry.max(initial=0)) + 1
    key = np.sort(row.astype(np.int64) * width + entry)  # one sort orders the rows and what is in them
    row = key // width
    length = np.bincount(row, minlength=num_rows)
    table = np.full((num_rows, max(1, length.max(initial=0))), -1, np.int64)
    table[row, np.arange(len(row)) - (np.cumsum(length) - length)[row]] = key - row * width
    return table


def row_codes(entries: tuple, sizes: tuple[int, int, int]) -> np.ndarray | None:
    """One number for each sample, the sum of (label + 1) (classes + 1)^labeler, 0 without a label.

    None where there would be more numbers than samples, or for a labeler's second label of a sample.
    """
    (sample, labeler, label), (samples, labelers, classes) = entries, sizes
    if not label.size or labelers > 60 or (classes + 1) ** labelers > samples + 1000:
        return None
    power, table = (classes + 1) ** np.arange(labelers), (-1, labelers)
    full = label.size == samples * labelers and (labeler.reshape(table) == np.arange(labelers)).all()
    if full and (sample.reshape(table) == np.arange(samples)[:, None]).all():
        return (label.reshape(table) + np.int64(1)) @ power
    if np.bincount(sample * np.int64(labelers) + labeler).max(initial=0) > 1:
        return None
    return np.bincount(sample, (label.astype(np.int64) + 1) * power[labeler], samples).astype(np.int64)


def collapse_rows(table: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct rows: index of the first row of each kind, kind of each row, number of rows of each kind.

    Columns are folded into one number, renumbered by a sort only where it would not fit into 63 bits: exact,
    and faster than sorting whole rows.
    """
    kind, width, bound = np.zeros(len(table), np.int64), int(table.max(initial=0)) + 2, 1
    for column in table.T:
        if bound * width >= 2**63:
            occurs, kind = np.unique(kind, return_inverse=True)
            bound = len(occurs)
        kind, bound = kind * width + column + 1, bound * width
    if bound <= 4 * kind.size:  # so few numbers are counted, not sorted
        occurs, first, count = occurring(kind, bound)
        place = np.empty(bound, np.int64)
        place[occurs] = np.arange(occurs.size)
        return first, place[kind], count
    _, first, kind, count = np.unique(kind, return_index=True, return_inverse=True, return_counts=True)
    return first, kind, count


def distinct_indices(chosen: Any, size: int, what: str) -> np.ndarray:
    """Distinct indices 0..size-1 as an int64 array."""
    indices = np.asarray(chosen)
    whole = indices.ndim == 1 and (indices.dtype.kind in "iu" or indices.size == 0)
    if not whole or ((indices < 0) | (indices >= size)).any() or has_duplicates(indices):
        listed = some(indices.ravel().tolist())
        raise ValueError(f"choose {what}s by distinct indices 0..{size - 1}; got {listed}")
    return indices.astype(np.int64)


def check_entries(entries: tuple, sizes: tuple[int, int, int]) -> None:
    """Refuse codes of samples, labelers and labels that lie outside what their sizes allow."""
    names = ("sample", "labeler", "label")
    for name, codes, size, least in zip(names, entries, sizes, (0, 0, -1), strict=True):
        if codes.size and (codes.max() >= size or codes.min() < least):
            k = np.flatnonzero((codes >= size) | (codes < least))[0]
            advice = "build them by from_long, from_matrix or from_frame, which check this"
            outside = f"is {codes[k]}, outside {least}..{size - 1}"
            raise ValueError(f"{name}[{k}] of these Labels {outside}: {advice}")


def none_unlabelled(number: np.ndarray, names: tuple | None, allowed: bool) -> None:
    """Refuse samples without a label; `number` counts the labels of each sample."""
    bare = np.flatnonzero(number == 0)
    if bare.size and not allowed:
        advice = f"{_named(bare, names)}. Leave them out, or set allow_unlabelled=True."
        raise ValueError(f"{part_of(bare.size, number.size, 'sample')} no label: {advice}")


IDLE = "labeler gave no label", "labelers gave no label"
ABSENT = "class never occurs", "classes never occur"


def unused(number: np.ndarray, names: tuple | None, one: str, many: str) -> tuple:
    """A note about labelers or classes that do not occur, if there are any, in words for one and for many."""
    none = np.flatnonzero(number == 0)
    return (f"{number_of(none.size, one, many)}: {_named(none, names)}.",) if none.size else ()


def _named(indices: np.ndarray, names: tuple | None) -> str:
    return quoted(indices.tolist() if names is None else [names[i] for i in indices])
