"""Pictures: the posterior, the true value, names on the axes; and the pictures of answers."""

from dataclasses import replace

import jax
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.contour import QuadContourSet
from scipy import stats
from sklearn.metrics import precision_recall_curve, roc_curve

import jtruth as jt
from jtruth import histograms as hist
from jtruth import information, plots
from jtruth.cleaning.state import State
from jtruth.evaluation.gold.shares import Prevalence
from jtruth.evaluation.labelers import LabelerReport
from jtruth.evaluation.parts import Assumption, Check
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.plots._parts import title
from jtruth.plots.dists import _joint_regions
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import DensityEstimate, PmfEstimate
from jtruth.tables.metrics import METRICS
from jtruth.tables.posterior import JointDensity, JointEstimate, RangeEstimate
from jtruth.testing import curve_density
from jtruth.testing.binary.empirical_bayes import point_estimate
from jtruth.testing.steps import FixedPoint

pytestmark = pytest.mark.usefixtures("few_sets")

ROC = ("recall", "false_alarm_rate")


@pytest.fixture(scope="module")
def results():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    z = np.where(rng.random((200, 3)) < 0.2, 1 - y[:, None], y[:, None])
    y_pred = np.where(rng.random(200) < 0.85, y, 1 - y)
    arguments = {"noise": jt.noise.Symmetric(0.2, 2), "prior": [0.5, 0.5], "key": jax.random.key(0)}
    labels = jt.Labels.from_matrix(z, 2)
    return {m: jt.evaluate(y_pred, labels, method=m, **arguments) for m in ("bayes", "empirical_bayes")}


@pytest.fixture(autouse=True)
def clean():
    """Figures are closed; a picture that changed a global setting is noticed."""
    plt.close("all")  # those of other files, that ran in this process before
    before = dict(matplotlib.rcParams)
    yield
    plt.close("all")
    assert dict(matplotlib.rcParams) == before


@pytest.fixture(scope="module")
def result(results):
    return results["bayes"]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def marks(ax, marker):
    """Positions of every mark of one kind, (marks, 2)."""
    found = [line.get_xydata() for line in ax.get_lines() if line.get_marker() == marker]
    return np.concatenate(found) if found else np.zeros((0, 2))


def notes(ax):
    return [text.get_text() for text in ax.texts]


# ---- one posterior


def test_estimate_as_density():
    dist = DensityEstimate(np.linspace(0.3, 0.7, 801), stats.norm.pdf(np.linspace(0.3, 0.7, 801), 0.5, 0.03))
    draws = np.append(np.random.default_rng(0).normal(0.5, 0.03, 4000), np.nan)
    ax = plots.plot_estimate(dist, level=0.9, ideal=0.52, metric="recall", name="exact", draws=draws)
    assert ax.get_xlabel() == "recall $P_D$" and ax.get_ylabel() == "posterior density"
    assert set(legend(ax)) == {"draws", "exact", "90 % region", "mean", "mode", "true value"}
    assert ax.get_ylim()[0] == 0 and ax.get_xlim()[0] < 0.52 < ax.get_xlim()[1]
    curve = ax.get_lines()[0].get_xydata()
    np.testing.assert_allclose(curve[:, 1], stats.norm.pdf(curve[:, 0], 0.5, 0.03), atol=1e-4)
    shaded = ax.collections[0].get_paths()[0].vertices[:, 0]
    half = stats.norm.ppf(0.95) * 0.03
    np.testing.assert_allclose([shaded.min(), shaded.max()], [0.5 - half, 0.5 + half], atol=1e-4)
    np.testing.assert_allclose(marks(ax, "^")[0], [0.5, stats.norm.pdf(0, 0, 0.03)], rtol=1e-3)
    assert sum(bar.get_height() * bar.get_width() for bar in ax.patches) == pytest.approx(1)


