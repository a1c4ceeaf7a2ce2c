"""Recalibration against a dense grid over its posterior, its limits, and simulated coverage."""

import jax
import numpy as np
import pytest
from scipy.special import expit, logit

from jtruth.learning import recalibration as module
from jtruth.learning.recalibration import recalibrate

KEY = jax.random.key(3)


def example(seed=0, size=500, gold=40, slope=0.4, shift=-0.7):
    """h is too sure (slope < 1) and favours class 1 (shift < 0)."""
    rng = np.random.default_rng(seed)
    h = expit(3.0 * rng.standard_normal(size) + 0.5)
    y = (rng.random(size) < expit(shift + slope * logit(h))).astype(int)
    known = np.full(size, -1)
    chosen = rng.permutation(size)[:gold]
    known[chosen] = y[chosen]
    return np.stack([1 - h, h], axis=1), y, known


def grid_posterior(h, gold):
    """(a, b, weight) on a dense grid: p(y = 1) = sigmoid(a + b logit h), priors as documented."""
    a, log_b = np.meshgrid(np.linspace(-6, 6, 201), np.linspace(-3.5, 3.5, 201), indexing="ij")
    log_p = -0.5 * (a / 1.5) ** 2 - 0.5 * (log_b / module.LOG_SLOPE_SD) ** 2
    for x, y in zip(logit(h[gold >= 0, 1]), gold[gold >= 0], strict=True):
        z = a + np.exp(log_b) * x
        log_p += -np.logaddexp(0, -z if y else z)
    weight = np.exp(log_p - log_p.max())
    return a, np.exp(log_b), weight / weight.sum()


@pytest.mark.parametrize("gold", [12, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 40))])
def test_two_classes_are_the_grid_posterior(gold):
    h, _, known = example(gold=gold)
    found = recalibrate(h, known, key=KEY)
    a, b, weight = grid_posterior(h, known)
    assert found.converged
    draws = found.bias[:, 1] - found.bias[:, 0], np.log(found.slope)
    for values, grid in zip(draws, (a, np.log(b)), strict=True):
        mean = (weight * grid).sum()
        sd = np.sqrt((weight * (grid - mean) ** 2).sum())
        # At least 1000 effective draws: 4.5 standard errors, false alarm 1e-5 each.
        assert abs(values.mean() - mean) < 4.5 * sd / np.sqrt(1000)
        assert abs(values.std() / sd - 1) < 4.5 / np.sqrt(2 * 1000)
    # The share of class 1: gold as it is, the rest by the law of total expectation and variance.
    rest = logit(h[known < 0, 1])
    p = np.array([expit(u + v * rest) for u, v in zip(a.ravel()[::3], b.ravel()[::3], strict=True)])
    w = weight.ravel()[::3] / weight.ravel()[::3].sum()
    mean = w @ p.sum(1) + (known == 1).sum()
    sd = np.sqrt(w @ (p * (1 - p)).sum(1) + w @ (p.sum(1) - w @ p.sum(1)) ** 2)
    assert abs(found.counts[:, 1].mean() - mean) < 4.5 * sd / np.sqrt(1000)
    assert abs(found.counts[:, 1].std() / sd - 1) < 4.5 / np.sqrt(2 * 1000)
    np.testing.assert_allclose(found.class_posterior[known < 0, 1], w @ p, atol=0.02)


def test_counts_and_gold_add_up():
    h, y, known = example()
    found = recalibrate(h, known, key=KEY, num_draws=500)
    assert found.counts.shape == (500, 2) and (found.counts.sum(axis=1) == 500).all()
    np.testing.assert_array_equal(found.class_posterior[known >= 0], np.eye(2)[known[known >= 0]])
    np.testing.assert_allclose(found.class_posterior.sum(axis=1), 1)
    everything = recalibrate(h, y, key=KEY)
    assert (everything.counts == np.bincount(y)).all()
    again = recalibrate(h, known, key=KEY, num_draws=500)
    np.testing.assert_array_equal(again.counts, found.counts)


def test_certain_posteriors_are_taken():
    h = np.repeat([[1.0, 0.0], [0.0, 1.0]], 50, axis=0)
    gold = np.where(np.arange(100) % 5 == 0, np.arange(100) >= 50, -1).astype(int)
    gold[0] = 1  # one certain row is wrong
    found = recalibrate(h, gold, key=KEY)
    assert found.converged and 0.4 < found.shares[:, 1].mean() < 0.65


@pytest.mark.slow
def test_more_classes():
    rng = np.random.default_rng(1)
    y = rng.choice(3, 1000, p=[0.5, 0.3, 0.2])
    logits = np.eye(3)[y] * 1.5 + rng.standard_normal((1000, 3))
    h = np.exp(2.5 * logits + np.array([0.0, 1.0, 0.0]))  # too sure, and class 1 favoured
    h /= h.sum(axis=1, keepdims=True)
    gold = np.full(1000, -1)
    chosen = rng.permutation(1000)[:300]
    gold[chosen] = y[chosen]
    found = recalibrate(h, gold, key=KEY)
    assert found.converged
    shares = np.bincount(y) / 1000
    raw = np.abs(h.mean(axis=0) - shares).max()
    assert np.abs(found.shares.mean(axis=0) - shares).max() < 0.05 < raw
    # Classes may be renamed.
    order = np.array([2, 0, 1])
    renamed = recalibrate(h[:, order], np.where(gold >= 0, np.argsort(order)[gold], -1), key=KEY)
    np.testing.assert_allclose(renamed.shares.mean(axis=0), found.shares.mean(axis=0)[order], atol=0.01)


@pytest.mark.parametrize(
    ("h", "gold", "message"),
    [
        (np.full((3, 1), 1.0), np.zeros(3, int), r"shape \(3, 1\)"),
        (np.array([[0.5, 0.5], [0.7, 0.7]]), np.zeros(2, int), r"class_posterior\[1\] sums to 1.4"),
        (np.array([[0.5, 0.5], [np.nan, 0.7]]), np.zeros(2, int), r"class_posterior\[1, 0\] is nan"),
        (np.full((2, 2), 0.5), np.zeros(3, int), r"shape \(2,\)"),
        (np.full((2, 2), 0.5), np.zeros(2), "dtype float64"),
        (np.full((2, 2), 0.5), np.array([0, 2]), r"gold\[1\] is 2"),
    ],
)
def test_bad_input_is_named(h, gold, message, as_installed):
    with pytest.raises(ValueError, match=message):
        recalibrate(h, gold, key=KEY)
