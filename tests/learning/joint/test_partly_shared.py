"""Share of the labelers' difficulty that affects a classifier: between the two models that fix it.

The sampler is tested by enumeration in `test_gibbs`.
"""

import jax
import numpy as np
import pytest

import jtruth as jt
from jtruth._host import diagonal_rows
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.registry import ASSUMPTIONS
from jtruth.latent import Effort
from jtruth.latent.rows import merge_samples
from jtruth.learning import fit_joint
from jtruth.learning.joint import models
from jtruth.learning.joint.inputs import DirichletPriors
from jtruth.learning.joint.models import partly_shared, shared_strata
from tests.learning import crowds

KEY = jax.random.key(0)
EFFORT = Effort(burn_in=200, min_sweeps=6000, max_sweeps=12_000, max_rhat=1.1, min_ess=60, nuisance=False)


def crowd(n=300, labelers=5, seed=1):
    """Two classes; a quarter of the samples is hard for all five labelers and for the classifier."""
    rng = np.random.default_rng(seed)
    y, hard = rng.integers(0, 2, n), rng.random(n) < 0.25
    right = rng.random((n, labelers + 1)) < np.where(hard, 0.55, 0.9)[:, None]
    given = np.where(right, y[:, None], 1 - y[:, None])
    return given[:, 0], jt.Labels.from_matrix(given[:, 1:], 2)


def test_hard_samples_are_as_frequent_as_in_shared_strata(monkeypatch):
    """Sums of a Dirichlet draw are Dirichlet with summed concentrations: only rho is new."""
    y_pred, labels = crowd(n=40)
    rows = merge_samples(labels, y_pred, np.where(np.arange(40) == 3, 1, -1))
    row = diagonal_rows(2, 2, 1)
    base = crowds.one_stratum(np.ones(2), np.tile(row, (5, 1, 1)), row)
    monkeypatch.setattr(models, "_FELT", 0.2)
    whole, split = shared_strata(base, rows), partly_shared(base, rows)
    prior = split.model.stratum_prior
    np.testing.assert_allclose(prior[:, 1:].sum(axis=1), whole.model.stratum_prior[:, 1])
    np.testing.assert_allclose(prior[:, 2] / prior[:, 1:].sum(axis=1), 0.2)
    np.testing.assert_allclose(split.start_strata[1:].sum(axis=0), whole.start_strata[1])
    np.testing.assert_array_equal(split.offset, whole.offset[[0, 1, 1, 2, 3, 3]])
    seen = [rater.row_of_state.tolist() for rater in split.model.raters]
    assert seen == [[0, 1, 1, 2, 3, 3], [0, 0, 1, 2, 2, 3]]


def test_what_it_refuses(as_installed):
    _, labels = crowd(n=40)
    with pytest.raises(ValueError, match="needs a classifier: give y_pred"):
        fit_joint(labels, dependence=partly_shared, key=KEY)


@pytest.mark.slow
def test_somebody_may_vouch_for_it_whatever_the_classes_and_symbols(monkeypatch):
    y_pred, labels = crowd()
    monkeypatch.setattr(ranges, "EFFORT", EFFORT)
    found = jt.evaluate(y_pred, labels, assume="partly_shared", key=KEY)
    assert found.interval_kind == "posterior" and "an unknown part of them" in str(found)
    assert "partly_shared" not in [entry.name for entry in ASSUMPTIONS.values() if entry.listed or entry.base]
    three = jt.Labels.from_matrix(np.where(np.arange(300)[:, None] < 40, 2, labels.to_matrix()), 3)
    four = np.where(np.arange(300) % 7, y_pred, 3)
    fit = fit_joint(
        three,
        y_pred=four,
        priors=DirichletPriors(num_symbols=4),
        dependence=partly_shared,
        key=KEY,
        effort=EFFORT,
    )
    assert fit.counts.shape[1:] == (3, 4) and fit.weights.shape[1:] == (3, 3)
    assert (fit.counts.sum(axis=1) == np.bincount(four)).all()
