"""What `evaluate` says of input that it cannot use: the place, what was got, what to do."""

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
    assert any("every prediction is '0'" in w for w in result.warnings)


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
