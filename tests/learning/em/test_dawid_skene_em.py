"""The pure EM function: vmap, weights, merged samples, float32, shared programs."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtruth.learning.em.dawid_skene as starts_module
import jtruth.learning.em.matrices as em_module
from jtruth._iterate import normalised
from jtruth.learning import (
    LabelColumns,
    columns_from_labels,
    columns_from_matrix,
    dawid_skene_em,
    fit_dawid_skene,
)
from jtruth.learning.em.algorithm import e_step
from jtruth.learning.em.columns import bucket
from jtruth.learning.methods import fit_majority_vote
from tests.learning.crowds import CARIES, as_counts, caries, from_matrix, simulate
from tests.reference import dawid_skene as oracle


def test_vmap_over_weights_is_a_bootstrap():
    z, _ = simulate(12, size=30, labelers=4, present=1.0)
    columns, _ = columns_from_labels(from_matrix(z), merge=False)
    start, pseudo = fit_majority_vote(from_matrix(z)).class_posterior, np.full((4, 3, 3), 0.1)
    start = np.pad(start, ((0, columns.weight.size - 30), (0, 0)), constant_values=1 / 3)
    draws = np.random.default_rng(0).integers(0, 30, (3, 30))
    weights = np.stack([np.bincount(d, minlength=columns.weight.size).astype(float) for d in draws])

    def em(weight):
        return dawid_skene_em(
            columns._replace(weight=weight), start, (np.zeros(3), pseudo), max_steps=8, tol=0.0
        )

    result = jax.vmap(em)(weights)
    for k, draw in enumerate(draws):
        p, pi, _, path = oracle.em(as_counts(from_matrix(z[draw])), steps=8, pseudo=np.full((3, 3), 0.1))
        np.testing.assert_allclose(result.prior[k], p, rtol=1e-10)
        np.testing.assert_allclose(result.matrices[k], pi, rtol=1e-9)
        np.testing.assert_allclose(result.log_likelihood[k], path[-1], rtol=1e-11)


def test_a_step_that_lowers_the_objective_is_noticed(monkeypatch):
    # A wrong M step, which believes the class posterior less and less: what was known at the start is lost.
    right = em_module.matrices

    def wrong(data, settings):
        def m_step(params, _, slopes):
            counts = params[0] * slopes[0]
            return (normalised(0.2 * counts + 0.8 * counts.mean(axis=1, keepdims=True)),)

        return right(data, settings)._replace(m_step=m_step)

    z, y = simulate(18, present=1.0)
    monkeypatch.setattr(em_module, "matrices", wrong)
    monkeypatch.setattr(starts_module._fit, "first_guess", lambda *_: np.eye(3)[y])
    results = []

    def em(*given, max_steps, tol):
        traced_anew = jax.jit(partial(dawid_skene_em.__wrapped__, max_steps=max_steps))
        results.append(traced_anew(*given, tol=tol))
        return results[-1]

    monkeypatch.setattr(starts_module, "dawid_skene_em", em)
    with pytest.raises(RuntimeError, match="lowered the objective"):
        fit_dawid_skene(from_matrix(z), max_steps=10, tol=0.0)
    drops = -np.diff(np.asarray(results[0].path))
    assert drops.max() > 0.1
    assert float(results[0].largest_drop) == pytest.approx(drops.max(), rel=1e-12)


@pytest.mark.slow
def test_float32():
    z, _ = simulate(13, size=200, labelers=5, present=1.0)
    with jax.enable_x64(False):
        start = fit_majority_vote(from_matrix(z)).class_posterior
        zeros = jnp.zeros((5, 3, 3))
        result = dawid_skene_em(
            columns_from_matrix(z, 3), start, (zeros[0, 0], zeros), max_steps=500, tol=1e-5
        )
        assert {a.dtype for a in result} == {np.dtype(t) for t in ("float32", "int32", "bool")}
        assert result.converged and result.largest_drop == 0
    exact = fit_dawid_skene(from_matrix(z))
    np.testing.assert_allclose(result.matrices, exact.matrices, atol=2e-4)
    np.testing.assert_allclose(result.log_likelihood, exact.log_likelihood, rtol=1e-6)


def test_fit_is_float64_in_a_float32_process():
    z, _ = simulate(14)
    exact = fit_dawid_skene(from_matrix(z))
    with jax.enable_x64(False):
        fit = fit_dawid_skene(from_matrix(z))
    assert {a.dtype for a in (fit.prior, fit.matrices, fit.class_posterior, fit.path)} == {np.dtype(float)}
    assert fit.log_posterior == exact.log_posterior


@pytest.mark.slow
def test_a_second_data_set_of_about_the_same_size_does_not_compile():
    before = dawid_skene_em._cache_size()
    fit_dawid_skene(from_matrix(simulate(15, size=230, labelers=13, present=1.0)[0]), max_steps=77)
    fit_dawid_skene(from_matrix(simulate(16, size=250, labelers=13, present=1.0)[0]), max_steps=77)
    assert dawid_skene_em._cache_size() - before == 1


def test_sizes_are_rounded_up_by_less_than_a_quarter():
    assert [bucket(k) for k in (1, 8, 9, 31, 33, 1025, 4096, 4097)] == [1, 8, 10, 32, 40, 1280, 4096, 4352]


def test_impossible_samples_of_weight_zero_do_not_spoil_the_rest():
    # Sample 2 has a label that no sample with a weight has, so its likelihood is 0 under every class.
    code = np.array([[0, 1, 2]])  # one labeler, three classes
    columns = LabelColumns(code, np.array([3.0, 1.0, 0.0]), np.full(3, -1))
    start = np.array([[1.0, 0, 0], [0, 1, 0], [1 / 3, 1 / 3, 1 / 3]])
    result = dawid_skene_em(columns, start, (np.zeros(3), np.zeros((1, 3, 3))), max_steps=20, tol=1e-9)
    np.testing.assert_allclose(result.prior, [0.75, 0.25, 0])
    assert float(result.log_likelihood) == pytest.approx(3 * np.log(0.75) + np.log(0.25))
    assert np.isfinite(np.asarray(result.class_posterior)).all()


def test_equal_samples_are_merged():
    labels = caries()
    (merged, row), (apart, _) = (columns_from_labels(labels, merge=merge) for merge in (True, False))
    np.testing.assert_array_equal(merged.code[:, row], apart.code[:, :3869])
    assert merged.code.shape == (5, 32)
    assert sorted(merged.weight) == sorted(float(k) for k in CARIES.split())


@pytest.mark.parametrize("error", [0.0, 1e-8])
def test_labels_of_vanishing_probability(error):
    """Forty labels for each class: 1e-320, which a product would round; or impossible, log p = -inf."""
    code = np.tile(np.arange(80, dtype=np.int32)[:, None] * 2, (1, 70))
    code[40:, 3] += 1
    data = LabelColumns(code, np.ones(70), np.full(70, -1, np.int32))
    psi = jnp.tile(jnp.asarray([[1 - error, error], [error, 1 - error]]), (80, 1, 1))
    joint = em_module.matrices(data, (jnp.zeros(2), jnp.zeros((80, 2, 2)))).joint
    log_likelihood, posterior, slopes = jax.jit(lambda params: e_step(data, joint, params))(
        (psi, jnp.full(2, 0.5))
    )
    of_three = 40 * np.log(error) + 40 * np.log1p(-error) if error else -np.inf
    assert log_likelihood == pytest.approx(69 * (80 * np.log1p(-error) - np.log(2)) + of_three)
    np.testing.assert_allclose(posterior[3], [0.5, 0.5] if error else [0, 0])
    assert all(np.isfinite(slope).all() for slope in slopes)


def test_float32_cannot_count_what_it_cannot_hold():
    """2**24 + 1 labels in one cell, added one by one in float32, would stay at 2**24."""
    size = 2**24 + 1
    with jax.enable_x64(False), pytest.raises(ValueError, match="float32 cannot count 16777217 samples"):
        shape = jax.ShapeDtypeStruct
        data = LabelColumns(shape((1, size), np.int32), shape((size,), np.float32), shape((size,), np.int32))
        pseudo = (np.zeros(2, np.float32), np.zeros((1, 2, 2), np.float32))
        run = lambda data, start: dawid_skene_em(data, start, pseudo, max_steps=2, tol=0.0)  # noqa: E731
        jax.eval_shape(run, data, shape((size, 2), np.float32))


@pytest.mark.slow
def test_jumps_reach_the_maximum_of_plain_em(monkeypatch):
    # Labelers near chance: plain EM needs thousands of steps, and jumps must not go elsewhere.
    labels = from_matrix(simulate(2, size=300, labelers=8, classes=2, accuracy=0.35, present=1.0)[0], 2)
    fit = fit_dawid_skene(labels, tol=1e-10)
    monkeypatch.setattr(em_module, "_PLAIN_STEPS", 10**6)
    monkeypatch.setattr(starts_module, "dawid_skene_em", dawid_skene_em.__wrapped__)
    plain = fit_dawid_skene(labels, tol=1e-10, max_steps=20_000)
    assert fit.converged and plain.converged
    assert fit.num_steps < plain.num_steps / 2
    assert np.diff(fit.path).min() > -1e-9
    np.testing.assert_allclose(fit.matrices, plain.matrices, atol=1e-6)
    np.testing.assert_allclose(fit.log_likelihood, plain.log_likelihood, rtol=1e-12)


@pytest.mark.slow
def test_float32_counts_do_not_stop_at_16_million_where_there_is_float64():
    size = 2**24 + 2**16
    data = LabelColumns(
        jnp.zeros((1, size), jnp.int32), jnp.ones(size, np.float32), jnp.full(size, -1, jnp.int32)
    )
    one = jnp.ones((1, 1, 1), np.float32)
    start = jnp.ones((size, 1), np.float32)
    result = dawid_skene_em(data, start, (one[0, 0], one), max_steps=2, tol=1e-5)
    assert result.row_labels.dtype == np.float32 and result.row_labels.tolist() == [[size]]
