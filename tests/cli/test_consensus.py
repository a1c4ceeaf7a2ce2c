"""`jtruth consensus`: screen, table and JSON say the same, and bad words end in one line."""

import csv
import json

import pytest


def test_screen_table_and_json(run, small):
    asked = ("--gold", small / "gold.csv", "--out", small / "c.csv", "--json", small / "c.json")
    code, out, err = run("consensus", small / "labels.csv", "--method", "majority_vote", *asked)
    assert code == 0 and "40 samples by majority_vote" in out and "every vote counts the same" in out, err
    answer = json.loads((small / "c.json").read_text())
    with open(small / "c.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["task", "label", "p_no", "p_yes", "labels", "disagree"]
    for row, sample in zip(rows, answer["samples"], strict=True):
        assert (row["task"], row["label"]) == (sample["task"], sample["label"])
        assert float(row[f"p_{row['label']}"]) == pytest.approx(sample["probability"])
        assert row["disagree"].split() == sample["disagree"] and row["labels"] == "3"
    with open(small / "gold.csv", newline="") as file:
        given = {row["task"]: row["label"] for row in csv.DictReader(file)}
    assert all(row["label"] == given[row["task"]] for row in rows if row["task"] in given)
    # Three votes on each task: whoever disagrees is one of three, or gold speaks against two and more.
    assert all(len(s["disagree"]) <= 1 for s in answer["samples"] if s["task"] not in given)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--method", "vote"), "--method vote is not available; choose one of majority_vote,"),
        (("--method", "majority_vote", "--prior", ".5,.5"), "leave prior out"),
        (("--out", "nowhere/c.csv"), "there is no folder 'nowhere'"),
    ],
)
def test_what_is_refused(run, small, words, said):
    code, _, err = run("consensus", small / "labels.csv", *words)
    assert code == 2 and said in err
