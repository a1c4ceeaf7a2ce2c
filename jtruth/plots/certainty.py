"""How sure a consensus is of its samples, and which labelers say otherwise."""

import numpy as np
from matplotlib.axes import Axes

from jtruth._validation.terminal import plain
from jtruth.evaluation import ClassScores, Consensus
from jtruth.evaluation.class_scores import AVERAGES
from jtruth.plots._parts import BLUE, ORANGE, SMALL, mark, new_axes, percent
from jtruth.plots.rows import draw_row, name_rows, note_row

_BINS = 20
_MOST_ROWS = 20


def plot_certainty(found: Consensus, *, ax: Axes | None = None) -> Axes:
    """How many samples have a consensus of which probability; tied samples are hatched.

    A probability is what the method believes, not how often it is right: only gold can judge that.

    Args:
        found: what `jtruth.consensus` returned.
        ax: where to draw; a new figure if None.
    """
    ax = new_axes(ax)
    edges = np.linspace(1 / found.class_posterior.shape[1], 1, _BINS + 1)
    p = np.clip(found.probability, edges[0], 1.0)  # rounding only: the largest of C shares is 1/C or more
    ax.hist(p, bins=list(edges), color=BLUE, alpha=0.45, label=f"{p.size} samples")
    if found.tied.any():
        ax.hist(p[found.tied], bins=list(edges), color="white", edgecolor=ORANGE, hatch="//",
                label=f"{np.count_nonzero(found.tied)} of them tied")  # fmt: skip
    ax.axvline(p.mean(), color="black", ls=":", label=f"mean {p.mean():.3f}")
    ax.set(xlabel=f"probability of the consensus by {found.method}", ylabel="samples")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="upper left", **SMALL)
    return ax


def plot_disagreement(found: Consensus, *, ax: Axes | None = None) -> Axes:
    """Share of each labeler's labels that differ from the consensus, most first, at most 20 labelers.

    Args:
        found: what `jtruth.consensus` returned.
        ax: where to draw; a new figure if None.
    """
    rows = found.labelers()
    shown = rows[:_MOST_ROWS]
    ax = new_axes(ax, len(shown))
    for k, row in enumerate(shown):
        if not row["num_labels"]:
            note_row(ax, -k, "no label")
            continue
        share = row["num_disagree"] / row["num_labels"]
        ax.plot([0, share], [-k, -k], color=BLUE, lw=1)
        mark(ax, share, -k, "o", BLUE)
        note_row(ax, -k, f"{row['num_disagree']} of {row['num_labels']}")
    name_rows(ax, [plain(row["worker"]) for row in shown])
    more = f"; {len(rows) - len(shown)} labelers more" if len(shown) < len(rows) else ""
    ax.set(xlim=(0, 1), ylim=(0.4 - len(shown), 0.6), xlabel=f"share of labels against the consensus{more}")
    return ax


def plot_class_scores(found: ClassScores, metric: str = "auc", *, ax: Axes | None = None) -> Axes:
    """Area of every class against the rest, and of the averages, with intervals.

    Args:
        found: what `jtruth.evaluate_class_scores` returned.
        metric: "auc" or "average_precision".
        ax: where to draw; a new figure if None.
    """
    laws = {plain(name): getattr(one, metric) for name, one in found.each.items()}
    laws |= {f"{name} average": getattr(found, metric)[name] for name in AVERAGES}
    ax = new_axes(ax, len(laws))
    for k, law in enumerate(laws.values()):
        draw_row(ax, -k, law, found.level)
    ax.axhline(0.5 - len(found.each), color="black", lw=0.5)
    name_rows(ax, list(laws))
    what = "area under the ROC curve" if metric == "auc" else "average precision"
    ax.set(ylim=(0.4 - len(laws), 0.6), xlabel=f"{what}, and {percent(found.level)} interval")
    return ax
