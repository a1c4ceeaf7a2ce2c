"""Rows of task, worker and label, collected from the records of a tool; what the readers of formats share.

A reader hands labels to `LabelRows.add`, counts what it leaves out in `LabelRows.skipped`, hands verified labels
and predictions to `LabelRows.aside`, and ends with `LabelRows.done`.
"""

import json
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from jtruth._one_line import one_line
from jtruth._validation.words import Source, number_of, quoted

GOLD = "ground_truth"  # what stands beside the labels and is true
NOBODY = "export"  # the worker where a file does not say who labeled
_ONE_ROW_A_LABEL = "Convert it to a table with the columns task, worker, label: one row for each label."
_LONGEST = 80  # characters of a value that can name a group
_TAKEN = {"self", "task", "worker", "label", "model", "epoch", "repeat", "order", "time"}


@dataclass(repr=False)
class LabelRows:
    """One row for each label. Of an export they are collected, with the record that each came from."""

    task: Any
    worker: Any
    label: Any  # text; of several classes at once the text of a JSON list, sorted
    source: Source
    form: str = ""  # "Label Studio export, 2 annotators, choice field 'sentiment'"; "" for a plain table
    notes: tuple[str, ...] = ()
    beside: dict[str, dict[str, Any]] = field(default_factory=dict)  # a model's or verified: task -> class
    more: dict[str, list[str]] = field(default_factory=dict)  # other columns: a text for each label
    tool: str = ""  # what wrote the records
    record: int = 0  # the current one
    records: list[int] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)  # what was without a label, and how often

    __repr__ = one_line

    def add(self, task: Any, worker: Any, label: Any, **more: Any) -> None:
        """A label of the current record (a list: several classes at once), and its entries in other columns."""
        for name, value in more.items():
            if text := as_text(value):
                column = self.more.setdefault(name, [])
                column += [""] * (len(self.task) - len(column)) + [text]
        self.task.append(as_text(task))
        self.worker.append(as_text(worker))
        self.label.append(label if isinstance(label, list) else as_text(label))
        self.records.append(self.record)

    def aside(self, name: Any, task: Any, label: Any) -> None:
        """The class of a task by a model or by gold, which is no labeler."""
        if label is not None:
            kept = label if isinstance(label, list) else as_text(label)
            self.beside.setdefault(as_text(name), {})[as_text(task)] = kept

    def refuse(self, problem: str) -> ValueError:
        """An error that names the current record."""
        return ValueError(f"{self.source.at([self.record])}: {problem}")

    def unreadable(self, why: str) -> ValueError:
        """An error about a file whose tool is known, and that has no labels as they are needed."""
        return ValueError(self.source.says(f"this is a {self.tool}, and {why}. {_ONE_ROW_A_LABEL}"))

    def done(self, of: str = "", who: str = "annotator") -> "LabelRows":
        """The rows, and what they were read as; `who`: what this tool calls a labeler."""
        if not self.task:
            left_out = "".join(f"; {number} {why} were left out" for why, number in self.skipped.items())
            none = f"this is a {self.tool}, and it holds no labels" + (f" of {of}" if of else "") + left_out
            raise ValueError(self.source.says(none))
        self.form = f"{self.tool}, {number_of(len(set(self.worker)), who)}" + (f", {of}" if of else "")
        self.notes += tuple(f"{number} {why} were left out." for why, number in self.skipped.items())
        for name, tasks in self.beside.items():
            what, option = ("verified labels", "gold") if name == GOLD else (f"model {name}", "predictions")
            self.notes += (f"Also in this file: {what} of {len(tasks)} tasks (--{option} export:{name}).",)
        for column in self.more.values():
            column += [""] * (len(self.task) - len(column))
        self._as_sets()
        self.source = self.source.only(self.records)
        return self

    def _as_sets(self) -> None:
        """Labels as text: where one of them has several classes, each is a set."""
        values = chain(self.label, *(tasks.values() for tasks in self.beside.values()))
        several = any(isinstance(value, list) and len(value) > 1 for value in values)

        def text(value: Any) -> str:
            if several:
                return json.dumps(sorted(map(as_text, value if isinstance(value, list) else [value])))
            return as_text(value[0] if isinstance(value, list) else value)

        self.label = list(map(text, self.label))
        for name, tasks in self.beside.items():
            self.beside[name] = {task: text(value) for task, value in tasks.items()}


def as_text(value: Any) -> str:
    """A value of JSON as the text that a table would have; None and NaN are no label.

    >>> as_text(1), as_text(1.0), as_text(True), as_text(None), as_text("a")
    ('1', '1.0', 'true', '', 'a')
    """
    if isinstance(value, str):
        return value
    return "" if value is None or value != value else json.dumps(value, ensure_ascii=False)


def from_json(text: str) -> Any:
    """What a cell with JSON says; a cell that is none stays text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def one_field(fields: Sequence[str], wanted: str | None, what: str, source: Source) -> str:
    """The field that holds the labels: the one that was asked for, or the only one there is."""
    names = list(dict.fromkeys(fields))
    if wanted is not None and wanted in names:
        return wanted
    if wanted is None and len(names) == 1:
        return names[0]
    problem = f"there is no {what} {wanted!r}; there are {quoted(names, 8)}"
    if not names:
        problem = f"there is no {what} here to read labels from"
    elif wanted is None:
        say = f"for instance --label {shlex.quote(names[0])}, in Python label={names[0]!r}"
        problem = f"several {what}s could be the label: {quoted(names, 8)}. Choose one: {say}"
    raise ValueError(source.says(problem))


def chosen(values: Any) -> Any:
    """The value of a choice that may be a list: several stay a list, none is None."""
    if not isinstance(values, list):
        return values
    return values if len(values) > 1 else values[0] if values else None


def groups(metadata: Any) -> dict[str, Any]:
    """The short plain values of a sample's metadata, each a column that can name groups."""
    entries = metadata.items() if isinstance(metadata, dict) else ()
    short = {k: v for k, v in entries if isinstance(v, str | int | float) and len(str(v)) <= _LONGEST}
    return {f"metadata.{name}" if name in _TAKEN else str(name): value for name, value in short.items()}
