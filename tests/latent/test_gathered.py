"""States drawn from gathered probabilities are those that the general sweep draws from the same key."""

import numpy as np
import pytest

from jtruth.latent.infer import gathered, kernel
from jtruth.testing.multiclass.count_draws import class_law, table_problem


def problem(classes, seed=0):
    """Rows for one sample, for a few and for many; a class that cannot be in some rows."""
    rng = np.random.default_rng(seed)
    law = class_law(np.log(rng.dirichlet(np.full(classes, 0.3), 40) + 1e-6), np.full(classes, 1 / classes))
    law[:5, 1:4] = -np.inf
    copies = np.repeat(np.arange(40), np.where(np.arange(40) < 25, 1, [3, 60, 5] * 13 + [2]))
    y_pred = rng.integers(0, classes, 40)[copies]
    alpha = np.ones((classes, classes))
    return kernel.flatten(*table_problem(law[copies], y_pred, alpha, learned=False))


@pytest.mark.parametrize("classes", [9, 16, 37])
def test_the_same_draws(classes):
    one = problem(classes)
    one = one._replace(multiplicity=np.minimum(one.multiplicity, 2.0))  # all of few samples
    found = gathered.gathered(one)
    assert found.several.size == 0 and found.few.size == 40
    alpha = np.repeat(one.concentration[None], 4, axis=0)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        log_theta = kernel.draw_dirichlet_logs(one, alpha, rng)
        symbols, p = gathered.draw(found, log_theta, np.random.default_rng(seed))
        expected = kernel.state_probabilities(one, log_theta)
        np.testing.assert_allclose(p, expected.sum(axis=1), atol=1e-12)
        times = one.multiplicity.astype(int)
        height = 1.0 - np.random.default_rng(seed).random((4, times.sum()))
        upto = np.repeat(expected.cumsum(axis=0), times, axis=2)
        state = (upto < height).sum(axis=0)
        table = np.zeros_like(symbols)
        symbol = np.repeat(one.only_symbol, times)
        for m in range(4):
            np.add.at(table[:, :, m], (symbol, state[m]), 1)
        np.testing.assert_array_equal(symbols, table)


def test_counts_and_means_where_some_rows_stand_for_many():
    """Totals are exact; 2000 sweeps of one matrix agree with the expected table, 6 standard errors apart."""
    one = problem(12)
    found = gathered.gathered(one)
    assert found.several.size and found.few.size
    log_theta = kernel.draw_dirichlet_logs(one, one.concentration[None], np.random.default_rng(0))
    many = np.repeat(log_theta, 2000, axis=0)
    symbols, p = gathered.draw(found, many, np.random.default_rng(1))
    expected = kernel.state_probabilities(one, log_theta)[:, 0]
    np.testing.assert_allclose(p, 2000 * expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(symbols.sum(axis=(0, 1)), one.multiplicity.sum())
    mean, variance = np.zeros((12, 12)), np.zeros((12, 12))
    for i, u in enumerate(one.only_symbol):
        mean[u] += one.multiplicity[i] * expected[:, i]
        variance[u] += one.multiplicity[i] * expected[:, i] * (1 - expected[:, i])
    assert (symbols[variance == 0] == mean[variance == 0][:, None]).all()
    off = np.abs(symbols.mean(axis=2) - mean) / np.sqrt(variance / 2000 + 1e-12)
    assert off.max() < 6


def test_two_classes_are_left_to_the_general_sweep():
    assert gathered.gathered(problem(4)) is None
