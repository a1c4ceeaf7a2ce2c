"""Truths that `ask --truth` asked for come back as gold with nothing else to say."""

import csv

import numpy as np
import pytest

import jtruth as jt
from jtruth.io import read_labels
from jtruth.io.gold import read_gold_sample
from tests.cli.files import rows_of, write

pytestmark = pytest.mark.usefixtures("few_lineages")


CHANCES = ("task", "label", "inclusion")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("asked")


@pytest.fixture
def asked(run, folder):
    """60 samples of 3 labelers, and the file of 24 asked truths, filled in."""
    if not (folder / "answers.csv").exists():
        run("simulate", folder, "--samples", 60, "--labelers", 3, "--classes", "fail,pass", "--seed", 1)
        source = ("ask", folder / "labels.csv", "--predictions", folder / "predictions.csv", "--truth")
        files = ("--out", folder / "ask.csv", "--inclusion", folder / "all.csv")
        code, out, err = run(*source, "--num", 24, *files)
        assert code == 0 and "its column inclusion says so" in out, err
        truth, rows = dict(rows_of(folder / "truth.csv")), rows_of(folder / "ask.csv")
        assert (folder / "ask.csv").read_text().startswith("task,label,inclusion\n") and len(rows) == 24
        write(folder / "answers.csv", CHANCES, [(task, truth[task], p) for task, _, p in rows])
    return folder


def graded(folder, gold, *more):
    """The words of an evaluation with this gold."""
    given = ("--predictions", folder / "predictions.csv", "--gold", gold, "--seed", 3, *more)
    return "evaluate", folder / "labels.csv", *given


@pytest.mark.slow
def test_asked_truths_are_gold_with_their_chances(answer, asked):
    """The command's answer is that of Python with the chances, and not that of random gold."""
    found, _ = answer(*graded(asked, asked / "answers.csv"))
    assert found["num_gold"] == 24 and not any("random sample" in w for w in found["warnings"])
    labels = read_labels(asked / "labels.csv")
    chance = {task: float(p) for task, _, p in rows_of(asked / "all.csv")}
    gold = read_gold_sample(asked / "answers.csv", labels)
    y_pred = jt.read_predictions(asked / "predictions.csv", labels).y_pred
    told = jt.evaluate(y_pred, labels, gold=gold._replace(inclusion=chance), key=3)
    assert found["metrics"]["accuracy"]["mean"] == pytest.approx(told.accuracy.mean)
    blind = jt.evaluate(y_pred, labels, gold=gold.classes, key=3)
    assert abs(told.accuracy.mean - blind.accuracy.mean) > 1e-3


def test_asking_again_needs_and_keeps_the_chances(run, refusal, asked):
    """The second file holds both rounds, each with 1 - (1 - first)(1 - second)."""
    rows = rows_of(asked / "all.csv")
    truth = dict(row[:2] for row in rows_of(asked / "answers.csv"))
    first = write(asked / "first.csv", CHANCES, [(t, truth.get(t, ""), p) for t, _, p in rows])
    again = ("ask", asked / "labels.csv", "--predictions", asked / "predictions.csv", "--truth", "--num", 6)
    code, out, err = run(*again, "--gold", first, "--out", asked / "second.csv")
    assert code == 0 and "36 rows of gold have no label" in out, err
    found = {task: (label, float(p)) for task, label, p in rows_of(asked / "second.csv")}
    before = {task: float(p) for task, _, p in rows}
    assert len(found) == 30 and {t: c for t, (c, _) in found.items() if c} == truth
    assert all(p >= before[task] for task, (_, p) in found.items())
    assert any(p > before[task] + 0.01 for task, (_, p) in found.items())
    assert "how likely each task was to be asked before" in refusal(*again, "--gold", asked / "answers.csv")


