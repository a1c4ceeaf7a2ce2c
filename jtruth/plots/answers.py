"""The parts of an answer as pictures: the table of counts, a forest of labelers, and what checks say."""

import numpy as np
from matplotlib.axes import Axes

from jtruth._validation.terminal import plain
from jtruth.evaluation import Evaluation, LabelerReport
from jtruth.evaluation.text import OF_LABELERS
from jtruth.plots._parts import BLUE, GREY, ORANGE, SMALL, key, mark, new_axes, percent
from jtruth.plots.rows import name_rows, note_row

_MOST_WRITTEN = 12  # classes; of more the shades remain
_LEAST_P = 1e-4
_MARKS = {"fits": ("o", BLUE), "does not fit": ("x", ORANGE), "worth knowing": ("^", GREY)}


def plot_confusion(evaluation: Evaluation, *, ax: Axes | None = None) -> Axes:
    """Samples by true and predicted class: mean counts as shades of grey, with intervals written in.

    Rows are shaded by the share of their class, so that a rare class can be read; above 12 classes there are
    shades only.

    Args:
        evaluation: what `jtruth.evaluate` returned.
        ax: where to draw; a new figure if None.
    """
    mean, low, high = evaluation.confusion_matrix, evaluation.confusion_low, evaluation.confusion_high
    names = [plain(name) for name in evaluation.classes]
    said = names if mean.shape[1] == len(names) else [str(k) for k in range(mean.shape[1])]
    ax = new_axes(ax, len(names))
    share = np.nan_to_num(mean / np.maximum(mean.sum(axis=1, keepdims=True), 1e-12))
    ax.imshow(share, cmap="Greys", vmin=0, vmax=1.0, aspect="auto")
    for (i, j), value in np.ndenumerate(mean):
        if max(mean.shape) > _MOST_WRITTEN:
            break
        text = "not identified" if np.isnan(value) else f"{value:.0f}\n[{low[i, j]:.0f}, {high[i, j]:.0f}]"
        color = "white" if share[i, j] > 0.5 else "black"
        ax.text(j, i, text, ha="center", va="center", color=color, fontsize="small")
    ax.set_xticks(range(len(said)), labels=said, rotation=45 if len(said) > 4 else 0)
    ax.set_yticks(range(len(names)), labels=names)
    ax.set(xlabel="predicted", ylabel="true")
    kind = evaluation.interval_kind
    kind = f"{percent(evaluation.level)} {'interval' if kind == 'posterior' else kind}"
    ax.set_title(
        f"{evaluation.num_samples} samples, mean count and {kind}; shade: share of the row", size="small"
    )
    return ax


def plot_labelers(report: LabelerReport, *, ax: Axes | None = None) -> Axes:
    """A forest of the labelers' accuracies, worst first, with intervals.

    Args:
        report: what `jtruth.evaluate_labelers` returned.
        ax: where to draw; a new figure if None.
    """
    ax = new_axes(ax, len(report.rows))
    for k, row in enumerate(report.rows):
        if row["low"] is None:
            note_row(ax, -k, "no label given")
            continue
        ax.plot([row["low"], row["high"]], [-k, -k], color=BLUE, lw=2)
        mark(ax, row["accuracy"], -k, "o", BLUE)
        ends = f"[{row['low']:.3f}, {row['high']:.3f}]"
        note_row(ax, -k, f"{row['accuracy']:.3f}  {ends}  {row['num_labels']} labels")
    name_rows(ax, [plain(row["worker"]) for row in report.rows])
    against = any(c.verdict == "does not fit" for c in report.checks)
    doubt = "; checks speak against them" if against else ""
    ax.set(
        ylim=(0.5 - max(len(report.rows), 1), 0.5),
        xlabel=f"{OF_LABELERS[report.target]}, and {percent(report.level)} interval",
    )
    ax.set_title(f"{len(report.rows)} labelers, {report.interval_kind}s{doubt}", size="small")
    return ax


def plot_checks(answer: Evaluation | LabelerReport, *, ax: Axes | None = None) -> Axes:
    """The p-value of every check on a logarithmic axis; a cross speaks against what the answer rests on.

    Verdicts hold for all checks together, so that a single p below .05 may still fit. A check without a
    p-value says so in its row.

    Args:
        answer: an evaluation or a labelers' report.
        ax: where to draw; a new figure if None.
    """
    ax = new_axes(ax, len(answer.checks))
    seen: dict[str, None] = {}
    for k, check in enumerate(answer.checks):
        verdict = check.verdict
        note_row(ax, -k, verdict)
        if check.p_value is not None:
            seen[verdict] = None
            mark(ax, max(check.p_value, _LEAST_P), -k, *_MARKS[verdict])
    ax.axvline(0.05, color="black", ls=":")
    name_rows(ax, [check.name for check in answer.checks])
    ax.set_xscale("log")
    ax.set(
        xlim=(0.5 * _LEAST_P, 1.5),
        ylim=(0.5 - max(len(answer.checks), 1), 0.5),
        xlabel="p-value (1e-4: that or less); dotted: .05",
    )
    if seen:
        handles = [key(_MARKS[v][0], v, _MARKS[v][1]) for v in seen]
        ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(handles), **SMALL)
    return ax
