"""Labelers who see earlier labels: EM by its loops, influences that were simulated, bad times."""

import numpy as np
import pytest

from jtruth.labels import Labels
from jtruth.learning import fit_dawid_skene, fit_sequential
from jtruth.learning.sequential import last_shown
from tests.reference import annotation_models as oracle

INFLUENCE = np.array([0.0, 0.0, 0.0, 0.6, 0.6])


def crowd(seed, size):
    """Five labelers in random order; the last two keep in .6 what they see. Labels, order, truth."""
    rng = np.random.default_rng(seed)
    y = (rng.random(size) < 0.4).astype(int)
    rows = []
    for i in range(size):
        shown = -1
        for t in rng.permutation(5):
            copy = shown >= 0 and rng.random() < INFLUENCE[t]
            shown = shown if copy else (y[i] if rng.random() < 0.75 else 1 - y[i])
            rows.append((i, t, shown))
    rows, when = np.array(rows), np.arange(5 * size)
    mixed = rng.permutation(when.size)  # entries stand in any order; `order` says when they were given
    return Labels(*rows[mixed].T, size, 5, 2), when[mixed], y


def test_em_is_that_of_the_loops():
    labels, order, _ = crowd(0, 20)
    entries = list(zip(*(a.tolist() for a in labels.entries()), strict=True))
    shown = last_shown(labels, order)
    for k, (i, _, _) in enumerate(entries):  # the last one before, found by looking
        before = [(order[m], entries[m][2]) for m in range(100) if entries[m][0] == i and order[m] < order[k]]
        assert shown[k] == (max(before)[1] if before else -1)
    pseudo, rest = np.array([[0.5, 0.1], [0.1, 0.5]]), (0.1, 0.5)
    T = labels.counts() / 5
    counts = np.tile(pseudo, (5, 1, 1))
    for i, t, k in entries:
        counts[t, :, k] += T[i]
    votes = labels.counts().sum(axis=0)
    start = counts / counts.sum(axis=2, keepdims=True), np.full(5, 0.1), votes / votes.sum()
    fit = fit_sequential(labels, order, max_steps=4, tol=0.0)  # before the first jump
    psi, a, p = oracle.sequential_em(entries, shown, (20, 5, 2), start, pseudo, rest, steps=4)
    np.testing.assert_allclose(fit.matrices, psi, atol=1e-11)
    np.testing.assert_allclose(fit.influence, a, atol=1e-11)
    np.testing.assert_allclose(fit.prior, p, atol=1e-11)
    done = fit_sequential(labels, order, tol=1e-11)
    psi, a, p = oracle.sequential_em(entries, shown, (20, 5, 2), start, pseudo, rest, steps=600)
    assert done.converged
    np.testing.assert_allclose(done.influence, a, atol=1e-8)
    np.testing.assert_allclose(done.matrices, psi, atol=1e-8)


@pytest.mark.slow
def test_influence_is_found_and_the_consensus_less_sure():
    labels, order, y = crowd(1, 2000)
    fit = fit_sequential(labels, order)
    np.testing.assert_allclose(fit.influence, INFLUENCE, atol=0.12)
    plain = fit_dawid_skene(labels)
    at = np.arange(y.size)
    scores = [np.log(f.class_posterior[at, y]).mean() for f in (fit, plain)]
    assert scores[0] > scores[1]
    np.testing.assert_allclose(fit.matrices[:, [0, 1], [0, 1]], 0.75, atol=0.12)
    assert ((fit.copied > 0) <= (last_shown(labels, order) == labels.label)).all()


def test_times_that_are_none_are_refused():
    labels, order, _ = crowd(0, 20)
    with pytest.raises(ValueError, match="a number for each of the 100 entries of labels; got shape"):
        fit_sequential(labels, order[1:])
    with pytest.raises(
        ValueError, match=r"entries \d+ and \d+ of sample 0 have the same time: who was first"
    ):
        fit_sequential(labels, np.zeros(100))
