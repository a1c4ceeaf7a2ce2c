"""Joint posteriors of two metrics: regions on the ROC or precision-recall plane (Su Figures 12, 13, 18)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.lines import Line2D
from scipy.signal import convolve

from jtruth.plots._parts import BLUE, CYCLE, GREY, LINES, MARKERS, SMALL, TRUE, mark, new_axes, percent, title
from jtruth.stats.estimates import check_level, densest_cells
from jtruth.tables.metrics import named_metric
from jtruth.tables.posterior import JointDensity, JointEstimate

_BINS = 135  # of the grid of a joint distribution, over +-5 sd


class Look(NamedTuple):
    """Style of the regions of one method."""

    name: str = "posterior"  # of the method, for the legend
    color: str = BLUE
    fill: bool = True  # False: outlines only
    line: str = "-"  # style of the outlines
    marker: str = "o"  # of the mean


_LOOK = Look()


def plot_joint(
    joint: JointEstimate | JointDensity,
    *,
    levels: tuple[float, ...] = (0.5, 0.8, 0.95),
    ax: Axes | None = None,
    ideal: tuple[float, float] | None = None,
    points: Mapping[str, Any] | None = None,
    look: Look = _LOOK,
    plot_chance_level: bool = True,
) -> Axes:
    """Highest-density regions of two metrics on the ROC or precision-recall plane (Su Figure 12).

    (recall, false-alarm rate) has the false-alarm rate to the right, (precision, recall) the recall, as in
    scikit-learn. The mode of draws is the peak of the picture.

    Args:
        joint: `Evaluation.joint(first, second)`.
        levels: of the regions, which contain at least so much of the distribution itself. Atoms are smoothed
            for the picture, by a kernel much narrower than the distribution.
        ax, ideal: as everywhere; `ideal` is (first, second).
        points: name -> (first, second) or (n, 2) of them: answers of methods without uncertainty.
        look: name, color and filling of the regions.
        plot_chance_level: on the ROC plane, draw the line of a classifier that guesses.

    Raises:
        ValueError: a level not in (0, 1).
    """
    for level in levels:
        check_level(level)
    name, color = look.name, look.color
    ax = new_axes(ax)
    pair = (joint.first, joint.second)
    turned = pair in {("recall", "false_alarm_rate"), ("precision", "recall")}
    order = [1, 0] if turned else [0, 1]
    mode = joint.mode
    regions = _joint_regions(joint, levels)
    if regions is not None:
        x, y, density, heights = regions
        if isinstance(joint, JointEstimate):  # not a single atom or draw
            i, j = np.unravel_index(int(density.argmax()), density.shape)
            mode = np.array([x[i], y[j]])
        across, up, grid = (y, x, density) if turned else (x, y, density.T)
        _draw_regions(ax, across, up, grid, heights, look)
    mark(ax, joint.mean[order[0]], joint.mean[order[1]], look.marker, _darker(color), label=f"{name}, mean")
    mark(ax, mode[order[0]], mode[order[1]], "^", _darker(color), label=f"{name}, mode")
    for k, (label, point) in enumerate((points or {}).items()):
        spots = np.atleast_2d(np.asarray(point, np.float64))[:, order]
        style = {"color": CYCLE[2:][k % 4], "marker": "dsvP"[k % 4], "mfc": "white", "mew": 1.6, "ms": 7}
        ax.plot(*spots.T, ls="none", label=label, zorder=3, **style)
    if ideal is not None:
        star = np.asarray(ideal, np.float64)[order]
        ax.plot(*star, "*", color="black", mec="white", ms=13, label=TRUE, zorder=5)
    if plot_chance_level and pair == ("recall", "false_alarm_rate"):
        (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()  # the line must not move them
        label = "chance" if max(left, bottom) < min(right, top) else "_chance"  # out of sight
        ax.add_artist(Line2D([0, 1], [0, 1], color=GREY, ls=":", label=label))
    ax.set(xlabel=title(pair[order[0]]), ylabel=title(pair[order[1]]))
    once = dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    ax.legend(once.values(), once.keys(), loc="upper left", bbox_to_anchor=(1, 1), **SMALL)
    return ax


def _draw_regions(ax, x, y, density, heights, look: Look) -> None:
    heights = sorted(set(heights))
    if look.fill:
        base = np.array(to_rgb(look.color))
        shades = [1 - (1 - base) * s for s in np.linspace(0.2, 0.75, len(heights))]
        ax.contourf(x, y, density, levels=[*heights, np.inf], colors=shades)
    ax.contour(x, y, density, levels=heights, colors=[look.color], linewidths=1.2, linestyles=look.line)


def _darker(color: str) -> str:
    red, green, blue = (0.55 * part for part in to_rgb(color))
    return to_hex((red, green, blue))


def _joint_regions(joint: JointEstimate | JointDensity, levels: tuple[float, ...]):
    """x, y, density (x, y), and the heights that bound the regions; None if a metric is a constant."""
    if isinstance(joint, JointDensity):
        x, y, density = joint.on_grid()
        mass = density
    else:
        smooth = _smoothed_cells(joint)
        if smooth is None:
            return None
        x, y, mass, density = smooth
    order = np.argsort(-density, axis=None)
    inside = np.cumsum(mass.ravel()[order]) / mass.sum()
    last = np.minimum(np.searchsorted(inside, levels), order.size - 1)
    used = density > 0.2 * density.ravel()[order[last.max()]]
    rows, columns = (slice(*(np.flatnonzero(used.any(axis))[[0, -1]] + [0, 1])) for axis in (1, 0))
    return x[rows], y[columns], density[rows, columns], density.ravel()[order[last]]


def _smoothed_cells(joint: JointEstimate):
    """Cells of a count table on a grid: x, y, their mass in each bin, and a smooth density.

    The kernel has the shape of the distribution and 3/10 of its width, or where cells are few 3/4 of the
    distance between them, at most 3/5. At 0 and 1 the density is reflected.
    """
    covariance = joint.covariance
    sd = np.sqrt(np.diag(covariance))
    if not (sd > 1e-9).all():
        return None
    cells = densest_cells(joint.weight, 0.95).sum()
    width = float(np.clip(0.75 * np.sqrt(6 * np.pi / cells), 0.3, 0.6))  # 95 % of a normal have area 6 pi
    low, high = np.maximum(joint.mean - 5 * sd, 0.0), np.minimum(joint.mean + 5 * sd, 1.0)
    x_edges, y_edges = (np.linspace(a, b, _BINS + 1) for a, b in zip(low, high, strict=True))
    mass = joint.on_grid(x_edges, y_edges)  # bins are equal, so densities are masses up to a factor
    step = (high - low) / _BINS
    shape = width**2 * covariance / np.outer(step, step) + np.eye(2)
    reach = min(int(np.ceil(3.5 * np.sqrt(shape.max()))), _BINS)
    offset = np.stack(np.meshgrid(*[np.arange(-reach, reach + 1)] * 2, indexing="ij"), -1)
    kernel = np.exp(-0.5 * np.einsum("...i,ij,...j->...", offset, np.linalg.inv(shape), offset))
    padded = np.pad(mass, reach, "symmetric")
    density = np.maximum(convolve(padded, kernel / kernel.sum(), "valid"), 0.0)
    return 0.5 * (x_edges[1:] + x_edges[:-1]), 0.5 * (y_edges[1:] + y_edges[:-1]), mass, density


def plot_joints(
    evaluation: Any,
    first: str = "recall",
    second: str = "false_alarm_rate",
    *,
    ideal: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Regions of two metrics under every assumption of a range.

    An assumption without a distribution of the table (the majority vote, PPI++) is named below the picture.
    The regions are those of the evaluation's `level`; `first`, `second` and `ideal` are as in `plot_joint`.

    Raises:
        ValueError: no assumption of this answer has a distribution of the table.
    """
    level = check_level(evaluation.level)
    positive = evaluation.classes.index(evaluation.positive)
    pair = [named_metric(name, evaluation.classes, positive) for name in (first, second)]
    joints, missing = {}, []
    for part in evaluation.assumptions:
        if part.posterior is None:
            missing.append(part.sentence)
            continue
        try:
            joints[part.sentence] = part.posterior.joint(*pair)
        except ValueError:  # not identified
            missing.append(part.sentence)
    if not joints:
        raise ValueError("this answer has no joint distribution of its table; use plot_metrics")
    ax = new_axes(ax)
    for k, (sentence, joint) in enumerate(joints.items()):
        line, marker = LINES[k % len(LINES)], MARKERS[k % len(MARKERS)]
        look = Look(sentence, CYCLE[k % len(CYCLE)], len(joints) == 1, line, marker)
        plot_joint(joint, levels=(level,), ax=ax, look=look, ideal=ideal if k == 0 else None)
    ax.autoscale()
    handles, names = ax.get_legend_handles_labels()
    pairs = [(h, n.removesuffix(", mean")) for h, n in zip(handles, names, strict=True) if ", mode" not in n]
    handles, names = map(list, zip(*pairs, strict=True))
    handles += [Line2D([], [], ls="none") for _ in missing]
    names += [f"no region: {sentence}" for sentence in missing]
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "alignment": "left"}
    ax.legend(handles, names, title=f"{percent(level)} regions", **place, **SMALL)
    return ax
