"""A table of misuses of every public fit and objective: each is a ValueError with a sentence, before JAX.

Wrong lengths, wrong columns, NaN, probabilities that do not sum to 1, classes out of range, empty data,
numbers below 0, keys that are missing, and values of another kind.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtruth import training as tr
from jtruth.labels import Labels
from jtruth.training.bayes import fit_bayes, predictive_probabilities

RHO = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]])
OFF = RHO + np.array([[0.1, 0.0]])  # sums to 1.1
LOG, LOSS = np.log(RHO), np.ones((3, 2))
HOLE = np.where(np.eye(3, 2) > 0, np.nan, LOSS)
X = np.arange(6.0).reshape(3, 2)
X_HOLE = np.where(np.eye(3, 2) > 0, np.nan, X)
Z = np.array([[0, 1], [1, 1], [1, -1]])
LABELS = Labels.from_matrix(Z, 2)
PRIOR, THREE = np.array([0.5, 0.5]), np.ones(3) / 3
P = np.array([[0.8, 0.2], [0.3, 0.7]])
PS = np.stack([P, P])
FLAT = np.full((2, 2, 2), 0.5)  # labels that say nothing
LINE = tr.Linear(np.zeros(()), np.zeros(2))
SHORT = tr.Linear(np.zeros(()), np.zeros(3))
BAD_LINE = tr.Linear(np.zeros(()), np.array([np.nan, 0.0]))
DRAWS = tr.Linear(np.zeros(4), np.zeros((4, 2)))
CLASSES = tr.Gaussians(np.zeros((2, 2)), np.ones((2, 2)))
SHARED = tr.Gaussians(np.zeros((2, 2)), np.eye(2))
TRAIN = lambda rho: (None, np.zeros(3, int))  # noqa: E731
NONE = np.zeros((0, 2))


def run(**changes):
    """`fit` with one argument changed."""
    given = {
        "key": 0, "model": LINE, "apply": tr.linear_outputs, "x": X, "evidence": RHO,
        "objective": tr.mmse("logistic"),
    } | changes  # fmt: skip
    recipe = tr.Recipe(**{name: given.pop(name) for name in tr.Recipe._fields if name in given})
    first = [given.pop(name) for name in ("key", "model", "apply", "x", "evidence")]
    return tr.fit(*first, recipe, **given)


CASES = {
    "discriminative_ml": (
        lambda: tr.discriminative_ml(LOG, LOG[:2]),
        lambda: tr.discriminative_ml(LOG, LOG[:, :1]),
        lambda: tr.discriminative_ml(HOLE, LOG),
        lambda: tr.discriminative_ml(LOG, HOLE),
        lambda: tr.discriminative_ml(LOG[0], LOG[0]),
        lambda: tr.discriminative_ml(LOG, LOG, where=np.ones(2, bool)),
        lambda: tr.discriminative_ml(LOG, LOG, where=np.ones(3)),
    ),
    "discriminative_map": (
        lambda: tr.discriminative_map(LOG, LOG[:2], 0.0),
        lambda: tr.discriminative_map(LOG, LOG, np.nan),
        lambda: tr.discriminative_map(LOG, LOG, np.zeros(2)),
        lambda: tr.discriminative_map(LOG, LOG, 0.0, num_samples=0),
        lambda: tr.discriminative_map(LOG, LOG, 0.0, num_samples=-3),
    ),
    "generative_ml": (
        lambda: tr.generative_ml(LOG, LOG, THREE),
        lambda: tr.generative_ml(LOG, LOG, np.array([0.5, 0.6])),
        lambda: tr.generative_ml(LOG[:2], LOG, PRIOR),
        lambda: tr.generative_ml(HOLE, LOG, PRIOR),
        lambda: tr.generative_ml(LOG, LOG, np.array([np.nan, 1.0])),
    ),
    "generative_map": (
        lambda: tr.generative_map(LOG, LOG, PRIOR, np.nan),
        lambda: tr.generative_map(LOG, LOG, THREE, 0.0),
        lambda: tr.generative_map(LOG, LOG, PRIOR, 0.0, num_samples=0),
    ),
    "mmse_risk": (
        lambda: tr.mmse_risk(LOSS, OFF),
        lambda: tr.mmse_risk(LOSS, RHO[:2]),
        lambda: tr.mmse_risk(LOSS, HOLE),
        lambda: tr.mmse_risk(HOLE, RHO),
        lambda: tr.mmse_risk(np.ones((3, 3)), RHO),
        lambda: tr.mmse_risk(LOSS, RHO, where=np.ones(4, bool)),
        lambda: tr.mmse_risk(LOSS, -RHO),
    ),
    "mmse_losses": (
        lambda: tr.mmse_losses(LOSS, OFF),
        lambda: tr.mmse_losses(HOLE, RHO),
        lambda: tr.mmse_losses(LOSS[:2], RHO),
    ),
    "empirical_risk": (
        lambda: tr.empirical_risk(LOSS, np.array([0, 1, 2])),
        lambda: tr.empirical_risk(LOSS, np.array([0, 1])),
        lambda: tr.empirical_risk(LOSS, np.array([0, 1, -1])),
        lambda: tr.empirical_risk(LOSS, np.array([0, 0.5, 1])),
        lambda: tr.empirical_risk(HOLE, np.array([0, 1, 1])),
        lambda: tr.empirical_risk(LOSS, np.array(["a", "b", "a"])),
    ),
    "risk_variance": (
        lambda: tr.risk_variance(LOSS, OFF),
        lambda: tr.risk_variance(LOSS[:2], RHO),
        lambda: tr.risk_variance(HOLE, RHO),
    ),
    "expected_risk_variance": (
        lambda: tr.expected_risk_variance(LOSS, P, THREE),
        lambda: tr.expected_risk_variance(LOSS, np.eye(3), PRIOR),
        lambda: tr.expected_risk_variance(LOSS, 2 * P, PRIOR),
        lambda: tr.expected_risk_variance(LOSS, PS, PRIOR),
        lambda: tr.expected_risk_variance(HOLE, P, PRIOR),
    ),
    "proxy_losses": (
        lambda: tr.proxy_losses(LOSS, np.eye(3)),
        lambda: tr.proxy_losses(LOSS, 2 * P),
        lambda: tr.proxy_losses(HOLE, P),
        lambda: tr.proxy_losses(LOSS, FLAT[0]),
        lambda: tr.proxy_losses(LOSS, np.full((2, 2), np.nan)),
    ),
    "weak_losses": (
        lambda: tr.weak_losses(LOSS, np.eye(3)),
        lambda: tr.weak_losses(LOSS, np.ones((2, 3))),
        lambda: tr.weak_losses(HOLE, P),
        lambda: tr.weak_losses(LOSS[0], P),
        lambda: tr.weak_losses(LOSS, P[0]),
    ),
    "candidate_sets": (
        lambda: tr.candidate_sets(1, 0.1),
        lambda: tr.candidate_sets(3, -0.1),
        lambda: tr.candidate_sets(3, np.nan),
        lambda: tr.candidate_sets(2.5, 0.1),
    ),
    "backward_risk": (
        lambda: tr.backward_risk(LOSS, PS, Z[:2]),
        lambda: tr.backward_risk(LOSS, PS, Z[:, :1]),
        lambda: tr.backward_risk(LOSS, PS, Z + 1),
        lambda: tr.backward_risk(LOSS, PS, Z.astype(float)),
        lambda: tr.backward_risk(LOSS, FLAT, Z),
        lambda: tr.backward_risk(LOSS, 2 * PS, Z),
        lambda: tr.backward_risk(HOLE, PS, Z),
        lambda: tr.backward_risk(np.ones((3, 3)), PS, Z),
        lambda: tr.backward_risk(LOSS, PS, Z, where=np.ones(2, bool)),
    ),
    "forward_risk": (
        lambda: tr.forward_risk(LOG, np.log(PS), Z[:2]),
        lambda: tr.forward_risk(LOG, np.log(PS), Z[:, :1]),
        lambda: tr.forward_risk(LOG, np.log(PS), Z - 1),
        lambda: tr.forward_risk(LOG, np.log(PS), Z + 1),
        lambda: tr.forward_risk(LOG, PS, Z),
        lambda: tr.forward_risk(HOLE, np.log(PS), Z),
        lambda: tr.forward_risk(LOG, np.log(P), Z),
        lambda: tr.forward_risk(LOG, np.full((2, 2, 2), np.nan), Z),
    ),
    "backward": (
        lambda: tr.backward(P),
        lambda: tr.backward(2 * PS),
        lambda: tr.backward(FLAT),
        lambda: tr.backward(PS, "hing"),
        lambda: tr.backward(np.full((2, 2, 2), np.nan)),
    ),
    "forward": (
        lambda: tr.forward(P),
        lambda: tr.forward(2 * PS),
        lambda: tr.forward(np.ones((2, 2, 3)) / 3),
        lambda: tr.forward(np.full((2, 2, 2), np.nan)),
    ),
    "mmse": (lambda: tr.mmse("hing"),),
    "losses": (
        lambda: tr.log_probabilities(np.zeros((3, 1))),
        lambda: tr.log_probabilities(np.zeros(())),
        lambda: tr.log_probabilities(np.array(["a", "b"])),
        lambda: tr.log_probabilities(HOLE),
        lambda: tr.logistic(LOSS),
        lambda: tr.hinge(LOSS),
        lambda: tr.hinge(np.array([np.nan, 1.0])),
        lambda: tr.squared_hinge(LOSS),
        lambda: tr.cross_entropy(np.zeros(3)),
        lambda: tr.brier(np.zeros(3)),
        lambda: tr.brier(HOLE),
        lambda: tr.multiclass_hinge(np.zeros(3)),
        lambda: tr.multiclass_hinge(HOLE),
    ),
    "linear_outputs": (
        lambda: tr.linear_outputs(SHORT, X),
        lambda: tr.linear_outputs(LINE, X_HOLE),
        lambda: tr.linear_outputs(BAD_LINE, X),
        lambda: tr.linear_outputs((0.0, np.zeros(2)), X),
        lambda: tr.linear_outputs(LINE, X[0]),
    ),
    "l2": (lambda: tr.l2(np.ones(2), 0), lambda: tr.l2(np.array([np.nan]), 3)),
    "linear_objective": (
        lambda: tr.linear_objective(LINE, X, RHO, -1.0),
        lambda: tr.linear_objective(LINE, X, RHO, 1.0, objective="map"),
        lambda: tr.linear_objective(LINE, X, RHO, 1.0, loss="hing"),
        lambda: tr.linear_objective(LINE, X, OFF, 1.0),
        lambda: tr.linear_objective(LINE, X, RHO[:2], 1.0),
    ),
    "solve_linear": (
        lambda: tr.solve_linear(X, RHO[:2], 1.0, LINE),
        lambda: tr.solve_linear(X, OFF, 1.0, LINE),
        lambda: tr.solve_linear(X_HOLE, RHO, 1.0, LINE),
        lambda: tr.solve_linear(X, RHO, -1.0, LINE),
        lambda: tr.solve_linear(X, RHO, 1.0, SHORT),
        lambda: tr.solve_linear(X, RHO, 1.0, LINE, stop=tr.Stop(0)),
        lambda: tr.solve_linear(X, RHO, 1.0, LINE, stop=tr.Stop(tol=np.nan)),
        lambda: tr.solve_linear(X, HOLE, 1.0, LINE, objective="ml"),
    ),
    "fit_linear": (
        lambda: tr.fit_linear(X, LOG[:2], PRIOR),
        lambda: tr.fit_linear(X, LOG, THREE),
        lambda: tr.fit_linear(X_HOLE, LOG, PRIOR),
        lambda: tr.fit_linear(X, LOG, PRIOR + 0.1),
        lambda: tr.fit_linear(X, LOG, PRIOR, regularisation=-1),
        lambda: tr.fit_linear(X, LOG, PRIOR, regularisation="a"),
        lambda: tr.fit_linear(X, LOG, PRIOR, restarts=tr.Restarts(2)),
        lambda: tr.fit_linear(X, LOG, PRIOR, restarts=tr.Restarts(-1)),
        lambda: tr.fit_linear(NONE, NONE, PRIOR),
        lambda: tr.fit_linear(X, HOLE, PRIOR),
        lambda: tr.fit_linear(X, LOG, PRIOR, stop=tr.Stop(0)),
    ),
    "fit_gaussians": (
        lambda: tr.fit_gaussians(X, LOG[:2], PRIOR),
        lambda: tr.fit_gaussians(X_HOLE, LOG, PRIOR),
        lambda: tr.fit_gaussians(X, LOG, THREE),
        lambda: tr.fit_gaussians(X, LOG, PRIOR, family="qda"),
        lambda: tr.fit_gaussians(X, LOG, PRIOR, spread_prior=tr.SpreadPrior(-1.0)),
        lambda: tr.fit_gaussians(NONE, NONE, PRIOR),
        lambda: tr.fit_gaussians(X, LOG, PRIOR, stop=tr.Stop(-1)),
    ),
    "gaussian densities": (
        lambda: tr.naive_bayes_log_densities(CLASSES, X[:, :1]),
        lambda: tr.naive_bayes_log_densities(CLASSES._replace(spread=-np.ones((2, 2))), X),
        lambda: tr.naive_bayes_log_densities(CLASSES, X_HOLE),
        lambda: tr.lda_log_densities(SHARED, X[:, :1]),
        lambda: tr.lda_log_densities(SHARED._replace(spread=-np.eye(2)), X),
        lambda: tr.lda_log_densities(CLASSES._replace(spread=np.ones((3, 2))), X),
        lambda: tr.gaussian_log_probabilities(SHARED, X, THREE, family="lda"),
        lambda: tr.gaussian_log_probabilities(SHARED, X, PRIOR, family="qda"),
    ),
    "fit_raykar": (
        lambda: tr.fit_raykar(X[:2], LABELS),
        lambda: tr.fit_raykar(X, Z),
        lambda: tr.fit_raykar(X_HOLE, LABELS),
        lambda: tr.fit_raykar(X, LABELS, regularisation=-1),
        lambda: tr.fit_raykar(X, LABELS, pseudo_counts=(0, -1)),
        lambda: tr.fit_raykar(X, LABELS, pseudo_counts=(0, 0, 0)),
        lambda: tr.fit_raykar(X, LABELS, stop=tr.Stop(0)),
        lambda: tr.raykar_objective(LINE, 2 * PS, X, LABELS, 1.0, np.ones(2)),
        lambda: tr.raykar_objective(LINE, PS[:, :1], X, LABELS, 1.0, np.ones(2)),
        lambda: tr.raykar_objective(LINE, PS, X[:2], LABELS, 1.0, np.ones(2)),
    ),
    "fit_mbem": (
        lambda: tr.fit_mbem(TRAIN, Z),
        lambda: tr.fit_mbem("logistic", LABELS),
        lambda: tr.fit_mbem(TRAIN, LABELS, prior=THREE),
        lambda: tr.fit_mbem(TRAIN, LABELS, num_rounds=0),
        lambda: tr.fit_mbem(TRAIN, LABELS, pseudo_counts=0.1),
        lambda: tr.fit_mbem(lambda rho: (None, np.zeros(2, int)), LABELS),
        lambda: tr.fit_mbem(lambda rho: (None, np.full(3, 2)), LABELS),
    ),
    "hard labels": (
        lambda: tr.label_estimates(OFF),
        lambda: tr.label_estimates(HOLE),
        lambda: tr.label_estimates(RHO[0]),
        lambda: tr.vote_shares(Z),
        lambda: tr.labels_of_each(Z),
        lambda: tr.replication_counts(OFF, 3),
        lambda: tr.replication_counts(RHO, 0),
        lambda: tr.replication_counts(RHO, 1.5),
        lambda: tr.replicated(X[:2], RHO, 3),
        lambda: tr.fit_voters(X[:2], LABELS),
        lambda: tr.fit_voters(X, Z),
        lambda: tr.fit_voters(X_HOLE, LABELS),
        lambda: tr.fit_voters(X, LABELS, regularisation=-1),
        lambda: tr.fit_voters(X, LABELS, loss="hing"),
        lambda: tr.vote(np.array([0, 1]), 2),
        lambda: tr.vote(np.array([[0, 2]]), 2),
        lambda: tr.vote(np.zeros((0, 3), int), 2),
        lambda: tr.vote(Z, 1),
        lambda: tr.median_scores(np.zeros(3)),
        lambda: tr.median_scores(X_HOLE),
        lambda: tr.median_scores(np.zeros((0, 3))),
    ),
    "fit": (
        lambda: run(key=None),
        lambda: run(key=0.5),
        lambda: run(x=X[:2]),
        lambda: run(x=X_HOLE),
        lambda: run(x=NONE, evidence=NONE),
        lambda: run(x=X.tolist()),
        lambda: run(evidence=OFF),
        lambda: run(evidence=HOLE),
        lambda: run(evidence=HOLE, objective=tr.ml()),
        lambda: run(evidence=Z + 1, objective=tr.forward(PS)),
        lambda: run(evidence=Z[:, :1], objective=tr.backward(PS)),
        lambda: run(objective="mmse"),
        lambda: run(apply=None),
        lambda: run(batch_size=0),
        lambda: run(num_epochs=1.5),
        lambda: run(patience=3),
        lambda: run(validation=X),
        lambda: run(validation=(X[:2], RHO)),
        lambda: run(validation=(X, OFF)),
    ),
    "networks": (
        lambda: tr.mlp(None, 2, 2),
        lambda: tr.mlp(0, 0, 2),
        lambda: tr.conv_net(None, (1, 8, 8), 2),
        lambda: tr.conv_net(0, (8, 8), 2),
        lambda: tr.conv_net(0, 8, 2),
    ),
    "noise layer": (
        lambda: tr.with_labelers(LINE, 0, 2),
        lambda: tr.with_labelers(LINE, 2, 1),
        lambda: tr.with_labelers(LINE, 2, 2, diagonal=0.4),
        lambda: tr.with_labelers(LINE, 2.0, 2),
        lambda: tr.labeler_matrices(LINE),
        lambda: tr.labeler_matrices(tr.WithLabelers(LINE, np.zeros((2, 2)))),
        lambda: tr.trace_penalty(-1.0),
        lambda: tr.trace_penalty(np.nan),
    ),
    "areas": (
        lambda: tr.estimated_auc(np.zeros(4), RHO),
        lambda: tr.estimated_auc(np.zeros(3), OFF),
        lambda: tr.estimated_auc(np.zeros(()), RHO),
        lambda: tr.estimated_auc(np.array([0.0, np.nan, 1.0]), RHO),
        lambda: tr.unbiased_auc(np.zeros((3, 3)), RHO),
        lambda: tr.unbiased_auc(np.zeros(3), np.ones((3, 3)) / 3),
        lambda: tr.negative_auc(np.zeros(3), OFF),
        lambda: tr.negative_auc(np.zeros(3), RHO, where=np.ones(2, bool)),
    ),
    "fit_bayes": (
        lambda: fit_bayes(X, LOG, key=None),
        lambda: fit_bayes(X, LOG[:2], key=0),
        lambda: fit_bayes(X_HOLE, LOG, key=0),
        lambda: fit_bayes(X, LOG, key=0, regularisation=0.0),
        lambda: predictive_probabilities(DRAWS, X_HOLE),
        lambda: predictive_probabilities(DRAWS, X[:, :1]),
        lambda: predictive_probabilities(LINE, X),
        lambda: predictive_probabilities(DRAWS._replace(weights=np.full((4, 2), np.nan)), X),
    ),
}
ROWS = [pytest.param(call, id=f"{name} {k}") for name, calls in CASES.items() for k, call in enumerate(calls)]


@pytest.mark.parametrize("call", ROWS)
@pytest.mark.usefixtures("as_installed")
def test_misuse_is_refused_in_a_sentence(call):
    with pytest.raises(ValueError) as caught:
        call()
    said = str(caught.value)
    assert " " in said and "Tracer" not in said and "broadcast" not in said and "dot_general" not in said


@pytest.mark.usefixtures("as_installed")
def test_checks_let_traced_calls_through():
    """jit and grad, against the plain call; vmap over labels is in test_rivals, over fits in test_linear."""
    plain = [
        (tr.forward_risk, (LOG, np.log(PS), Z)),
        (tr.naive_bayes_log_densities, (CLASSES, X)),
    ]
    for function, arguments in plain:
        given = jax.tree.map(jnp.asarray, arguments)
        np.testing.assert_allclose(jax.jit(function)(*given), function(*given), rtol=1e-6)
    slope = jax.grad(lambda log_p: tr.forward_risk(log_p, np.log(PS), Z))(jnp.asarray(LOG))
    assert np.isfinite(slope).all()
