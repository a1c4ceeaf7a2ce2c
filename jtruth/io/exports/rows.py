"""What every reader of an export makes: rows of task, worker and label, and a sentence of what it was."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from jtruth._validation import quoted
from jtruth._validation.words import Source

GOLD = "ground_truth"  # what stands beside the labels and is true
NOBODY = "export"  # the worker where a file does not say who labelled


class LabelRows(NamedTuple):
    """One row for each label."""

    task: Sequence[str]
    worker: Sequence[str]
    label: Sequence[str]
    source: Source
    form: str  # "Label Studio export, 2 annotators, choice field 'sentiment'"; "" for a plain table
    notes: tuple[str, ...] = ()
    beside: Mapping[str, Mapping[str, str]] = MappingProxyType({})  # a model's or the truth: task -> class


class Collector:
    """Rows while they are collected, with the record that each came from."""

    def __init__(self, source: Source):
        self.source, self.record = source, 0
        self.rows: list[tuple[str, str, str]] = []
        self.records: list[int] = []
        self.skipped: dict[str, int] = {}
        self.beside: dict[str, dict[str, str]] = {}

    def add(self, task: Any, worker: Any, label: Any) -> None:
        """A label of the current record."""
        self.rows.append((as_text(task), as_text(worker), as_text(label)))
        self.records.append(self.record)

    def aside(self, name: Any, task: Any, label: Any) -> None:
        """The class of a task by a model or by gold, which is no labeler."""
        if label is not None:
            self.beside.setdefault(as_text(name), {})[as_text(task)] = as_text(label)

    def skip(self, why: str) -> None:
        """Something without a label: counted, and said."""
        self.skipped[why] = self.skipped.get(why, 0) + 1

    def refuse(self, problem: str) -> ValueError:
        """An error that names the current record."""
        return ValueError(f"{self.source.at([self.record])}: {problem}")

    def done(self, tool: str, field: str = "") -> LabelRows:
        """The rows, and what they were read as."""
        if not self.rows:
            raise ValueError(
                self.source.says(
                    f"this is a {tool}, and it holds no labels" + (f" of {field}" if field else "")
                )
            )
        task, worker, label = (list(column) for column in zip(*self.rows, strict=True))
        first, numbers = self.source.first, self.source.numbers
        where = [first + k if numbers is None else numbers[k] for k in self.records]
        people = len(set(worker))
        form = f"{tool}, {people} annotator{'s' if people > 1 else ''}" + (f", {field}" if field else "")
        notes = tuple(f"{number} {why} were left out." for why, number in self.skipped.items())
        if self.beside:
            names = ", ".join(f"export:{name} ({len(found)} tasks)" for name, found in self.beside.items())
            notes += (f"No labelers, but for --gold or --predictions: {names}.",)
        source = Source(self.source.name, self.source.unit, first, where)
        return LabelRows(task, worker, label, source, form, notes, self.beside)


def as_text(value: Any) -> str:
    """A value of JSON as the text that a table would have; None and NaN are no label.

    >>> as_text(1), as_text(1.0), as_text(True), as_text(None), as_text("a")
    ('1', '1.0', 'true', '', 'a')
    """
    if isinstance(value, str):
        return value
    return "" if value is None or value != value else json.dumps(value, ensure_ascii=False)


def one_field(found: Sequence[str], wanted: str | None, what: str, source: Source) -> str:
    """The field that holds the labels: the one that was asked for, or the only one there is."""
    names = list(dict.fromkeys(found))
    if wanted is not None and wanted in names:
        return wanted
    if wanted is None and len(names) == 1:
        return names[0]
    if not names:
        raise ValueError(source.says(f"there is no {what} here to read labels from"))
    if wanted is None:
        raise ValueError(
            source.says(f"several {what}s could be the label: {quoted(names, 8)}. Say label=...")
        )
    raise ValueError(source.says(f"there is no {what} {wanted!r}; there are {quoted(names, 8)}"))


def one_value(values: Any, collector: Collector, what: str) -> Any:
    """The value of a choice that may be a list of one; several at once are no class."""
    if not isinstance(values, list):
        return values
    if len(values) > 1:
        raise collector.refuse(
            f"{what} has {len(values)} values at once ({quoted(values, 3)}); jtruth reads one class a label: "
            "make a file for each question that can be answered yes or no"
        )
    return values[0] if values else None
