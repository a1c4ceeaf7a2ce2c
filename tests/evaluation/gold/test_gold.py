"""PPI++ of metrics: strata and chances; and what cannot be used."""

import numpy as np
import pytest
from scipy.special import softmax

from jtruth.evaluation.gold.tables import ppi_metric
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
