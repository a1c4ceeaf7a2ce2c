"""The joint posterior of labelers, classifier and classes against enumeration of all class vectors."""

import itertools

import jax
import numpy as np
from scipy.special import gammaln

from jtruth.labels import Labels
from jtruth.learning import DirichletPriors
from jtruth.learning.joint.posterior import fit_joint
from jtruth.stats.chains import mean_error

Z = np.array([[0, 0], [1, 1], [1, 0], [0, 1], [1, 1]])
Y_PRED = np.array([0, 1, 1, 0, 0])


def log_dirichlet_multinomial(counts, concentration):
    """log of the integral of prod_k p_k^counts_k under Dirichlet(concentration)."""
    total = gammaln(concentration.sum()) - gammaln(concentration.sum() + counts.sum())
    return total + (gammaln(concentration + counts) - gammaln(concentration)).sum()


def enumerated():
    """{class vector: posterior probability}, pi and every matrix row integrated out."""
    raters = np.column_stack([Z, Y_PRED])
    weight = {}
    for y in itertools.product((0, 1), repeat=len(Z)):
        y = np.array(y)
        log_p = log_dirichlet_multinomial(np.bincount(y, minlength=2), np.ones(2))
        for t, c in itertools.product(range(3), (0, 1)):
            row = np.where(np.arange(2) == c, 2.0, 1.0)
            log_p += log_dirichlet_multinomial(np.bincount(raters[y == c, t], minlength=2), row)
        weight[tuple(y)] = np.exp(log_p)
    total = sum(weight.values())
    return {y: w / total for y, w in weight.items()}


def test_equal_to_enumeration():
    fit = fit_joint(
        Labels.from_matrix(Z, 2), y_pred=Y_PRED, key=jax.random.key(0), priors=DirichletPriors(diagonal=2.0)
    )
    exact = enumerated()
    chains = int(fit.chain.max()) + 1
    for c, u in itertools.product((0, 1), repeat=2):
        mean = sum(p * np.sum((np.array(y) == c) & (u == Y_PRED)) for y, p in exact.items())
        draws = fit.counts[:, c, u].reshape(chains, -1)
        # 4.5 standard errors: a false alarm in 150 000 comparisons
        assert abs(draws.mean() - mean) < 4.5 * float(mean_error(draws))
    by_class = np.array([sum(p for y, p in exact.items() if y[i] == 1) for i in range(len(Z))])
    np.testing.assert_allclose(fit.class_posterior[:, 1], by_class, atol=0.03)


def test_gold_is_clamped_and_the_key_decides():
    labels, gold = Labels.from_matrix(Z, 2), np.array([1, -1, -1, 0, -1])
    one, two = (fit_joint(labels, y_pred=Y_PRED, gold=gold, key=jax.random.key(3)) for _ in range(2))
    np.testing.assert_array_equal(one.counts, two.counts)
    np.testing.assert_allclose(one.class_posterior[[0, 3]], [[0, 1], [1, 0]], atol=1e-12)


def test_a_permuted_start_is_caught_and_one_labeler_is_not_identified():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    z = np.where(rng.random((300, 4)) < 0.15, 1 - y[:, None], y[:, None])
    start = np.eye(2)[1 - y]
    fit = fit_joint(Labels.from_matrix(z, 2), priors=DirichletPriors(start=start), key=jax.random.key(0))
    assert fit.switching.switched and not fit.usable and "switched" in fit.warnings[0]
    assert fit_joint(Labels.from_matrix(z, 2), key=jax.random.key(0)).usable
    alone = fit_joint(Labels.from_matrix(z[:, :1], 2), y_pred=z[:, 1], key=jax.random.key(0))
    assert not alone.identified and not alone.usable
