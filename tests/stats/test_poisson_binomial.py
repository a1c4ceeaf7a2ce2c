"""The Poisson-binomial distribution: every entry against 60-digit arithmetic, SciPy, and closed forms."""

import mpmath
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from jtruth.stats.poisson_binomial import cumulants, log_pmf, pmf, saddlepoint_log_pmf, tilt_for_mean

RELATIVE = 1e-12  # of every probability, however small


def digits60(x):
    """log PMF of a sum of flips with log-odds x, by the recursion f_k <- f_k (1 - p) + f_{k-1} p."""
    with mpmath.workdps(60):
        dist = [mpmath.mpf(1)]
        for value in x:
            p = 1 / (1 + mpmath.exp(-mpmath.mpf(float(value))))
            q = 1 / (1 + mpmath.exp(mpmath.mpf(float(value))))
            dist = [low * p + here * q for low, here in zip([0, *dist], [*dist, 0], strict=True)]
        return [mpmath.log(v) for v in dist]


def check_all_counts(x, counts=None):
    counts = np.ones(len(x), np.int64) if counts is None else counts
    found = log_pmf(np.asarray(x, np.float64), counts, 0, int(counts.sum()))
    expected = digits60(np.repeat(x, counts))
    with mpmath.workdps(60):
        error = [float(mpmath.expm1(mpmath.mpf(float(f)) - e)) for f, e in zip(found, expected, strict=True)]
    np.testing.assert_allclose(error, 0.0, rtol=0, atol=RELATIVE)


@pytest.mark.parametrize(
    "x",
    [
        np.random.default_rng(1).normal(size=40) * 2,
        np.random.default_rng(2).normal(size=50) * 12,
        np.random.default_rng(3).normal(-6, 0.5, size=60),
        np.where(np.arange(45) % 3 == 0, 9.0, -9.0),
    ],
    ids=["ordinary", "nearly certain", "rare", "two kinds"],
)
def test_every_count_of_forty_to_sixty_flips(x):
    check_all_counts(x)


@given(st.lists(st.floats(-25, 25), min_size=1, max_size=12))
def test_every_count_of_any_flips(x):
    check_all_counts(x)


def test_multiplicities_are_repeated_flips():
    x, counts = np.array([-2.0, 0.3, 1.7, 4.0]), np.array([17, 1, 9, 21])
    check_all_counts(x, counts)
    assert pmf(np.zeros(0), np.zeros(0, np.int64)) == (np.ones(1), 0)


def test_log_odds_in_the_thousands():
    """1500 labelers who agree give log-odds of thousands; the least likely counts must be reached too."""
    check_all_counts(np.array([6000.0]))
    x = np.array([3000.0, -3000.0, 0.0, 1.0])
    expected = [float(v) for v in digits60(x)]
    # A tilt of up to 3000 is subtracted again: absolute error about 4 * 3000 * 2e-16.
    np.testing.assert_allclose(log_pmf(x, np.ones(4, np.int64), 0, 4), expected, rtol=1e-15, atol=4e-12)


def test_a_window_is_a_part_of_the_whole():
    x = np.random.default_rng(5).normal(size=80)
    ones = np.ones(80, np.int64)
    np.testing.assert_allclose(log_pmf(x, ones, 60, 75), log_pmf(x, ones, 0, 80)[60:76], atol=1e-12)
    np.testing.assert_array_equal(log_pmf(np.zeros(0), np.zeros(0, np.int64), 0, 0), [0.0])
    far = log_pmf(np.full(1, -3.0), np.array([2000]), 1990, 2000)  # about exp(-6000)
    expected = scipy.stats.binom(2000, 1 / (1 + np.exp(3.0))).logpmf(np.arange(1990, 2001))
    np.testing.assert_allclose(far, expected, rtol=1e-12)


def test_the_tilt_puts_the_mean_where_it_is_wanted():
    x, counts = np.random.default_rng(6).normal(size=100) * 4, np.full(100, 3)
    for mean in (0.5, 10.0, 150.0, 299.0):
        for tolerance in (1e-1, 1e-7, 1e-11):
            tilt = tilt_for_mean(x, counts, mean, tolerance=tolerance)
            assert cumulants(x, counts, tilt)[1] == pytest.approx(mean, abs=2 * tolerance)
    # Newton's step may round to nothing: 400 flips, and the integers around their mean.
    x, ones = np.random.default_rng(7).normal(size=400) * 0.1, np.ones(400, np.int64)
    for mean in range(190, 210):
        assert abs(tilt_for_mean(x, ones, float(mean))) < 0.2


def test_cumulants_are_derivatives_of_the_generating_function():
    """K by 60-digit arithmetic, differentiated numerically by mpmath, at two tilts."""
    x, counts = np.array([-3.0, -0.2, 1.1, 2.5]), np.array([5, 2, 7, 1])

    def generating(s):
        return sum(
            int(m) * (mpmath.log1p(mpmath.exp(v + s)) - mpmath.log1p(mpmath.exp(v)))
            for v, m in zip(map(mpmath.mpf, x), counts, strict=True)
        )

    with mpmath.workdps(60):
        for tilt in (0.0, 1.3):
            expected = [float(mpmath.diff(generating, mpmath.mpf(tilt), n)) for n in range(7)]
            np.testing.assert_allclose(cumulants(x, counts, tilt), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("spread", "count"), [(0.1, 400), (1.0, 480), (3.0, 830)])
def test_saddlepoint_expansion_at_variance_one_hundred(spread, count):
    """Relative error 1e-8 in the centre and 10 standard deviations out, where P is about exp(-50)."""
    x = np.random.default_rng(7).normal(size=count) * spread
    ones = np.ones(count, np.int64)
    mean, variance = cumulants(x, ones, 0.0)[1:3]
    assert 90 < variance < 115
    for away in (-10, -3, 0, 3, 10):
        s = int(mean + away * np.sqrt(variance))
        tilt = tilt_for_mean(x, ones, float(s), tolerance=1e-12)
        found = saddlepoint_log_pmf(cumulants(x, ones, tilt), tilt)
        np.testing.assert_allclose(found, log_pmf(x, ones, s, s), rtol=0, atol=1e-8)
