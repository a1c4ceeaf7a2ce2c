"""Exports of annotation tools, crowd platforms and surveys: people label. `jtruth.io.exports` reads them.

Where a file does not say which column or question is the label, it is the one of few values (Label Studio's
tables), with gold or with differences within a unit (Appen), or those with the same answers (Qualtrics).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from jtruth._validation.words import duplicates, quoted
from jtruth.io.label_rows import GOLD, NOBODY, Found, LabelRows, as_text, first_of, from_json

FILE = "\0file"  # the entry of a record of doccano that names its file in a zip
_STUDIO, _RESULTS = "Label Studio export", ("annotator", "choice field", "annotations")
_BY_MODELS = "There are no human labels here, so the models' predictions are the labels."
_FEW = 20  # values of a field of choices; texts and images have more
_ABOUT = "annotation_id|annotator|id|created_at|updated_at|lead_time|agreement|completed_by"
_IMPORT_ID = re.compile(r"""\{.?ImportId['"]: ?['"]([^'"]+)""")  # Qualtrics
VALUE_OF = {kind: kind for kind in ("choices", "rating", "number", "taxonomy")} | {"pairwise": "selected"}


def _is_label_studio(record: dict) -> bool:
    people, models = first_of(record, "annotations", "completions"), record.get("predictions")
    guesses = [one for one in models if isinstance(one, dict)] if isinstance(models, list) else []
    listed = guesses if people is None else people
    known = "data" in record and isinstance(listed, list) and (people is not None or guesses)
    return bool(known) and all("result" in one for one in [*listed, *guesses])


def _label_studio(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """Tasks with annotations; ground truth is gold, predictions are models', or labels if nobody labelled."""
    people = any(first_of(task, "annotations", "completions") for task in records)
    rows.notes += () if people else (_BY_MODELS,)
    for rows.record, task in enumerate(records):
        name = task.get("id", rows.record)
        for one in first_of(task, "annotations", "completions") or []:
            if one.get("was_cancelled"):
                rows.skipped["cancelled annotations"] += 1
            elif one.get("ground_truth"):
                rows.aside(GOLD, name, _results(one))
            else:
                yield name, _person(one.get("completed_by")), _results(one), {"time": one.get("created_at")}
        for guess in task.get("predictions") or []:
            if isinstance(guess, dict):  # or the number of a prediction
                model = guess.get("model_version") or "predictions"
                if people:
                    rows.aside(model, name, _results(guess))
                else:
                    yield name, model, _results(guess), {}


def _results(annotation: dict) -> dict[str, Any]:
    """Name of a control tag -> what was chosen; of one that was used for several parts, a list of that."""
    found = defaultdict(list)
    for result in annotation["result"]:
        if isinstance(kind := result.get("type"), str) and kind in VALUE_OF:
            found[result["from_name"]].append(_of_paths(result["value"][VALUE_OF[kind]]))
    return {name: some[0] if len(some) == 1 else [some] for name, some in found.items()}


def _of_paths(values: Any) -> Any:
    """The chosen values; a node of a taxonomy, [["Animal", "Dog"]], by its path: "Animal / Dog"."""
    if isinstance(values, list) and all(isinstance(value, list) for value in values):
        return [" / ".join(map(as_text, path)) for path in values]
    return values


def _person(who: Any) -> Any:
    return (first_of(who, "email", "id") if isinstance(who, dict) else who) or NOBODY