def test_what_is_refused(refusal, asked):
    answers = asked / "answers.csv"
    assert "the chances are said twice" in refusal(*graded(asked, answers, "--inclusion", asked / "all.csv"))
    assert "column 'label' is empty" in refusal(*graded(asked, asked / "ask.csv"))
    first, *rows = rows_of(answers)
    broken = write(asked / "broken.csv", CHANCES, [(*first[:2], 0), *rows])
    assert "broken.csv, line 2: inclusion '0' is no chance" in refusal(*graded(asked, broken))
    err = refusal(*graded(asked, answers, "--assume", "independent"))
    assert "how gold was chosen" in err and "would not be used" in err


def test_strata_of_a_table(run, asked):
    """A row for each task; the classes of some. Anything less does not say how large the strata are."""
    labels = read_labels(asked / "labels.csv")
    truth = dict(rows_of(asked / "truth.csv"))
    half = [[t, truth[t] if k % 3 == 0 else "", ("b", "a")[k % 2]] for k, t in enumerate(labels.tasks)]
    path = write(asked / "strata.csv", ("task", "label", "stratum"), half[::-1])
    gold = read_gold_sample(path, labels)
    assert gold.strata.tolist() == [1, 0] * 30 and gold.inclusion is None
    assert (np.asarray(gold.classes) >= 0).tolist() == [k % 3 == 0 for k in range(60)]
    assert "40 rows of gold have no label" in gold.classes.notes[0]
    few = write(asked / "few.csv", ("task", "label", "stratum"), half[::3])
    with pytest.raises(ValueError, match="40 of 60 tasks have no row"):
        read_gold_sample(few, labels)


def test_commands_that_do_not_use_the_chances_say_so(run, asked):
    code, out, err = run("prevalence", asked / "labels.csv", "--gold", asked / "answers.csv")
    assert code == 0 and "column 'inclusion' of the gold has no say in this answer" in out, err


@pytest.mark.slow
def test_strata_of_prediction_and_margin(run, answer, refusal, asked):
    """What --stratified writes is gold once its first rows are filled in: warned of only while one is not."""
    source = ("ask", asked / "labels.csv", "--predictions", asked / "predictions.csv", "--truth")
    code, out, err = run(*source, "--num", 20, "--stratified", "--metric", "kappa", "--out", asked / "s.csv")
    assert code == 0 and "its column stratum says so" in out and "Find out the truth of these 20" in out, err
    header, *rows = csv.reader((asked / "s.csv").read_text().splitlines())
    assert header == [*CHANCES, "stratum", "asked"] and len(rows) == 60
    assert [row[4] for row in rows] == ["yes"] * 20 + ["no"] * 40
    truth, labels = dict(rows_of(asked / "truth.csv")), read_labels(asked / "labels.csv")
    told = [[row[0], truth[row[0]] if row[4] == "yes" else "", *row[2:]] for row in rows]
    filled = write(asked / "filled.csv", header, told)
    found, _ = answer(*graded(asked, filled))
    assert found["num_gold"] == 20 and not any("random sample" in w for w in found["warnings"])
    gold = read_gold_sample(filled, labels)
    assert gold.classes.notes == ()
    for h in np.unique(gold.strata):
        own = gold.strata == h
        np.testing.assert_allclose(gold.inclusion[own], (gold.classes[own] >= 0).mean(), atol=1e-12)
    told[0][1] = ""
    one_less = read_gold_sample(write(asked / "told.csv", header, told), labels)
    assert "1 rows of gold were asked for" in one_less.classes.notes[0]
    other = write(asked / "other.csv", header, [[*row[:-1], "in May"] for row in told])
    assert "41 rows of gold have no label" in read_gold_sample(other, labels).classes.notes[0]
    for more in (("--gold", asked / "answers.csv"), ("--inclusion", asked / "i.csv")):
        assert f"leave {more[0]} out" in refusal(*source, "--num", 20, "--stratified", *more)
    assert "say --truth too" in refusal(*source[:-1], "--stratified")
    assert "num must be 6 to 60" in refusal(*source, "--num", 2, "--stratified")
