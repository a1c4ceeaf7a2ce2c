"""Dawid-Skene likelihoods at their limits, and the checks of its constructor."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtruth.noise import ConfusionMatrices
from jtruth.noise.base import draw_rows
from tests.learning.crowds import from_matrix

GOOD = [[0.9, 0.1], [0.2, 0.8]]


@pytest.mark.parametrize(
    ("matrices", "message"),
    [
        (GOOD, r"shape \(labelers, classes, symbols\).* \(2, 2\)"),
        ([[[0.5, 0.5], [0.2, 0.8], [0.3, 0.7]]], r"\(1, 3, 2\)"),
        ([[[1.0]]], "2 or more classes"),
        ([GOOD, [[0.9, 0.2], [0.2, 0.8]]], r"matrices\[1, 0\] sums to 1\.1"),
        ([GOOD, [[0.9, 0.1], [0.2, 0.8 + 2e-6]]], r"matrices\[1, 1\] sums to 1\.000002"),
        ([[[1.1, -0.1], [0.2, 0.8]]], r"matrices\[0, 0, 0\] is 1\.1, not a probability"),
        ([[[np.nan, 0.1], [0.2, 0.8]]], r"matrices\[0, 0, 0\] is nan"),
        ([[[9, 1], [2, 8]]], r"matrices\[0, 0, 0\] is 9\.0"),
        ([[[0.9, 0.1], [0.2]]], "numbers in a rectangular array"),
        ("abc", "numbers"),
    ],
)
def test_bad_matrices(matrices, message):
    with pytest.raises(ValueError, match=message):
        ConfusionMatrices(matrices)


def test_parameters_keep_float64_when_x64_is_off():
    matrices = np.array([GOOD]) + np.array([1e-12, -1e-12])
    labels = from_matrix(np.array([[0]]), 2)
    with jax.enable_x64(False):
        model = ConfusionMatrices(matrices)
        assert model.log_likelihood(labels).dtype == jnp.float32
    np.testing.assert_array_equal(model.matrices, matrices)
    assert float(model.log_likelihood(labels)[0, 0]) == np.log(matrices[0, 0, 0])


def test_traced_parameters_are_accepted():
    labels = from_matrix(np.array([[0, 1]]), 2)

    @jax.jit
    def f(logits):
        return ConfusionMatrices(jax.nn.softmax(logits, axis=2)).log_likelihood(labels)

    logits = np.log(np.array([GOOD, GOOD]))
    np.testing.assert_allclose(np.exp(f(logits)), [[0.9 * 0.1, 0.2 * 0.8]], rtol=1e-13)
    with pytest.raises(ValueError, match="shape"):
        f(logits[0][:, :, None])


def test_rows_are_drawn_by_their_law():
    """Shares of 40 000 draws within 5 standard errors, 18 of them: false alarm 1e-5. 0 is never drawn."""
    rows = np.array([[0.1, 0.7, 0.2, 0, 0, 0], [0, 0, 1 / 3, 1 / 3, 0, 1 / 3], [0, 1e-3, 0, 0, 0.999, 0]])
    many = jnp.asarray(np.repeat(rows[None], 40_000, axis=0))
    drawn = np.asarray(draw_rows(jax.random.key(5), many))
    share = (drawn[:, :, None] == np.arange(6)).mean(axis=0)
    assert (np.abs(share - rows) <= 5 * np.sqrt(rows * (1 - rows) / 40_000)).all()
    long = np.zeros((1, 40))  # more than are added up without a loop; sums that round
    long[0, 3:37:2] = 1 / 17
    many = jnp.asarray(np.repeat(long, 20_000, axis=0), jnp.float32)
    drawn = np.asarray(draw_rows(jax.random.key(6), many)).tolist()
    assert set(drawn) == set(range(3, 37, 2))


def test_gradient_counts_and_is_zero_where_the_probability_is_zero():
    """d sum log-likelihood / d psi[t, c, k] = (number of labels k of labeler t) / psi[t, c, k]."""
    rng = np.random.default_rng(6)
    z, matrices = rng.integers(-1, 3, (30, 4)), rng.dirichlet(np.ones(3), (4, 3))
    matrices[0] = [[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]]
    labels = from_matrix(z, 3)

    def total(m):
        values = m.log_likelihood(labels)
        return jnp.sum(jnp.where(jnp.isfinite(values), values, 0.0))

    gradient = jax.grad(total)(ConfusionMatrices(matrices)).matrices
    given = ConfusionMatrices(matrices).log_likelihood(labels)
    expected = np.zeros_like(matrices)
    for i, row in enumerate(z):
        for t, label in enumerate(row):
            for c in range(3):
                if label >= 0 and np.isfinite(given[i, c]) and matrices[t, c, label] > 0:
                    expected[t, c, label] += 1 / matrices[t, c, label]
    np.testing.assert_allclose(gradient, expected, rtol=1e-12)
    assert gradient[0, 0, 1] == 0
