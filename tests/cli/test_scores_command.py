"""`jtruth evaluate --scores`: printed text, files, pictures, and refusals."""

import json

import numpy as np
import pytest

from jtruth.evaluation import evaluate_class_scores, evaluate_scores
from jtruth.io import read_labels, read_predictions
from jtruth.noise import Symmetric
from tests.cli.files import rows_of, write

pytestmark = pytest.mark.usefixtures("few_sets")


@pytest.fixture
def base(small):
    rng = np.random.default_rng(0)
    rows = [(*row, f"{rng.normal(row[1] == 'yes'):.3f}") for row in rows_of(small / "pred.csv")]
    scored = write(small / "scored.csv", ("task", "label", "score"), rows)
    write(small / "alone.csv", ("task", "score"), [(task, score) for task, _, score in rows])
    write(small / "foreign.csv", ("task", "label", "p_no", "p_yes", "p_maybe"), [("t0", "no", 0.5, 0.5, 0)])
    noise = ("--noise", small / "noise.json")
    return ["evaluate", small / "labels.csv", "--classes", "no,yes", *noise, "--predictions", scored]


def test_scores(run, answer, small, base):
    extra = ["--report", small / "o.html", "--plot", small / "o.svg", "--threshold", ".5", "--cost", "1,5"]
    told, out = answer(*base, "--scores", *extra)
    assert "The area under the ROC curve" in out and "</svg>" in (small / "o.svg").read_text()
    assert "Metrics at a threshold (lowest expected cost)" in out and "cost" in out
    labels = read_labels(small / "labels.csv", classes=("no", "yes"))
    read = read_predictions(small / "scored.csv", labels)
    options = {"noise": Symmetric(0.2, 2), "prior": [0.5, 0.5], "threshold": 0.5, "cost": (1, 5)}
    found = evaluate_scores(read.scores, labels, **options)
    assert told.pop("next").startswith("jtruth ask")
    assert (
        told == found.to_dict() and told["curves"]["roc"]["mean"][-1] == told["curves"]["roc"]["low"][-1] == 1
    )
    assert told["thresholds"][0]["threshold"] == 0.5
    page = (small / "o.html").read_text()
    assert f"{found.auc.mean:.3f}" in page and page.count("<svg") >= 4 and "--report" in page
    # scores need no column of classes beside them
    again = run(*base[:-1], small / "alone.csv", "--scores", *extra)[1]
    assert again.splitlines()[0] == out.splitlines()[0]


def test_what_is_refused(refusal, small, base):
    for arguments, message in (
        ([*base, "--scores", "--gold", small / "gold.csv", "--inclusion", small / "gold.csv"], "inclusion"),
        ([*base, "--scores", "--cost", "1"], "give two numbers, FP,FN"),
        ([*base, "--scores", "--cost", "0,0"], "not both 0"),
        ([*base, "--plot", small / "o.svg"], "add --scores"),
        ([*base, "--cost", "1,5"], "add --scores"),
        (["evaluate", small / "labels.csv", "--rater", "ann", "--scores"], "give --predictions"),
        ([*base[:-1], small / "pred.csv", "--scores"], "neither a column 'score'"),
        ([*base[:-1], small / "foreign.csv", "--scores"], "to a class that does not exist"),
        ([*base[:-1], small / "alone.csv"], "Add --scores to grade the scores"),
    ):
        assert message in refusal(*arguments)


@pytest.mark.slow
def test_more_classes_are_judged_one_against_the_rest(answer, refusal, tmp_path):
    rng = np.random.default_rng(3)
    y, names = rng.integers(0, 3, 60), np.array(["cat", "dog", "owl"])
    votes = np.where(rng.random((60, 3)) < 0.8, y[:, None], rng.integers(0, 3, (60, 3)))
    rows = [(f"t{i}", f"w{t}", names[votes[i, t]]) for i in range(60) for t in range(3)]
    path = write(tmp_path / "l.csv", ("task", "worker", "label"), rows)
    p = np.round(0.5 * np.eye(3)[y] + 0.5 * rng.dirichlet(np.ones(3), 60), 3)
    p[:, 2] = np.round(1 - p[:, 0] - p[:, 1], 3)
    rows = [(f"t{i}", names[p[i].argmax()], *(f"{v:.3f}" for v in p[i])) for i in range(60)]
    said = write(tmp_path / "p.csv", ("task", "label", *names), rows)
    (tmp_path / "n.json").write_text(json.dumps({"symmetric": 0.2, "prior": [1 / 3] * 3}))
    asked = ["evaluate", path, "--predictions", said, "--scores", "--noise", tmp_path / "n.json"]
    told, out = answer(*asked)
    assert "macro average" in out and "one class against the rest" in out
    labels = read_labels(path)
    read = read_predictions(said, labels)
    options = {"noise": Symmetric(0.2, 3), "prior": np.full(3, 1 / 3)}
    found = evaluate_class_scores(read.probabilities, labels, **options)
    assert told.pop("next") and told == found.to_dict()
    assert "each graded against the rest" in refusal(*asked, "--threshold", ".5")
