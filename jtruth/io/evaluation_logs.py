"""Logs of evaluations, judgments and scores: scorers label. `jtruth.io.exports` reads them.

Where labels are of several kinds, `--label` names one: a scorer or an entry of its scores, success or
assertions (promptfoo), a metric, a filter or both as "acc,none" (lm-evaluation-harness), a winner (MT-bench).
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from jtruth._validation.text import File
from jtruth._validation.words import Source, number_in, quoted
from jtruth.io.label_rows import Found, LabelRows, as_text, called_human, first_of, from_json, within

_RESULT = "success vars|testCase|testIdx provider|promptIdx|gradingResult|namedScores"  # keys in promptfoo
_DOCUMENT = "doc_id resps"  # ... in lm-evaluation-harness
_METRICS = ("metricsData", "metrics_data", "metricsMetadata", "metrics_metadata")  # ... in deepeval
_SHARES = (r"(faithfulness|answer_(relevanc[ey]|correctness|similarity)|(llm_)?context_(entity_)?(precision|"
           r"recall).*|semantic_similarity|factual_correctness|noise_sensitivity)(\(.*)?")  # fmt: skip
_TEXTS = re.compile("user_input|question|response|answer|reference|ground_truths?|(.*_)?contexts|rubrics")
_RATINGS = re.compile("_?(annotations|ratings|scores|judgments)$")
_SCALES = (1, 5, 7, 10, 100)  # the highest grades of usual scales
_KEPT = {"id", "epoch", "score", "scores", "metadata", "error", "invalidation"}  # messages are large
_PASSED = {None: None, True: "pass", False: "fail"}
_TAKEN = {"task", "worker", "label", "model", "epoch", "repeat", "order", "time"}


def eval_log(files: list[File], archive: str) -> dict | None:
    """The log that inspect_ai packs into a zip called .eval, as its JSON would have it; None: another zip."""
    inside = {file.name.removeprefix(f"{archive}/"): file.data for file in files}
    headers = [name for name in ("header.json", "_journal/start.json", "start.json") if name in inside]
    samples = [name for name in inside if name.startswith("samples/")]
    if not headers or not (samples or "_journal/start.json" in inside):
        return None
    found = []
    try:
        log = json.loads(inside[headers[0]])
        for one in (json.loads(inside[name]) for name in samples):
            found.append({key: one[key] for key in _KEPT & set(one)})
    except ValueError as problem:
        raise ValueError(f"{archive}: a file in it is no JSON ({problem})") from None
    return log | {"samples": found} if isinstance(log, dict) else None


def _inspect(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """Samples x epochs x scorers of one or several logs; old logs have one score without a name."""
    rows.source = Source(rows.source.name, "sample")
    samples = [(log["eval"]["model"], sample) for log in records for sample in log.get("samples") or []]
    if not samples:
        raise rows.unreadable("it has no samples: it is a header alone, or the run ended early")
    for rows.record, (model, sample) in enumerate(samples):
        scores = sample.get("scores") or ({"score": sample["score"]} if sample.get("score") else {})
        failed = sample.get("error") or sample.get("invalidation")
        if failed or not scores:
            rows.skipped[f"samples {'with an error' if failed else 'without a score'}"] += 1
        more = _groups(sample.get("metadata")) | {"model": model, "epoch": sample.get("epoch")}
        for scorer, score in () if failed else scores.items():
            yield sample["id"], scorer, score.get("value") if isinstance(score, dict) else score, more


def _groups(metadata: Any) -> dict[str, Any]:
    """The short plain values of a sample's metadata, each a column that can name groups."""
    entries = metadata.items() if isinstance(metadata, dict) else ()
    short = {k: v for k, v in entries if isinstance(v, str | int | float) and len(str(v)) <= 80}
    return {f"metadata.{name}" if name in _TAKEN else name: value for name, value in short.items()}


