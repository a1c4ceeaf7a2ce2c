"""The JAX functions of docs/jax.md: under jit, vmap and grad, float32 and float64, on eight devices."""

import itertools
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.flatten_util import ravel_pytree

import jtruth as jt
from jtruth import testing, training
from jtruth.stats.chains import effective_sample_size
from jtruth.testing import steps
from tests.noise.test_noise_models import MODELS, NUM_CLASSES, NUM_LABELERS, some_labels
from tests.reference import su_binary as su

every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
PRIOR = np.array([0.5, 0.3, 0.2])


def central(f, x, step=1e-6):
    """Difference quotients of `f` at every entry of the parameters `x` (a pytree)."""
    flat, back = ravel_pytree(jax.tree.map(jnp.asarray, x))
    ways = step * jnp.eye(flat.size)
    return jax.vmap(lambda way: (f(back(flat + way)) - f(back(flat - way))) / (2 * step))(ways)


@every_model
def test_noise_models_are_pure_functions_of_arrays(model):
    """Thousands of label matrices, parameters, priors: what `Labels` give one at a time; both precisions."""
    z = np.stack([some_labels(6, seed) for seed in range(8)])
    labels = [jt.Labels.from_matrix(one, NUM_CLASSES) for one in z]
    expected = np.stack([np.asarray(model.log_likelihood(one)) for one in labels])
    compare: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-14}
    np.testing.assert_allclose(model.log_likelihood(z[0]), expected[0], **compare)
    many = jnp.asarray(np.tile(z, (250, 1, 1)))
    of_z = jax.jit(jax.vmap(model.log_likelihood))(many)
    np.testing.assert_allclose(of_z, np.tile(expected, (250, 1, 1)), **compare)
    models = jax.tree.map(lambda leaf: np.stack([leaf, leaf]), model)
    of_models = jax.jit(jax.vmap(lambda m, z: m.log_likelihood(z)))(models, z[:2])
    np.testing.assert_allclose(of_models, expected[:2], **compare)
    short = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), model).log_likelihood(z[0])
    assert short.dtype == jnp.float32 and of_z.dtype == jnp.float64
    np.testing.assert_allclose(short, expected[0], rtol=3e-6)
    priors = jnp.asarray([PRIOR, PRIOR[::-1]])
    possible = jnp.where(jnp.isfinite(of_z).any(2, keepdims=True), of_z, 0.0)
    rho = jax.jit(jax.vmap(jax.vmap(jt.class_posterior, (0, None)), (None, 0)))(possible[:4], priors)
    for row, prior in zip(rho, priors, strict=True):
        joint = np.exp(possible[:4]) * np.asarray(prior)
        np.testing.assert_allclose(row, joint / joint.sum(2, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize("kind", ["confusion matrices", "drawn matrices", "difficulty", "shared"])
def test_gradients_in_the_parameters_and_the_prior(kind):
    z, shift = some_labels(), 1e-3 if kind == "difficulty" else 0.0
    away = jax.tree.map(lambda leaf: jnp.asarray(leaf) + shift, MODELS[kind])  # from 0, where errors end

    @jax.jit
    def surprise(parameters):
        model, prior = parameters
        rho = jt.class_posterior(model.log_likelihood(z), prior)
        return (rho[:, 0] ** 2).sum() + jnp.log(rho[:, 1]).sum()

    at = away, jnp.asarray(PRIOR)
    slopes = ravel_pytree(jax.grad(surprise)(at))[0]
    np.testing.assert_allclose(slopes, central(surprise, at), rtol=1e-6, atol=1e-6)
    of_error = jax.grad(lambda e: jt.noise.Symmetric(e, 3).log_likelihood(np.array([[0, 1]]))[0].sum())(0.2)
    assert of_error == pytest.approx(4 / 0.2 - 2 / 0.8)  # by hand: 4 wrong and 2 right labels


@every_model
def test_draws_of_arrays(model):
    y, mask = np.arange(12) % NUM_CLASSES, np.arange(36).reshape(12, NUM_LABELERS) % 5 > 0
    keys = jax.random.split(jax.random.key(1), 50)
    models = jax.tree.map(lambda leaf: jnp.stack([jnp.asarray(leaf)] * 50), model)
    drawn = jax.jit(jax.vmap(lambda m, key: m.sample(key, y, mask)))(models, keys)
    raw = jax.vmap(lambda key: model.sample(key, y, mask))(jax.random.key_data(keys[:2]))
    np.testing.assert_array_equal(drawn[:2], raw)
    np.testing.assert_array_equal(drawn[7], model.sample(keys[7], y, mask))
    assert ((np.asarray(drawn) >= 0) == mask).all()


@pytest.mark.usefixtures("as_installed")
def test_wrong_codes_are_refused_where_there_are_values():
    model, key = MODELS["confusion matrices"], jax.random.key(0)
    good, mask = np.zeros((2, 3), int), np.ones((2, 3), bool)
    for kind, (z, words) in itertools.product(
        ["confusion matrices", "difficulty", "shared", "drawn matrices"],
        [
            (np.array([[0, 1, 2], [0, 3, -1]]), r"labels\[1, 1\] is 3 .*class codes 0 to 2"),
            (jnp.array([[0, 1, 2], [0, 1, -2]]), r"labels\[1, 2\] is -2 "),
            (good * 1.0, r"shape \(2, 3\) and dtype float64; give jt.Labels, or whole numbers"),
            (good[None], r"shape \(1, 2, 3\).*jax.vmap"),
            (good[:, :2], "have 2 labelers but .* 3"),
        ],
    ):
        with pytest.raises(ValueError, match=words):
            MODELS[kind].log_likelihood(z)
    for y, given, words in (
        ([0, 3], mask, r"y\[1\] is 3"),
        ([0], mask, r"y must have shape \(2,\)"),
        ([0, 1], good, r"mask is an array of shape \(2, 3\) and dtype int64"),
    ):
        with pytest.raises(ValueError, match=words):
            model.sample(key, np.array(y), given)
    traced = jax.jit(model.log_likelihood)
    assert traced(np.full((2, 3), 7)).shape == (2, 3)  # nobody looks
    with pytest.raises(ValueError, match=r"dtype float64; give jt.Labels"):
        traced(good * 1.0)
    with pytest.raises(ValueError, match=r"z is traced .*model.log_likelihood\(z\)"):
        jax.jit(lambda z: jt.Labels.from_matrix(z, 3).label)(good)
    with pytest.raises(ValueError, match=r"log_likelihood has shape \(1, 2, 3\).*jax.vmap"):
        jt.class_posterior(np.zeros((1, 2, 3)), PRIOR)


@pytest.mark.usefixtures("as_installed")
def test_steps_and_counts_refuse_wrong_codes_and_shapes():
    """Where arrays are concrete; of traced ones shapes alone are looked at."""
    x, y_pred, rho, key = jnp.zeros(3), np.array([0, 2, 1]), jnp.zeros((3, 3)), jax.random.key(0)
    iterate, half = partial(testing.iterate, dtype=x.dtype), np.array([0.5, 0.5])
    rows = steps.uniform_rows(3)
    for words, call in (
        (r"y_pred\[1\] is 2", lambda: testing.ratio_step(x, y_pred)),
        (r"y_pred must have shape \(3,\)", lambda: testing.ratio_step(x, y_pred[:2])),
        (r"y_pred\[1\] is 2", lambda: iterate(testing.exact_step(x, jnp.asarray(y_pred)))),
        (r"y_pred\[0\] is 3", lambda: iterate(steps.labels_step(rho, jnp.asarray(y_pred + 3)), start=rows)),
        (r"\(2,\) .* 3 classes; give start=", lambda: iterate(steps.exact_step(rho, jnp.asarray(y_pred)))),
        (r"y_pred\[1\] is 2", lambda: testing.exact_counts(x, y_pred, window=(4, 4))),
        (r"y_pred\[0, 1\] is 2", lambda: testing.exact_batch(x[None], y_pred[None], window=(4, 4))),
        (r"y_pred\[0\] is 3", lambda: testing.count_draws(key, rho, PRIOR, y_pred + 3)),
        ("prior has shape", lambda: testing.count_draws(key, rho, half, y_pred)),
        ("prior sums to 1.5", lambda: testing.count_draws(key, rho, 1.5 * PRIOR, y_pred)),
        ("log_likelihood has shape .3, 3.; .* 2 classes", lambda: testing.log_odds_of(rho, half)),
        ("prior has shape .2,.; .*3 classes", lambda: jax.jit(jt.class_posterior)(rho, half)),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    assert testing.count_draws(0, rho, PRIOR, y_pred, num_draws=4).tables.shape == (4, 3, 3)
    assert jax.jit(lambda y: testing.exact_counts(x, y, window=(4, 4)).ok)(y_pred).shape == ()


RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, (3, 40))
Z = np.where(RNG.random((3, 40, 4)) < 0.25, 1 - Y[..., None], Y[..., None])
Y_PRED = np.where(RNG.random(Y.shape) < 0.2, 1 - Y, Y)


def by_iteration(step):
    def found(x, y_pred):
        return testing.iterate(step(x, y_pred), dtype=x.dtype, tol=1e-12, max_steps=200).value

    return found


def exact(x, y_pred):
    found = testing.exact_batch(x[None], y_pred[None], window=(41, 41))
    rest = jnp.stack([found.log_evidence[0], found.operating_point[0, 0]])
    return jnp.concatenate([found.mean[0], found.sd[0], rest])


@pytest.mark.parametrize(
    "answer",
    [by_iteration(testing.ratio_step), by_iteration(testing.exact_step), exact],
    ids=["ratio_step", "exact_step", "exact_batch"],
)
def test_answers_under_jit_vmap_and_grad(answer):
    """Over sampled labels, and slopes in the error and the share of class 1 against difference quotients."""

    def of_parameters(parameters, z, y_pred):
        error, share = parameters
        log_p = jt.noise.Symmetric(error, 2).log_likelihood(z)
        return answer(testing.log_odds_of(log_p, jnp.stack([1 - share, share])), y_pred)

    at, z, y_pred = jnp.array([0.25, 0.4]), jnp.asarray(Z), jnp.asarray(Y_PRED)
    run = jax.jit(of_parameters)
    many = jax.jit(jax.vmap(of_parameters, (None, 0, 0)))(at, z, y_pred)
    np.testing.assert_allclose(many[1], run(at, z[1], y_pred[1]), rtol=1e-9)
    slopes = jax.jit(jax.jacrev(of_parameters))(at, z[0], y_pred[0])
    np.testing.assert_allclose(slopes.T, central(lambda p: run(p, z[0], y_pred[0]), at), rtol=2e-6, atol=1e-7)


def enumerated(metric, error, prior, z, y_pred):
    """E[metric] over all label vectors, by the loops of the reference; rows of K are uniform."""
    classes = len(prior)
    right = z[:, :, None] == np.arange(classes)
    lik = np.where(right, 1 - error, error / (classes - 1)).prod(1, where=z[:, :, None] >= 0)
    post, _ = su.enumerate_labels(lik, prior, list(y_pred), alpha=np.ones((classes, classes)))
    tables = np.array([su.confusion_counts(y, y_pred, classes) for y in post], float)
    values, p = metric.of_table(tables), np.array([*post.values()])
    return (
        (p / p.sum())[~np.isnan(values)] @ values[~np.isnan(values)] / (p / p.sum())[~np.isnan(values)].sum()
    )


def mean_of_counts(metric, draws=0):
    """E[metric] of the package as a function of the error, the prior and the data."""

    def mean(error, prior, z, y_pred):
        log_p = jt.noise.Symmetric(error, len(prior)).log_likelihood(z)
        if draws:
            return testing.count_draws(jax.random.key(3), log_p, prior, y_pred, num_draws=draws).mean(metric)
        log_odds = testing.log_odds_of(log_p, prior)
        return testing.exact_counts(log_odds, y_pred, window=(7, 7)).mean(metric)

    return mean


@pytest.mark.parametrize(
    ("classes", "name", "draws"), [(2, "f1", 0), (2, "kappa", 0), (2, "f1", 40_000), (3, "macro_f1", 40_000)]
)
def test_count_tables_and_their_slopes_equal_enumeration(classes, name, draws):
    """All label vectors of six samples; of draws the tolerances are 4.5 standard errors or more.

    Then vmap over label vectors, predictions, errors and priors against one at a time, and float32.
    """
    rng = np.random.default_rng(4)
    z, y_pred = rng.integers(-1, classes, (3, 6, 2)), rng.integers(0, classes, (3, 6))
    error, prior = np.array([0.3, 0.2, 0.25]), np.array([[0.45, 0.35, 0.2], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3]])
    prior = prior[:, :classes] / prior[:, :classes].sum(1, keepdims=True)
    metric = testing.named_metric(name, range(classes))
    one, data = mean_of_counts(metric, draws), (z[0], y_pred[0])
    run = jax.jit(jax.value_and_grad(one, (0, 1)))
    value, (slope, slopes) = run(error[0], prior[0], *data)
    true = enumerated(metric, error[0], prior[0], *data)
    assert float(value) == pytest.approx(true, abs=0.007 if draws else 1e-12)
    for way, found in ((np.eye(classes + 1)[0], slope), (np.eye(classes + 1)[2], slopes[1])):
        ends = [
            enumerated(metric, error[0] + h * way[0], prior[0] + h * way[1:], *data) for h in (1e-5, -1e-5)
        ]
        assert float(found) == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=0.05 if draws else 1e-8)
    few = jax.jit(mean_of_counts(metric, draws and 200))
    many = jax.jit(jax.vmap(few))(error, prior, z, y_pred)
    np.testing.assert_allclose(
        many, [few(*row) for row in zip(error, prior, z, y_pred, strict=True)], rtol=1e-9
    )
    with jax.enable_x64(False):
        short = jax.jit(one)(np.float32(error[0]), np.float32(prior[0]), *(a.astype(np.int32) for a in data))
        assert short.dtype == np.float32
    assert float(short) == pytest.approx(true, abs=0.007 if draws else 1e-6)


