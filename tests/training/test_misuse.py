"""Misuses of every public fit and objective: each is a ValueError with a sentence, before JAX.

Wrong lengths, wrong columns, NaN, probabilities that do not sum to 1, classes out of range, empty data,
negative numbers, invalid keys, and values of another kind.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtruth import training as tr
from jtruth.labels import Labels
from jtruth.testing import binary_counts, collapse, labeler_metrics
from jtruth.testing.binary.exact import unknown_prior
from jtruth.training.bayes import fit_bayes
from jtruth.training.em import gaussian_log_probabilities
from jtruth.training.objectives import negative_auc

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
CLASSES = tr.em.Gaussians(np.zeros((2, 2)), np.ones((2, 2)))
SHARED = tr.em.Gaussians(np.zeros((2, 2)), np.eye(2))
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


# A function, and arguments of calls that it must refuse; a dict holds those that are given by name.
WRONG = [
    (tr.discriminative_ml, (LOG[0], LOG[0]), (LOG, LOG, {"where": np.ones(2, bool)}),
     (LOG, LOG, {"where": np.ones(3)})),
    (tr.generative_ml, (LOG[:2], LOG, PRIOR), (HOLE, LOG, PRIOR), (LOG, LOG, np.array([np.nan, 1.0]))),
    (tr.mmse_risk, (LOSS, RHO[:2]), (LOSS, HOLE), (HOLE, RHO), (LOSS, -RHO)),
    (tr.corrections.forward_risk, (LOG, np.log(PS), Z[:2]), (LOG, np.log(PS), Z[:, :1]),
     (LOG, np.log(PS), Z - 1), (LOG, np.log(PS), Z + 1), (LOG, PS, Z), (HOLE, np.log(PS), Z),
     (LOG, np.log(P), Z), (LOG, np.full((2, 2, 2), np.nan), Z)),
    (tr.risk_variance, (LOSS, RHO[:2]), (LOSS, HOLE), (HOLE, RHO), (LOSS, -RHO)),
    (tr.replication_counts, (RHO, 0), (RHO, 2.5), (-RHO, 3), (HOLE, 3)),
    (tr.backward, (P,), (2 * PS,), (np.ones((2, 3, 2)) / 2,), (np.full((2, 2, 2), np.nan),)),
    (tr.forward, (P,), (2 * PS,), (np.ones((2, 3, 2)) / 2,), (np.full((2, 2, 2), np.nan),)),
    (tr.log_probabilities, (np.zeros((3, 1)),), (np.zeros(()),), (np.array(["a", "b"]),), (HOLE,)),
    (tr.brier, (np.zeros(3),), (HOLE,)),
    (tr.linear_outputs, (SHORT, X), (LINE, X_HOLE), (BAD_LINE, X), ((0.0, np.zeros(2)), X), (LINE, X[0])),
    (tr.linear.l2, (np.ones(2), 0), (np.array([np.nan]), 3)),
    (tr.linear_objective, (LINE, X, RHO, -1.0), (LINE, X, RHO, 1.0, {"objective": "map"}),
     (LINE, X, RHO, 1.0, {"loss": "hing"}), (LINE, X, OFF, 1.0), (LINE, X, RHO[:2], 1.0)),
    (tr.solve_linear, (X, RHO[:2], 1.0, LINE), (X, OFF, 1.0, LINE), (X_HOLE, RHO, 1.0, LINE),
     (X, RHO, -1.0, LINE), (X, RHO, 1.0, SHORT), (X, RHO, 1.0, LINE, {"stop": tr.Stop(0)}),
     (X, RHO, 1.0, LINE, {"stop": tr.Stop(tol=np.nan)}), (X, HOLE, 1.0, LINE, {"objective": "ml"})),
    (tr.fit_linear, (X, LOG[:2], PRIOR), (X, LOG, THREE), (X, LOG, PRIOR + 0.1),
     (X, LOG, PRIOR, {"regularisation": -1}), (X, LOG, PRIOR, {"regularisation": "a"}),
     (X, LOG, PRIOR, {"restarts": (-1, None)}), (NONE, NONE, PRIOR), (X, HOLE, PRIOR),
     (X, LOG, PRIOR, {"stop": tr.Stop(0)})),
    (tr.fit_gaussians, (X, LOG[:2], PRIOR), (X_HOLE, LOG, PRIOR), (X, LOG, THREE), (NONE, NONE, PRIOR),
     (X, LOG, PRIOR, {"stop": tr.Stop(-1)})),
    (gaussian_log_probabilities, (SHARED, X, THREE, {"family": "lda"}),
     (SHARED, X, PRIOR, {"family": "qda"})),
    (fit_bayes, (X, LOG, {"regularisation": 0.0}), (X, LOG, {"intercept_scale": -1.0}), (X_HOLE, LOG)),
    (tr.fit_raykar, (X, Z), (X, LABELS, {"pseudo_counts": (0, 0, 0)}), (X, LABELS, {"stop": tr.Stop(0)})),
    (tr.fit_mbem, (TRAIN, Z), ("logistic", LABELS), (TRAIN, LABELS, {"prior": THREE}),
     (TRAIN, LABELS, {"pseudo_counts": 0.1})),
    (tr.fit_voters, (X, Z), (X_HOLE, LABELS), (X, LABELS, {"regularisation": -1})),
    (tr.vote, (np.array([0, 1]), 2), (np.zeros((0, 3), int), 2), (Z, 1)),
    (tr.median_scores, (np.zeros(3),), (X_HOLE,), (np.zeros((0, 3)),)),
    (run, ({"key": 0.5},), ({"x": X[:2]},), ({"x": X_HOLE},), ({"x": NONE, "evidence": NONE},),
     ({"x": X.tolist()},), ({"evidence": OFF},), ({"evidence": HOLE},),
     ({"evidence": HOLE, "objective": tr.ml()},), ({"evidence": Z + 1, "objective": tr.forward(PS)},),
     ({"evidence": Z[:, :1], "objective": tr.backward(PS)},), ({"objective": "mmse"},),
     ({"apply": None},), ({"num_epochs": 1.5},), ({"validation": X},), ({"validation": (X, OFF)},)),
    (tr.with_labelers, (LINE, 0, 2), (LINE, 2, 1), (LINE, 2.0, 2)),
    (tr.trace_penalty, (-1.0,), (np.nan,)),
    (tr.estimated_auc, (np.zeros(()), RHO), (np.array([0.0, np.nan, 1.0]), RHO)),
    (negative_auc, (np.zeros(3), OFF)),
]  # fmt: skip
ROWS = [
    pytest.param(call, given, id=f"{call.__name__} {k}")
    for call, *calls in WRONG
    for k, given in enumerate(calls)
]


@pytest.mark.parametrize(("call", "given"), ROWS)
@pytest.mark.usefixtures("as_installed")
def test_misuse_is_refused_in_a_sentence(call, given):
    named = given[-1] if isinstance(given[-1], dict) else {}
    with pytest.raises(ValueError) as caught:
        call(*given[: len(given) - bool(named)], **named)
    said = str(caught.value)
    assert " " in said and "Tracer" not in said and "broadcast" not in said and "dot_general" not in said


SAID = {
    "collapse, a third class": (lambda: collapse(np.zeros(3), np.array([0, 1, 2])), r"y_pred\[2\] is 2"),
    "collapse, sizes": (lambda: collapse(np.zeros(3), np.array([0, 1])), r"shape \(3,\)"),
    "collapse, NaN": (lambda: collapse(np.array([0, np.nan, 1]), np.array([0, 1, 1])), "are NaN"),
    "unknown_prior": (lambda: unknown_prior(np.zeros(3), np.array([0, 1, 7])), r"y_pred\[2\] is 7"),
    "binary_counts": (lambda: binary_counts(np.array([0, 2]), np.array([0, 1])), r"y_pred\[1\] is 2"),
    "binary_counts, truth": (lambda: binary_counts(np.array([0, 1]), np.array([0, 0.5])), r"y\[1\] is 0.5"),
    "binary_counts, sizes": (lambda: binary_counts(np.array([0, 1, 1]), np.array([0, 1])), "3 predictions"),
    "labeler_metrics, sizes": (lambda: labeler_metrics(np.zeros(5, int), LABELS), r"shape \(3,\)"),
    "weak losses": (lambda: tr.weak_losses(np.ones((2, 2)), FLAT[0]), "does not distinguish all classes"),
    "backward": (lambda: tr.backward(FLAT), "of labeler 0"),
    "vote": (lambda: tr.vote(np.array([[0, 3]]), 2), r"predictions\[0, 1\] is 3"),
    "fit_voters": (lambda: tr.fit_voters(X[:2], LABELS), "x has shape .2, 2.; it must be .3 samples"),
    "fit_raykar": (lambda: tr.fit_raykar(X[:2], LABELS), r"x has shape \(2, 2\); it must be \(3 samples"),
    "fit_mbem": (lambda: tr.fit_mbem(lambda _: (None, np.zeros(2)), LABELS), r"y_pred must have shape \(3,"),
    "features, NaN": (lambda: tr.fit_linear(X_HOLE, LOG, PRIOR), r"x\[0, 0\] is nan"),
    "features, words": (lambda: tr.fit_linear(np.full((3, 1), "a"), LOG, PRIOR), "encode categories"),
    "impossible": (lambda: tr.fit_linear(X, LOG - np.inf, PRIOR), "impossible under every class"),
    "loss of ml": (lambda: tr.fit_linear(X, LOG, PRIOR, objective="ml", loss="brier"), "needs probabilities"),
    "loss of three": (
        lambda: tr.fit_linear(X, np.zeros((3, 3)), THREE, loss="logistic"), "for 2 classes, but there are 3"
    ),
    "network": (lambda: tr.mlp(0, 3, 2, width=0), "width must be a positive whole number, got 0"),
    "fit, batches": (lambda: run(batch_size=0), "batch_size must be a positive whole number, got 0"),
    "fit, patience": (lambda: run(patience=3), "patience needs validation"),
    "fit, validation": (lambda: run(validation=(X[:2], RHO)), r"validation: .* got \[2, 3\]"),
    "support": (lambda: tr.fit_gaussians(X, LOG, np.array([1.0, 0.0])), "class 1 has no label"),
    "discriminative_ml, NaN": (lambda: tr.discriminative_ml(HOLE, LOG), "holds NaN in 2"),
    "mmse_risk, where": (lambda: tr.mmse_risk(LOSS, RHO, where=np.ones(2, bool)), "where has shape"),
    "estimated_auc": (lambda: tr.estimated_auc(np.zeros(4), RHO), "two classes"),
}  # fmt: skip


@pytest.mark.parametrize("case", SAID.values(), ids=SAID)
@pytest.mark.usefixtures("as_installed")
def test_what_cannot_be_meant_is_refused(case):
    call, part = case
    with pytest.raises(ValueError, match=part):
        call()


@pytest.mark.usefixtures("as_installed")
def test_checks_do_not_stand_in_the_way_of_jit_and_grad():
    """vmap over labels is in test_rivals, over fits in test_linear."""
    slope = jax.jit(jax.grad(tr.corrections.forward_risk))(jnp.asarray(LOG), np.log(PS), Z)
    assert np.isfinite(slope).all()
    risk = jax.jit(tr.mmse_risk)(jnp.asarray(LOSS), jnp.asarray(RHO))
    assert float(risk) == pytest.approx(1)
    padded = np.concatenate([RHO, [[np.nan, np.nan]]])
    where = np.array([True, True, True, False])
    assert float(tr.mmse_risk(np.ones((4, 2)), padded, where=where)) == pytest.approx(1)
    with pytest.raises(ValueError, match="it must be"):
        jax.jit(tr.discriminative_ml)(jnp.asarray(LOG), jnp.asarray(LOG[:2]))
