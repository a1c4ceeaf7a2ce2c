"""One line for every answer: `result.plot()`, and the display of an evaluation as scikit-learn has them.

`_PANELS` says which pictures a result gets. A result of several panels is drawn on a new figure; on an `ax`
of your own there is room for the first only.
"""

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jtruth.evaluation import Evaluation, evaluate
from jtruth.plots._parts import ORANGE
from jtruth.plots.answers import plot_checks, plot_confusion, plot_labelers
from jtruth.plots.calibration import plot_reliability
from jtruth.plots.certainty import plot_certainty, plot_class_scores, plot_disagreement
from jtruth.plots.compare import plot_classifiers
from jtruth.plots.curves import PrecisionRecallDisplay, RocDisplay
from jtruth.plots.estimate import plot_estimate
from jtruth.plots.joint import plot_joint
from jtruth.plots.models import plot_agreement, plot_models
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
from jtruth.plots.shares import plot_label_shares, plot_prevalence
from jtruth.stats.estimates import Estimate

Panel = Callable[[Any, Axes], Any]
_WIDE = 8.4  # inches


class EvaluationDisplay:
    """The metrics of an evaluation; `.ax_` and `.figure_` are there after `plot`."""

    ax_: Axes
    figure_: Any

    def __init__(self, evaluation: Evaluation):
        self.evaluation = evaluation

    @classmethod
    def from_evaluation(cls, evaluation: Evaluation) -> "EvaluationDisplay":
        """Of what `jtruth.evaluate` returned."""
        return cls(evaluation)

    @classmethod
    def from_predictions(cls, y_pred: Any, labels: Any, **options: Any) -> "EvaluationDisplay":
        """Evaluate, with the options of `jtruth.evaluate`, and keep the answer as `.evaluation`."""
        return cls(evaluate(y_pred, labels, **options))

    def plot(self, ax: Axes | None = None, *, ideal: Any = None) -> "EvaluationDisplay":
        """Draw on `ax`, or on a new figure; `ideal`: metric name -> true value, where it is known."""
        self.ax_ = plot_metrics(self.evaluation, ax=ax, ideal=ideal)
        self.figure_ = self.ax_.figure
        return self


def plot_result(result: Any, *, ax: Axes | None = None) -> Figure:
    """Any answer as a picture; what `result.plot()` calls.

    Args:
        result: an answer of jtruth.
        ax: where to draw its first panel; None: a new figure with all of them.

    Raises:
        ValueError: something of which there is no picture.
    """
    name = "Estimate" if isinstance(result, Estimate) else type(result).__name__
    if name not in _PANELS:
        raise ValueError(f"there is no picture of a {name}; there is one of {', '.join(sorted(_PANELS))}")
    panels, height = _PANELS[name]
    if ax is not None:
        panels[0](result, ax)
        return ax.figure  # type: ignore[return-value]
    rest = [panel for panel in panels[1:] if panel is not _checks or getattr(result, "checks", ())]
    first = height(result)
    size = (_WIDE, first) if not rest else (max(_WIDE, 5.6 * len(rest)), first + 3.6)
    figure = plt.figure(figsize=size, layout="constrained")
    high = [first, 3.6] if rest else [first]
    grid = figure.add_gridspec(len(high), max(len(rest), 1), height_ratios=high)
    panels[0](result, figure.add_subplot(grid[0, :]))
    for k, panel in enumerate(rest):
        panel(result, figure.add_subplot(grid[1, k]))
    return figure


def _checks(result: Any, ax: Axes) -> Any:
    return plot_checks(result, ax=ax)


def _numbers(result: Any, ax: Axes) -> Any:
    """A law, or one row for each of several."""
    places = list(np.ndindex(*_shape(result)))
    if places == [()]:
        return plot_estimate(result.estimate(), level=result.level, ax=ax, metric="value")
    laws = {str(list(place)): result.estimate(*place) for place in places}
    return plot_comparison(laws, level=result.level, ax=ax, metric="value")


def _shape(result: Any) -> tuple[int, ...]:
    """Of the numbers of a `MetricPosterior`; () is one number."""
    return result.views[0].draws.shape[1:]


