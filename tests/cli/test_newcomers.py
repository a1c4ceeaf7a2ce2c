"""Five new users with files as their tools write them: two commands at most, no refusal, a short screen."""

import csv
import json

import numpy as np
import pytest

from jtruth.answers.terminal import size
from tests.cli.files import write

pytestmark = pytest.mark.usefixtures("few_lineages")

SIZE = 60
RNG = np.random.default_rng(5)
TRUTH = RNG.integers(0, 2, SIZE)
RIGHT = {"ann": 0.9, "bob": 0.85, "cy": 0.8, "dora": 0.85, "spammer": 0.5}
GIVEN = {who: np.where(RNG.random(SIZE) < p, TRUTH, 1 - TRUTH) for who, p in RIGHT.items()}
MODEL = np.where(RNG.random(SIZE) < 0.9, TRUTH, 1 - TRUTH)
SCORE = np.clip(np.where(MODEL == 1, 0.7, 0.3) + RNG.normal(0, 0.15, SIZE), 0.02, 0.98)
PASS = ("fail", "pass")
JUDGES = ("ann", "bob", "cy", "dora")


def table(path, header, rows):
    """With a mark at the beginning, semicolons and the line ends of Windows."""
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file, delimiter=";").writerows([header, *rows])


def judges(folder):
    """A line for each answer, the judges' verdicts in an object, a person's beside 20 of them."""
    lines = [
        {"id": f"q{i}", "question": f"Why {i}?", "answer": f"Because {i}.",
         "verdicts": {f"{who}-4": PASS[GIVEN[who][i]] for who in JUDGES},
         "human_gold": PASS[TRUTH[i]] if i < 20 else None}
        for i in range(SIZE)
    ]  # fmt: skip
    (folder / "judges.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def spreadsheet(folder):
    """As a spreadsheet of a German writes it: a mark at the beginning, semicolons, decimal commas."""
    rows = [(f"K{i:03}", who, ("nein", "ja")[z[i]], "") for who, z in GIVEN.items() for i in range(SIZE)]
    table(folder / "urteile.csv", ("Item", "Rater", "Rating", "Bemerkung"), rows)
    said = [(f"K{i:03}", ("nein", "ja")[MODEL[i]], f"{SCORE[i]:.3f}".replace(".", ",")) for i in range(SIZE)]
    table(folder / "modell.csv", ("Item", "Rating", "score"), said)


def label_studio(folder):
    """Annotations of four people, one of them ground truth in places, and a model's predictions."""

    def result(value):
        return [{"id": "a", "from_name": "sentiment", "to_name": "text", "type": "choices",
                 "value": {"choices": [("Negative", "Positive")[value]]}, "origin": "manual"}]  # fmt: skip

    tasks = []
    for i in range(SIZE):
        given = [
            {"id": 10 * i + t, "completed_by": {"id": t, "email": f"{who}@x.org"},
             "result": result(GIVEN[who][i]), "was_cancelled": False, "ground_truth": False, "lead_time": 4.2}
            for t, who in enumerate(JUDGES)
        ]  # fmt: skip
        if i < 20:
            given.append(given[0] | {"id": 10 * i + 9, "ground_truth": True, "result": result(TRUTH[i])})
        said = {"id": i, "model_version": "v2", "score": 0.9, "result": result(MODEL[i]), "task": i}
        tasks.append({"id": i, "data": {"text": f"text {i}"}, "annotations": given, "predictions": [said]})
    (folder / "project-1.json").write_text(json.dumps(tasks))


def argilla(folder):
    """Records with responses, and suggestions of a model."""
    records = [
        {"id": f"r{i}", "status": "completed", "fields": {"text": f"text {i}"}, "metadata": {}, "vectors": {},
         "suggestions": {"label": {"value": PASS[MODEL[i]], "score": 0.8, "agent": "gpt"}},
         "responses": {"label": [{"value": PASS[GIVEN[who][i]], "user_id": who} for who in JUDGES]}}
        for i in range(SIZE)
    ]  # fmt: skip
    (folder / "argilla.json").write_text(json.dumps(records))


def wide(folder):
    """A statistician's: one row for each case, raters in words of their own, NA, and the reference."""
    words = (PASS, ("no", "yes"), ("FALSE", "TRUE"), PASS)
    rows = [
        (i + 1, *("NA" if (i + t) % 9 == 0 else words[t][GIVEN[who][i]] for t, who in enumerate(JUDGES)),
         PASS[MODEL[i]], PASS[TRUTH[i]] if i < 20 else "NA")
        for i in range(SIZE)
    ]  # fmt: skip
    write(folder / "ratings.csv", ("case", "rater1", "rater2", "rater3", "rater4", "model", "truth"), rows)


PATHS = [
    (judges, "inspect judges.jsonl", "4 labelers, 240 labels"),
    (judges, "prevalence judges.jsonl --gold column:human_gold --positive pass", "Verify next: "),
    (spreadsheet, "labelers urteile.csv", "spammer"),
    (spreadsheet, "evaluate urteile.csv --predictions modell.csv --scores --positive ja", "ROC"),
    (label_studio, "inspect project-1.json", "--predictions export:v2 --gold"),
    (label_studio, "evaluate project-1.json --predictions export:v2 --gold export:ground_truth", "accuracy"),
    (argilla, "evaluate argilla.json --predictions export:gpt --positive pass", "accuracy"),
    (wide, "inspect ratings.csv", "column:model"),
    (wide, "evaluate ratings.csv --predictions column:model --gold column:truth --positive pass", "accuracy"),
]
SLOW = ("prevalence", "--scores")  # the same files are read in other paths


@pytest.mark.parametrize(
    ("files", "line", "says"),
    [pytest.param(*p, marks=[pytest.mark.slow] * any(w in p[1] for w in SLOW), id=p[1]) for p in PATHS],
)
def test_a_path_is_short_and_not_refused(run, tmp_path, monkeypatch, files, line, says):
    monkeypatch.setenv("COLUMNS", "80")
    files(tmp_path)
    code, out, err = run(*line.split(), folder=tmp_path, full=False)
    assert code == 0 and says in out, (out, err)
    assert len(out.splitlines()) <= 20 and max(map(size, out.splitlines())) <= 80, out


@pytest.mark.parametrize(("files", "name"), [(label_studio, "project-1.json"), (argilla, "argilla.json")])
def test_models_and_gold_of_an_export_stand_beside_the_labels(answer, refusal, tmp_path, files, name):
    files(tmp_path)
    agent = "v2" if files is label_studio else "gpt"
    found, out = answer("inspect", tmp_path / name)
    assert found["num_labelers"] == 4 and f"model {agent} of 60 tasks (--predictions export:{agent})" in out
    words = ("--predictions", f"export:{agent}", "--method", "majority_vote")
    metrics = answer("evaluate", tmp_path / name, *words)[0]["metrics"]
    votes = sum(GIVEN[who] for who in JUDGES)
    assert metrics["accuracy"]["mean"] == pytest.approx(np.mean((votes > 2) == MODEL), abs=0.2)  # ties
    if files is label_studio:
        assert "verified labels of 20 tasks (--gold export:ground_truth)" in out
        gold = ("--gold", "export:ground_truth", "--method", "majority_vote")
        assert "20" in answer("consensus", tmp_path / name, *gold)[1]
    err = refusal("evaluate", tmp_path / name, "--predictions", "export:no")
    assert "no predictions or gold called 'no' here; there are" in err and f"'{agent}'" in err
