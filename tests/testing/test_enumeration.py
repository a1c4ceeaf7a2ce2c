"""The exact posterior against all 2^N label vectors, and against itself at sizes where two routes exist."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaln, expit, logit, logsumexp
from sklearn import metrics as sk

from jtruth.tables.metrics import METRICS, binary_counts, named_metric, shown
from jtruth.testing import BetaPrior, collapse, count_table, exact_posterior, smooth_table
from jtruth.testing.binary.large import SmoothTable, is_smooth
from jtruth.testing.binary.operating_point import most_probable
from jtruth.testing.binary.unknown import unknown_error, unknown_prior
from tests.reference import su_binary as su

NAMES = {"accuracy": "ACC", "precision": "PREC", "recall": "P_D", "false_alarm_rate": "P_FA", "f1": "F"}
probability = st.floats(0.001, 0.999)
sample = st.tuples(st.one_of(probability, st.sampled_from([0.0, 1.0])), st.integers(0, 1))


def data_of(rho, y):
    with np.errstate(divide="ignore"):
        return collapse(logit(np.array(rho)), np.array(y))


@given(st.lists(sample, min_size=1, max_size=8), st.sampled_from([(1, 1, 1, 1), (2.5, 1, 0.5, 3)]))
def test_every_law_equals_enumeration(samples, prior):
    rho, y = zip(*samples, strict=True)
    lik = np.array([[1 - r, r] for r in rho])
    post, evidence = su.enumerate_labels(lik, [1.0, 1.0], list(y), alpha=su.beta_rows(*prior))
    table = su.enumerated_table(post, list(y))
    found = count_table(data_of(rho, y), BetaPrior(*prior))
    np.testing.assert_allclose(found.log_evidence, np.log(evidence), rtol=1e-11, atol=1e-11)
    for metric, name in NAMES.items():
        pmf, undefined = su.metric_pmf(table, name)
        law = found.estimate(metric)
        np.testing.assert_allclose(1 - law.probability_defined, undefined, atol=1e-12)
        assert law.values.size == len([p for p in pmf.values() if p > 1e-11]) or law.values.size <= len(pmf)
        for value, p in pmf.items():
            near = np.abs(law.values - float(value)) < 1e-12
            np.testing.assert_allclose(law.pmf[near].sum(), float(p), rtol=0, atol=1e-11)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=30))
def test_perfect_labels_give_scikit_learn(pairs):
    y, y_pred = (np.array(v) for v in zip(*pairs, strict=True))
    table = count_table(data_of(y.astype(float), y_pred))
    expected = {
        "accuracy": sk.accuracy_score(y, y_pred),
        "precision": sk.precision_score(y, y_pred, zero_division=np.nan),
        "recall": sk.recall_score(y, y_pred, zero_division=np.nan),
        "false_alarm_rate": 1 - sk.recall_score(1 - y, 1 - y_pred, zero_division=np.nan),
        "f1": sk.f1_score(y, y_pred, zero_division=np.nan),
        "f2": sk.fbeta_score(y, y_pred, beta=2, zero_division=np.nan),
    }
    for metric, value in expected.items():
        law = table.estimate(metric)
        np.testing.assert_allclose(law.mean, value, rtol=0, atol=1e-12)
        if not np.isnan(value):
            np.testing.assert_allclose(law.interval(0.95)[:2], value, atol=1e-12)
            assert law.sd == 0 and law.probability_defined == 1
        else:
            assert law.probability_defined == 0


def test_metrics_of_arrays_equal_those_of_numbers():
    y = np.array([[1, 0, 1, 0], [0, 0, 0, 0]])
    y_pred = np.array([1, 1, 0, 0])
    counts = binary_counts(y_pred, y)
    for metric in map(METRICS.get, shown("01")):
        each = [metric(*(float(c[k]) for c in counts)) for k in range(2)]
        np.testing.assert_array_equal(metric(*counts), each)
    with pytest.raises(ValueError, match="unknown metric 'g1'"):
        named_metric("g1")


def simulated(seed, n, share=0.2, d=0.8, f=0.3, error=0.2, labelers=2):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    y_pred = (rng.random(n) < np.where(y, d, f)).astype(int)
    errors = rng.uniform(0.5 * error, 1.5 * error, (n, labelers))
    z = np.where(rng.random((n, labelers)) < errors, ~y[:, None], y[:, None])
    return logit(share) + (np.where(z, 1, -1) * np.log((1 - errors) / errors)).sum(1), y_pred


SETTINGS = [
    {},
    {"error": 0.32, "labelers": 1},
    {"d": 0.99, "f": 0.2, "share": 0.3, "error": 0.2},  # few false negatives: B stays on the integers
]


@pytest.mark.parametrize(
    "setting", [SETTINGS[0], *(pytest.param(s, marks=pytest.mark.slow) for s in SETTINGS[1:])]
)
def test_quadrature_agrees_with_the_table_where_both_work(setting):
    data = collapse(*simulated(1, 8000, **setting))
    assert is_smooth(data, most_probable(data))
    table, smooth = count_table(data), smooth_table(data)
    np.testing.assert_allclose(smooth.log_evidence, table.log_evidence, atol=1e-6)
    for metric in (*METRICS, "f2"):
        exact, law = table.estimate(metric), smooth.estimate(metric)
        np.testing.assert_allclose(law.mean, exact.mean, atol=1e-7)
        np.testing.assert_allclose(law.sd, exact.sd, atol=1e-7)
        # A discrete law has no exact quantiles: ends agree to the distance between its atoms.
        np.testing.assert_allclose(law.equal_tails()[:2], exact.equal_tails()[:2], atol=1e-4)
        low, high, _ = law.interval(0.95)
        inside = exact.pmf[(exact.values >= low) & (exact.values <= high)].sum()
        np.testing.assert_allclose(inside, 0.95, atol=2e-3)  # single atoms hold up to about 1e-3
    for axis in (0, 1):
        np.testing.assert_allclose(smooth.count_law(axis).mean, table.count_law(axis).mean, atol=1e-3)


def test_the_window_grows_until_it_holds_the_tails():
    """A prior that likes p_D near 0 or 1: the posterior is far wider than the curvature at its mode says.

    The window starts at 9 standard deviations by that curvature, which loses .03 of the log evidence here
    while its edges hold less than .01. The truth by convolution, over all counts.
    """
    x, y = 0.5 + 0.002 * np.random.default_rng(0).standard_normal(200), (np.arange(200) < 180).astype(int)
    prior = BetaPrior(0.03, 0.03, 15.0, 0.05)
    table = count_table(collapse(x, y), prior)
    laws = []
    for symbol in (1, 0):
        law = np.ones(1)
        for p in expit(x[y == symbol]):
            law = np.convolve(law, [1 - p, p])
        laws.append(np.log(law))
    a, b = np.arange(181)[:, None], np.arange(21)[None, :]
    log_p = laws[0][:, None] + laws[1][None, :] + betaln(a + prior.a_d, b + prior.b_d)
    log_p += betaln(180 - a + prior.a_f, 20 - b + prior.b_f)
    log_p -= betaln(prior.a_d, prior.b_d) + betaln(prior.a_f, prior.b_f)
    evidence = logsumexp(log_p)
    assert table.log_evidence == pytest.approx(evidence, abs=1e-9)
    mean = (np.exp(log_p - evidence) * a).sum()
    assert table.count_law(0).mean == pytest.approx(mean, rel=1e-9)


def test_large_samples_switch_by_themselves_and_small_ones_do_not():
    assert isinstance(exact_posterior(collapse(*simulated(2, 60_000))), SmoothTable)
    small = collapse(*simulated(3, 60))
    assert not isinstance(exact_posterior(small), SmoothTable)
    with pytest.raises(ValueError, match="not spread widely enough"):
        smooth_table(small)


@pytest.mark.slow
def test_a_million_samples():
    law = exact_posterior(collapse(*simulated(4, 1_000_000))).estimate("recall")
    assert abs(law.mean - 0.8) < 6 * law.sd and 0 < law.sd < 0.01


def test_tails_when_the_labels_say_almost_nothing():
    """Error rate .45: the posterior is far wider than the counts given the operating point."""
    x, y = simulated(5, 400, error=0.45, labelers=1)
    table = count_table(collapse(x, y))
    rho = expit(x)
    node, weight = np.polynomial.legendre.leggauss(160)
    node, weight = 0.5 * (node + 1), 0.5 * weight
    d, f = node[:, None, None], node[None, :, None]
    one = y == 1
    log_l = np.log(d * rho[None, None, one] + f * (1 - rho[None, None, one])).sum(2)
    log_l = log_l + np.log((1 - d) * rho[None, None, ~one] + (1 - f) * (1 - rho[None, None, ~one])).sum(2)
    post = np.exp(log_l - log_l.max()) * weight[:, None] * weight[None, :]
    evidence = np.log(post.sum()) + log_l.max()
    np.testing.assert_allclose(table.log_evidence, evidence, atol=1e-8)
    expected = ((d * rho[None, None, one]) / (d * rho[None, None, one] + f * (1 - rho[None, None, one]))).sum(
        2
    )
    expected = (expected * post).sum() / post.sum()
    np.testing.assert_allclose(table.count_law(0).mean, expected, rtol=1e-8)


def test_known_classes_tell_of_an_unknown_prior():
    """Certain samples against nearly certain ones: log-odds of 40, which add 40 each to the evidence."""
    rng = np.random.default_rng(6)
    sure, y = rng.normal(size=20), rng.integers(0, 2, 20)
    sure[:6] = [np.inf, np.inf, np.inf, np.inf, -np.inf, -np.inf]
    certain, nearly = (unknown_prior(x, y) for x in (sure, np.clip(sure, -40, 40)))
    for found in (certain, nearly):
        assert found.parameter @ found.weight == pytest.approx(certain.parameter @ certain.weight, abs=1e-9)
    assert certain.log_evidence + 4 * 40 == pytest.approx(nearly.log_evidence, abs=1e-6)
    assert certain.parameter @ certain.weight > 0.5
    assert certain.estimate("recall").mean == pytest.approx(nearly.estimate("recall").mean, abs=1e-9)


LIK = np.array([[0.2, 0.8], [0.7, 0.3], [0.5, 0.4], [0.9, 0.2], [0.1, 0.6]])
Y_PRED = np.array([1, 0, 1, 0, 0])
GRID = (np.arange(2000) + 0.5) / 2000


def brute_force(likelihood_and_prior, density):
    """Mean accuracy, mean parameter and log evidence by a fine midpoint rule over enumerated evidences."""
    rows = []
    for value, p in zip(GRID, density, strict=True):
        post, evidence = su.enumerate_labels(
            *likelihood_and_prior(value), list(Y_PRED), alpha=su.beta_rows(1, 1, 1, 1)
        )
        rows.append((evidence * p, sum(q * np.mean(np.array(v) == Y_PRED) for v, q in post.items())))
    weight, accuracy = np.array(rows).T
    return weight @ accuracy / weight.sum(), weight, np.log(weight.mean())


def test_unknown_prior_equals_brute_force():
    found = unknown_prior(np.log(LIK[:, 1] / LIK[:, 0]), Y_PRED, beta=(2, 3))
    accuracy, weight, evidence = brute_force(lambda s: (LIK, [1 - s, s]), 12 * GRID * (1 - GRID) ** 2)
    np.testing.assert_allclose(found.log_evidence + np.log(LIK[:, 0]).sum(), evidence, atol=1e-6)
    np.testing.assert_allclose(found.estimate("accuracy").mean, accuracy, atol=1e-6)
    np.testing.assert_allclose(found.parameter_law.mean, weight @ GRID / weight.sum(), atol=1e-6)
    assert found.joint("recall", "precision").weight.sum() == pytest.approx(1)


def test_unknown_common_error_equals_brute_force():
    votes = np.array([[0, 3], [2, 1], [1, 1], [3, 0], [1, 2]])

    def model(value):
        e = value / 2
        likelihood = np.stack(
            [(1 - e) ** votes[:, 0] * e ** votes[:, 1], (1 - e) ** votes[:, 1] * e ** votes[:, 0]], 1
        )
        return likelihood, [0.4, 0.6]

    found = unknown_error(votes, Y_PRED, np.array([0.4, 0.6]), beta=(2, 2))
    accuracy, weight, evidence = brute_force(model, 6 * GRID * (1 - GRID))
    np.testing.assert_allclose(found.log_evidence, evidence, atol=1e-6)
    np.testing.assert_allclose(found.estimate("accuracy").mean, accuracy, atol=1e-6)
    np.testing.assert_allclose(found.parameter_law.mean, weight @ GRID / 2 / weight.sum(), atol=1e-6)
