"""Several classifiers: the law of every difference to the best one, and who is best with what probability."""

import numpy as np
from matplotlib.axes import Axes

from jtruth.evaluation.compared import Comparison
from jtruth.plots._parts import BLUE, GREY, SMALL, mark, new_axes, percent, title


def plot_classifiers(found: Comparison, *, ax: Axes | None = None) -> Axes:
    """How much worse than the best: the law of each classifier's difference to the first of the ranking.

    One row a classifier, the best on top. A shape is the density of the difference (value minus that of the
    first), where there is one law; the line under it is the interval, the circle the mean. Beside each name
    stands the probability to be the best of all.

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
            continue
        turned = (first, name) in found.differences
        law = found.differences[(first, name) if turned else (name, first)]
        low, high, _ = law.interval(found.level)
        mean, low, high = (-law.mean, -high, -low) if turned else (law.mean, low, high)
        if found.interval_kind == "posterior" and law.sd > 0:
            x = np.linspace(mean - 4 * law.sd, mean + 4 * law.sd, 201)
            height = np.asarray(law.density(-x if turned else x))
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
    ax.set_title(f"{percent(found.level)} {kind}s", fontsize=SMALL["fontsize"])
    return ax
