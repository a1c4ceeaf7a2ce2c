"""The NumPyro testing models: densities by loops, NUTS against the exact posterior and Gibbs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer.util import log_density
from scipy import stats

from jtruth.latent import NutsSettings
from jtruth.stats.chains import mean_error
from jtruth.testing import bayes, binary_posterior
from jtruth.testing.multiclass import count_posterior
from tests.testing.golden_cases import random_case, simulated
from tests.testing.test_count_posterior import enumerated_tables

SETTINGS = NutsSettings(num_warmup=400, num_samples=1000, chunk=200)


def test_density_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    log_lik, prior = np.log(rng.dirichlet(np.ones(3), 6)), rng.dirichlet(np.ones(3))
    y_pred, weight = rng.integers(0, 4, 6), rng.integers(1, 4, 6).astype(float)
    alpha, confusion = rng.gamma(2, 1, (3, 4)), rng.dirichlet(np.ones(4), 3)
    rho = np.exp(log_lik) * prior
    rho /= rho.sum(1, keepdims=True)
    arrays = [jnp.asarray(v) for v in (np.log(rho), y_pred, weight, alpha)]
    density = jax.jit(lambda k, *given: log_density(bayes.testing_model, given, {}, {"classifier": k})[0])
    found = density(jnp.asarray(confusion), *arrays)
    expected = sum(stats.dirichlet(a).logpdf(k) for a, k in zip(alpha, confusion, strict=True))
    for i, w in enumerate(weight):
        expected += w * np.log(sum(rho[i, c] * confusion[c, y_pred[i]] for c in range(3)))
    assert float(found) == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("share", "error"), [(0.5, 0.1), (0.2, 0.25), (0.7, 0.35)])
def test_nuts_and_gibbs_have_the_means_of_the_exact_posterior(share, error):
    """Within 4 Monte Carlo standard errors, for every metric: false alarm 6e-5 each."""
    x, y_pred = simulated(0, 60, share=share, error=error)
    exact = binary_posterior(x, y_pred)
    nuts = bayes.binary_nuts(x, y_pred, key=jax.random.key(0), settings=SETTINGS)
    two = np.stack([np.zeros_like(x), x], 1)
    gibbs = count_posterior(two, np.array([0.5, 0.5]), y_pred, key=jax.random.key(10))
    assert nuts.run.converged
    for draws in (nuts, gibbs):
        for name in ("accuracy", "precision", "recall", "false_alarm_rate"):
            by_chain = draws.estimate(name).draws.reshape(draws.num_chains, -1)
            assert abs(by_chain.mean() - exact.estimate(name).mean) < 4 * mean_error(by_chain), name


@pytest.mark.slow
def test_multiclass_nuts_agrees_with_enumeration():
    lik, prior, y_pred = random_case(5, 6, 3, 3)
    cells, p = enumerated_tables(lik, prior, y_pred, np.ones((3, 3)))
    expected = p @ cells.trace(axis1=1, axis2=2) / 6
    nuts = bayes.multiclass_nuts(np.log(lik), prior, y_pred, key=jax.random.key(0), settings=SETTINGS)
    by_chain = nuts.estimate("accuracy").draws.reshape(nuts.num_chains, -1)
    assert abs(by_chain.mean() - expected) < 4 * mean_error(by_chain)
