"""Pictures of posteriors. Each function draws on one Axes and returns it; nothing is shown or saved.

Import it by name (`import jtruth.plots`); it needs matplotlib, the extra `plots`.
"""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from jtruth.evaluation import Evaluation
from jtruth.stats.estimates import Estimate
from jtruth.stats.regions import densest_cells
from jtruth.testing.joint import JointDensity, JointEstimate

# Okabe and Ito's colours, told apart by people who do not see red and green.
BLUE, ORANGE, GREEN, GREY, PURPLE = "#0072B2", "#D55E00", "#009E73", "#888888", "#CC79A7"
_CYCLE = (BLUE, ORANGE, GREEN, PURPLE, "#E69F00", "#56B4E9")


def _axes(ax: Axes | None) -> Axes:
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def _title(name: str) -> str:
    return {"recall": "recall  $P_D$", "false_alarm_rate": "false-alarm rate  $P_{FA}$"}.get(name, name)


def plot_estimate(
    estimate: Estimate,
    *,
    level: float = 0.95,
    ideal: float | None = None,
    label: str = "metric",
    draws: np.ndarray | None = None,
    color: str = BLUE,
    ax: Axes | None = None,
) -> Axes:
    """Density of a posterior with its mean, mode and highest-density region (shaded).

    Args:
        estimate: the law.
        level: probability of the shaded region.
        ideal: the true value, where it is known, as a dotted line.
        label: name of the metric, on the axis.
        draws: draws of the metric, as a grey histogram behind.
        color: of the curve.
        ax: where to draw; a new figure if None.
    """
    ax = _axes(ax)
    low, high = estimate.mean - 4.5 * estimate.sd, estimate.mean + 4.5 * estimate.sd
    x = np.linspace(max(low, -0.02), min(high, 1.02), 801)
    density = estimate.density(x)
    if draws is not None:
        ax.hist(draws, bins=40, density=True, color=GREY, alpha=0.4, label="draws")
    ax.plot(x, density, color=color)
    for k, (start, end) in enumerate(estimate.region(level).intervals):
        inside = (x >= start) & (x <= end)
        name = f"{100 * level:g} % region" if k == 0 else None
        ax.fill_between(x[inside], density[inside], color=color, alpha=0.2, lw=0, label=name)
    height = float(np.nanmax(density[np.isfinite(density)], initial=1.0))
    ax.plot(estimate.mean, 0.03 * height, "o", color=color, label="mean")
    ax.plot(estimate.mode, 0.03 * height, "^", color=color, mfc="white", label="mode")
    if ideal is not None:
        ax.axvline(ideal, color="black", ls=":", label="true value")
    ax.set(xlabel=_title(label), ylabel="posterior density")
    ax.set_ylim(0, None, auto=True)
    ax.legend(fontsize="small", frameon=False)
    return ax


def plot_metrics(
    result: Evaluation, *, ideal: Mapping[str, float] | None = None, ax: Axes | None = None
) -> Axes:
    """Every metric of an evaluation as mean and interval, beside what majority vote says."""
    ax = _axes(ax)
    names = list(result.metrics)
    naive = result.baselines.get("majority_vote", {})
    for k, name in enumerate(names):
        law = result.metrics[name]
        interval = law.interval(result.level)
        ax.plot([interval.low, interval.high], [k, k], color=BLUE, lw=3, solid_capstyle="butt")
        ax.plot(law.mean, k, "o", color=BLUE, label="posterior mean, interval" if k == 0 else None)
        if name in naive:
            ax.plot(naive[name], k, "x", color=ORANGE, label="majority vote" if k == 0 else None)
        if ideal is not None and name in ideal:
            ax.plot(ideal[name], k, "|", color="black", ms=16, label="true value" if k == 0 else None)
    kind = "posterior intervals" if result.interval_kind == "posterior" else result.interval_kind
    ax.set(yticks=range(len(names)), xlim=(0, 1), xlabel=f"{100 * result.level:g} % {kind}")
    ax.set_yticklabels([_title(name) for name in names])
    ax.invert_yaxis()
    ax.legend(fontsize="small", frameon=False)
    return ax


