"""Judgments and scores of answers: one generator for each format, listed in `jtruth.io.exports`.

- MT-bench and FastChat: judgments of pairs in both orders (a column `order`), or of single answers. A judge
  is a model, or [model, name of its prompt].
- Preferences of people between model_a and model_b; alpaca_eval.
- langfuse: scores by trace and observation. LangSmith: feedback by run. ragas: a table of metrics.
- Lists of ratings in a record, as SummEval has them: position in the list is the labeler.
- {task: {worker: label}} as one object of JSON.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from jtruth._validation.words import number_in
from jtruth.io.label_rows import LabelRows, as_text, first_of
from jtruth.io.verdicts import Verdict, called_human, texts, verdicts

_SIDES = (("model_1", "model_2"), ("model_a", "model_b"))
_WINNERS = ("winner", "g1_winner", "g2_winner")


def is_pair(record: dict) -> bool:
    """Whether this compares answers of two models."""
    return not set(_WINNERS).isdisjoint(record) and any(set(side) <= set(record) for side in _SIDES)


@verdicts("judge", people=False)
def pairs(rows: LabelRows, records: list[dict], label: str | None) -> Iterator[Verdict]:
    """Judgments of pairs of models, in one order or in both, whoever stands first."""
    fields = [name for name in _WINNERS if any(name in one for one in records)]
    fields = [label] if label in fields else ["winner"] if "winner" in fields else fields
    rows.wanted = None if label in fields else label
    question, judge, first = _questions(records), _judges(records), {}
    for rows.record, one in enumerate(records):
        side = next((side for side in _SIDES if set(side) <= set(one)), _SIDES[0])
        models = as_text(one[side[0]]), as_text(one[side[1]])
        same = first.setdefault(frozenset(models), models)
        swap = {} if same == models else dict(zip(side, side[::-1], strict=True))
        more = {"pair": " | ".join(same), "time": one.get("tstamp")}
        more |= {key: one.get(key) for key in ("turn", "category", "language")}
        for order, name in enumerate(fields, 1):
            value = None if one.get(name) in ("error", "inconsistent") else one.get(name)
            more = more | {"order": order if len(fields) > 1 else None}
            yield " | ".join([question(one), *same]), judge(one), swap.get(as_text(value), value), more


@verdicts("judge", people=False)
def singles(rows: LabelRows, records: list[dict], label: str | None) -> Iterator[Verdict]:
    """Grades of single answers; a score of -1 is a judgment that could not be read."""
    question, judge = _questions(records), _judges(records)
    for rows.record, one in enumerate(records):
        value = None if number_in(as_text(one["score"])) == -1 else one["score"]
        more = {key: one.get(key) for key in ("model", "turn", "category")} | {"time": one.get("tstamp")}
        yield question(one), judge(one), value, more


def _questions(records: list[dict]) -> Callable[[dict], str]:
    """What a question is called, with its turn where there are several."""
    several = len({as_text(one.get("turn")) for one in records}) > 1
    name = lambda one: as_text(first_of(one, "question_id", "prompt", "conversation_id"))  # noqa: E731
    return lambda one: f"{name(one)} | turn {as_text(one.get('turn'))}" if several else name(one)


def _judges(records: list[dict]) -> Callable[[dict], str]:
    """What a judge is called, with its prompt only where it sees a turn of a question by two prompts."""
    prompts = defaultdict(set)
    for one in records:
        name, *prompt = texts(one.get("judge", "judge")) or [""]
        prompts[name, as_text(one.get("turn")), as_text(one.get("question_id"))].add(tuple(prompt))
    hidden = "$^" if any(len(some) > 1 for some in prompts.values()) else r"(pair|single)\b"
    names = lambda one: texts(one.get("judge", "judge"))  # noqa: E731
    return lambda one: " ".join(part for part in names(one) if not re.match(hidden, part))


@verdicts("annotator", people=False)
def alpaca(rows: LabelRows, records: list[dict], label: str | None) -> Iterator[Verdict]:
    """Preferences between two outputs: 1 the first, 2 the second, 1.5 a tie; weighted ones to the nearer."""
    numbers = [number_in(as_text(one["preference"])) for one in records]
    if any(n == n and n not in (0, 1, 1.5, 2) for n in numbers):
        rows.notes += ("Weighted preferences count as 1 or 2, whichever is nearer.",)
    for (rows.record, one), n in zip(enumerate(records), numbers, strict=True):
        value = None if n != n else 1.5 if n in (0, 1.5) else 1 if n < 1.5 else 2
        model, other = one.get("generator_2"), one.get("generator_1")
        more = {"model": model, "against": other, "dataset": one.get("dataset")}
        yield one["instruction"], one.get("annotator", "annotator"), value, more


def is_langfuse(record: dict) -> bool:
    """Whether this is a score of a trace."""
    return {"traceid", "name", "value", "source"} <= set(_plain_keys(record))


def _plain_keys(record: dict) -> dict[str, Any]:
    """The same with names as one: traceId, trace_id and Trace ID."""
    return {re.sub(r"[ _]", "", key).lower(): value for key, value in record.items()}


@verdicts("score name")
def langfuse(rows: LabelRows, records: list[dict], label: str | None) -> Iterator[Verdict]:
    """Scores by trace and observation; what people scored in the interface has source ANNOTATION."""
    for rows.record, one in enumerate(map(_plain_keys, records)):
        places = (as_text(one.get(key)) for key in ("traceid", "sessionid", "observationid"))
        sample = " | ".join(filter(None, places))
        words = as_text(one.get("datatype")).upper() == "CATEGORICAL"
        value = first_of(one, *(("stringvalue", "value") if words else ("value", "stringvalue")))
        person = as_text(one["source"]).upper() == "ANNOTATION" and one["name"] != label
        more = {"time": one.get("timestamp"), "trace": one.get("tracename")}
        yield sample, f"{one['name']} (annotation)" if person else one["name"], value, more


@verdicts("feedback key")
def langsmith(rows: LabelRows, records: list[dict], label: str | None) -> Iterator[Verdict]:
    """Feedback by run; what people said in the app has that source."""
    for rows.record, one in enumerate(records):
        source = one.get("feedback_source") or {}
        person = "app" in (
            one.get("feedback_source.type"),
            source.get("type") if isinstance(source, dict) else "",
        )
        scorer = f"{one['key']} (annotation)" if person and one["key"] != label else one["key"]
        yield one["run_id"], scorer, first_of(one, "score", "value"), {"time": one.get("created_at")}


_RAGAS = {"faithfulness", "answer_relevancy", "answer_relevance", "context_precision", "context_recall",
          "answer_correctness", "answer_similarity", "semantic_similarity", "factual_correctness",
          "llm_context_precision_with_reference", "context_entity_recall", "noise_sensitivity"}  # fmt: skip
_TEXTS = {"user_input", "question", "response", "answer", "reference", "ground_truth", "ground_truths",
          "contexts", "retrieved_contexts", "reference_contexts", "rubrics"}  # fmt: skip


def is_ragas(record: dict) -> bool:
    """Whether this is a row of the results."""
    names = {name.partition("(")[0] for name in record}
    return not {"user_input", "question"}.isdisjoint(names) and not names.isdisjoint(_RAGAS)


@verdicts("metric")
def ragas(rows: LabelRows, records: list[dict], label: str | None) -> Iterator[Verdict]:
    """Samples x metrics: columns of shares, and those of what people said."""
    names = [name for name in dict.fromkeys(k for one in records for k in one) if name not in _TEXTS]
    cells = {name: [as_text(one[name]) for one in records if as_text(one.get(name))] for name in names}
    shares = {name for name in names if cells[name] and all(0 <= number_in(v) <= 1 for v in cells[name])}
    people = {name for name in names if cells[name] and called_human(name)}
    questions = [as_text(first_of(one, "user_input", "question")) for one in records]
    unique = len(set(questions)) == len(questions)
    for rows.record, (one, question) in enumerate(zip(records, questions, strict=True)):
        for name in (name for name in names if name in shares | people):
            yield question if unique else rows.record, name, one.get(name), {}


def _lists(record: dict) -> dict[str, list[dict]]:
    """Entries that are lists of ratings: objects of numbers."""
    listed = {key: value for key, value in record.items() if isinstance(value, list) and value}
    return {key: value for key, value in listed.items() if all(map(_is_rating, value))}


def _is_rating(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(isinstance(v, int | float) for v in value.values())


_RATINGS = re.compile(r"_?(annotations|ratings|scores|judgments)$")


def has_ratings(record: dict) -> bool:
    """Whether lists of ratings stand in a record."""
    return any(map(_RATINGS.search, _lists(record)))


@verdicts("rater", people=False)
def rating_lists(rows: LabelRows, records: list[dict], label: str | None) -> Iterator[Verdict]:
    """Ratings by position; the label is one quality, such as coherence."""
    found = [_lists(record) for record in records]
    qualities = (quality for lists in found for some in lists.values() for one in some for quality in one)
    quality, rows.wanted = rows.one_of(qualities, label, "rating"), None
    for (rows.record, one), lists in zip(enumerate(records), found, strict=True):
        sample = first_of(one, "id", "doc_id", "item_id", "example_id")
        more = {"model": first_of(one, "model_id", "model", "system", "system_id")}
        for key, ratings in lists.items():
            for place, rating in enumerate(ratings, 1):
                who = f"{_RATINGS.sub('', key) or 'rater'} {place}"
                yield rows.record if sample is None else sample, who, rating.get(quality), more
