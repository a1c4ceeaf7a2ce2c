"""`calibration=`: judges whose error rates come from other items."""

from operator import attrgetter
from types import SimpleNamespace

import numpy as np
import pytest

import jtruth as jt
from jtruth.evaluation import calibrated, compare_groups, evaluate_class_scores, inputs
from jtruth.evaluation.calibrated import APART
from tests.stats.test_elsewhere import RIGHT, simulated

pytestmark = pytest.mark.usefixtures("few_lineages")
NAMES = ("fail", "pass")


def named(z, classes=NAMES, workers=("a", "b", "c"), task="new"):
    sample, labeler = np.nonzero(z >= 0)
    words = np.array(NAMES)[z[sample, labeler]]
    return jt.Labels.from_long(
        [f"{task}{i}" for i in sample], np.array(workers)[labeler], words, classes=classes
    )


@pytest.fixture(scope="module")
def sets():
    rng = np.random.default_rng(0)
    truth, z_cal = simulated(rng, 200, [0.6, 0.4], RIGHT[:2])
    y, z = simulated(rng, 400, [0.3, 0.7], RIGHT[:2])
    return truth, z_cal, y, z


def test_one_judge_beside_his_raw_rate(sets):
    truth, z_cal, y, z = sets
    answer = jt.prevalence(named(z[:, :1]), calibration=(named(z_cal[:, :1], task="old"), truth))
    low, high = answer.shares["pass"].interval()[:2]
    assert low < y.mean() < high and answer.rule == "calibration" and high - low < 0.35
    raw = answer.label_shares["pass"]
    assert raw == pytest.approx((z[:, 0] == 1).mean()) and f"Of the labels, {100 * raw:.0f} % say" in str(
        answer
    )
    assert answer.in_sample.shares["pass"].sd <= answer.shares["pass"].sd
    rates = {row["class"]: row for row in answer.to_dict()["calibration"]}
    right = (z_cal[truth == 1, 0] == 1).sum()
    assert rates["pass"]["right"] == pytest.approx((right + 0.5) / ((truth == 1).sum() + 1))
    assert {check.name: check.verdict for check in answer.checks}["alike"] == "fits"
    known = np.where(np.arange(400) < 60, y, -1)  # the same where gold is of these samples
    assert f"Of the labels, {100 * raw:.0f} %" in str(jt.prevalence(named(z[:, :1]), gold=known))


def test_order_of_classes_judges_and_what_has_the_truth(sets):
    """Names decide; a labeler called human, or a file with a column of gold, says the truth."""
    truth, z_cal, _, z = sets
    labels, plain = named(z), named(z_cal, task="old")
    first = jt.prevalence(labels, calibration=(plain, truth))
    turned = named(z_cal[:, ::-1], classes=NAMES[::-1], workers=("c", "b", "a"), task="old")
    human = named(np.column_stack([z_cal, truth]), workers=("a", "b", "c", "human"), task="old")
    for calibration in ((turned, 1 - truth), SimpleNamespace(labels=plain, gold=truth), (human, None)):
        again = jt.prevalence(labels, calibration=calibration)
        assert again.shares["pass"].mean == pytest.approx(first.shares["pass"].mean, abs=0.01)
    assert "Labels of 'human' were taken as the truth" in again.summary(full=True)
    fourth = named(np.column_stack([z, z[:, :1]]), workers=("a", "b", "c", "d"))
    assert "Labels of 'd' are not used" in jt.prevalence(fourth, calibration=(plain, truth)).summary(
        full=True
    )


