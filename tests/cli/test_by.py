"""`--by COLUMN`: whole commands on files whose groups are systems, on the same questions or on others."""

import json

import numpy as np
import pytest

from jtruth.io.apply import by_group, ids_of
from jtruth.io.reading import opened
from tests.cli.files import rows_of, write

pytestmark = pytest.mark.usefixtures("few_lineages")
SYSTEMS, RATE, JUDGES = ("base", "tuned"), (0.3, 0.9), ("j1", "j2", "j3")
LONG = ("task", "system", "worker", "label")


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
    write(folder / "labels.csv", LONG, rows)
    write(folder / "gold.csv", ("task", "system", "label"), gold)
    write(folder / "wide.csv", ("task", "system", *JUDGES), apart)
    return folder


def test_one_question_to_several_systems(answer, folder, tmp_path):
    """The same with gold in a file of groups, in a column of the labels, and by composed names."""
    words = ("prevalence", folder / "labels.csv", "--by", "system", "--gold")
    found, out = answer(*words, folder / "gold.csv", "--report", tmp_path / "a.html")
    assert found["num_samples"] == 80 and found["num_gold"] == 30 and found["by"]["positive"] == "pass"
    first, second = found["by"]["groups"]
    assert [first["group"], second["group"]] == ["tuned", "base"]
    assert first["num_samples"] == first["num_gold"] + 25 == 40 and first["best"] > 0.99
    (gap,) = found["by"]["differences"]
    assert (gap["first"], gap["second"], gap["items_in_common"]) == ("tuned", "base", 40)
    # Items are in both groups, so gold of the same item is compared: not quite the difference of the shares.
    assert gap["mean"] == pytest.approx(first["mean"] - second["mean"], abs=0.02) and gap["low"] > 0.2
    assert gap["first_larger"] == first["above_next"] and second["above_next"] is None
    votes = [label == "pass" for _, system, _, label in rows_of(folder / "labels.csv") if system == "tuned"]
    assert first["label_share"] == pytest.approx(np.mean(votes))
    page = (tmp_path / "a.html").read_text()
    for text in ("tuned - base", "Differences of groups", "Verified labels of all groups are pooled"):
        assert text in " ".join(out.split()) and text in " ".join(page.split())
    assert " | base'" in out or " | tuned'" in out  # samples to ask for name both

    gold = {(task, system): label for task, system, label in rows_of(folder / "gold.csv")}
    named = [(f"{task} | {system}", label) for (task, system), label in gold.items()]
    assert answer(*words, write(tmp_path / "g.csv", ("task", "label"), named))[0]["by"] == found["by"]
    rows = [(*row, gold.get((row[0], row[1]), "")) for row in rows_of(folder / "labels.csv")]
    beside = write(tmp_path / "l.csv", (*LONG, "truth"), rows)
    again, _ = answer("prevalence", beside, "--by", "system", "--gold", "column:truth")
    assert again["by"] == found["by"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda k, row: row,
            "no column 'sytem' to group by; the columns are 'task', 'system', 'worker', 'label'",
        ),
        (
            lambda k, row: (row[0], "" if k in (3, 4) else row[1], *row[2:]),
            "lines 5, 6: column 'system' is empty",
        ),
        (lambda k, row: (row[0] if row[1] == "base" else f"{row[0]}b", "one", *row[2:]), "one group, 'one'"),
    ],
)
def test_columns_that_are_no_groups(refusal, folder, tmp_path, change, message):
    rows = [change(k, row) for k, row in enumerate(rows_of(folder / "labels.csv"))]
    path = write(tmp_path / "labels.csv", LONG, rows)
    assert message in refusal("prevalence", path, "--by", "sytem" if "sytem" in message else "system")


@pytest.mark.slow
def test_wide_tables_and_exports(run, refusal, folder, tmp_path):
    """With and without a column of tasks: the column of groups is no labeler."""
    rows = [(system, *labels) for _, system, *labels in rows_of(folder / "wide.csv")]
    alone = write(tmp_path / "w.csv", ("system", *JUDGES), rows)
    code, out, err = run("prevalence", alone, "--by", "system", full=False)
    assert code == 0 and "80 samples, 240 labels by 3 labelers" in out and "\ntuned " in out, err
    assert "P(above next)" in out and "--truth --out to_verify.csv" in " ".join(out.split())
    words = ("prevalence", folder / "wide.csv", "--by", "system", "--positive", "fail")
    code, out, err = run(*words, full=False)
    assert code == 0 and out.index("\nbase ") < out.index("\ntuned ") and "class 'fail'" in out, err
    assert "80 samples, 240 labels by 3 labelers" in out
    value = {"type": "choices", "from_name": "c", "to_name": "t", "value": {"choices": ["x"]}}
    task = {"id": 1, "data": {"system": "a"}, "annotations": [{"completed_by": 1, "result": [value]}]}
    (tmp_path / "export.json").write_text(json.dumps([task]))
    err = refusal("prevalence", tmp_path / "export.json", "--by", "system")
    assert "no column 'system' to group by" in err


