"""Confident learning and its likelihood twin against plain loops, known truth, and training's noise layer."""

import numpy as np
import pytest

from jtruth.labels import Labels
from jtruth.learning import fit_confident, fit_noise_layer
from jtruth.training.corrections import forward_risk
from tests.reference import predicted as oracle

RATES = np.array([[0.8, 0.15, 0.05], [0.1, 0.9, 0.0], [0.05, 0.1, 0.85]])


def simulated(seed=0, size=240, sharp=2.0):
    """Labels wrong by RATES, and the exact p(y | x) of three normal classes in the plane."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, size, p=[0.5, 0.3, 0.2])
    x = rng.standard_normal((size, 3)) + sharp * np.eye(3)[y]
    q = np.array([0.5, 0.3, 0.2]) * np.exp(sharp * x)
    z = (rng.random((size, 1)) > RATES[y].cumsum(axis=1)).sum(axis=1)
    return y, z, q / q.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def case():
    y, z, q = simulated()
    return y, z, q, Labels.from_matrix(z[:, None], 3)


@pytest.fixture(scope="module")
def layer(case):
    return fit_noise_layer(case[3], case[2], num_bootstrap=25, tol=1e-12)


def test_confident_learning_is_the_papers(case):
    _, z, q, labels = case
    fit = fit_confident(labels, q)
    counts, of_sample = oracle.confident_joint(q.tolist(), z.tolist())
    np.testing.assert_allclose(fit.thresholds, oracle.thresholds(q.tolist(), z.tolist()), rtol=1e-12)
    np.testing.assert_array_equal(fit.counts, counts)
    np.testing.assert_array_equal(fit.confident, of_sample)
    joint = oracle.calibrated(counts, z)
    np.testing.assert_allclose(fit.joint, joint, rtol=1e-12)
    np.testing.assert_allclose(fit.prior, joint.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(fit.matrices[0], joint / joint.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(fit.joint.sum(axis=0), np.bincount(z) / z.size, rtol=1e-12)


def test_gold_asks_no_threshold(case):
    _, z, q, labels = case
    gold = np.where(np.arange(z.size) < 9, 2, -1)
    fit = fit_confident(labels, q, gold=gold)
    assert (fit.confident[:9] == 2).all() and (fit.class_posterior[:9, 2] == 1).all()


def test_the_noise_layer_is_the_maximum(case, layer):
    """A step of EM by loops stays where it is, and training's noise layer has the same likelihood."""
    _, z, q, labels = case
    pseudo = np.where(np.eye(3) > 0, 1.0, 0.5)
    psi, log_likelihood = oracle.noise_layer_step(q, z, layer.matrices[0], pseudo)
    np.testing.assert_allclose(layer.matrices[0], psi, atol=1e-8)
    assert layer.log_likelihood == pytest.approx(log_likelihood, rel=1e-10)
    of_training = -240 * forward_risk(np.log(q), np.log(layer.matrices), z[:, None].astype(np.int32))
    assert layer.log_likelihood == pytest.approx(float(of_training), rel=1e-10)
    assert layer.converged and layer.warnings == ()
    assert layer.expected_wrong == pytest.approx(240 - layer.class_posterior[np.arange(240), z].sum())
    gold = fit_noise_layer(labels, q, gold=case[0], num_bootstrap=25, tol=1e-12, pseudo=0)
    np.testing.assert_allclose(
        gold.matrices[0][0], np.bincount(z[case[0] == 0]) / (case[0] == 0).sum(), atol=1e-9
    )


@pytest.mark.slow
def test_intervals_cover():
    """27 rates are within 5 standard errors, and a label or so of a row: a false alarm 27 * 5.7e-7 =
    1.6e-5."""
    for seed in range(3):
        _, z, q = simulated(seed, 1500)
        fit = fit_noise_layer(Labels.from_matrix(z[:, None], 3), q, num_bootstrap=100, key=seed)
        sd = fit.bootstrap.std(axis=0, ddof=1)
        assert (np.abs(fit.matrices[0] - RATES) < 5 * sd + 5 / 300).all()
        assert abs(fit.slope) < 5


def test_overlapping_classes_mislead_thresholds():
    """Classes 1.2 standard deviations apart: thresholds call far more labels wrong than are."""
    y, z, q = simulated(5, 3000, sharp=1.2)
    labels = Labels.from_matrix(z[:, None], 3)
    confident, fit = fit_confident(labels, q), fit_noise_layer(labels, q, num_bootstrap=25)
    wrong = (y != z).sum()
    assert abs(fit.expected_wrong - wrong) < 0.2 * wrong < 0.5 * abs(confident.expected_wrong - wrong)


def test_probabilities_too_sure_or_too_timid_are_named():
    _, z, q = simulated(6, 3000)
    labels = Labels.from_matrix(z[:, None], 3)
    sure, timid = (p / p.sum(axis=1, keepdims=True) for p in (q**2, q**0.5))
    assert "classifier is overconfident" in fit_noise_layer(labels, sure, num_bootstrap=25).warnings[0]
    assert "classifier is underconfident" in fit_noise_layer(labels, timid, num_bootstrap=25).warnings[0]


def test_bad_input(case):
    _, z, q, labels = case
    two = Labels.from_matrix(np.stack([z, z], axis=1), 3)
    for fit in (fit_confident, fit_noise_layer):
        with pytest.raises(ValueError, match=r"sample 0 has 2 labels .* needs one"):
            fit(two, q)
        with pytest.raises(ValueError, match=r"probabilities has shape \(240, 2\); it must be \(240, 3\)"):
            fit(labels, q[:, :2])
        with pytest.raises(ValueError, match=r"probabilities\[\d+\] sums to 1\.\d*, not to 1"):
            fit(labels, np.minimum(2 * q, 1))
        with pytest.raises(ValueError, match="gold must have shape"):
            fit(labels, q, gold=[0, 1])
    with pytest.raises(ValueError, match="pseudo must be 0 or more"):
        fit_noise_layer(labels, q, pseudo=-1)


def test_a_class_that_nobody_gives_is_said(case):
    _, z, q, _ = case
    fit = fit_confident(Labels.from_matrix(np.minimum(z, 1)[:, None], 3), q)
    assert np.isinf(fit.thresholds[2]) and "No sample is labelled '2'" in fit.warnings[0]
    assert np.isfinite(fit.matrices).all() and np.isfinite(fit.class_posterior).all()
    layer = fit_noise_layer(Labels.from_matrix(np.zeros((240, 1), int), 3), q, num_bootstrap=25)
    assert np.isfinite(layer.matrices).all() and np.isfinite(layer.class_posterior).all()
