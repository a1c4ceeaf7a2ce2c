"""Label issues: probabilities, their sum and its interval, learned rates, labelers, and splits of gold."""

import numpy as np
import pytest

import jtruth as jt
from jtruth.cleaning import gold_splits, posterior_draws, suspicious_labels
from jtruth.learning import fit_noise_layer
from jtruth.learning.joint.posterior import fit_joint
from jtruth.posterior import class_posterior


def crowd(seed, n=200, t=4, error=0.2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    z = np.where(rng.random((n, t)) < error, 1 - y[:, None], y[:, None])
    return y, jt.Labels.from_matrix(z, 2)


def by_independence(noise, labels):
    return np.asarray(class_posterior(noise.log_likelihood(labels), np.array([0.5, 0.5])))


def test_probabilities_are_the_posteriors_and_sorted():
    _, labels = crowd(0)
    p = by_independence(jt.noise.Symmetric(0.2, 2), labels)
    found = suspicious_labels(labels, p)
    np.testing.assert_allclose(found.p_wrong, 1 - p[found.sample, found.label])
    assert (np.diff(found.p_wrong) <= 0).all() and found.label.size == 800
    np.testing.assert_allclose([found.of_labelers.sum(), found.of_classes.sum()], found.expected)
    np.testing.assert_array_equal(found.low, found.high)


@pytest.mark.slow
def test_the_expected_number_is_calibrated():
    """40 crowds: the 95 % interval holds the number of wrong labels at least 33 times (a false alarm 6e-3^..:
    P(Binomial(40, .95) < 33) = 7e-5)."""
    covered, gaps = 0, []
    for seed in range(40):
        y, labels = crowd(seed)
        p = by_independence(jt.noise.Symmetric(0.2, 2), labels)
        found = suspicious_labels(labels, p, key=seed)
        wrong = (y[labels.sample] != labels.label).sum()
        covered += found.interval[0] <= wrong <= found.interval[1]
        gaps.append(found.expected - wrong)
    assert covered >= 33
    assert abs(np.mean(gaps)) < 5 * np.std(gaps) / 40**0.5


def test_known_samples_tell_what_labels_cannot():
    """20 crowds of which every seventh sample misleads all: the model's interval holds nowhere, that by 60
    known samples at least 14 times (P(Binomial(20, .95) < 14) = 3e-5), and its mean is right."""
    held, by_model, gaps = 0, 0, []
    for seed in range(20):
        y, _ = crowd(seed)
        rng = np.random.default_rng(100 + seed)
        seen = np.where(rng.random(200) < 1 / 7, 1 - y, y)  # what all labelers take for the class
        z = np.where(rng.random((200, 4)) < 0.1, 1 - seen[:, None], seen[:, None])
        labels, wrong = jt.Labels.from_matrix(z, 2), (z != y[:, None]).sum()
        chance = (0.9 / 0.1) ** (2.0 * z.sum(axis=1) - 4)
        p = np.stack([1 / (1 + chance), chance / (1 + chance)], axis=1)
        gold = np.where(rng.permutation(200) < 60, y, -1)
        alone, found = (suspicious_labels(labels, p, gold=known, key=seed) for known in (None, gold))
        by_model += alone.interval[0] <= wrong <= alone.interval[1]
        held += found.interval[0] <= wrong <= found.interval[1]
        gaps.append(found.expected - wrong)
    assert by_model == 0 and held >= 14
    assert abs(np.mean(gaps)) < 5 * np.std(gaps) / 20**0.5
    assert "labels alone cannot tell" in alone.caution and "60 known samples" in found.caution
    sure = gold[found.sample]
    np.testing.assert_array_equal(found.p_wrong[sure >= 0], (sure != found.label)[sure >= 0])
    everything = suspicious_labels(labels, p, gold=y)
    assert everything.interval == (wrong, wrong) and everything.expected == wrong


def test_learned_rates_widen_and_assumptions_are_a_range():
    _, labels = crowd(3, n=60)
    fit = fit_joint(labels, key=0)
    draws = posterior_draws(labels, fit)
    np.testing.assert_allclose(draws.mean(axis=0), fit.class_posterior, atol=0.05)
    for k in (0, -1):  # the first draw of the fit, and the last
        p = np.tile(fit.prior[fit.matrix_draw[k]], (60, 1)).astype(np.float64)
        for i, t, z in zip(*labels.entries(), strict=True):
            p[i] *= fit.matrices[k, t, :, z]
        np.testing.assert_allclose(draws[k], p / p.sum(axis=1, keepdims=True), rtol=1e-5)
    alone = suspicious_labels(labels, fit.class_posterior)
    carried = suspicious_labels(labels, draws)
    assert np.diff(carried.interval) >= np.diff(alone.interval) - 2
    both = suspicious_labels(labels, {"learned": draws, "flat": np.full((60, 2), 0.5)})
    assert (both.low <= both.p_wrong).all() and (both.high >= 0.5 - 1e-12).all()
    assert both.interval[1] >= carried.interval[1]
    with pytest.raises(ValueError, match="this fit is 'labeler_strata'"):
        posterior_draws(labels, fit._replace(dependence="labeler_strata"))


def test_features_say_more_and_rates_are_learned_from_them():
    """One label a sample: error rates by EM from probabilities, against the rates that made the labels."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 4000)
    x = rng.standard_normal(4000) + 3 * y
    probabilities = np.stack([1 / (1 + np.exp(3 * (x - 1.5))), 1 / (1 + np.exp(-3 * (x - 1.5)))], axis=1)
    z = np.where(rng.random(4000) < np.where(y == 1, 0.05, 0.25), 1 - y, y)
    labels = jt.Labels.from_matrix(z[:, None], 2)
    matrix = fit_noise_layer(labels, probabilities, num_bootstrap=20).matrices[0]
    np.testing.assert_allclose([matrix[0, 1], matrix[1, 0]], [0.25, 0.05], atol=0.04)
    p = by_independence(jt.noise.ConfusionMatrices(matrix[None]), labels)
    found = suspicious_labels(labels, p, probabilities=probabilities, prior=np.array([0.5, 0.5]))
    wrong = (y != z)[found.sample]
    assert wrong[: int(found.expected)].mean() > 0.8
    assert abs(found.expected - wrong.sum()) < 60


def test_bad_input():
    _, labels = crowd(0, n=10)
    even = np.full((10, 2), 0.5)
    for match, options in {
        r"'given' has shape .*10 samples": {"class_posterior": even[:3]},
        "not to 1": {"class_posterior": even + 0.2},
        r"gold must have shape \(10,\)": {"gold": np.zeros(3, int)},
        r"gold\[0\] is 2": {"gold": np.full(10, 2)},
        "^gold has 4 known classes": {"gold": np.repeat([-1, 1], [6, 4])},
        "with the class prior beside them": {"probabilities": even},
    }.items():
        with pytest.raises(ValueError, match=match):
            suspicious_labels(labels, **{"class_posterior": even} | options)


def test_splits_of_gold_are_compared_on_the_same_sets():
    splits, options = [(60, 0, 0), (0, 60, 0), (0, 0, 60)], {"num_samples": 120}
    found = gold_splits(splits, num_sims=12, **options)
    noise, train, test = found["rate_error"]
    assert noise < train == test
    assert np.isnan(found["test_error"][0]) and 0 < found["test_error"][2] < 0.15
    assert ((found["accuracy"] > 0.8) & (found["accuracy"] < 0.95)).all()
    with pytest.raises(ValueError, match=r"split \(100, 30, 0\) does not fit 120 samples"):
        gold_splits([(100, 30, 0)], **options)
