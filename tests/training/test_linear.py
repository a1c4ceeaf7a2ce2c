"""Linear models: golden optima, closed gradients of App. F, scikit-learn, restarts, vmap, bad input."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from jtruth.labels import Labels
from jtruth.noise import DifficultyFallibility, with_known_labels
from jtruth.posterior import class_posterior
from jtruth.training import Linear, Stop, fit_linear, linear_objective, linear_outputs, solve_linear
from tests.training.problems import problem


def known(y, c=2):
    return with_known_labels(np.zeros((len(y), c)), y)


PRIOR = np.array([0.6, 0.4])


@pytest.mark.parametrize(
    "kind", ["MMSE", *(pytest.param(x, marks=pytest.mark.slow) for x in ("ideal", "ML"))]
)
def test_golden_logistic_regression(golden, kind):
    """Objective and gradient at a point, and the optimum, of Appendix F."""
    case = next(c for c in golden("training")["cases"] if c["kind"] == f"logreg_{kind}")
    x, prior = np.array(case["X"]), np.array([1 - case["pi1"], case["pi1"]])
    labels = Labels.from_matrix(np.array(case["z"]), 2, allow_unlabelled=True)
    log_likelihood = DifficultyFallibility(case["delta"], case["phi"], 2).log_likelihood(labels)
    np.testing.assert_allclose(log_likelihood, case["logpz"], rtol=1e-9)
    np.testing.assert_allclose(class_posterior(log_likelihood, prior), case["post"], rtol=1e-9)
    if kind == "ideal":
        log_likelihood = known(np.array(case["y"]))
    objective = "ml" if kind == "ML" else "mmse"
    evidence = log_likelihood if kind == "ML" else class_posterior(log_likelihood, prior)
    theta, lam = jnp.array(case["theta"]), jnp.array(case["lam"])

    @jax.jit  # once for both points
    @jax.value_and_grad
    def j(theta):
        model = Linear(theta[0], theta[1:])
        return linear_objective(model, jnp.asarray(x), evidence, lam, objective=objective)

    value, gradient = j(theta)
    np.testing.assert_allclose(value, case["J"], rtol=1e-9)
    np.testing.assert_allclose(gradient, case["grad"], rtol=1e-9)
    options = {"objective": objective, "regularisation": case["lam"], "stop": Stop(tol=1e-11)}
    fit = fit_linear(x, log_likelihood, prior, **options)
    assert fit.converged
    np.testing.assert_allclose(fit.objective, case["J_opt"], rtol=1e-9)
    # Ours is the better optimum: the stored one was stopped at a larger gradient, 1e-8 away in theta.
    found = np.concatenate([fit.model.intercept[None], fit.model.weights])
    np.testing.assert_allclose(found, case["theta_opt"], atol=1e-7)
    assert np.abs(j(jnp.array(found))[1]).max() < np.abs(j(jnp.array(case["theta_opt"]))[1]).max()


def test_gradients_are_those_of_appendix_f():
    x, _, log_likelihood = problem()
    rng = np.random.default_rng(1)
    theta, lam, n = rng.normal(size=4), 1.7, len(x)
    tilde = np.column_stack([np.ones(n), x])
    g = 1 / (1 + np.exp(-tilde @ theta))
    p0, p1 = np.exp(log_likelihood).T
    rho = np.asarray(class_posterior(log_likelihood, PRIOR))
    shrink = lam / n * theta * (np.arange(4) != 0)
    by_hand = {
        "ml": ((p0 - p1) / (p0 + np.exp(tilde @ theta) * p1) * g) @ tilde / n + shrink,
        "mmse": (rho[:, 0] * g - rho[:, 1] * (1 - g)) @ tilde / n + shrink,
    }
    for objective, evidence in {"ml": log_likelihood, "mmse": rho}.items():
        model = Linear(jnp.asarray(theta[0]), jnp.asarray(theta[1:]))
        slope = jax.jit(jax.grad(partial(linear_objective, objective=objective)))
        gradient = slope(model, jnp.asarray(x), jnp.asarray(evidence), jnp.asarray(lam))
        found = np.concatenate([gradient.intercept[None], gradient.weights])
        np.testing.assert_allclose(found, by_hand[objective], atol=1e-10)


def doubled(x, rho):
    """Soft labels as twice the samples with weights, which scikit-learn understands."""
    classes = rho.shape[1]
    return np.tile(x, (classes, 1)), np.repeat(np.arange(classes), len(x)), np.asarray(rho).T.ravel()


@pytest.mark.slow
@pytest.mark.parametrize("prior", [PRIOR, np.array([0.2, 0.3, 0.5])], ids=len)
def test_equals_scikit_learn_on_weighted_copies(prior):
    x, _, log_likelihood = problem(c=len(prior))
    xs, ys, weight = doubled(x, np.asarray(class_posterior(log_likelihood, prior)))
    theirs = LogisticRegression(C=1 / 0.8, tol=1e-10, max_iter=1000).fit(xs, ys, sample_weight=weight)
    ours = fit_linear(x, log_likelihood, prior, regularisation=0.8)
    np.testing.assert_allclose(ours.model.weights, np.squeeze(theirs.coef_.T), atol=1e-6)
    if len(prior) == 2:
        np.testing.assert_allclose(ours.model.intercept, theirs.intercept_[0], atol=1e-6)


@pytest.mark.slow
def test_hinge_equals_the_support_vector_machine():
    x, _, log_likelihood = problem()
    rho = np.asarray(class_posterior(log_likelihood, PRIOR))
    xs, ys, weight = doubled(x, rho)
    theirs = SVC(kernel="linear", C=0.5, tol=1e-8).fit(xs, ys, sample_weight=weight)
    ours = fit_linear(x, log_likelihood, PRIOR, loss="hinge", regularisation=2.0)

    def j(model):
        arguments = jnp.asarray(x), jnp.asarray(rho), jnp.asarray(2.0)
        return float(linear_objective(model, *arguments, loss="hinge"))

    best = j(Linear(jnp.asarray(theirs.intercept_[0]), jnp.asarray(theirs.coef_[0])))
    assert best - 1e-7 < j(ours.model) < best + 0.0005
    np.testing.assert_allclose(ours.model.weights, theirs.coef_[0], atol=0.02)


@pytest.mark.slow
def test_vmapped_over_lambdas_and_data_sets():
    x, _, log_likelihood = problem()
    lams = np.array([0.5, 2.0, 10.0])
    swept = fit_linear(x, log_likelihood, PRIOR, regularisation=lams)
    assert swept.converged.all() and swept.model.weights.shape == (3, 3)
    for k, lam in enumerate(lams):
        alone = fit_linear(x, log_likelihood, PRIOR, regularisation=float(lam))
        np.testing.assert_allclose(swept.model.weights[k], alone.model.weights, atol=1e-7)
    rho = jnp.asarray(class_posterior(log_likelihood, PRIOR))
    many, start = jnp.stack([rho, rho[:, ::-1]]), Linear(jnp.zeros(()), jnp.zeros(3))
    solve = jax.vmap(solve_linear, in_axes=(None, 0, None, None))
    sets = solve(jnp.asarray(x), many, jnp.array(1.0), start)
    np.testing.assert_allclose(sets.model.weights[0], -sets.model.weights[1], atol=1e-5)


def test_masked_samples_do_not_matter():
    x, _, log_likelihood = problem()
    assert linear_outputs(Linear(np.zeros(()), np.zeros(3)), x[:0]).shape == (0,)
    rho, keep = class_posterior(log_likelihood, PRIOR), np.arange(60) < 40
    start = Linear(jnp.zeros(()), jnp.zeros(3))
    masked = solve_linear(jnp.asarray(x), rho, jnp.array(1.0), start, where=keep, stop=Stop(tol=1e-9))
    alone = fit_linear(x[keep], log_likelihood[keep], PRIOR, stop=Stop(tol=1e-9))
    np.testing.assert_allclose(masked.model.weights, alone.model.weights, atol=1e-7)


@pytest.mark.slow
def test_restarts_keep_the_best_and_report_all():
    rng = np.random.default_rng(4)
    x, log_likelihood = rng.normal(size=(15, 2)), np.log(rng.random((15, 2)) ** 4)
    options = {"objective": "ml", "regularisation": 0.01, "stop": Stop(200)}
    many = fit_linear(x, log_likelihood, PRIOR, restarts=(20, jax.random.key(0)), **options)
    assert many.path.shape == (21,) and many.objective == many.path.min()
    assert many.path.max() > many.objective + 1e-3  # there are worse optima to fall into


@pytest.mark.slow
def test_float32():
    x, y, log_likelihood = problem()
    with jax.enable_x64(False):
        fit = fit_linear(np.float32(x), log_likelihood, PRIOR)
        assert fit.converged and fit.model.weights.dtype == jnp.float32
        scores = np.asarray(linear_outputs(fit.model, x))
    precise = fit_linear(x, log_likelihood, PRIOR)
    np.testing.assert_allclose(scores, linear_outputs(precise.model, x), atol=5e-3)
    assert ((scores > 0) == y).mean() > 0.7
