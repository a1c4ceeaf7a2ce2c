"""Curve displays show the bands of the answer, the areas, and the actual curve as scikit-learn has it."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.metrics import precision_recall_curve, roc_curve

import jtruth as jt
from jtruth import histograms as hist
from jtruth.answers import Document, Matrix
from jtruth.plots import (
    ConfusionMatrixDisplay,
    PrecisionRecallDisplay,
    ReliabilityDisplay,
    RocDisplay,
    plot_curve_density,
    plot_curves,
    plot_reliability,
)
from jtruth.testing import curve_density


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
    for display, band in ((RocDisplay, found.curves.roc()),
                          (PrecisionRecallDisplay, found.curves.precision_recall())):  # fmt: skip
        shown = display.from_evaluation(found, y=y, scores=score).plot()
        whole, each = shown.ax_.collections
        assert ends(whole) == (band.low_all.min(), band.high_all.max())
        assert ends(each) == (band.low.min(), band.high.max())
        line = next(one for one in shown.ax_.lines if len(one.get_xdata()) == len(band.mean))
        np.testing.assert_allclose(line.get_ydata(), band.mean)
        assert shown.figure_ is shown.ax_.figure and "[" in shown.ax_.get_legend().get_title().get_text()
        plt.close(shown.figure_)
    fa, d, _ = roc_curve(y, score, drop_intermediate=False)
    actual = RocDisplay.from_evaluation(found, y=y, scores=score).actual
    np.testing.assert_allclose(actual, (fa, d), atol=1e-12)
    precision, recall, _ = precision_recall_curve(y, score)
    actual = PrecisionRecallDisplay.from_evaluation(found, y=y, scores=score).actual
    np.testing.assert_allclose(actual, (recall[-2::-1], precision[-2::-1]), atol=1e-12)


def test_both_and_refused(case):
    y, score, found = case
    figure = plot_curves(found)
    assert [ax.get_ylabel() for ax in figure.axes] == ["recall", "precision"]
    plt.close(figure)
    with pytest.raises(ValueError, match="needs the scores"):
        RocDisplay.from_evaluation(found, y=y)
    with pytest.raises(ValueError, match="one of each"):
        RocDisplay.from_evaluation(found, y=y, scores=score[1:])


def test_curve_density():
    rng = np.random.default_rng(1)
    y = (rng.random(60) < 0.4).astype(int)
    found = curve_density(3.0 * y - 1.5, rng.normal(y, 1.0), thresholds=4, cells=15)
    ax = plot_curve_density(found, actual=(np.array([0, 1]), np.array([0, 1])))
    np.testing.assert_array_equal(np.ma.filled(ax.collections[0].get_array(), 0).T,
                                  np.where(found.density < 1e-3, 0, found.density))  # fmt: skip
    assert ax.collections[0].norm.vmin == 1e-3 and "recall" in ax.get_ylabel()
    plt.close(ax.figure)


def test_reliability(case):
    """Bars are the law of the share in each bin; with known classes the share itself."""
    y, score, _ = case
    p = 1 / (1 + np.exp(-score))
    z = np.where(np.random.default_rng(1).random((300, 3)) < 0.2, 1 - y[:, None], y[:, None])
    found = jt.evaluate_scores(p, jt.Labels.from_matrix(z, 2), noise=jt.noise.Symmetric(0.2, 2),
                               prior=[0.6, 0.4], bins=6)  # fmt: skip
    shown = ReliabilityDisplay.from_evaluation(found, p, y=y).plot()
    bins = np.searchsorted(found.edges, p, side="right")
    np.testing.assert_allclose(shown.predicted, [p[bins == k].mean() for k in range(6)])
    np.testing.assert_allclose(shown.actual, [y[bins == k].mean() for k in range(6)])
    bars = np.array([segment[:, 1] for segment in shown.ax_.collections[0].get_segments()])
    np.testing.assert_allclose(bars, np.stack([shown.low, shown.high], axis=1))
    assert ((shown.low <= shown.mean) & (shown.mean <= shown.high)).all()
    # Five of six 99.99 % intervals hold the actual share: fewer in less than 1e-6 of runs; the key is fixed.
    assert (np.abs(shown.actual - shown.mean) < 4 * (shown.high - shown.low) / 3.9).sum() >= 5
    plt.close(shown.figure_)
    with np.errstate(divide="ignore"):
        certain = jt.evaluate_scores(p, np.log(np.eye(2)[y]), prior=[0.6, 0.4], bins=6)
    same = ReliabilityDisplay.from_evaluation(certain, p, y=y)
    np.testing.assert_allclose(same.mean, same.actual)
    for bad, message in ((None, "give probabilities"), (score, "between 0 and 1")):
        with pytest.raises(ValueError, match=message):
            ReliabilityDisplay.from_evaluation(found, bad)


def test_a_display_is_the_picture():
    """It draws the block of its name, and keeps where it was drawn."""
    cells = {"mean": [[1.0]], "low": [[0.0]], "high": [[2.0]]}
    block = Matrix(ConfusionMatrixDisplay.block, "", ("a",), ("a",), cells)

    class Made:
        def blocks(self):
            return Document("", "", "", (block,))

    _, ax = plt.subplots()
    shown = ConfusionMatrixDisplay.from_evaluation(Made()).plot(ax)
    assert shown.ax_ is ax and shown.figure_ is ax.figure and (ax.lines or ax.images)
    plt.close(shown.figure_)


def test_reliability_by_counts_draws_the_numbers():
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(2), 100)
    h = hist.from_counts(np.stack([rng.multinomial(3, row) for row in q]))
    table = hist.loss_estimates(h, q, bins=5)

    ax = plot_reliability(table.disagreement, name="x", what="disagreement")
    points = np.asarray(ax.collections[-1].get_offsets())
    bins = table.disagreement
    used = np.asarray(bins.count)[0] > 0
    np.testing.assert_allclose(points, np.stack([bins.predicted[0], bins.target[0]], 1)[used])
    assert ax.get_xlabel() == "predicted disagreement"
    assert "100 samples" in ax.get_legend().get_title().get_text()
    plt.close("all")
