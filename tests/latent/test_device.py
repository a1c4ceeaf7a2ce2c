"""Sweeps by XLA have the distribution of those by NumPy: probabilities, counts, fits, tiny tables."""

import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import jtruth as jt
from jtruth._arrays import JaxGenerator
from jtruth.latent import Effort, Progress
from jtruth.latent.infer import device, gibbs, kernel
from jtruth.learning import DirichletPriors, fit_joint
from jtruth.stats.chains import effective_sample_size
from tests.learning.crowds import from_votes
from tests.learning.joint.test_joint import Y_PRED, Z, enumerated

KEY = jax.random.key(0)
SHORT = Effort(chains=4, burn_in=20, min_sweeps=160, max_sweeps=160)


def crowd(size=120, labelers=6, classes=3, present=0.6, seed=0):
    """Labels of which some samples have none, one labeler labels twice, and some patterns are repeated."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, size)
    y_pred = np.where(rng.random(size) < 0.8, y, rng.integers(0, classes, size))
    z = np.where(rng.random((size, labelers)) < 0.7, y[:, None], rng.integers(0, classes, (size, labelers)))
    z[rng.random(z.shape) > present] = -1
    return jt.Labels.from_matrix(z, classes), y_pred, np.where(np.arange(size) < 10, y, -1)


@cache
def problem_of(dependence="shared_strata"):
    """The flattened problem of a fit."""
    labels, y_pred, gold = crowd()
    seen = []

    def stop(model, observed):
        seen.append(kernel.flatten(model, observed))
        raise InterruptedError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gibbs, "kernel", type("kernel", (), {**vars(kernel), "flatten": staticmethod(stop)}))
        with pytest.raises(InterruptedError):
            priors = from_votes(labels)
            fit_joint(labels, y_pred=y_pred, gold=gold, dependence=dependence, priors=priors, key=KEY)
    return seen[0]


def engine_of(program, key):
    """The traced side, for the samples of one shard."""
    data = program.data._replace(parts=jax.tree.map(lambda a: a[0], program.data.parts))
    blocks, pooled, alike = pickle.loads(program.shapes)
    concentration = jnp.asarray(data.concentration)
    return data._replace(concentration=concentration, alike=alike, blocks=blocks, pooled=pooled, key=key)


@partial(jax.jit, static_argnums=0)
def many_draws(shapes, data, log_theta, keys):
    """(draws, columns, states, chains) and p of every part."""
    program = device.Program(shapes, data, None, (), 0)
    return jax.lax.map(lambda key: engine_of(program, key).draw_samples(log_theta, None), keys)


def check_draws(problem, log_theta):
    """p is the host's; counts have their mean and variance, and always add up."""
    program = device.program_of(problem, True)
    keys = jax.random.split(jax.random.key(3), 400)
    symbols, p = many_draws(program.shapes, program.data, jnp.asarray(log_theta), keys)
    expected = kernel.state_probabilities(problem, log_theta)
    found = np.full((len(expected), problem.multiplicity.size), np.nan)
    for row, mean in zip(program.row, p, strict=True):
        found[:, row[row >= 0]] = np.asarray(mean)[0][:, row >= 0]
    np.testing.assert_allclose(found, expected.sum(axis=1), atol=1e-12)
    check_counts(problem, log_theta, np.asarray(symbols))


def check_counts(problem, log_theta, symbols):
    """Draws (draws, columns, states, chains) add up, and have the mean and variance of the state
    distribution."""
    expected, draws = kernel.state_probabilities(problem, log_theta), len(symbols)
    often = problem.multiplicity * expected
    total = problem.design.T @ problem.multiplicity
    np.testing.assert_array_equal(
        symbols.sum(axis=2), np.repeat(total[None, :, None], draws, 0) * np.ones(len(log_theta))
    )
    mean = kernel.count_symbols(problem, often)
    square = problem.design.copy()
    square.data = square.data**2
    variance = kernel._samples_behind(square.T, often * (1 - expected))
    largest = problem.design.data.max() ** 2  # a sample with 101 labels of a kind changes a count by 101
    often = variance * draws > 20 * largest  # so that the mean of the draws is nearly normal
    z = (symbols.mean(axis=0) - mean)[often] / np.sqrt(variance[often] / draws)
    assert np.abs(z).max(initial=0) < 5.2  # a false alarm in 10 000 for some 500 numbers
    certain = variance <= 1e-12
    np.testing.assert_allclose(symbols[:, certain] - mean[certain], 0, atol=1e-6)
    several = variance > largest  # there the kurtosis is below 4
    ratio = symbols.var(axis=0)[several] / variance[several]
    assert np.abs(ratio - 1).max(initial=0) < 6 * np.sqrt(3 / draws)


