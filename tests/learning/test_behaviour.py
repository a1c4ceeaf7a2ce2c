"""Spam, drift and duplicates: the evidence against plain sums, and detection in simulated crowds."""

import itertools
import math

import numpy as np
import pytest

from jtruth.labels import Labels
from jtruth.learning import Smoothing, fit_dawid_skene
from jtruth.learning.behaviour import labeler_behaviour, one_matrix

SMOOTH = Smoothing(1.0, 0.5, 0.5)


def dirichlet_evidence(counts, prior):
    """Product over the labels, one by one: (prior + seen so far) / total (Polya's urn)."""
    seen, value = list(prior), 0.0
    for k, number in enumerate(counts):
        for _ in range(number):
            value += math.log(seen[k] / sum(seen))
            seen[k] += 1
    return value


def rows_of(y, z, classes):
    pairs = list(zip(y, z, strict=True))
    return [[pairs.count((c, k)) for k in range(classes)] for c in range(classes)]


def one_matrix_log_p(y, z, classes=2):
    prior = [[2.0 if c == k else 1 / (classes - 1) for k in range(classes)] for c in range(classes)]
    return sum(dirichlet_evidence(n, a) for n, a in zip(rows_of(y, z, classes), prior, strict=True))


def test_the_bound_is_below_the_sum_over_all_classes_and_exact_where_they_are_known():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 9)
    z = np.where(rng.random(9) < 0.8, y, 1 - y)
    for doubt, slack in ((0.0, 1e-9), (0.02, 0.1), (0.3, 1.0)):
        rho = np.where(y[:, None] == np.arange(2), 1 - doubt, doubt)
        exact = -np.inf
        for classes in itertools.product(range(2), repeat=9):
            weight = np.prod(rho[np.arange(9), classes])
            if weight > 0:
                exact = np.logaddexp(exact, math.log(weight) + one_matrix_log_p(classes, z))
        bound = one_matrix(rho, np.zeros(9, int), z, 1, np.array([[[2.0, 1.0], [1.0, 2.0]]]))
        assert exact - slack - 1e-9 <= bound[0] <= exact + 1e-9, (doubt, exact, bound)


