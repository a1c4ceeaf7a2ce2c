"""Two metrics of an answer that rests on several assumptions: the regions of each, laid over each other."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from jtruth.evaluation import Evaluation
from jtruth.plots._parts import CYCLE, LINES, MARKERS, SMALL, new_axes, percent
from jtruth.plots.joint import Look, plot_joint
from jtruth.stats.regions import check_level
from jtruth.tables.metrics import named_metric


def plot_joints(
    evaluation: Evaluation,
    first: str = "recall",
    second: str = "false_alarm_rate",
    *,
    ideal: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Regions of two metrics under every assumption: a range has no joint law, its parts have.

    An assumption without a law of the table (the majority vote, PPI++) is named below the picture.

    Args:
        evaluation: what `jtruth.evaluate` returned; the regions are those of its `level`.
        first, second: names of metrics, as in `plot_joint`.
        ideal: the true (first, second), where it is known.
        ax: where to draw; a new figure if None.

    Raises:
        ValueError: no assumption of this answer has a law of the table.
    """
    level = check_level(evaluation.level)
    positive = evaluation.classes.index(evaluation.positive)
    pair = [named_metric(name, evaluation.classes, positive) for name in (first, second)]
    held, missing = {}, []
    for part in evaluation.assumptions:
        if part.posterior is None:
            missing.append(part.sentence)
            continue
        try:
            held[part.sentence] = part.posterior.joint(*pair)
        except ValueError:  # not identified
            missing.append(part.sentence)
    if not held:
        raise ValueError("no assumption of this answer has a joint law of its table; plot_metrics shows it")
    ax = new_axes(ax)
    for k, (sentence, joint) in enumerate(held.items()):
        line, marker = LINES[k % len(LINES)], MARKERS[k % len(MARKERS)]
        look = Look(sentence, CYCLE[k % len(CYCLE)], len(held) == 1, line, marker)
        plot_joint(joint, levels=(level,), ax=ax, look=look, ideal=ideal if k == 0 else None)
    ax.autoscale()
    handles, names = ax.get_legend_handles_labels()
    shown = [(h, n.removesuffix(", mean")) for h, n in zip(handles, names, strict=True) if ", mode" not in n]
    handles, names = map(list, zip(*shown, strict=True))
    handles += [Line2D([], [], ls="none") for _ in missing]
    names += [f"no region: {sentence}" for sentence in missing]
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "alignment": "left"}
    ax.legend(handles, names, title=f"{percent(level)} regions", **place, **SMALL)
    return ax
