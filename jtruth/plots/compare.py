"""Several classifiers: the law of every difference to the best one, and who is best with what probability."""

import numpy as np
from matplotlib.axes import Axes
from scipy.ndimage import gaussian_filter1d

from jtruth.evaluation.compared import Comparison
from jtruth.plots._parts import BLUE, GREY, SMALL, mark, new_axes, percent, title


def plot_classifiers(found: Comparison, *, ax: Axes | None = None) -> Axes:
    """How much worse than the best: the law of each classifier's difference to the first of the ranking.

    One row a classifier, the best on top with a hollow mark at 0. A shape is the density of the difference
    (value minus that of the first), smoothed by a third of its sd, where there is one law; the line under it
    is the interval, the circle the mean. Beside each name stands the probability to be the best of all.

    Args:
        found: the answer of `compare_classifiers`.
        ax: where to draw; a new figure if None.

    Returns:
        The Axes.
    """
    order = found.ranking
    ax, first = new_axes(ax, len(order)), order[0]
    for row, name in enumerate(order):
        if name == first:
            ax.plot(0, row, "o", color=BLUE, mfc="white", zorder=3)
            continue
        turned = (first, name) in found.differences
        law = found.differences[(first, name) if turned else (name, first)]
        low, high, _ = law.interval(found.level)
        mean, low, high = (-law.mean, -high, -low) if turned else (law.mean, low, high)
        if found.interval_kind == "posterior" and law.sd > 0:
            x = np.linspace(mean - 4 * law.sd, mean + 4 * law.sd, 201)
            # Values of few samples lie on a lattice, whose teeth would say nothing.
            height = gaussian_filter1d(np.asarray(law.density(-x if turned else x)), 0.25 * 201 / 8)
            ax.fill_between(x, row, row - 0.7 * height / height.max(), color=BLUE, alpha=0.25, lw=0)
        ax.plot([low, high], [row, row], color=BLUE, lw=2)
        mark(ax, mean, row, "o", BLUE)
    if found.margin:
        for edge in (-found.margin, found.margin):
            ax.axvline(edge, color=GREY, ls=":", lw=1)
    ax.axvline(0, color="black", lw=1)
    names = [f"{name}\nP(best) {found.best[name]}" for name in order]
    ax.set(yticks=range(len(order)), yticklabels=names, ylim=(len(order) - 0.5, -0.9),
           xlabel=f"{title(found.metric)}, difference to {first}")  # fmt: skip
    kind = "posterior interval" if found.interval_kind == "posterior" else found.interval_kind
    margin = f"; dotted: {found.margin:g} apart" if found.margin else ""
    ax.set_title(f"{percent(found.level)} {kind}s{margin}", fontsize=SMALL["fontsize"])
    return ax
