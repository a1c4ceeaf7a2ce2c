"""`climb` where gains are smaller than the rounding of the objective: steps and drops by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from jtruth._iterate import climb


def test_a_step_whose_gain_rounds_away_is_taken():
    """x halves, the objective is 1 - x^2: from x = 1e-7 on no step raises it by more than rounding."""

    def improve(x, kept):
        return 1.0 - x**2, x / 2, kept

    found = climb(improve, 1.0, lambda far, plain: far, max_steps=100, tol=1e-12, plain_steps=100)
    assert bool(found.converged) and int(found.num_steps) == 39  # 2^-40 < 1e-12 < 2^-39
    assert float(found.params) == 2.0**-39
    assert (np.diff(np.asarray(found.path)) >= 0).all() and float(found.damping) == 1


@pytest.mark.parametrize(("terms", "drop"), [(1000.0, 0.0), (1.0, 1e-12)])
def test_a_drop_counts_beyond_what_rounding_of_so_many_terms_can_do(terms, drop):
    """64 eps a term: 1.4e-11 of 1000 terms, 2.8e-14 of two; every step lowers the objective by 1e-12."""

    def improve(x, kept):
        return 1.0 - 1e-12 * x, x + 1, kept

    found = climb(
        improve, 0.0, lambda far, plain: far, max_steps=5, tol=0.0, plain_steps=9, terms=jnp.array(terms)
    )
    assert float(found.params) == 5 and float(found.largest_drop) == pytest.approx(drop, rel=1e-3)
