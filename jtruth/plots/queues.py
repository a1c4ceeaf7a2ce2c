"""What to do next, and what it brings: doubtful labels, labels to buy, a cleaning, labelers by their bits.

The results come from rooms beside this one, which it does not import.
"""

from typing import Any

from matplotlib.axes import Axes

from jtruth.plots._parts import BLUE, GREY, ORANGE, SMALL, key, mark, new_axes
from jtruth.plots.rows import legend_above, name_rows, note_row


def plot_cleaning(found: Any, *, ax: Axes | None = None) -> Axes:
    """Accuracy of the model by the number of an expert's answers: estimated, and true where it is known.

    Args:
        found: a `State` of `jtruth.cleaning`, whose `trail` `jtruth.cleaning.clean` writes.
        ax: where to draw; a new figure if None.

    Raises:
        ValueError: nothing was judged on the way.
    """
    if not found.trail:
        raise ValueError("this cleaning has no trail: `jtruth.cleaning.clean` judges the model on the way")
    ax = new_axes(ax)
    answers = [step.num_answers for step in found.trail]
    estimated = [step.estimated for step in found.trail]
    ax.plot(answers, estimated, color=BLUE, marker="o", label="estimated from noisy labels")
    if all(step.true is not None for step in found.trail):
        true = [step.true for step in found.trail]
        ax.plot(answers, true, color="black", ls=":", marker="x", label="true")
    ax.set(xlabel="answers of the expert", ylabel="accuracy of the model", title=f"strategy {found.strategy}")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(**SMALL)
    return ax


def plot_labeler_bits(found: Any, *, ax: Axes | None = None) -> Axes:
    """Each labeler's bits: alone, and beyond all others; the dotted line is the whole team.

    Args:
        found: what `jtruth.information.labeler_information` returned.
        ax: where to draw; a new figure if None.
    """
    ax = new_axes(ax, found.alone.size)
    for k, (alone, last) in enumerate(zip(found.alone, found.last, strict=True)):
        mark(ax, alone, -k, "o", BLUE)
        mark(ax, last, -k, "x", ORANGE)
        note_row(ax, -k, f"{alone:.3f}  {last:.3f}")
    ax.axvline(found.total, color=GREY, ls=":")
    name_rows(ax, [f"labeler {t}" for t in range(found.alone.size)])
    ax.set(ylim=(0.4 - found.alone.size, 0.6), xlabel="bits a sample; dotted: all together")
    ax.set_xlim(left=0)
    legend_above(ax, [key("o", "alone", BLUE), key("x", "beyond all others", ORANGE)])
    return ax


def plot_team(found: Any, *, ax: Axes | None = None) -> Axes:
    """Bits of a growing team by what it costs; each mark is named by the labeler who joins.

    Args:
        found: what `jtruth.information.best_labelers` returned.
        ax: where to draw; a new figure if None.
    """
    ax = new_axes(ax)
    ax.plot(found.cost, found.bits, color=BLUE, marker="o")
    for k, (who, cost, bits) in enumerate(zip(found.order, found.cost, found.bits, strict=True)):
        ax.annotate(f"+ labeler {who}", (cost, bits), (0, -16 if k % 2 else 8), textcoords="offset points",
                    fontsize="small", ha="center")  # fmt: skip
    ax.margins(x=0.12, y=0.15)
    ax.set(xlabel="cost of the team", ylabel="bits a sample")
    ax.set_ylim(bottom=0)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
