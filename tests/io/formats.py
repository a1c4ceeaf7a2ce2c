"""Files in the formats of annotation tools, made from given labels: (task, labeler, "pos" or "neg").

A format is a file name, its words for the two classes, and a function for one record: of a label and its
number, or of a task and its labels by labeler.
"""

import io
import json
import zipfile
from collections import defaultdict

import pandas as pd

WORDS = ("pos", "neg")
Rows = list[tuple[str, str, str]]
SHARES = {"ann": "faithfulness", "bob": "context_recall", "cid": "answer_relevancy"}  # the labelers of ragas


def by_task(rows: Rows) -> dict[str, dict[str, str]]:
    found = defaultdict(dict)
    for task, who, label in rows:
        found[task][who] = label
    return found


def lines(records) -> str:
    return "\n".join(map(json.dumps, records)) + "\n"


def csv(records, sep=",") -> str:
    return pd.DataFrame(records).to_csv(index=False, sep=sep)


# fmt: off
def pair(k, task, who, label):
    """Both orders agree."""
    winner = "model_1" if label == "pos" else "tie"
    return {"question_id": task, "model_1": "m1", "model_2": "m2", "judge": [who, "pair-v2"], "turn": 1,
            "g1_winner": winner, "g2_winner": winner}


OF_LABELS = {
    "pairs": ("pair.jsonl", ("model_1", "tie"), pair),
    "preferences": ("preferences.csv", ("model_a", "model_b"), lambda k, task, who, label: {
        "question_id": task, "model_a": "m1", "model_b": "m2", "judge": who, "turn": 1,
        "winner": "model_a" if label == "pos" else "model_b"}),
    "singles": ("single.jsonl", ("9", "3"), lambda k, task, who, label: {
        "question_id": task, "model": "m1", "judge": [who, "v1"], "score": 9 if label == "pos" else 3.0}),
    "alpaca": ("annotations.json", ("2", "1"), lambda k, task, who, label: {
        "instruction": task, "output_1": "a", "output_2": "b", "generator_1": "base", "generator_2": "new",
        "annotator": who, "preference": 2.0 if label == "pos" else 1.0}),
    "langfuse": ("scores.csv", WORDS, lambda k, task, who, label: {
        "id": k, "traceId": task, "observationId": None, "name": who, "value": None,
        "stringValue": label, "dataType": "CATEGORICAL", "source": "EVAL"}),
    "langsmith": ("feedback.jsonl", ("1", "0"), lambda k, task, who, label: {
        "id": k, "run_id": task, "key": who, "score": float(label == "pos"), "value": None, "comment": "c"}),
    "toloka": ("assignments.tsv", WORDS, lambda k, task, who, label: {
        "INPUT:image": f"{task}.png", "OUTPUT:result": label, "GOLDEN:result": "", "ASSIGNMENT:task_id": task,
        "ASSIGNMENT:worker_id": who, "ASSIGNMENT:status": "REJECTED" if who == "spam" else "APPROVED",
        "ACCEPT:verdict": "-" if who == "late" else "+"}),
    "appen": ("full.csv", WORDS, lambda k, task, who, label: {
        "_unit_id": task, "_golden": "false", "_id": k, "_tainted": "false", "_worker_id": who,
        "mood": label, "orig__golden": "", "mood_gold": "", "text": f"text {task}"}),
    "zooniverse": ("classifications.csv", WORDS, lambda k, task, who, label: {
        "classification_id": k, "user_name": who, "user_id": "", "workflow_id": 1, "subject_ids": task,
        "annotations": json.dumps([{"task": "T0", "task_label": "Mood?", "value": label}])}),
}


def assertions(task, given):
    """Graders of one rubric."""
    parts = [{"pass": label == "pos", "score": 0.5, "reason": "r",
              "assertion": {"type": "llm-rubric", "value": "is right", "metric": who}}
             for who, label in given.items()]
    ok = all(part["pass"] for part in parts)
    grading = {"pass": ok, "score": 1, "reason": "r", "componentResults": parts}
    return {"promptIdx": 0, "testIdx": task, "provider": {"id": "p", "label": ""}, "vars": {"q": task},
            "success": ok, "failureReason": 1 - ok, "error": None if ok else "r", "gradingResult": grading}


def ratings(task, given):
    """Labelers are positions: who gave no label has no entry of this quality, and all three have a place."""
    known = {"pos": {"coherence": 5}, "neg": {"coherence": 1}, None: {"other": 3}}
    return {"id": task, "decoded": "d", "expert_annotations": [known[given.get(who)] for who in SHARES]}


def pairwise(task, given):
    """Label Studio's choice between two sides."""
    annotations = [{"id": who, "completed_by": {"id": 1, "email": who}, "was_cancelled": False, "result": [
        {"from_name": "pw", "to_name": "a", "type": "pairwise",
         "value": {"selected": "left" if label == "pos" else "right"}}]} for who, label in given.items()]
    return {"id": task, "data": {"a": "x"}, "predictions": [], "annotations": annotations}


