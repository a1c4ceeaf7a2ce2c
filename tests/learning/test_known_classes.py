"""Counting samples of known class, what its posterior does in `fit_joint`, and Donmez' conditions."""

import numpy as np
import pytest
from scipy.stats import beta

from jtruth.labels import Labels
from jtruth.learning import check_consistency, fit_known_classes
from tests.learning.crowds import from_matrix, simulate
from tests.reference import dawid_skene as oracle


def case(size=60):
    z, y = simulate(5, size, 5, 3, 0.75, 0.85)
    return z, y, np.where(np.arange(size) % 3 == 0, y, -1)


def test_rates_and_classes_are_dawid_and_skenes_with_known_classes():
    """(2.3), (2.4) by loops over the gold samples, (2.5) over all, to 1e-12."""
    z, _, gold = case()
    labels = from_matrix(z, 3)
    fit = fit_known_classes(labels, gold=gold, pseudo=0.5)
    told = gold >= 0
    n = np.zeros((60, 5, 3))
    for i, t in np.argwhere(z >= 0):
        n[i, t, z[i, t]] += 1
    pi = oracle.error_rates(n[told], np.eye(3)[gold[told]], pseudo=np.where(np.eye(3) > 0, 0.5, 0.25))
    p = oracle.class_shares(np.eye(3)[gold[told]], 0.5 / 3)
    posterior, log_likelihood = oracle.e_step(n, p, pi, gold)
    np.testing.assert_allclose(fit.matrices, pi, atol=1e-12)
    np.testing.assert_allclose(fit.prior, p, atol=1e-12)
    np.testing.assert_allclose(fit.class_posterior, posterior, atol=1e-12)
    assert fit.log_likelihood == pytest.approx(log_likelihood, rel=1e-12)
    a = fit.concentration[2, 1]
    np.testing.assert_allclose(
        beta.cdf(fit.interval(0.9)[:, 2, 1, 0], a[0], a[1] + a[2]), [0.05, 0.95], atol=1e-9
    )


def test_what_is_refused_and_said():
    z, _, gold = case()
    labels = from_matrix(z, 3)
    with pytest.raises(ValueError, match="gold has no known class"):
        fit_known_classes(labels)
    with pytest.raises(ValueError, match="pseudo must be 0 or more, got -1"):
        fit_known_classes(labels, gold=gold, pseudo=-1)
    fit = fit_known_classes(labels, gold=np.where(gold == 2, -1, gold))
    assert "No verified sample is of class '2'" in fit.warnings[0]
    alone = Labels(*(np.append(a, b) for a, b in zip(labels.arrays, (1, 5, 0), strict=True)), 60, 6, 3)
    fit = fit_known_classes(alone, gold=gold, pseudo=0)
    assert "1 labeler has no verified label (5)" in fit.warnings[0]
    assert np.isfinite(fit.interval()).all() and np.isfinite(fit.class_posterior).all()


def test_conditions_of_consistency():
    """A labeler at chance, one without labels, an even prior with fewer than three to compare."""
    good, chance = np.array([[0.9, 0.1], [0.2, 0.8]]), np.full((2, 2), 0.5)
    number = np.array([200, 200, 0])
    found = check_consistency(
        np.array([0.7, 0.3]), np.stack([good, chance, chance]), number, num_samples=200, workers="abc"
    )
    assert len(found) == 1 and found[0].startswith("Labelers 'b' are not clearly better than chance")
    even = check_consistency(np.array([0.5, 0.5]), np.stack([good] * 2), number[:2], num_samples=200)
    assert len(even) == 1 and "The class prior is even" in even[0]
    assert not check_consistency(np.array([0.5, 0.5]), np.stack([good] * 3), np.full(3, 200), num_samples=200)
