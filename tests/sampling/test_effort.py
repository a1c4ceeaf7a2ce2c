"""Effort is counted in work: what a clock says changes nothing, and data that are too large are refused."""

import time
import tracemalloc

import jax
import numpy as np
import pytest

import jtruth as jt
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions import ranges, registry
from jtruth.evaluation.assumptions.registry import ASSUMPTIONS, entries
from jtruth.learning import fit_joint, fit_random_effect
from jtruth.learning.joint import random_effect as module
from jtruth.learning.joint._random_effect_density import Density
from jtruth.learning.joint._random_effect_scale import Arrow, Whole, curvature_scale, find_mode
from jtruth.learning.joint._rows import merge_samples
from jtruth.sampling import Convergence, Effort, TooLarge, Watch
from jtruth.sampling.effort import FEWEST, diagnose, good, limits, next_target

KEY = jax.random.key(3)


def crowd(size=60, labelers=4, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(size) < 0.4).astype(int)
    z = np.where(rng.random((size, labelers)) < 0.8, y[:, None], 1 - y[:, None])
    return jt.Labels.from_matrix(z, 2), np.where(rng.random(size) < 0.85, y, 1 - y)


@pytest.mark.parametrize("fit", [fit_joint, fit_random_effect])
def test_a_slow_machine_gives_the_same_draws(fit, monkeypatch):
    """A clock on which every look takes an hour; on cd70ba6 it ended the run."""
    labels, y_pred = crowd()
    effort = Effort(chains=4, min_sweeps=800, max_sweeps=1600, min_ess=1e9)
    calm = fit(labels, y_pred=y_pred, key=KEY, effort=effort)
    now = iter(range(0, 10**9, 3600))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(now)))
    busy = fit(labels, y_pred=y_pred, key=KEY, effort=effort)
    np.testing.assert_array_equal(calm.counts, busy.counts)
    np.testing.assert_array_equal(calm.matrices, busy.matrices)
    assert busy.convergence.stopped_by == calm.convergence.stopped_by == "max_sweeps"
    limited = fit(labels, y_pred=y_pred, key=KEY, effort=effort._replace(max_seconds=1.0))
    assert limited.convergence.stopped_by == "max_seconds" and "max_seconds" in limited.warnings[-1]


def test_sweeps_follow_the_size_of_the_data():
    effort = Effort(max_work=1e6, burn_in=100, max_sweeps=8000, min_sweeps=400)
    small, middle, large = (limits(effort, 4, numbers) for numbers in (10, 500, 10_000))
    assert small == (100, 200, 2000, False)  # 8000 sweeps of 4 chains cost less than the work
    assert middle == (100, 200, 400, True)  # 500 sweeps of 4 chains, burn-in included
    assert large == (FEWEST, FEWEST, FEWEST, True)
    assert limits(effort, 4, 500, before=5e5) == (83, 167, 167, True)  # a third of it is burn-in
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


def test_the_next_look_is_where_the_worst_quantity_should_be_good():
    """Multiples of 50 sweeps; half of R-hat - 1, or twice the ESS, asks for twice as many."""
    effort = Effort(min_ess=400, max_rhat=1.01)
    assert next_target(100, {"a": 1.0, "b": np.nan}, {"a": 390.0, "b": np.nan}, effort) == 150
    assert next_target(100, {"a": 1.0}, {"a": 200.0}, effort) == 250  # a tenth more than twice, rounded up
    assert next_target(100, {"a": 1.02}, {"a": 900.0}, effort) == 250
    assert next_target(100, {"a": 3.0}, {"a": 1.0}, effort) == 300


def test_burn_in_is_short_where_all_chains_start_at_the_mode():
    """Easy data: 50 sweeps, and looks at multiples of 50 from 200 on. Half of the chains elsewhere: 250."""
    labels, y_pred = crowd(size=200, labelers=6)
    done = fit_joint(labels, y_pred=y_pred, key=KEY, effort=Effort(nuisance=False)).convergence
    assert done.converged and done.burn_in == 50 and done.num_sweeps % 50 == 0
    assert min(done.ess.values()) >= 400
    assert limits(Effort(), 4, 10, elsewhere=True).burn_in == 250
    assert limits(Effort(burn_in=20), 4, 10, elsewhere=True).burn_in == 20


@pytest.mark.parametrize("fit", [fit_joint, fit_random_effect])
def test_spent_work_is_said(fit):
    labels, y_pred = crowd()
    found = fit(labels, y_pred=y_pred, key=KEY, effort=Effort(max_work=1.0))
    assert found.convergence.stopped_by == "max_work" and not found.converged
    assert "stopped by max_work" in found.warnings[-1]
    with pytest.raises(TooLarge, match="too large for this model"):
        fit(labels, y_pred=y_pred, key=KEY, effort=Effort(max_work=1.0, give_up=True))


