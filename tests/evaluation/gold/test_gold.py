"""PPI++ of metrics: the terms of each, counting, strata; and asking with known chances."""

import jax
import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

from jtruth.asking.gold import ask_next, gold_to_halve
from jtruth.evaluation.gold.shares import gold_for_share
from jtruth.evaluation.gold.tables import ppi_metric
from jtruth.io.gold import Gold
from jtruth.labels import Labels
from jtruth.stats.ppi import FittedPower, gold_sample, ppi_mean
from jtruth.tables.metrics import named_metric
from tests.evaluation.crowds import some_gold

KEY = jax.random.key(5)


def example(seed=0, size=400, gold=40):
    """True classes, predictions, a posterior that is a little too sure, gold."""
    rng = np.random.default_rng(seed)
    y = rng.choice(2, size, p=[0.6, 0.4])
    y_pred = np.where(rng.random(size) < 0.8, y, rng.integers(0, 2, size))
    logits = 2.0 * np.eye(2)[y] + rng.standard_normal((size, 2))
    return y, y_pred, softmax(2 * logits, axis=1), some_gold(y, gold, seed)


def test_a_fifth_of_the_questions_is_spread_evenly():
    """Samples whose class is certain are asked for too: 40 questions for 400 samples, 8 of them at random."""
    _, y_pred, h, _ = example()
    h = np.where(np.arange(400)[:, None] < 200, np.eye(2)[y_pred], h)
    asked = ask_next(y_pred, h, Gold(np.full(400, -1)), 40, key=KEY, classes=("a", "b"))
    np.testing.assert_allclose(asked.inclusion[:200], 8 / 400, rtol=1e-9)
    assert asked.inclusion.sum() == pytest.approx(40)


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


def test_gold_to_halve_is_what_a_larger_sample_has():
    """The width for n + more gold with the same residual spread, by the formula and by doing it."""
    rng = np.random.default_rng(0)
    y, f = rng.random(1000), rng.random(1000)
    widths, more = [], []
    for _ in range(40):
        order = rng.permutation(1000)
        has = np.isin(np.arange(1000), order[:40])
        found = ppi_mean(y[has], f, gold_sample(has), surprise=0.0)
        more.append(gold_to_halve(found, gold_sample(has)))
        low, high = found.law.interval(0.95)
        has = np.isin(np.arange(1000), order[: 40 + more[-1]])
        wide = ppi_mean(y[has], f, gold_sample(has), surprise=0.0).law.interval(0.95)
        widths.append((wide.high - wide.low) / (high - low))
    assert len(set(more)) == 1  # depends on numbers only
    freedom = np.array([38, 38 + more[0], 37 + more[0]])
    n = freedom + 2
    half = stats.t.isf(0.025, freedom) * np.sqrt(1 / n - 1 / 1000)
    assert half[1] <= half[0] / 2 < half[2]  # enough, and not one more than needed
    assert 0.45 < np.mean(widths) < 0.55
    everything = gold_sample(np.ones(3, bool))
    assert gold_to_halve(ppi_mean(np.zeros(3), np.zeros(3), everything), everything) == 0


def test_asked_samples_have_the_chances_that_are_handed_over():
    _, y_pred, h, gold = example(size=60, gold=10)
    times = np.zeros(60)
    for seed in range(400):
        request = ask_next(y_pred, h, Gold(gold), 12, key=jax.random.key(seed), classes=("a", "b"))
        assert len(set(request.samples.tolist())) == 12 and (gold[request.samples] < 0).all()
        assert (np.diff(request.reduction[request.samples]) <= 0).all()
        times[request.samples] += 1
    second = 1 - (1 - request.inclusion) / (1 - 10 / 60)
    left = gold < 0
    assert second[left].sum() == pytest.approx(12)
    spread = np.sqrt(400 * second * (1 - second))[left]
    assert (np.abs(times - 400 * second)[left] < 4.9 * spread + 1e-9).all()  # 50 samples: false alarm 5e-5


def test_usefulness_is_the_variance_of_the_share_in_the_metric():
    _, y_pred, h, gold = example()
    names = {"key": KEY, "classes": ("a", "b")}
    right = h[np.arange(400), y_pred]
    accuracy = ask_next(y_pred, h, Gold(gold), 20, metric="accuracy", **names).reduction
    np.testing.assert_allclose(accuracy, right * (1 - right) / 400**2, rtol=1e-9, atol=1e-18)
    precision = ask_next(y_pred, h, Gold(gold), 20, metric="precision", **names).reduction
    np.testing.assert_allclose(precision, y_pred * h[:, 0] * h[:, 1] / y_pred.sum() ** 2, atol=1e-18)
    recall = ask_next(y_pred, h, Gold(gold), 20, metric="recall", **names).reduction
    # Recall R = sum(a)/sum(b): a sample of class 1 moves it by (predicted - R)/sum(b).
    ratio = (h[:, 1] * y_pred).sum() / h[:, 1].sum()
    expected = h[:, 0] * h[:, 1] * (y_pred - ratio) ** 2 / h[:, 1].sum() ** 2
    np.testing.assert_allclose(recall, expected, atol=1e-18)


def test_input_that_cannot_be_used(as_installed):
    _, y_pred, h, gold = example()
    options = {"key": KEY, "classes": ("a", "b")}
    with pytest.raises(ValueError, match="no sample has gold"):
        ppi_metric("accuracy", y_pred, h, np.full(400, -1))
    with pytest.raises(ValueError, match="there is no class 'z'"):
        named_metric("recall[z]", ("a", "b"))
    with pytest.raises(ValueError, match="num must be 1 to 360"):
        ask_next(y_pred, h, Gold(gold), 361, **options)
    asked = [ask_next(y_pred, h, Gold(gold), 3, classes=("a", "b"), **key) for key in ({}, {"key": 0})]
    np.testing.assert_array_equal(asked[0].samples, asked[1].samples)


def test_gold_of_class_0_is_gold(few_lineages):
    """Nobody asks for it again, and two answers are enough to say how many more halve the interval."""
    z = np.repeat([[1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 1, 0]], [20, 20, 10, 10], axis=0)
    gold = np.full(60, -1)
    gold[[20, 21, 22, 50]] = 0
    asked = gold_for_share(Labels.from_matrix(z, 2), 1, 56, gold=gold)
    assert set(asked.samples.tolist()) == set(range(60)) - {20, 21, 22, 50} and asked.to_halve is not None