def test_estimate_as_probabilities():
    dist = PmfEstimate(np.array([0.0, 0.25, 0.5, 0.75]), np.array([0.1, 0.2, 0.5, 0.2]), lattice=True)
    ax = plots.plot_estimate(
        dist, level=0.85, metric="precision", ideal=0.5, draws=np.array([0.5, 0.5, 0.25, 0.75])
    )
    assert ax.get_ylabel() == "posterior probability"
    outside, inside = ([s[1] for s in stems.get_segments()] for stems in ax.collections)
    np.testing.assert_allclose(outside, [[0.0, 0.1]])
    np.testing.assert_allclose(inside, [[0.25, 0.2], [0.5, 0.5], [0.75, 0.2]])
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], [0, 0.25, 0.5, 0.25])
    assert marks(ax, "^").tolist() == [[0.5, 0.5]]
    assert plots.plot_estimate(dist, ideal=0.5).get_ylim()[0] == 0


@pytest.mark.parametrize(
    ("dist", "sentence"),
    [
        (PmfEstimate(np.zeros(0), np.zeros(0), 0.0), "not identified or not defined"),
        (PmfEstimate(np.array([0.4]), np.ones(1), lattice=True), "posterior: no uncertainty"),
    ],
)
def test_estimate_without_a_density(dist, sentence):
    ax = plots.plot_estimate(dist, metric="f2")
    assert sentence in (notes(ax) or legend(ax)) and ax.get_xlabel() == "$F_{2}$"


def test_level_is_checked(results):
    for draw in (
        lambda: plots.plot_estimate(results["bayes"].recall, level=95),
        lambda: plots.plot_comparison({"exact": results["bayes"].recall}, level=0),
        lambda: plots.plot_joint(results["bayes"].joint(*ROC), levels=(0.5, 1.0)),
    ):
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            draw()
    assert not plt.get_fignums()  # refused before a figure is made


# ---- several numbers


SHOWN = ("accuracy", "recall", "false_alarm_rate", "precision", "f1")  # in the order of answers


def test_metrics(results):
    result = results["bayes"]
    ax = plots.plot_metrics(result, ideal={"accuracy": 0.85})
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == ["accuracy", "recall", "false positive rate (FPR)", "precision", "F1"]
    rows = -np.arange(5)
    means = [result.metrics[name].mean for name in SHOWN]
    np.testing.assert_allclose(marks(ax, "o"), np.stack([means, rows], 1))
    votes = [result.baselines["majority_vote"][name] for name in SHOWN]
    np.testing.assert_allclose(marks(ax, "x"), np.stack([votes, rows], 1))
    bars = [line.get_xdata() for line in ax.get_lines() if line.get_marker() == "None"]
    np.testing.assert_allclose(bars, [result.metrics[name].interval(0.95) for name in SHOWN])
    assert "95 %" in ax.get_legend().get_title().get_text() and ax.get_xlim()[1] <= 1.01
    assert legend(ax) == ["estimate and interval", "against the majority vote", "true value"]
    interval = result.accuracy.interval(0.95)
    assert notes(ax)[0] == f"{result.accuracy.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def test_every_assumption_of_every_metric_is_in_the_picture_with_its_own_colour(results):
    """Five assumptions: means only, and the lowest tick of the last metric is above the axis."""
    dist = results["bayes"].metrics
    parts = tuple(Assumption(f"a{j}", f"if {j}", dist) for j in range(5))
    ax = plots.plot_metrics(replace(results["bayes"], what_if=parts), assumptions=True)
    bottom = ax.get_ylim()[0]
    heights = [line.get_ydata()[0] for line in ax.lines]
    assert min(heights) > bottom + 0.05
    ticks = [line for line in ax.lines if line.get_markersize() == 5 and len(line.get_xdata()) == 1]
    assert len(ticks) == 5 * len(dist)
    assert [line.get_xdata()[0] for line in ticks] == [dist[name].mean for name in SHOWN for _ in parts]
    assert legend(ax)[2:] == [f"if {j}" for j in range(5)]
    bar = next(line for line in ax.lines if line.get_linewidth() == 5)
    assert len({line.get_color() for line in ticks} | {bar.get_color()}) == 6
    assert len([line for line in ax.lines if line.get_linewidth() == 5]) == len(dist)  # one bar a metric


def test_metrics_that_are_not_identified_or_below_zero(results):
    nothing = {metric: point_estimate(np.nan) for metric in results["bayes"].metrics}
    ax = plots.plot_metrics(replace(results["bayes"], metrics=nothing))
    assert notes(ax) == ["not identified"] * 5 and len(marks(ax, "o")) == 0 and len(marks(ax, "x")) == 5
    dist = PmfEstimate(np.array([-0.4, -0.2, 0.0]), np.array([0.3, 0.4, 0.3]), lattice=True)
    one = {"metrics": {"kappa": dist}, "headline": ("kappa",)}
    ax = plots.plot_metrics(replace(results["bayes"], **one))
    assert ax.get_xlim()[0] < -0.4 and "kappa" in ax.get_yticklabels()[0].get_text()


