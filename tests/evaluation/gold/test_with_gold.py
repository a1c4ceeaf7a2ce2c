"""`evaluate` with some true classes: the answer, its notes, advice, and how gold was chosen."""

import json
import re

import numpy as np
import pytest
import sklearn.metrics as sk

import jtruth as jt
from jtruth.evaluation import compare_groups, labelers_by_group, prevalence
from jtruth.evaluation.checks.of_labels import missing_check
from jtruth.learning import fit_joint
from tests.evaluation.crowds import crowd, some_gold

pytestmark = pytest.mark.usefixtures("enough_sweeps")


@pytest.fixture(scope="module")
def answer():
    y, y_pred, labels = crowd(size=300, labelers=3)
    gold = some_gold(y, 40)
    return jt.evaluate(y_pred, labels, gold=gold), y, y_pred, labels, gold


def test_gold_answers_and_says_so(answer):
    result, y, y_pred, _, _ = answer
    assert result.interval_kind == "posterior" and result.num_gold == 40 and result.rests_on == ""
    assert "40 verified labels" in result.summary(full=True)
    assert "95 % interval" in result.summary(full=True).splitlines()[0]
    assert [a.name for a in result.assumptions] == ["majority_vote", "independent", "ppi", "gold_only"]
    low, high = result.accuracy.interval(0.95)
    assert low <= (y == y_pred).mean() <= high
    counted = result.assumptions[-1].metrics["accuracy"].interval()
    assert high - low < counted.high - counted.low
    assert any("chosen at random" in w for w in result.warnings)
    json.dumps(result.to_dict(), allow_nan=False)


def test_advice_says_how_many_and_which(answer):
    """Of new samples 1/n is a quarter of it, and with one answer less it is not."""
    result, *_, gold = answer
    text = " ".join(result.advice)
    more = int(re.match(r"(\d+) more verified labels would about halve the intervals for new", text)[1])
    now, then, one_less = (1 / n for n in (40, 40 + more, 39 + more))
    assert then <= now / 4 < one_less
    assert "Verify next: " in text
    named = text.split("Verify next: ")[1].split(" (")[0].split(", ")
    assert len(named) == 5 and all(gold[int(task)] < 0 for task in named)
    assert "What would narrow the intervals" in result.summary(full=True)


def test_independence_still_clamps(answer):
    _, _, y_pred, labels, gold = answer
    clamped = jt.evaluate(y_pred, labels, gold=gold, assume="independent")
    assert clamped.interval_kind == "posterior" and clamped.advice == ()
    assert clamped.accuracy.sd < answer[0].accuracy.sd


