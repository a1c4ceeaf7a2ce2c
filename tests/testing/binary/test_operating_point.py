"""The collapsed likelihood of (p_D, p_FA): its value, its concavity, and its maximum by another method."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize
from scipy.special import expit

from jtruth.testing import BetaPrior, collapse
from jtruth.testing.binary.operating_point import log_likelihood, most_probable

log_odds = st.one_of(st.floats(-30, 30), st.sampled_from([-np.inf, np.inf]))
rows = st.lists(st.tuples(log_odds, st.integers(0, 1)), min_size=1, max_size=12)
rates = st.floats(0.01, 0.99)


def split(samples):
    x, y = zip(*samples, strict=True)
    return np.array(x, np.float64), np.array(y)


def direct(x, y, d, f):
    """sum_i log(rho_i p(y_i | 1) + (1 - rho_i) p(y_i | 0)), with no use of the split."""
    on, off = np.where(y == 1, d, 1 - d), np.where(y == 1, f, 1 - f)
    return float(np.log(expit(x) * on + expit(-x) * off).sum())


@given(rows, rates, rates)
def test_collapsed_likelihood_is_the_sum_of_logs(samples, d, f):
    x, y = split(samples)
    np.testing.assert_allclose(
        log_likelihood(collapse(x, y), d, f), direct(x, y, d, f), rtol=1e-11, atol=1e-12
    )


def test_equal_log_odds_are_collapsed_and_nothing_is_lost():
    x = np.array([1.0, 1, 1, 1, 1, np.inf, -np.inf, -np.inf, 2, 2, 2, 2, 2, 2])
    y = np.array([1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0])
    data = collapse(x, y)
    assert (data[0].total, data[1].total) == (5, 9)
    assert [(side.sure, side.never) for side in data] == [(1, 1), (0, 1)]
    assert data[1].x.tolist() == [1, 2] and data[1].counts.tolist() == [2, 6]
    repeated = collapse(np.repeat(x, 3), np.repeat(y, 3))
    for d, f in ((0.7, 0.2), (0.4, 0.4)):
        assert log_likelihood(repeated, d, f) == pytest.approx(3 * log_likelihood(data, d, f), rel=1e-13)


PRIORS = [BetaPrior(), BetaPrior(2.5, 1.0, 0.5, 3.0), BetaPrior(20.0, 0.1, 0.2, 30.0)]


@given(rows, st.sampled_from(PRIORS))
def test_the_mode_is_where_another_optimiser_finds_it(samples, prior):
    """Mode of the density of (logit p_D, logit p_FA), which is Beta to the power of its pseudo-counts."""
    x, y = split(samples)

    def objective(u):
        log_beta = -prior.a_d * np.logaddexp(0, -u[0]) - prior.b_d * np.logaddexp(0, u[0])
        log_beta += -prior.a_f * np.logaddexp(0, -u[1]) - prior.b_f * np.logaddexp(0, u[1])
        return -direct(x, y, *expit(u)) - log_beta

    best = optimize.minimize(
        objective, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}
    )
    found = most_probable(collapse(x, y), prior)
    assert found.converged
    np.testing.assert_allclose([found.p_detection, found.p_false_alarm], expit(best.x), atol=3e-6)


@given(rows, rates, rates, rates, rates, st.floats(0, 1))
def test_it_is_concave(samples, d, f, d2, f2, share):
    """On any segment the function lies above its chord: settles Su 2.4.4 for the maximum-likelihood map."""
    data = collapse(*split(samples))
    between = log_likelihood(data, share * d + (1 - share) * d2, share * f + (1 - share) * f2)
    chord = share * log_likelihood(data, d, f) + (1 - share) * log_likelihood(data, d2, f2)
    assert between >= chord - 1e-9 * (1 + abs(chord))