def test_comparison(results):
    dist = results["bayes"].accuracy
    answers = {"exact": dist, "labelers": np.array([0.7, 0.8, np.nan]), "vote": 0.75, "none": np.nan}
    figure, mine = plt.subplots()
    ax = plots.plot_comparison(answers, ideal=0.1, metric="accuracy", ax=mine)
    assert ax is mine and plt.get_fignums() == [figure.number]
    assert [t.get_text() for t in ax.get_yticklabels()] == list(answers)
    assert marks(ax, "d").tolist() == [[0.7, -1], [0.8, -1], [0.75, -2]]
    assert marks(ax, "o")[0, 0] == dist.mean and marks(ax, "^")[0, 0] == dist.mode
    assert notes(ax)[1:] == ["0.700 to 0.800", "0.750", "not defined"]
    assert ax.get_xlim()[0] < 0.1 and ax.get_xlabel() == "accuracy"


def test_a_range_is_a_bar_without_density(results):
    one, other = results["bayes"].accuracy, results["bayes"].recall
    hull = RangeEstimate((one, other))
    low, high = hull.interval(0.95)
    ax = plots.plot_comparison({"range": hull, "law": one}, metric="accuracy")
    bars = [line.get_xydata() for line in ax.get_lines() if line.get_linewidth() == 4]
    np.testing.assert_allclose(bars[0], [[low, 0], [high, 0]])
    assert marks(ax, "d").tolist() == [[hull.mean, 0]] and notes(ax)[0] == f"{low:.3f} to {high:.3f} (range)"
    assert "the middle of a range" in legend(ax) and "without uncertainty" not in legend(ax)
    ax = plots.plot_estimate(hull, metric="accuracy", ideal=0.5)
    assert legend(ax)[:2] == ["posterior: range at 95 %", "middle of the range"]
    span = ax.patches[0].get_extents().transformed(ax.transData.inverted())
    np.testing.assert_allclose([span.x0, span.x1], [low, high], atol=1e-9)


def test_comparison_draws_areas_to_one_scale(results):
    ax = plots.plot_comparison({m: r.recall for m, r in results.items()})
    curves = [line.get_xydata() for line in ax.get_lines() if len(line.get_xdata()) > 100]
    areas = [np.trapezoid(y + row, x) for row, (x, y) in enumerate(c.T for c in curves)]
    np.testing.assert_allclose(areas[0], areas[1], rtol=0.01)


# ---- two metrics


@pytest.mark.parametrize("method", ["bayes", "empirical_bayes"])
def test_joint_on_the_roc_plane(results, method):
    joint = results[method].in_sample.joint(*ROC)
    ax = plots.plot_joint(joint, ideal=(0.7, 0.15), points={"vote": [(0.6, 0.2), (0.75, 0.3)]})
    assert ax.get_xlabel() == "false-alarm rate $P_{FA}$" and ax.get_ylabel() == "recall $P_D$"
    np.testing.assert_allclose(marks(ax, "o"), [joint.mean[::-1]])
    peak = joint.covariance if method == "bayes" else 1e-12 * np.eye(2)
    assert (np.abs(marks(ax, "^")[0] - joint.mode[::-1]) <= 0.5 * np.sqrt(np.diag(peak))[::-1]).all()
    assert marks(ax, "*").tolist() == [[0.15, 0.7]] and marks(ax, "d").tolist() == [[0.2, 0.6], [0.3, 0.75]]
    assert "chance" not in legend(ax)  # out of sight
    assert ax.get_xlim()[0] > 0 and ax.get_ylim()[0] < 0.6


def test_joint_on_the_precision_recall_plane(results):
    ax = plots.plot_joint(results["bayes"].joint("precision", "recall"), look=plots.Look("exact"))
    assert ax.get_xlabel() == "recall $P_D$" and ax.get_ylabel() == "precision"
    assert legend(ax) == ["exact, mean", "exact, mode"]


