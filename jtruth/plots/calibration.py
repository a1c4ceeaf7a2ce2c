"""Calibration when experts disagree: reliability diagrams, calibration against dispersion, concentrations.

Mimori et al. (2021), Figures 1, 3 and 5. What is drawn comes from `jtruth.histograms.loss_estimates` and
`jtruth.evaluation.calibration`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from jtruth.histograms.calibration import Calibration
from jtruth.plots._parts import BLUE, GREY, ORANGE, SMALL, new_axes


def plot_reliability(
    found: Calibration,
    *,
    of: int = 0,
    name: str | None = None,
    what: str = "class probability",
    color: str = BLUE,
    marker: str = "o",
    ax: Axes | None = None,
) -> Axes:
    """What was observed against what was predicted, by bin, with two standard errors of the gap and counts.

    Args:
        found: `LossTable.classes`, or `.disagreement` (Figure 1).
        of: which class, 0 for disagreement.
        name: legend entry.
        what: name of the axes.
        color: of points and band.
        marker: of points; another than "o" is joined by a dashed line, to be told apart in grey.
        ax: where to draw; a new figure if None.
    """
    ax = new_axes(ax)
    table = found.table
    used = np.asarray(table.count)[of] > 0
    m = np.asarray(table.count)[of][used]
    x, y = (np.asarray(values)[of][used] for values in (table.predicted, table.target))
    error = np.sqrt(np.asarray(table.gap_spread)[of][used] / np.maximum(m - 1, 1))
    error = np.where(m > 1, error, np.nan)  # one sample has no error
    ax.plot([0, 1], [0, 1], ls="--", color=GREY, lw=1, zorder=0)
    ax.fill_between(x, y - 2 * error, y + 2 * error, color=color, alpha=0.2, lw=0)
    ax.plot(x, y, color=color, lw=1.2, ls="-" if marker == "o" else "--", zorder=3)
    ax.scatter(x, y, s=10 + 90 * m / m.max(), color=color, marker=marker, zorder=4, label=name)
    ax.set(xlabel=f"predicted {what}", ylabel=f"observed {what}", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.spines[["top", "right"]].set_visible(False)
    if name is not None:
        ax.legend(title=f"{int(m.sum())} samples; area: share in bin; band: 2 s.e.", **SMALL)
    return ax


def plot_concentrations(concentration: Any, *, name: str | None = None, ax: Axes | None = None) -> Axes:
    """Histogram of alpha_0 on a log scale: left, labelers of a sample agree; right, they draw from f."""
    ax = new_axes(ax)
    alpha = np.asarray(concentration, np.float64)
    low, high = np.log10(alpha.min()), np.log10(alpha.max())
    edges = np.logspace(low - 0.05, high + 0.05, 41)
    ax.hist(alpha, bins=list(edges), color=BLUE, alpha=0.8, label=name)
    ax.axvline(1.0, color=GREY, lw=1, ls="--")
    ax.set(xscale="log", xlabel=r"concentration $\alpha_0$", ylabel="samples")
    ax.spines[["top", "right"]].set_visible(False)
    if name is not None:
        ax.legend(**SMALL)
    return ax


def plot_second_opinion(
    prior: Mapping[str, Any], posterior: Mapping[str, Any], *, level: float = 0.95, ax: Axes | None = None
) -> Axes:
    """Epistemic loss before and after one label, by method.

    Args:
        prior, posterior: method -> `Estimate` of the epistemic loss.
        level: of the intervals.
        ax: where to draw; a new figure if None.
    """
    ax = new_axes(ax, len(prior))
    for row, name in enumerate(prior):
        for law, color, marker, label, up in (
            (prior[name], GREY, "o", "before", -0.1),
            (posterior[name], ORANGE, "s", "after", 0.1),
        ):
            low, high = law.interval(level)
            ax.plot([low, high], [row + up] * 2, color=color, lw=2)
            ax.plot(
                law.mean,
                row + up,
                marker,
                color=color,
                mfc="white" if marker == "o" else color,
                label=f"{label} one label" if row == 0 else None,
            )
    ax.set_yticks(range(len(prior)), list(prior))
    ax.set(xlabel="epistemic loss", ylim=(-0.6, len(prior) - 0.4))
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(**SMALL)
    return ax
