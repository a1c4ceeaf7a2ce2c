"""Keys as users pass them, and streams that are never shared by accident."""

import ast
from collections import Counter

import jax
import numpy as np
import pytest

import jtruth as jt
from jtruth._arrays import systematic
from jtruth._random import _folded, as_key, host_rng, key_words, stream, streams
from tests.source import nodes, trees


def same(a, b) -> bool:
    return key_words(a) == key_words(b)


def test_numbers_raw_keys_and_nothing_are_keys():
    typed = jax.random.key(7)
    assert as_key(typed) is typed
    raw = jax.random.PRNGKey(7)
    assert all(
        same(as_key(k), typed) for k in (7, np.int64(7), np.uint8(7), np.array(7), raw, np.asarray(raw))
    )
    assert same(as_key(), jax.random.key(0)) and same(as_key(None), as_key(0))
    assert key_words(typed) == [0, 7]
    largest = key_words(2**32 - 1)
    assert largest != key_words(0) and len(largest) == 2
    rbg = jax.random.key(3, impl="rbg")
    assert as_key(rbg) is rbg and len(key_words(rbg)) == 4


BAD = {
    "text": ("0", "key is '0' of type str"),
    "fraction": (0.5, "key is 0.5"),
    "whole float": (1.0, "key is 1.0"),
    "bool": (True, "key is True"),
    "negative": (-1, "key is -1"),
    "too large": (2**32, "key is 4294967296"),
    "list": ([0.0, 1.0], r"an array of float64 of shape \(2,\)"),
    "words below 0": ([0, -1], "give a whole number"),
    "words too large": ([0, 2**32], "give a whole number"),
    "no words": ([], "give a whole number"),
    "signed array": (np.arange(2), r"an array of int64 of shape \(2,\)"),
    "wrong number of words": (np.arange(3, dtype=np.uint32), r"an array of uint32 of shape \(3,\)"),
    "several typed keys": (jax.random.split(jax.random.key(0), 3), r"several keys of shape \(3,\)"),
    "several raw keys": (jax.random.split(jax.random.PRNGKey(0), 3), r"an array of uint32 of shape \(3, 2\)"),
}


@pytest.mark.parametrize("case", BAD)
def test_anything_else_says_what_to_give(case):
    value, message = BAD[case]
    with pytest.raises(ValueError, match=message) as caught:
        as_key(value)
    assert "give a whole number 0..4294967295, or a JAX key such as jax.random.key(0)" in str(caught.value)


def test_streams_depend_on_key_name_and_number_only():
    draws = {
        (key, name, numbers): tuple(host_rng(key, name, *numbers).integers(2**62, size=2))
        for key in (0, 1)
        for name in ("checks", "votes", "")
        for numbers in ((), (0,), (1,), (0, 0))
    }
    assert len(set(draws.values())) == len(draws)
    keys = [stream(key, name, *n) for key in (0, 1) for name in ("checks", "votes") for n in ((), (0,), (1,))]
    assert len({tuple(key_words(k)) for k in keys}) == len(keys)
    assert same(stream(jax.random.PRNGKey(4), "votes", 2), stream(4, "votes", 2))
    assert all(same(k, stream(4, "votes", n)) for n, k in enumerate(streams(4, "votes", 3)))


def test_keys_of_the_host_are_those_of_jax_bit_by_bit():
    """Two hundred folds of several keys, with numbers up to 2^32 - 1; another generator goes JAX's way."""
    rng = np.random.default_rng(0)
    for number in (0, 1, 7, 2**31, 2**32 - 1):
        ours, theirs = as_key(number), jax.random.key(number)
        assert bool(ours == theirs)
        for more in (0, 1, 2**32 - 1, *rng.integers(2**32, size=40).tolist()):
            ours, theirs = _folded(ours, more), jax.random.fold_in(theirs, np.uint32(more))
            assert bool(ours == theirs) and ours.dtype == theirs.dtype
    known = as_key(5)
    assert bool(jax.jit(lambda: stream(known, "checks", 2))() == stream(5, "checks", 2))
    other = jax.random.key(3, impl="rbg")
    assert bool(
        (jax.random.key_data(_folded(other, 5)) == jax.random.key_data(jax.random.fold_in(other, 5))).all()
    )


def test_repetitions_may_be_traced():
    traced = jax.jit(lambda n: jax.random.key_data(stream(jax.random.key(3), "step", n)))(5)
    assert np.asarray(traced).tolist() == key_words(stream(3, "step", 5))


def test_systematic_draws_come_as_often_as_their_weights_say():
    weight = np.random.default_rng(0).gamma(0.3, size=50)
    shares, often = weight / weight.sum(), np.zeros(50)
    for u in (np.arange(400) + 0.5) / 400:
        times = np.bincount(systematic(weight, 20, u), minlength=50)
        assert times.sum() == 20 and (np.abs(times - 20 * shares) < 1).all()
        often += times / 400
    np.testing.assert_allclose(often, 20 * shares, atol=2 / 400)
    by_jax = jax.jit(systematic, static_argnums=1)(jax.numpy.asarray(weight), 20, 0.3)
    assert by_jax.tolist() == systematic(weight, 20, 0.3).tolist()


def test_no_bare_salt_and_no_name_twice():
    """Generators are made in one file, and every name of a stream stands in one place."""
    makers, names = [], Counter()
    for path, tree in trees().items():
        for node, _ in nodes(tree):
            if isinstance(node, ast.Attribute) and node.attr in ("SeedSequence", "fold_in", "default_rng"):
                makers.append(path.name)
            call = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            if call in ("host_rng", "stream", "streams") and isinstance(node.args[1], ast.Constant):
                names[call, node.args[1].value] += 1
    assert set(makers) == {"_random.py"}
    assert names.total() > 20 and {n for n, times in names.items() if times > 1} == set()


def test_random_state_is_another_name_for_key():
    """scikit-learn's argument: the same number, or a generator of NumPy that draws one."""
    codes = np.random.default_rng(0).integers(0, 2, (30, 3))
    labels = jt.Labels.from_matrix(codes, 2)
    known = jt.evaluate(codes[:, 0], labels, noise=jt.noise.Symmetric(0.2, 2), random_state=5)
    assert known.key == 5 == jt.consensus(labels, random_state=5).key
    drawn = [
        jt.consensus(labels, random_state=kind(1)).key
        for kind in (np.random.default_rng, np.random.RandomState) for _ in range(2)
    ]  # fmt: skip
    assert drawn[0] == drawn[1] != drawn[2] == drawn[3]
    with pytest.raises(ValueError, match="give one of them"):
        jt.consensus(labels, key=1, random_state=1)
