"""One pass by blocks: what logs give, however small the products; float32 sums that grow on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtruth.learning import LabelColumns, columns_from_labels, dawid_skene_em, fit_dawid_skene
from jtruth.learning.em._steps import class_posterior, counts_of, expected
from tests.learning.crowds import from_matrix, simulate

NO = jnp.array(False)


def rows(labelers, classes, seed=0):
    """Parameters: the rows of all matrices, then the prior."""
    return jnp.asarray(np.random.default_rng(seed).dirichlet(np.ones(classes), labelers * classes + 1))


def both(data, parameters, block=64):
    """By blocks and at once."""
    return [jax.jit(expected, static_argnums=2)(data, parameters, b, NO) for b in (block, 0)]


@pytest.mark.slow
def test_blocks_are_one_block():
    """With missing labels, known classes, weights, and a last block that is not full."""
    z, y = simulate(3, size=200, labelers=5)
    gold = np.where(np.arange(200) < 20, y, -1)
    data, _ = columns_from_labels(from_matrix(z), gold=gold, merge=False)
    weight = np.random.default_rng(0).integers(0, 4, data.weight.size).astype(float)
    data = data._replace(weight=weight)
    parts, whole = both(data, rows(5, 3))
    assert not parts.in_logs
    np.testing.assert_allclose(parts.counts, whole.counts, rtol=1e-12)
    np.testing.assert_allclose(parts.log_likelihood, whole.log_likelihood, rtol=1e-13)
    found = [class_posterior(data, rows(5, 3), block, NO) for block in (64, 0)]
    np.testing.assert_allclose(*found, atol=1e-14)
    found = [counts_of(data, found[0], 15, block) for block in (64, 0)]
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_em_by_blocks_is_em():
    z, _ = simulate(4, size=200, labelers=5)
    data, _ = columns_from_labels(from_matrix(z), merge=False)
    start = np.random.default_rng(1).dirichlet(np.ones(3), data.weight.size)
    zeros = np.zeros((5, 3, 3))
    parts, whole = (
        dawid_skene_em(data, start, (zeros[0, 0], zeros), max_steps=60, tol=0.0, block=b) for b in (64, 0)
    )
    for name in ("matrices", "prior", "class_posterior", "row_labels", "path"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("error", [0.0, pytest.param(1e-8, marks=pytest.mark.slow)])
def test_products_that_are_too_small_are_left_to_logs(error):
    """Forty labels for each class: 1e-320, which a product would round; or impossible, log p = -inf."""
    code = np.tile(np.arange(80, dtype=np.int32)[:, None] * 2, (1, 70))
    code[40:, 3] += 1
    data = LabelColumns(code, np.ones(70), np.full(70, -1, np.int32))
    parameters = np.tile([[1 - error, error], [error, 1 - error]], (80, 1))
    parameters = jnp.asarray(np.concatenate([parameters, [[0.5, 0.5]]]))
    parts, whole = both(data, parameters)
    assert parts.in_logs
    np.testing.assert_allclose(parts.log_likelihood, whole.log_likelihood, rtol=1e-13)
    np.testing.assert_allclose(parts.counts, whole.counts, rtol=1e-12)
    assert np.isneginf(parts.log_likelihood) == (error == 0)
    posterior = class_posterior(data, parameters, 64, parts.in_logs)
    np.testing.assert_allclose(posterior[3], [0.5, 0.5] if error else [0, 0])


@pytest.mark.slow
def test_float32_counts_do_not_stop_at_16_million():
    """2**24 + 2**16 labels in one cell: added one by one they stay at 2**24, by blocks all are there."""
    size = 2**24 + 2**16
    with jax.enable_x64(False):
        data = LabelColumns(jnp.zeros((1, size), jnp.int32), jnp.ones(size), jnp.full(size, -1, jnp.int32))
        parameters = jnp.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
        found = jax.jit(expected, static_argnums=2)(data, parameters, 4096, NO)
        alone = jax.jit(lambda code: jnp.zeros(2).at[code].add(1.0))(data.code[0])
    assert float(alone[0]) == 2**24
    assert found.counts[:, 0].tolist() == [size, 0, size]
    assert float(found.log_likelihood) == 0


@pytest.mark.slow
def test_fit_in_float32():
    labels = from_matrix(simulate(5, size=200, labelers=5)[0])
    exact, found = fit_dawid_skene(labels), fit_dawid_skene(labels, dtype="float32", tol=1e-5)
    assert found.converged and found.matrices.dtype == found.class_posterior.dtype == np.float64
    np.testing.assert_allclose(found.matrices, exact.matrices, atol=2e-3)
    np.testing.assert_allclose(found.log_likelihood, exact.log_likelihood, rtol=1e-5)
    with pytest.raises(ValueError, match="float32 cannot tell changes below"):
        fit_dawid_skene(labels, dtype="float32")
    with pytest.raises(ValueError, match="dtype must be"):
        fit_dawid_skene(labels, dtype="float16")
