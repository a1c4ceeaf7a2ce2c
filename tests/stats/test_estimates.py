"""The three kinds of law, and their intervals, against brute force and scipy."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import DensityEstimate, PmfEstimate
from jtruth.stats.regions import densest_cells, equal_tails, shortest_interval

masses = st.lists(st.integers(0, 20), min_size=1, max_size=12).filter(any)


@given(masses, st.floats(0.05, 0.95))
def test_shortest_interval_by_brute_force(counts, level):
    pmf = np.array(counts) / sum(counts)
    values = np.cumsum(np.arange(pmf.size) % 3 + 1.0)
    best = min(
        (values[j] - values[i], -pmf[i : j + 1].sum())
        for i in range(pmf.size)
        for j in range(i, pmf.size)
        if pmf[i : j + 1].sum() >= level - 1e-12
    )
    low, high, mass = shortest_interval(values, pmf, level)
    assert high - low == best[0] and mass == pytest.approx(-best[1])


@given(masses, st.floats(0.05, 0.95))
def test_densest_cells_are_the_fewest(counts, level):
    pmf = np.array(counts) / sum(counts)
    inside = densest_cells(pmf, level)
    assert pmf[inside].sum() >= level - 1e-12
    largest = np.sort(pmf)[::-1]
    assert inside.sum() == np.flatnonzero(np.cumsum(largest) >= level - 1e-12)[0] + 1


def test_equal_tails_leave_no_more_than_they_should():
    pmf = np.full(10, 0.1)
    low, high, mass = equal_tails(np.arange(10.0), pmf, 0.8)
    assert (low, high) == (0.0, 8.0) or (low, high) == (1.0, 8.0)
    assert mass >= 0.8 - 1e-12


LAWS = {"normal": stats.norm(0.6, 0.05), "beta": stats.beta(8, 3), "skewed": stats.beta(2, 30)}


@pytest.mark.parametrize("name", LAWS)
def test_density_estimate_against_scipy(name):
    law = LAWS[name]
    low, high = (0.0, 1.0) if name != "normal" else (0.1, 1.1)
    grid = np.linspace(low, high, 4001)
    estimate = DensityEstimate(grid, law.pdf(grid))
    np.testing.assert_allclose(estimate.grid_mass, 1, atol=1e-9)
    np.testing.assert_allclose([estimate.mean, estimate.sd], [law.mean(), law.std()], atol=1e-8)
    np.testing.assert_allclose(estimate.equal_tails(0.9)[:2], law.ppf([0.05, 0.95]), atol=1e-7)
    a, b, _ = estimate.interval(0.8)
    np.testing.assert_allclose(law.cdf(b) - law.cdf(a), 0.8, atol=1e-7)
    np.testing.assert_allclose(law.pdf(a), law.pdf(b), rtol=1e-2)  # the shortest interval cuts at one height
    region = estimate.region(0.8)
    np.testing.assert_allclose(region.intervals[0], (a, b), atol=1e-3)
    np.testing.assert_allclose(law.pdf(region.intervals[0][0]), law.pdf(region.intervals[0][1]), rtol=1e-6)
    fine = np.linspace(low, high, 200_001)
    np.testing.assert_allclose(estimate.mode, fine[np.argmax(law.pdf(fine))], atol=1e-5)
    draws = estimate.sample(jax.random.key(0), 4000)
    assert stats.kstest(draws, law.cdf).pvalue > 1e-4


def test_region_of_two_peaks_is_a_union():
    grid = np.linspace(0, 1, 4001)
    pdf = stats.norm(0.2, 0.03).pdf(grid) + stats.norm(0.8, 0.03).pdf(grid)
    region = DensityEstimate(grid, pdf).region(0.9)
    assert len(region.intervals) == 2 and region.mass == pytest.approx(0.9, abs=1e-6)


def test_pmf_estimate_against_sums_and_binomial():
    law = stats.binom(30, 0.4)
    values = np.arange(31) / 30
    estimate = PmfEstimate(values, law.pmf(np.arange(31)), lattice=True)
    np.testing.assert_allclose([estimate.mean, estimate.sd], [0.4, law.std() / 30], atol=1e-12)
    assert estimate.mode == 12 / 30
    region = estimate.region(0.9)
    assert region.mass >= 0.9 and len(region.intervals) == 1
    draws = estimate.sample(jax.random.key(1), 20_000)
    counts = np.bincount(np.round(draws * 30).astype(int), minlength=31)
    used = law.pmf(np.arange(31)) * 20_000 > 5
    chi2 = ((counts - 20_000 * law.pmf(np.arange(31))) ** 2 / (20_000 * law.pmf(np.arange(31))))[used].sum()
    assert stats.chi2(used.sum() - 1).sf(chi2) > 1e-4


def test_many_irregular_atoms_are_smoothed_for_mode_and_region():
    rng = np.random.default_rng(0)
    values = np.sort(rng.normal(0.5, 0.1, 3000))
    estimate = PmfEstimate(values, np.full(3000, 1 / 3000))
    assert abs(estimate.mode - 0.5) < 0.05
    region = estimate.region(0.8)
    assert len(region.intervals) == 1 and region.mass == pytest.approx(0.8, abs=0.01)
    x = np.linspace(0, 1, 1001)
    np.testing.assert_allclose(estimate.density(x).sum() / 1000, 1, atol=1e-3)


def test_levels_and_undefined():
    nothing = PmfEstimate(np.zeros(0), np.zeros(0), 0.0)
    assert np.isnan([nothing.mean, nothing.sd, nothing.mode, *nothing.interval()]).all()
    assert nothing.region().intervals == ()
    for level in (0.0, 1.0, -1.0, 95.0):
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            nothing.interval(level)


def test_draws_leave_undefined_ones_out():
    draws = DrawsEstimate(np.array([0.1, 0.2, np.nan, 0.3, 0.4]))
    assert draws.mean == pytest.approx(0.25) and draws.probability_defined == 0.8
    assert draws.interval(0.5)[:2] == (0.1, 0.2)
    assert set(draws.sample(jax.random.key(0), 50)) <= {0.1, 0.2, 0.3, 0.4}
