"""The chain over symbols against all label vectors, and the walk along score bins against all walks."""

import itertools

import numpy as np
import pytest
from scipy.special import expit, logit, ndtr, ndtri

from jtruth.stats.estimates import PmfEstimate
from jtruth.tables.curves import curves
from jtruth.testing.binary import chain as walk
from jtruth.testing.binary.chain import symbol_chain, symbol_walk
from jtruth.testing.binary.exact import count_table
from jtruth.testing.binary.operating_point import BetaPrior, collapse
from tests.reference import su_binary as su


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
    posterior, evidence = su.enumerate_labels(np.stack([expit(-x), expit(x)], 1), [1, 1], u, alpha=alpha)
    tables, p = su.count_tables(posterior, u, 2, symbols)
    positives = tables[:, 1]
    chain = symbol_chain(x, u, symbols, alpha)
    np.testing.assert_allclose(chain.log_evidence, np.log(evidence), atol=1e-12)
    numbers = np.column_stack([positives, positives.sum(axis=1)])  # of each symbol, and of all
    for (first, pmf), number in zip(marginals(chain), numbers.T, strict=True):
        expected = [p[number == first + i].sum() for i in range(pmf.size)]
        np.testing.assert_allclose(pmf, expected, atol=1e-12)
    draws = chain.draws(1, 20_000)
    assert (chain.tables(1, 100).counts.sum(axis=1) == np.bincount(u, minlength=symbols)).all()
    for a, chance in zip(positives, p, strict=True):
        share = (draws == a).all(axis=1).mean()
        # 5 sd of 300 shares: a false alarm in fewer than 1 run in 5000; the key is fixed
        assert abs(share - chance) < 5 * np.sqrt(chance / 20_000) + 1e-4


def test_two_symbols_are_the_binary_table():
    rng = np.random.default_rng(0)
    x = rng.normal(0, 3, 1500)
    y_pred = (x + rng.normal(0, 3, 1500) > 1).astype(int)
    prior = BetaPrior(2.0, 1.5, 1.0, 3.0)
    table = count_table(collapse(x, y_pred), prior)
    chain = symbol_chain(x, y_pred, 2, np.array([[prior.b_f, prior.a_f], [prior.b_d, prior.a_d]]))
    np.testing.assert_allclose(chain.log_evidence, table.log_evidence, rtol=1e-12)
    for symbol, axis in ((1, 0), (0, 1)):
        (first, pmf), exact = marginals(chain)[symbol], table.count_dist(axis)
        dist = PmfEstimate(first + np.arange(float(pmf.size)), pmf, lattice=True)
        np.testing.assert_allclose([dist.mean, dist.sd], [exact.mean, exact.sd], rtol=1e-10)
        known = dict(zip(exact.values.tolist(), exact.pmf.tolist(), strict=True))
        np.testing.assert_allclose(dist.pmf, [known.get(v, 0.0) for v in dist.values], atol=1e-12)


def by_walks(x, u, bins, prior, cells):
    """(means of positives, of their squares) by bin: every class vector, every walk on the same grids."""
    rho, sizes, total = expit(x), np.bincount(u, minlength=bins), u.size
    # The grid where no likelihood is narrow is the widest one, whatever the labels say.
    edges = np.linspace(-15, 15, cells + 1)
    f, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    middle = ndtri((np.cumsum(sizes) - sizes / 2 + 1e-3) / (total + 2e-3))
    paths = np.array(list(itertools.product(range(cells), repeat=bins)))
    before = np.zeros(len(paths))
    for slope, a in zip(walk._SLOPES, np.gradient(walk._SLOPES), strict=True):
        for step, b in zip(walk._STEPS, np.gradient(walk._STEPS), strict=True):
            sd = np.sqrt(9 + step**2 * abs(middle[0]))
            chance = np.diff(ndtr((edges - logit(prior) - slope * middle[0]) / sd))[paths[:, 0]]
            for k in range(bins - 1):
                gap = middle[k + 1] - middle[k]
                z = (edges[None] - f[:, None] - slope * gap) / np.sqrt(step**2 * gap + width**2 / 12)
                chance = chance * np.diff(ndtr(z), axis=1)[paths[:, k], paths[:, k + 1]]
            before += chance * a * b * np.exp(-0.5 * (slope / 5) ** 2) / (1 + step**2)
    share = expit(f)[paths]
    mean = share @ sizes / total
    variance = (share - mean[:, None]) ** 2 @ sizes / total**2
    before = (
        before
        * np.exp(-0.5 * (mean - prior) ** 2 / np.maximum(variance, 1e-12))
        / np.sqrt(np.maximum(variance, 1e-12))
    )
    weight, count = [], []
    for y in itertools.product((0, 1), repeat=total):
        y = np.array(y)
        terms = np.where(y == 1, share[:, u] * rho / prior, (1 - share[:, u]) * (1 - rho) / (1 - prior))
        weight.append(before @ terms.prod(axis=1))
        count.append(np.bincount(u, weights=y, minlength=bins))
    weight, count = np.array(weight) / np.sum(weight), np.array(count)
    return weight @ count, weight @ count**2


