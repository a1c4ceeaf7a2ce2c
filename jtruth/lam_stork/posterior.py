"""The posterior of an error rate when the mislabeling rate itself is uncertain (Lam & Stork, section 7).

k of n audited labels were found wrong, so m ~ Beta(k + 1/2, n - k + 1/2); d of N predictions differ from
their labels, so d ~ Bin(N, e + m - 2 e m). The posterior of the error rate is

    p(e | d, k)  proportional to  integral Beta(m; k + 1/2, n - k + 1/2) Bin(d; N, e + m - 2 e m) dm,

by the trapezoidal rule in logit m for each e of a grid. Both ranges are narrowed to where the integrand is
more than e^-40 of its peak, and the grid is refined where the density bends. Prediction and label are assumed
to err independently.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, expit, logsumexp, xlog1py, xlogy

from jtruth._one_line import one_line
from jtruth.lam_stork.error_rate import DIFFER, HowMany, Known, Share, share
from jtruth.stats.estimates import DensityEstimate

_DROP = 40.0  # log density below the peak that is negligible
_NODES = 129  # of logit m
_GRID = 129  # of e, to begin with
_BEND = 1e-3  # of the highest density: the grid is halved where a chord is further off
_HALVINGS = 16
_COARSE = 65
_PASSES = 14
_EDGE = 80.0  # largest logit m


class ErrorPosterior(NamedTuple):
    """Posterior of the error rate, with the mislabeling rate integrated out."""

    error: DensityEstimate
    mislabeling_mean: float  # posterior, given the audit and the disagreements
    mislabeling_sd: float
    probability_reversed: float  # that labels are wrong more often than right
    warnings: tuple[str, ...]

    __repr__ = one_line


def error_rate_posterior(differ: HowMany, *, mislabeling: Known) -> ErrorPosterior:
    """Posterior of a two-class classifier's error rate, from noisy labels and an audit of the labels.

    The prior of the error rate is uniform, that of the mislabeling rate Jeffreys'.

    Args:
        differ: (predictions that differ from their label, test samples).
        mislabeling: the rate if known, or (labels found wrong, labels audited). The audited labels are other
            samples than the tested ones, or a small part of them.

    Raises:
        ValueError: impossible counts or rates.

    >>> found = error_rate_posterior((68, 1000), mislabeling=(2, 200))
    >>> print(f"{found.error.mean:.3f}", [round(end, 3) for end in found.error.interval(0.95)])
    0.058 [0.036, 0.079]
    """
    # a log-likelihood of 2^43 samples is right to 1e-3 in float64
    apparent, audit = share(differ, "differ", DIFFER, 43), share(mislabeling, "mislabeling", bits=43)
    moments = _moments_of(apparent, audit)
    low, high = _zoom(lambda e: moments(e)[0], 0.0, 1.0, _COARSE)
    grid, (log_density, first, second, reversed_) = _fine_grid(moments, low, high)
    density = np.exp(log_density - log_density.max())
    density /= np.trapezoid(density, grid)
    mean, square, wrong = (float(np.trapezoid(density * v, grid)) for v in (first, second, reversed_))
    sd = float(np.sqrt(max(square - mean**2, 0.0))) if np.isfinite(audit.size) else 0.0
    warnings = tuple(_warnings(apparent, audit, mean, wrong))
    return ErrorPosterior(DensityEstimate(grid, density), mean, sd, wrong, warnings)


def _warnings(apparent: Share, audit: Share, mean: float, wrong: float) -> Iterator[str]:
    """Warnings: labels may be reversed, or the disagreements contradict independent errors."""
    from scipy.stats import beta, binom  # slow to import

    if wrong >= 0.01:
        yield (
            f"The labels are wrong more often than right with probability {wrong:.2g}, and then an error "
            "rate and 1 minus it are hard to distinguish: audit more labels."
        )
    if np.isinf(audit.size):  # how probable so few, or so many, are for the best and the worst classifier
        ends, d = sorted((audit.value, 1 - audit.value)), apparent.value * apparent.size
        tail = min(binom.cdf(d, apparent.size, ends[0]), binom.sf(d - 1, apparent.size, ends[1]))
    else:
        k = audit.value * audit.size
        dist = beta(k + 0.5, audit.size - k + 0.5)
        tail = min(dist.cdf(mean), dist.sf(mean))
    if tail < 1e-3:
        yield (
            f"If errors are independent, {apparent.value * apparent.size:.0f} disagreements of "
            f"{apparent.size:.0f} contradict the mislabeling rate {audit.value:.3g}: predictions share the "
            "labels' errors, or that rate is wrong (see estimate_bounds)."
        )


def _moments_of(apparent: Share, audit: Share) -> Callable:
    """Function of e: log p(e | data) up to a constant; E m, E m^2 and P(m > 1/2) given e, for each."""
    d, k = apparent.value * apparent.size, audit.value * audit.size
    a, b = k + 0.5, audit.size - k + 0.5

    def log_likelihood(e: np.ndarray, m: np.ndarray) -> np.ndarray:
        differ = e + m - 2 * e * m
        return xlogy(d, differ) + xlog1py(apparent.size - d, -differ)

    def log_joint(e: np.ndarray, u: np.ndarray) -> np.ndarray:
        """log density of (e, logit m), with the Jacobian m (1 - m)."""
        of_m = -a * np.logaddexp(0, -u) - b * np.logaddexp(0, u) - betaln(a, b)
        return of_m + log_likelihood(e, expit(u))

    def moments(e: np.ndarray) -> tuple[np.ndarray, ...]:
        if np.isinf(audit.size):
            m = np.full(e.shape, audit.value)
            return log_likelihood(e, m), m, m**2, (m > 0.5) * 1.0
        e = e[:, None]
        ends = np.full((2, *e.shape), [[[-_EDGE]], [[_EDGE]]])
        low, high = _zoom(lambda u: log_joint(e, u), ends[0], ends[1], _NODES)
        u = low + (high - low) * np.linspace(0, 1, _NODES)
        log_f = log_joint(e, u)
        m, weight = expit(u), np.exp(log_f - logsumexp(log_f, axis=1, keepdims=True))
        # The integrand vanishes at both ends, so the sum is the trapezoidal rule.
        total = logsumexp(log_f, axis=1) + np.log((high - low)[:, 0] / (_NODES - 1))
        return total, (weight * m).sum(1), (weight * m**2).sum(1), (weight * (m > 0.5)).sum(1)

    return moments


def _fine_grid(moments: Callable, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Points of [low, high] and `moments` there, refined until chords of exp(moments[0]) are close."""
    grid = np.linspace(low, high, _GRID)
    rows, fresh = np.stack(moments(grid)), np.full(_GRID - 1, True)
    for _ in range(_HALVINGS):
        where = np.flatnonzero(fresh)
        middle = 0.5 * (grid[where] + grid[where + 1])
        new = np.stack(moments(middle))
        top = max(rows[0].max(), new[0].max())
        density, between = np.exp(rows[0] - top), np.exp(new[0] - top)
        bent = np.abs(between - 0.5 * (density[where] + density[where + 1])) > _BEND
        grid = np.insert(grid, where + 1, middle)
        rows = np.insert(rows, where + 1, new, axis=1)
        fresh, at = np.zeros(grid.size - 1, bool), where + np.arange(where.size)
        fresh[at] = fresh[at + 1] = bent  # the halves of a bent interval are refined again
        if not bent.any():
            break
    return grid, rows


def _zoom(log_density: Callable, low: np.ndarray | float, high: np.ndarray | float, points: int) -> tuple:
    """Shrink [low, high] (the last axis of arrays) to where the density is more than e^-40 of its peak."""
    nodes = np.linspace(0, 1, points)
    for _ in range(_PASSES):
        x = low + (high - low) * nodes
        values = log_density(x)
        keep = values > values.max(axis=-1, keepdims=True) - _DROP
        first = np.maximum(keep.argmax(axis=-1) - 1, 0)
        last = np.minimum(points - keep[..., ::-1].argmax(axis=-1), points - 1)
        ends = [np.take_along_axis(x, i[..., None], axis=-1) for i in (first, last)]
        low, high = ends if x.ndim > 1 else (float(ends[0][0]), float(ends[1][0]))
        if (last - first > 0.8 * points).all():
            break
    return low, high
