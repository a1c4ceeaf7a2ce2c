"""Misuse of public functions gets a ValueError that names the argument, no shape error of JAX and no NaN."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtruth import training as tr
from jtruth.labels import Labels
from jtruth.learning.majority import majority_vote
from jtruth.posterior import class_posterior
from jtruth.testing import (
    binary_counts,
    binary_posterior,
    collapse,
    labeler_metrics,
    majority_metrics,
    unknown_prior,
)
from jtruth.testing.multiclass._labelers import labeler_tables

RHO = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]])
OFF = RHO + np.array([[0.1, 0.0]])  # class probabilities that sum to 1.1
LOSS = np.ones((3, 2))
NAN = np.where(np.eye(3, 2) > 0, np.nan, LOSS)
LOG = np.log(RHO)
X = np.arange(6.0).reshape(3, 2)
LABELS = Labels.from_matrix(np.array([[0, 1], [1, 1], [1, 0]]), 2)
PRIOR = np.array([0.5, 0.5])

CASES = {
    "collapse, a third class": (lambda: collapse(np.zeros(3), np.array([0, 1, 2])), r"y_pred\[2\] is 2"),
    "collapse, sizes": (lambda: collapse(np.zeros(3), np.array([0, 1])), r"shape \(3,\)"),
    "collapse, NaN": (lambda: collapse(np.array([0, np.nan, 1]), np.array([0, 1, 1])), "are NaN"),
    "binary_posterior": (lambda: binary_posterior(np.zeros(3), np.array([0, 1, -1])), r"y_pred\[2\] is -1"),
    "unknown_prior": (lambda: unknown_prior(np.zeros(3), np.array([0, 1, 7])), r"y_pred\[2\] is 7"),
    "binary_counts": (lambda: binary_counts(np.array([0, 2]), np.array([0, 1])), r"y_pred\[1\] is 2"),
    "binary_counts, truth": (lambda: binary_counts(np.array([0, 1]), np.array([0, 0.5])), r"y\[1\] is 0.5"),
    "binary_counts, sizes": (lambda: binary_counts(np.array([0, 1, 1]), np.array([0, 1])), "3 predictions"),
    "majority_metrics": (lambda: majority_metrics(np.array([0, 1, 2]), LOSS), r"y_pred\[2\] is 2"),
    "labeler_metrics, sizes": (lambda: labeler_metrics(np.zeros(5, int), LABELS), r"shape \(3,\)"),
    "labeler_tables, sizes": (lambda: labeler_tables(np.zeros(5, int), LABELS), r"shape \(3,\)"),
    "majority_vote": (lambda: majority_vote(LABELS, gold=np.array([0, 1, 2])), r"gold\[2\] is 2"),
    "majority_vote, sizes": (lambda: majority_vote(LABELS, gold=np.array([0, 1])), r"shape \(3,\)"),
    "class_posterior": (lambda: class_posterior(np.array([[0, -1], [0, 0]]), PRIOR), "matrix of labels"),
    "discriminative_ml": (lambda: tr.discriminative_ml(LOG, LOG[:2]), "must agree"),
    "discriminative_ml, NaN": (lambda: tr.discriminative_ml(NAN, LOG), "holds NaN in 2"),
    "generative_ml": (lambda: tr.generative_ml(LOG, LOG, np.array([0.5, 0.6])), "sums to 1.1"),
    "generative_ml, prior": (lambda: tr.generative_ml(LOG, LOG, np.ones(3) / 3), "2 classes"),
    "mmse_risk": (lambda: tr.mmse_risk(LOSS, OFF), "sum to 1"),
    "mmse_risk, classes": (lambda: tr.mmse_risk(np.ones((3, 3)), RHO), "must agree"),
    "mmse_risk, where": (lambda: tr.mmse_risk(LOSS, RHO, where=np.ones(2, bool)), "where has shape"),
    "empirical_risk": (lambda: tr.empirical_risk(LOSS, np.array([0, 1, 2])), r"y\[2\] is 2"),
    "empirical_risk, sizes": (lambda: tr.empirical_risk(LOSS, np.array([0, 1])), r"shape \(3,\)"),
    "risk_variance": (lambda: tr.risk_variance(LOSS, OFF), "sum to 1"),
    "label_estimates": (lambda: tr.label_estimates(OFF), "sum to 1"),
    "replication_counts": (lambda: tr.replication_counts(OFF, 3), "sum to 1"),
    "replicated": (lambda: tr.replicated(X[:2], RHO, 3), "3 samples"),
    "estimated_auc": (lambda: tr.estimated_auc(np.zeros(4), RHO), "two classes"),
    "estimated_auc, sums": (lambda: tr.estimated_auc(np.zeros(3), OFF), "sum to 1"),
    "fit_linear, key": (lambda: tr.fit_linear(X, LOG, PRIOR, restarts=tr.Restarts(1, 0.5)), "whole number"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.usefixtures("as_installed")
def test_what_cannot_be_meant_is_refused(case):
    call, part = case
    with pytest.raises(ValueError, match=part):
        call()


@pytest.mark.usefixtures("as_installed")
def test_checks_do_not_stand_in_the_way_of_jit():
    risk = jax.jit(tr.mmse_risk)(jnp.asarray(LOSS), jnp.asarray(RHO))
    assert float(risk) == pytest.approx(1)
    padded = np.concatenate([RHO, [[np.nan, np.nan]]])
    where = np.array([True, True, True, False])
    assert float(tr.mmse_risk(np.ones((4, 2)), padded, where=where)) == pytest.approx(1)
    with pytest.raises(ValueError, match="must agree"):
        jax.jit(tr.discriminative_ml)(jnp.asarray(LOG), jnp.asarray(LOG[:2]))


@pytest.mark.slow
def test_a_whole_number_is_a_key():
    one = tr.fit_linear(X, LOG, PRIOR, objective="ml", restarts=tr.Restarts(1, 3))
    other = tr.fit_linear(X, LOG, PRIOR, objective="ml", restarts=tr.Restarts(1, jax.random.key(3)))
    np.testing.assert_array_equal(one.model.weights, other.model.weights)


def test_an_area_lies_between_0_and_1():
    rho = jnp.array([[0.9, 0.1], [0.2, 0.8], [0.9, 0.1], [0.2, 0.8]])
    up, down = jnp.array([0.0, 3.0, 1.0, 2.0]), jnp.array([3.0, 0.0, 2.0, 1.0])
    assert float(tr.estimated_auc(up, rho)) == 1 and float(tr.estimated_auc(down, rho)) == 0
    assert float(tr.unbiased_auc(up, rho)) == pytest.approx(17 / 14)
    assert float(tr.unbiased_auc(down, rho)) == pytest.approx(-3 / 14)
