"""Nodes against the exact table, an integral over (p_D, p_FA) and, for poor labels, a closed form."""

import numpy as np
import pytest
from scipy.special import betaln, gammaln

from jtruth.tables.binary import CountTable
from jtruth.tables.metrics import default_metrics
from jtruth.testing import METRICS, BetaPrior, collapse, exact_posterior
from jtruth.testing.binary import exact as nodes_of
from jtruth.testing.binary.exact import count_table, node_table
from jtruth.testing.binary.operating_point import log_likelihood, most_probable
from tests.testing.golden_cases import simulated

# (seed, samples, settings, prior, whether B stays on the integers)
CASES = {
    "main": (0, 6000, {}, BetaPrior(), False),
    "one poor labeler": (1, 8000, {"error": 0.3, "labelers": 1}, BetaPrior(), True),
    "recall near 1": (2, 8000, {"d": 0.995, "f": 0.2}, BetaPrior(), True),
    "smallest": (3, 1500, {"error": 0.3, "labelers": 1, "f": 0.4, "share": 0.5}, BetaPrior(), True),
    "four log-odds": (4, 20_000, {"error": 0.25, "labelers": 3, "equal": True}, BetaPrior(), False),
    "good labelers": (5, 15_000, {"labelers": 7}, BetaPrior(), False),
    "prior as strong as data": (6, 6000, {}, BetaPrior(900.0, 300.0, 200.0, 900.0), False),
}


SLOW = ("one poor labeler", "recall near 1", "four log-odds", "good labelers")


@pytest.fixture(
    scope="module", params=[pytest.param(c, marks=[pytest.mark.slow] * (c in SLOW)) for c in CASES]
)
def tables(request) -> tuple[CountTable, CountTable]:
    """Both tables of one case."""
    seed, n, settings, prior, lattice = CASES[request.param]
    data = collapse(*simulated(seed, n, **settings))
    smooth = node_table(data, prior)
    assert smooth.whole == (False, lattice) and smooth.density is not None
    return count_table(data, prior), smooth


def test_evidence_means_and_standard_deviations(tables):
    """Attained: 1e-9 or better where the count variances exceed 200, 1e-6 sd near the limit of 100."""
    table, smooth = tables
    np.testing.assert_allclose(smooth.log_evidence, table.log_evidence, rtol=0, atol=2e-7)
    for metric in (*METRICS, "f2"):
        exact, dist = table.estimate(metric), smooth.estimate(metric)
        assert abs(dist.mean - exact.mean) < 2e-6 * exact.sd
        assert abs(dist.sd / exact.sd - 1) < 2e-7
        assert dist.probability_defined == pytest.approx(1, abs=1e-12)
    for axis in (0, 1):
        exact, dist = table.count_dist(axis), smooth.count_dist(axis)
        assert abs(dist.mean - exact.mean) < 2e-6 * exact.sd and abs(dist.sd / exact.sd - 1) < 2e-7


def test_accuracy_and_precision_have_the_same_atoms_and_probabilities(tables):
    """Both live on the lattice 1/N or 1/N1; every probability to 1e-6 of the largest."""
    table, smooth = tables
    for metric in ("accuracy", "precision"):
        exact, dist = table.estimate(metric), smooth.estimate(metric)
        spacing = exact.values[1] - exact.values[0]
        position = np.round((dist.values - exact.values[0]) / spacing).astype(int)
        np.testing.assert_allclose(dist.values, exact.values[0] + spacing * position, rtol=0, atol=1e-12)
        here = (position >= 0) & (position < exact.values.size)
        full = np.zeros(exact.values.size)
        full[position[here]] = dist.pmf[here]
        np.testing.assert_allclose(full, exact.pmf, rtol=0, atol=1e-6 * exact.pmf.max())
        for level in (0.5, 0.999):
            np.testing.assert_allclose(dist.equal_tails(level), exact.equal_tails(level), atol=1e-7)
            found, expected = dist.interval(level), exact.interval(level)
            assert found.high - found.low == pytest.approx(expected.high - expected.low, abs=1e-12)


