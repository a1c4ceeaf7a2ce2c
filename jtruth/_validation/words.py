r"""Words for messages: short lists, where an entry stands, and text of strangers on a terminal.

A class called "\x1b[2J" clears the screen of whoever prints it. Names go through `plain` where text is made;
the command line sends everything that it prints through `escaped`, in case one was forgotten.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from jtruth._one_line import one_line

T = TypeVar("T")
_LONGEST = 80
LOOK = "Look first: "  # begins a sentence that stands above the answer: numbers below it mean nothing


class Read(str):
    """A sentence about how a table was read: it doubts no number, and stands behind the sentences that do."""

    __slots__ = ()


YES_NO = (("no", "yes"), ("false", "true"), ("fail", "pass"), ("n", "y"), ("f", "t"), ("failed", "passed"))
SIDE = {word: side for pair in YES_NO for side, word in enumerate(pair)}  # 0 for no, 1 for yes


def some(items: Iterable[Any], limit: int = 5, total: int | None = None) -> str:
    """The first few items for a message: "a, b and 3 more"."""
    items = list(items)
    total = len(items) if total is None else total
    text = ", ".join(map(str, items[:limit]))
    return text if total <= limit else f"{text} and {total - limit} more"


def number_of(number: int, noun: str) -> str:
    """A count with its noun: "1 label", "2 labels"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def shown(value: Any, longest: int = 80) -> str:
    """A value for a message, by repr: what cannot be printed is escaped, and a long text is cut."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[: longest - 12]}... ({len(text)} characters)"


def quoted(items: Iterable[Any], limit: int = 5) -> str:
    """Like `some`, with text in quotation marks."""
    items = list(items)
    return some(map(shown, items[:limit]), limit, len(items))


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

    Entries of an argument have no unit: they stand at their number ("gold[3]"), or task id ("gold['t3']").
    Those of a matrix are cells ("z[0, 1]").
    """

    name: str = ""  # a file name, or nothing for columns handed over in Python
    unit: str = "row"
    first: int = 0
    numbers: Sequence[Any] | Callable[[int], Any] | None = None  # a function where names cost a query

    __repr__ = one_line

    def at(self, indices: Iterable[Any]) -> str:
        """The place of some entries: "labels.csv, lines 3, 7"."""
        indices = [int(k) for k in indices]
        rows = [self.number(k) for k in indices[:5]]
        if self.unit in ("", "cell"):
            return some([f"{self.name}[{shown(row).strip('()')}]" for row in rows], 5, len(indices))
        place = f"{self.unit}{'s' if len(indices) > 1 else ''} {some(rows, 5, len(indices))}"
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
            return f"{self.at(list(indices)[:1])} is {shown(value)},"
        return f"{self.at(indices)}: {what}{shown(value)} is"

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
