"""Consolidated labels: the paper's rule and its law, three ways, and by frequencies of simulated labels."""

import itertools

import jax
import numpy as np
import pytest

import jtruth as jt
from jtruth.labels import Labels
from jtruth.noise import ConfusionMatrices, DifficultyFallibility, SharedErrors, Symmetric
from jtruth.testing.tars.consolidated import consolidate, drawn_law, enumerated_law, independent_law

EXACT = 1e-12


def matrices(a, b):
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


def test_it_is_a_name_of_the_room():
    assert jt.testing.consolidate is consolidate