def test_groups_and_samples_without_these_judges(sets):
    truth, z_cal, y, z = sets
    group = np.where(y == 1, "good", "bad")
    group[::5] = "good"
    labels, calibration = named(z), (named(z_cal, task="old"), truth)
    answer = jt.prevalence(labels, calibration=calibration, by=group)
    dists = answer.groups.dists.values
    for name in ("good", "bad"):
        low, high = dists[name].interval(0.999)[:2]
        assert low - 0.001 <= y[group == name].mean() <= high + 0.001 and high - low < 0.5
    days = np.array([f"2026-10-{1 + k // 20:02d}" for k in np.argsort(np.argsort(y, kind="stable"))])
    over = jt.prevalence(labels, calibration=calibration, by=days)  # days borrow from their neighbours
    off = [over.groups.dists.values[d].mean - y[days == d].mean() for d in sorted(set(days))]
    assert len(over.groups.names) == 20 and np.abs(off).mean() < 0.2 and abs(np.mean(off)) < 0.08
    some = z.copy()
    some[:40, :2], some[:, 2] = -1, np.where(np.arange(400) < 40, z[:, 2], -1)
    part = jt.prevalence(
        named(some), calibration=(named(z_cal[:, :2], workers=("a", "b"), task="old"), truth)
    )
    assert "40 samples without a judge's label" in part.summary(full=True)
    low, high = part.shares["pass"].interval()[:2]
    assert low < y.mean() < high


def test_a_classifier_and_the_judge_himself(sets):
    truth, z_cal, y, z = sets
    rng = np.random.default_rng(5)
    pred = np.where(rng.random(400) < 0.85, y, 1 - y)
    labels, calibration = named(z), (named(z_cal, task="old"), truth)
    found = jt.evaluate(pred, labels, calibration=calibration)
    tp = ((pred == 1) & (y == 1)).sum()
    for dist, true in (
        (found.accuracy, (pred == y).mean()),
        (found.recall, tp / y.sum()),
        (found.precision, tp / pred.sum()),
    ):
        low, high = dist.interval(0.99)[:2]
        assert low < true < high and high - low < 0.4
    assert APART in str(found.assumptions[0].sentence)
    alone, old = named(z[:, :1], workers=("a",)), (named(z_cal[:, :1], workers=("a",), task="old"), truth)
    himself = jt.evaluate(z[:, 0], alone, calibration=old)
    right = [(z_cal[truth == c, 0] == c).mean() for c in (0, 1)]
    assert himself.recall.mean == pytest.approx(right[1], abs=0.05)
    assert himself.false_alarm_rate.mean == pytest.approx(1 - right[0], abs=0.06)
    assert APART not in himself.assumptions[0].sentence and not himself.baselines
    low, high = himself.accuracy.interval()[:2]
    assert low < (z[:, 0] == y).mean() < high
    assert himself.num_calibration == 200 and "200 verified calibration items" in str(himself)
    jointly = jt.evaluate(z[:, 0], labels, calibration=calibration)  # with the other judges' verdicts
    exact = {"precision": (y[z[:, 0] == 1] == 1).mean(), "specificity": (z[y == 0, 0] == 0).mean()}
    for name, true in exact.items():
        low, high = jointly.metrics[name].interval(0.99)[:2]
        assert low < true < high
    assert jointly.precision.sd < 0.9 * himself.precision.sd


def test_a_judge_worth_nothing_and_items_too_different(sets):
    truth, z_cal, _, z = sets
    always = named(np.ones((60, 1), int), workers=("a",))
    blind = jt.prevalence(always, calibration=(named(np.ones((200, 1), int), task="old"), truth))
    low, high = blind.shares["pass"].interval()[:2]
    assert low < 0.05 and high > 0.95 and "does not show that a is better than guessing" in str(blind)
    other = z.copy()
    other[::2, 0] = 1 - z[::2, 1]
    different = jt.prevalence(named(other), calibration=(named(z_cal, task="old"), truth))
    assert str(different).startswith("Look first: new items look too different")
    truth = np.where(np.arange(18) < 14, np.arange(18) % 5 == 0, -1)
    few = jt.prevalence(named(z), calibration=(named(z_cal[:18]), truth)).summary(full=True)
    few = " ".join(few.split())
    assert "only 3 items of class 'pass'" in few and "4 of 18 calibration items lack" in few
    assert (
        "18 calibration items have the ids of new samples" in few and "14 verified calibration items" in few
    )


