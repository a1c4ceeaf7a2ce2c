"""`evaluate_scores`: scikit-learn's areas for known classes, coverage, errors for bad scores."""

import jax
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import jtruth as jt
from jtruth.answers.html import page_html
from jtruth.evaluation.assumptions.model_error import dist_of
from jtruth.evaluation.score_tables import bin_edges
from jtruth.io.gold import Gold

pytestmark = pytest.mark.usefixtures("few_sets")


def scored(seed, size=300, labelers=3, error=0.2, share=0.4):
    """(classes, scores, labels)."""
    rng = np.random.default_rng(seed)
    y = (rng.random(size) < share).astype(int)
    z = np.where(rng.random((size, labelers)) < error, 1 - y[:, None], y[:, None])
    return y, rng.normal(1.5 * y, 1.0), jt.Labels.from_matrix(z, 2)


def test_known_classes_are_scikit_learn():
    y, score, _ = scored(0)
    score = np.round(score, 1)
    with np.errstate(divide="ignore"):
        certain = np.log(np.eye(2)[y])
    found = jt.evaluate_scores(score, certain, prior=[0.6, 0.4], bins=200)
    np.testing.assert_allclose(found.auc.mean, roc_auc_score(y, score), atol=1e-12)
    np.testing.assert_allclose(found.average_precision.mean, average_precision_score(y, score), atol=1e-12)
    turned = jt.evaluate_scores(-score, certain, prior=[0.6, 0.4], bins=200, positive=0)
    np.testing.assert_allclose(turned.auc.mean, roc_auc_score(y, score), atol=1e-12)
    assert turned.positive == "0"


def test_nobody_vouches(few_lineages):
    """A distribution for each number of the curve, of two readings; it holds the truth, the key is fixed."""
    y, score, labels = scored(3, size=200, labelers=4)
    found = jt.evaluate_scores(score, labels)
    assert [view.name for view in found.assumptions] == ["majority_vote", "independent"]
    low, high = found.auc.interval(0.95)
    assert low < roc_auc_score(y, np.searchsorted(found.edges, score, side="right")) < high
    draws = {view.name: view.metrics["auc"].draws for view in found.assumptions}
    np.testing.assert_array_equal(found.auc.draws, dist_of(draws, "overall", "unknown", 200.0).draws)
    band = found.curves.roc()
    assert (band.low_all >= 0).all() and (band.low_all <= band.low).all() and (band.low <= band.high).all()
    assert (band.high <= band.high_all).all() and (band.high_all <= 1).all()
    for view in found.assumptions:
        own = np.interp(band.x, *view.posterior.roc(points=51)[:2])
        assert ((band.low <= own) & (own <= band.high))[2:-1].all()
    for line in band[1:6]:  # a curve from (0, 0) to (1, 1), and not below a threshold that is asked for
        assert line[0] == 0 and line[-1] == 1 and (np.diff(line) >= 0).all()
    everything, nothing = (found.at_threshold(t) for t in (-np.inf, np.inf))
    for one, rate in ((everything, 1.0), (nothing, 0.0)):
        assert one.recall.interval(0.95)[:2] == one.false_alarm_rate.interval(0.95)[:2] == (rate, rate)
    here = found.in_sample
    band = here.curves.roc()
    for t in here.thresholds:
        point = here.at_threshold(t)
        curve = np.interp(point.false_alarm_rate.mean, band.x[1:], band.mean[1:])
        assert curve >= point.recall.mean - 1e-9
    assert np.diff(everything.precision.interval(0.95)[:2]) > 0.01  # of the share nothing is certain
    d = found.to_dict()
    assert d["interval_kind"] == "predictive" and len(d["assumptions"]) == 2 and d["num_bins"] == 12
    text = found.summary(full=True)
    assert "Labels cannot show" in text and "95 % predictive interval" in text
    assert d["assumption"] in found.summary(full=True) and d["assumption"] in page_html(found.blocks())
    assert "half people and half LLM judges" in d["assumption"]


