"""Power scaling of the joint posterior: against another fit with the other prior, and its sentences."""

import jax
import numpy as np
import pytest
from scipy import stats

import jtruth as jt
from jtruth.evaluation.checks.prior_sensitivity import (
    NAME,
    labels_say,
    likelihood_of_draws,
    scaled_check,
    table_doubts,
)
from jtruth.latent import Effort
from jtruth.latent.models import alike
from jtruth.learning import DirichletPriors
from jtruth.learning.joint import inputs as joint_inputs
from jtruth.learning.joint.draws import ALIKE_ROWS, HARD, LogPrior
from jtruth.learning.joint.models import shared_strata
from jtruth.learning.joint.posterior import fit_joint
from jtruth.stats.chains import effective_sample_size
from jtruth.stats.loo import power_scaled
from jtruth.testing.multiclass import CountDraws


def simulated(size, share, right=0.85, seed=0):
    """Predictions and labels of three labelers, all right as often."""
    rng = np.random.default_rng(seed)
    y = (np.arange(size) < share * size).astype(int)
    z = np.where(rng.random((size, 4)) < right, y[:, None], 1 - y[:, None])
    return z[:, 3], jt.Labels.from_matrix(z[:, :3], 2)


@pytest.fixture(scope="module")
def few():
    """60 samples, 6 of them positive: rows of a fixed prior, of which the positive one is hardly seen."""
    y_pred, labels = simulated(60, 0.1)
    return y_pred, labels, fit_joint(labels, y_pred=y_pred, key=0)


def test_the_density_is_that_of_scipy(few):
    fit = few[2]
    draw, row = fit.matrix_draw[:50], {0: (2.0, 1.0), 1: (1.0, 2.0)}
    exact = np.zeros(50)
    for c in (0, 1):
        for theta in (*np.moveaxis(fit.matrices[:50, :, c].astype(float), 1, 0), fit.classifier[draw, c]):
            exact += [stats.beta(*row[c]).logpdf(p) for p in theta[:, 0]]
    ours = fit.log_prior.values[:50]
    np.testing.assert_allclose(ours - ours[0], exact - exact[0], atol=1e-4)
    assert fit.log_prior.covers == ("classes", "labelers", "classifier")
    assert fit.log_prior.least == 1.0 and fit.log_prior.proper(100.0)


def test_as_if_fitted_with_the_squared_prior(few):
    """Dirichlet(2, 1) squared is Dirichlet(3, 1). Five standard errors of each mean: 1e-5 for both."""
    y_pred, labels, fit = few
    squared = DirichletPriors(diagonal=3.0, off_diagonal_total=1.0)
    again = fit_joint(labels, y_pred=y_pred, key=1, priors=squared)
    agree(fit, again, classifier=(1, 1), prior=(1,))


@pytest.mark.slow
def test_as_if_families_had_the_squared_prior(monkeypatch):
    """Rows alike: Beta(2, 1) squared is Beta(3, 1), N(m, s^2) squared N(m, s^2 / 2). Five standard errors."""
    y_pred, labels = simulated(36, 0.3, seed=2)  # fewer than ten labels a cell
    fit = fit_joint(labels, y_pred=y_pred, key=0)
    assert fit.log_prior.covers == ("classes", *ALIKE_ROWS.values()) and fit.log_prior.least == 1.0
    monkeypatch.setattr(alike, "SPREAD", float(alike.SPREAD / np.sqrt(2)))
    jax.clear_caches()  # programs hold the number
    once = alike.alike_raters

    def squared(*given):
        return once(*given)._replace(mean_prior=(3.0, 1.0))

    monkeypatch.setattr(joint_inputs, "alike_raters", squared)
    again = fit_joint(labels, y_pred=y_pred, key=1)
    jax.clear_caches()
    agree(fit, again, labeler_accuracy=(0,), classifier=(1, 1))


def squared_strata(priors, rows):
    """`shared_strata` with every fixed Dirichlet prior squared: concentrations 2 a - 1."""
    built = shared_strata(priors, rows)
    labelers, classifier = built.model.raters
    labelers = labelers._replace(common_prior=2 * labelers.common_prior - 1)
    classifier = classifier._replace(prior=2 * classifier.prior - 1)
    strata = 2 * built.model.stratum_prior - 1
    return built._replace(model=built.model._replace(raters=(labelers, classifier), stratum_prior=strata))


squared_strata.__name__ = "shared_strata"  # whose rows are alike by the same rule


