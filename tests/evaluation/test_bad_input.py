"""Errors of `evaluate` for unusable input: the place, the value, what to do."""

import jax
import numpy as np
import pytest

import jtruth as jt

pytestmark = pytest.mark.usefixtures("few_sets")

Z = np.array([[1, 1], [0, 1], [0, 0], [1, 0]])
LABELS = jt.Labels.from_matrix(Z, 2)
NAMED = jt.Labels.from_long(["a", "b"], ["w", "w"], ["no", "yes"], classes=["no", "yes"])
GOOD = {"y_pred": [1, 0, 0, 1], "labels": LABELS, "noise": jt.noise.Symmetric(0.2, 2), "prior": [0.5, 0.5]}

CASES = [
    ({"y_pred": [1, 0, 0]}, "y_pred has 3 entries but there are 4 samples"),
    ({"y_pred": [1, 0, 0, 2]}, r"y_pred\[3\] is 2, not a class; classes are 0 to 1"),
    ({"y_pred": [1, 0, 0, -1]}, r"y_pred\[3\]: no class \(got -1\). Every sample needs a prediction"),
    ({"y_pred": [1, 0, 0.5, 1]}, r"y_pred\[2\] is 0.5, not a class"),
    ({"y_pred": [1, 0, np.nan, 1]}, r"y_pred\[2\]: no class \(got nan\)"),
    ({"y_pred": [[1, 0, 0, 1]]}, "shape"),
    ({"y_pred": ["yes", "maybe"], "labels": NAMED}, r"y_pred\[1\] is 'maybe', not one of the classes"),
    ({"prior": [0.5, 0.6]}, "sums to 1.1"),
    ({"prior": [-0.5, 1.5]}, r"prior\[0\] is -0.5"),
    ({"prior": [0.2, 0.3, 0.5]}, "there are 2 classes"),
    ({"level": 1.0}, "strictly between 0 and 1"),
    ({"level": 95}, "strictly between 0 and 1"),
    ({"gold": [1, 0]}, "gold has 2 entries"),
    ({"gold": [1, 0, 5, -1]}, r"gold\[2\] is 5"),
    ({"positive": 2}, "give a class code 0 to 1"),
    ({"positive": "yes"}, "not one of the classes"),
    ({"method": "magic"}, "choose one of bayes"),
    ({"method": "sampling", "key": 1.5}, "key is 1.5"),
    ({"assume": "nothing at all"}, "choose one of"),
    ({"noise": np.eye(2)}, "give a model of jt.noise"),
    ({"noise": jt.noise.ConfusionMatrices(np.eye(2)[None])}, "labelers"),
    ({"noise": jt.noise.Symmetric(0.0, 2)}, "impossible under every class"),
    ({"labels": np.full((4, 2), 0.5), "noise": None}, "these are probabilities"),
    ({"labels": np.full((4, 2), np.nan), "noise": None}, "NaN"),
    ({"labels": np.zeros(4), "noise": None}, "shape"),
    ({"labels": np.zeros((4, 2))}, "already a log-likelihood"),
]


@pytest.mark.parametrize(("change", "message"), CASES, ids=[m for _, m in CASES])
def test_message(as_installed, change, message):
    with pytest.raises(ValueError, match=message):
        jt.evaluate(**(GOOD | change))


def test_gold_that_certain_labelers_contradict_names_the_samples(as_installed):
    labels = jt.Labels.from_matrix(np.array([[1], [0]]), 2)
    with pytest.raises(ValueError, match="likelihood 0"):
        jt.evaluate([1, 0], labels, noise=jt.noise.Symmetric(0.0, 2), prior=[0.5, 0.5], gold=[0, -1])


def test_traced_predictions(as_installed):
    with pytest.raises(ValueError, match="traced"):
        jax.jit(lambda y: jt.evaluate(y, LABELS).accuracy.mean)(np.array([1, 0, 0, 1]))


def test_equal_predictions_are_allowed_and_said():
    result = jt.evaluate(**(GOOD | {"y_pred": [0, 0, 0, 0]}))
    assert np.isnan(result.precision.mean) and result.precision.probability_defined == 0
    assert any("Every prediction is '0', so some metrics are undefined" in w for w in result.warnings)


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        (jt.evaluate_scores, ([0.1, 0.2, 0.3, 0.4],)),
        (jt.evaluate_class_scores, (np.full((4, 2), 0.5),)),
        (jt.compare_classifiers, ({"a": [1, 0, 0, 1], "b": [1, 1, 0, 1]},)),
        (jt.metric_posterior, (np.equal, [1, 0, 0, 1])),
    ],
)
def test_keyword_of_another_function_is_refused_with_the_names_there_are(asked, what):
    with pytest.raises(TypeError, match=rf"^{asked.__name__}\(\) got .* 'fast'.*takes noise, prior, gold"):
        asked(*what, LABELS, fast=True)


