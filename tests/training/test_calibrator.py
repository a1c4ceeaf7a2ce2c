"""`HistogramCalibrator`: scikit-learn's checks, every method and form of labels."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from jtruth import histograms as hist
from jtruth.labels import Labels
from jtruth.training.calibrator import HistogramCalibrator

RNG = np.random.default_rng(0)
F = RNG.dirichlet(np.ones(3), 200)
COUNTS = np.stack([RNG.multinomial(4, RNG.dirichlet(3 * row)) for row in F])
P = F**2 / (F**2).sum(axis=1, keepdims=True)


OTHERS = ("temperature", "matrix", "dirichlet")  # tests/histograms has them on reference data


@pytest.mark.parametrize(
    "method", ["alpha", "vector", *(pytest.param(x, marks=pytest.mark.slow) for x in OTHERS)]
)
def test_methods(method):
    fitted = HistogramCalibrator(method=method).fit(P, COUNTS)
    h = hist.from_counts(COUNTS)
    raw, found = (np.asarray(hist.log_loss(h, p)).sum() for p in (P, fitted.predict_proba(P)))
    if method == "alpha":
        np.testing.assert_allclose(fitted.predict_proba(P), P, atol=1e-7)
    else:
        assert found < raw
    assert (fitted.predict(P) == fitted.predict_proba(P).argmax(axis=1)).all()
    law = fitted.law(P)
    gini = 1 - (law.probabilities**2).sum(axis=1)
    np.testing.assert_allclose(
        fitted.predict_disagreement(P), gini * law.concentration / (1 + law.concentration), rtol=1e-10
    )
    one = fitted.posterior(P, np.zeros(200, int))
    a = law.concentration[:, None]
    np.testing.assert_allclose(one, (a * law.probabilities + [1, 0, 0]) / (a + 1), rtol=1e-10)


def test_forms_of_input_agree():
    z = np.stack([np.repeat(np.arange(3), row) for row in COUNTS])
    by_counts = HistogramCalibrator(method="temperature").fit(P, COUNTS)
    for X, y in [(P, Labels.from_matrix(z, 3)), (P, hist.from_counts(COUNTS)), (np.log(P) + 7.0, COUNTS)]:
        other = clone(by_counts).fit(X, y)
        np.testing.assert_allclose(other.predict_proba(X), by_counts.predict_proba(P), atol=1e-7)
    again = pickle.loads(pickle.dumps(by_counts))
    np.testing.assert_array_equal(again.predict_proba(P), by_counts.predict_proba(P))


def test_bad_input():
    with pytest.raises(ValueError, match="method must be one of"):
        HistogramCalibrator(method="platt").fit(P, COUNTS)
    with pytest.raises(ValueError, match="y has 2 classes but X has 3 columns"):
        HistogramCalibrator().fit(P, np.arange(200) % 2)
    with pytest.raises(ValueError, match=r"probabilities\[0\] sums to"):
        HistogramCalibrator().fit(P, COUNTS).predict_proba(P * 0.5)


@pytest.mark.slow
def test_estimator_checks_of_scikit_learn():
    """Checks that give X any number of features cannot apply: X has one column for each class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(HistogramCalibrator(), on_fail=None, on_skip=None)
    status = {r["check_name"]: (r["status"], repr(r["exception"])) for r in results}
    other = {name: text for name, (state, text) in status.items() if state == "failed"}
    foreign = {name for name, text in other.items() if "one for each class" in text or "columns" in text}
    # features that are no logits are not classified well, and so on: these two are about classifying
    assert set(other) - foreign <= {"check_classifiers_train", "check_positive_only_tag_during_fit"}, other
