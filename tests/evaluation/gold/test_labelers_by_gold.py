"""Labelers by gold: against PPI++ itself, all gold, counting, and where labelers are wrong together."""

import numpy as np
import pytest

import jtruth as jt
from jtruth.evaluation.gold.labelers import COUNTED, PPI, right_shares
from jtruth.evaluation.gold.measured import GoldSampling
from jtruth.stats.ppi import FittedPower, gold_sample, ppi_mean

pytestmark = pytest.mark.usefixtures("few_sweeps")


def together(seed, size=400, gold=60):
    """Four of five labelers mistake the same fifth of the samples; a posterior that knows it not; gold."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size)
    seen = np.where(rng.random(size) < 0.2, 1 - y, y)
    heard = np.stack([seen] * 4 + [y], axis=1)
    z = np.where(rng.random((size, 5)) < 0.9, heard, 1 - heard)
    labels = jt.Labels.from_matrix(z, 2)
    sure = 9.0 ** labels.counts()  # as if all were right in .9, independently
    known = np.full(size, -1)
    chosen = rng.choice(size, gold, replace=False)
    known[chosen] = y[chosen]
    return labels, sure / sure.sum(1, keepdims=True), known, (z == y[:, None]).mean(axis=0)


def truths(seed, size=400):
    """The true classes of `together`."""
    return np.random.default_rng(seed).integers(0, 2, size)


def test_intervals_hold_where_labelers_are_wrong_together():
    """Of 100 sets at 95 %, 84 or fewer have probability 4e-5, for each of two labelers; labels say more."""
    held, judged = np.zeros(2), [0, 4]  # one of the four, and the one who sees
    for seed in range(100):
        labels, h, gold, truth = together(seed)
        found = right_shares(labels.select_labelers(judged), h, gold)
        assert all(one.rule == PPI and one.num_gold == 60 for one in found)
        held += [one.low <= t <= one.high for one, t in zip(found, truth[judged], strict=True)]
        said = h[np.arange(400), labels.to_matrix()[:, 0]].mean()
        assert said - truth[0] > 0.08
    assert held.min() >= 85, held


def test_it_is_ppi_of_the_labels_given():
    labels, h, gold, _ = together(100)
    own = np.arange(400) % 3 > 0  # the first labeler gave two of three labels
    z = labels.to_matrix().copy()
    z[~own, 0] = -1
    found = right_shares(jt.Labels.from_matrix(z, 2), h, gold, level=0.9)[0]
    rows = np.flatnonzero(own)
    known = gold[rows] >= 0
    law = ppi_mean((z[rows, 0] == gold[rows])[known] * 1.0, h[rows, z[rows, 0]], gold_sample(known),
                   power=FittedPower(10.0)).law  # fmt: skip
    assert found.mean == law.mean and (found.low, found.high) == tuple(law.interval(0.9)[:2])
    assert found.num_gold == known.sum()


def test_few_are_counted():
    """3 of 4 right, 6 unknown: against draws of a uniform share and the labels left; nothing known: None."""
    z = np.zeros((10, 2), int)
    z[:, 1] = -1
    z[0, 1] = 0
    gold = np.array([0, 0, 0, 1, *[-1] * 6])
    gold_of_none = np.where(np.arange(10) == 0, -1, gold)
    found = right_shares(jt.Labels.from_matrix(z, 2), np.full((10, 2), 0.5), gold)[0]
    rng = np.random.default_rng(0)
    share = (3 + rng.binomial(6, rng.beta(4, 2, 200_000))) / 10
    assert found.rule == COUNTED and found.mean == pytest.approx(share.mean(), abs=0.003)
    assert (found.low, found.high) == tuple(np.quantile(share, [0.025, 0.975]))
    assert right_shares(jt.Labels.from_matrix(z, 2), np.full((10, 2), 0.5), gold_of_none)[1] is None


def test_the_report_names_estimand_and_rule():
    labels, _, gold, truth = together(101, size=300)
    report = jt.evaluate_labelers(labels, gold=gold, key=0)
    rows = {row["worker"]: row["right_by_gold"] for row in report.to_dict()["labelers"]}
    for t in range(5):
        one = rows[str(t)]
        assert one["rule"] == PPI and abs(one["mean"] - truth[t]) < 0.15
    for row in report.rows:  # four of five are .1 worse than models say; the answer lies between
        alone, models = row["right_by_gold"], row["by_assumption"]["independent"]
        assert row["high"] - row["low"] < 1.06 * (alone["high"] - alone["low"])
        assert row["worker"] == "4" or alone["mean"] - 0.01 < row["accuracy"] < models["low"]
    assert report.interval_kind == "pooled interval" and "models and gold together" in str(report)
    assert "share of the labels given that are right" in str(report)
    assert all(row["right_by_gold"] is None for row in jt.evaluate_labelers(labels, key=0).rows)


def test_gold_of_known_chances_is_weighted():
    """Gold is asked where labelers disagree: taken as random it makes them worse than they are."""
    off = np.zeros((60, 2))
    for seed in range(60):
        labels, h, _, truth = together(seed)
        rng = np.random.default_rng(seed)
        chance = np.where(labels.counts().min(axis=1) > 0, 0.4, 0.1)
        gold = np.where(rng.random(400) < chance, truths(seed), -1)
        half = np.full_like(h, 0.5)  # what the labels say is of no help, so that weights alone decide
        for k, how in enumerate((GoldSampling(), GoldSampling(inclusion=chance))):
            off[seed, k] = right_shares(labels, half, gold, sampling=how)[4].mean - truth[4]
    error = off.std(axis=0) / np.sqrt(60)
    assert abs(off[:, 1].mean()) < 4 * error[1]
    assert off[:, 0].mean() < -4 * error[0]


def test_strata_and_their_chances_are_one():
    labels, h, _, _ = together(3)
    stratum = (labels.counts().min(axis=1) > 0).astype(int)
    gold = np.full(400, -1)
    for s, many in ((0, 20), (1, 50)):
        chosen = np.flatnonzero(stratum == s)[:many]
        gold[chosen] = truths(3)[chosen]
    chance = np.where(stratum == 1, 50 / (stratum == 1).sum(), 20 / (stratum == 0).sum())
    by = [right_shares(labels, h, gold, sampling=how) for how in
          (GoldSampling(strata=stratum), GoldSampling(inclusion=chance))]  # fmt: skip
    np.testing.assert_allclose([one.mean for one in by[0]], [one.mean for one in by[1]], rtol=1e-12)


def test_a_report_takes_how_gold_was_chosen():
    labels, _, gold, _ = together(4, size=200, gold=20)
    random = jt.evaluate_labelers(labels, gold=gold)
    said = [c.name for c in random.checks]
    assert "gold at random" in said and any("random sample" in text for text in random.warnings)
    assert not any("gold answers:" in text for text in random.warnings)
    even = jt.evaluate_labelers(labels, gold=jt.io.Gold(gold, inclusion=np.full(200, 0.1)))
    assert even.rows[0]["accuracy"] == pytest.approx(random.rows[0]["accuracy"], abs=1e-9)
    assert "gold at random" not in [c.name for c in even.checks]
    few = np.where(np.cumsum(gold >= 0) <= 10, gold, -1)
    assert any("10 gold answers:" in text for text in jt.evaluate_labelers(labels, gold=few).warnings)
