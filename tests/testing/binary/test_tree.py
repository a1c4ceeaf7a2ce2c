"""The tree over bins against all label vectors, with the shares of its nodes integrated out by hand."""

import itertools

import numpy as np
import pytest
from scipy.special import betaln, expit

from jtruth.testing.binary.tree import symbol_tree


def log_weight(positives, sizes, depth, smoothness):
    """log of the nodes' beta functions, by the definition in the module."""
    if len(sizes) == 1:
        return 0.0
    middle = len(sizes) // 2
    share = (sizes[:middle].sum() + 0.5 * middle) / (sizes.sum() + 0.5 * len(sizes))
    a, b = (2 * smoothness * depth**2 * w for w in (share, 1 - share))
    total = sum(
        log_weight(positives[part], sizes[part], depth + 1, smoothness)
        for part in (slice(middle), slice(middle, None))
    )
    for counts in (positives, sizes - positives):
        total += betaln(counts[:middle].sum() + a, counts[middle:].sum() + b) - betaln(a, b)
    return total


@pytest.mark.parametrize(("bins", "smoothness"), [(2, 0.25), (3, 0.25), (5, 1.0)])
def test_equal_to_all_label_vectors(bins, smoothness):
    rng = np.random.default_rng(bins)
    x = rng.normal(0, 2, 9)
    x[:2] = np.inf, -np.inf
    u = rng.integers(0, bins, 9)
    sizes, exact = np.bincount(u, minlength=bins), {}
    for y in itertools.product((0, 1), repeat=9):
        p = np.where(y, expit(x), expit(-x)).prod()
        if p > 0:
            a = np.bincount(u, weights=y, minlength=bins).astype(int)
            exact[tuple(a)] = exact.get(tuple(a), 0.0) + p * np.exp(log_weight(a, sizes, 1, smoothness))
    tree = symbol_tree(x, u, bins, smoothness)
    evidence = sum(exact.values())
    np.testing.assert_allclose(tree.log_evidence, np.log(evidence), atol=1e-11)
    draws = tree.draws(0, 20_000)
    for a, p in exact.items():
        share = (draws == np.array(a)).all(axis=1).mean()
        # 5 sd of 400 shares: a false alarm in fewer than 1 run in 4000; the key is fixed
        assert abs(share - p / evidence) < 5 * np.sqrt(p / evidence / 20_000) + 1e-4


def test_tables_hold_every_sample_of_a_large_set():
    rng = np.random.default_rng(1)
    x = rng.normal(0, 3, 3000)
    u = np.clip((x + rng.normal(0, 3, 3000) + 10).astype(int), 0, 19)
    tables = symbol_tree(x, u, 20).tables(1, 500).counts
    np.testing.assert_array_equal(tables.sum(1), np.tile(np.bincount(u, minlength=20), (500, 1)))
    # Labels are clear here: the number of positives is near the sum of their probabilities.
    assert abs(tables[:, 1].sum(1).mean() - expit(x).sum()) < 25 and tables.min() >= 0


def test_shares_given_counts_are_beta_at_every_node():
    """Means against products of Beta means; 4.5 standard errors of 4000 draws, ten cells: 7e-5."""
    rng = np.random.default_rng(3)
    bins = rng.integers(0, 5, 40)
    tree = symbol_tree(rng.normal(0, 1, 40), bins, 5)
    positives = tree.draws(0, 1)
    found = tree.shares(np.repeat(positives, 4000, axis=0), 1)
    np.testing.assert_allclose(found.sum(axis=2), 1)
    counts = np.stack([tree.sizes - positives[0], positives[0]])

    def means(start, end, depth):
        if end - start == 1:
            return np.ones((2, 1))
        middle = start + (end - start) // 2
        size, lower = tree.sizes[start:end].sum(), tree.sizes[start:middle].sum()
        w = (lower + 0.5 * (middle - start)) / (size + 0.5 * (end - start))
        k = 0.25 * depth**2
        share = (2 * k * w + counts[:, start:middle].sum(1)) / (2 * k + counts[:, start:end].sum(1))
        parts = [means(start, middle, depth + 1), means(middle, end, depth + 1)]
        return np.concatenate([share[:, None] * parts[0], (1 - share)[:, None] * parts[1]], axis=1)

    error = found.std(axis=0) / np.sqrt(4000)
    assert (np.abs(found.mean(axis=0) - means(0, 5, 1)) < 4.5 * error).all()