def _label_studio_rows(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """JSON-MIN or CSV, a row for each annotation: the label is a column of few values, used again."""
    answers = [{key: _choices(row[key]) for key in row if not re.fullmatch(_ABOUT, key)} for row in records]
    values = defaultdict(set)
    for key, value in (entry for one in answers for entry in one.items()):
        values[key].add(as_text(value))
    most = min(_FEW, max(1, len(records) // 2))
    few = [key for key, texts in values.items() if key == rows.wanted or len(texts - {""}) <= most]
    pairs = {key: {(row.get("id"), as_text(one.get(key))) for row, one in zip(records, answers, strict=True)}
             for key in few}  # fmt: skip
    differ = [key for key, both in pairs.items() if duplicates(task for task, _ in both)]
    few = [key for key in few if not differ or key in differ or key == rows.wanted]
    for rows.record, row in enumerate(records):
        chosen = {key: answers[rows.record].get(key) for key in few}
        yield row.get("id", rows.record), _person(row["annotator"]), chosen, {"time": row.get("created_at")}


def _choices(value: Any) -> Any:
    """JSON-MIN writes several choices as {"choices": [...]}, CSV the text of that."""
    value = from_json(value)
    if isinstance(value, dict) and len(value) == 1:
        value = first_of(value, *VALUE_OF.values()) or value
    return _of_paths(value)


def _prodigy(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """With options the task is the input; without, it is input and label, and the answer accept or reject."""
    choice = any("options" in line for line in records)
    rows.of = "choices" if choice else "accept or reject of each label"
    for rows.record, line in enumerate(records):
        answer, who = line["answer"], first_of(line, "_annotator_id", "_session_id")
        if answer == "ignore" or (choice and answer == "reject"):
            rows.skipped[f"{answer.removesuffix('e')}ed questions"] += 1
        else:
            task, label = ("_input_hash", line.get("accept")) if choice else ("_task_hash", answer)
            yield line[task], who or NOBODY, label, {"time": line.get("_timestamp")}


def _is_argilla(record: dict) -> bool:
    listed = isinstance(record.get("responses"), dict | list)
    return any(responses_of(record)) or (isinstance(record.get("fields"), dict) and listed)


def _argilla(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """Responses that were submitted; suggestions are models': objects by question, lists, or flat keys.

    Where there is no response they are the labels.
    """
    people = any(any(responses_of(record)) for record in records)
    rows.notes += () if people else (_BY_MODELS,)
    for rows.record, record in enumerate(records):
        task = first_of(record | {FILE: rows.record}, "id", "external_id", FILE)
        answers = defaultdict(dict)
        for k, user, status, question, value in responses_of(record):
            answers[k if user is None else 0, user, status][question] = value
        for (_, user, status), given in answers.items():
            if status in (None, "", "submitted"):
                yield task, NOBODY if user is None else user, given, {}
            else:
                rows.skipped[f"{status} responses"] += 1
        some = record.get("suggestions") or {}
        guesses = dict(some if isinstance(some, dict) else {one["question_name"]: one for one in some})
        for name in [key.removesuffix(".suggestion") for key in record if key.endswith(".suggestion")]:
            value, agent = (record.get(f"{name}.suggestion{end}") for end in ("", ".agent"))
            guesses[name] = {"value": value, "agent": agent}
        for name, guess in guesses.items():
            agent, given = guess.get("agent") or "suggestions", {name: guess.get("value")}
            if people:
                rows.aside(agent, task, given)
            else:
                yield task, agent, given, {}


def responses_of(record: dict) -> Iterator[tuple[int, Any, Any, str, Any]]:
    """Number, user, status, question and value of every response, in the four forms that Argilla has had."""
    responses = record.get("responses")
    for k, one in enumerate(responses if isinstance(responses, list) else []):
        for question, value in (one.get("values") or {}).items():
            yield k, one.get("user_id"), one.get("status"), question, value["value"]
    for question, listed in (responses if isinstance(responses, dict) else record).items():
        some = listed if isinstance(listed, list) else []
        if all(isinstance(one, dict) and {"user_id", "value"} <= set(one) for one in some):
            for k, one in enumerate(some):
                yield k, one["user_id"], one.get("status"), question, one["value"]
    for key, cell in record.items():
        if key.endswith(".responses") and isinstance(values := from_json(cell), list):
            beside = (from_json(record.get(f"{key}.{name}")) for name in ("users", "status"))
            users, states = (some or [None] * len(values) for some in beside)
            if not len(values) == len(users) == len(states):
                raise TypeError(f"{key!r} and its users differ in number")
            for k, one in enumerate(zip(users, states, values, strict=True)):
                yield k, *one[:2], key.removesuffix(".responses"), one[2]


def _is_doccano(record: dict) -> bool:
    labels, old = first_of(record, "label", "labels"), record.get("annotations")
    few, joined = set(record) <= {"id", "text", "data", "label"}, r"[^#\s]+(#[^#\s]+)+"  # in CSV: "neg#pos"
    several = "Comments" in record or (few and re.fullmatch(joined, str(labels)))
    cells = isinstance(labels, str) and "id" in record and several
    named = isinstance(old, list) and all({"label", "user"} <= set(one) for one in old)
    document = not {"text", "data", "filename"}.isdisjoint(record)
    return document and bool(isinstance(labels, list) or cells or named)


def _doccano(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """Documents with lists of labels, or texts of them; by user in old versions, or a file or row each."""
    if len({record[FILE] for record in records}) > 1:
        rows.of = "a file for each annotator"
        if not all("id" in record for record in records):
            raise ValueError(rows.source.says("some documents have no id, so files cannot be joined"))
    for rows.record, record in enumerate(records):
        given = defaultdict(list)
        for one in record.get("annotations") or []:
            given[one["user"]].append(one["label"])
        if not given:
            values = first_of(record, "label", "labels") or []
            who = record[FILE] or first_of(record, "username", "user", "annotator")
            given[who or NOBODY] = values.split("#") if isinstance(values, str) else values
        yield from ((record.get("id", rows.record), who, labels, {}) for who, labels in given.items())


def _turk(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """Assignments with columns Answer.*: a value, or whether a choice was taken, or all answers as JSON."""
    rows.wanted = rows.wanted and rows.wanted.removeprefix("Answer.")
    for rows.record, row in enumerate(records):
        if row.get("AssignmentStatus") == "Rejected":
            rows.skipped["rejected assignments"] += 1
            continue
        answers: dict[str, Any] = {}
        for name, value in _after("Answer.", row).items():
            question, dot, choice = name.rpartition(".")
            if name == "taskAnswers" and value:
                given = from_json(value)
                if isinstance(given, str):
                    raise rows.refuse("Answer.taskAnswers is no JSON")
                given = given[0] if isinstance(given, list) else given
                answers |= {key: _chosen(one) for key, one in given.items()}
            elif dot and choice != "label" and value.casefold() in ("true", "false", ""):
                answers.setdefault(question, []).extend([choice] * (value.casefold() == "true"))
            else:
                answers[question if dot and choice == "label" else name] = value
        yield row["HITId"], row["WorkerId"], answers, {"time": row.get("SubmitTime")}


def _after(prefix: str, row: dict[str, str]) -> dict[str, str]:
    """The columns whose names begin so, by the rest of their names."""
    return {name.removeprefix(prefix): value for name, value in row.items() if name.startswith(prefix)}


def _chosen(value: Any) -> Any:
    """The answer in a value: itself, {"label": it}, or the choices that are true."""
    if not isinstance(value, dict):
        return as_text(value)
    return value["label"] if set(value) == {"label"} else [name for name, on in value.items() if on is True]


def _toloka(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """Assignments with columns OUTPUT:*; GOLDEN:* is gold."""
    rows.wanted = rows.wanted and rows.wanted.removeprefix("OUTPUT:")
    for rows.record, row in enumerate(records):
        about = _after("ASSIGNMENT:", row)
        if "worker_id" not in about:
            raise rows.unreadable("it has no ASSIGNMENT:worker_id; download the assignments of the pool")
        task = about.get("task_id") or " | ".join(_after("INPUT:", row).values())
        rows.aside(GOLD, task, _after("GOLDEN:", row))
        if about.get("status") == "REJECTED" or row.get("ACCEPT:verdict") == "-":
            rows.skipped["rejected answers"] += 1
        else:
            yield task, about["worker_id"], _after("OUTPUT:", row), {"time": about.get("started")}


def _appen(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """Judgments of the full report: X beside X_gold is an answer, or else what differs within a unit."""
    if "_worker_id" not in records[0]:
        raise rows.unreadable("it has one row for each unit; download the full report, with every judgment")
    names = [name for name in records[0] if name[:1] != "_" and not name.startswith("orig_")]
    fields = names if rows.wanted else [name for name in names if f"{name}_gold" in records[0]]
    if not fields:
        pairs = {name: {(row["_unit_id"], row[name]) for row in records} for name in names}
        fields = [name for name in names if duplicates(unit for unit, _ in pairs[name])]
    for rows.record, row in enumerate(records):
        # of several true answers any is right
        truth = {name: as_text(row.get(f"{name}_gold")).splitlines() for name in fields}
        rows.aside(GOLD, row["_unit_id"], {name: some[0] for name, some in truth.items() if len(some) == 1})
        given = {name: as_text(row[name]).splitlines() for name in fields}
        yield row["_unit_id"], row["_worker_id"], given, {"time": row.get("_created_at")}


def _zooniverse(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """Classifications, whose annotations are JSON: values by task."""
    for rows.record, row in enumerate(records):
        if not isinstance(steps := from_json(row["annotations"]), list):
            raise rows.refuse("the annotations are no JSON list")
        if as_text(row.get("gold_standard")).casefold() == "true":
            rows.aside(GOLD, row["subject_ids"], dict(_steps(steps)))
        else:
            who, more = first_of(row, "user_name", "user_id") or NOBODY, {"time": row.get("created_at")}
            yield row["subject_ids"], who, dict(_steps(steps)), more


def _steps(steps: list[dict]) -> Iterator[tuple[str, Any]]:
    """Task and values of every step; a combined task is the steps inside it."""
    for step in steps:
        value = step.get("value")
        values = [one for one in (value if isinstance(value, list) else [value]) if one is not None]
        if values and all(isinstance(one, dict) and "task" in one for one in values):
            yield from _steps(values)
        else:
            named = (
                first_of(one, "choice", "label", "value") if isinstance(one, dict) else one for one in values
            )
            yield step["task"], [name or one for name, one in zip(named, values, strict=True)]


def _is_qualtrics(record: dict) -> bool:
    cells = list(filter(None, record.values()))
    return bool(cells) and all(map(_IMPORT_ID.match, cells))


def _qualtrics(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """Respondents are labelers, questions that share answers, such as Yes and No, are tasks."""
    third = next(k for k, row in enumerate(records) if _is_qualtrics(row))
    ids = {name: _IMPORT_ID.findall(cell)[0] for name, cell in records[third].items() if cell}
    asked = [name for name, code in ids.items() if re.match(r"(.*_)?QID\d+(?!.*TEXT)", code)]
    answers = {name: {row[name] for row in records[third + 1 :]} - {""} for name in asked}
    shared = {text for text, _ in Counter(one for some in answers.values() for one in some).most_common(1)}
    for _ in asked:
        shared.update(*(texts for texts in answers.values() if texts & shared))
    items = [name for name in asked if answers[name] & shared]
    items = [rows.one_of(asked, "question", rows.wanted)] if rows.wanted else items
    if others := [name for name in asked if name not in items]:
        rows.notes += (f"Questions with other answers were left out: {quoted(others, 8)}.",)
    rows.of = "questions are the tasks"
    person = next((name for name, code in ids.items() if code in ("_recordId", "responseId")), "ResponseId")
    for rows.record, row in list(enumerate(records))[third + 1 :]:
        if row.get("Status") in ("Survey Preview", "1"):
            rows.skipped["previews"] += 1
        else:
            yield from ((item, row.get(person) or rows.record, row[item], {}) for item in items)


TOOLS: tuple = (  # `jtruth.io.exports` says what a line holds
    (_STUDIO, _is_label_studio, _label_studio, *_RESULTS),
    (f"{_STUDIO} (one row for each annotation)", "annotation_id annotator", _label_studio_rows, *_RESULTS),
    ("Prodigy export", "_input_hash _task_hash answer", _prodigy, "annotator", "", "questions"),
    ("Mechanical Turk batch", r"HITId WorkerId Answer\..*", _turk, "annotator", "answer", "assignments"),
    ("Toloka result", "INPUT:.* OUTPUT:.*", _toloka, "annotator", "output", "assignments"),
    ("Appen report", "_unit_id _worker_id|_golden|_trust", _appen, "worker", "answer", "judgments"),
    ("Zooniverse export", "classification_id annotations subject_ids", _zooniverse,
     "volunteer", "task", "classifications"),
    ("Qualtrics survey", _is_qualtrics, _qualtrics, "respondent", "", "questions"),
    ("Argilla export", _is_argilla, _argilla, "annotator", "question", "responses"),
    ("doccano export", _is_doccano, _doccano, "annotator", "", "documents"),
)  # fmt: skip
