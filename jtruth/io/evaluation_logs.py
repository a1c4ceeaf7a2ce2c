"""Logs of tools that evaluate models: verdicts of scorers, listed in `jtruth.io.exports`.

Scorers, metrics and judges are labelers. A model under test is a column `model`, and it is a part of the task
where several models answered the same sample: what is judged is one answer. One scorer that is called human
is no labeler but gold, unless nobody else scored. Scores that are missing or failed are counted.

- inspect_ai: .json and .eval. Samples x epochs x scorers; metadata of a sample becomes columns.
- promptfoo: JSON, JSON lines and CSV. Providers x tests x repeats; the label is pass or fail. Several graders
  of one rubric are labelers, otherwise all assertions together are one.
- deepeval: a test run. Each metric is a labeler: pass or fail by its threshold.
- lm-evaluation-harness: samples, with the metrics of one filter.
- MT-bench and FastChat: judgments of pairs in both orders (`order`), or of single answers; preferences of
  people between model_a and model_b; alpaca_eval.
- langfuse: scores by trace (and observation). LangSmith: feedback by run. ragas: a table of metrics.
- Lists of ratings in a record, as SummEval has them: position in the list is the labeler.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

from jtruth._validation.words import Source, number_in, quoted
from jtruth.io.label_rows import GOLD, LabelRows, as_text, groups, one_field

Verdict = tuple[Any, Any, Any, dict[str, Any]]  # sample, scorer, value, entries of other columns
_PEOPLE = {"human", "humans", "gold", "truth", "expert", "annotation", "annotator", "manual"}
_LETTERS = {1.0: "C", 0.5: "P", 0.0: "I"}  # inspect_ai's correct, partial and incorrect; N is no answer


def by_people(scorer: str) -> bool:
    """Whether a scorer is called human: "correct_human", "goldLabel"."""
    return not _PEOPLE.isdisjoint(word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", scorer))


def nobody(_: str) -> bool:
    """Where people are labelers like all others."""
    return False


def of_verdicts(
    rows: LabelRows,
    verdicts: Iterable[Verdict],
    label: str | None,
    who: str = "scorer",
    human: Callable[[str], bool] = by_people,
) -> LabelRows:
    """Rows of verdicts, whose generator sets `rows.record`; `label` keeps one scorer."""
    kept = []
    for sample, scorer, value, more in verdicts:
        if value == [] or as_text(value) == "":
            rows.skipped[f"{who}s without a value"] += 1
        else:
            kept.append((rows.record, sample, as_text(scorer), value, more))
    scorers = list(dict.fromkeys(scorer for _, _, scorer, *_ in kept))
    if label is not None:
        scorers = [one_field(scorers, label, who, rows.source)]
        kept = [one for one in kept if one[2] == label]
    kept = _on_one_scale(kept, rows.source, who)
    name = _task_names(kept)
    people = [scorer for scorer in scorers if human(scorer)]
    people = people if len(people) == 1 < len(scorers) else []
    truth: dict[str, Counter] = defaultdict(Counter)
    for rows.record, sample, scorer, value, more in kept:
        task = name(sample, more)
        if scorer in people:
            truth[task][as_text(value)] += 1
        else:
            rows.add(task, scorer, value, **more)
    for task, counts in truth.items():  # epochs that contradict one another are no truth
        first, *others = counts.most_common(2)
        if not others or others[0][1] < first[1]:
            rows.aside(GOLD, task, first[0])
    if people:
        rows.notes += (f"{quoted(people)} looks like a person's verdicts and is no labeler here.",)
    return rows.done(who=who)


def _task_names(kept: list[tuple]) -> Callable[[Any, dict], str]:
    """What a thing judged is called: by its sample, and by the model too where several models answered it."""
    models = defaultdict(set)
    for _, sample, _, _, more in kept:
        models[as_text(sample)].add(as_text(more.get("model")))
    several = any(len(some) > 1 for some in models.values())

    def name(sample: Any, more: dict) -> str:
        return f"{as_text(sample)} | {as_text(more.get('model'))}" if several else as_text(sample)

    return name


def _on_one_scale(kept: list[tuple], source: Source, who: str) -> list[tuple]:
    """Verdicts whose values can be compared: whole numbers without a point, 1 and 0 as C and I beside these."""
    values = defaultdict(set)
    for _, _, scorer, value, _ in kept:
        values[scorer] |= {_number(one) for one in (value if isinstance(value, list) else [value])}
    words = {scorer for scorer, some in values.items() if any(isinstance(one, str) for one in some)}
    numbers = {scorer: some for scorer, some in values.items() if scorer not in words}
    letters = {one for scorer in words for one in values[scorer]} <= {*_LETTERS.values(), "N"}
    table: dict[Any, Any] = _LETTERS if words and letters else {}
    grades = [max(some, default=0) > 1 for some in numbers.values()]
    shares = [any(0 < one < 1 for one in some) for some in numbers.values()]
    known = all(some <= set(table) for some in numbers.values())
    if (words and numbers and not known) or (any(grades) and any(shares)):
        shown = "; ".join(f"{scorer}: {quoted(sorted(some, key=str), 3)}" for scorer, some in values.items())
        why = f"the {who}s have different scales ({shown}). Read one alone, for instance"
        raise ValueError(source.says(f"{why} --label {next(iter(values))!r}"))
    mixed = len({isinstance(one[3], bool) for one in kept}) > 1

    def told(value: Any) -> Any:
        number = _number(value)
        if number in table and not isinstance(value, str):
            return table[number]
        if (isinstance(value, bool) and mixed) or (isinstance(value, float) and value.is_integer()):
            return int(value)
        return value

    return [(k, sample, scorer, told(value), more) for k, sample, scorer, value, more in kept]


def _number(value: Any) -> Any:
    """A value as a number, where it is one."""
    if isinstance(value, bool | int | float):
        return float(value)
    return value if (number := number_in(as_text(value))) != number else number


def is_inspect(record: dict) -> bool:
    """Whether this is a log of inspect_ai."""
    return isinstance(record.get("eval"), dict) and "model" in record["eval"] and "task" in record["eval"]


def inspect_log(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Samples x epochs x scorers of one or several logs."""
    samples = [(log, sample) for log in records for sample in log.get("samples") or []]
    if not samples:
        raise rows.unreadable("it has no samples: it is a header alone, or the run ended before any")
    rows.source = Source(rows.source.name, "sample")
    keys = [key for _, s in samples for _, v in _scores(s) if isinstance(v, dict) for key in v]
    key = None
    if keys:  # a scorer with several values at once: which of them is the label?
        others = [scorer for _, s in samples for scorer, v in _scores(s) if not isinstance(v, dict)]
        key = one_field([*others, *keys], label, "score", rows.source)
        label = label if key in others else None

    def verdicts() -> Iterator[Verdict]:
        for rows.record, (log, sample) in enumerate(samples):
            if sample.get("error") or sample.get("invalidation"):
                rows.skipped["samples with an error"] += 1
                continue
            if not (scores := list(_scores(sample))):
                rows.skipped["samples without a score"] += 1
            epoch = sample.get("epoch")
            more = groups(sample.get("metadata")) | {"model": log["eval"]["model"], "epoch": epoch}
            for scorer, value in scores:
                if isinstance(value, dict) and key in value:
                    yield sample["id"], scorer, value[key], more
                elif not isinstance(value, dict) and key in (None, scorer):
                    yield sample["id"], scorer, value, more

    return of_verdicts(rows, verdicts(), label)


