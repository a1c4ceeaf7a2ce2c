"""Unbiased counts and their intervals: reference values, every flip of small sets, scikit-learn, coverage."""

import itertools

import numpy as np
import pytest

from jtruth.tables.metrics import METRICS
from jtruth.testing.tars.consolidated import Consolidated
from jtruth.testing.tars.counts import estimate_counts, resampled_table


def consolidated(label, a, b, prior=(0.5, 0.5)) -> Consolidated:
    label, a, b = np.asarray(label), *np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
    a, b = (np.broadcast_to(v, label.shape) for v in (a, b))
    rates = np.stack([np.stack([1 - a, a], -1), np.stack([b, 1 - b], -1)], -2)
    return Consolidated(label, rates, np.zeros(label.size), np.zeros(label.size, bool), np.array(prior))


def test_the_reference_estimates(golden):
    cases = [c for c in golden("tars_estimators")["cases"] if c["kind"] == "estimate"]
    assert len(cases) == 3
    for case in cases:
        given = consolidated((np.array(case["yp"]) > 0).astype(int), case["a"], case["b"])
        found = estimate_counts((np.array(case["t"]) > 0).astype(int), given)
        table = [[case["TN"], case["FP"]], [case["FN"], case["TP"]]]
        np.testing.assert_allclose(found.table, table, atol=1e-10)
        for name, theirs in (
            ("accuracy", "acc"),
            ("precision", "precision"),
            ("recall", "recall"),
            ("f1", "f1"),
        ):
            np.testing.assert_allclose(found.metric(name), case[theirs], atol=1e-10)
        low, high = found.accuracy_interval(0.95)
        np.testing.assert_allclose((high - low) / 2, case["ci_half95"], atol=1e-10)


def all_flips(y, rates):
    """Every vector of consolidated labels and its probability given the true classes."""
    for label in itertools.product(range(rates.shape[-1]), repeat=len(y)):
        yield np.array(label), np.prod([rates[i, y[i], k] for i, k in enumerate(label)])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weights", ["equal", "inverse_variance"])
def test_expectation_over_all_flips_is_the_true_table(classes, weights):
    """N = 6; rates differ by sample, some above 1/2. Weighted: the weighted true table."""
    rng = np.random.default_rng(classes)
    y, y_pred = rng.integers(0, classes, (2, 6))
    rates = rng.dirichlet([1.0] * classes, (6, classes)) * 0.4 + 0.6 * np.roll(np.eye(classes), 1, axis=1)
    none = np.zeros(6)
    mean, precision, prior = 0.0, 0.0, np.full(classes, 1 / classes)
    for label, p in all_flips(y, rates):
        found = estimate_counts(y_pred, Consolidated(label, rates, none, none > 0, prior), weights=weights)
        mean = mean + p * found.table
        precision += p * found.metric("precision") if classes == 2 else 0.0
    expected = np.zeros((classes, classes))
    np.add.at(expected, (y, y_pred), found.weight)
    np.testing.assert_allclose(mean, expected, atol=1e-12)
    if classes == 2:
        predicted = y_pred == 1
        share = found.weight[predicted & (y == 1)].sum() / found.weight[predicted].sum()
        np.testing.assert_allclose(precision, share, atol=1e-12)


def test_in_sample_variance_is_unbiased_over_all_flips():
    rng = np.random.default_rng(7)
    y, y_pred, none = *rng.integers(0, 2, (2, 6)), np.zeros(6)
    a, b = rng.uniform(0.05, 0.4, (2, 6))
    rates = consolidated(y, a, b).rates
    first, second, variance = 0.0, 0.0, 0.0
    for label, p in all_flips(y, rates):
        found = estimate_counts(y_pred, Consolidated(label, rates, none, none > 0, np.array([0.5, 0.5])))
        first += p * found.metric("accuracy")
        second += p * found.metric("accuracy") ** 2
        variance += p * found.accuracy_variance("in-sample")
    np.testing.assert_allclose(first, (y == y_pred).mean(), atol=1e-12)
    np.testing.assert_allclose(variance, second - first**2, atol=1e-12)


def test_known_labels_give_the_true_table():
    rng = np.random.default_rng(1)
    y, y_pred = rng.integers(0, 2, (2, 50))
    found = estimate_counts(y_pred, consolidated(y, 0.0, 0.0))
    expected = np.zeros((2, 2))
    np.add.at(expected, (y, y_pred), 1)
    np.testing.assert_allclose(found.table, expected, atol=1e-12)
    inside = resampled_table(found, target="in-sample", num=50).estimate("recall")
    np.testing.assert_allclose(inside.draws, found.metric("recall"), atol=1e-12)


