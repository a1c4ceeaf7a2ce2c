"""The bounded t distribution against scipy's t, quadrature and its own draws."""

from itertools import pairwise

import jax
import numpy as np
import pytest
from scipy import integrate, stats

from jtruth.stats.student import StudentEstimate

LAWS = [
    StudentEstimate(0.8, 0.05, 28.0, 0.0, 1.0),
    StudentEstimate(0.97, 0.05, 6.0, 0.0, 1.0),
    StudentEstimate(0.1, 0.2, 1.0, 0.0, 1.0),
    StudentEstimate(1.2, 0.1, 12.0, 0.0, 1.0),
    StudentEstimate(-0.3, 0.04, 30.0, 0.0, 1.0),
    StudentEstimate(0.5, 3.0, 4.0, 0.0, 1.0),
]
KEY = jax.random.key(0)


@pytest.mark.parametrize("dist", LAWS)
def test_density_moments_and_intervals(dist):
    def height(x):
        return stats.t.pdf(x, dist.freedom, dist.centre, dist.scale)

    breaks = sorted(
        {0.0, 1.0, *np.clip(dist.centre + dist.scale * np.array([-9, -2, 0, 2, 9]), 0, 1).tolist()}
    )

    def over(f, low=0.0, high=1.0):
        ends = sorted({low, high, *(b for b in breaks if low < b < high)})
        return sum(integrate.quad(f, *pair, epsabs=1e-14)[0] for pair in pairwise(ends))

    mass = over(height)
    mean = over(lambda x: x * height(x)) / mass
    sd = np.sqrt(over(lambda x: (x - mean) ** 2 * height(x)) / mass)
    np.testing.assert_allclose([dist.mean, dist.sd], [mean, sd], rtol=1e-7)
    np.testing.assert_allclose(dist.density(np.array([0.31, 1.1])), [height(0.31) / mass, 0.0], rtol=1e-10)
    for level in (0.5, 0.95):
        shortest, tails = dist.interval(level), dist.equal_tails(level)
        for found in (shortest, tails):
            np.testing.assert_allclose(over(height, found.low, found.high) / mass, level, rtol=1e-8)
        np.testing.assert_allclose(over(height, 0.0, tails.low) / mass, (1 - level) / 2, rtol=1e-7)
        assert shortest.high - shortest.low <= tails.high - tails.low + 1e-12
        # Highest density: nothing outside the shortest interval is denser than its ends inside the range.
        inner = min(height(shortest.low), height(shortest.high))
        outside = [x for x in np.linspace(0, 1, 301) if not shortest.low <= x <= shortest.high]
        assert all(height(x) <= inner * (1 + 1e-9) for x in outside)
    assert dist.region(0.9).intervals[0] == dist.interval(0.9)


def test_without_bounds_it_is_the_textbook():
    dist = StudentEstimate(2.0, 0.5, 7.0)
    np.testing.assert_allclose(dist.interval(0.9), stats.t.interval(0.9, 7, 2.0, 0.5), rtol=1e-12)
    assert (dist.mean, dist.mode) == (2.0, 2.0)
    np.testing.assert_allclose(dist.sd, stats.t(7, 2.0, 0.5).std(), rtol=1e-12)
    assert np.isnan(StudentEstimate(0.0, 1.0, 1.0).mean)
    assert np.isinf(StudentEstimate(0.0, 1.0, 2.0).sd)


def test_no_information_and_certainty():
    flat = StudentEstimate(0.5, np.inf, 1.0, 0.0, 1.0)
    assert (flat.mean, flat.interval(0.9).high - flat.interval(0.9).low) == (0.5, pytest.approx(0.9))
    np.testing.assert_allclose([flat.sd, flat.density(np.array(0.2))], [np.sqrt(1 / 12), 1.0])
    assert StudentEstimate(0.5, np.inf, 1.0).interval(0.9) == (-np.inf, np.inf)  # and no bounds
    point = StudentEstimate(1.3, 0.0, 5.0, 0.0, 1.0)
    assert (point.mean, point.sd, point.mode) == (1.0, 0.0, 1.0)
    assert point.interval(0.9) == (1.0, 1.0) and point.interval(0.9).mass == 1.0
    assert (point.sample(KEY, 3) == 1.0).all()
    with pytest.raises(ValueError, match=r"the point 1\.0"):
        point.density(np.array(1.0))
    with pytest.raises(ValueError, match="level is 2"):
        flat.interval(2.0)
