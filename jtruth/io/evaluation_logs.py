"""Logs of tools that run models and score their answers: a generator for each, listed in `jtruth.io.exports`.

- inspect_ai: .json and .eval. Samples x epochs x scorers; metadata of a sample becomes columns.
- promptfoo: JSON, JSON lines and CSV. Providers x tests x repeats; the label is pass or fail. Several graders
  of one rubric are labelers, otherwise all assertions together are one (--label assertions, --label success).
- deepeval: a test run. Each metric is a labeler: pass or fail by its threshold.
- lm-evaluation-harness: samples, with the metrics of one filter (--label exact_match,strict-match).
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from jtruth._validation.words import Source
from jtruth.io.label_rows import LabelRows, as_text, first_of
from jtruth.io.verdicts import Verdict, groups, verdicts


def is_inspect(record: dict) -> bool:
    """Whether this is a log of inspect_ai."""
    return isinstance(record.get("eval"), dict) and {"model", "task"} <= set(record["eval"])


@verdicts()
def inspect_log(rows: LabelRows, records: list[dict], label: str | None) -> Iterator[Verdict]:
    """Samples x epochs x scorers of one or several logs."""
    samples = [(log, sample) for log in records for sample in log.get("samples") or []]
    if not samples:
        raise rows.unreadable("it has no samples: it is a header alone, or the run ended early")
    rows.source = Source(rows.source.name, "sample")
    plain = [scorer for _, s in samples for scorer, v in _scores(s) if not isinstance(v, dict)]
    keys = [key for _, s in samples for _, v in _scores(s) if isinstance(v, dict) for key in v]
    key = (
        rows.one_of([*plain, *keys], label, "score") if keys else None
    )  # which of a scorer's several values?
    rows.wanted = label if key is None or key in plain else None
    for rows.record, (log, sample) in enumerate(samples):
        if sample.get("error") or sample.get("invalidation"):
            rows.skipped["samples with an error"] += 1
            continue
        if not any(_scores(sample)):
            rows.skipped["samples without a score"] += 1
        more = groups(sample.get("metadata")) | {"model": log["eval"]["model"], "epoch": sample.get("epoch")}
        for scorer, value in _scores(sample):
            if not isinstance(value, dict):
                yield sample["id"], scorer, value if key in (None, scorer) else None, more
            elif key in value:
                yield sample["id"], scorer, value[key], more


def _scores(sample: dict) -> Iterator[tuple[str, Any]]:
    """Scorer and value; old logs have one score without a name."""
    scores = sample.get("scores") or ({"score": sample["score"]} if sample.get("score") else {})
    for scorer, score in scores.items():
        yield scorer, score.get("value") if isinstance(score, dict) else score


def is_promptfoo(record: dict) -> bool:
    """Whether this is a file or a line of promptfoo's results."""
    return bool(_results(record)) or {"evalId", "results"} <= set(record)


def _results(record: dict) -> list[dict]:
    """Results: in {"results": {"results": [...]}}, in {"results": [...]}, or the record itself."""
    found: Any = record
    while isinstance(found, dict) and "results" in found:
        found = found["results"]
    results = [one for one in (found if isinstance(found, list) else [found]) if isinstance(one, dict)]
    known = {"vars", "testCase", "testIdx"}, {"provider", "promptIdx", "gradingResult", "namedScores"}
    return [one for one in results if "success" in one and not any(keys.isdisjoint(one) for keys in known)]