def _sensitivity(result: Any, ax: Axes) -> Any:
    metric = "accuracy" if "accuracy" in result.metrics else next(iter(result.metrics))
    return plot_sensitivity(result, metric, ax=ax)


def _calibration(result: Any, ax: Axes) -> Any:
    before, after = (table.classes for table in result.tables)
    what = f"probability of {result.classes[0]}"
    plot_reliability(before, name="before", ax=ax, what=what)
    return plot_reliability(after, name="after", color=ORANGE, marker="s", ax=ax, what=what)


def _rows(count: Callable[[Any], int]) -> Callable[[Any], float]:
    return lambda result: 1.3 + 0.5 * max(count(result), 1)


def _metric_rows(result: Any) -> int:
    """Rows of metrics, and lines of the legend where assumptions are listed."""
    parts = len(result.assumptions)
    return len(result.metrics) + (parts if parts > 1 else 0)


def _fixed(result: Any) -> float:
    return 4.2


def _shown(number: Callable[[Any], int]) -> Callable[[Any], float]:
    """Height of at most 20 rows."""
    return lambda result: 1.3 + 0.4 * min(max(number(result), 2), 20)


_PANELS: dict[str, tuple[tuple[Panel, ...], Callable[[Any], float]]] = {
    "CalibrationReport": ((_calibration,), _fixed),
    "ClassScores": (
        (
            lambda r, ax: plot_class_scores(r, ax=ax),
            lambda r, ax: plot_class_scores(r, "average_precision", ax=ax),
        ),
        _rows(lambda r: len(r.each) + 2),
    ),
    "Comparison": ((lambda r, ax: plot_classifiers(r, ax=ax),), _rows(lambda r: len(r.names))),
    "Consensus": (
        (lambda r, ax: plot_certainty(r, ax=ax), lambda r, ax: plot_disagreement(r, ax=ax)),
        _fixed,
    ),
    "Estimate": ((lambda r, ax: plot_estimate(r, ax=ax, metric="value"),), _fixed),
    "Evaluation": (
        (lambda r, ax: plot_metrics(r, ax=ax), lambda r, ax: plot_confusion(r, ax=ax), _checks),
        _rows(_metric_rows),
    ),
    "Inspection": (
        (lambda r, ax: plot_label_shares(r, ax=ax), lambda r, ax: plot_agreement(r, ax=ax)),
        _rows(lambda r: len(r.classes)),
    ),
    "Issues": ((lambda r, ax: plot_issues(r, ax=ax),), _shown(lambda r: r.p_wrong.size)),
    "JointDensity": ((lambda r, ax: plot_joint(r, ax=ax),), _fixed),
    "JointEstimate": ((lambda r, ax: plot_joint(r, ax=ax),), _fixed),
    "LabelRequest": ((lambda r, ax: plot_label_request(r, ax=ax),), _shown(lambda r: r.drop.size)),
    "LabelerAgreement": ((lambda r, ax: plot_agreement(r, ax=ax),), _rows(lambda r: len(r.overall))),
    "LabelerInformation": ((lambda r, ax: plot_labeler_bits(r, ax=ax),), _rows(lambda r: r.alone.size)),
    "LabelerOrder": ((lambda r, ax: plot_team(r, ax=ax),), _fixed),
    "LabelerReport": ((lambda r, ax: plot_labelers(r, ax=ax), _checks), _rows(lambda r: len(r.rows))),
    "MetricPosterior": ((_numbers,), lambda r: max(4.2, 1.3 + 0.5 * np.prod(_shape(r), dtype=int))),
    "ModelComparison": ((lambda r, ax: plot_models(r, ax=ax),), _rows(lambda r: len(r.names))),
    "PlanSearch": ((lambda r, ax: plot_plan(r, ax=ax),), _fixed),
    "Prevalence": ((lambda r, ax: plot_prevalence(r, ax=ax),), _rows(lambda r: len(r.label_shares))),
    "ScoreEvaluation": (
        (
            lambda r, ax: RocDisplay.from_evaluation(r).plot(ax),
            lambda r, ax: PrecisionRecallDisplay.from_evaluation(r).plot(ax),
        ),
        _fixed,
    ),
    "Sensitivity": ((_sensitivity,), _fixed),
    "State": ((lambda r, ax: plot_cleaning(r, ax=ax),), _fixed),
}
