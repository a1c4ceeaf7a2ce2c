"""Many sets in one call against `evaluate` one by one, and against enumeration of all classes."""

from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

import jtruth as jt
from jtruth.learning import DirichletPriors
from jtruth.learning.joint.batch import joint_batch, weighted_batch
from jtruth.learning.joint.posterior import fit_joint
from jtruth.tables.metrics import named_metric
from jtruth.testing import binary_posterior

PRIOR = np.array([0.6, 0.4])
NOISE = np.array([[[0.8, 0.2], [0.3, 0.7]], [[0.9, 0.1], [0.1, 0.9]], [[0.7, 0.3], [0.2, 0.8]]])

FIXED = DirichletPriors(diagonal=2, off_diagonal_total=1)


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
            dist = table.estimate(name)
            np.testing.assert_allclose([found.mean[s, k], found.sd[s, k]], [dist.mean, dist.sd], atol=1e-9)


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
def test_joint_draws_have_the_dist_that_enumeration_gives():
    """Six samples. Eight equal sets have eight streams: the mean of their means may lie 9 of its standard
    errors (from the eight) away, a false alarm with probability 4 x 4e-5, by the t distribution with 7
    degrees.
    """
    z = np.array([[0, 0], [1, 1], [0, 1], [1, 1], [-1, 0], [0, 0]])
    y_pred = np.array([0, 1, 1, 1, 0, 1])
    found = joint_batch(3, np.tile(z, (8, 1, 1)), np.tile(y_pred, (8, 1)), 2, sweeps=1500)
    means = np.asarray(found.counts).mean(axis=(1, 2))
    error = means.std(axis=0, ddof=1) / np.sqrt(8)
    assert (np.abs(means.mean(axis=0) - enumerated(z, y_pred)) < 9 * error + 1e-12).all()
    assert error.max() < 0.05


def test_weighted_draws_have_the_dist_that_enumeration_gives():
    """Eleven samples, four labelers, 64 streams: 6 standard errors of their mean, 4 x 1e-7 by the
    Student's t.

    The bias of weights that are divided by their sum, one over the effective draws, is below one such error.
    """
    z = np.repeat([[0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1], [1, 1, 0, 1]], [4, 4, 2, 1], axis=0)
    y_pred = np.array([0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 1])
    found = weighted_batch(3, np.tile(z, (64, 1, 1)), np.tile(y_pred, (64, 1)), 2)
    assert found.ok.mean() > 0.9
    means = np.asarray(found.counts).mean(axis=(1, 2))
    error = means.std(axis=0, ddof=1) / 8
    assert (np.abs(means.mean(axis=0) - enumerated(z, y_pred)) < 6 * error).all() and error.max() < 0.03
    draws = np.asarray(found.counts).reshape(-1, 2, 2)
    assert (draws.sum(axis=(1, 2)) == 11).all() and (draws.sum(axis=1) == np.bincount(y_pred)).all()


@pytest.mark.slow
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
    np.testing.assert_allclose(found.prior[0], weighed.prior[0], rtol=1e-12)
    assert not np.allclose(found.prior[0], chains.prior[0], rtol=1e-5)


@pytest.mark.slow
def test_joint_is_fit_joint_with_fixed_priors(sets):
    found = jt.evaluate_batch(*sets, key=1)
    assert found.mean.shape == (8, 5) and (found.ess > 50).all() and found.matrices.shape == (8, 4, 2, 2)
    for s in (2, 7):
        y_pred, labels = single(sets, s)
        fit = fit_joint(labels, y_pred=y_pred, key=4, priors=FIXED)
        accuracy = np.trace(fit.tables("in-sample"), axis1=1, axis2=2) / y_pred.size
        sd = accuracy.std()
        assert abs(found.mean[s, 0] - accuracy.mean()) < 8 * sd / np.sqrt(min(found.ess[s], 400))
        assert abs(np.log(found.sd[s, 0] / sd)) < 8 / np.sqrt(2 * min(found.ess[s], 400))
        np.testing.assert_allclose(found.matrices[s, :3], fit.mean_matrices, rtol=0, atol=0.06)


