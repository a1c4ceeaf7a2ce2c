"""Pictures of a page, as SVG that takes its colours from the page.

Numbers in, markup out: no text of users comes here. Names stand in the table around a picture.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

from jtruth.answers.blocks import Curve, Series, Table, at, value_of

_WIDTH, _HEIGHT, _SIDE = 288, 26, 14
_ZOOM = 0.3  # of the unit
_CHART = (560, 360, 56, 42)  # width, height, room for the axes at the left and below


def axis_of(block: Table) -> tuple[float, float]:
    """Ends of an axis that holds every number of the block's bars: its unit, or the part that is used.

    A part is shown where the numbers lie in less than `_ZOOM` of the unit.
    """
    column = block.bar()
    crosses = [at(row, block.cross) for row in block.rows] if block.cross else []
    drawn = [v for row in block.rows for v in value_of(column, row)] if column is not None else []
    values = [v for v in (*drawn, *crosses) if _known(v)]
    if not values:
        return block.unit or (0.0, 1.0)
    low, high = min(values), max(values)
    if block.unit is not None and high - low >= _ZOOM * (block.unit[1] - block.unit[0]):
        return min(low, block.unit[0]), max(high, block.unit[1])  # kappa below 0 still shows
    margin = 0.04 * (high - low) or 0.05
    low, high = low - margin, high + margin
    if block.unit is not None:
        low, high = max(low, min(block.unit[0], min(values))), min(high, max(block.unit[1], max(values)))
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers inside [low, high], about so many.

    >>> ticks(0.13, 0.92)
    [0.2, 0.4, 0.6, 0.8]
    """
    raw = (high - low) / about
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def axis_svg(ends: tuple[float, float]) -> str:
    """The numbers of the axis, for the head of a table."""
    marks = "".join(
        f'<text class="tick" x="{_place(t, ends):.1f}" y="18" text-anchor="middle">{t:g}</text>'
        for t in ticks(*ends)
    )
    return _svg(marks)


def bar_svg(values: Sequence[Any], ends: tuple[float, float]) -> str:
    """Mean, interval and cross of one row: `values` are mean, low, high, other; None where not known."""
    mean, low, high, other = values
    parts = [f'<path class="axis" d="{"".join(f"M{_place(t, ends):.1f} 0V26" for t in ticks(*ends))}"/>']
    if _known(low) and _known(high):
        left, right = _place(low, ends), _place(high, ends)
        width = max(right - left, 1.5)
        parts.append(f'<rect class="bar" x="{left:.1f}" y="8" width="{width:.1f}" height="10"/>')
    if _known(mean):
        parts.append(f'<circle class="dot" cx="{_place(mean, ends):.1f}" cy="13" r="5"/>')
    if _known(other):
        parts.append(f'<path class="cross" d="M{_place(other, ends) - 4:.1f} 9l8 8m0 -8l-8 8"/>')
    return _svg("".join(parts))


def _svg(inside: str) -> str:
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" aria-hidden="true">{inside}</svg>'


def _place(value: float, ends: tuple[float, float]) -> float:
    return _SIDE + (_WIDTH - 2 * _SIDE) * (value - ends[0]) / (ends[1] - ends[0])


def _known(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and math.isfinite(value)


def curve_svg(block: Curve) -> str:
    """Lines, points, bands and axes of a chart; points that are not finite are left out."""
    width, height, left, below = _CHART
    across = _ends([x for s in block.series for x in s.points["x"]])
    up = _ends([y for s in block.series for k in ("mean", "low", "high") for y in s.points.get(k, ())])
    x_ends, y_ends = _with_margin(across), _with_margin(up)

    def at(x: float, y: float) -> tuple[float, float]:
        along = left + (width - left - 12) * (x - x_ends[0]) / (x_ends[1] - x_ends[0])
        return along, height - below - (height - below - 12) * (y - y_ends[0]) / (y_ends[1] - y_ends[0])

    parts = []
    for t in ticks(*x_ends):
        x, y = at(t, y_ends[0])
        parts.append(f'<path class="axis" d="M{x:.1f} {y:.1f}V12"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle">{t:g}</text>')
    for t in ticks(*y_ends):
        x, y = at(x_ends[0], t)
        parts.append(f'<path class="axis" d="M{x:.1f} {y:.1f}H{width - 12}"/>')
        parts.append(f'<text class="tick" x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{t:g}</text>')
    if block.diagonal:
        low, high = max(across[0], up[0]), min(across[1], up[1])
        parts.append(f'<path class="diagonal" d="M{_pair(at(low, low))}L{_pair(at(high, high))}"/>')
    for k, one in enumerate(block.series):
        parts.append(f'<g class="s{k % 4}">{_series(one, at)}</g>')
    return f'<svg class="chart" viewBox="0 0 {width} {height}" role="img">{"".join(parts)}</svg>'


def _series(one: Series, at: Callable[[float, float], tuple[float, float]]) -> str:
    x, y, ends = one.points["x"], one.points["mean"], [one.points.get(name) for name in ("low", "high")]
    kept = [k for k in range(len(x)) if _known(x[k]) and _known(y[k])]
    points = [at(x[k], y[k]) for k in kept]
    parts = []
    if None not in ends:
        low, high = ([at(x[k], end[k]) for k in kept if _known(end[k])] for end in ends if end is not None)
        if one.line:
            parts.append(f'<polygon points="{" ".join(map(_pair, [*low, *high[::-1]]))}"/>')
        else:
            bars = "".join(f"M{_pair(a)}L{_pair(b)}" for a, b in zip(low, high, strict=False))
            parts.append(f'<path d="{bars}"/>')
    if one.line and points:
        parts.append(f'<path class="line" d="M{"L".join(map(_pair, points))}"/>')
    if not one.line or len(points) < 2:
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in points]
    return "".join(parts)


def _pair(point: tuple[float, float]) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"


def _ends(values: Sequence[float]) -> tuple[float, float]:
    known = [v for v in values if _known(v)] or [0.0, 1.0]
    return min(known), max(known)


def _with_margin(ends: tuple[float, float]) -> tuple[float, float]:
    margin = 0.04 * (ends[1] - ends[0]) or 0.5
    return ends[0] - margin, ends[1] + margin
