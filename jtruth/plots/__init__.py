"""Pictures of posteriors (Su Figures 9-13, 17, 18). Each function draws on one Axes and returns it.

`import jtruth.plots` by name; it needs matplotlib (the extra `plots`). Nothing is shown or saved, and no
global setting is changed: without `ax` a new figure is made, with `ax` the picture joins what is there, so
that posteriors can be laid over each other. As in scikit-learn, `name` is what the legend calls the method
and `ax` is where to draw; `metric` names the number on the axis, `ideal` is the true value where it is known.

Every answer draws itself (`result.plot()`), and `plot_block` any of its blocks; the others are pictures of
distributions, and of what an answer does not know: the truth, another method, earlier answers.

A circle is a posterior mean, a triangle a mode, a diamond a number without uncertainty, a cross the majority
vote, a star or dotted line the true value. Colours are those of Okabe and Ito, which people with any common
colour blindness tell apart.
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
from jtruth.plots.dists import plot_comparison, plot_estimate
from jtruth.plots.joint import Look, plot_joint, plot_joints

__all__ = [
    "ConfusionMatrixDisplay", "Look", "PrecisionRecallDisplay", "ReliabilityDisplay", "RocDisplay",
    "plot_block", "plot_comparison", "plot_curve_density", "plot_curves", "plot_estimate",
    "plot_gold_progress", "plot_joint", "plot_joints", "plot_metrics", "plot_path", "plot_reliability",
    "plot_result",
]  # fmt: skip
