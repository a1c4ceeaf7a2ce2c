"""Answers back into files: as tables, or as predictions that an annotation tool imports.

A table is of the kind that the ending of its name says (`jtruth._files.write_table`). A format is what a
tool imports: Label Studio tasks with `predictions`, Argilla records with `suggestions` (what its
`records.from_json` reads), doccano documents with `label`. A task keeps the data that its file has for it,
and `jtruth.io.exports` reads these files as it reads the tools' own exports.

Sources: labelstud.io/guide/predictions (JSON format for pre-annotations); Argilla 2, `Record.from_dict`;
doccano, its examples of text classification.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import Any

from jtruth._files import ending_of, write_objects, write_table
from jtruth._validation import choose
from jtruth._validation.words import number_in
from jtruth.answers import Answer
from jtruth.answers.data import table_rows
from jtruth.io.annotation_tools import FILE, VALUE_OF, responses_of
from jtruth.io.apply import ids_of
from jtruth.io.columns import is_beside, role_of
from jtruth.io.label_rows import as_text, first_of
from jtruth.io.reading import Opened, opened
from jtruth.labels import Labels

_ANSWERS = (
    "label",
    "labels",
    "accept",
    "answer",
    "worker",
    "username",
    "user",
    "annotator",
    "suggested_label",
)  # no data of a task
_INSIDE = re.compile(r"(?:fields\.|Input\.|INPUT:)(.+)")  # data in tables of Argilla, Mechanical Turk, Toloka
_HIDDEN = ("gold", "derived", "used")  # roles of columns that annotators must not see
# Of Label Studio: the choice (in Argilla the question), what is judged, the kind; and what is shown.
_Tags = tuple[str, str, str, str]
_Known = dict[str, tuple[dict, dict]]  # by name of a task, its record in the tool's export, and its data


def write(
    answer: Any, path: str | PathLike, *, format: str | None = None, source: Any = None,
    question: str | None = None,
) -> str | None:  # fmt: skip
    """Write an answer to a file: as a table, or (`format`) as an annotation tool imports it.

    Args:
        answer: a consensus; any other answer, of which the first table is written; labels; or (header, rows).
        path: .csv, .tsv, .json, .jsonl (each also .gz) or .parquet; of a format .json, of doccano's also
            .jsonl.
        format: "label_studio", "argilla" or "doccano": predictions with their probabilities, of a consensus.
        source: the file that the labels are from, or what `opened` made of it: tasks keep their data.
        question: what the tool calls the label (the name of a Choices tag, or of a question); what `source`
            calls it, or "label", unless given.

    Returns:
        What annotators see, where `source` has no texts to show them; else None.

    Raises:
        ValueError: an ending that is not written, or is of another kind than the format; an answer without a
            class and probability for each task.

    >>> import tempfile; from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "agreed.json"
    >>> table = ["task", "label", "p_no", "p_yes"], [["t1", "yes", 0.25, 0.75]]
    >>> write(table, path, format="doccano")
    >>> print(path.read_text())
    [
    {"id": "t1", "text": "t1", "task": "t1", "label": ["yes"], "score": 0.75}
    ]
    <BLANKLINE>
    """
    check_written(path, format)
    if format is None:
        return write_table(path, *_table(answer))
    header, rows = _table(answer)
    agent = " ".join(filter(None, ["jtruth", getattr(answer, "method", "")]))
    known, tags = ({}, ("label", "", "choices")) if source is None else _of_source(opened(source))
    shown, plain = _shown([data for _, data in known.values()])
    named = (question or tags[0], tags[1] or shown, tags[2], shown)
    suggested = _suggested(header, rows, known)
    write_objects(path, (FORMATS[format][0](*one, agent, named) for one in suggested))
    what = f"annotators will see {repr(shown) if shown else 'the name of the task'}"
    return f"The file has no column of texts, so {what}." if known and not plain else None


def check_written(path: str | PathLike, format: str | None = None) -> None:
    """Refuse a name of a file that does not say what would be written to it."""
    if format is None:
        ending_of(path)
    else:
        choose("format", format, tuple(FORMATS))
        ending_of(path, FORMATS[format][1])


def write_labels(path: str | PathLike, labels: Labels) -> None:
    """Write labels as a table task,worker,label that `read_labels` reads, of the kind its ending says."""
    write_table(path, *_table(labels))


def _table(answer: Any) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
    """Header and rows: of labels; the table that an answer makes for files, or the first that it shows."""
    if isinstance(answer, Labels):
        tasks, workers = answer.task_names, answer.worker_names
        entries = zip(*(a.tolist() for a in answer.arrays), strict=True)
        rows = ((tasks[i], workers[t], answer.class_names[c]) for i, t, c in entries if c >= 0)
        return ("task", "worker", "label"), rows
    if isinstance(answer, tuple) and len(answer) == 2:
        return answer
    if (table := getattr(answer, "table", None)) is not None:
        return table()
    tables = [one for one in answer.blocks().tables() if one.name] if isinstance(answer, Answer) else []
    if not tables:
        raise ValueError(f"a {type(answer).__name__} has no table to write")
    rows = table_rows(tables[0])
    return list(rows[0]), [list(row.values()) for row in rows]


def _of_source(file: Opened) -> tuple[_Known, tuple[str, str, str]]:
    """What a file has for each task beside labels, and what the tool that wrote it calls the label."""
    (header, columns), plan = file.table[:2], file.plan
    export = file.export if file.export and file.export.records else None
    records = export.records if export else [dict(zip(header, row)) for row in zip(*columns)]  # noqa: B905
    first, used = {}, {*_ANSWERS, plan.worker, plan.label, *(plan.labelers or ())}
    used |= {name for name, role in plan.roles.items() if role in _HIDDEN}
    for task, record in zip(ids_of(file.table, plan), records, strict=True):
        before = first.setdefault(task, record)
        if before is not record:
            used |= {key for key in before.keys() | record if before.get(key) != record.get(key)}
    entry = (export.entry if export else plan.label) or "label"
    used |= {entry, "id"} if export else set()
    known = {task: (record if export else {}, _data(record, used)) for task, record in first.items()}
    tags = (tag for record in first.values() for tag in _tags(record, entry))
    return known, next(tags, (entry, "", "choices"))


def _shown(every: Sequence[dict[str, Any]]) -> tuple[str, bool]:
    """The entry that people judge, and whether it is a text: called so, or the longest, mostly different."""
    columns = defaultdict(list)
    for name, value in (entry for data in every for entry in data.items() if isinstance(entry[1], str)):
        columns[name].append(value)
    if "text" in columns:
        return "text", True
    free = {name: cells for name, cells in columns.items() if 2 * len(set(cells)) > len(cells)}
    named = [n for n in free if not is_beside(n) and any(number_in(c) != number_in(c) for c in free[n])]
    name = max(named or free, key=lambda n: sum(map(len, free[n])) / len(free[n]), default="")
    return name, 2 * sum(" " in cell.strip() or "/" in cell for cell in free.get(name, ())) > len(every)


def _tags(record: dict, entry: str) -> Iterator[tuple[str, str, str]]:
    """How a record of Label Studio or Argilla calls and writes an answer to the question."""
    for one in first_of(record, "annotations", "completions", "predictions") or []:
        for result in one.get("result", ()) if isinstance(one, dict) else ():
            if result.get("from_name") == entry and result.get("type") in VALUE_OF:
                yield entry, result.get("to_name", ""), result["type"]
    for *_, question, value in responses_of(record):
        if question == entry and isinstance(value, int):
            yield entry, "", "rating"


def _data(record: dict, used: set[Any]) -> dict[str, Any]:
    """Data of a task: what its tool keeps as that, or else every plain value that is the same in its rows."""
    inside = next((record[name] for name in ("data", "fields") if isinstance(record.get(name), dict)), None)
    if inside is not None:
        return dict(inside)
    if named := {match[1]: value for key, value in record.items() if (match := _INSIDE.fullmatch(key))}:
        return named
    plain = {key: value for key, value in record.items() if isinstance(value, str | int | float)}
    own = [key for key in plain if key not in used and role_of(key) not in _HIDDEN]
    return {key: plain[key] for key in own if key[:1] not in ("_", FILE[0])}


def _suggested(header: Sequence[str], rows: Any, known: _Known) -> Iterator[tuple[dict, dict, Any, float]]:
    """Record and data of each task of a consensus, its class, and the probability of that."""
    for row in rows:
        one = dict(zip(header, row, strict=True))
        score = one.get(f"p_{one.get('label')}")
        if score is None or "task" not in one:
            raise ValueError("a format needs columns task, label and p_ of each class, its probability")
        record, data = known.get(as_text(one["task"]), ({}, {"task": one["task"]}))
        yield {"id": one["task"]} | record, data, one["label"], score


def _value(label: Any, kind: str) -> Any:
    """A label as an answer of this kind has it: a grade or number is a number."""
    if kind not in ("rating", "number") or (number := number_in(str(label))) != number:
        return label
    return int(number) if number == int(number) else number


def _label_studio(task: dict, data: dict, label: Any, score: float, agent: str, tags: _Tags) -> dict:
    question, judged, kind, _ = tags
    listed = {"choices": [label], "taxonomy": [str(label).split(" / ")]}
    value = {VALUE_OF[kind]: listed.get(kind, _value(label, kind))}
    result = {"from_name": question, "to_name": judged or "text", "type": kind, "value": value}
    guess = {"model_version": agent, "score": score, "result": [result]}
    return {"id": task["id"], "data": data, "predictions": [guess]}


def _argilla(task: dict, data: dict, label: Any, score: float, agent: str, tags: _Tags) -> dict:
    guess = {"value": _value(label, tags[2]), "score": score, "agent": agent}
    fields = {key: value if isinstance(value, dict | list) else as_text(value) for key, value in data.items()}
    kept = {key: one for key in ("metadata", "vectors") if isinstance(one := task.get(key), dict)}
    made = {"id": as_text(task["id"]), "fields": fields, "suggestions": {tags[0]: guess}}
    return {"metadata": {}, "vectors": {}, "responses": {}} | kept | made


def _doccano(task: dict, data: dict, label: Any, score: float, agent: str, tags: _Tags) -> dict:
    text = data.get(tags[3], as_text(task["id"]))
    return {"id": task["id"], "text": text, **data, "label": [label], "score": score}


# How a record of each is made, and the endings of files that its tool imports.
FORMATS: dict[str, tuple[Callable[..., dict], tuple[str, ...]]] = {
    "label_studio": (_label_studio, (".json",)),
    "argilla": (_argilla, (".json",)),
    "doccano": (_doccano, (".json", ".jsonl")),
}
