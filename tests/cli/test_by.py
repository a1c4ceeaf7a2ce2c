"""`--by COLUMN`: whole commands on files whose groups are systems, asked the same questions or others."""

import csv
import json

import numpy as np
import pytest

from jtruth.io.parsing import as_table
from jtruth.io.tables import tasks_by_group

pytestmark = pytest.mark.usefixtures("few_sweeps")
SYSTEMS, RATE, JUDGES = ("base", "tuned"), (0.3, 0.9), ("j1", "j2", "j3")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """40 questions to two systems, three judges of each answer, and 15 questions with gold."""
    folder, rng, rows, gold, apart = tmp_path_factory.mktemp("by"), np.random.default_rng(0), [], [], []
    for i in range(40):
        for system, rate in zip(SYSTEMS, RATE, strict=True):
            y = rng.random() < rate
            given = [("fail", "pass")[int(y if rng.random() < 0.9 else not y)] for _ in JUDGES]
            rows += [(f"q{i}", system, judge, one) for judge, one in zip(JUDGES, given, strict=True)]
            apart.append((f"{system} {i}", system, *given))
            gold += [(f"q{i}", system, ("fail", "pass")[int(y)])] if i < 15 else []
    write(folder / "labels.csv", ("task", "system", "worker", "label"), rows)
    write(folder / "gold.csv", ("task", "system", "label"), gold)
    write(folder / "wide.csv", ("task", "system", *JUDGES), apart)
    return folder


def write(path, header, rows):
    path.write_text("".join(",".join(row) + "\n" for row in [header, *rows]))
    return path


def rows_of(path):
    return list(csv.reader(path.read_text().splitlines()))[1:]


def test_one_question_to_several_systems(run, folder, tmp_path):
    code, out, err = run("prevalence", folder / "labels.csv", "--by", "system", "--gold", folder / "gold.csv",
                         "--json", tmp_path / "a.json", "--report", tmp_path / "a.html")  # fmt: skip
    assert code == 0, err
    answer = json.loads((tmp_path / "a.json").read_text())
    assert answer["num_samples"] == 80 and answer["num_gold"] == 30 and answer["by"]["positive"] == "pass"
    first, second = answer["by"]["groups"]
    assert [first["group"], second["group"]] == ["tuned", "base"]
    assert first["num_samples"] == first["num_gold"] + 25 == 40 and first["best"] > 0.99
    (gap,) = answer["by"]["differences"]
    assert (gap["first"], gap["second"], gap["items_in_common"]) == ("tuned", "base", 40)
    # Items are in both groups, so gold of the same item is compared: not quite the difference of the shares.
    assert gap["mean"] == pytest.approx(first["mean"] - second["mean"], abs=0.02) and gap["low"] > 0.2
    assert gap["first_larger"] == first["above_next"] and second["above_next"] is None
    votes = [label == "pass" for _, system, _, label in rows_of(folder / "labels.csv") if system == "tuned"]
    assert first["label_share"] == pytest.approx(np.mean(votes))
    page = (tmp_path / "a.html").read_text()
    for text in ("tuned - base", "Differences of groups", "gold of all groups together"):
        assert text in " ".join(out.split()) and text in " ".join(page.split())
    assert " | base'" in out or " | tuned'" in out  # samples to ask for name both


def test_groups_of_their_own_tasks_in_a_wide_table(run, folder):
    code, out, err = run("prevalence", folder / "wide.csv", "--by", "system", full=False)
    assert code == 0, err
    assert "80 samples, 240 labels by 3 labelers" in out  # the column of groups is no labeler
    assert "tuned" in out and "P(above next)" in out and "--by system --gold GOLD.csv" in out
    code, out, err = run(
        "prevalence", folder / "wide.csv", "--by", "system", "--positive", "fail", full=False
    )
    assert code == 0 and out.index("\nbase ") < out.index("\ntuned ") and "class 'fail'" in out


def test_gold_in_a_column_and_composed_names(run, folder, tmp_path):
    gold = {(task, system): label for task, system, label in rows_of(folder / "gold.csv")}
    rows = [(*row, gold.get((row[0], row[1]), "")) for row in rows_of(folder / "labels.csv")]
    write(tmp_path / "l.csv", ("task", "system", "worker", "label", "truth"), rows)
    named = [(f"{task} | {system}", label) for (task, system), label in gold.items()]
    write(tmp_path / "g.csv", ("task", "label"), named)
    found = []
    for source, where in ((tmp_path / "l.csv", "column:truth"), (folder / "labels.csv", tmp_path / "g.csv"),
                          (folder / "labels.csv", folder / "gold.csv")):  # fmt: skip
        code, _, err = run(
            "prevalence", source, "--by", "system", "--gold", where, "--json", tmp_path / "o.json"
        )
        assert code == 0, err
        found.append(json.loads((tmp_path / "o.json").read_text())["by"])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda k, row: row, None),
        (lambda k, row: (row[0], "" if k in (3, 4) else row[1], *row[2:]), "lines 5, 6: no system; each row"),
        (lambda k, row: (row[0] if row[1] == "base" else f"{row[0]}b", "one", *row[2:]), "one group, 'one'"),
        (
            lambda k, row: (f"{row[0]}{row[1]}", f"s{k // 3 % 51}", *row[2:]),
            "by says 51 groups; give 2 to 50",
        ),
    ],
)
def test_columns_that_are_no_groups(run, folder, tmp_path, change, message):
    rows = [change(k, row) for k, row in enumerate(rows_of(folder / "labels.csv"))]
    path = write(tmp_path / "labels.csv", ("task", "system", "worker", "label"), rows)
    code, out, err = run("prevalence", path, "--by", "system" if message else "sytem")
    expected = message or "no column 'sytem' to group by; the columns are 'task', 'system', 'worker', 'label'"
    assert code == 2 and expected in err and not out


