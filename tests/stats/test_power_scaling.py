"""Power scaling against closed forms: conjugate posteriors whose scaled versions are known."""

import numpy as np
import pytest
from scipy import stats

from jtruth.stats.loo import equal_draws, power_scaled

A, B, HITS, MISSES, DRAWS = 4.0, 2.0, 3, 9, 8000  # Beta prior and counts


@pytest.fixture(scope="module")
def draws():
    return stats.beta(A + HITS, B + MISSES).rvs(DRAWS, random_state=1)


@pytest.mark.parametrize("power", [0.5, 0.8, 1.25, 2.0])
@pytest.mark.parametrize("part", ["prior", "likelihood"])
def test_beta_binomial(draws, power, part):
    """Quantiles within 5 standard errors of the weighted empirical distribution: 2 in 10^6 for each of 48."""
    a, b = (A - 1, B - 1) if part == "prior" else (HITS, MISSES)
    weights, _, reliable = power_scaled(a * np.log(draws) + b * np.log1p(-draws), power)
    exact = stats.beta(A + HITS + (power - 1) * a, B + MISSES + (power - 1) * b)
    assert reliable and weights.sum() == pytest.approx(1)
    error = np.sqrt(np.sum(weights**2 * (draws - exact.mean()) ** 2))
    assert abs(weights @ draws - exact.mean()) < 5 * error
    same = equal_draws(draws, weights, 4000)
    for level in (0.025, 0.5, 0.975):
        q = exact.ppf(level)
        spread = np.sqrt(np.sum(weights**2 * ((draws <= q) - level) ** 2))
        assert abs((same <= q).mean() - level) < 5 * spread + 1 / 4000
    assert abs(draws.mean() - exact.mean()) > 5 * error  # no scaling at all would be seen


def test_no_change_at_power_one(draws):
    np.testing.assert_allclose(power_scaled(np.log(draws), 1.0)[0], 1 / DRAWS)
    np.testing.assert_array_equal(equal_draws(draws, np.full(DRAWS, 1 / DRAWS), DRAWS), np.sort(draws))


def test_draws_that_do_not_reach_are_not_trusted():
    """The likelihood of a thousand samples ten times as strong is elsewhere than the draws of a wide one."""
    x = np.random.default_rng(2).normal(size=(2000, 100))
    assert not power_scaled(-0.5 * (x**2).sum(axis=1), 10.0)[2]


def test_undefined_draws_stay_undefined():
    same = equal_draws(np.array([np.nan, 1.0]), np.array([0.5, 0.5]), 4)
    np.testing.assert_array_equal(same, [1, 1, np.nan, np.nan])


@pytest.mark.parametrize("density, power, said", [
    (np.zeros(30), 0.0, "power is 0.0; give a number, above 0"),
    (np.array([0.0, -np.inf]), 2.0, r"log_density\[1\] is -inf"),
])  # fmt: skip
def test_refusals(density, power, said):
    with pytest.raises(ValueError, match=said):
        power_scaled(density, power)
