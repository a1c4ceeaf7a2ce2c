"""`result.plot()` of every answer: what is drawn is what is said."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

import jtruth as jt
from jtruth import cleaning, information, plots
from jtruth.asking.labels import LabelRequest
from jtruth.cleaning.state import State
from jtruth.comparison import LeaveOneOut, ModelComparison
from jtruth.evaluation.any_metric import MetricPosterior
from jtruth.evaluation.gold.shares import Prevalence
from jtruth.evaluation.labelers import LabelerReport
from jtruth.evaluation.parts import Check
from jtruth.inspection import inspect_labels
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.planning import Labeler, Setting, best_plan
from jtruth.plots import ConfusionMatrixDisplay
from jtruth.stats.draws import DrawsEstimate


@pytest.fixture(autouse=True)
def clean():
    yield
    plt.close("all")


def notes(ax):
    return [text.get_text() for text in ax.texts]


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
    assert notes(ax) == ["not identified"] and "share of yes" in ax.get_ylabel()
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
    assert notes(ax) == ["+0.0 [+0.0, +0.0]", "-9.0 [-13.0, -5.0]"]
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
    several = replace(result, what_if=parts)
    texts = [text.get_text() for text in plots.plot_joints(several).get_legend().get_texts()]
    assert texts[0] == "if this" and "if that" in texts and texts[-1] == "no region: by vote"
    with pytest.raises(ValueError, match="no assumption of this answer"):
        plots.plot_joints(replace(result, what_if=parts[2:]))


def test_what_has_no_picture(result):
    with pytest.raises(ValueError, match="no picture of a dict; there is one of"):
        plots.plot_result({})


@pytest.fixture(scope="module")
def three():
    """Three classes with known error rates, one of them rare."""
    rng = np.random.default_rng(0)
    y = rng.choice(3, 200, p=[0.6, 0.35, 0.05])
    z = np.where(rng.random((200, 3)) < 0.15, rng.integers(0, 3, (200, 3)), y[:, None])
    labels = jt.Labels.from_matrix(z, 3)
    return jt.evaluate(y, labels, noise=jt.noise.Symmetric(0.1, 3), prior=[0.6, 0.35, 0.05])


def test_confusion(three):
    ax = ConfusionMatrixDisplay.from_evaluation(three).plot().ax_
    mean, low, high = three.confusion_matrix, three.confusion_low, three.confusion_high
    shade = ax.images[0].get_array()
    np.testing.assert_allclose(shade, mean / mean.sum(axis=1, keepdims=True))
    said = [f"{m:.0f}\n[{a:.0f}, {b:.0f}]" for m, a, b in zip(mean.flat, low.flat, high.flat, strict=True)]
    assert notes(ax) == said and (ax.get_xlabel(), ax.get_ylabel()) == ("predicted", "true")
    dark = [text.get_color() == "white" for text in ax.texts]
    assert dark == (shade > 0.5).ravel().tolist() and ax.images[0].get_cmap().name == "Greys"


HALVES = [[0.5, 0.5], [0.5, 0.5]]


MATRIX = {"confusion_matrix": {"mean": HALVES, "low": HALVES, "high": HALVES}}


ROWS = tuple(
    MATRIX | {"worker": w, "num_labels": n, "accuracy": a, "low": a - 0.1, "high": a + 0.05}
    for w, n, a in (("bob", 20, 0.6), ("ann\n", 30, 0.8))
)


CHECKS = (
    Check("one", 1.0, 0.4, "fits", "a"),
    Check("two", 9.0, 1e-9, "does not fit", "b"),
    Check("labelers alike", 3.0, 0.01, "worth knowing", "c"),
    Check("none", None, None, "cannot be seen", "d"),
)


def test_labelers_and_checks():
    unseen = tuple.__new__(JointPosterior, [None] * len(JointPosterior._fields))  # no picture looks at it
    report = LabelerReport(0.9, ("no", "yes"), ROWS, (0.5, 0.5), (), unseen, 0, CHECKS)
    ax = plots.plot_block(next(b for b in report.blocks().blocks if getattr(b, "name", "") == "labelers"))
    bars = [line.get_xydata() for line in ax.lines if line.get_linewidth() == 5]
    np.testing.assert_allclose(bars, [[[0.5, 0], [0.65, 0]], [[0.7, -1], [0.85, -1]]])
    assert [t.get_text() for t in ax.get_yticklabels()] == ["bob", "'ann\\n'"]
    assert notes(ax)[0] == "0.600 [0.500, 0.650]" and "90 %" in ax.get_title()
    ax = plots.plot_block(next(b for b in report.blocks().blocks if getattr(b, "name", "") == "checks"))
    points = {line.get_marker(): line.get_xydata()[0].tolist() for line in ax.lines[:-1]}
    assert points == {"x": [1e-4, 0], "^": [0.01, -2], "o": [0.4, -3]}
    assert notes(ax) == ["does not fit", "cannot be seen", "worth knowing", "fits"]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["does not fit", "worth knowing", "fits"]


Z = np.array([[0, 0, 1], [1, 1, 1], [0, 0, -1], [0, 1, -1], [1, 1, 0]])


@pytest.fixture(scope="module")
def labels():
    return jt.Labels.from_matrix(Z, 2).with_names(workers=["ann", "<b>", "cy"])


def marks(ax, marker="o"):
    return [line.get_xdata()[0] for line in ax.lines if line.get_marker() == marker]


def test_a_consensus_is_its_samples_who_says_otherwise_and_a_curve(labels):
    found = jt.consensus(labels, "majority_vote")
    samples, others, curve = found.plot().axes
    assert marks(samples) == sorted(found.probability.tolist())
    shares = [row["num_disagree"] / row["num_labels"] for row in found.labelers()]
    assert marks(others) == shares
    assert [text.get_text() for text in others.get_yticklabels()] == [r["worker"] for r in found.labelers()]
    x, y = curve.lines[0].get_xdata(), curve.lines[0].get_ydata()
    assert y[0] == 1 and x[-1] == 1
    np.testing.assert_allclose(y, [(found.probability >= at - 1e-9).mean() for at in x])


@pytest.mark.slow
def test_scores_of_every_class_and_their_averages():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    labels = jt.Labels.from_matrix(np.stack([y, y], axis=1), 3)
    p = np.eye(3)[y] * 0.5 + rng.random((60, 3)) * 0.5
    found = jt.evaluate_class_scores(p, labels, noise=jt.noise.Symmetric(0.1, 3), prior=np.full(3, 1 / 3))
    auc, *curves = found.plot().axes
    laws = [*(one.auc for one in found.each.values()), found.auc["macro"], found.auc["weighted"]]
    np.testing.assert_allclose(marks(auc), [law.mean for law in laws])
    precision = [*(one.average_precision for one in found.each.values()), *found.average_precision.values()]
    np.testing.assert_allclose(marks(auc, "s"), [law.mean for law in precision])
    assert [ax.get_title() for ax in curves] == ["ROC curve", "Precision and recall"]
    frame = found.to_frame("pandas")
    np.testing.assert_allclose(frame["auc"], [law.mean for law in laws])
    assert frame["class"].tolist() == ["0", "1", "2", "macro average", "weighted average"]


def test_doubtful_labels_most_doubtful_on_top(labels):
    p = jt.class_posterior(jt.noise.Symmetric(0.2, 2).log_likelihood(labels), np.array([0.5, 0.5]))
    found = cleaning.suspicious_labels(labels, {"one": p, "other": 0.5 * p + 0.25})
    ax, of_labelers, of_classes = found.plot().axes
    assert marks(of_labelers) == sorted(found.of_labelers, reverse=True)
    assert marks(of_classes) == found.of_classes.tolist()
    assert marks(ax) == found.p_wrong.tolist() and marks(ax) == sorted(marks(ax), reverse=True)
    lines = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2]
    np.testing.assert_array_equal(lines, np.stack([found.low, found.high], axis=1))
    assert ax.get_yticklabels()[0].get_text() == "0, cy: 1"


def test_a_request_is_a_share_of_the_variance():
    found = LabelRequest(np.array([3, 1]), np.array([0, -1]), np.array([0.02, 0.01]), np.zeros((4, 1)),
                         np.zeros(4), 0.1, "accuracy", "exact", ())  # fmt: skip
    (ax,) = found.plot().axes
    assert marks(ax) == pytest.approx([0.2, 0.1])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["3", "1"]


def test_a_cleaning_is_a_learning_curve():
    state = State(*[np.zeros(1)] * 7)
    with pytest.raises(ValueError, match="no trail"):
        state.plot()
    one, two = (0, 0.6, 0.5), (5, 0.7, 0.8)
    (ax,) = state._replace(trail=(one, two)).plot().axes
    assert [line.get_ydata().tolist() for line in map(_arrays, ax.lines)] == [[0.6, 0.7], [0.5, 0.8]]
    (ax,) = state._replace(trail=(one, (5, 0.7, None))).plot().axes
    assert len(ax.lines) == 1


def _arrays(line):
    line.set_ydata(np.asarray(line.get_ydata()))
    return line


def test_bits_of_labelers_and_of_a_team():
    noise = jt.noise.Symmetric([0.05, 0.3, 0.45], 2)
    found = information.labeler_information(noise, [0.5, 0.5])
    (ax,) = found.plot().axes
    assert marks(ax) == found.alone.tolist() and marks(ax, "x") == found.last.tolist()
    team = information.best_labelers(noise, [0.5, 0.5])
    (ax,) = team.plot().axes
    np.testing.assert_allclose(ax.lines[0].get_xydata(), np.stack([team.cost, team.bits], axis=1))
    assert ", ".join(map(str, team.order.tolist())) in ax.get_title()


def test_a_first_look_and_a_law(labels):
    look = inspect_labels(labels)
    shares, agreement = look.plot().axes
    assert marks(shares) == sorted(look.class_shares, reverse=True)
    known = [one.value for one in look.coefficients.values() if one.value == one.value]
    assert marks(agreement) == known
    law = DrawsEstimate(np.random.default_rng(0).normal(0.5, 0.1, 300))
    (ax,) = law.plot().axes
    assert ax.get_ylabel() == "posterior density" and law.mean in marks(ax)