def test_one_joint_dist_over_another(results):
    ax = plots.plot_joint(results["bayes"].joint(*ROC), look=plots.Look("exact"))
    filled = sum(isinstance(c, QuadContourSet) and c.filled for c in ax.collections)
    plots.plot_joint(results["empirical_bayes"].joint(*ROC), ax=ax, look=plots.Look("ratios", fill=False))
    assert sum(isinstance(c, QuadContourSet) and c.filled for c in ax.collections) == filled == 1
    assert {"exact, mean", "ratios, mean"} <= set(legend(ax))


def test_chance_is_drawn_where_it_is_in_sight():
    near = JointEstimate(
        *ROC, np.array([[0.4, 0.3], [0.5, 0.4], [0.3, 0.35]]), np.array([0.5, 0.3, 0.2]), 1.0
    )
    assert "chance" in legend(plots.plot_joint(near))
    assert "chance" not in legend(plots.plot_joint(near, plot_chance_level=False))


def test_regions_of_a_normal_dist_are_its_ellipses():
    """The region at `level` of two normals is the ellipse with squared radius -2 log(1 - level)."""
    mean, covariance = np.array([0.6, 0.3]), np.array([[4.0, -2.4], [-2.4, 4.0]]) * 1e-4
    normal = stats.multivariate_normal(mean, covariance)
    step = np.arange(0.15, 0.8, 0.002)
    points = np.stack(np.meshgrid(step, step, indexing="ij"), -1).reshape(-1, 2)
    weight = normal.pdf(points)
    atoms = JointEstimate(*ROC, points, weight / weight.sum(), 1.0)
    box = ((0.5, 0.7), (0.2, 0.4))
    density = JointDensity(*ROC, lambda x, y: normal.pdf(np.stack(np.broadcast_arrays(x, y), -1)), box, mean)
    for joint in (atoms, density):
        x, y, height, heights = _joint_regions(joint, (0.5, 0.95))
        cell = (x[1] - x[0]) * (y[1] - y[0])
        for level, bound in zip((0.5, 0.95), heights, strict=True):
            area = np.pi * -2 * np.log(1 - level) * np.sqrt(np.linalg.det(covariance))
            assert (height >= bound).sum() * cell == pytest.approx(area, rel=0.03)


def test_regions_reach_the_edge_of_the_unit_square():
    """A distribution that leans against recall 1 keeps its highest density there."""
    n = np.arange(200, 221)
    points = np.stack(np.meshgrid(n / 220, np.arange(10, 31) / 100, indexing="ij"), -1).reshape(-1, 2)
    weight = np.exp(-(1 - points[:, 0]) / 0.02 - (points[:, 1] - 0.2) ** 2 / 0.001)
    x, _, density, _ = _joint_regions(JointEstimate(*ROC, points, weight / weight.sum(), 1.0), (0.95,))
    assert x[-1] > 0.998 and density.max(axis=1).argmax() >= x.size - 12


def test_joint_dist_of_constants_has_marks_only():
    ax = plots.plot_joint(JointEstimate(*ROC, np.array([[0.8, 0.2]]), np.ones(1), 1.0))
    assert marks(ax, "o").tolist() == [[0.2, 0.8]]
    assert not [c for c in ax.collections if isinstance(c, QuadContourSet)]


def test_mode_of_draws_is_where_they_are_dense():
    draws = np.random.default_rng(0).normal([0.7, 0.2], [0.02, 0.03], (4000, 2))
    draws[0] = [0.62, 0.3]  # every draw is as probable as any other; the first is far out
    ax = plots.plot_joint(JointEstimate(*ROC, draws, np.full(4000, 1 / 4000), 1.0))
    assert np.abs(marks(ax, "^")[0] - [0.2, 0.7]).max() < 0.02


# ---- iterations


def test_path(results):
    fit = results["empirical_bayes"].fit
    early = FixedPoint(fit.value, np.asarray(False), np.asarray(2), fit.path)
    ax = plots.plot_path({"ratios": fit, "stopped": early}, ideal=(0.85, 0.15))
    assert legend(ax) == ["ratios", "stopped (not converged in 2 steps)", "$P_D$", "$P_{FA}$"]
    first = ax.get_lines()[0].get_xydata()
    np.testing.assert_array_equal(first[:, 1], fit.path[: int(fit.num_steps) + 1, 0])
    assert first[0].tolist() == [0, 0.5] and not np.isnan(first).any()
    assert notes(ax) == ["true $P_D$", "true $P_{FA}$"] and ax.get_xlabel() == "step"
    assert ax.get_ylim()[0] < 0.15 and ax.get_ylim()[1] > 0.85


