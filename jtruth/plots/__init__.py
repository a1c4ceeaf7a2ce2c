"""Pictures of posteriors (Su Figures 9-13, 17, 18). Each function draws on one Axes and returns it.

`import jtruth.plots` by name; it needs matplotlib (the extra `plots`). Nothing is shown or saved, and no
global setting is changed: without `ax` a new figure is made, with `ax` the picture joins what is there, so
that posteriors can be laid over each other. As in scikit-learn, `name` is what the legend calls the method
and `ax` is where to draw; `metric` names the number on the axis, `ideal` is the true value where it is known.

A circle is a posterior mean, a triangle a mode, a diamond a number without uncertainty, a cross the majority
vote, a star or dotted line the true value. Colours are those of Okabe and Ito, which people with any common
colour blindness tell apart.
"""

from jtruth.plots.answers import plot_checks, plot_confusion, plot_labelers
from jtruth.plots.calibration import (
    plot_calibration_map,
    plot_concentrations,
    plot_reliability,
    plot_second_opinion,
)
from jtruth.plots.certainty import plot_certainty, plot_class_scores, plot_disagreement
from jtruth.plots.compare import plot_classifiers
from jtruth.plots.curves import PrecisionRecallDisplay, RocDisplay, plot_curve_density, plot_curves
from jtruth.plots.dashboard import EvaluationDisplay, plot_result
from jtruth.plots.displays import (
    ComparisonDisplay,
    ConfusionMatrixDisplay,
    LabelersDisplay,
    ReliabilityDisplay,
)
from jtruth.plots.estimate import plot_estimate
from jtruth.plots.joint import Look, plot_joint
from jtruth.plots.joints import plot_joints
from jtruth.plots.models import plot_agreement, plot_models
from jtruth.plots.path import plot_path
from jtruth.plots.plans import plot_plan
from jtruth.plots.queues import (
    plot_cleaning,
    plot_issues,
    plot_label_request,
    plot_labeler_bits,
    plot_team,
)
from jtruth.plots.rows import plot_comparison, plot_metrics
from jtruth.plots.sensitivity import plot_sensitivity
from jtruth.plots.shares import plot_gold_progress, plot_label_shares, plot_prevalence

__all__ = [
    "ComparisonDisplay",
    "ConfusionMatrixDisplay",
    "EvaluationDisplay",
    "LabelersDisplay",
    "Look",
    "PrecisionRecallDisplay",
    "ReliabilityDisplay",
    "RocDisplay",
    "plot_agreement",
    "plot_calibration_map",
    "plot_certainty",
    "plot_checks",
    "plot_class_scores",
    "plot_classifiers",
    "plot_cleaning",
    "plot_comparison",
    "plot_concentrations",
    "plot_confusion",
    "plot_curve_density",
    "plot_curves",
    "plot_disagreement",
    "plot_estimate",
    "plot_gold_progress",
    "plot_issues",
    "plot_joint",
    "plot_joints",
    "plot_label_request",
    "plot_label_shares",
    "plot_labeler_bits",
    "plot_labelers",
    "plot_metrics",
    "plot_models",
    "plot_path",
    "plot_plan",
    "plot_prevalence",
    "plot_reliability",
    "plot_result",
    "plot_second_opinion",
    "plot_sensitivity",
    "plot_team",
]
