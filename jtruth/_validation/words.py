r"""Words for messages: short lists, where an entry stands, and text of strangers on a terminal.

A class called "\x1b[2J" clears the screen of whoever prints it: names go through `plain` where text is made,
and what the command line prints through `escaped`. Two names that a reader takes for one ("Yes" and "yes", a
zero-width space) split a class or a labeler in two, and every number after that is wrong. What cannot be
seen, and classes that are equal as numbers, are refused; other look-alikes are kept, with a note.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, SupportsIndex, TypeVar

from jtruth._one_line import one_line

T = TypeVar("T")
_LONGEST = 80
LOOK = "Look first: "  # begins a sentence that stands above the answer: numbers below it mean nothing


class Tip(str):
    """A sentence that says what would help; nothing is wrong."""

    __slots__ = ()


class Read(str):
    """A sentence about how a table was read: it doubts no number, and stands behind the sentences that do."""

    __slots__ = ()


YES_NO = tuple((pair.partition("/")[0], pair.partition("/")[2]) for pair in (
    "no/yes", "false/true", "fail/pass", "n/y", "f/t", "failed/passed", "nein/ja", "n/j", "nee/ja",
    "nej/ja", "nei/ja", "ei/kyllä", "non/oui", "no/sí", "no/sì", "no/si", "não/sim", "nao/sim",
    "nie/tak", "ne/ano", "nem/igen", "nu/da", "hayır/evet", "falsch/wahr", "faux/vrai",
    "falso/verdadero", "falso/verdadeiro", "falso/vero", "onwaar/waar", "нет/да", "ні/так", "όχι/ναι",
    "否/是", "いいえ/はい", "아니요/예", "لا/نعم", "不合格/合格",
))  # fmt: skip
SIDE = {word: side for pair in YES_NO for side, word in enumerate(pair)}  # 0 for no, 1 for yes


def some(items: Iterable[Any], limit: int = 5, total: int | None = None) -> str:
    """The first few items for a message: "a, b and 3 more"."""
    items = list(items)
    total = len(items) if total is None else total
    text = ", ".join(map(str, items[:limit]))
    return text if total <= limit else f"{text} and {total - limit} more"


def series(items: Iterable[Any]) -> str:
    """All items for a sentence: "a, b and c"."""
    *most, last = map(str, items)
    return f"{', '.join(most)} and {last}" if most else last


def number_of(number: SupportsIndex, noun: str, plural: str = "") -> str:
    """A count with its noun: "1 label", "2 labels"; or with more than that: "1 row was", "2 rows were"."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def part_of(part: SupportsIndex, whole: SupportsIndex, noun: str, verb: str = "has", verbs: str = "") -> str:
    """How many of all: "1 of 5 rows has", "2 of 5 rows have"."""
    word = verb if part == 1 else verbs or {"has": "have", "is": "are"}[verb]
    return f"{part} of {number_of(whole, noun)} {word}"


def number_in(text: str) -> float:
    """The number that a text is, NaN where it is none; 1_000 is one of Python's only."""
    try:
        return float("nan") if "_" in text else float(text)
    except ValueError:
        return float("nan")


def brief(value: Any, longest: int = 80) -> str:
    """A value for a message, by repr: what cannot be printed is escaped, and a long text is cut."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[: longest - 12]}... ({len(text)} characters)"


def quoted(items: Iterable[Any], limit: int = 5) -> str:
    """Like `some`, with text in quotation marks."""
    items = list(items)
    return some(map(brief, items[:limit]), limit, len(items))


def duplicates(names: Iterable) -> list:
    """The names that occur more than once, each once."""
    seen, twice = set(), {}
    for name in names:
        if name in seen:
            twice[name] = None
        seen.add(name)
    return list(twice)


def choose(name: str, value: str, allowed: Sequence[str]) -> None:
    """Check an option that is one of a few words."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}")