def test_rows_in_parts_are_drawn_by_the_same_dist(monkeypatch):
    """Rows that are too many for a cache are worked on some at a time, in float32."""
    problem = problem_of()
    log_theta = rows_of(problem)
    monkeypatch.setattr(kernel, "_CACHED", 1)
    again, rng = replace(problem), np.random.default_rng(5)
    drawn = [again.draw_samples(log_theta, rng) for _ in range(400)]
    assert len(again.parts[len(log_theta)]) > 3
    expected = kernel.state_probabilities(problem, log_theta).sum(axis=1)
    np.testing.assert_allclose(drawn[0][1], expected, atol=1e-5)
    check_counts(problem, log_theta, np.stack([symbols for symbols, _ in drawn]))


def rows_of(problem, chains=3, seed=0):
    """Log rows from a flattened prior."""
    alpha = np.repeat(problem.concentration[None] + 2.0, chains, axis=0)
    return problem.draw_dirichlet_logs(alpha, np.random.default_rng(seed))


@pytest.mark.parametrize(
    "dependence",
    ["shared_strata", *(pytest.param(x, marks=pytest.mark.slow) for x in ("independent", "copying"))],
)
def test_states_and_counts(dependence):
    problem = problem_of(dependence)
    assert 0 < problem.num_single < problem.multiplicity.size  # both kinds of rows
    check_draws(problem, rows_of(problem))


def test_a_row_for_many_samples_is_as_many_rows():
    problem = problem_of()
    often = problem.multiplicity.copy()
    often[[0, -1]] = 300.0, 1000.0
    check_draws(replace(problem, multiplicity=often), rows_of(problem))


def test_things_seen_several_times_count_several_times():
    """As where one sample stands for several labels of one kind."""
    problem = problem_of()
    doubled = problem.design.copy()
    doubled.data[: problem.design[: problem.num_single].nnz : 3] = 2.0
    check_draws(replace(problem, design=doubled), rows_of(problem))


def test_chances_far_apart():
    problem = problem_of()
    far = np.where(np.arange(problem.concentration.size) % 2, -800.0, -1e-3)
    check_draws(problem, np.stack([far] * 3))


def test_samples_with_very_many_labels_beside_such_with_few():
    """Parted by how much was seen."""
    problem = problem_of()
    wide = problem.design.copy()
    wide.data[: problem.design[:1].nnz] = 101.0
    program = device.program_of(replace(problem, design=wide), True)
    assert len(program.data.parts) > 1
    check_draws(replace(problem, design=wide), rows_of(problem))


def test_where_it_is_used():
    problem = problem_of()
    assert device.program_of(problem) is None  # no accelerator
    assert device.program_of(problem, False) is None
    with pytest.raises(ValueError, match="leave one of them out"):
        device.program_of(problem, False, jax.make_mesh((1,), ("samples",)))


def test_random_numbers_have_their_dists():
    """Against SciPy's distribution functions; a false alarm in 1000 for each of the five."""
    rng, size = JaxGenerator(jax.random.split(jax.random.key(5), 8)), (20_000,)
    shape = jnp.full(size, 1.3)
    for found, dist in (
        (rng.standard_gamma(shape), stats.gamma(1.3)),
        (rng.standard_gamma(shape + 200.0), stats.gamma(201.3)),
        (rng.standard_normal(size), stats.norm()),
        (rng.standard_exponential(size), stats.expon()),
        (rng.uniform(1.0, 3.0, size), stats.uniform(1, 2)),
    ):
        assert stats.kstest(np.asarray(found), dist.cdf).pvalue > 1e-3


LONG = Effort(chains=8, burn_in=100, min_sweeps=8000, max_sweeps=8000)