def simulated(rng, size, a, b, theta=0.8):
    """Truth, predictions right with probability theta whatever the class, one noisy label."""
    y = rng.integers(0, 2, size)
    y_pred = np.where(rng.random(size) < theta, y, 1 - y)
    label = np.where(rng.random(size) < np.where(y == 1, b, a), 1 - y, y)
    return y, y_pred, consolidated(label, a, b)


NOISE = [(0.2, 0.2), (0.4, 0.0), (0.4, 0.4)]


def coverage(runs, size, a, b, laws):
    """Share of runs whose intervals hold .8, or the accuracy of the very samples."""
    rng, covered = np.random.default_rng(11), np.zeros(len(laws))
    for run in range(runs):
        y, y_pred, given = simulated(rng, size, a, b)
        found, own = estimate_counts(y_pred, given), (y == y_pred).mean()
        for k, (law, target) in enumerate(laws):
            low, high = law(found, run)
            covered[k] += low <= (0.8 if target == "population" else own) <= high
    return covered / runs


@pytest.mark.parametrize(("a", "b"), NOISE)
def test_intervals_cover_what_they_name(a, b):
    """400 sets of 200: between .905 and .985 (a false alarm of 1e-4 where .945 are covered)."""
    laws = [(lambda f, _, t=t: f.accuracy_interval(0.95, t), t) for t in ("population", "in-sample")]
    found = coverage(400, 200, a, b, laws)
    assert ((found > 0.905) & (found < 0.985)).all(), found


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b"), NOISE)
def test_resampled_intervals_cover_what_they_name(a, b):
    """As above, for the bootstrap of F1 and the labels' noise alone."""

    def law(metric, target):
        return lambda f, run: resampled_table(f, target=target, num=400, key=run).estimate(metric).interval()

    laws = [(law("f1", "population"), "population"), (law("accuracy", "in-sample"), "in-sample")]
    found = coverage(400, 200, a, b, laws)
    assert ((found > 0.905) & (found < 0.985)).all(), found


def test_a_few_bad_labels_do_not_ruin_the_weighted_estimate():
    a = np.where(np.arange(1000) < 50, 0.48, 0.1)
    errors = {w: [] for w in ("equal", "inverse_variance")}
    rng = np.random.default_rng(2)
    for _ in range(60):
        _, y_pred, given = simulated(rng, 1000, a, a)
        for weights, found in errors.items():
            found.append(estimate_counts(y_pred, given, weights=weights).metric("accuracy") - 0.8)
    spread = {w: np.sqrt(np.mean(np.square(e))) for w, e in errors.items()}
    assert spread["inverse_variance"] < 0.5 * spread["equal"]


def test_resamples_without_a_value_are_counted():
    found = estimate_counts(np.array([1, 1, 0, 0, 0]), consolidated([1, 1, 1, 0, 0], 0.3, 0.3))
    law = resampled_table(found, num=500).estimate("recall")
    assert np.isnan(law.draws).any() and 0 < law.probability_defined < 1
    assert law.mean == found.metric("recall")
    none = resampled_table(estimate_counts(np.zeros(4, int), consolidated([1, 0, 0, 0], 0.3, 0.3)))
    assert np.isnan(none.estimate("precision").mean) and none.estimate("precision").probability_defined == 0


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_a_law(name):
    _, y_pred, given = simulated(np.random.default_rng(4), 300, 0.2, 0.3)
    law = resampled_table(estimate_counts(y_pred, given), num=200).estimate(name)
    low, high = law.interval(0.9)
    assert low < law.mean < high and law.sd > 0


def test_labels_that_say_nothing_are_refused():
    with pytest.raises(ValueError, match=r"sample\(s\) 1 hardly depends on the class .*the limit 0\.01"):
        estimate_counts(np.array([0, 1]), consolidated([0, 1], [0.2, 0.5], [0.2, 0.495]))
    weighted = estimate_counts(
        np.array([0, 1]), consolidated([0, 1], [0.2, 0.5], [0.2, 0.5]), weights="inverse_variance"
    )
    np.testing.assert_allclose(weighted.weight, [2, 0])
    with pytest.raises(ValueError, match="hardly depends"):
        estimate_counts(np.array([0]), consolidated([0], 0.5, 0.5), weights="inverse_variance")
    with pytest.raises(ValueError, match="'in-sample' needs weights='equal'"):
        weighted.accuracy_interval(target="in-sample")
    above = estimate_counts(np.array([0, 1]), consolidated([1, 0], 0.9, 0.9))
    np.testing.assert_allclose(above.table, np.eye(2) * 9 / 8 + (1 - np.eye(2)) * -1 / 8, atol=1e-12)
