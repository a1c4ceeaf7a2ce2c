"""Posteriors of one metric (Su Figures 11, 18), in rows (10), or of two metrics as regions (12, 13, 18)."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from scipy.signal import convolve

from jtruth.plots import _parts as parts
from jtruth.stats.estimates import Estimate, PmfEstimate, check_level, densest_cells
from jtruth.tables.metrics import named_metric
from jtruth.tables.posterior import JointDensity, JointEstimate

_BINS = 135  # of the grid of a joint distribution, over +-5 sd
_MOST_STEMS = 45  # visible atoms, above which a density is drawn


def plot_estimate(
    estimate: Estimate,
    *,
    level: float = 0.95,
    ax: Axes | None = None,
    ideal: float | None = None,
    metric: str = "metric",
    name: str = "posterior",
    draws: Float[np.ndarray, " draws"] | None = None,
    color: str = parts.BLUE,
) -> Axes:
    """Posterior of one metric: density (or the probabilities of few atoms), mean, mode, region (Su 2.5).

    Args:
        estimate: the distribution.
        level: probability of the highest-density region, which is shaded.
        ax, ideal, metric, name, color: as everywhere.
        draws: draws of the metric, as a grey histogram behind.

    Raises:
        ValueError: level not in (0, 1).
    """
    check_level(level)
    ax = parts.new_axes(ax)
    ax.set(xlabel=parts.title(metric), ylabel="posterior density")
    if np.isnan(estimate.mean):
        ax.text(0.5, 0.5, "not identified or not defined", ha="center", transform=ax.transAxes)
        return ax
    atoms = _stems(estimate)
    if np.isnan(estimate.sd):  # a range over assumptions
        low, high = estimate.interval(level)
        ax.axvspan(low, high, color=color, alpha=0.25, label=f"{name}: range at {parts.percent(level)}")
        ax.axvline(estimate.mean, color=color, ls="--", label="middle of the range")
        ax.set(yticks=[], ylabel="")
    elif estimate.sd == 0:
        ax.axvline(estimate.mean, color=color, label=f"{name}: no uncertainty")
    elif atoms is not None:
        _draw_stems(ax, estimate, atoms, level, name, draws, color)
    else:
        _draw_density(ax, estimate, level, name, draws, color)
    if ideal is not None:
        ax.axvline(ideal, color="black", ls=":", label=parts.TRUE)
    for part in (*ax.lines, *ax.collections):
        part.sticky_edges.y.append(0)  # the axis starts at 0
    ax.autoscale_view()
    ax.legend(**parts.SMALL)
    return ax


def _stems(estimate: Estimate) -> np.ndarray | None:
    """Atoms to draw as stems; None if the distribution is drawn as a density."""
    if not isinstance(estimate, PmfEstimate) or not (estimate.lattice or estimate.values.size <= _MOST_STEMS):
        return None
    visible = estimate.pmf > 1e-4 * estimate.pmf.max(initial=0.0)
    return visible if visible.sum() <= _MOST_STEMS else None


def _draw_density(ax, estimate, level, name, draws, color) -> None:
    x, density = parts.density_curve(estimate)
    if draws is not None:
        ax.hist(draws[~np.isnan(draws)], bins=40, density=True, color=parts.GREY, alpha=0.35, label="draws")
    ax.plot(x, density, color=color, label=name)
    for k, (low, high) in enumerate(estimate.region(level).intervals):
        part = np.linspace(low, high, 401)
        label = f"{parts.percent(level)} region" if k == 0 else None
        ax.fill_between(part, estimate.density(part), color=color, alpha=0.2, lw=0, label=label)
    at_mean, at_mode = estimate.density(np.array([estimate.mean, estimate.mode]))
    ax.vlines(estimate.mean, 0, at_mean, color=color, lw=1)
    parts.mark(ax, estimate.mean, 0.03 * at_mode, "o", color, label="mean")
    parts.mark(ax, estimate.mode, at_mode, "^", color, label="mode")


def _draw_stems(ax, estimate, visible, level, name, draws, color) -> None:
    values, pmf = estimate.values[visible], estimate.pmf[visible]
    if draws is not None:
        drawn = draws[~np.isnan(draws)]
        nearest = np.abs(drawn[:, None] - values[None, :]).argmin(axis=1)
        share = np.bincount(nearest, minlength=values.size) / drawn.size
        width = np.diff(values).min(initial=np.inf)
        ax.bar(values, share, width, color=parts.GREY, alpha=0.35, label="draws")
    intervals = estimate.region(level).intervals
    inside = np.any([(values >= low - 1e-12) & (values <= high + 1e-12) for low, high in intervals], axis=0)
    ax.vlines(values[~inside], 0, pmf[~inside], color=color, alpha=0.35, lw=2.5, label=name)
    ax.vlines(values[inside], 0, pmf[inside], color=color, lw=2.5, label=f"{parts.percent(level)} region")
    parts.mark(ax, estimate.mean, 0.03 * pmf.max(), "o", color, label="mean")
    parts.mark(ax, estimate.mode, pmf.max(), "^", color, label="mode")
    ax.set_ylabel("posterior probability")


def plot_comparison(
    answers: Mapping[str, Estimate | float | np.ndarray],
    *,
    level: float = 0.95,
    ax: Axes | None = None,
    ideal: float | None = None,
    metric: str = "metric",
) -> Axes:
    """One metric by several methods, one a row (Su Figure 10): posteriors as density, mean, mode and region.

    `answers`: name of the method -> its distribution, or one number or several (NaN: not drawn); a range
    without a distribution is a bar without density. `level` is the probability of the highest-density
    regions.

    Raises:
        ValueError: level not in (0, 1).
    """
    check_level(level)
    ax = parts.new_axes(ax, len(answers))
    wide = [a for a in answers.values() if isinstance(a, Estimate) and a.sd > 0]
    highest = max((parts.density_curve(dist)[1].max() for dist in wide), default=1.0)  # one scale for all
    ranges = 0
    for row, answer in enumerate(answers.values()):
        color = parts.CYCLE[row % len(parts.CYCLE)]
        if isinstance(answer, Estimate) and answer.sd > 0:
            _dist_row(ax, answer, row, level, 0.6 / highest, color)
        elif isinstance(answer, Estimate) and np.isnan(answer.sd) and not np.isnan(answer.mean):
            ranges += 1
            low, high = answer.interval(level)
            ax.plot([low, high], [-row] * 2, color=color, lw=4, alpha=0.5, solid_capstyle="butt")
            parts.mark(ax, answer.mean, -row, "d", color)
            parts.note_row(ax, -row, f"{low:.3f} to {high:.3f} (range)")
        else:
            _number_row(ax, answer.mean if isinstance(answer, Estimate) else answer, row, color)
    shade = Patch(color=parts.GREY, alpha=0.5, label=parts.percent(level))
    keys = [parts.key("o", "mean"), parts.key("^", "mode"), shade]
    keys += [parts.key("d", "the middle of a range")] if ranges else []
    keys += [parts.key("d", "without uncertainty")] if len(wide) + ranges < len(answers) else []
    if ideal is not None:
        ax.axvline(ideal, color="black", ls=":")
        keys += [Line2D([], [], color="black", ls=":", label=parts.TRUE)]
    parts.name_rows(ax, list(answers))
    ax.set(ylim=(0.5 - len(answers), 0.75), xlabel=parts.title(metric))
    parts.legend_above(ax, keys)
    return ax


def _dist_row(ax: Axes, dist: Estimate, row: int, level: float, unit: float, color: str) -> None:
    x, density = parts.density_curve(dist)
    ax.fill_between(x, -row, -row + unit * density, color=color, alpha=0.25, lw=0)
    ax.plot(x, -row + unit * density, color=color, lw=1)
    for low, high in dist.region(level).intervals:
        ax.plot([low, high], [-row - 0.1] * 2, color=color, lw=4, alpha=0.5, solid_capstyle="butt")
    parts.mark(ax, dist.mean, -row - 0.1, "o", color)
    parts.mark(ax, dist.mode, -row - 0.26, "^", color)
    low, high = dist.interval(level)
    parts.note_row(ax, -row, f"{dist.mean:.3f}  [{low:.3f}, {high:.3f}]")


def _number_row(ax: Axes, answer: float | np.ndarray, row: int, color: str) -> None:
    numbers = np.atleast_1d(np.asarray(answer, np.float64))
    numbers = numbers[~np.isnan(numbers)]
    for number in numbers:
        parts.mark(ax, number, -row, "d", color)
    ends = f"{numbers.min():.3f} to {numbers.max():.3f}" if numbers.size else "not defined"
    parts.note_row(ax, -row, f"{numbers[0]:.3f}" if numbers.size == 1 else ends)


class Look(NamedTuple):
    """Style of the regions of one method."""

    name: str = "posterior"  # of the method, for the legend
    color: str = parts.BLUE
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
    name, dark = look.name, _darker(look.color)
    ax = parts.new_axes(ax)
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
    for place, marker, what in ((joint.mean, look.marker, "mean"), (mode, "^", "mode")):
        across, up = place[order]
        parts.mark(ax, across, up, marker, dark, label=f"{name}, {what}")
    for k, (label, point) in enumerate((points or {}).items()):
        spots = np.atleast_2d(np.asarray(point, np.float64))[:, order]
        color, marker = parts.CYCLE[2:][k % 4], "dsvP"[k % 4]
        ax.plot(*spots.T, marker, color=color, mfc="white", mew=1.6, ms=7, ls="none", label=label, zorder=3)
    if ideal is not None:
        star = np.asarray(ideal, np.float64)[order]
        ax.plot(*star, "*", color="black", mec="white", ms=13, label=parts.TRUE, zorder=5)
    if plot_chance_level and pair == ("recall", "false_alarm_rate"):
        (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()  # the line must not move them
        label = "chance" if max(left, bottom) < min(right, top) else "_chance"  # out of sight
        ax.add_artist(Line2D([0, 1], [0, 1], color=parts.GREY, ls=":", label=label))
    ax.set(xlabel=parts.title(pair[order[0]]), ylabel=parts.title(pair[order[1]]))
    once = dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    ax.legend(once.values(), once.keys(), loc="upper left", bbox_to_anchor=(1, 1), **parts.SMALL)
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
    tables, joints = {part.sentence: part.posterior for part in evaluation.assumptions}, {}
    for sentence, table in tables.items():
        with suppress(ValueError):  # not identified
            joints |= {} if table is None else {sentence: table.joint(*pair)}
    missing = [sentence for sentence in tables if sentence not in joints]
    if not joints:
        raise ValueError("this answer has no joint distribution of its table; use plot_metrics")
    ax = parts.new_axes(ax)
    for k, (sentence, joint) in enumerate(joints.items()):
        line, marker = parts.LINES[k % len(parts.LINES)], parts.MARKERS[k % len(parts.MARKERS)]
        look = Look(sentence, parts.CYCLE[k % len(parts.CYCLE)], len(joints) == 1, line, marker)
        plot_joint(joint, levels=(level,), ax=ax, look=look, ideal=ideal if k == 0 else None)
    ax.autoscale()
    handles, names = ax.get_legend_handles_labels()
    pairs = [(h, n.removesuffix(", mean")) for h, n in zip(handles, names, strict=True) if ", mode" not in n]
    handles, names = map(list, zip(*pairs, strict=True))
    handles += [Line2D([], [], ls="none") for _ in missing]
    names += [f"no region: {sentence}" for sentence in missing]
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "alignment": "left"}
    ax.legend(handles, names, title=f"{parts.percent(level)} regions", **place, **parts.SMALL)
    return ax
