"""One coin, difficulty, GLAD, Welinder, minimax entropy: against loops and known truth."""

import numpy as np
import pytest

from jtruth.labels import Labels
from jtruth.learning import (
    fit_difficulty_fallibility,
    fit_glad,
    fit_minimax_entropy,
    fit_one_coin,
    fit_welinder,
)
from tests.learning.crowds import from_matrix, simulate
from tests.reference import annotation_models as oracle
from tests.reference import minimax_entropy as entropy

SIZES = 24, 5, 2  # those of the protocol test, so that its programs are found again


def small(classes=2):
    z, y = simulate(5, 24, 5, classes, accuracy=0.85, present=0.85)
    labels = from_matrix(z, classes)
    return labels, list(zip(*(a.tolist() for a in labels.entries()), strict=True)), y


@pytest.mark.parametrize("known", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_one_coin_is_em_by_its_formulas(known):
    labels, entries, y = small()
    gold = np.where(np.arange(24) % 4 == 0, y, -1) if known else None
    p, q, T = oracle.one_coin_em(entries, SIZES, steps=12, gold=gold)
    fit = fit_one_coin(labels, gold=gold, max_steps=12, tol=0.0)
    np.testing.assert_allclose(fit.prior, p, rtol=1e-11)
    np.testing.assert_allclose(fit.accuracy, q, rtol=1e-10)
    np.testing.assert_allclose(fit.class_posterior, T, atol=1e-11)


@pytest.mark.slow
def test_one_coin_with_jumps_stays_one_coin():
    """Weak labelers, hundreds of steps, most of them after jumps: the same maximum as plain EM's."""
    labels = from_matrix(simulate(8, 40, 5, 3, accuracy=0.3, present=1.0)[0])
    entries = list(zip(*(a.tolist() for a in labels.entries()), strict=True))
    fit = fit_one_coin(labels, tol=1e-12)
    _, q, T = oracle.one_coin_em(entries, (40, 5, 3), steps=400)
    assert fit.converged
    np.testing.assert_allclose(fit.accuracy, q, atol=1e-8)
    np.testing.assert_allclose(fit.class_posterior, T, atol=1e-8)
    np.testing.assert_allclose(fit.noise_model().error, 1 - q, atol=1e-8)


def test_difficulty_is_summed_out_and_fallibility_is_at_the_maximum():
    labels, entries, _ = small()
    fit = fit_difficulty_fallibility(labels, tol=1e-11)
    total, T, mean, sd = oracle.difficulty_log_likelihood(
        entries, SIZES, fit.prior, fit.fallibility, (1.0, 5.0)
    )
    assert fit.converged and fit.log_likelihood == pytest.approx(total, abs=1e-8)
    assert fit.log_posterior == pytest.approx(fit.log_likelihood, abs=1e-9)  # flat prior of the fallibility
    np.testing.assert_allclose(fit.class_posterior, T, atol=1e-8)
    np.testing.assert_allclose(fit.difficulty, mean, atol=1e-8)
    np.testing.assert_allclose(fit.difficulty_sd, sd, atol=1e-7)
    rng = np.random.default_rng(0)
    for _ in range(6):  # no small change is better
        phi = np.clip(fit.fallibility + 1e-2 * rng.standard_normal(5), 1e-9, 1)
        p = fit.prior * np.exp(1e-2 * rng.standard_normal(2))
        assert oracle.difficulty_log_likelihood(entries, SIZES, p / p.sum(), phi, (1.0, 5.0))[0] < total


def test_glad_ends_where_the_papers_em_ends():
    labels, entries, _ = small()
    fit = fit_glad(labels, tol=1e-11)
    p, alpha, b, T = oracle.glad_em(entries, SIZES, steps=60)
    assert fit.converged
    np.testing.assert_allclose(fit.prior, p, atol=1e-8)
    np.testing.assert_allclose(fit.ability, alpha, atol=1e-8)
    np.testing.assert_allclose(np.log(fit.ease), b, atol=1e-8)
    np.testing.assert_allclose(fit.class_posterior, T, atol=1e-8)
    np.testing.assert_allclose(fit.difficulty * fit.ease, 1)


def test_welinder_is_at_a_maximum_of_the_loops():
    labels, entries, _ = small()
    fit = fit_welinder(labels, tol=1e-11)
    at = (fit.position, fit.direction, fit.threshold)
    value = lambda parts: oracle.welinder_log_posterior(entries, *parts, fit.prior, (0.8, 1.0, 3.0))  # noqa: E731
    assert fit.converged and fit.log_posterior == pytest.approx(value(at), abs=1e-8)
    for part in range(3):  # every derivative is 0, by differences of both sides
        for place in list(np.ndindex(at[part].shape))[:8]:
            sides = []
            for step in (1e-5, -1e-5):
                moved = [x.copy() for x in at]
                moved[part][place] += step
                sides.append(value(moved))
            assert abs(sides[0] - sides[1]) / 2e-5 < 1e-5
            assert max(sides) < value(at) + 1e-12
    sigma = fit.spread
    centre = fit.position[:, 0]
    np.testing.assert_allclose(
        fit.class_posterior[:, 1], 1 / (1 + np.exp(-2 * centre / sigma**2)), atol=1e-12
    )


@pytest.mark.slow
def test_most_probable_positions_that_follow_one_labeler_say_so():
    """Five labelers of .8, whom `fit_nuts("welinder")` weighs as they are."""
    z, y = simulate(0, 200, 5, 2, accuracy=0.6, present=1.0)
    fit = fit_welinder(Labels.from_matrix(z, 2))
    assert (fit.class_posterior.argmax(axis=1) == y).mean() < 0.7
    assert "another class than the majority of labels" in fit.warnings[0]


def test_welinder_noise_model_is_the_dist_of_its_own_labels():
    """A million draws of x for each class: 5 standard errors on 20 numbers, a false alarm in 10^5."""
    fit = fit_welinder(small()[0])
    rng = np.random.default_rng(0)
    for z, mean in ((0, -1.0), (1, 1.0)):
        x = rng.standard_normal((10**6, 1)) * fit.spread + mean
        said = (x @ fit.direction.T + rng.standard_normal((10**6, 5)) > fit.threshold).mean(axis=0)
        np.testing.assert_allclose(fit.noise_model().matrices[:, z, 1], said, atol=5 * 0.5e-3)


def test_the_maximum_of_the_papers_dual():
    """Posterior and likelihood to 1e-8, and no gradient at the end."""
    labels, entries, y = small()
    gold = np.where(np.arange(24) % 8 == 0, y, -1)
    fit = fit_minimax_entropy(labels, strength=0.2, gold=gold, prior=[0.6, 0.4], tol=1e-9)
    parts = fit.confusion.tolist(), fit.difficulty.tolist()
    q, _ = entropy.posteriors(entries, *parts, [0.6, 0.4], 24)
    free = gold < 0
    np.testing.assert_allclose(fit.class_posterior[free], np.array(q)[free], atol=1e-8)
    np.testing.assert_array_equal(fit.class_posterior[~free], np.eye(2)[gold[~free]])
    alpha, beta = 0.2 * 4, 0.2 * 4 * 24 / 5
    slopes = entropy.gradients(entries, *parts, fit.class_posterior.tolist(), alpha, beta)
    assert fit.converged and all(np.abs(slope).max() < 1e-8 for slope in slopes)
    penalty = alpha * (fit.confusion**2).sum() + beta * (fit.difficulty**2).sum()
    assert fit.objective == pytest.approx(fit.log_likelihood - penalty / 2, abs=1e-9)


def test_bad_options_of_minimax_entropy():
    with pytest.raises(ValueError, match="strength is 0"):
        fit_minimax_entropy(small()[0], strength=0)
