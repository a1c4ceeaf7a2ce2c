"""`evaluate(method="tars")`: the estimates, their kind and target, gold, and refusals."""

import json

import numpy as np
import pytest

import jtruth as jt
from jtruth.testing import consolidate, estimate_counts

pytestmark = pytest.mark.usefixtures("few_sets")

NOISE, PRIOR = jt.noise.Symmetric(0.2, 2), [0.6, 0.4]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(6)
    y = (rng.random(400) < 0.4).astype(int)
    z = np.where(rng.random((400, 3)) < 0.2, 1 - y[:, None], y[:, None])
    y_pred = np.where(rng.random(400) < 0.15, 1 - y, y)
    return y, y_pred, jt.Labels.from_matrix(z, 2)


def test_it_is_the_estimator_and_says_what_its_interval_is(data):
    y, y_pred, labels = data
    result = jt.evaluate(y_pred, labels, noise=NOISE, prior=PRIOR, method="tars")
    counts = estimate_counts(y_pred, consolidate(labels, NOISE, PRIOR))
    for name, dist in result.metrics.items():
        np.testing.assert_allclose(dist.mean, counts.metric(name), rtol=1e-12)
    np.testing.assert_allclose(result.confusion_matrix, counts.table, rtol=1e-12)
    assert result.interval_kind == "confidence interval"
    assert "95 % confidence intervals" in result.summary(full=True)
    assert "population" in result.assumptions[0].sentence
    low, high = result.accuracy.interval(0.95)
    clt = counts.accuracy_interval(0.95)
    np.testing.assert_allclose((low, high), clt, atol=0.01)  # 2000 resamples: a standard error of .002
    assert low < np.mean(y == y_pred) < high
    json.dumps(result.to_dict(), allow_nan=False)


def test_the_other_class_positive_and_gold(data):
    y, y_pred, labels = data
    one, other = (
        jt.evaluate(y_pred, labels, noise=NOISE, prior=PRIOR, method="tars", positive=p) for p in (1, 0)
    )
    np.testing.assert_allclose(other.confusion_matrix, one.confusion_matrix[::-1, ::-1])
    np.testing.assert_allclose(other.accuracy.mean, one.accuracy.mean)
    all_gold = jt.evaluate(y_pred, labels, noise=NOISE, prior=PRIOR, method="tars", gold=y)
    table = np.zeros((2, 2))
    np.add.at(table, (y, y_pred), 1)
    np.testing.assert_allclose(all_gold.confusion_matrix, table, atol=1e-9)


def test_three_classes_by_the_full_system(data):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 600)
    z = np.where(rng.random((600, 3)) < 0.3, rng.integers(0, 3, (600, 3)), y[:, None])
    y_pred = np.where(rng.random(600) < 0.2, rng.integers(0, 3, 600), y)
    noise = jt.noise.Symmetric(0.2, 3)
    result = jt.evaluate(y_pred, jt.Labels.from_matrix(z, 3), noise=noise, prior=[1 / 3] * 3, method="tars")
    low, high = result.estimate("macro_f1").interval(0.9999)
    assert result.confusion_matrix.shape == (3, 3) and low < 0.87 < high


def test_what_it_refuses(data):
    _, y_pred, labels = data
    with pytest.raises(ValueError, match=r"give noise=\.\.\. and prior"):
        jt.evaluate(y_pred, labels, method="tars")
    with pytest.raises(ValueError, match=r"give prior=\[\.\.\.\], or use 'bayes'"):
        jt.evaluate(y_pred, labels, noise=NOISE, method="tars")
    with pytest.raises(ValueError, match="hardly depends on the class"):
        jt.evaluate(y_pred, labels, noise=NOISE, prior=[0.999, 0.001], method="tars")
