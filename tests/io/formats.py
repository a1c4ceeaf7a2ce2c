"""Files as the tools of the field write them, made from given labels: one function for each format.

Each takes labels as (task, labeler, "pos" or "neg") and returns the name of a file, its content, and what the
file calls the two classes. Optional keys of the tools are there for some records only.
"""

import io
import json
import zipfile
from collections import defaultdict

import pandas as pd

WORDS = ("pos", "neg")
Rows = list[tuple[str, str, str]]


def by_task(rows: Rows) -> dict[str, dict[str, str]]:
    found = defaultdict(dict)
    for task, who, label in rows:
        found[task][who] = label
    return found


def lines(records) -> str:
    return "\n".join(map(json.dumps, records)) + "\n"


def csv(records, sep=",") -> str:
    return pd.DataFrame(records).to_csv(index=False, sep=sep)


def inspect_log(rows):
    samples = [
        {"id": task, "epoch": 1, "input": "q", "target": "a", "error": None, "metadata": {"topic": task[-1]},
         "scores": {who: {"value": "CI"[label == "neg"], "answer": "x"} for who, label in given.items()}}
        for task, given in by_task(rows).items()
    ]  # fmt: skip
    log = {"version": 2, "status": "success", "eval": {"task": "toy", "model": "m/one"},
           "plan": {"steps": []}, "results": {"total_samples": len(samples)}, "samples": samples}  # fmt: skip
    return "log.json", json.dumps(log, indent=1), ("C", "I")


def inspect_archive(rows, compression=zipfile.ZIP_DEFLATED):
    log = json.loads(inspect_log(rows)[1])
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for sample in log.pop("samples"):
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": log["eval"]}))
        archive.writestr("summaries.json", "[]")
        archive.writestr("reductions.json", "[]")
        archive.writestr("header.json", json.dumps(log))
    return "log.eval", file.getvalue(), ("C", "I")


def promptfoo(rows):
    """Graders of one rubric."""
    results = []
    for k, (task, given) in enumerate(by_task(rows).items()):
        parts = [
            {"pass": label == "pos", "score": 0.5, "reason": "r",
             "assertion": {"type": "llm-rubric", "value": "is right", "metric": who}}
            for who, label in given.items()
        ]  # fmt: skip
        ok = all(part["pass"] for part in parts)
        grading = {"pass": ok, "score": 1, "reason": "r", "componentResults": parts}
        results.append({"id": str(k), "promptIdx": 0, "testIdx": task, "provider": {"id": "p", "label": ""},
                        "vars": {"q": task}, "success": ok, "score": 1, "failureReason": int(not ok),
                        "error": None if ok else "r", "gradingResult": grading})  # fmt: skip
    content = {"evalId": "e", "results": {"version": 3, "prompts": [], "results": results, "stats": {}}}
    return "results.json", json.dumps(content), ("pass", "fail")


def deepeval(rows):
    cases = [
        {"name": task, "input": f"input {task}", "success": True,
         "metricsData": [{"name": who, "threshold": 0.5, "success": label == "pos", "score": 0.7}
                         for who, label in given.items()]}
        for task, given in by_task(rows).items()
    ]  # fmt: skip
    return "run.json", json.dumps({"testFile": "t.py", "testCases": cases}), ("pass", "fail")


def lm_eval(rows):
    records = [
        {"doc_id": task, "doc": {}, "resps": [["r"]], "filtered_resps": ["r"], "filter": "none",
         "metrics": list(given)} | {who: float(label == "pos") for who, label in given.items()}
        for task, given in by_task(rows).items()
    ]  # fmt: skip
    return "samples_x.jsonl", lines(records), ("1", "0")


def pairs(rows):
    records = [
        {"question_id": task, "model_1": "m1", "model_2": "m2", "judge": [who, "pair-v2"], "turn": 1,
         "g1_winner": "model_1" if label == "pos" else "tie",
         "g2_winner": "model_1" if label == "pos" else "tie"}
        for task, who, label in rows
    ]  # fmt: skip
    return "pair.jsonl", lines(records), ("model_1", "tie")


def preferences(rows):
    records = [
        {"question_id": task, "model_a": "m1", "model_b": "m2", "judge": who, "turn": 1,
         "winner": "model_a" if label == "pos" else "model_b"}
        for task, who, label in rows
    ]  # fmt: skip
    return "preferences.csv", csv(records), ("model_a", "model_b")


def singles(rows):
    records = [
        {
            "question_id": task,
            "model": "m1",
            "judge": [who, "single-v1"],
            "score": 9 if label == "pos" else 3.0,
        }
        for task, who, label in rows
    ]
    return "single.jsonl", lines(records), ("9", "3")


def alpaca(rows):
    records = [
        {"instruction": task, "output_1": "a", "output_2": "b", "generator_1": "base", "generator_2": "new",
         "annotator": who, "preference": 2.0 if label == "pos" else 1.0}
        for task, who, label in rows
    ]  # fmt: skip
    return "annotations.json", json.dumps(records), ("2", "1")