@pytest.mark.parametrize("metric", ["recall", "false_alarm_rate", "f2"])
def test_quantiles_of_ratios_up_to_the_atoms(tables, metric):
    """The exact distribution jumps at its atoms and the smooth one does not."""
    table, smooth = tables
    exact, dist = table.estimate(metric), smooth.estimate(metric)
    for level in (0.5, 0.95):
        expected, found = exact.equal_tails(level), dist.equal_tails(level)
        for end, tail in ((found.low, (1 - level) / 2), (found.high, (1 + level) / 2)):
            below = exact.pmf[exact.values <= end].sum()
            assert abs(below - tail) < 2 * exact.pmf.max() + 0.005
        np.testing.assert_allclose(found[:2], expected[:2], rtol=0, atol=0.02 * exact.sd)
        width = dist.interval(level).high - dist.interval(level).low
        assert abs(width - (exact.interval(level).high - exact.interval(level).low)) < 0.02 * exact.sd


def integral(data, prior):
    """(log evidence, E[p_D], E[p_FA]) by Gauss-Legendre over +-9 Laplace sd around the mode."""
    mode = most_probable(data, prior)
    node, weight = np.polynomial.legendre.leggauss(60)
    sd = np.sqrt(np.diag(mode.covariance))
    d, f = mode.p_detection + 9 * sd[0] * node, mode.p_false_alarm + 9 * sd[1] * node
    constant = betaln(prior.a_d, prior.b_d) + betaln(prior.a_f, prior.b_f)

    def log_posterior(d, f):
        log_beta = (prior.a_d - 1) * np.log(d) + (prior.b_d - 1) * np.log1p(-d)
        log_beta += (prior.a_f - 1) * np.log(f) + (prior.b_f - 1) * np.log1p(-f)
        return log_likelihood(data, d, f) + log_beta - constant

    log_p = np.array([[log_posterior(float(a), float(b)) for b in f] for a in d])
    p = np.exp(log_p - log_p.max()) * weight[:, None] * weight[None, :]
    evidence = log_p.max() + np.log(p.sum() * 81 * sd[0] * sd[1])
    return evidence, float(p.sum(1) @ d / p.sum()), float(p.sum(0) @ f / p.sum())


@pytest.mark.parametrize(("n", "prior"), [(20_000, BetaPrior()), (1_000_000, BetaPrior(3.0, 1.0, 0.5, 2.0))])
def test_a_million_samples_by_the_integral_over_the_operating_point(n, prior):
    """E[p_D | data] = E[(A + a_d)/(A + B + a_d + b_d) | data], so both routes give the same numbers."""
    data = collapse(*simulated(8, n, error=0.25, labelers=3, equal=True))
    smooth = node_table(data, prior)
    evidence, p_d, p_fa = integral(data, prior)
    np.testing.assert_allclose(smooth.log_evidence, evidence, rtol=1e-12, atol=1e-7)
    tp, fp, fn, tn = smooth.counts()
    found = ((tp + prior.a_d) / (tp + fn + prior.a_d + prior.b_d) * smooth.probability).sum()
    np.testing.assert_allclose(found, p_d, rtol=1e-9)
    found = ((fp + prior.a_f) / (fp + tn + prior.a_f + prior.b_f) * smooth.probability).sum()
    np.testing.assert_allclose(found, p_fa, rtol=1e-9)


