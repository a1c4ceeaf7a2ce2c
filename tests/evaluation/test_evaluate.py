"""`evaluate`: perfect labels, known and learned noise, gold, one class against the rest."""

import functools
import json
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest
from sklearn import metrics as sk

import jtruth as jt
from jtruth.evaluation.assumptions import registry
from jtruth.evaluation.checks import bootstrap
from jtruth.learning import fit_joint
from jtruth.tables.metrics import default_metrics
from jtruth.testing.methods import BINARY_METHODS
from tests.reference import su_binary as su

pytestmark = pytest.mark.usefixtures("few_sets")

METRICS = default_metrics("01")
KEYS = {
    "jtruth", "method", "level", "num_samples", "num_labelers", "num_labels", "classes", "positive", "prior",
    "metrics", "confusion_matrix", "labelers", "baselines", "checks", "interval_kind", "assumptions",
    "warnings",
}  # fmt: skip


def simulated(seed=0, n=120, labelers=3, error=0.2, share=0.4):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    y_pred = np.where(rng.random(n) < 0.85, y, 1 - y)
    z = np.where(rng.random((n, labelers)) < error, 1 - y[:, None], y[:, None])
    z[rng.random((n, labelers)) < 0.3] = -1
    z[:, 0] = np.where((z == -1).all(1), y, z[:, 0])
    return y, y_pred, z


def means(result):
    return {name: dist.mean for name, dist in result.metrics.items()}


@pytest.mark.parametrize("cells", [(3, 5, 4, 7), (0, 0, 6, 2), (4, 0, 3, 0), (0, 0, 0, 1)])
def test_perfect_labels_give_scikit_learn(cells):
    """Some of each kind, one class alone, one prediction alone, one sample."""
    y, y_pred = np.repeat([0, 0, 1, 1], cells), np.repeat([0, 1, 0, 1], cells)
    labels = jt.Labels.from_matrix(y[:, None], 2)
    result = jt.evaluate(y_pred, labels, noise=jt.noise.Symmetric(0.0, 2), prior=[0.5, 0.5])
    nan = {"zero_division": np.nan}
    expected = [
        sk.accuracy_score(y, y_pred),
        sk.precision_score(y, y_pred, **nan),
        sk.recall_score(y, y_pred, **nan),
    ]
    found = [result.accuracy.mean, result.precision.mean, result.recall.mean]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(result.confusion_matrix, sk.confusion_matrix(y, y_pred, labels=[0, 1]))


def test_labels_and_their_log_likelihood_give_the_same():
    _, y_pred, z = simulated()
    noise, labels = jt.noise.Symmetric(0.2, 2), jt.Labels.from_matrix(z, 2)
    with_labels = jt.evaluate(y_pred, labels, noise=noise, prior=[0.6, 0.4])
    array = np.asarray(noise.log_likelihood(labels))
    with_array = jt.evaluate(y_pred, array, prior=[0.6, 0.4])
    assert means(with_labels) == pytest.approx(means(with_array), abs=1e-12)
    assert with_array.baselines == {} and with_array.num_labels == 0


@functools.cache
def graded(method):
    """600 samples by one method, and the share of right predictions."""
    y, y_pred, z = simulated(3, n=600)
    labels, noise = jt.Labels.from_matrix(z, 2), jt.noise.Symmetric(0.2, 2)
    key = jax.random.key(0)
    result = jt.evaluate(y_pred, labels, noise=noise, prior=[0.6, 0.4], method=method, key=key)
    return result, np.mean(y == y_pred)


SLOW = ("sampling", "exact_means", "labels")  # test_results has them for three classes


@pytest.mark.parametrize(
    "method",
    [
        *(pytest.param(m, marks=[pytest.mark.slow] * (m in SLOW)) for m in BINARY_METHODS),
        "majority_vote",
        "tars",
    ],
)
def test_every_method_answers_near_the_truth(method):
    result, right = graded(method)
    slack = {"bayes": 0.06, "empirical_bayes": 0.06, "sampling": 0.06, "exact_means": 0.06}.get(method, 0.25)
    assert abs(result.accuracy.mean - right) < slack
    assert set(result.metrics) == set(METRICS)
    json.dumps(result.to_dict(), allow_nan=False)
    fit = result.fit
    if method in ("empirical_bayes", "sampling", "exact_means", "labels"):
        assert bool(fit.converged) and fit.path.shape[1] == 2 and int(fit.num_steps) >= 1
    if method != "bayes":
        assert result.warnings, "a method that is not the default says what it leaves out"