@dataclass(frozen=True)
class Source:
    """Where columns came from. Entry k stands in `unit` number `numbers[k]`, or first + k.

    Without a unit it stands at its number ("gold[3]"), or task id ("gold['t3']"); a "cell" at "z[0, 1]".
    """

    name: str = ""  # a file name, or nothing for columns handed over in Python
    unit: str = "row"
    first: int = 0
    numbers: Any = None  # a sequence or an array; a function where names cost a query; None: they are counted
    notes: tuple[str, ...] = ()  # what was done to the letters of a file that is no table yet

    __repr__ = one_line

    def at(self, indices: Iterable[Any]) -> str:
        """The place of some entries: "labels.csv, lines 3, 7"."""
        indices = [int(k) for k in indices]
        rows = [self.number(k) for k in indices[:5]]
        if self.unit in ("", "cell"):
            return some([f"{self.name}[{brief(row).strip('()')}]" for row in rows], 5, len(indices))
        unit = self.unit if len(indices) == 1 else "entries" if self.unit == "entry" else f"{self.unit}s"
        place = f"{unit} {some(rows, 5, len(indices))}"
        return f"{self.name}, {place}" if self.name else place

    def only(self, indices: Iterable[int]) -> "Source":
        """The same of these entries alone, which keep their numbers."""
        return replace(self, numbers=[self.number(k) for k in indices])

    def number(self, k: Any) -> Any:
        """What entry k is called."""
        if self.numbers is None:
            return self.first + k
        return self.numbers(k) if callable(self.numbers) else self.numbers[k]

    def entry(self, indices: Iterable[Any], what: str, value: Any) -> str:
        """How a sentence about a value begins: "labels.csv, line 3: label 'x' is", or "gold[3] is 'x',"."""
        if not self.unit:
            return f"{self.at(list(indices)[:1])} is {brief(value)},"
        return f"{self.at(indices)}: {what}{brief(value)} is"

    def says(self, message: str) -> str:
        """A message about the table as a whole."""
        return f"{self.name}: {message}" if self.name else message


def present(value: T | None, what: str) -> T:
    """A value that cannot be absent here; where it is, a fact about the code was broken, and not an input."""
    if value is None:
        raise RuntimeError(f"{what} is missing where jtruth relies on it: please report this")
    return value


def position(name: Any, known: Sequence, what: str) -> int:
    """Place of a name in a list of names."""
    if name not in known:
        raise ValueError(f"no {what} {name!r}; there are {quoted(known, 8)}")
    return known.index(name)


def plain(name: Any) -> str:
    r"""A name for tables and sentences: as it is, by repr where it cannot be printed, cut where it is long.

    >>> plain("ann"), plain("a\tb")
    ('ann', "'a\\tb'")
    """
    text = str(name)
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def escaped(text: str) -> str:
    """A text of several lines in which all that cannot be printed is written as an escape."""
    return "".join(c if c == "\n" or c.isprintable() else repr(c)[1:-1] for c in text)


NO_ANSWER = {  # class names that read like no answer, in small letters
    "?", "abstain", "cannot tell", "can't tell", "can not tell", "don't know", "dont know", "dunno", "idk",
    "n/a", "na", "no answer", "none", "not sure", "skip", "skipped", "uncertain", "unclear", "undecided",
    "unknown", "unsure",
}  # fmt: skip
# Words for the three columns, the usual ones first; compared without case, signs and a final "id".
COLUMN_WORDS = {
    "task": "task item question sample example document doc instance image sentence unit record case patient "
    "comment hit prompt query conversation passage pair id "
    "statement essay post tweet article",
    "worker": "worker rater annotator labeler labeller coder judge expert observer reader user assessor "
    "grader reviewer evaluator participant respondent",
    "label": "label rating answer response annotation verdict sentiment category class judgment judgement "
    "vote value",
}
_TEXTS = {"question", "sentence", "document", "comment"}  # the sample itself, where a column "id" has its id
_DIGITS = 15  # that a spreadsheet keeps of a number
_RARE, _LONG = 20, 3  # a name so many times rarer, of so many letters, may be a typing error
_BETWEEN = re.compile(r"[;,|+&]")  # what stands between the classes of a list


def check_visible(
    names: Iterable, values: Sequence, what: str, source: Source, *, inside: bool = True
) -> None:
    """Refuse text with characters that cannot be seen, unless `inside` only as its first or last one."""
    texts = list(names)
    if set(map(type, texts)) != {str}:
        texts = [name for name in texts if isinstance(name, str)]
    if "".join(texts).isprintable():
        return
    for name in texts:
        if not (name if inside else name[:1] + name[-1:]).isprintable():
            rows = [k for k, value in enumerate(values) if value == name]
            text = f"{what} {brief(name)} has a character that cannot be seen. Remove it."
            raise ValueError(f"{source.at(rows)}: {text}")


