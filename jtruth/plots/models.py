"""Annotation models, and agreement of labelers: a row each, with intervals."""

from matplotlib.axes import Axes

from jtruth._validation.terminal import plain
from jtruth.comparison import ModelComparison
from jtruth.evaluation import LabelerAgreement
from jtruth.inspection import Inspection
from jtruth.plots._parts import BLUE, GREY, mark, new_axes
from jtruth.plots.rows import name_rows, note_row
from jtruth.stats.agreement import TITLES


def plot_models(found: ModelComparison, *, ax: Axes | None = None) -> Axes:
    """Difference of elpd to the first model, with two standard errors; models told apart from it are hollow.

    Args:
        found: what `compare_models` returned.
        ax: where to draw; a new figure if None.
    """
    ax = new_axes(ax, len(found.names))
    rows = zip(found.difference, found.difference_se, found.told_apart, strict=True)
    for k, (gap, se, apart) in enumerate(rows):
        ax.plot([gap - 2 * se, gap + 2 * se], [-k, -k], color=BLUE, lw=2)
        mark(ax, gap, -k, "^" if apart else "o", BLUE)
        bad = f", {found.loo[k].num_bad} bad terms" if found.loo[k].num_bad else ""
        note_row(ax, -k, f"{gap:.1f} +- {se:.1f}{bad}")
    ax.axvline(0, color=GREY, ls=":")
    name_rows(ax, [plain(name) for name in found.names])
    ax.set(ylim=(0.4 - len(found.names), 0.6), xlabel="difference in elpd to the first, +- 2 standard errors")
    ax.set_title(found.verdict, size="small")
    return ax


def plot_agreement(found: LabelerAgreement | Inspection, *, ax: Axes | None = None) -> Axes:
    """Every coefficient of agreement with its interval; 0 is chance, 1 is full agreement.

    Args:
        found: what `labeler_agreement` or `inspect_labels` returned.
        ax: where to draw; a new figure if None.
    """
    overall = found.coefficients if isinstance(found, Inspection) else found.overall
    ax = new_axes(ax, len(overall))
    for k, one in enumerate(overall.values()):
        if one.value == one.value:
            ax.plot([one.low, one.high], [-k, -k], color=BLUE, lw=2)
            mark(ax, one.value, -k, "o", BLUE)
        note_row(ax, -k, str(one))
    ax.axvline(0, color=GREY, ls=":")
    name_rows(ax, [TITLES[name] for name in overall])
    ax.set(ylim=(0.4 - len(overall), 0.6), xlabel="agreement; 0 is chance, 1 is full")
    return ax
