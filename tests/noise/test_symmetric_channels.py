"""`Symmetric` and `DifficultyFallibility`: many labelers, small errors, gradients, bad parameters."""

import math

import jax
import numpy as np
import pytest

from jtruth.noise import DifficultyFallibility, Symmetric
from tests.learning.crowds import from_matrix


def test_small_errors_keep_their_digits_in_float32():
    """log(1 - 1e-9) is -1e-9; computed as log of a rounded 1 - eps it would be 0."""
    labels = from_matrix(np.array([[1]]), 2)
    with jax.enable_x64(False):
        value = float(Symmetric(1e-9, 2).log_likelihood(labels)[0, 1])
    assert value == pytest.approx(-1e-9, rel=1e-6)


def test_gradient_of_the_error_is_the_formula():
    """d/d eps log p = wrong / eps - right / (1 - eps), summed over labels; at eps = 0 unused terms add 0."""
    labels = from_matrix(np.array([[1, 1, 0, -1]]), 2)

    def at_class_one(error):
        return Symmetric(error, 2).log_likelihood(labels)[0, 1]

    assert jax.grad(at_class_one)(0.2) == pytest.approx(1 / 0.2 - 2 / 0.8, rel=1e-13)
    agreeing = from_matrix(np.array([[1, 1, 1]]), 2)
    assert jax.grad(lambda e: Symmetric(e, 2).log_likelihood(agreeing)[0, 1])(0.0) == -3
    for certain in (0.0, 1.0):
        gradient = jax.grad(lambda e: jax.nn.softmax(Symmetric(e, 2).log_likelihood(agreeing))[0, 1])(certain)
        assert np.isfinite(gradient)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Symmetric(1.2, 2), r"error is 1\.2, not a probability"),
        (lambda: Symmetric([0.1, -0.1], 2), r"error\[1\] is -0\.1"),
        (lambda: Symmetric([[0.1]], 2), r"error must have shape .* got \(1, 1\)"),
        (lambda: Symmetric(None, 2), "error is nan"),
        (lambda: Symmetric(0.1, 1), "num_classes must be a whole number of at least 2, got 1"),
        (lambda: DifficultyFallibility([0.1, 1.5], [0.1], 2), r"difficulty\[1\] is 1\.5"),
        (lambda: DifficultyFallibility([0.1], [0.1, np.nan], 2), r"fallibility\[1\] is nan"),
        (lambda: DifficultyFallibility([[0.1]], [0.1], 2), r"difficulty must have shape"),
        (lambda: DifficultyFallibility([0.1], [[0.1]], 2), r"fallibility must have shape"),
    ],
)
def test_bad_parameters(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_wrong_number_of_samples():
    model = DifficultyFallibility([0.1, 0.2], [0.1], 2)
    with pytest.raises(ValueError, match="have 3 samples but difficulty is for 2"):
        model.log_likelihood(from_matrix(np.array([[0], [1], [0]]), 2))


@pytest.mark.parametrize(("num_labelers", "error"), [(399, 0.45), (1500, 0.45), (1500, 0.01)])
def test_many_labelers_do_not_underflow(num_labelers, error):
    """The product of 1500 probabilities near 1/2 is 1e-452; its logarithm is an ordinary number."""
    rng = np.random.default_rng(4)
    wrong = rng.random((3, num_labelers)) < error
    labels = from_matrix(np.where(wrong, 0, 1), 2)
    num_wrong = wrong.sum(axis=1)
    right_side = [k * math.log(error) + (num_labelers - k) * math.log1p(-error) for k in num_wrong]
    wrong_side = [(num_labelers - k) * math.log(error) + k * math.log1p(-error) for k in num_wrong]
    expected = np.stack([wrong_side, right_side], axis=1)
    model = Symmetric(error, 2)
    np.testing.assert_allclose(model.log_likelihood(labels), expected, rtol=1e-12)
    with jax.enable_x64(False):
        single = np.asarray(model.log_likelihood(labels))
    # Summing n terms one by one in float32 errs by at most n roundings of the running sum.
    np.testing.assert_allclose(single, expected, rtol=num_labelers * 2.0**-24 + 1e-6)
