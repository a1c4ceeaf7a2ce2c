"""TARS: the rule and its law, three ways and by simulation; counts by every flip of small sets."""

import itertools

import jax
import numpy as np
import pytest

from jtruth.labels import Labels
from jtruth.noise import ConfusionMatrices, DifficultyFallibility, SharedErrors, Symmetric
from jtruth.tables.metrics import METRICS
from jtruth.testing.tars import (
    Consolidated,
    consolidate,
    drawn_law,
    enumerated_law,
    estimate_counts,
    independent_law,
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
        law = independent_law(rows, np.array([1 - case["prior"], case["prior"]]), "random")
        np.testing.assert_allclose([law[0, 1], law[1, 0]], [case["a"], case["b"]], atol=1e-10)


@pytest.mark.parametrize("size", [1, 4, 11, 20])
@pytest.mark.parametrize("ties", ["random", "first"])
def test_signs_equal_label_vectors(size, ties):
    rng = np.random.default_rng(size)
    rows, prior = matrices(*rng.uniform(0.05, 0.6, (2, size))), np.array([0.35, 0.65])
    rows[: size // 2] = rows[0]  # equal labelers are grouped, and two of them tie
    law = independent_law(rows, prior, ties)
    np.testing.assert_allclose(law, enumerated_law(rows[None], np.ones((1, 2)), prior, ties), atol=EXACT)


@pytest.mark.parametrize("ties", ["random", "first"])
def test_labelers_who_cannot_err_decide(ties):
    """Log-odds of +inf and -inf, labels that nobody of a kind gives, and ties of the others."""
    rows, prior = matrices([0.0, 0.0, 0.3, 0.3, 1.0], [0.4, 0.0, 0.3, 0.3, 0.5]), np.array([0.5, 0.5])
    for some in ([0, 2, 3], [0, 1, 2], [2, 3, 4], [0, 4], [2, 3]):
        law = independent_law(rows[some], prior, ties)
        expected = enumerated_law(rows[some][None], np.ones((1, 2)), prior, ties)
        np.testing.assert_allclose(law, expected, atol=EXACT)


def test_more_different_labelers_than_can_be_enumerated_are_drawn():
    rows = matrices(*np.random.default_rng(1).uniform(0.3, 0.45, (2, 37)))
    assert independent_law(rows, np.array([0.5, 0.5]), "random") is None
    found = consolidate(Labels.from_matrix(np.ones((1, 37), int), 2), ConfusionMatrices(rows), [0.5, 0.5])
    exact = independent_law(rows[:36], np.array([0.5, 0.5]), "random")
    assert 0 < found.error[0] < 0.004
    assert (np.abs(found.rates[0] - exact) < 5 * found.error[0] + 0.01).all()  # one labeler more is little


def test_the_rule_itself_by_hand():
    """(2) and (5) as plain loops, and each label vector's own label as `consolidate` says it."""
    rows, prior = matrices([0.1, 0.3, 0.3], [0.2, 0.4, 0.1]), np.array([0.7, 0.3])
    vectors = np.array(list(itertools.product((0, 1), repeat=3)))
    found = consolidate(Labels.from_matrix(vectors, 2), ConfusionMatrices(rows), prior)
    law = np.zeros((2, 2))
    for z, label in zip(vectors, found.label, strict=True):
        p = [np.prod([rows[t, y, z[t]] for t in range(3)]) for y in (0, 1)]
        assert label == int(prior[1] * p[1] > prior[0] * p[0])
        law[:, label] += p
    np.testing.assert_allclose(found.rates, np.repeat(law[None], 8, axis=0), atol=EXACT)
    assert not found.tied.any() and (found.error == 0).all()


def test_known_numbers_of_equal_workers():
    votes = {1: 0.2, 3: 0.104, 5: 0.05792, 7: 0.033344, 9: 0.01958144, 11: 0.0116542054, 15: 0.0042397497}
    for number, noise in votes.items():
        law = independent_law(matrices([0.2] * number, [0.2] * number), np.array([0.5, 0.5]), "random")
        np.testing.assert_allclose([law[0, 1], law[1, 0]], noise, rtol=1e-8)
    law = independent_law(matrices([0.45] * 399, [0.45] * 399), np.array([0.359, 0.641]), "random")
    np.testing.assert_allclose([law[0, 1], law[1, 0]], [0.0284822492507, 0.0176909843741], rtol=3e-12)


def test_ties_are_shared_or_go_to_the_first():
    labels = Labels.from_matrix(np.tile([1, 0], (400, 1)), 2)
    shared = consolidate(labels, Symmetric(0.2, 2), [0.5, 0.5], key=3)
    assert shared.tied.all()
    assert 140 < shared.label.sum() < 260  # six standard deviations of 400 fair coins
    np.testing.assert_allclose(shared.rates[0, 0, 1], 0.04 + 0.5 * 0.32, atol=EXACT)
    again = consolidate(labels, Symmetric(0.2, 2), [0.5, 0.5], key=3)
    np.testing.assert_array_equal(shared.label, again.label)
    first = consolidate(labels, Symmetric(0.2, 2), [0.5, 0.5], ties="first")
    assert not first.label.any()
    np.testing.assert_allclose(first.rates[0, 0, 1], 0.04, atol=EXACT)


def test_each_difficulty_and_each_set_of_labelers_has_its_law():
    labels = Labels.from_matrix(np.array([[1, 1, -1], [1, 1, -1], [-1, -1, 0]]), 2)
    noise = DifficultyFallibility([0.0, 0.5, 0.5], [0.1, 0.2, 0.3], 2)
    found = consolidate(labels, noise, [0.4, 0.6])
    for i, team in ((0, [0, 1]), (1, [0, 1]), (2, [2])):
        strata = noise.strata(3)
        rows = strata.rows[strata.of_sample[i]][team]
        expected = enumerated_law(rows[None], np.ones((1, 2)), np.array([0.4, 0.6]), "random")
        np.testing.assert_allclose(found.rates[i], expected, atol=EXACT)


def simulated_law(noise, prior, size, key):
    """Rates of the rule on labels drawn from the model."""
    y = np.repeat(np.arange(len(prior)), 20_000)
    z = np.asarray(noise.sample(jax.random.key(key), y.astype(np.int32), np.ones((y.size, size), bool)))
    distinct, inverse = np.unique(z, axis=0, return_inverse=True)
    said = consolidate(Labels.from_matrix(distinct, len(prior)), noise, prior, ties="first")
    return np.stack([np.bincount(said.label[inverse.ravel()[y == c]], minlength=len(prior)) / 20_000
                     for c in range(len(prior))]), said  # fmt: skip


@pytest.mark.parametrize("case", ["three classes", "shared errors"])
def test_the_law_is_the_frequency_of_labels(case):
    """Frequencies of 20 000 draws of each class within five standard errors: false alarms below 1e-4."""
    if case == "three classes":
        rng = np.random.default_rng(5)
        noise, prior = (
            ConfusionMatrices(rng.dirichlet([1, 1, 1], (4, 3)) * 0.5 + 0.5 * np.eye(3)),
            [0.5, 0.3, 0.2],
        )
    else:
        good = [[0.9, 0.1], [0.2, 0.8]]
        noise, prior = SharedErrors([good, good, good], [[0.8, 0.2], [0.3, 0.7]], [0.3, 0.5, 0.2]), [0.6, 0.4]
    seen, said = simulated_law(noise, np.array(prior), noise.num_labelers, 1)
    error = np.sqrt(seen * (1 - seen) / 20_000)
    assert (np.abs(seen - said.rates[0]) <= 5 * error + 1e-9).all()
    strata = noise.strata(noise.num_labelers)
    drawn, standard = drawn_law(strata.rows, strata.weights, np.array(prior), "first", jax.random.key(0))
    assert (np.abs(drawn - said.rates[0]) <= 5 * standard).all() and 0 < standard < 0.004


def test_what_cannot_be_consolidated():
    labels = Labels.from_matrix(np.array([[1, 0], [1, 1]]), 2)
    with pytest.raises(ValueError, match=r"sample.*impossible under every class"):
        consolidate(labels, Symmetric(0.0, 2), [0.5, 0.5])
    with pytest.raises(ValueError, match="prior is"):
        consolidate(labels, Symmetric(0.1, 2), [0.0, 1.0])
    with pytest.raises(ValueError, match="ties must be one of"):
        consolidate(labels, Symmetric(0.1, 2), [0.5, 0.5], ties="both")

    class Silent(Symmetric):
        def strata(self, num_labelers):
            return None

    with pytest.raises(ValueError, match="does not say the law"):
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
