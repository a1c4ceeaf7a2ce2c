"""What the cells of labels mean: nothing, one class, several classes at once, or a number.

A lone punctuation mark says nothing unless somebody names it as a class. `map` says word by word what labels
mean, `pass_at` cuts numbers, `contains` asks of sets of classes whether one is among them. Without any of
these, where every label is one of the common words for yes and no, and more than one pair of them or more
than one spelling is in use, they are read as two classes; 1 and 0 are such words only beside others. "001"
and 1 stay apart. Whatever is done leaves a sentence.
"""

import csv
import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from jtruth._validation.coded import different, renamed
from jtruth._validation.ids import MISSING_TEXT
from jtruth._validation.scale import at_least, scale_of
from jtruth._validation.text import whole_numbers
from jtruth._validation.words import SIDE, YES_NO, Source, number_in, number_of, quoted
from jtruth.io.columns import MARKS, NOTHING
from jtruth.io.label_rows import LabelRows
from jtruth.io.plan import TRANSPOSED, WIDE, FilePlan

FAIL, PASS = "fail", "pass"
NO, YES = "no", "yes"
_SIDE = SIDE | {"0": 0, "1": 1}
_NO_WORDS = NOTHING - MISSING_TEXT  # #N/A and the like, which `Labels` does not know
_VERDICTS = (("I", "C"), ("fail", "pass"), ("false", "true"), ("0", "1"))  # of tools
_MANY_NUMBERS = 20  # different numbers, some with decimals, that are no classes; whole ones may be fifty


def says_nothing(value: str, plan: FilePlan) -> bool:
    """Whether a label is missing or silent."""
    word = value.strip().casefold()
    return word == "-1" or word in NOTHING or word in map(str.casefold, plan.silent)


Meaning = tuple[dict[str, str], tuple[str, ...]]  # cell -> what it means, for cells that change; notes


def in_words(
    values: Sequence[str], plan: FilePlan, source: Source, known: Sequence[str] = ()
) -> tuple[Sequence[str], tuple[str, ...]]:
    """Labels in the words of the classes (of those `known`, where there are some), and what was done."""
    values = decimal_points(whole_numbers(values))
    marks, notes = _marks(values, plan, known)
    values = renamed(values, marks) if marks else values
    if plan.contains is not None:
        meaning, more = _containing(values, plan.contains, source)
    elif isinstance(plan.pass_at, str):
        meaning, more = _from_grade_up(values, plan, source)
    else:
        way = _yes_and_no if plan.as_written else _by_map
        meaning, more = way(values, plan, source, known)
    return renamed(values, meaning) if meaning else values, notes + more


