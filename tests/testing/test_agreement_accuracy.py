"""Accuracy from agreement, by loops."""

import itertools

import numpy as np
import pytest

from benchmarks._papers.agreement_accuracy import (
    labeler_accuracy_by_agreement,
    lehner_accuracy,
    weighted_vote_accuracy,
)
from tests.learning.crowds import from_matrix, simulate


def lehner_by_loops(y_pred, z, classes):
    """The paper's three steps; -1 is no label."""
    equal = pairs = 0
    for row in z:
        for first, second in itertools.combinations([v for v in row if v >= 0], 2):
            pairs, equal = pairs + 1, equal + (first == second)
    low, high = 1 / classes, 1.0  # agreement rises with p: bisection
    for _ in range(200):
        p = (low + high) / 2
        low, high = (p, high) if p * p + (1 - p) ** 2 / (classes - 1) < equal / pairs else (low, p)
    votes = [v for row in z for v in row if v >= 0]
    # share = p b + (1 - p) / (C - 1) (1 - b), solved for b
    wrong = (1 - p) / (classes - 1)
    base = [(votes.count(k) / len(votes) - wrong) / (p - wrong) for k in range(classes)]
    bins = {}
    for row, guess in zip(z, y_pred, strict=True):
        joint = [base[k] * np.prod([p if v == k else wrong for v in row if v >= 0]) for k in range(classes)]
        best = int(np.argmax(joint))
        g = joint[best] / sum(joint)
        bins.setdefault(int(np.ceil(g * 10)), []).append((g, best == guess))
    total = 0.0
    for members in bins.values():
        g, agree = (sum(m[k] for m in members) / len(members) for k in (0, 1))
        wrong = (1 - g) / (classes - 1)  # agree = a g + (1 - a) wrong
        total += len(members) * (agree - wrong) / (g - wrong)
    return total / len(z)


def votes_by_loops(y_pred, z, classes):
    raters = [[row[t] for row in z] for t in range(z.shape[1])] + [list(y_pred)]
    weight, before = [1.0] * len(raters), None
    while True:
        share = []
        for i in range(len(z)):
            score = [sum(w for w, r in zip(weight, raters, strict=True) if r[i] == k) for k in range(classes)]
            top = [k for k in range(classes) if abs(score[k] - max(score)) < 1e-11]
            share.append([(k in top) / len(top) for k in range(classes)])
        right = [
            sum(share[i][r[i]] for i in range(len(z)) if r[i] >= 0) / sum(v >= 0 for v in r) for r in raters
        ]
        if share == before:
            return right[-1]
        before, weight = share, [classes * w - 1 for w in right]


@pytest.mark.parametrize("classes", [2, 3])
def test_both_are_their_formulas(classes):
    z, y = simulate(5, 60, 5, classes, 0.7, 0.9)
    z[(z >= 0).sum(axis=1) == 0, 0] = 0
    y_pred = np.where(np.random.default_rng(0).random(60) < 0.8, y, (y + 1) % classes)
    labels = from_matrix(z, classes)
    assert lehner_accuracy(y_pred, labels) == pytest.approx(lehner_by_loops(y_pred, z, classes), abs=1e-9)
    assert weighted_vote_accuracy(y_pred, labels) == pytest.approx(votes_by_loops(y_pred, z, classes))


def test_what_says_nothing_is_refused(as_installed):
    alone = from_matrix(np.array([[0, -1], [-1, 1], [1, -1]]), 2)
    with pytest.raises(ValueError, match="no sample has two labels"):
        lehner_accuracy(np.array([0, 1, 1]), alone)
    even = from_matrix(np.array([[0, 1], [1, 0], [0, 0], [1, 1]]), 2)
    with pytest.raises(ValueError, match=r"agree in 50\.0 % of all pairs, and random labels would in 50\.0"):
        lehner_accuracy(np.array([0, 1, 0, 1]), even)
    rare = from_matrix(np.array([[0, 0, 1]] + [[0, 0, 0]] * 2 + [[0, 1, 0]] * 2), 2)
    with pytest.raises(ValueError, match=r"class 1 has 20\.0 % of the labels"):
        lehner_accuracy(np.zeros(5, int), rare)
    with pytest.raises(ValueError, match="y_pred"):
        weighted_vote_accuracy(np.array([0, 2, 0, 1]), even)
    with pytest.raises(ValueError, match=r"labels is a list; give jt\.Labels"):
        weighted_vote_accuracy(np.array([0]), [[0]])
    assert labeler_accuracy_by_agreement(np.array([[3.0, 0.0], [0.0, 2.0]])) == 1.0
