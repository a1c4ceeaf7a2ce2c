"""A column of labels, predictions or gold as class codes: whole numbers 0..C-1, or class names.

A whole number is a code only if the classes are called "0", "1", ..., or if somebody gave their order. Where
names were put in alphabetical order, 0 and 1 mean whatever the alphabet says ("accept" is 0), and an answer
would be confidently wrong: such numbers are refused.
"""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from jtruth._validation import words
from jtruth._validation.coded import as_coded, different, recode, types_of
from jtruth._validation.ids import MISSING_TEXT, MISSING_TYPES, as_list, is_missing, kind_name
from jtruth._validation.scale import scale_of
from jtruth._validation.words import Source, brief, quoted


def is_integer(name: str) -> bool:
    """Whether a class name is a whole number as it is usually written."""
    return re.fullmatch("0|[1-9][0-9]*", name) is not None


def class_codes(
    values: Any, classes: Sequence[str], source: Source, *, coded: bool, if_missing: str | None,
    what: str = "",
) -> np.ndarray:  # fmt: skip
    """(entries,) int32 codes of predictions or gold, -1 where one is missing; what is no class is refused.

    `coded`: the order of the classes was given, so numbers may be codes; `if_missing`: what to do about a
    missing entry, None where they are allowed; `what`: the word for an entry, with a space after it.
    """
    values = as_coded(np.asarray(values)) if isinstance(values, np.ndarray) else values
    position = {name: k for k, name in enumerate(classes)}
    codes = coded and not any(map(is_integer, classes))
    types = {kind for kind in types_of(values) if kind.__name__ not in MISSING_TYPES}
    if bool in types and len(types) > 1:
        raise ValueError(f"{source.name}: true/false and other values are mixed; give class names")
    try:
        code_of = {value: _code(value, position, codes) for value in different(values)}
    except TypeError:
        raise ValueError(f"{source.at([0])}: {what}entries must be class names or whole numbers") from None
    if if_missing is not None:  # text that says "nothing" is no class; as gold it might be a typing error
        empty = {v for v, code in code_of.items() if code is None and str(v).casefold() in MISSING_TEXT}
        code_of.update(dict.fromkeys(empty, -1))
    if None in code_of.values():
        rows = [k for k, value in enumerate(values) if code_of[value] is None]
        raise ValueError(_unknown(values[rows[0]], rows, classes, source, coded, if_missing is None, what))
    if if_missing is not None and -1 in code_of.values():
        rows = [k for k, value in enumerate(values) if code_of[value] == -1]
        nothing = f"no {what or 'class '}(got {values[rows[0]]!r})"
        raise ValueError(f"{source.at(rows)}: {nothing}. {if_missing}")
    if if_missing is None and "-1" in position and any(value == -1 for value in code_of):
        advice = "-1 is a class here but also means unknown; give a dict of the known classes"
        raise ValueError(f"{source.name}: {advice}")
    return recode(values, code_of.__getitem__)


def _code(value: Any, position: dict[str, int], codes: bool) -> int | None:
    """Code of one entry, -1 if it is missing, None if it is no class."""
    if is_missing(value):
        return -1
    if str(value) in position:
        return position[str(value)]
    if isinstance(value, str):
        return int(value) if codes and is_integer(value) and int(value) < len(position) else None
    if not isinstance(value, int) and not (isinstance(value, float) and value.is_integer()):
        return None
    if str(int(value)) in position:
        return position[str(int(value))]
    if value == -1:
        return -1
    codes = codes and (len(position) == 2 or not isinstance(value, bool))
    return int(value) if codes and 0 <= value < len(position) else None


def by_class(values: Any, classes: Sequence[Any], what: str = "prior") -> Any:
    """Numbers of a dict or Series, by its keys, in the order of the classes; anything else as it is.

    Keys are class names; 0..C-1 are codes where no class is called by a whole number.
    """
    if not isinstance(values, Mapping) and (not hasattr(values, "iloc") or getattr(values, "ndim", 0) != 1):
        return values
    keys = list(values) if isinstance(values, Mapping) else values.index.tolist()
    names = tuple(map(str, classes))
    place, codes = {name: k for k, name in enumerate(names)}, not any(map(is_integer, names))
    found = (_code(key.item() if isinstance(key, np.generic) else key, place, codes) for key in keys)
    places = [-1 if code is None else code for code in found]
    if sorted(places) != list(range(len(names))):
        given = quoted(keys, 8) or "no class"
        advice = "give one number for each of these names, or a plain list in the order of the classes"
        raise ValueError(f"{what} has a number for {given}, but the classes are {quoted(names, 8)}: {advice}")
    column = list(values.values()) if isinstance(values, Mapping) else values.to_numpy()
    return np.asarray(column)[np.argsort(places)]