REFUSED = {
    "few samples": simulated(10, 80),
    "certain labels": (np.where(simulated(11, 3000)[0] > 0, np.inf, -np.inf), simulated(11, 3000)[1]),
    "few predicted positive": simulated(12, 3000, d=0.02, f=0.01),
    "nearly certain labels": simulated(13, 3000, error=0.01, labelers=5),
    "no prediction positive": (simulated(14, 3000)[0], np.zeros(3000, int)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_smooth_is_refused(name):
    data = collapse(*REFUSED[name])
    assert node_table(data) is None
    assert count_table(data).probability.sum() == pytest.approx(1, abs=1e-12)


def weak(size, wrong, *, seed=0, share=0.5, apart=0.0):
    """Log-odds by three labelers who are wrong with this chance, and predictions right in .9."""
    rng = np.random.default_rng(seed)
    y = (rng.random(size) < share).astype(int)
    y_pred = np.where(rng.random(size) < 0.9, y, 1 - y)
    votes = (rng.random((size, 3)) < np.where(y[:, None], 1 - wrong, wrong)).sum(axis=1)
    x = (2 * votes - 3) * np.log((1 - wrong) / wrong) + np.log(share / (1 - share))
    return collapse(x + apart * rng.normal(size=size), y_pred)


@pytest.mark.parametrize(("wrong", "apart"), [(0.5, 0.0), (0.499, 1e-3), (0.48, 1e-3), (0.46, 0.0)])
def test_nodes_say_what_the_whole_table_says(monkeypatch, wrong, apart):
    """N = 3000, where the table of all cells is small; single log-odds and repeated ones."""
    monkeypatch.setattr(nodes_of, "_FEW", 50)
    data = weak(3000, wrong, apart=apart)
    whole, nodes = count_table(data), nodes_of.node_table(data, to_the_ends=True)
    assert nodes.probability.size < whole.probability.size / 5
    assert nodes.log_evidence == pytest.approx(whole.log_evidence, abs=5e-4)
    for name in default_metrics("01"):
        one, other = whole.estimate(name), nodes.estimate(name)
        assert other.mean == pytest.approx(one.mean, abs=5e-4 * one.sd), name
        assert other.sd == pytest.approx(one.sd, rel=5e-4), name
        width, wide = np.ptp(one.equal_tails()), np.ptp(other.equal_tails())
        assert wide == pytest.approx(width, rel=0.015), name
    for axis in (0, 1):
        assert nodes.count_dist(axis).mean == pytest.approx(whole.count_dist(axis).mean, rel=5e-4)


def test_labels_that_say_nothing_have_a_dist_in_closed_form():
    """P(A, B) depends on S = A + B alone, p^S (1-p)^(N-S) / ((S+1)! (N-S+1)!): given S, A is uniform."""
    share, data = 0.3, weak(60_000, 0.5, share=0.3)
    table = exact_posterior(data)
    assert table.density is None and table.whole == (False, False)
    assert table.probability.size < 5_000_000
    n, n1, n0 = 60_000, data[0].total, data[1].total
    s = np.arange(n + 1)
    low, high = np.maximum(0, s - n0), np.minimum(s, n1)
    log_p = s * np.log(share) + (n - s) * np.log1p(-share) - gammaln(s + 2) - gammaln(n - s + 2)
    log_p = log_p + np.log(np.maximum(high - low + 1, 1e-300))
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean_a = p @ (0.5 * (low + high))
    second = p @ (((high - low + 1.0) ** 2 - 1) / 12 + (0.5 * (low + high)) ** 2)
    a = table.count_dist(0)
    assert a.mean == pytest.approx(mean_a, rel=1e-5)
    assert a.sd == pytest.approx(np.sqrt(second - mean_a**2), rel=2e-4)
    right = p @ (low + high - s + n0) / n
    assert table.estimate("accuracy").mean == pytest.approx(right, abs=1e-5)


def test_small_tables_stay_whole_and_a_few_predictions_too():
    assert exact_posterior(weak(1500, 0.5)).whole == (True, True)
    x = np.random.default_rng(0).normal(0, 1e-3, 60_000)
    few = np.arange(60_000) < 5
    table = exact_posterior(collapse(x, few.astype(int)))
    assert table.whole == (True, True) and table.a.tolist() == [0, 1, 2, 3, 4, 5]


def test_more_nodes_than_memory_are_refused_in_words(monkeypatch):
    monkeypatch.setattr(nodes_of, "_MOST", 1000)
    with pytest.raises(ValueError, match=r"60000 samples are so uncertain .* grade a random part"):
        exact_posterior(weak(60_000, 0.5))