def test_tasks_get_the_names_of_their_groups_only_where_they_stand_in_several(folder, tmp_path):
    def grouped(path):
        file = opened(path)
        plan, group_of = by_group(file.table, file.plan, "system")
        return ids_of(file.table, plan), group_of

    ids, group_of = grouped(folder / "wide.csv")
    assert ids[0] == "base 0" and group_of["base 0"] == ("base", "base 0")
    ids, group_of = grouped(folder / "labels.csv")
    assert group_of["q3 | tuned"] == ("tuned", "q3") and set(ids) == set(group_of)
    odd = [("a | b", "c", "j", "1"), ("a", "b | c", "j", "1"), ("a", "d", "j", "1")]
    with pytest.raises(ValueError, match="joined names are ambiguous"):
        grouped(write(tmp_path / "odd.csv", LONG, odd))


def test_a_classifier_in_every_group(answer, refusal, folder, tmp_path, monkeypatch):
    """Its predictions name question and system, as the labels do."""
    monkeypatch.setenv("COLUMNS", "80")
    rng, votes = np.random.default_rng(1), {}
    truth = {(task, system): label for task, system, label in rows_of(folder / "gold.csv")}
    for task, system, _, label in rows_of(folder / "labels.csv"):
        votes.setdefault((task, system), []).append(label)
    rows = []
    for (task, system), given in votes.items():
        label = truth.get((task, system), max(set(given), key=given.count))
        wrong = rng.random() < (0.4 if system == "base" else 0.0)
        rows.append((task, system, label if not wrong else {"fail": "pass", "pass": "fail"}[label]))
    said = write(tmp_path / "pred.csv", ("task", "system", "label"), rows)
    words = ["evaluate", folder / "labels.csv", "--by", "system"]
    found, out = answer(*words, "--predictions", said, "--gold", folder / "gold.csv", full=False)
    assert found["comparison"]["ranking"] == ["tuned", "base"] and "2 groups" in out
    assert [row["num_samples"] for row in found["comparison"]["classifiers"]] == [40, 40]
    assert len(out.splitlines()) <= 20 and max(map(len, out.splitlines())) <= 80
    judge, _ = answer(*words, "--rater", "j1", "--gold", folder / "gold.csv", full=False)
    assert sorted(judge["comparison"]["ranking"]) == sorted(SYSTEMS) and judge["comparison"]["num_gold"] == 30
    assert "--predictions PRED.csv or --rater" in refusal(*words, "--rater", "j1", "--predictions", said)
    assert "leave one of them out" in refusal(*words, "--predictions", said, "--scores")


