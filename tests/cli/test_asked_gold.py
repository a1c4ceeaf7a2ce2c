"""Truths that `ask --truth` asked for come back as gold with nothing else to say."""

import csv
import json

import numpy as np
import pytest

import jtruth as jt
from jtruth.io import read_labels
from jtruth.io.gold import read_gold_sample

pytestmark = pytest.mark.usefixtures("few_sweeps")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("asked")


def table(path):
    return list(csv.reader(path.read_text().splitlines()))


def write(path, rows):
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    return path


@pytest.fixture
def asked(run, folder):
    """60 samples of 3 labelers, and the file of 24 asked truths, filled in."""
    if not (folder / "answers.csv").exists():
        run("simulate", folder, "--samples", 60, "--labelers", 3, "--classes", "fail,pass", "--seed", 1)
        source = ("ask", folder / "labels.csv", "--predictions", folder / "predictions.csv", "--truth")
        files = ("--out", folder / "ask.csv", "--inclusion", folder / "all.csv")
        code, out, err = run(*source, "--num", 24, *files)
        assert code == 0 and "its column inclusion says so" in out, err
        truth = dict(table(folder / "truth.csv")[1:])
        header, *rows = table(folder / "ask.csv")
        assert header == ["task", "label", "inclusion"] and len(rows) == 24
        write(folder / "answers.csv", [header, *([task, truth[task], p] for task, _, p in rows)])
    return folder


def evaluate(run, folder, gold, *more):
    given = ("--predictions", folder / "predictions.csv", "--gold", gold, "--seed", 3, *more)
    return run("evaluate", folder / "labels.csv", *given)


@pytest.mark.slow
def test_asked_truths_are_gold_with_their_chances(run, asked):
    """The command's answer is that of Python with the chances, and not that of random gold."""
    code, _, err = evaluate(run, asked, asked / "answers.csv", "--json", asked / "e.json")
    assert code == 0, err
    found = json.loads((asked / "e.json").read_text())
    assert found["num_gold"] == 24 and not any("random sample" in w for w in found["warnings"])
    labels = read_labels(asked / "labels.csv")
    chance = {task: float(p) for task, _, p in table(asked / "all.csv")[1:]}
    gold = read_gold_sample(asked / "answers.csv", labels)
    y_pred = jt.read_predictions(asked / "predictions.csv", labels).y_pred
    told = jt.evaluate(y_pred, labels, gold=gold._replace(inclusion=chance), key=3)
    assert found["metrics"]["accuracy"]["mean"] == pytest.approx(told.accuracy.mean)
    blind = jt.evaluate(y_pred, labels, gold=gold.classes, key=3)
    assert abs(told.accuracy.mean - blind.accuracy.mean) > 1e-3


def test_asking_again_needs_and_keeps_the_chances(run, asked):
    """The second file holds both rounds, each with 1 - (1 - first)(1 - second)."""
    header, *rows = table(asked / "all.csv")
    truth = dict(table(asked / "answers.csv")[k][:2] for k in range(1, 25))
    first = write(asked / "first.csv", [header, *([t, truth.get(t, ""), p] for t, _, p in rows)])
    again = ("ask", asked / "labels.csv", "--predictions", asked / "predictions.csv", "--truth", "--num", 6)
    code, out, err = run(*again, "--gold", first, "--out", asked / "second.csv")
    assert code == 0 and "36 rows of gold have no label" in out, err
    found = {task: (label, float(p)) for task, label, p in table(asked / "second.csv")[1:]}
    before = {task: float(p) for task, _, p in rows}
    assert len(found) == 30 and {t: c for t, (c, _) in found.items() if c} == truth
    assert all(p >= before[task] for task, (_, p) in found.items())
    assert any(p > before[task] + 0.01 for task, (_, p) in found.items())
    code, _, err = run(*again, "--gold", asked / "answers.csv")
    assert code == 2 and "how likely each task was to be asked before" in err


def test_what_is_refused(run, asked):
    code, _, err = evaluate(run, asked, asked / "answers.csv", "--inclusion", asked / "all.csv")
    assert code == 2 and "the chances are said twice" in err
    code, _, err = evaluate(run, asked, asked / "ask.csv")
    assert code == 2 and "column 'label' is empty" in err
    header, *rows = table(asked / "answers.csv")
    broken = write(asked / "broken.csv", [header, [*rows[0][:2], 0], *rows[1:]])
    code, _, err = evaluate(run, asked, broken)
    assert code == 2 and "broken.csv, line 2: inclusion '0' is no chance" in err
    code, _, err = evaluate(run, asked, asked / "answers.csv", "--assume", "independent")
    assert code == 2 and "how gold was chosen" in err and "would not be used" in err