def _unknown(
    value: Any, rows: list, classes: Sequence[str], source: Source, coded: bool, missing: bool, what: str
) -> str:
    place = source.entry(rows, what, value)
    number = not isinstance(value, str) or (is_integer(value) and int(value) < len(classes))
    if list(classes) == list(map(str, range(len(classes)))) and not isinstance(value, str):
        unknown = " (or -1 for unknown)" if missing else ""
        return f"{place} not a class; classes are 0 to {len(classes) - 1}{unknown} ({len(rows)} such)"
    if number and not coded and not any(map(is_integer, classes)):
        return (
            f"{place} a number, but the classes are {quoted(classes, 8)}, and their order is unknown. Give "
            "class names, or create the labels with classes=[...], all names in the order of their codes"
        )
    return f"{place} not one of the classes {quoted(classes, 8)}"


MOST_CLASSES = 10_000  # one confusion matrix of so many classes takes 800 MB
_MANY = 50  # labels of a labeler, of which some class would come twice
MOST_UNNAMED = 1000  # classes that nobody named; more of them are ids or free text


def encode_classes(
    values: Sequence, classes: Iterable | None, num_classes: int | None, source: Source,
    if_missing: str | None, length: int | None = None, silent: Container = (), scale: str | None = None,
) -> tuple[np.ndarray, tuple, tuple, str]:  # fmt: skip
    """(int32 codes of a column of labels, -1 where one is missing; class names; notes; scale of the classes).

    Missing labels are refused with the advice `if_missing`, if any; `silent` ones are missing, and never
    refused. `length` is that of the column where `values` are its different ones.
    """
    named = class_names(classes, num_classes)
    _check_one_type(values, source)
    _check_number(values, named, len(values) if length is None else length)
    labelled = (value for value in different(values) if value not in silent)
    names = {value: _class_name(value, named, values, source, scale) for value in labelled}
    if if_missing is not None and None in names.values():
        rows = [k for k, v in enumerate(values) if names.get(v, "") is None]
        found = values[rows[0]]
        advice = f"{if_missing} If {str(found)!r} is a class, name all classes in `classes`."
        raise ValueError(f"{source.at(rows)}: no label (got {found!r}). {advice}")
    present = list(dict.fromkeys(name for name in names.values() if name is not None))
    words.check_visible(present, values, "label", source)
    order, notes, scale = _class_order(present, named, num_classes, scale)
    code = {name: k for k, name in enumerate(order)}
    unnamed = all(map(is_integer, present)) and not code.keys() >= set(present)
    if named and unnamed and not any(map(is_integer, named)):
        code = {str(k): k for k in range(len(named))}  # the labels are codes, `classes` names the codes
    unknown = {name for name in present if name not in code}
    if unknown:
        rows = [k for k, v in enumerate(values) if names.get(v) in unknown]
        allowed = f"one of the classes {quoted(order, 8)}" if named else f"a whole number 0..{len(order) - 1}"
        advice = "Correct it, or name every class in `classes`."
        raise ValueError(f"{source.at(rows)}: label {brief(values[rows[0]])} is not {allowed}. {advice}")
    codes = {value: code[name] for value, name in names.items() if name is not None}
    notes += words.alike_note(order, "class names")
    return recode(values, lambda value: codes.get(value, -1)), order, notes, scale


def check_labelers(labeler: np.ndarray, codes: np.ndarray, workers: Sequence | None) -> None:
    """Refuse a "labeler" most of whose labels nobody gives a second time: a column of ids or of free text."""
    if codes.max(initial=0) < _MANY // 2:
        return
    used = codes >= 0
    labeler, codes = labeler[used], codes[used]
    once = np.bincount(codes)[codes] == 1
    totals = np.bincount(labeler)
    bad = np.flatnonzero((totals >= _MANY) & (2 * np.bincount(labeler, once, totals.size) > totals))
    if bad.size:
        who = brief(bad[0] if workers is None else workers[bad[0]])
        raise ValueError(
            f"labeler {who} gave {totals[bad[0]]} labels, and most of them occur once, like ids or text. "
            f"Leave this column out, or read it as the task (task={who}); if these are classes, list all of "
            "them in `classes`"
        )


