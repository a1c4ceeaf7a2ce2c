"""Words for classes: yes, true and pass are one answer where somebody says so, or nothing else is there.

Three ways, and each leaves a sentence. `map` says it word by word. `pass_at` cuts numbers. Without either,
where every label of a file is one of the common words for yes and no, and more than one pair of them or more
than one spelling is in use, they are read as two classes. Numbers are never words: 1, 1.0, "001" and yes stay
apart until somebody says otherwise.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jtruth._validation.coded import different, renamed
from jtruth._validation.ids import MISSING_TEXT
from jtruth._validation.words import SIDE, YES_NO, Source, number_of, quoted

FAIL, PASS = "fail", "pass"


class Words(NamedTuple):
    """What labels mean."""

    map: Mapping[str, str] | None = None  # label in the file -> class; compared without case
    pass_at: float | None = None  # numbers of at least this are "pass", others "fail"
    recognise: bool = True  # yes, true, pass, ... as two classes where labels mix them

    @property
    def silent(self) -> bool:
        """Whether nobody said anything about words."""
        return self.map is None and self.pass_at is None


def in_words(
    values: Sequence[str], words: Words, source: Source, known: Sequence[str] = ()
) -> tuple[Sequence[str], tuple]:
    """Labels in the words of the classes, and sentences of what was done.

    Args:
        values: text of the file.
        words: what was said about them.
        source: for messages.
        known: names of classes that are given already; then only what is not among them is looked up.

    Raises:
        ValueError: a label that is no number where `pass_at` cuts numbers.
    """
    if not words.silent:
        return _said(list(values), words, source)
    given = [value for value in different(values) if value.strip().casefold() not in MISSING_TEXT]
    usual = {value: value.casefold() for value in given if value not in known}
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
        f"{quoted(sorted(given), 12)} were read as two classes, {names[0]} and {names[1]} (to keep them "
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


def _said(values: list[str], words: Words, source: Source) -> tuple[list, tuple]:
    """By `map` first, then by `pass_at`; what neither names stays, and is said."""
    table = {key.casefold(): name for key, name in (words.map or {}).items()}
    exact = dict(words.map or {})
    found, left, cut = [], Counter(), 0
    for k, value in enumerate(values):
        name = exact.get(value, table.get(value.casefold()))
        if name is None and words.pass_at is not None and value.strip().casefold() not in MISSING_TEXT:
            name = value if value in (FAIL, PASS, *table.values()) else None
            if name is None:
                name, cut = _cut(value, words.pass_at, source, k), cut + 1
        if name is None:
            left[value] += value.strip().casefold() not in MISSING_TEXT
        found.append(value if name is None else name)
    notes = []
    if words.pass_at is not None:
        side = f": at least that is {PASS}, below it {FAIL}." if cut else ": none of them is a number."
        notes.append(
            f"{number_of(cut, 'label')} {'was' if cut == 1 else 'were'} cut at {words.pass_at:g}{side}"
        )
    left = {value: number for value, number in left.items() if number}
    if left and words.map is not None:
        names = quoted(sorted(left), 8)
        notes.append(f"{sum(left.values())} labels are not in the map and stay as they are: {names}.")
    seen = {value.casefold() for value in values}
    never = [key for key in words.map or {} if key.casefold() not in seen]
    if never:
        notes.append(f"The map names labels that never occur: {quoted(never, 8)}.")
    return found, tuple(notes)


def _cut(value: str, at: float, source: Source, k: int) -> str:
    """pass or fail of one number."""
    try:
        number = float(value) if "_" not in value else float("nan")
    except ValueError:
        number = float("nan")
    if number != number:
        raise ValueError(
            f"{source.entry([k], 'label ', value)} not a number, so it cannot be cut at {at:g}. Name it in "
            "the map."
        )
    return PASS if number >= at else FAIL


def typed_map(text: str) -> dict[str, str]:
    """A map as it is typed: yes=pass,no=fail.

    >>> typed_map("yes=pass, no=fail")
    {'yes': 'pass', 'no': 'fail'}
    """
    found: dict[str, str] = {}
    for part in text.split(","):
        key, equals, name = (piece.strip() for piece in part.partition("="))
        if not (key and equals and name):
            raise ValueError(
                f"map {text!r}: write label=class, separated by commas, such as yes=pass,no=fail"
            )
        if found.get(key, name) != name:
            raise ValueError(f"map {text!r}: {key!r} is given two classes")
        found[key] = name
    return found
