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
import re
from collections.abc import Iterator
from typing import Any

from jtruth._validation.words import duplicates, quoted
from jtruth.io.label_rows import GOLD, NOBODY, LabelRows, as_text, first_of, from_json

_ANSWER, _ALL_ANSWERS = "Answer.", "Answer.taskAnswers"


def is_mechanical_turk(record: dict) -> bool:
    """Whether this is a row of a batch."""
    return {"HITId", "WorkerId"} <= set(record) and any(name.startswith(_ANSWER) for name in record)


def mechanical_turk(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Rows of the assignments."""
    answers = [_assignment(row, rows) for rows.record, row in enumerate(records)]
    wanted = None if label is None else label.removeprefix(_ANSWER)
    field = rows.one_of((name for row in answers for name in row), wanted, "answer")
    rows.empty = f"assignments without an answer {field!r}"
    for rows.record, (row, fields) in enumerate(zip(records, answers, strict=True)):
        if row.get("AssignmentStatus") == "Rejected":
            rows.skipped["rejected assignments"] += 1
        else:
            rows.add(row["HITId"], row["WorkerId"], fields.get(field), time=row.get("SubmitTime"))
    return rows.done(f"answer {field!r}")


def _assignment(row: dict[str, str], rows: LabelRows) -> dict[str, Any]:
    """Question -> answer of one assignment."""
    flat: dict[str, Any] = {}
    if _ALL_ANSWERS in row:
        try:
            answers = json.loads(row[_ALL_ANSWERS] or "[]")
        except json.JSONDecodeError as problem:
            raise rows.refuse(f"{_ALL_ANSWERS} is no JSON ({problem})") from None
        first = answers[0] if isinstance(answers, list) and answers else answers
        flat = first if isinstance(first, dict) else {}
    for name, value in row.items() if _ALL_ANSWERS not in row else ():
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
    return value["label"] if set(value) == {"label"} else [name for name, on in value.items() if on is True]


_INPUT, _OUTPUT, _GOLDEN, _AT = "INPUT:", "OUTPUT:", "GOLDEN:", "ASSIGNMENT:"


def is_toloka(record: dict) -> bool:
    """Whether this is a row of Toloka's results."""
    return all(any(name.startswith(part) for name in record) for part in (_INPUT, _OUTPUT))


def toloka(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Rows of the assignments."""
    if not all(f"{_AT}worker_id" in row for row in records):
        raise rows.unreadable("it has no column ASSIGNMENT:worker_id; download the assignments of the pool")
    wanted = None if label is None else label.removeprefix(_OUTPUT)
    used = dict.fromkeys(
        k for row in records for k, v in row.items() if k.startswith(_OUTPUT) and (v or wanted)
    )
    field = rows.one_of((name.removeprefix(_OUTPUT) for name in used), wanted, "output")
    rows.empty = f"assignments without {field!r}"
    for rows.record, row in enumerate(records):
        inputs = " | ".join(as_text(value) for name, value in row.items() if name.startswith(_INPUT))
        task, time = row.get(f"{_AT}task_id") or inputs, row.get(f"{_AT}started")
        rows.aside(GOLD, task, row.get(_GOLDEN + field))
        if row.get(f"{_AT}status") == "REJECTED" or row.get("ACCEPT:verdict") == "-":
            rows.skipped["rejected answers"] += 1
        else:
            rows.add(task, row[f"{_AT}worker_id"], row.get(_OUTPUT + field), time=time)
    return rows.done(f"output {field!r}")


def is_appen(record: dict) -> bool:
    """Whether this is a row of a report of Appen (Figure Eight, CrowdFlower)."""
    return "_unit_id" in record and not {"_worker_id", "_golden", "_trust"}.isdisjoint(record)


def appen(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Rows of the judgments."""
    if not all("_worker_id" in row for row in records):
        raise rows.unreadable("it has one row for each unit; download the full report, with every judgment")
    names = [name for name in records[0] if name[:1] != "_" and not name.startswith("orig_")]
    fields = [name for name in names if f"{name}_gold" in records[0]]
    if label is None and not fields:  # answers are what differs between the judgments of a unit
        pairs = {name: {(row["_unit_id"], as_text(row.get(name))) for row in records} for name in names}
        fields = [name for name in names if duplicates(unit for unit, _ in pairs[name])]
    field = rows.one_of(fields if label is None else names, label, "answer")
    rows.empty = f"judgments without {field!r}"
    for rows.record, row in enumerate(records):
        truth = as_text(row.get(f"{field}_gold")).split("\n")  # several: any of them is right
        rows.aside(GOLD, row["_unit_id"], truth[0] if len(truth) == 1 else None)
        values = [value for value in as_text(row.get(field)).split("\n") if value]
        rows.add(row["_unit_id"], row["_worker_id"], values, time=row.get("_created_at"))
    return rows.done(f"answer {field!r}", "worker")


def zooniverse(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Rows of the classifications, by the answer to one task of the workflow."""
    answers = []
    for rows.record, row in enumerate(records):
        if not isinstance(steps := from_json(row["annotations"]), list):
            raise rows.refuse("the annotations are no JSON list")
        answers.append(dict(_steps(steps)))
    field = rows.one_of((name for one in answers for name in one), label, "task")
    rows.empty = f"classifications without {field!r}"
    for rows.record, (row, given) in enumerate(zip(records, answers, strict=True)):
        value = given.get(field)
        values = [_option(one) for one in (value if isinstance(value, list) else [value]) if one is not None]
        if any(isinstance(one, dict | list) for one in values):
            raise rows.unreadable("its answers are drawings or texts")
        if as_text(row.get("gold_standard")).casefold() == "true":
            rows.aside(GOLD, row["subject_ids"], values)
        else:
            who = first_of(row, "user_name", "user_id") or NOBODY
            rows.add(row["subject_ids"], who, values, time=row.get("created_at"))
    return rows.done(f"task {field!r}", "volunteer")


def _steps(steps: list[dict]) -> Iterator[tuple[str, Any]]:
    """Task and value of every step; a combined task is the steps inside it."""
    for step in steps:
        value = step.get("value")
        if isinstance(value, list) and value and all(isinstance(v, dict) and "task" in v for v in value):
            yield from _steps(value)
        else:
            yield step["task"], value


def _option(value: Any) -> Any:
    """A choice of a survey or of a menu; anything else stays what it is."""
    named = isinstance(value, dict) and ("choice" in value or "option" in value)
    return first_of(value, "choice", "label", "value") if named else value


_IMPORT_ID = re.compile(r"""\{.?ImportId['"]: ?['"]([^'"]+)""")
_QUESTION = re.compile(r"(.*_)?QID\d+(?!.*TEXT)")


def is_qualtrics(record: dict) -> bool:
    """Whether this is the third row of names."""
    cells = [value for value in record.values() if value]
    return bool(cells) and all(isinstance(cell, str) and _IMPORT_ID.match(cell) for cell in cells)


def qualtrics(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Rows of respondents (labelers) and questions (tasks)."""
    third = next(k for k, row in enumerate(records) if is_qualtrics(row))
    ids = {name: _IMPORT_ID.sub(r"\1", cell.rstrip("\"'}")) for name, cell in records[third].items() if cell}
    asked = [name for name, code in ids.items() if _QUESTION.match(code)]
    answers = {name: {row[name] for row in records[third + 1 :]} - {""} for name in asked}
    items = _same_answers(answers) if label is None else [rows.one_of(asked, label, "question")]
    person = next((name for name, code in ids.items() if code in ("_recordId", "responseId")), "ResponseId")
    rows.empty = "questions without an answer"
    for rows.record, row in list(enumerate(records))[third + 1 :]:
        if row.get("Status") in ("Survey Preview", "1"):
            rows.skipped["previews"] += 1
            continue
        for item in items:
            rows.add(item, row.get(person) or rows.record, row[item])
    if others := [name for name in asked if name not in items]:
        rows.notes += (f"Questions with other answers were left out: {quoted(others, 8)}.",)
    return rows.done("questions are the tasks", "respondent")


def _same_answers(answers: dict[str, set[str]]) -> list[str]:
    """The largest group of questions that share answers, such as Yes and No."""
    found: list[tuple[list[str], set[str]]] = []
    for name, texts in answers.items():
        names, joined = [name], set(texts)
        for some, other in [one for one in found if one[1] & texts]:
            names, joined = some + names, joined | other
        found = [one for one in found if not one[1] & texts] + [(names, joined)]
    return max((names for names, _ in found), key=len, default=[])


def is_manifest(record: dict) -> bool:
    """Whether this is a line of an output manifest of Ground Truth."""
    return not {"source", "source-ref"}.isdisjoint(record) and bool(_jobs(record))


def _jobs(record: dict) -> dict[str, dict]:
    """The metadata of every labeling job of a line."""
    about = {k.removesuffix("-metadata"): v for k, v in record.items() if k.endswith("-metadata")}
    return {job: value for job, value in about.items() if job in record and isinstance(value, dict)}


def ground_truth(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Rows of the classes that jobs arrived at."""
    rows.empty = "objects without a class"
    for rows.record, line in enumerate(records):
        for job, about in _jobs(line).items():
            value = first_of(about, "class-name") or list(about.get("class-map", {}).values())
            if isinstance(line[job], dict) and {"annotations", "entities"} & set(line[job]):
                raise rows.unreadable("its labels are boxes or parts of a text, not classes")
            if label in (None, job):
                sure = about.get("confidence")
                rows.add(first_of(line, "source-ref", "source"), job, value, confidence=sure)
    return rows.done(who="labeling job")
