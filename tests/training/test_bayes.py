"""NUTS against a grid in one dimension, and against MAP."""

import jax
import numpy as np
import pytest
from scipy.special import expit, logsumexp

from jtruth.latent import NutsSettings
from jtruth.training import fit_linear
from jtruth.training.bayes import fit_bayes, predictive_probabilities
from tests.training.problems import problem


@pytest.mark.slow
def test_posterior_equals_a_grid():
    """One weight and an intercept: means, standard deviations and predictions by summing a grid."""
    x, _, log_likelihood = problem(n=25, features=1)
    fit = fit_bayes(x, log_likelihood, key=jax.random.key(0), regularisation=0.5, intercept_scale=2.0)
    assert fit.converged and fit.run.divergences == 0
    b, w = np.meshgrid(np.linspace(-8, 8, 241), np.linspace(-6, 9, 241), indexing="ij")
    scores = b[..., None] + w[..., None] * x[:, 0]
    log_p = np.stack([-np.logaddexp(0, scores), -np.logaddexp(0, -scores)], axis=-1)
    log_density = logsumexp(log_p + log_likelihood, axis=-1).sum(-1) - b**2 / 8 - 0.25 * w**2
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    for draws, grid in [(fit.model.intercept, b), (fit.model.weights[:, 0], w)]:
        mean = (weight * grid).sum()
        sd = np.sqrt((weight * (grid - mean) ** 2).sum())
        assert abs(draws.mean() - mean) < 5 * sd / np.sqrt(400)  # at least 400 effective draws
        assert abs(draws.std() / sd - 1) < 0.15
    new = np.array([[-2.0], [0.0], [3.0]])
    expected = [(weight * expit(b + w * value)).sum() for value in new[:, 0]]
    found = predictive_probabilities(fit.model, new)
    np.testing.assert_allclose(found[:, 1], expected, atol=0.03)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    # The mode is MAP, and far out it is surer than the posterior.
    even = np.array([0.5, 0.5])
    mode = fit_linear(x, log_likelihood, even, objective="ml", regularisation=0.5).model
    np.testing.assert_allclose(fit.mode.weights, mode.weights, atol=1e-6)
    plug_in = expit(np.asarray(fit.mode.intercept + 5 * x @ fit.mode.weights))
    bayes = predictive_probabilities(fit.model, 5 * x)[:, 1]
    assert np.abs(bayes - 0.5).mean() < np.abs(plug_in - 0.5).mean()


@pytest.mark.slow
def test_three_classes():
    x = problem(n=80, features=2)[0]
    y = np.digitize(x[:, 0], [-0.5, 0.5])
    log_likelihood = np.log(np.where(y[:, None] == np.arange(3), 0.8, 0.1))
    fit = fit_bayes(x, log_likelihood, key=jax.random.key(2), settings=NutsSettings(150, 150))
    assert fit.model.weights.shape == (600, 2, 3)
    assert (np.argmax(predictive_probabilities(fit.model, x), axis=1) == y).mean() > 0.75
