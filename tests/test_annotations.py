"""The run-time checks of annotations work, in every test anew."""

import jax.numpy as jnp
import pytest
from jaxtyping import TypeCheckError

from jtruth.noise import Symmetric
from jtruth.noise.base import scale_errors
from tests.annotations import FIRST, new_test


@pytest.mark.parametrize("run", [1, 2])
def test_the_first_calls_of_every_test_are_checked(run):
    wrong = jnp.eye(2)  # the annotation says NumPy
    for _ in range(FIRST):
        with pytest.raises(TypeCheckError, match="scale_errors"):
            scale_errors(wrong, 0.5)
    scale_errors(wrong, 0.5)  # enough seen; the second run is another test


def test_methods_are_switched_off_and_on():
    model = Symmetric(0.1, 2)
    for _ in range(2 * FIRST):
        model.scaled(0.5)
    with pytest.raises(TypeError) as of_numpy:
        model.scaled("half")
    assert not isinstance(of_numpy.value, TypeCheckError)
    new_test()
    with pytest.raises(TypeCheckError, match="scaled"):
        model.scaled("half")
