"""Results of crowd platforms and surveys: a function or two for each, listed in `jtruth.io.exports`.

What is left out is counted, several classes at once are a list, and what names no class is refused.

- Mechanical Turk: batch results as CSV, one row for each assignment. The label is a column Answer.*: a
  value, a group of columns Answer.question.choice that are true or false, or the JSON of
  `Answer.taskAnswers`.
- Toloka: assignments as TSV. The label is a column OUTPUT:*; GOLDEN:* is gold; rejected work is left out.
- Appen (Figure Eight): the full report. A column X beside X_gold holds answers, X_gold is gold, and
  `_golden` only says which rows were test questions.
- Zooniverse: classifications as CSV, whose annotations are JSON: the label is the value of one task.
- Qualtrics: three header rows. Respondents are labelers, the questions with the same answers are tasks.
- SageMaker Ground Truth: an output manifest. Each labeling job is a labeler, with its consolidated class.
"""

import json
from collections.abc import Iterator
from typing import Any

from jtruth._validation.words import duplicates, quoted
from jtruth.io.label_rows import GOLD, NOBODY, LabelRows, as_text, chosen, from_json, one_field

_ANSWER, _ALL_ANSWERS = "Answer.", "Answer.taskAnswers"


def is_mechanical_turk(record: dict) -> bool:
    """Whether this is a row of a batch."""
    return {"HITId", "WorkerId"} <= set(record) and any(name.startswith(_ANSWER) for name in record)


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
    return rows.done(f"answer {field!r}")


def _assignment(row: dict[str, str], rows: LabelRows) -> dict[str, Any]:
    """Question -> answer of one assignment."""
    if _ALL_ANSWERS in row:
        try:
            answers = json.loads(row[_ALL_ANSWERS] or "[]")
        except json.JSONDecodeError as problem:
            raise rows.refuse(f"{_ALL_ANSWERS} is no JSON ({problem})") from None
        first = answers[0] if isinstance(answers, list) and answers else answers
        return {name: _true(value) for name, value in first.items()} if isinstance(first, dict) else {}
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name.startswith(_ANSWER):
            question, dot, choice = name.removeprefix(_ANSWER).rpartition(".")
            if dot and value.casefold() in ("true", "false", ""):
                flat.setdefault(question, {})[choice] = value.casefold() == "true"
            else:
                flat[question if choice == "label" and dot else name.removeprefix(_ANSWER)] = value
    return {name: _true(value) for name, value in flat.items()}


def _true(value: Any) -> Any:
    """The answer in a value: itself, {"label": it}, or the choices that are true."""
    if not isinstance(value, dict):
        return as_text(value)
    if set(value) == {"label"}:
        return as_text(value["label"])
    return chosen([name for name, on in value.items() if on is True])


_INPUT, _OUTPUT, _GOLDEN = "INPUT:", "OUTPUT:", "GOLDEN:"
_AT = "ASSIGNMENT:"


def is_toloka(record: dict) -> bool:
    """Whether this is a row of Toloka's results."""
    return any(name.startswith(_OUTPUT) for name in record) and any(
        name.startswith(_INPUT) for name in record
    )


