"""What happened on the way: the path of iterative methods (Su Figure 9), an answer as gold came."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from jtruth._validation.terminal import plain
from jtruth.answers import Curve, Series
from jtruth.evaluation import Evaluation
from jtruth.evaluation.gold.shares import Prevalence
from jtruth.plots._parts import CYCLE, GREY, SMALL, TRUE, new_axes, percent, title
from jtruth.plots.blocks import plot_block
from jtruth.stats.estimates import Estimate
from jtruth.testing.binary.empirical_bayes import OperatingPointFit


def plot_path(
    fits: OperatingPointFit | Mapping[str, OperatingPointFit],
    *,
    ax: Axes | None = None,
    ideal: tuple[float, float] | None = None,
) -> Axes:
    """How iterative methods moved the operating point (Su Figure 9): P_D solid, P_FA dashed.

    Args:
        fits: one `OperatingPointFit` (`Evaluation.fit`), or name -> OperatingPointFit.
        ax: where to draw; a new figure if None.
        ideal: the true (P_D, P_FA), where it is known; dotted lines.
    """
    ax = new_axes(ax)
    named = {"operating point": fits} if isinstance(fits, OperatingPointFit) else dict(fits)
    widths = np.linspace(5.0, 1.2, len(named)) if len(named) > 1 else [1.8]  # paths that agree stay visible
    for (name, fit), width, color in zip(named.items(), widths, CYCLE * len(named), strict=False):
        steps = int(fit.num_steps)
        path = np.asarray(fit.path)[: steps + 1]
        label = name if bool(fit.converged) else f"{name} (not converged in {steps} steps)"
        ax.plot(path[:, 0], "-", color=color, lw=width, marker="o", ms=width + 2, label=label)
        ax.plot(path[:, 1], "--", color=color, lw=width, marker="s", ms=width + 2)
    for rate, symbol in zip(ideal or (), ("P_D", "P_{FA}"), strict=False):
        ax.axhline(rate, color="black", ls=":")
        ax.annotate(f"true ${symbol}$", (1, rate), (4, 0), xycoords=("axes fraction", "data"),
                    textcoords="offset points", va="center", fontsize="small")  # fmt: skip
    handles, _ = ax.get_legend_handles_labels()
    handles += [
        Line2D([], [], color=GREY, label="$P_D$"),
        Line2D([], [], color=GREY, ls="--", label="$P_{FA}$"),
    ]
    ax.legend(handles=handles, **SMALL)
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
    """One number as gold came: mean and interval by the number of gold answers.

    Args:
        answers: evaluations, or prevalences, of the same samples with more and more gold.
        metric: name of a metric; of prevalences the name of a class.
        ideal: the true value, where it is known.
        ax: where to draw; a new figure if None.

    Raises:
        ValueError: no answer, or a metric or class that one of them does not have.
    """
    if not answers:
        raise ValueError("give one answer or more, each with its number of gold labels")
    laws = {one.num_gold: _law_of(one, metric) for one in sorted(answers, key=lambda one: one.num_gold)}
    known = {n: law for n, law in laws.items() if law is not None and not np.isnan(law.mean)}
    ends = [law.interval(answers[0].level) for law in known.values()]
    points = {"x": list(known), "mean": [law.mean for law in known.values()]}
    points |= {name: [pair[k] for pair in ends] for k, name in enumerate(("low", "high"))}
    shown = f"share of {plain(metric)}" if isinstance(answers[0], Prevalence) else title(metric)
    label = f"{shown}, {percent(answers[0].level)} intervals"
    ax = plot_block(Curve("", "", "gold answers", label, (Series("", points, line=False),)), ax=ax)
    for n in laws.keys() - known.keys():
        style = {"xycoords": ("data", "axes fraction"), "rotation": 90, "color": GREY}
        ax.annotate("not identified", (n, 0.02), **style)
    if ideal is not None:
        ax.axhline(ideal, color="black", ls=":", label=TRUE)
        ax.legend(**SMALL)
    return ax


def _law_of(answer: Evaluation | Prevalence, metric: str) -> Estimate | None:
    """The law of the number; None where the answer says that it is not identified."""
    if isinstance(answer, Evaluation):
        return answer.metrics[metric] if metric in answer.metrics else answer.estimate(metric)
    if metric not in answer.label_shares:
        raise ValueError(f"metric={metric!r} is no class; there are {', '.join(answer.label_shares)}")
    return answer.shares.get(metric)