def langfuse(rows):
    records = [
        {"id": k, "traceId": task, "observationId": None, "name": who, "value": None,
         "stringValue": label, "dataType": "CATEGORICAL", "source": "EVAL"}
        for k, (task, who, label) in enumerate(rows)
    ]  # fmt: skip
    return "scores.csv", csv(records), WORDS


def langsmith(rows):
    records = [
        {"id": k, "run_id": task, "key": who, "score": float(label == "pos"), "value": None, "comment": "c"}
        for k, (task, who, label) in enumerate(rows)
    ]
    return "feedback.jsonl", lines(records), ("1", "0")


def ragas(rows):
    metric = {"ann": "faithfulness", "bob": "context_recall", "cid": "answer_relevancy"}
    records = [
        {"user_input": task, "response": "r", "retrieved_contexts": "['c']"}
        | {metric[who]: 0.75 if label == "pos" else 0.25 for who, label in given.items()}
        for task, given in by_task(rows).items()
    ]
    return "ragas.csv", csv(records), ("0.75", "0.25")


def ratings(rows):
    """Labelers are positions: ann stands first, and who gave no label has no entry of this quality."""
    who = sorted({name for _, name, _ in rows})
    records = [
        {"id": task, "decoded": "d", "expert_annotations": [
            {"coherence": 5 if given[name] == "pos" else 1} if name in given else {"other": 3}
            for name in who]}
        for task, given in by_task(rows).items()
    ]  # fmt: skip
    return "summeval.jsonl", lines(records), ("5", "1")


def nested(rows):
    return "answers.json", json.dumps(by_task(rows)), WORDS


def toloka(rows):
    records = [
        {"INPUT:image": f"{task}.png", "OUTPUT:result": label, "GOLDEN:result": "",
         "ASSIGNMENT:task_id": task, "ASSIGNMENT:worker_id": who, "ASSIGNMENT:status": "APPROVED"}
        for task, who, label in [*rows, ("t1", "spam", "neg")]
    ]  # fmt: skip
    records[-1]["ASSIGNMENT:status"] = "REJECTED"
    return "assignments.tsv", csv(records, "\t"), WORDS


def appen(rows):
    records = [
        {"_unit_id": task, "_golden": "false", "_id": k, "_tainted": "false", "_worker_id": who,
         "mood": label, "orig__golden": "", "mood_gold": "", "text": f"text {task}"}
        for k, (task, who, label) in enumerate(rows)
    ]  # fmt: skip
    return "full.csv", csv(records), WORDS


def zooniverse(rows):
    records = [
        {"classification_id": k, "user_name": who, "user_id": "", "workflow_id": 1, "subject_ids": task,
         "annotations": json.dumps([{"task": "T0", "task_label": "Mood?", "value": label}])}
        for k, (task, who, label) in enumerate(rows)
    ]  # fmt: skip
    return "classifications.csv", csv(records), WORDS


def qualtrics(rows):
    tasks = list(by_task(rows))
    head = {"Status": "Response Type", "ResponseId": "Response ID"} | {
        task: f"Is it {task}?" for task in tasks
    }
    ids = {"Status": "status", "ResponseId": "_recordId"} | {task: f"QID{k}" for k, task in enumerate(tasks)}
    ids = {name: json.dumps({"ImportId": code}, separators=(",", ":")) for name, code in ids.items()}
    people = by_task([(who, task, label) for task, who, label in rows])
    answers = [{"Status": "IP Address", "ResponseId": who} | given for who, given in people.items()]
    return "survey.csv", csv([head, ids, *answers]), WORDS


def argilla_records(rows):
    records = [
        {"fields": {"text": "t"}, "external_id": task, "suggestions": [], "metadata": {},
         "responses": [{"user_id": who, "status": "submitted", "values": {"mood": {"value": label}}}
                       for who, label in given.items()]}
        for task, given in by_task(rows).items()
    ]  # fmt: skip
    return "argilla.jsonl", lines(records), WORDS


def pairwise_studio(rows):
    side = {"pos": "left", "neg": "right"}
    records = [
        {"id": task, "data": {"a": "x"}, "predictions": [], "annotations": [
            {"id": who, "completed_by": {"id": 1, "email": who}, "was_cancelled": False, "result": [
                {"from_name": "pw", "to_name": "a", "type": "pairwise", "value": {"selected": side[label]}}]}
            for who, label in given.items()]}
        for task, given in by_task(rows).items()
    ]  # fmt: skip
    return "studio.json", json.dumps(records), ("left", "right")


def manifest(rows):
    records = [
        {"source": task} | {who: 1 for who in given}
        | {f"{who}-metadata": {"class-name": label, "confidence": 0.8, "human-annotated": "yes"}
           for who, label in given.items()}
        for task, given in by_task(rows).items()
    ]  # fmt: skip
    return "output.manifest", lines(records), WORDS


FORMATS = {
    one.__name__: one
    for one in (inspect_log, inspect_archive, promptfoo, deepeval, lm_eval, pairs, preferences, singles,
                alpaca, langfuse, langsmith, ragas, ratings, nested, toloka, appen, zooniverse, qualtrics,
                argilla_records, pairwise_studio, manifest)
}  # fmt: skip
