"""Probabilities on the host against plain loops, the JAX side and scipy."""

import numpy as np

from jtruth import Labels, _host, class_posterior
from jtruth.noise import ConfusionMatrices, with_known_labels
from jtruth.testing import log_odds_of

RNG = np.random.default_rng(0)
PSI = RNG.dirichlet(np.ones(3), size=(4, 3))
Z = RNG.integers(-1, 3, size=(7, 4))
Z[3] = -1  # a sample without labels


def test_likelihood_of_labels_against_loops_and_the_noise_model():
    sample, labeler = (index.ravel() for index in np.indices(Z.shape))
    found = _host.labels_log_likelihood(PSI, sample, labeler, Z.ravel(), len(Z))
    loops = np.array(
        [[sum(np.log(PSI[t, c, k]) for t, k in enumerate(row) if k >= 0) for c in range(3)] for row in Z]
    )
    np.testing.assert_allclose(found, loops, rtol=1e-14)
    labels = Labels.from_matrix(Z, 3, allow_unlabelled=True)
    np.testing.assert_allclose(ConfusionMatrices(PSI).log_likelihood(labels), found, rtol=1e-12)
    draws = np.stack([PSI, PSI[::-1]])
    both = _host.labels_log_likelihood(draws, sample, labeler, Z.ravel(), len(Z))
    np.testing.assert_allclose(both[0], found, rtol=1e-14)
    assert both.shape == (2, 7, 3) and not np.allclose(both[1], found)


def test_posteriors_and_log_odds_are_those_of_the_pure_functions():
    log_lik, prior = RNG.normal(size=(6, 2)), np.array([0.3, 0.7])
    odds = _host.log_odds(log_lik, prior)
    np.testing.assert_allclose(odds, log_odds_of(log_lik, prior), rtol=1e-13)
    rho = class_posterior(log_lik, prior)
    np.testing.assert_allclose(_host.softmax(log_lik + _host.log(prior)), rho, rtol=1e-13)
    np.testing.assert_allclose(np.asarray(rho)[:, 1], 1 / (1 + np.exp(-odds)), rtol=1e-13)


def test_impossible_labels_have_no_likelihood_and_no_nan():
    sure, labeler = np.eye(2)[None].repeat(2, axis=0), np.array([0, 1, 1])
    found = _host.labels_log_likelihood(sure, np.array([0, 0, 1]), labeler, np.array([0, 1, 1]), 2)
    np.testing.assert_array_equal(found, [[-np.inf, -np.inf], [-np.inf, 0.0]])


def test_nobody_labels_and_nothing_is_said():
    none = np.zeros(0, int)
    found = _host.labels_log_likelihood(np.zeros((2, 0, 3, 3)), none, none, none, 4)
    np.testing.assert_array_equal(found, np.zeros((2, 4, 3)))


def test_known_classes_are_those_of_the_noise_room():
    log_lik, gold = RNG.normal(size=(5, 3)), np.array([-1, 0, 2, -1, 1])
    np.testing.assert_array_equal(_host.known_classes(log_lik, gold), with_known_labels(log_lik, gold))
    several = _host.known_classes(np.stack([log_lik, log_lik + 1]), gold)
    np.testing.assert_array_equal(several[1], with_known_labels(log_lik + 1, gold))
