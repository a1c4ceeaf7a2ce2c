"""The table of counts, the forest of labelers and the checks: what is drawn is what the answer says."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import jtruth as jt
from jtruth import plots
from jtruth.evaluation.labelers import LabelerReport
from jtruth.evaluation.parts import Check
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.plots import ConfusionMatrixDisplay


@pytest.fixture(autouse=True)
def clean():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def result():
    """Three classes with known error rates, one of them rare."""
    rng = np.random.default_rng(0)
    y = rng.choice(3, 200, p=[0.6, 0.35, 0.05])
    z = np.where(rng.random((200, 3)) < 0.15, rng.integers(0, 3, (200, 3)), y[:, None])
    labels = jt.Labels.from_matrix(z, 3)
    return jt.evaluate(y, labels, noise=jt.noise.Symmetric(0.1, 3), prior=[0.6, 0.35, 0.05])


def notes(ax):
    return [text.get_text() for text in ax.texts]


def test_confusion(result):
    ax = ConfusionMatrixDisplay.from_evaluation(result).plot().ax_
    mean, low, high = result.confusion_matrix, result.confusion_low, result.confusion_high
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
