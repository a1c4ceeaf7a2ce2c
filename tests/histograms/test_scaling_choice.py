"""Penalties by cross-validation, isotonic regression, calibration in log loss: each against another way."""

import jax
import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from jtruth import histograms as hist

RNG = np.random.default_rng(0)
Q = RNG.dirichlet(np.ones(3), 90)
H = hist.from_counts(
    np.stack([RNG.multinomial(n, row) for n, row in zip(RNG.integers(1, 6, 90), Q, strict=True)])
)
Z = Q**2 / (Q**2).sum(axis=1, keepdims=True)


@pytest.mark.slow
def test_penalties_by_cross_validation_equal_a_loop():
    key, u = jax.random.key(0), np.log(Z)
    found = hist.choose_penalties(
        key, u, H, method="vector", bias_penalties=(0.01, 100.0), weight_penalties=(0.0,), folds=2
    )
    fold = np.asarray(jax.random.permutation(key, np.arange(90) % 2))
    for row, penalty in enumerate((0.01, 100.0)):
        total = 0.0
        for held in range(2):
            fitted = hist.fit_scaling(u, H, method="vector", bias_penalty=penalty, where=fold != held)
            log_p = np.asarray(hist.scaled_log_probabilities(fitted, u))
            total -= (H.counts * log_p)[fold == held].sum()
        np.testing.assert_allclose(found.held_out[row, 0], total / H.counts.sum(), rtol=1e-4)
    assert found.bias_penalty == (0.01, 100.0)[int(np.argmin(found.held_out[:, 0]))]


def test_isotonic_equals_scikit_learn():
    fitted = hist.fit_isotonic(Z, H)
    columns = []
    for k in range(3):
        model = IsotonicRegression().fit(Z[:, k], H.counts[:, k] / H.n, sample_weight=H.n)
        columns.append(model.predict(Z[:, k]))
    expected = np.stack(columns, axis=1)
    expected = expected / expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(hist.isotonic_probabilities(fitted, Z), expected, atol=1e-12)


def test_calibration_log_loss_by_loop():
    mu, edges = np.asarray(H.shares()), np.linspace(0, 1, 4)
    found = np.asarray(hist.calibration_log_loss(mu, Z, edges))
    for k in range(3):
        bins = np.digitize(Z[:, k], edges[1:-1])
        for b in range(3):
            c, p, share = mu[bins == b, k].mean(), Z[bins == b, k].mean(), (bins == b).mean()
            kl = sum(x * np.log(x / y) for x, y in ((c, p), (1 - c, 1 - p)) if x > 0)
            np.testing.assert_allclose(found[k, b], share * kl, rtol=1e-10)
