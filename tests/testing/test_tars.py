"""TARS: the rule and its distribution, three ways and by simulation; counts by every flip of small sets."""

import itertools

import jax
import numpy as np
import pytest

from jtruth._host import cross_table
from jtruth.labels import Labels
from jtruth.noise import ConfusionMatrices, DifficultyFallibility, SharedErrors, Symmetric
from jtruth.testing.tars import (
    Consolidated,
    consolidate,
    drawn_dist,
    enumerated_dist,
    estimate_counts,
    independent_dist,
    resampled_table,
)

EXACT = 1e-12


def matrices(a, b):
    """Rows (true 0, true 1) of error rates a and b."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    return np.stack([np.stack([1 - a, a], -1), np.stack([b, 1 - b], -1)], -2)


def test_every_consolidation_of_the_reference_values(golden):
    cases = [c for c in golden("tars_estimators")["cases"] if c["kind"].startswith("consolidated")]
    assert len(cases) == 31
    for case in cases:
        rows = matrices(*np.array(case["q"]).T)
        dist = independent_dist(rows, np.array([1 - case["prior"], case["prior"]]))
        np.testing.assert_allclose([dist[0, 1], dist[1, 0]], [case["a"], case["b"]], atol=1e-10)


@pytest.mark.parametrize("size", [1, 4, 11, 20])
def test_signs_equal_label_vectors(size):
    rng = np.random.default_rng(size)
    rows, prior = matrices(*rng.uniform(0.05, 0.6, (2, size))), np.array([0.35, 0.65])
    rows[: size // 2] = rows[0]  # equal labelers are grouped, and two of them tie
    expected = enumerated_dist(rows[None], np.ones((1, 2)), prior)
    np.testing.assert_allclose(independent_dist(rows, prior), expected, atol=EXACT)


def test_labelers_who_cannot_err_decide():
    """Log-odds of +inf and -inf, labels that nobody of a kind gives, and ties of the others."""
    rows, prior = matrices([0.0, 0.0, 0.3, 0.3, 1.0], [0.4, 0.0, 0.3, 0.3, 0.5]), np.array([0.5, 0.5])
    for some in ([0, 2, 3], [0, 1, 2], [2, 3, 4], [0, 4], [2, 3]):
        dist = independent_dist(rows[some], prior)
        expected = enumerated_dist(rows[some][None], np.ones((1, 2)), prior)
        np.testing.assert_allclose(dist, expected, atol=EXACT)


def test_more_different_labelers_than_can_be_enumerated_are_drawn():
    rows = matrices(*np.random.default_rng(1).uniform(0.3, 0.45, (2, 37)))
    assert independent_dist(rows, np.array([0.5, 0.5])) is None
    found = consolidate(Labels.from_matrix(np.ones((1, 37), int), 2), ConfusionMatrices(rows), [0.5, 0.5])
    exact = independent_dist(rows[:36], np.array([0.5, 0.5]))
    assert 0 < found.error[0] < 0.004
    assert (np.abs(found.rates[0] - exact) < 5 * found.error[0] + 0.01).all()  # one labeler more is little


GOOD = [[0.9, 0.1], [0.2, 0.8]]
NOISES = {
    "two classes": (ConfusionMatrices(matrices([0.1, 0.3, 0.3], [0.2, 0.4, 0.1])), [0.7, 0.3]),
    "three classes": (
        ConfusionMatrices(np.random.default_rng(5).dirichlet([1, 1, 1], (4, 3)) * 0.5 + 0.5 * np.eye(3)),
        [0.5, 0.3, 0.2],
    ),
    "shared errors": (SharedErrors([GOOD] * 3, [[0.8, 0.2], [0.3, 0.7]], [0.3, 0.5, 0.2]), [0.6, 0.4]),
}


@pytest.mark.parametrize("name", NOISES)
def test_the_rule_and_its_dist_by_all_label_vectors(name):
    """(2) and (5) as they stand; drawn labels within five standard errors."""
    noise, prior = NOISES[name]
    classes, strata = noise.num_classes, noise.strata(noise.num_labelers)
    vectors = np.array(list(itertools.product(range(classes), repeat=noise.num_labelers)))
    labels = Labels.from_matrix(vectors, classes)
    found, p = consolidate(labels, noise, prior), np.exp(noise.log_likelihood(labels))
    np.testing.assert_array_equal(found.label, (p * prior).argmax(axis=1))
    dist = p.T @ np.eye(classes)[found.label]
    np.testing.assert_allclose(found.rates, np.repeat(dist[None], len(vectors), axis=0), atol=EXACT)
    assert not found.tied.any() and (found.error == 0).all()
    drawn, standard = drawn_dist(strata.rows, strata.weights, np.array(prior), jax.random.key(0))
    assert (np.abs(drawn - dist) <= 5 * standard).all() and 0 < standard < 0.004


def test_known_numbers_of_equal_workers():
    votes = {1: 0.2, 3: 0.104, 5: 0.05792, 7: 0.033344, 9: 0.01958144, 11: 0.0116542054, 15: 0.0042397497}
    for number, noise in votes.items():
        dist = independent_dist(matrices([0.2] * number, [0.2] * number), np.array([0.5, 0.5]))
        np.testing.assert_allclose([dist[0, 1], dist[1, 0]], noise, rtol=1e-8)
    dist = independent_dist(matrices([0.45] * 399, [0.45] * 399), np.array([0.359, 0.641]))
    np.testing.assert_allclose([dist[0, 1], dist[1, 0]], [0.0284822492507, 0.0176909843741], rtol=3e-12)


def test_ties_are_shared():
    labels = Labels.from_matrix(np.tile([1, 0], (400, 1)), 2)
    shared = consolidate(labels, Symmetric(0.2, 2), [0.5, 0.5], key=3)
    assert shared.tied.all()
    assert 140 < shared.label.sum() < 260  # six standard deviations of 400 fair coins
    np.testing.assert_allclose(shared.rates[0, 0, 1], 0.04 + 0.5 * 0.32, atol=EXACT)
    again = consolidate(labels, Symmetric(0.2, 2), [0.5, 0.5], key=3)
    np.testing.assert_array_equal(shared.label, again.label)


def test_each_difficulty_and_each_set_of_labelers_has_its_dist():
    labels = Labels.from_matrix(np.array([[1, 1, -1], [1, 1, -1], [-1, -1, 0]]), 2)
    noise = DifficultyFallibility([0.0, 0.5, 0.5], [0.1, 0.2, 0.3], 2)
    found = consolidate(labels, noise, [0.4, 0.6])
    for i, team in ((0, [0, 1]), (1, [0, 1]), (2, [2])):
        strata = noise.strata(3)
        rows = strata.rows[strata.of_sample[i]][team]
        expected = enumerated_dist(rows[None], np.ones((1, 2)), np.array([0.4, 0.6]))
        np.testing.assert_allclose(found.rates[i], expected, atol=EXACT)


def test_what_cannot_be_consolidated():
    labels = Labels.from_matrix(np.array([[1, 0], [1, 1]]), 2)
    with pytest.raises(ValueError, match=r"sample.*impossible under every class"):
        consolidate(labels, Symmetric(0.0, 2), [0.5, 0.5])
    with pytest.raises(ValueError, match="prior is"):
        consolidate(labels, Symmetric(0.1, 2), [0.0, 1.0])

    class Silent(Symmetric):
        def strata(self, num_labelers):
            return None

    with pytest.raises(ValueError, match="has no distribution"):
        consolidate(labels, Silent(0.1, 2), [0.5, 0.5])


def consolidated(label, a, b, prior=(0.5, 0.5)) -> Consolidated:
    label, a, b = np.asarray(label), *np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
    rates = matrices(*(np.broadcast_to(v, label.shape) for v in (a, b)))
    return Consolidated(label, rates, np.zeros(label.size), np.zeros(label.size, bool), np.array(prior))


def test_the_reference_estimates(golden):
    cases = [c for c in golden("tars_estimators")["cases"] if c["kind"] == "estimate"]
    assert len(cases) == 3
    for case in cases:
        given = consolidated((np.array(case["yp"]) > 0).astype(int), case["a"], case["b"])
        found = estimate_counts((np.array(case["t"]) > 0).astype(int), given)
        table = [[case["TN"], case["FP"]], [case["FN"], case["TP"]]]
        np.testing.assert_allclose(found.table, table, atol=1e-10)
        for name in ("accuracy", "precision", "recall", "f1"):
            theirs = "acc" if name == "accuracy" else name
            np.testing.assert_allclose(found.metric(name), case[theirs], atol=1e-10)
        low, high = found.accuracy_interval(0.95)
        np.testing.assert_allclose((high - low) / 2, case["ci_half95"], atol=1e-10)


@pytest.mark.parametrize("classes", [2, 3])
def test_expectation_over_all_flips_is_the_true_table(classes):
    """N = 6; rates differ by sample, some above 1/2. Precision is unbiased too."""
    rng = np.random.default_rng(classes)
    y, y_pred = rng.integers(0, classes, (2, 6))
    rates = rng.dirichlet([1.0] * classes, (6, classes)) * 0.4 + 0.6 * np.roll(np.eye(classes), 1, axis=1)
    none, mean, precision = np.zeros(6), 0.0, 0.0
    for label in itertools.product(range(classes), repeat=6):
        p = np.prod([rates[i, y[i], k] for i, k in enumerate(label)])
        given = Consolidated(np.array(label), rates, none, none > 0, np.full(classes, 1 / classes))
        found = estimate_counts(y_pred, given)
        mean, precision = mean + p * found.table, precision + p * found.metric("precision")
    expected = cross_table(y, y_pred, (classes, classes))
    np.testing.assert_allclose(mean, expected, atol=1e-12)
    np.testing.assert_allclose(precision, expected[1, 1] / expected[:, 1].sum(), atol=1e-12)


@pytest.mark.parametrize(("a", "b"), [(0.2, 0.2), (0.4, 0.0), (0.4, 0.4)])
@pytest.mark.parametrize("metric", ["accuracy", pytest.param("f1", marks=pytest.mark.slow)])
def test_intervals_cover_what_they_name(a, b, metric):
    """400 sets of 200, accuracy .8: between .905 and .985 (a false alarm of 1e-4 where .945 are covered)."""
    rng, covered = np.random.default_rng(11), 0
    for run in range(400):
        y = rng.integers(0, 2, 200)
        y_pred = np.where(rng.random(200) < 0.8, y, 1 - y)
        label = np.where(rng.random(200) < np.where(y == 1, b, a), 1 - y, y)
        found = estimate_counts(y_pred, consolidated(label, a, b))
        low, high = found.accuracy_interval(0.95)
        if metric == "f1":
            low, high = resampled_table(found, num=400, key=run).estimate(metric).interval()
        covered += low <= 0.8 <= high
    assert 0.905 < covered / 400 < 0.985


def test_resamples_without_a_value_are_counted():
    found = estimate_counts(np.array([1, 1, 0, 0, 0]), consolidated([1, 1, 1, 0, 0], 0.3, 0.3))
    dist = resampled_table(found, num=500).estimate("recall")
    assert np.isnan(dist.draws).any() and 0 < dist.probability_defined < 1
    assert dist.mean == found.metric("recall")
    none = resampled_table(estimate_counts(np.zeros(4, int), consolidated([1, 0, 0, 0], 0.3, 0.3)))
    assert np.isnan(none.estimate("precision").mean) and none.estimate("precision").probability_defined == 0


def test_labels_that_say_nothing_are_refused():
    with pytest.raises(ValueError, match=r"sample\(s\) 1 hardly depends on the class .*the limit 0\.01"):
        estimate_counts(np.array([0, 1]), consolidated([0, 1], [0.2, 0.5], [0.2, 0.495]))
    above = estimate_counts(np.array([0, 1]), consolidated([1, 0], 0.9, 0.9))
    np.testing.assert_allclose(above.table, np.eye(2) * 9 / 8 + (1 - np.eye(2)) * -1 / 8, atol=1e-12)
