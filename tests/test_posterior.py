"""Class posteriors (10), (21), (25) by loops and golden files; contradictions, priors and gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtruth.labels import Labels
from jtruth.noise import ConfusionMatrices, DifficultyFallibility, Symmetric
from jtruth.posterior import (
    check_not_contradictory,
    class_posterior,
    class_posterior_given_prediction,
    validate_prior,
)


def random_problem(seed, n=25, c=3, symbols=4):
    rng = np.random.default_rng(seed)
    prior, confusion = rng.dirichlet(np.ones(c)), rng.dirichlet(np.ones(symbols), c)
    return np.log(rng.random((n, c))), prior, confusion, rng.integers(0, symbols, n)


def posterior_by_loops(log_likelihood, prior, confusion=None, y_pred=None):
    result = []
    for i, row in enumerate(log_likelihood):
        joint = [prior[c] * np.exp(row[c]) for c in range(len(prior))]
        if confusion is not None:
            joint = [joint[c] * confusion[c][y_pred[i]] for c in range(len(prior))]
        result.append([value / sum(joint) for value in joint])
    return np.array(result)


def test_equals_loops():
    for seed in range(3):
        log_likelihood, prior, confusion, y_pred = random_problem(seed)
        expected = posterior_by_loops(log_likelihood, prior)
        np.testing.assert_allclose(class_posterior(log_likelihood, prior), expected, rtol=1e-13)
        given = class_posterior_given_prediction(log_likelihood, prior, confusion, y_pred)
        expected = posterior_by_loops(log_likelihood, prior, confusion, y_pred)
        np.testing.assert_allclose(given, expected, rtol=1e-13)


BINARY = ["su_tiny5", "su_small12", "su_main_N200", "su_known_labels", "su_near_chance", "su_yhat_all1"]


OTHERS = ("su_tiny5", "su_small12", "su_near_chance")  # other sizes, no other case


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in OTHERS)) for n in BINARY])
def test_golden_binary(golden, name):
    reference = golden(name)
    given = reference["input"]
    labels = Labels.from_matrix(np.array(given["z"]), 2, allow_unlabelled=True)
    if given["theta"] is None:
        model = DifficultyFallibility(given["delta"], given["phi"], 2)
    else:
        model = ConfusionMatrices(given["theta"])
    log_likelihood, prior = model.log_likelihood(labels), np.array([1 - given["pi1"], given["pi1"]])
    rho = class_posterior(log_likelihood, prior)
    np.testing.assert_allclose(rho[:, 1], reference["rho"], rtol=1e-12, atol=1e-15)
    for point in reference["at_op"]:
        confusion = np.array([[1 - point["pFA"], point["pFA"]], [1 - point["pD"], point["pD"]]])
        posterior = class_posterior_given_prediction(
            log_likelihood, prior, confusion, np.array(given["yhat"])
        )
        np.testing.assert_allclose(posterior[:, 1], point["posterior1"], rtol=1e-12, atol=1e-15)


def test_golden_three_classes(golden):
    reference = golden("su_multi3")
    given = reference["input"]
    labels = Labels.from_matrix(np.array(given["z"]), 3)
    log_likelihood = DifficultyFallibility(given["delta"], given["phi"], 3).log_likelihood(labels)
    prior = np.array(given["pi"])
    rho = class_posterior(log_likelihood, prior)
    np.testing.assert_allclose(rho, reference["class_posterior"], rtol=1e-12)
    confusion = np.array(reference["alg4_deterministic"]["K"])
    posterior = class_posterior_given_prediction(log_likelihood, prior, confusion, np.array(given["yhat"]))
    np.testing.assert_allclose(posterior, reference["testing_posterior"], rtol=1e-12)


def test_certain_rows_and_zero_priors():
    log_likelihood = np.array([[0.0, -np.inf], [-np.inf, 0.0], [np.log(0.3), np.log(0.6)]])
    result = class_posterior(log_likelihood, np.array([0.8, 0.2]))
    np.testing.assert_allclose(result, [[1, 0], [0, 1], [2 / 3, 1 / 3]], rtol=1e-15)
    never = class_posterior(log_likelihood[[0, 2]], np.array([1.0, 0.0]))
    np.testing.assert_array_equal(never, [[1, 0], [1, 0]])


def test_jit_vmap_and_eager_agree():
    log_likelihood, prior, confusion, y_pred = random_problem(6)
    arguments = (log_likelihood, prior, confusion, y_pred)
    eager = class_posterior_given_prediction(*arguments)
    jitted = jax.jit(class_posterior_given_prediction)(*arguments)
    np.testing.assert_allclose(jitted, eager, rtol=1e-14)
    batch = [np.stack([a, a]) for a in arguments]
    np.testing.assert_allclose(jax.vmap(class_posterior_given_prediction)(*batch), [eager, eager], rtol=1e-14)
    single = class_posterior(log_likelihood.astype(np.float32), prior)
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, class_posterior(log_likelihood, prior), rtol=3e-6)


def test_contradictions_name_the_samples():
    z = np.array([[0, 1], [0, 0], [1, 0], [1, 1]])
    log_likelihood = Symmetric(0.0, 2).log_likelihood(Labels.from_matrix(z, 2))
    prior = np.array([0.5, 0.5])
    with pytest.raises(ValueError, match=r"2 sample\(s\) \(0, 2\) are impossible under every class"):
        class_posterior(log_likelihood, prior)
    with pytest.raises(ValueError, match=r"\('a', 'c'\).*small error rate"):
        check_not_contradictory(log_likelihood, ("a", "b", "c", "d"))
    with pytest.raises(ValueError, match="0, 1, 2, 3, 4 and 5 more"):
        check_not_contradictory(np.full((10, 2), -np.inf))
    with pytest.raises(ValueError, match=r"\(3\) are possible only under classes whose prior is 0"):
        class_posterior(log_likelihood[np.array([1, 1, 1, 3])], np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match=r"\(1\) is NaN"):
        class_posterior(np.array([[0.0, 0.0], [0.0, np.nan]]), prior)
    with pytest.raises(ValueError, match=r"\(3\) are impossible"):
        class_posterior_given_prediction(
            log_likelihood[np.array([1, 1, 1, 3])], prior, np.eye(2), np.array([0, 0, 0, 0])
        )


def test_contradiction_inside_jit_stays_in_its_row():
    log_likelihood = np.array([[-np.inf, -np.inf], [0.0, -np.inf], [0.0, 0.0]])
    rho = np.asarray(jax.jit(class_posterior)(log_likelihood, np.array([0.5, 0.5])))
    assert np.isnan(rho[0]).all()
    np.testing.assert_array_equal(rho[1:], [[1, 0], [0.5, 0.5]])


def test_gradients_at_log_zero():
    """Zeros in the likelihood, the prior and K leave every gradient finite, and 0 where they are used."""
    log_likelihood = np.array([[0.0, -np.inf, -1.0], [-0.5, -0.7, -0.1]])
    prior, confusion = np.array([0.5, 0.5, 0.0]), np.array([[1.0, 0.0], [0.3, 0.7], [0.0, 1.0]])

    def loss(ll, pi, k):
        return jnp.sum(class_posterior_given_prediction(ll, pi, k, np.array([0, 0]))[:, 0] ** 2)

    gradients = jax.jit(jax.grad(loss, (0, 1, 2)))(log_likelihood, prior, confusion)
    assert all(np.isfinite(g).all() for g in gradients)
    assert gradients[0][0, 1] == 0 and gradients[1][2] == 0 and gradients[2][0, 1] == 0

    @jax.jit
    def free(t):  # one coordinate that is used, against a central difference
        return loss(log_likelihood, prior, jnp.array([[1.0, 0.0], [t, 0.7], [0.0, 1.0]]))

    difference = (free(0.3 + 1e-6) - free(0.3 - 1e-6)) / 2e-6
    assert gradients[2][1, 0] == pytest.approx(float(difference), rel=1e-7)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([0.5, 0.4], r"prior sums to 0\.9, not to 1"),
        ([0.5, 0.5 + 2e-6], r"prior sums to 1\.000002"),
        ([1.2, -0.2], r"prior\[0\] is 1\.2"),
        ([0.5, np.nan], r"prior\[1\] is nan"),
        ([1.0], r"shape \(1,\) but there are 2 classes"),
        ([0.2, 0.3, 0.5], r"shape \(3,\) but there are 2 classes"),
    ],
)
def test_bad_priors(as_installed, prior, message):
    with pytest.raises(ValueError, match=message):
        validate_prior(prior, 2)
    with pytest.raises(ValueError, match=message):
        class_posterior(np.zeros((1, 2)), np.array(prior))


@pytest.mark.parametrize(
    ("confusion", "y_pred", "message"),
    [
        ([[0.5, 0.5], [0.5, 0.4]], [0, 1], r"confusion\[1\] sums to 0\.9"),
        ([[0.5, 0.5], [1.5, -0.5]], [0, 1], r"confusion\[1, 0\] is 1\.5"),
        ([[0.5, 0.5]], [0, 1], "there are 2 classes"),
        ([[0.5, 0.5], [0.5, 0.5]], [0, 2], r"y_pred\[1\] is 2 .* class codes 0 to 1"),
        ([[0.5, 0.5], [0.5, 0.5]], [-1, 1], r"y_pred\[0\] is -1"),
    ],
)
def test_bad_confusion_and_predictions(as_installed, confusion, y_pred, message):
    with pytest.raises(ValueError, match=message):
        class_posterior_given_prediction(
            np.zeros((2, 2)), np.array([0.5, 0.5]), np.array(confusion), np.array(y_pred)
        )
