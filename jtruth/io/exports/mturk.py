"""Amazon Mechanical Turk: batch results as CSV, one row for each assignment.

The label is a column Answer.*: a value, a group of columns Answer.question.choice that are true or false, or
the JSON of `Answer.taskAnswers`. HITId is the task, WorkerId the worker; AcceptTime and its like are neither.
Rejected assignments are counted as left out.
"""

import json
from typing import Any

from jtruth._validation.text import TextTable
from jtruth.io.exports.rows import Collector, LabelRows, as_text, one_field

_KEYS = {"HITId", "WorkerId"}
_ANSWER, _JSON = "Answer.", "Answer.taskAnswers"


def is_mturk(header: set) -> bool:
    """Whether these are the columns of batch results."""
    return header >= _KEYS and any(name.startswith(_ANSWER) for name in header)


def of_batch(found: Collector, table: TextTable, label: str | None) -> LabelRows:
    """Rows of the assignments."""
    columns = dict(zip(table.header, map(list, table.columns), strict=True))
    answers = [_answers(columns, k, found) for k in range(len(table.columns[0]))]
    wanted = None if label is None else label.removeprefix(_ANSWER)
    field = one_field([name for row in answers for name in row], wanted, "answer", table.source)
    for k, row in enumerate(answers):
        found.record = k
        if columns.get("AssignmentStatus", {k: ""})[k] == "Rejected":
            found.skip("rejected assignments")
        elif row.get(field) in (None, ""):
            found.skip(f"assignments without an answer {field!r}")
        else:
            found.add(columns["HITId"][k], columns["WorkerId"][k], row[field])
    return found.done("Mechanical Turk batch", f"answer {field!r}")


def _answers(columns: dict[str, list], k: int, found: Collector) -> dict[str, str]:
    """Question -> answer of one assignment."""
    found.record = k
    if _JSON in columns:
        try:
            given = json.loads(columns[_JSON][k] or "[]")
        except json.JSONDecodeError as problem:
            raise found.refuse(f"{_JSON} is no JSON ({problem})") from None
        first = given[0] if isinstance(given, list) and given else given
        if not isinstance(first, dict):
            return {}
        return {name: _chosen(value, found) for name, value in first.items()}
    flat: dict[str, Any] = {}
    for name, values in columns.items():
        if name.startswith(_ANSWER):
            question, dot, choice = name.removeprefix(_ANSWER).rpartition(".")
            if dot and values[k].casefold() in ("true", "false", ""):
                flat.setdefault(question, {})[choice] = values[k].casefold() == "true"
            else:
                flat[question if choice == "label" and dot else name.removeprefix(_ANSWER)] = values[k]
    return {name: _chosen(value, found) for name, value in flat.items()}


def _chosen(value: Any, found: Collector) -> str:
    """The answer in a value: itself, {"label": it}, or the choice that is true."""
    if not isinstance(value, dict):
        return as_text(value)
    if set(value) == {"label"}:
        return as_text(value["label"])
    true = [name for name, on in value.items() if on is True]
    if len(true) > 1:
        raise found.refuse(f"{len(true)} choices are true at once; jtruth reads one class a label")
    return true[0] if true else ""