@pytest.mark.slow
@pytest.mark.parametrize(("model", "squared", "priors"), [
    ("copying", "copying", DirichletPriors(diagonal=3.0, off_diagonal_total=1.0)),
    ("shared_strata", squared_strata, DirichletPriors()),
])  # fmt: skip
def test_as_if_a_model_of_strata_had_the_squared_prior(model, squared, priors):
    """Weights of strata, rows, and rows that labelers share. Five standard errors of each mean."""
    y_pred, labels = simulated(120, 0.4, seed=3)
    fit = fit_joint(labels, y_pred=y_pred, key=0, dependence=model)
    again = fit_joint(labels, y_pred=y_pred, key=1, dependence=squared, priors=priors)
    assert HARD in fit.log_prior.covers and len(fit.log_prior.covers) == 4
    agree(fit, again, classifier=(1, 1), labeler_accuracy=(0,), weights=(0, 0))


def agree(fit, again, **cells):
    """Means of draws weighed as if the prior were squared, and where it is: five standard errors, 1e-6."""
    weights, _, reliable = power_scaled(fit.log_prior.values, 2.0)
    assert reliable
    for name, cell in cells.items():
        ours, theirs = getattr(fit, name)[fit.matrix_draw, *cell], getattr(again, name)[:, *cell]
        ess = [float(effective_sample_size(v.reshape(4, -1, 1))[0]) for v in (ours, theirs)]
        mean = weights @ ours
        error = (weights**2 @ (ours - mean) ** 2 * ours.size / ess[0] + theirs.var() / ess[1]) ** 0.5
        assert abs(mean - theirs.mean()) < 5 * error


@pytest.mark.parametrize("given, verdict", [((60, 0.03, 0.95), "does not fit"), ((60, 0.5), "fits")])
def test_what_answers_say(given, verdict):
    """Two positives of sixty: the prior has a say in recall or precision. Thirty: it has not."""
    y_pred, labels = simulated(*given)
    found = jt.evaluate(y_pred, labels, assume="independent", key=0)
    (check,) = [c for c in found.checks if c.name == NAME]
    assert check.verdict == verdict and "of classes, labelers and classifier" in check.message


SHARED, PARTLY = {"assume": "shared_difficulty"}, {"assume": "partly_shared"}
POPULATION = {"assume": "independent", "target": "population"}


@pytest.mark.parametrize("asked, given, verdict", [
    pytest.param(SHARED, (900, 0.5, 0.9), "does not fit", marks=pytest.mark.slow),
    pytest.param(SHARED, (300, 0.5), "fits", marks=pytest.mark.slow),
    pytest.param(PARTLY, (60, 0.03, 0.95), "does not fit", marks=pytest.mark.slow),
    (POPULATION, (200, 0.02, 0.8), "does not fit"),
    pytest.param(POPULATION, (900, 0.5, 0.9), "fits", marks=pytest.mark.slow),
])  # fmt: skip
def test_what_other_answers_say(asked, given, verdict):
    """Labels say little of hard samples, however many they are; the truth of most samples does."""
    y_pred, labels = simulated(*given)
    known = verdict == "fits" and asked is not POPULATION
    number = np.arange(given[0])
    gold = np.where(number % 10 > 0, number < given[1] * given[0], -1)
    found = jt.evaluate(y_pred, labels, key=0, gold=gold if known else None, **asked)
    (check,) = [c for c in found.checks if c.name == NAME]
    # Where the prior has much to say weights may be too uneven to show what it says.
    also = "cannot be seen" if verdict == "does not fit" and asked is not POPULATION else verdict
    assert check.verdict in (verdict, also)
    if asked is SHARED:
        assert "the prior of shared_strata and of random_effect" in check.message
    assert found.target == asked.get("target", "population")


@pytest.mark.slow
def test_known_noise_of_three_classes():
    """Rows are alike: the prior has a say in what labels right in .45 leave open, little where .9."""
    moved = []
    for right in (0.45, 0.9):
        dist, rng = (1 - right) / 2 + (right - (1 - right) / 2) * np.eye(3), np.random.default_rng(9)
        y = np.arange(300) % 3
        y_pred, z = np.where(rng.random((2, 300)) < 0.8, y, rng.integers(0, 3, (2, 300)))
        found = jt.evaluate(y_pred, np.log(dist).T[z], prior=np.full(3, 1 / 3), key=1)
        (check,) = [c for c in found.checks if c.name == NAME]
        assert ALIKE_ROWS["classifier"] in check.message
        moved.append(check.statistic)
    assert moved[0] > 3 * moved[1]


