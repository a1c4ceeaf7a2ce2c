"""Metrics of raw predictions are scikit-learn's, with ties, and NaN where those are undefined."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn import metrics

from jtruth.testing import of_labels as ours

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, 60)
SCORES = np.round(np.clip(RNG.normal(0.3 + 0.4 * Y, 0.3), 0.01, 0.99), 1)
Y3, GUESS = RNG.integers(0, 3, 60), RNG.integers(0, 3, 60)
P3 = RNG.dirichlet(np.ones(3), 60)
PRICE = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [3.0, 5.0, 0.0]])


@pytest.mark.parametrize(
    ("function", "y", "given", "expected"),
    [
        (ours.auc, Y, SCORES, metrics.roc_auc_score(Y, SCORES)),
        (ours.average_precision, Y, SCORES, metrics.average_precision_score(Y, SCORES)),
        (ours.log_loss, Y, SCORES, metrics.log_loss(Y, SCORES)),
        (ours.log_loss, Y3, P3, metrics.log_loss(Y3, P3)),
        (ours.brier, Y, SCORES, metrics.brier_score_loss(Y, SCORES)),
        (ours.brier, Y3, P3, ((P3 - np.eye(3)[Y3]) ** 2).sum(1).mean()),
        (lambda y, u: ours.mcc(y, u, 3), Y3, GUESS, metrics.matthews_corrcoef(Y3, GUESS)),
        (ours.kappa("nominal", 3), Y3, GUESS, metrics.cohen_kappa_score(Y3, GUESS)),
        (ours.kappa("linear", 3), Y3, GUESS, metrics.cohen_kappa_score(Y3, GUESS, weights="linear")),
        (ours.kappa("quadratic", 3), Y3, GUESS, metrics.cohen_kappa_score(Y3, GUESS, weights="quadratic")),
        (ours.mean_cost(PRICE), Y3, GUESS, PRICE[Y3, GUESS].mean()),
    ],
)
def test_scikit_learn(function, y, given, expected):
    codes = jnp.asarray(y, jnp.int32)
    asked = jnp.asarray(given, jnp.int32 if given.dtype.kind == "i" else None)
    np.testing.assert_allclose(jax.jit(function)(codes, asked), expected, atol=1e-12)


def test_calibration_error_by_a_loop():
    place = np.minimum((SCORES * 5).astype(int), 4)
    gaps = [abs((Y[place == k] - SCORES[place == k]).sum()) for k in range(5)]
    found = ours.expected_calibration_error(5)(jnp.asarray(Y), jnp.asarray(SCORES))
    np.testing.assert_allclose(found, sum(gaps) / 60, atol=1e-12)


def test_undefined_is_nan():
    nobody = jnp.zeros(5, jnp.int32)
    scores = jnp.arange(5.0)
    for metric, found in ((ours.auc, scores), (ours.average_precision, scores), (ours.mcc, nobody)):
        assert np.isnan(jax.jit(metric)(nobody, found))
    assert np.isnan(jax.jit(ours.kappa())(nobody, nobody))
    with pytest.raises(ValueError, match="must be one of 'nominal'"):
        ours.kappa("cubic")
    with pytest.raises(ValueError, match="bins is 0"):
        ours.expected_calibration_error(0)