def test_draws_agree_with_those_of_the_host():
    """Both draw from one posterior; each cell's means are within 4.5 of their standard errors."""
    z, y_pred = some_labels(30, 3), np.arange(30) % 3
    log_p = jt.noise.Symmetric(0.25, 3).log_likelihood(z)
    host = testing.count_posterior(log_p, PRIOR, y_pred, key=1, alpha=1.0)
    found = testing.count_draws(jax.random.key(1), log_p, PRIOR, y_pred, num_draws=20_000)
    tables = np.asarray(found.tables)
    error = np.hypot(
        host.counts.std(0) / np.sqrt(host.ess), tables.std(0) / np.sqrt(effective_sample_size(tables[None]))
    )
    assert found.ok and host.converged and tables.sum() == 20_000 * 30
    assert (np.abs(host.counts.mean(0) - tables.mean(0)) < 4.5 * error).all()


DEVICES = """
import jax, jax.numpy as jnp, numpy as np
import jtruth as jt
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from jtruth.testing import steps
mesh = jax.make_mesh((8,), ("sets",), axis_types=(AxisType.Auto,))
z = np.random.default_rng(0).integers(-1, 3, (16, 30, 4))
spread = jax.device_put(z, NamedSharding(mesh, PartitionSpec("sets")))
noise = jt.noise.ConfusionMatrices(np.random.default_rng(1).dirichlet([8, 1, 1], (4, 3)))

def answer(z):
    rho = jt.class_posterior(noise.log_likelihood(z), jnp.array([.5, .3, .2]))
    step = steps.exact_step(jnp.log(rho), jnp.arange(30) % 3)
    return steps.iterate(step, dtype=rho.dtype, start=steps.uniform_rows(3)).value

def counts(z):
    log_p = jt.noise.Symmetric(.2, 2).log_likelihood(z % 2)
    log_odds = jt.testing.log_odds_of(log_p, jnp.array([.5, .5]))
    exact = jt.testing.exact_counts(log_odds, jnp.arange(30) % 2, window=(16, 16)).mean("f1")
    prior, y_pred = jnp.array([.5, .5]), jnp.arange(30) % 2
    return exact, jt.testing.count_draws(jax.random.key(0), log_p, prior, y_pred, num_draws=50).mean("f1")

run = jax.jit(jax.vmap(answer))
one, eight = run(z), run(spread)
tables = jax.jit(jax.vmap(counts))
np.testing.assert_allclose(tables(z), tables(spread), rtol=1e-12)
assert jax.device_count() == 8 and len(eight.sharding.device_set) == 8
rows = jax.device_put(z[0, :24], NamedSharding(mesh, PartitionSpec("sets")))
np.testing.assert_allclose(noise.log_likelihood(rows), noise.log_likelihood(z[0, :24]), rtol=1e-12)
print(float(abs(one - eight).max()))
"""


