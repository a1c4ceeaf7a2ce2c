"""Agreement on numbers and on sets: published tables, dense matrices, enumeration, intervals that cover."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom, f, nct

from jtruth.stats.agreement import agreement, krippendorff, point
from jtruth.stats.raters import DISTANCES, alpha_of_numbers, intraclass, limits_of_agreement, set_distances
from tests.stats.test_agreement import OBSERVED, OBSERVERS, table

# Shrout and Fleiss (1979), table 2: six targets, four judges.
JUDGED = np.reshape([9.0, 2, 5, 8, 6, 1, 3, 2, 8, 4, 6, 8, 7, 1, 2, 6, 10, 5, 6, 9, 6, 2, 4, 7], (6, 4))


def long(values):
    """(task, rater, value) of a table with NaN where nothing was given."""
    task, rater = np.nonzero(~np.isnan(values))
    return task, rater, values[task, rater]


def test_published_correlations():
    """Values of Shrout and Fleiss, table 4; the intervals are those that R's psych::ICC prints."""
    found, k = intraclass(*long(JUDGED))
    printed = {"icc_2_1": (0.29, 0.019, 0.761), "icc_2_k": (0.62, 0.071, 0.927),
               "icc_3_1": (0.71, 0.342, 0.946)}  # fmt: skip
    assert k == 4 and printed == {
        name: (round(one.value, 2), round(one.low, 3), round(one.high, 3)) for name, one in found.items()
    }


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_complete_tables_have_the_formulas_of_mcgraw_and_wong(level):
    rng = np.random.default_rng(1)
    y = rng.normal(size=(12, 1)) + rng.normal(size=3) * 0.5 + rng.normal(size=(12, 3)) * 0.7
    (n, k), mean = y.shape, y.mean()
    rows = k * ((y.mean(axis=1) - mean) ** 2).sum() / (n - 1)
    columns = n * ((y.mean(axis=0) - mean) ** 2).sum() / (k - 1)
    rest = ((y - y.mean(axis=1, keepdims=True) - y.mean(axis=0) + mean) ** 2).sum() / ((n - 1) * (k - 1))
    icc = (rows - rest) / (rows + (k - 1) * rest + k / n * (columns - rest))
    a, b = k * icc / (n * (1 - icc)), 1 + k * icc * (n - 1) / (n * (1 - icc))
    v = (a * columns + b * rest) ** 2 / ((a * columns) ** 2 / (k - 1) + (b * rest) ** 2 / ((n - 1) * (k - 1)))
    low, high = f.ppf((1 + level) / 2, n - 1, v), f.ppf((1 + level) / 2, v, n - 1)
    both = k * columns + (k * n - k - n) * rest
    low = n * (rows - low * rest) / (low * both + n * rows)
    high = n * (high * rows - rest) / (both + n * high * rows)
    found = intraclass(*long(y), level)[0]
    assert np.allclose([found["icc_2_1"].value, *found["icc_2_1"][2:4]], [icc, low, high])
    consistent = [rows / rest / q for q in (1, f.ppf((1 + level) / 2, n - 1, (n - 1) * (k - 1)))]
    expected = [(q - 1) / (q + k - 1) for q in consistent]
    assert np.allclose([found["icc_3_1"].value, found["icc_3_1"].low], expected)


@pytest.mark.parametrize("blocks", [1, 2])
def test_gaps_against_dense_matrices(blocks):
    """Residual makers, and expectations of their squares as traces; two blocks share no task or rater."""
    rng = np.random.default_rng(2)
    y = rng.normal(size=(14, 1)) + rng.normal(size=6) + rng.normal(size=(14, 6))
    y[rng.random(y.shape) < 0.3] = np.nan
    if blocks == 2:
        y[:7, 3:] = y[7:, :3] = np.nan
    y[np.isnan(y).sum(axis=1) > 4] = np.nan
    task, rater, value = long(y)
    task = np.unique(task, return_inverse=True)[1]
    a, b = np.eye(task.max() + 1)[task], np.eye(6)[rater]

    def away(x):
        return np.eye(len(x)) - x @ np.linalg.pinv(x)

    full = away(np.hstack([a, b]))
    forms = [away(b) - full, away(a) - full, full]
    of = np.array([[np.trace(q @ z @ z.T) for z in (a, b, np.eye(len(a)))] for q in forms])
    var = np.linalg.solve(of, [value @ q @ value for q in forms])
    found, k = intraclass(task, rater, value)
    assert np.isclose(found["icc_2_1"].value, var[0] / var.sum())
    assert np.isclose(found["icc_3_1"].value, var[0] / (var[0] + var[2]))
    assert np.isclose(k, 1 / np.mean(1 / a.sum(axis=0)))
    assert np.isclose(found["icc_2_k"].value, var[0] / (var[0] + (var[1] + var[2]) / k))
    again, found = (
        [one[:4:2] for one in of.values()] for of in (intraclass(task, rater, 1e-9 * value - 4)[0], found)
    )
    assert np.allclose(again, found, atol=1e-6)


