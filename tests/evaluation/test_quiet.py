"""No side effects: no NaN where JAX looks for it, no raw warnings, fields of the stated types."""

import jax
import numpy as np
import pytest
from scipy.special import softmax

import jtruth as jt
from jtruth.evaluation.assumptions.ranges import joint_model
from jtruth.evaluation.inputs import read
from jtruth.learning import fit_dawid_skene

pytestmark = pytest.mark.usefixtures("few_lineages")


def crowd(size=60, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, size)
    z = np.where(rng.random((size, 3)) < 0.2, (y[:, None] + 1) % classes, y[:, None])
    return jt.Labels.from_matrix(z, classes), np.where(rng.random(size) < 0.1, (y + 1) % classes, y)


@pytest.mark.parametrize(
    "method", ["empirical_bayes", "labels", pytest.param("exact_means", marks=pytest.mark.slow)]
)
def test_iterations_have_no_nan_in_the_unused_end_of_their_path(method):
    labels, y_pred = crowd()
    with jax.debug_nans(True):
        known = {"noise": jt.noise.Symmetric(0.2, 2), "prior": [0.5, 0.5]}
        result = jt.evaluate(y_pred, labels, method=method, **known)
    assert 0.7 < result.accuracy.mean <= 1


def test_iterations_of_matrices_and_em_too():
    labels, y_pred = crowd(classes=3)
    with jax.debug_nans(True):
        jt.evaluate(y_pred, labels, noise=jt.noise.Symmetric(0.2, 3), prior=[1 / 3] * 3, method="exact_means")
        assert fit_dawid_skene(labels).converged


def test_a_prior_without_one_class_warns_in_words_only():
    """It printed NumPy's "divide by zero"; warnings are errors here."""
    z = np.where(np.random.default_rng(0).random((60, 3)) < 0.2, 1, 0)
    labels = jt.Labels.from_matrix(z, 2)
    result = jt.evaluate(np.zeros(60, int), labels, prior=[1, 0], assume="independent")
    assert result.accuracy.mean == 1


def test_the_learned_log_likelihood_is_one():
    """With the prior it gives back the class posterior; it was the log posterior itself."""
    labels, y_pred = crowd(200)
    data = read(y_pred, labels, None, None, None, 1)
    model = joint_model(data)
    fit = model.fit
    rho = softmax(model.log_likelihood + np.log(model.prior), axis=1)
    with_prediction = rho * fit.classifier.mean(axis=0)[:, y_pred].T
    with_prediction /= with_prediction.sum(axis=1, keepdims=True)
    # Mean matrices are not the mean over matrices: a doubtful sample differs by up to .08, most by nothing.
    assert np.abs(with_prediction - fit.class_posterior).mean() < 0.02
    doubled = softmax(np.log(fit.class_posterior) + np.log(model.prior), axis=1)
    assert np.abs(softmax(model.log_likelihood, axis=1) - doubled).max() > 0.1