def test_axes_are_named_by_the_registry_of_metrics(monkeypatch):
    miss = METRICS["recall"]._replace(name="miss_rate", num=(0, 0, 1, 0), axis="miss rate $1 - P_D$")
    monkeypatch.setitem(METRICS, "miss_rate", miss)
    assert title("miss_rate") == miss.axis and title("kappa") == "Cohen's kappa"
    assert title("macro_recall") == "macro recall" and title("f0.5") == "$F_{0.5}$"


# ---- answers


def share(num_gold, mean, spread=0.05, dist=DrawsEstimate):
    """A prevalence as `jt.prevalence` returns it."""
    draws = np.random.default_rng(num_gold).normal(mean, spread, 500)
    shares = {"no": dist(1 - draws), "yes": dist(draws)} if spread else {}
    return Prevalence(
        0.9,
        "post-stratification",
        shares,
        shares,
        {"no": 0.4, "yes": 0.6},
        50,
        3,
        150,
        num_gold,
        "",
        (),
        0,
        None,
    )


def bars(ax, width):
    return [line.get_xydata() for line in ax.lines if line.get_linewidth() == width]


def test_an_evaluation_in_one_line(result):
    (alone,) = result.plot().axes
    figure = result.plot(full=True)
    metrics, confusion, checks = figure.axes
    assert len(alone.lines) == len(metrics.lines) and alone.get_xlabel() == "value of the metric"
    means = [result.metrics[name].mean for name in SHOWN]
    drawn = np.concatenate([line.get_xdata() for line in metrics.lines if line.get_marker() == "o"])
    np.testing.assert_allclose(drawn, means)
    shade = result.confusion_matrix / result.confusion_matrix.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(confusion.images[0].get_array(), shade)
    assert [t.get_text() for t in checks.get_yticklabels()] == [check.name for check in result.checks]
    mine, ax = plt.subplots()
    assert result.plot(ax) is mine and len(ax.lines) == len(metrics.lines)


def test_the_default_picture_fits_nothing_and_assumptions_are_asked_for(results, monkeypatch):
    """Three models are tempered for rows of which the default picture shows none."""
    fitted, law = [], results["bayes"].metrics
    rows = tuple(Assumption(f"a{j}", f"if {j}", law) for j in range(2))
    learned = replace(results["bayes"], what_if=None)
    monkeypatch.setattr(type(learned), "views", property(lambda _: fitted.append(1) or (rows, ())))
    (alone,) = learned.plot().axes
    mine, ax = plt.subplots()
    assert learned.plot(ax) is mine and len(alone.lines) == len(ax.lines) and not fitted
    (more,) = learned.plot(assumptions=True).axes
    assert fitted and len(more.lines) == len(alone.lines) + len(rows) * len(law)
    assert legend(more) == [*legend(alone), "if 0", "if 1"] and len(learned.plot(full=True).axes) > 1


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
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "share and interval",
        "share of labels",
    ]
    many = [found, share(0, 0.6, 0), share(10, 0.65, 0.1)]
    ax = plots.plot_gold_progress(many, "yes", ideal=0.68)
    assert ax.lines[0].get_xdata().tolist() == [10, 30]
    np.testing.assert_allclose(ax.collections[0].get_segments()[1], [[30, low], [30, high]])
    assert notes(ax) == ["not identified"] and "share of yes" in ax.get_ylabel()
    with pytest.raises(ValueError, match="metric='maybe' is not a class; classes: no, yes"):
        plots.plot_gold_progress(many, "maybe")
    with pytest.raises(ValueError, match="one or more answers"):
        plots.plot_gold_progress([])


def test_regions_of_every_assumption(result):
    """An answer of one distribution has one filled region; of several, an outline for each."""
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
    with pytest.raises(ValueError, match="no joint distribution of its table; use plot_metrics"):
        plots.plot_joints(replace(result, what_if=parts[2:]))


