"""The path of iterative methods (Su Figure 9)."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from jtruth.plots._parts import CYCLE, GREY, SMALL, new_axes
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
