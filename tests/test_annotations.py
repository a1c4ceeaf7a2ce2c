"""The executed annotations fire, in every test anew."""

import jax.numpy as jnp
import pytest
from jaxtyping import TypeCheckError, jaxtyped

from jtruth.noise import Symmetric
from jtruth.noise.base import scale_errors
from tests.annotations import FIRST, first_calls, new_test


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


def test_results_are_checked_and_inner_functions_always():
    @jaxtyped(typechecker=first_calls)
    def half(number: int) -> int:
        return number / 2

    for _ in range(2 * FIRST):
        with pytest.raises(TypeCheckError, match="return value"):
            half(1)


def test_of_functions_made_again_and_again_only_the_first_are_checked():
    def made():
        @jaxtyped(typechecker=first_calls)
        def half(number: int) -> int:
            return number / 2

        return half

    for _ in range(FIRST):
        with pytest.raises(TypeCheckError, match="return value"):
            made()(1)
    assert made()(1) == 0.5
