"""Coefficients of agreement: published tables, plain loops, scikit-learn, and coverage of intervals."""

import itertools

import numpy as np
import pytest
from scipy.stats import beta, norm
from scipy.stats import t as student
from sklearn.metrics import cohen_kappa_score

from jtruth.stats.agreement import (
    agreement,
    brennan_prediger,
    cohen,
    fleiss,
    gwet_ac1,
    krippendorff,
    overall,
    point,
    weights,
)

# Krippendorff (2011), Computing Krippendorff's alpha-reliability, section C: 4 observers, 12 units, "." none.
OBSERVERS = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""
# Krippendorff (2004), Content Analysis, ch. 11, as it is mostly cited: 3 coders, 15 units.
CODERS = """
. . . . . 3 4 1 2 1 1 3 3 . 3
1 . 2 1 3 3 4 3 . . . . . . .
. . 2 1 3 4 4 . 2 1 1 3 3 . 4
"""
# Fleiss (1971), Table 1 as it is mostly cited: 14 raters, 10 subjects, 5 categories.
FLEISS = """
0 0 0 0 14
0 2 6 4 2
0 0 3 5 6
0 3 9 2 0
2 2 8 1 1
7 7 0 0 0
3 2 6 3 0
2 5 3 2 2
6 5 2 1 0
0 2 2 3 7
"""


def table(text, missing="."):
    rows = text.replace(missing, "-1").strip().split("\n")
    return np.array([row.split() for row in rows], int)


def votes_of(ratings, classes):
    return np.stack([(ratings == c).sum(axis=1) for c in range(classes)], axis=1)


OBSERVED, CODED = votes_of(table(OBSERVERS).T - 1, 5), votes_of(table(CODERS).T - 1, 4)
PUBLISHED = (OBSERVED, CODED, table(FLEISS))


