"""Several posteriors as one range: mean of some, hull of some, and the mean inside the hull."""

from inspect import isabstract

import numpy as np
import pytest

import jtruth.evaluation.gold.pooled
import jtruth.testing
from jtruth.stats.draws import DrawsEstimate
from jtruth.tables import posterior
from jtruth.tables.posterior import TableDraws, TablePosterior
from jtruth.tables.several import RangeEstimate, SeveralTables


def of_accuracy(right):
    """Draws of tables of 100 samples of which so many are judged right."""
    right = np.asarray(right)
    wrong, zero = 100 - right, np.zeros_like(right)
    return TableDraws(np.stack([np.stack([right, wrong], 1), np.stack([zero, zero], 1)], 1))


def test_mean_of_the_one_and_hull_of_the_other_by_hand():
    low, high = of_accuracy(np.arange(40, 60)), of_accuracy(np.arange(70, 90))
    found = SeveralTables((low, high), (low,)).estimate("accuracy")
    assert found.mean == pytest.approx((49.5 + 79.5) / 200)
    assert found.interval(0.5) == low.estimate("accuracy").interval(0.5)


def test_the_interval_contains_the_mean_from_ninety_per_cent_on():
    parts = tuple(DrawsEstimate(np.full(50, v)) for v in (0.2, 0.6))
    found = RangeEstimate(parts, parts[1:])
    assert found.mean == pytest.approx(0.4)
    assert found.interval(0.95)[:2] == pytest.approx((0.4, 0.6))
    assert found.interval(0.8)[:2] == (0.6, 0.6)
    assert np.isnan(RangeEstimate((DrawsEstimate(np.full(3, np.nan)),) * 2, parts).mean)


def test_every_holder_is_told_of_where_the_posterior_is_defined():
    assert jtruth.testing.EstimatedTable and jtruth.evaluation.gold.pooled.GoldPosterior  # imported

    def kinds(one):
        for below in one.__subclasses__():
            yield below
            yield from kinds(below)

    holders = {
        k.__name__ for k in kinds(TablePosterior) if not isabstract(k) and k.__module__[:7] == "jtruth."
    }
    assert len(holders) >= 9 and [name for name in holders if f"`{name}`" not in posterior.__doc__] == []
