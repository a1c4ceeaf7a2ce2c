"""The three kinds of distribution, and their intervals, against brute force and scipy."""

import pickle

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import DensityEstimate, PmfEstimate, shortest_interval

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
    low, high = ends = shortest_interval(values, pmf, level)
    assert high - low == best[0] and ends.mass == pytest.approx(-best[1])


LAWS = {"normal": stats.norm(0.6, 0.05), "beta": stats.beta(8, 3), "skewed": stats.beta(2, 30)}
MODES = {"normal": 0.6, "beta": 7 / 9, "skewed": 1 / 30}


def estimate_of(name):
    grid = np.linspace(0, 1, 4001) + (0.1 if name == "normal" else 0.0)
    return DensityEstimate(grid, LAWS[name].pdf(grid))


@pytest.mark.parametrize("name", LAWS)
def test_density_estimate_against_scipy(name):
    dist, estimate = LAWS[name], estimate_of(name)
    np.testing.assert_allclose(estimate.grid_mass, 1, atol=1e-9)
    np.testing.assert_allclose([estimate.mean, estimate.sd], [dist.mean(), dist.std()], atol=1e-8)
    np.testing.assert_allclose(estimate.equal_tails(0.9), dist.ppf([0.05, 0.95]), atol=1e-7)
    np.testing.assert_allclose(estimate.mode, MODES[name], atol=1e-5)
    draws = estimate.sample(jax.random.key(0), 4000)
    assert stats.kstest(draws, dist.cdf).pvalue > 1e-4


def test_region_of_two_peaks_is_a_union():
    grid = np.linspace(0, 1, 4001)
    pdf = stats.norm(0.2, 0.03).pdf(grid) + stats.norm(0.8, 0.03).pdf(grid)
    region = DensityEstimate(grid, pdf).region(0.9)
    assert len(region.intervals) == 2 and region.mass == pytest.approx(0.9, abs=1e-6)


def test_many_irregular_atoms_are_smoothed_for_mode_and_region():
    rng = np.random.default_rng(0)
    values = np.sort(rng.normal(0.5, 0.1, 3000))
    estimate = PmfEstimate(values, np.full(3000, 1 / 3000))
    assert abs(estimate.mode - 0.5) < 0.05
    region = estimate.region(0.8)
    assert len(region.intervals) == 1 and region.mass == pytest.approx(0.8, abs=0.01)
    x = np.linspace(0, 1, 1001)
    np.testing.assert_allclose(estimate.density(x).sum() / 1000, 1, atol=1e-3)


def test_draws_leave_undefined_ones_out():
    draws = DrawsEstimate(np.array([0.1, 0.2, np.nan, 0.3, 0.4]))
    assert draws.mean == pytest.approx(0.25) and draws.probability_defined == 0.8
    assert draws.interval(0.5) == (0.1, 0.4)  # too few to leave one out
    assert set(draws.sample(jax.random.key(0), 50)) <= {0.1, 0.2, 0.3, 0.4}


def test_draws_that_differ_by_rounding_are_equal():
    """Differences of two accuracies: .35 - .3 and .55 - .5 are one number."""
    draws = np.tile([0.35 - 0.3, 0.55 - 0.5, 0.85 - 0.8], 40)
    assert np.unique(draws).size > 1
    dist = DrawsEstimate(draws)
    assert dist.sd == 0 and dist.density(np.array([0.04, dist.mean])).tolist() == [0, np.inf]
    many = DrawsEstimate(np.append(draws, [0.2, 0.2 + 1e-12]))
    assert many._atoms.values.size == 3


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_highest_density_region_by_root_finding_on_the_true_dist(name, level):
    """A unimodal distribution: the interval [a, ppf(cdf(a) + level)] whose two ends are equally dense."""
    dist, estimate = LAWS[name], estimate_of(name)

    def gap(tail):
        return dist.pdf(dist.ppf(tail)) - dist.pdf(dist.ppf(tail + level))

    tail = brentq(gap, 1e-12, 1 - level - 1e-12, xtol=1e-15)
    expected = dist.ppf([tail, tail + level])
    region = estimate.region(level)
    np.testing.assert_allclose(region.intervals, [expected], rtol=0, atol=2e-9)
    assert region.mass == pytest.approx(level, abs=1e-9)
    # The shortest interval is the same one; a width is flat at its minimum, so its ends are known less well.
    ends = estimate.interval(level)
    np.testing.assert_allclose(ends[:2], expected, rtol=0, atol=1e-6)
    assert ends.high - ends.low == pytest.approx(expected[1] - expected[0], abs=1e-9)