def test_verdicts():
    """A prior that pulls a number up moves it; one of nothing does not; one out of reach cannot be judged."""
    x = np.random.default_rng(3).beta(4, 4, 4000)
    strong = LogPrior(6 * np.log(x), 7.0, ("classes",))
    found = scaled_check([({"recall": x}, strong, 1.0)], 0.95, "it")
    assert found.verdict == "does not fit" and "recall would be [" in found.message
    assert found.statistic > 1 / 3
    weak = LogPrior(0.1 * np.log(x), 1.1, ("classes",))
    assert scaled_check([({"recall": x}, weak, 1.0)], 0.95, "it").verdict == "fits"
    far = LogPrior(np.random.default_rng(4).normal(0, 30, 4000), 7.0, ("classes",))
    assert scaled_check([({"recall": x}, far, 1.0)], 0.95, "it").verdict == "cannot be seen"


@pytest.mark.parametrize("likelihood_sd, at, says", [(0.5, 3.0, "disagree"), (20.0, 3.0, "say little")])
def test_what_labels_say(likelihood_sd, at, says):
    """Prior N(0, .5^2): labels that point elsewhere pull against it, wide ones do not. By conjugacy."""
    precision = 4 + likelihood_sd**-2
    x = np.random.default_rng(8).normal(at * likelihood_sd**-2 / precision, precision**-0.5, 4000)
    log_likelihood = -0.5 * ((x - at) / likelihood_sd) ** 2
    assert says in labels_say(x, log_likelihood)


def test_the_likelihood_of_draws_sums_the_samples(few):
    """Of the draws that it names, log p of all labels and predictions by the definition."""
    y_pred, labels, _ = few
    fit = fit_joint(labels, y_pred=y_pred, key=0, effort=Effort(pointwise=True))
    chosen, found = likelihood_of_draws(fit.pointwise, fit.matrix_draw.size)
    for place in (0, -1):
        k = chosen[place]
        prior, classifier = fit.prior[fit.matrix_draw[k]], fit.classifier[fit.matrix_draw[k]]
        joint = np.log(prior)[None] + np.log(classifier).T[y_pred]
        for i, t, z in zip(*labels.arrays, strict=True):
            joint[i] += np.log(fit.matrices[k, t, :, z].astype(float))
        total = np.logaddexp.reduce(joint, axis=1).sum()
        np.testing.assert_allclose(found[place], total, rtol=1e-6)


def test_several_models_are_pooled_and_none_is_squared_where_one_cannot_be():
    """Half the draws of each of two: an end of a mixture by hand. More than two classes are not squared."""
    x = np.array([[0.0], [4.0]]) + np.random.default_rng(3).normal(size=(2, 4000))
    flat, third = LogPrior(1e-9 * x[0], 1.1, ()), LogPrior(np.zeros(4000), 1 / 3, ())
    assert third.proper(0.5) and not third.proper(2.0)
    found = scaled_check([({"a": x[0]}, flat, 1.0), ({"a": x[1]}, third, 1.0)], 0.95, "it")
    assert found.verdict == "fits" and found.message.endswith("if it has half the weight")
    pull = LogPrior(x[1], 1.1, ())
    moved = scaled_check([({"a": x[0]}, flat, 1.0), ({"a": x[1]}, pull, 1.0)], 0.95, "it")
    shifted = np.concatenate([x[0], x[1] + 1])  # N(4, 1) with the prior e^x once more: N(5, 1)
    (low, high), (a, b) = (np.quantile(v, [0.025, 0.975]) for v in (np.concatenate(x), shifted))
    assert moved.statistic == pytest.approx(max(abs(a - low), abs(b - high)) / (high - low), abs=0.03)


@pytest.mark.parametrize(("alpha", "loud"), [(16.0, True), (1.0, False)])
def test_rows_with_a_fixed_prior(alpha, loud):
    """Two samples a class: sixteen pseudo-samples of an error decide, one is flat and moves nothing."""
    fixed = np.array([[1.0, alpha, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    rng = np.random.default_rng(5)
    theta = np.stack([rng.dirichlet(row, 4000) for row in fixed + 2 * np.eye(3)], axis=1)
    counts = np.tile(2 * np.eye(3, dtype=np.int64), (4000, 1, 1))
    found = CountDraws(counts, theta, True, 1, 4000)
    said = table_doubts({"recall": theta[:, 0, 0]}, found, fixed, 0.95)
    assert bool(said) == loud and all("prior-driven" in text for text in said)