def test_a_model_that_is_too_large_leaves_the_range_by_name(monkeypatch):
    labels, y_pred = crowd()
    data = inputs.read(y_pred, labels, None, None, None, 1)
    monkeypatch.setattr(ranges, "EFFORT", Effort(max_work=2e7, min_sweeps=400, min_ess=1, max_rhat=9))
    found, doubts = ranges.members([e for e in entries(data) if e.shown], data, KEY)
    assert [m.name for m in found] == ["majority_vote", "independent", "labeler_strata", "shared_strata"]
    (doubt,) = [text for text in doubts if "random_effect" in text]
    assert "which may be narrower than with it: the data are too large for this model" in doubt


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
    assert (
        sum(
            "is left out of the range, which may be narrower than with it: The sampler did not converge"
            in text
            for text in doubts
        )
        == 2
    )
    found, kept = ranges.members([ASSUMPTIONS[name] for name in names], data, KEY, keep_all=True)
    assert [m.name for m in found] == list(names) and not any("left out" in text for text in kept)
    assert sum(text.endswith("The sampler did not converge.") for text in kept) == 2
    found, doubts = ranges.members([ASSUMPTIONS[name] for name in ("majority_vote", *sorted(bad))], data, KEY)
    assert [m.name for m in found] == ["majority_vote", *sorted(bad)]
    assert [text.split(":")[0] for text in doubts] == ["model 'labeler_strata'", "model 'shared_strata'"]


@pytest.mark.slow
def test_one_sample_with_many_labelers_fits_into_memory():
    """10 000 labelers were a MemoryError of 44.7 GiB on cd70ba6, which cut its arrays by rows only."""
    rng = np.random.default_rng(0)
    z = (rng.random((1, 300)) < 0.7).astype(int)
    tracemalloc.start()
    seen = []
    fit = fit_random_effect(
        jt.Labels.from_matrix(z, 2), y_pred=[1], key=KEY, watch=Watch(lambda d, p: seen.append(d)),
        effort=Effort(chains=4, max_work=1.0, max_bytes=2_000_000),
    )  # fmt: skip
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3e7 and fit.convergence.stopped_by == "max_work"
    assert seen == [100, 200, 300, 400]  # 25 transitions of 4 chains each


def test_scale_of_many_labelers_is_close_to_the_whole_curvature(monkeypatch):
    """The arrow leaves out what pairs of labelers have in common: widths stay within a factor of 3."""
    labels, y_pred = crowd(size=300, labelers=6)
    density = Density(merge_samples(labels, y_pred, None), None)
    mode = find_mode(density)
    whole = curvature_scale(density, mode)
    monkeypatch.setattr("jtruth.learning.joint._random_effect_scale.MOST_WHOLE", 0)
    arrow = curvature_scale(density, mode)
    unit = np.eye(density.size)
    root = arrow.apply(unit).T
    np.testing.assert_allclose(arrow.apply_transposed(unit), root, atol=1e-12)  # R' is the transposed of R
    assert isinstance(whole, Whole) and isinstance(arrow, Arrow)
    inverse = np.linalg.inv(whole.root)
    values = np.linalg.eigvalsh(root.T @ inverse.T @ inverse @ root)
    assert values.min() > 1 / 9 and values.max() < 9


@pytest.mark.slow
def test_arrow_and_whole_scale_draw_from_one_law(monkeypatch):
    """Means differ by less than 5 Monte Carlo errors: a false alarm in 1 of 10 000."""
    labels, y_pred = crowd(size=200, labelers=4, seed=2)
    effort = Effort(min_ess=200, max_rhat=1.05, nuisance=False)
    found = []
    for most in (100, 0):
        monkeypatch.setattr("jtruth.learning.joint._random_effect_scale.MOST_WHOLE", most)
        fit = fit_random_effect(labels, y_pred=y_pred, key=jax.random.key(most), effort=effort)
        assert fit.converged
        found.append(fit)
    for part in (lambda f: f.prior[:, 1], lambda f: f.counts[:, 1, 1], lambda f: f.classifier[:, 0, 0]):
        one, two = (part(f).astype(float) for f in found)
        error = np.sqrt((one.var() + two.var()) / 200)
        assert abs(one.mean() - two.mean()) < 5 * error


def test_chains_that_start_in_the_mirror_go_on_from_the_others():
    """On cd70ba6 one of 16 chains in the mirror image took the model out of the range, by luck of the key."""
    labels, y_pred = crowd(size=40)
    rows = merge_samples(labels, y_pred, None)
    density = Density(rows, None)
    mode = find_mode(density)
    mover = module.HmcMover(density, rows, mode, curvature_scale(density, mode), 4, False, 100)
    chain = mover.start(np.random.default_rng(0))
    mirror = mode.copy()
    mirror[-8:-6], mirror[-4:-2] = -3.0, -3.0  # everybody wrong
    chain["state"][2] = mirror
    settled = mover.settle(chain)
    np.testing.assert_array_equal(settled["state"][2], chain["state"][0])
    assert settled["value"][2] == chain["value"][0]
    np.testing.assert_array_equal(settled["state"][[0, 1, 3]], chain["state"][[0, 1, 3]])
    every = chain | {"state": np.tile(mirror, (4, 1))}
    assert mover.settle(every) is every  # all of them: for the guard to say
