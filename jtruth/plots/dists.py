"""Posteriors as curves: one with mean, mode and region (Su Figures 11, 18), or several in rows (10)."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from jtruth.plots import _parts as parts
from jtruth.stats.estimates import Estimate, PmfEstimate, check_level

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
        ax.bar(
            values, share, np.diff(values).min(initial=np.inf), color=parts.GREY, alpha=0.35, label="draws"
        )
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
    keys = [
        parts.key("o", "mean"),
        parts.key("^", "mode"),
        Patch(color=parts.GREY, alpha=0.5, label=parts.percent(level)),
    ]
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
