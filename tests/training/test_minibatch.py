"""`fit`, networks and own loops: against L-BFGS, learning curves, early stopping, masks, vmap over seeds."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jtruth import training as tr
from jtruth.posterior import class_posterior
from jtruth.training.linear import l2
from jtruth.training.objectives import negative_auc
from tests.training.problems import problem

START = tr.Linear(np.zeros(()), np.zeros(3))
PRIOR = np.array([0.5, 0.5])


def shrink(model):
    return 2.0 * l2(model.weights, 50)


@pytest.mark.parametrize("kind", ["mmse", "ml"])
@pytest.mark.slow
def test_minibatches_reach_the_optimum_of_lbfgs(kind):
    x, _, log_likelihood = problem(n=50)  # two whole batches
    rho = class_posterior(log_likelihood, PRIOR)
    evidence, objective = (rho, tr.mmse("logistic")) if kind == "mmse" else (log_likelihood, tr.ml())
    optimiser = optax.adam(optax.exponential_decay(0.05, 200, 0.3))
    recipe = tr.Recipe(objective, penalty=shrink, optimiser=optimiser, batch_size=25, num_epochs=600)
    found = tr.fit(jax.random.key(0), START, tr.linear_outputs, x, evidence, recipe)
    best = tr.fit_linear(x, log_likelihood, PRIOR, objective=kind, regularisation=2.0).model
    np.testing.assert_allclose(found.model.weights, best.weights, atol=0.01)
    assert found.path[-1] < found.path[0]
    assert found.num_steps == 600 and not found.converged and found.best_epoch == 599
    assert np.isnan(found.validation).all()


def test_padding_leaves_one_full_batch_step_unchanged():
    """One epoch of one batch is one step of gradient descent on the whole objective."""
    x, _, log_likelihood = problem()
    rho = class_posterior(log_likelihood, PRIOR)
    recipe = tr.Recipe(tr.mmse("logistic"), optimiser=optax.sgd(1.0), batch_size=64, num_epochs=1)
    found = tr.fit(jax.random.key(1), START, tr.linear_outputs, x, rho, recipe)
    expected = (rho[:, 1] - 0.5) @ x / len(x)
    np.testing.assert_allclose(found.model.weights, expected, rtol=1e-12)


def test_padding_counts_for_nothing_and_every_epoch_has_an_order_of_its_own():
    """A loss (a_i + b_i) w with gradient a_i: in one order for all epochs the loss would fall on a line."""

    def outputs(w, x):
        return w * x[:, 0] + jax.lax.stop_gradient(w) * x[:, 1]

    def mean(outputs, evidence, *, where=None):
        return jnp.where(where, outputs, 0).sum() / where.sum().astype(outputs.dtype)

    def training(x):
        recipe = tr.Recipe(mean, optimiser=SMALL_STEPS, batch_size=3, num_epochs=3)
        start = jnp.array(2.0)
        return np.asarray(tr.fit(jax.random.key(0), start, outputs, x, np.zeros(40), recipe).path)

    x = np.random.default_rng(0).normal(size=(40, 2))
    assert abs(np.diff(training(x), 2)) > 1e-3
    still = x * [0.0, 1.0]  # no gradient: the mean over 40 samples, though the last batch has one
    np.testing.assert_allclose(training(still), 2.0 * x[:, 1].mean(), rtol=1e-12)


SMALL_STEPS = optax.sgd(0.1)


@pytest.mark.slow
def test_early_stopping_returns_the_best_epoch_and_seeds_are_reproducible():
    x, _, log_likelihood = problem(n=70)
    rho, seen = class_posterior(log_likelihood, PRIOR), []
    x, held_x, rho, held = x[:40], x[40:], rho[:40], rho[40:]
    validation = held_x, held
    model = tr.mlp(jax.random.key(0), 3, 2, width=16)

    def run(key, progress=False):
        recipe = tr.Recipe(tr.mmse(), optimiser=OPTIMISER, num_epochs=60, patience=5, progress=progress)
        return tr.fit(key, model, tr.outputs_of, x, rho, recipe, validation=validation)

    found = run(jax.random.key(3), progress=lambda *values: seen.append([float(v) for v in values]))
    jax.effects_barrier()
    epochs = int(found.num_steps)
    assert found.converged and epochs == found.best_epoch + 6 < 60
    assert np.isnan(found.validation[epochs:]).all() and np.isfinite(found.validation[:epochs]).all()
    assert found.validation[found.best_epoch] == np.nanmin(found.validation)
    value = tr.mmse()(tr.outputs_of(found.model, jnp.asarray(held_x)), validation[1])
    np.testing.assert_allclose(value, found.validation[found.best_epoch], rtol=1e-12)
    assert sorted(row[0] for row in seen) == list(range(epochs))
    again, other = run(jax.random.key(3)), run(jax.random.key(4))
    np.testing.assert_array_equal(again.path, found.path)
    assert (other.path != found.path).any()


OPTIMISER = optax.adam(0.03)


@pytest.mark.slow
def test_vmapped_over_seeds_and_stopped_by_the_estimated_area():
    x, _, log_likelihood = problem(n=40)
    rho = class_posterior(log_likelihood, PRIOR)

    def run(key):
        options = {"optimiser": OPTIMISER, "num_epochs": 8, "judge": negative_auc, "patience": 3}
        recipe = tr.Recipe(tr.mmse("logistic"), **options)
        return tr.fit(key, START, tr.linear_outputs, x, rho, recipe, validation=(x, rho))

    keys = jax.random.split(jax.random.key(0), 3)
    found = jax.vmap(run)(keys)
    alone = run(keys[1])
    np.testing.assert_allclose(found.model.weights[1], alone.model.weights, rtol=1e-12)
    best = -tr.estimated_auc(tr.linear_outputs(alone.model, x), rho)
    np.testing.assert_allclose(best, alone.validation[alone.best_epoch], rtol=1e-12)


@pytest.mark.slow
def test_area_is_mann_whitney_with_certain_labels_and_unbiased_with_noisy_ones():
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, 200), rng.normal(size=200).round(1)
    scores = scores + y
    certain = jnp.asarray(np.eye(2)[y])
    area = tr.estimated_auc(jnp.asarray(scores), certain)
    np.testing.assert_allclose(area, roc_auc_score(y, scores), rtol=1e-12)
    y = rng.random((100, 500)) < 0.3
    scores = rng.normal(size=y.shape) + 1.5 * y
    error = np.where(rng.random(y.shape) < 0.5, 0.1, 0.35)  # labelers of two kinds
    z = np.where(rng.random(y.shape) < error, ~y, y)
    p1, p0 = np.where(z, 1 - error, error) * 0.3, np.where(z, error, 1 - error) * 0.7
    rho = p1 / (p0 + p1)
    found = jax.vmap(tr.estimated_auc)(jnp.asarray(scores), jnp.stack([1 - rho, rho], axis=2))
    actual = [roc_auc_score(a, b) for a, b in zip(y, scores, strict=True)]
    gap = found - np.array(actual)
    assert abs(gap.mean()) < 4 * gap.std() / 10  # false-alarm rate 1e-4