def _scores(sample: dict) -> Iterator[tuple[str, Any]]:
    """Scorer and value; old logs have one score without a name."""
    scores = sample.get("scores") or ({"score": sample["score"]} if sample.get("score") else {})
    for scorer, score in scores.items():
        yield scorer, score.get("value") if isinstance(score, dict) else score


def _results(record: dict) -> list[dict]:
    """Results of promptfoo: in {"results": {"results": [...]}}, in {"results": [...]}, or a line."""
    found: Any = record
    while isinstance(found, dict) and "results" in found:
        found = found["results"]
    results = found if isinstance(found, list) else [found]
    keys = {"success", "provider"}
    return [
        one
        for one in results
        if isinstance(one, dict) and keys <= set(one) and {"vars", "testIdx"} & set(one)
    ]


def is_promptfoo(record: dict) -> bool:
    """Whether this is a file or a line of promptfoo's results."""
    return bool(_results(record)) or {"evalId", "results"} <= set(record)


def promptfoo(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Providers x tests x repeats."""
    results = [one for record in records for one in _results(record)]
    rows.source = Source(rows.source.name, "result")
    apart = label not in (None, "success") or any(map(_same_rubric, results))
    verdicts = _promptfoo(rows, results, apart)
    return of_verdicts(rows, verdicts, None if label in ("success", "assertions") else label)


def _promptfoo(rows: LabelRows, results: list[dict], apart: bool) -> Iterator[Verdict]:
    tests, seen, prompts = {}, Counter(), defaultdict(dict)
    for one in results:
        prompts[_provider(one)].setdefault(_prompt(one), len(prompts[_provider(one)]) + 1)
    for rows.record, one in enumerate(results):
        test = tests.setdefault(_test(one), one.get("testIdx", len(tests)))
        model, grading = _provider(one), one.get("gradingResult")
        model += f" | prompt {prompts[model][_prompt(one)]}" if len(prompts[model]) > 1 else ""
        seen[test, model] += 1
        more = groups(one.get("metadata")) | {"model": model, "repeat": seen[test, model]}
        if one.get("failureReason") == 2 or (one.get("error") and grading is None):
            rows.skipped["results with an error"] += 1
            continue
        parts = _assertions(one)
        human = [part["pass"] for name, part in parts if name == "human"]
        rest = [(name, part["pass"]) for name, part in parts if name != "human"]
        if human:
            yield test, "human", _verdict(human[-1]), more
        if apart and rest:
            for name, passed in rest:
                yield test, name, _verdict(passed), more
        else:
            yield test, "promptfoo", _verdict(all(p for _, p in rest) if human else one["success"]), more


def _verdict(passed: Any) -> str | None:
    return None if passed is None else "pass" if passed else "fail"


def _provider(one: dict) -> str:
    provider = one["provider"]
    return as_text((provider.get("label") or provider.get("id")) if isinstance(provider, dict) else provider)


def _prompt(one: dict) -> str:
    prompt = one.get("prompt")
    return as_text((prompt.get("label") or prompt.get("raw")) if isinstance(prompt, dict) else prompt)


def _test(one: dict) -> str:
    """What makes a test: its variables and assertions; repeats of a test have numbers of their own."""
    case = one.get("testCase") or {}
    what = [one.get("vars") or case.get("vars"), case.get("assert"), case.get("description")]
    return json.dumps(what if what[0] else [one.get("testIdx"), *what], sort_keys=True)


def _assertions(one: dict) -> list[tuple[str, dict]]:
    """Name and result of every assertion; of equal names the second is "name 2"."""
    parts = (one.get("gradingResult") or {}).get("componentResults") or []
    seen, named = Counter(), []
    for part in parts:
        about = (part or {}).get("assertion") or {}
        name = about.get("metric") or about.get("type")
        if name and "pass" in part:
            seen[name] += 1
            named.append((name if seen[name] == 1 else f"{name} {seen[name]}", part))
    return named


def _same_rubric(one: dict) -> bool:
    """Whether several assertions of a result ask the same, of several graders."""
    about = [part["assertion"] for _, part in _assertions(one)]
    asked = Counter((a.get("type"), as_text(a.get("value"))) for a in about if a.get("value"))
    return any(number > 1 for number in asked.values())


_CELL = re.compile(r"\s*\[?(PASS|FAIL|ERROR)\b")


def outputs(row: dict) -> dict[str, str]:
    """Output column of promptfoo's CSV -> PASS, FAIL or ERROR, in its cell or in the column Status behind."""
    found = {}
    for name, behind in pairwise([*row.items(), ("", "")]):
        status = (
            behind[1] if behind[0].startswith("Status") else name[1] if as_text(name[1])[:1] == "[" else ""
        )
        if name[0].startswith("[") and "]" in name[0] and (match := _CELL.match(as_text(status))):
            found[name[0]] = match[1]
    return found


def promptfoo_table(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """The CSV: a row for each test, a column for each provider and prompt."""
    columns = list(dict.fromkeys(name for row in records for name in outputs(row)))
    many = Counter(name[1:].partition("]")[0] for name in columns)
    tests: dict[tuple, int] = {}

    def verdicts() -> Iterator[Verdict]:
        for rows.record, row in enumerate(records):
            given = tuple(row.items())[: list(row).index(columns[0])]
            test = tests.setdefault(given or (rows.record,), rows.record)
            for name, word in outputs(row).items():
                model = name[1:].partition("]")[0]
                model = name if many[model] > 1 else model
                if word == "ERROR":
                    rows.skipped["results with an error"] += 1
                else:
                    yield test, "promptfoo", word.lower(), {"model": model}

    return of_verdicts(rows, verdicts(), label)


_CASES = ("testCases", "test_cases", "testResults", "test_results", "conversationalTestCases")
_METRICS = ("metricsData", "metrics_data", "metrics")


def _cases(record: dict) -> list[dict]:
    """Test cases of a test run of deepeval."""
    inside = [
        record,
        *(record[k] for k in ("testRunData", "test_run_data") if isinstance(record.get(k), dict)),
    ]
    cases = [case for one in inside for key in _CASES for case in one.get(key) or []]
    return [case for case in cases if isinstance(case, dict) and any(key in case for key in _METRICS)]


def is_deepeval(record: dict) -> bool:
    """Whether this is a test run."""
    return any(isinstance(record.get(k), list | dict) for k in (*_CASES, "testRunData")) and bool(
        _cases(record)
    )


def deepeval(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Test cases x metrics."""
    cases = [case for record in records for case in _cases(record)]
    rows.source = Source(rows.source.name, "test case")
    inputs = defaultdict(set)
    for case in cases:
        inputs[case.get("name")].add(as_text(case.get("input")))

    def verdicts() -> Iterator[Verdict]:
        for rows.record, case in enumerate(cases):
            name, text = case.get("name"), case.get("input")
            sample = name if name and len(inputs[name]) == 1 else f"{name} | {text}" if name else text
            more = groups(case.get("metadata", case.get("additionalMetadata")))
            for metric in next((case[key] for key in _METRICS if case.get(key)), []):
                failed = metric.get("error") or metric.get("score", 0) is None
                passed = metric.get("success", metric.get("passed"))
                yield sample, metric["name"], None if failed else _verdict(passed), more

    return of_verdicts(rows, verdicts(), label, "metric", nobody)


def is_lm_eval(record: dict) -> bool:
    """Whether this is a line of samples, or results with samples."""
    return {"doc_id", "resps"} <= set(record) or bool(_samples(record))


def _samples(record: dict) -> dict[str, list[dict]]:
    """Task -> samples in a file of results."""
    samples = record.get("samples")
    samples = samples if isinstance(samples, dict) and "results" in record else {}
    return {task: some for task, some in samples.items() if isinstance(some, list) and "doc_id" in some[0]}


def lm_eval(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Documents x metrics of one filter; `label` is a metric, a filter, or both: "acc,none"."""
    tasks = {task: some for record in records for task, some in _samples(record).items()} or {"": records}
    lines = [(task, line) for task, some in tasks.items() for line in some]
    filters = list(dict.fromkeys(as_text(line.get("filter")) for _, line in lines))
    metric, _, wanted = (label or "").rpartition(",")
    if wanted not in filters:
        metric, wanted = label, None
    wanted = filters[0] if len(filters) == 1 else one_field(filters, wanted, "filter", rows.source)
    known = [key for _, line in lines for key in line.get("metrics") or _plain_metrics(line)]
    known = list(dict.fromkeys(known))

    def verdicts() -> Iterator[Verdict]:
        for rows.record, (task, line) in enumerate(lines):
            if as_text(line.get("filter")) == wanted:
                sample = f"{task} | {line['doc_id']}" if len(tasks) > 1 else line["doc_id"]
                for name in known:
                    value = line.get(name)
                    yield (
                        sample,
                        name,
                        value if isinstance(value, int | float | str) else None,
                        {"benchmark": task},
                    )

    return of_verdicts(rows, verdicts(), metric or None, "metric", nobody)


def _plain_metrics(line: dict) -> list[str]:
    """Metrics of a line of a version that does not name them: numbers that are no part of the sample."""
    return [k for k, v in line.items() if isinstance(v, int | float) and not k.endswith(("_id", "_idx"))]


_SIDES = (("model_1", "model_2"), ("model_a", "model_b"))


def is_pair(record: dict) -> bool:
    """Whether this compares answers of two models."""
    won = {"winner", "g1_winner"} & set(record)
    return bool(won) and any(set(side) <= set(record) for side in _SIDES)


def pairs(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Judgments of pairs of models, in one order or in both, whoever stands first."""
    fields = [name for name in ("winner", "g1_winner", "g2_winner") if any(name in one for one in records)]
    fields = [label] if label in fields else ["winner"] if "winner" in fields else fields
    turns, judge, first = _several(records, "turn"), _judges(records), {}

    def verdicts() -> Iterator[Verdict]:
        for rows.record, one in enumerate(records):
            side = next(side for side in _SIDES if set(side) <= set(one))
            models = as_text(one[side[0]]), as_text(one[side[1]])
            same = first.setdefault(frozenset(models), models)
            swap = {} if same == models else dict(zip(side, side[::-1], strict=True))
            sample = " | ".join([_question(one, turns), *same])
            more = {"pair": " | ".join(same), "time": one.get("tstamp")}
            more |= {key: one.get(key) for key in ("turn", "category", "language")}
            for order, name in enumerate(fields, 1):
                value = one.get(name)
                value = None if value in ("error", "inconsistent") else swap.get(as_text(value), value)
                yield sample, judge(one), value, more | {"order": order if len(fields) > 1 else None}

    return of_verdicts(rows, verdicts(), None if label in fields else label, "judge", nobody)


def is_single(record: dict) -> bool:
    """Whether this is a judgment of one answer."""
    return {"question_id", "model", "judge", "score"} <= set(record)


def singles(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Grades of single answers; a score of -1 is a judgment that could not be read."""
    turns, judge = _several(records, "turn"), _judges(records)

    def verdicts() -> Iterator[Verdict]:
        for rows.record, one in enumerate(records):
            value = None if number_in(as_text(one["score"])) == -1 else one["score"]
            more = {key: one.get(key) for key in ("model", "turn", "category")} | {"time": one.get("tstamp")}
            yield _question(one, turns), judge(one), value, more

    return of_verdicts(rows, verdicts(), label, "judge", nobody)


def _several(records: list[dict], key: str) -> bool:
    return len({as_text(one.get(key)) for one in records}) > 1


def _question(one: dict, turns: bool) -> str:
    number = as_text(one.get("question_id", one.get("prompt", one.get("conversation_id"))))
    return f"{number} | turn {one.get('turn')}" if turns else number


def _judges(records: list[dict]) -> Callable[[dict], str]:
    """A judge is a model, or [model, name of its prompt], by both names where one sees a turn by two prompts."""
    by = defaultdict(set)
    for one in records:
        name, *prompt = _listed(one.get("judge", "judge"))
        by[name, as_text(one.get("turn")), as_text(one.get("question_id"))].add(tuple(prompt))
    both = any(len(prompts) > 1 for prompts in by.values())
    return lambda one: " ".join(_listed(one.get("judge", "judge"))[: None if both else 1])


def _listed(value: Any) -> list[str]:
    return [as_text(part) for part in value] if isinstance(value, list) else [as_text(value)]


def alpaca(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Preferences between two outputs: 1 the first, 2 the second, 1.5 a tie; weighted ones to the nearer."""
    numbers = [number_in(as_text(one["preference"])) for one in records]
    weighted = any(n == n and n not in (0, 1, 1.5, 2) for n in numbers)
    if weighted:
        rows.notes += ("Weighted preferences count as 1 or 2, whichever is nearer.",)

    def verdicts() -> Iterator[Verdict]:
        for (rows.record, one), n in zip(enumerate(records), numbers, strict=True):
            value = None if n != n else 1.5 if n in (0, 1.5) else 1 if n < 1.5 else 2
            model = as_text(one.get("generator_2"))
            more = {"model": model, "against": one.get("generator_1"), "dataset": one.get("dataset")}
            yield one["instruction"], one.get("annotator", "annotator"), value, more

    return of_verdicts(rows, verdicts(), label, "annotator", nobody)


def _key(record: dict, *names: str) -> Any:
    """The first of these entries that says something."""
    return next((record[name] for name in names if as_text(record.get(name)) != ""), None)


def is_langfuse(record: dict) -> bool:
    """Whether this is a score of a trace."""
    trace = {"traceId", "trace_id", "Trace ID"} & set(record)
    return bool(trace) and {"name", "value", "source"} <= {key.lower() for key in record}


def langfuse(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Scores by trace and observation; what people scored in the interface has source ANNOTATION."""
    records = [
        {key.replace(" ", "").replace("_", "").lower(): v for key, v in one.items()} for one in records
    ]
    sources = defaultdict(set)
    for one in records:
        sources[one["name"]].add(as_text(one["source"]).upper())

    def scorer(one: dict) -> str:
        source = as_text(one["source"]).upper()
        return f"{one['name']} ({source})" if len(sources[one["name"]]) > 1 else as_text(one["name"])

    def verdicts() -> Iterator[Verdict]:
        for rows.record, one in enumerate(records):
            sample = " | ".join(filter(None, (as_text(one.get(k)) for k in ("traceid", "observationid"))))
            words = as_text(one.get("datatype")).upper() == "CATEGORICAL"
            value = _key(one, *(("stringvalue", "value") if words else ("value", "stringvalue")))
            yield sample, scorer(one), value, {"time": one.get("timestamp"), "trace": _key(one, "tracename")}

    people = {scorer(one) for one in records if as_text(one["source"]).upper() == "ANNOTATION"}
    return of_verdicts(rows, verdicts(), label, "score", people.__contains__)


def langsmith(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Feedback by run."""

    def verdicts() -> Iterator[Verdict]:
        for rows.record, one in enumerate(records):
            value = _key(one, "score", "value")
            yield one["run_id"], one["key"], value, {"time": one.get("created_at")}

    return of_verdicts(rows, verdicts(), label, "feedback key")


_RAGAS = {"faithfulness", "answer_relevancy", "answer_relevance", "context_precision", "context_recall",
          "answer_correctness", "answer_similarity", "semantic_similarity", "factual_correctness",
          "llm_context_precision_with_reference", "context_entity_recall", "noise_sensitivity"}  # fmt: skip
_NO_SCORE = {"user_input", "question", "response", "answer", "reference", "ground_truth", "ground_truths",
             "contexts", "retrieved_contexts", "reference_contexts", "rubrics"}  # fmt: skip


def is_ragas(record: dict) -> bool:
    """Whether this is a row of the results."""
    names = {name.partition("(")[0] for name in record}
    return bool({"user_input", "question"} & names) and bool(names & _RAGAS)


def ragas(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Samples x metrics: columns of shares, and one of what people said."""
    names = [name for name in dict.fromkeys(k for one in records for k in one) if name not in _NO_SCORE]
    cells = {name: [_number(v) for one in records if as_text(v := one.get(name)) != ""] for name in names}
    shares = [name for name in names if all(isinstance(v, float) and 0 <= v <= 1 for v in cells[name])]
    people = [name for name in names if by_people(name) and cells[name]]
    metrics = [name for name in shares if name not in people and cells[name]]
    questions = [as_text(one.get("user_input", one.get("question"))) for one in records]
    unique = len(set(questions)) == len(questions)
    for rows.record, (one, question) in enumerate(zip(records, questions, strict=True)):
        task = question if unique else rows.record
        for name in metrics if label is None else [one_field(metrics, label, "metric", rows.source)]:
            if as_text(one.get(name)) == "":
                rows.skipped["metrics without a value"] += 1
            else:
                rows.add(task, name, one[name])
        if len(people) == 1 and as_text(one.get(people[0])) != "":
            rows.aside(GOLD, task, one[people[0]])
    return rows.done(who="metric")


def _rating_lists(record: dict) -> dict[str, list[dict]]:
    """Entries that are lists of ratings: objects of numbers."""
    listed = {key: value for key, value in record.items() if isinstance(value, list) and value}
    return {key: value for key, value in listed.items() if all(map(_is_rating, value))}


def _is_rating(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(isinstance(v, int | float) for v in value.values())


def has_ratings(record: dict) -> bool:
    """Whether lists of ratings stand in a record."""
    return any(
        key.endswith(("annotations", "ratings", "scores", "judgments")) for key in _rating_lists(record)
    )


def rating_lists(rows: LabelRows, records: list[dict], label: str | None) -> LabelRows:
    """Ratings by position; the label is one quality, such as coherence."""
    found = [_rating_lists(record) for record in records]
    qualities = [q for lists in found for ratings in lists.values() for one in ratings for q in one]
    quality = one_field(qualities, label, "rating", rows.source)

    def verdicts() -> Iterator[Verdict]:
        for (rows.record, one), lists in zip(enumerate(records), found, strict=True):
            sample = _key(one, "id", "doc_id", "item_id", "example_id")
            more = {"model": _key(one, "model_id", "model", "system", "system_id")}
            for key, ratings in lists.items():
                group = re.sub(r"_?(annotations|ratings|scores|judgments)$", "", key) or "rater"
                for place, rating in enumerate(ratings, 1):
                    yield (
                        rows.record if sample is None else sample,
                        f"{group} {place}",
                        rating.get(quality),
                        more,
                    )

    return of_verdicts(rows, verdicts(), None, "rater", nobody)