@pytest.mark.slow
def test_eight_devices_agree_with_one():
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    env = os.environ | {"XLA_FLAGS": flags, "JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", DEVICES], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert float(done.stdout) < 1e-12


ALGORITHMS = {
    "ratio": lambda key, x, y_pred: testing.ratio_step(x[:, 1] - x[:, 0], y_pred),
    "sampling": steps.sampling_step,
    "labels": lambda key, *data: steps.labels_step(*data),
    "plug-in": lambda key, *data: steps.plug_in_step(*data),
    "exact": lambda key, *data: steps.exact_step(*data),
}


@pytest.mark.parametrize(("name", "classes"), [("ratio", 2), *((name, 3) for name in [*ALGORITHMS][1:])])
def test_every_algorithm_over_sampled_label_vectors(name, classes):
    """`vmap` over keys and labels gives what one set at a time does, in float64 and float32."""
    z = np.stack([some_labels(30, seed) % classes for seed in range(4)])
    y_pred, noise = jnp.arange(30) % classes, jt.noise.Symmetric(0.3, classes)
    start = (0.5, 0.5) if classes == 2 else steps.uniform_rows(classes)

    def found(key, z, dtype=jnp.float64):
        log_rho = jax.nn.log_softmax(noise.log_likelihood(z), axis=1).astype(dtype)
        step = ALGORITHMS[name](key, log_rho, y_pred)
        return testing.iterate(step, dtype=dtype, start=start, max_steps=5).value

    keys, one = jax.random.split(jax.random.key(2), 4), jax.jit(found)
    many = jax.jit(jax.vmap(found))(keys, z)
    np.testing.assert_allclose(many, [one(*row) for row in zip(keys, z, strict=True)], rtol=1e-9)
    short = jax.jit(jax.vmap(lambda key, z: found(key, z, jnp.float32)))(keys, z)
    assert short.dtype == jnp.float32
    np.testing.assert_allclose(short, many, atol=0.02 if name == "sampling" else 1e-4)  # other draws