def test_probabilities_by_plain_sums_where_classes_are_known():
    """One labeler beside gold: spam and change by Polya's urn, label by label."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 30)
    z = np.where(np.arange(30) < 18, y, 1 - y)
    order = np.arange(30) // 2
    rates = np.full((1, 2, 2), 0.5)
    found = labeler_behaviour(Labels.from_matrix(z[:, None], 2), np.full(2, 0.5), rates, order=order, gold=y)
    whole = one_matrix_log_p(y, z)
    spam = dirichlet_evidence([int((z == k).sum()) for k in range(2)], [1.0, 1.0])
    odds = math.exp(spam - whole) * 0.05 / 0.95
    assert found.spam[0] == pytest.approx(odds / (1 + odds), abs=1e-10)
    assert (found.drift[0] < 0.05).all()


def test_a_change_is_found_by_class_as_by_plain_counts_and_signs():
    """Beside gold: shares by counting, and p-values by 1000 other random signs, written out plainly."""
    rng = np.random.default_rng(4)
    size, order = 400, np.arange(400)
    y = (rng.random(size) < 0.2).astype(int)
    right = np.where(y == 1, np.where(order < 200, 0.85, 0.62), 0.9)
    z = np.where(rng.random(size) < right, y, 1 - y)
    rates = np.stack([np.bincount(z[y == c], minlength=2) / (y == c).sum() for c in (0, 1)])
    labels = Labels.from_matrix(z[:, None], 2)
    found = labeler_behaviour(labels, np.array([0.8, 0.2]), rates[None], order=order, gold=y)
    wrong = (z != y).astype(float)

    def largest(sign):
        """CUSUM at each eighth of the labels over the spread of its score: the largest, class and place."""
        best = []
        for c in (0, 1):
            score = np.where(y == c, wrong - (1 - rates[c, c]), 0.0)
            for k in range(1, 8):
                part = (y[: 50 * k] == c).sum() / (y == c).sum()
                spread = max((score**2).sum() * part * (1 - part), 3.0) ** 0.5  # few errors tell nothing
                drawn = score * sign
                best.append((abs(drawn[: 50 * k].sum() - part * drawn.sum()) / spread, c, 50 * k))
        return best

    real = largest(np.ones(size))
    _, cls, cut = max(real)
    assert cls == 1 and found.moment[0, 1] == cut - 1
    early = (order < cut) & (y == 1)
    assert found.before[0, 1] == pytest.approx(1 - wrong[early].mean(), abs=1e-9)
    assert found.after[0, 1] == pytest.approx(1 - wrong[(y == 1) & ~early].mean(), abs=1e-9)
    null = np.array([max(largest(rng.choice([-1.0, 1.0], size)))[0] for _ in range(1000)])
    for c in (0, 1):  # three standard errors of both numbers together
        p = np.mean(null >= max(z for z, of, _ in real if of == c))
        assert found.drift[0, c] == pytest.approx(
            p, abs=3 * (p * (1 - p) * (1 / 1000 + 1 / 399)) ** 0.5 + 0.005
        )


def test_a_recall_that_halves_is_seen_where_positives_are_rare():
    """7 % positive, 2000 samples, three labelers; and shares of classes that move are no drift."""
    hits, false = 0, 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = (rng.random(2000) < 0.07).astype(int)
        for tired in (True, False):
            if not tired:
                y = (rng.random(2000) < np.linspace(0.1, 0.6, 2000)).astype(int)
            right = np.where(y == 1, 0.8, 0.97)[:, None].repeat(3, axis=1)
            if tired:
                right[(np.arange(2000) >= 1000) & (y == 1), 2] = 0.4
            z = np.where(rng.random(right.shape) < right, y[:, None], 1 - y[:, None])
            labels = Labels.from_matrix(z, 2)
            fit = fit_dawid_skene(labels, smoothing=SMOOTH)
            found = labeler_behaviour(labels, fit.prior, fit.matrices, order=np.arange(2000)).drift < 0.05
            hits += tired and bool(found[2, 1])
            false += (found[:2].any() or found[2, 0]) if tired else found.any()
    assert hits >= 8 and false <= 4, (hits, false)


def crowd(seed, bad=None, size=300, labelers=6):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size)
    z = np.where(rng.random((size, labelers)) < np.linspace(0.65, 0.9, labelers), y[:, None], 1 - y[:, None])
    if bad == "spam":
        z[:, 0] = rng.random(size) < 0.7
    elif bad == "drift":
        z[200:, 5] = rng.random(100) < 0.5
    elif bad == "duplicate":
        z[:, 1] = np.where(rng.random(size) < 0.97, z[:, 0], z[:, 1])
    z = np.where(rng.random(z.shape) < 0.7, z, -1)
    labels = Labels.from_matrix(z, 2, allow_unlabelled=True)
    fit = fit_dawid_skene(labels, smoothing=SMOOTH)
    found = labeler_behaviour(labels, fit.prior, fit.matrices, order=np.arange(size))
    for (a, b), shared, agreed in zip(found.pairs, found.shared, found.agreed, strict=True):
        both = (z[:, [a, b]] >= 0).all(axis=1)
        assert (shared, agreed) == (both.sum(), (z[both, a] == z[both, b]).sum())
    return found


def test_who_is_named_and_who_is_not():
    """20 crowds of six good labelers, and 10 in which one of them is bad."""
    named = np.zeros(3, int)
    for seed in range(20):
        found = crowd(seed)
        named += [(found.spam > 0.5).sum(), (found.drift < 0.05).any(),
                  (found.duplicate > 0.5).sum()]  # fmt: skip
    assert (named <= (2, 3, 1)).all(), named
    hits = np.zeros(3, int)
    for seed in range(10):
        spam = crowd(seed, "spam").spam
        hits[0] += spam.argmax() == 0 and spam[0] > 0.5
        change = crowd(seed, "drift")
        cell = change.drift[5].argmin()
        hits[1] += change.drift[5, cell] < 0.05 and abs(change.moment[5, cell] - 200) < 60
        pair = crowd(seed, "duplicate")
        hits[2] += bool(pair.duplicate.size) and pair.pairs[0].tolist() == [0, 1] and pair.duplicate[0] > 0.5
    assert (hits >= (9, 4, 7)).all(), hits


def test_few_labels_tell_nothing_and_bad_input_is_refused():
    labels = Labels.from_matrix([[0, 0, 1], [1, 1, -1], [0, 0, -1]], 2)
    rates = np.tile([[0.8, 0.2], [0.2, 0.8]], (3, 1, 1))
    found = labeler_behaviour(labels, np.full(2, 0.5), rates, order=np.arange(3))
    assert np.isnan(found.drift).all() and found.pairs.shape == (0, 2)
    assert 0.03 < found.spam[2] < 0.1
    with pytest.raises(ValueError, match="matrix of labeler 0 has a 0"):
        labeler_behaviour(labels, np.full(2, 0.5), np.tile(np.eye(2), (3, 1, 1)))
