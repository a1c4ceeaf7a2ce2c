"""Many sets in one call against `evaluate`'s parts one by one, and against enumeration of all classes."""

from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

import jtruth as jt
from jtruth.learning import Beliefs
from jtruth.learning.joint.batch import BatchEffort, joint_batch
from jtruth.learning.joint.posterior import fit_joint
from jtruth.learning.joint.weighted_batch import weighted_batch
from jtruth.testing import binary_posterior

PRIOR = np.array([0.6, 0.4])
NOISE = np.array([[[0.8, 0.2], [0.3, 0.7]], [[0.9, 0.1], [0.1, 0.9]], [[0.7, 0.3], [0.2, 0.8]]])

FIXED = Beliefs(diagonal=2, off_diagonal_total=1)


@pytest.fixture(scope="module")
def sets():
    """Eight sets of 120 samples and 3 labelers, the last two with 90 and a hole in the labels."""
    rng = np.random.default_rng(5)
    y = (rng.random((8, 120)) < PRIOR[1]).astype(int)
    y_pred = np.where(rng.random(y.shape) < 0.2, 1 - y, y)
    wrong = rng.random((8, 120, 3)) < NOISE[np.arange(3), y[:, :, None], 1 - y[:, :, None]]
    z = np.where(wrong, 1 - y[:, :, None], y[:, :, None])
    z[:, ::7, 1] = -1
    y_pred[6:, 90:], z[6:, 90:] = -1, -1
    return y_pred, z


def single(sets, s):
    """Predictions and labels of one set without what fills it up."""
    y_pred, z = sets[0][s], sets[1][s]
    return y_pred[y_pred >= 0], jt.Labels.from_matrix(z[y_pred >= 0], 2)


@pytest.mark.parametrize(
    ("method", "one_by_one"),
    [("bayes", "bayes"), pytest.param("empirical_bayes", "exact_means", marks=pytest.mark.slow)],
)
def test_known_labelers_give_what_each_set_gives_by_itself(sets, method, one_by_one):
    found = jt.evaluate_batch(*sets, noise=NOISE, prior=PRIOR, method=method)
    assert found.ok.all() and found.metrics == ("accuracy", "precision", "recall", "false_alarm_rate", "f1")
    for s in (0, 5, 6, 7):
        y_pred, labels = single(sets, s)
        log_lik = np.asarray(jt.noise.ConfusionMatrices(NOISE).log_likelihood(labels))
        x = np.log(PRIOR[1] / PRIOR[0]) + log_lik[:, 1] - log_lik[:, 0]
        table = binary_posterior(x, y_pred, method=one_by_one).table
        for k, name in enumerate(found.metrics):
            law = table.estimate(name)
            np.testing.assert_allclose([found.mean[s, k], found.sd[s, k]], [law.mean, law.sd], atol=1e-9)


@pytest.mark.slow
def test_an_interval_holds_its_mean():
    """Nearly certain labels: 95 % of the law is on the value 1, and the mean is below it."""
    z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [40, 30, 6, 5], axis=0)[None]
    noise, prior = np.full((3, 2, 2), 0.1) + 0.8 * np.eye(2), np.array([0.5, 0.5])
    found = jt.evaluate_batch(z[:, :, 0], z, noise=noise, prior=prior)
    assert found.mean[0, 0] < 1 and found.high[0, 0] == 1
    assert (found.low <= found.mean).all() and (found.mean <= found.high).all()


@pytest.mark.slow
def test_em_is_fit_dawid_skene_with_the_classifier_as_a_rater(sets):
    found = jt.evaluate_batch(*sets, method="em")
    smoothing = jt.learning.Smoothing(0.01, 0.01, 0.01)
    for s in (1, 7):
        y_pred, _ = single(sets, s)
        raters = np.column_stack([sets[1][s][: y_pred.size], y_pred])
        fit = jt.learning.fit_dawid_skene(jt.Labels.from_matrix(raters, 2), smoothing=smoothing)
        np.testing.assert_allclose(found.matrices[s], fit.matrices, rtol=0, atol=1e-6)
        np.testing.assert_allclose(found.prior[s], fit.prior, rtol=0, atol=1e-6)
    assert found.ok.all() and (found.low < found.mean).all() and (found.mean < found.high).all()


def enumerated(z, y_pred):
    """Expected count table: all class vectors, p(y) p(labels, predictions | y) with rates integrated out."""
    seen = np.column_stack([z, y_pred])
    log_p, tables = [], []
    for y in product((0, 1), repeat=len(seen)):
        y = np.array(y)
        n = np.bincount(y, minlength=2)
        total = gammaln(n + 1).sum() - gammaln(len(seen) + 2)
        for t in range(seen.shape[1]):
            given = seen[:, t] >= 0
            counts = np.zeros((2, 2))
            np.add.at(counts, (y[given], seen[given, t]), 1)
            alpha = counts + np.array([[2.0, 1.0], [1.0, 2.0]])
            total += (gammaln(alpha).sum(1) - gammaln(alpha.sum(1))).sum()
        log_p.append(total)
        tables.append(counts)
    p = np.exp(np.array(log_p) - logsumexp(log_p))
    return np.tensordot(p, np.array(tables), 1)