def check_different_numbers(names: Iterable[str], what: str) -> None:
    """Refuse names that are the same number written in several ways, such as "1" and "1.0"."""
    same = _groups((name for name in names if _number(name) is not None), _number)
    if same:
        raise ValueError(
            f"the {what} {quoted(same)} are equal as numbers. Use one spelling, or list all of them in "
            "`classes` if they are different"
        )


def alike_note(names: Iterable, what: str) -> tuple[str, ...]:
    """A sentence about names that differ only in case, spaces, width of letters or leading zeros."""

    def plain_of(name: str) -> str | Decimal:
        number = _number(name)
        return "".join(_narrow(name).split()) if number is None else number

    alike = _groups(map(str, names), plain_of)
    if not alike:
        return ()
    return (f"Some {what} differ only in case, spaces or leading zeros: {quoted(alike)}. Are they the same?",)


def column_called(role: str, header: Sequence[str]) -> str | None:
    """The column that plays a role, by its name; None if no column or several of them could."""
    if role in header:
        return role
    plain = {name: re.sub(r"[^a-z]", "", name.casefold()) for name in header}
    plain = {name: word.removesuffix("id") or word for name, word in plain.items()}
    for word in COLUMN_WORDS[role].split():
        fits = [name for name in header if plain[name] in (word, word + "s", word + "name")]
        if word in _TEXTS and "id" in plain.values():
            fits = [name for name in fits if name.casefold().endswith("id")]
        if fits:
            return fits[0] if len(fits) == 1 else None
    return None


def rounded_note(ids: Sequence, what: str) -> tuple[str, ...]:
    """A sentence about long numbers that a spreadsheet would take for one."""
    texts = list(map(str, ids))
    if max(map(len, texts), default=0) <= _DIGITS:
        return ()
    long = [name for name in texts if len(name) > _DIGITS and name.isdecimal()]
    alike = _groups(long, lambda name: (len(name), name[:_DIGITS]))
    if not alike:
        return ()
    return (
        f"{len(alike)} {what} differ only beyond {_DIGITS} digits ({quoted(alike, 2)}), which spreadsheets "
        "round. Are they intact?",
    )


def typing_error(names: Sequence[str], number: Sequence[int]) -> tuple[int, int] | None:
    """A rare class, and the frequent one from which it is one letter; `number` of labels of each."""
    for k, (name, rare) in enumerate(zip(names, number, strict=True)):
        for j, often in enumerate(number) if len(name) >= _LONG and rare else ():
            if often >= _RARE * rare and _one_letter(name, names[j]):
                return k, j
    return None


def _one_letter(a: str, b: str) -> bool:
    """Whether two words differ by one letter more, less, another or exchanged; digits are no letters."""
    while a[:1] == b[:1] and a:
        a, b = a[1:], b[1:]
    while a[-1:] == b[-1:] and a:
        a, b = a[:-1], b[:-1]
    return (a + b).isalpha() and (max(len(a), len(b)) == 1 or (len(a) == 2 and a == b[::-1]))


def _groups(names: Iterable[str], key) -> list[str]:
    """The names that share their key with another name, one group after the other."""
    groups: dict = {}
    for name in names:
        groups.setdefault(key(name), []).append(name)
    return [name for group in groups.values() if len(group) > 1 for name in group]


def _number(name: str) -> Decimal | None:
    """The number that a name is, None if it is none ("nan" and "1_0" are none)."""
    text = _narrow(name).strip()
    if "_" in text or len(text) > 50 or text[:1] not in tuple("+-.0123456789"):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _narrow(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def is_list(name: str, classes: tuple) -> bool:
    """Whether a class name is made of several, one of which is a class by itself ("cat;dog" beside "cat")."""
    parts = [part.strip(" []'\"") for part in _BETWEEN.split(name.strip())]
    return len(parts) > 1 and all(parts) and bool(set(parts) & set(map(str, classes)))