def test_equal_to_all_class_vectors_and_walks(monkeypatch):
    """Seven samples in three bins, labels that say something; means and squares within 5 errors (6e-7)."""
    x = np.array([1.5, -0.5, 0.3, -2.0, 0.8, 2.2, -1.0])
    u = np.array([2, 0, 1, 0, 1, 2, 2])
    monkeypatch.setattr(walk, "_CELLS", 12)
    for prior in (0.5, 0.3):
        mean, square = by_walks(x, u, 3, prior, 12)
        tables, _, tempered = symbol_walk(x, u, 3, prior, 1, 4000)
        drawn = tables.counts[:, 1].astype(float)
        # Draws are chosen among eight times as many by weights: at most twice the variance of simple ones.
        for power, true in ((1, mean), (2, square)):
            values = drawn**power
            error = np.sqrt(2 * values.var(axis=0) / 4000)
            assert (np.abs(values.mean(axis=0) - true) < 5 * error).all()
        assert tempered == 1 and (tables.counts.sum(axis=1) == [2, 2, 3]).all()


def simulated(seed, size, labelers, distance, error):
    """(classes, bins, log-odds): ten bins of a normal score, half of the samples positive."""
    rng = np.random.default_rng([9, seed])
    y = (rng.random(size) < 0.5).astype(int)
    z = np.where(rng.random((size, labelers)) < error, 1 - y[:, None], y[:, None])
    bins = rng.normal(distance * y, 1.0).argsort().argsort() * 10 // size
    return y, bins, ((2 * z - 1) * np.log((1 - error) / error)).sum(axis=1)


def area(y, bins):
    table = np.zeros((1, 2, 10))
    np.add.at(table, (0, y, bins), 1)
    return curves(table).auc.mean


def test_many_samples_narrow_the_grids():
    """100 000 samples with five labels: the area within 5 of its sds, which are below .002."""
    y, bins, odds = simulated(0, 100_000, 5, 1.0, 0.2)
    dist = curves(symbol_walk(odds, bins, 10, 0.5, 0, 200)[0].counts).auc
    assert abs(dist.mean - area(y, bins)) < 5 * dist.sd < 0.01


def test_rows_of_rates_take_turns_and_certain_classes_stay():
    y, bins, odds = simulated(0, 60, 3, 1.0, 0.2)
    certain = np.where(y == 1, np.inf, -np.inf)
    found = symbol_walk(np.stack([odds, certain]), bins, 10, np.array([0.5, 0.5]), 0, 20)[0].counts[:, 1]
    count = np.bincount(bins, weights=y, minlength=10)
    assert (found[1::2] == count).all() and (found[::2] != count).any()
    alone = symbol_walk(certain, bins, 10, 0.5, 0, 3)[0].counts
    assert (alone[:, 1] == count).all() and (alone.sum(axis=1) == 6).all()


def test_a_class_prior_against_the_labels_is_tempered():
    _, bins, odds = simulated(0, 2000, 5, 1.0, 0.1)
    shifted = odds + logit(0.02)
    assert symbol_walk(shifted, bins, 10, 0.02, 0, 200)[2] < 1
    assert symbol_walk(odds, bins, 10, 0.5, 0, 200)[2] == 1


TWO = np.array([0.0, 1.0])


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        (symbol_chain, (TWO[:1], np.array([0]), 1), "fewer than 2"),
        (symbol_chain, (np.array([1.0, np.nan]), np.array([0, 1]), 2), r"log_odds\[1\] is NaN"),
        (symbol_chain, (TWO, np.array([0, 2]), 2), r"symbols\[1\] is 2"),
        (symbol_chain, (TWO[:1], np.array([0, 1]), 2), "symbols must have shape"),
        (symbol_chain, (TWO[:1], np.array([0]), 2, 0.0), "positive"),
        (symbol_chain, (TWO[:1], np.array([0]), 2, np.ones((2, 3))), "alpha has shape"),
        (symbol_walk, (TWO, np.array([0, 1]), 2, 1.0, 0, 4), "prior is 1.0; give"),
        (symbol_walk, (TWO, np.array([0, 1]), 2, np.array([0.5, 0.5]), 0, 4), "for each row"),
        (symbol_walk, (TWO, np.array([0, 1]), 2, 0.5, 0, 0), "n is 0"),
        (symbol_walk, (TWO, np.array([0, 5]), 2, 0.5, 0, 4), r"symbols\[1\] is 5"),
        (symbol_walk, (np.array([0.0, np.nan]), np.array([0, 1]), 2, 0.5, 0, 4), "is NaN"),
    ],
)
def test_refused(as_installed, call, arguments, message):
    with pytest.raises(ValueError, match=message):
        call(*arguments)