@verdicts()
def promptfoo(rows: LabelRows, records: list[dict], label: str | None) -> Iterator[Verdict]:
    """Providers x tests x repeats."""
    results = [one for record in records for one in _results(record)]
    rows.source = Source(rows.source.name, "result")
    rows.wanted = None if label in ("success", "assertions") else label
    apart = label != "success" and (label is not None or any(map(_same_rubric, results)))
    tests, seen, prompts = {}, Counter(), defaultdict(dict)
    for one in results:
        prompts[_name(one, "provider")].setdefault(
            _name(one, "prompt"), len(prompts[_name(one, "provider")]) + 1
        )
    for rows.record, one in enumerate(results):
        test = tests.setdefault(_test(one), one.get("testIdx", len(tests)))
        model, parts = _name(one, "provider"), dict(_assertions(one))
        model += f" | prompt {prompts[model][_name(one, 'prompt')]}" if len(prompts[model]) > 1 else ""
        seen[test, model] += 1
        more = groups(one.get("metadata")) | {"model": model, "repeat": seen[test, model]}
        if one.get("failureReason") == 2 or (one.get("error") and one.get("gradingResult") is None):
            rows.skipped["results with an error"] += 1
            continue
        passed = one["success"]
        if "human" in parts:
            yield test, "human", _pass(parts.pop("human")["pass"]), more
            passed = all(part["pass"] for part in parts.values()) if parts else None
        for name, verdict in ((k, v["pass"]) for k, v in parts.items()) if apart else [("promptfoo", passed)]:
            yield test, name, _pass(verdict), more


def _pass(passed: Any) -> str | None:
    return None if passed is None else "pass" if passed else "fail"


def _name(one: dict, key: str) -> str:
    """What a provider or a prompt is called."""
    value = one.get(key)
    return as_text(first_of(value, "label", "id", "raw") if isinstance(value, dict) else value)


def _test(one: dict) -> str:
    """What makes a test: its variables and assertions; repeats of a test have numbers of their own."""
    case = one.get("testCase") or {}
    what = [one.get("vars") or case.get("vars"), case.get("assert"), case.get("description")]
    return json.dumps(what if what[0] else [one.get("testIdx"), *what], sort_keys=True)


def _assertions(one: dict) -> Iterator[tuple[str, dict]]:
    """Name and result of every assertion; of equal names the second is "name 2"."""
    seen = Counter()
    for part in (one.get("gradingResult") or {}).get("componentResults") or []:
        if name := first_of((part or {}).get("assertion") or {}, "metric", "type"):
            seen[name] += 1
            yield name if seen[name] == 1 else f"{name} {seen[name]}", part


def _same_rubric(one: dict) -> bool:
    """Whether several assertions of a result ask the same, of several graders."""
    about = [part["assertion"] for _, part in _assertions(one)]
    asked = Counter((a.get("type"), as_text(a["value"])) for a in about if a.get("value"))
    return any(number > 1 for number in asked.values())


_CELL = re.compile(r"\[?(PASS|FAIL|ERROR)\b")


def outputs(row: dict) -> dict[str, str]:
    """Column of an output in promptfoo's CSV -> PASS, FAIL or ERROR: in its cell or in Status after it."""
    found = {}
    for (name, cell), (behind, status) in pairwise([*row.items(), ("", "")]):
        word = status if behind.startswith("Status") else cell if as_text(cell)[:1] == "[" else ""
        if name.startswith("[") and "]" in name and (match := _CELL.match(as_text(word))):
            found[name] = match[1]
    return found


@verdicts()
def promptfoo_table(rows: LabelRows, records: list[dict], label: str | None) -> Iterator[Verdict]:
    """The CSV: a row for each test, a column for each provider and prompt."""
    columns = list(dict.fromkeys(name for row in records for name in outputs(row)))
    many, seen = Counter(name[1:].partition("]")[0] for name in columns), Counter()
    tests: dict[tuple, int] = {}
    for rows.record, row in enumerate(records):
        given = tuple(row.values())[: list(row).index(columns[0])]
        test = tests.setdefault(given or (rows.record,), rows.record)
        seen[test] += 1
        for name, word in outputs(row).items():
            model = name[1:].partition("]")[0]
            more = {"model": name if many[model] > 1 else model, "repeat": seen[test]}
            if word == "ERROR":
                rows.skipped["results with an error"] += 1
            else:
                yield test, "promptfoo", word.lower(), more