def test_a_stated_threshold_is_exact_and_the_cheapest_is_found():
    """With known classes: the numbers of the decision itself, though the threshold lies inside a bin."""
    y, score, _ = scored(0)
    with np.errstate(divide="ignore"):
        certain = np.log(np.eye(2)[y])
    options = {"prior": [0.6, 0.4], "bins": 10, "target": "in-sample"}
    found = jt.evaluate_scores(score, certain, threshold=0.7, cost=(1, 2), **options)
    stated, best = found.asked
    said = score >= 0.7
    assert (stated.threshold, stated.cheapest) == (0.7, None)
    means = [stated.recall.mean, stated.precision.mean, stated.false_alarm_rate.mean, stated.cost.mean]
    theirs = [
        said[y == 1].mean(),
        y[said].mean(),
        said[y == 0].mean(),
        (said * (y == 0) + 2 * ~said * y).mean(),
    ]
    np.testing.assert_allclose(means, theirs, atol=1e-12)
    costs = [(s * (y == 0) + 2 * ~s * y).mean() for s in (score >= t for t in found.thresholds)]
    np.testing.assert_allclose(best.cost.mean, min(costs), atol=1e-12)
    assert best.threshold == found.thresholds[np.argmin(costs)] and best.cheapest == (best.threshold,) * 2
    for far, recall in ((99.0, 0.0), (-99.0, 1.0)):
        (end,) = jt.evaluate_scores(score, certain, threshold=far, **options).asked
        assert (end.threshold, end.recall.mean) == (far, recall)
    assert np.isnan(found.at_threshold(np.inf).precision.mean)
    with pytest.raises(ValueError, match="lies inside a bin"):
        found.at_threshold(0.123)


@pytest.mark.slow
def test_prior_driven_areas_say_so():
    """One label a sample that is wrong in .4 (5 of 8 sets in a scan); five good labels decide. Fixed keys."""
    for labelers, error, said in ((1, 0.4, range(2, 7)), (5, 0.1, range(2))):
        found = 0
        for seed in range(6):
            _, score, labels = scored(seed, labelers=labelers, error=error, share=0.5)
            known = {"noise": jt.noise.Symmetric(error, 2), "prior": [0.5, 0.5], "bins": 10}
            answer = jt.evaluate_scores(score, labels, **known)
            found += any("depends on the prior" in text for text in answer.warnings)
        assert found in said


def test_a_class_prior_that_labels_contradict_is_said():
    _, score, labels = scored(0, labelers=5, error=0.1)
    known = {"noise": jt.noise.Symmetric(0.1, 2), "bins": 10}
    far = jt.evaluate_scores(score, labels, prior=[0.98, 0.02], **known)
    near = jt.evaluate_scores(score, labels, prior=[0.6, 0.4], **known)
    assert "contradict the class prior" in far.summary(full=True) and not near.warnings


@pytest.mark.slow
@pytest.mark.usefixtures("few_lineages")
def test_gold_gives_draws_of_whole_curves():
    """Every number follows from them, the cheapest threshold too; a score turned round says the same."""
    y, score, labels = scored(3, size=200, labelers=4)
    gold = np.where(np.arange(200) % 2, y, -1)
    found = jt.evaluate_scores(score, labels, gold=gold, cost=(1, 1))
    binned = roc_auc_score(y, np.searchsorted(found.edges, score, side="right"))
    low, high = found.auc.interval(0.95)
    assert low < binned < high < low + 0.15 and found.interval_kind == "posterior"
    assert "100 verified labels (gold) were used" in found.summary(full=True)
    low, high = found.asked[0].cheapest
    assert low <= found.asked[0].threshold <= high
    turned = jt.evaluate_scores(-score, labels, gold=gold, positive=0)
    assert abs(turned.auc.mean - found.auc.mean) < 0.02
    band = found.curves.roc(0.9, 5)
    assert (band.low_all <= band.low).all() and (band.low <= band.mean + 1e-9).all()
    with pytest.raises(ValueError, match="would not be used"):
        jt.evaluate_scores(score, labels, gold=Gold(gold, strata=np.zeros(200, int)), assume="independent")


@pytest.mark.parametrize(("share", "rare"), [(0.06, True), (0.4, False)])
def test_areas_by_gold_of_a_rare_class_are_doubtful_and_say_so(share, rare):
    rng = np.random.default_rng(2)
    y = (rng.random(200) < share).astype(int)
    gold = np.where(np.arange(200) < 80, y, -1)
    found = jt.evaluate_scores(y + rng.normal(size=200), jt.Labels.from_matrix(y[:, None], 2), gold=gold)
    assert any("One class is rare" in text for text in found.warnings) == rare


