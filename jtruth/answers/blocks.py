"""Blocks of a document: a question, a headline, and named blocks of plain text and numbers.

A result fills blocks once; the outputs (`terminal`, `data`, `html`, and the pictures of `jtruth.plots`) are
the same for all results. A row of a table is its JSON, and the columns select what is shown, so that all
outputs have the same numbers. Blocks have no markup, so names of users cannot become some. `few` shortens
long lists and says so; the JSON has all.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from jtruth._one_line import one_line
from jtruth._validation.words import LOOK, Read, Tip, plain

MOST_ROWS, LAST_ROWS = 40, 10

Row = Mapping[str, Any]
Path = str | tuple[str, ...]  # of a value in a row, or in what is inside it
T = TypeVar("T")


class Column(NamedTuple):
    """A value of every row, with the ends of its interval if it has one."""

    name: Path
    title: str = ""
    ends: tuple[Path, Path] | None = None
    form: str = ".3f"
    step: bool = False  # compares with the row above: omitted if rows between are
    detail: bool = False  # not in a brief text

    __repr__ = one_line


class Table(NamedTuple):
    """Rows named by their value at `key`, the most important first.

    In the JSON it is a list of its rows, or with `by_name` an object; without `name` it is omitted, because
    its numbers are in another block.
    """

    name: str
    title: str
    key: str
    columns: tuple[Column, ...]
    rows: Sequence[Row]
    note: str = ""
    cross: Path = ""  # of a naive estimate: a cross in pictures
    unit: tuple[float, float] | None = (0.0, 1.0)  # range of the numbers, which no axis exceeds
    missing: str = "-"  # text of a missing number
    by_name: bool = False
    aside: tuple[str, ...] = ()  # values that are elsewhere in the JSON
    say: Callable[[Any], str] = plain  # from the name of a row to words
    queue: bool = False  # rows are tasks, the first first
    order: Sequence[int] = ()  # of the rows on a screen, if not that of the JSON
    draw: str = ""  # the only column in pictures; else those with an interval, or numbers
    head: str = ""  # over the names of the rows
    sequence: bool = False  # ordered rows (in time): they keep their order, and all are shown in full

    __repr__ = one_line

    def label(self, row: Row) -> str:
        """Name of a row in words."""
        return self.say(row[self.key])

    def shown(
        self, most: int = MOST_ROWS, last: int = LAST_ROWS, full: bool = True
    ) -> tuple[list[Row], list[Row], int]:
        """Rows on a screen: see `few`; of a sequence the ends, those of `order`, and some between."""
        if not self.sequence:
            return few([self.rows[k] for k in self.order] if len(self.order) else self.rows, most, last)
        size, order = len(self.rows), self.order or range(len(self.rows))
        if full or size <= most:
            return list(self.rows), [], 0
        ends = {0, size - 1, order[0], order[-1]}
        spread = (ends | {round(k * (size - 1) / n) for k in range(n + 1)} for n in range(1, most))
        kept = max((one for one in spread if len(one) <= most), key=len, default=ends)
        return [self.rows[k] for k in sorted(kept)], [], size - len(kept)

    def bars(self) -> list[Column]:
        """Columns that are drawn: of those with an interval `draw`, or all."""
        known = lambda one: any(v is not None for row in self.rows for v in value_of(one, row))  # noqa: E731
        ends = [one for one in self.columns if one.ends is not None and known(one)]
        return [one for one in ends if self.draw and self.draw in (one.name, one.name[0])] or ends


Queue = partial(Table, queue=True)  # what is to be done next


class Matrix(NamedTuple):
    """Counts by two names, each with an interval, shaded by size."""

    name: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[str, Sequence[Sequence[Any]]]  # "mean", "low", "high"
    note: str = ""

    __repr__ = one_line

    def text(self, a: int, b: int) -> str:
        """Text of a cell: mean [low, high]."""
        return cell_text([self.cells[k][a][b] for k in ("mean", "low", "high")], ".0f")


class Curve(NamedTuple):
    """Lines, or points if not `line`: by name x, mean, and perhaps low and high."""

    name: str
    title: str
    x: str  # what the axes show
    y: str
    series: Mapping[str, Mapping[str, Sequence[Any]]]
    note: str = ""
    diagonal: bool = False
    line: bool = True
    named: Mapping[float, str] = {}  # names of x values, in their order

    __repr__ = one_line

    def ticks(self, most: int = 5) -> list[tuple[float, str]]:
        """Names of `named` that fit on an axis."""
        x, found = list(self.named), []
        for place in x:
            if not found or place - found[-1][0] >= (x[-1] - x[0]) / most:
                found.append((place, plain(self.named[place])))
        return found


class Note(NamedTuple):
    """A sentence and its importance: see `SIGNS`."""

    sign: str
    text: str
    name: str = ""
    data: Any = None  # value in the JSON; the text if None

    __repr__ = one_line


SIGNS = {  # in the order of what matters: (mark on a terminal, words)
    "alarm": ("!", "look first"),
    "bad": ("Warning:", "does not fit"),
    "open": ("Note:", "cannot be seen"),
    "warn": ("Warning:", ""),
    "look": ("Note:", ""),
    "do": ("Tip:", ""),
    "say": ("Note:", "worth knowing"),
    "read": ("Note:", ""),
    "good": ("OK:", "fits"),
    "how": ("", ""),
}
_OF_VERDICT = {words: sign for sign, (_, words) in SIGNS.items() if words}


class Check(NamedTuple):
    """A check and its verdict.

    The verdict is "look first" (an alarm above the result), "does not fit", "cannot be seen", "fits", or
    "worth knowing" (no problem).
    """

    name: str
    statistic: float | None = None
    p_value: float | None = None
    verdict: str = "worth knowing"
    message: str = ""


class Notes(NamedTuple):
    """A list of sentences, also in the JSON."""

    name: str
    title: str
    items: Sequence[Note]

    __repr__ = one_line


Facts = dict[str, Any]  # further values of the JSON, by name
Block = Table | Matrix | Curve | Notes | Facts


class Document(NamedTuple):
    """A question, its answer, and the blocks behind it."""

    question: str
    about: str  # the data in a line
    sentence: str  # the answer
    blocks: tuple[Block, ...]
    doubt: str = ""  # the most important one
    next: str = ""  # the next command, with a comment; one to run after it on a second line
    lines: tuple[str, ...] = ()  # below the answer, a line each
    doubt_sign: str = "bad"

    __repr__ = one_line

    @property
    def alarms(self) -> tuple[str, ...]:
        """Sentences above the answer: the numbers below them are meaningless."""
        notes = (note for one in self.blocks if isinstance(one, Notes) for note in one.items)
        texts = (note.text for note in notes if note.sign == "alarm")
        return tuple(dict.fromkeys(text if text.startswith(LOOK) else f"{LOOK}{text}." for text in texts))

    def tables(self) -> list[Table]:
        """Tables with at least one row."""
        return [one for one in self.blocks if isinstance(one, Table) and one.rows]

    def notes(self) -> list[Note]:
        """Notes except those on the computation, the most important first."""
        notes = (note for one in self.blocks if isinstance(one, Notes) for note in one.items)
        kept = [note for note in notes if note.sign != "how"]
        return sorted(kept, key=lambda note: list(SIGNS).index(note.sign))

    def more(self, *blocks: Block, next: str = "") -> "Document":
        """The same document with more blocks and a command."""
        return self._replace(blocks=(*self.blocks, *blocks), next=next or self.next)


def dist_column(name: str, title: str, form: str = ".3f") -> Column:
    """Mean and interval of a distribution that a row has under its name."""
    return Column((name, "mean"), title, ((name, "low"), (name, "high")), form)


def facts(**values: Any) -> Facts:
    """Values that only the JSON has."""
    return values


def facts_of(answer: Any, *names: str, within: str = "") -> Facts:
    """Attributes of a result that only the JSON has; `within` is the object that contains them."""
    prefix = f"{within}." if within else ""
    return {prefix + name: getattr(answer, name) for name in names}


def how(*items: tuple[str, str], title: str = "How it was computed") -> Notes:
    """Notes on the computation, a name and a text each; empty ones are omitted."""
    return Notes("", title, [Note("how", text, name) for name, text in items if text])


def check_notes(checks: Sequence[Check]) -> Notes:
    """Notes on checks, failed ones first."""
    items = [
        Note(_OF_VERDICT.get(one.verdict, "bad"), one.message, one.name,
             {name: None if _is_nan(value) else value for name, value in one._asdict().items()})
        for one in checks
    ]  # fmt: skip
    return Notes("checks", "Model checks", sorted(items, key=lambda note: list(SIGNS).index(note.sign)))


def warning_notes(warnings: Sequence[str]) -> Notes:
    """Warnings, and notes on reading; alarms are above the result (and in the JSON)."""

    def sign(text: str) -> str:
        kinds = {Read: "read", Tip: "do"}
        return "alarm" if text.startswith(LOOK) else kinds.get(type(text), "warn")

    return Notes("warnings", "Warnings", [Note(sign(text), text) for text in warnings])


def sentence_notes(name: str, title: str, sentences: Sequence[str], sign: str = "say") -> Notes:
    """Sentences with the same sign."""
    return Notes(name, title, [Note(sign, text) for text in sentences])


def finding_notes(findings: Sequence[Check], name: str = "suspicious") -> Notes:
    """Unusual patterns in the labels, in the words of `inspect_labels`."""
    items = [
        Note("look", one.message, one.name.replace("_", " "), {"name": one.name, "message": one.message})
        for one in findings
    ]
    return Notes(name, "Unusual patterns in the labels", items)


def few(rows: Sequence[T], most: int = MOST_ROWS, last: int = LAST_ROWS) -> tuple[list[T], list[T], int]:
    """(first rows, last rows, number left out between them) of a long list.

    >>> few([1, 2, 3, 4, 5, 6], most=3, last=1)
    ([1, 2], [6], 3)
    """
    if len(rows) <= most:
        return list(rows), [], 0
    return list(rows[: most - last]), list(rows[len(rows) - last :]), len(rows) - most


def at(row: Any, path: Path) -> Any:
    """The value at a path; None if there is none."""
    for name in (path,) if isinstance(path, str) else path:
        row = row.get(name) if isinstance(row, Mapping) else None
    return row


def value_of(column: Column, row: Row) -> list[Any]:
    """[value], or [value, low, high]."""
    return [at(row, path) for path in (column.name, *(column.ends or ()))]


def cell_text(values: Sequence[Any], form: str = ".3f", missing: str = "-") -> str:
    """A value as text, with the ends of its interval.

    >>> cell_text([0.5, 0.25, 0.75]), cell_text([3]), cell_text([None, None, None]), cell_text(["a"])
    ('0.500 [0.250, 0.750]', '3', '-', 'a')
    """
    first, *ends = values
    known = [end for end in ends if end is not None and not _is_nan(end)]
    if first is None or _is_nan(first):
        return missing
    text = number(first, form)
    return f"{text} [{', '.join(number(end, form) for end in known)}]" if known else text


def percents(mean: float, low: float | None = None, high: float | None = None) -> list[str]:
    """A share and the ends of its interval in percent, with the digits that the interval supports.

    >>> percents(0.8683, 0.766, 0.946), percents(0.9994, 0.9991, 0.9996)
    (['87', '77', '95'], ['99.94', '99.91', '99.96'])
    """
    values = [mean] if low is None or high is None else [mean, low, high]
    width = 100 * (values[-1] - values[min(1, len(values) - 1)])
    digits = 0 if width >= 2 else 2 if 0 < width < 0.2 else 1
    return [f"{round(100 * value, digits) + 0.0:.{digits}f}" for value in values]


def share_text(values: Sequence[Any], kind: str = "") -> str:
    """A share for a sentence; `kind` names its interval.

    >>> share_text([0.87, 0.77, 0.95]), share_text([0.87, 0.77, 0.95], "95 % interval"), share_text([0.8])
    ('87 % [77, 95]', '87 % (95 % interval 77 to 95 %)', '80.0 %')
    """
    if values[0] is None or _is_nan(values[0]):
        return "undefined"
    mean, *ends = percents(*values)
    if not ends:
        return f"{mean} %"
    return f"{mean} % ({kind} {' to '.join(ends)} %)" if kind else f"{mean} % [{', '.join(ends)}]"


def number(value: Any, form: str = ".3f") -> str:
    """A number in a form of `format`; a dash if there is none.

    >>> number(0.5), number(None), number(float("nan")), number(True), number("text")
    ('0.500', '-', '-', 'yes', 'text')
    """
    if value is None or _is_nan(value):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if form == "%":  # under a title that says so
        return f"{100 * value:.0f}"
    if form == "p":  # of a probability, which is never certain
        return ">0.999" if value > 0.9995 else "<0.001" if value < 0.0005 else f"{value:.3f}"
    if isinstance(value, int) and form[-1:] not in "d,%":
        return str(value)
    return format(value, form) if isinstance(value, int | float) else str(value)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
