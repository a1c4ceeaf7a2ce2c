"""Convergence diagnostics against arviz-stats, and on chains with known results."""

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy.signal import lfilter

from jtruth.stats.chains import effective_sample_size, mean_error, split_rhat, tail_sample_size


def autoregressive(seed, rho, draws, chains=4):
    noise = np.random.default_rng(seed).normal(size=(draws, chains))
    noise[1:] *= np.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], noise, axis=0).T


def several():
    rng = np.random.default_rng(1)
    return {
        "independent": rng.normal(size=(4, 1000)),
        "slow": autoregressive(2, 0.95, 900),
        "antithetic": autoregressive(3, -0.6, 800),
        "odd number of draws": autoregressive(4, 0.5, 601),
        "apart": rng.normal(size=(4, 300)) + np.arange(4)[:, None],
        "one chain": autoregressive(5, 0.3, 500, chains=1),
        "counts with ties": rng.poisson(0.1, (4, 600)).astype(float),
        "heavy tails": rng.standard_cauchy((4, 500)),
        "random walk": np.cumsum(rng.normal(size=(4, 400)), axis=1),
        "drift": rng.normal(size=(4, 1000)) + np.linspace(0, 3, 1000),
        "one chain is wide": rng.normal(size=(4, 1000)) * np.array([1, 1, 1, 6.0])[:, None],
    }


@pytest.mark.parametrize("name", several())
def test_equal_to_arviz(name):
    x, axes = several()[name], {"chain_axis": 0, "draw_axis": 1}
    pairs = [
        (effective_sample_size(x), array_stats.ess(x, method="bulk", **axes)),
        (effective_sample_size(x, ranked=False), array_stats.ess(x, method="mean", **axes)),
        (mean_error(x), array_stats.mcse(x, method="mean", **axes)),
    ]
    if x.shape[0] > 1:  # arviz gives no R-hat for one chain; its two halves have one
        pairs.append((split_rhat(x), array_stats.rhat(x, method="rank", **axes)))
    if "odd" not in name and "ties" not in name:  # draws that are cut or lie on an end: beyond it, or not
        tails = array_stats.ess(x, method="tail", prob=(0.025, 0.975), **axes)
        pairs.append((tail_sample_size(x), tails))
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    if name in ("drift", "one chain is wide"):  # the folded R-hat alone sees the second
        assert split_rhat(x) > 1.05


def test_one_chain_that_stays_in_a_tail_is_seen_at_the_end_not_in_the_middle():
    """32 chains of independent draws, one of which sits beyond 2.5 sd for a fifth of its time."""
    x = np.random.default_rng(8).normal(size=(32, 300))
    x[4, 100:160] = -2.5 - 0.1 * np.abs(x[4, 100:160])
    assert effective_sample_size(x) > 4000
    assert tail_sample_size(x) < 1000 and tail_sample_size(-x) == tail_sample_size(x)


def test_groups_of_chains_are_compared_as_one_chain_each():
    """12 chains in 4 groups: as 4 chains whose halves are the halves of three, one after the other."""
    draws = np.random.default_rng(3).normal(size=(12, 60)) + 0.1 * np.arange(12)[:, None]
    halves = [part.reshape(4, 90) for part in (draws[:, :30], draws[:, 30:])]
    expected = split_rhat(np.concatenate(halves, axis=1))
    assert split_rhat(draws, groups=4) == pytest.approx(float(expected), rel=1e-12)
    assert split_rhat(draws[:10], groups=4) == split_rhat(draws[:10])  # no multiple of 4: one by one


def test_what_never_changes_is_nan():
    x = np.random.default_rng(0).normal(size=(4, 100, 2))
    x[:, :, 1] = 3.0
    for function in (split_rhat, effective_sample_size, tail_sample_size):
        assert np.isnan(function(x)).tolist() == [False, True]


def test_chains_stuck_in_different_places_are_as_bad_as_can_be():
    x = np.broadcast_to(np.arange(4.0)[:, None], (4, 100))
    assert split_rhat(x) > 1e6  # infinite but for rounding


def test_too_few_draws(as_installed):
    with pytest.raises(ValueError, match=r"4 draws or more; got shape \(4, 3\)"):
        split_rhat(np.zeros((4, 3)))
