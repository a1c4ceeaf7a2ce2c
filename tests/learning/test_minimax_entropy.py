"""Minimax conditional entropy: a maximum by the loops' gradient, its Dawid-Skene limit, public sets."""

import numpy as np
import pytest

from jtruth.learning import fit_dawid_skene, fit_minimax_entropy
from tests.learning.crowds import from_matrix, real_set, simulate
from tests.reference import minimax_entropy as oracle


@pytest.mark.parametrize("form", ["confusion", pytest.param("difficulty", marks=pytest.mark.slow)])
def test_the_maximum_of_the_papers_dual(form):
    """Posterior and likelihood to 1e-8, and no gradient at the end."""
    sizes = (24, 5, 2, 0.85, 0.85) if form == "difficulty" else (120, 4, 2, 0.5, 1.0)
    z, y = simulate(5, *sizes)
    gold = np.where(np.arange(len(z)) % 8 == 0, y, -1)
    fit = fit_minimax_entropy(
        from_matrix(z, 2), form=form, strength=0.2, gold=gold, prior=[0.6, 0.4], tol=1e-9
    )
    entries = [(i, t, int(z[i, t])) for i, t in np.argwhere(z >= 0).tolist()]
    tau = fit.difficulty.tolist() if form == "difficulty" else None
    q, _ = oracle.posteriors(entries, fit.confusion.tolist(), tau, [0.6, 0.4], len(z))
    free = gold < 0
    np.testing.assert_allclose(fit.class_posterior[free], np.array(q)[free], atol=1e-8)
    np.testing.assert_array_equal(fit.class_posterior[~free], np.eye(2)[gold[~free]])
    alpha, beta = 0.2 * 4, 0.2 * 4 * len(z) / z.shape[1]
    of_labelers, of_samples = oracle.gradients(
        entries, fit.confusion.tolist(), tau, fit.class_posterior.tolist(), alpha, beta
    )
    assert fit.converged and np.abs(of_labelers).max() < 1e-8
    penalty = alpha * (fit.confusion**2).sum() + beta * (fit.difficulty**2).sum()
    assert fit.objective == pytest.approx(fit.log_likelihood - penalty / 2, abs=1e-9)
    assert fit.difficulty.shape == (24 if form == "difficulty" else 0, 2, 2)
    assert tau is None or np.abs(of_samples).max() < 1e-8


def test_without_a_penalty_confusion_is_dawid_and_skene():
    """Bad labelers, so that every cell is filled and the maximum is inside."""
    labels = from_matrix(simulate(2, 120, 4, 2, 0.5, 1.0)[0], 2)
    fit = fit_minimax_entropy(labels, form="confusion", strength=1e-9, tol=1e-8)
    other = fit_dawid_skene(labels, prior=np.array([0.5, 0.5]), tol=1e-12)
    assert fit.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-5)
    np.testing.assert_allclose(fit.matrices, other.matrices, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "at_least"), [("bluebirds", 0.88), ("dogs", 0.83)])
def test_public_sets(shared_data, name, at_least):
    labels, truth = real_set(shared_data(name))
    fit = fit_minimax_entropy(labels)
    print(name, (fit.class_posterior.argmax(axis=1) == truth).mean(), fit.num_steps, fit.converged)
    assert fit.converged and (fit.class_posterior.argmax(axis=1) == truth).mean() > at_least


def test_bad_options():
    labels = from_matrix(simulate(5, 24, 5, 2)[0], 2)
    with pytest.raises(ValueError, match="form must be one of 'difficulty', 'confusion'"):
        fit_minimax_entropy(labels, form="ordinal")
    with pytest.raises(ValueError, match="strength is 0"):
        fit_minimax_entropy(labels, strength=0)
