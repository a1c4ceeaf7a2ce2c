"""Pictures of posteriors (Su Figures 9-13, 17, 18). Each function draws on one Axes and returns it.

`import jtruth.plots` by name; it needs matplotlib (the extra `plots`). Nothing is shown or saved, and no
global setting is changed: without `ax` a new figure is made, with `ax` the picture joins what is there, so
that posteriors can be laid over each other. As in scikit-learn, `name` is what the legend calls the method
and `ax` is where to draw; `metric` names the number on the axis, `ideal` is the true value where it is known.

A circle is a posterior mean, a triangle a mode, a diamond a number without uncertainty, a cross the majority
vote, a star or dotted line the true value. Colours are those of Okabe and Ito, which people with any common
colour blindness tell apart.
"""

from jtruth.plots.answers import plot_block, plot_checks
from jtruth.plots.calibration import (
    plot_concentrations,
    plot_reliability,
    plot_second_opinion,
)
from jtruth.plots.certainty import plot_certainty
from jtruth.plots.curves import PrecisionRecallDisplay, RocDisplay, plot_curve_density, plot_curves
from jtruth.plots.dashboard import plot_result
from jtruth.plots.displays import (
    ConfusionMatrixDisplay,
    EvaluationDisplay,
    ReliabilityDisplay,
)
from jtruth.plots.estimate import plot_estimate
from jtruth.plots.joint import Look, plot_joint
from jtruth.plots.joints import plot_joints
from jtruth.plots.path import plot_path
from jtruth.plots.queues import (
    plot_cleaning,
    plot_labeler_bits,
    plot_team,
)
from jtruth.plots.rows import plot_comparison, plot_metrics
from jtruth.plots.sensitivity import plot_sensitivity
from jtruth.plots.shares import plot_gold_progress

__all__ = [
    "ConfusionMatrixDisplay",
    "EvaluationDisplay",
    "Look",
    "PrecisionRecallDisplay",
    "ReliabilityDisplay",
    "RocDisplay",
    "plot_block",
    "plot_certainty",
    "plot_checks",
    "plot_cleaning",
    "plot_comparison",
    "plot_concentrations",
    "plot_curve_density",
    "plot_curves",
    "plot_estimate",
    "plot_gold_progress",
    "plot_joint",
    "plot_joints",
    "plot_labeler_bits",
    "plot_metrics",
    "plot_path",
    "plot_reliability",
    "plot_result",
    "plot_second_opinion",
    "plot_sensitivity",
    "plot_team",
]