def test_what_has_no_picture(result):
    with pytest.raises(ValueError, match="a dict cannot be plotted; answers can, and"):
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
    ax = plots.ConfusionMatrixDisplay.from_evaluation(three).plot().ax_
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


def across(ax, marker="o"):
    return [line.get_xdata()[0] for line in ax.lines if line.get_marker() == marker]


def test_a_consensus_is_its_samples_who_says_otherwise_and_a_curve(labels):
    found = jt.consensus(labels, "majority_vote")
    samples, others, curve = found.plot().axes
    assert across(samples) == sorted(found.probability.tolist())
    shares = [row["num_disagree"] / row["num_labels"] for row in found.labelers()]
    assert across(others) == shares
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
    dists = [*(one.auc for one in found.each.values()), found.auc["macro"], found.auc["weighted"]]
    np.testing.assert_allclose(across(auc), [dist.mean for dist in dists])
    precision = [*(one.average_precision for one in found.each.values()), *found.average_precision.values()]
    np.testing.assert_allclose(across(auc, "s"), [dist.mean for dist in precision])
    assert [ax.get_title() for ax in curves] == ["ROC curve", "Precision and recall"]
    frame = found.to_frame("pandas")
    np.testing.assert_allclose(frame["auc"], [dist.mean for dist in dists])
    assert frame["class"].tolist() == ["0", "1", "2", "macro average", "weighted average"]


def test_a_cleaning_is_a_learning_curve():
    state = State(*[np.zeros(1)] * 7)
    with pytest.raises(ValueError, match="no record"):
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
    assert across(ax) == found.alone.tolist() and across(ax, "x") == found.last.tolist()
    team = information.best_labelers(noise, [0.5, 0.5])
    (ax,) = team.plot().axes
    np.testing.assert_allclose(ax.lines[0].get_xydata(), np.stack([team.cost, team.bits], axis=1))
    assert ", ".join(map(str, team.order.tolist())) in ax.get_title()


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.4).astype(int)
    z = np.where(rng.random((300, 3)) < 0.2, 1 - y[:, None], y[:, None])
    score = np.round(rng.normal(1.5 * y, 1.0), 2)
    found = jt.evaluate_scores(score, jt.Labels.from_matrix(z, 2), noise=jt.noise.Symmetric(0.2, 2),
                               prior=[0.6, 0.4])  # fmt: skip
    return y, score, found


def ends(collection):
    """Lowest and highest y of a filled band."""
    points = collection.get_paths()[0].vertices
    return points[:, 1].min(), points[:, 1].max()


def test_displays(case):
    y, score, found = case
    for display, band in ((plots.RocDisplay, found.curves.roc()),
                          (plots.PrecisionRecallDisplay, found.curves.precision_recall())):  # fmt: skip
        shown = display.from_evaluation(found, y=y, scores=score).plot()
        whole, each = shown.ax_.collections
        assert ends(whole) == (band.low_all.min(), band.high_all.max())
        assert ends(each) == (band.low.min(), band.high.max())
        line = next(one for one in shown.ax_.lines if len(one.get_xdata()) == len(band.mean))
        np.testing.assert_allclose(line.get_ydata(), band.mean)
        assert shown.figure_ is shown.ax_.figure and "[" in shown.ax_.get_legend().get_title().get_text()
        fa, d, _ = roc_curve(y, score, drop_intermediate=False)
    actual = plots.RocDisplay.from_evaluation(found, y=y, scores=score).actual
    np.testing.assert_allclose(actual, (fa, d), atol=1e-12)
    precision, recall, _ = precision_recall_curve(y, score)
    actual = plots.PrecisionRecallDisplay.from_evaluation(found, y=y, scores=score).actual
    np.testing.assert_allclose(actual, (recall[-2::-1], precision[-2::-1]), atol=1e-12)


def test_both_and_refused(case):
    y, score, found = case
    figure = plots.plot_curves(found)
    assert [ax.get_ylabel() for ax in figure.axes] == ["recall", "precision"]
    with pytest.raises(ValueError, match="needs the scores"):
        plots.RocDisplay.from_evaluation(found, y=y)
    with pytest.raises(ValueError, match="one of each"):
        plots.RocDisplay.from_evaluation(found, y=y, scores=score[1:])


