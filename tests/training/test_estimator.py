"""The scikit-learn estimator: its own checks, cloning, searching, pickling, forms of labels, scores."""

import pickle
import warnings

import jax
import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import jtruth as jt
from jtruth._host import log_odds
from jtruth.labels import Labels
from jtruth.noise import ConfusionMatrices, with_known_labels
from jtruth.posterior import class_posterior
from jtruth.testing import curves_at_thresholds
from jtruth.training import fit_gaussians, fit_linear
from jtruth.training.estimator import NoisyLabelClassifier, estimated_auc_score

MATRICES = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.3, 0.7]], [[0.8, 0.2], [0.4, 0.6]]])
PRIOR = np.array([0.4, 0.6])


def crowd(seed=0, n=120):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.6).astype(int)
    x = rng.normal(size=(n, 2)) + np.array([2.0, -1.0]) * y[:, None]
    z = (rng.random((n, 3)) < MATRICES[:, y, 1].T).astype(int)
    z[rng.random(z.shape) < 0.2] = -1
    z[(z < 0).all(axis=1), 0] = 1
    return x, y, z


@pytest.mark.slow
def test_estimator_checks_of_scikit_learn():
    """All of them that apply to a classifier pass; the skipped one needs a setting of SciPy's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke warnings
        results = check_estimator(NoisyLabelClassifier(), on_fail=None, on_skip=None)
    other = {r["check_name"]: r["exception"] for r in results if r["status"] != "passed"}
    assert set(other) <= {"check_array_api_input"}, other
    assert len(results) > 40


def test_certain_labels_equal_scikit_learn():
    x, y, _ = crowd()
    names = np.array(["no", "yes"])[y]
    ours, theirs = NoisyLabelClassifier(), LogisticRegression(tol=1e-10)
    np.testing.assert_array_equal(ours.fit(x, names).predict(x), theirs.fit(x, names).predict(x))
    np.testing.assert_allclose(ours.predict_proba(x), theirs.predict_proba(x), atol=1e-6)
    np.testing.assert_allclose(ours.decision_function(x), theirs.decision_function(x), atol=1e-5)
    assert ours.score(x, names) == theirs.score(x, names)


@pytest.mark.parametrize("objective", ["mmse", pytest.param("ml", marks=pytest.mark.slow)])
def test_forms_of_labels_agree_with_fit_linear(objective):
    x, _, z = crowd()
    labels = Labels.from_matrix(z, 2)
    noise = ConfusionMatrices(MATRICES)
    expected = fit_linear(x, noise.log_likelihood(labels), PRIOR, objective=objective).model.weights
    for y, given in [(z, MATRICES), (labels, noise)]:
        model = NoisyLabelClassifier(objective=objective, noise=given, prior=PRIOR).fit(x, y)
        np.testing.assert_allclose(model.fit_.model.weights, expected, atol=1e-6)
        assert model.classes_.tolist() == [0, 1] and model.n_iter_ > 0
    with jax.enable_x64(False):
        short = NoisyLabelClassifier(objective=objective, noise=MATRICES, prior=PRIOR).fit(x, z)
    np.testing.assert_allclose(short.fit_.model.weights, expected, atol=1e-6)


@pytest.mark.slow
def test_generative_estimated_and_joint_training():
    x, y, z = crowd()
    nb = NoisyLabelClassifier(objective="ml", model="naive_bayes", noise=MATRICES).fit(x, z)
    log_likelihood = ConfusionMatrices(MATRICES).log_likelihood(Labels.from_matrix(z, 2))
    expected = fit_gaussians(x, log_likelihood, nb.prior_)
    np.testing.assert_allclose(nb.fit_.model.means, expected.model.means, rtol=1e-9)
    shared = NoisyLabelClassifier(objective="label_estimation", noise=MATRICES).fit(x, z)
    raykar = NoisyLabelClassifier(objective="raykar").fit(x, z)
    for model in (nb, shared, raykar):
        assert (model.predict(x) == y).mean() > 0.85
        np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1, rtol=1e-12)


@pytest.mark.slow
def test_cloned_searched_in_a_pipeline_and_pickled():
    x, _, z = crowd()
    estimator = NoisyLabelClassifier(noise=MATRICES, prior=PRIOR)
    assert is_classifier(estimator) and clone(estimator).get_params()["prior"] is not None
    grid = {"noisylabelclassifier__regularisation": [0.5, 5.0]}
    search = GridSearchCV(make_pipeline(StandardScaler(), estimator), grid, cv=3, error_score="raise")
    search.fit(x, z)
    assert 0.5 < search.best_score_ < 1
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict_proba(x), search.predict_proba(x))


@pytest.mark.slow
def test_scores_against_noisy_labels():
    """The posterior mean of the accuracy, near the truth; a scorer of one's own sees the same arrays."""
    x, y, z = crowd(n=600)
    labels = Labels.from_matrix(z, 2)
    plain = NoisyLabelClassifier(noise=MATRICES, prior=PRIOR).fit(x, z)
    exact = plain.score(x, labels)
    assert abs(exact - (plain.predict(x) == y).mean()) < 0.06
    known = {"noise": ConfusionMatrices(MATRICES), "prior": PRIOR}
    evaluated = jt.evaluate(plain.predict(x), labels, **known).accuracy.mean
    assert exact == pytest.approx(evaluated, abs=1e-12)

    def attenuated(y_pred, log_likelihood, prior):
        rho = np.asarray(class_posterior(log_likelihood, prior))
        return rho[np.arange(len(y_pred)), y_pred].mean()

    assert 0.6 < plain.set_params(scorer=attenuated).score(x, z) < exact