@pytest.mark.slow
def test_joint_draws_have_the_law_that_enumeration_gives():
    """Six samples. Eight equal sets have eight streams: the mean of their means may lie 9 of its standard
    errors (from the eight) away, a false alarm with probability 4 x 4e-5, by the t law with 7 degrees.
    """
    z = np.array([[0, 0], [1, 1], [0, 1], [1, 1], [-1, 0], [0, 0]])
    y_pred = np.array([0, 1, 1, 1, 0, 1])
    found = joint_batch(
        3, np.tile(z, (8, 1, 1)), np.tile(y_pred, (8, 1)), 2, effort=BatchEffort(4, 100, 1500)
    )
    means = np.asarray(found.counts).mean(axis=(1, 2))
    error = means.std(axis=0, ddof=1) / np.sqrt(8)
    assert (
        np.abs(means.mean(axis=0) - enumerated(z, y_pred)) < 9 * error + 1e-12
    ).all() and error.max() < 0.05


def test_weighted_draws_have_the_law_that_enumeration_gives():
    """Eleven samples, four labelers, 64 streams: 6 standard errors of their mean, 4 x 1e-7 by the t law.

    The bias of weights that are divided by their sum, one over the effective draws, is below one such error.
    """
    z = np.repeat([[0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1], [1, 1, 0, 1]], [4, 4, 2, 1], axis=0)
    y_pred = np.array([0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 1])
    found = weighted_batch(3, np.tile(z, (64, 1, 1)), np.tile(y_pred, (64, 1)), 2)
    assert found.ok.mean() > 0.9
    means = np.asarray(found.found.counts).mean(axis=(1, 2))
    error = means.std(axis=0, ddof=1) / 8
    assert (np.abs(means.mean(axis=0) - enumerated(z, y_pred)) < 6 * error).all() and error.max() < 0.03
    draws = np.asarray(found.found.counts).reshape(-1, 2, 2)
    assert (draws.sum(axis=(1, 2)) == 11).all() and (draws.sum(axis=1) == np.bincount(y_pred)).all()


def test_sets_that_are_no_hill_are_sampled_by_chains(sets):
    """Labels that say nothing, beside sets that do: the classes might as well exchange their names."""
    y_pred, z = (a.copy() for a in sets)
    rng = np.random.default_rng(0)
    z[3], y_pred[3] = rng.integers(0, 2, z[3].shape), rng.integers(0, 2, y_pred[3].shape)
    weighed = weighted_batch(1, z, y_pred, 2)
    assert not weighed.ok[3] and weighed.ok.sum() >= 6
    found = jt.evaluate_batch(y_pred, z, key=1)
    chains = joint_batch(1, z, y_pred, 2)
    np.testing.assert_allclose(found.prior[3], chains.prior[3], rtol=1e-5)
    np.testing.assert_allclose(found.prior[0], weighed.found.prior[0], rtol=1e-12)
    assert not np.allclose(found.prior[0], chains.prior[0], rtol=1e-5)


def test_weighted_means_are_those_of_a_long_run(sets):
    y_pred, labels = single(sets, 2)
    found = weighted_batch(5, np.tile(sets[1][2], (16, 1, 1)), np.tile(sets[0][2], (16, 1)), 2).found
    fit = fit_joint(labels, y_pred=y_pred, key=4, beliefs=FIXED)
    each = np.asarray(found.matrices)[:, :3]
    error = np.hypot(each.std(axis=0, ddof=1) / 4, fit.matrices.std(axis=0) / np.sqrt(300))
    assert (np.abs(each.mean(axis=0) - fit.mean_matrices) < 5 * error).all() and error.max() < 0.01
    away = np.asarray(found.class_posterior).mean(axis=0)[: y_pred.size] - fit.class_posterior
    assert np.abs(away).max() < 0.03


@pytest.mark.slow
def test_joint_is_fit_joint_with_fixed_priors(sets):
    found = jt.evaluate_batch(*sets, key=1)
    assert found.mean.shape == (8, 5) and (found.ess > 50).all() and found.matrices.shape == (8, 4, 2, 2)
    for s in (2, 7):
        y_pred, labels = single(sets, s)
        fit = fit_joint(labels, y_pred=y_pred, key=4, beliefs=FIXED)
        accuracy = np.trace(fit.tables("in-sample"), axis1=1, axis2=2) / y_pred.size
        sd = accuracy.std()
        assert abs(found.mean[s, 0] - accuracy.mean()) < 8 * sd / np.sqrt(min(found.ess[s], 400))
        assert abs(np.log(found.sd[s, 0] / sd)) < 8 / np.sqrt(2 * min(found.ess[s], 400))
        np.testing.assert_allclose(found.matrices[s, :3], fit.mean_matrices, rtol=0, atol=0.06)


BAD = {
    "y_pred has shape": lambda y, z: {"y_pred": y[:, :5], "labels": z},
    r"y_pred\[0, 0\] is -1": lambda y, z: {"y_pred": np.full_like(y, -1), "labels": z},
    "leave out": lambda y, z: {"y_pred": y, "labels": z, "method": "em", "noise": NOISE},
    "give noise and prior": lambda y, z: {"y_pred": y, "labels": z, "method": "bayes"},
    "method must be one of": lambda y, z: {"y_pred": y, "labels": z, "method": "all"},
    "noise has shape": lambda y, z: {"y_pred": y, "labels": z[:, :, :2], "noise": NOISE, "prior": PRIOR},
    r"labels\[0\] is 7": lambda y, z: {"y_pred": y, "labels": 7 + 0 * z, "noise": NOISE, "prior": PRIOR},
    "mesh is of type str": lambda y, z: {"y_pred": y, "labels": z, "mesh": "gpu"},
}


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_refused(sets, message):
    with pytest.raises(ValueError, match=message):
        jt.evaluate_batch(**BAD[message](*sets))
