"""Label estimation, voting, replication, proxy and weak losses, forward and backward correction."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtruth import training as tr
from jtruth.labels import Labels


def test_estimated_labels_and_vote_shares():
    posterior = np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])
    assert tr.label_estimates(posterior).tolist() == [1, 0, 0]
    labels = Labels.from_matrix(np.array([[0, 1, 1], [-1, -1, 2], [-1, -1, -1]]), 3, allow_unlabelled=True)
    np.testing.assert_allclose(tr.vote_shares(labels), [[1 / 3, 2 / 3, 0], [0, 0, 1], [1 / 3] * 3])


@pytest.mark.slow
def test_voting_is_one_fit_for_each_labeler_and_the_roc_curve_of_the_median():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    x[:, 0] += 2 * y
    z = np.where(rng.random((60, 3)) < 0.8, y[:, None], 1 - y[:, None])
    z[:, 0] = y
    for t in range(3):  # as many of each: one program
        z[rng.permutation(60)[:18], t] = -1
    voters = tr.fit_voters(x, Labels.from_matrix(z, 2, allow_unlabelled=True), regularisation=2.0)
    assert voters.converged.all()
    for t in range(3):
        seen = z[:, t] >= 0
        with np.errstate(divide="ignore"):
            one_hot = np.log(z[seen, t][:, None] == np.arange(2))
        alone = tr.fit_linear(x[seen], one_hot, np.array([0.5, 0.5]), regularisation=2.0)
        np.testing.assert_allclose(voters.model.weights[t], alone.model.weights, atol=1e-6)
    scores = np.asarray(jax.vmap(tr.linear_outputs, in_axes=(0, None))(voters.model, x))
    for threshold in (-1.0, 0.0, 0.7):
        voted = tr.vote((scores > threshold).astype(int), 2)
        np.testing.assert_array_equal(voted, np.asarray(tr.median_scores(scores)) > threshold)
    assert tr.vote(np.array([[0, 2], [1, 2], [-1, 0]]), 3).tolist() == [0, 2]


def test_golden_proxy_and_weak_losses(golden):
    for case in golden("training")["cases"]:
        if case["kind"] in ("proxy", "weak_minnorm"):
            found = tr.weak_losses(np.array(case["loss"]), np.array(case["P"]))
            np.testing.assert_allclose(found, case.get("proxy", case.get("weak")), rtol=1e-9)
            assert bool((found < 0).any()) == case.get("negative", bool((found < 0).any()))


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_corrected_losses_are_unbiased(classes):
    """The mean over the labels, given the class, is the loss of the class."""
    rng = np.random.default_rng(classes)
    losses = rng.normal(size=(7, classes))
    square, wide = rng.dirichlet(np.ones(classes), classes), rng.dirichlet(np.ones(classes + 3), classes)
    for channel in (square, wide):
        found = jax.jit(tr.weak_losses)(losses, channel)
        np.testing.assert_allclose(found @ channel.T, losses, atol=1e-9)
        shortest = losses @ np.linalg.pinv(channel).T
        np.testing.assert_allclose(found, shortest, atol=1e-9)
        single = tr.weak_losses(jnp.asarray(losses, jnp.float32), channel)
        assert single.dtype == jnp.float32
        np.testing.assert_allclose(
            single, shortest, atol=2e-6 * np.linalg.cond(channel) * np.abs(shortest).max()
        )


@pytest.mark.parametrize("labelers", [1, 2])
def test_backward_correction_of_more_symbols_than_classes(labelers):
    """Two classes and an "unsure": over all labels, given the class, its mean is the cross-entropy."""
    matrices = np.array([[[0.7, 0.1, 0.2], [0.1, 0.6, 0.3]], [[0.8, 0.2, 0.0], [0.3, 0.7, 0.0]]])[:labelers]
    logits = jnp.array([[0.3, -1.2]])
    back, ahead = (jax.jit(make(matrices)) for make in (tr.backward, tr.forward))
    p = np.asarray(jax.nn.softmax(logits, axis=1))[0]
    for c in range(2):
        mean = 0.0
        for z in itertools.product(range(3), repeat=labelers):
            chance = np.prod([matrices[t, c, label] for t, label in enumerate(z)])
            mean += chance * float(back(logits, np.array([z]))) if chance else 0.0
            if chance:
                wanted = np.mean([-np.log(p @ matrices[t][:, label]) for t, label in enumerate(z)])
                assert float(ahead(logits, np.array([z]))) == pytest.approx(wanted, rel=1e-12)
        assert mean == pytest.approx(-np.log(p[c]), rel=1e-10)
    last = np.array([[2] + [-1] * (labelers - 1)])
    shortest = (np.linalg.pinv(matrices[0]) @ -np.log(p))[2]
    assert float(back(logits, last)) == pytest.approx(shortest, rel=1e-10)


def test_golden_replication(golden):
    cases = {case["kind"]: case for case in golden("training")["cases"]}
    case, data = cases["replication"], cases["logreg_MMSE"]
    counts = tr.replication_counts(np.array(data["post"]), case["K"])
    np.testing.assert_array_equal(counts[:, 1], case["copies1"])
    theta, x = np.array(data["theta"]), np.array(data["X"])
    risk = tr.mmse_risk(tr.logistic(jnp.asarray(theta[0] + x @ theta[1:])), counts / case["K"])
    penalty = data["lam"] / 2 / len(x) * (theta[1:] ** 2).sum()
    np.testing.assert_allclose(risk + penalty, case["J"], rtol=1e-9)


def test_replication_is_the_nearest_table_and_converges_to_the_mmse_risk():
    rho = np.random.default_rng(0).dirichlet(np.ones(3), 30)
    losses = np.random.default_rng(1).random((30, 3))
    every = np.array([c for c in itertools.product(range(5), repeat=3) if sum(c) == 4])
    for row, counts in zip(rho, tr.replication_counts(rho, 4), strict=True):
        assert np.abs(counts - 4 * row).sum() == pytest.approx(np.abs(every - 4 * row).sum(axis=1).min())
    goal = float(tr.mmse_risk(losses, rho))
    for copies in (3, 30, 3000, 10**9):
        counts = tr.replication_counts(rho.astype(np.float32), copies)
        assert (counts.sum(axis=1) == copies).all() and np.abs(
            counts - copies * rho
        ).max() < 1 + 1e-7 * copies
        assert abs(float(tr.mmse_risk(losses, counts / copies)) - goal) < 1 / copies + 1e-7


def crowd(seed=0, n=200, labelers=3, classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    matrices = 0.6 * np.eye(classes) + 0.4 * rng.dirichlet(np.ones(classes), (labelers, classes))
    z = np.array([[rng.choice(classes, p=matrices[t, c]) for t in range(labelers)] for c in y])
    z[rng.random(z.shape) < 0.3] = -1
    return rng.normal(size=(n, classes)), matrices, z


def test_forward_and_backward_risk_by_loops():
    logits, matrices, z = crowd(n=20)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    ahead, back = np.full((2, 20, 3), np.nan)
    for i, t in itertools.product(range(20), range(3)):
        if z[i, t] >= 0:
            ahead[i, t] = -np.log(p[i] @ matrices[t][:, z[i, t]])
            back[i, t] = (np.linalg.inv(matrices[t]) @ -np.log(p[i]))[z[i, t]]
    half = np.arange(20) < 10
    for objective, values in {tr.forward(matrices): ahead, tr.backward(matrices): back}.items():
        compiled = jax.jit(objective)
        every = compiled(jnp.asarray(logits), z, where=np.ones(20, bool))
        np.testing.assert_allclose(every, np.nanmean(values), rtol=1e-12)
        masked = compiled(jnp.asarray(logits), z, where=half)
        np.testing.assert_allclose(masked, np.nanmean(values[:10]), rtol=1e-12)
    assert tr.forward(matrices) is tr.forward(matrices.tolist())
