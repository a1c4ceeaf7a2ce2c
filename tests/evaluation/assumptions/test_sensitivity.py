"""Sensitivity: the unchanged answer, enumeration of a changed one, tipping points, bounds, refusals."""

import itertools
from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy.special import comb
from scipy.stats import norm

import jtruth as jt
from jtruth.evaluation.assumptions import registry
from jtruth.evaluation.assumptions.sensitivity import Sensitivity, sensitivity
from jtruth.lam_stork import error_bounds
from jtruth.learning import fit_joint
from jtruth.learning.joint.models import fixed_share
from jtruth.noise import ConfusionMatrices, DifficultyFallibility, SharedErrors, Symmetric
from jtruth.noise.base import scale_errors
from jtruth.stats.draws import DrawsEstimate

pytestmark = pytest.mark.usefixtures("few_sets")

KEY = jax.random.key(0)


def crowd(seed=0, size=250, labelers=4, sharing=0.0):
    rng = np.random.default_rng(seed)
    y = (rng.random(size) < 0.4).astype(int)
    z = np.where(rng.random((size, labelers)) < [0.1, 0.2, 0.25, 0.3][:labelers], 1 - y[:, None], y[:, None])
    copied = z[np.arange(size), rng.integers(0, labelers, size)]
    y_pred = np.where(rng.random(size) < 0.15, 1 - y, y)
    return y, np.where(rng.random(size) < sharing, copied, y_pred), jt.Labels.from_matrix(z, 2)


@pytest.fixture(scope="module")
def answer():
    _, y_pred, labels = crowd()
    return jt.evaluate(y_pred, labels, assume="independent", key=KEY)


SLOW = ("shared_errors", "labeler_dependence", "hard_samples")


@pytest.mark.parametrize("what", ["error_rates", *(pytest.param(x, marks=pytest.mark.slow) for x in SLOW)])
def test_unmoved_is_the_answer(answer, what):
    """At rest every way gives the joint posterior: draws of the rates, or a model without second stratum."""
    value = 1.0 if what == "error_rates" else 0.0
    found = answer.sensitivity_analysis(what, values=[value, value + 0.01])
    dist = found.metrics["accuracy"][0]
    assert found.base == value
    tolerance = 0.02 if what in ("hard_samples", "labeler_dependence") else 0.012  # those have other priors
    assert dist.mean == pytest.approx(answer.accuracy.mean, abs=tolerance)
    assert dist.sd == pytest.approx(answer.accuracy.sd, rel=0.35)


def test_prior_that_moves():
    """Known error rates: against the sum over all class vectors and a grid over the classifier's rows."""
    rng = np.random.default_rng(2)
    log_p, y_pred = np.log(rng.uniform(0.1, 0.9, (5, 2))), np.array([1, 0, 1, 1, 0])
    found = jt.evaluate(y_pred, log_p, prior=[0.5, 0.5]).sensitivity_analysis("prior", values=[0.2, 0.7])
    for share, dist in zip((0.2, 0.7), found.metrics["accuracy"], strict=True):
        total = mean = 0.0
        for y in itertools.product((0, 1), repeat=5):
            y = np.array(y)
            weight = np.exp(log_p[np.arange(5), y].sum()) * share ** y.sum() * (1 - share) ** (5 - y.sum())
            for c in (0, 1):  # Beta(1, 1) rows of the classifier, integrated out
                right, size = (y_pred[y == c] == c).sum(), (y == c).sum()
                weight /= comb(size, right) * (size + 1)
            total, mean = total + weight, mean + weight * (y == y_pred).mean()
        assert dist.mean == pytest.approx(mean / total, abs=0.02)


@pytest.mark.slow
def test_shared_errors_are_found_again():
    """A classifier that copies in 40 of 100: at that rate the truth is inside, at rest it is not."""
    y, y_pred, labels = crowd(1, size=2000, sharing=0.4)
    truth = (y == y_pred).mean()
    found = jt.evaluate(y_pred, labels, assume="independent", key=KEY).sensitivity_analysis(
        values=[0.0, 0.2, 0.4]
    )
    inside = [
        dist.interval(0.999)[0] <= truth <= dist.interval(0.999)[1] for dist in found.metrics["accuracy"]
    ]
    assert inside[2] and not inside[0]
    assert found.values[0] == 0 < found.values[1] < found.values[2]
    # the expected share of errors that repeat a label, from the truth: copies are wrong as labels are
    shared = 0.4 * (labels.to_matrix() != y[:, None]).mean() / (y_pred != y).mean()
    assert found.values[2] == pytest.approx(shared, abs=0.05)


