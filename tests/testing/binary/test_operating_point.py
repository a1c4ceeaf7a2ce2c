"""The collapsed likelihood of (p_D, p_FA): its value, its concavity, and its maximum, found another way."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize
from scipy.special import expit

from jtruth.testing import BetaPrior, collapse, iterate
from jtruth.testing.binary.empirical_bayes import plug_in_step
from jtruth.testing.binary.exact import count_table
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


@given(rows, rates, rates, rates, rates, st.floats(0, 1))
def test_it_is_concave(samples, d, f, d2, f2, share):
    """On any segment the function lies above its chord: settles Su 2.4.4 for the maximum-likelihood map."""
    data = collapse(*split(samples))
    between = log_likelihood(data, share * d + (1 - share) * d2, share * f + (1 - share) * f2)
    chord = share * log_likelihood(data, d, f) + (1 - share) * log_likelihood(data, d2, f2)
    assert between >= chord - 1e-9 * (1 + abs(chord))


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


def test_curvature_and_count_moments_against_finite_differences():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=300) * 3, rng.integers(0, 2, 300)
    prior, data = BetaPrior(1.5, 2.0, 1.0, 3.0), collapse(x, y)
    mode = most_probable(data, prior)
    at = np.array([mode.p_detection, mode.p_false_alarm])

    def objective(p):
        weights = np.array([[prior.a_d, prior.b_d], [prior.a_f, prior.b_f]])
        return direct(x, y, *p) + (weights * np.log([p, 1 - np.array(p)]).T).sum()

    h, hessian = 1e-4, np.zeros((2, 2))
    for i in range(2):
        for j in range(2):
            e, g = h * np.eye(2)[i], h * np.eye(2)[j]
            corners = (at + e + g, at + e - g, at - e + g, at - e - g)
            hessian[i, j] = sum(s * objective(p) for s, p in zip((1, -1, -1, 1), corners, strict=True)) / (
                4 * h * h
            )
    np.testing.assert_allclose(np.linalg.inv(-hessian), mode.covariance, rtol=1e-5)

    # Counts given the operating point move with it: variances inside plus slopes times its covariance.
    def counts(p):
        q = expit(x + np.where(y == 1, np.log(p[0] / p[1]), np.log((1 - p[0]) / (1 - p[1]))))
        return np.array([q[y == 1].sum(), q[y == 0].sum()]), np.array(
            [(q * (1 - q))[y == 1].sum(), (q * (1 - q))[y == 0].sum()]
        )

    slopes = np.stack([(counts(at + e)[0] - counts(at - e)[0]) / (2 * h) for e in h * np.eye(2)], axis=1)
    expected = np.diag(counts(at)[1]) + slopes @ mode.covariance @ slopes.T
    np.testing.assert_allclose(mode.count_covariance, expected, rtol=1e-5)
    table = count_table(data, prior)
    a = table.probability.sum(1)
    mean = float(table.a @ a)
    np.testing.assert_allclose(mode.count_mean[0], mean, rtol=0.02)  # Laplace, 300 samples
    np.testing.assert_allclose(
        np.sqrt(mode.count_covariance[0, 0]), np.sqrt((table.a - mean) ** 2 @ a), rtol=0.1
    )


def test_the_plug_in_iteration_ends_at_the_maximum_from_anywhere():
    """EM: with vanishing pseudo-counts the mode is the maximum of the likelihood, whatever the start."""
    rng = np.random.default_rng(2)
    truth = rng.random(200) < 0.4
    x = np.where(truth, 1, -1) * rng.uniform(0.5, 4, 200) * np.where(rng.random(200) < 0.85, 1, -1)
    y = (rng.random(200) < np.where(truth, 0.8, 0.3)).astype(np.int32)
    mode = most_probable(collapse(x, y), BetaPrior(1e-9, 1e-9, 1e-9, 1e-9))
    step = plug_in_step(jnp.asarray(x), jnp.asarray(y))
    run = jax.jit(
        lambda start: iterate(step, dtype=jnp.float64, start=start, max_steps=5000, tol=1e-14, alpha=1e-6)
    )
    for start in ((0.5, 0.5), (0.99, 0.01), (0.01, 0.99), (0.05, 0.1)):
        fit = run(jnp.asarray(start))
        assert bool(fit.converged)
        found = [float(fit.p_detection), float(fit.p_false_alarm)]
        np.testing.assert_allclose(found, [mode.p_detection, mode.p_false_alarm], atol=1e-8)
    values = [
        log_likelihood(collapse(x, y), *map(float, p)) for p in np.array(fit.path[: int(fit.num_steps) + 1])
    ]
    assert (np.diff(values) > -1e-10).all()  # EM never goes down
