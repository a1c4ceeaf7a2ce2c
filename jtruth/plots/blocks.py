"""Pictures of answers: bars with intervals, matrices, curves and checks.

`result.plot()` draws every block of an answer that has a picture, the first above the others. A few results
that are no answers are converted to blocks here; distributions have pictures of their own.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from jtruth._validation.words import number_of, plain
from jtruth.answers import Answer, Column, Curve, Document, Matrix, Notes, Table
from jtruth.answers.blocks import at, cell_text, value_of
from jtruth.answers.html import axis_of
from jtruth.plots import _parts as parts
from jtruth.plots.dists import plot_estimate, plot_joint
from jtruth.stats.estimates import Estimate

Drawn = Table | Matrix | Curve | Notes
Ideal = Mapping[str, float] | None
Ticks = Mapping[str, Mapping[str, float | None]] | None
_MOST_ROWS, _LAST_ROWS, _MOST_BARS = 20, 5, 4
_MOST_WRITTEN = 12  # classes, above which only shades are drawn
_WIDE, _SIDE, _ACROSS = 8.4, 6.2, 2  # inches of a panel alone and beside another; panels in a row
_LEAST_P, _TITLE = 1e-4, 70  # characters in a line of a title
_MARKS = {"fits": ("o", parts.BLUE), "does not fit": ("x", parts.ORANGE), "worth knowing": ("^", parts.GREY)}
_BELOW, _STEP = 0.14, 0.09  # ticks of assumptions below their row
_BAR_COLORS = [color for color in parts.CYCLE if color != parts.ORANGE]  # orange is the cross
_TICKS = "|^vsD"
_TICK_COLORS = [*(color for color in parts.CYCLE if color not in (parts.BLUE, parts.ORANGE)), "#444444"]


def plot_block(block: Drawn, *, ax: Axes | None = None, ideal: Ideal = None) -> Axes:
    """Draw a table, matrix, curve or the checks of an answer; `ideal`: name of a row -> its true value."""
    block = parts.dollars(block)
    match block:
        case Table():
            return _rows(block, ax, parts.dollars(ideal or {}))
        case Matrix():
            return _matrix(block, ax)
        case Curve():
            return _curve(block, ax)
        case Notes():
            return _checks(block, ax)


def plot_metrics(
    evaluation: Any, *, ax: Axes | None = None, ideal: Ideal = None, assumptions: bool = False
) -> Axes:
    """Every metric of an evaluation with its interval, beside the majority vote.

    `ideal`: metric name -> true value; `assumptions`: fit and add the mean under each, as small marks below.
    """
    document = evaluation.blocks() if assumptions else evaluation.brief()
    rows = getattr(block_of(document, "assumptions"), "rows", ())
    ticks = {row["sentence"]: {m: dist["mean"] for m, dist in row["metrics"].items()} for row in rows}
    return _rows(*parts.dollars((block_of(document, "metrics"), ax, ideal or {}, ticks)))


def plot_result(
    result: Any, *, ax: Axes | None = None, full: bool = False, assumptions: bool = False
) -> Figure:
    """Draw any answer, on a new figure or its first panel on `ax`; this is `result.plot()`.

    Of an evaluation these are the metrics; `assumptions` adds the mean under each, `full` all panels too.

    Raises:
        ValueError: a result without a picture.
    """
    kind = type(result)
    name = "Estimate" if issubclass(kind, Estimate) else kind.__name__  # every distribution is one
    below: list[Drawn] = []
    if name == "Evaluation":
        document, assumptions = result.brief(), assumptions or full
        others = [one for one in drawn_blocks(document) if one.name not in ("metrics", "assumptions")]
        below, height = others if full else [], height_of(block_of(document, "metrics")) + 0.6 * assumptions
        first = partial(plot_metrics, result, assumptions=assumptions)
    elif name in _DISTRIBUTIONS:
        first, height = partial(_DISTRIBUTIONS[name], result), 4.2
    else:
        made, whole = _NO_ANSWERS.get(name), full or assumptions
        if made is None and not isinstance(result, Answer):
            others = ", ".join((*_DISTRIBUTIONS, *_NO_ANSWERS))
            raise ValueError(f"a {name} cannot be plotted; answers can, and {others}")
        drawn = made(result) if made else drawn_blocks(result.blocks() if whole else result.brief(page=True))
        if not drawn:
            raise ValueError(f"this {name} has no number to plot")
        above, *below = drawn
        first, height = partial(plot_block, above), height_of(above)
    if ax is not None:
        first(ax=ax)
        return ax.figure  # type: ignore[return-value]
    panels = [first, *(partial(plot_block, one) for one in below)]
    return _on_a_figure(panels, [height, *map(height_of, below)])


def block_of(document: Document, name: str) -> Any:
    """The block of an answer with this name in the JSON; None if there is none."""
    return next((one for one in document.blocks if getattr(one, "name", None) == name), None)


def drawn_blocks(document: Document) -> list[Any]:
    """Blocks that have a picture: tables of numbers, matrices, curves, checks with p-values."""
    return [one for one in document.blocks if _is_drawn(one)]


def _is_drawn(block: Any) -> bool:
    if isinstance(block, Table):
        seen = block.sequence and len(block.rows) > _MOST_ROWS  # in a curve
        return not seen and any(_has(block, c, kind) for c in block.columns for kind in (int, float))
    if isinstance(block, Notes):
        return block.name == "checks" and any(note.data["p_value"] is not None for note in block.items)
    return isinstance(block, Matrix | Curve)


def height_of(block: Drawn) -> float:
    """Height of a panel in inches."""
    if isinstance(block, Notes):
        return 1.3 + 0.4 * len(block.items)
    if not isinstance(block, Table):
        return 4.2
    return 1.5 + 0.4 * min(len(block.rows), _MOST_ROWS) * max(1, 0.55 * len(_bars(block)))


def _on_a_figure(panels: Sequence[Callable[..., Any]], heights: Sequence[float]) -> Figure:
    """The first panel above, the others below it side by side."""
    below = [heights[k : k + _ACROSS] for k in range(1, len(heights), _ACROSS)]
    rows = [heights[0], *map(max, below)]
    width = _WIDE if len(panels) == 1 else _SIDE * min(len(panels) - 1, _ACROSS)
    figure = plt.figure(figsize=(max(width, _WIDE), sum(rows)), layout="constrained")
    grid = figure.add_gridspec(len(rows), _ACROSS, height_ratios=rows)
    panels[0](ax=figure.add_subplot(grid[0, :]))
    for k, panel in enumerate(panels[1:]):
        alone = k == len(panels) - 2 and k % _ACROSS == 0
        place = grid[1 + k // _ACROSS, :] if alone else grid[1 + k // _ACROSS, k % _ACROSS]
        panel(ax=figure.add_subplot(place))
    return figure


def _bars(table: Table) -> list[Column]:
    """Columns to draw: the requested one, those with an interval, or the first of numbers."""
    asked = [one for one in table.columns if table.draw and table.draw in (one.name, one.name[0])]
    ends = [one for one in table.columns if one.ends is not None][:_MOST_BARS]
    return asked or ends or [_numbers(table)]


def _numbers(table: Table) -> Any:
    """The first column of floats, else of counts."""
    return next((one for one in table.columns if _has(table, one, float)), None) or next(
        (one for one in table.columns if _has(table, one, int)), table.columns[0]
    )


def _has(table: Table, one: Column, kind: Any) -> bool:
    return any(isinstance(at(row, one.name), kind) for row in table.rows)


def _rows(table: Table, ax: Axes | None, ideal: Mapping[str, float], ticks: Ticks = None) -> Axes:
    """A row for each name: interval, mean, a cross for a naive rule, ticks of assumptions."""
    first, last, out = table.shown(_MOST_ROWS, _LAST_ROWS, full=False)
    rows, bars, ticks = [*first, *last], _bars(table), ticks or {}
    ax = parts.new_axes(ax, len(rows) * max(1.0, 0.55 * len(bars)) + len(ticks))
    up = 0.8 / len(bars)
    for k, row in enumerate(rows):
        for j, column in enumerate(bars):
            _bar(ax, value_of(column, row), column, -k + up * ((len(bars) - 1) / 2 - j), j, table.missing)
        other = at(row, table.cross) if table.cross else None
        if other is not None:
            parts.mark(ax, other, -k, "x", parts.ORANGE)
        for j, values in enumerate(ticks.values()):
            value = values.get(row[table.key])
            if value is not None:
                ax.plot(value, -k - _BELOW - _STEP * j, _TICKS[j % 5],
                        color=_TICK_COLORS[j % len(_TICK_COLORS)], ms=5)  # fmt: skip
        if row[table.key] in ideal:
            ax.vlines(ideal[row[table.key]], -k - 0.3, -k + 0.3, color="black", lw=1.8, label=parts.TRUE)
    parts.name_rows(ax, [table.label(row) for row in rows])
    more = f" ({number_of(out, 'row')} left out)" if out else ""
    below = max(0.5, _BELOW + _STEP * (len(ticks) + 0.5))
    label = _name_of(bars[0]) if len(bars) == 1 else ""
    ax.set(ylim=(1 - below - max(len(rows), 1), 0.6), xlabel=label + more)
    if table.unit is not None and any(one.ends for one in bars):
        (left, right), drawn = axis_of(table), ax.dataLim
        ax.set_xlim(min(left, drawn.x0) - 0.005, max(right, drawn.x1) + 0.005)
    elif all(_has(table, one, int) for one in bars):
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if ax.dataLim.x0 < 0 < ax.dataLim.x1:  # of differences
        ax.axvline(0, color=parts.GREY, lw=1, zorder=0)
    _key_of_rows(ax, table, bars, list(ticks), bool(ideal))
    return ax


def _name_of(column: Column) -> str:
    """Axis title of a column of bars."""
    name = (column.title or "").removesuffix(" [interval]")
    return "value of the metric" if name in ("mean", "estimate") else name


def _bar(ax: Axes, values: Sequence[Any], column: Column, y: float, j: int, missing: str) -> None:
    """One number of a row with its interval, and in words at the right."""
    mean, low, high = (*values, None, None)[:3]
    color = _BAR_COLORS[j]
    if low is not None and high is not None:
        ax.plot([low, high], [y, y], color=color, lw=5, alpha=0.45, solid_capstyle="butt")
    elif mean is not None and column.ends is None:
        ax.plot([0, mean], [y, y], color=parts.GREY, lw=1)
    if mean is not None:
        parts.mark(ax, mean, y, parts.MARKERS[j], color)
    parts.note_row(ax, y, cell_text(values, column.form, missing))


def _key_of_rows(ax: Axes, table: Table, bars: Sequence[Column], ticks: Sequence[str], ideal: bool) -> None:
    """Legend of the marks, above the picture, where there is more than one kind."""
    words = [one.title.replace(" [interval]", " and interval") for one in bars]
    keys = [parts.key(parts.MARKERS[j], text, _BAR_COLORS[j]) for j, text in enumerate(words)]
    if table.cross:
        named = next((one.title for one in table.columns if one.name == table.cross), plain(table.cross))
        keys.append(parts.key("x", named, parts.ORANGE))
    keys += [parts.key("|", parts.TRUE, "black")] if ideal else []
    lines = [parts.key(_TICKS[j % 5], t, _TICK_COLORS[j % len(_TICK_COLORS)]) for j, t in enumerate(ticks)]
    if len(keys) + len(lines) > 1:
        parts.legend_above(ax, [*keys, *lines], columns=1 if lines else len(keys), title=table.title)
    else:
        ax.set_title(fill(table.title, _TITLE), size=9)


def _matrix(block: Matrix, ax: Axes | None) -> Axes:
    """Means as shades of grey, by the share of their row, so that a rare class is visible."""
    mean = np.asarray(block.cells["mean"], float)
    ax = parts.new_axes(ax, len(block.rows))
    share = np.nan_to_num(mean / np.maximum(mean.sum(axis=1, keepdims=True), 1e-12))
    ax.imshow(share, cmap="Greys", vmin=0, vmax=1.0, aspect="auto")
    for i, j in np.ndindex(mean.shape) if max(mean.shape) <= _MOST_WRITTEN else ():
        color = "white" if share[i, j] > 0.5 else "black"
        text = block.text(i, j).replace(" [", "\n[")
        ax.text(j, i, text, ha="center", va="center", color=color, fontsize=9)
    turned = 45 if len(block.columns) > 4 else 0
    ax.set_xticks(range(len(block.columns)), labels=[plain(n) for n in block.columns], rotation=turned)
    ax.set_yticks(range(len(block.rows)), labels=[plain(name) for name in block.rows])
    ax.set(xlabel="predicted", ylabel="true")
    ax.set_title(fill(f"{block.title} (shade: share of the row)", _TITLE), size=9)
    return ax


def _curve(block: Curve, ax: Axes | None) -> Axes:
    """Lines with bands, or points with bars; the paler band covers the whole curve."""
    ax = parts.new_axes(ax)
    if block.diagonal:
        ax.plot([0, 1], [0, 1], color=parts.GREY, ls=":", lw=1)
    for k, (name, points) in enumerate(block.series.items()):
        color, line, marker = (some[k % len(some)] for some in (parts.CYCLE, parts.LINES, parts.MARKERS))
        x, y = (np.array(points[axis], float) for axis in ("x", "mean"))
        bands = ("low_all", "high_all", "whole curve", 0.15), ("low", "high", "each point", 0.35)
        for low, high, label, shade in bands:
            if low in points:
                bottom, top = (np.array(points[end], float) for end in (low, high))
                if block.line:
                    label = label if "low_all" in points and len(block.series) == 1 else None
                    ax.fill_between(x, bottom, top, color=color, alpha=shade, lw=0, label=label)
                else:
                    ax.vlines(x, bottom, top, color=color, lw=1.5)
        style: dict[str, Any] = {"ls": line if block.line else "none"}
        style |= {} if block.line and len(x) > 12 else {"marker": marker}
        ax.plot(x, y, color=color, label=name or None, **style)
    if all(isinstance(value, int) for points in block.series.values() for value in points["x"]):
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if block.named:
        ax.set_xticks(*zip(*block.ticks(), strict=True))
    ax.set(xlabel=block.x, ylabel=block.y)
    ax.set_title(block.title, size=9)
    ax.spines[["top", "right"]].set_visible(False)
    if ax.get_legend_handles_labels()[1]:
        ax.legend(**parts.SMALL)
    return ax


def _checks(block: Notes, ax: Axes | None) -> Axes:
    """p-values on a logarithmic axis; verdicts account for all checks: one below .05 may fit."""
    ax, checks = parts.new_axes(ax, len(block.items)), [note.data for note in block.items]
    marks: dict[str, tuple[str, str]] = {}
    for k, check in enumerate(checks):
        parts.note_row(ax, -k, check["verdict"])
        if check["p_value"] is not None:
            marks[check["verdict"]] = mark = _MARKS.get(check["verdict"], ("x", parts.ORANGE))
            parts.mark(ax, max(check["p_value"], _LEAST_P), -k, *mark)
    ax.axvline(0.05, color="black", ls=":")
    parts.name_rows(ax, [check["name"] for check in checks])
    ax.set_xscale("log")
    label = f"{block.title}\np-value ({_LEAST_P:g} or less at the edge); dotted: .05"
    ax.set(xlim=(0.5 * _LEAST_P, 1.5), ylim=(0.5 - max(len(checks), 1), 0.5), xlabel=label)
    if marks:
        keys = [parts.key(shape, verdict, color) for verdict, (shape, color) in marks.items()]
        parts.legend_above(ax, keys)
    return ax


def _bits(found: Any) -> list[Drawn]:
    rows = [
        {"labeler": f"labeler {t}", "alone": float(alone), "last": float(last)}
        for t, (alone, last) in enumerate(zip(found.alone, found.last, strict=True))
    ]
    columns = (Column("alone", "bits alone"), Column("last", "bits beyond the others"))
    title = f"Information per sample from each labeler (bits); all together {found.total:.3f}"
    return [Table("", title, "labeler", columns, rows, cross="last", unit=None, say=str)]


def _team(found: Any) -> list[Drawn]:
    who = ", ".join(map(str, np.asarray(found.order).tolist()))
    points = {"x": np.asarray(found.cost).tolist(), "mean": np.asarray(found.bits).tolist()}
    title = f"Information of a growing team, in the order {who}"
    return [Curve("", title, "cost of the team", "bits per sample", {"": points})]


def _cleaning(found: Any) -> list[Drawn]:
    """Accuracy of the model by the number of an expert's answers: estimated, and true where known."""
    if not found.trail:
        raise ValueError("this cleaning has no record of accuracies; use `jtruth.cleaning.clean`")
    x, estimated, true = map(list, zip(*found.trail, strict=True))
    lines = {"estimated from noisy labels": estimated} | ({} if None in true else {"true": true})
    series = {name: {"x": x, "mean": y} for name, y in lines.items()}
    title = f"strategy {found.strategy}"
    return [Curve("", title, "labels checked by the expert", "accuracy of the model", series)]


_DISTRIBUTIONS: dict[str, Callable[..., Axes]] = {
    "Estimate": partial(plot_estimate, metric="value"),
    "JointDensity": plot_joint,
    "JointEstimate": plot_joint,
}
_NO_ANSWERS: dict[str, Callable[[Any], list[Drawn]]] = {
    "LabelerInformation": _bits,
    "LabelerOrder": _team,
    "State": _cleaning,
}
