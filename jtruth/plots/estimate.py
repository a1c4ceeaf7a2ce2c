"""One posterior: density or probabilities, mean, mode and highest-density region (Su Figures 11, 18)."""

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from jtruth.plots._parts import BLUE, GREY, SMALL, TRUE, density_curve, mark, new_axes, percent, title
from jtruth.stats.estimates import Estimate, PmfEstimate
from jtruth.stats.regions import check_level

_MOST_STEMS = 45  # a law with more visible atoms is drawn as a density


def plot_estimate(
    estimate: Estimate,
    *,
    level: float = 0.95,
    ax: Axes | None = None,
    ideal: float | None = None,
    metric: str = "metric",
    name: str = "posterior",
    draws: Float[np.ndarray, " draws"] | None = None,
    color: str = BLUE,
) -> Axes:
    """Posterior of one metric: density (or the probabilities of few atoms), mean, mode, region (Su 2.5).

    Args:
        estimate: the law.
        level: probability of the highest-density region, which is shaded.
        ax: where to draw; a new figure if None.
        ideal: the true value, where it is known; a dotted line.
        metric: name of the metric, for the axis.
        name: name of the method, for the legend.
        draws: draws of the metric, as a grey histogram behind.
        color: of the curve.

    Returns:
        The Axes; it says so if the metric is undefined.

    Raises:
        ValueError: level not in (0, 1).
    """
    check_level(level)
    ax = new_axes(ax)
    ax.set(xlabel=title(metric), ylabel="posterior density")
    if np.isnan(estimate.mean):
        ax.text(0.5, 0.5, "not identified or not defined", ha="center", transform=ax.transAxes)
        return ax
    atoms = _stems(estimate)
    if np.isnan(estimate.sd):  # a range over assumptions: ends, and no law between them
        low, high = estimate.interval(level)
        ax.axvspan(low, high, color=color, alpha=0.25, label=f"{name}: range at {percent(level)}, no law")
        ax.axvline(estimate.mean, color=color, ls="--", label="its middle")
        ax.set(yticks=[], ylabel="")
    elif estimate.sd == 0:
        ax.axvline(estimate.mean, color=color, label=f"{name}: no uncertainty")
    elif atoms is not None:
        _draw_stems(ax, estimate, atoms, level, name, draws, color)
    else:
        _draw_density(ax, estimate, level, name, draws, color)
    if ideal is not None:
        ax.axvline(ideal, color="black", ls=":", label=TRUE)
    for part in (*ax.lines, *ax.collections):
        part.sticky_edges.y.append(0)  # the axis starts at 0, whatever is drawn over this
    ax.autoscale_view()
    ax.legend(**SMALL)
    return ax


def _stems(estimate: Estimate) -> np.ndarray | None:
    """Which atoms are worth a stem; None if the law is better drawn as a density."""
    if not isinstance(estimate, PmfEstimate) or not (estimate.lattice or estimate.values.size <= _MOST_STEMS):
        return None
    visible = estimate.pmf > 1e-4 * estimate.pmf.max(initial=0.0)
    return visible if visible.sum() <= _MOST_STEMS else None


def _draw_density(ax, estimate, level, name, draws, color) -> None:
    x, density = density_curve(estimate)
    if draws is not None:
        ax.hist(draws[~np.isnan(draws)], bins=40, density=True, color=GREY, alpha=0.35, label="draws")
    ax.plot(x, density, color=color, label=name)
    for k, (low, high) in enumerate(estimate.region(level).intervals):
        part = np.linspace(low, high, 401)
        label = f"{percent(level)} region" if k == 0 else None
        ax.fill_between(part, estimate.density(part), color=color, alpha=0.2, lw=0, label=label)
    at_mean, at_mode = estimate.density(np.array([estimate.mean, estimate.mode]))
    ax.vlines(estimate.mean, 0, at_mean, color=color, lw=1)
    mark(ax, estimate.mean, 0.03 * at_mode, "o", color, label="mean")
    mark(ax, estimate.mode, at_mode, "^", color, label="mode")


def _draw_stems(ax, estimate, visible, level, name, draws, color) -> None:
    values, pmf = estimate.values[visible], estimate.pmf[visible]
    if draws is not None:
        drawn = draws[~np.isnan(draws)]
        nearest = np.abs(drawn[:, None] - values[None, :]).argmin(axis=1)
        share = np.bincount(nearest, minlength=values.size) / drawn.size
        ax.bar(values, share, np.diff(values).min(initial=np.inf), color=GREY, alpha=0.35, label="draws")
    intervals = estimate.region(level).intervals
    inside = np.any([(values >= low - 1e-12) & (values <= high + 1e-12) for low, high in intervals], axis=0)
    ax.vlines(values[~inside], 0, pmf[~inside], color=color, alpha=0.35, lw=2.5, label=name)
    ax.vlines(values[inside], 0, pmf[inside], color=color, lw=2.5, label=f"{percent(level)} region")
    mark(ax, estimate.mean, 0.03 * pmf.max(), "o", color, label="mean")
    mark(ax, estimate.mode, pmf.max(), "^", color, label="mode")
    ax.set_ylabel("posterior probability")
