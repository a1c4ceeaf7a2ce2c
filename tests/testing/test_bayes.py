"""The NumPyro testing models: densities by loops, NUTS against the exact posterior and Gibbs."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.handlers import seed, trace
from numpyro.infer.util import log_density
from scipy import stats

from jtruth.latent import NutsSettings
from jtruth.stats.chains import mean_error
from jtruth.tables.metrics import named_metric
from jtruth.testing import bayes, binary_posterior
from jtruth.testing.multiclass import count_posterior

SETTINGS = NutsSettings(num_warmup=400, num_samples=1000, chunk=200)


def test_density_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    log_lik, prior = np.log(rng.dirichlet(np.ones(3), 6)), rng.dirichlet(np.ones(3))
    y_pred, weight = rng.integers(0, 4, 6), rng.integers(1, 4, 6).astype(float)
    alpha, confusion = rng.gamma(2, 1, (3, 4)), rng.dirichlet(np.ones(4), 3)
    rho = np.exp(log_lik) * prior
    rho /= rho.sum(1, keepdims=True)
    arrays = [jnp.asarray(v) for v in (np.log(rho), y_pred, weight, alpha)]
    density = jax.jit(lambda k, *given: log_density(bayes.testing_model, given, {}, {"confusion": k})[0])
    found = density(jnp.asarray(confusion), *arrays)
    expected = sum(stats.dirichlet(a).logpdf(k) for a, k in zip(alpha, confusion, strict=True))
    for i, w in enumerate(weight):
        expected += w * np.log(sum(rho[i, c] * confusion[c, y_pred[i]] for c in range(3)))
    assert float(found) == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_predictions_can_be_simulated_from_the_prior():
    x = np.linspace(-3, 3, 50)
    log_rho = jnp.asarray(-np.logaddexp(0, np.stack([x, -x], axis=1)))
    alpha = jnp.asarray([[2.0, 1.0], [1.0, 2.0]])
    with_shapes = trace(seed(bayes.testing_model, 0)).get_trace(log_rho, None, jnp.ones(50), alpha)
    assert with_shapes["y_pred"]["value"].shape == (50,)
    assert set(np.unique(with_shapes["y_pred"]["value"])) <= {0, 1}


def data_set(number, n=60):
    rng = np.random.default_rng(number)
    share, right = [(0.5, 2.0), (0.2, 1.0), (0.7, 0.5)][number]
    y = (rng.random(n) < share).astype(int)
    x = np.log(share / (1 - share)) + np.where(y == 1, right, -right) + rng.normal(0, 1, n)
    return np.round(x, 1), np.where(rng.random(n) < 0.8, y, 1 - y)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_nuts_and_gibbs_have_the_means_of_the_exact_posterior(number):
    """Within 4 Monte Carlo standard errors, for every metric: false alarm 6e-5 each."""
    x, y_pred = data_set(number)
    exact = binary_posterior(x, y_pred)
    nuts = bayes.binary_nuts(x, y_pred, key=jax.random.key(number), settings=SETTINGS)
    two = np.stack([np.zeros_like(x), x], 1)
    gibbs = count_posterior(two, np.array([0.5, 0.5]), y_pred, key=jax.random.key(10 + number))
    assert nuts.run.converged
    for draws in (nuts, gibbs):
        counts = draws.counts.astype(float)
        tp, fp, fn, tn = counts[:, 1, 1], counts[:, 0, 1], counts[:, 1, 0], counts[:, 0, 0]
        pairs = {
            "accuracy": (tp + tn) / len(x),
            "precision": tp / (tp + fp),
            "recall": tp / (tp + fn),
            "false_alarm_rate": fp / (fp + tn),
        }
        for name, values in pairs.items():
            by_chain = values.reshape(draws.num_chains, -1)
            assert abs(values.mean() - exact.estimate(name).mean) < 4 * mean_error(by_chain), name


@pytest.mark.slow
def test_multiclass_nuts_agrees_with_enumeration():
    rng = np.random.default_rng(5)
    log_lik, prior = np.log(rng.dirichlet(np.ones(3), 6)), np.array([0.5, 0.3, 0.2])
    y_pred = rng.integers(0, 3, 6)
    rho = np.exp(log_lik) * prior
    total = mean = 0.0
    for y in itertools.product(range(3), repeat=6):
        y = np.array(y)
        table = np.zeros((3, 3))
        np.add.at(table, (y, y_pred), 1)
        log_weight = np.log(rho[np.arange(6), y]).sum()
        log_weight += sum(stats.dirichlet_multinomial(np.ones(3), int(r.sum())).logpmf(r) for r in table)
        log_weight -= sum(stats.multinomial(int(r.sum()), np.ones(3) / 3).logpmf(r) for r in table)
        log_weight -= sum(r.sum() * np.log(3) for r in table)
        weight = np.exp(log_weight)
        total, mean = total + weight, mean + weight * (y == y_pred).mean()
    nuts = bayes.multiclass_nuts(log_lik, prior, y_pred, key=jax.random.key(0), settings=SETTINGS)
    drawn = named_metric("accuracy").of_table(nuts.counts.astype(float))
    by_chain = np.asarray(drawn).reshape(nuts.num_chains, -1)
    assert abs(by_chain.mean() - mean / total) < 4 * mean_error(by_chain)