def toloka(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Rows of the assignments."""
    if not all(f"{_AT}worker_id" in row for row in records):
        raise rows.unreadable("it has no column ASSIGNMENT:worker_id; download the assignments of the pool")
    outputs = [name.removeprefix(_OUTPUT) for name in records[0] if name.startswith(_OUTPUT)]
    wanted = None if label is None else label.removeprefix(_OUTPUT)
    used = [name for name in outputs if wanted or any(row[_OUTPUT + name] for row in records)]
    field = one_field(used, wanted, "output", rows.source)
    for rows.record, row in enumerate(records):
        inputs = " | ".join(as_text(value) for name, value in row.items() if name.startswith(_INPUT))
        task, value = row.get(f"{_AT}task_id") or inputs, row[_OUTPUT + field]
        if row.get(_GOLDEN + field):
            rows.aside(GOLD, task, row[_GOLDEN + field])
        if row.get(f"{_AT}status") == "REJECTED" or row.get("ACCEPT:verdict") == "-":
            rows.skipped["rejected answers"] += 1
        elif as_text(value) == "":
            rows.skipped[f"assignments without {field!r}"] += 1
        else:
            rows.add(task, row[f"{_AT}worker_id"], value, time=row.get(f"{_AT}started"))
    return rows.done(f"output {field!r}")


def is_appen(record: dict) -> bool:
    """Whether this is a row of a report of Appen (Figure Eight, CrowdFlower)."""
    return "_unit_id" in record and any(name in record for name in ("_worker_id", "_golden", "_trust"))


def appen(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Rows of the judgments."""
    if not all("_worker_id" in row for row in records):
        raise rows.unreadable("it has one row for each unit; download the full report, with every judgment")
    field = one_field(_appen_fields(records, label), label, "answer", rows.source)
    for rows.record, row in enumerate(records):
        if truth := as_text(row.get(f"{field}_gold")):
            accepted = truth.split("\n")  # several: any of them is right
            rows.aside(GOLD, row["_unit_id"], accepted[0] if len(accepted) == 1 else None)
        if as_text(row.get(field)) == "":
            rows.skipped[f"judgments without {field!r}"] += 1
        else:
            values, time = as_text(row[field]).split("\n"), row.get("_created_at")
            rows.add(row["_unit_id"], row["_worker_id"], chosen(values), time=time)
    return rows.done(f"answer {field!r}", "worker")


def _appen_fields(records: list[dict], label: str | None) -> list[str]:
    """Columns with answers: those that have gold, else those that differ between judgments of a unit."""
    names = [name for name in records[0] if name[:1] != "_" and not name.startswith("orig_")]
    fields = [name for name in names if f"{name}_gold" in records[0]]
    if fields or label is not None:
        return fields if label is None else names
    pairs = {name: {(row["_unit_id"], as_text(row.get(name))) for row in records} for name in names}
    return [name for name in names if duplicates(unit for unit, _ in pairs[name])]


def is_zooniverse(record: dict) -> bool:
    """Whether this is a classification."""
    return {"classification_id", "annotations"} <= set(record) and "subject_ids" in record


def zooniverse(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Rows of the classifications, by the answer to one task of the workflow."""
    answers = []
    for rows.record, row in enumerate(records):
        cell = row["annotations"]
        steps = from_json(cell) if isinstance(cell, str) else cell
        if not isinstance(steps, list):
            raise rows.refuse("the annotations are no JSON list")
        answers.append(dict(_steps(steps)))
    field = one_field([name for one in answers for name in one], label, "task", rows.source)
    for rows.record, (row, given) in enumerate(zip(records, answers, strict=True)):
        value = _zooniverse_value(given.get(field), rows)
        who = row.get("user_name") or row.get("user_id") or NOBODY
        if as_text(value) == "":
            rows.skipped[f"classifications without {field!r}"] += 1
        elif as_text(row.get("gold_standard")).casefold() == "true":
            rows.aside(GOLD, row["subject_ids"], value)
        else:
            rows.add(row["subject_ids"], who, value, time=row.get("created_at"))
    return rows.done(f"task {field!r}", "volunteer")


def _steps(steps: list[dict]) -> Iterator[tuple[str, Any]]:
    """Task and value of every step; a combined task is the steps inside it."""
    for step in steps:
        value = step.get("value")
        if isinstance(value, list) and value and all(isinstance(v, dict) and "task" in v for v in value):
            yield from _steps(value)
        else:
            yield step["task"], value


def _zooniverse_value(value: Any, rows: LabelRows) -> Any:
    """An answer, the choices of a survey or of a menu; a drawing is refused."""
    values = value if isinstance(value, list) else [value]
    told = [
        one.get("choice", one.get("label", one.get("value"))) if _is_option(one) else one for one in values
    ]
    if any(isinstance(one, dict | list) for one in told):
        raise rows.unreadable("its answers are drawings or texts")
    return chosen([one for one in told if one is not None])


def _is_option(value: Any) -> bool:
    return isinstance(value, dict) and ("choice" in value or "option" in value)


_IMPORT_ID = '{"ImportId"'


def is_qualtrics(record: dict) -> bool:
    """Whether this is the third row of names."""
    cells = [value for value in record.values() if value]
    return bool(cells) and all(isinstance(cell, str) and cell.startswith(_IMPORT_ID) for cell in cells)


def qualtrics(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Rows of respondents (labelers) and questions (tasks)."""
    third = next(k for k, row in enumerate(records) if is_qualtrics(row))
    ids = {name: json.loads(cell)["ImportId"] for name, cell in records[third].items() if cell}
    given = {k: row for k, row in enumerate(records) if k > third and row.get("Status") != "Survey Preview"}
    if previews := len(records) - third - 1 - len(given):
        rows.skipped["previews"] += previews
    asked = [name for name, code in ids.items() if code.startswith("QID") and not code.endswith("_TEXT")]
    answers = {name: {row[name] for row in given.values()} - {""} for name in asked}
    items = _same_answers(answers) if label is None else [one_field(asked, label, "question", rows.source)]
    person = next((name for name, code in ids.items() if code == "_recordId"), None)
    for rows.record, row in given.items():
        for item in items:
            if row[item]:
                rows.add(item, row[person] if person else rows.record, row[item])
            else:
                rows.skipped["questions without an answer"] += 1
    if others := [name for name in asked if name not in items]:
        rows.notes += (f"Questions with other answers were left out: {quoted(others, 8)}.",)
    return rows.done("questions are the tasks", "respondent")


def _same_answers(answers: dict[str, set[str]]) -> list[str]:
    """The largest group of questions that share answers, such as Yes and No."""
    found: list[tuple[list[str], set[str]]] = []
    for name, texts in answers.items():
        joined = [one for one in found if one[1] & texts]
        found = [one for one in found if one not in joined]
        found.append((sum((names for names, _ in joined), []) + [name], texts.union(*(t for _, t in joined))))
    return max((names for names, _ in found), key=len, default=[])


_JOB = "-metadata"


def is_manifest(record: dict) -> bool:
    """Whether this is a line of an output manifest of Ground Truth."""
    return any(key in record for key in ("source", "source-ref")) and any(_jobs(record))


def _jobs(record: dict) -> Iterator[tuple[str, dict]]:
    """Name and metadata of every labeling job of a line."""
    for key, value in record.items():
        if key.endswith(_JOB) and isinstance(value, dict) and key.removesuffix(_JOB) in record:
            yield key.removesuffix(_JOB), value


def ground_truth(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Rows of the classes that jobs arrived at."""
    for rows.record, line in enumerate(records):
        for job, about in _jobs(line):
            value = about.get("class-name", list(about.get("class-map", {}).values()) or None)
            if label not in (None, job):
                continue
            if "failure-reason" in about:
                rows.skipped["objects that failed"] += 1
            elif value is None or "annotations" in as_text(line[job]):
                raise rows.unreadable("its labels are boxes or parts of a text, not classes")
            else:
                sure = about.get("confidence")
                rows.add(line.get("source-ref", line.get("source")), job, chosen(value), confidence=sure)
    return rows.done(who="labeling job")