def test_full_agreement_and_too_few():
    found = intraclass(*long(np.repeat(JUDGED[:, :1], 3, axis=1)))[0]
    assert [(one.value, one.low, one.high) for one in found.values()] == [(1, 1, 1)] * 3
    found = intraclass(*long(np.array([[1.0, 2], [2, 1]])))[0]  # by formula minus infinity
    assert [one.value for one in found.values()] == [0.0] * 3
    found = intraclass(*long(np.array([[1.0, 2], [1, 2]])))[0]  # nothing but levels
    assert found["icc_2_1"].value == 0 and np.isnan(found["icc_3_1"].value)
    with pytest.raises(ValueError, match="4 ratings of 2 tasks by 3 raters are too few"):
        intraclass(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]), np.array([1.0, 2, 3, 5]))


def test_alpha_of_numbers_is_that_of_votes():
    """Krippendorff (2011) prints .849; intervals differ in random numbers only."""
    task, _, value = long(np.where(table(OBSERVERS).T < 0, np.nan, table(OBSERVERS).T))
    kept = np.bincount(task)[task] > 1
    task, value = np.unique(task[kept], return_inverse=True)[1], value[kept]
    assert round(point(alpha_of_numbers(task, value)), 3) == 0.849
    both = alpha_of_numbers(task, value), krippendorff(OBSERVED, "interval")
    ours, votes = (agreement(one, 0) for one in both)
    assert ours.standard_error == pytest.approx(votes.standard_error)
    assert abs(ours.low - votes.low) < 0.1 and abs(ours.high - votes.high) < 0.03


def test_alpha_of_sets_by_enumeration():
    """Every pair of sets by the definitions; the empty set is one."""
    rng = np.random.default_rng(3)
    number = rng.integers(2, 5, 15)
    sets = [frozenset(np.flatnonzero(rng.random(3) < 0.4).tolist()) for _ in range(number.sum())]
    task = np.repeat(np.arange(15), number)
    every = sorted(set(sets), key=sorted)
    votes = np.zeros((15, len(every)), int)
    np.add.at(votes, (task, [every.index(one) for one in sets]), 1)
    member = np.array([[c in one for c in range(3)] for one in every])

    def apart(kind, a, b):
        if a == b or kind == "equal":
            return float(a != b)
        share = 2 / 3 if a <= b or b <= a else 1 / 3
        return 1 - len(a & b) / len(a | b) * (share if kind == "masi" else 1)

    assert frozenset() in every
    for kind in DISTANCES:
        inside = [
            apart(kind, a, b) / (number[i] - 1)
            for i in range(15)
            for a, b in itertools.permutations([s for s, t in zip(sets, task, strict=True) if t == i], 2)
        ]
        among = [apart(kind, a, b) / (len(sets) - 1) for a, b in itertools.permutations(sets, 2)]
        found = point(krippendorff(votes, apart=set_distances(kind, member)))
        assert np.isclose(found, 1 - sum(inside) / sum(among))
    assert np.isclose(found, point(krippendorff(votes)))  # equal or not: nominal


def test_limits_of_agreement():
    """Bland and Altman's formulas, and the ends by the noncentral t of scipy.stats."""
    d = JUDGED[:, 0] - JUDGED[:, 2]
    found, sd = limits_of_agreement(d, 0.9), d.std(ddof=1)
    assert np.isclose(found["upper"]["mean"], d.mean() + 1.959964 * sd)
    assert np.isclose(found["lower"]["mean"], d.mean() - 1.959964 * sd)
    ends = d.mean() + sd * nct.ppf([0.05, 0.95], 5, 1.959964 * 6**0.5) / 6**0.5
    assert np.allclose([found["upper"]["low"], found["upper"]["high"]], ends)
    assert np.allclose([found["lower"]["high"], found["lower"]["low"]], 2 * d.mean() - ends)
    half = 2.015048 * sd / 6**0.5
    assert np.allclose([found["bias"]["low"], found["bias"]["high"]], d.mean() + np.array([-half, half]))


def test_intervals_cover():
    """Of 500 tables with gaps, where exact 95 % are nearly so; a false alarm has probability below 1e-4."""
    rng, hits = np.random.default_rng(4), 0
    for _ in range(500):
        y = rng.normal(size=(20, 1)) + rng.normal(size=4) + rng.normal(size=(20, 4))
        y[rng.random((20, 4)) < 0.15] = np.nan
        y[np.isnan(y).sum(axis=1) > 2] = np.nan
        task, rater, value = long(y)
        one = intraclass(np.unique(task, return_inverse=True)[1], rater, value)[0]["icc_3_1"]
        hits += one.low <= 0.5 <= one.high
    assert hits >= binom.ppf(1e-4, 500, 0.93)
