"""Messages and moments: against loops and known distributions, on public sets, and refusals."""

import itertools

import numpy as np
import pytest

from jtruth import _host
from jtruth.labels import Labels
from jtruth.learning import fit_dawid_skene, fit_kos, fit_label_model
from jtruth.learning.methods import METHODS
from jtruth.learning.spectral import triplet_moments
from jtruth.planning import regular_assignment
from tests.learning.crowds import from_matrix, real_set, simulate
from tests.reference import kos
from tests.reference import moments as oracle


@pytest.mark.parametrize("gold", [False, True])
def test_messages_are_the_papers(gold):
    z, y = simulate(3, 24, 5, 2, 0.85, 0.85)
    known = {i: int(2 * y[i] - 1) for i in range(0, 24, 5)} if gold else {}
    edges = {(i, t): int(2 * z[i, t] - 1) for i, t in np.argwhere(z >= 0).tolist()}
    score, weight = kos.messages(edges, dict.fromkeys(edges, 1.0), 7, known)
    codes = np.where(np.isin(np.arange(24), list(known)), y, -1)
    fit = fit_kos(from_matrix(z, 2), gold=codes, max_steps=7, tol=0)
    assert fit.num_steps == 7 and "did not converge in 7 steps" in fit.warnings[0]
    np.testing.assert_allclose(fit.score, [score[i] for i in range(24)], atol=1e-10)
    np.testing.assert_allclose(fit.weight, [weight[t] for t in range(5)], atol=1e-10)
    free = codes < 0
    np.testing.assert_array_equal(fit.class_posterior[free, 1], (fit.score > 0)[free])


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
def test_messages_on_public_sets(shared_data, name, accuracy):
    labels, truth = real_set(shared_data(name))
    fit = fit_kos(labels)
    assert fit.converged and (fit.class_posterior.argmax(axis=1) == truth).mean() == pytest.approx(
        accuracy, abs=1e-4
    )


def test_more_classes_are_refused():
    labels = from_matrix(simulate(3, 24, 5, 3)[0], 3)
    assert "KOS handles two classes" in str(METHODS["kos"].refuses(labels))


RATES = np.array(
    [
        [[0.8, 0.2], [0.1, 0.9]],
        [[0.6, 0.4], [0.2, 0.8]],
        [[0.9, 0.1], [0.35, 0.65]],
        [[0.55, 0.45], [0.3, 0.7]],
    ]
)
PRIOR = 0.3


@pytest.mark.parametrize("known", [True, False])
def test_exact_moments_give_the_exact_rates(known):
    """All patterns of four labelers with their probabilities: every rate to 1e-8."""
    z = np.array(list(itertools.product(range(2), repeat=4)), np.int32)
    of_class = np.array([[np.prod([RATES[t, c, k] for t, k in enumerate(row)]) for row in z] for c in (0, 1)])
    chance = np.array([1 - PRIOR, PRIOR]) @ of_class
    found = triplet_moments(z, chance, np.arange(4, dtype=np.int32), PRIOR if known else np.nan)
    assert found["prior"] == pytest.approx(PRIOR, abs=1e-8)
    np.testing.assert_allclose(found["shifts"], RATES[:, 1] - RATES[:, 0], atol=1e-8)
    np.testing.assert_allclose(found["shares"], (1 - PRIOR) * RATES[:, 0] + PRIOR * RATES[:, 1], atol=1e-12)


def test_formulas_by_loops():
    """24 samples, 5 labelers with gaps: squares and prior to 1e-10."""
    z, _ = simulate(5, 24, 5, 2, 0.85, 0.85)
    x, seen, apart = np.where(z < 0, 0, 2 * z - 1), z >= 0, ~np.eye(5, dtype=bool)
    found = triplet_moments(z.astype(np.int32), np.ones(24), np.arange(5, dtype=np.int32), np.nan)
    expected = oracle.squares(x.tolist(), seen.tolist(), apart.tolist())
    np.testing.assert_allclose(found["square"], expected, atol=1e-10)
    v = np.asarray(found["strength"])
    np.testing.assert_allclose(v**2, np.maximum(expected, 0), atol=1e-10)
    assert float(found["prior"]) == pytest.approx(oracle.prior_of_class_1(x, seen, apart, v), abs=1e-10)


def test_missing_labels_have_no_influence_on_rates():
    """20 000 samples, of which each labeler leaves out a fifth: rates within five errors of about .01."""
    rng = np.random.default_rng(0)
    y = (rng.random(20_000) < PRIOR).astype(int)
    z = np.stack([rng.random(20_000) < RATES[t, y, 1] for t in range(4)], axis=1).astype(int)
    z[rng.random(z.shape) < 0.2] = -1
    fit = fit_label_model(Labels.from_matrix(z, 2, allow_unlabelled=True))
    np.testing.assert_allclose(fit.prior[1], PRIOR, atol=0.05)
    np.testing.assert_allclose(fit.matrices, RATES, atol=0.07)


@pytest.mark.slow
def test_about_as_good_as_maximum_likelihood_on_bluebirds(shared_data):
    labels, truth = real_set(shared_data("bluebirds"))
    fit = fit_label_model(labels)
    assert (fit.class_posterior.argmax(axis=1) == truth).mean() == pytest.approx(0.8981, abs=0.03)
    assert fit.log_likelihood < fit_dawid_skene(labels).log_likelihood


def test_what_is_refused():
    z, _ = simulate(5, 24, 5, 2, 0.85, 0.85)
    by_twos = np.array([[0, 0, -1], [1, 1, -1], [1, -1, 1], [0, -1, 0], [-1, 0, 0], [-1, 1, 1]])
    aside = np.array([[0, 0, 1, -1], [1, 1, 0, -1], [1, -1, -1, 1], [0, -1, -1, 0]])
    twice = np.array([[0, 0, 0, 0], [0, 0, 1, 2], [0, 1, 1, 0]])
    cases = {
        "triplets need three labelers, but 2 gave labels": from_matrix(z[:, :2], 2),
        "all labels are equal": from_matrix(np.ones((9, 3), int), 2),
        "the label model handles two classes": from_matrix(z, 3),
        "a labeler labelled a sample twice": Labels(*twice, 1, 3, 2),
        "no three labelers share a sample": from_matrix(by_twos, 2),
        "no triplet identifies the error rates of 3": from_matrix(aside, 2),
    }  # fmt: skip
    for message, given in cases.items():
        with pytest.raises(ValueError, match=message):
            fit_label_model(given)
