"""One line for every answer: `result.plot()`. What an answer shows are its blocks (`jtruth.plots.answers`).

A few results have a picture of their own, `_OWN`; for an evaluation and a consensus it stands in the place of
the first block. A result of several panels is drawn on a new figure; on an `ax` of your own there is room for
the first only.
"""

from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jtruth.answers import Answer
from jtruth.plots.answers import drawn_blocks, drawn_on_a_figure, height_of, plot_block, plot_checks
from jtruth.plots.certainty import plot_certainty
from jtruth.plots.estimate import plot_estimate
from jtruth.plots.joint import plot_joint
from jtruth.plots.queues import plot_cleaning, plot_labeler_bits, plot_team
from jtruth.plots.rows import plot_metrics
from jtruth.stats.estimates import Estimate

_MOST_BELOW = 2
_OWN = {  # instead of the first block of an answer, and of what is none
    "Consensus": plot_certainty,
    "Estimate": partial(plot_estimate, metric="value"),
    "Evaluation": plot_metrics,
    "JointDensity": plot_joint,
    "JointEstimate": plot_joint,
    "LabelerInformation": plot_labeler_bits,
    "LabelerOrder": plot_team,
    "State": plot_cleaning,
}


def plot_result(result: Any, *, ax: Axes | None = None) -> Figure:
    """Any answer as a picture; what `result.plot()` calls.

    Args:
        result: an answer of jtruth.
        ax: where to draw its first panel; None: a new figure with all of them.

    Raises:
        ValueError: something of which there is no picture.
    """
    name = "Estimate" if isinstance(result, Estimate) else type(result).__name__
    shown = drawn_blocks(result.blocks()) if isinstance(result, Answer) else []
    if name not in _OWN and not shown:
        raise ValueError(f"there is no picture of a {name}; there is one of answers and of {', '.join(_OWN)}")
    own = _OWN.get(name)
    panels = [partial(_drawn, own, result)] if own is not None else []
    panels += [partial(_drawn, plot_block, block) for block in shown[bool(panels) :]]
    if ax is not None:
        panels[0](ax)
        return ax.figure  # type: ignore[return-value]
    checks = [partial(_drawn, plot_checks, result)] if getattr(result, "checks", ()) else []
    chosen = [*panels[: 1 + _MOST_BELOW - len(checks)], *checks]
    return drawn_on_a_figure(chosen, height_of(shown[0]) if shown else 4.2)


def _drawn(how: Any, what: Any, ax: Axes) -> Any:
    return how(what, ax=ax)