def test_result_in_a_float32_process_is_float64():
    _, y_pred, z = simulated(5)
    labels, noise = jt.Labels.from_matrix(z, 2), jt.noise.Symmetric(0.2, 2)
    wide = jt.evaluate(y_pred, labels, noise=noise, prior=[0.6, 0.4])
    with jax.enable_x64(False):
        narrow = jt.evaluate(y_pred, labels, noise=noise, prior=[0.6, 0.4])
    assert means(narrow) == means(wide)


def test_gold_is_taken_as_true():
    y, y_pred, z = simulated(6)
    labels = jt.Labels.from_matrix(z, 2)
    result = jt.evaluate(y_pred, labels, noise=jt.noise.Symmetric(0.2, 2), prior=[0.6, 0.4], gold=y)
    assert result.accuracy.mean == pytest.approx(np.mean(y == y_pred), abs=1e-12)
    assert result.in_sample.accuracy.sd < 1e-9 and "(gold) were used" in result.summary(full=True)


def three_classes():
    rng = np.random.default_rng(7)
    y = rng.integers(0, 3, 80)
    z = np.where(rng.random((80, 4)) < 0.7, y[:, None], rng.integers(0, 3, (80, 4)))
    y_pred = np.where(rng.random(80) < 0.8, y, rng.integers(0, 3, 80))
    return y, y_pred, jt.Labels.from_matrix(z, 3), jt.noise.Symmetric(0.25, 3), np.array([0.2, 0.3, 0.5])


def test_binary_methods_take_one_class_against_the_rest():
    _, y_pred, labels, noise, prior = three_classes()
    result = jt.evaluate(y_pred, labels, noise=noise, prior=prior, positive=2, method="exact_means")
    p = prior[None, :] * np.exp(np.asarray(noise.log_likelihood(labels)))
    binary = np.log(np.stack([p[:, :2].sum(1) / 0.5, p[:, 2] / 0.5], 1))
    by_hand = jt.evaluate((y_pred == 2).astype(int), binary, prior=[0.5, 0.5], method="exact_means")
    assert means(result) == pytest.approx(means(by_hand), abs=1e-10)
    assert any("against all others" in w for w in result.warnings)


def test_unknown_prior_is_integrated_out_and_said():
    _, y_pred, z = simulated(8, n=60)
    labels = jt.Labels.from_matrix(z, 2)
    result = jt.evaluate(y_pred, labels, noise=jt.noise.Symmetric(0.2, 2), target="in-sample")
    assert any("integrated out" in w for w in result.warnings)
    fixed = jt.evaluate(
        y_pred, labels, noise=jt.noise.Symmetric(0.2, 2), prior=result.prior, target="in-sample"
    )
    assert result.precision.sd > 0.99 * fixed.precision.sd
    assert abs(result.precision.mean - fixed.precision.mean) < 0.05
    assert result.joint("precision", "recall").mean[0] == pytest.approx(result.precision.mean, abs=1e-6)


def test_one_labeler_without_gold_is_not_identified():
    _, y_pred, z = simulated(9, labelers=1)
    result = jt.evaluate(y_pred, jt.Labels.from_matrix(np.abs(z), 2))
    assert all(np.isnan(dist.mean) for dist in result.metrics.values())
    assert result.to_dict()["metrics"]["recall"]["mean"] is None
    assert result.summary(full=True).startswith("Not identified") and result.checks[0].name == "identified"
    json.dumps(result.to_dict(), allow_nan=False)


def test_dictionary_has_the_promised_keys_and_levels_nest():
    _, y_pred, z = simulated(10)
    labels = jt.Labels.from_matrix(z, 2)
    result = jt.evaluate(y_pred, labels, noise=jt.noise.Symmetric(0.2, 2), prior=[0.6, 0.4])
    assert set(result.to_dict()) >= KEYS
    narrow, wide = (
        result.to_dict(level=0.5)["metrics"]["recall"],
        result.to_dict(level=0.99)["metrics"]["recall"],
    )
    assert wide["low"] <= narrow["low"] <= narrow["high"] <= wide["high"]
    assert result.f_score(1.0).mean == pytest.approx(result.metrics["f1"].mean)
    assert result.f_score(3.0).mean != pytest.approx(result.metrics["f1"].mean)
    text = result.summary(full=True)
    assert "recall" in text.lower() and "majority vote" in text and "independently" in text


@pytest.fixture(scope="module")
def dentists():
    return jt.read_labels(Path(__file__).parents[2] / "examples" / "caries.csv").split_rater("5")


def test_plugged_in_rates_by_hand():
    """Labelers who always agree: counts of 8 and 12, and .01 of a label in every cell of every row."""
    y = np.repeat([0, 1], [8, 12])
    result = jt.evaluate(y, jt.Labels.from_matrix(np.stack([y, y, y], axis=1), 2), method="plug_in")
    expected = 0.4 * 8.01 / 8.02 + 0.6 * 12.01 / 12.02
    for labeler in result.labelers:
        assert labeler["accuracy"] == pytest.approx(expected, abs=2e-6)


