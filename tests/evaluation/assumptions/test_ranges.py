"""The sensitivity range: members, hull, words; and what it does not pretend to be."""

import json

import jax
import numpy as np
import pytest

import jtruth as jt
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions import ranges, registry
from jtruth.evaluation.assumptions.registry import ASSUMPTIONS
from jtruth.tables.metrics import shown
from jtruth.tables.posterior import estimates

pytestmark = pytest.mark.usefixtures("enough_sweeps")


def crowd(seed, n=300, labelers=3, classes=2, hard=0.3):
    """Truth, predictions and labels; hard samples fool everybody."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    chance = np.where(rng.random(n) < hard, 0.55, 0.93)
    wrong = (y[:, None] + rng.integers(1, classes, (n, labelers + 1))) % classes
    given = np.where(rng.random((n, labelers + 1)) < chance[:, None], y[:, None], wrong)
    return y, given[:, 0], jt.Labels.from_matrix(given[:, 1:], classes)


@pytest.fixture(scope="module")
def result():
    _, y_pred, labels = crowd(0)
    return jt.evaluate(y_pred, labels)


def test_the_default_is_a_range_and_says_so_first(result):
    first, *_ = str(result).splitlines()
    assert result.interval_kind == "sensitivity range" and "sensitivity range" in first
    assert [a.name for a in result.assumptions] == [e.name for e in ASSUMPTIONS.values() if e.shown]
    for entry in ASSUMPTIONS.values():
        assert (entry.sentence in str(result)) == entry.shown
    assert any("only gold" in w for w in result.warnings)
    json.dumps(result.to_dict(), allow_nan=False)


@pytest.mark.parametrize("metric", shown("01"))
def test_range_is_the_hull_and_point_the_mean(result, metric):
    by_name = {a.name: a.metrics[metric] for a in result.assumptions}
    for level in (0.8, 0.95):
        ends = [by_name[name].interval(level) for name, entry in ASSUMPTIONS.items() if entry.hull]
        found = result.metrics[metric].interval(level)
        assert found.low == min(e.low for e in ends) and found.high == max(e.high for e in ends)
    point = np.mean([by_name[name].mean for name, entry in ASSUMPTIONS.items() if entry.point])
    assert result.metrics[metric].mean == pytest.approx(point)
    assert np.isnan(result.metrics[metric].sd)


def test_independence_is_inside_where_the_model_that_contains_it_gives_no_answer():
    """Else a range of vote and independence is the vote's alone: no width, and the point outside of it."""
    _, y_pred, labels = crowd(0, n=60)
    data = inputs.read(y_pred, labels, None, None, None, None)
    two = [ASSUMPTIONS[name] for name in ("majority_vote", "independent")]
    found, _ = ranges.members(two, data, jax.random.key(0))
    assert [m.entry.hull for m in found] == [True, True] and not ASSUMPTIONS["independent"].hull
    answer = ranges.range_answer(found, data)
    law = estimates(answer.table, answer.classes, answer.positive)["accuracy"]
    low, high, _ = law.interval(0.95)
    assert low < law.mean < high
    three, _ = ranges.members([*two, ASSUMPTIONS["labeler_strata"]], data, jax.random.key(0))
    assert [m.entry.hull for m in three] == [True, False, True]


def test_a_range_has_no_law(result):
    for ask in (
        lambda: result.recall.density(np.array([0.5])),
        lambda: result.recall.sample(jax.random.key(0), 3),
        lambda: result.recall.region(0.9),
    ):
        with pytest.raises(ValueError, match="no probability law"):
            ask()
    assert result.f_score(2.0).interval().low < result.f_score(2.0).mean
    with pytest.raises(ValueError, match="no joint posterior"):
        result.joint()


def test_members_are_the_answers_that_one_gets_by_asking_for_them(result):
    _, y_pred, labels = crowd(0)
    alone = jt.evaluate(y_pred, labels, assume="independent")
    member = next(a for a in result.assumptions if a.name == "independent")
    assert alone.recall.mean == member.metrics["recall"].mean
    assert alone.interval_kind == "posterior" and len(alone.assumptions) == 1