def test_what_cannot_be_used_is_refused(sets):
    truth, z_cal, _, z = sets
    labels, old = named(z), named(z_cal, task="old")
    for calibration, why in (
        ((jt.Labels.from_matrix(z_cal, 2), truth), "the classes differ"),
        ((old, np.zeros(200, int)), "no calibration item is truly 'pass'"),
        ((named(z_cal, workers=("x", "y", "z")), truth), "no judge has labels in both sets"),
        ((named(z), np.arange(400) % 2), "400 calibration items have the ids and labels of these samples"),
        ((old, None), "no labeler is called human"), (3, "verified classes of other items"),
        ((named(truth[:, None], workers=("human",), task="old"), None), "labels of 'human' only"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=why):
            jt.prevalence(labels, calibration=calibration)
    pred, prior, by = z[:, 0], [0.5, 0.5], np.arange(400) % 2
    for ask, given, what in (
        ((jt.prevalence, labels), {"gold": by, "assume": "independent"}, "gold and assume"),
        ((jt.evaluate, pred, labels), {"prior": prior, "method": "plug_in"}, "prior and method"),
        ((compare_groups, pred, labels, by), {"gold": by}, "gold"),
        ((jt.evaluate_scores, pred, labels), {"prior": prior}, "prior"),
        ((evaluate_class_scores, np.eye(2)[pred], labels), {"gold": by}, "gold"),
    ):
        question, *data = ask
        with pytest.raises(ValueError, match=f"calibration sets the error rates: leave {what} out"):
            question(*data, calibration=(old, truth), **given)
        with pytest.raises(ValueError, match="no calibration item is truly 'pass'"):
            question(*data, calibration=(old, np.zeros(200, int)))


def sub_labels(z, keep=slice(None)):
    return named(z).restrict(np.arange(len(z))[keep])


def test_groups_of_a_classifier(sets):
    """Each group as if it were alone, by the gold where judges are perfect, and the judge's own labels."""
    truth, z_cal, y, z = sets
    rng, by = np.random.default_rng(8), np.where(np.arange(400) % 3 == 0, "x", "w")
    pred = np.where(rng.random(400) < np.where(by == "x", 0.95, 0.7), y, 1 - y)
    labels, calibration = named(z), (named(z_cal, task="old"), truth)
    found = compare_groups(pred, labels, by, calibration=calibration)
    for name in ("x", "w"):
        alone = jt.evaluate(pred[by == name], sub_labels(z, by == name), calibration=calibration)
        for one, same in ((found, alone), (found.in_sample, alone.in_sample)):
            dist = one.values[name]
            assert dist.mean == pytest.approx(same.accuracy.mean, abs=0.006)
            assert dist.sd == pytest.approx(same.accuracy.sd, rel=0.1)
    assert found.num_calibration == 200 and APART in found.assumption and found.p_better("x", "w") > 0.99
    assert "200 verified calibration items set" in " ".join(str(found).split())
    gold = compare_groups(pred, labels, by, gold=y)
    y_cal = np.tile([0, 1], 4000)
    sure = compare_groups(pred, named(y[:, None]), by, calibration=(named(y_cal[:, None], task="old"), y_cal))
    for name in ("x", "w"):
        assert sure.in_sample.values[name].mean == pytest.approx((pred == y)[by == name].mean(), abs=2e-3)
        np.testing.assert_allclose(sure.values[name].interval(), gold.values[name].interval(), atol=0.012)
    own = named(z[:, :1], workers=("a",)), (named(z_cal[:, :1], workers=("a",), task="old"), truth)
    himself = compare_groups(z[:, 0], own[0], by, metric="recall", calibration=own[1])
    assert any("error rates are assumed equal in all groups, so groups differ" in w for w in himself.warnings)
    assert himself.values["x"].mean == pytest.approx(himself.values["w"].mean, abs=0.02)
    jointly = compare_groups(z[:, 0], labels, by, metric="precision", calibration=calibration)
    for name in ("x", "w"):
        low, high = jointly.in_sample.values[name].interval(0.99)[:2]
        assert low < (y == 1)[(by == name) & (z[:, 0] == 1)].mean() < high
    lonely = np.where(np.arange(400) == 7, "one", "rest")
    few = compare_groups(pred, labels, lonely, calibration=calibration)
    low, high = few.values["one"].interval()[:2]
    assert high - low > 0.5 and "'one' have fewer than 5 samples" in few.summary(full=True)
    data = inputs.read_judged("compare_groups", pred, labels, {})
    _, pair = calibrated.together(labels, calibration)
    at_once, one = (
        calibrated.by_calibration(data, pair, group=group).counts for group in (None, np.zeros(400, int))
    )
    np.testing.assert_array_equal(at_once, one)  # one group is no group


def test_scores_as_by_known_error_rates_and_by_gold(sets):
    """Very many calibration items know the rates; perfect judges know the classes."""
    rng = np.random.default_rng(9)
    y, z = simulated(rng, 300, [0.5, 0.5], RIGHT[:2, :1])
    x, t = rng.normal(size=300) + 1.5 * y, np.repeat([0, 1], 40_000)
    right = np.rint(40_000 * RIGHT[:2, 0]).astype(int)
    old = np.concatenate([np.arange(40_000) >= right[0], np.arange(40_000) < right[1]]).astype(int)
    asked = {"threshold": 0.75, "positive": "pass"}
    found = jt.evaluate_scores(x, named(z), calibration=(named(old[:, None], task="old"), t), **asked)
    psi = np.array([[RIGHT[0, 0], 1 - RIGHT[0, 0]], [1 - RIGHT[1, 0], RIGHT[1, 0]]])
    share = found.counted.dist(attrgetter("share")).mean
    known = jt.evaluate_scores(
        x, named(z), noise=jt.noise.ConfusionMatrices(psi[None]), prior=[1 - share, share], **asked
    )
    pairs = [(one.auc, one.average_precision, one.asked[0].recall) for one in (found, known)]
    for one, other in zip(*pairs, strict=True):
        assert one.mean == pytest.approx(other.mean, abs=0.015) and one.sd == pytest.approx(
            other.sd, rel=0.25
        )
    sure = jt.evaluate_scores(x, named(y[:, None]), calibration=(named(t[:, None], task="old"), t), **asked)
    assert sure.in_sample.auc.mean == pytest.approx((x[y == 1][:, None] > x[y == 0]).mean(), abs=0.01)
    assert sure.asked[0].specificity.mean == pytest.approx((x[y == 0] < 0.75).mean(), abs=0.02)
    assert found.num_calibration == 80_000 and found.to_dict()["assumption"].endswith(APART)
    gate = found.require("auc >= .5", "recall >= .99")
    assert [row["verdict"] for row in gate.rows] == ["met", "not met"] and gate.exit_code == 3
    with pytest.raises(
        ValueError, match="there is no number 'area'; numbers: auc, average_precision, accuracy"
    ):
        found.require("area >= .5")


def test_scores_of_three_classes():
    rng, names = np.random.default_rng(10), [*"abc"]
    y, t = rng.choice(3, 300, p=[0.5, 0.3, 0.2]), np.repeat(np.arange(3), 8000)
    psi = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.05, 0.15, 0.8]])
    z, old = ((psi[of].cumsum(axis=1) < rng.random((len(of), 1))).sum(axis=1) for of in (y, t))
    make = lambda of, task: jt.Labels.from_long(  # noqa: E731
        [f"{task}{i}" for i in range(len(of))], ["a"] * len(of), np.array(names)[of], classes=names
    )
    x = rng.normal(size=(300, 3)) + 1.5 * np.eye(3)[y]
    found = evaluate_class_scores(x, make(z, "new"), calibration=(make(old, "old"), t))
    prior = np.array([found.weights[name] for name in names])
    noise = jt.noise.ConfusionMatrices(psi[None])
    known = evaluate_class_scores(x, make(z, "new"), noise=noise, prior=prior)
    for name in names:
        one, other = (each.each[name].auc for each in (found, known))
        assert one.mean == pytest.approx(other.mean, abs=0.02) and one.sd == pytest.approx(other.sd, rel=0.3)
    assert found.require("auc >= .5", "auc[b] >= .5").exit_code == 0