def _asked_with(prior):
    """A number of each question that takes a prior, labels of which are called no and yes."""
    from jtruth.asking import expected_gain_of_labels
    from jtruth.cleaning import suspicious_labels
    from jtruth.learning import fit_joint
    from jtruth.testing.tars import consolidate

    rng = np.random.default_rng(0)
    y = (rng.random(40) < 0.3).astype(int)
    z = np.where(rng.random((40, 3)) < 0.8, y[:, None], 1 - y[:, None])
    labels = jt.Labels.from_matrix(z, 2).with_names(classes=["no", "yes"])
    noise, half, known = jt.noise.Symmetric(0.2, 2), np.full((40, 2), 0.5), {"prior": prior}
    known |= {"noise": noise}
    yield jt.evaluate(y, labels, **known).accuracy.mean
    yield jt.compare_classifiers({"a": y, "b": 1 - y}, labels, **known).values["a"].mean
    yield jt.evaluate_scores(y + rng.random(40), labels, **known).auc.mean
    yield jt.metric_posterior(lambda t, p: (t == p).mean(), y, labels, **known, num_draws=20).estimate().mean
    yield jt.consensus(labels, prior=prior).class_posterior[0, 1]
    yield fit_joint(labels, prior=prior, key=0).class_posterior[0, 1]
    yield consolidate(labels, noise, prior).prior[1]
    yield float(expected_gain_of_labels(noise, labels, prior)[0, 0])
    yield suspicious_labels(labels, half, probabilities=half, prior=prior).expected


def _of_codes(prior):
    """The same where there are no class names."""
    from jtruth.evaluation import evaluate_batch
    from jtruth.information import equivalent_error, labeler_information
    from jtruth.lam_stork import recover_confusion
    from jtruth.planning import Labeler, Setting
    from jtruth.posterior import class_posterior
    from jtruth.testing.methods import multiclass_posterior
    from jtruth.training import fit_gaussians, fit_linear

    log_p, x = np.log([[0.2, 0.8], [0.7, 0.3], [0.6, 0.4]]), np.array([[1.0], [0.0], [0.4]])
    rows = np.array([[[0.8, 0.2], [0.2, 0.8]]])
    yield float(class_posterior(log_p, prior)[0, 1])
    yield (
        multiclass_posterior(log_p, prior, np.array([1, 0, 0]), method="exact_means")
        .estimate("accuracy")
        .mean
    )
    yield float(np.ravel(labeler_information(jt.noise.Symmetric(np.array([0.2]), 2), prior)[0])[0])
    yield equivalent_error(0.1, prior)
    yield Setting(prior, 0.9, [Labeler("a", 0.2, 1.0)]).value
    yield float(Setting(prior, 0.9, [Labeler("a", 0.2, 1.0)]).prior[1])
    yield float(
        evaluate_batch(np.array([[0, 1, 1]]), np.array([[[0], [1], [0]]]), noise=rows, prior=prior).prior[
            0, 1
        ]
    )
    yield float(fit_linear(x, log_p, prior).model.weights.ravel()[0])
    yield float(fit_gaussians(x, log_p, prior, pseudo_count=1.0).model.means.ravel()[0])
    yield float(recover_confusion([[30, 5], [6, 20]], rows[0], prior=prior).accuracy.value)


def test_a_prior_is_matched_by_its_names(as_installed):
    """value_counts puts the commoner class first: read by place it says the opposite."""
    pandas = pytest.importorskip("pandas")
    right = list(_asked_with([0.7, 0.3]))
    for prior in ({"yes": 0.3, "no": 0.7}, pandas.Series({"yes": 0.3, "no": 0.7}), pandas.Series([0.7, 0.3])):
        assert list(_asked_with(prior)) == pytest.approx(right, abs=1e-9)
    assert np.isclose(right, list(_asked_with([0.3, 0.7]))).sum() <= 1  # the gain of labels is symmetric
    right = list(_of_codes([0.7, 0.3]))
    for prior in ({1: 0.3, 0: 0.7}, pandas.Series({1: 0.3, 0: 0.7}), {"1": 0.3, "0": 0.7}):
        assert list(_of_codes(prior)) == pytest.approx(right, abs=1e-6)


@pytest.mark.parametrize("prior", [{"yes": 0.3, "nope": 0.7}, {"yes": 1.0}, {"no": 0.5, 0: 0.2, "yes": 0.3}])
def test_a_prior_of_other_names_is_refused(as_installed, prior):
    for entries in (_asked_with, _of_codes):
        with pytest.raises(ValueError, match=r"prior has a number for .*, but the classes are"):
            next(entries(prior))
    with pytest.raises(ValueError, match="error has a number for 'ann'"):
        jt.noise.Symmetric({"ann": 0.2, "bob": 0.1}, 2)
    frame = pytest.importorskip("pandas").DataFrame(np.full((20, 2), 0.5), columns=["yes", "no"])
    with pytest.raises(ValueError, match="prior is a frame"):
        jt.noise.DrawnMatrices(np.full((20, 1, 2, 2), 0.5), frame)
