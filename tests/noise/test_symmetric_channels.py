"""`Symmetric` and `DifficultyFallibility`: many labelers, small errors, gradients, bad parameters."""

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
