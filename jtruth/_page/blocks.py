"""What a page is made of. Rooms fill these with their answers and know nothing of HTML; `html` draws them.

Everything here is plain text and plain numbers: no block holds markup, so that no name of a user can become
some. Blocks are bounded, so that a page of ten thousand labelers stays one that can be mailed: `few` keeps
the first and last rows of a long list and says how many are left out.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from jtruth._one_line import one_line

MOST_ROWS, LAST_ROWS = 40, 10

T = TypeVar("T")


class Bar(NamedTuple):
    """One number with its interval: a row of a picture. None where it is not known."""

    name: str
    mean: float | None
    low: float | None
    high: float | None
    cells: tuple[str, ...] = ()  # text to the right of the picture
    other: float | None = None  # a cross: what a naive rule says
    strong: bool = False  # the row that counts
    middle: bool = False  # `mean` is no likeliest value but the middle of a range: a hollow dot

    __repr__ = one_line


class Bars(NamedTuple):
    """Intervals below one another on one axis."""

    title: str
    head: tuple[str, ...]  # of the names, of the picture, of the cells
    rows: Sequence[Bar]
    note: str = ""
    unit: tuple[float, float] | None = (0.0, 1.0)  # where the numbers live: the axis never leaves it

    __repr__ = one_line


class Table(NamedTuple):
    """Text in rows; the first column names them."""

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""

    __repr__ = one_line


class Matrix(NamedTuple):
    """A table of counts, shaded by `weight` in [0, 1]."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Sequence[Sequence[str]]
    weight: Sequence[Sequence[float]]
    note: str = ""

    __repr__ = one_line


class Series(NamedTuple):
    """Points of a chart, joined if `line`; `low` and `high` are a band or error bars."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    line: bool = True

    __repr__ = one_line


class Chart(NamedTuple):
    """Lines or points over two axes."""

    title: str
    x: str  # what the axes show
    y: str
    series: tuple[Series, ...]
    note: str = ""
    diagonal: bool = False

    __repr__ = one_line


class Note(NamedTuple):
    """A sentence to be heeded: kind is "bad", "open", "good" or "say"."""

    kind: str
    text: str
    name: str = ""


class Notes(NamedTuple):
    """Sentences below one another."""

    title: str
    items: Sequence[Note]

    __repr__ = one_line


class Facts(NamedTuple):
    """Names and what they are, in small print."""

    title: str
    items: Sequence[tuple[str, str]]

    __repr__ = one_line


Part = Bars | Table | Matrix | Chart | Notes | Facts


class Page(NamedTuple):
    """A question, its answer, and what stands behind it."""

    title: str
    about: str  # the data in a line
    answer: str
    doubt: str  # the loudest, or ""
    parts: tuple[Part, ...]

    __repr__ = one_line


def few(rows: Sequence[T], most: int = MOST_ROWS, last: int = LAST_ROWS) -> tuple[list[T], list[T], int]:
    """(first rows, last rows, number left out between them) of a list that may be long.

    >>> few([1, 2, 3, 4, 5, 6], most=3, last=1)
    ([1, 2], [6], 3)
    """
    if len(rows) <= most:
        return list(rows), [], 0
    return list(rows[: most - last]), list(rows[len(rows) - last :]), len(rows) - most


def number(value: float | None, digits: int = 3) -> str:
    """A number for a table; a dash where there is none.

    >>> number(0.5), number(None), number(float("nan"))
    ('0.500', '-', '-')
    """
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"