@pytest.mark.parametrize("classes", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_what_predictions_settle_is_said_without_doubt(classes):
    """A class that is never predicted has recall 0 and no precision, whatever gold and models say."""
    rng = np.random.default_rng(0)
    y, y_pred = rng.integers(0, classes, 150), np.zeros(150, int)
    z = np.where(rng.random((150, 3)) < 0.8, y[:, None], rng.integers(0, classes, (150, 3)))
    gold = np.where(np.arange(150) < 30, y, -1)
    found = jt.evaluate(y_pred, jt.Labels.from_matrix(z, classes), gold=gold)
    assert found.recall.mean == 0 < found.recall.interval(0.95).high < 0.1 and found.precision.mean != 0
    found = found.in_sample
    assert tuple(found.recall.interval(0.95)) == (0, 0) and found.recall.probability_defined == 1
    assert np.isnan(found.precision.mean) and found.precision.probability_defined == 0
    assert 0.2 < found.accuracy.mean < 0.6 and found.accuracy.sd > 0
    if classes == 3:
        assert np.isnan(found.metrics["mcc"].mean) and found.metrics["kappa"].mean == 0
        # All three classes are in the gold: the mean of recalls 1, 0 and 0.
        np.testing.assert_allclose(found.metrics["macro_recall"].interval(0.95), 1 / 3, atol=1e-9)


def test_labelers_beside_gold_are_those_of_the_labelers_report(answer):
    """In a classifier's answer they were those of independent errors, too sure and without the gold."""
    result, y, _, labels, gold = answer
    report = {row["worker"]: row for row in jt.evaluate_labelers(labels, gold=gold).rows}
    for one in result.labelers:
        row = report[one["worker"]]
        assert one["accuracy"] == pytest.approx(row["accuracy"], abs=0.03)
        # There the classifier is no fourth rater, so labels guess otherwise; draws leave an end .04 (sd).
        width = row["high"] - row["low"]
        assert 0.6 * width < one["high"] - one["low"] < 1.2 * width
        right = (labels.to_matrix()[:, int(one["worker"])] == y).mean()
        assert one["low"] < right < one["high"]


@pytest.mark.slow
def test_labelers_of_a_vouched_assumption_are_its_own(answer):
    _, _, y_pred, labels, _ = answer
    hard = jt.evaluate(y_pred, labels, assume="shared_difficulty")
    alone = {one["worker"]: one for one in jt.evaluate(y_pred, labels, assume="independent").labelers}
    for one in hard.labelers:
        # Who errs together looks right to independence.
        assert one["accuracy"] < alone[one["worker"]]["accuracy"] - 0.02


@pytest.fixture(scope="module")
def by_class():
    """Labels of positives are missing less often; 30 gold at random."""
    rng = np.random.default_rng(1)
    y = (rng.random(400) < 0.4).astype(int)
    z = np.where(rng.random((400, 5)) < 0.8, y[:, None], 1 - y[:, None])
    z = np.where(rng.random(z.shape) < np.where(y == 1, 0.85, 0.35)[:, None], z, -1)
    labelled = (z >= 0).any(axis=1)
    y, z = y[labelled], z[labelled]
    y_pred = np.where(rng.random(y.size) < 0.85, y, 1 - y)
    return y, y_pred, jt.Labels.from_matrix(z, 2), some_gold(y, 30)


@pytest.mark.slow
def test_every_model_has_shares_by_number_of_labels_with_gold_too(by_class):
    """Independence has its own shares, and gold finds the truth beside it."""
    y, y_pred, labels, gold = by_class
    alone, pooled = (jt.evaluate(y_pred, labels, gold=known) for known in (None, gold))
    before = {a.name: a.metrics for a in alone.assumptions}
    true = (y_pred & y).sum() / y_pred.sum()
    dist = next(a for a in pooled.assumptions if a.name == "independent").metrics["precision"]
    assert dist.mean == pytest.approx(before["independent"]["precision"].mean, abs=0.01)
    for one in (dist, pooled.precision, alone.precision):
        assert one.interval().low < true < one.interval().high
    for result in (alone, pooled):
        (said,) = (c for c in result.checks if c.name == "labels missing by class")
        assert said.verdict == "worth knowing" and "here class shares depend" in said.message


@pytest.mark.slow
def test_the_check_of_missing_labels_is_that_of_the_fit_which_takes_them_not_to_be(by_class):
    """After learning shares by number the same statistic means nothing."""
    _, y_pred, labels, _ = by_class
    result = jt.evaluate(y_pred, labels, assume="independent")
    (said,) = (c for c in result.checks if c.name == "labels missing by class")
    one = fit_joint(labels, y_pred=y_pred, key=0)
    (first,) = missing_check(labels, one.class_posterior)
    assert said.statistic == pytest.approx(first.statistic, rel=0.15)
    (after,) = missing_check(labels, result.fit.class_posterior)
    assert after.statistic > 1.3 * first.statistic


def test_few_verified_answers_of_a_class_are_said_in_the_same_words_everywhere():
    """Three of 40 are of the class: the headline says so, and a sentence in every answer."""
    rng = np.random.default_rng(8)
    y = (rng.random(240) < 0.1).astype(int)
    z = np.where(rng.random((240, 4)) < 0.9, y[:, None], 1 - y[:, None])
    labels, y_pred, group = jt.Labels.from_matrix(z[:, 1:], 2), z[:, 0], np.repeat(["a", "b"], 120)
    gold = np.full(240, -1)
    gold[np.r_[np.flatnonzero(y == 1)[:3], np.flatnonzero(y == 0)[:37]]] = [1] * 3 + [0] * 37
    few, two = "only 3 of 40 verified labels are of class '1'", {"m": y_pred, "n": z[:, 1]}
    found = jt.evaluate(y_pred, labels, gold=gold)
    assert f"The interval of sensitivity (TPR) is wide: {few}" in " ".join(found.summary().split())
    for answer in (
        found, jt.evaluate_labelers(labels, gold=gold), prevalence(labels, gold=gold),
        jt.compare_classifiers(two, labels, gold=gold, metric="recall"),
        compare_groups(y_pred, labels, group, gold=gold, metric="f1"),
        prevalence(labels, gold=gold, by=group), labelers_by_group(labels, group, gold=gold).reports["a"],
    ):  # fmt: skip
        said = [text for text in answer.warnings if text.startswith("Uncertain estimates: only ")]
        assert len(said) == 1 and said[0].startswith(f"Uncertain estimates: {few}"), type(answer)
    accuracy = jt.compare_classifiers(two, labels, gold=gold)
    assert not any("Uncertain estimates" in text for text in accuracy.warnings)
    swapped = jt.evaluate(y_pred, labels, gold=gold, positive=0)
    assert f"The interval of specificity (TNR) is wide: {few}." in " ".join(swapped.summary().split())


def test_a_class_that_is_never_true_is_left_out_of_averages_in_every_row():
    """Everything is gold, so every model knows it; scikit-learn's mean over the classes that occur."""
    rng = np.random.default_rng(3)
    y, y_pred = rng.integers(0, 2, 60), rng.integers(0, 3, 60)
    z = np.where(rng.random((60, 3)) < 0.8, y[:, None], rng.integers(0, 3, (60, 3)))
    found = jt.evaluate(y_pred, jt.Labels.from_matrix(z, 3), gold=y, target="in-sample")
    recall = sk.recall_score(y, y_pred, labels=[0, 1], average="macro")
    for row in found.assumptions:
        if row.name != "majority_vote":
            assert row.metrics["macro_recall"].mean == pytest.approx(recall, abs=1e-9), row.name
            assert row.metrics["accuracy"].mean == pytest.approx((y == y_pred).mean(), abs=1e-9), row.name
    assert {"independent", "ppi", "gold_only"} <= {row.name for row in found.assumptions}
    assert found.metrics["macro_recall"].mean == pytest.approx(recall)
    assert "Macro averages leave out classes without a value: recall[2]." in found.summary(full=True)
