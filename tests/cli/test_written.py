"""Files for other programs: the user's table with suggestions, and tables by their ending."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

import jtruth as jt
from jtruth.learning.joint.posterior import fit_joint
from tests.cli.conftest import crowd
from tests.cli.files import write

NAMES = ["suggested_label", "probability", "rank"]


@pytest.fixture
def tables(tmp_path):
    """The same labels long, with text that must stay as it is and gaps, and wide; and gold of six tasks."""
    truth, rows = crowd(3, 30, "00", ("ann", "bob", "cy", "dee"))
    rows = [(*row[:2], "" if k % 17 == 5 else row[2]) for k, row in enumerate(rows)]
    long = [(f'@{task} = 1.50, "x"', task, "07", who, label) for task, who, label in rows]
    write(tmp_path / "long.csv", ("note", "task", "n", "worker", "label"), long, ";")
    by_task = pd.DataFrame(rows, columns=["task", "who", "label"]).pivot(
        index="task", columns="who", values="label"
    )
    by_task.reset_index().to_csv(tmp_path / "wide.csv", index=False)
    write(tmp_path / "gold.csv", ("task", "label"), truth[:6])
    return tmp_path, dict(truth)


def read(path, sep=","):
    with open(path, newline="") as file:
        return list(csv.reader(file, delimiter=sep))


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_clean_writes_the_users_own_table_with_three_columns(answer, tables, ending):
    folder, _ = tables
    path, out = folder / "long.csv", folder / f"out{ending}"
    asked = ("clean", path, "--missing", "drop", "--budget", 40)
    found, said = answer(*asked, "--out", out)
    assert "with the new columns suggested_label, probability, rank" in " ".join(said.split())
    own, *old = read(path, ";")
    if ending == ".csv":
        head, *rows = read(out)
    else:
        frame = pd.read_parquet(out)
        head, rows = list(frame.columns), frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
    assert head == [*own, *NAMES] and [row[:5] for row in rows] == old  # rows, order and text
    labels = jt.read_labels(path, missing="drop")
    posterior = fit_joint(labels, key=0).class_posterior
    wrong = {(row["task"], row["worker"]): row["p_wrong"] for row in found["queue"]}
    by_rank = {}
    for _, task, _, who, label, best, p, rank in rows:
        assert best in ("no", "yes") and 0.5 <= float(p) <= 1
        if not label:
            assert rank in ("", None)
            continue
        by_rank[int(rank)] = (task, who)
        if (task, who) in wrong:  # the probability of the suggestion is that of the label, or its opposite
            expected = wrong[task, who] if best != label else 1 - wrong[task, who]
            assert float(p) == pytest.approx(expected)
        assert float(p) == pytest.approx(posterior[labels.task_names.index(task)].max(), abs=0.02)
    assert sorted(by_rank) == list(range(1, labels.num_labels + 1))
    assert [by_rank[k] for k in range(1, 41)] == [(row["task"], row["worker"]) for row in found["queue"]]


def test_of_a_wide_table_a_row_has_the_rank_of_its_worst_label(answer, refusal, tables):
    folder, truth = tables
    out = folder / "out.tsv"
    asked = ("clean", folder / "wide.csv", "--gold", folder / "gold.csv", "--budget", 113)
    found, _ = answer(*asked, "--out", out)
    own, *rows = read(out, "\t")
    assert own == ["task", "ann", "bob", "cy", "dee", *NAMES]
    assert [row[:5] for row in rows] == read(folder / "wide.csv")[1:]
    order = dict.fromkeys(row["task"] for row in found["queue"])
    assert {row[0]: int(row[7]) for row in rows} == {task: k for k, task in enumerate(order, 1)}
    known = dict(read(folder / "gold.csv")[1:])
    assert all(row[5:7] == [known[row[0]], "1.0"] for row in rows if row[0] in known)
    assert np.mean([row[5] == truth[row[0]] for row in rows]) > 0.8
    again = folder / "again.csv"
    found, said = answer(
        "clean", out, "--labelers", "ann,bob,cy,dee", "--task", "task", "--budget", 9, "--out", again
    )
    assert read(again)[0] == [*own, *(f"{name}_2" for name in NAMES)]
    assert "rank_2, since the usual names are taken" in " ".join(said.split())
    assert "cannot write .xlsx" in refusal(*asked, "--out", folder / "x.xlsx")


def test_a_queue_by_features_ranks_what_it_asks_for(answer, tables):
    folder, truth = tables
    rng = np.random.default_rng(0)
    single = [(task, label if rng.random() < 0.8 else "no") for task, label in truth.items()]
    write(folder / "one.csv", ("task", "label"), single)
    xs = [(task, rng.normal() + 3 * (label == "yes"), rng.normal()) for task, label in truth.items()]
    write(folder / "x.csv", ("task", "a", "b"), xs)
    asked = (
        "clean",
        folder / "one.csv",
        "--features",
        folder / "x.csv",
        "--budget",
        6,
        "--out",
        folder / "o.csv",
    )
    found, _ = answer(*asked)
    _, *rows = read(folder / "o.csv")
    ranked = sorted((int(row[4]), row[0]) for row in rows if row[4])
    assert [task for _, task in ranked] == [row["task"] for row in found["queue"]] and len(rows) == 30


def test_every_table_of_a_command_is_what_its_ending_says(answer, refusal, small):
    """`consensus`, `labelers`, `ask` and `prevalence`, and what the next command reads of them."""
    labels = small / "labels.csv"
    told = ("--out", small / "w.parquet", "--consensus", small / "c.jsonl")
    found, _ = answer("labelers", labels, "--fast", *told)
    frame = pd.read_parquet(small / "w.parquet")
    assert frame["worker"].tolist() == [row["worker"] for row in found["labelers"]]
    assert frame["accuracy"].tolist() == pytest.approx([row["accuracy"] for row in found["labelers"]])
    graded, _ = answer("evaluate", labels, "--predictions", small / "c.jsonl", "--fast")
    assert graded["num_samples"] == 40
    answer("ask", labels, "--truth", "--num", 4, "--out", small / "ask.json")
    asked = pd.read_json(small / "ask.json")
    asked["label"] = "yes"
    asked.to_json(small / "gold.json", orient="records")
    files = ("--gold", small / "gold.json", "--out", small / "back.json")
    told, _ = answer("consensus", labels, *files,
                     "--format", "label_studio",
                     "--question", "mood", "--method", "majority_vote")  # fmt: skip
    records = json.loads((small / "back.json").read_text())
    assert {r["predictions"][0]["result"][0]["from_name"] for r in records} == {"mood"}
    chosen = [r["predictions"][0]["result"][0]["value"]["choices"] for r in records]
    assert chosen == [[row["label"]] for row in told["samples"]]
    known = {r["id"]: r["predictions"][0]["score"] for r in records}
    assert all(known[task] == 1 for task in asked["task"].astype(str))
    for words, said in [
        (("--format", "doccano"), "needs a file to write: --out"),
        (("--question", "mood"), "needs --format"),
        (("--format", "argilla", "--out", small / "x.jsonl"), "end it in .json"),
        (("--out", small / "x.txt"), "cannot write .txt"),
    ]:
        assert said in refusal("consensus", labels, *words)
    assert "cannot write .pdf" in refusal("labelers", labels, "--out", small / "x.pdf")
    assert "cannot write .xlsx" in refusal("prevalence", labels, "--ask-out", small / "x.xlsx")
