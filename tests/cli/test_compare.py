"""`jtruth compare`: what it prints, writes and draws, and what it refuses."""

import numpy as np

from jtruth.evaluation import compare_classifiers
from jtruth.io import read_labels, read_noise, read_predictions
from jtruth.noise import Symmetric


def test_compare(answer, refusal, small):
    lines = (small / "pred.csv").read_text().splitlines()
    turned = [line.replace("yes", "no") if k % 4 == 0 else line for k, line in enumerate(lines)]
    (small / "worse.csv").write_text("\n".join(turned) + "\n")
    (small / "part.csv").write_text("\n".join(lines[:31]) + "\n")
    base = ["compare", small / "labels.csv", small / "pred.csv"]
    asked = ["--classes", "no,yes", "--noise", small / "noise.json", "--metric", "recall", "--margin", ".01"]
    both = [*base, small / "worse.csv", *asked, "--at-least", ".9"]
    told, out = answer(*both, "--plot", small / "o.svg", "--report", small / "o.html")
    assert "pred has the better recall" in out and "P(at least 0.9)" in out
    page = (small / "o.html").read_text()
    assert "Which classifier has the better recall?" in page and "pred - worse" in page
    labels = read_labels(small / "labels.csv", classes=("no", "yes"))
    said = {name: read_predictions(small / f"{name}.csv", labels).y_pred for name in ("pred", "worse")}
    given = read_noise(small / "noise.json", labels)
    noise, prior = Symmetric(given["symmetric"], 2), np.array(given["prior"])
    options = {"metric": "recall", "margin": 0.01, "at_least": 0.9, "noise": noise, "prior": prior}
    again, _ = answer(*both, "--metric", "sensitivity")
    assert again["comparison"] == told["comparison"] | {"metric": "sensitivity"}
    assert told.pop("next").startswith("jtruth compare")
    assert told == compare_classifiers(said, labels, **options).to_dict()
    assert "</svg>" in (small / "o.svg").read_text()

    assert "common" in refusal(*base, small / "part.csv", *asked)
    found, out = answer(*base, small / "part.csv", *asked, "--common-only")
    assert found["comparison"]["num_samples"] == 30 and "30 common tasks" in out
    assert "two classifiers are called 'pred'" in refusal(*base, small / "pred.csv", *asked)
    assert "1 classifiers cannot be compared" in refusal(*base, *asked)
