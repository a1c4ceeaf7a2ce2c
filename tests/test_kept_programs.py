"""Programs that an earlier process traced: the same numbers, and nobody traces them again."""

from types import FunctionType

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtruth import _cache
from jtruth._cache import kept_jit

TRACED: list[int] = []


def powers(x, weight, order=2):
    TRACED.append(order)
    return {"sum": (weight * x**order).sum(), "each": x**order}


def applied(x, function):
    return function(x)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(_cache, "_FOLDER", [tmp_path])
    monkeypatch.setattr(_cache, "_KNOWN", (__name__.split(".")[0],))
    TRACED.clear()
    return tmp_path


def traces(*args, **options):
    """How often a process that has traced nothing yet traces for this call, whose values are checked."""
    other = FunctionType(powers.__code__, globals(), "powers", powers.__defaults__)  # unknown to JAX
    before, found = len(TRACED), kept_jit("order")(other)(*args, **options)
    number, (x, weight) = len(TRACED) - before, args
    order = options.get("order", 2)
    np.testing.assert_allclose(found["each"], np.asarray(x) ** order, rtol=1e-6)
    np.testing.assert_allclose(found["sum"], (np.asarray(weight) * np.asarray(x) ** order).sum(), rtol=1e-6)
    assert found["each"].dtype == jnp.result_type(x)
    return number


def test_only_what_is_new_is_traced(folder):
    x = np.arange(6.0)
    assert [traces(x, x), traces(2 * x, x), traces(jnp.asarray(x), x)] == [1, 0, 0]
    assert [traces(x, x, order=3), traces(x, x, order=3), traces(x, x, order=2)] == [1, 0, 1]
    assert [traces(x[:4], x[:4]), traces(x.astype(np.float32), x.astype(np.float32))] == [1, 1]
    with jax.enable_x64(False):
        assert traces(x.astype(np.float32), x.astype(np.float32)) == 1
    assert len(list(folder.iterdir())) == 6


def test_half_a_file_is_traced_again_and_written(folder):
    x = np.arange(3.0)
    traces(x, x)
    (path,) = folder.iterdir()
    for size in (0, 40, 400):
        path.write_bytes(path.read_bytes()[:size])
        assert [traces(x, x), traces(x, x)] == [1, 0]


def test_transformations_and_what_has_no_name_are_left_to_jax(folder, monkeypatch):
    x = np.arange(4.0)
    function = kept_jit("order")(powers)
    np.testing.assert_array_equal(jax.vmap(function)(x[None], x[None])["sum"], [36.0])
    np.testing.assert_array_equal(jax.grad(lambda x: function(x, jnp.ones(4))["sum"])(jnp.asarray(x)), 2 * x)
    power = 3
    np.testing.assert_array_equal(kept_jit("function")(applied)(x, lambda x: x**power), x**3)
    assert traces(x, x) == 1
    (path,) = folder.iterdir()
    path.unlink()
    monkeypatch.setattr(_cache, "_KNOWN", ("jtruth",))  # functions of others may change between two runs
    assert [traces(x, x), traces(x, x)] == [1, 1] and not list(folder.iterdir())


def test_nothing_is_stored_of_a_source_that_changes(folder, monkeypatch):
    _cache._source.cache_clear()
    monkeypatch.setattr(_cache, "_BEGAN", 0.0)
    x = np.arange(4.0)
    assert [traces(x, x), traces(x, x)] == [1, 1] and not list(folder.iterdir())
