"""Samples that confuse all labelers: the likelihood by another method, simulated labels, certain labelers."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

import jtruth as jt
from jtruth.cleaning import shared_confusion, suspicious_labels
from jtruth.cleaning.issues import log_joint, slopes
from jtruth.histograms.concentration import log_dirichlet_multinomial
from jtruth.histograms.label_counts import from_counts
from jtruth.posterior import class_posterior

ROWS = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.1, 0.2, 0.7]])


def crowd(seed, n=200, t=20, concentration=5.0):
    """t labels of each of n samples, which have rows of their own; labelers are all alike."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    q = np.stack([rng.dirichlet(concentration * ROWS[c]) for c in y])
    z = (rng.random((n, t, 1)) >= np.cumsum(q, axis=1)[:, None, :-1]).sum(axis=2)
    return y, jt.Labels.from_matrix(z, 3)


@pytest.fixture(scope="module")
def crowds():
    found = []
    for seed in range(6):
        y, labels = crowd(seed)
        found.append((y, labels, shared_confusion(labels, num_bootstrap=5, key=seed)))
    return found


def test_the_likelihood_is_that_of_the_histograms():
    counts = np.array([[3, 0, 1], [0, 5, 0], [2, 2, 2], [1, 0, 0]])
    theta = np.concatenate([np.log(ROWS).ravel(), [np.log(7.0)], np.log([0.2, 0.3, 0.5])])
    joint = log_joint(theta, counts)
    histograms = from_counts(counts)
    for c in range(3):
        rows, concentration = jnp.tile(jnp.asarray(ROWS[c]), (4, 1)), jnp.full(4, 7.0)
        dist = log_dirichlet_multinomial(histograms, rows, concentration, coefficient=False)
        np.testing.assert_allclose(joint[:, c], np.asarray(dist) + np.log([0.2, 0.3, 0.5][c]), rtol=1e-10)


def test_slopes_are_differences(crowds):
    """Derivatives by alpha and by the concentration that is subtracted, against central differences."""
    kinds, step = np.asarray(crowds[0][1].counts())[:40], 1e-6
    theta = np.concatenate([np.log(ROWS).ravel(), [np.log(7.0)], np.zeros(3)])
    weight = np.random.default_rng(0).random((40, 3))
    each, whole = slopes(theta, kinds, weight)
    moved = {9: 7 * ((each * ROWS).sum() - whole), 1: 7 * ROWS[0, 1] * (each[0, 1] - each[0] @ ROWS[0])}
    for at, found in moved.items():
        up, down = ((weight * log_joint(theta + s * np.eye(13)[at], kinds)).sum() for s in (step, -step))
        np.testing.assert_allclose(found, (up - down) / (2 * step), rtol=1e-6)


def test_it_finds_what_made_the_labels(crowds):
    """Means of six crowds within 5 standard errors and a margin for the prior (8 right labels of 1300)."""
    matrices = np.stack([f.matrix for _, _, f in crowds])
    error = matrices.std(axis=0, ddof=1) / 6**0.5
    assert (np.abs(matrices.mean(axis=0) - ROWS) < 5 * error + 0.02).all()
    logs = np.log([f.concentration for _, _, f in crowds])
    assert abs(logs.mean() - np.log(5.0)) < 5 * logs.std(ddof=1) / 6**0.5 + 0.1
    assert all(f.design_effect(20) > 3 for _, _, f in crowds)


def test_it_is_less_sure_than_independence_and_right_about_it(crowds):
    """Errors of the most probable class, found and expected, under both assumptions."""
    missed = {"alone": [0.0, 0.0], "together": [0.0, 0.0]}
    for y, labels, found in crowds:
        rows = np.tile(found.matrix, (20, 1, 1))
        given = jt.noise.ConfusionMatrices(rows).log_likelihood(labels)
        alone = np.asarray(class_posterior(given, found.prior))
        for name, p in (("alone", alone), ("together", found.class_posterior)):
            best = p.argmax(axis=1)
            missed[name][0] += (best != y).sum()
            missed[name][1] += (1 - p.max(axis=1)).sum()
    assert missed["alone"][0] > 3 * missed["alone"][1]
    assert missed["together"][0] < 2 * missed["together"][1] + 20


def test_issues_take_its_draws(crowds):
    _, labels, found = crowds[0]
    issues = suspicious_labels(labels, {"together": found.draws, "point": found.class_posterior})
    assert issues.interval[0] <= issues.expected <= issues.interval[1]


def test_what_it_refuses():
    z = np.array([[0, 1], [1, 1]])
    for match, kept, number in (("samples with two labels or more", z[:, :1], 2), (r"got 1\)", z, 1)):
        with pytest.raises(ValueError, match=match):
            shared_confusion(jt.Labels.from_matrix(kept, 2), num_bootstrap=number)


@pytest.mark.parametrize("jac", [[0.0, 1e9], [-1e9, 0.0]])
def test_a_fit_that_did_not_converge_says_so(monkeypatch, jac):
    ended = SimpleNamespace(fun=1.0, jac=np.array(jac), message="stopped early", x=np.zeros(7))
    monkeypatch.setattr("scipy.optimize.minimize", lambda *_, **__: ended)
    with pytest.raises(RuntimeError, match="shared confusion did not converge: stopped early"):
        shared_confusion(jt.Labels.from_matrix(np.array([[0, 1], [1, 1], [0, 0]]), 2))
