"""Algorithm 4 and its twins: reference file, independent loops, enumeration, sampling, relations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtruth.stats.poisson_binomial import pmf
from jtruth.testing import steps
from tests.reference import su_binary as su
from tests.testing.golden_cases import log_rho_of, random_case

KEY = jax.random.key(3)


def fit(step, log_rho, **options):
    start = steps.uniform_rows(log_rho.shape[1])
    return steps.iterate(step, dtype=log_rho.dtype, start=start, **{"max_steps": 50, **options})


def test_plug_in_map_equals_the_reference_file(multi3):
    case, lik, prior, y_pred = multi3
    x, y = log_rho_of(lik, prior), jnp.asarray(y_pred)
    found = fit(steps.plug_in_step(x, y), x)
    expected = case["alg4_deterministic"]
    np.testing.assert_allclose(found.confusion, expected["K"], rtol=0, atol=1e-10)
    assert int(found.num_steps) == expected["iterations"] and bool(found.converged)
    np.testing.assert_allclose(found.path[int(found.num_steps)], found.confusion)
    assert (np.asarray(found.path)[int(found.num_steps) + 1 :] == np.asarray(found.confusion)).all()
    strict = fit(steps.plug_in_step(x, y), x, tol=1e-12, max_steps=200)
    np.testing.assert_allclose(strict.confusion, case["alg4_deterministic_1e12"]["K"], rtol=0, atol=1e-10)
    assert int(strict.num_steps) == case["alg4_deterministic_1e12"]["iterations"]
    few = fit(steps.plug_in_step(x, y), x, max_steps=11)
    assert not bool(few.converged) and int(few.num_steps) == 11


@pytest.mark.parametrize(("classes", "symbols"), [(3, 3), (3, 2), (2, 4)])
def test_exact_step_equals_enumeration(classes, symbols):
    lik, prior, y_pred = random_case(50, 7, classes, symbols)
    k = np.random.default_rng(0).dirichlet(np.ones(symbols), classes)
    posterior, _ = su.enumerate_labels(lik, prior, y_pred, k=k)
    tables, p = su.count_tables(posterior, y_pred, classes, symbols)
    total = tables.sum(axis=2)
    expected = np.einsum("t,tcs->cs", p, tables / np.maximum(total, 1)[:, :, None])
    defined = p @ (total > 0)
    step = jax.jit(steps.exact_step(log_rho_of(lik, prior), jnp.asarray(y_pred)))
    found = step(jnp.asarray(k), 0)
    np.testing.assert_allclose(found, expected / defined[:, None], rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "symbols"), [(3, 5), (4, 4)])
def test_sampling_step_tends_to_the_exact_step(classes, symbols):
    """10 000 draws; 5 standard errors of 62 means: false alarm 4e-5."""
    lik, prior, y_pred = random_case(60, 60, classes, symbols)
    x, y = log_rho_of(lik, prior), jnp.asarray(y_pred)
    k = jnp.asarray(np.random.default_rng(1).dirichlet(np.ones(symbols), classes))
    tables = np.asarray(jax.jit(steps.draw_tables, static_argnums=4)(KEY, x, y, k, 10_000), float)
    assert (tables.sum((1, 2)) == 60).all() and tables.shape == (10_000, classes, symbols)
    mean, variance = steps.expected_counts(x, y, k)
    assert (np.abs(tables.mean(0) - mean) <= 5 * np.sqrt(np.asarray(variance) / 10_000) + 1e-12).all()
    rates = tables / tables.sum(2, keepdims=True)
    expected = steps.exact_step(x, y)(k, 0)
    error = np.nanstd(rates, axis=0) / 100
    assert (np.abs(np.nanmean(rates, axis=0) - expected) <= 5 * error + 1e-12).all()


@pytest.mark.parametrize(("samples", "classes", "symbols"), [(400, 2, 2), (90, 3, 2)])
def test_counts_are_drawn_from_their_distributions(samples, classes, symbols):
    """Every count's frequencies against its probability by convolution: 5 standard errors and one draw.

    False alarm below 1e-4. And their mean shares against the exact step.
    """
    rng = np.random.default_rng(samples)
    x = jnp.asarray(rng.normal(scale=3, size=(samples, classes)))
    y = jnp.asarray(rng.integers(0, symbols, samples))
    k, number = jnp.asarray(rng.dirichlet(np.ones(symbols), classes)), 20_000
    tables = np.asarray(jax.jit(steps.draw_counts, static_argnums=4)(KEY, x, y, k, number))
    assert classes > 2 or (tables.sum(1) == np.bincount(y)).all()
    p = np.exp(steps.log_testing_posterior(x, y, k))
    for cell in np.ndindex(classes, symbols):
        heads = p[y == cell[1], cell[0]]
        law, first = pmf(heads, np.ones(heads.size, int))
        often = np.bincount(tables[:, *cell], minlength=first + law.size)
        assert often.sum() == often[first : first + law.size].sum()
        miss = np.abs(often[first : first + law.size] - number * law)
        assert (miss <= 5 * np.sqrt(number * law) + 1).all()
    rates = tables / tables.sum(2, keepdims=True)
    error = rates.std(axis=0) / number**0.5
    assert (np.abs(rates.mean(axis=0) - steps.exact_step(x, y)(k, 0)) <= 5 * error).all()


run_exact = jax.jit(lambda x, y: fit(steps.exact_step(x, y), x))


@pytest.mark.slow
def test_vmap_over_data_sets_and_short_floats():
    sets = [random_case(seed, 12, 3, 3) for seed in (1, 2, 3)]
    x = jnp.stack([log_rho_of(lik, prior) for lik, prior, _ in sets])
    y = jnp.stack([jnp.asarray(y_pred) for *_, y_pred in sets])
    batch = jax.vmap(run_exact)(x, y)
    for k in range(3):
        one = run_exact(x[k], y[k])
        np.testing.assert_allclose(batch.confusion[k], one.confusion, rtol=0, atol=1e-12)
        assert batch.num_steps[k] == one.num_steps
    short = run_exact(x[0].astype(jnp.float32), y[0])
    assert short.confusion.dtype == jnp.float32
    np.testing.assert_allclose(short.confusion, run_exact(x[0], y[0]).confusion, rtol=0, atol=2e-3)
