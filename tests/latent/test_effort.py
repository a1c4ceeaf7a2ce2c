"""Effort is measured in work, not by a clock, and data that are too large are refused."""

import time
from functools import partial

import jax
import numpy as np
import pytest

import jtruth as jt
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions import ranges, registry
from jtruth.evaluation.assumptions.registry import ASSUMPTIONS, entries
from jtruth.latent import Effort, TooLarge
from jtruth.latent.walk import FEWEST, Convergence, diagnose, good, limits, next_target
from jtruth.learning import DirichletPriors, fit_joint
from tests.learning.crowds import from_votes
from tests.test_checkpoint import small

KEY = jax.random.key(3)


def crowd(size=60, labelers=4, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(size) < 0.4).astype(int)
    z = np.where(rng.random((size, labelers)) < 0.8, y[:, None], 1 - y[:, None])
    return jt.Labels.from_matrix(z, 2), np.where(rng.random(size) < 0.85, y, 1 - y)


def test_a_slow_machine_gives_the_same_draws(monkeypatch):
    """A clock on which every look takes an hour."""
    labels, y_pred = crowd()
    effort = Effort(min_sweeps=800, max_sweeps=4000, min_ess=1e9)
    fit = partial(fit_joint, labels, y_pred=y_pred, key=KEY, effort=effort, priors=from_votes(labels))
    calm = fit()
    now = iter(range(0, 10**9, 3600))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(now)))
    busy = fit()
    np.testing.assert_array_equal(calm.counts, busy.counts)
    np.testing.assert_array_equal(calm.matrices, busy.matrices)
    assert busy.convergence.stopped_by == calm.convergence.stopped_by == "max_sweeps"


def test_sweeps_follow_the_size_of_the_data():
    effort = Effort(max_work=1e6, burn_in=100, max_sweeps=8000, min_sweeps=400)
    small, middle, large = (limits(effort, 4, numbers) for numbers in (10, 500, 10_000))
    assert small == (100, 200, 2000, False)  # 8000 sweeps of 4 chains cost less than the work
    assert middle == (100, 200, 400, True)  # 500 sweeps of 4 chains, burn-in included
    assert large == (FEWEST, FEWEST, FEWEST, True)
    assert limits(effort._replace(max_work=5e5), 4, 500) == (83, 167, 167, True)  # a third of it is burn-in
    with pytest.raises(TooLarge, match=r"too large for this model: 100 sweeps of 4 chains compute 4e\+06"):
        limits(effort._replace(give_up=True), 4, 10_000)


def test_ends_of_intervals_are_looked_at_where_an_effort_says_so():
    """The ESS that decides is then that of the worse end, never more than that of the middle."""
    draws = {"x": np.random.default_rng(0).normal(size=(4, 500))}
    draws["x"][0, 100:140] = -3
    middle, ends = diagnose(draws)[1]["x"], diagnose(draws, True)[1]["x"]
    assert ends < 0.3 * middle
    effort = Effort(min_ess=1.1 * ends, max_rhat=1.2)
    assert good(*diagnose(draws), effort) and not good(*diagnose(draws, True), effort)
    assert good(*diagnose(draws | {"still": np.ones((4, 500))}), effort)  # what never changes has converged


def test_the_next_look_is_where_the_worst_quantity_should_be_good():
    """Multiples of 50 sweeps; half of R-hat - 1, or twice the ESS, asks for twice as many."""
    effort = Effort(min_ess=400, max_rhat=1.01)
    assert next_target(100, {"a": 1.0, "b": np.nan}, {"a": 390.0, "b": np.nan}, effort) == 150
    assert next_target(100, {"a": 1.0}, {"a": 200.0}, effort) == 250  # a tenth more than twice, rounded up
    assert next_target(100, {"a": 1.02}, {"a": 900.0}, effort) == 250
    assert next_target(100, {"a": 3.0}, {"a": 1.0}, effort) == 300


