"""Samples chosen by `ask --truth` are accepted as gold by every command without further options."""

import numpy as np
import pytest

import jtruth as jt
from jtruth.io import read_labels
from jtruth.io.gold import read_gold_sample
from tests.cli.files import rows_of, write

pytestmark = pytest.mark.usefixtures("few_lineages")


STRATA = ("task", "label", "stratum", "stratum_size")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("asked")


@pytest.fixture
def asked(run, folder):
    """60 samples of 3 labelers, and the file of 24 asked truths, filled in."""
    if not (folder / "answers.csv").exists():
        run("simulate", folder, "--samples", 60, "--labelers", 3, "--classes", "fail,pass", "--seed", 1)
        code, out, err = run(*asking(folder), "--num", 24, "--out", folder / "ask.csv")
        assert code == 0 and "random sample, stratified by prediction and vote" in " ".join(out.split()), err
        rows = rows_of(folder / "ask.csv")
        assert (folder / "ask.csv").read_text().splitlines()[0] == ",".join(STRATA) and len(rows) == 24
        filled(folder, folder / "answers.csv", rows)
    return folder


def asking(folder):
    """What asks for the truth of samples that a classifier labelled."""
    return ("ask", folder / "labels.csv", "--predictions", folder / "predictions.csv", "--truth")


def filled(folder, path, rows):
    truth = dict(rows_of(folder / "truth.csv"))
    assert all(label in ("", truth[task]) for task, label, *_ in rows)
    return write(path, STRATA, [(task, truth[task], *rest) for task, _, *rest in rows])


def graded(folder, gold, *more):
    """The words of an evaluation with this gold."""
    given = ("--predictions", folder / "predictions.csv", "--gold", gold, "--seed", 3, *more)
    return "evaluate", folder / "labels.csv", *given


def test_every_question_reads_the_strata(answer, asked):
    """No note that gold is taken as random, nor that a column is not used; Python says the same."""
    labels, gold = read_labels(asked / "labels.csv"), asked / "answers.csv"
    pred = asked / "predictions.csv"
    file = asked / "labels.csv"
    for words in (
        graded(asked, gold), ("prevalence", file, "--gold", gold), ("labelers", file, "--gold", gold),
        ("compare", file, pred, asked / "truth.csv", "--gold", gold),
    ):  # fmt: skip
        found, _ = answer(*words)
        assert found.get("num_gold", 24) == 24, words[0]
        said = " ".join(found["warnings"])
        assert "random sample" not in said and "no say" not in said, words[0]
        if words[0] in ("evaluate", "labelers"):
            assert "Verify next: " in found["advice"][1]
    found, _ = answer(*graded(asked, gold))
    known = read_gold_sample(gold, labels)
    told = jt.evaluate(jt.read_predictions(pred, labels).y_pred, labels, gold=known, key=3)
    assert found["metrics"]["accuracy"]["mean"] == pytest.approx(told.accuracy.mean)


def test_a_second_round_continues_the_first(run, answer, asked):
    """Known ones are skipped and handed on, `prevalence --ask-out` asks in the same way, votes alone."""
    code, _, err = run(
        *asking(asked), "--num", 6, "--gold", asked / "answers.csv", "--out", asked / "second.csv"
    )
    assert code == 0, err
    rows, before = rows_of(asked / "second.csv"), dict(row[:2] for row in rows_of(asked / "answers.csv"))
    assert len(rows) == len({row[0] for row in rows}) == 30
    assert not {row[0] for row in rows[:6]} & set(before)
    assert {task: label for task, label, *_ in rows[6:]} == before
    second = filled(asked, asked / "both.csv", rows)
    found, _ = answer("prevalence", asked / "labels.csv", "--gold", second, "--ask-out", asked / "third.csv")
    assert found["num_gold"] == 30 and len(rows_of(asked / "third.csv")) == 40
    assert rows_of(asked / "third.csv")[0][2].startswith("labels say ")
    code, out, err = run("prevalence", asked / "labels.csv", "--gold", asked / "second.csv")
    assert code == 0 and "6 rows of gold have no label yet" in " ".join(out.split()), err


def test_what_is_refused(refusal, asked):
    assert "column 'label' is empty" in refusal(*graded(asked, asked / "ask.csv"))
    (task, label, stratum, _), *rows = rows_of(asked / "answers.csv")
    for size, said in ((0, "give one number for each stratum"), (1000, "sizes sum to at most 60")):
        broken = write(asked / "broken.csv", STRATA, [(task, label, stratum, size), *rows])
        assert said in " ".join(refusal(*graded(asked, broken)).split())
    broken = write(asked / "broken.csv", ("task", "label", "inclusion"), [(task, label, 0)])
    assert "line 2: inclusion '0' is not an inclusion probability" in refusal(*graded(asked, broken))
    chances = [(row[0], row[1], 0.1 * (1 + k % 4)) for k, row in enumerate(rows)]
    unequal = write(asked / "unequal.csv", ("task", "label", "inclusion"), chances)
    assert "unequal probabilities" in refusal(*asking(asked), "--gold", unequal)
    all_ = write(
        asked / "all.csv", ("task", "inclusion"), [(t, 0.4) for t, _ in rows_of(asked / "truth.csv")]
    )
    assert "probabilities are given twice" in refusal(*graded(asked, unequal, "--inclusion", all_))
    err = refusal(*graded(asked, asked / "answers.csv", "--assume", "independent"))
    assert "how gold was chosen" in err and "would not be used" in err
    assert "say --truth" in refusal("ask", asked / "labels.csv")


def test_strata_of_a_table(run, asked):
    """A row for each task; the classes of some. Anything less does not say how large the strata are."""
    labels = read_labels(asked / "labels.csv")
    truth = dict(rows_of(asked / "truth.csv"))
    half = [[t, truth[t] if k % 3 == 0 else "", ("b", "a")[k % 2]] for k, t in enumerate(labels.tasks)]
    path = write(asked / "strata.csv", ("task", "label", "stratum"), half[::-1])
    gold = read_gold_sample(path, labels)
    assert gold.strata.tolist() == ["b", "a"] * 30 and gold.inclusion is gold.sizes is None
    assert (np.asarray(gold.classes) >= 0).tolist() == [k % 3 == 0 for k in range(60)]
    assert "40 rows of gold have no label" in gold.classes.notes[0]
    few = write(asked / "few.csv", ("task", "label", "stratum"), half[::3])
    with pytest.raises(ValueError, match="40 of 60 tasks have no row"):
        read_gold_sample(few, labels)
