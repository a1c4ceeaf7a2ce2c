"""Pairs of labelers by a table, by sparse products, and pair by pair; groups by the whole graph."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import sparse

from jtruth.labels import Labels
from jtruth.stats import agreement


def labels_of(seed, num_samples, num_labelers, classes):
    """Entries in any order, some repeated."""
    sizes, rng = (num_samples, num_labelers, classes), np.random.default_rng(seed)
    return tuple(rng.integers(size, size=4 * num_samples) for size in sizes)


def by_pairs(sample, labeler, label, size):
    """Shared samples, agreements and classes agreed on, straight from the definition."""
    first = {}
    for i, t, k in zip(sample.tolist(), labeler.tolist(), label.tolist(), strict=True):
        first.setdefault((i, t), k)
    shared, agreed = np.zeros((size[0],) * 2, int), {}
    for ((i, t), k), ((j, u), m) in permutations(first.items(), 2):
        if i == j:
            shared[t, u] += 1
            if k == m:
                agreed.setdefault((t, u), []).append(k)
    same, variety = np.zeros_like(shared), np.zeros_like(shared)
    for pair, classes in agreed.items():
        same[pair], variety[pair] = len(classes), len(set(classes))
    return shared, same, variety


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("ordered", [True, False])
def test_pairs_are_counted_as_defined(few, ordered, monkeypatch):
    """Both ways, of entries in the order of samples or not."""
    monkeypatch.setattr(agreement, "_FEW", 10**6 if few else -(10**6))
    entries = labels_of(3, 40, 6, 3)
    if ordered:
        entries = tuple(column[np.argsort(entries[0], kind="stable")] for column in entries)
    found = agreement.labeler_pairs(*entries, (6, 40))
    shared, same, variety = by_pairs(*entries, (6, 40))
    np.testing.assert_array_equal(found.shared.toarray(), shared)
    np.testing.assert_array_equal(found.agreed.toarray(), same)
    np.testing.assert_array_equal(found.variety.toarray(), variety)
    np.testing.assert_array_equal(found.met, shared.sum(axis=1))
    np.testing.assert_array_equal(found.agreed_with, same.sum(axis=1))
    first = agreement.first_labels(*entries[:2], 6)
    alone = agreement.shared_samples(entries[0][first], entries[1][first], (6, 40))
    np.testing.assert_array_equal(alone.toarray(), shared)


def test_groups_are_those_of_the_whole_graph():
    """Labelers and samples as nodes of one graph, at ten densities."""
    rng = np.random.default_rng(0)
    for size in range(1, 41, 4):
        labeler, sample = rng.integers(12, size=size), rng.integers(20, size=size)
        group = agreement.groups_of(labeler, sample, (12, 20))
        edges = sparse.csr_array((np.ones(size), (labeler, 12 + sample)), shape=(32, 32))
        _, whole = sparse.csgraph.connected_components(edges, directed=False)
        for a, b in combinations(range(size), 2):
            assert (group[a] == group[b]) == (whole[labeler[a]] == whole[labeler[b]])


@pytest.mark.parametrize("few", [True, False])
def test_equal_samples_taken_together_count_as_often_as_they_are(few, monkeypatch):
    monkeypatch.setattr(agreement, "_FEW", 10**6 if few else -(10**6))
    z = np.random.default_rng(0).integers(-1, 2, (200, 4))
    z[:, 0] = 1
    labels = Labels.from_matrix(z, 2)
    kinds = labels.patterns()
    *entries, times = kinds.entries()
    one = agreement.labeler_pairs(*labels.entries(), (4, 200), 150)
    other = agreement.labeler_pairs(*entries, (4, kinds.labels.num_samples), 150, times)
    for name in ("met", "agreed_with", "shared", "agreed", "variety"):
        a, b = (getattr(found, name) for found in (one, other))
        a, b = (part.toarray() if hasattr(part, "toarray") else part for part in (a, b))
        np.testing.assert_array_equal(a, b)
