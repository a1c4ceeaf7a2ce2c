"""Exports of annotation tools as rows of task, worker and label.

A tool is two functions: one that recognises its records by keys that only it uses, and one that hands rows to
`LabelRows`; `of_records` and `of_table` find which tool wrote a file. What is left out is counted, what
cannot be one class is refused.

- Label Studio: JSON (tasks with annotations), JSON-MIN and CSV (one row for each annotation). In JSON the
  label is a result of type choices, rating, number or the like, called by the name of its control tag;
  cancelled annotations are left out, ground truth is gold, and predictions are models': both stand beside
  the labels. JSON-MIN and CSV have a key for each control tag beside those of the data: the label is the
  one of few values.
- Prodigy: JSONL with one line for each annotation. With options the label is the accepted one and the task
  the input (`_input_hash`); without, the task is input and label (`_task_hash`), the answer accept or
  reject.
- Argilla: records with a "responses" object (question -> list of value and user_id); flat rows
  "question.responses" and "question.responses.users"; older rows in which a question is a list of objects
  with user_id and value. Discarded and draft responses are left out; suggestions stand beside the labels.
- doccano: documents with a list of labels. Annotators who work apart are a zip with one JSONL file for
  each, whose name is the worker; older versions name a user in each annotation; otherwise all is one
  worker's.
- Mechanical Turk: batch results as CSV, one row for each assignment. The label is a column Answer.*: a
  value, a group of columns Answer.question.choice that are true or false, or the JSON of
  `Answer.taskAnswers`.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from jtruth._one_line import one_line
from jtruth._validation import quoted
from jtruth._validation.text import TextTable
from jtruth._validation.words import Source

GOLD = "ground_truth"  # what stands beside the labels and is true
NOBODY = "export"  # the worker where a file does not say who labelled


@dataclass(repr=False)
class LabelRows:
    """One row for each label. Of an export they are collected, with the record that each came from."""

    task: Any
    worker: Any
    label: Any
    source: Source
    form: str = ""  # "Label Studio export, 2 annotators, choice field 'sentiment'"; "" for a plain table
    notes: tuple[str, ...] = ()
    beside: dict[str, dict[str, str]] = field(default_factory=dict)  # a model's or the truth: task -> class
    record: int = 0  # the current one
    records: list[int] = field(default_factory=list)
    more: dict[str, list[str]] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)  # what was without a label, and how often

    __repr__ = one_line

    def add(self, task: Any, worker: Any, label: Any) -> None:
        """A label of the current record."""
        for column, value in ((self.task, task), (self.worker, worker), (self.label, label)):
            column.append(as_text(value))
        self.records.append(self.record)

    def aside(self, name: Any, task: Any, label: Any) -> None:
        """The class of a task by a model or by gold, which is no labeler."""
        if label is not None:
            self.beside.setdefault(as_text(name), {})[as_text(task)] = as_text(label)

    def refuse(self, problem: str) -> ValueError:
        """An error that names the current record."""
        return ValueError(f"{self.source.at([self.record])}: {problem}")

    def done(self, tool: str, of: str = "") -> "LabelRows":
        """The rows, and what they were read as."""
        if not self.task:
            none = f"this is a {tool}, and it holds no labels" + (f" of {of}" if of else "")
            raise ValueError(self.source.says(none))
        people = len(set(self.worker))
        self.form = f"{tool}, {people} annotator{'s' if people > 1 else ''}" + (f", {of}" if of else "")
        self.notes = tuple(f"{number} {why} were left out." for why, number in self.skipped.items())
        if self.beside:
            names = ", ".join(f"export:{name} ({len(tasks)} tasks)" for name, tasks in self.beside.items())
            self.notes += (f"No labelers, but for --gold or --predictions: {names}.",)
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
        problem = f"several {what}s could be the label: {quoted(names, 8)}. Say label=..."
    raise ValueError(source.says(problem))


def one_value(values: Any, rows: LabelRows, what: str) -> Any:
    """The value of a choice that may be a list of one; several at once are no class."""
    if not isinstance(values, list):
        return values
    if len(values) > 1:
        raise rows.refuse(
            f"{what} has {len(values)} values at once ({quoted(values, 3)}); jtruth reads one class a label: "
            "make a file for each question that can be answered yes or no"
        )
    return values[0] if values else None


_RESULT_TYPES = {"choices", "rating", "number", "taxonomy"}  # of results; the value has the same name
_MIN_KEYS = {"annotation_id", "annotator"}  # of JSON-MIN, and columns of CSV
_META_KEYS = _MIN_KEYS | {"id", "created_at", "updated_at", "lead_time", "agreement", "completed_by"}
_FEW = 20  # values of a field of choices; texts and images have more


def is_label_studio(record: dict) -> bool:
    """Whether this is a task of the JSON export."""
    annotations = record.get("annotations", record.get("completions"))
    if "data" not in record or not isinstance(annotations, list):
        return False
    return all(isinstance(a, dict) and "result" in a for a in annotations)


def label_studio(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """The JSON export."""
    names: list[str] = []
    for rows.record, task in enumerate(records):
        names += [r["from_name"] for a in _annotations(task) for r in a["result"] if _is_label(r)]
    field = one_field(names, label, "choice field", rows.source)
    for rows.record, task in enumerate(records):
        name = task.get("id", rows.record)
        for annotation in _annotations(task):
            if annotation.get("was_cancelled"):
                rows.skipped["cancelled annotations"] += 1
                continue
            value = _answer(annotation, field, rows)
            if value is None:
                rows.skipped[f"annotations without {field!r}"] += 1
            elif annotation.get("ground_truth"):
                rows.aside(GOLD, name, value)
            else:
                rows.add(name, _person(annotation.get("completed_by")), value)
        for guess in task.get("predictions") or []:
            if isinstance(guess, dict) and "result" in guess:
                rows.aside(guess.get("model_version") or "predictions", name, _answer(guess, field, rows))
    return rows.done("Label Studio export", f"choice field {field!r}")


def _answer(annotation: dict, field: str, rows: LabelRows) -> Any:
    """What an annotation, or a prediction, says of a field; None: nothing."""
    results = [r for r in annotation["result"] if _is_label(r) and r["from_name"] == field]
    if len(results) > 1:
        raise rows.refuse(f"an annotation answers {field!r} {len(results)} times")
    return one_value(results[0]["value"][results[0]["type"]], rows, repr(field)) if results else None


def _annotations(task: dict) -> list[dict]:
    return task.get("annotations", task.get("completions")) or []


def _is_label(result: dict) -> bool:
    return str(result.get("type")) in _RESULT_TYPES and isinstance(result.get("from_name"), str)


def _person(who: Any) -> Any:
    """Who annotated: a number, or an object with an address."""
    return who.get("email", who.get("id")) if isinstance(who, dict) else who


def label_studio_rows(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """JSON-MIN, or CSV as records."""
    field = one_field(_choice_fields(records, label), label, "choice field", rows.source)
    for rows.record, row in enumerate(records):
        value = one_value(_choices(row.get(field)), rows, repr(field))
        if as_text(value) == "":
            rows.skipped[f"annotations without {field!r}"] += 1
        else:
            rows.add(row.get("id", rows.record), _person(row["annotator"]), value)
    return rows.done("Label Studio export (one row for each annotation)", f"choice field {field!r}")


def _choices(value: Any) -> Any:
    """JSON-MIN writes several choices as {"choices": [...]}."""
    return value["choices"] if isinstance(value, dict) and "choices" in value else value


def _choice_fields(records: list[dict], label: str | None) -> list[str]:
    """Keys that may hold a choice: few values, used again and again."""
    keys = dict.fromkeys(key for row in records for key in row if key not in _META_KEYS)
    if label is not None:
        return list(keys)
    values = {key: {as_text(_choices(row.get(key))) for row in records} - {""} for key in keys}
    return [key for key, texts in values.items() if 0 < len(texts) <= min(_FEW, max(1, len(records) // 2))]


_PRODIGY = {"_input_hash", "_task_hash", "answer"}


def prodigy(rows: LabelRows, records: list[dict], _: str | None) -> LabelRows:
    """Rows of the lines."""
    choice = any("options" in line for line in records)
    for rows.record, line in enumerate(records):
        who = line.get("_annotator_id") or line.get("_session_id") or NOBODY
        if line["answer"] == "ignore":
            rows.skipped["ignored questions"] += 1
        elif not choice:
            rows.add(line["_task_hash"], who, line["answer"])
        elif line["answer"] == "reject":
            rows.skipped["rejected questions"] += 1
        else:
            value = one_value(line.get("accept", []), rows, "'accept'")
            if value is None:
                rows.skipped["questions without a choice"] += 1
            else:
                rows.add(line["_input_hash"], who, value)
    return rows.done("Prodigy export", "choices" if choice else "accept or reject of each label")


_RESPONSES = ".responses"


def is_argilla(record: dict) -> bool:
    """Whether this is a record of Argilla, in any of its forms."""
    return bool(list(_questions(record))) or (
        isinstance(record.get("fields"), dict) and isinstance(record.get("responses"), dict)
    )


def argilla(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Rows of the responses to one question."""
    question = one_field([q for r in records for q in _questions(r)], label, "question", rows.source)
    for rows.record, record in enumerate(records):
        task = record.get("id", record.get("external_id", rows.record))
        for value, user, status in _answers_of(record, question):
            if status not in ("", "submitted"):
                rows.skipped[f"{status} responses"] += 1
            else:
                rows.add(task, NOBODY if user is None else user, one_value(value, rows, repr(question)))
        for value, agent in _suggestions(record, question):
            rows.aside(agent or "suggestions", task, one_value(value, rows, repr(question)))
    return rows.done("Argilla export", f"question {question!r}")


