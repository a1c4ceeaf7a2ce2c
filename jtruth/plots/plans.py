"""What a plan costs and brings: the expected width by the number of samples."""

from string import ascii_lowercase
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter, ScalarFormatter

from jtruth._validation.terminal import plain
from jtruth.plots._parts import BLUE, GREY, ORANGE, SMALL, mark, new_axes, percent


def plot_plan(found: Any, *, ax: Axes | None = None) -> Axes:
    """Expected width of the interval: the plan, the same mix with half and twice the samples, other mixes.

    The filled circle is the plan, simulated; hollow marks are approximations. Other mixes have letters, which
    the legend explains.

    Args:
        found: what `jtruth.planning.cheapest_plan`, `narrowest_plan` or `plan_request` returned.
        ax: where to draw; a new figure if None.
    """
    ax = new_axes(ax)
    mine = sorted((found.best, *found.neighbours), key=lambda row: row.plan.num_samples)
    ax.plot([row.plan.num_samples for row in mine], [row.width for row in mine], color=BLUE, lw=1.2,
            label=f"this mix: {_mix(found.setting, found.best.plan)}")  # fmt: skip
    for row in mine:
        mark(ax, row.plan.num_samples, row.width, "o" if row is found.best else "^", BLUE)
        _beside(ax, row, f"cost {row.cost:,.4g}", 6)
    for k, row in enumerate(sorted(found.others, key=lambda row: row.plan.num_samples)):
        letter, mix = ascii_lowercase[k], _mix(found.setting, row.plan)
        mark(ax, row.plan.num_samples, row.width, "d", GREY)
        _beside(ax, row, letter, -14 if k % 2 else 8)
        ax.plot([], [], ls="none", label=f"{letter}: {mix}, cost {row.cost:,.4g}")
    if found.wanted == "width":
        ax.axhline(found.amount, color=ORANGE, ls=":", label=f"width asked for, {found.amount:g}")
    ax.set_xscale("log")
    samples = sorted({row.plan.num_samples for row in (*mine, *found.others)})
    ax.set_xticks([samples[k] for k in np.unique(np.linspace(0, len(samples) - 1, 4).astype(int))])
    ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.xaxis.set_minor_formatter(NullFormatter())
    setting = found.setting
    ax.set(
        xlabel="samples",
        ylabel=f"expected width of the {percent(setting.level)} interval of {setting.metric}",
    )
    ax.margins(x=0.15, y=0.12)
    ax.set_ylim(bottom=0)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(**SMALL)
    return ax


def _beside(ax: Axes, row: Any, text: str, up: int) -> None:
    place = (row.plan.num_samples, row.width)
    ax.annotate(
        text, place, (6, up) if len(text) > 1 else (-2, up), textcoords="offset points", fontsize="small"
    )


def _mix(setting: Any, plan: Any) -> str:
    """A label by whom, and gold."""
    used = [f"{c:g} x {plain(kind.name)}" for c, kind in zip(plan.labels, setting.labelers, strict=True) if c]
    return " + ".join(used or ["nobody"]) + (f", {plan.num_gold} gold" if plan.num_gold else "")