def made(means, base=0.0, values=(0.0, 0.1, 0.2)):
    dists = tuple(DrawsEstimate(m + 0.02 * norm.ppf((np.arange(4000) + 0.5) / 4000)) for m in means)
    return Sensitivity("x", "share", np.array(values), base, {"recall": dists}, 0.9, (), (), (), "", 0)


@pytest.mark.slow
def test_printed_metrics_are_those_of_the_answer(answer):
    """Of two classes recall and precision of a named class; of three nobody named one, so of all classes."""
    two = answer.sensitivity_analysis("prior", values=[0.3, 0.4]).summary(full=True).replace("'", "")
    assert "recall and precision are for class 1" in two and "precision" in two
    rng = np.random.default_rng(0)
    log_p = np.log(rng.dirichlet(np.ones(3), 20))
    three = jt.evaluate(log_p.argmax(axis=1), log_p, prior=np.full(3, 1 / 3))
    shown = three.sensitivity_analysis("prior", values=[0.3, 0.4]).summary(full=True).splitlines()
    assert any("accuracy macro recall macro" in " ".join(line.split()) for line in shown)
    assert "recall and" not in " ".join(shown)


def test_tipping_points():
    found = made([0.95, 0.92, 0.88])
    assert found.tipping_point("recall", 0.9) == pytest.approx(0.15)
    assert found.sentence("recall", 0.9) == "Recall stays above 0.9 unless the share exceeds 0.15."
    assert found.tipping_point("recall", 0.5) is None
    assert "above 0.5 for the share from" in found.sentence("recall", 0.5)
    both = made([0.8, 0.92, 0.88], base=0.12)
    assert both.tipping_point("recall", 0.9) == pytest.approx(0.15)  # the nearer one
    assert "below" in made([0.8, 0.85, 0.95]).sentence("recall", 0.9)
    left = made([0.8, 0.92, 0.93], base=0.1)
    assert "unless the share is less than 0.083" in left.sentence("recall", 0.9)
    with pytest.raises(ValueError, match="metric"):
        found.tipping_point("accuracy", 0.9)


def test_tipping_points_of_metrics_by_their_clinical_names(answer):
    found = answer.sensitivity_analysis("error_rates", values=[0.8, 1.0, 1.3])
    for name, other in (("sensitivity", "recall"), ("ppv", "precision")):
        assert [a.mean for a in found.metrics[name]] == [a.mean for a in found.metrics[other]]
    alarms = np.array([dist.mean for dist in found.metrics["false_alarm_rate"]])
    np.testing.assert_allclose([dist.mean for dist in found.metrics["specificity"]], 1 - alarms)
    assert found.tipping_point("specificity", 1 - alarms[:2].mean()) == pytest.approx(0.9)


def test_bounds_hold_the_truth(answer):
    """At the share of votes that really are wrong; three labelers, so that no vote is tied."""
    y, y_pred, labels = crowd(labelers=3)
    result = jt.evaluate(y_pred, labels, noise=Symmetric(0.2, 2), prior=[0.6, 0.4])
    vote = labels.counts().argmax(axis=1)
    bounds = result.sensitivity_analysis("prior", values=[0.3, 0.4]).bounds
    differ = float((vote != y_pred).mean())
    exact = error_bounds(differ, (vote != y).mean())
    assert exact.lower - 1e-12 <= (y != y_pred).mean() <= exact.upper + 1e-12
    some, (_, low, high) = error_bounds(differ, 0.05), next(row for row in bounds if row[0] == 0.05)
    np.testing.assert_allclose((low, high), (1 - some.upper, 1 - some.lower))
    assert bounds[0][1] == bounds[0][2]
    said = answer.sensitivity_analysis("prior", values=[0.3, 0.4]).summary(full=True)
    assert "under any dependence (Lam and Stork)" in said


