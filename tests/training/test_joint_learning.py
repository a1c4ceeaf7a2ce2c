"""Labelers learned while training: Raykar's EM, MBEM, the noise-adaptation layer and trace regularisation."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jtruth import training as tr
from jtruth.labels import Labels
from jtruth.noise import ConfusionMatrices
from jtruth.training.corrections import labeler_matrices
from jtruth.training.em import raykar_objective
from tests.training.problems import crowd

GOOD = np.array([[0.9, 0.1], [0.15, 0.85]])
POOR = np.array([[0.6, 0.4], [0.35, 0.65]])
THREE = np.stack([GOOD, POOR, POOR])


def predicted(model, x):
    return np.asarray(tr.linear_outputs(model, x) > 0).astype(int)


@pytest.mark.slow
def test_raykar_learns_labelers_and_classifier():
    x, y, z = crowd(THREE, shown=0.7)
    labels = Labels.from_matrix(z, 2)
    found = tr.fit_raykar(x, labels, regularisation=1.0, stop=tr.Stop(200, 1e-7))
    path = np.asarray(found.path)[: int(found.num_steps)]
    assert found.converged and (np.diff(path) < 1e-10).all()
    np.testing.assert_allclose(found.matrices, THREE, atol=0.12)
    knowing = tr.fit_linear(x, ConfusionMatrices(THREE).log_likelihood(labels), np.array([0.5, 0.5]))
    assert (predicted(found.model, x) == y).mean() > (predicted(knowing.model, x) == y).mean() - 0.02
    # At the optimum the objective is stationary in theta, and in the logits of every row.
    logits = jnp.log(found.matrices)

    def j(model, logits):
        rows = jax.nn.softmax(logits, axis=2)
        return raykar_objective(model, rows, jnp.asarray(x), labels, jnp.array(1.0), jnp.zeros(2))

    gradients = jax.jit(jax.grad(j, argnums=(0, 1)))(found.model, logits)
    for leaf in jax.tree.leaves(gradients):
        np.testing.assert_allclose(leaf, 0, atol=1e-6)


def train_linear(x):
    def train(rho):
        model = tr.fit_linear(x, np.log(rho + 1e-12), np.array([0.5, 0.5])).model
        return model, predicted(model, x)

    return train


@pytest.mark.slow
def test_mbem_with_one_label_for_each_sample():
    x, y, z = crowd(THREE, seed=3, n=600, shown=0.0)
    labels = Labels.from_matrix(z, 2)
    found = tr.fit_mbem(train_linear(x), labels, prior=np.array([0.5, 0.5]), num_rounds=20)
    assert (labels.labels_per_sample() == 1).all()
    assert found.converged and found.path[-1] == 0 and found.num_steps == len(found.path) + 1
    np.testing.assert_allclose(found.matrices, THREE, atol=0.15)
    assert (found.y_pred == y).mean() > 0.85
    one_round = tr.fit_mbem(train_linear(x), labels, num_rounds=1)
    assert not one_round.converged and one_round.path.size == 0
    counts = np.bincount(one_round.y_pred, minlength=2) + 0.1  # a learned prior, with the pseudo-count
    np.testing.assert_allclose(one_round.prior, counts / counts.sum(), rtol=1e-12)
    runaway = tr.fit_mbem(train_linear(x), labels, num_rounds=20)  # as the module says
    assert runaway.converged and runaway.y_pred.mean() > 0.99


@pytest.mark.slow
def test_matrices_of_mbem_are_counts_against_the_predictions():
    x, _, z = crowd(THREE, seed=4, n=40)
    found = tr.fit_mbem(train_linear(x), Labels.from_matrix(z, 2), num_rounds=1, pseudo_counts=(2.0, 1.0))
    for t, c in np.ndindex(3, 2):
        mine = z[found.y_pred == c, t]
        counts = np.bincount(mine, minlength=2) + np.where(np.arange(2) == c, 2.0, 1.0)
        np.testing.assert_allclose(found.matrices[t, c], counts / counts.sum(), rtol=1e-12)


@pytest.mark.slow
def test_trace_regularisation_finds_matrices_that_the_likelihood_alone_does_not_single_out():
    matrices = np.stack([GOOD, POOR, GOOD])
    x, y, z = crowd(matrices, seed=5, n=1500)
    start = tr.with_labelers(tr.Linear(jnp.zeros(()), jnp.zeros(2)), 3, 2)
    np.testing.assert_allclose(labeler_matrices(start)[0], [[0.9, 0.1], [0.1, 0.9]])
    assert float(tr.trace_penalty(0.5)(start)) == pytest.approx(0.45)

    def train(penalty):
        options = {"optimiser": optax.adam(0.03), "batch_size": 250, "num_epochs": 60}
        recipe = tr.Recipe(tr.predict_labels(), penalty, **options)
        return tr.fit(jax.random.key(0), start, tr.layered(tr.linear_outputs), x, z, recipe).model

    with_trace = train(tr.trace_penalty(0.02))
    found = labeler_matrices(with_trace)
    np.testing.assert_allclose(found, matrices, atol=0.12)
    assert found.sum(axis=2).min() > 0.999
    assert (predicted(with_trace[0], x) == y).mean() > 0.85
