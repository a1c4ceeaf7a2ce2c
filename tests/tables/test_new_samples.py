"""Answers for new samples: against Beta distributions, complete draws, and the usual intervals."""

import numpy as np
import pytest
from scipy import stats

import jtruth as jt
from jtruth.stats.draws import DrawsEstimate
from jtruth.tables.new_samples import NewSamples, NewShare, class_shares, new_share, new_tables
from jtruth.tables.posterior import TableDraws
from jtruth.testing import binary_posterior


def known(hits, misses):
    return NewShare(np.array([hits]), np.array([misses]), np.ones(1))


@pytest.mark.parametrize(("hits", "misses"), [(20, 0), (8, 2), (62, 18), (0, 30), (900_000, 100_000)])
def test_known_counts_give_jeffreys_posterior(hits, misses):
    dist, beta = known(hits, misses), stats.beta(hits + 0.5, misses + 0.5)
    np.testing.assert_allclose([dist.mean, dist.sd], [hits / (hits + misses), beta.std()], rtol=1e-9)
    ends = beta.ppf([0.025, 0.975])
    np.testing.assert_allclose(
        dist.interval(0.95), [ends[0] if hits else 0, ends[1] if misses else 1], atol=5e-6
    )
    np.testing.assert_allclose(dist.p_above(0.8), beta.sf(0.8), atol=1e-5)
    at = beta.ppf([0.2, 0.5, 0.9])
    np.testing.assert_allclose(dist.density(at), beta.pdf(at), rtol=2e-3)
    assert dist.density(np.array([-0.1, 1.1])).tolist() == [0.0, 0.0]


def test_a_mixture_is_what_draws_of_counts_and_shares_say():
    rng = np.random.default_rng(0)
    hits = rng.binomial(1000, 0.8, 5000)
    dist = NewShare(hits, 1000 - hits, np.full(hits.size, 1 / hits.size))
    drawn = rng.beta(np.repeat(hits, 200) + 0.5, np.repeat(1000 - hits, 200) + 0.5)
    np.testing.assert_allclose([dist.mean, dist.sd], [hits.mean() / 1000, drawn.std()], rtol=3e-3)
    np.testing.assert_allclose(dist.interval(0.9), np.quantile(drawn, [0.05, 0.95]), atol=2e-4)


def test_parts_far_apart_and_narrow_are_a_mixture_all_the_same():
    hits = stats.beta(8, 2).ppf((np.arange(4000) + 0.5) / 4000) * 1e6
    dist = NewShare(hits, 1e6 - hits, np.full(4000, 1 / 4000))
    np.testing.assert_allclose(dist.interval(0.95), stats.beta(8, 2).ppf([0.025, 0.975]), atol=1e-3)
    np.testing.assert_allclose(dist.sd, stats.beta(8, 2).std(), rtol=1e-3)


@pytest.mark.parametrize("size", [4, 30, 300])
def test_near_parts_that_are_one_are_the_mixture_of_all(size):
    """400 parts that overlap, as one by one: by the sum of SciPy's distributions."""
    shares = stats.beta(4, 1.5).ppf((np.arange(400) + 0.5) / 400)
    dist = NewShare(size * shares, size * (1 - shares), np.full(400, 1 / 400))
    assert dist._parts[0].size < 300
    beta = stats.beta(size * shares[:, None] + 0.5, size * (1 - shares[:, None]) + 0.5)
    at = np.array([0.3, 0.6, 0.8, 0.95])
    np.testing.assert_allclose([dist.p_above(x) for x in at], beta.sf(at).mean(axis=0), atol=4e-4)
    second = (beta.var() + beta.mean() ** 2).mean()
    np.testing.assert_allclose(dist.sd, np.sqrt(second - beta.mean().mean() ** 2), rtol=1e-3)


def test_f1_is_a_function_of_a_share_and_other_metrics_come_from_tables():
    table = np.array([[30, 5], [3, 12]])
    new, rng = NewSamples(TableDraws(np.tile(table, (4, 1, 1)))), np.random.default_rng(1)
    share = rng.beta(12.5, 8.5, 400_000)
    f1 = 2 * share / (1 + share)
    dist = new.estimate("f1")
    np.testing.assert_allclose([dist.mean, dist.sd], [24 / 32, f1.std()], rtol=2e-3)
    np.testing.assert_allclose(dist.interval(0.95), np.quantile(f1, [0.025, 0.975]), atol=2e-3)
    place = f1[:200].mean()
    np.testing.assert_allclose(dist.p_above(place), (f1 > place).mean(), atol=4e-3)
    below, above = dist.mean - 0.5 * dist.sd, dist.mean + 0.5 * dist.sd
    grid = np.linspace(below, above, 2001)
    np.testing.assert_allclose(
        np.trapezoid(dist.density(grid), grid),
        dist.p_above(below) - dist.p_above(above), rtol=1e-3,
    )  # fmt: skip
    np.testing.assert_allclose(new.estimate("kappa").mean, (0.84 - 0.564) / (1 - 0.564))
    cells = new_tables(np.tile(table, (20_000, 1, 1)), 0) / table.sum()
    prior = np.full((2, 2), 0.25)
    np.testing.assert_allclose(cells.mean(0), (table + prior) / (table.sum() + 1), atol=2e-3)


