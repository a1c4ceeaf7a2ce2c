"""The chain over symbols against all label vectors, the binary table, and draws against its own laws."""

import itertools

import numpy as np
import pytest
from scipy.special import expit, gammaln

from jtruth.stats.estimates import PmfEstimate
from jtruth.testing.binary.chain import symbol_chain
from jtruth.testing.binary.exact import count_table
from jtruth.testing.binary.operating_point import BetaPrior, collapse


def enumerated(x, u, alpha):
    """{(a_1..a_B): probability with the evidence} by all label vectors, K integrated out."""
    size, found = alpha.shape[1], {}
    sizes = np.bincount(u, minlength=size)
    constant = gammaln(alpha.sum(1)).sum() - gammaln(alpha).sum()
    for y in itertools.product((0, 1), repeat=len(x)):
        p = np.where(y, expit(x), expit(-x)).prod()
        a = np.bincount(u, weights=y, minlength=size)
        rows = np.stack([sizes - a, a]) + alpha
        log_k = gammaln(rows).sum() - gammaln(rows.sum(1)).sum() + constant
        found[tuple(a)] = found.get(tuple(a), 0.0) + p * np.exp(log_k)
    return {a: p for a, p in found.items() if p > 0}


def marginals(chain):
    """(smallest number, PMF) of the positives of each symbol, and of all, from the messages of the chain."""
    before, found = np.ones(1), []
    for first, factor, after in zip(chain.first, chain.factor, chain.ahead[1:], strict=True):
        pmf = factor * np.correlate(after, before, mode="valid")[: factor.size]
        found.append((first, pmf / pmf.sum()))
        before = np.convolve(before, factor)
        before /= before.max()
    pmf = before * chain.ahead[-1]
    return [*found, (chain.first.sum(), pmf / pmf.sum())]


@pytest.mark.parametrize("symbols", [2, 3, 4])
def test_equal_to_all_label_vectors(symbols):
    """Evidence, marginals and sum to 1e-12; with certain samples and a symbol that never occurs."""
    rng = np.random.default_rng(symbols)
    x, alpha = rng.normal(0, 2, 9), rng.uniform(0.3, 3, (2, symbols))
    x[:2] = np.inf, -np.inf
    u = rng.integers(0, symbols - (symbols == 4), 9)
    exact = enumerated(x, u, alpha)
    evidence = sum(exact.values())
    chain = symbol_chain(x, u, symbols, alpha)
    np.testing.assert_allclose(chain.log_evidence, np.log(evidence), atol=1e-12)
    for k, (first, pmf) in enumerate(marginals(chain)):
        numbers = {a: a[k] if k < symbols else sum(a) for a in exact}
        expected = [sum(p for a, p in exact.items() if numbers[a] == first + i) for i in range(pmf.size)]
        np.testing.assert_allclose(pmf, np.array(expected) / evidence, atol=1e-12)
    draws = chain.draws(1, 20_000)
    assert (chain.tables(1, 100).counts.sum(axis=1) == np.bincount(u, minlength=symbols)).all()
    for a, p in exact.items():
        share = (draws == np.array(a)).all(axis=1).mean()
        # 5 sd of 300 shares: a false alarm in fewer than 1 run in 5000; the key is fixed
        assert abs(share - p / evidence) < 5 * np.sqrt(p / evidence / 20_000) + 1e-4


def test_two_symbols_are_the_binary_table():
    rng = np.random.default_rng(0)
    x = rng.normal(0, 3, 1500)
    y_pred = (x + rng.normal(0, 3, 1500) > 1).astype(int)
    prior = BetaPrior(2.0, 1.5, 1.0, 3.0)
    table = count_table(collapse(x, y_pred), prior)
    chain = symbol_chain(x, y_pred, 2, np.array([[prior.b_f, prior.a_f], [prior.b_d, prior.a_d]]))
    np.testing.assert_allclose(chain.log_evidence, table.log_evidence, rtol=1e-12)
    for symbol, axis in ((1, 0), (0, 1)):
        (first, pmf), theirs = marginals(chain)[symbol], table.count_law(axis)
        mine = PmfEstimate(first + np.arange(float(pmf.size)), pmf, lattice=True)
        np.testing.assert_allclose([mine.mean, mine.sd], [theirs.mean, theirs.sd], rtol=1e-10)
        known = dict(zip(theirs.values.tolist(), theirs.pmf.tolist(), strict=True))
        np.testing.assert_allclose(mine.pmf, [known.get(v, 0.0) for v in mine.values], atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [0], 1), "fewer than 2"),
        (([1.0, np.nan], [0, 1], 2), r"log_odds\[1\] is NaN"),
        (([1.0, 2.0], [0, 2], 2), r"symbols\[1\] is 2"),
        (([1.0], [0, 1], 2), "symbols must have shape"),
        (([1.0], [0], 2, 0.0), "positive"),
        (([1.0], [0], 2, np.ones((2, 3))), "alpha has shape"),
    ],
)
def test_refused(as_installed, arguments, message):
    x, u, *rest = arguments
    with pytest.raises(ValueError, match=message):
        symbol_chain(np.array(x), np.array(u), *rest)
