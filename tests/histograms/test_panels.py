"""U-statistics of several labels against the listing of all subsets, and their expectations."""

from itertools import combinations

import jax
import numpy as np
import pytest

from jtruth import histograms as hist

COUNTS = np.array([[3, 1, 2], [5, 0, 1], [0, 7, 0], [1, 1, 1]])
KERNELS = {
    "unanimity": (hist.unanimity, lambda h: float(h.max() == h.sum())),
    "majority": (hist.majority_strength, lambda h: h.max() / h.sum()),
    "entropy": (hist.panel_entropy, lambda h: -sum(x / h.sum() * np.log(x / h.sum()) for x in h if x)),
}


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("ready, phi", KERNELS.values(), ids=KERNELS)
def test_moments_equal_the_mean_over_subsets(ready, phi, size):
    h = hist.from_counts(COUNTS)
    weights = hist.label_weights(h, size)
    found = hist.panel_moments(ready(size), weights)
    general = hist.panel_moments(hist.any_kernel(phi, size, 3), weights)
    for i, row in enumerate(COUNTS):
        labels = np.repeat(np.arange(3), row)
        values = [phi(np.bincount(s, minlength=3)) for s in combinations(labels, size)]
        np.testing.assert_allclose(
            [found.mean[i], found.square[i]], [np.mean(values), np.mean(np.square(values))]
        )
        loss = hist.statistic_loss(found, np.full(4, 0.3))[i]
        np.testing.assert_allclose(loss, np.mean((np.array(values) - 0.3) ** 2))
    np.testing.assert_allclose(general, found, atol=1e-14)


def test_disagreement_is_the_kernel_of_two():
    h = hist.from_counts(COUNTS)
    pair = hist.panel_moments(hist.unanimity(2), hist.label_weights(h, 2)).mean
    np.testing.assert_allclose(hist.disagreement(h), 1 - pair, atol=1e-15)


def test_too_few_labels_are_nan():
    found = hist.panel_moments(hist.unanimity(4), hist.label_weights(hist.from_counts(COUNTS), 4)).mean
    assert np.isnan(found).tolist() == [False, False, False, True]


def test_predicted_panels():
    """Multinomial and Dirichlet panels: the limit of many labels, the closed form (71), and each other."""
    z = np.array([[0.5, 0.3, 0.2], [0.9, 0.1, 0.0]])
    kernel = hist.majority_strength(3)
    multinomial = hist.panel_moments(kernel, hist.multinomial_weights(z, 3))
    many = hist.panel_moments(kernel, hist.label_weights(hist.from_counts(z * 10**6), 3))
    np.testing.assert_allclose(multinomial, many, atol=1e-5)
    for alpha in (1e-6, 0.7, 1e9):
        a = np.full(2, alpha)
        pair = hist.panel_moments(hist.unanimity(2), hist.dirichlet_weights(z, a, 2)).mean
        np.testing.assert_allclose(1 - pair, hist.disagreement_probability(z, a), atol=1e-12)
    sharp = hist.panel_moments(kernel, hist.dirichlet_weights(z, np.full(2, 1e9), 3))
    np.testing.assert_allclose(sharp, multinomial, atol=1e-8)
    slope = jax.grad(lambda a: hist.panel_moments(kernel, hist.dirichlet_weights(z, a, 3)).mean.sum())
    assert (np.asarray(slope(np.ones(2))) < 0).all()  # the surer, the weaker the majority
