"""Messages and moments: against loops and known laws, on public sets, what they refuse."""

import itertools

import numpy as np
import pytest

from jtruth import _host
from jtruth.labels import Labels
from jtruth.learning import fit_kos, fit_label_model
from jtruth.learning.spectral import triplet_moments
from tests.learning.crowds import from_matrix, simulate
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
    """7 of 15 labelers guess, 3 say the opposite: 300 samples of 8 labels each."""
    rng = np.random.default_rng(0)
    mask = rng.permuted(np.tile(np.arange(15) < 8, (300, 1)), axis=1)
    right = np.array([0.95] * 5 + [0.5] * 7 + [0.1] * 3)
    y = rng.integers(0, 2, 300)
    z = np.where(rng.random((300, 15)) < right[None, :], y[:, None], 1 - y[:, None])
    labels = from_matrix(np.where(mask, z, -1), 2)
    fit = fit_kos(labels)
    assert (fit.weight[:5] > np.abs(fit.weight[5:12]).max()).all() and (fit.weight[12:] < 0).all()
    share = (fit.class_posterior.argmax(axis=1) == y).mean()
    assert share > 0.93 > 0.85 > _host.majority(labels.counts())[np.arange(300), y].mean()


@pytest.mark.parametrize("prior", [None, [0.7, 0.3]])
def test_exact_moments_give_the_exact_law(prior):
    """100 000 samples in which every pattern of four labelers is as frequent as its probability says."""
    right = np.array([[0.7, 0.9], [0.8, 0.6], [0.6, 0.7], [0.9, 0.8]])
    patterns = np.array(list(itertools.product(range(2), repeat=4)))
    each = [np.where(patterns == c, right[:, c], 1 - right[:, c]).prod(axis=1) for c in range(2)]
    number = np.rint(1e5 * (0.7 * each[0] + 0.3 * each[1])).astype(int)
    fit = fit_label_model(Labels.from_matrix(np.repeat(patterns, number, axis=0), 2), prior=prior)
    np.testing.assert_allclose(fit.prior, [0.7, 0.3], atol=1e-8)
    np.testing.assert_allclose(np.einsum("tcc->tc", fit.matrices), right, atol=1e-8)


def test_formulas_by_loops():
    """24 samples, 5 labelers with gaps: squares and prior to 1e-10."""
    z, _ = simulate(5, 24, 5, 2, 0.85, 0.85)
    x, seen, apart = np.where(z < 0, 0, 2 * z - 1), z >= 0, ~np.eye(5, dtype=bool)
    found = triplet_moments(z, float("nan"))
    expected = oracle.squares(x.tolist(), seen.tolist(), apart.tolist())
    np.testing.assert_allclose(found["square"], expected, atol=1e-10)
    np.testing.assert_allclose(found["strength"] ** 2, np.maximum(expected, 0), atol=1e-10)
    of_loops = oracle.prior_of_class_1(x, seen, apart, found["strength"])
    assert float(found["prior"]) == pytest.approx(of_loops, abs=1e-10)


def test_what_is_refused():
    z, _ = simulate(5, 24, 5, 2, 0.85, 0.85)
    by_twos = np.array([[0, 0, -1], [1, 1, -1], [1, -1, 1], [0, -1, 0], [-1, 0, 0], [-1, 1, 1]])
    aside = np.array([[0, 0, 1, -1], [1, 1, 0, -1], [1, -1, -1, 1], [0, -1, -1, 0]])
    twice = np.array([[0, 0, 0, 0], [0, 0, 1, 2], [0, 1, 1, 0]])
    cases = {
        "triplets need three labelers and 2 gave labels": from_matrix(z[:, :2], 2),
        "all labels are equal": from_matrix(np.ones((9, 3), int), 2),
        "the label model knows two classes": from_matrix(z, 3),
        "a labeler labelled a sample twice": Labels(*twice, 1, 3, 2),
        "no three labelers share a sample": from_matrix(by_twos, 2),
        "no triplet says how 3 err": from_matrix(aside, 2),
    }
    for message, given in cases.items():
        with pytest.raises(ValueError, match=message):
            fit_label_model(given)