def plot_comparison(
    answers: Mapping[str, Estimate | float | np.ndarray],
    *,
    level: float = 0.95,
    ideal: float | None = None,
    label: str = "metric",
    ax: Axes | None = None,
) -> Axes:
    """One metric by several methods, one row a method: a law as mean, mode and region, numbers as marks."""
    ax = _axes(ax)
    for row, (answer, color) in enumerate(zip(answers.values(), _CYCLE * 5, strict=False)):
        if not isinstance(answer, Estimate):
            values = np.atleast_1d(np.asarray(answer, np.float64))
            ax.plot(values, np.full(values.size, row), "d", color=color, mfc="none")
            continue
        for start, end in answer.region(level).intervals:
            ax.plot([start, end], [row, row], color=color, lw=5, alpha=0.4, solid_capstyle="butt")
        ax.plot(answer.mean, row, "o", color=color)
        ax.plot(answer.mode, row, "^", color=color, mfc="white")
    if ideal is not None:
        ax.axvline(ideal, color="black", ls=":")
    ax.set(
        yticks=range(len(answers)),
        xlabel=f"{_title(label)}  (circle: mean, triangle: mode, bar: {100 * level:g} %)",
    )
    ax.set_yticklabels(list(answers))
    ax.invert_yaxis()
    return ax


def plot_joint(
    joint: JointEstimate | JointDensity,
    *,
    levels: tuple[float, ...] = (0.5, 0.8, 0.95),
    ideal: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Highest-density regions of two metrics; (recall, false-alarm rate) is drawn as a ROC plane."""
    ax = _axes(ax)
    x, y, density = _joint_grid(joint)
    mass = density.ravel() / density.sum()
    heights = sorted({float(density.ravel()[densest_cells(mass, level)].min()) for level in levels})
    swap = (joint.first, joint.second) == ("recall", "false_alarm_rate")
    order = (1, 0) if swap else (0, 1)
    grid = density if swap else density.T
    axes = (y, x) if swap else (x, y)
    ax.contourf(*axes, grid, levels=[*heights, float(density.max()) * 1.001], cmap="Blues", extend="neither")
    ax.contour(*axes, grid, levels=heights, colors=BLUE, linewidths=0.8)
    ax.plot(*joint.mean[list(order)], "o", color=BLUE, label="mean")
    ax.plot(*joint.mode[list(order)], "^", color=BLUE, mfc="white", label="mode")
    if ideal is not None:
        ax.plot(*np.asarray(ideal)[list(order)], "*", color="black", ms=10, label="true value")
    if swap:
        ax.plot([0, 1], [0, 1], ":", color=GREY, label="chance")
    names = (joint.first, joint.second)
    ax.set(xlabel=_title(names[order[0]]), ylabel=_title(names[order[1]]))
    margins = [np.ptp(v) * 0.02 for v in axes]
    ax.set_xlim(axes[0][0] - margins[0], axes[0][-1] + margins[0])
    ax.set_ylim(axes[1][0] - margins[1], axes[1][-1] + margins[1])
    ax.legend(fontsize="small", frameon=False)
    return ax


def _joint_grid(joint: JointEstimate | JointDensity) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Grid and density of either kind of joint law; atoms are smoothed over a quarter of an sd."""
    if isinstance(joint, JointDensity):
        return joint.on_grid(161)
    sd = np.sqrt(np.diag(joint.covariance))
    low = np.clip(joint.mean - 5 * sd, joint.points.min(0), joint.points.max(0))
    high = np.clip(joint.mean + 5 * sd, joint.points.min(0), joint.points.max(0))
    edges = [np.linspace(a, b + 1e-9, 61) for a, b in zip(low, high, strict=True)]
    density = joint.on_grid(*edges)
    kernel = np.exp(-0.5 * (np.arange(-6, 7) / 1.6) ** 2)
    for axis in (0, 1):
        density = np.apply_along_axis(lambda v: np.convolve(v, kernel / kernel.sum(), "same"), axis, density)
    x, y = (0.5 * (e[1:] + e[:-1]) for e in edges)
    return x, y, density


def plot_paths(
    fits: Mapping[str, Any], *, ideal: tuple[float, float] | None = None, ax: Axes | None = None
) -> Axes:
    """How the operating point moved in iterative methods (Su Figure 9): P_D solid, P_FA dashed."""
    ax = _axes(ax)
    for (name, fit), color in zip(fits.items(), _CYCLE, strict=False):
        path = np.asarray(fit.path)[: int(fit.num_steps) + 1]
        ax.plot(path[:, 0], "o-", color=color, ms=3, label=f"{name}: $P_D$")
        ax.plot(path[:, 1], "s--", color=color, ms=3, mfc="white", label=f"{name}: $P_{{FA}}$")
    for value in ideal or ():
        ax.axhline(value, color="black", ls=":")
    ax.set(xlabel="step", ylabel="operating point", ylim=(0, 1))
    ax.legend(fontsize="small", frameon=False)
    return ax