def test_strata_of_a_table(run, asked):
    """A row for each task; the classes of some. Anything less does not say how large the strata are."""
    labels = read_labels(asked / "labels.csv")
    truth = dict(table(asked / "truth.csv")[1:])
    half = [[t, truth[t] if k % 3 == 0 else "", ("b", "a")[k % 2]] for k, t in enumerate(labels.tasks)]
    path = write(asked / "strata.csv", [["task", "label", "stratum"], *half[::-1]])
    gold = read_gold_sample(path, labels)
    assert gold.strata.tolist() == [1, 0] * 30 and gold.inclusion is None
    assert (np.asarray(gold.classes) >= 0).tolist() == [k % 3 == 0 for k in range(60)]
    assert "40 rows of gold have no label" in gold.classes.notes[0]
    few = write(asked / "few.csv", [["task", "label", "stratum"], *half[::3]])
    with pytest.raises(ValueError, match="40 of 60 tasks have no row"):
        read_gold_sample(few, labels)


def test_commands_that_do_not_use_the_chances_say_so(run, asked):
    code, out, err = run("prevalence", asked / "labels.csv", "--gold", asked / "answers.csv")
    assert code == 0 and "column 'inclusion' of the gold has no say in this answer" in out, err


def test_strata_of_prediction_and_margin(run, asked):
    """The file that --stratified writes is gold once its first rows are filled in, as in Python."""
    source = ("ask", asked / "labels.csv", "--predictions", asked / "predictions.csv", "--truth")
    code, out, err = run(*source, "--num", 20, "--stratified", "--metric", "kappa", "--out", asked / "s.csv")
    assert code == 0 and "its column stratum says so" in out, err
    header, *rows = table(asked / "s.csv")
    assert header == ["task", "label", "inclusion", "stratum", "asked"] and len(rows) == 60
    assert [row[4] for row in rows] == ["yes"] * 20 + ["no"] * 40
    truth = dict(table(asked / "truth.csv")[1:])
    filled = [[row[0], truth[row[0]] if row[4] == "yes" else "", *row[2:]] for row in rows]
    write(asked / "filled.csv", [header, *([f'"{v}"' for v in row] for row in filled)])
    code, _, err = evaluate(run, asked, asked / "filled.csv", "--json", asked / "s.json")
    assert code == 0, err
    found = json.loads((asked / "s.json").read_text())
    assert found["num_gold"] == 20 and not any("random sample" in w for w in found["warnings"])
    labels = read_labels(asked / "labels.csv")
    gold = read_gold_sample(asked / "filled.csv", labels)
    for h in np.unique(gold.strata):
        own = gold.strata == h
        np.testing.assert_allclose(gold.inclusion[own], (gold.classes[own] >= 0).mean(), atol=1e-12)
    for more in (("--gold", asked / "answers.csv"), ("--inclusion", asked / "i.csv")):
        code, _, err = run(*source, "--num", 20, "--stratified", *more)
        assert code == 2 and f"leave {more[0]} out" in err
    code, _, err = run(*source[:-1], "--stratified")
    assert code == 2 and "say --truth too" in err
    code, _, err = run(*source, "--num", 2, "--stratified")
    assert code == 2 and "num must be 6 to 60" in err


def test_answers_to_a_stratified_asking_need_no_reservation(run, asked):
    """The file says which rows were asked for: a warning only while one of these has no label."""
    labels, truth = read_labels(asked / "labels.csv"), dict(table(asked / "truth.csv")[1:])
    ask = ("ask", asked / "labels.csv", "--predictions", asked / "predictions.csv", "--truth", "--stratified")
    code, out, err = run(*ask, "--num", 24, "--out", asked / "asked.csv")
    assert code == 0 and "Find out the truth of these 24" in out, err
    with open(asked / "asked.csv", newline="") as file:  # names of strata hold commas
        header, *rows = ([field.replace(",", "") for field in row] for row in csv.reader(file))
    told = [[t, truth[t] if was == "yes" else "", *rest, was] for t, _, *rest, was in rows]
    path = write(asked / "told.csv", [header, *told])
    assert read_gold_sample(path, labels).classes.notes == ()
    told[0][1] = ""
    path = write(asked / "told.csv", [header, *told])
    assert "1 rows of gold were asked for" in read_gold_sample(path, labels).classes.notes[0]
    other = write(asked / "other.csv", [header, *([*row[:-1], "in May"] for row in told)])
    assert "37 rows of gold have no label" in read_gold_sample(other, labels).classes.notes[0]