@pytest.mark.parametrize(
    "name", ["accuracy", "precision[1]", "recall[2]", "f2[0]", "macro_f1", "micro_f1", "mcc"]
)
def test_metrics_are_functions_of_tables(name):
    """Of thousands of tables at once what one table at a time gives; slopes against quotients; float32."""
    of_table = testing.named_metric(name, range(3)).of_table
    tables = np.random.default_rng(5).integers(1, 30, (2000, 3, 3)).astype(float)
    values = jax.jit(jax.vmap(of_table))(tables)
    np.testing.assert_allclose(values, [of_table(table) for table in tables], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(jax.jit(of_table)(tables.astype(np.float32)), values, rtol=1e-5, atol=1e-6)
    slopes = jax.jit(jax.grad(of_table))(tables[0])
    np.testing.assert_allclose(slopes.ravel(), central(of_table, tables[0]), atol=1e-8)
    lacking = jnp.asarray(tables[0]).at[1].set(0)  # a class without samples
    assert np.isfinite(jax.grad(lambda t: jnp.nan_to_num(of_table(t)))(lacking)).all()


def test_several_classes_and_metrics_of_tables():
    """Expected table at the fixed point of K: metrics over sets and their slopes in rates and prior."""
    z, y_pred = np.stack([some_labels(30, seed) for seed in (1, 2)]), jnp.arange(30) % 3
    f1 = testing.named_metric("macro_f1", range(3)).of_table

    def of_parameters(parameters, z):
        model, prior = parameters
        log_rho = model.log_likelihood(z) + jnp.log(prior)[None]
        found = testing.iterate(
            steps.exact_step(log_rho, y_pred), dtype=log_rho.dtype, start=steps.uniform_rows(3), tol=1e-12,
            max_steps=500,
        )  # fmt: skip
        return f1(steps.expected_counts(log_rho, y_pred, found.value)[0])

    at = jax.tree.map(jnp.asarray, (jt.noise.Symmetric([0.2, 0.3, 0.25], 3), PRIOR))
    run = jax.jit(of_parameters)
    many = jax.jit(jax.vmap(of_parameters, (None, 0)))(at, z)
    np.testing.assert_allclose(many, [run(at, one) for one in z], rtol=1e-9)
    slopes = ravel_pytree(jax.jit(jax.grad(of_parameters))(at, z[0]))[0]
    np.testing.assert_allclose(slopes, central(lambda p: run(p, z[0]), at), rtol=1e-5, atol=1e-6)


MATRICES = np.array([[[0.8, 0.2], [0.3, 0.7]], [[0.9, 0.1], [0.1, 0.9]], [[0.6, 0.4], [0.2, 0.8]]])


def risk(name, theta, x, z, matrices):
    """An objective or correction as a function of (parameters, features, labels, noise)."""
    log_likelihood = jt.noise.ConfusionMatrices(matrices).log_likelihood(z)
    outputs = training.linear_outputs(theta, x)
    log_p, prior = training.log_probabilities(outputs), jnp.array([0.4, 0.6], x.dtype)
    rho = jt.class_posterior(log_likelihood, prior)
    return {
        "ml": lambda: training.discriminative_ml(log_p, log_likelihood),
        "mmse": lambda: training.mmse_risk(training.logistic(outputs), rho),
        "generative": lambda: training.generative_ml(log_p, log_likelihood, prior),
        "variance": lambda: training.risk_variance(training.logistic(outputs), rho),
        "forward": lambda: training.forward_risk(log_p, jnp.log(matrices), z),
        "backward": lambda: training.backward_risk(log_p, matrices, z),
        "linear": lambda: training.linear_objective(theta, x, log_likelihood, 0.5, objective="ml"),
    }[name]()


@pytest.mark.parametrize("name", ["ml", "mmse", "generative", "variance", "forward", "backward", "linear"])
def test_training_over_sampled_label_vectors(name):
    """Adam on each of 120 sampled label vectors in one program; slopes in theta and the noise; float32."""
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    noise, optimizer = jt.noise.ConfusionMatrices(MATRICES), optax.adam(0.1)
    keys = jax.random.split(jax.random.key(7), 120)
    z = jax.vmap(lambda key: noise.sample(key, y, rng.random((20, 3)) < 0.9))(keys)
    objective = partial(risk, name)

    def trained(x, z):
        theta = training.Linear(jnp.zeros((), x.dtype), jnp.zeros(2, x.dtype))

        def step(state, _):
            theta, memory = state
            slopes = jax.grad(objective)(theta, x, z, jnp.asarray(MATRICES, x.dtype))
            with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):  # optax needs both
                updates, memory = optimizer.update(slopes, memory)
            return (optax.apply_updates(theta, updates), memory), None

        return jax.lax.scan(step, (theta, optimizer.init(theta)), length=20)[0][0]

    many = jax.jit(jax.vmap(trained, (None, 0)))(jnp.asarray(x), z)
    one = jax.jit(trained)
    for k in (0, 119):
        np.testing.assert_allclose(many.weights[k], one(x, z[k]).weights, rtol=1e-9)
    short = jax.jit(jax.vmap(trained, (None, 0)))(jnp.asarray(x, jnp.float32), z)
    assert short.weights.dtype == jnp.float32
    np.testing.assert_allclose(short.weights, many.weights, atol=2e-3)
    at = jax.tree.map(lambda leaf: leaf[0] + 0.3, many), jnp.asarray(MATRICES)
    value = jax.jit(lambda at: objective(at[0], jnp.asarray(x), z[0], at[1]))
    slopes = ravel_pytree(jax.grad(value)(at))[0]
    np.testing.assert_allclose(slopes, central(value, at), rtol=1e-5, atol=1e-7)


