"""The exact table against the whole table in the log domain, and by general properties of posteriors.

Enumeration of label vectors and the reference files are in test_enumeration and test_golden.
"""

import numpy as np
import pytest
from scipy.special import betaln

from jtruth.tables.binary import dist_of_cells
from jtruth.tables.metrics import named_metric
from jtruth.testing import METRICS, BetaPrior, collapse
from jtruth.testing.binary.exact import count_table
from tests.testing.golden_cases import simulated


def log_recursion(x):
    """log PMF of a sum of flips: f_k <- f_k (1 - p) + f_{k-1} p with every number a logarithm."""
    dist = np.array([0.0])
    for value in x:
        tails = np.append(dist, -np.inf) - np.logaddexp(0, value)
        heads = np.append(-np.inf, dist) - np.logaddexp(0, -value)
        dist = np.logaddexp(tails, heads)
    return dist


def whole_table(x, y, prior):
    """(table over all of 0..N1 x 0..N0, log p(y_pred | z)): nothing windowed, tilted or collapsed."""
    n1, n0 = int((y == 1).sum()), int((y == 0).sum())
    a, b = np.arange(n1 + 1)[:, None], np.arange(n0 + 1)[None, :]
    log_p = log_recursion(x[y == 1])[:, None] + log_recursion(x[y == 0])[None, :]
    log_p = log_p + betaln(a + prior.a_d, b + prior.b_d) - betaln(prior.a_d, prior.b_d)
    log_p = log_p + betaln(n1 - a + prior.a_f, n0 - b + prior.b_f) - betaln(prior.a_f, prior.b_f)
    top = log_p.max()
    p = np.exp(log_p - top)
    return p / p.sum(), float(top + np.log(p.sum()))


EDGES = BetaPrior(0.05, 0.05, 0.05, 0.05)  # nearly all prior mass at rates of 0 and 1
CASES = {
    "ordinary": (simulated(0, 400), BetaPrior()),
    "informative prior": (simulated(1, 300), BetaPrior(40.0, 2.0, 0.5, 30.0)),
    "labels say almost nothing": (simulated(2, 400, error=0.46, labelers=1), BetaPrior()),
    "nothing at all": ((np.zeros(150), np.arange(150) % 2), BetaPrior()),
    "nothing, and rates at the edges": ((np.zeros(150), np.arange(150) % 2), EDGES),
    "almost nothing, rates at the edges": (simulated(3, 200, error=0.46, labelers=1), EDGES),
    "labels against predictions": ((np.where(np.arange(90) % 2, -9.0, 9.0), np.arange(90) % 2), BetaPrior()),
    "a hundred labelers": (simulated(4, 120, error=0.02, labelers=100), BetaPrior()),
    "log-odds of thousands": (
        (np.array([4000.0, -2500, 3000, 0.5, -0.5, -3000]), np.arange(6) % 2),
        BetaPrior(),
    ),
    "all predicted 1": ((np.random.default_rng(5).normal(size=60), np.ones(60, int)), BetaPrior()),
    "all predicted 0": ((np.random.default_rng(6).normal(size=60), np.zeros(60, int)), BetaPrior()),
    "one predicted 1": ((np.random.default_rng(7).normal(size=60), (np.arange(60) == 3).astype(int)), EDGES),
    "rare class": (simulated(8, 500, share=0.01, error=0.1), BetaPrior()),
}


@pytest.mark.parametrize("name", CASES)
def test_the_window_holds_the_whole_table(name):
    (x, y), prior = CASES[name]
    expected, log_evidence = whole_table(x, y, prior)
    table = count_table(collapse(x, y), prior)
    found = np.zeros_like(expected)
    found[np.ix_(table.a, table.b)] = table.probability
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert np.abs(found - expected).sum() < 1e-10  # of a total of 1
    np.testing.assert_allclose(table.log_evidence, log_evidence, rtol=1e-12, atol=1e-10)
    n1, n0 = expected.shape[0] - 1, expected.shape[1] - 1
    a, b = np.arange(n1 + 1)[:, None], np.arange(n0 + 1)[None, :]
    for metric in (*METRICS, "f2"):
        values = np.broadcast_to(named_metric(metric).of_counts(a, n1 - a, b, n0 - b), expected.shape)
        defined = ~np.isnan(values)
        mass, dist = expected[defined].sum(), table.estimate(metric)
        np.testing.assert_allclose(dist.probability_defined, mass, rtol=0, atol=1e-11)
        if mass > 0:
            mean = (values[defined] * expected[defined]).sum() / mass
            variance = ((values[defined] - mean) ** 2 * expected[defined]).sum() / mass
            np.testing.assert_allclose([dist.mean, dist.sd**2], [mean, variance], rtol=0, atol=1e-11)
    for axis in (0, 1):
        np.testing.assert_allclose(
            table.count_dist(axis).mean,
            expected.sum(1 - axis) @ np.arange(expected.shape[axis]),
            rtol=1e-9,
            atol=1e-9,
        )


def test_no_samples_at_all():
    table = count_table(collapse(np.zeros(0), np.zeros(0, int)))
    assert table.probability.tolist() == [[1.0]] and table.log_evidence == pytest.approx(0, abs=1e-12)
    for metric in METRICS:
        assert table.estimate(metric).probability_defined == 0


def test_atoms_of_a_large_table_are_pooled_without_moving_the_mean():
    """More than 2^18 atoms are pooled in 2^17 cells by their centres of mass: the mean stays, sd by 1e-9."""
    rng = np.random.default_rng(10)
    values, weight = rng.beta(40, 10, 400_000), rng.random(400_000)
    pmf = weight / weight.sum()
    dist = dist_of_cells(values, pmf)
    mean = values @ pmf
    assert dist.values.size <= 1 << 17 and (np.diff(dist.values) > 0).all()
    np.testing.assert_allclose(dist.mean, mean, rtol=1e-13)
    np.testing.assert_allclose(dist.sd, np.sqrt((values - mean) ** 2 @ pmf), rtol=1e-8)
    order = np.argsort(values)
    quantiles = np.interp([0.025, 0.975], np.cumsum(pmf[order]), values[order])
    np.testing.assert_allclose(dist.equal_tails(0.95), quantiles, atol=2e-5)
