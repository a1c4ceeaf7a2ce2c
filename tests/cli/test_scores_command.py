"""`jtruth evaluate --scores`: what it prints, writes and draws, and what it refuses."""

import json

import numpy as np

from jtruth.evaluation import evaluate_scores
from jtruth.io import read_labels, read_predictions
from jtruth.noise import Symmetric


def test_scores(run, small, tmp_path):
    rng = np.random.default_rng(0)
    lines = (small / "pred.csv").read_text().splitlines()
    scored = [f"{line},{rng.normal('yes' in line):.3f}" for line in lines[1:]]
    (small / "scored.csv").write_text("\n".join(["task,label,score", *scored]) + "\n")
    base = ["evaluate", small / "labels.csv", "--classes", "no,yes", "--predictions", small / "scored.csv"]
    known = [*base, "--scores", "--noise", small / "noise.json"]
    code, out, _ = run(*known, "--json", tmp_path / "o.json", "--plot", tmp_path / "o.svg")
    assert code == 0 and "area under the ROC curve" in out and "</svg>" in (tmp_path / "o.svg").read_text()
    labels = read_labels(small / "labels.csv", classes=("no", "yes"))
    read = read_predictions(small / "scored.csv", labels)
    found = evaluate_scores(read.scores, labels, noise=Symmetric(0.2, 2), prior=[0.5, 0.5])
    answer = json.loads((tmp_path / "o.json").read_text())
    assert answer == found.to_dict() and len(answer["curves"]["roc"]["mean"]) == 101

    for arguments, message in (
        ([*known, "--gold", small / "gold.csv"], "--gold has no say"),
        ([*base, "--plot", tmp_path / "o.svg"], "say --scores too"),
        (["evaluate", small / "labels.csv", "--rater", "ann", "--scores"], "give --predictions"),
        ([*known[:4], "--predictions", small / "pred.csv", *known[6:]], "no column 'score'"),
    ):
        code, _, err = run(*arguments)
        assert code == 2 and message in err
