"""PSIS-LOO of all rows at once against ArviZ, which takes one after the other, and exact answers."""

import warnings

import numpy as np
import pytest

from jtruth.stats.loo import arviz, psis_loo

RNG = np.random.default_rng(3)


def by_arviz(log_p, relative_ess):
    from_dict, stats = arviz()
    tree = from_dict({"log_likelihood": {"y": log_p}}, dims={"y": ["row"]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = stats.loo(tree, pointwise=True, var_name="y", reff=relative_ess)
    return np.asarray(found.elpd_i), np.asarray(found.pareto_k), float(found.good_k)


CASES = {
    "normal": (RNG.normal(size=(4, 250, 30)), 1.0),
    "correlated draws": (RNG.normal(size=(4, 250, 30)), 0.2),
    "heavy tails": (-1.2 * RNG.exponential(size=(4, 300, 30)), 0.9),
    "bounded weights": (np.log(RNG.uniform(0.4, 1, size=(2, 500, 30))), 1.0),
    "few draws": (RNG.normal(size=(4, 10, 30)), 1.0),
    "ties": (np.log(RNG.integers(1, 60, size=(4, 200, 30)) / 60), 0.7),
    "mixed": (RNG.normal(size=(4, 200, 30)) * np.linspace(1e-6, 12, 30), 0.8),
}


@pytest.mark.parametrize("case", CASES)
def test_equals_arviz(case):
    log_p, relative_ess = CASES[case]
    elpd, k, good = by_arviz(log_p, relative_ess)
    found = psis_loo(log_p, relative_ess)
    np.testing.assert_allclose(found.pointwise, elpd, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.pareto_k, k, rtol=0, atol=1e-6)
    assert found.good_k == pytest.approx(good, abs=1e-12)


def test_blocks_do_not_matter(monkeypatch):
    log_p = RNG.normal(size=(2, 150, 11))
    whole = psis_loo(log_p, 1.0)
    monkeypatch.setattr("jtruth.stats.loo._BLOCK", 1)
    np.testing.assert_array_equal(psis_loo(log_p, 1.0).pointwise, whole.pointwise)


def test_nothing_to_smooth():
    """Constant rows have equal weights; fewer than 25 draws no tail."""
    found = psis_loo(np.full((2, 100, 2), -1.5), 1.0)
    np.testing.assert_allclose(found.pointwise, -1.5, rtol=1e-12)
    np.testing.assert_array_equal(found.pareto_k, 0.0)
    few = psis_loo(np.log(np.array([[[0.2], [0.4]]])), 1.0)
    assert few.pointwise[0] == pytest.approx(np.log(2 / (1 / 0.2 + 1 / 0.4))) and few.pareto_k[0] == np.inf


def test_weights_beyond_floating_point_are_called_bad():
    """Where one draw decides alone (ArviZ: NaN) the term is finite and its k says not to trust it."""
    found = psis_loo(-RNG.pareto(0.8, size=(4, 300, 5)) * 100, 0.9)
    assert np.isfinite(found.pointwise).all() and not (found.pareto_k < found.good_k).any()
