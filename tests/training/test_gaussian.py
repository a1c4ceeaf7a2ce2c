"""Gaussian naive Bayes and LDA: golden values, scikit-learn with certain labels, EM, MAP, a TARS number."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from jtruth.noise import with_known_labels
from jtruth.posterior import class_posterior
from jtruth.training import Linear, Stop, fit_gaussians, generative_ml, solve_linear
from jtruth.training.em import Gaussians, gaussian_log_probabilities, log_densities, log_prior, update

PRIOR = np.array([0.6, 0.4])
# Compiled: called as they are, every primitive in them is a program of its own.
log_densities, update = jax.jit(log_densities, static_argnums=2), jax.jit(update, static_argnums=3)
generative_ml = jax.jit(generative_ml)


def problem(seed=0, n=80, d=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    x = rng.normal(size=(n, d)) * [[1.0, 0.5]] + y[:, None] * [[1.5, -1.0]]
    return x, y, np.log(rng.random((n, 2)) + 2 * (y[:, None] == np.arange(2)))


def test_golden(golden):
    case = next(c for c in golden("training")["cases"] if c["kind"] == "gnb")
    x, log_likelihood = np.array(case["X"]), np.array(case["logpz"])
    prior = np.array([1 - case["pi1"], case["pi1"]])
    means, variances = np.array(case["mu"]), np.exp(case["logvar"])
    density = log_densities(Gaussians(means, variances), x, "naive_bayes")
    value = generative_ml(density, log_likelihood, prior)
    np.testing.assert_allclose(value, case["J_noisy"], rtol=1e-9)
    known = with_known_labels(log_likelihood, np.array(case["y"]))
    np.testing.assert_allclose(generative_ml(density, known, prior), case["J_ideal"], rtol=1e-9)
    density = log_densities(Gaussians(means, np.diag(variances[0])), x, "lda")
    np.testing.assert_allclose(generative_ml(density, log_likelihood, prior), case["J_lda"], rtol=1e-9)
    fit = fit_gaussians(x, log_likelihood, prior, stop=Stop(tol=1e-12))
    assert fit.converged
    np.testing.assert_allclose(fit.objective, case["em_J"], rtol=1e-9)
    # The stored EM stopped earlier than ours, 1e-8 away from the optimum (the objective is flat there).
    np.testing.assert_allclose(fit.model.means, case["em_mu"], atol=1e-7)
    np.testing.assert_allclose(np.log(fit.model.spread), case["em_logvar"], atol=1e-7)


def test_densities_equal_scipy():
    x, _, _ = problem()
    means, covariance = np.array([[0.0, 1.0], [2.0, -1.0]]), np.array([[1.0, 0.4], [0.4, 0.6]])
    expected = [scipy.stats.multivariate_normal(m, covariance).logpdf(x) for m in means]
    found = log_densities(Gaussians(means, covariance), x, "lda")
    np.testing.assert_allclose(found, np.array(expected).T, rtol=1e-11)
    variances = np.array([[1.0, 2.0], [0.5, 0.3]])
    expected = scipy.stats.norm(means, np.sqrt(variances)).logpdf(x[:, None, :]).sum(axis=2)
    found = log_densities(Gaussians(means, variances), x, "naive_bayes")
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_certain_labels_give_the_fits_of_scikit_learn():
    x, y, log_likelihood = problem()
    known, frequency = with_known_labels(log_likelihood, y), np.bincount(y) / len(y)
    ours, theirs = fit_gaussians(x, known, frequency), GaussianNB(var_smoothing=0).fit(x, y)
    np.testing.assert_allclose(ours.model.means, theirs.theta_, rtol=1e-12)
    np.testing.assert_allclose(ours.model.spread, theirs.var_, rtol=1e-12)
    log_p = gaussian_log_probabilities(ours.model, x, frequency, family="naive_bayes")
    np.testing.assert_allclose(log_p, theirs.predict_log_proba(x), atol=1e-9)
    ours = fit_gaussians(x, known, frequency, family="lda")
    theirs = LinearDiscriminantAnalysis(solver="lsqr", store_covariance=True).fit(x, y)
    np.testing.assert_allclose(ours.model.spread, theirs.covariance_, rtol=1e-10)
    log_p = gaussian_log_probabilities(ours.model, x, frequency, family="lda")
    np.testing.assert_allclose(log_p, theirs.predict_log_proba(x), atol=1e-8)


@pytest.mark.parametrize("family", ["naive_bayes", pytest.param("lda", marks=pytest.mark.slow)])
def test_em_descends_to_a_stationary_point_of_the_map_objective(family):
    x, _, log_likelihood = problem(seed=1)
    pseudo = 3.0, np.array([0.5, 2.0])
    given = {"family": family, "pseudo_count": pseudo[0], "pseudo_spread": pseudo[1]}
    fit = fit_gaussians(x, log_likelihood, PRIOR, **given, stop=Stop(tol=1e-11))
    path = np.asarray(fit.path)[: int(fit.num_steps) + 1]
    assert fit.converged and (np.diff(path) < 1e-13).all()

    def j(model):
        ml = generative_ml(log_densities(model, jnp.asarray(x), family), log_likelihood, PRIOR)
        return ml - log_prior(model, pseudo, family) / len(x)

    value, gradient = jax.jit(jax.value_and_grad(j))(fit.model)
    np.testing.assert_allclose(value, fit.objective, rtol=1e-12)
    for leaf in jax.tree.leaves(gradient):
        np.testing.assert_allclose(leaf, 0, atol=1e-9)


def test_updates_and_priors_of_both_families_by_loops():
    """Pseudo-samples enter the spread as samples do, about the mean."""
    x, _, log_likelihood = problem(n=12)
    weights = np.asarray(class_posterior(log_likelihood, PRIOR))
    given = count, spread = 3.0, np.array([0.5, 2.0])
    data = jnp.asarray(x), jnp.asarray(weights), given
    own, common = (update(*data, family) for family in ("naive_bayes", "lda"))
    scatter = np.diag(count * spread)
    for c in range(2):
        mean = np.average(x, axis=0, weights=weights[:, c])
        about = sum(w * np.outer(row - mean, row - mean) for w, row in zip(weights[:, c], x, strict=True))
        scatter = scatter + about
        expected = (np.diag(about) + count * spread) / (weights[:, c].sum() + count)
        np.testing.assert_allclose(own.means[c], mean, rtol=1e-12)
        np.testing.assert_allclose(own.spread[c], expected, rtol=1e-12)
    np.testing.assert_allclose(common.spread, scatter / (12 + count), rtol=1e-12)
    covariance = np.array([[1.0, 0.3], [0.3, 0.7]])
    dist = np.log(np.linalg.det(covariance)) + np.trace(np.linalg.inv(covariance) * spread)
    found = float(log_prior(Gaussians(own.means, covariance), given, "lda"))
    assert found == pytest.approx(-0.5 * count * dist, rel=1e-12)


def test_em_has_converged_when_no_responsibility_moves_any_more():
    """Not when they move little on average."""
    x, _, log_likelihood = problem(seed=2, n=400)
    found = fit_gaussians(x, log_likelihood, PRIOR, stop=Stop(tol=0.01))
    steps = int(found.num_steps)
    before = fit_gaussians(x, log_likelihood, PRIOR, stop=Stop(steps - 1, 0.01))
    assert found.converged and not before.converged
    assert np.abs(found.class_posterior - before.class_posterior).max() < 0.01


def test_learned_prior_and_no_steps():
    x, y, log_likelihood = problem(seed=2, n=400)
    fit = fit_gaussians(x, log_likelihood, PRIOR, learn_prior=True)
    np.testing.assert_allclose(fit.prior, fit.class_posterior.mean(axis=0), atol=1e-6)
    assert abs(float(fit.prior[1]) - y.mean()) < 0.08
    soft, rho = fit_gaussians(x, log_likelihood, PRIOR, stop=Stop(0)), class_posterior(log_likelihood, PRIOR)
    np.testing.assert_allclose(soft.model.means, rho.T @ x / rho.sum(axis=0)[:, None], rtol=1e-12)
    assert soft.num_steps == 0 and not soft.converged


@pytest.mark.slow
def test_float32():
    x, _, log_likelihood = problem()
    with jax.enable_x64(False):
        fit = fit_gaussians(np.float32(x), np.float32(log_likelihood), PRIOR)
        assert fit.converged and fit.model.means.dtype == jnp.float32
        means = np.asarray(fit.model.means)
    np.testing.assert_allclose(means, fit_gaussians(x, log_likelihood, PRIOR).model.means, atol=1e-4)


@pytest.mark.slow
def test_known_noise_rates_undo_what_they_did():
    """TARS: two Gaussians 3.11 apart, 40 % of the negatives labelled positive, 667 labels; 20 fixed sets.

    The best classifier is right in 94.0 %. With the rates known ML training reaches 93.8 % on average, and
    training on the labels as they are 77 % (by scikit-learn too). Accuracies of linear classifiers are exact.
    """
    rng = np.random.default_rng(0)
    draws, n = 20, 667
    y = rng.integers(0, 2, (draws, n))
    x = rng.normal(size=(draws, n, 2)) + np.array([3.11, 0.0]) * y[..., None]
    z = np.where((y == 0) & (rng.random((draws, n)) < 0.4), 1, y)
    with np.errstate(divide="ignore"):
        knowing, naive = np.log([[0.6, 0.4], [0.0, 1.0]]).T[z], np.log(np.eye(2))[z]
    start = Linear(jnp.zeros(()), jnp.zeros(2))
    solve = jax.jit(jax.vmap(lambda x, e: solve_linear(x, e, jnp.array(0.01), start, objective="ml").model))
    theirs = [LogisticRegression(C=100).fit(*pair) for pair in zip(x, z, strict=True)]
    found = {"scikit-learn": accuracy(*zip(*[(f.intercept_[0], f.coef_[0]) for f in theirs], strict=True))}
    for name, evidence in {"knowing": knowing, "naive": naive}.items():
        found[name] = accuracy(*solve(jnp.asarray(x), jnp.asarray(evidence)))
    assert abs(found["knowing"] - 0.938) < 0.004
    assert abs(found["naive"] - found["scikit-learn"]) < 1e-4


def accuracy(intercepts, weights):
    """Mean accuracy of linear classifiers of N((0, 0), I) against N((3.11, 0), I), equally frequent."""
    b, w = np.asarray(intercepts), np.asarray(weights)
    size = np.linalg.norm(w, axis=1)
    return np.mean([scipy.stats.norm.cdf((b + 3.11 * w[:, 0]) / size), scipy.stats.norm.cdf(-b / size)])
