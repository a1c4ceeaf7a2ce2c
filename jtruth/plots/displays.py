"""Displays as in scikit-learn, over the pictures of this room: `from_evaluation`, `.plot(ax=)`, `.figure_`.

`ReliabilityDisplay` is drawn here: what share of the samples of a bin of probabilities is positive, judged by
noisy labels, beside the mean probability of the bin. The laws are those of `evaluate_scores`, so they are
posterior intervals, ranges or pooled with gold, as the curves are.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from jtruth.evaluation import ScoreEvaluation, evaluate
from jtruth.plots._parts import BLUE, GREY, SMALL, TRUE, mark, new_axes, percent
from jtruth.plots.answers import plot_block, table_of
from jtruth.plots.rows import plot_metrics


class _Display:
    """An answer and, once it is drawn, where."""

    ax_: Axes
    figure_: Figure | SubFigure | None
    block = ""  # which of its blocks is drawn

    def __init__(self, found: Any):
        self.found = found

    @classmethod
    def from_evaluation(cls, found: Any) -> Any:
        """Of an answer."""
        return cls(found)

    def plot(self, ax: Axes | None = None) -> Any:
        """Draw on `ax`, or on a new figure; the display itself."""
        self.ax_ = self._draw(ax)
        self.figure_ = self.ax_.figure
        return self

    def _draw(self, ax: Axes | None) -> Axes:
        return plot_block(table_of(self.found.blocks(), self.block), ax=ax)


class EvaluationDisplay(_Display):
    """The metrics of an evaluation."""

    @classmethod
    def from_predictions(cls, y_pred: Any, labels: Any, **options: Any) -> "EvaluationDisplay":
        """Evaluate, with the options of `jtruth.evaluate`, and keep the answer as `.found`."""
        return cls(evaluate(y_pred, labels, **options))

    def _draw(self, ax: Axes | None) -> Axes:
        return plot_metrics(self.found, ax=ax)


class ConfusionMatrixDisplay(_Display):
    """Mean counts by true and predicted class, with intervals; of `evaluate`."""

    block = "confusion_matrix"


class ReliabilityDisplay(_Display):
    """Share of positives by predicted probability, judged by noisy labels; of `evaluate_scores`.

    `predicted`, `mean`, `low`, `high` are the points: one for each bin of probabilities that has samples.
    """

    found: ScoreEvaluation

    def __init__(self, found: ScoreEvaluation, probabilities: Any, y: Any = None):
        super().__init__(found)
        p = np.asarray(probabilities, np.float64)
        if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
            raise ValueError(
                f"probabilities have shape {p.shape}, from {p.min():g} to {p.max():g}; reliability needs "
                "(samples,) numbers between 0 and 1"
            )
        coded = np.searchsorted(found.edges, p, side="right")
        used = np.unique(coded)
        laws = [found.curves.law(lambda c, k=int(k): c.positives_in(k)) for k in used]
        self.predicted = np.array([p[coded == k].mean() for k in used])
        self.mean = np.array([law.mean for law in laws])
        self.low, self.high = np.array([law.interval(found.level) for law in laws]).T
        self.actual = None if y is None else np.array([np.mean(np.asarray(y)[coded == k]) for k in used])

    @classmethod
    def from_evaluation(
        cls, found: ScoreEvaluation, probabilities: Any = None, *, y: Any = None
    ) -> "ReliabilityDisplay":
        """Of an answer and the probabilities that it judged; `y`, where classes are known, adds the truth.

        Raises:
            ValueError: no probabilities, or numbers that are none.
        """
        if probabilities is None:
            raise ValueError("reliability needs the probabilities that were judged: give probabilities=...")
        return cls(found, probabilities, y)

    def _draw(self, ax: Axes | None) -> Axes:
        ax = new_axes(ax)
        ax.plot([0, 1], [0, 1], color=GREY, ls=":", lw=1)
        ax.vlines(self.predicted, self.low, self.high, color=BLUE, lw=2)
        for k, (x, y) in enumerate(zip(self.predicted, self.mean, strict=True)):
            mark(ax, x, y, "o", BLUE, label=f"mean and {percent(self.found.level)}" if k == 0 else None)
        if self.actual is not None:
            ax.plot(self.predicted, self.actual, "*", color="black", ms=8, ls="none", label=TRUE)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="mean probability of the bin",
               ylabel=f"share that is {self.found.positive}")  # fmt: skip
        ax.legend(loc="upper left", **SMALL)
        return ax