def test_curve_density():
    rng = np.random.default_rng(1)
    y = (rng.random(60) < 0.4).astype(int)
    found = curve_density(3.0 * y - 1.5, rng.normal(y, 1.0), thresholds=4, cells=15)
    ax = plots.plot_curve_density(found, actual=(np.array([0, 1]), np.array([0, 1])))
    np.testing.assert_array_equal(np.ma.filled(ax.collections[0].get_array(), 0).T,
                                  np.where(found.density < 1e-3, 0, found.density))  # fmt: skip
    assert ax.collections[0].norm.vmin == 1e-3 and "recall" in ax.get_ylabel()


def test_reliability(case):
    """Bars are the distribution of the share in each bin; with known classes the share itself."""
    y, score, _ = case
    p = 1 / (1 + np.exp(-score))
    z = np.where(np.random.default_rng(1).random((300, 3)) < 0.2, 1 - y[:, None], y[:, None])
    found = jt.evaluate_scores(p, jt.Labels.from_matrix(z, 2), noise=jt.noise.Symmetric(0.2, 2),
                               prior=[0.6, 0.4], bins=6)  # fmt: skip
    shown = plots.ReliabilityDisplay.from_evaluation(found, p, y=y).plot()
    bins = np.searchsorted(found.edges, p, side="right")
    np.testing.assert_allclose(shown.predicted, [p[bins == k].mean() for k in range(6)])
    np.testing.assert_allclose(shown.actual, [y[bins == k].mean() for k in range(6)])
    bars = np.array([segment[:, 1] for segment in shown.ax_.collections[0].get_segments()])
    np.testing.assert_allclose(bars, np.stack([shown.low, shown.high], axis=1))
    assert ((shown.low <= shown.mean) & (shown.mean <= shown.high)).all()
    # Five of six 99.99 % intervals hold the actual share: fewer in less than 1e-6 of runs; the key is fixed.
    assert (np.abs(shown.actual - shown.mean) < 4 * (shown.high - shown.low) / 3.9).sum() >= 5
    with np.errstate(divide="ignore"):
        certain = jt.evaluate_scores(p, np.log(np.eye(2)[y]), prior=[0.6, 0.4], bins=6)
    same = plots.ReliabilityDisplay.from_evaluation(certain, p, y=y)
    np.testing.assert_allclose(same.mean, same.actual)
    for bad, message in ((None, "give probabilities"), (score, "between 0 and 1")):
        with pytest.raises(ValueError, match=message):
            plots.ReliabilityDisplay.from_evaluation(found, bad)


def test_reliability_by_counts_draws_the_numbers():
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(2), 100)
    h = hist.from_counts(np.stack([rng.multinomial(3, row) for row in q]))
    table = hist.loss_estimates(h, q, bins=5)

    ax = plots.plot_reliability(table.disagreement, name="x", what="disagreement")
    points = np.asarray(ax.collections[-1].get_offsets())
    bins = table.disagreement
    used = np.asarray(bins.count)[0] > 0
    np.testing.assert_allclose(points, np.stack([bins.predicted[0], bins.target[0]], 1)[used])
    assert ax.get_xlabel() == "predicted disagreement"
    assert "100 samples" in ax.get_legend().get_title().get_text()


def test_dollars_in_names_are_dollars():
    """Unbalanced formulas in names of classes and labelers ended the picture when it was drawn."""
    rng, names = np.random.default_rng(0), ("$5 {", "a$b^{$")
    y = rng.integers(0, 2, 60)
    z = np.where(rng.random((60, 3)) < 0.8, y[:, None], 1 - y[:, None]).ravel()
    task, worker = np.repeat(np.arange(60), 3), np.tile(["w$_0^", "$$", "c"], 60)
    labels = jt.Labels.from_long(task.tolist(), worker.tolist(), [names[c] for c in z], classes=names)
    for answer in (jt.evaluate_labelers(labels, key=0), jt.evaluate(y, labels, key=0)):
        figure = answer.plot(full=True)
        figure.canvas.draw()
        texts = {text.get_text() for text in figure.findobj(plt.Text)}
        wanted = {r"w\$_0^", r"\$\$"}, {r"\$5 {", r"a\$b^{\$"}
        assert any(names <= texts for names in wanted)
