"""Words for classes: yes, true and pass are one answer where somebody says so, or nothing else is there.

Three ways, and each leaves a sentence. `map` says it word by word. `pass_at` cuts numbers. Without either,
where every label of a file is one of the common words for yes and no, and more than one pair of them or more
than one spelling is in use, they are read as two classes. Numbers are never words: 1, 1.0, "001" and yes stay
apart until somebody says otherwise.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from jtruth._validation.coded import different, renamed
from jtruth._validation.ids import MISSING_TEXT
from jtruth._validation.words import SIDE, YES_NO, Source, number_in, number_of, quoted

FAIL, PASS = "fail", "pass"


class Words(NamedTuple):
    """What labels mean."""

    map: Mapping[str, str] | None = None  # label in the file -> class; compared without case
    pass_at: float | None = None  # numbers of at least this are "pass", others "fail"
    recognise: bool = True  # yes, true, pass, ... as two classes where labels mix them
    silent: tuple[str, ...] = ()  # labels that say nothing; what `map` maps to nothing joins them

    @property
    def unsaid(self) -> bool:
        """Whether nobody said what labels mean."""
        return self.map is None and self.pass_at is None

    def with_silent(self, abstain: Iterable[str]) -> "Words":
        """The same, where these labels and those that the map maps to nothing say nothing."""
        nothing = tuple(key for key, name in (self.map or {}).items() if not name)
        kept = {key: name for key, name in (self.map or {}).items() if name} or None
        return self._replace(map=kept, silent=(*self.silent, *map(str, abstain), *nothing))

    def says_nothing(self, value: str) -> bool:
        """Whether a label is missing or silent."""
        word = value.strip().casefold()
        return word in MISSING_TEXT or word in map(str.casefold, self.silent)


def in_words(
    values: Sequence[str], words: Words, source: Source, known: Sequence[str] = ()
) -> tuple[Sequence[str], tuple]:
    """Labels in the words of the classes (of those `known`, where there are some), and what was done."""
    if not words.unsaid:
        return _by_map(list(values), words, source)
    labels = [value for value in different(values) if not words.says_nothing(value)]
    usual = {value: value.casefold() for value in labels if value not in known}
    if not words.recognise or not usual or not set(usual.values()) <= set(SIDE):
        return values, ()
    if known:
        return _as_known(values, usual, known)
    pairs = {pair for pair in YES_NO for word in usual.values() if word in pair}
    if len(pairs) == 1 and all(value == word for value, word in usual.items()):
        return values, ()
    names = next(iter(pairs)) if len(pairs) == 1 else (FAIL, PASS)
    table = {value: names[SIDE[word]] for value, word in usual.items()}
    note = (
        f"{quoted(sorted(labels), 12)} were read as two classes, {names[0]} and {names[1]} (to keep them "
        "apart, say classes=...)."
    )
    return renamed(values, table), (note,)


def _as_known(
    values: Sequence[str], usual: Mapping[str, str], known: Sequence[str]
) -> tuple[Sequence[str], tuple]:
    """Predictions or gold beside labels whose classes are such a pair of words."""
    names = {SIDE.get(name): name for name in known}
    if len(known) != 2 or set(names) != {0, 1}:
        return values, ()
    table = {value: names[SIDE[word]] for value, word in usual.items()}
    note = f"{quoted(sorted(usual), 12)} were read as the classes {names[0]} and {names[1]}."
    return renamed(values, table), (note,)


def _by_map(values: list[str], words: Words, source: Source) -> tuple[list, tuple]:
    """By `map` first, then by `pass_at`; what neither names stays, and is said."""
    table = {key.casefold(): name for key, name in (words.map or {}).items()}
    exact = dict(words.map or {})
    mapped, left, many, cut = [], Counter(), 0, {}  # cut: number -> its first place
    for k, value in enumerate(values):
        name = exact.get(value, table.get(value.casefold()))
        if name is None and words.pass_at is not None and not words.says_nothing(value):
            name = value if value in (FAIL, PASS, *table.values()) else None
            if name is None:
                number = _number(value, words.pass_at, source, k)
                name, many = (PASS if number >= words.pass_at else FAIL), many + 1
                cut.setdefault(number, k)
        if name is None and not words.says_nothing(value):
            left[value] += 1
        mapped.append(value if name is None else name)
    notes = []
    if words.pass_at is not None:
        _grades(cut, words.pass_at, values, source)
        side = f": at least that is {PASS}, below it {FAIL}." if many else ": none of them is a number."
        notes.append(
            f"{number_of(many, 'label')} {'was' if many == 1 else 'were'} cut at {words.pass_at:g}{side}"
        )
    if left and words.map is not None:
        names = quoted(sorted(left), 8)
        notes.append(f"{sum(left.values())} labels are not in the map and stay as they are: {names}.")
    present = {value.casefold() for value in values}
    never = [key for key in words.map or {} if key.casefold() not in present]
    if never:
        notes.append(f"The map names labels that never occur: {quoted(never, 8)}.")
    return mapped, tuple(notes)


def _number(value: str, at: float, source: Source, k: int) -> float:
    """The number that a label is; of a comma with one or two digits behind it (4,5) a decimal one."""
    number = number_in(value.replace(",", ".") if re.fullmatch(r"\d+,\d\d?", value) else value)
    if number != number:
        where = source.entry([k], "label ", value)
        raise ValueError(f"{where} not a number, so it cannot be cut at {at:g}. Name it in the map.")
    return number


def _grades(cut: Mapping[float, int], at: float, values: Sequence[str], source: Source) -> None:
    """Refuse probabilities among grades: decimals in (0, 1) but quarters, where numbers above 1 are whole."""
    between = [k for number, k in cut.items() if 0 < number < 1 and number * 4 % 1]
    if between and (at >= 1 or max(cut) > 1) and all(number < 1 or number % 1 == 0 for number in cut):
        k = between[0]
        raise ValueError(
            f"{source.entry([k], 'label ', values[k])} between 0 and 1, as a probability is, and grades are "
            f"cut at {at:g}. Leave its labeler out, or write pass or fail there first (probabilities of a "
            "classifier are graded by --scores)."
        )


def typed_map(text: str) -> dict[str, str]:
    """A map as it is typed: yes=pass,no=fail.

    >>> typed_map("yes=pass, no=fail, unsure=")
    {'yes': 'pass', 'no': 'fail', 'unsure': ''}
    """
    mapping: dict[str, str] = {}
    for part in text.split(","):
        key, equals, name = (piece.strip() for piece in part.partition("="))
        if not (key and equals):
            how = "write label=class, separated by commas, such as yes=pass,no=fail"
            raise ValueError(f"map {text!r}: {how}")
        if mapping.get(key, name) != name:
            raise ValueError(f"map {text!r}: {key!r} is given two classes")
        mapping[key] = name
    return mapping
