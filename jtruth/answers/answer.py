"""`Answer`: the base class of all results. A result defines `blocks`; every output follows from it."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from os import PathLike
from typing import Any

from jtruth._one_line import one_line, picture
from jtruth.answers.blocks import Document
from jtruth.answers.data import answer_dict, answer_frame
from jtruth.answers.html import notebook_html, write_page
from jtruth.answers.terminal import terminal_text


class Record(dict):
    """A row of a result: a dictionary whose keys are attributes too, `report.rows[0].accuracy`."""

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(f"this row has no {name!r}; it has {', '.join(map(str, self))}")
        return self[name]


class Answer(ABC):
    """A question and its result. `print` it; or `summary`, `to_dict`, `to_frame`, `report`, `plot`."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for name, value in getattr(self, "__dict__", {}).items():
            if isinstance(value, tuple) and value and all(type(row) is dict for row in value):
                object.__setattr__(self, name, tuple(map(Record, value)))

    @abstractmethod
    def blocks(self) -> Document:
        """Build the document of the result."""

    def brief(self, *, page: bool = False) -> Document:
        """Build the part of the document that a brief text shows, or a page: what is computed already."""
        return self.blocks()

    def with_warnings(self, sentences: Iterable[str]) -> Any:
        """The same result with more warnings, before its own."""
        answer: Any = self
        return replace(answer, warnings=tuple(dict.fromkeys((*sentences, *answer.warnings))))

    plot = picture
    __repr__ = one_line

    def summary(self, *, full: bool = False, width: int | None = None) -> str:
        """The result as text.

        Args:
            full: all of it; else the headline, the first table and the most important notes.
            width: of a line; that of the terminal if None, or 80.
        """
        return terminal_text(self.blocks() if full else self.brief(), full=full, width=width)

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self, level: float | None = None) -> dict[str, Any]:
        """The result as plain numbers, lists and strings (NaN becomes None).

        Args:
            level: of the intervals, if the result can change it; None: unchanged.
        """
        if level is None:
            return answer_dict(self.blocks())
        again = getattr(self, "at_level", None)
        if again is None:
            raise ValueError(
                "the intervals of this answer were made at their level: ask again with level=..."
            )
        return again(level).to_dict()

    def to_frame(self, backend: str | None = None, table: str | None = None) -> Any:
        """A table of the result as a data frame, the first if None.

        Args:
            backend: "pandas", "polars" or "pyarrow"; the first that is installed if None.
            table: its name in `to_dict`.
        """
        return answer_frame(self.blocks() if table else self.brief(), backend, table)

    def report(self, path: str | PathLike, *, paper: bool = False, full: bool = False) -> None:
        """Write one HTML file with pictures; `paper`: for a supplement, with a reference, without advice.

        `full` adds what has to be fitted first: of an evaluation, the estimates under each assumption.
        """
        write_page(path, self.blocks() if full else self.brief(page=True), paper=paper)

    def _repr_html_(self) -> str:
        return notebook_html(self.brief())
