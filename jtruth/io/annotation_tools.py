"""Exports of annotation tools: a function or two for each, listed in `jtruth.io.exports`.

What is left out is counted, several classes at once are a list, and what names no class is refused.

- Label Studio: JSON (tasks with annotations), JSON-MIN and CSV (one row for each annotation). In JSON the
  label is a result of type choices, rating, number, taxonomy, pairwise or the like, called by the name of its
  control tag; cancelled annotations are left out, ground truth is gold, and predictions are models': both
  stand beside the labels. JSON-MIN and CSV have a key for each control tag beside those of the data: the
  label is the one of few values.
- Prodigy: JSONL with one line for each annotation. With options the label is the accepted one and the task
  the input (`_input_hash`); without, the task is input and label (`_task_hash`), the answer accept or
  reject.
- Argilla: records whose "responses" are an object (question -> list of value and user_id) or a list (user_id,
  status, values by question); flat rows "question.responses" and "question.responses.users"; older rows in
  which a question is a list of objects with user_id and value. Discarded and draft responses are left out;
  suggestions stand beside the labels.
- doccano: documents with a list of labels, in CSV joined by "#". Annotators who work apart are a zip with one
  JSONL file for each, whose name is the worker; older versions name a user in each annotation; otherwise all
  is one worker's.
"""

import re
from collections.abc import Iterator
from typing import Any

from jtruth.io.label_rows import GOLD, NOBODY, LabelRows, as_text, first_of, from_json

_VALUE_OF = {"choices": "choices", "rating": "rating", "number": "number", "taxonomy": "taxonomy",
             "pairwise": "selected"}  # type of a result -> key of its value  # fmt: skip
_META_KEYS = {
    "annotation_id",
    "annotator",
    "id",
    "created_at",
    "updated_at",
    "lead_time",
    "agreement",
    "completed_by",
}
_FEW = 20  # values of a field of choices; texts and images have more


def is_label_studio(record: dict) -> bool:
    """Whether this is a task of the JSON export."""
    annotations = record.get("annotations", record.get("completions"))
    if "data" not in record or not isinstance(annotations, list):
        return False
    return all(isinstance(a, dict) and "result" in a for a in annotations)