@pytest.mark.slow
def test_the_scorer_of_areas():
    """Correct labels: the area itself (rates are clipped to .001); noisy ones: that of Algorithm 1."""
    x, y, z = crowd(n=300)
    model = NoisyLabelClassifier(noise=MATRICES, prior=PRIOR, scorer=estimated_auc_score).fit(x, z)
    odds = log_odds(np.asarray(ConfusionMatrices(MATRICES).log_likelihood(Labels.from_matrix(z, 2))), PRIOR)
    by_hand = curves_at_thresholds(odds, model.decision_function(x)).area_in_order
    assert model.score(x, z) == pytest.approx(by_hand, abs=1e-9)
    area = roc_auc_score(y, model.decision_function(x))
    assert abs(by_hand - area) < 0.08
    correct = with_known_labels(np.zeros((len(y), 2)), y)
    certain = estimated_auc_score(model.decision_function(x), np.asarray(correct), PRIOR)
    assert certain == pytest.approx(area, abs=3e-3)
    with pytest.raises(ValueError, match="two classes"):
        estimated_auc_score(np.zeros(3), np.zeros((3, 3)), np.full(3, 1 / 3))


@pytest.mark.parametrize(
    ("options", "labels", "message"),
    [
        ({"objective": "map"}, None, "objective must be one of"),
        ({"model": "lda"}, None, "is generative: use objective='ml'"),
        ({"loss": "hinge"}, None, "gives no probabilities; use fit_linear"),
        ({"objective": "raykar", "noise": 0.1}, None, "learns the labelers' error rates"),
        ({"noise": 0.1, "prior": [0.5, 0.4]}, None, "prior sums to 0.9"),
        ({"noise": 1.5}, None, "1.5"),
        (
            {"classes": ["a", "b"]},
            ["a", "c", "b"],
            "y holds np.str_\\('c'\\), which is not one of the classes",
        ),
        ({}, ["a", "a", "a"], "at least 2 classes"),
        ({}, ["a", "b"], "inconsistent numbers of samples"),
    ],
)
def test_bad_input(as_installed, options, labels, message):
    x, y = np.arange(6.0).reshape(3, 2), np.array(labels or [0, 1, 1])
    with pytest.raises(ValueError, match=message):
        NoisyLabelClassifier(**options).fit(x, y)
