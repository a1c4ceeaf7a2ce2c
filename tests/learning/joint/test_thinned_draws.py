"""Thinned draws stay together: each kept matrix belongs to the draw of the prior that it was made with."""

import jax
import numpy as np
import pytest

from jtruth.evaluation.gold.shares import class_count_draws
from jtruth.labels import Labels
from jtruth.learning.joint.posterior import fit_joint
from jtruth.sampling import Effort

KEY = jax.random.key(4)


@pytest.fixture(scope="module")
def fitted():
    """4 chains of 300 sweeps, of whose matrices every 8th is kept: blocks of 50 are no multiple of that."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    z = np.where(rng.random((60, 3)) < 0.8, y[:, None], 1 - y[:, None])
    labels = Labels.from_matrix(z, 2)
    effort = Effort(chains=4, burn_in=20, min_sweeps=1200, max_sweeps=1200, max_bytes=4 * 300 * 12 * 4 // 6)
    return labels, fit_joint(labels, key=KEY, effort=effort)


def test_every_kept_matrix_belongs_to_the_draw_that_is_named(fitted):
    """sum_c pi[c] psi_t[c, c] of matrix k is the accuracy of draw `matrix_draw[k]`."""
    _, fit = fitted
    thin = fit.matrix_draw[1] - fit.matrix_draw[0]
    assert thin == 8 and len(fit.matrices) == len(fit.matrix_draw) < len(fit.prior) / 7
    np.testing.assert_array_equal(fit.matrix_draw[:38], np.arange(0, 300, 8))  # of the first chain
    own = np.diagonal(fit.matrices, axis1=2, axis2=3).astype(float)
    expected = np.einsum("ktc,kc->kt", own, fit.prior[fit.matrix_draw])
    np.testing.assert_allclose(fit.labeler_accuracy[fit.matrix_draw], expected, atol=1e-6)


def test_class_counts_take_prior_and_matrices_of_the_same_draw(fitted):
    """Where labels say nothing, as many samples are of class 1 as the prior of that draw says."""
    labels, fit = fitted
    flat = np.full_like(fit.matrices, 0.5)
    certain = np.zeros_like(fit.prior)
    certain[np.arange(len(certain)), np.arange(len(certain)) % 3 % 2] = 1.0  # class 1 in every third draw
    made = fit._replace(matrices=flat, prior=certain)
    found = class_count_draws(made, labels, np.full(60, -1), key=KEY)
    np.testing.assert_array_equal(found[:, 1] / 60, certain[fit.matrix_draw][:, 1])


def test_class_counts_read_matrices_by_rows_of_true_classes(fitted):
    """Labels 0, 1 and 1 by labelers of one lopsided matrix, prior 1/2: Bayes' rule by hand."""
    _, fit = fitted
    rows = np.array([[0.9, 0.1], [0.4, 0.6]])
    labels = Labels.from_matrix(np.tile([[0, 1, 1]], (50, 1)), 2)
    made = fit._replace(
        matrices=np.broadcast_to(rows, fit.matrices.shape).astype(fit.matrices.dtype),
        prior=np.full_like(fit.prior, 0.5),
    )
    found = class_count_draws(made, labels, np.full(50, -1), key=KEY)[:, 1] / 50
    expected = 0.4 * 0.36 / (0.4 * 0.36 + 0.9 * 0.01)
    error = np.sqrt(expected * (1 - expected) / 50 / len(found))
    assert abs(found.mean() - expected) < 4 * error  # false-alarm rate 6e-5, one fixed key
