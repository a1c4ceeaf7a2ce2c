"""Displays as in scikit-learn: `from_evaluation`, `.plot(ax=)`, `.ax_`, `.figure_`; and curves by name.

A display draws a block of an answer, and the actual curve where classes are known. The line of a curve is the
posterior mean; the dark band covers each point with the stated probability, the light one the whole curve.
`ReliabilityDisplay` shows the share of positives in each bin of probabilities, judged by noisy labels,
against the mean probability of the bin. Its distributions are those of `evaluate_scores`: posterior,
predictive or by gold.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from jtruth._host import cross_table
from jtruth._validation.words import number_of, plain
from jtruth.answers import Curve
from jtruth.evaluation import Evaluation
from jtruth.evaluation.gold.shares import Prevalence
from jtruth.evaluation.scores import ScoreEvaluation
from jtruth.histograms.calibration import Calibration
from jtruth.plots._parts import BLUE, CYCLE, GREY, SMALL, TRUE, dollars, mark, new_axes, percent, title
from jtruth.plots.blocks import block_of, plot_block
from jtruth.stats.estimates import Estimate
from jtruth.tables.curves import Curves, curves
from jtruth.testing.binary.threshold_curves import CURVES, CurveDensity
from jtruth.testing.steps import FixedPoint

Pair = tuple[float, float]


class _Display:
    """A block of an answer and, once it is drawn, its Axes."""

    ax_: Axes
    figure_: Figure | SubFigure | None
    block = ""  # name of the block that is drawn

    def __init__(self, found: Any, actual: Any = None):
        self.found, self.actual = found, actual

    def plot(self, ax: Axes | None = None) -> Any:
        """Draw on `ax`, or on a new figure; returns the display."""
        self.ax_ = self._draw(ax)
        self.figure_ = self.ax_.figure
        return self

    def _draw(self, ax: Axes | None) -> Axes:
        ax = plot_block(block_of(self.found.blocks(), self.block), ax=ax)
        if self.actual is not None:
            ax.plot(*self.actual, color="black", ls="--", lw=1.2, label=TRUE)
        return ax


class ConfusionMatrixDisplay(_Display):
    """Mean counts by true and predicted class, with intervals; of `evaluate`."""

    block = "confusion_matrix"

    @classmethod
    def from_evaluation(cls, found: Any) -> "ConfusionMatrixDisplay":
        """Of an answer."""
        return cls(found)


class RocDisplay(_Display):
    """Recall by false-alarm rate; of `evaluate_scores`."""

    block, dist, words = "curves.roc", "auc", "AUC"
    axes, first = ("false_alarm", "detection"), 0  # of the actual curve, and its first bin

    @classmethod
    def from_evaluation(cls, found: Any, *, y: Any = None, scores: Any = None) -> Any:
        """Of an answer; `y` and `scores`, where the classes are known, add the actual curve."""
        one = None if y is None else _known_curves(y, scores)
        return cls(found, one and tuple(getattr(one, name)[0, cls.first :] for name in cls.axes))

    def _draw(self, ax: Axes | None) -> Axes:
        ax, dist = super()._draw(ax), getattr(self.found, self.dist)
        low, high = dist.interval(self.found.level)
        area = f"{percent(self.found.level)}: {self.words} {dist.mean:.3f} [{low:.3f}, {high:.3f}]"
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.03))
        ax.legend(title=area, title_fontsize=9, **SMALL)
        return ax


class PrecisionRecallDisplay(RocDisplay):
    """Precision by recall; of `evaluate_scores`."""

    block, dist, words = "curves.precision_recall", "average_precision", "average precision"
    axes, first = ("detection", "precision"), 1


class ReliabilityDisplay(_Display):
    """Share of positives by predicted probability, judged by noisy labels; of `evaluate_scores`.

    `predicted`, `mean`, `low`, `high` are the points, one for each bin of probabilities with samples.
    """

    def __init__(self, found: ScoreEvaluation, probabilities: Any, y: Any = None):
        p = np.asarray(probabilities, np.float64)
        if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
            raise ValueError(
                f"probabilities have shape {p.shape}, from {p.min():g} to {p.max():g}; reliability needs "
                "(samples,) numbers between 0 and 1"
            )
        coded = np.searchsorted(found.edges, p, side="right")
        used = np.unique(coded)
        dists = [found.dist(lambda c, k=int(k): c.positives_in(k)) for k in used]
        self.predicted = np.array([p[coded == k].mean() for k in used])
        self.mean = np.array([dist.mean for dist in dists])
        self.low, self.high = np.array([dist.interval(found.level) for dist in dists]).T
        actual = None if y is None else np.array([np.mean(np.asarray(y)[coded == k]) for k in used])
        super().__init__(found, actual)

    @classmethod
    def from_evaluation(
        cls, found: ScoreEvaluation, probabilities: Any = None, *, y: Any = None
    ) -> "ReliabilityDisplay":
        """Of an answer and the probabilities that it judged; `y`, where classes are known, adds the truth."""
        if probabilities is None:
            raise ValueError("reliability needs the graded probabilities: give probabilities=...")
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
               ylabel=dollars(f"share of class {self.found.positive}"))  # fmt: skip
        ax.legend(loc="upper left", **SMALL)
        return ax


def plot_curves(found: ScoreEvaluation, *, y: Any = None, scores: Any = None) -> Figure:
    """ROC and precision-recall curves of `evaluate_scores` with their bands, side by side.

    `y` (samples,) true classes, where they are known, with `scores` (samples,), add the actual curves.
    """
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.4), layout="constrained")
    for display, ax in zip((RocDisplay, PrecisionRecallDisplay), axes, strict=True):
        display.from_evaluation(found, y=y, scores=scores).plot(ax)
    return figure


def _known_curves(y: Any, scores: Any) -> Curves:
    """The curves of known classes; every distinct score is a bin."""
    if scores is None:
        raise ValueError("the actual curve needs the scores too: give y=... and scores=...")
    truth, values = np.asarray(y).astype(int), np.asarray(scores, np.float64)
    if truth.shape != values.shape:
        raise ValueError(f"y has shape {truth.shape} and scores {values.shape}; give one of each per sample")
    distinct, place = np.unique(values, return_inverse=True)
    return curves(cross_table(truth, place, (2, max(distinct.size, 2)))[None] * 1.0)


def plot_curve_density(
    found: CurveDensity, *, ax: Axes | None = None, actual: tuple[np.ndarray, np.ndarray] | None = None
) -> Axes:
    """The density of a curve in the plane (Su Figures 22 to 25): log10 from 1e-3 to 1e4, dark is high.

    `found` is of `jtruth.testing.curve_density`; `actual` is x and y of the actual curve, dashed.
    """
    ax = new_axes(ax)
    scale = LogNorm(1e-3, 1e4)
    density = np.ma.masked_less(found.density.T, 1e-3)
    image = ax.pcolormesh(found.x_edges, found.y_edges, density, norm=scale, cmap="Blues", rasterized=True)
    ax.figure.colorbar(image, ax=ax, label="mean density over thresholds")
    if actual is not None:
        ax.plot(*actual, color="black", ls="--", lw=1.2, label=TRUE)
        ax.legend(loc="lower center", **SMALL)
    x, y = (title(name) for name in CURVES[found.curve])
    ax.set(xlabel=x, ylabel=y, xlim=(0, 1), ylim=(0, 1))
    return ax


def plot_reliability(
    found: Calibration,
    *,
    of: int = 0,
    name: str | None = None,
    what: str = "class probability",
    color: str = BLUE,
    ax: Axes | None = None,
) -> Axes:
    """Observed against predicted values by bin, with two standard errors of the gap and counts.

    Args:
        found: `LossTable.classes`, or `.disagreement` (Mimori et al. 2021, Figure 1), of
            `jtruth.histograms.loss_estimates`.
        of: the class, 0 for disagreement.
        what: name of the axes.
        name, color, ax: as everywhere.
    """
    ax = new_axes(ax)
    used = np.asarray(found.count)[of] > 0
    m = np.asarray(found.count)[of][used]
    x, y = (np.asarray(values)[of][used] for values in (found.predicted, found.target))
    error = np.sqrt(np.asarray(found.gap_spread)[of][used] / np.maximum(m - 1, 1))
    error = np.where(m > 1, error, np.nan)  # one sample has no error
    ax.plot([0, 1], [0, 1], ls="--", color=GREY, lw=1, zorder=0)
    ax.fill_between(x, y - 2 * error, y + 2 * error, color=color, alpha=0.2, lw=0)
    ax.plot(x, y, color=color, lw=1.2, zorder=3)
    ax.scatter(x, y, s=10 + 90 * m / m.max(), color=color, zorder=4, label=name)
    ax.set(xlabel=f"predicted {what}", ylabel=f"observed {what}", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.spines[["top", "right"]].set_visible(False)
    if name is not None:
        ax.legend(title=f"{number_of(int(m.sum()), 'sample')}; size: share in bin; band: 2 se", **SMALL)
    return ax


def plot_path(
    fits: FixedPoint | Mapping[str, FixedPoint], *, ax: Axes | None = None, ideal: Pair | None = None
) -> Axes:
    """Path of the operating point in iterative methods (Su Figure 9): P_D solid, P_FA dashed.

    `fits`: one `FixedPoint` (`Evaluation.fit`), or name -> FixedPoint; `ideal`: the true (P_D, P_FA), dotted.
    """
    ax = new_axes(ax)
    named = {"operating point": fits} if isinstance(fits, FixedPoint) else dict(fits)
    widths = np.linspace(5.0, 1.2, len(named)) if len(named) > 1 else [1.8]  # equal paths stay visible
    for (name, fit), width, color in zip(named.items(), widths, CYCLE * len(named), strict=False):
        steps = int(fit.num_steps)
        path = np.asarray(fit.path)[: steps + 1]
        label = name if bool(fit.converged) else f"{name} (not converged in {steps} steps)"
        ax.plot(path[:, 0], "-", color=color, lw=width, marker="o", ms=width + 2, label=label)
        ax.plot(path[:, 1], "--", color=color, lw=width, marker="s", ms=width + 2)
    for rate, symbol in zip(ideal or (), ("P_D", "P_{FA}"), strict=False):
        ax.axhline(rate, color="black", ls=":")
        ax.annotate(f"true ${symbol}$", (1, rate), (4, 0), xycoords=("axes fraction", "data"),
                    textcoords="offset points", va="center", fontsize=9)  # fmt: skip
    keys = [Line2D([], [], color=GREY, label="$P_D$"), Line2D([], [], color=GREY, ls="--", label="$P_{FA}$")]
    ax.legend(handles=[*ax.get_legend_handles_labels()[0], *keys], **SMALL)
    ax.set(xlabel="step", ylabel="estimated operating point")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return ax


def plot_gold_progress(
    answers: Sequence[Evaluation | Prevalence],
    metric: str = "accuracy",
    *,
    ideal: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Mean and interval of one number by the number of gold answers.

    `answers` are evaluations, or prevalences, of the same samples with increasing gold; `metric` is the name
    of a metric, of prevalences of a class.

    Raises:
        ValueError: no answer, or a metric or class that one of them does not have.
    """
    if not answers:
        raise ValueError("give one or more answers, each with its number of verified labels")
    dists = {one.num_gold: _dist_of(one, metric) for one in sorted(answers, key=lambda one: one.num_gold)}
    known = {n: dist for n, dist in dists.items() if dist is not None and not np.isnan(dist.mean)}
    ends = [dist.interval(answers[0].level) for dist in known.values()]
    points = {"x": list(known), "mean": [dist.mean for dist in known.values()]}
    points |= {name: [pair[k] for pair in ends] for k, name in enumerate(("low", "high"))}
    quantity = dollars(f"share of {plain(metric)}") if isinstance(answers[0], Prevalence) else title(metric)
    label = f"{quantity}, {percent(answers[0].level)} intervals"
    ax = plot_block(Curve("", "", "verified labels", "", {"": points}, line=False), ax=ax)
    ax.set_ylabel(label)  # with its symbol
    for n in dists.keys() - known.keys():
        style = {"xycoords": ("data", "axes fraction"), "rotation": 90, "color": GREY}
        ax.annotate("not identified", (n, 0.02), **style)
    if ideal is not None:
        ax.axhline(ideal, color="black", ls=":", label=TRUE)
        ax.legend(**SMALL)
    return ax


def _dist_of(answer: Evaluation | Prevalence, metric: str) -> Estimate | None:
    """Distribution of the number; None where it is not identified."""
    if isinstance(answer, Evaluation):
        return answer.metrics[metric] if metric in answer.metrics else answer.estimate(metric)
    if metric not in answer.label_shares:
        raise ValueError(f"metric={metric!r} is not a class; classes: {', '.join(answer.label_shares)}")
    return answer.shares.get(metric)