_CASES = ("testCases", "test_cases", "testResults", "test_results", "conversationalTestCases")
_METRICS = ("metricsData", "metrics_data", "metricsMetadata", "metrics_metadata")


def deepeval_cases(record: dict) -> list[tuple[dict, Any]]:
    """Test cases of a test run of deepeval, and the model."""
    runs = [record, *(record[k] for k in ("testRunData", "test_run_data") if isinstance(record.get(k), dict))]
    model = first_of(record.get("hyperparameters") or {}, "model")
    cases = [(case, model) for run in runs for key in _CASES for case in run.get(key) or []]
    return [one for one in cases if isinstance(one[0], dict) and any(key in one[0] for key in _METRICS)]


@verdicts("metric", people=False)
def deepeval(rows: LabelRows, records: list[dict], label: str | None) -> Iterator[Verdict]:
    """Test cases x metrics."""
    cases = [one for record in records for one in deepeval_cases(record)]
    rows.source = Source(rows.source.name, "test case")
    inputs = defaultdict(set)
    for case, _ in cases:
        inputs[case.get("name")].add(as_text(case.get("input")))
    for rows.record, (case, model) in enumerate(cases):
        name, text = case.get("name"), case.get("input", rows.record)
        sample = name if name and len(inputs[name]) == 1 else f"{name} | {text}" if name else text
        more = groups(first_of(case, "metadata", "additionalMetadata")) | {"model": model}
        for metric in first_of(case, *_METRICS) or []:
            score, passed = metric.get("score"), metric.get("success")
            if passed is None and score is not None:
                passed = score >= metric.get("threshold", 0.5)
            failed = metric.get("error") or (score is None and "score" in metric)
            yield sample, metric["name"], None if failed else _pass(passed), more


def is_lm_eval(record: dict) -> bool:
    """Whether this is a line of samples, or results with samples."""
    return {"doc_id", "resps"} <= set(record) or bool(_samples(record))


def _samples(record: dict) -> dict[str, list[dict]]:
    """Task -> samples in a file of results."""
    samples = record.get("samples") if "results" in record else None
    some = samples.items() if isinstance(samples, dict) else ()
    return {task: lines for task, lines in some if isinstance(lines, list) and lines and "doc_id" in lines[0]}


@verdicts("metric", people=False)
def lm_eval(rows: LabelRows, records: list[dict], label: str | None) -> Iterator[Verdict]:
    """Documents x metrics of one filter; `label` is a metric, a filter, or both: "acc,none"."""
    tasks = {task: some for record in records for task, some in _samples(record).items()} or {"": records}
    lines = [(task, line) for task, some in tasks.items() for line in some]
    rows.source = rows.source if "" in tasks else Source(rows.source.name, "sample")
    filters = list(dict.fromkeys(as_text(line.get("filter")) for _, line in lines))
    metric, _, wanted = (label or "").rpartition(",")
    if label is not None and wanted not in filters:
        metric, wanted = label, ""
    wanted = filters[0] if len(filters) == 1 else rows.one_of(filters, wanted or None, "filter")
    metrics = dict.fromkeys(name for _, line in lines for name in line.get("metrics") or _metrics(line))
    rows.wanted = metric or None
    for rows.record, (task, line) in enumerate(lines):
        sample = f"{task} | {line['doc_id']}" if len(tasks) > 1 else line["doc_id"]
        for name in metrics if as_text(line.get("filter")) == wanted else ():
            value = line.get(name)
            yield sample, name, value if isinstance(value, int | float | str) else None, {"benchmark": task}


def _metrics(line: dict) -> list[str]:
    """Metrics of a line of a version that does not name them: numbers that are no part of the sample."""
    return [k for k, v in line.items() if isinstance(v, int | float) and not k.endswith(("_id", "_idx"))]
