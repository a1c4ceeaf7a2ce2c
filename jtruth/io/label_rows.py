"""Rows of task, worker and label, collected from the records of a tool; what the readers of formats share.

A reader hands labels to `LabelRows.add`, which counts those that are empty, and what is verified or predicted
to `LabelRows.aside`; it counts what else it leaves out in `LabelRows.skipped` and ends with `LabelRows.done`.
"""

import json
import shlex
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from jtruth._one_line import one_line
from jtruth._validation.words import Source, number_of, quoted

GOLD = "ground_truth"  # what stands beside the labels and is true
NOBODY = "export"  # the worker where a file does not say who labeled


@dataclass(repr=False)
class LabelRows:
    """One row for each label. Of an export they are collected, with the record that each came from."""

    task: Any
    worker: Any
    label: Any  # text; where a label of the file has several classes each is a JSON list, sorted
    source: Source
    form: str = ""  # "Label Studio export, 2 annotators, choice field 'sentiment'"; "" for a plain table
    notes: tuple[str, ...] = ()
    person: str = ""  # a labeler whose labels stand beside as gold too
    beside: dict[str, dict[str, Any]] = field(default_factory=dict)  # a model's or verified: task -> class
    more: dict[str, list[str]] = field(default_factory=dict)  # other columns: a text for each label
    tool: str = ""  # what wrote the records
    record: int = 0  # the current one
    records: list[int] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)  # what was without a label, and how often
    wanted: str | None = None  # the scorer or field that was asked for, where it is still to be found
    empty: str = "answers without a value"  # how labels that are empty are counted

    __repr__ = one_line

    def add(self, task: Any, worker: Any, label: Any, **more: Any) -> None:
        """A label of the current record (a list: several classes at once), and entries of other columns."""
        if label == [] or as_text(label) == "":
            self.skipped[self.empty] += 1
            return
        for name, value in more.items():
            if text := as_text(value):
                column = self.more.setdefault(name, [])
                column += [""] * (len(self.task) - len(column)) + [text]
        self.task.append(as_text(task))
        self.worker.append(as_text(worker))
        self.label.append(label)
        self.records.append(self.record)

    def aside(self, name: Any, task: Any, label: Any) -> None:
        """The class of a task by a model or by gold, which is no labeler."""
        if label != [] and as_text(label) != "":
            self.beside.setdefault(as_text(name), {})[as_text(task)] = label

    def refuse(self, problem: str) -> ValueError:
        """An error that names the current record."""
        return ValueError(f"{self.source.at([self.record])}: {problem}")

    def unreadable(self, why: str) -> ValueError:
        """An error about a file whose tool is known, and that has no labels as they are needed."""
        a = "an" if self.tool[:1].lower() in "aeiou" else "a"
        table = "Convert it to a table with the columns task, worker, label: one row for each label"
        return ValueError(self.source.says(f"this is {a} {self.tool}, and {why}. {table}"))

    def one_of(self, fields: Iterable[str], wanted: str | None, what: str) -> str:
        """The field that holds the labels: the one that was asked for, or the only one there is."""
        names = list(dict.fromkeys(fields))
        if not names:
            raise self.unreadable(f"there is no {what} here to read labels from")
        if wanted in names or (wanted is None and len(names) == 1):
            return wanted or names[0]
        problem = f"there is no {what} {wanted!r}; there are {quoted(names, 8)}"
        if wanted is None:
            one = f"for instance --label {shlex.quote(names[0])} (in Python label={names[0]!r})"
            problem = f"several {what}s could be the label: {quoted(names, 8)}. Choose one, {one}"
        raise ValueError(self.source.says(problem))

    def done(self, of: str = "", who: str = "annotator") -> "LabelRows":
        """The rows, and what they were read as; `who`: what this tool calls a labeler."""
        if not self.task:
            out = "".join(f"; {number} {why} were left out" for why, number in self.skipped.items())
            raise self.unreadable("it holds no labels" + (f" of {of}" if of else "") + out)
        self.form = f"{self.tool}, {number_of(len(set(self.worker)), who)}" + (f", {of}" if of else "")
        self.notes += tuple(f"{number} {why} were left out." for why, number in self.skipped.items())
        for name, tasks in self.beside.items():
            what, option = ("verified labels", "gold") if name == GOLD else (f"model {name}", "predictions")
            self.notes += (
                f"Also in this file: {what} of {number_of(len(tasks), 'task')} (--{option} export:{name}).",
            )
        for column in self.more.values():
            column += [""] * (len(self.task) - len(column))
        values = chain(self.label, *(tasks.values() for tasks in self.beside.values()))
        text = _set_text if any(isinstance(v, list) and len(v) > 1 for v in values) else _only_text
        self.label = list(map(text, self.label))
        self.beside = {name: {k: text(v) for k, v in one.items()} for name, one in self.beside.items()}
        self.source = self.source.only(self.records)
        return self


def as_text(value: Any) -> str:
    """A value of JSON as the text that a table would have; None and NaN are no label.

    >>> as_text(1), as_text(1.0), as_text(True), as_text(None), as_text("a")
    ('1', '1.0', 'true', '', 'a')
    """
    if isinstance(value, str):
        return value
    return "" if value is None or value != value else json.dumps(value, ensure_ascii=False)


def _set_text(value: Any) -> str:
    names = sorted({as_text(one) for one in (value if isinstance(value, list) else [value])})
    return json.dumps(names, ensure_ascii=False)


def _only_text(value: Any) -> str:
    return as_text(value[0] if isinstance(value, list) else value)


def from_json(cell: Any) -> Any:
    """What a cell with JSON says; anything else stays what it is."""
    try:
        return json.loads(cell) if isinstance(cell, str) and cell[:1] in ("{", "[") else cell
    except ValueError:
        return cell


def first_of(record: dict, *names: str) -> Any:
    """The first of these entries that says something."""
    return next((record[name] for name in names if as_text(record.get(name)) != ""), None)
