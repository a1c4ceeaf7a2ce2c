"""Message passing against loops over dictionaries, on public sets, and the assignment that it asks for."""

import numpy as np
import pytest

from jtruth import _host
from jtruth.learning import fit_kos
from jtruth.learning.methods import METHODS
from jtruth.planning import regular_assignment
from tests.learning.crowds import from_matrix, real_set, simulate
from tests.reference import kos as oracle


@pytest.mark.parametrize("gold", [False, True])
def test_messages_are_the_papers(gold):
    z, y = simulate(3, 24, 5, 2, 0.85, 0.85)
    known = {i: int(2 * y[i] - 1) for i in range(0, 24, 5)} if gold else {}
    edges = {(i, t): int(2 * z[i, t] - 1) for i, t in np.argwhere(z >= 0).tolist()}
    score, weight = oracle.messages(edges, dict.fromkeys(edges, 1.0), 7, known)
    codes = np.where(np.isin(np.arange(24), list(known)), y, -1)
    fit = fit_kos(from_matrix(z, 2), gold=codes, max_steps=7, tol=0)
    assert fit.num_steps == 7 and "did not converge in 7 steps" in fit.warnings[0]
    np.testing.assert_allclose(fit.score, [score[i] for i in range(24)], atol=1e-10)
    np.testing.assert_allclose(fit.weight, [weight[t] for t in range(5)], atol=1e-10)
    free = codes < 0
    np.testing.assert_array_equal(fit.class_posterior[free, 1], (fit.score > 0)[free])


def test_a_random_start_ends_at_the_same_classes():
    labels = from_matrix(simulate(3, 24, 5, 2, 0.85, 0.85)[0], 2)
    fit, other = fit_kos(labels), fit_kos(labels, random_start=True, key=1)
    np.testing.assert_array_equal(fit.class_posterior, other.class_posterior)


def test_one_label_a_sample_has_no_messages():
    fit = fit_kos(from_matrix(np.array([[0], [1], [1]]), 2))
    assert (fit.class_posterior == 0.5).all() and "Messages about 3 samples cancel" in fit.warnings[0]


def test_spammers_and_liars_are_found_where_the_vote_fails():
    """7 of 15 labelers guess, 3 say the opposite: 300 samples of 8 labels each, assigned regularly."""
    rng = np.random.default_rng(0)
    mask = regular_assignment(300, 15, 8, key=0)
    right = np.array([0.95] * 5 + [0.5] * 7 + [0.1] * 3)
    y = rng.integers(0, 2, 300)
    z = np.where(rng.random((300, 15)) < right[None, :], y[:, None], 1 - y[:, None])
    labels = from_matrix(np.where(mask, z, -1), 2)
    fit = fit_kos(labels)
    assert (fit.weight[:5] > np.abs(fit.weight[5:12]).max()).all() and (fit.weight[12:] < 0).all()
    share = (fit.class_posterior.argmax(axis=1) == y).mean()
    assert share > 0.93 > 0.85 > _host.majority(labels.counts())[np.arange(300), y].mean()


@pytest.mark.parametrize(("name", "accuracy"), [("bluebirds", 0.7222), ("rte", 0.4975)])
def test_public_sets(shared_data, name, accuracy):
    labels, truth = real_set(shared_data(name))
    fit = fit_kos(labels)
    assert fit.converged and (fit.class_posterior.argmax(axis=1) == truth).mean() == pytest.approx(
        accuracy, abs=1e-4
    )


def test_more_classes_are_refused():
    labels = from_matrix(simulate(3, 24, 5, 3)[0], 3)
    assert "KOS knows two classes" in str(METHODS["kos"].refuses(labels))


@pytest.mark.parametrize(
    ("n", "t", "each"), [(12, 6, 3), (100, 7, 3), (50, 5, 5), (40, 9, 8), (2000, 30, 4), (3, 50, 2)]
)
def test_assignments_are_regular_and_nobody_sees_a_sample_twice(n, t, each):
    found = regular_assignment(n, t, each, key=3)
    assert found.shape == (n, t) and (found.sum(axis=1) == each).all() and np.ptp(found.sum(axis=0)) <= 1
    np.testing.assert_array_equal(found, regular_assignment(n, t, each, key=3))


def test_pairs_of_labelers_meet_as_often_as_chance_says():
    """4000 samples x 3 of 12: each pair meets Binomial(4000, 3 * 2 / (12 * 11)) = 182 +- 13; 66 pairs, 5 sd:
    4e-5."""
    mask = regular_assignment(4000, 12, 3, key=0).astype(float)
    meet = (mask.T @ mask)[np.triu_indices(12, 1)]
    assert np.abs(meet - 4000 / 22).max() < 5 * np.sqrt(4000 / 22 * 21 / 22)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((5, 2, 3), "labels_per_sample is 3 but there are 2 labelers"),
        ((0, 2, 1), "num_samples must be a positive whole number"),
        ((5, 2, 1.5), "labels_per_sample must be a positive whole number, got 1.5"),
    ],
)
def test_impossible_assignments_are_refused(sizes, message, as_installed):
    with pytest.raises(ValueError, match=message):
        regular_assignment(*sizes)