OF_TASKS = {
    "inspect_log": ("log.json", ("C", "I"), lambda task, given: {
        "id": task, "epoch": 1, "input": "q", "target": "a", "error": None, "metadata": {"topic": task[-1]},
        "scores": {who: {"value": "CI"[label == "neg"], "answer": "x"} for who, label in given.items()}}),
    "promptfoo": ("results.json", ("pass", "fail"), assertions),
    "deepeval": ("run.json", ("pass", "fail"), lambda task, given: {
        "name": task, "input": f"input {task}", "success": True, "metricsData": [
            {"name": who, "threshold": 0.5, "success": label == "pos", "score": 0.7}
            for who, label in given.items()]}),
    "lm_eval": ("samples_x.jsonl", ("1", "0"), lambda task, given: {
        "doc_id": task, "doc": {}, "resps": [["r"]], "filtered_resps": ["r"], "filter": "none",
        "metrics": list(given)} | {who: float(label == "pos") for who, label in given.items()}),
    "ragas": ("ragas.csv", ("0.75", "0.25"), lambda task, given: {
        "user_input": task, "response": "r", "retrieved_contexts": "['c']"}
        | {SHARES[who]: 0.75 if label == "pos" else 0.25 for who, label in given.items()}),
    "ratings": ("summeval.jsonl", ("5", "1"), ratings),
    "argilla": ("argilla.jsonl", WORDS, lambda task, given: {
        "fields": {"text": "t"}, "external_id": task, "suggestions": [], "metadata": {}, "responses": [
            {"user_id": who, "status": "submitted", "values": {"mood": {"value": label}}}
            for who, label in given.items()]}),
    "pairwise_studio": ("studio.json", ("left", "right"), pairwise),
    "manifest": ("output.manifest", WORDS, lambda task, given: {"source": task} | dict.fromkeys(given, 1) | {
        f"{who}-metadata": {"class-name": label, "confidence": 0.8, "human-annotated": "yes"}
        for who, label in given.items()}),
}
AROUND = {  # what records stand in
    "inspect_log": lambda records: {
        "version": 2, "status": "success", "eval": {"task": "toy", "model": "m/one"}, "plan": {"steps": []},
        "results": {"total_samples": len(records)}, "samples": records},
    "promptfoo": lambda records: {
        "evalId": "e", "results": {"version": 3, "prompts": [], "results": records, "stats": {}}},
    "deepeval": lambda records: {"testFile": "t.py", "testCases": records},
}
# fmt: on


def written(name: str, rows: Rows) -> tuple[str, str | bytes]:
    """Name and content of a file of this format."""
    if name in OTHERS:
        return OTHERS[name](rows)
    if name in OF_LABELS:
        file, _, record = OF_LABELS[name]
        more = [("t1", "spam", "neg"), ("t1", "late", "neg")] if name == "toloka" else []
        records = [record(k, *row) for k, row in enumerate([*rows, *more])]
    else:
        file, _, record = OF_TASKS[name]
        records = [record(task, given) for task, given in by_task(rows).items()]
    if file.endswith(("csv", "tsv")):
        return file, csv(records, "\t" if file.endswith("tsv") else ",")
    plain = not file.endswith(".json")
    return file, lines(records) if plain else json.dumps(AROUND.get(name, list)(records), indent=1)


def inspect_archive(rows: Rows, compression=zipfile.ZIP_DEFLATED) -> tuple[str, bytes]:
    log = json.loads(written("inspect_log", rows)[1])
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for sample in log.pop("samples"):
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
        start = {name: log[name] for name in ("version", "eval", "plan")}
        for name, found in (
            ("_journal/start", start),
            ("summaries", []),
            ("reductions", []),
            ("header", log),
        ):
            archive.writestr(f"{name}.json", json.dumps(found))
    return "log.eval", file.getvalue()


def qualtrics(rows: Rows) -> tuple[str, str]:
    tasks = list(by_task(rows))
    head = {"Status": "Response Type", "ResponseId": "Response ID"} | {t: f"Is it {t}?" for t in tasks}
    ids = {"Status": "status", "ResponseId": "_recordId"} | {task: f"QID{k}" for k, task in enumerate(tasks)}
    ids = {name: json.dumps({"ImportId": code}, separators=(",", ":")) for name, code in ids.items()}
    people = by_task([(who, task, label) for task, who, label in rows])
    answers = [{"Status": "IP Address", "ResponseId": who} | given for who, given in people.items()]
    return "survey.csv", csv([head, ids, *answers])


OTHERS = {"inspect_archive": inspect_archive, "qualtrics": qualtrics}
CALLED = {name: words for name, (_, words, _) in (OF_LABELS | OF_TASKS).items()}
CALLED |= {"inspect_archive": ("C", "I"), "qualtrics": WORDS}  # format -> what it calls the two classes