def fit_by(name, choice):
    """A fit of a kind of model by NumPy or XLA: rows around common ones, rows that are alike, groups."""
    labels, y_pred, gold = crowd(size=40, classes=3) if name == "alike" else crowd(classes=2)
    strata, shares = name == "shared_strata", "by_number" if name == "by_number" else "one"
    return fit_joint(
        labels, y_pred=y_pred, gold=gold if strata else None, priors=DirichletPriors(shares=shares), key=4,
        dependence=name if strata else "independent", effort=LONG._replace(device=choice),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["shared_strata", "alike", "by_number"])
def test_the_dist_of_a_fit_is_that_of_numpy(name):
    """Means, and shares below the quartiles of both; a false alarm in 2000 for some 50 numbers each."""
    fits = [fit_by(name, choice) for choice in (False, True)]
    kept = [{"prior": f.prior, "labelers": f.labeler_accuracy} for f in fits]
    for each, f in zip(kept, fits, strict=True):
        if f.counts is not None:
            each["counts"] = f.counts.reshape(len(f.counts), -1).astype(float)
            each["classifier"] = f.classifier.reshape(len(f.counts), -1)
        if f.weights is not None:
            each["weights"] = f.weights[:, :, 1]
    for what in kept[0]:
        host, xla = (each[what] for each in kept)
        quartiles = np.quantile(np.concatenate([host, xla]), [0.25, 0.75], axis=0)
        for value in (lambda a: a, lambda a: (a <= quartiles[0]) * 1.0, lambda a: (a <= quartiles[1]) * 1.0):  # noqa: B023
            means, errors = [], []
            for draws in (host, xla):
                v = value(draws)
                ess = effective_sample_size(v.reshape(8, -1, v.shape[1]), ranked=False)
                means.append(v.mean(axis=0))
                errors.append(v.std(axis=0) / np.sqrt(ess))
            error = np.hypot(*errors)
            moved = error > 1e-9
            assert (np.abs(means[0] - means[1])[moved] < 4.5 * error[moved]).all(), (name, what)
    np.testing.assert_allclose(fits[0].class_posterior, fits[1].class_posterior, atol=0.06)


def test_a_tiny_problem_against_all_label_vectors():
    """Five samples, two labelers, a classifier and Dirichlet rows, whose probabilities are integrated out."""
    every, weight = map(np.array, zip(*enumerated().items(), strict=True))
    expected, priors = weight @ every, DirichletPriors(diagonal=2.0)
    effort = Effort(chains=8, burn_in=50, min_sweeps=40_000, max_sweeps=40_000, device=True)
    fit = fit_joint(jt.Labels.from_matrix(Z, 2), y_pred=Y_PRED, key=1, priors=priors, effort=effort)
    ones = fit.counts[:, 1].sum(axis=1).astype(float)
    size = effective_sample_size(ones.reshape(8, -1, 1), ranked=False)[0]
    assert abs(ones.mean() - expected.sum()) < 4.5 * ones.std() / np.sqrt(size)
    np.testing.assert_allclose(fit.class_posterior[:, 1], expected, atol=0.03)


@pytest.mark.parametrize("dependence", ["shared_strata", pytest.param("independent", marks=pytest.mark.slow)])
def test_a_run_goes_on_where_it_was_stopped(tmp_path, dependence):
    labels, y_pred, gold = crowd(size=60, classes=2)

    class Killed(Exception):
        pass

    def kill(done, total):
        if done >= 4 * 60:
            raise Killed

    options = {"y_pred": y_pred, "gold": gold, "dependence": dependence, "key": jax.random.key(2)}
    on_device = SHORT._replace(device=True)
    whole = fit_joint(labels, effort=on_device, **options)
    file = tmp_path / "run.npz"
    with pytest.raises(Killed):
        fit_joint(labels, effort=on_device._replace(progress=Progress(kill, file, seconds=0.0)), **options)
    resumed = fit_joint(labels, effort=on_device._replace(progress=Progress(checkpoint=file)), **options)
    np.testing.assert_array_equal(whole.counts, resumed.counts)
    np.testing.assert_array_equal(whole.matrices, resumed.matrices)
    np.testing.assert_array_equal(whole.class_posterior, resumed.class_posterior)
    with pytest.raises(ValueError, match="another run"):
        fit_joint(labels, effort=SHORT._replace(device=False, progress=Progress(checkpoint=file)), **options)


