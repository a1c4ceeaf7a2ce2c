"""Shares of the classes, and how an answer became narrower with gold."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from jtruth._validation.terminal import plain
from jtruth.evaluation import Evaluation, Prevalence
from jtruth.plots._parts import BLUE, GREY, SMALL, TRUE, mark, new_axes, percent, title
from jtruth.stats.estimates import Estimate


def plot_gold_progress(
    answers: Sequence[Evaluation | Prevalence],
    metric: str = "accuracy",
    *,
    ideal: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """One number as gold came: mean and interval by the number of gold answers.

    An answer that is a range, without a law, has a hollow mark and a dashed line.

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
    ax = new_axes(ax)
    for answer in sorted(answers, key=lambda one: one.num_gold):
        law, at = _law_of(answer, metric), answer.num_gold
        if law is None or np.isnan(law.mean):
            ax.annotate(
                "not identified", (at, 0.02), xycoords=("data", "axes fraction"), rotation=90, color=GREY
            )
            continue
        low, high = law.interval(answer.level)
        no_law = bool(np.isnan(law.sd))
        ax.plot([at, at], [low, high], color=BLUE, lw=2, ls="--" if no_law else "-")
        mark(ax, at, law.mean, "d" if no_law else "o", BLUE)
    if ideal is not None:
        ax.axhline(ideal, color="black", ls=":", label=TRUE)
        ax.legend(**SMALL)
    shown = f"share of {plain(metric)}" if isinstance(answers[0], Prevalence) else title(metric)
    ax.set(xlabel="gold answers", ylabel=f"{shown}, {percent(answers[0].level)} intervals")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _law_of(answer: Evaluation | Prevalence, metric: str) -> Estimate | None:
    """The law of the number; None where the answer says that it is not identified."""
    if isinstance(answer, Evaluation):
        return answer.metrics[metric] if metric in answer.metrics else answer.estimate(metric)
    if metric not in answer.label_shares:
        raise ValueError(f"metric={metric!r} is no class; there are {', '.join(answer.label_shares)}")
    return answer.shares.get(metric)
