"""Samples drawn by XLA are those that NumPy draws from the same key: states, counts, whole fits."""

import jax
import numpy as np
import pytest

import jtruth as jt
from jtruth.learning import fit_joint
from jtruth.sampling import Effort, Watch, device, gibbs, kernel

SHORT = Effort(chains=4, burn_in=20, min_sweeps=160, max_sweeps=160)


def crowd(size=120, labelers=6, classes=3, present=0.6, seed=0):
    """Labels of which some samples have none, one labeler labels twice, and some patterns are repeated."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, size)
    y_pred = np.where(rng.random(size) < 0.8, y, rng.integers(0, classes, size))
    z = np.where(rng.random((size, labelers)) < 0.7, y[:, None], rng.integers(0, classes, (size, labelers)))
    z[rng.random(z.shape) > present] = -1
    return jt.Labels.from_matrix(z, classes), y_pred, np.where(np.arange(size) < 10, y, -1)


@pytest.fixture(scope="module", params=["independent", "shared_strata", "copying"])
def problem(request):
    """The flattened problem of a fit."""
    labels, y_pred, gold = crowd()
    seen = []

    def stop(model, observed):
        seen.append(kernel.flatten(model, observed))
        raise InterruptedError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gibbs, "kernel", type("kernel", (), {**vars(kernel), "flatten": staticmethod(stop)}))
        with pytest.raises(InterruptedError):
            fit_joint(labels, y_pred=y_pred, gold=gold, dependence=request.param, key=jax.random.key(0))
    return seen[0]


def by_numpy(problem, log_theta, rng):
    p = kernel.state_probabilities(problem, log_theta)
    return kernel.count_drawn(problem, kernel.draw_states(problem, p, rng)), p.sum(axis=1)


def test_the_same_draws(problem):
    assert 0 < problem.num_single < problem.multiplicity.size  # both kinds of rows
    samples = device.samples_of(problem, True)
    rng = np.random.default_rng(1)
    for seed in range(3):
        alpha = np.repeat(problem.concentration[None] + 2.0, 4, axis=0)
        log_theta = kernel.draw_dirichlet_logs(problem, alpha, rng)
        found = device.draw(samples, log_theta, np.random.default_rng(seed))
        expected = by_numpy(problem, log_theta, np.random.default_rng(seed))
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_allclose(found[1], expected[1], atol=1e-13)


def test_things_seen_several_times_count_several_times(problem):
    """As where one sample stands for several labels of one kind."""
    doubled = problem.design.copy()
    doubled.data[: problem.design[: problem.num_single].nnz : 3] = 2.0
    twice = problem._replace(design=doubled, single=doubled[: problem.num_single].T.tocsr())
    log_theta = kernel.draw_dirichlet_logs(
        twice, np.repeat(twice.concentration[None] + 2.0, 2, axis=0), np.random.default_rng(0)
    )
    found = device.draw(device.samples_of(twice, True), log_theta, np.random.default_rng(3))
    expected = by_numpy(twice, log_theta, np.random.default_rng(3))
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], atol=1e-13)


def test_products_that_underflow_are_left_to_logs(problem):
    """Nothing is drawn then, so NumPy goes on with the same numbers."""
    samples, rng = device.samples_of(problem, True), np.random.default_rng(0)
    extreme = np.where(np.arange(problem.concentration.size) % 2, -800.0, -1e-3)[None]
    assert device.draw(samples, extreme, rng) is None
    assert rng.random() == np.random.default_rng(0).random()


def test_where_it_is_used(problem):
    assert device.samples_of(problem) is None  # too few
    assert device.samples_of(problem, False) is None
    wide = problem.design.copy()
    wide.data[: problem.design[:1].nnz] = 101.0  # one sample with more than a product can hold
    assert device.samples_of(problem._replace(design=wide), True) is None


@pytest.mark.parametrize("dependence", ["shared_strata", pytest.param("independent", marks=pytest.mark.slow)])
def test_a_fit_is_the_same(dependence):
    labels, y_pred, gold = crowd(size=60)
    fits = [
        fit_joint(
            labels, y_pred=y_pred, gold=gold, dependence=dependence, key=jax.random.key(2),
            effort=SHORT._replace(device=choice),
        )
        for choice in (False, True)
    ]  # fmt: skip
    np.testing.assert_array_equal(fits[0].counts, fits[1].counts)
    np.testing.assert_allclose(fits[0].matrices, fits[1].matrices, atol=1e-12)
    np.testing.assert_allclose(fits[0].class_posterior, fits[1].class_posterior, atol=1e-12)


def test_a_run_goes_on_where_it_began(tmp_path):
    labels, y_pred, _ = crowd(size=60)
    options = {"y_pred": y_pred, "key": jax.random.key(2), "watch": Watch(checkpoint=tmp_path / "run.npz")}
    fit_joint(labels, effort=SHORT._replace(device=True), **options)
    with pytest.raises(ValueError, match="another run"):
        fit_joint(labels, effort=SHORT._replace(device=False), **options)
