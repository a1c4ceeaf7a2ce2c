"""Label Studio: JSON (tasks with annotations), JSON-MIN and CSV (one row for each annotation).

In JSON the label is a result of type choices, rating, number or the like, called by the name of its control
tag; cancelled annotations are counted as left out. Ground truth is gold and no label,
and predictions are models': both stand beside the labels. JSON-MIN and CSV have a key for each control tag
beside those of the data, so the label is the one with few values, or named by `label`.
"""

from collections.abc import Iterable
from typing import Any

from jtruth.io.exports.rows import GOLD, Collector, LabelRows, as_text, one_field, one_value

_KINDS = {"choices", "rating", "number", "taxonomy"}  # of results; the value has the same name
_MIN_KEYS = {"annotation_id", "annotator"}
_OWN = _MIN_KEYS | {"id", "created_at", "updated_at", "lead_time", "agreement", "completed_by"}
_FEW = 20  # values of a field of choices; texts and images have more


def is_tasks(record: dict) -> bool:
    """Whether this is a task of the JSON export."""
    given = record.get("annotations", record.get("completions"))
    return (
        "data" in record
        and isinstance(given, list)
        and all(isinstance(a, dict) and "result" in a for a in given)
    )


def is_min(record: Iterable[str]) -> bool:
    """Whether these are the keys of JSON-MIN, or the columns of CSV."""
    return set(record) >= _MIN_KEYS


def of_tasks(found: Collector, records: list[dict], label: str | None) -> LabelRows:
    """The JSON export."""
    names: list[str] = []
    for found.record, task in enumerate(records):
        names += [r["from_name"] for a in _annotations(task) for r in a["result"] if _is_label(r)]
    field = one_field(names, label, "choice field", found.source)
    for found.record, task in enumerate(records):
        name = task.get("id", found.record)
        for annotation in _annotations(task):
            if annotation.get("was_cancelled"):
                found.skip("cancelled annotations")
                continue
            value = _value(annotation, field, found)
            if value is None:
                found.skip(f"annotations without {field!r}")
            elif annotation.get("ground_truth"):
                found.aside(GOLD, name, value)
            else:
                found.add(name, _person(annotation.get("completed_by")), value)
        for one in task.get("predictions") or []:
            if isinstance(one, dict) and "result" in one:
                found.aside(one.get("model_version") or "predictions", name, _value(one, field, found))
    return found.done("Label Studio export", f"choice field {field!r}")


def _value(annotation: dict, field: str, found: Collector) -> Any:
    """What an annotation, or a prediction, says of a field; None: nothing."""
    mine = [r for r in annotation["result"] if _is_label(r) and r["from_name"] == field]
    if len(mine) > 1:
        raise found.refuse(f"an annotation answers {field!r} {len(mine)} times")
    return one_value(mine[0]["value"][mine[0]["type"]], found, repr(field)) if mine else None


def _annotations(task: dict) -> list[dict]:
    return task.get("annotations", task.get("completions")) or []


def _is_label(result: dict) -> bool:
    return str(result.get("type")) in _KINDS and isinstance(result.get("from_name"), str)


def _person(given: Any) -> Any:
    """Who annotated: a number, or an object with an address."""
    return given.get("email", given.get("id")) if isinstance(given, dict) else given


def of_min(found: Collector, records: list[dict], label: str | None) -> LabelRows:
    """JSON-MIN, or CSV as records."""
    field = one_field(_candidates(records, label), label, "choice field", found.source)
    for found.record, row in enumerate(records):
        value = one_value(_choices(row.get(field)), found, repr(field))
        if as_text(value) == "":
            found.skip(f"annotations without {field!r}")
        else:
            found.add(row.get("id", found.record), _person(row["annotator"]), value)
    return found.done("Label Studio export (one row for each annotation)", f"choice field {field!r}")


def _choices(value: Any) -> Any:
    """JSON-MIN writes several choices as {"choices": [...]}."""
    return value["choices"] if isinstance(value, dict) and "choices" in value else value


def _candidates(records: list[dict], label: str | None) -> list[str]:
    """Keys that may hold a choice: few values, used again and again."""
    keys = dict.fromkeys(key for row in records for key in row if key not in _OWN)
    if label is not None:
        return list(keys)
    values = {key: {as_text(_choices(row.get(key))) for row in records} - {""} for key in keys}
    return [key for key, some in values.items() if 0 < len(some) <= min(_FEW, max(1, len(records) // 2))]