def classes_of(
    values: Sequence[str], plan: FilePlan, rows: LabelRows, others: Iterable[str] = ()
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Classes that nobody named: -1 among numbers below it; `others`, or of a tool, if all labels are one.

    Raises:
        ValueError: -1 beside other numbers, or "none" below words of a scale, may be a class or no label.
    """
    found = [v for v in different(values) if not says_nothing(v, plan)] if plan.classes is None else []
    if len(found) == 1 and len(every := {*others, *found}) > 1:
        return tuple(sorted(every)), ()
    for pair in _VERDICTS if rows.verdicts and len(found) == 1 else ():
        if found[0] in pair:
            other = pair[1 - pair.index(found[0])]
            return pair, (f"Every label is {found[0]!r}; the other class is {other!r}.",)
    silent = set(map(str.casefold, plan.silent))
    for name in [v for v in different(values) if v.casefold() in {"-1", "none"} - silent] if found else ():
        scale, names, *_ = scale_of([*found, name], "nominal" if found == ["1"] else None)
        if scale == "interval" and number_in(names[0]) < -1:
            return names, ("-1 is a class, because other labels are below it.",)
        if found == ["1"] or (scale != "nominal" and plan.layout in (WIDE, TRANSPOSED)):
            ways = f"give classes={list(names)} or abstain={[name]}"
            text = f"labels are {quoted(found)} and {name}; {name} may be a class or a missing label"
            raise ValueError(rows.source.says(f"{text}: {ways}"))
    return plan.classes, ()


def _yes_and_no(values: Sequence[str], plan: FilePlan, source: Source, known: Sequence[str]) -> Meaning:
    """Common words for yes and no as two classes, where more than one pair or spelling is in use."""
    labels = [value for value in different(values) if not says_nothing(value, plan)]
    usual = {value: value.casefold() for value in labels if value not in known}
    words = set(usual.values())
    digits = words & {"0", "1"}
    if not (plan.recognise and words and words <= set(_SIDE)):
        return {}, ()
    if known:
        return _as_known(usual, known)
    if plan.classes is not None or words == digits or (digits and len(words) < 3):
        return {}, ()
    pairs = [pair for pair in YES_NO if words - digits <= set(pair)][:1]
    if pairs and not digits and all(value == word for value, word in usual.items()):
        return {}, ()
    names = pairs[0] if pairs else (FAIL, PASS)
    two = f"{quoted(sorted(labels), 12)} were read as two classes, {names[0]} and {names[1]}"
    note = f"{two} (to keep them separate, give classes=...)."
    return {value: names[_SIDE[word]] for value, word in usual.items()}, (note,)


def _as_known(usual: Mapping[str, str], known: Sequence[str]) -> Meaning:
    """Predictions or gold beside labels whose classes are such a pair."""
    names = {SIDE.get(name): name for name in known}
    if len(known) != 2 or set(names) != {0, 1} or not set(usual.values()) <= set(SIDE):
        return {}, ()
    note = f"{quoted(sorted(usual), 12)} were read as the classes {names[0]} and {names[1]}."
    return {value: names[SIDE[word]] for value, word in usual.items()}, (note,)


def _marks(values: Sequence[str], plan: FilePlan, known: Sequence[str]) -> Meaning:
    """Lone punctuation marks and errors of spreadsheets are no label, unless named, or all there is."""
    named = {*known, *(plan.classes or ()), *(plan.map or ())}
    marks = [v for v in different(values) if v.strip() in MARKS or v.strip().casefold() in _NO_WORDS]
    marks = [value for value in marks if value not in named]
    others = [value for value in different(values) if value not in marks and not says_nothing(value, plan)]
    if not marks or not any(re.search(r"\w", other) for other in others):
        return {}, ()
    number = sum(map(set(marks).__contains__, values))
    note = f"{number_of(number, 'cell')} {quoted(marks)} {'has' if number == 1 else 'have'} no label"
    return dict.fromkeys(marks, ""), (f"{note} (to keep such a class, list all classes).",)


def decimal_points(values: Sequence[str]) -> Sequence[str]:
    """Numbers, some of which have one or two decimals behind a comma (4,5), with a point there (4.5)."""
    commas = {v: v.replace(",", ".") for v in different(values) if re.fullmatch(r"-?\d+,\d\d?", v)}
    others = (v for v in different(values) if v not in commas and v.casefold() not in NOTHING)
    parts = {part for v in commas for part in v.split(",")}  # "1,2" beside 1 and 2 is a set
    if not commas or parts <= set(different(values)) or any(number_in(v) != number_in(v) for v in others):
        return values
    return renamed(values, commas)


_JOINTS = {";": False, "#": False, "|": False, ",": True, "+": True, "&": True}  # must each name stand alone?


def sets_of(values: Sequence[str]) -> dict[str, frozenset[str]] | None:
    """The set of classes that each different cell names; None where cells are no sets.

    JSON lists are sets. Names joined by ; # | are where one of them stands alone somewhere, or all of them
    in several cells; joined by , + & where each of them stands alone.
    """
    cells = [value for value in different(values) if value.strip()]
    lists = {value: _json_list(value) for value in cells if value.startswith("[")}
    if lists and None not in lists.values():
        return {v: lists.get(v) or frozenset([v] if v not in lists else []) for v in cells}
    for mark, strict in _JOINTS.items():
        joined = [value for value in cells if mark in value.strip(mark)]
        parts = {value: [part.strip() for part in value.split(mark)] for value in joined}
        every = Counter(part for some in parts.values() for part in set(some))
        alone = {part for part in every if part in cells}
        if not joined or "" in every or any(len(set(some)) < len(some) for some in parts.values()):
            continue
        if every.keys() == alone or (not strict and (alone or min(every.values()) > 1)):
            return {value: frozenset(parts.get(value, [value])) for value in cells}
    return None


def _json_list(text: str) -> frozenset[str] | None:
    try:
        read = json.loads(text)
    except ValueError:
        return None
    plain = isinstance(read, list) and all(isinstance(one, str | int) for one in read)
    return frozenset(map(str, read)) if plain and len(set(map(str, read))) == len(read) else None


def _containing(values: Sequence[str], name: str, source: Source) -> Meaning:
    """Yes or no: whether the set of a cell contains one class."""
    sets = sets_of(values) or {value: frozenset([value]) for value in different(values)}
    names = sorted(set().union(*sets.values()))
    if name not in names:
        raise ValueError(source.says(f"no set contains {name!r}; their classes are {quoted(names, 12)}"))
    note = f"Each label is whether {name!r} is in the set."
    return {value: YES if name in some else NO for value, some in sets.items()}, (note,)


def _from_grade_up(values: Sequence[str], plan: FilePlan, source: Source) -> Meaning:
    """Pass or fail: whether a word of an ordered scale is `pass_at` or above."""
    names = [v for v in different(values) if not says_nothing(v, plan) and v not in (FAIL, PASS)]
    scale, order, *_ = scale_of(plan.classes or names, plan.scale, named=plan.classes is not None)
    if scale == "nominal" and names:
        text = f"pass_at={plan.pass_at!r} needs an order of the classes: give scale='ordinal', classes=[...]"
        raise ValueError(source.says(text))
    up = at_least(order, str(plan.pass_at))
    note = f"Labels from {plan.pass_at!r} up ({quoted(up, 8)}) count as {PASS}, all others as {FAIL}."
    return {name: PASS if name in up else FAIL for name in names}, (note,)


def numbers_of(values: Sequence[str]) -> dict[str, float] | None:
    """The number of each different cell where they are scores on a continuous scale; else None."""
    cells = (value for value in different(values) if value.strip().casefold() not in NOTHING)
    found = {value: number_in(value) for value in cells}
    decimals = any(number % 1 for number in found.values())
    fine = any(number * 4 % 1 for number in found.values())  # no grades with halves or quarters
    many = len(found) > (_MANY_NUMBERS if decimals else 2.5 * _MANY_NUMBERS)
    many = many or (fine and len(found) > 4 and 2 * len(found) >= len(values))
    return found if many and all(number == number for number in found.values()) else None


def _by_map(values: Sequence[str], plan: FilePlan, source: Source, known: Sequence[str]) -> Meaning:
    """By `map` first, then by `pass_at`; what neither names stays, with a note."""
    exact, at = dict(plan.map or {}), None if plan.pass_at is None else float(plan.pass_at)
    folded = {key.casefold(): name for key, name in exact.items()}
    count, classes = Counter(values), {FAIL, PASS, *folded.values()}
    meaning = {v: exact.get(v, folded[v.casefold()]) for v in count if v.casefold() in folded}
    left = [value for value in count if value not in meaning and not says_nothing(value, plan)]
    never = [key for key in exact if key.casefold() not in {value.casefold() for value in count}]
    notes = ()
    if at is not None:
        cut = {value: _number(value, at, source, values) for value in left if value not in classes}
        _grades(cut, at, values, source)
        meaning |= {value: PASS if number >= at else FAIL for value, number in cut.items()}
        many = sum(map(count.__getitem__, cut))
        if many:
            notes += (f"Grades >= {at:g} count as {PASS} ({number_of(many, 'label')}).",)
        elif not known:  # words beside labels that were cut need no cut
            notes += (f"No label was cut at {at:g}, because none is a number.",)
    elif left:
        many, names = sum(map(count.__getitem__, left)), quoted(sorted(left), 8)
        notes += (f"The map leaves {number_of(many, 'label')} unchanged: {names}.",)
    if never:
        notes += (f"The map has labels that never occur: {quoted(never, 8)}.",)
    return meaning, notes


def _number(value: str, at: float, source: Source, values: Sequence[str]) -> float:
    """The number that a label is; of a comma with one or two digits behind it (4,5) a decimal one."""
    number = number_in(value.replace(",", ".") if re.fullmatch(r"\d+,\d\d?", value) else value)
    if number != number:
        where = source.entry([values.index(value)], "label ", value)
        words = [one for one in different(values) if number_in(one) != number_in(one)]
        sides = [SIDE.get(one.casefold(), 0 if one == words[0] else 1) for one in words]
        meant = ",".join(f"{one}={(FAIL, PASS)[side]}" for one, side in zip(words, sides, strict=True))
        raise ValueError(
            f"{where} not a number, so it cannot be cut at {at:g}. Translate the words, such as map=... "
            f"(at the command line --map {shlex.quote(meant)})"
        )
    return number


def _grades(cut: Mapping[str, float], at: float, values: Sequence[str], source: Source) -> None:
    """Refuse probabilities among grades: decimals in (0, 1) but quarters, where numbers above 1 are whole."""
    numbers = list(cut.values())
    between = [value for value, number in cut.items() if 0 < number < 1 and number * 4 % 1]
    if between and (at >= 1 or max(numbers) > 1) and all(one < 1 or one % 1 == 0 for one in numbers):
        where = source.entry([values.index(between[0])], "label ", between[0])
        raise ValueError(
            f"{where} between 0 and 1 like a probability, but grades are cut at {at:g}. Leave its labeler "
            "out, or replace it by pass or fail (--scores grades the probabilities of a classifier)."
        )


def typed_names(texts: Sequence[str]) -> list[str]:
    """Names as they are typed: one option with commas between names, or an option for each name.

    >>> typed_names(["low,mid"]), typed_names(['"Pain, acute",none']), typed_names(["Pain, acute", "none"])
    (['low', 'mid'], ['Pain, acute', 'none'], ['Pain, acute', 'none'])
    """
    if len(texts) > 1:
        return [text.strip() for text in texts]
    return [
        name.strip()
        for text in texts
        for name in next(csv.reader([text], skipinitialspace=True), []) or [text]
    ]


def typed_map(text: str | Sequence[str]) -> dict[str, str]:
    """A map as it is typed: yes=pass,no=fail; what holds a comma by itself, or in quotation marks.

    >>> typed_map("yes=pass, no=fail, unsure=")
    {'yes': 'pass', 'no': 'fail', 'unsure': ''}
    >>> typed_map(["Pain, acute=acute", '"Pain, other"=other,none=other'])
    {'Pain, acute': 'acute', 'Pain, other': 'other', 'none': 'other'}
    """
    mapping: dict[str, str] = {}
    texts = [text] if isinstance(text, str) else text
    alone = [one.count("=") == 1 and '"' not in one for one in texts]
    parts = ([one] if whole else typed_names([one]) for one, whole in zip(texts, alone, strict=True))
    for part in chain.from_iterable(parts):
        key, equals, name = (piece.strip() for piece in part.rpartition("="))
        if not (key and equals):
            how = "write label=class, separated by commas, such as yes=pass,no=fail"
            raise ValueError(f"map {part!r}: {how}")
        if mapping.get(key, name) != name:
            raise ValueError(f"map {part!r}: {key!r} is given two classes")
        mapping[key] = name
    return mapping