def mover_of(problem, program, chains=4):
    start = np.full((problem.place.shape[1], problem.multiplicity.size), 1 / problem.place.shape[1])
    return gibbs.GibbsMover(problem, start, chains, lambda draws: (draws, {}), program, None)


def test_nothing_goes_to_the_host_within_a_block():
    """No callback in the program, and with all arguments on the device nothing is moved while it runs."""
    problem = problem_of()
    program = device.program_of(problem, True)
    chain = jax.tree.map(jnp.asarray, mover_of(problem, program).start(np.random.default_rng(0)))
    call = partial(device._compiled, program.shapes, most=50, mesh=None)
    sweeps = jnp.int32(50)
    text = str(jax.make_jaxpr(call)(program.data, chain, sweeps))
    assert "while" in text and not any(word in text for word in ("callback", "infeed", "outfeed"))
    with jax.transfer_guard("disallow"):
        jax.block_until_ready(call(program.data, chain, sweeps))


MESH = """
import json, sys
sys.path.insert(0, ".")
import jax, numpy as np
from functools import partial
from jax.sharding import AxisType
from jtruth.learning import fit_joint
from jtruth.latent import Effort
from jtruth.latent.infer import device
from tests.latent.test_device import crowd, mover_of, problem_of
out = {"devices": jax.device_count()}
for kind in ("shared_strata",):
    problem = problem_of(kind)
    meshes = [jax.make_mesh((8,), ("x",), axis_types=(AxisType.Explicit,)),
              jax.make_mesh((1, 8), ("a", "b"), axis_types=(AxisType.Auto,) * 2)]
    found = []
    for mesh in meshes:
        program = device.program_of(problem, None, mesh)
        chain = mover_of(problem, program).start(np.random.default_rng(0))
        found.append(device.run(program, chain, 20, 20))
    parts, row = device.laid_out(problem, 8)
    data = device.program_of(problem, True).data._replace(parts=jax.tree.map(jax.numpy.asarray, parts))
    axes = jax.tree.map(lambda _: None, data)._replace(parts=0)
    one = jax.jit(jax.vmap(partial(device.block, program.shapes, most=20, axis="s"),
                           in_axes=(axes, None, None), axis_name="s"))
    here, kept, p = one(data, chain, 20)  # eight shards on one device
    states = np.zeros_like(found[0][2])
    for r, mean in zip(row, p):
        flat = np.moveaxis(np.asarray(mean), 0, 1).reshape(len(states), -1)
        states[:, r[r >= 0]] = flat[:, r >= 0]
    out[kind] = [[int((np.asarray(kept["symbols"])[0] != f[1]["symbols"]).sum()),
                  float(np.abs(np.exp(np.asarray(kept["log_theta"])[0]) - np.exp(f[1]["log_theta"])).max()),
                  float(np.abs(states - f[2]).max())] for f in found]
labels, y_pred, gold = crowd(size=61)
effort = Effort(chains=4, burn_in=20, min_sweeps=2000, max_sweeps=2000)
fits = [fit_joint(labels, y_pred=y_pred, gold=gold, key=0, effort=effort._replace(device=True)),
        *(fit_joint(labels, y_pred=y_pred, gold=gold, key=0, effort=effort._replace(mesh=m)) for m in meshes)]
out["equal"] = bool(np.array_equal(fits[1].counts, fits[2].counts))
out["means"] = float(np.abs(fits[0].class_posterior - fits[1].class_posterior).max())
try:
    fit_joint(labels, key=0, effort=Effort(mesh=jax.make_mesh((2, 4), ("a", "b"))))
except ValueError as error:
    out["refused"] = str(error)
print(json.dumps(out))
"""


@pytest.mark.slow
def test_eight_devices_draw_what_one_draws_by_the_same_shard_keys():
    """Counts to the last sample, rows and chances to 1e-12; 61 samples on 8 devices are filled up."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    env = os.environ | {"XLA_FLAGS": flags, "JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", MESH], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["devices"] == 8 and found["equal"] and found["means"] < 0.1, found
    assert "2 axes longer than 1" in found["refused"]
    for symbols, theta, p in found["shared_strata"]:
        assert symbols == 0 and theta < 1e-12 and p < 1e-11, found