@pytest.mark.slow
def test_shared_difficulty_is_one_law_of_two_models(result):
    _, y_pred, labels = crowd(0)
    pooled = jt.evaluate(y_pred, labels, assume="shared_difficulty")
    one, two = (
        next(a for a in result.assumptions if a.name == name).metrics["accuracy"]
        for name in ("shared_strata", "random_effect")
    )
    assert pooled.interval_kind == "posterior" and "samples differ in how hard" in str(pooled)
    assert abs(pooled.accuracy.mean - 0.5 * (one.mean + two.mean)) < 0.02  # other random numbers
    low, high = pooled.accuracy.interval()[:2]
    assert low < one.mean < high and low < two.mean < high


@pytest.mark.slow
def test_majority_vote_draws_have_the_mean_of_the_counts():
    _, y_pred, labels = crowd(1, labelers=4)  # ties occur
    result = jt.evaluate(y_pred, labels, fast=True)
    vote = next(a for a in result.assumptions if a.name == "majority_vote")
    for metric in ("accuracy", "recall"):
        law, naive = vote.metrics[metric], result.baselines["majority_vote"][metric]
        assert abs(law.mean - naive) < 0.005 + 0.1 * law.sd
    n, votes = y_pred.size, labels.counts()
    tied = int((votes[:, 0] == votes[:, 1]).sum())  # a coin each, right or wrong whatever was predicted
    assert tied and vote.metrics["accuracy"].sd == pytest.approx(np.sqrt(tied) / 2 / n, rel=0.1)
    data = inputs.read(y_pred, labels, None, None, None, 1)
    data.target = "population"
    draws = np.einsum("dcc->d", registry.vote_draws(data, jax.random.key(0))) / n
    expected = np.sqrt(draws.mean() * (1 - draws.mean()) / n)
    assert draws.std() == pytest.approx(expected, rel=0.1)


@pytest.mark.slow
def test_fast_has_fewer_members_and_both_directions():
    _, y_pred, labels = crowd(2)
    result = jt.evaluate(y_pred, labels, fast=True)
    assert [a.name for a in result.assumptions] == ["majority_vote", "independent", "random_effect"]
    assert result.interval_kind == "sensitivity range"


@pytest.mark.slow
def test_three_classes():
    _, y_pred, labels = crowd(3, classes=3, n=200)
    result = jt.evaluate(y_pred, labels)
    assert [a.name for a in result.assumptions] == [
        "majority_vote", "independent", "labeler_strata", "shared_strata",
    ]  # fmt: skip
    assert result.metrics["macro_f1"].interval().low < result.metrics["macro_f1"].mean
    assert (result.confusion_low <= result.confusion_matrix).all()
    assert (result.confusion_matrix <= result.confusion_high).all()


def test_known_noise_is_taken_at_its_word():
    _, y_pred, labels = crowd(4, n=60)
    result = jt.evaluate(y_pred, labels, noise=jt.noise.Symmetric(0.1, 2), prior=[0.5, 0.5])
    assert result.interval_kind == "posterior" and result.assumptions[0].name == "independent"


def test_a_member_that_has_switched_is_left_out_by_name(monkeypatch):
    _, y_pred, labels = crowd(5, n=80)
    fit = registry.fit_joint

    def spoiled(*args, dependence, **kwargs):
        found = fit(*args, dependence=dependence, **kwargs)
        if dependence == "labeler_strata":
            switched = found.switching._replace(switched=True)
            return found._replace(switching=switched, warnings=("Class labels have switched.",))
        return found

    monkeypatch.setattr(registry, "fit_joint", spoiled)
    result = jt.evaluate(y_pred, labels)
    assert "labeler_strata" not in [a.name for a in result.assumptions]
    assert any("'labeler_strata' is left out" in w for w in result.warnings)


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