def test_burn_in_is_short_where_all_chains_start_at_the_mode():
    """Easy data: 50 sweeps, and looks at multiples of 50 from 200 on. Half of the chains apart: 250."""
    labels, y_pred = crowd(size=200, labelers=6)
    options = {"effort": Effort(nuisance=False), "priors": from_votes(labels)}
    done = fit_joint(labels, y_pred=y_pred, key=KEY, **options).convergence
    assert done.converged and done.burn_in == 50 and done.num_sweeps % 50 == 0
    assert min(done.ess.values()) >= 400
    assert limits(Effort(), 4, 10, apart=True)[0] == 250
    assert limits(Effort(burn_in=20), 4, 10, apart=True)[0] == 20


@pytest.mark.parametrize(("dependence", "data"), [("independent", crowd), ("random_effect", small)])
def test_spent_work_is_said(dependence, data):
    """By Gibbs sampling and by tempering."""
    labels, y_pred = data()
    priors = from_votes(labels) if dependence == "independent" else DirichletPriors()
    fit = partial(fit_joint, dependence=dependence, priors=priors)
    found = fit(labels, y_pred=y_pred, key=KEY, effort=Effort(max_work=1.0, min_ess=1e9))
    assert found.convergence.stopped_by == "max_work" and not found.converged
    assert "stopped by max_work" in found.warnings[-1]
    with pytest.raises(TooLarge, match="too large for this model"):
        fit(labels, y_pred=y_pred, key=KEY, effort=Effort(max_work=1.0, give_up=True))


@pytest.mark.usefixtures("few_lineages")
def test_a_model_that_is_too_large_leaves_the_range_by_name(monkeypatch):
    labels, y_pred = crowd()
    data = inputs.read(y_pred, labels, None, None, None, 1)
    monkeypatch.setattr(ranges, "EFFORT", Effort(max_work=1e8, min_sweeps=400, min_ess=1, max_rhat=9))
    two = [entry for entry in entries(data) if entry.name in ("independent", "random_effect")]
    found, doubts = ranges.members(two, data, KEY)
    assert [m.name for m in found] == ["independent"]
    (doubt,) = [text for text in doubts if "random_effect" in text]
    assert doubt.startswith("Model 'random_effect' is left out: the data are too large for this model")


@pytest.mark.slow
def test_members_whose_chains_disagree_leave_unless_nothing_else_is_left(monkeypatch):
    labels, y_pred = crowd()
    data = inputs.read(y_pred, labels, None, None, None, 1)
    bad = {"labeler_strata", "shared_strata"}
    fit = registry.fit_joint

    def spoiled(*args, dependence, **options):
        found = fit(*args, dependence=dependence, **options)
        if dependence not in bad:
            return found
        worse = Convergence(False, "max_work", {"prior": 1.2}, {"prior": 60.0}, 400, 50, 0.0)
        return found._replace(convergence=worse, warnings=("The sampler did not converge.",))

    monkeypatch.setattr(registry, "fit_joint", spoiled)
    monkeypatch.setattr(ranges, "EFFORT", Effort(min_sweeps=400, max_sweeps=400, min_ess=1, max_rhat=9))
    names = ("majority_vote", "independent", "labeler_strata", "shared_strata")
    found, doubts = ranges.members([ASSUMPTIONS[name] for name in names], data, KEY)
    assert [m.name for m in found] == ["majority_vote", "independent"]
    assert sum("is left out: The sampler did not converge" in text for text in doubts) == 2
    found, kept = ranges.members([ASSUMPTIONS[name] for name in names], data, KEY, keep_all=True)
    assert [m.name for m in found] == list(names) and not any("left out" in text for text in kept)
    assert sum(text.endswith("The sampler did not converge.") for text in kept) == 2
    found, doubts = ranges.members([ASSUMPTIONS[name] for name in ("majority_vote", *sorted(bad))], data, KEY)
    assert [m.name for m in found] == ["majority_vote", *sorted(bad)]
    assert [text.split(":")[0] for text in doubts] == ["model 'labeler_strata'", "model 'shared_strata'"]