def test_wide_tables_without_tasks_and_exports(run, folder, tmp_path):
    rows = [(system, *labels) for _, system, *labels in rows_of(folder / "wide.csv")]
    write(tmp_path / "w.csv", ("system", *JUDGES), rows)
    code, out, err = run("prevalence", tmp_path / "w.csv", "--by", "system", full=False)
    assert code == 0 and "80 samples, 240 labels by 3 labelers" in out and "\ntuned " in out, err
    value = {"type": "choices", "from_name": "c", "to_name": "t", "value": {"choices": ["x"]}}
    task = {"id": 1, "data": {"system": "a"}, "annotations": [{"completed_by": 1, "result": [value]}]}
    (tmp_path / "export.json").write_text(json.dumps([task]))
    code, out, err = run("prevalence", tmp_path / "export.json", "--by", "system")
    assert code == 2 and not out and "this is an export of an annotation tool" in err


def test_tasks_get_the_names_of_their_groups_only_where_they_stand_in_several(folder, tmp_path):
    table, group_of = tasks_by_group(as_table(folder / "wide.csv"), "task", "system")
    assert table.columns[0][0] == "base 0" and group_of["base 0"] == ("base", "base 0")
    table, group_of = tasks_by_group(as_table(folder / "labels.csv"), "task", "system")
    assert group_of["q3 | tuned"] == ("tuned", "q3") and set(table.columns[0]) == set(group_of)
    odd = [("a | b", "c", "j", "1"), ("a", "b | c", "j", "1"), ("a", "d", "j", "1")]
    path = write(tmp_path / "odd.csv", ("task", "system", "worker", "label"), odd)
    with pytest.raises(ValueError, match="cannot be told apart"):
        tasks_by_group(as_table(path), "task", "system")


def test_a_classifier_in_every_group(run, folder, tmp_path, monkeypatch):
    """Its predictions name question and system, as the labels do."""
    monkeypatch.setenv("COLUMNS", "80")
    rng = np.random.default_rng(1)
    truth = {(task, system): label for task, system, label in rows_of(folder / "gold.csv")}
    votes = {}
    for task, system, _, label in rows_of(folder / "labels.csv"):
        votes.setdefault((task, system), []).append(label)
    rows = []
    for (task, system), given in votes.items():
        label = truth.get((task, system), max(set(given), key=given.count))
        wrong = rng.random() < (0.4 if system == "base" else 0.0)
        rows.append((task, system, label if not wrong else {"fail": "pass", "pass": "fail"}[label]))
    write(tmp_path / "pred.csv", ("task", "system", "label"), rows)
    words = ["evaluate", folder / "labels.csv", "--predictions", tmp_path / "pred.csv", "--by", "system"]
    code, out, err = run(*words, "--gold", folder / "gold.csv", "--json", tmp_path / "a.json", full=False)
    assert code == 0, err
    found = json.loads((tmp_path / "a.json").read_text())["comparison"]
    assert found["ranking"] == ["tuned", "base"]
    assert [row["num_samples"] for row in found["classifiers"]] == [40, 40] and "2 groups" in out
    assert len(out.splitlines()) <= 20 and max(map(len, out.splitlines())) <= 80
    code, _, err = run(*words[:2], "--rater", "j1", "--by", "system")
    assert code == 2 and "--rater has no say" in err


def test_labelers_in_every_group(run, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    words = ["labelers", folder / "labels.csv", "--by", "system", "--gold", folder / "gold.csv"]
    code, out, err = run(*words, "--json", tmp_path / "a.json", full=False)
    assert code == 0, err
    found = json.loads((tmp_path / "a.json").read_text())["by"]
    assert len(found["labelers"]) == 6 and {row["group"] for row in found["labelers"]} == set(SYSTEMS)
    assert {row["worker"] for row in found["differences"]} == set(JUDGES)
    assert len(out.splitlines()) <= 20 and max(map(len, out.splitlines())) <= 80
    code, _, err = run(*words, "--fast")
    assert code == 2 and "--fast, --update and --model and --by do not go together" in err
