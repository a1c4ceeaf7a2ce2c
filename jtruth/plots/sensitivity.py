"""A metric's posterior along one assumption that is moved by hand."""

import numpy as np
from matplotlib.axes import Axes

from jtruth.evaluation.assumptions.sensitivity import Sensitivity
from jtruth.plots._parts import BLUE, GREY, ORANGE, SMALL, new_axes, percent, title


def plot_sensitivity(
    found: Sensitivity,
    metric: str = "accuracy",
    *,
    threshold: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Mean and interval of a metric for every value of the assumption.

    Args:
        found: what `Evaluation.sensitivity` returned.
        metric: name of the metric.
        threshold: a number of interest; where the mean crosses it is marked.
        ax: where to draw; a new figure if None.
    """
    ax = new_axes(ax, 4)
    laws = found.metrics[metric]
    ends = np.array([law.interval(found.level) for law in laws])
    ax.fill_between(found.values, ends[:, 0], ends[:, 1], color=BLUE, alpha=0.25, lw=0,
                    label=f"{percent(found.level)} interval")  # fmt: skip
    ax.plot(found.values, [law.mean for law in laws], color=BLUE, marker="o", ms=4, label="mean")
    if found.base > found.values[0]:
        ax.axvline(found.base, color=GREY, lw=1, label="the answer as it is")
    if threshold is not None:
        ax.axhline(threshold, color=ORANGE, ls=":", lw=1.2)
        point = found.tipping_point(metric, threshold)
        if point is not None:
            ax.plot(point, threshold, "D", color=ORANGE, label=f"tipping point {point:.3g}")
    ax.set(xlabel=found.axis, ylabel=title(metric))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(**SMALL)
    return ax
