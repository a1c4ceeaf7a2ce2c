"""A column of labels as class codes: whole numbers 0..C-1, or class names."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jtruth._validation.coded import different, kinds_of, recode
from jtruth._validation.codes import is_integer
from jtruth._validation.ids import MISSING_TEXT, MISSING_TYPES, as_list, is_missing, kind_name
from jtruth._validation.names import alike_note, check_different_numbers, check_visible
from jtruth._validation.words import Source, duplicates, quoted, shown, some

MOST_CLASSES = 10_000  # one confusion matrix of so many classes takes 800 MB
MOST_UNNAMED = 1000  # classes that nobody named; more of them are ids or free text


class Encoded(NamedTuple):
    """A column of labels as class codes."""

    codes: np.ndarray  # (rows,) int32, -1 where the label is missing
    classes: tuple  # name of each class, text
    notes: tuple  # sentences about how labels were read


def encode_classes(
    values: Sequence,
    classes: Iterable | None,
    num_classes: int | None,
    source: Source,
    if_missing: str | None,
    length: int | None = None,
) -> Encoded:
    """Class codes of a column of labels, -1 where a label is missing.

    Missing labels are refused with the advice `if_missing`, or accepted if it is None. `length` is that
    of the column where `values` are only its different ones.
    """
    given = class_names(classes, num_classes)
    _check_one_type(values, source)
    _check_number(values, given, len(values) if length is None else length)
    names = {value: _class_name(value, given, values, source) for value in different(values)}
    if if_missing is not None and None in names.values():
        rows = [k for k, v in enumerate(values) if names[v] is None]
        found = values[rows[0]]
        raise ValueError(
            f"{source.at(rows)}: no label (got {found!r}). {if_missing} "
            f"If {str(found)!r} is a class, name all classes in `classes`."
        )
    present = list(dict.fromkeys(name for name in names.values() if name is not None))
    check_visible(present, values, "label", source)
    order, notes = _class_order(present, given, num_classes)
    code = {name: k for k, name in enumerate(order)}
    if given and not _known(present, code) and _are_integers(present) and not any(map(is_integer, given)):
        code = {str(k): k for k in range(len(given))}  # the labels are codes, `classes` names the codes
    unknown = {name for name in present if name not in code}
    if unknown:
        rows = [k for k, v in enumerate(values) if names[v] in unknown]
        allowed = f"one of the classes {quoted(order, 8)}" if given else f"a whole number 0..{len(order) - 1}"
        raise ValueError(
            f"{source.at(rows)}: label {shown(values[rows[0]])} is not {allowed}. "
            f"Correct it, or name every class in `classes`."
        )
    codes = {value: -1 if name is None else code[name] for value, name in names.items()}
    notes += alike_note(order, "class names")
    return Encoded(recode(values, codes.__getitem__), order, notes)


def inferred_classes(names: tuple, classes: Iterable | None, num_classes: int | None) -> tuple[str, ...]:
    """("classes",) if the order of the classes was found here, and their names are not their codes."""
    given = classes is not None or num_classes is not None
    return () if given or names == tuple(map(str, range(len(names)))) else ("classes",)


def class_names(classes: Iterable | None, num_classes: int | None) -> tuple | None:
    """The class names as text, checked; None when they are not given."""
    if num_classes is not None:
        _check_num_classes(num_classes)
    if classes is None:
        return None
    names = tuple(str(c) for c in as_list(classes, "classes"))
    check_visible(names, names, "class", Source("classes", "name"))
    _check_num_classes(max(2, len(names)))
    if len(names) < 2 or duplicates(names):
        raise ValueError(f"classes must be two or more different names; got {quoted(names)}")
    if num_classes is not None and num_classes != len(names):
        raise ValueError(f"num_classes is {num_classes} but classes has {len(names)} names: {quoted(names)}")
    return names


def _check_num_classes(number: Any) -> None:
    """Refuse a number of classes that is none, or for which no confusion matrix can be stored."""
    whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if not whole or number < 2:
        raise ValueError(f"num_classes must be at least 2; got {number!r}, and a whole number is needed")
    if number > MOST_CLASSES:
        raise ValueError(
            f"num_classes is {number}: at most {MOST_CLASSES} can be handled. Is it the number of classes?"
        )


def _check_number(values: Sequence, given: tuple | None, rows: int) -> None:
    """Refuse a column that holds ids, times or free text rather than a few classes."""
    try:
        number = sum(not is_missing(value) for value in different(values))
    except TypeError as problem:
        raise ValueError(f"labels must be class codes or class names ({problem})") from None
    if given is None and (number > MOST_UNNAMED or (number > 50 and 2 * number > rows)):
        raise ValueError(
            f"label has {number} different values in {rows} rows: is it the right column? If these "
            "are the classes, name all of them in `classes`"
        )


def _check_one_type(values: Sequence, source: Source) -> None:
    """Refuse numbers and text in one column; missing values may stand among either."""
    kinds = {kind for kind in kinds_of(values) if kind.__name__ not in MISSING_TYPES}
    if str not in kinds or kinds == {str}:
        return
    other = [k for k, v in enumerate(values) if not isinstance(v, str) and not is_missing(v)]
    if other:
        text = next(k for k, v in enumerate(values) if isinstance(v, str))
        first = sorted((text, other[0]))
        found = " and ".join(f"{kind_name(values[k])} ({source.at([k])}: {values[k]!r})" for k in first)
        raise ValueError(f"labels mix types: {found}. Make all of them text, or all whole numbers.")


def _class_name(value: Any, given: tuple | None, values: Sequence, source: Source) -> str | None:
    """The text of one label, or None if it is missing. A name in `classes` is never missing."""
    if is_missing(value):
        return None
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        name = str(int(value))
    elif isinstance(value, str):
        name = value
    else:
        rows = [k for k, v in enumerate(values) if v == value]
        raise ValueError(
            f"{source.at(rows)}: label {shown(value)} is neither a class code 0..C-1 nor a class name."
        )
    if given is not None and name in given:
        return name
    return None if name.casefold() in MISSING_TEXT else name


def _class_order(present: list[str], given: tuple | None, num_classes: int | None) -> tuple[tuple, tuple]:
    """The classes in order of their codes, and notes."""
    if given is not None:
        return given, ()
    if num_classes is not None:
        return tuple(map(str, range(num_classes))), ()
    if len(present) < 2:
        found = f"the only label is {present[0]!r}" if present else "no label is given"
        raise ValueError(f"{found}: name all classes in `classes` (or set num_classes).")
    check_different_numbers(present, "class names")
    if not _are_integers(present):
        return tuple(sorted(present)), ()
    numbers = sorted(map(int, present))
    names = tuple(map(str, numbers))
    if numbers[0] > 0:
        return names, (f"Labels {some(names, 8)} are class names; their codes are 0..{len(names) - 1}.",)
    if numbers[-1] >= len(numbers):
        absent = next(k for k, number in enumerate(numbers) if number != k)
        raise ValueError(
            f"labels are {some(names, 8)}, but nobody gave {absent}: name all classes in `classes` "
            f"(or set num_classes)."
        )
    return names, ()


def _are_integers(names: Iterable[str]) -> bool:
    return all(map(is_integer, names))


def _known(names: Iterable[str], code: dict) -> bool:
    return all(name in code for name in names)
