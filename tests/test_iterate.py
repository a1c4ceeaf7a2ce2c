"""What every climb shares: rows stay distributions."""

import jax.numpy as jnp
import numpy as np

from jtruth._iterate import inside_simplex, normalised


def test_a_jump_stays_inside_the_simplex_of_every_row():
    """Rows are the last axis, whatever stands before; nothing falls below a tenth of the plain step."""
    rng = np.random.default_rng(0)
    for shape in ((3,), (2, 3), (4, 2, 3)):
        plain = rng.dirichlet(np.ones(3), shape[:-1])
        far = plain + rng.normal(0, 0.5, shape)
        found = np.asarray(inside_simplex(jnp.asarray(far), plain))
        least = np.maximum(far, 0.1 * plain)
        np.testing.assert_allclose(found, least / least.sum(axis=-1, keepdims=True), rtol=1e-6)


def test_rows_of_counts_become_distributions():
    rows = jnp.asarray([[[1.0, 3.0], [0.0, 0.0]], [[2.0, 0.0], [5.0, 5.0]]])
    np.testing.assert_allclose(normalised(rows), [[[0.25, 0.75], [0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]])