def test_published_tables():
    """Values as printed there; Gwet's package irrCAC prints those to 5 digits, and the standard error."""
    assert round(point(fleiss(table(FLEISS))), 5) == 0.20993
    for kind, printed in (("nominal", 0.691), ("interval", 0.811)):
        assert round(point(krippendorff(CODED, kind)), 3) == printed
    for kind, printed in (("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)):
        assert round(point(krippendorff(OBSERVED, kind)), 3) == printed
    printed = {"krippendorff": 0.74342, "fleiss": 0.76117, "gwet_ac1": 0.77544, "brennan_prediger": 0.77273}
    found = overall(OBSERVED, 0)
    for name, value in printed.items():
        assert round(found[name].value, 5) == value
    assert abs(found["krippendorff"].standard_error - 0.14557) < 0.03 * 0.14557  # linearised otherwise


@pytest.mark.parametrize("make", [fleiss, brennan_prediger, gwet_ac1, krippendorff])
@pytest.mark.parametrize("kind", ["interval", pytest.param("nominal", marks=pytest.mark.slow)])
def test_standard_errors_are_those_of_leaving_one_out(make, kind):
    """The jackknife; samples have 1 to 6 labels. Both have an error of order 1/n of themselves."""
    votes = np.random.default_rng(5).multinomial(2, [0.6, 0.3, 0.1], 300)
    votes += np.random.default_rng(6).integers(0, 2, votes.shape) * (np.arange(300) % 2)[:, None]
    votes[::7] = [1, 0, 0]
    kind = "quadratic" if kind == "interval" and make is not krippendorff else kind
    left_out = np.array([point(make(np.delete(votes, i, axis=0), kind)) for i in range(300)])
    error = np.sqrt(299 / 300 * ((left_out - left_out.mean()) ** 2).sum())
    found = agreement(make(votes, kind), 0, replicates=100)
    assert abs(found.standard_error / error - 1) < 0.02


KAPPAS = [((20, 5, 10, 15), 0.4), ((45, 15, 25, 15), 0.1304), ((25, 35, 5, 35), 0.2593)]


@pytest.mark.parametrize(("cells", "printed"), KAPPAS)
def test_cohens_kappa_with_its_general_variance(cells, printed):
    """Fleiss, Cohen and Everitt (1969), variance for any kappa, times n / (n - 1)."""
    first, second = np.repeat([0, 0, 1, 1], cells), np.repeat([0, 1, 0, 1], cells)
    found = agreement(cohen(first, second, 2), 0)
    assert round(found.value, 4) == printed
    p = np.array(cells).reshape(2, 2) / sum(cells)
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    observed, chance = np.trace(p), rows @ columns
    kappa, left = (observed - chance) / (1 - chance), 1 - chance
    inside = sum(p[i, i] * (left - (rows[i] + columns[i]) * (1 - observed)) ** 2 for i in range(2))
    outside = sum(p[i, 1 - i] * (columns[i] + rows[1 - i]) ** 2 for i in range(2)) * (1 - observed) ** 2
    rest = (observed * chance - 2 * chance + observed) ** 2
    variance = (inside + outside - rest) / (left**4 * (sum(cells) - 1))
    assert found.value == pytest.approx(kappa)
    assert found.standard_error == pytest.approx(variance**0.5, rel=1e-6)


@pytest.mark.parametrize("kind", ["nominal", "linear", "quadratic"])
@pytest.mark.parametrize("classes", [4, 40])
def test_cohen_is_scikit_learns(kind, classes):
    """Of margins and agreement alone: the 1600 cells of 40 classes have 81 sums that matter."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, classes, 300)
    second = np.where(rng.random(300) < 0.6, first, rng.integers(0, classes, 300))
    how = {"weights": None if kind == "nominal" else kind, "labels": range(classes)}
    expected = cohen_kappa_score(first, second, **how)
    found = cohen(np.append(first, [-1, 2]), np.append(second, [1, -1]), classes, kind)
    assert abs(point(found) - expected) < 1e-12 and found[0].shape[1] == 2 * classes + 1


@pytest.mark.parametrize("kind", ["nominal", "quadratic"])
def test_by_loops_over_pairs_of_labels(kind):
    """Every coefficient on the three published tables, by its definition, to 1e-12."""
    for votes in (*PUBLISHED, np.random.default_rng(1).integers(0, 4, (30, 3))):
        classes, w = votes.shape[1], weights(kind, votes.shape[1])
        lists = [np.repeat(np.arange(classes), row) for row in votes]
        pairs = [[w[a, b] for a, b in itertools.permutations(row, 2)] for row in lists if len(row) > 1]
        observed = np.mean([np.mean(one) for one in pairs])
        share = np.mean([np.bincount(row, minlength=classes) / len(row) for row in lists if len(row)], axis=0)
        chance = {
            fleiss: sum(w[a, b] * share[a] * share[b] for a in range(classes) for b in range(classes)),
            brennan_prediger: w.mean(),
            gwet_ac1: w.sum() * sum(p * (1 - p) for p in share) / (classes * (classes - 1)),
        }
        for function, e in chance.items():
            assert abs(point(function(votes, kind)) - (observed - e) / (1 - e)) < 1e-12


@pytest.mark.parametrize("kind", ["ordinal", "interval", pytest.param("nominal", marks=pytest.mark.slow)])
def test_alpha_by_loops_over_pairs_of_labels(kind):
    """On the three published tables, by its definition, to 1e-10."""
    for votes in (*PUBLISHED, np.random.default_rng(2).integers(0, 4, (30, 4))):
        lists = [np.repeat(np.arange(votes.shape[1]), row) for row in votes if row.sum() > 1]
        every = np.concatenate(lists)
        number = np.bincount(every, minlength=votes.shape[1])

        def apart(a, b, number=number):
            low, high = min(a, b), max(a, b)
            ranks = number[low : high + 1].sum() - (number[low] + number[high]) / 2
            return {"nominal": float(a != b), "interval": (a - b) ** 2, "ordinal": ranks**2}[kind]

        inside = sum(apart(a, b) / (len(row) - 1) for row in lists for a, b in itertools.permutations(row, 2))
        across = sum(apart(a, b) for a, b in itertools.permutations(every, 2))
        expected = 1 - (inside / every.size) / (across / (every.size * (every.size - 1)))
        assert abs(point(krippendorff(votes, kind)) - expected) < 1e-10


def test_one_class_alone_is_undefined_and_not_zero():
    votes = np.tile([3, 0], (10, 1))
    found = overall(votes, 0)
    assert found["brennan_prediger"].value == 1  # chance does not depend on the labels
    assert found["gwet_ac1"].value == 1  # chance agreement is 0 by definition
    for name in ("krippendorff", "fleiss"):
        assert np.isnan(found[name].value) and "undefined for these samples" in str(found[name])
        assert found[name].low <= 0 < 0.9 < found[name].high and found[name].unseen == 1  # nothing is known
    nobody = agreement(fleiss(np.array([[1, 0], [0, 1]])), 0)
    assert np.isnan([nobody.value, nobody.low, nobody.high]).all()


def test_few_disagreements_leave_a_lower_end_that_says_something():
    """0 to 5 of 40 differ: the exact binomial end is near."""
    first = np.repeat([0, 1], 20)
    for number in (2, 3, 4, 5):
        found = agreement(cohen(first, np.where(np.arange(40) % 20 < number / 2, 1 - first, first), 2), 0)
        differ = (1 - found.value) * 20
        exact = beta.ppf(0.975, differ + 1, 40 - differ) * 40
        assert 0.8 * exact < (1 - found.low) * 20 < 1.6 * exact and found.high <= 1
    alike = agreement(cohen(first, first, 2), 0)
    assert alike.value == alike.high == 1 and 0.8 < alike.low < 0.95  # 3 of 40, 1 of 40


@pytest.mark.parametrize(("alike", "differ"), [(40, 0), (100, 3)])
def test_interval_by_the_limit_of_the_dirichlet_process(alike, differ):
    """Brennan and Prediger's of two classes is 2 p - 1: p by gamma numbers of its two cells alone."""
    votes = np.repeat([[2, 0], [1, 1]], [alike, differ], axis=0)
    found = agreement(brennan_prediger(votes), 0, replicates=40_000)
    rng, number = np.random.default_rng(1), alike + differ
    worth = (number - 1) / (number + 1) * (norm.ppf(0.975) / student.ppf(0.975, number - 1)) ** 2
    kappa = rng.random(400_000)  # imagined labelers agree with probability (1 + kappa) / 2
    one, two = (
        (rng.gamma(worth * n, size=kappa.size) / worth if n else 0.0) + rng.gamma(0.8 * (1 + sign * kappa))
        for n, sign in ((alike, 1), (differ, -1))
    )
    low, high = np.quantile(2 * one / (one + two) - 1, [0.025, 0.975])
    assert abs(found.low - low) < 0.01 and abs(found.high - max(high, found.value)) < 0.003


PAIRS = [[0, 0], [0, 1], [1, 0], [1, 1]]


@pytest.mark.parametrize("samples", [50, 125])
def test_two_readers_and_a_rare_class_are_covered(samples):
    """Cells (.955, .02, .02, .005); more than half of the sets have no (no, no)."""
    cells = np.array([0.955, 0.02, 0.02, 0.005])
    drawn = np.random.default_rng(8).multinomial(samples, cells, 120)
    votes = np.array([[2, 0], [1, 1], [1, 1], [0, 2]])
    true = 1 - 0.04 / (2 * 0.975 * 0.025)
    assert abs(true - 0.179) < 1e-3 and (drawn[:, 3] == 0).mean() > 0.5
    hits, unseen = [], []
    for row in drawn:
        pairs, votes_of_all = (np.repeat(one, row, axis=0) for one in (PAIRS, votes))
        kinds = cohen(*pairs.T, 2), fleiss(votes_of_all), krippendorff(votes_of_all)
        found = [agreement(one, 0, replicates=500) for one in kinds]
        hits.append([one.low <= true <= one.high for one in found])
        unseen.append(found[0].unseen)
    assert (np.mean(hits, axis=0) > 0.91).all()
    lacking = drawn[:, 3] == 0
    assert np.mean(unseen, where=lacking) > 0.8 > 0.4 > np.min(unseen)


def test_refused(as_installed):
    for make, kind in ((fleiss, "cubic"), (krippendorff, "ratio")):
        with pytest.raises(ValueError, match="must be one of 'nominal'"):
            make(np.ones((3, 2), int), kind)