@pytest.fixture(scope="module")
def three():
    """Two sets of three classes, the second filled up; and what `evaluate_batch` finds."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, (2, 90))
    other = (y[:, :, None] + rng.integers(1, 3, (2, 90, 4))) % 3
    seen = np.where(rng.random(other.shape) < 0.2, other, y[:, :, None])
    seen[1, 70:] = -1
    y_pred, z = seen[:, :, 3], seen[:, :, :3]
    return (y_pred, z), jt.evaluate_batch(y_pred, z, key=3)


@pytest.mark.slow
def test_three_classes_have_the_metrics_that_evaluate_prints(three):
    """Those of one class by its name. Every mean is that of `fit_joint`'s draws: 6 standard errors, of the
    smallest effective number here and 300 there, are a false alarm with probability 1e-7 for 2 x 20 numbers.
    """
    data, found = three
    assert found.ok.all() and np.isfinite(found.mean).all() and (found.sd > 0).all()
    for s in (0, 1):
        y_pred = data[0][s][data[0][s] >= 0]
        labels = jt.Labels.from_matrix(data[1][s][data[0][s] >= 0], 3)
        fit = fit_joint(labels, y_pred=y_pred, key=4, priors=FIXED)
        tables = fit.tables("in-sample")
        for k, name in enumerate(found.metrics):
            draws = named_metric(name, range(3)).of_table(tables)
            error = draws.std() * np.sqrt(1 / found.ess[s] + 1 / 300)
            assert abs(found.mean[s, k] - draws.mean()) < 6 * error
    one = jt.evaluate(y_pred, labels, assume="independent", key=1)
    printed = [n for n in one.metrics if n not in ("precision", "recall", "false_alarm_rate", "f1")]
    assert set(found.metrics) == set(printed)


@pytest.mark.parametrize(
    "method",
    ["em", *(pytest.param(m, marks=pytest.mark.slow) for m in ("bayes", "empirical_bayes", "joint"))],
)
def test_sets_that_say_nothing_are_not_ok(sets, method):
    """No label, or no sample at all; the others are what they were, whatever stands beside them."""
    y_pred, z = (a.copy() for a in sets)
    z[1], z[2], y_pred[2] = -1, -1, -1
    known = {} if method in ("joint", "em") else {"noise": NOISE, "prior": PRIOR}
    found = jt.evaluate_batch(y_pred, z, method=method, key=0 if method == "joint" else None, **known)
    assert found.ok.tolist() == [True, False, False, True, True, True, True, True]


@pytest.mark.slow
def test_em_that_guesses_or_did_not_arrive_is_not_ok():
    """Labels that hardly speak: some fits have raters below chance, and EM needs more than its thousand steps
    in some. Whether it has them, `fit_dawid_skene` says by itself; on flat ground the last digit decides
    where jumps lead, so sets that need about a thousand steps are left out.
    """
    rng = np.random.default_rng(4)
    y, right = rng.integers(0, 2, (32, 200)), np.repeat([0.55, 0.5], 16)[:, None, None]
    seen = np.where(rng.random((32, 200, 4)) < right, y[:, :, None], 1 - y[:, :, None])
    found = jt.evaluate_batch(seen[:, :, 3], seen[:, :, :3], method="em")
    own = np.diagonal(found.matrices, axis1=2, axis2=3).mean(axis=(1, 2))
    smoothing = jt.learning.Smoothing(0.01, 0.01, 0.01)
    each = (jt.Labels.from_matrix(one, 2) for one in seen)
    fits = [jt.learning.fit_dawid_skene(one, smoothing=smoothing, tol=1e-8, max_steps=2000) for one in each]
    steps = np.array([fit.num_steps for fit in fits])
    arrived, clear = steps < 700, (steps < 700) | (steps == 2000)
    assert 0 < arrived[clear].sum() < clear.sum() and clear.sum() > 25 and (own <= 0.5).any()
    np.testing.assert_array_equal(found.ok[clear], (arrived & (own > 0.5))[clear])


SYMBOLS = np.array([[[0.6, 0.3, 0.1], [0.1, 0.5, 0.4]], [[0.7, 0.1, 0.2], [0.2, 0.3, 0.5]]])


@pytest.mark.slow
def test_labels_of_more_symbols_than_classes_against_enumeration():
    """Nine samples, all 512 class vectors, p_D and p_FA integrated out."""
    rng = np.random.default_rng(8)
    z, y_pred = rng.integers(-1, 3, (9, 2)), rng.integers(0, 2, 9)
    log_p, values = [], []
    for y in product((0, 1), repeat=9):
        y = np.array(y)
        given = [np.log(SYMBOLS[t, y, z[:, t]])[z[:, t] >= 0].sum() for t in (0, 1)]
        (tn, fp), (fn, tp) = np.bincount(2 * y + y_pred, minlength=4).reshape(2, 2)
        rates = sum(gammaln([a + 1, b + 1]).sum() - gammaln(a + b + 2) for a, b in ((tp, fn), (fp, tn)))
        log_p.append(np.log(PRIOR)[y].sum() + sum(given) + rates)
        values.append(((tp + tn) / 9, tp / (tp + fp), tp / (tp + fn) if tp + fn else np.nan))
    p, values = np.exp(np.array(log_p) - logsumexp(log_p))[:, None], np.array(values)
    defined = ~np.isnan(values)
    mean = (p * np.where(defined, values, 0)).sum(axis=0) / (p * defined).sum(axis=0)
    found = jt.evaluate_batch(y_pred[None], z[None], noise=SYMBOLS, prior=PRIOR)
    np.testing.assert_allclose(found.mean[0, :3], mean, rtol=1e-10)
    assert found.ok.all() and found.matrices.shape == (1, 2, 2, 3)


@pytest.mark.slow
@pytest.mark.usefixtures("as_installed")
def test_true_and_false_are_codes(sets):
    """As `evaluate` takes them, and whole numbers of a floating type."""
    y_pred, z = (a[:6] for a in sets)
    known = {"noise": NOISE, "prior": PRIOR}
    whole = jt.evaluate_batch(y_pred, np.abs(z), **known)
    for kind in (bool, float):
        found = jt.evaluate_batch(y_pred.astype(kind), np.abs(z).astype(kind), **known)
        np.testing.assert_array_equal(found.mean, whole.mean)


CERTAIN, KNOWN = np.stack([np.eye(2)] * 3), {"noise": NOISE, "prior": PRIOR}
IMPOSSIBLE = np.array([[[0, 0, -1]], [[1, 1, 1]], [[0, 1, 0]]])

BAD = {
    r"labels\[2, 0\] \(0, 1, 0\) are impossible under both classes \(1 such": lambda y, z: {
        "y_pred": np.zeros((3, 1), int), "labels": IMPOSSIBLE, "noise": CERTAIN, "prior": PRIOR},
    "method='em' handles two classes, but there is a code 2: use": lambda y, z: {
        "labels": np.where(z == 1, 2, z), "method": "em"},
    "labels must hold class codes 0 to 1; got dtype float": lambda y, z: {"labels": z + 0.5},
    r"y_pred\[0\]\[\d+\] is 2": lambda y, z: {"y_pred": np.where(y == 1, 2, y), **KNOWN},
    r"labels\[0, 0\]\[0\] is 3": lambda y, z: {
        "y_pred": y[:, :5], "labels": np.full((8, 5, 2), 3), "noise": SYMBOLS, "prior": PRIOR},
    "y_pred has shape": lambda y, z: {"y_pred": y[:, :5]},
    r"y_pred\[0, 0\] is -1": lambda y, z: {"y_pred": np.full_like(y, -1)},
    "leave noise and prior out": lambda y, z: {"method": "em", "noise": NOISE},
    "give noise and prior": lambda y, z: {"method": "bayes"},
    "method must be one of": lambda y, z: {"method": "all"},
    "noise has shape": lambda y, z: {"labels": z[:, :, :2], **KNOWN},
    r"labels\[0, 0\]\[0\] is 7": lambda y, z: {"labels": 7 + 0 * z, **KNOWN},
    "mesh is of type str": lambda y, z: {"mesh": "gpu"},
}  # fmt: skip


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_refused(sets, message):
    with pytest.raises(ValueError, match=message):
        jt.evaluate_batch(**dict(zip(("y_pred", "labels"), sets, strict=True)) | BAD[message](*sets))


@pytest.mark.parametrize("method", ["bayes", pytest.param("empirical_bayes", marks=pytest.mark.slow)])
def test_a_symbol_that_says_nothing_is_no_label(sets, method):
    """A third one, "cannot tell", given to both classes equally often, is as if the label were missing."""
    y_pred, z = sets
    wide = np.concatenate([0.8 * NOISE, np.full((3, 2, 1), 0.2)], axis=2)
    one = jt.evaluate_batch(y_pred, z, noise=NOISE, prior=PRIOR, method=method)
    told = np.where((z < 0) & (y_pred >= 0)[:, :, None], 2, z)
    other = jt.evaluate_batch(y_pred, told, noise=wide, prior=PRIOR, method=method)
    np.testing.assert_allclose(other.mean, one.mean, rtol=1e-9)
    np.testing.assert_allclose(other.sd, one.sd, rtol=1e-9)
