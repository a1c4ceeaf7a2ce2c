"""What-if ranges: the mean and the hull of several posteriors, without a posterior."""

from inspect import isabstract

import jax
import numpy as np
import pytest

import jtruth.evaluation.assumptions.model_error
import jtruth.testing
from jtruth.stats.draws import DrawsEstimate
from jtruth.tables import posterior
from jtruth.tables.posterior import RangeEstimate, TablePosterior


def test_mean_and_hull_by_hand():
    one, two = (DrawsEstimate(np.array(draws)) for draws in ([0.2, 0.3, 0.4, np.nan], [0.6, 0.7, 0.8]))
    found = RangeEstimate((one, two))
    assert found.mean == pytest.approx((0.3 + 0.7) / 2) and found.probability_defined == 0.75
    assert found.interval(1 - 1e-9) == (0.2, 0.8) and found.equal_tails(0.5) == (
        one.equal_tails(0.5).low,
        two.equal_tails(0.5).high,
    )
    assert np.isnan(found.sd) and np.isnan(found.mode)
    assert np.isnan(RangeEstimate((DrawsEstimate(np.full(3, np.nan)),) * 2).mean)


@pytest.mark.parametrize(
    "ask",
    [lambda e: e.density(np.array([0.5])), lambda e: e.sample(jax.random.key(0), 3), lambda e: e.region(0.9)],
)
def test_a_range_has_no_dist(ask):
    with pytest.raises(ValueError, match="no probability distribution"):
        ask(RangeEstimate((DrawsEstimate(np.array([0.2, 0.4])),) * 2))


def test_every_holder_is_told_of_where_the_posterior_is_defined():
    assert jtruth.testing.CountDraws and jtruth.evaluation.assumptions.model_error  # imported

    def kinds(one):
        for below in one.__subclasses__():
            yield below
            yield from kinds(below)

    holders = {
        k.__name__ for k in kinds(TablePosterior) if not isabstract(k) and k.__module__[:7] == "jtruth."
    }
    assert len(holders) >= 7 and [name for name in holders if f"`{name}`" not in posterior.__doc__] == []
