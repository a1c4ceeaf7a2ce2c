"""Names, marks and colours of all pictures."""

import re
from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from jtruth.stats.estimates import Estimate
from jtruth.tables.metrics import METRICS
from jtruth.tables.metrics import title as in_words

BLUE, ORANGE, GREEN, GREY, PURPLE = "#0072B2", "#D55E00", "#009E73", "#777777", "#CC79A7"
CYCLE = (BLUE, ORANGE, GREEN, PURPLE, "#E69F00", "#56B4E9")
LINES, MARKERS = ("-", "--", "-.", ":"), "osDvP*"  # beside the colours, for print in grey
TRUE = "true value"
SMALL: dict[str, Any] = {"fontsize": 9, "frameon": False}


def title(metric: str) -> str:
    """Name of a metric for an axis, with its symbol."""
    if metric.startswith("f") and metric[1:].replace(".", "").isdigit():
        return f"$F_{{{metric[1:]}}}$"
    entry = METRICS.get(metric)
    return (entry.axis if entry else "") or dollars(in_words(metric))


def dollars(names: Any) -> Any:
    """Escape dollar signs for matplotlib, in a text or in anything that contains texts."""
    if isinstance(names, str):
        return re.sub(r"(?<!\\)\$", r"\$", names)
    if isinstance(names, Mapping):
        return {dollars(name): dollars(value) for name, value in names.items()}
    if isinstance(names, tuple | list):
        parts = map(dollars, names)
        return type(names)(*parts) if hasattr(names, "_fields") else type(names)(parts)
    return names


def new_axes(ax: Axes | None, rows: float | None = None) -> Axes:
    """`ax`, or the Axes of a new figure of the height that `rows` rows need."""
    if ax is not None:
        return ax
    size = (6.4, 4.2) if rows is None else (7.2, 1.3 + (0.55 if rows < 12 else 0.35) * rows)
    return plt.subplots(figsize=size, layout="constrained")[1]


def percent(level: float) -> str:
    """A level as text."""
    return f"{100 * level:g} %"


def mark(ax: Axes, x: float, y: float, marker: str, color: str, *, label: str | None = None) -> None:
    """One mark (meanings: `jtruth.plots`); modes and numbers are hollow."""
    fill = "white" if marker in "^d" else color
    ax.plot(x, y, marker, color=color, mfc=fill, ms=7, mew=1.6, ls="none", label=label, zorder=4)


def key(marker: str, label: str, color: str = GREY) -> Line2D:
    """A mark for a legend."""
    fill = "white" if marker in "^d" else color
    return Line2D([], [], marker=marker, color=color, mfc=fill, ls="none", label=label)


def density_curve(estimate: Estimate) -> tuple[np.ndarray, np.ndarray]:
    """The density over the central 99.9 % of a distribution, within [0, 1]."""
    ends = np.array(estimate.region(0.999).intervals)
    x = np.linspace(max(ends.min(), 0.0), min(ends.max(), 1.0), 801)
    return x, np.asarray(estimate.density(x))


def note_row(ax: Axes, y: float, text: str) -> None:
    """Numbers at the right edge of a row."""
    ax.text(1.02, y, text, va="center", fontsize=9, transform=ax.get_yaxis_transform())


def name_rows(ax: Axes, names: list[str]) -> None:
    """Names of rows at 0, -1, -2, ... instead of a frame."""
    ax.set_yticks([-k for k in range(len(names))], labels=dollars(names))
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)


def legend_above(ax: Axes, handles: list[Any], columns: int | None = None, title: str | None = None) -> None:
    """A legend above the picture."""
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "alignment": "left"}
    columns = len(handles) if columns is None else columns
    ax.legend(handles=handles, ncols=columns, title=title, title_fontsize=9, **place, **SMALL)
