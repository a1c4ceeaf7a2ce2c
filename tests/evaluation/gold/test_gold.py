"""PPI++ of metrics: strata, inclusion probabilities, and unusable input."""

import numpy as np
import pytest
from scipy.special import softmax

import jtruth as jt
from jtruth.evaluation import compare_groups, labelers_by_group
from jtruth.evaluation.gold.tables import ppi_metric
from jtruth.io.gold import Gold
from jtruth.stats.ppi import FittedPower, gold_sample, ppi_mean
from jtruth.tables.metrics import named_metric
from tests.evaluation.crowds import some_gold


def example(seed=0, size=400, gold=40):
    """True classes, predictions, a posterior that is a little too sure, gold."""
    rng = np.random.default_rng(seed)
    y = rng.choice(2, size, p=[0.6, 0.4])
    y_pred = np.where(rng.random(size) < 0.8, y, rng.integers(0, 2, size))
    logits = 2.0 * np.eye(2)[y] + rng.standard_normal((size, 2))
    return y, y_pred, softmax(2 * logits, axis=1), some_gold(y, gold, seed)


def test_strata_and_inclusion_reach_ppi():
    _, y_pred, h, gold = example()
    strata = (h[:, 1] > 0.5).astype(int)
    chance = np.where(strata == 1, 0.2, 0.05)
    sample = gold_sample(gold >= 0, inclusion=chance, strata=strata)
    right = (y_pred == gold)[gold >= 0] * 1.0
    same = ppi_mean(right, h[np.arange(400), y_pred], sample, power=FittedPower(10.0))
    found = ppi_metric("accuracy", y_pred, h, gold, sample=sample)
    assert found.value == pytest.approx(same.value)
    assert found.standard_error == pytest.approx(same.standard_error)


def test_input_that_cannot_be_used(as_installed):
    _, y_pred, h, _ = example()
    with pytest.raises(ValueError, match="no sample has gold"):
        ppi_metric("accuracy", y_pred, h, np.full(400, -1))
    with pytest.raises(ValueError, match="there is no class 'z'"):
        named_metric("recall[z]", ("a", "b"))


@pytest.mark.slow
def test_every_question_reads_strata():
    """Shares of all samples: what it says of random gold, without the note. Else each follows the chances."""
    rng = np.random.default_rng(4)
    y = (rng.random(160) < 0.5).astype(int)
    z = np.where(rng.random((160, 4)) < 0.8, y[:, None], 1 - y[:, None])
    labels, group, two = (
        jt.Labels.from_matrix(z[:, 1:], 2),
        np.repeat(["a", "b"], 80),
        {"m": z[:, 0], "n": z[:, 1]},
    )
    strata, gold = np.array(["odd", "even"] * 80), np.where(np.arange(160) % 8 < 2, y, -1)
    few = np.where((np.arange(160) % 8 == 1) | (np.arange(160) % 2 == 0), y, -1)  # all of "odd"
    asked = {
        "evaluate": lambda gold: jt.evaluate(z[:, 0], labels, gold=gold).accuracy,
        "prevalence": lambda gold: jt.prevalence(labels, gold=gold).shares["1"],
        "by": lambda gold: jt.prevalence(labels, gold=gold, by=group).groups.dists.values["a"],
        "labelers": lambda gold: jt.evaluate_labelers(labels, gold=gold).dists["1"],
        "compare": lambda gold: jt.compare_classifiers(two, labels, gold=gold).values["m"],
        "groups": lambda gold: compare_groups(z[:, 0], labels, group, gold=gold).values["a"],
        "labelers by group": lambda gold: labelers_by_group(labels, group, gold=gold).reports["a"].dists["1"],
    }
    for name, dist in asked.items():
        assert dist(gold).mean == dist(Gold(gold, strata=strata)).mean, name
        assert dist(few).mean != dist(Gold(few, strata=strata)).mean, name
