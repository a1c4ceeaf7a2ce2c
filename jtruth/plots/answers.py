"""Any answer as a picture: a bar with its interval for each row, a matrix, a curve; and its checks."""

from collections.abc import Callable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jtruth._validation.terminal import plain
from jtruth.answers import Curve, Matrix, Shown, Table
from jtruth.answers.blocks import at, cell_text, few, value_of
from jtruth.plots._parts import BLUE, CYCLE, GREY, LINES, MARKERS, ORANGE, SMALL, TRUE, key, mark, new_axes
from jtruth.plots.rows import legend_above, name_rows, note_row

Panel = Callable[[Axes], Any]
_MOST_ROWS, _LAST_ROWS = 20, 5
_MOST_WRITTEN = 12  # classes; of more the shades remain
_WIDE, _BELOW = 8.4, 3.6  # inches
_LEAST_P = 1e-4
_MARKS = {"fits": ("o", BLUE), "does not fit": ("x", ORANGE), "worth knowing": ("^", GREY)}


def plot_block(
    block: Table | Matrix | Curve, *, ax: Axes | None = None, ideal: Mapping[str, float] | None = None
) -> Axes:
    """A table, a matrix or a curve of an answer.

    Args:
        block: one of `answer.blocks()`.
        ax: where to draw; a new figure if None.
        ideal: name of a row of a table -> its true value, where it is known.
    """
    match block:
        case Table():
            return _rows(block, ax, ideal or {})
        case Matrix():
            return _matrix(block, ax)
        case Curve():
            return _curve(block, ax)


def table_of(shown: Shown, name: str) -> Any:
    """The block of an answer that has this name in the JSON."""
    return next(one for one in shown.blocks if getattr(one, "name", None) == name)


def _rows(table: Table, ax: Axes | None, ideal: Mapping[str, float]) -> Axes:
    """A row for each number: bar from end to end, mean, and a cross where a naive rule is."""
    first, last, out = few(table.ordered(), _MOST_ROWS, _LAST_ROWS)
    rows, column = [*first, *last], table.bar() or _numbers(table)
    ax = new_axes(ax, len(rows))
    for k, row in enumerate(rows):
        values = value_of(column, row)
        mean, low, high = (*values, None, None)[:3]
        if low is not None and high is not None:
            ax.plot([low, high], [-k, -k], color=BLUE, lw=5, alpha=0.45, solid_capstyle="butt")
        elif mean is not None and column.ends is None:
            ax.plot([0, mean], [-k, -k], color=GREY, lw=1)
        if mean is not None:
            mark(ax, mean, -k, "o", BLUE)
        note_row(ax, -k, cell_text(values, column.form, table.missing))
        other = at(row, table.cross) if table.cross else None
        if other is not None:
            mark(ax, other, -k, "x", ORANGE)
        if row[table.key] in ideal:
            ax.vlines(ideal[row[table.key]], -k - 0.3, -k + 0.3, color="black", ls=":", label=TRUE)
    name_rows(ax, [table.label(row) for row in rows])
    more = f" ({out} more rows are left out)" if out else ""
    ax.set(ylim=(0.4 - max(len(rows), 1), 0.6), xlabel=(column.title or table.title) + more)
    ax.set_title(table.title, size="small")
    if table.cross:
        named = next((one.title for one in table.columns if one.name == table.cross), "")
        legend_above(ax, [key("o", column.title, BLUE), key("x", named, ORANGE)])
        ax.set_title("")
    return ax


def _numbers(table: Table) -> Any:
    """The first column of numbers that are no counts; of counts if there is none."""
    return next((one for one in table.columns if _has(table, one, float)), None) or next(
        one for one in table.columns if _has(table, one, int)
    )


def _has(table: Table, one: Any, kind: Any) -> bool:
    return any(isinstance(at(row, one.name), kind) for row in table.rows)


def _matrix(block: Matrix, ax: Axes | None) -> Axes:
    """Means as shades of grey, by the share of their row, so that a rare class can be read."""
    mean = np.asarray(block.cells["mean"], float)
    ax = new_axes(ax, len(block.rows))
    share = np.nan_to_num(mean / np.maximum(mean.sum(axis=1, keepdims=True), 1e-12))
    ax.imshow(share, cmap="Greys", vmin=0, vmax=1.0, aspect="auto")
    for i, j in np.ndindex(mean.shape) if max(mean.shape) <= _MOST_WRITTEN else ():
        color = "white" if share[i, j] > 0.5 else "black"
        text = block.text(i, j).replace(" [", "\n[")
        ax.text(j, i, text, ha="center", va="center", color=color, fontsize="small")
    turned = 45 if len(block.columns) > 4 else 0
    ax.set_xticks(range(len(block.columns)), labels=[plain(n) for n in block.columns], rotation=turned)
    ax.set_yticks(range(len(block.rows)), labels=[plain(name) for name in block.rows])
    ax.set(xlabel="predicted", ylabel="true")
    ax.set_title(f"{block.title}; shade: share of the row", size="small")
    return ax