def test_learned_error_rates_are_part_of_the_answer(dentists):
    """Dentist 5 under independence, as measured elsewhere: recall .916, precision .420, accuracy .737."""
    result = jt.evaluate(dentists.y_pred, dentists.labels, assume="independent", target="in-sample")
    expected = {
        "recall": (0.916, 0.899, 0.934),
        "precision": (0.420, 0.394, 0.446),
        "accuracy": (0.737, 0.727, 0.747),
    }
    for name, (mean, low, high) in expected.items():
        dist = result.metrics[name]
        np.testing.assert_allclose([dist.mean, *dist.equal_tails()], [mean, low, high], atol=4e-3)
    assert result.prior[1] == pytest.approx(0.195, abs=0.003)
    plugged = jt.evaluate(dentists.y_pred, dentists.labels, method="plug_in", target="in-sample")
    assert any("too narrow" in w for w in plugged.warnings)
    assert plugged.precision.sd < 0.6 * result.precision.sd
    worst, *_, best = result.labelers
    assert worst["accuracy"] <= best["accuracy"] and worst["low"] is not None
    misfit = result.checks[0]
    assert misfit.verdict == "does not fit" and misfit.statistic == pytest.approx(129.85, abs=0.02)
    assert "on 20 degrees of freedom" in misfit.message and misfit.p_value == 1 / (bootstrap._MOST + 1)


def test_a_seed_gives_the_same_answer_and_another_one_nearly(dentists, monkeypatch):
    monkeypatch.setattr(registry, "fit_joint", fit_joint)  # each time anew
    data = dentists.y_pred, dentists.labels
    one, two, other = (jt.evaluate(*data, assume="independent", key=seed).recall.mean for seed in (1, 1, 2))
    assert one == two and one != other and abs(one - other) < 3e-3


def test_evidence_compares_noise_models_and_includes_the_labels():
    _, y_pred, z = simulated(11, n=8)
    labels, noise = jt.Labels.from_matrix(z, 2), jt.noise.Symmetric(0.2, 2)
    result = jt.evaluate(y_pred, labels, noise=noise, prior=[0.6, 0.4])
    lik = np.exp(np.asarray(noise.log_likelihood(labels)))
    _, evidence = su.enumerate_labels(lik, [0.6, 0.4], list(y_pred), alpha=su.beta_rows(1, 1, 1, 1))
    assert result.log_evidence == pytest.approx(np.log(evidence), abs=1e-10)
    unknown = jt.evaluate(y_pred, labels, noise=noise)
    shares = (np.arange(100) + 0.5) / 100
    each = [
        su.enumerate_labels(lik, [1 - s, s], list(y_pred), alpha=su.beta_rows(1, 1, 1, 1))[1] for s in shares
    ]
    assert unknown.log_evidence == pytest.approx(np.log(np.mean(each)), abs=1e-4)


@pytest.mark.parametrize("positive", [None, 0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("given", [{"noise": jt.noise.Symmetric(0.2, 2)}, {"assume": "independent"}])
def test_the_prior_is_in_the_order_of_the_classes(positive, given, few_lineages):
    """It stood beside swapped names where the first class is the positive one."""
    rng = np.random.default_rng(0)
    y = (rng.random(120) < 0.25).astype(int)
    z = np.where(rng.random((120, 4)) < 0.8, y[:, None], 1 - y[:, None])
    labels = replace(jt.Labels.from_matrix(z, 2), classes=("no", "yes"))
    found = jt.evaluate(
        y, labels, positive=None if positive is None else labels.class_names[positive], **given
    )
    share = dict(zip(found.classes, found.prior, strict=True))
    assert share["no"] == pytest.approx(0.75, abs=0.12) and share["yes"] == pytest.approx(0.25, abs=0.12)
    known = jt.evaluate(y, labels, noise=jt.noise.Symmetric(0.2, 2), prior=[0.7, 0.3], positive="no")
    assert dict(zip(known.classes, known.prior, strict=True)) == {"no": 0.7, "yes": 0.3}


def test_the_prior_of_one_class_against_the_rest():
    z = np.repeat([[0, 0, 0], [1, 1, 1], [2, 2, 2]], [30, 20, 10], axis=0)
    labels = jt.Labels.from_matrix(z, 3)
    found = jt.evaluate(z[:, 0], labels, noise=jt.noise.Symmetric(0.1, 3), prior=[0.5, 0.3, 0.2], positive=2,
                        method="exact_means")  # fmt: skip
    assert dict(zip(found.classes, found.prior, strict=True)) == pytest.approx({"not 2": 0.8, "2": 0.2})