def test_the_exact_posterior_and_draws_of_it_agree():
    rng = np.random.default_rng(2)
    odds, y_pred = rng.normal(0.3, 2.0, 60), rng.integers(0, 2, 60)
    exact = binary_posterior(odds, y_pred).table
    drawn = TableDraws(exact.draws(0, 40_000))
    for name in ("accuracy", "precision", "recall", "false_alarm_rate", "f1"):
        one, other = NewSamples(exact).estimate(name), NewSamples(drawn).estimate(name)
        np.testing.assert_allclose(one.mean, other.mean, atol=3e-3)
        np.testing.assert_allclose(one.interval(0.9), other.interval(0.9), atol=8e-3)


def test_what_is_never_defined_stays_so():
    never = NewSamples(TableDraws(np.array([[[5, 0], [3, 0]]])))
    assert np.isnan(never.estimate("precision").mean)
    half = NewSamples(TableDraws(np.array([[[5, 0], [3, 0]], [[5, 0], [2, 1]]])))
    dist = half.estimate("precision")
    assert dist.probability_defined == 0.5
    np.testing.assert_allclose([dist.mean, dist.interval(0.5).high], [1.0, 1.0])
    empty = NewShare(np.zeros(0), np.zeros(0), np.zeros(0), 0.0)
    values = [
        empty.mean,
        empty.sd,
        empty.mode,
        *empty.interval(0.9),
        empty.density(np.array(0.5)),
        *empty.sample(0, 2),
    ]
    assert np.isnan(values).all()


def test_a_share_of_a_known_distribution_for_new_samples():
    rng = np.random.default_rng(3)
    shares = rng.beta(8, 2, 20_000)
    dist = new_share(DrawsEstimate(shares), 50)
    drawn = rng.beta(50 * shares + 0.5, 50 * (1 - shares) + 0.5)
    np.testing.assert_allclose([dist.mean, dist.sd], [shares.mean(), drawn.std()], rtol=2e-2)
    stated = new_share(DrawsEstimate(shares, middle=0.82), 50)
    assert stated.mean == 0.82
    assert np.isnan(new_share(DrawsEstimate(np.array([np.nan])), 50).mean)


def test_class_shares_add_up_to_one_and_two_are_jeffreys():
    three = class_shares(np.array([[3, 7, 0], [4, 6, 0]]))
    np.testing.assert_allclose(sum(dist.mean for dist in three), 1.0)
    first, _ = class_shares(np.array([[46, 34]]))
    np.testing.assert_allclose(first.interval(0.95), stats.beta(46.5, 34.5).ppf([0.025, 0.975]), atol=1e-5)
    np.testing.assert_allclose(first.mean, 46 / 80)
    modes = [dist.mode for dist in class_shares(np.array([[46, 34, 0]]))]  # and no peak of Jeffreys' prior
    np.testing.assert_allclose(modes, [46 / 80, 34 / 80, 0], atol=1e-3)


def test_all_verified_accuracy_is_jeffreys_and_in_sample_is_the_count():
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 80)
    y_pred, z = np.where(rng.random(80) < 0.8, truth, 1 - truth), np.stack([truth, truth, 1 - truth], 1)
    result = jt.evaluate(y_pred, jt.Labels.from_matrix(z, 2), gold=truth)
    right = int((y_pred == truth).sum())
    np.testing.assert_allclose(
        result.accuracy.interval(0.95), stats.beta(right + 0.5, 80.5 - right).ppf([0.025, 0.975]), atol=1e-4
    )
    assert result.target == "population"
    np.testing.assert_allclose(result.in_sample.accuracy.interval(0.95), right / 80)
    again = jt.evaluate(y_pred, jt.Labels.from_matrix(z, 2), gold=truth, target="in-sample")
    np.testing.assert_allclose(again.accuracy.mean, right / 80)
    np.testing.assert_allclose(again.population.accuracy.mean, result.accuracy.mean)
    said = result.to_dict()
    np.testing.assert_allclose(said["in_sample"]["accuracy"]["mean"], right / 80)
    np.testing.assert_allclose(again.to_dict()["population"]["accuracy"]["mean"], result.accuracy.mean)
    share = jt.prevalence(jt.Labels.from_matrix(z, 2), gold=truth)
    np.testing.assert_allclose(share.shares["1"].mean, truth.mean())
    np.testing.assert_allclose(share.in_sample.shares["1"].mean, truth.mean())
