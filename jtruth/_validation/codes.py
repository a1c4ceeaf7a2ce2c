"""Predictions and gold answers as class codes: class names, or the codes where nothing else can be meant.

A whole number is a code only if the classes are called "0", "1", ..., or if somebody gave their order. Where
names were put in alphabetical order, 0 and 1 mean whatever the alphabet says ("accept" is 0), and an answer
would be confidently wrong: such numbers are refused.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from jtruth._validation.coded import different, kinds_of, recode
from jtruth._validation.ids import MISSING_TEXT, MISSING_TYPES, is_missing
from jtruth._validation.words import Source, quoted

PLAIN_INTEGER = re.compile(r"0|[1-9][0-9]*")


def is_integer(name: str) -> bool:
    """Whether a class name is a whole number as it is usually written."""
    return PLAIN_INTEGER.fullmatch(name) is not None


def class_codes(
    values: Any,
    classes: Sequence[str],
    source: Source,
    *,
    coded: bool,
    if_missing: str | None,
    what: str = "",
) -> np.ndarray:
    """(entries,) int32 codes of predictions or gold answers; -1 where one is missing.

    Args:
        values: (entries,) names or numbers, a list or an array.
        classes: names in the order of their codes.
        source: names entries in messages.
        coded: whether the order of the classes was given, so that numbers may be codes of named classes.
        if_missing: what to do about a missing entry; None where they are allowed (None, NaN, -1).
        what: the word for an entry in messages, with a space after it.

    Raises:
        ValueError: naming the first entries that are no class.
    """
    values = values.tolist() if isinstance(values, np.ndarray) else values
    position = {name: k for k, name in enumerate(classes)}
    codes = coded and not any(map(is_integer, classes))
    kinds = {kind for kind in kinds_of(values) if kind.__name__ not in MISSING_TYPES}
    if bool in kinds and len(kinds) > 1:
        raise ValueError(f"{source.name}: true/false and other values are mixed; give class names")
    try:
        found = {value: _code(value, position, codes) for value in different(values)}
    except TypeError:
        raise ValueError(f"{source.at([0])}: {what}entries must be class names or whole numbers") from None
    if if_missing is not None:  # text that says "nothing" is no class; as gold it might be a typing error
        empty = {v for v, code in found.items() if code is None and str(v).casefold() in MISSING_TEXT}
        found.update(dict.fromkeys(empty, -1))
    if None in found.values():
        rows = [k for k, value in enumerate(values) if found[value] is None]
        raise ValueError(_unknown(values[rows[0]], rows, classes, source, coded, if_missing is None, what))
    if -1 in found.values():
        rows = [k for k, value in enumerate(values) if found[value] == -1]
        if if_missing is not None:
            found = f"no {what or 'class '}(got {values[rows[0]]!r})"
            raise ValueError(f"{source.at(rows)}: {found}. {if_missing}")
    if if_missing is None and "-1" in position and any(value == -1 for value in found):
        raise ValueError(
            f"{source.name}: -1 is a class here and also the mark for unknown; give a dict of the known ones"
        )
    return recode(values, found.__getitem__)


def _code(value: Any, position: dict[str, int], codes: bool) -> int | None:
    """Code of one entry, -1 if it is missing, None if it is no class."""
    if is_missing(value):
        return -1
    if str(value) in position:
        return position[str(value)]
    if isinstance(value, str):
        return _in_range(int(value), position) if codes and is_integer(value) else None
    if isinstance(value, bool):
        plain = position.get(str(int(value)))
        return plain if plain is not None else (int(value) if codes and len(position) == 2 else None)
    if not isinstance(value, int) and not (isinstance(value, float) and value.is_integer()):
        return None
    if str(int(value)) in position:
        return position[str(int(value))]
    if value == -1:
        return -1
    return _in_range(int(value), position) if codes else None


def _in_range(code: int, position: dict[str, int]) -> int | None:
    return code if 0 <= code < len(position) else None


def _unknown(
    value: Any, rows: list, classes: Sequence[str], source: Source, coded: bool, missing: bool, what: str
) -> str:
    """The message for entries that are no class."""
    place = source.entry(rows, what, value)
    number = not isinstance(value, str) or (is_integer(value) and int(value) < len(classes))
    if list(classes) == list(map(str, range(len(classes)))) and not isinstance(value, str):
        unknown = " (or -1 for unknown)" if missing else ""
        return f"{place} not a class; classes are 0 to {len(classes) - 1}{unknown} ({len(rows)} such entries)"
    if number and not coded and not any(map(is_integer, classes)):
        return (
            f"{place} a number, but the classes are called {quoted(classes, 8)}, and nobody said which of "
            f"them is 0. Give class names, or say it where the labels are made: classes=[...], all names in "
            "the order of their codes"
        )
    return f"{place} not one of the classes {quoted(classes, 8)}"