@pytest.mark.usefixtures("as_installed")
def test_functions_of_the_host_say_what_to_use_under_jit():
    rho = jnp.full((4, 2), 0.5)
    counts = jax.jit(lambda rho: training.replication_counts(rho, 3))(jnp.array([[0.2, 0.8], [0.5, 0.5]]))
    assert counts.tolist() == [[1, 2], [2, 1]]
    y_pred, counts = np.zeros(4, int), "count_draws, or exact_counts"
    for function, words in (
        (lambda p: testing.count_posterior(p, PRIOR[:2], y_pred), counts),
        (lambda p: testing.multiclass_posterior(p, PRIOR[:2], y_pred), counts),
        (lambda p: testing.binary_posterior(p[:, 0], y_pred), counts),
        (lambda p: training.forward(p[None, :2]), "forward_risk or backward_risk"),
    ):
        with pytest.raises(ValueError, match=f"works on the host .*{words}"):
            jax.jit(function)(rho)


@pytest.mark.slow
@pytest.mark.parametrize(
    "script", [["vmap.py", "--small"], ["accelerator.py", "--small", "ratios", "counts"]]
)
def test_the_scripts_of_an_accelerator_run_on_a_cpu(script):
    """Each checks its programs against the loop, NumPy or another device; small numbers here."""
    ran = ("XLA_FLAGS", "JAX_DISABLE_MOST_OPTIMIZATIONS", "JAX_NUM_CPU_DEVICES")
    env = {name: value for name, value in os.environ.items() if name not in ran}
    folder = Path(__file__).resolve().parents[1]
    command = [sys.executable, str(folder / "benchmarks" / script[0]), *script[1:]]
    done = subprocess.run(command, env=env | {"PYTHONPATH": str(folder)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    apart = {row[0]: row[-1] for line in done.stdout.splitlines() if len(row := line.split()) > 5}
    for name in script[2:] or ("posteriors", "algorithm_1", "exact_means"):
        assert float(apart[name]) < 1e-5