def label_studio(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """The JSON export."""
    every = [a for task in records for a in _annotations(task)]
    names = (r["from_name"] for a in every for r in a["result"] if _is_label(r))
    field = rows.one_of(names, label, "choice field")
    rows.empty = f"annotations without {field!r}"
    for rows.record, task in enumerate(records):
        name = task.get("id", rows.record)
        for one in _annotations(task):
            if one.get("was_cancelled"):
                rows.skipped["cancelled annotations"] += 1
            elif one.get("ground_truth"):
                rows.aside(GOLD, name, _answer(one, field, rows))
            else:
                who, time = _person(first_of(one, "completed_by")), one.get("created_at")
                rows.add(name, who, _answer(one, field, rows), time=time)
        for guess in task.get("predictions") or []:
            if isinstance(guess, dict) and "result" in guess:
                rows.aside(guess.get("model_version") or "predictions", name, _answer(guess, field, rows))
    return rows.done(f"choice field {field!r}")


def _answer(annotation: dict, field: str, rows: LabelRows) -> Any:
    """What an annotation, or a prediction, says of a field; None: nothing."""
    results = [r for r in annotation["result"] if _is_label(r) and r["from_name"] == field]
    if len(results) > 1:
        raise rows.refuse(f"an annotation answers {field!r} {len(results)} times")
    return _of_paths(results[0]["value"][_VALUE_OF[results[0]["type"]]]) if results else None


def _of_paths(values: Any) -> Any:
    """The chosen values; a node of a taxonomy, [["Animal", "Dog"]], by its path: "Animal / Dog"."""
    if isinstance(values, list) and values and all(isinstance(value, list) for value in values):
        return [" / ".join(map(as_text, path)) for path in values]
    return values


def _annotations(task: dict) -> list[dict]:
    return task.get("annotations", task.get("completions")) or []


def _is_label(result: dict) -> bool:
    return str(result.get("type")) in _VALUE_OF and isinstance(result.get("from_name"), str)


def _person(who: Any) -> Any:
    """Who annotated: a number, or an object with an address."""
    return (first_of(who, "email", "id") if isinstance(who, dict) else who) or NOBODY


def label_studio_rows(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """JSON-MIN, or CSV as records."""
    field = rows.one_of(_choice_fields(records, label), label, "choice field")
    rows.empty = f"annotations without {field!r}"
    for rows.record, row in enumerate(records):
        name, who = row.get("id", rows.record), _person(row["annotator"])
        rows.add(name, who, _choices(row.get(field)), time=row.get("created_at"))
    return rows.done(f"choice field {field!r}")


def _choices(value: Any) -> Any:
    """JSON-MIN writes several choices as {"choices": [...]}, CSV the text of that."""
    value = from_json(value)
    if isinstance(value, dict) and len(value) == 1:
        value = next((value[key] for key in _VALUE_OF.values() if key in value), value)
    return _of_paths(value)


def _choice_fields(records: list[dict], label: str | None) -> list[str]:
    """Keys that may hold a choice: few values, used again and again."""
    keys = dict.fromkeys(key for row in records for key in row if key not in _META_KEYS)
    if label is not None:
        return list(keys)
    values = {key: {as_text(_choices(row.get(key))) for row in records} - {""} for key in keys}
    return [key for key, texts in values.items() if 0 < len(texts) <= min(_FEW, max(1, len(records) // 2))]


def prodigy(rows: LabelRows, records: list[dict], _: str | None) -> LabelRows:
    """Rows of the lines."""
    choice = any("options" in line for line in records)
    rows.empty = "questions without a choice"
    for rows.record, line in enumerate(records):
        who, time = line.get("_annotator_id") or line.get("_session_id") or NOBODY, line.get("_timestamp")
        if line["answer"] == "ignore" or (choice and line["answer"] == "reject"):
            rows.skipped[f"{line['answer'].removesuffix('e')}ed questions"] += 1
        elif choice:
            rows.add(line["_input_hash"], who, line.get("accept"), time=time)
        else:
            rows.add(line["_task_hash"], who, line["answer"], time=time)
    return rows.done("choices" if choice else "accept or reject of each label")


_RESPONSES = ".responses"


def is_argilla(record: dict) -> bool:
    """Whether this is a record of Argilla, in any of its forms."""
    listed = isinstance(record.get("responses"), dict | list)
    return bool(list(_responses(record))) or (isinstance(record.get("fields"), dict) and listed)


def argilla(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Rows of the responses to one question."""
    question = rows.one_of((q for r in records for q, *_ in _responses(r)), label, "question")
    rows.empty = f"responses without {question!r}"
    for rows.record, record in enumerate(records):
        task = next((record[k] for k in ("id", "external_id") if record.get(k) is not None), rows.record)
        for _, user, status, value in (one for one in _responses(record) if one[0] == question):
            if isinstance(value, list) and any(isinstance(one, dict) for one in value):
                raise rows.unreadable("its answers are rankings or parts of the text")
            if status not in (None, "", "submitted"):
                rows.skipped[f"{status} responses"] += 1
            else:
                rows.add(task, NOBODY if user is None else user, value)
        for value, agent in _suggestions(record, question):
            rows.aside(agent or "suggestions", task, value)
    return rows.done(f"question {question!r}")


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


def _responses(record: dict) -> Iterator[tuple[str, Any, Any, Any]]:
    """Question, user, status and value of every response, in the four forms that Argilla has had."""
    responses = record.get("responses")
    by_question = responses if isinstance(responses, dict) else record
    for question, listed in by_question.items():
        some = listed if isinstance(listed, list) else []
        if all(isinstance(one, dict) and {"user_id", "value"} <= set(one) for one in some):
            yield from ((question, one["user_id"], one.get("status"), one["value"]) for one in some)
    for one in responses if isinstance(responses, list) else []:
        for question, value in (one.get("values") or {}).items() if isinstance(one, dict) else ():
            value = value.get("value") if isinstance(value, dict) else value
            yield question, one.get("user_id"), one.get("status"), value
    for key, cell in record.items():
        if key.endswith(_RESPONSES) and isinstance(values := from_json(cell), list):
            beside = (from_json(record.get(f"{key}.{k}")) for k in ("users", "status"))
            users, states = (some or [None] * len(values) for some in beside)
            if not len(users) == len(states) == len(values):
                raise TypeError(f"{key!r} and its users differ in number")
            for user, status, value in zip(users, states, values, strict=True):
                yield key.removesuffix(_RESPONSES), user, status, value


def is_doccano(record: dict) -> bool:
    """Whether this is a document with its labels."""
    labels, old = record.get("label", record.get("labels")), record.get("annotations")
    named = isinstance(old, list) and all({"label", "user"} <= set(a) for a in old if isinstance(a, dict))
    cells = isinstance(labels, str) and "id" in record and ("Comments" in record or _joined(record))  # CSV
    text = any(key in record for key in ("text", "data", "filename"))
    return text and (isinstance(labels, list) or cells or named)


def _joined(record: dict) -> bool:
    """Whether a row of nothing but a document has several labels: "neg#pos"."""
    plain = set(record) <= {"id", "text", "data", "label"}
    return plain and re.fullmatch(r"[^#\s]+(#[^#\s]+)+", as_text(record.get("label"))) is not None


def doccano(rows: LabelRows, files: dict[str, list[dict]], _: str | None) -> LabelRows:
    """Rows of documents, by the name of their file ("" where there is one file)."""
    every = [(user, record) for user, records in files.items() for record in records]
    if len(files) > 1 and not all("id" in record for _, record in every):
        raise ValueError(rows.source.says("some documents have no id: which are they in the other files?"))
    rows.empty = "documents without a label"
    for rows.record, (user, record) in enumerate(every):
        old, task = record.get("annotations"), record.get("id", rows.record)
        if isinstance(old, list) and old and "user" in old[0]:
            for who in dict.fromkeys(one["user"] for one in old):
                rows.add(task, who, [one["label"] for one in old if one["user"] == who])
            continue
        values = first_of(record, "label", "labels") or []
        values = values.split("#") if isinstance(values, str) else values
        if any(isinstance(value, list) for value in values):
            raise rows.refuse("its labels mark parts of the text; jtruth reads one class for the whole")
        rows.add(task, user or NOBODY, values)
    return rows.done("a file for each annotator" if len(files) > 1 else "")
