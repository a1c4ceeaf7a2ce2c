"""Sentences on labelers who swap classes, label at random or change; classes that mean no answer."""

import numpy as np
import pytest

import jtruth as jt
from jtruth.evaluation.habits import certain_cells, swap_findings
from jtruth.inspection import suspicions

pytestmark = pytest.mark.usefixtures("few_lineages")

CLASSES = ("fine", "toxic", "very toxic")


@pytest.fixture(scope="module")
def panel():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    other = (y[:, None] + rng.integers(1, 3, (400, 6))) % 3
    z = np.where(rng.random((400, 6)) < 0.85, y[:, None], other)
    z[:, 4] = np.where(rng.random(400) < 0.9, np.array([0, 2, 1])[y], 0)
    z[:, 5] = rng.choice(3, 400, p=[0.9, 0.05, 0.05])
    z[200:, 3] = rng.integers(0, 3, 200)
    labels = jt.Labels.from_matrix(z, 3).with_names(workers=list("abcdef"), classes=CLASSES)
    return labels, np.where(rng.random(400) < 0.85, y, 0)


@pytest.mark.slow
def test_swaps_and_habits_are_named_and_stand_in_the_page(panel):
    found = jt.evaluate_labelers(panel[0])
    said = {one.name: one.message for one in found.suspicious}
    share = {row["worker"]: row["confusion_matrix"]["mean"] for row in found.rows}["e"]
    assert said["swaps"] == (
        "Systematic confusions: 'e' swaps 'toxic' and 'very toxic': says 'very toxic' for 'toxic' in "
        f"{100 * share[1][2]:.0f} %, says 'toxic' for 'very toxic' in {100 * share[2][1]:.0f} %. "
        "Ask how they understood the classes, or correct their labels."
    )
    assert said["spam"].startswith("Labels at random, whatever the class (with probability): 'f' (1.00, says")
    assert said["swaps"] in found.summary(full=True)
    (table,) = (one for one in found.blocks().tables() if one.title.startswith("Most frequent confusions"))
    assert "e: toxic as very toxic" in [row["what"] for row in table.rows]


@pytest.mark.slow
def test_a_labeler_who_changed_is_named_in_evaluate(panel):
    labels, y_pred = panel
    found = jt.evaluate(y_pred, labels, order=np.arange(400), method="plug_in")
    drift = [one.message for one in found.suspicious if one.name == "drift"]
    assert drift and all("changed: that of 'd' fell from " in text and " % after " in text for text in drift)
    assert len({text.partition(" changed")[0] for text in drift}) == len(drift)  # each is of a class
    assert all(text in found.summary(full=True) for text in drift)
    plain = jt.evaluate(y_pred, labels, method="plug_in")
    assert all(one.name != "drift" for one in plain.suspicious)


def test_cells_are_named_only_where_intervals_are_apart():
    matrix = {"low": [[0.1, 0.6], [0.2, 0.4]], "high": [[0.4, 0.9], [0.6, 0.8]],
              "mean": [[0.25, 0.75], [0.4, 0.6]]}  # fmt: skip
    assert certain_cells(matrix) == [(0, 1)]
    row = {"worker": "a", "confusion_matrix": matrix}
    assert "says 'yes' for 'no' in 75 %" in swap_findings([row], ("no", "yes"))[0].message
    assert swap_findings([row | {"spam": 0.9}], ("no", "yes")) == ()
    wide = matrix | {"low": [[0.1, 0.3], [0.2, 0.4]]}
    assert swap_findings([row | {"confusion_matrix": wide}], ("no", "yes")) == ()


@pytest.mark.parametrize("word", ["unsure", "Don't know", "n/a", "none", "skip", "unknown"])
def test_no_answer_is_said_to_count_as_wrong(word):
    labels = jt.Labels.from_matrix([[0, 1, 2], [1, 1, 0]], 3).with_names(classes=("no", "yes", word))
    (text,) = [one.message for one in suspicions(labels) if one.name == "abstention"]
    assert "as wrong where another one is true. Leave it out (--abstain " in text
