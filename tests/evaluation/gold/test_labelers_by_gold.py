"""Labelers by gold: against PPI++ itself, all gold, counting, and where labelers are wrong together."""

import numpy as np
import pytest

import jtruth as jt
from jtruth.evaluation.gold.labelers import COUNTED, PPI, right_shares
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
