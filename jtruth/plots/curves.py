"""ROC and precision-recall curves of a scored classifier judged by noisy labels, with their bands.

As scikit-learn's displays: `RocDisplay.from_evaluation(found).plot(ax=ax)`, with `.ax_` and `.figure_` after.
The line is the posterior mean; the dark band holds each point by itself with the stated probability, the
light one the whole curve.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from jtruth.evaluation.score_result import ScoreEvaluation
from jtruth.plots._parts import BLUE, GREY, SMALL, TRUE, new_axes, percent, title
from jtruth.tables.curves import Band, Curves, curves
from jtruth.testing.binary.threshold_curves import CURVES, CurveDensity

_CHANCE = {"color": GREY, "ls": ":", "lw": 1}


class _Display:
    """A band of curves, and the actual curve where classes are known."""

    ax_: Axes
    figure_: Any

    def __init__(self, band: Band, text: str, actual: tuple[np.ndarray, np.ndarray] | None):
        self.band, self.text, self.actual = band, text, actual

    def _draw(self, ax: Axes | None, name: str, labels: tuple[str, str]) -> Axes:
        ax, band = new_axes(ax), self.band
        whole = f"{percent(band.level)}, whole curve"
        ax.fill_between(band.x, band.low_all, band.high_all, color=BLUE, alpha=0.15, lw=0, label=whole)
        ax.fill_between(band.x, band.low, band.high, color=BLUE, alpha=0.35, lw=0, label="... each point")
        ax.plot(band.x, band.mean, color=BLUE, label=f"{name}: {self.text}")
        if self.actual is not None:
            ax.plot(*self.actual, color="black", ls="--", lw=1.2, label=TRUE)
        ax.set(xlabel=labels[0], ylabel=labels[1], xlim=(-0.01, 1.01), ylim=(-0.01, 1.03))
        self.ax_, self.figure_ = ax, ax.figure
        return ax


class RocDisplay(_Display):
    """Detection by false-alarm rate."""

    @classmethod
    def from_evaluation(cls, found: ScoreEvaluation, *, y: Any = None, scores: Any = None) -> "RocDisplay":
        """Of `evaluate_scores`; `y` and `scores`, where the classes are known, add the actual curve."""
        actual = None
        if y is not None:
            one = _actual(y, scores)
            actual = one.false_alarm[0], one.detection[0]
        return cls(found.curves.roc(found.level), _area("AUC", found.auc, found.level), actual)

    def plot(self, ax: Axes | None = None, *, name: str = "posterior mean") -> "RocDisplay":
        """Draw on `ax`, or on a new figure."""
        ax = self._draw(ax, name, ("false-alarm rate $P_{FA}$", "recall $P_D$"))
        ax.plot([0, 1], [0, 1], **_CHANCE)
        ax.legend(loc="lower right", **SMALL)
        return self


class PrecisionRecallDisplay(_Display):
    """Precision by recall."""

    @classmethod
    def from_evaluation(
        cls, found: ScoreEvaluation, *, y: Any = None, scores: Any = None
    ) -> "PrecisionRecallDisplay":
        """Of `evaluate_scores`; `y` and `scores`, where the classes are known, add the actual curve."""
        actual = None
        if y is not None:
            one = _actual(y, scores)
            actual = one.detection[0, 1:], one.precision[0, 1:]
        text = _area("average precision", found.average_precision, found.level)
        return cls(found.curves.precision_recall(found.level), text, actual)

    def plot(self, ax: Axes | None = None, *, name: str = "posterior mean") -> "PrecisionRecallDisplay":
        """Draw on `ax`, or on a new figure."""
        ax = self._draw(ax, name, ("recall $P_D$", "precision"))
        ax.legend(loc="lower left", **SMALL)
        return self


def plot_curves(found: ScoreEvaluation, *, y: Any = None, scores: Any = None) -> Figure:
    """Both, side by side."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.4), layout="constrained")
    RocDisplay.from_evaluation(found, y=y, scores=scores).plot(axes[0])
    PrecisionRecallDisplay.from_evaluation(found, y=y, scores=scores).plot(axes[1])
    return figure


def plot_curve_density(
    found: CurveDensity, *, ax: Axes | None = None, actual: tuple[np.ndarray, np.ndarray] | None = None
) -> Axes:
    """The density of a curve in the plane (Su Figures 22 to 25): log10 from 1e-3 to 1e4, dark is high.

    Args:
        found: of `jtruth.testing.curve_density`.
        ax: where to draw; a new figure if None.
        actual: x and y of the actual curve, where it is known; dashed.

    Returns:
        The Axes.
    """
    ax = new_axes(ax)
    scale = LogNorm(1e-3, 1e4)
    shown = np.ma.masked_less(found.density.T, 1e-3)
    image = ax.pcolormesh(found.x_edges, found.y_edges, shown, norm=scale, cmap="Blues", rasterized=True)
    ax.figure.colorbar(image, ax=ax, label="mean density over thresholds")
    if actual is not None:
        ax.plot(*actual, color="black", ls="--", lw=1.2, label=TRUE)
        ax.legend(loc="lower center", **SMALL)
    x, y = (title(name) for name in CURVES[found.curve])
    ax.set(xlabel=x, ylabel=y, xlim=(0, 1), ylim=(0, 1))
    return ax


def _actual(y: Any, scores: Any) -> Curves:
    """The curves of known classes; every distinct score is a bin."""
    if scores is None:
        raise ValueError("the actual curve needs the scores too: give y=... and scores=...")
    truth, given = np.asarray(y).astype(int), np.asarray(scores, np.float64)
    if truth.shape != given.shape:
        raise ValueError(f"y has shape {truth.shape} and scores {given.shape}; give one of each a sample")
    distinct, place = np.unique(given, return_inverse=True)
    table = np.zeros((1, 2, max(distinct.size, 2)))
    np.add.at(table[0], (truth, place), 1)
    return curves(table)


def _area(what: str, law: Any, level: float) -> str:
    low, high = law.interval(level)
    return f"{what} {law.mean:.3f} [{low:.3f}, {high:.3f}]"