def _promptfoo(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """Providers x tests x repeats; assertions are scorers where several ask the same of several graders."""
    results = [one for _, one in within(records, _RESULT)]
    rows.source = Source(rows.source.name, "result")
    apart = rows.wanted != "success" if rows.wanted else any(map(_same_rubric, results))
    rows.wanted = None if rows.wanted in ("success", "assertions") else rows.wanted
    tests, seen, prompts = {}, Counter(), defaultdict(dict)
    for one in results:
        numbers = prompts[_name(one, "provider")]
        numbers.setdefault(_name(one, "prompt"), len(numbers) + 1)
    for rows.record, one in enumerate(results):
        test, model = tests.setdefault(_test(one), one.get("testIdx", len(tests))), _name(one, "provider")
        if len(numbers := prompts[model]) > 1:
            model += f" | prompt {numbers[_name(one, 'prompt')]}"
        seen[test, model] += 1
        if one.get("failureReason") == 2 or (one.get("error") and one.get("gradingResult") is None):
            rows.skipped["results with an error"] += 1
        else:
            more = _groups(one.get("metadata")) | {"model": model, "repeat": seen[test, model]}
            yield from ((test, name, _PASSED[passed], more) for name, passed in _verdicts(one, apart))


def _name(one: dict, key: str) -> str:
    """What a provider or a prompt is called."""
    value = one.get(key)
    return as_text(first_of(value, "label", "id", "raw") if isinstance(value, dict) else value)


def _test(one: dict) -> str:
    """What makes a test: its variables and assertions; repeats of a test have numbers of their own."""
    case = one.get("testCase") or {}
    what = [one.get("vars") or case.get("vars"), case.get("assert"), case.get("description")]
    return json.dumps(what if what[0] else [one.get("testIdx"), *what], sort_keys=True)


def _verdicts(one: dict, apart: bool) -> Iterator[tuple[str, Any]]:
    """Scorer and whether a result passed: a person, and every assertion, or all together."""
    seen, parts, total = Counter(), {}, one["success"]
    for about, passed in _assertions(one):
        name = first_of(about, "metric", "type")
        seen[name] += 1
        parts[name if seen[name] == 1 else f"{name} {seen[name]}"] = passed
    if "human" in parts:
        yield "human", parts.pop("human")
        total = all(parts.values()) if parts else None
    yield from parts.items() if apart else [("promptfoo", total)]


def _assertions(one: dict) -> list[tuple[dict, Any]]:
    """Every assertion of a result, and whether it passed."""
    parts = (one.get("gradingResult") or {}).get("componentResults") or []
    return [(part["assertion"], part.get("pass")) for part in parts if part and part.get("assertion")]


def _same_rubric(one: dict) -> bool:
    asked = [f"{about['type']} {about['value']}" for about, _ in _assertions(one) if about.get("value")]
    return len(set(asked)) < len(asked)


def _outputs(row: dict) -> dict[str, str]:
    """Column of an output in promptfoo's CSV -> PASS, FAIL or ERROR: in its cell or in Status after it."""
    found = {}
    for (name, cell), (behind, status) in pairwise([*row.items(), ("", "")]):
        word = status if behind.startswith("Status") else cell if as_text(cell)[:1] == "[" else ""
        if re.match(r"\[.*\]", name) and (match := re.match(r"\[?(PASS|FAIL|ERROR)\b", as_text(word))):
            found[name] = match[1]
    return found


def _promptfoo_table(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """The CSV: a row for each test, a column for each provider and prompt, called "[provider] prompt"."""
    provider = {name: name[1:].partition("]")[0] for row in records for name in _outputs(row)}
    many, seen, tests = Counter(provider.values()), Counter(), {}
    for rows.record, row in enumerate(records):
        given = tuple(row.values())[: list(row).index(next(iter(provider)))]
        test = tests.setdefault(given or (rows.record,), rows.record)
        seen[test] += 1
        for name, word in _outputs(row).items():
            model = name if many[provider[name]] > 1 else provider[name]
            if word == "ERROR":
                rows.skipped["results with an error"] += 1
            else:
                yield test, "promptfoo", word.lower(), {"model": model, "repeat": seen[test]}


def _deepeval(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """Test cases x metrics of test runs: pass or fail by the threshold. Equal names have different inputs."""
    rows.source = Source(rows.source.name, "test case")
    cases = [(run, case) for run in records for _, case in within(run, "|".join(_METRICS))]
    inputs = defaultdict(set)
    for _, case in cases:
        inputs[case.get("name")].add(as_text(case.get("input")))
    for rows.record, (run, case) in enumerate(cases):
        name, text = case.get("name"), case.get("input", rows.record)
        sample = name if name and len(inputs[name]) == 1 else f"{name} | {text}" if name else text
        model = first_of(run.get("hyperparameters") or {}, "model")
        more = _groups(first_of(case, "metadata", "additionalMetadata")) | {"model": model}
        for metric in first_of(case, *_METRICS) or []:
            score, passed = metric.get("score"), metric.get("success")
            if passed is None and score is not None:
                passed = score >= metric.get("threshold", 0.5)
            failed = metric.get("error") or (score is None and "score" in metric)
            yield sample, metric.get("name") or metric["metric"], _PASSED[None if failed else passed], more


def _lm_eval(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """Documents x metrics of one filter; old versions do not name metrics: all numbers but ids."""
    lines = list(within(records, "doc_id|resps"))
    tasks = {task for task, _ in lines}
    rows.source = rows.source if "" in tasks else Source(rows.source.name, "sample")
    filters = [as_text(line.get("filter")) for _, line in lines]
    metric, _, wanted = (rows.wanted or "").rpartition(",")
    if not wanted or wanted not in filters:
        metric, wanted = rows.wanted, None
    wanted, rows.wanted = rows.one_of(filters, "filter", wanted), metric or None
    for rows.record, (task, line) in enumerate(lines):
        sample = f"{task} | {line['doc_id']}" if len(tasks) > 1 else line["doc_id"]
        values = {name: value for name, value in line.items() if isinstance(value, int | float | str)}
        numbers = (k for k, v in values.items() if not isinstance(v, str) and not k.endswith(("_id", "_idx")))
        for name in line.get("metrics") or numbers if filters[rows.record] == wanted else ():
            yield sample, name, values.get(name), {"benchmark": task}


def _averages(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """The results of a benchmark without its samples."""
    raise rows.unreadable("it has averages alone; run lm_eval with --log_samples and read samples_*.jsonl")


def _pairs(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """Judgments of pairs of models, in one order or in both, whoever stands first."""
    fields = [name for name in ("winner", "g1_winner", "g2_winner") if any(name in one for one in records)]
    if rows.wanted in fields:
        fields, rows.wanted = [rows.wanted], None
    fields, first = ["winner"] if "winner" in fields else fields, {}
    for (rows.record, one), (question, judge, about) in zip(enumerate(records), _names(records), strict=True):
        side = ("model_a", "model_b") if "model_a" in one else ("model_1", "model_2")
        models = as_text(one[side[0]]), as_text(one[side[1]])
        same = first.setdefault(frozenset(models), models)
        swap: dict[str, str] = {} if same == models else dict(zip(side, side[::-1], strict=True))
        for order, name in enumerate(fields, 1):
            value = None if one.get(name) in ("error", "inconsistent") else one.get(name)
            more = about | {"pair": " | ".join(same), "order": order if len(fields) > 1 else None}
            yield " | ".join([question, *same]), judge, swap.get(as_text(value), value), more


def _singles(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """Grades of single answers; a score of -1 is a judgment that could not be read."""
    for (rows.record, one), (question, judge, about) in zip(enumerate(records), _names(records), strict=True):
        value = None if number_in(as_text(one["score"])) == -1 else one["score"]
        yield question, judge, value, about | {"model": one.get("model")}


def _names(records: list[dict]) -> list[tuple[str, str, dict]]:
    """Question, with its turn where there are several; judge, with its prompt where two see one; the rest."""
    turns, named, prompts = {as_text(one.get("turn")) for one in records}, [], defaultdict(set)
    for one in records:
        question = as_text(first_of(one, "question_id", "prompt", "conversation_id"))
        question += f" | turn {as_text(one.get('turn'))}" if len(turns) > 1 else ""
        judge = one.get("judge", "judge")  # a model, or [model, name of its prompt]
        judge, *prompt = map(as_text, judge if isinstance(judge, list) and judge else [judge])
        about = {"time": one.get("tstamp")} | {key: one.get(key) for key in ("turn", "category", "language")}
        named.append((question, judge, " ".join([judge, *prompt]), about))
        prompts[question, judge].add(tuple(prompt))
    several = any(len(some) > 1 for some in prompts.values())
    return [(question, full if several else judge, about) for question, judge, full, about in named]


def _alpaca(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """Preferences between two outputs: 1 the first, 2 the second, 1.5 a tie; weighted ones to the nearer."""
    numbers = [number_in(as_text(one["preference"])) for one in records]
    if any(n == n and n not in (0, 1, 1.5, 2) for n in numbers):
        rows.notes += ("Weighted preferences count as 1 or 2, whichever is nearer.",)
    for (rows.record, one), n in zip(enumerate(records), numbers, strict=True):
        value = None if n != n else 1.5 if n in (0, 1.5) else 1 if n < 1.5 else 2
        model, other = one.get("generator_2"), one.get("generator_1")
        more = {"model": model, "against": other, "dataset": one.get("dataset")}
        yield one["instruction"], one.get("annotator", "annotator"), value, more


def _langfuse(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """Scores by trace and observation; what people scored in the interface has source ANNOTATION."""
    for rows.record, record in enumerate(records):
        # a key is traceId, trace_id or Trace ID
        one = {re.sub("[ _]", "", key).lower(): value for key, value in record.items()}
        places = (as_text(one.get(key)) for key in ("traceid", "sessionid", "observationid"))
        words = as_text(one.get("datatype")).upper() == "CATEGORICAL"
        value = first_of(one, *(("stringvalue", "value") if words else ("value", "stringvalue")))
        scorer = _scorer(rows, one["name"], as_text(one["source"]).upper() == "ANNOTATION")
        more = {"time": one.get("timestamp"), "trace": one.get("tracename")}
        yield " | ".join(filter(None, places)), scorer, value, more


def _langsmith(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """Feedback by run; feedback of people has the source app."""
    for rows.record, one in enumerate(records):
        source = from_json(one.get("feedback_source")) or {"type": one.get("feedback_source.type")}
        scorer = _scorer(rows, one["key"], isinstance(source, dict) and source.get("type") == "app")
        yield one["run_id"], scorer, first_of(one, "score", "value"), {"time": one.get("created_at")}


def _scorer(rows: LabelRows, name: str, person: bool) -> str:
    """What a score is called; a person's apart from the same of a judge, but for the one that is wanted."""
    return f"{name} (annotation)" if person and name != rows.wanted else name


def _ragas(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """Samples x metrics: columns of shares, and those of people."""
    metrics = []
    for name in dict.fromkeys(name for one in records for name in one if not _TEXTS.fullmatch(name)):
        cells = [as_text(one[name]) for one in records if as_text(one.get(name))]
        if cells and (called_human(name) or all(0 <= number_in(cell) <= 1 for cell in cells)):
            metrics.append(name)
    questions = [first_of(one, "user_input", "question") for one in records]
    unique = len(set(map(as_text, questions))) == len(questions)
    for rows.record, one in enumerate(records):
        sample = questions[rows.record] if unique else rows.record
        yield from ((sample, name, one.get(name), {}) for name in metrics)


def _ratings(record: dict) -> dict[str, list[dict]]:
    """Lists of ratings: objects of numbers."""
    lists = {key: some for key, some in record.items() if _RATINGS.search(key) and isinstance(some, list)}
    return {key: some for key, some in lists.items() if some and all(map(_is_rating, some))}


def _is_rating(one: Any) -> bool:
    return isinstance(one, dict) and bool(one) and all(isinstance(v, int | float) for v in one.values())


def _rating_lists(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """Lists of ratings, as SummEval has them: position in the list is the labeler.

    Qualities on one scale are questions: each is a part of the sample, unless one was asked for.
    """
    every = [rating for one in records for some in _ratings(one).values() for rating in some]
    names = dict.fromkeys(name for one in every for name in one)
    highest = {name: max(one.get(name, 0) for one in every) for name in names}
    alike = len({int(np.searchsorted(_SCALES, value)) for value in highest.values()}) == 1 < len(highest)
    if apart := alike and rows.wanted is None:
        rows.notes += (
            f"Each sample and quality ({quoted(highest, 8)}) is an item; for one of them: "
            f"--label {next(iter(highest))}.",
        )
    for rows.record, one in enumerate(records):
        sample = first_of(one | {"": rows.record}, "id", "doc_id", "item_id", "example_id", "")
        more = {"model": first_of(one, "model_id", "model", "system", "system_id")}
        for key, ratings in _ratings(one).items():
            for place, rating in enumerate(ratings, 1):
                who = f"{_RATINGS.sub('', key) or 'rater'} {place}"
                for name, value in rating.items() if apart else ():
                    yield f"{sample} | {name}", who, value, more | {"quality": name}
                if not apart:
                    yield sample, who, rating, more


def _ground_truth(rows: LabelRows, records: list[dict]) -> Iterator[Found]:
    """The classes that labeling jobs of SageMaker arrived at."""
    for rows.record, line in enumerate(records):
        for job in (key.removesuffix("-metadata") for key in line if key.endswith("-metadata")):
            about, task = line[f"{job}-metadata"], first_of(line, "source-ref", "source")
            value = first_of(about, "class-name") or list(about.get("class-map", {}).values())
            parts = isinstance(line[job], dict) and {"annotations", "entities"} & set(line[job])
            yield task, job, [[value]] if parts else value, {"confidence": about.get("confidence")}


TOOLS: tuple = (  # `jtruth.io.exports` says what a line holds
    ("SageMaker Ground Truth manifest", "source(-ref)? .+-metadata", _ground_truth, "labeling job"),
    ("inspect_ai log", "version eval plan", _inspect, "scorer", "score"),
    ("promptfoo result", f"> {_RESULT}", _promptfoo, "scorer"),
    ("promptfoo table", _outputs, _promptfoo_table, "scorer"),
    ("deepeval test run", f"> {'|'.join(_METRICS)}", _deepeval, "metric"),
    ("lm-evaluation-harness log", f"> {_DOCUMENT}", _lm_eval, "metric"),
    ("lm-evaluation-harness summary", "results versions config", _averages, "metric"),
    ("file of pairwise judgments", "winner|g[12]_winner model_[1a] model_[2b]", _pairs, "judge"),
    ("file of MT-bench judgments", "question_id model judge score", _singles, "judge"),
    ("alpaca_eval file", "instruction output_1 output_2 preference", _alpaca, "annotator"),
    ("langfuse export of scores", r"trace[\s_]?id name value source", _langfuse, "score name"),
    ("LangSmith export of feedback", "run_id key score", _langsmith, "feedback key"),
    ("ragas table", f"user_input|question {_SHARES}", _ragas, "metric"),
    ("file with lists of ratings", _ratings, _rating_lists, "rater", "rating"),
)  # fmt: skip
