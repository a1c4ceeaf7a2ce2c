"""Labels of other kinds: each density against scipy and loops, each fit against simulated truth."""

import itertools

import jax
import numpy as np
import pytest
import scipy.stats
from scipy.special import expit

from jtruth.inspection import suspicions
from jtruth.labels import Labels
from jtruth.learning import Smoothing, fit_dawid_skene
from jtruth.learning.values import (
    DirichletChannel,
    NormalRatings,
    OrdinalLink,
    SymbolMatrices,
    Values,
    fit_values,
    members,
)
from jtruth.noise import ConfusionMatrices
from jtruth.posterior import class_posterior
from tests.reference import values as oracle

N, T, C = 240, 5, 3
RNG = np.random.default_rng(0)
Y = RNG.integers(0, C, N)
SAMPLE, LABELER = (a.ravel() for a in np.indices((N, T)))
TRUE = Y[SAMPLE]


def values(value):
    return Values.from_long(SAMPLE, LABELER, value)


def mixed(right=0.75):
    wrong = (TRUE + RNG.integers(1, C, TRUE.size)) % C
    return np.where(RNG.random(TRUE.size) < right, TRUE, wrong)


MIND = mixed()
UNSURE = np.where(RNG.random(TRUE.size) < np.array([0.05, 0.1, 0.5])[TRUE], C, MIND)
SETS = (MIND[:, None] == np.arange(C)) | (RNG.random((TRUE.size, C)) < 0.2)
P = RNG.standard_gamma(np.where(TRUE[:, None] == np.arange(C), 3.0, 1.0) * (1 + LABELER[:, None]) / 2) + 1e-9
P /= P.sum(axis=1, keepdims=True)
SLOPES = np.linspace(1.5, 4.0, T)
GRADES = (
    RNG.logistic(size=TRUE.size)[:, None] > (np.array([0.5, 1.5]) - TRUE[:, None]) * SLOPES[LABELER, None]
).sum(axis=1)
RATINGS = 10 * LABELER + (1 + LABELER) * (2.0 * TRUE + RNG.standard_normal(TRUE.size))
KINDS = {
    "symbols": (SymbolMatrices, UNSURE),
    "sets": (SymbolMatrices, SETS),
    "probabilities": (DirichletChannel, P),
    "grades": (OrdinalLink, GRADES),
    "ratings": (NormalRatings, RATINGS),
}


class Fits(dict):
    """Each kind is fitted when it is asked for."""

    def __missing__(self, name):
        channel, value = KINDS[name]
        self[name] = fit_values(values(value), channel, C)
        return self[name]


@pytest.fixture(scope="module")
def fits():
    return Fits()


# Sets are another density of the same matrices, which plain loops check below.
every_kind = [pytest.param(name, marks=[pytest.mark.slow] * (name == "sets")) for name in KINDS]


@pytest.mark.parametrize("name", every_kind)
def test_the_common_face_and_the_truth(fits, name):
    """Classes by name are found far above one labeler; permuting samples and labelers permutes the answer."""
    fit, (channel, value) = fits[name], KINDS[name]
    assert fit.converged and fit.warnings == () and fit.path.size == fit.num_steps
    assert (fit.class_posterior.argmax(axis=1) == Y).mean() > 0.85
    by_hand = np.exp(fit.by_class) * fit.prior
    np.testing.assert_allclose(fit.class_posterior, by_hand / by_hand.sum(axis=1, keepdims=True), atol=1e-7)
    assert fit.log_likelihood == pytest.approx(np.log(by_hand.sum(axis=1)).sum(), rel=1e-10)
    through = class_posterior(fit.by_class, fit.prior)
    np.testing.assert_allclose(through, fit.class_posterior, atol=1e-7)
    order = np.random.default_rng(1).permutation(TRUE.size)
    shuffled = Values.from_long(SAMPLE[order], LABELER[order], value[order])
    again, place = fit_values(shuffled, channel, C), np.argsort(shuffled.tasks)
    np.testing.assert_allclose(again.class_posterior[place], fit.class_posterior, atol=1e-5)


@pytest.mark.parametrize("name", ["symbols", pytest.param("sets", marks=pytest.mark.slow), "grades"])
def test_em_never_falls_where_priors_are_proper(fits, name):
    assert np.diff(fits[name].path).min() > -1e-6


