"""`result.plot()` of every result; pictures of shares, plans, models: what is drawn is what is said."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

import jtruth as jt
from jtruth import plots
from jtruth.comparison import LeaveOneOut, ModelComparison
from jtruth.evaluation.answers import WhatIf
from jtruth.evaluation.any_metric import MetricPosterior
from jtruth.evaluation.gold.shares import Prevalence
from jtruth.planning import Labeler, Setting, best_plan
from jtruth.stats.draws import DrawsEstimate


@pytest.fixture(autouse=True)
def clean():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    z = np.where(rng.random((200, 3)) < 0.2, 1 - y[:, None], y[:, None])
    labels = jt.Labels.from_matrix(z, 2)
    y_pred = np.where(rng.random(200) < 0.85, y, 1 - y)
    return jt.evaluate(y_pred, labels, noise=jt.noise.Symmetric(0.2, 2), prior=[0.5, 0.5])


def share(num_gold, mean, spread=0.05, law=DrawsEstimate):
    """A prevalence as `jt.prevalence` returns it."""
    draws = np.random.default_rng(num_gold).normal(mean, spread, 500)
    shares = {"no": law(1 - draws), "yes": law(draws)} if spread else {}
    return Prevalence(
        0.9, "recalibration", shares, {"no": 0.4, "yes": 0.6}, 50, 3, 150, num_gold, "", (), 0, None
    )


def bars(ax, width):
    return [line.get_xydata() for line in ax.lines if line.get_linewidth() == width]


def test_an_evaluation_in_one_line(result):
    figure = result.plot()
    metrics, confusion, checks = figure.axes
    means = [law.mean for law in result.metrics.values()]
    drawn = np.concatenate([line.get_xdata() for line in metrics.lines if line.get_marker() == "o"])
    np.testing.assert_allclose(drawn, means)
    shade = result.confusion_matrix / result.confusion_matrix.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(confusion.images[0].get_array(), shade)
    assert [t.get_text() for t in checks.get_yticklabels()] == [check.name for check in result.checks]
    mine, ax = plt.subplots()
    assert result.plot(ax) is mine and len(ax.lines) == len(metrics.lines)


def test_a_block_with_the_true_value(result):
    block = next(one for one in result.blocks().tables() if one.name == "metrics")
    assert plots.plot_block(block, ideal={"accuracy": 0.85}).collections[0].get_label() == "true value"


def test_shares_and_the_progress_of_gold():
    found = share(30, 0.7)
    (ax,) = found.plot().axes
    low, high = found.shares["yes"].interval(0.9)
    np.testing.assert_allclose(bars(ax, 5)[1], [[low, -1], [high, -1]])
    crosses = np.concatenate([line.get_xydata() for line in ax.lines if line.get_marker() == "x"])
    assert crosses.tolist() == [[0.4, 0], [0.6, -1]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["share [interval]", "of the labels"]
    many = [found, share(0, 0.6, 0), share(10, 0.65, 0.1)]
    ax = plots.plot_gold_progress(many, "yes", ideal=0.68)
    assert ax.lines[0].get_xdata().tolist() == [10, 30]
    np.testing.assert_allclose(ax.collections[0].get_segments()[1], [[30, low], [30, high]])
    assert [text.get_text() for text in ax.texts] == ["not identified"] and "share of yes" in ax.get_ylabel()
    with pytest.raises(ValueError, match="metric='maybe' is no class; there are no, yes"):
        plots.plot_gold_progress(many, "maybe")
    with pytest.raises(ValueError, match="one answer or more"):
        plots.plot_gold_progress([])


def test_a_plan_is_a_curve_with_its_price():
    kinds = [Labeler("crowd", 0.2, 0.1, 3), Labeler("expert", 0.05)]
    found = best_plan(Setting((0.4, 0.6), 0.9, kinds, rates="known"), width=0.1, key=0, num_sets=20)
    above, *others = found.plot().axes
    curve = next(ax.lines[0].get_xydata() for ax in others if ax.get_xlabel() == "samples")
    mine = sorted((found.best, *found.neighbours), key=lambda row: row.plan.num_samples)
    np.testing.assert_allclose(curve, [(row.plan.num_samples, row.width) for row in mine])
    assert len(above.get_yticks()) == 1 + len(found.others) + len(found.neighbours)


def test_models_agreement_and_any_number():
    loo = LeaveOneOut(-10.0, 1.0, 2.0, np.zeros(4), np.array([0.1, 0.9, 0.1, 0.1]), 0.7)
    gap, error = np.array([0.0, -9.0]), np.array([0.0, 2.0])
    found = ModelComparison(("a", "b"), (loo, loo), gap, error, (False, True), "a is best.", (), 0)
    (ax,) = found.plot().axes
    assert bars(ax, 5)[1].tolist() == [[-13, -1], [-5, -1]]
    assert [text.get_text() for text in ax.texts] == ["+0.0 [+0.0, +0.0]", "-9.0 [-13.0, -5.0]"]
    labels = jt.Labels.from_matrix(np.random.default_rng(0).integers(0, 2, (30, 3)), 2)
    agreed = jt.labeler_agreement(labels, key=0)
    ax = agreed.plot().axes[0]
    points = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert points == [one.value for one in agreed.overall.values()]
    draws = np.random.default_rng(0).normal(0.5, 0.1, (300, 2))
    (ax,) = MetricPosterior({"independent": draws}, 0.9, "", ()).plot().axes
    assert [text.get_text() for text in ax.get_yticklabels()] == ["[0]", "[1]"]


def test_scores_classifiers_and_sensitivity(result):
    found = result.sensitivity("error_rates", values=[0.5, 1.0])
    above = found.plot().axes[0]
    drawn = [line.get_xdata()[0] for line in above.lines if line.get_marker() == "o"]
    np.testing.assert_allclose(drawn, [law.mean for law in found.metrics["recall"]])
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 200)
    log_lik = np.log(np.where(np.eye(2)[y] > 0, 0.8, 0.2))
    said = {n: np.where(rng.random(200) < a, y, 1 - y) for n, a in (("poor", 0.7), ("good", 0.9))}
    compared = jt.compare_classifiers(said, log_lik, prior=[0.5, 0.5])
    rows, gaps = compared.plot().axes
    assert [text.get_text() for text in rows.get_yticklabels()] == ["good", "poor"]
    law = compared.differences["poor", "good"]
    np.testing.assert_allclose(bars(gaps, 5)[0][:, 0], np.sort(-np.array(law.interval(0.95))))


def test_regions_of_every_assumption(result):
    """An answer of one law has one filled region; of several, an outline for each."""
    one = plots.plot_joints(result)
    assert one.get_xlabel() == "false-alarm rate $P_{FA}$"
    joint = result.joint()
    marked = next(line.get_xydata()[0] for line in one.lines if line.get_marker() == "o")
    np.testing.assert_allclose(marked, joint.mean[::-1])
    part = result.assumptions[0]
    parts = (part._replace(sentence="if this"), part._replace(sentence="if that"),
             part._replace(sentence="by vote", posterior=None))  # fmt: skip
    several = replace(result, what_if=WhatIf(parts))
    texts = [text.get_text() for text in plots.plot_joints(several).get_legend().get_texts()]
    assert texts[0] == "if this" and "if that" in texts and texts[-1] == "no region: by vote"
    with pytest.raises(ValueError, match="no assumption of this answer"):
        plots.plot_joints(replace(result, what_if=WhatIf(parts[2:])))


def test_what_has_no_picture(result):
    with pytest.raises(ValueError, match="no picture of a dict; there is one of"):
        plots.plot_result({})
