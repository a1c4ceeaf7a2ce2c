"""Pictures of posteriors (Su Figures 9-13, 17, 18). Each function draws on one Axes and returns it.

Needs matplotlib (the extra `plots`); `jtruth.plots` is imported by name. Nothing is shown or saved, and no
global setting is changed: without `ax` a new figure is made, with `ax` the picture joins the Axes, so that
posteriors can be overlaid. `name` is the method in the legend, `metric` the number on the axis, `ideal` the
true value where it is known.

`result.plot()` draws every answer, `plot_block` one of its blocks; the other functions draw distributions,
and add the truth, another method or earlier answers.

A circle is a posterior mean, a triangle a mode, a diamond a number without uncertainty, a cross the majority
vote, a star or dotted line the true value. Colours are those of Okabe and Ito, safe for color-blind readers.
"""

from jtruth.plots.blocks import plot_block, plot_metrics, plot_result
from jtruth.plots.displays import (
    ConfusionMatrixDisplay,
    PrecisionRecallDisplay,
    ReliabilityDisplay,
    RocDisplay,
    plot_curve_density,
    plot_curves,
    plot_gold_progress,
    plot_path,
    plot_reliability,
)
from jtruth.plots.dists import Look, plot_comparison, plot_estimate, plot_joint, plot_joints

__all__ = [
    "ConfusionMatrixDisplay", "Look", "PrecisionRecallDisplay", "ReliabilityDisplay", "RocDisplay",
    "plot_block", "plot_comparison", "plot_curve_density", "plot_curves", "plot_estimate",
    "plot_gold_progress", "plot_joint", "plot_joints", "plot_metrics", "plot_path", "plot_reliability",
    "plot_result",
]  # fmt: skip
