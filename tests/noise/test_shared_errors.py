"""Dependent labelers: gradients, many labelers, bad parameters; likelihoods are in test_noise_models."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtruth.noise import SharedErrors
from tests.learning.crowds import from_matrix

RNG = np.random.default_rng(0)
MATRICES = RNG.dirichlet(np.ones(3), (4, 3))
SHARED = RNG.dirichlet(np.ones(3), 3)


def test_gradient_is_finite_where_everything_is_certain():
    labels = from_matrix(np.array([[0, 0], [1, -1], [0, 1]]), 2)
    for r in (0.0, 1.0):

        def at_possible(m):
            values = m.log_likelihood(labels)
            return values[0, 0] + values[1, 1] + jnp.sum(jnp.exp(values[2]))

        model = SharedErrors(np.stack([np.eye(2)] * 2), np.eye(2), r)
        np.testing.assert_array_equal(model.log_likelihood(labels)[2], -np.inf)
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(jax.jit(jax.grad(at_possible))(model)))


@pytest.mark.parametrize("r", [0.0, 0.3])
def test_many_labelers_do_not_underflow(r):
    """In float64 1500 labels have likelihood below 1e-400; compared with sums of logarithms."""
    wrong = 0.45
    matrix = np.array([[1 - wrong, wrong], [wrong, 1 - wrong]])
    z = (np.random.default_rng(5).random((1, 1500)) > wrong).astype(int)
    model = SharedErrors(np.stack([matrix] * 1500), matrix, r)
    ones = int(z.sum())
    expected = []
    for c in range(2):
        parts = []
        for s in range(2):
            count = {1: ones, 0: 1500 - ones}
            own = {k: (1 - r) * matrix[c, k] + r * (k == s) for k in (0, 1)}
            parts.append(np.log(matrix[c, s]) + sum(count[k] * np.log(own[k]) for k in (0, 1)))
        expected.append(np.logaddexp(*parts))
    labels = from_matrix(z, 2)
    np.testing.assert_allclose(model.log_likelihood(labels)[0], expected, rtol=1e-12)
    with jax.enable_x64(False):
        single = np.asarray(model.log_likelihood(labels))[0]
    np.testing.assert_allclose(single, expected, rtol=1500 * 2.0**-24)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((MATRICES, np.eye(2), 0.5), r"shared must have shape .* \(3, 3\), got \(2, 2\)"),
        ((MATRICES, 2 * SHARED, 0.5), r"shared\["),
        ((MATRICES, SHARED.T, 0.5), r"shared\[0\] sums to"),
        ((MATRICES, SHARED, 1.5), r"copying is 1\.5"),
        ((MATRICES, SHARED, [0.5, 0.5]), "copying has 2 entries but matrices is for 4 labelers"),
        ((2 * MATRICES, SHARED, 0.5), "matrices"),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(ValueError, match=message):
        SharedErrors(*arguments)