def test_a_dist_that_is_highest_at_its_end():
    """Beta(3, 1), density 3 x^2: all intervals end at 1, quantiles are cube roots."""
    grid = np.linspace(0, 1, 2001)
    estimate = DensityEstimate(grid, 3 * grid**2)
    assert estimate.mode == 1
    np.testing.assert_allclose(estimate.interval(0.9), (0.1 ** (1 / 3), 1), atol=1e-9)
    np.testing.assert_allclose(estimate.region(0.9).intervals, [(0.1 ** (1 / 3), 1)], atol=1e-9)
    np.testing.assert_allclose(estimate.equal_tails(0.9), np.cbrt([0.05, 0.95]), atol=1e-9)
    x = np.array([-0.1, 0.0, 0.25, 1.0, 1.1])
    np.testing.assert_allclose(estimate.density(x), [0, 0, 0.1875, 3, 0], atol=1e-9)


def test_a_flat_density_has_no_smaller_region_than_its_plateau():
    dist = DensityEstimate(np.linspace(0, 1, 101), np.ones(101))
    assert dist.region(0.9).intervals == ((0.0, 1.0),) and dist.region(0.9).mass == pytest.approx(1)
    low, high = dist.interval(0.9)
    assert high - low == pytest.approx(0.9, abs=1e-12)


@given(masses, st.floats(0.05, 0.95))
def test_pmf_estimate_by_direct_sums(counts, level):
    pmf = np.array(counts) / sum(counts)
    values = np.sort(np.random.default_rng(len(counts)).random(pmf.size))
    estimate = PmfEstimate(values, pmf)
    mean = sum(v * p for v, p in zip(values, pmf, strict=True))
    sd = sum((v - mean) ** 2 * p for v, p in zip(values, pmf, strict=True)) ** 0.5
    np.testing.assert_allclose([estimate.mean, estimate.sd], [mean, sd], rtol=1e-10, atol=1e-12)
    assert pmf[values == estimate.mode] == pmf.max()
    low, high = ends = estimate.equal_tails(level)
    tail = (1 - level) / 2 + 1e-9
    assert pmf[values < low].sum() <= tail and pmf[values > high].sum() <= tail
    assert ends.mass == pytest.approx(pmf[(values >= low) & (values <= high)].sum())
    region = estimate.region(level)
    inside = np.any([(values >= a) & (values <= b) for a, b in region.intervals], axis=0)
    assert region.mass == pytest.approx(pmf[inside].sum()) and region.mass >= level - 1e-12
    assert pmf[inside].min() >= max(pmf[~inside], default=0)
    fewest = np.flatnonzero(np.cumsum(np.sort(pmf)[::-1]) >= level - 1e-12)[0] + 1
    assert inside.sum() == fewest


def test_the_density_of_a_lattice_dist_is_close_to_that_of_its_limit():
    """Binomial(400, .3)/400 against the normal density; sd is 9 atoms, so bins of sd/5 would be ragged."""
    k = np.arange(401)
    estimate = PmfEstimate(k / 400, stats.binom(400, 0.3).pmf(k), lattice=True)
    x = np.linspace(0.2, 0.4, 333)
    limit = stats.norm(0.3, np.sqrt(0.3 * 0.7 / 400)).pdf(x)
    np.testing.assert_allclose(estimate.density(x), limit, atol=0.02 * limit.max())


def test_an_interval_is_a_pair_and_knows_its_mass_also_when_copied():
    values, weights = np.array([0.0, 0.5, 1.0]), np.array([0.1, 0.6, 0.3])
    for dist in (PmfEstimate(values, weights), DrawsEstimate(np.repeat(values, [1, 6, 3]))):
        for ends in (
            dist.interval(0.8),
            dist.equal_tails(0.8),
            pickle.loads(pickle.dumps(dist.interval(0.8))),
        ):
            low, high = ends
            assert (ends.low, ends.high) == (low, high) and len(ends) == 2
            assert ends.mass == pytest.approx(weights[(values >= low) & (values <= high)].sum())
    assert repr(dist.interval(0.8)).endswith(f"mass={ends.mass})")


def test_a_dist_that_is_never_defined_is_nan_everywhere():
    nothing = PmfEstimate(np.zeros(0), np.zeros(0), 0.0)
    draws = DrawsEstimate(np.full(7, np.nan))
    assert draws.probability_defined == 0
    for dist in (nothing, draws):
        assert np.isnan([dist.mean, dist.sd, dist.mode, *dist.interval(), *dist.equal_tails()]).all()
        assert dist.region().intervals == () and np.isnan(dist.region().mass)
        assert np.isnan(dist.density(np.array([0.2, 0.5]))).all()
        found = dist.sample(jax.random.key(0), 3)
        assert found.shape == (3,) and np.isnan(found).all()


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 95.0, float("nan")])
def test_every_kind_of_dist_refuses_what_is_no_level(level):
    grid = np.linspace(0, 1, 11)
    dists = (PmfEstimate(grid, grid / grid.sum()), DensityEstimate(grid, grid), DrawsEstimate(grid))
    for dist in dists:
        for method in (dist.interval, dist.equal_tails, dist.region):
            with pytest.raises(ValueError, match="strictly between 0 and 1"):
                method(level)