def test_error_rates_of_every_noise_model():
    matrices = np.array([[[0.9, 0.1], [0.3, 0.7]]])
    np.testing.assert_allclose(scale_errors(matrices, 2.0), [[[0.8, 0.2], [0.6, 0.4]]])
    np.testing.assert_allclose(scale_errors(matrices, 5.0), [[[0.5, 0.5], [1.0, 0.0]]])
    np.testing.assert_allclose(ConfusionMatrices(matrices).scaled(2.0).matrices[0, 1], [0.6, 0.4])
    assert Symmetric(0.2, 2).scaled(2.0).error == pytest.approx(0.4)
    assert DifficultyFallibility([0.1], [0.3], 2).scaled(2.0).fallibility[0] == pytest.approx(0.6)
    assert SharedErrors(matrices, matrices[0], 0.3).scaled(0.5).shared[0, 1] == pytest.approx(0.05)
    _, y_pred, labels = crowd()
    result = jt.evaluate(y_pred, labels, noise=Symmetric(0.2, 2), prior=[0.6, 0.4])
    found = result.sensitivity_analysis("error_rates", values=[0.5, 1.0])
    assert found.metrics["recall"][1].mean == pytest.approx(result.recall.mean, abs=0.01)


def test_every_draw_of_the_rates_has_its_own_class_shares(answer):
    """Rates that say nothing, and draws whose class shares are .02 or .98: every sample is 1, or none is."""
    data, model = answer.basis
    data, fit = replace(data, target="in-sample", y_pred=np.ones(250, int)), model.fit
    two = fit._replace(
        matrices=np.full((16, *fit.matrices.shape[1:]), 0.5),
        prior=np.array([[0.98, 0.02], [0.02, 0.98]]),
        matrix_draw=np.arange(16) % 2,
    )
    basis = data, replace(model, fit=two)
    dist = sensitivity(basis, "error_rates", level=0.9, values=[1.0, 1.1], printed=()).metrics["accuracy"][0]
    np.testing.assert_allclose(np.quantile(dist.draws, [0.25, 0.75]), [0.02, 0.98], atol=0.03)


def test_what_is_refused(answer):
    _, y_pred, labels = crowd()
    known = jt.evaluate(y_pred, labels, noise=Symmetric(0.2, 2), prior=[0.6, 0.4])
    with pytest.raises(ValueError, match="leave noise out"):
        known.sensitivity_analysis("hard_samples")
    array = jt.evaluate(y_pred, np.zeros((250, 2)), prior=[0.6, 0.4])
    plugged = jt.evaluate(y_pred, labels, method="plug_in")
    for result, missing in ((array, "needs labels"), (plugged, "joint posterior")):
        with pytest.raises(ValueError, match=missing):
            result.sensitivity_analysis("error_rates")
    for values in ([0.5], [0.1, 1.2], [-0.1, 0.5], [np.nan, 0.1]):
        with pytest.raises(ValueError, match="two or more numbers"):
            answer.sensitivity_analysis("hard_samples", values=values)
    with pytest.raises(ValueError, match="what"):
        answer.sensitivity_analysis("luck")
    alone = jt.evaluate(y_pred, jt.Labels.from_matrix(y_pred[:, None], 2))
    with pytest.raises(ValueError, match="Not identified"):
        alone.sensitivity_analysis("prior")
    for model, share in (("independent", 0.1), ("copying", 1.0)):
        with pytest.raises(ValueError, match="dependent_share"):
            fit_joint(labels, y_pred=y_pred, key=KEY, dependence=fixed_share(model, share))


@pytest.mark.slow
def test_a_value_without_an_answer_is_undefined_and_its_doubt_names_the_place_that_is_printed(monkeypatch):
    """Draws of a fit in which classes have exchanged names are not shown."""
    fit, shares = registry.fit_joint, []

    def remembered(model, share):
        shares.append(share)
        return fixed_share(model, share)

    def switched(*args, **options):
        found = fit(*args, **options)
        if not shares or shares.pop() == 0:
            return found
        return found._replace(identified=False, warnings=("Class labels have switched.",))

    monkeypatch.setattr(registry, "fit_joint", switched)
    monkeypatch.setattr(registry, "fixed_share", remembered)
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 20)
    z = np.where(rng.random((20, 3)) < 0.28, 1 - y[:, None], y[:, None])
    found = jt.evaluate(y, jt.Labels.from_matrix(z, 2), assume="independent", key=0)
    moved = found.sensitivity_analysis("shared_errors", values=[0.0, 0.4, 0.6])
    empty = np.isnan([dist.mean for dist in moved.metrics["accuracy"]])
    assert empty.tolist() == [False, True, True]
    assert "nan" not in moved.summary(full=True) and moved.summary(full=True).count("undefined") == 3 * 2
    places = [float(warning.split(":")[0].removeprefix("at ")) for warning in moved.warnings]
    assert set(np.round(moved.values[empty], 3)) <= set(places) <= set(np.round(moved.values, 3))