def test_scores_are_matched_by_task():
    y, score, _ = scored(5, size=40)
    rng = np.random.default_rng(0)
    tasks = [f"t{k}" for k in range(40)]
    z = np.where(rng.random((40, 3)) < 0.2, 1 - y[:, None], y[:, None])
    labels = jt.Labels.from_long(np.repeat(tasks, 3), ["a", "b", "c"] * 40, np.where(z.ravel(), "yes", "no"))
    series = pd.Series(score, index=tasks)
    options = {"noise": jt.noise.Symmetric(0.2, 2), "prior": [0.5, 0.5], "positive": "yes"}
    one = jt.evaluate_scores(series, labels, **options)
    two = jt.evaluate_scores(series.sample(frac=1, random_state=0), labels, **options)
    assert one.auc.mean == two.auc.mean and one.positive == "yes"
    with pytest.raises(ValueError, match="t0"):
        jt.evaluate_scores(series.iloc[1:], labels, **options)


def test_bins_hold_about_equal_numbers_and_ties_stay_together():
    score = np.random.default_rng(0).normal(size=1000)
    counts = np.bincount(np.searchsorted(bin_edges(score, 20), score, side="right"))
    assert counts.size == 20 and counts.min() == counts.max() == 50
    tied = np.array([0.0] * 90 + [1.0] * 5 + [2.0] * 5)
    np.testing.assert_array_equal(bin_edges(tied, 2), [1.0])
    np.testing.assert_array_equal(bin_edges(tied, 20), [1.0, 2.0])
    assert bin_edges(np.zeros(5), 20).size == 0
    assert bin_edges(score, 20, np.zeros(1000)).size == 19  # nobody is positive: equal numbers again


def test_bins_are_finer_where_the_positives_are():
    """A twentieth is positive: average precision of bins is near that of the scores, of equal ones not."""
    rng = np.random.default_rng(1)
    y = (rng.random(1000) < 0.05).astype(int)
    score = rng.normal(size=1000) + 2.5 * y
    edges = bin_edges(score, 12, y.astype(float))
    found = {"fine": edges, "equal": bin_edges(score, 12)}
    true = average_precision_score(y, score)
    off = {k: true - average_precision_score(y, np.searchsorted(e, score, "right")) for k, e in found.items()}
    assert edges.size == 11 and off["fine"] < 0.08 < 0.2 < off["equal"], off


GOOD = {"scores": [0.1, 0.9, 0.8, 0.2], "labels": np.log([[0.8, 0.2], [0.3, 0.7]] * 2), "prior": [0.5, 0.5]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [0.1, np.nan, 0.3, 0.2]}, r"scores\[1\] is nan"),
        ({"scores": ["a", "b", "c", "d"]}, "must be numbers"),
        ({"scores": [0.1, 0.2]}, "2 entries but there are 4"),
        ({"bins": 1}, "bins is 1"),
        ({"prior": None}, "needs? the class prior|need the class prior"),
        ({"assume": "shared_errors"}, "assume"),
        pytest.param(
            {"labels": jt.Labels.from_matrix(np.array([[0], [1], [1], [0]]), 2)},
            "cannot be learned",
            marks=pytest.mark.slow,
        ),
        ({"labels": np.zeros((4, 3)), "prior": [0.2, 0.3, 0.5]}, "rank two classes"),
        ({"threshold": np.nan}, "threshold is nan"),
        ({"positive": "cat"}, "positive='cat' is not one of the classes"),
        ({"cost": (1, -1)}, "neither negative"),
        ({"cost": (0, 0)}, "not both 0"),
        ({"cost": (1,)}, "give the costs of"),
        ({"scores": [0.1, np.inf, 0.3, 0.2]}, r"scores\[1\] is inf"),
    ],
)
@pytest.mark.usefixtures("few_lineages")
def test_refused(as_installed, change, message):
    with pytest.raises(ValueError, match=message):
        jt.evaluate_scores(**{**GOOD, **change})


def test_what_is_refused_otherwise_is_taken_and_equal_scores_are_said():
    assert jt.evaluate_scores(**GOOD, key=jax.random.key(0)).auc.mean > 0.5
    equal = jt.evaluate_scores(**{**GOOD, "scores": [0.5] * 4})
    assert equal.auc.mean == 0.5 and "All scores are equal" in equal.warnings[-1]
