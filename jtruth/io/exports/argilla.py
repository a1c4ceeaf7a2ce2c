"""Argilla: records with responses of users, in the three forms in which they are written.

Records with a "responses" object (question -> list of value and user_id); flat rows "question.responses"
and "question.responses.users"; and the older rows in which a question is a list of objects with user_id and
value.
Discarded and draft responses are counted as left out. Suggestions are models' and stand beside the labels.
"""

from collections.abc import Iterator
from typing import Any

from jtruth.io.exports.rows import NOBODY, Collector, LabelRows, one_field, one_value

_ENDING = ".responses"

Response = tuple[Any, Any, str]  # value, user, status


def is_argilla(record: dict) -> bool:
    """Whether this is a record of Argilla, in any of its forms."""
    return bool(list(_questions(record))) or (
        isinstance(record.get("fields"), dict) and isinstance(record.get("responses"), dict)
    )


def of_records(found: Collector, records: list[dict], label: str | None) -> LabelRows:
    """Rows of the responses to one question."""
    question = one_field([q for r in records for q in _questions(r)], label, "question", found.source)
    for found.record, record in enumerate(records):
        task = record.get("id", record.get("external_id", found.record))
        for value, user, status in _responses(record, question):
            if status not in ("", "submitted"):
                found.skip(f"{status} responses")
            else:
                found.add(task, NOBODY if user is None else user, one_value(value, found, repr(question)))
        for value, agent in _suggestions(record, question):
            found.aside(agent or "suggestions", task, one_value(value, found, repr(question)))
    return found.done("Argilla export", f"question {question!r}")


def _suggestions(record: dict, question: str) -> Iterator[tuple[Any, Any]]:
    """Value and agent of every suggestion for the question, in an object, a list or keys of a flat row."""
    given = record.get("suggestions") or {}
    given = [given.get(question)] if isinstance(given, dict) else given
    for one in given:
        if isinstance(one, dict) and one.get("question_name", question) == question:
            yield one.get("value"), one.get("agent")
    flat = f"{question}.suggestion"
    if flat in record:
        yield record[flat], record.get(f"{flat}.agent")


def _questions(record: dict) -> Iterator[str]:
    """Questions that this record has responses to, or could have."""
    if isinstance(record.get("responses"), dict):
        yield from record["responses"]
    for key, value in record.items():
        if key.endswith(_ENDING):
            yield key.removesuffix(_ENDING)
        elif isinstance(value, list) and value and all(_is_response(one) for one in value):
            yield key


def _is_response(value: Any) -> bool:
    return isinstance(value, dict) and {"user_id", "value"} <= set(value)


def _responses(record: dict, question: str) -> Iterator[Response]:
    """Value, user and status of every response to the question."""
    given = record.get("responses")
    given = given.get(question) if isinstance(given, dict) else record.get(question)
    for one in given if isinstance(given, list) else []:
        if _is_response(one):
            yield one["value"], one["user_id"], one.get("status") or ""
    values = record.get(question + _ENDING) or []
    users = record.get(f"{question}{_ENDING}.users") or [None] * len(values)
    states = record.get(f"{question}{_ENDING}.status") or [""] * len(values)
    yield from zip(values, users, states, strict=True)
