"""Rows of task, labeler and label, made of what the reader of a format finds in the records of a tool.

A reader is a generator. It sets `rows.record`, yields what it `Found`, hands what is verified or predicted to
`rows.aside`, and counts in `rows.skipped` what it leaves out. A list is a label of several classes; in an
object, such as {question: answer}, one entry is the label. Scorers give `VERDICTS`, on one scale or refused;
a model under test is a column, and part of the task where several answered a sample; one scorer that is
called human is proposed as gold, and stays a labeler if the others know the same classes.
"""

import json
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, NamedTuple

from jtruth._one_line import one_line
from jtruth._validation.words import Source, number_in, number_of, quoted

GOLD = "ground_truth"  # what stands beside the labels and is true
NOBODY = "export"  # the worker where a file does not say who labeled
VERDICTS = "verdicts"
_PEOPLE = {"human", "humans", "gold", "truth", "expert", "annotation", "annotator", "manual"}
_ALIKE = ("judge", "annotator", "rater")  # labelers whose names do not say that they know more than others
_LETTERS = {1.0: "C", 0.5: "P", 0.0: "I"}  # inspect_ai's correct, partial and incorrect; N is no answer
_FEW = 5  # labels of a field that say too little of it
Found = tuple[Any, Any, Any, dict[str, Any]]  # task, labeler, label, entries of other columns


