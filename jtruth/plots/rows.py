"""Several numbers, one a row: the metrics of an evaluation, or one metric by many methods (Su Figure 10)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from jtruth.evaluation import Evaluation
from jtruth.plots._parts import (
    BLUE,
    CYCLE,
    GREY,
    ORANGE,
    SMALL,
    TRUE,
    density_curve,
    key,
    mark,
    new_axes,
    percent,
    title,
)
from jtruth.stats.estimates import Estimate
from jtruth.stats.regions import check_level

_FIRST, _STEP = 0.14, 0.09  # lines of the assumptions below their row
_LINES = [
    *(color for color in CYCLE if color not in (BLUE, ORANGE)),
    "#444444",
]  # not the bar's, not the vote's
_TICKS = "|^vsD"  # of the assumptions


def plot_metrics(
    evaluation: Evaluation, *, ax: Axes | None = None, ideal: Mapping[str, float] | None = None
) -> Axes:
    """Every metric of an evaluation as mean and interval, beside what majority vote says.

    The small ticks below a bar are what each assumption alone says.

    Args:
        evaluation: what `jtruth.evaluate` returned; its `level` is that of the intervals.
        ax: where to draw; a new figure if None.
        ideal: metric name -> true value, where it is known.
    """
    metrics, naive = evaluation.metrics, evaluation.baselines.get("majority_vote", {})
    assumptions = evaluation.assumptions if len(evaluation.assumptions) > 1 else ()
    nothing = all(np.isnan(law.mean) for law in metrics.values())
    least = 0.0  # kappa and MCC may be negative
    ax = new_axes(ax, len(metrics) + len(assumptions))
    for k, (metric, law) in enumerate(metrics.items()):
        if np.isnan(law.mean):
            note_row(ax, -k, "not identified" if nothing else "undefined")
        else:
            low, high = law.interval(evaluation.level)
            least = min(least, low)
            ax.plot([low, high], [-k, -k], color=BLUE, lw=5, alpha=0.45, solid_capstyle="butt")
            mark(ax, law.mean, -k, "o", BLUE)
            note_row(ax, -k, f"{law.mean:.3f}  [{low:.3f}, {high:.3f}]")
            for j, assumption in enumerate(assumptions):
                mean, height = assumption.metrics[metric].mean, -k - _FIRST - _STEP * j
                ax.plot(mean, height, _TICKS[j % len(_TICKS)], color=_LINES[j % len(_LINES)], ms=5)
        if metric in naive:
            mark(ax, naive[metric], -k, "x", ORANGE)
        if ideal is not None and metric in ideal:
            ax.vlines(ideal[metric], -k - 0.3, -k + 0.3, color="black", ls=":")
    of_class = [metric.partition("[")[2] for metric in metrics]  # "": of no single class
    for k in range(1, len(of_class)):
        if of_class[k] != of_class[k - 1]:
            ax.axhline(0.45 - k, color=GREY, lw=0.5, zorder=0)
    kind = f"{percent(evaluation.level)} {evaluation.interval_kind.removesuffix(' interval')} interval"
    name_rows(ax, [title(metric) for metric in metrics])
    lowest = max(0.4, _FIRST + _STEP * len(assumptions))  # below the last row's lines
    ax.set(xlim=(1.05 * least, 1), ylim=(1 - len(metrics) - lowest, 0.6), xlabel=f"value and {kind}")
    keys = [key("o", "mean", BLUE)]
    keys += [Patch(color=BLUE, alpha=0.45, label=kind)]
    keys += [key("x", "majority vote", ORANGE)] if naive else []
    keys += [Line2D([], [], color="black", ls=":", label=TRUE)] if ideal is not None else []
    lines = [
        key(_TICKS[j % len(_TICKS)], a.sentence, _LINES[j % len(_LINES)]) for j, a in enumerate(assumptions)
    ]
    legend_above(ax, keys + lines, columns=1 if lines else len(keys))
    return ax


def plot_comparison(
    answers: Mapping[str, Estimate | float | np.ndarray],
    *,
    level: float = 0.95,
    ax: Axes | None = None,
    ideal: float | None = None,
    metric: str = "metric",
) -> Axes:
    """One metric by several methods, one a row (Su Figure 10): laws as density, mean, mode and region.

    A range without a law is a bar without density.

    Args:
        answers: name of the method -> its law, or one number or several (NaN: not drawn).
        level: probability of the highest-density regions.
        ax: where to draw; a new figure if None.
        ideal: the true value, where it is known; a dotted line.
        metric: name of the metric, for the axis.

    Raises:
        ValueError: level not in (0, 1).
    """
    check_level(level)
    ax = new_axes(ax, len(answers))
    wide = [a for a in answers.values() if isinstance(a, Estimate) and a.sd > 0]
    curves = {id(law): density_curve(law) for law in wide}
    unit = 0.6 / max((density.max() for _, density in curves.values()), default=1.0)  # one scale for all
    for row, answer in enumerate(answers.values()):
        color = CYCLE[row % len(CYCLE)]
        if isinstance(answer, Estimate) and _is_range(answer):
            interval = answer.interval(level)
            ax.plot(interval, [-row] * 2, color=color, lw=4, alpha=0.5, solid_capstyle="butt")
            mark(ax, answer.mean, -row, "d", color)
            note_row(ax, -row, f"{interval.low:.3f} to {interval.high:.3f}, no law")
            continue
        if not isinstance(answer, Estimate) or id(answer) not in curves:
            numbers = np.atleast_1d(answer.mean if isinstance(answer, Estimate) else answer)
            numbers = np.asarray(numbers, np.float64)
            numbers = numbers[~np.isnan(numbers)]
            for number in numbers:
                mark(ax, number, -row, "d", color)
            ends = f"{numbers.min():.3f} to {numbers.max():.3f}" if numbers.size else "not defined"
            note_row(ax, -row, f"{numbers[0]:.3f}" if numbers.size == 1 else ends)
            continue
        x, density = curves[id(answer)]
        ax.fill_between(x, -row, -row + unit * density, color=color, alpha=0.25, lw=0)
        ax.plot(x, -row + unit * density, color=color, lw=1)
        for low, high in answer.region(level).intervals:
            ax.plot([low, high], [-row - 0.1] * 2, color=color, lw=4, alpha=0.5, solid_capstyle="butt")
        mark(ax, answer.mean, -row - 0.1, "o", color)
        mark(ax, answer.mode, -row - 0.26, "^", color)
        interval = answer.interval(level)
        note_row(ax, -row, f"{answer.mean:.3f}  [{interval.low:.3f}, {interval.high:.3f}]")
    keys = [key("o", "mean"), key("^", "mode"), Patch(color=GREY, alpha=0.5, label=percent(level))]
    ranges = [isinstance(answer, Estimate) and _is_range(answer) for answer in answers.values()]
    keys += [key("d", "the middle of a range")] if any(ranges) else []
    keys += [key("d", "a number alone")] if len(curves) + sum(ranges) < len(answers) else []
    if ideal is not None:
        ax.axvline(ideal, color="black", ls=":")
        keys += [Line2D([], [], color="black", ls=":", label=TRUE)]
    name_rows(ax, list(answers))
    ax.set(ylim=(0.5 - len(answers), 0.75), xlabel=title(metric))
    legend_above(ax, keys)
    return ax


def _is_range(answer: Estimate) -> bool:
    """Whether there are ends but no law: several assumptions between which nobody can choose."""
    return bool(np.isnan(answer.sd)) and not np.isnan(answer.mean)


def note_row(ax: Axes, y: float, text: str) -> None:
    """Numbers at the right edge of a row."""
    ax.text(1.02, y, text, va="center", fontsize="small", transform=ax.get_yaxis_transform())


def name_rows(ax: Axes, names: list[str]) -> None:
    """Names of rows at 0, -1, -2, ... instead of a frame."""
    ax.set_yticks([-k for k in range(len(names))], labels=names)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)


def legend_above(ax: Axes, handles: list[Any], columns: int | None = None) -> None:
    """A legend over the picture, where no row is."""
    columns = len(handles) if columns is None else columns
    ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, **SMALL)
