"""Requirements of every noise model: sum to one, sample its own distribution, JAX transformations."""

import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from jtruth.labels import Labels
from jtruth.noise import (
    ConfusionMatrices,
    DifficultyFallibility,
    DrawnMatrices,
    NoiseModel,
    SharedErrors,
    Symmetric,
)
from jtruth.simulation import to_labels

NUM_LABELERS, NUM_CLASSES = 3, 3


def random_rows(seed, *shape):
    return np.random.default_rng(seed).dirichlet(np.ones(NUM_CLASSES), shape)


# Difficulty is one number here, so that all samples of one class have one distribution.
MODELS = {
    "confusion matrices": ConfusionMatrices(random_rows(0, NUM_LABELERS, NUM_CLASSES)),
    "drawn matrices": DrawnMatrices(random_rows(4, 20, NUM_LABELERS, NUM_CLASSES), random_rows(5, 20)),
    "matrices with zeros": ConfusionMatrices([[[1, 0, 0], [0.5, 0.5, 0], [0, 0.25, 0.75]]] * NUM_LABELERS),
    "difficulty": DifficultyFallibility(0.2, [0.0, 0.3, 0.9], NUM_CLASSES),
    "certain": DifficultyFallibility(0.0, [0.0, 0.3, 0.9], NUM_CLASSES),
    "symmetric": Symmetric(0.3, NUM_CLASSES),
    "symmetric each": Symmetric([0.0, 0.2, 1.0], NUM_CLASSES),
    "shared": SharedErrors(random_rows(1, NUM_LABELERS, NUM_CLASSES), random_rows(2, NUM_CLASSES), 0.4),
    "shared each": SharedErrors(
        random_rows(1, NUM_LABELERS, NUM_CLASSES), random_rows(2, NUM_CLASSES), [0.0, 0.5, 1.0]
    ),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
KINDS = ["matrices with zeros", "difficulty", "symmetric each", "shared each"]
every_kind = pytest.mark.parametrize("model", [MODELS[kind] for kind in KINDS], ids=KINDS)
first_kinds = pytest.mark.parametrize(
    "model", [pytest.param(m, id=k, marks=[pytest.mark.slow] * (k not in KINDS)) for k, m in MODELS.items()]
)

ALL_VECTORS = np.array(list(itertools.product(range(NUM_CLASSES), repeat=NUM_LABELERS)))


def some_labels(num_samples=20, seed=3):
    rng = np.random.default_rng(seed)
    z = rng.integers(-1, NUM_CLASSES, (num_samples, NUM_LABELERS))
    z[:, 0] = np.where((z < 0).all(axis=1), 0, z[:, 0])
    return z


def by_loops(z, rows, shared, copying):
    """Su (58) as written, and all that is not seen: the shared draw and who copied; rows[i][t][c][k]."""
    result = np.zeros((len(z), len(shared)))
    for i, given in enumerate(z):
        labelers = [t for t, label in enumerate(given) if label != -1]
        for c, s in itertools.product(range(len(shared)), repeat=2):
            for who in itertools.product((False, True), repeat=len(labelers)):
                p = shared[c][s]
                for t, copied in zip(labelers, who, strict=True):
                    own = rows[i][t][c][given[t]]
                    p *= copying[t] * (given[t] == s) if copied else (1 - copying[t]) * own
                result[i, c] += p
    return result


@pytest.mark.parametrize("classes", [2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_likelihoods_equal_loops(classes):
    rng = np.random.default_rng(classes)
    z, none = rng.integers(-1, classes, (20, 4)), np.zeros(4)
    labels = Labels.from_matrix(z, classes, allow_unlabelled=True)
    right, shared = np.eye(classes), rng.dirichlet(np.ones(classes), classes)
    own = rng.dirichlet(np.ones(classes), (4, classes))
    delta, phi = rng.beta(1, 5, 20), rng.uniform(0, 0.4, 4)

    def channel(error):
        """(57): a wrong label names each of the wrong classes equally often."""
        error = np.broadcast_to(error, (20, 4))[:, :, None, None]
        return right * (1 - error) + (1 - right) * error / (classes - 1)

    of_both = (delta[:, None] + phi - delta[:, None] * phi) * (classes - 1) / classes  # (60)
    copying = np.array([0.1, 0.0, 0.7, 1.0])
    for model, rows, copied in (
        (ConfusionMatrices(own), [own] * 20, none),
        (Symmetric(0.3, classes), channel(0.3), none),
        (Symmetric(phi, classes), channel(phi), none),
        (DifficultyFallibility(delta, phi, classes), channel(of_both), none),
        (SharedErrors(own, shared, copying), [own] * 20, copying),
    ):
        found = np.exp(model.log_likelihood(labels))
        np.testing.assert_allclose(found, by_loops(z, rows, shared, copied), rtol=1e-12)


@every_kind
def test_missing_entries_no_label_at_all_and_the_order_of_entries(model):
    z = some_labels()
    labels = Labels.from_matrix(z, NUM_CLASSES)
    assert len(labels.label) < z.size
    log_likelihood = model.log_likelihood(labels)
    np.testing.assert_array_equal(model.log_likelihood(to_labels(z, NUM_CLASSES)), log_likelihood)
    order = np.random.default_rng(5).permutation(len(labels.label))
    mixed = Labels(*(column[order] for column in labels.arrays), 20, NUM_LABELERS, NUM_CLASSES)
    np.testing.assert_allclose(model.log_likelihood(mixed), log_likelihood, rtol=1e-14)
    empty = Labels(*np.zeros((3, 0), np.int32), 4, NUM_LABELERS, NUM_CLASSES)
    np.testing.assert_allclose(model.log_likelihood(empty), np.zeros((4, NUM_CLASSES)), atol=1e-15)


@every_kind
def test_jit_vmap_and_eager_agree(model):
    batch = np.stack([some_labels(seed=s) for s in (1, 2)])
    labels = [to_labels(z, NUM_CLASSES) for z in batch]
    eager = np.stack([model.log_likelihood(x) for x in labels])
    stacked = jax.tree.map(lambda a, b: np.stack([a, b]), *labels)
    models = jax.tree.map(lambda leaf: np.stack([leaf, leaf]), model)
    tolerance = {"rtol": 1e-13, "atol": 1e-13}
    jitted = jax.jit(lambda m, x: m.log_likelihood(x))(model, labels[0])
    np.testing.assert_allclose(jitted, eager[0], **tolerance)
    np.testing.assert_allclose(jax.vmap(model.log_likelihood)(stacked), eager, **tolerance)
    of_models = jax.vmap(lambda m, x: m.log_likelihood(x))(models, stacked)
    np.testing.assert_allclose(of_models, eager, **tolerance)


@first_kinds
def test_float32_agrees_and_stays_float32(model):
    labels = Labels.from_matrix(some_labels(), NUM_CLASSES)
    double = model.log_likelihood(labels)
    assert double.dtype == jnp.float64
    single = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), model).log_likelihood(labels)
    with jax.enable_x64(False):
        outside = np.asarray(model.log_likelihood(labels))
    for result in (single, outside):
        assert result.dtype == jnp.float32
        np.testing.assert_allclose(result, double, rtol=2e-6, atol=2e-6)


@every_kind
@pytest.mark.parametrize("captured_in_x64", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_dtype_follows_x64_although_a_live_jit_captured_the_parameters(model, captured_in_x64):
    """jax 0.10.2 keeps captured NumPy constants by identity and would hand out the other dtype."""
    labels = Labels.from_matrix(some_labels(), NUM_CLASSES)
    double = np.asarray(model.log_likelihood(labels))
    fresh = jax.tree.map(np.copy, model)
    alive = jax.jit(lambda x: fresh.log_likelihood(labels) + x)
    with jax.enable_x64(captured_in_x64):
        fresh.log_likelihood(labels)
        alive(1.0)
    for x64 in (not captured_in_x64, captured_in_x64):
        with jax.enable_x64(x64):
            for run in (lambda: fresh.log_likelihood(labels), jax.jit(lambda: fresh.log_likelihood(labels))):
                result = np.asarray(run())
                assert result.dtype == (np.float64 if x64 else np.float32)
                np.testing.assert_allclose(result, double, **({"rtol": 1e-13} if x64 else {"rtol": 2e-6}))


@pytest.mark.slow
@every_model
def test_sampled_labels_follow_the_likelihood(model):
    """Chi-square over all 27 label vectors, per class; false alarm 1e-4 each, at a fixed key."""
    n = 20_000
    draw = jax.jit(lambda m, key, y, mask: m.sample(key, y, mask))
    dist = np.exp(model.log_likelihood(Labels.from_matrix(ALL_VECTORS, NUM_CLASSES)))
    for true_class in range(NUM_CLASSES):
        y = np.full(n, true_class, np.int32)
        z = draw(model, jax.random.key(100 + true_class), y, np.ones((n, NUM_LABELERS), bool))
        index = np.asarray(z) @ NUM_CLASSES ** np.arange(NUM_LABELERS)[::-1]
        counts = np.bincount(index, minlength=len(ALL_VECTORS))
        possible = dist[:, true_class] > 0
        assert counts[~possible].sum() == 0
        if possible.sum() > 1:
            expected = n * dist[possible, true_class]
            assert scipy.stats.chisquare(counts[possible], expected * n / expected.sum()).pvalue >= 1e-4


@every_kind
def test_sample_respects_the_mask_and_runs_under_vmap(model):
    rng = np.random.default_rng(7)
    y, mask = rng.integers(0, NUM_CLASSES, 50), rng.random((50, NUM_LABELERS)) < 0.6
    keys = jax.random.split(jax.random.key(8), 3)
    batch = np.asarray(jax.vmap(lambda key: model.sample(key, y, mask))(keys))
    for key, z in zip(keys, batch, strict=True):
        np.testing.assert_array_equal(z >= 0, mask)
        assert z.max() < NUM_CLASSES and z.min() == -1
        np.testing.assert_array_equal(model.sample(key, y, mask), z)
    assert (batch[0] != batch[1]).any()


@every_model
def test_dist_strata_scaling_and_json(model):
    """All label vectors sum to one, a missing label is the sum over its values, and strata say the same
    distribution;
    errors scale; a model survives JSON."""
    labels = Labels.from_matrix(ALL_VECTORS, NUM_CLASSES)
    joint = np.exp(model.log_likelihood(labels))
    np.testing.assert_allclose(joint.sum(axis=0), 1, rtol=1e-13)
    pairs = ALL_VECTORS[::NUM_CLASSES].copy()
    pairs[:, -1] = -1
    without_last = np.exp(model.log_likelihood(Labels.from_matrix(pairs, NUM_CLASSES)))
    np.testing.assert_allclose(without_last, joint.reshape(-1, NUM_CLASSES, NUM_CLASSES).sum(1), atol=1e-15)
    strata, by_hand = model.strata(NUM_LABELERS), 0.0
    for rows, weight in zip(strata.rows, strata.weights, strict=True):
        by_labeler = [rows[t][:, ALL_VECTORS[:, t]].T for t in range(NUM_LABELERS)]
        by_hand = by_hand + weight * np.prod(by_labeler, axis=0)
    np.testing.assert_allclose(joint, by_hand, atol=1e-13)
    one, half = model.scaled(1.0).strata(NUM_LABELERS).rows, model.scaled(0.5).strata(NUM_LABELERS).rows
    np.testing.assert_allclose(one, strata.rows, atol=1e-13)
    assert (np.diagonal(half, axis1=2, axis2=3) >= np.diagonal(strata.rows, axis1=2, axis2=3) - 1e-13).all()
    again = NoiseModel.from_dict(json.loads(json.dumps(model.to_dict())))
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.log_likelihood(labels), model.log_likelihood(labels))


def test_a_model_derived_from_another_is_read_back():
    """Its class is found however far below `NoiseModel` it is, and a class reads what is derived from it."""

    class Halved(Symmetric):
        def log_likelihood(self, labels):
            return Symmetric(self.error / 2, self.num_classes).log_likelihood(labels)

    class Quartered(Halved):
        pass

    for kind in (Halved, Quartered):
        written = kind(0.2, NUM_CLASSES).to_dict()
        again = [reader.from_dict(written) for reader in (NoiseModel, Symmetric, kind)]
        assert [type(model) for model in again] == [kind] * 3
    with pytest.raises(ValueError, match=r"no noise model 'Halved'; the models are \['Quartered'\]"):
        Quartered.from_dict(Halved(0.2, NUM_CLASSES).to_dict())
    for name in ("NoiseModel", "Symmetrical"):
        with pytest.raises(ValueError, match=f"there is no noise model '{name}'"):
            NoiseModel.from_dict({"model": name})
    with pytest.raises(ValueError, match=r"missing: \['error'\], unknown: \['errors'\]"):
        NoiseModel.from_dict({"model": "Symmetric", "errors": 0.1, "num_classes": 2})


@first_kinds
def test_gradients_are_finite_at_log_zero(model):
    """Also for models with zeros: the gradient of the class posterior has no NaN and no infinity."""
    vectors = ALL_VECTORS[np.isfinite(model.log_likelihood(Labels.from_matrix(ALL_VECTORS, 3))).any(axis=1)]
    labels = Labels.from_matrix(vectors, NUM_CLASSES)

    def loss(m):
        return jnp.sum(jax.nn.softmax(m.log_likelihood(labels), axis=1)[:, 1] ** 2)

    gradient = jax.jit(jax.grad(loss))(model)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))


@every_model
def test_sizes_that_do_not_match_are_refused(model):
    other = Labels.from_matrix(np.array([[0, 1]]), num_classes=5)
    with pytest.raises(ValueError, match=r"have 5 classes but .* is for 3"):
        model.log_likelihood(other)
    with pytest.raises(ValueError, match="5 classes"):
        jax.jit(lambda labels: model.log_likelihood(labels))(other)
    if jax.tree.leaves(model)[-1].ndim or jax.tree.leaves(model)[0].ndim:  # not one number for all labelers
        with pytest.raises(ValueError, match=r"have 2 labelers but .* is for 3"):
            model.log_likelihood(Labels.from_matrix(np.array([[0, 1]]), num_classes=3))
        with pytest.raises(ValueError, match=r"have 2 labelers but .* is for 3"):
            model.sample(jax.random.key(0), np.array([0]), np.ones((1, 2), bool))
    with pytest.raises(ValueError, match="have 1 samples but difficulty is for 2"):
        DifficultyFallibility([0.1, 0.2], 0.1, 3).log_likelihood(Labels.from_matrix(np.array([[0, 1]]), 3))
