"""`jtruth compare`: what it prints, writes and draws, and what it refuses."""

import json

import numpy as np

from jtruth.evaluation import compare_classifiers
from jtruth.io import read_labels, read_noise, read_predictions
from jtruth.noise import Symmetric


def test_compare(run, small, tmp_path):
    lines = (small / "pred.csv").read_text().splitlines()
    turned = [line.replace("yes", "no") if k % 4 == 0 else line for k, line in enumerate(lines)]
    (small / "worse.csv").write_text("\n".join(turned) + "\n")
    (small / "part.csv").write_text("\n".join(lines[:31]) + "\n")
    base = ["compare", small / "labels.csv", small / "pred.csv"]
    asked = ["--classes", "no,yes", "--noise", small / "noise.json", "--metric", "recall", "--margin", ".01"]
    code, out, _ = run(*base, small / "worse.csv", *asked, "--at-least", ".9", "--json", tmp_path / "o.json",
                       "--plot", tmp_path / "o.svg", "--report", tmp_path / "o.html")  # fmt: skip
    assert code == 0 and "pred has the better recall" in out and "P(at least 0.9)" in out
    page = (tmp_path / "o.html").read_text()
    assert "Which classifier has the better recall?" in page and "pred - worse" in page
    answer = json.loads((tmp_path / "o.json").read_text())
    labels = read_labels(small / "labels.csv", classes=("no", "yes"))
    said = {name: read_predictions(small / f"{name}.csv", labels).y_pred for name in ("pred", "worse")}
    given = read_noise(small / "noise.json", labels)
    noise, prior = Symmetric(given["symmetric"], 2), np.array(given["prior"])
    options = {"metric": "recall", "margin": 0.01, "at_least": 0.9, "noise": noise, "prior": prior}
    found = compare_classifiers(said, labels, **options)
    code, _, _ = run(*base, small / "worse.csv", *asked, "--at-least", ".9", "--json", tmp_path / "s.json",
                     "--metric", "sensitivity")  # fmt: skip
    again = json.loads((tmp_path / "s.json").read_text())["comparison"]
    assert code == 0 and again == answer["comparison"] | {"metric": "sensitivity"}
    assert answer.pop("next").startswith("jtruth compare")
    assert answer == found.to_dict() and "</svg>" in (tmp_path / "o.svg").read_text()

    code, _, err = run(*base, small / "part.csv", *asked)
    assert code == 2 and "common" in err
    code, out, _ = run(*base, small / "part.csv", *asked, "--common-only", "--json", tmp_path / "c.json")
    assert code == 0 and json.loads((tmp_path / "c.json").read_text())["comparison"]["num_samples"] == 30
    assert "30 common tasks" in out
    code, _, err = run(*base, small / "pred.csv", *asked)
    assert code == 2 and "two classifiers are called 'pred'" in err
    code, _, err = run(*base, *asked)
    assert code == 2 and "1 classifiers cannot be compared" in err
