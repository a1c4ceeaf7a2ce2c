"""The screen of an answer: classes in a table of their own, the loudest doubt first, brief on request."""

import numpy as np

from jtruth.evaluation.text import summary_text


def law(mean, low, high):
    return {"mean": mean, "sd": 0.1, "low": low, "high": high, "probability_defined": 1.0}


def answer(size):
    classes = [f"c{k}" for k in range(size)]
    metrics = {
        "accuracy": law(0.7, 0.6, 0.8),
        "precision": law(0.3, 0.2, 0.4),
        "macro_f1": law(0.5, 0.4, 0.6),
    }
    metrics |= {
        f"{m}[{c}]": law(k / 40, 0, 1) for k, c in enumerate(classes) for m in ("precision", "recall", "f1")
    }
    counts = np.arange(size**2, dtype=float).reshape(size, size)
    return {
        "target": "in-sample", "method": "bayes",
        "level": 0.95, "key": 0, "num_samples": 10, "num_labels": 20, "num_gold": 0,
        "num_labelers": 2, "classes": classes, "positive": "c1", "metrics": metrics,
        "headline": ["accuracy", "macro_recall", "macro_f1"],
        "interval_kind": "posterior", "assumed": [],
        "confusion_matrix": {k: (counts + d).tolist() for k, d in (("mean", 0), ("low", -1), ("high", 1))},
        "labelers": [], "baselines": {}, "assumptions": [{"sentence": "so it is"}], "warnings": ["beware"],
        "checks": [{"name": "patterns", "verdict": "does not fit", "message": "they do not fit"}],
        "advice": [], "suspicious": [], "predictive": {},
    }  # fmt: skip


def test_every_class_has_a_row_and_no_metric_of_its_own():
    lines = summary_text(answer(3)).splitlines()
    assert lines[1] == "1 check speaks against what this rests on: patterns."
    assert [line.split() for line in lines if line.strip().startswith("class ")] == [
        ["class", "precision", "recall", "F1"]
    ]
    rows = [line for line in lines if line.strip().startswith("c1 ") and "[.000, 1.000]" in line]
    assert len(rows) == 1 and rows[0].count(".025 [.000, 1.000]") == 3
    assert not any("recall[" in line for line in lines)
    assert any("7 [6, 8]" in line for line in lines)  # the confusion matrix is there


def test_many_classes_are_cut_with_a_count_and_show_their_largest_errors():
    text = summary_text(answer(30))
    assert "... and 18 more classes in the JSON" in text and len(text.splitlines()) <= 40
    assert "  c29 -> c28  898 [897, 899] samples" in text


def test_brief_fits_a_small_terminal_and_says_what_is_missing():
    text = summary_text(answer(30), brief=True)
    assert len(text.splitlines()) <= 25 and "not shown: 1 assumptions, 1 checks, 1 warnings" in text
    assert "macro F1" in text or "macro f1" in text


def test_a_class_that_nobody_asked_for_is_no_headline():
    found = answer(3)
    lines = summary_text(found).splitlines()
    assert lines[0].startswith(
        "Accuracy .700 [.600, .800], macro f1 .500 [.400, .600] (95 % posterior intervals; "
    )
    assert not any(line.split()[:1] == ["precision"] for line in lines)
    asked = summary_text(found | {"headline": ["recall", "precision", "accuracy"]}).splitlines()
    assert asked[0].startswith("Precision .300 [.200, .400], accuracy .700") and "of class 'c1'" in asked[0]
    assert [line.split()[1] for line in asked if line.split()[:1] == ["precision"]] == [".300"]