def _suggestions(record: dict, question: str) -> Iterator[tuple[Any, Any]]:
    """Value and agent of every suggestion for the question, in an object, a list or keys of a flat row."""
    suggestions = record.get("suggestions") or {}
    suggestions = [suggestions.get(question)] if isinstance(suggestions, dict) else suggestions
    for suggestion in suggestions:
        if isinstance(suggestion, dict) and suggestion.get("question_name", question) == question:
            yield suggestion.get("value"), suggestion.get("agent")
    flat = f"{question}.suggestion"
    if flat in record:
        yield record[flat], record.get(f"{flat}.agent")


def _questions(record: dict) -> Iterator[str]:
    """Questions that this record has responses to, or could have."""
    if isinstance(record.get("responses"), dict):
        yield from record["responses"]
    for key, value in record.items():
        if key.endswith(_RESPONSES):
            yield key.removesuffix(_RESPONSES)
        elif isinstance(value, list) and value and all(map(_is_answer, value)):
            yield key


def _is_answer(value: Any) -> bool:
    return isinstance(value, dict) and {"user_id", "value"} <= set(value)


def _answers_of(record: dict, question: str) -> Iterator[tuple[Any, Any, str]]:
    responses = record.get("responses")
    responses = responses.get(question) if isinstance(responses, dict) else record.get(question)
    for response in responses if isinstance(responses, list) else []:
        if _is_answer(response):
            yield response["value"], response["user_id"], response.get("status") or ""
    values = record.get(question + _RESPONSES) or []
    users = record.get(f"{question}{_RESPONSES}.users") or [None] * len(values)
    states = record.get(f"{question}{_RESPONSES}.status") or [""] * len(values)
    yield from zip(values, users, states, strict=True)


