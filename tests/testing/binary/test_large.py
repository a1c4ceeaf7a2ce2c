"""Quadrature for large samples against the exact table, and against an integral over (p_D, p_FA)."""

import numpy as np
import pytest
from scipy.special import betaln

from jtruth.stats.poisson_binomial import cumulants, log_pmf
from jtruth.testing import METRICS, BetaPrior, collapse, count_table, most_probable, smooth_table
from jtruth.testing.binary.exact import CountTable
from jtruth.testing.binary.large import NotSmooth, SmoothTable, is_smooth, side_law
from jtruth.testing.binary.operating_point import log_likelihood


def simulated(seed, n, *, share=0.3, d=0.8, f=0.25, error=0.2, labelers=2, equal=False):
    """Log-odds and predictions; `equal` labelers all err with probability `error`: few distinct log-odds."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < share
    y = (rng.random(n) < np.where(truth, d, f)).astype(int)
    rates = np.full((n, labelers), error) if equal else rng.uniform(0.6 * error, 1.4 * error, (n, labelers))
    vote = np.where(rng.random((n, labelers)) < rates, ~truth[:, None], truth[:, None])
    return np.log(share / (1 - share)) + (np.where(vote, 1, -1) * np.log(1 / rates - 1)).sum(1), y


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


SLOW = ("one poor labeler", "four log-odds", "good labelers")


@pytest.fixture(
    scope="module", params=[pytest.param(c, marks=[pytest.mark.slow] * (c in SLOW)) for c in CASES]
)
def tables(request) -> tuple[CountTable, SmoothTable]:
    """Both tables of one case."""
    seed, n, settings, prior, lattice = CASES[request.param]
    data = collapse(*simulated(seed, n, **settings))
    smooth = smooth_table(data, prior)
    assert smooth.b_is_lattice == lattice
    return count_table(data, prior), smooth


def test_evidence_means_and_standard_deviations(tables):
    """Attained: 1e-9 or better where the count variances exceed 200, 1e-6 sd near the limit of 100."""
    table, smooth = tables
    np.testing.assert_allclose(smooth.log_evidence, table.log_evidence, rtol=0, atol=2e-7)
    for metric in (*METRICS, "f2"):
        exact, law = table.estimate(metric), smooth.estimate(metric)
        assert abs(law.mean - exact.mean) < 2e-6 * exact.sd
        assert abs(law.sd / exact.sd - 1) < 2e-7
        assert law.probability_defined == pytest.approx(1, abs=1e-12)
    for axis in (0, 1):
        exact, law = table.count_law(axis), smooth.count_law(axis)
        assert abs(law.mean - exact.mean) < 2e-6 * exact.sd and abs(law.sd / exact.sd - 1) < 2e-7


def test_accuracy_and_precision_have_the_same_atoms_and_probabilities(tables):
    """Both live on the lattice 1/N or 1/N1; every probability to 1e-6 of the largest."""
    table, smooth = tables
    for metric in ("accuracy", "precision"):
        exact, law = table.estimate(metric), smooth.estimate(metric)
        spacing = exact.values[1] - exact.values[0]
        position = np.round((law.values - exact.values[0]) / spacing).astype(int)
        np.testing.assert_allclose(law.values, exact.values[0] + spacing * position, rtol=0, atol=1e-12)
        here = (position >= 0) & (position < exact.values.size)
        full = np.zeros(exact.values.size)
        full[position[here]] = law.pmf[here]
        np.testing.assert_allclose(full, exact.pmf, rtol=0, atol=1e-6 * exact.pmf.max())
        for level in (0.5, 0.999):
            np.testing.assert_allclose(law.equal_tails(level), exact.equal_tails(level), atol=1e-7)
            found, expected = law.interval(level), exact.interval(level)
            assert found.high - found.low == pytest.approx(expected.high - expected.low, abs=1e-12)


@pytest.mark.parametrize("metric", ["recall", "false_alarm_rate", "f2"])
def test_quantiles_of_ratios_up_to_the_atoms(tables, metric):
    """The exact law jumps at its atoms and the smooth one does not.

    So the exact probability below a smooth quantile may miss its level by the atoms around it: 1/2, 2/3 and
    other ratios of small numbers hold up to a few per thousand together with what lies closest. For recall
    with B on its integers the smooth law itself has steps of 1/16 sd of A. In terms of the ends this is less
    than 1/50 of a standard deviation, for shortest intervals too.
    """
    table, smooth = tables
    exact, law = table.estimate(metric), smooth.estimate(metric)
    for level in (0.5, 0.95):
        expected, found = exact.equal_tails(level), law.equal_tails(level)
        for end, tail in ((found.low, (1 - level) / 2), (found.high, (1 + level) / 2)):
            below = exact.pmf[exact.values <= end].sum()
            assert abs(below - tail) < 2 * exact.pmf.max() + 0.005
        np.testing.assert_allclose(found[:2], expected[:2], rtol=0, atol=0.02 * exact.sd)
        width = law.interval(level).high - law.interval(level).low
        assert abs(width - (exact.interval(level).high - exact.interval(level).low)) < 0.02 * exact.sd


@pytest.mark.parametrize(("spread", "count"), [(0.5, 3000), (3.0, 4000), (6.0, 8000)])
def test_the_polynomial_reproduces_the_count_law_over_twelve_standard_deviations(spread, count):
    rng = np.random.default_rng(7)
    x, ones = rng.normal(-0.5, spread, size=count), np.ones(count, np.int64)
    mean, variance = cumulants(x, ones, 0.0)[1:3]
    low, high = (int(mean + side * 12 * np.sqrt(variance)) for side in (-1, 1))
    law, sure = side_law(x, ones, 5, low + 5, high + 5), 5
    at = np.unique(np.linspace(low, high, 40).astype(int))
    exact = log_pmf(x, ones, low, high)[at - low]
    np.testing.assert_allclose(law(at + float(sure)), exact, rtol=0, atol=2e-7)  # of log P from -1 to -80


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
    smooth = smooth_table(data, prior)
    evidence, p_d, p_fa = integral(data, prior)
    np.testing.assert_allclose(smooth.log_evidence, evidence, rtol=1e-12, atol=1e-7)
    tp, fp, fn, tn = smooth.counts()
    found = ((tp + prior.a_d) / (tp + fn + prior.a_d + prior.b_d) * smooth.probability).sum()
    np.testing.assert_allclose(found, p_d, rtol=1e-9)
    found = ((fp + prior.a_f) / (fp + tn + prior.a_f + prior.b_f) * smooth.probability).sum()
    np.testing.assert_allclose(found, p_fa, rtol=1e-9)


@pytest.mark.slow
def test_a_million_samples_by_the_whole_table():
    data = collapse(*simulated(9, 1_000_000, error=0.2, labelers=3, equal=True))
    table, smooth = count_table(data), smooth_table(data)
    np.testing.assert_allclose(smooth.log_evidence, table.log_evidence, rtol=1e-13, atol=1e-7)
    for metric in METRICS:
        exact, law = table.estimate(metric), smooth.estimate(metric)
        assert abs(law.mean - exact.mean) < 2e-6 * exact.sd and abs(law.sd / exact.sd - 1) < 1e-6


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
    assert not is_smooth(data, most_probable(data))
    with pytest.raises(NotSmooth, match="use count_table"):
        smooth_table(data)
    assert issubclass(NotSmooth, ValueError)
    assert count_table(data).probability.sum() == pytest.approx(1, abs=1e-12)
