"""Gold in strata: the design is what it says, its estimate is unbiased, and it is narrower than chance."""

import numpy as np
import pytest

from jtruth.asking import ask_strata
from jtruth.asking.gold import _EVEN, _allocated, gold_that_halves, influences
from jtruth.evaluation.gold.tables import ppi_metric
from jtruth.stats.ppi import gold_sample
from jtruth.tables.metrics import METRICS, expected_table, named_metric

CLASSES = ("no", "yes")


def simulated(seed, size=400, share=0.3):
    """(classes, predictions, class posteriors that know of hard samples)."""
    rng = np.random.default_rng(seed)
    y, hard = (rng.random(size) < share).astype(int), rng.random(size) < 0.3
    right = np.where(hard, 0.65, 0.95)
    guess = np.where(rng.random(size) < right, y, 1 - y)
    p = np.where(np.eye(2)[guess] == 1, right[:, None], 1 - right[:, None])
    return y, np.where(rng.random(size) < np.where(hard, 0.7, 0.93), y, 1 - y), p


def test_strata_are_predictions_and_margins_and_numbers_are_neymans():
    _, y_pred, p = simulated(0)
    asked = ask_strata(y_pred, p, 30, key=1, classes=CLASSES)
    assert asked.samples.size == np.unique(asked.samples).size == 30
    names = [f"{c} predicted, labels {side} for it" for c in CLASSES for side in ("less", "more")]
    assert list(asked.names) == names
    numbers, sizes = np.bincount(asked.strata[asked.samples], minlength=4), np.bincount(asked.strata)
    np.testing.assert_allclose(asked.inclusion, (numbers / sizes)[asked.strata])
    assert (numbers >= 3).all()
    margin = np.where(y_pred == 1, 1, -1) * (p[:, 1] - p[:, 0])
    for h, name in enumerate(asked.names):
        own = asked.strata == h
        assert (y_pred[own] == name.startswith("yes")).all()
        if "less" in name:
            assert margin[own].max() < margin[asked.strata == h + 1].min()
    again = ask_strata(y_pred, p, 30, key=1, classes=CLASSES)
    np.testing.assert_array_equal(asked.samples, again.samples)


@pytest.mark.parametrize("num", [9, 30, 60])
def test_allocation_by_trying_all_that_are_near(num):
    """Neyman's numbers make the variance of a stratified mean smallest; a fifth by size, three at least."""
    sizes, spread = np.array([100, 40, 20]), np.array([0.1, 0.5, 0.4])
    found = _allocated(sizes, spread, num)
    assert found.sum() == num and (found >= 3).all() and (found <= sizes).all()
    weight = 0.2 * sizes / sizes.sum() + 0.8 * sizes * spread / (sizes * spread).sum()
    if (num * weight > 4).all() and (num * weight < sizes).all():
        assert np.abs(found - num * weight).max() < 1
    assert _allocated(np.array([3, 2]), np.zeros(2), 5).tolist() == [3, 2]


def test_every_metric_of_the_registry_can_be_asked_for():
    """The linear form is the derivative of the metric by moving one sample to the other class."""
    _, y_pred, p = simulated(1)
    table = expected_table(p, y_pred, 2)
    for name in METRICS:
        asked = ask_strata(y_pred, p, 30, key=0, classes=CLASSES, metric=name)
        assert asked.samples.size == 30
        means, variances = influences(y_pred, p, CLASSES, 1, name)
        metric, u, step = named_metric(name, CLASSES), int(y_pred[0]), 1e-4
        moved = table.copy()
        moved[:, u] += step * np.array([-1.0, 1.0])
        slope = float(metric.of_table(moved) - metric.of_table(table)) / step
        assert variances[0] == pytest.approx(p[0, 0] * p[0, 1] * slope**2, rel=2e-3, abs=1e-12), name
        assert np.isfinite(means).all()


def test_covers_where_gold_is_in_strata():
    """150 sets, 40 gold: 125 or fewer held at .95 have probability 4e-8."""
    held = 0
    for seed in range(150):
        y, y_pred, p = simulated([3, seed])
        true = float(named_metric("recall").of_table(expected_table(np.eye(2)[y], y_pred, 2)))
        asked = ask_strata(y_pred, p, 40, key=seed, classes=CLASSES, metric="recall")
        chosen = np.isin(np.arange(400), asked.samples)
        sample = gold_sample(chosen, strata=asked.strata)
        law = ppi_metric("recall", y_pred, p, np.where(chosen, y, -1), sample=sample).law
        low, high = law.equal_tails(0.95)
        held += low <= true <= high
    assert held > 125


@pytest.mark.parametrize(("num", "message"), [(5, "num must be 6 to 400"), (401, "got 401")])
def test_refused(as_installed, num, message):
    _, y_pred, p = simulated(2)
    with pytest.raises(ValueError, match=message):
        ask_strata(y_pred, p, num, key=0, classes=CLASSES)


def test_strata_are_by_the_margin_to_the_next_class():
    """.55 before .45 is less certain than .5 before .25, although its probability is higher."""
    p = np.repeat([[0.55, 0.45, 0.0], [0.5, 0.25, 0.25]], 60, axis=0)
    asked = ask_strata(np.zeros(120, int), p, 60, classes=("a", "b", "c"))
    assert asked.strata.tolist() == [0] * 60 + [1] * 60


def test_what_halves_and_what_rounds():
    """Without gold, and with all of it; two strata get what is nearest to their share."""
    assert (gold_that_halves(0, 400), gold_that_halves(400, 400)) == (400, 0)
    for spread in (0.3, 0.6, 0.9):
        found = _allocated(np.array([500, 500]), np.array([1.0, spread]), 101)
        weight = np.array([1.0, spread]) / (1 + spread)
        real = 101 * (_EVEN * 0.5 + (1 - _EVEN) * weight)
        np.testing.assert_array_equal(found, np.round(real))