_TEXTS = ("text", "data", "filename")


def is_doccano(record: dict) -> bool:
    """Whether this is a document with its labels."""
    labels = record.get("label", record.get("labels"))
    old = record.get("annotations")
    named = isinstance(old, list) and all({"label", "user"} <= set(a) for a in old if isinstance(a, dict))
    return any(key in record for key in _TEXTS) and (isinstance(labels, list) or (named and old is not None))


def doccano(rows: LabelRows, files: dict[str, list[dict]], _: str | None) -> LabelRows:
    """Rows of documents, by the name of their file ("" where there is one file)."""
    every = [(user, record) for user, records in files.items() for record in records]
    if len(files) > 1 and not all("id" in record for _, record in every):
        raise ValueError(rows.source.says("some documents have no id: which are they in the other files?"))
    for rows.record, (user, record) in enumerate(every):
        for who, value in _labels_of(record, user, rows):
            rows.add(record.get("id", rows.record), who, value)
    return rows.done("doccano export", "a file for each annotator" if len(files) > 1 else "")


def _labels_of(record: dict, user: str, rows: LabelRows) -> list[tuple]:
    old = record.get("annotations")
    if isinstance(old, list) and old and "user" in old[0]:
        return [(annotation["user"], annotation["label"]) for annotation in old]
    value = one_value(record.get("label", record.get("labels")) or [], rows, "'label'")
    if isinstance(value, list):
        raise rows.refuse("its labels mark parts of the text; jtruth reads one class for the whole")
    if value is None:
        rows.skipped["documents without a label"] += 1
        return []
    return [(user or NOBODY, value)]


