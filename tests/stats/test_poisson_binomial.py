"""Sums of unequal coin flips against 60-digit arithmetic, scipy, and differences of the cumulant function."""

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from jtruth.stats.poisson_binomial import cumulants, log_pmf, pmf, saddlepoint_log_pmf, tilt_for_mean


def coins(seed, n, a=0.5, b=1.5):
    return logit(np.random.default_rng(seed).beta(a, b, n).clip(1e-9, 1 - 1e-9))


def test_every_count_has_small_relative_error():
    x = coins(0, 50)
    with mpmath.workdps(60):
        exact = [mpmath.mpf(1)]
        for v in x:
            p = 1 / (1 + mpmath.exp(-mpmath.mpf(float(v))))
            exact = [
                (exact[k] * (1 - p) if k < len(exact) else 0) + (exact[k - 1] * p if k else 0)
                for k in range(len(exact) + 1)
            ]
        expected = np.array([float(mpmath.log(p)) for p in exact])
    np.testing.assert_allclose(log_pmf(x, np.ones(50, int), 0, 50), expected, rtol=0, atol=1e-12)


def test_equal_to_scipy_and_to_the_binomial():
    x = coins(1, 300)
    ones = np.ones(300, int)
    expected = stats.poisson_binom(expit(x)).pmf(np.arange(301))
    np.testing.assert_allclose(np.exp(log_pmf(x, ones, 0, 300)), expected, rtol=1e-9, atol=1e-300)
    found, start = pmf(np.array([0.3]), np.array([40]))
    np.testing.assert_allclose(
        found, stats.binom(40, 0.3).pmf(np.arange(start, start + found.size)), rtol=1e-11
    )


def test_repeated_flips_and_windows():
    x, counts = coins(2, 20), np.arange(1, 21)
    whole = log_pmf(np.repeat(x, counts), np.ones(counts.sum(), int), 0, int(counts.sum()))
    np.testing.assert_allclose(log_pmf(x, counts, 0, int(counts.sum())), whole, atol=1e-10)
    np.testing.assert_allclose(log_pmf(x, counts, 30, 90), whole[30:91], atol=1e-10)


def test_no_flips_and_a_window_far_in_the_tail():
    np.testing.assert_array_equal(log_pmf(np.zeros(0), np.zeros(0, int), 0, 0), [0.0])
    far = log_pmf(np.full(1, -3.0), np.array([2000]), 1990, 2000)  # about exp(-6000)
    np.testing.assert_allclose(far, stats.binom(2000, expit(-3.0)).logpmf(np.arange(1990, 2001)), rtol=1e-12)


@pytest.mark.parametrize("offset", [-8.0, -2.0, 0.0, 3.0, 8.0])
def test_saddlepoint_is_good_in_the_tails(offset):
    x = coins(3, 1200)
    ones = np.ones(x.size, int)
    k = cumulants(x, ones, 0.0)
    count = round(k[1] + offset * np.sqrt(k[2]))
    tilt = tilt_for_mean(x, ones, count, tolerance=1e-9)
    exact = log_pmf(x, ones, count, count)[0]
    at = cumulants(x, ones, tilt)
    assert at[2] > 80
    np.testing.assert_allclose(saddlepoint_log_pmf(at, tilt), exact, atol=2e-8)


def test_cumulants_are_derivatives():
    x, counts, h = coins(4, 30), np.full(30, 2), 1e-3
    steps = np.arange(-4, 5)
    values = np.array([cumulants(x, counts, 0.3 + h * s) for s in steps])
    first = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
    for order in range(6):
        slope = first @ values[:, order] / h
        np.testing.assert_allclose(slope, values[4, order + 1], rtol=1e-8, atol=1e-8)
