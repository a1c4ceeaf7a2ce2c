"""Without gold: a posterior of two estimates, the rows of assumptions, their words, and their limits."""

import json

import jax
import numpy as np
import pytest

import jtruth as jt
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions import registry
from jtruth.evaluation.assumptions.model_error import dist_of, group_of, size_of
from jtruth.evaluation.assumptions.registry import ASSUMPTIONS
from jtruth.tables.metrics import default_metrics, named_metric
from tests.evaluation.crowds import crowd


@pytest.fixture(scope="module")
def result(few_lineages):
    _, y_pred, labels = crowd()
    return jt.evaluate(y_pred, labels)


def test_the_default_is_a_predictive_dist_and_says_so_first(result):
    first, *_ = result.summary(full=True).splitlines()
    assert result.interval_kind == "predictive" and "(95 % interval " in first
    assert f"The widths assume: {result.rests_on}." in result.summary(full=True)
    assert [a.name for a in result.assumptions] == [e.name for e in ASSUMPTIONS.values() if e.listed]
    for entry in ASSUMPTIONS.values():
        assert (entry.sentence in result.summary(full=True)) == entry.listed
    assert any(w.startswith("Verified labels of 30 random samples") for w in result.warnings)
    json.dumps(result.to_dict(), allow_nan=False)


@pytest.mark.parametrize("metric", [*default_metrics("01"), "kappa", "mcc", "f2"])
def test_the_dist_is_that_of_the_two_readings(result, metric):
    """By hand from the rows; the other rows have no say. Intervals lie within the bounds of the metric."""
    result = result.in_sample
    found = named_metric(metric, "01", 1)
    rows = {a.name: a.posterior for a in result.assumptions}
    readings = {name: rows[name] for name in ("majority_vote", "independent")}
    size = np.mean([size_of(table, found) for table in readings.values()])
    draws = {name: np.asarray(found.of_table(t.counts), float) for name, t in readings.items()}
    expected = dist_of(draws, group_of(found), "unknown", float(size), found.bounds)
    dist = result.estimate(metric)
    np.testing.assert_array_equal(dist.draws, expected.draws)
    for level in (0.5, 0.95, 0.9999):
        low, high = dist.interval(level)
        assert found.bounds[0] <= low < high <= found.bounds[1]
        assert level == 0.5 or low < dist.mean < high


def test_dists_of_different_numbers_are_not_laid_together(result):
    with pytest.raises(ValueError, match=r"has no joint posterior; give assumption=\.\.\."):
        result.joint()
    with pytest.raises(ValueError, match="has no assumption 'ppi'"):
        result.joint(assumption="ppi")
    with pytest.raises(ValueError, match="no joint distribution of recall and precision"):
        result.posterior.joint("recall", "precision")
    with pytest.raises(ValueError, match="there are no draws of tables"):
        result.posterior.draws(jax.random.key(0), 3)
    row = next(row for row in result.in_sample.assumptions if row.name == "independent")
    result = result.in_sample
    joint = result.joint("precision[0]", "recall[0]", assumption="independent")
    own = [row.posterior.estimate(named_metric(f"{name}[0]", "01")).mean for name in ("precision", "recall")]
    np.testing.assert_allclose(joint.mean, own, atol=1e-6)
    # Each metric has a distribution nevertheless, with all that a distribution has.
    assert result.recall.sd > 0 and result.recall.density(np.array([0.5])) >= 0


def test_cells_add_up_to_the_predictions(result):
    _, y_pred, _ = crowd()
    np.testing.assert_allclose(result.confusion_matrix.sum(axis=0), np.bincount(y_pred), rtol=1e-12)
    assert (result.confusion_low <= result.confusion_matrix).all()
    assert (result.confusion_matrix <= result.confusion_high).all() and (result.confusion_low >= 0).all()


def test_members_are_the_answers_that_one_gets_by_asking_for_them(result):
    _, y_pred, labels = crowd()
    alone = jt.evaluate(y_pred, labels, assume="independent")
    member = next(a for a in result.assumptions if a.name == "independent")
    assert alone.recall.mean == member.metrics["recall"].mean
    assert alone.interval_kind == "posterior" and len(alone.assumptions) == 1


@pytest.mark.slow
def test_shared_difficulty_is_one_dist_of_two_models(enough_sweeps):
    _, y_pred, labels = crowd(size=300)
    result = jt.evaluate(y_pred, labels)
    pooled = jt.evaluate(y_pred, labels, assume="shared_difficulty")
    one, two = (
        next(a for a in result.assumptions if a.name == name).metrics["accuracy"]
        for name in ("shared_strata", "random_effect")
    )
    assert pooled.interval_kind == "posterior" and "some samples are hard" in pooled.summary(full=True)
    assert abs(pooled.accuracy.mean - 0.5 * (one.mean + two.mean)) < 0.02  # other random numbers
    low, high = pooled.accuracy.interval()
    assert low < one.mean < high and low < two.mean < high


@pytest.mark.slow
def test_majority_vote_draws_have_the_mean_of_the_counts():
    _, y_pred, labels = crowd(1, 300)  # ties occur
    result = jt.evaluate(y_pred, labels, target="in-sample")
    vote = next(a for a in result.assumptions if a.name == "majority_vote")
    for metric in ("accuracy", "recall"):
        dist, naive = vote.metrics[metric], result.baselines["majority_vote"][metric]
        assert abs(dist.mean - naive) < 0.005 + 0.1 * dist.sd
    n, votes = y_pred.size, labels.counts()
    tied = int((votes[:, 0] == votes[:, 1]).sum())  # a coin each, right or wrong whatever was predicted
    assert tied and vote.metrics["accuracy"].sd == pytest.approx(np.sqrt(tied) / 2 / n, rel=0.1)


def test_models_without_a_say_are_fitted_when_rows_are_asked_for(few_lineages, monkeypatch):
    _, y_pred, labels = crowd()
    fit, asked = registry.fit_joint, []

    def asks(*args, **how):
        asked.append(how["dependence"])
        return fit(*args, **how)

    monkeypatch.setattr(registry, "fit_joint", asks)
    found = jt.evaluate(y_pred, labels)
    assert "Accuracy" in repr(found) and "accuracy" in str(found) and len(found.to_frame()) == 5
    assert asked == ["independent"]
    rows = found.assumptions
    assert [row.name for row in rows][:2] == ["majority_vote", "independent"] and "shared_strata" in asked
    number = len(asked)
    assert found.assumptions is rows and len(found.to_dict()["assumptions"]) == len(rows)
    assert len(asked) == number


def test_majority_vote_of_many_classes_is_not_pulled_to_chance():
    """Two samples of prior in all, not half a sample for each of a hundred cells."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 200)
    z = np.where(rng.random((200, 3)) < 0.05, rng.integers(0, 10, (200, 3)), y[:, None])
    data = inputs.read(y, jt.Labels.from_matrix(z, 10), None, None, None, 1)
    counts = registry.vote_draws(data, jax.random.key(0))
    draws = np.einsum("dcc->d", counts) / counts.sum(axis=(1, 2))
    naive = (jt.Labels.from_matrix(z, 10).counts().argmax(axis=1) == y).mean()
    assert draws.mean() == pytest.approx(naive, abs=0.015)