@pytest.mark.slow
def test_labelers_in_every_group(answer, refusal, folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    words = ["labelers", folder / "labels.csv", "--by", "system", "--gold", folder / "gold.csv"]
    found, out = answer(*words, full=False)
    by = found["by"]
    assert len(by["labelers"]) == 6 and {row["group"] for row in by["labelers"]} == set(SYSTEMS)
    assert {row["worker"] for row in by["differences"]} == set(JUDGES)
    assert len(out.splitlines()) <= 20 and max(map(len, out.splitlines())) <= 80
    assert "--fast, --update and --model and --by cannot be combined" in refusal(*words, "--fast")


def test_labels_as_given_stand_by_group_where_nothing_is_identified(answer, tmp_path):
    """One scorer of two models: his verdicts are counted, and no share is claimed."""
    rows = [
        (f"q{i}", model, "ok" if i % 4 < k else "bad") for k, model in ((3, "a"), (2, "b")) for i in range(20)
    ]
    path = write(tmp_path / "one.csv", ("task", "model", "verdict"), rows)
    found, out = answer("prevalence", path, "--task", "task,model", "--label", "verdict", "--by", "model",
                        "--positive", "ok")  # fmt: skip
    assert found["rule"] == "not identified" and "Not identified" in out
    assert [(row["group"], row["share"], row["num_labels"]) for row in found["given"]] == [
        ("a", 0.75, 20), ("b", 0.5, 20)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def dated(tmp_path_factory):
    """Three labels of each of 240 samples, some minutes apart, over 12 weeks; more pass in the last ones."""
    folder, rng, rows, gold = tmp_path_factory.mktemp("dated"), np.random.default_rng(4), [], []
    for i in range(240):
        y, start = rng.random() < (0.2 if i < 160 else 0.8), np.datetime64("2026-01-05T00:57") + i * 504
        for k, judge in enumerate(JUDGES):
            said = ("fail", "pass")[int(y if rng.random() < 0.9 else not y)]
            rows.append(
                (f"q{i}", judge, said, str(start + 8 * k).replace("T", " "), f"2026-{i % 12 + 1:02}-03")
            )
        gold += [(f"q{i}", ("fail", "pass")[int(y)])] if i % 4 == 0 else []
    write(folder / "labels.csv", ("task", "worker", "label", "when", "due"), rows)
    write(folder / "one.csv", ("task", "worker", "label", "when"), [row[:4] for row in rows])
    write(folder / "told.csv", ("task", "worker", "label", "when"), [(*r[:3], "01/02/2026") for r in rows[3:]]
          + [(*r[:3], "03/01/2026") for r in rows[:3]])  # fmt: skip
    write(folder / "gold.csv", ("task", "label"), gold)
    return folder


def test_units_of_a_column_of_times(answer, refusal, dated, monkeypatch):
    """A sample is of the week of its first label, though later ones are of the next day."""
    monkeypatch.setenv("COLUMNS", "80")
    words = ["prevalence", dated / "one.csv", "--gold", dated / "gold.csv", "--by"]
    found, out = answer(*words, "week", full=False)
    weeks = found["by"]["groups"]
    assert [row["group"] for row in weeks] == [
        str(np.datetime64("2026-01-05") + 7 * k) for k in range(12)
    ] and [row["num_samples"] for row in weeks] == [20] * 12  # fmt: skip
    assert found["num_samples"] == 240 and sum(row["num_gold"] for row in weeks) == 60
    assert "rose with probability 1.00, from 2026-01-05" in " ".join(out.split())
    assert len(out.splitlines()) <= 20 and max(map(len, out.splitlines())) <= 80
    curve = found["by"]["curve"]
    assert curve["x"][:2] == [0.0, 7.0] and curve["mean"] == [row["mean"] for row in weeks]
    width = lambda by: np.mean([row["high"] - row["low"] for row in by["groups"]])  # noqa: E731
    alone, _ = answer(*words, "when:week", "--no-smooth")
    assert [row["num_samples"] for row in alone["by"]["groups"]] == [20] * 12
    assert width(found["by"]) < 0.9 * width(alone["by"])
    months, _ = answer("prevalence", dated / "labels.csv", "--by", "when:month", "--assume", "independent")
    assert [row["group"] for row in months["by"]["groups"]] == ["2026-01", "2026-02", "2026-03"]
    days, out = answer("prevalence", dated / "one.csv", "--by", "when", "--assume", "independent", full=False)
    assert days["num_samples"] == 240  # labels of other moments are no other samples
    assert "Group by day, week or month instead: --by week." in " ".join(out.split())
    rows = rows_of(dated / "one.csv")
    for unit in ("s", "ms"):
        since = [(*row[:3], str(np.datetime64(row[3], unit).astype(int))) for row in rows]
        epoch = write(dated / "epoch.csv", ("task", "worker", "label", "when"), since)
        assert by_group(*opened(epoch)[:2], "week")[1]["q0"][0] == "2026-01-05"
    quarter = by_group(*opened(dated / "one.csv")[:2], "quarter")[1].values()
    assert {group for group, _ in quarter} == {"2026-Q1"}
    assert "by hour, day, week, month, quarter" in refusal("prevalence", dated / "one.csv", "--by", "wek")
    _, out = answer("prevalence", dated / "labels.csv", "--by", "when:month", full=False)
    assert "--num 30 --truth --out to_verify.csv" in " ".join(out.replace("\\\n", "").split())
    refused = refusal("prevalence", dated / "labels.csv", "--by", "week")
    assert "'when', 'due' hold times: write --by when:week" in refused
    assert "may be 2026-02-01 or 2026-01-02" in refusal("prevalence", dated / "told.csv", "--by", "month")
    bare = write(dated / "bare.csv", ("task", "worker", "label"), [("a", "j", "x"), ("b", "j", "y")])
    assert "no column is called 'day', and none holds times" in refusal("prevalence", bare, "--by", "day")