@pytest.mark.slow
def test_symbols_that_are_classes_are_dawid_skene():
    fit = fit_values(values(MIND), SymbolMatrices, C)
    labels = Labels.from_matrix(MIND.reshape(N, T), C)
    other = fit_dawid_skene(labels, smoothing=Smoothing(2.0, 0.5, 1.0))
    np.testing.assert_allclose(fit.channel.matrices, other.matrices, atol=1e-6)
    np.testing.assert_allclose(fit.class_posterior, other.class_posterior, atol=1e-6)
    one_each = fit_values(values(MIND[:, None] == np.arange(C)), SymbolMatrices, C)
    np.testing.assert_allclose(one_each.class_posterior, fit.class_posterior, atol=1e-6)


def test_an_informative_cannot_tell_is_learned_and_goes_on_as_a_noise_model(fits):
    fit = fits["symbols"]
    assert (fit.channel.matrices[:, 2, C] > 0.35).all() and (fit.channel.matrices[:, :2, C] < 0.2).all()
    model = fit.noise_model()
    assert (model.num_classes, model.num_symbols) == (C, C + 1)
    labels = Labels.from_matrix(UNSURE.reshape(N, T), C + 1)
    np.testing.assert_allclose(model.log_likelihood(labels), fit.by_class, atol=1e-9)
    for i in range(5):
        by_hand = [sum(np.log(model.matrices[t, c, UNSURE[i * T + t]]) for t in range(T)) for c in range(C)]
        np.testing.assert_allclose(fit.by_class[i], by_hand, atol=1e-9)
    with pytest.raises(ValueError, match="3 symbols for 2 classes, errors are undefined"):
        ConfusionMatrices([[[0.5, 0.2, 0.3], [0.1, 0.8, 0.1]]]).scaled(2.0)
    with pytest.raises(ValueError, match="2 or more classes, as many symbols or more"):
        ConfusionMatrices(np.full((1, 3, 2), 0.5))


def test_em_of_sets_and_ratings_is_that_of_the_loops():
    """Three steps on 24 samples and 3 labelers: all parameters and the class posterior to 1e-8."""
    use = (SAMPLE < 24) & (LABELER < 3)
    sizes, where = (24, 3, C), (SAMPLE[use], LABELER[use])
    inside = [np.flatnonzero(row).tolist() for row in SETS[use]]
    psi, pi, rho = oracle.sets_em(list(zip(*where, inside, strict=True)), sizes, steps=3)
    fit = fit_values(Values.from_long(*where, SETS[use]), SymbolMatrices, C, max_steps=3)
    for found, wanted in ((fit.channel.matrices, psi), (fit.prior, pi), (fit.class_posterior, rho)):
        np.testing.assert_allclose(found, wanted, atol=1e-8)
    rated = list(zip(*where, RATINGS[use], strict=True))
    mean, sd, pi, rho = oracle.ratings_em(rated, sizes, steps=3)
    fit = fit_values(Values.from_long(*where, RATINGS[use]), NormalRatings, C, max_steps=3)
    assert not fit.converged and "did not converge" in fit.warnings[0]
    for found, wanted in ((fit.channel.mean, mean), (fit.channel.sd, sd), (fit.class_posterior, rho)):
        np.testing.assert_allclose(found, wanted, atol=1e-8)
    np.testing.assert_allclose(fit.prior, pi, atol=1e-8)


def test_densities_of_probabilities_and_ratings_are_those_of_scipy(fits):
    channel, ratings = fits["probabilities"].channel, fits["ratings"].channel
    log_p, log_r = channel.log_p(LABELER, P), ratings.log_p(LABELER, RATINGS)
    for e in range(0, 60, 11):
        t = LABELER[e]
        for c in range(C):
            dist = scipy.stats.dirichlet(channel.concentration[t, c])
            assert log_p[e, c] == pytest.approx(dist.logpdf(P[e]), rel=1e-9)
            normal = scipy.stats.norm(ratings.mean[t, c], ratings.sd[t, c])
            assert log_r[e, c] == pytest.approx(normal.logpdf(RATINGS[e]), rel=1e-9)
    np.testing.assert_allclose(
        channel.concentration[4].sum(axis=1) / channel.concentration[0].sum(axis=1), 5, rtol=0.5
    )
    np.testing.assert_allclose(ratings.mean[3], 30 + 8 * np.arange(3), atol=1.5)


