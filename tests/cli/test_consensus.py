"""`jtruth consensus`: screen, table and JSON say the same, and bad words end in one line."""

import csv

import pytest

from tests.cli.files import rows_of


def test_screen_table_and_json(answer, small):
    asked = ("--gold", small / "gold.csv", "--out", small / "c.csv", "--method", "majority_vote")
    found, out = answer("consensus", small / "labels.csv", *asked)
    assert "40 samples by majority_vote" in out and "every vote counts the same" in out
    with open(small / "c.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["task", "label", "p_no", "p_yes", "labels", "disagree"]
    for row, sample in zip(rows, found["samples"], strict=True):
        assert (row["task"], row["label"]) == (sample["task"], sample["label"])
        assert float(row[f"p_{row['label']}"]) == pytest.approx(sample["probability"])
        assert row["disagree"].split() == sample["disagree"] and row["labels"] == "3"
    gold = dict(rows_of(small / "gold.csv"))
    assert all(row["label"] == gold[row["task"]] for row in rows if row["task"] in gold)
    # Three votes on each task: whoever disagrees is one of three, or gold speaks against two and more.
    assert all(len(s["disagree"]) <= 1 for s in found["samples"] if s["task"] not in gold)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--method", "vote"), "--method vote is not available; choose one of majority_vote,"),
        (("--method", "majority_vote", "--prior", ".5,.5"), "leave prior out"),
        (("--out", "nowhere/c.csv"), "there is no folder 'nowhere'"),
    ],
)
def test_what_is_refused(refusal, small, words, said):
    assert said in refusal("consensus", small / "labels.csv", *words)
