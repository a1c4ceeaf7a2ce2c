"""Labelers by gold: graded as classifiers, with shared errors; how gold was chosen; reports."""

import numpy as np
import pytest

import jtruth as jt
from jtruth.evaluation.gold.tables import dists_by_gold, labeler_tables_by_gold
from jtruth.io.gold import Gold
from jtruth.stats.draws import DrawsEstimate
from tests.evaluation.crowds import some_gold

pytestmark = pytest.mark.usefixtures("few_lineages")
FLAT = DrawsEstimate((np.arange(1000) + 0.5) / 1000)


def together(seed, size=400, gold=60):
    """Four of five labelers mistake the same fifth of the samples; a posterior that knows it not; gold."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size)
    seen = np.where(rng.random(size) < 0.2, 1 - y, y)
    heard = np.stack([seen] * 4 + [y], axis=1)
    z = np.where(rng.random((size, 5)) < 0.9, heard, 1 - heard)
    labels = jt.Labels.from_matrix(z, 2)
    sure = 9.0 ** labels.counts()  # as if all were right in .9, independently
    return labels, sure / sure.sum(1, keepdims=True), some_gold(y, gold, seed), (z == y[:, None]).mean(axis=0)


def dists(labels, h, gold, **options):
    known = gold if isinstance(gold, Gold) else Gold(gold)
    return dists_by_gold([FLAT] * labels.num_labelers, labeler_tables_by_gold(labels, h, known, **options))


@pytest.mark.slow
def test_intervals_hold_where_labelers_are_wrong_together():
    """Of 100 sets at 95 %, 84 or fewer have probability 4e-5, for each of two labelers; labels say more."""
    held, judged = np.zeros(2), [0, 4]  # one of the four, and the one who sees
    for seed in range(100):
        labels, h, gold, truth = together(seed)
        ends = [one.interval(0.95) for one in dists(labels.select_labelers(judged), h, gold, key=seed)]
        held += [low <= t <= high for (low, high), t in zip(ends, truth[judged], strict=True)]
        said = h[np.arange(400), labels.to_matrix()[:, 0]].mean()
        assert said - truth[0] > 0.08
    assert held.min() >= 85, held


def test_five_labels_of_known_truth_have_a_say_and_four_have_none():
    """A distribution holds all that is known: right and wrong labels of known truth."""
    labels, h, gold, _ = together(3)
    z, where = labels.to_matrix(), np.flatnonzero(gold >= 0)
    for number in (4, 5, 20):
        some = np.full(400, -1)
        some[where[:number]] = gold[where[:number]]
        dist = dists(labels, h, some)[0]
        if number == 4:
            assert dist is FLAT
            continue
        right = (z[where[:number], 0] == gold[where[:number]]).sum()
        assert dist.sd < FLAT.sd / 2
        assert dist.draws.min() >= right / 400 and dist.draws.max() <= 1 - (number - right) / 400


def test_all_gold_is_counting_and_missing_labels_are_no_mistakes():
    labels, h, y, truth = together(5, gold=400)
    z = labels.to_matrix().copy()
    z[::3, 0] = -1
    found = dists(jt.Labels.from_matrix(z, 2), h, y)
    labelled = z[:, 0] >= 0
    assert found[0].mean == pytest.approx((z[:, 0] == y)[labelled].mean()) and found[0].sd < 1e-12
    assert found[1].mean == pytest.approx(truth[1])


def test_the_report_goes_to_gold_where_labelers_are_wrong_together():
    """Four of five are .1 worse than models say; the truth of each is held (this key)."""
    labels, _, gold, truth = together(101, size=300)
    report, alone = (jt.evaluate_labelers(labels, gold=g, key=0) for g in (gold, None))
    before = {row["worker"]: row for row in alone.rows}
    for row in report.rows:
        t = int(row["worker"])
        assert row["low"] < truth[t] < row["high"]
        assert row["high"] - row["low"] < before[row["worker"]]["high"] - before[row["worker"]]["low"]
        assert t == 4 or row["accuracy"] < row["by_assumption"]["independent"] - 0.03
    assert report.interval_kind == "posterior" and alone.interval_kind == "predictive"
    assert "with 95 % intervals" in report.summary(full=True)
    assert f"Assumption of the width: {report.rests_on}" in report.summary(full=True)
    assert report.summary().startswith("Estimated accuracy of labelers on new samples ranges from ")


def test_a_report_takes_how_gold_was_chosen():
    labels, _, gold, _ = together(4, size=200, gold=20)
    random = jt.evaluate_labelers(labels, gold=gold)
    said = [c.name for c in random.checks]
    assert "gold at random" in said and any("chosen at random" in text for text in random.warnings)
    assert not any("useful intervals" in text for text in random.warnings)
    even = jt.evaluate_labelers(labels, gold=jt.io.Gold(gold, inclusion=np.full(200, 0.1)))
    assert even.rows[0]["accuracy"] == pytest.approx(random.rows[0]["accuracy"], abs=1e-9)
    assert "gold at random" not in [c.name for c in even.checks]
    few = np.where(np.cumsum(gold >= 0) <= 10, gold, -1)
    assert any(
        "There are 10 verified labels" in text for text in jt.evaluate_labelers(labels, gold=few).warnings
    )


@pytest.mark.parametrize(("known", "said"), [(30, True), (4, False)])
def test_who_labels_is_of_no_effect_where_gold_judges_every_labeler(known, said):
    """Four labels of known truth judge nobody: there the distributions of that kind of labelers stand."""
    labels, _, gold, _ = together(4, size=60, gold=60)
    gold = np.where(np.arange(60) < known, gold, -1)
    report = jt.evaluate_labelers(labels, gold=gold, labelers_are="people")
    found = jt.evaluate(labels.to_matrix()[:, 0], labels, gold=gold, labelers_are="people")
    for warnings in (found.warnings, report.warnings):
        assert (
            any("labelers_are='people' has no effect here, because the verified" in text for text in warnings)
            == said
        )
