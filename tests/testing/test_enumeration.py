"""The exact posterior against all 2^N label vectors, and its two algorithms against each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaln, expit, logit, logsumexp

from jtruth.testing import BetaPrior, collapse
from jtruth.testing.binary.exact import count_table, unknown_prior
from tests.reference import su_binary as su

NAMES = {"accuracy": "ACC", "precision": "PREC", "recall": "P_D", "false_alarm_rate": "P_FA", "f1": "F"}
probability = st.floats(0.001, 0.999)
sample = st.tuples(st.one_of(probability, st.sampled_from([0.0, 1.0])), st.integers(0, 1))


def data_of(rho, y):
    with np.errstate(divide="ignore"):
        return collapse(logit(np.array(rho)), np.array(y))


@given(st.lists(sample, min_size=1, max_size=8), st.sampled_from([(1, 1, 1, 1), (2.5, 1, 0.5, 3)]))
def test_every_dist_equals_enumeration(samples, prior):
    rho, y = zip(*samples, strict=True)
    lik = np.array([[1 - r, r] for r in rho])
    post, evidence = su.enumerate_labels(lik, [1.0, 1.0], list(y), alpha=su.beta_rows(*prior))
    table = su.enumerated_table(post, list(y))
    found = count_table(data_of(rho, y), BetaPrior(*prior))
    np.testing.assert_allclose(found.log_evidence, np.log(evidence), rtol=1e-11, atol=1e-11)
    for metric, name in NAMES.items():
        pmf, undefined = su.metric_pmf(table, name)
        dist = found.estimate(metric)
        np.testing.assert_allclose(1 - dist.probability_defined, undefined, atol=1e-12)
        assert dist.values.size == len([p for p in pmf.values() if p > 1e-11]) or dist.values.size <= len(pmf)
        for value, p in pmf.items():
            near = np.abs(dist.values - float(value)) < 1e-12
            np.testing.assert_allclose(dist.pmf[near].sum(), float(p), rtol=0, atol=1e-11)


def test_the_window_grows_until_it_holds_the_tails():
    """A prior that likes p_D near 0 or 1: the posterior is far wider than the curvature at its mode says.

    The window starts at 9 standard deviations by that curvature, which loses .03 of the log evidence here
    while its edges hold less than .01. The truth by convolution, over all counts.
    """
    x, y = 0.5 + 0.002 * np.random.default_rng(0).standard_normal(200), (np.arange(200) < 180).astype(int)
    prior = BetaPrior(0.03, 0.03, 15.0, 0.05)
    table = count_table(collapse(x, y), prior)
    dists = []
    for symbol in (1, 0):
        dist = np.ones(1)
        for p in expit(x[y == symbol]):
            dist = np.convolve(dist, [1 - p, p])
        dists.append(np.log(dist))
    a, b = np.arange(181)[:, None], np.arange(21)[None, :]
    log_p = dists[0][:, None] + dists[1][None, :] + betaln(a + prior.a_d, b + prior.b_d)
    log_p += betaln(180 - a + prior.a_f, 20 - b + prior.b_f)
    log_p -= betaln(prior.a_d, prior.b_d) + betaln(prior.a_f, prior.b_f)
    evidence = logsumexp(log_p)
    assert table.log_evidence == pytest.approx(evidence, abs=1e-9)
    mean = (np.exp(log_p - evidence) * a).sum()
    assert table.count_dist(0).mean == pytest.approx(mean, rel=1e-9)


def test_unknown_prior_equals_brute_force():
    """By a fine midpoint rule over enumerated evidences; one class is certain."""
    lik = np.array([[0.2, 0.8], [0.7, 0.3], [0.5, 0.4], [0.0, 0.2], [0.1, 0.6]])
    y_pred, grid, rows = np.array([1, 0, 1, 0, 0]), (np.arange(1000) + 0.5) / 1000, []
    with np.errstate(divide="ignore"):
        found = unknown_prior(np.log(lik[:, 1] / lik[:, 0]), y_pred)
    for s in grid:
        given = lik, [1 - s, s], list(y_pred)
        post, evidence = su.enumerate_labels(*given, alpha=su.beta_rows(1, 1, 1, 1))
        accuracy = sum(q * np.mean(np.array(v) == y_pred) for v, q in post.items())
        rows.append((evidence, accuracy))
    weight, accuracy = np.array(rows).T
    scale = np.log(np.where(lik[:, 0] > 0, lik[:, 0], lik[:, 1])).sum()  # in units of which it is
    np.testing.assert_allclose(found.log_evidence + scale, np.log(weight.mean()), atol=1e-6)
    mean = weight @ accuracy / weight.sum()
    np.testing.assert_allclose(found.estimate("accuracy").mean, mean, atol=1e-6)
    np.testing.assert_allclose(found.parameter @ found.weight, weight @ grid / weight.sum(), atol=1e-6)
    assert found.joint("recall", "precision").weight.sum() == pytest.approx(1)
