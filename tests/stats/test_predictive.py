"""Predictive mixtures of estimates: by quadrature, by limits, and by simulation."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, logit

from jtruth.stats.draws import opinion, predictive

PARTS = [(1.4, 0.3), (1.4, 0.3), (-0.5, 0.8)]


def student(z):
    """Density of Student's t on 3 degrees of freedom, in closed form: it is asked for very often."""
    return 6 * np.sqrt(3) / (np.pi * (3 + z**2) ** 2)


def density(z, flat=0.1):
    """As the docstring has it, as a density of the logit z."""
    x = expit(z)
    parts = [student((z - c) / s) / s for c, s in PARTS]
    return sum(parts) * (1 - flat) / 3 + flat * x * (1 - x)


def below(place, flat=0.1):
    """P(x < place), by adaptive quadrature in pieces."""
    pieces = [*np.linspace(-25, 25, 101), logit(place)]
    pieces = [z for z in sorted(set(pieces)) if z <= logit(place)]
    return sum(quad(density, a, b, args=(flat,))[0] for a, b in pairwise(pieces))


def test_mean_and_quantiles_by_quadrature():
    dist = predictive(PARTS, 0.1)
    mean = sum(quad(lambda z: expit(z) * density(z), a, b)[0] for a, b in pairwise(np.linspace(-25, 25, 101)))
    assert dist.mean == pytest.approx(mean, abs=2e-4)
    for p in (0.01, 0.025, 0.2, 0.5, 0.8, 0.975, 0.99):
        assert below(np.quantile(dist.draws, p)) == pytest.approx(p, abs=5e-4)


def test_no_opinion_says_nothing_and_a_sure_one_all():
    dist = predictive((), 1.0)
    np.testing.assert_allclose(dist.draws, (np.arange(4000) + 0.5) / 4000, atol=1e-4)
    for scale in (0.1, 1e-3, 1e-5):
        low, high = predictive([(1.4, scale)], 0.02).equal_tails(0.9)
        assert low < expit(1.4) < high < low + scale
    # The flat part is felt outside of the opinion: 2 % of it below, in proportion.
    assert (predictive([(1.4, 1e-5)], 0.02).draws < 0.5).mean() == pytest.approx(0.01, abs=5e-4)


def test_other_bounds_are_the_same_dist_stretched():
    unit = predictive(PARTS, 0.1)
    for low, high in ((-1.0, 1.0), (-0.03, 0.03), (0.0, 7.5)):
        wide = predictive(PARTS, 0.1, (low, high))
        np.testing.assert_allclose(wide.draws, low + (high - low) * unit.draws, rtol=1e-12, atol=1e-15)
        assert wide.draws.min() >= low and wide.draws.max() <= high


def test_what_draws_say():
    draws = np.array([0.2, 0.5, np.nan, 0.9])
    found = opinion(draws, 9.0)
    z = logit((draws[[0, 1, 3]] * 9 + 0.5) / 10)
    assert found == pytest.approx((z.mean(), z.std()))
    assert np.isfinite(opinion(np.ones(5), 40.0)[0])
    assert opinion(2 * draws - 1, 9.0, (-1.0, 1.0)) == pytest.approx(found)


def test_a_ratio_of_counts_may_be_one():
    """Half a count is added and taken away again: what all draws say is in the interval."""
    said = (opinion(np.ones(50), 40.0)[0], 0.2)
    dist = predictive([said], 0.02, size=40.0)
    assert dist.interval(0.95).high == 1 and (dist.draws == 1).mean() > 0.3
    half = (opinion(np.full(50, 0.5), 40.0)[0], 1e-4)
    assert predictive([half], 1e-6, size=40.0).mean == pytest.approx(0.5, abs=1e-4)
