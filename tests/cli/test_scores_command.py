"""`jtruth evaluate --scores`: what it prints, writes and draws, and what it refuses."""

import json

import numpy as np
import pytest

from jtruth.evaluation import evaluate_class_scores, evaluate_scores
from jtruth.io import read_labels, read_predictions
from jtruth.noise import Symmetric


@pytest.fixture
def base(small):
    rng = np.random.default_rng(0)
    lines = (small / "pred.csv").read_text().splitlines()
    scored = [f"{line},{rng.normal('yes' in line):.3f}" for line in lines[1:]]
    (small / "scored.csv").write_text("\n".join(["task,label,score", *scored]) + "\n")
    return ["evaluate", small / "labels.csv", "--classes", "no,yes", "--predictions", small / "scored.csv"]


def test_scores(run, small, base, tmp_path):
    known = [*base, "--scores", "--noise", small / "noise.json"]
    extra = [
        "--report",
        tmp_path / "o.html",
        "--json",
        tmp_path / "o.json",
        "--plot",
        tmp_path / "o.svg",
        "--threshold",
        ".5",
        "--cost",
        "1,5",
    ]
    code, out, _ = run(*known, *extra)
    assert code == 0 and "Area under the ROC curve" in out and "</svg>" in (tmp_path / "o.svg").read_text()
    assert "Positive from this threshold up (cheapest for the cost)" in out and "cost" in out
    labels = read_labels(small / "labels.csv", classes=("no", "yes"))
    read = read_predictions(small / "scored.csv", labels)
    found = evaluate_scores(
        read.scores, labels, noise=Symmetric(0.2, 2), prior=[0.5, 0.5], threshold=0.5, cost=(1, 5)
    )
    answer = json.loads((tmp_path / "o.json").read_text())
    assert answer.pop("next").startswith("jtruth inspect")
    assert answer == found.to_dict() and len(answer["curves"]["roc"]["mean"]) == 101
    assert answer["thresholds"][0]["threshold"] == 0.5
    page = (tmp_path / "o.html").read_text()
    assert f"{found.auc.mean:.3f}" in page and page.count("<svg") >= 4 and "--report" in page

    alone = small / "alone.csv"  # scores need no column of classes beside them
    rows = [line.split(",") for line in (small / "scored.csv").read_text().splitlines()]
    alone.write_text("".join(f"{task},{score}\n" for task, _, score in rows))
    again = run(*known[:4], "--predictions", alone, *known[6:], *extra)[1]
    assert again.splitlines()[0] == out.splitlines()[0]

    foreign = small / "foreign.csv"
    foreign.write_text("task,label,p_no,p_yes,p_maybe\nt0,no,.5,.5,0\n")
    for arguments, message in (
        ([*known, "--gold", small / "gold.csv", "--inclusion", small / "gold.csv"], "inclusion"),
        ([*known, "--cost", "1"], "give two numbers, FP,FN"),
        ([*known, "--cost", "0,0"], "not both 0"),
        ([*base, "--plot", tmp_path / "o.svg"], "say --scores too"),
        ([*base, "--cost", "1,5"], "say --scores too"),
        (["evaluate", small / "labels.csv", "--rater", "ann", "--scores"], "give --predictions"),
        ([*known[:4], "--predictions", small / "pred.csv", *known[6:]], "no column 'score'"),
        ([*known[:4], "--predictions", foreign, *known[6:]], "of a class that does not exist"),
        ([*known[:4], "--predictions", alone, *known[7:]], "Grade the scores by --scores"),
    ):
        code, _, err = run(*arguments)
        assert code == 2 and message in err, err


@pytest.mark.slow
def test_more_classes_are_judged_one_against_the_rest(run, tmp_path):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 60)
    names = np.array(["cat", "dog", "owl"])
    votes = np.where(rng.random((60, 3)) < 0.8, y[:, None], rng.integers(0, 3, (60, 3)))
    rows = [f"t{i},w{t},{names[votes[i, t]]}" for i in range(60) for t in range(3)]
    (tmp_path / "l.csv").write_text("\n".join(["task,worker,label", *rows]) + "\n")
    p = np.round(0.5 * np.eye(3)[y] + 0.5 * rng.dirichlet(np.ones(3), 60), 3)
    p[:, 2] = np.round(1 - p[:, 0] - p[:, 1], 3)
    lines = [f"t{i},{names[p[i].argmax()]}," + ",".join(f"{v:.3f}" for v in p[i]) for i in range(60)]
    (tmp_path / "p.csv").write_text("\n".join(["task,label,cat,dog,owl", *lines]) + "\n")
    (tmp_path / "n.json").write_text(json.dumps({"symmetric": 0.2, "prior": [1 / 3] * 3}))
    asked = ["evaluate", tmp_path / "l.csv", "--predictions", tmp_path / "p.csv", "--scores"]
    asked += ["--noise", tmp_path / "n.json"]
    code, out, _ = run(*asked, "--json", tmp_path / "o.json")
    assert code == 0 and "macro average" in out and "one class against the rest" in out
    labels = read_labels(tmp_path / "l.csv")
    read = read_predictions(tmp_path / "p.csv", labels)
    found = evaluate_class_scores(
        read.probabilities, labels, noise=Symmetric(0.2, 3), prior=np.full(3, 1 / 3)
    )
    answer = json.loads((tmp_path / "o.json").read_text())
    assert answer.pop("next") and answer == found.to_dict()
    code, _, err = run(*asked, "--threshold", ".5")
    assert code == 2 and "one against the rest" in err
