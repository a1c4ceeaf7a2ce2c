"""Log-odds on a grid: moments of the weights, the stated error, and the exact posterior with and without."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy.special import expit

from jtruth.testing import binary_posterior, collapse, exact_posterior, exact_step, iterate
from jtruth.testing.binary.exact import count_table, dist_at, node_table
from jtruth.testing.binary.operating_point import (
    FROM_VALUES,
    STEP,
    grid_weights,
    log_likelihood,
    merged_samples,
    on_grid,
    shifted,
)


def spread(n, seed=0):
    """Log-odds that are all different, and predictions that follow them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(-0.6, 1.8, n)
    truth = rng.random(n) < expit(x)
    return x, (rng.random(n) < np.where(truth, 0.8, 0.3)).astype(int)


def test_weights_keep_cubics_and_miss_smooth_sums_by_less_than_stated():
    x, _ = spread(50_000)
    counts = np.random.default_rng(1).integers(1, 4, x.size)
    nodes, weights = grid_weights(x, counts)
    assert nodes.size < 3000 and np.allclose(nodes / STEP, np.round(nodes / STEP), rtol=0, atol=0)
    for power in range(4):
        np.testing.assert_allclose(weights @ nodes**power, counts @ x**power, rtol=1e-12)
    for shift in (-3.0, 0.0, 2.5):
        # max |fourth derivative| of a sigmoid is .127, of its variance p (1 - p) 0.125
        for h in (expit, lambda u: expit(u) * expit(-u), lambda u: np.logaddexp(0, u)):
            error = abs(weights @ h(nodes + shift) - counts @ h(x + shift))
            assert error < 3 / 128 * STEP**4 * 0.13 * counts.sum()


def test_few_values_stay_and_far_ones_keep_to_themselves():
    x, ones = spread(FROM_VALUES - 1)[0], np.ones(FROM_VALUES - 1, int)
    assert grid_weights(x, ones)[0] is x
    x = np.concatenate([spread(30_000)[0], [-900.0, 1e8, 700.0]])
    nodes, weights = grid_weights(x, np.ones(x.size, int))
    assert nodes[-3:].tolist() == [-900.0, 1e8, 700.0] and weights[-3:].tolist() == [1, 1, 1]
    assert np.abs(nodes[:-3]).max() < 12
    x = np.full(30_000, 600.0)
    assert grid_weights(x, np.ones(x.size))[0] is x


@pytest.fixture(scope="module")
def both():
    """Log-odds and predictions of 60 000 samples, some certain, and the two ways to hold them."""
    x, y = spread(60_000, seed=3)
    x[:40], x[40:70] = np.inf, -np.inf
    data = collapse(x, y)
    return data, on_grid(data)


def test_the_exact_posterior_of_the_whole_table_is_met(both):
    """The table is built flip by flip from the samples; the posterior on the grid differs by its stated
    error."""
    table, found = count_table(both[0]), node_table(both[0])
    assert exact_posterior(both[0]).density is not None is not found.density
    same_dists(table, found)


def test_the_dist_at_a_given_operating_point_is_met(both):
    found = dist_at(both[0], 0.8, 0.3)
    assert found.b.size < 400
    table = count_table(shifted(both[0], 0.8, 0.3), None)
    assert table.log_evidence == pytest.approx(0, abs=1e-9)
    same_dists(replace(table, log_evidence=log_likelihood(both[0], 0.8, 0.3)), found)


def same_dists(table, found):
    """Evidence, means, standard deviations and intervals of two holders of one posterior."""
    np.testing.assert_allclose(found.log_evidence, table.log_evidence, rtol=0, atol=2e-7)
    for metric in ("accuracy", "precision", "recall", "false_alarm_rate", "f1"):
        exact, dist = table.estimate(metric), found.estimate(metric)
        assert abs(dist.mean - exact.mean) < 2e-6 * exact.sd and abs(dist.sd / exact.sd - 1) < 5e-7
        ends, expected = (np.array(e.equal_tails(0.95)) for e in (dist, exact))
        np.testing.assert_allclose(ends, expected, rtol=0, atol=0.01 * exact.sd)


@jax.jit
def means(x, y, weight=None):
    """The iteration of the conditional means."""
    return iterate(exact_step(x, y, weight=weight), dtype=x.dtype).path


@pytest.mark.slow
def test_exact_means_on_the_grid_are_those_of_the_samples(both):
    x, y = spread(60_000, seed=3)
    x[:40], x[40:70] = np.inf, -np.inf
    sums = merged_samples(both[1])
    assert sums[0].size == 4096 and sums[2].sum() == pytest.approx(60_000, abs=1e-6)
    found = means(*sums)
    np.testing.assert_allclose(found, means(x, y.astype(np.int32)), rtol=0, atol=1e-10)
    np.testing.assert_array_equal(binary_posterior(x, y, method="exact_means").fit.path, found)


def test_a_weight_is_so_many_samples_and_none_is_none():
    """Few samples, where the means are integrals over logs; infinite log-odds of weight 0 among them."""
    x, y, weight = np.full((2, 4096), np.inf), np.ones(4096, np.int32), np.zeros((2, 4096))
    x[:, :4], y[4:7] = [[0.3, 0.3, -1.2, np.inf], [-1.2, 0.3, 5.0, np.inf]], 0
    x[:, 4:7], weight[:, 4:7], weight[:, :4] = [-2.0, 0.5, -np.inf], 1, [[1, 1, 1, 1], [1, 2, 0, 1]]
    np.testing.assert_allclose(means(x[0], y, weight[0]), means(x[1], y, weight[1]), rtol=1e-12)