def inferred_classes(names: tuple, classes: Iterable | None, num_classes: int | None) -> tuple[str, ...]:
    """("classes",) if the order of the classes was found here, and their names are not their codes."""
    named = classes is not None or num_classes is not None
    return () if named or names == tuple(map(str, range(len(names)))) else ("classes",)


def class_names(classes: Iterable | None, num_classes: int | None) -> tuple | None:
    """The class names as text, checked; None when they are not given."""
    if num_classes is not None:
        _check_num_classes(num_classes)
    if classes is None:
        return None
    names = tuple(str(c) for c in as_list(classes, "classes"))
    words.check_visible(names, names, "class", Source("classes", "name"))
    _check_num_classes(max(2, len(names)))
    if len(names) < 2 or words.duplicates(names):
        raise ValueError(f"classes must be two or more different names; got {quoted(names)}")
    if num_classes is not None and num_classes != len(names):
        raise ValueError(f"num_classes is {num_classes} but classes has {len(names)} names: {quoted(names)}")
    return names


def _check_num_classes(number: Any) -> None:
    """Refuse a number of classes that is none, or for which no confusion matrix can be stored."""
    if not isinstance(number, int | np.integer) or number < 2:
        raise ValueError(f"num_classes must be at least 2; got {number!r}, and a whole number is needed")
    if number > MOST_CLASSES:
        advice = "Is it the number of classes?"
        raise ValueError(f"num_classes is {number}, but the maximum is {MOST_CLASSES}. {advice}")


def _check_number(values: Sequence, named: tuple | None, rows: int) -> None:
    """Refuse a column that holds ids, times or free text rather than a few classes."""
    try:
        number = sum(not is_missing(value) for value in different(values))
    except TypeError as problem:
        raise ValueError(f"labels must be class codes or class names ({problem})") from None
    if named is None and (number > MOST_UNNAMED or (number > 50 and 2 * number > rows)):
        advice = "is it the right column? If these are the classes, name all of them in `classes`"
        raise ValueError(f"label has {number} different values in {rows} rows: {advice}")


def _check_one_type(values: Sequence, source: Source) -> None:
    """Refuse numbers and text in one column; missing values may stand among either."""
    types = {kind for kind in types_of(values) if kind.__name__ not in MISSING_TYPES}
    if str not in types or types == {str}:
        return
    other = [k for k, v in enumerate(values) if not isinstance(v, str) and not is_missing(v)]
    if other:
        text = next(k for k, v in enumerate(values) if isinstance(v, str))
        first = sorted((text, other[0]))
        kinds = " and ".join(f"{kind_name(values[k])} ({source.at([k])}: {values[k]!r})" for k in first)
        raise ValueError(f"labels mix types: {kinds}. Make all of them text, or all whole numbers.")


def _class_name(
    value: Any, named: tuple | None, values: Sequence, source: Source, scale: str | None
) -> str | None:
    """The text of a label, None if it is missing; decimals are classes where names or a scale say so."""
    if is_missing(value):
        return None
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        name = str(int(value))
    elif isinstance(value, str) or (isinstance(value, float) and (scale or str(value) in (named or ()))):
        name = str(value)
    else:
        rows = [k for k, v in enumerate(values) if v == value]
        problem = f"label {brief(value)} is neither a class code 0..C-1 nor a class name."
        raise ValueError(f"{source.at(rows)}: {problem}")
    if named is not None and name in named:
        return name
    return None if name.casefold() in MISSING_TEXT else name


def _class_order(
    present: list[str], named: tuple | None, num_classes: int | None, scale: str | None
) -> tuple[tuple, tuple, str]:
    """The classes in order of their codes, notes, and the scale."""
    if named is None and num_classes is not None:
        named = tuple(map(str, range(num_classes)))
    if named is not None:
        return named, (), scale_of(named, scale, named=True)[0]
    if len(present) < 2:
        only = f"the only label is {present[0]!r}" if present else "no label is given"
        raise ValueError(f"{only}: name all classes in `classes` (or set num_classes).")
    words.check_different_numbers(present, "class names")
    found, names, _, notes = scale_of(present, scale)
    if not all(map(is_integer, present)):
        return names, notes, found
    what = f"Labels {words.some(names, 8)} are class names"
    if int(names[0]) > 0:
        notes += (f"{what}; their codes are 0..{len(names) - 1}.",)
    elif int(names[-1]) >= len(names) and scale is None:
        absent = next(k for k, name in enumerate(names) if int(name) != k)
        more = "if it is a class, name all classes in `classes` (or set num_classes)"
        notes += (f"{what}, and {absent} never occurs; {more}.",)
    return names, notes, found
