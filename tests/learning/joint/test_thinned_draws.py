"""Thinned draws stay together: each kept matrix belongs to the draw of the prior that it was made with."""

import jax
import numpy as np
import pytest

from jtruth.labels import Labels
from jtruth.latent import Effort
from jtruth.learning.joint.posterior import fit_joint

KEY = jax.random.key(4)


@pytest.fixture(scope="module")
def fitted():
    """512 lineages of 20 moves, of whose matrices every 8th is kept: blocks of 5 are no multiple of that."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    z = np.where(rng.random((60, 3)) < 0.8, y[:, None], 1 - y[:, None])
    labels = Labels.from_matrix(z, 2)
    effort = Effort(max_sweeps=512 * 20, min_ess=1e9, max_bytes=512 * 20 * 12 * 4 // 6)
    return labels, fit_joint(labels, key=KEY, effort=effort)


def test_every_kept_matrix_belongs_to_the_draw_that_is_named(fitted):
    """sum_c pi[c] psi_t[c, c] of matrix k is the accuracy of draw `matrix_draw[k]`."""
    _, fit = fitted
    thin = fit.matrix_draw[1] - fit.matrix_draw[0]
    assert thin == 8 and len(fit.matrices) == len(fit.matrix_draw) < len(fit.prior) / 6
    np.testing.assert_array_equal(fit.matrix_draw[:3], np.arange(0, 20, 8))  # of the first chain
    own = np.diagonal(fit.matrices, axis1=2, axis2=3).astype(float)
    expected = np.einsum("ktc,kc->kt", own, fit.prior[fit.matrix_draw])
    np.testing.assert_allclose(fit.labeler_accuracy[fit.matrix_draw], expected, atol=1e-6)


@pytest.mark.parametrize(
    "model", ["independent", "shared_strata", pytest.param("random_effect", marks=pytest.mark.slow)]
)
def test_class_counts_and_right_labels_are_those_of_the_class_posterior(fitted, model):
    """Draws of both have the mean that p(y_i = c | labels) gives them: 5 Monte Carlo errors of 300 draws."""
    labels, fit = fitted
    few = Effort(chains=4, burn_in=60, min_sweeps=1200, max_sweeps=6000, max_rhat=1.05, min_ess=300)
    if model in ("shared_strata", "random_effect"):
        fit = fit_joint(labels, key=KEY, effort=few, dependence=model)
    p, (sample, labeler, label) = fit.class_posterior, labels.arrays
    assert (fit.class_counts.sum(axis=1) == 60).all() and fit.counts is None and fit.classifier is None
    right = np.bincount(labeler, p[sample, label], 3)
    for drawn, expected in ((fit.class_counts[:, 1], p[:, 1].sum()), *zip(fit.right.T, right, strict=True)):
        assert abs(drawn.mean() - expected) < 5 * (drawn.std() + 0.1) / np.sqrt(300)
