"""Columns of plain Python values, task and worker ids as codes, and values put into the order of the samples.

Predictions, gold answers, times and chances come with task ids, or as a plain sequence. Ids are matched as
text (1 and "1" are the same task; ids of one table are all text or all numbers, so nothing can collide), and
every difference is an error with counts both ways. A plain sequence is in the order of the samples; where
nobody chose that order, a note names the first three ids.
"""

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import count, pairwise, takewhile
from typing import Any, NamedTuple

import numpy as np

from jtruth._validation.coded import Coded, recode, types_of
from jtruth._validation.words import (
    COLUMN_WORDS,
    Source,
    brief,
    check_visible,
    column_called,
    duplicates,
    number_of,
    part_of,
    quoted,
)

MISSING_TEXT = frozenset({"", "-1", "na", "n/a", "nan", "null", "none", "<na>"})  # compared in lower case
MISSING_TYPES = frozenset({"NoneType", "NAType", "NaTType"})  # None; the missing values of pandas


def as_list(values: Any, what: str) -> Any:
    """A list of plain Python values from a list, a NumPy or JAX array or a column; coded text as it is."""
    if isinstance(values, Coded):
        return values
    iterable = hasattr(values, "__iter__") or hasattr(values, "tolist")
    if isinstance(values, str | bytes | Mapping | Set) or not iterable:
        raise ValueError(f"{what} must be a sequence of values; got {brief(values)}")
    if getattr(values, "ndim", 1) != 1:
        raise ValueError(f"{what} must have one axis; got shape {tuple(values.shape)}")
    convert = next((name for name in ("tolist", "to_list") if hasattr(values, name)), None)
    values = list(values if convert is None else getattr(values, convert)())
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
    missing = {role: name for role, name in columns.items() if name not in header}
    if not missing:
        return
    free = [str(name) for name in header if name not in columns.values()]
    meant = {role: column_called(role, free) if role in COLUMN_WORDS else None for role in missing}
    names = {
        role: shlex.quote(meant[role] or ("column:NAME" if role == "gold" else "NAME")) for role in missing
    }
    typed = " ".join(f"{option}{role} {name}" for role, name in names.items())
    named, what = quoted(missing.values()), "column" if len(missing) == 1 else "columns"
    raise MissingColumn(
        source.says(
            f"no {what} {named}; the columns are {quoted(header, 12)}. Name the column of the "
            f"{' and the '.join(missing)} by {', '.join(f'{role}=...' for role in missing)} "
            f"(at the command line {typed})."
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
    types = types_of(values)
    rows = []
    if any(k is float or k.__name__ in MISSING_TYPES for k in types) or (str in types and "" in values):
        rows = [k for k, v in enumerate(values) if is_missing(v) or (isinstance(v, str) and not v)]
    if rows:
        why = f"{source.at(rows)}: no {what} id (got {brief(values[rows[0]])})"
        raise ValueError(f"{why}. Fill it in, or leave the row out.")
    if len(types) > 1:
        firsts = sorted(next(k for k, v in enumerate(values) if type(v) is kind) for kind in types)
        why = " and ".join(f"{kind_name(values[k])} ({source.at([k])}: {brief(values[k])})" for k in firsts)
        raise ValueError(f"{what} ids mix types: {why}. Make all of them text, or all numbers.")
    if types & {float, bool}:
        raise ValueError(
            f"{source.at([0])}: {what} id {values[0]!r} is a {kind_name(values[0])}. "
            f"Ids are text or whole numbers: convert them first, for instance by .astype(int)."
        )


def encode_ids(
    values: Sequence, what: str, known: Iterable | None, source: Source
) -> tuple[np.ndarray, tuple]:
    """Codes of ids, and the ids in that order: of `known`; else 0..n-1 as they are, others as they appear."""
    check_ids(values, what, source)
    if known is None and isinstance(values, Coded):
        check_visible(values.names, values, f"{what} id", source, inside=what != "task")
        return _as_numbered(values.codes, tuple(values.names))
    codes = defaultdict(count().__next__)  # one pass: an id that is new gets the next number
    if known is not None:
        known_ids = as_list(known, f"the list of {what}s")
        twice = duplicates(known_ids)
        if twice:
            raise ValueError(f"the list of {what}s names some more than once: {quoted(twice)}")
        codes.update((name, k) for k, name in enumerate(known_ids))
        codes.default_factory = count(len(known_ids)).__next__
    try:
        coded = recode(values, codes.__getitem__)
    except TypeError as problem:
        raise ValueError(f"{what} ids must be text or whole numbers ({problem})") from None
    check_visible(codes, values, f"{what} id", source, inside=what != "task")
    if known is None:
        return _as_numbered(coded, tuple(codes))
    if len(codes) > len(known_ids):
        unknown = list(codes)[len(known_ids) :]
        rows = np.flatnonzero(coded >= len(known_ids))
        raise ValueError(
            f"{source.at(rows)}: {len(unknown)} ids are not in the list of {what}s: {quoted(unknown)}. "
            f"That list has {quoted(known_ids)}. Text and numbers are different, and so are '1' and '01'."
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
    """Whole numbers without leading zeros behind `before`, with which all begin; None if one is none."""
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
    parts = (  # numbers before text, numbers by value
        [(not p.isdecimal(), int(p) if p.isdecimal() else 0, p) for p in re.split(r"([0-9]+)", name)]
        for name in names
    )
    return all(a <= b for a, b in pairwise(parts))


def names_for(names: Iterable | None, what: str, size: int) -> tuple | None:
    """Names for an axis of a known size, checked; None stays None."""
    if names is None:
        return None
    listed = tuple(as_list(names, what))
    if len(listed) != size or duplicates(listed):
        raise ValueError(f"{what} needs {size} different names; got {len(listed)}: {quoted(listed)}")
    return listed


class Aligned(NamedTuple):
    """Values of an argument, and the samples that they belong to (increasing)."""

    values: np.ndarray
    samples: np.ndarray
    entries: Source  # names entries in messages
    coded: bool  # whole numbers are class codes of these labels, whatever the classes are called
    notes: tuple[str, ...]


ORDER_NOTE = (
    "{} has no task ids, so its entries were matched with tasks in their order in the labels ({} first). A "
    "Series or dict by task id is safer."
)


class TaskArray(np.ndarray):
    """An array with one entry for each sample, which remembers whose entries they are.

    Parts of it have no ids, and its whole numbers stay class codes.
    """

    tasks: tuple | None
    notes: tuple

    def __array_finalize__(self, _: Any) -> None:
        self.tasks, self.notes = None, ()


def with_tasks(values: Any, tasks: tuple | None, notes: tuple = ()) -> TaskArray:
    """An array that knows the tasks of its entries, and sentences about how it was read."""
    array = np.asarray(values).view(TaskArray)
    array.tasks, array.notes = tasks, notes
    return array


def align(data: Any, labels: Any, what: str, *, partial: bool = False) -> Aligned:
    """What the user handed over as `what`, by sample; `partial`: some samples may have no entry."""
    return _aligned(*_split(data, labels, what), data, labels, what, partial)


def _aligned(
    ids: list | None, column: Any, data: Any, labels: Any, what: str, partial: bool = False
) -> Aligned:
    """`align` of values with these ids; None: in the order of the samples."""
    values = _array(column, what)
    coded = isinstance(data, TaskArray) and data.dtype.kind in "iu"
    notes = getattr(data, "notes", ()) if isinstance(data, TaskArray) else ()
    if ids is None:
        if len(values) != labels.num_samples:
            unknown = " (-1: unknown)" if partial else "; they must match"
            samples = f"there are {labels.num_samples} samples{unknown}"
            raise ValueError(f"{what} has {len(values)} entries but {samples}")
        known = isinstance(data, TaskArray) and data.tasks == labels.tasks
        if labels.tasks and "tasks" in labels.inferred and not known:  # nobody chose the order of the ids
            notes += (ORDER_NOTE.format(what, quoted(labels.tasks[:3])),)
        return Aligned(values, np.arange(labels.num_samples), Source(what, ""), coded, notes)
    names = list(map(str, labels.task_names))
    rows, matched, problems = match_ids(ids, names, Source(what, ""), complete=not partial)
    if problems:
        known = quoted(names, 3)
        raise ValueError(
            f"{what}: {'; '.join(problems)}. It is matched by task id; the labels have {known}. "
            "Correct the ids, or give a plain sequence (.to_numpy()) in the order of the samples."
        )
    return Aligned(values[rows], matched, Source(what, "", numbers=[ids[k] for k in rows]), coded, notes)


def align_table(data: Any, labels: Any, columns: Sequence[Any], what: str) -> tuple[Any, tuple[str, ...]]:
    """A number for each sample and class, and notes: of a frame, rows by task id and columns by their names.

    Task ids are its index or column "task". Anything else is in order already, and handed back as it is.
    """
    if not is_frame(data):
        return data, ()
    table = read_frame(data, what)
    names = [name for name in table.columns if name != "task"]
    if sorted(map(str, names)) != sorted(map(str, columns)):
        raise ValueError(
            f"{what} is a frame with the columns {quoted(names, 8)}, but the classes are "
            f"{quoted(columns, 8)}: rename its columns, or give .to_numpy() with columns in the order of the "
            "classes"
        )
    if len(names) < len(table.columns):
        ids = table["task"].to_list()
    else:
        ids = _index_ids(data, labels, what) if hasattr(data, "iloc") else None
    aligned = _aligned(ids, np.arange(len(table)), data, labels, what)
    of = {str(name): table[name].to_numpy() for name in names}
    return np.stack([of[str(name)] for name in columns], axis=1)[aligned.values], aligned.notes


def match_ids(
    ids: Any, tasks: Sequence[str], source: Source, *, complete: bool, noun: str = "entry", hint: str = ""
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Rows of a table with one row per task in the order of the samples, these samples, and what differs.

    `tasks` are ids of the samples as text; if `complete` every sample needs a row, called `noun`; `hint`
    follows "One row per task is needed".
    """
    check_ids(ids, "task", source)
    names = list(map(str, ids))
    repeated = duplicates(names)
    if repeated:
        rows = [k for k, name in enumerate(names) if name == repeated[0]]
        raise ValueError(
            f"{source.at(rows)}: task {brief(ids[rows[0]])} has {len(rows)} rows "
            f"({number_of(len(repeated), 'task does', 'tasks do')}). One row per task is needed{hint}."
        )
    number = {name: i for i, name in enumerate(tasks)}
    samples = np.fromiter((number.get(name, -1) for name in names), np.int64, len(names))
    rows = np.argsort(samples, kind="stable")[np.count_nonzero(samples < 0) :]
    problems = []
    if complete and rows.size < len(tasks):
        without = quoted(tasks[i] for i in np.setdiff1d(np.arange(len(tasks)), samples))
        missing = len(tasks) - rows.size
        problems.append(f"{part_of(missing, len(tasks), 'labelled task')} no {noun} in it ({without})")
    if rows.size < len(ids):
        unknown = quoted(ids[k] for k in np.flatnonzero(samples < 0))
        plural = "entries" if noun == "entry" else f"{noun}s"
        number = len(ids) - rows.size
        verb = "is for a task" if number == 1 else "are for tasks"
        problems.append(f"{number} of its {plural} {verb} without labels ({unknown})")
    return rows, samples[rows], problems


def _split(data: Any, labels: Any, what: str) -> tuple[list | None, Any]:
    """Task ids and values; None for the ids of a plain sequence."""
    if isinstance(data, Mapping):
        return as_list(list(data), what), list(data.values())
    if isinstance(data, str | bytes | Set):
        raise ValueError(
            f"{what} is a {type(data).__name__}; give a sequence in the order of the samples, or a Series, "
            "dict or frame with task ids"
        )
    if isinstance(data, TaskArray):
        same = data.tasks is None or data.tasks == labels.tasks
        return (None if same else list(data.tasks or ())), data
    if is_frame(data):
        return _split_frame(data, labels, what)
    if hasattr(data, "iloc"):
        return _index_ids(data, labels, what), data
    return None, data


def _split_frame(frame: Any, labels: Any, what: str) -> tuple[list | None, Any]:
    """One column (beside the index of a pandas frame), or two of which one is called "task"."""
    table = read_frame(frame, what)
    names = list(table.columns)
    values = [name for name in names if name != "task"]
    if len(values) != 1 or len(names) > 2:
        raise ValueError(
            f"{what} is a frame with the columns {quoted(names, 8)}; give one column, or two: 'task' with "
            "the task ids, and the values"
        )
    column = table[values[0]].to_native()
    if len(names) == 2:
        return table["task"].to_list(), column
    return (_index_ids(frame, labels, what) if hasattr(frame, "iloc") else None), column


def _index_ids(series: Any, labels: Any, what: str) -> list | None:
    """Task ids from the index of a pandas object; None where the index is only a count 0, 1, ..."""
    index = series.index
    if getattr(index, "nlevels", 1) > 1:
        raise ValueError(
            f"{what} has an index of {index.nlevels} levels, and task ids are one value each: keep one level "
            "(.droplevel), or give a dict by task id"
        )
    ids = index.tolist()
    counted = ids == list(range(len(ids)))
    if labels.tasks is None:
        if counted:
            return None
        raise ValueError(
            f"{what} has the index {quoted(ids, 3)}, but these labels have no task ids: give "
            ".to_numpy() if its rows are in the order of the samples, or give the labels their ids"
        )
    names = list(map(str, labels.task_names))
    if not counted or index.name is not None or names == list(map(str, ids)):
        return ids
    if set(names) == set(map(str, ids)):
        raise ValueError(
            f"{what} has the index 0, 1, 2 and so on, but these numbers are task ids in another order "
            f"({quoted(names, 3)}): give .to_numpy() if it is in that order, else a dict by task id"
        )
    return None


def _array(column: Any, what: str) -> np.ndarray:
    """The values as an array with one axis; numbers stay as they are, anything else is Python's own."""
    if getattr(column, "ndim", 1) != 1:
        raise ValueError(f"{what} has shape {tuple(column.shape)}; give one value for each sample")
    if isinstance(column, np.ndarray) and column.dtype.kind in "biufM":
        return np.asarray(column)
    values = as_list(column, what)
    if values and isinstance(values[0], list | tuple | np.ndarray):
        raise ValueError(f"{what} has shape {np.shape(values[0])} inside; give one value for each sample")
    types = set(map(type, values))
    if types <= {int} or types <= {float} or types <= {bool}:
        array = np.asarray(values)  # whole numbers beyond 64 bits become objects here
        if array.ndim == 1:
            return array
    array = np.empty(len(values), object)
    array[:] = values
    return array
