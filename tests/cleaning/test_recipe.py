"""The recipe "Add a learner" of docs/extending.md, followed word for word: cleaning takes it as its own."""

import numpy as np
import pytest
from jax import random

import jtruth as jt
from jtruth.cleaning import ask, clean, start
from tests.source import recipes

FILE = recipes("NearestMeans")[0]
NOISE = jt.noise.Symmetric(0.3, 2)


@pytest.fixture(scope="module")
def learner():
    names = {}
    exec(FILE, names)
    return names["NearestMeans"]()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 60)
    x = rng.standard_normal((60, 2)) + np.outer(y, [3.0, 0])
    z = NOISE.sample(random.key(0), y, np.ones((60, 1), bool))
    return x, y, jt.Labels.from_matrix(np.asarray(z), 2)


def test_its_means_are_those_of_the_posterior(learner, data):
    x, _, labels = data
    p = np.asarray(jt.class_posterior(np.asarray(NOISE.log_likelihood(labels)), np.array([0.5, 0.5])))
    state = start(x, labels, NOISE, [0.5, 0.5], learner=learner, strategy="uncertainty")
    by_class = [np.average(x, axis=0, weights=p[:, c]) for c in (0, 1)]
    np.testing.assert_allclose(state.model, by_class, rtol=1e-9)


@pytest.mark.parametrize("strategy", ["uncertainty", "emi"])
def test_it_asks_and_in_the_end_all_are_clean(learner, data, strategy):
    x, y, labels = data
    begun = start(x, labels, NOISE, [0.5, 0.5], learner=learner, strategy=strategy)
    state = clean(begun, lambda i: int(y[i]), len(y))
    np.testing.assert_allclose(state.model, [x[y == c].mean(axis=0) for c in (0, 1)], rtol=1e-9)
    few = clean(begun, lambda i: int(y[i]), 5)
    assert np.abs(few.model - state.model).sum() < np.abs(begun.model - state.model).sum()


def test_what_needs_derivatives_says_so(learner, data):
    x, _, labels = data
    state = start(x, labels, NOISE, [0.5, 0.5], learner=learner)
    with pytest.raises(ValueError, match="NearestMeans has no derivatives"):
        ask(state._replace(strategy="risk"))