_TURK = {"HITId", "WorkerId"}
_ANSWER, _ALL_ANSWERS = "Answer.", "Answer.taskAnswers"


def mechanical_turk(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Rows of the assignments."""
    answers = [_assignment(row, rows) for rows.record, row in enumerate(records)]
    wanted = None if label is None else label.removeprefix(_ANSWER)
    field = one_field([name for row in answers for name in row], wanted, "answer", rows.source)
    for rows.record, (row, fields) in enumerate(zip(records, answers, strict=True)):
        if row.get("AssignmentStatus") == "Rejected":
            rows.skipped["rejected assignments"] += 1
        elif fields.get(field) in (None, ""):
            rows.skipped[f"assignments without an answer {field!r}"] += 1
        else:
            rows.add(row["HITId"], row["WorkerId"], fields[field])
    return rows.done("Mechanical Turk batch", f"answer {field!r}")


def _assignment(row: dict[str, str], rows: LabelRows) -> dict[str, str]:
    """Question -> answer of one assignment."""
    if _ALL_ANSWERS in row:
        try:
            answers = json.loads(row[_ALL_ANSWERS] or "[]")
        except json.JSONDecodeError as problem:
            raise rows.refuse(f"{_ALL_ANSWERS} is no JSON ({problem})") from None
        first = answers[0] if isinstance(answers, list) and answers else answers
        if not isinstance(first, dict):
            return {}
        return {name: _chosen(value, rows) for name, value in first.items()}
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name.startswith(_ANSWER):
            question, dot, choice = name.removeprefix(_ANSWER).rpartition(".")
            if dot and value.casefold() in ("true", "false", ""):
                flat.setdefault(question, {})[choice] = value.casefold() == "true"
            else:
                flat[question if choice == "label" and dot else name.removeprefix(_ANSWER)] = value
    return {name: _chosen(value, rows) for name, value in flat.items()}


def _chosen(value: Any, rows: LabelRows) -> str:
    """The answer in a value: itself, {"label": it}, or the choice that is true."""
    if not isinstance(value, dict):
        return as_text(value)
    if set(value) == {"label"}:
        return as_text(value["label"])
    true = [name for name, on in value.items() if on is True]
    if len(true) > 1:
        raise rows.refuse(f"{len(true)} choices are true at once; jtruth reads one class a label")
    return true[0] if true else ""


_TOOLS: tuple[tuple[Callable[[dict], bool], Callable], ...] = (  # of one file, by its first object
    (is_label_studio, label_studio),
    (_MIN_KEYS.issubset, label_studio_rows),
    (_PRODIGY.issubset, prodigy),
)


def of_records(files: dict[str, list[dict]], source: Source, label: str | None) -> LabelRows | None:
    """Rows of objects by their file in a zip ("": one file); None: no known export. `label`: its field."""
    records, data = next(iter(files.values())), files
    reader = next((reader for recognises, reader in _TOOLS if recognises(records[0])), None)
    if len(files) > 1:
        reader = doccano if all(is_doccano(documents[0]) for documents in files.values()) else None
    elif reader is not None or any(map(is_argilla, records)):
        reader, data = reader or argilla, records
    elif is_doccano(records[0]):
        reader = doccano
    return _read(reader, LabelRows([], [], [], source), data, label)


def of_table(table: TextTable, label: str | None) -> LabelRows | None:
    """Rows of a text table that is an export; None: no known one."""
    reader = label_studio_rows if _MIN_KEYS.issubset(table.header) else None
    if _TURK.issubset(table.header) and any(name.startswith(_ANSWER) for name in table.header):
        reader = mechanical_turk
    rows = [] if reader is None else zip(*table.columns, strict=True)
    records = [dict(zip(table.header, row, strict=True)) for row in rows]
    return _read(reader, LabelRows([], [], [], table.source), records, label)


def _read(reader: Callable | None, rows: LabelRows, data: Any, label: str | None) -> LabelRows | None:
    """What the reader makes of it; of an entry that its tool would not write so, an error with the place."""
    if reader is None:
        return None
    try:
        return reader(rows, data, label)
    except (TypeError, KeyError, AttributeError, IndexError) as problem:
        name = reader.__name__.removesuffix("_rows").replace("_", " ")
        why = f"{problem} is missing" if isinstance(problem, KeyError) else str(problem)
        raise rows.refuse(f"not as an export of {name} has it ({why}); is the file damaged?") from None