def _curve(block: Curve, ax: Axes | None) -> Axes:
    """Lines with bands, or points with bars."""
    ax = new_axes(ax)
    if block.diagonal:
        ax.plot([0, 1], [0, 1], color=GREY, ls=":", lw=1)
    for k, one in enumerate(block.series):
        color, line, marker = CYCLE[k % len(CYCLE)], LINES[k % len(LINES)], MARKERS[k % len(MARKERS)]
        x, y = (np.array(one.points[name], float) for name in ("x", "mean"))
        for low, high in (("low_all", "high_all"), ("low", "high")):
            if low in one.points:
                bottom, top = (np.array(one.points[name], float) for name in (low, high))
                if one.line:
                    ax.fill_between(x, bottom, top, color=color, alpha=0.2, lw=0)
                else:
                    ax.vlines(x, bottom, top, color=color, lw=1.5)
        style: dict[str, Any] = {"ls": line} if one.line else {"ls": "none", "marker": marker}
        ax.plot(x, y, color=color, label=one.name or None, **style)
    ax.set(xlabel=block.x, ylabel=block.y)
    ax.set_title(block.title, size="small")
    ax.spines[["top", "right"]].set_visible(False)
    if any(one.name for one in block.series):
        ax.legend(**SMALL)
    return ax


def drawn_blocks(shown: Shown) -> list[Table | Matrix | Curve]:
    """Blocks that have a picture: tables of numbers, matrices, curves; the first that matters most."""
    found = []
    for block in shown.blocks:
        if isinstance(block, Matrix | Curve):
            found.append(block)
        elif (
            isinstance(block, Table)
            and block.rows
            and any(_has(block, c, kind) for c in block.columns for kind in (int, float))
        ):
            found.append(block)
    return found


def height_of(block: Table | Matrix | Curve) -> float:
    """Inches."""
    return 1.3 + 0.5 * min(len(block.rows), _MOST_ROWS) if isinstance(block, Table) else 4.2


def drawn_on_a_figure(panels: list[Panel], height: float) -> Figure:
    """The first panel above, the others below it side by side."""
    first, *rest = panels
    size = (_WIDE, height) if not rest else (max(_WIDE, 5.6 * len(rest)), height + _BELOW)
    figure = plt.figure(figsize=size, layout="constrained")
    grid = figure.add_gridspec(
        1 + bool(rest), max(len(rest), 1), height_ratios=[height, _BELOW][: 1 + bool(rest)]
    )
    first(figure.add_subplot(grid[0, :]))
    for k, panel in enumerate(rest):
        panel(figure.add_subplot(grid[1, k]))
    return figure


def plot_checks(answer: Any, *, ax: Axes | None = None) -> Axes:
    """The p-value of every check on a logarithmic axis; a cross speaks against what the answer rests on.

    Verdicts hold for all checks together, so that a single p below .05 may still fit. A check without a
    p-value says so in its row.

    Args:
        answer: one that has checks: an evaluation, a labelers' report.
        ax: where to draw; a new figure if None.
    """
    ax = new_axes(ax, len(answer.checks))
    seen: dict[str, None] = {}
    for k, check in enumerate(answer.checks):
        verdict = check.verdict
        note_row(ax, -k, verdict)
        if check.p_value is not None:
            seen[verdict] = None
            mark(ax, max(check.p_value, _LEAST_P), -k, *_MARKS.get(verdict, ("x", ORANGE)))
    ax.axvline(0.05, color="black", ls=":")
    name_rows(ax, [check.name for check in answer.checks])
    ax.set_xscale("log")
    ax.set(
        xlim=(0.5 * _LEAST_P, 1.5),
        ylim=(0.5 - max(len(answer.checks), 1), 0.5),
        xlabel="p-value (1e-4: that or less); dotted: .05",
    )
    if seen:
        marks = {v: _MARKS.get(v, ("x", ORANGE)) for v in seen}
        handles = [key(shape, v, color) for v, (shape, color) in marks.items()]
        ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(handles), **SMALL)
    return ax