class _Label(NamedTuple):
    record: int
    task: str
    worker: str
    value: Any
    more: dict[str, Any]


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
    wanted: str | None = None  # the scorer or entry that was asked for
    verdicts: bool = False  # whether scorers of a tool gave them
    of: str = ""  # which entry the labels are, in words
    entry: str = ""  # and its name; "" where labels are no objects
    records: list[dict] = field(default_factory=list)  # of an annotation tool; at the end that of each row
    record: int = 0  # the current one
    skipped: Counter[str] = field(default_factory=Counter)  # what was without a label, and how often

    __repr__ = one_line

    def aside(self, name: Any, task: Any, label: Any) -> None:
        """The class of a task by a model or by gold, which is no labeler."""
        known = self.beside.setdefault(as_text(name), {}).setdefault(as_text(task), {})
        given = label if isinstance(label, dict) else {"": label}
        known |= {entry: value for entry, value in given.items() if _says(value)}

    def refuse(self, problem: str) -> ValueError:
        """An error that names the current record."""
        return ValueError(f"{self.source.at([self.record])}: {problem}")

    def unreadable(self, why: str) -> ValueError:
        """An error about a file whose tool is known, and that has no labels as they are needed."""
        a = "an" if self.tool[:1].lower() in "aeiou" else "a"
        table = "Convert it to a table with the columns task, worker, label: one row for each label"
        return ValueError(self.source.says(f"this is {a} {self.tool}, and {why}. {table}"))

    def one_of(self, fields: Iterable[str], what: str, wanted: str | None) -> str:
        """The field that holds the labels: the one that was asked for, or the only one there is."""
        names = list(dict.fromkeys(fields))
        if wanted in names or (wanted is None and len(names) == 1):
            return wanted or names[0]
        problem = f"there is no {what} {wanted!r}; there are {quoted(names, 8)}"
        if wanted is None:
            ways = " or ".join(f"--label {shlex.quote(name)}" for name in names[:4])
            problem = f"several {what}s could be the label: {quoted(names, 8)}. Choose one, {ways}"
            problem += f" (in Python: label={names[0]!r})"
        raise ValueError(self.source.says(problem))

    def read(self, found: Iterable[Found], who: str, of: str = "", unit: str = VERDICTS) -> "LabelRows":
        """The rows of what a reader found, in words of its tool: "annotator", "choice field", "responses"."""
        labels, self.verdicts = [], unit == VERDICTS
        for task, worker, value, more in found:
            value = value if isinstance(value, dict) and of else {"": value}
            labels.append(_Label(self.record, as_text(task), as_text(worker), value, more))
        labels = self._chosen(labels, who, of, unit)
        for self.record, *_, value, _ in labels:
            if any(isinstance(part, dict | list) for part in _parts(value)):
                raise self.refuse("its labels are drawings, rankings or parts of a text, and not classes")
        return self._done(self._judged(labels, who) if unit == VERDICTS else labels, who)

    def _chosen(self, labels: list[_Label], who: str, of: str, unit: str) -> list[_Label]:
        """One value of each: its only one, or the entry or scorer that was asked for; empty are counted."""
        entries = [k for one in labels for k, v in one.value.items() if k and (_says(v) or k == self.wanted)]
        plain = [one.worker for one in labels if _says(one.value.get(""))]
        values = {k: [as_text(one.value[k]) for one in labels if _says(one.value.get(k))] for k in entries}
        answers = [] if self.wanted else [name for name, texts in values.items() if _may_answer(texts)]
        if others := [name for name in values if answers and not plain and name not in answers]:
            self.notes += (f"Fields of one value, or of texts, were not used: {quoted(others, 8)}.",)
            entries = answers
        asked = bool(entries) or (self.wanted is not None and unit == VERDICTS)
        chosen = self.one_of([*plain, *entries], of if entries else who, self.wanted) if asked else ""
        entry = self.entry = "" if chosen in plain else chosen
        self.of = f"{of} {entry!r}" if entry else self.of
        asides = self.beside.items()
        known = {name: {k: v[entry] for k, v in tasks.items() if entry in v} for name, tasks in asides}
        self.beside = {name: tasks for name, tasks in known.items() if tasks}
        meant = [one for one in labels if chosen in (entry, one.worker)]
        for one in meant:
            if not _says(one.value.get(entry)) and (unit != VERDICTS or not called_human(one.worker)):
                self.skipped[f"{unit} without {repr(entry) if entry else 'a label'}"] += 1
        return [one._replace(value=one.value[entry]) for one in meant if _says(one.value.get(entry))]

    def _judged(self, labels: list[_Label], who: str) -> list[_Label]:
        """Verdicts on one scale, with the model in the task where several answered, a person's as gold."""
        names = dict.fromkeys(one.worker for one in labels)
        human = [name for name in names if called_human(name) and who not in _ALIKE]
        human = human if len(human) == 1 < len(names) else []
        convert = _one_scale(self.source, [one for one in labels if one.worker not in human], who)
        labels = [one._replace(value=convert(one.value)) for one in labels]
        models = {(one.task, as_text(one.more.get("model"))) for one in labels}
        if len(models) > len({task for task, _ in models}):
            labels = [one._replace(task=f"{one.task} | {as_text(one.more.get('model'))}") for one in labels]
        return self._with_gold(labels, human[0]) if human else labels

    def _with_gold(self, labels: list[_Label], human: str) -> list[_Label]:
        """The labels of a person as gold, and among the others if they are of the same classes."""
        others, truth = [one for one in labels if one.worker != human], defaultdict(Counter)
        for one in labels:
            if one.worker == human:
                truth[one.task][as_text(one.value)] += 1
        for task, counts in truth.items():
            first, *rest = counts.most_common(2)
            if not rest or rest[0][1] < first[1]:  # epochs that contradict one another are no truth
                self.beside.setdefault(GOLD, {})[task] = first[0]
        self.person = human if set(chain(*truth.values())) <= {as_text(one.value) for one in others} else ""
        what = "is one of the labelers" if self.person else "is not used as a labeler"
        self.notes += (f"{human!r} seems to be a person and {what}; use it by --gold export:{GOLD}.",)
        return labels if self.person else others

    def _done(self, labels: list[_Label], who: str) -> "LabelRows":
        """The columns of these labels, and what they were read as."""
        left_out = [_left_out(*one) for one in self.skipped.items()]
        if not labels:
            what = "it holds no labels" + f" of {self.of}" * bool(self.of)
            raise self.unreadable("; ".join([what, *left_out]))
        self.task, self.worker = [one.task for one in labels], [one.worker for one in labels]
        self.form = ", ".join(filter(None, [self.tool, number_of(len(set(self.worker)), who), self.of]))
        self.notes += tuple(f"{text}." for text in left_out)
        names = dict.fromkeys(k for one in labels for k, v in one.more.items() if as_text(v))
        self.more = {name: [as_text(one.more.get(name)) for one in labels] for name in names}
        every = chain((one.value for one in labels), *(tasks.values() for tasks in self.beside.values()))
        sets = any(len(_parts(value)) > 1 for value in every)
        self.label = [_text(one.value, sets) for one in labels]
        for name, tasks in self.beside.items():
            what, option = ("verified labels", "gold") if name == GOLD else (f"model {name}", "predictions")
            what += f" of {number_of(len(tasks), 'task')} (--{option} export:{name})"
            self.notes += (f"Also in this file: {what}.",)
            self.beside[name] = {task: _text(value, sets) for task, value in tasks.items()}
        self.source = self.source.only(one.record for one in labels)
        self.records = [self.records[one.record] for one in labels if self.records]
        return self