SHAPES = {
    "normal": stats.norm(), "beta at 1": stats.beta(30, 2), "beta from 0": stats.beta(1, 20),
    "heavy tails": stats.t(4), "counts": stats.binom(100, 0.3), "fine counts": stats.binom(1000, 0.5),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(
    "number, repeats",
    [(1000, 250), *(pytest.param(*c, marks=pytest.mark.slow) for c in ((400, 500), (4000, 100)))],
)
def test_the_shortest_interval_of_draws_holds_its_level(name, number, repeats):
    """The share of the posterior inside is at least .95 on average; false alarms of each case 1e-4 (3.7
    errors).

    Continuous distributions: not above .95 either by more than the share of two draws. The mean is inside,
    and no end is outside what was drawn.
    """
    dist, rng = SHAPES[name], np.random.default_rng(number)
    inside = np.empty(repeats)
    for i in range(repeats):
        draws = dist.rvs(number, random_state=rng).astype(float)
        low, high = ends = DrawsEstimate(draws).interval()
        inside[i] = dist.cdf(high) - dist.cdf(np.nextafter(low, -np.inf))
        assert {low, high} <= set(draws) and low <= draws.mean() <= high
        assert ends.mass == ((draws >= low) & (draws <= high)).mean()
    error = inside.std() / np.sqrt(repeats)
    assert inside.mean() > 0.95 - 3.7 * error
    if "counts" not in name:
        assert inside.mean() < 0.95 + 2 / (number + 1) + 3.7 * error


@pytest.mark.parametrize("number, repeats", [(400, 400), pytest.param(4000, 100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("share", [0.6, 0.94, 0.97])
def test_draws_with_a_point_mass(share, number, repeats):
    """A recall that is 1 with some probability: coverage, the mean inside, nothing above 1."""
    rng, below = np.random.default_rng(7), stats.beta(30, 4)
    inside = np.empty(repeats)
    for i in range(repeats):
        draws = np.where(rng.random(number) < share, 1.0, below.rvs(number, random_state=rng))
        low, high = DrawsEstimate(draws).interval()
        assert high == 1 and low <= draws.mean() <= high
        inside[i] = share + (1 - share) * (1 - below.cdf(low))
    assert inside.mean() > 0.95 - 3.7 * inside.std() / np.sqrt(repeats)


def test_every_interval_contains_the_mean():
    """Recall .999 [1.000, 1.000] was printed: the shortest interval of all alone misses the mean."""
    atoms = PmfEstimate(np.array([0.5, 0.9, 1.0]), np.array([0.01, 0.02, 0.97]))
    assert atoms.mean == pytest.approx(0.993) and atoms.interval() == (0.9, 1.0)
    assert atoms.interval().mass == pytest.approx(0.99)
    assert atoms.interval(0.5) == (1.0, 1.0)  # at low levels the peak alone
    draws = DrawsEstimate(np.repeat(atoms.values, [10, 20, 970]))
    assert draws.interval() == (0.9, 1.0)
    grid = np.linspace(0, 1, 20_001)
    heavy = DensityEstimate(grid, 0.97e3 * np.exp(-1e3 * grid) + 0.03)  # mean .016, 97 % within .007
    low, high = ends = heavy.interval()
    assert low <= heavy.mean <= high and ends.mass == 0.95
    assert heavy._cdf(high) - heavy._cdf(low) == pytest.approx(0.95, abs=1e-6)


def test_draws_from_atoms_are_as_many_as_they_are_probable():
    pmf, values = stats.binom(30, 0.4).pmf(np.arange(31)), np.arange(31) / 30
    draws = PmfEstimate(values, pmf, lattice=True).sample(jax.random.key(1), 20_000)
    counts, expected = np.bincount(np.round(draws * 30).astype(int), minlength=31), 20_000 * pmf
    used = expected > 5
    chi2 = ((counts - expected) ** 2 / expected)[used].sum()
    assert stats.chi2(used.sum() - 1).sf(chi2) > 1e-4


def test_a_lattice_has_no_density_beyond_its_ends():
    dist = PmfEstimate(np.array([0.25, 0.5, 0.75]), np.array([0.2, 0.5, 0.3]), lattice=True)
    np.testing.assert_allclose(dist.density(np.array([0.1, 0.25, 0.75, 0.9])), [0.0, 0.8, 1.2, 0.0])