def test_concentrations_have_the_mean_log_of_what_they_fit(fits):
    """The likelihood equation of a Dirichlet distribution, with labels whose class is certain."""
    certain = (TRUE[:, None] == np.arange(C)).astype(float)
    with jax.enable_x64(True):
        channel = DirichletChannel.before(values(P), C).refit(LABELER, P, certain)
    mine = (LABELER == 4) & (TRUE == 1)
    pooled, own = np.log(P[TRUE == 1]).mean(axis=0), np.log(P[mine]).mean(axis=0)
    wanted = (mine.sum() * own + 2 * pooled) / (mine.sum() + 2)
    draws = np.random.default_rng(2).dirichlet(channel.concentration[4, 1], 200_000)
    error = np.log(draws).std(axis=0) / 200_000**0.5
    assert (np.abs(np.log(draws).mean(axis=0) - wanted) < 5 * error).all()  # five standard errors: 2e-6


def test_grades_by_differences_of_the_logistic_dist(fits):
    fit = fits["grades"]
    slope, at = fit.channel.slope, fit.channel.threshold
    for t, c in itertools.product(range(T), range(C)):
        below = [0.0, *(expit(at[t, k] - slope[t] * c) for k in range(C - 1)), 1.0]
        np.testing.assert_allclose(fit.channel.matrices[t, c], np.diff(below), atol=1e-10)
    np.testing.assert_allclose(slope, SLOPES, atol=1.2)
    kappa = fit.channel.kappa(fit.prior)
    assert (np.argsort(kappa)[[0, -1]] == [0, T - 1]).all()
    perfect = OrdinalLink(np.array([200.0]), np.array([[100.0, 300.0]]))
    assert perfect.kappa(np.full(3, 1 / 3))[0] == pytest.approx(1, abs=1e-9)
    assert fit.noise_model().matrices.shape == (T, C, C)


def test_gold_is_kept_and_codes_are_needed_for_a_noise_model(fits):
    gold = np.where(np.arange(N) < 30, (Y + 1) % C, -1)
    fit = fit_values(values(RATINGS), NormalRatings, C, gold=gold)
    assert (fit.class_posterior[:30].argmax(axis=1) == gold[:30]).all()
    with pytest.raises(ValueError, match="this fit has no error rates, so"):
        fits["ratings"].noise_model()


BAD = {
    "sum": (DirichletChannel, np.full((3, 3), 0.3), r"row 0: .* sums to 0.9, not to 1"),
    "zero": (DirichletChannel, np.eye(3), r"row 0: .* has a number of 0 or less"),
    "no class": (SymbolMatrices, np.zeros((3, 3), bool), "row 0: the set is empty"),
    "not sets": (SymbolMatrices, np.ones((3, 3)), "sets must be booleans"),
    "grade": (OrdinalLink, np.array([0, 1, 3]), "row 2: .* is not a grade; give whole numbers 0 to 2"),
    "fraction": (SymbolMatrices, np.array([0, 1, 0.5]), "row 2: .* is not a symbol"),
    "equal": (NormalRatings, np.ones(3), "all ratings are 1.0"),
    "not finite": (NormalRatings, np.array([1.0, np.nan, 2.0]), "row 1: ratings must be finite"),
}


@pytest.mark.parametrize("case", BAD)
def test_values_that_cannot_be_read(case):
    channel, value, said = BAD[case]
    with pytest.raises(ValueError, match=said):
        fit_values(Values.from_long([0, 1, 2], ["x"] * 3, value), channel, 3)


def test_tables_and_classes_that_cannot_be_read():
    with pytest.raises(ValueError, match="row 2: worker 'x' gave task 0 a second value"):
        Values.from_long([0, 1, 0], ["x", "x", "x"], [1, 1, 1])
    with pytest.raises(ValueError, match="row 1: no worker id"):
        Values.from_long([0, 1], ["x", None], [1, 1])
    with pytest.raises(ValueError, match="one entry a row each; got 1, 2, 1"):
        Values.from_long([0], ["x", "y"], [1])
    with pytest.raises(ValueError, match="2 grades need no order"):
        fit_values(Values.from_long([0, 1], ["x", "x"], [0, 1]), OrdinalLink, 2)
    with pytest.raises(ValueError, match="row 1: 'bird' is not one of the classes"):
        members([["cat"], ["bird"]], ["cat", "dog"])


def test_an_abstention_coded_as_a_class_is_said():
    labels = Labels.from_long([0, 0, 1, 1], list("xyxy"), ["cat", "Unsure", "dog", "dog"])
    found = {finding.name: finding.message for finding in suspicions(labels)}
    assert "'Unsure'" in found["abstention"] and "symbol" in found["abstention"]
    assert "abstention" not in {f.name for f in suspicions(Labels.from_matrix([[0, 1], [1, 1]], 2))}