def _may_answer(texts: list[str]) -> bool:
    """Whether a field holds more than one value, and no remarks, which are hardly ever the same."""
    number = len(set(texts))
    repeats = 2 * number <= len(texts) or all(number_in(text) == number_in(text) for text in texts)
    return len(texts) < _FEW or (number > 1 and repeats)


def _left_out(what: str, number: int) -> str:
    """How many records of a kind, which begins with a plural, were left out."""
    head, space, rest = what.partition(" with")
    what = head.removesuffix("s") + space + rest if number == 1 else what
    return f"{number} {what} {'was' if number == 1 else 'were'} left out"


def _text(value: Any, sets: bool) -> str:
    names = sorted({as_text(part) for part in _parts(value)})
    return json.dumps(names, ensure_ascii=False) if sets else names[0]


def _one_scale(source: Source, labels: list[_Label], who: str) -> Callable[[Any], Any]:
    """How values are written: whole numbers without a point, true as 1 beside numbers, 1 as C beside I."""
    values: dict[str, set] = defaultdict(set)
    for name, part in ((one.worker, part) for one in labels for part in _parts(one.value)):
        number = float(part) if isinstance(part, bool) else number_in(as_text(part))
        values[name].add(as_text(part) if number != number else number)
    worded = [some for some in values.values() if any(isinstance(part, str) for part in some)]
    numbers = [some for some in values.values() if some not in worded]
    letters = bool(worded) and set().union(*worded) <= {*_LETTERS.values(), "N"}
    table = _LETTERS if letters and all(some <= set(_LETTERS) for some in numbers) else {}
    grades = any(max(some) > 1 for some in numbers)
    if (worded and numbers and not table) or (grades and any(0 < n < 1 for some in numbers for n in some)):
        shown = "; ".join(f"{name}: {quoted(sorted(some, key=str), 3)}" for name, some in values.items())
        one = f"for instance --label {next(iter(values))!r}"
        raise ValueError(source.says(f"the {who}s have different scales ({shown}). Read one alone, {one}"))
    mixed = any(not isinstance(one.value, bool) for one in labels)

    def convert(value: Any) -> Any:
        if isinstance(value, bool | int | float) and value in table:
            return table[float(value)]
        whole = (isinstance(value, bool) and mixed) or (isinstance(value, float) and value.is_integer())
        return int(value) if whole else value

    return convert


def called_human(scorer: str) -> bool:
    """Whether it is called so: "correct_human", "goldLabel"."""
    return not _PEOPLE.isdisjoint(word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", scorer))


def within(found: Any, keys: str, depth: int = 4, most: int | None = None) -> Iterator[tuple[str, dict]]:
    """Objects with keys as these patterns say, in objects and lists of `most` entries, and their entries."""
    names = "\n".join(found) if isinstance(found, dict) else ""
    if all(re.search(f"^({key})$", names, re.MULTILINE | re.IGNORECASE) for key in keys.split()):
        yield "", found
    elif depth and isinstance(found, dict | list):
        entries = found.items() if isinstance(found, dict) else (("", one) for one in found)
        for name, one in islice(entries, most):
            yield from ((below or name, it) for below, it in within(one, keys, depth - 1, most))


def as_text(value: Any) -> str:
    """A value of JSON as the text that a table would have; None and NaN are no label.

    >>> as_text(1), as_text(1.0), as_text(True), as_text(None), as_text("a")
    ('1', '1.0', 'true', '', 'a')
    """
    if isinstance(value, str):
        return value
    return "" if value is None or value != value else json.dumps(value, ensure_ascii=False)


def _says(value: Any) -> bool:
    return value != [] and as_text(value) != ""


def _parts(value: Any) -> list:
    return value if isinstance(value, list) else [value]


def from_json(cell: Any) -> Any:
    """What a cell with JSON says; anything else stays what it is."""
    try:
        return json.loads(cell) if isinstance(cell, str) and cell[:1] in ("{", "[") else cell
    except ValueError:
        return cell


def first_of(record: dict, *names: str) -> Any:
    """The first of these entries that says something."""
    return next((record[name] for name in names if as_text(record.get(name)) != ""), None)
