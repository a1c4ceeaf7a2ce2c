"""Importance weights for leaving out one observation, or for scaling the prior or the likelihood.

Leaving out one observation weights every draw by 1 / p(observation | draw) (PSIS-LOO: Vehtari, Gelman and
Gabry 2017). Raising the prior to the power a weights it by p(x)^(a - 1), the likelihood by L(x)^(a - 1)
(Kallioinen, Paananen, Buerkner and Vehtari 2024). The largest weights dominate and are few, so they are
replaced by the quantiles of a generalised Pareto distribution fitted to them (Zhang and Stephens 2009: a
posterior mean over a grid, for all rows at once), whose shape k says whether the result is reliable (Vehtari
et al. 2024). Where a prior depends on parameters that have a prior themselves, scale only the latter.
"""

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp, softmax

from jtruth._one_line import one_line
from jtruth._validation.in_range import check_finite, check_positive

Numbers = Float[np.ndarray, " draws"]
_FEWEST = 5  # draws in a tail that a distribution is fitted to
_BLOCK = 2_000_000  # numbers of one block of the fit: rows x grid x tail
_NEGLIGIBLE = 10 * np.finfo(float).eps


class LeaveOneOut(NamedTuple):
    """PSIS-LOO of one model."""

    elpd: float  # sum of `pointwise`
    se: float  # sqrt(N var(pointwise))
    p_loo: float  # effective number of parameters: log density with all samples minus elpd
    pointwise: Float[np.ndarray, " samples"]  # log p(labels of sample i | labels of all others)
    pareto_k: Float[np.ndarray, " samples"]
    good_k: float  # above it a term is unreliable: min(1 - 1/log10(draws), .7)

    __repr__ = one_line

    @property
    def num_bad(self) -> int:
        """Number of samples whose term is unreliable."""
        return int((self.pareto_k > self.good_k).sum())


def psis_loo(
    log_p: Float[np.ndarray, "chains draws rows"],
    relative_ess: float | int,
    row_of_sample: Int[np.ndarray, " samples"] | None = None,
) -> LeaveOneOut:
    """Leave-one-out log densities by Pareto-smoothed importance sampling.

    `relative_ess`: effective sample size over the number of draws. Samples with equal labels share a row
    (None: one row each). k is 0 where the largest weights are equal, and infinite with fewer than 25 draws.

    >>> found = psis_loo(np.random.default_rng(0).normal(size=(4, 250, 3)), 1.0)
    >>> found.pointwise.shape, found.num_bad
    ((3,), 0)
    """
    rows = np.ascontiguousarray(np.asarray(log_p, np.float64).reshape(-1, log_p.shape[2]).T)
    draws = rows.shape[1]
    size = _tail_size(draws, relative_ess)
    step = max(1, _BLOCK // max((30 + int(size**0.5)) * size, draws))  # the grid of `_pareto_fit`
    terms, k = np.empty((2, len(rows)))
    for block in (slice(first, first + step) for first in range(0, len(rows), step)):
        log_w, k[block] = smoothed_weights(-rows[block], relative_ess)
        terms[block] = np.asarray(logsumexp(log_w + rows[block], axis=1)) - logsumexp(log_w, axis=1)
    with_all = np.asarray(logsumexp(rows, axis=1)) - np.log(draws)
    if row_of_sample is not None:
        terms, k, with_all = (x[row_of_sample] for x in (terms, k, with_all))
    elpd, se = sum_and_error(terms)
    return LeaveOneOut(elpd, se, float(with_all.sum() - elpd), terms, k, good_shape(draws))


def smoothed_weights(
    log_w: Float[np.ndarray, "rows draws"], relative_ess: float | int
) -> tuple[Float[np.ndarray, "rows draws"], Float[np.ndarray, " rows"]]:
    """Log importance weights with the largest of each row replaced by quantiles of a Pareto, and k.

    Weights are up to a constant of each row; smoothed ones are at most the largest given. k is infinite where
    no distribution can be fitted.
    """
    size = _tail_size(log_w.shape[1], relative_ess)
    log_w = np.asarray(log_w, np.float64)
    log_w = log_w - log_w.max(axis=1, keepdims=True)
    if not _FEWEST <= size < log_w.shape[1]:
        return log_w, np.full(len(log_w), np.inf)
    order = np.argpartition(log_w, -size - 1, axis=1)[:, -size - 1 :]
    order = np.take_along_axis(order, np.take_along_axis(log_w, order, axis=1).argsort(axis=1), axis=1)
    ordered = np.take_along_axis(log_w, order, axis=1)
    cutoff, tail = np.exp(ordered[:, :1]), ordered[:, 1:]
    k, smoothed = np.zeros(len(log_w)), tail.copy()
    vary = np.flatnonzero(tail[:, -1] - tail[:, 0] >= np.finfo(float).tiny)
    if vary.size:
        k[vary], sigma = _pareto_fit(np.exp(tail[vary]) - cutoff[vary])
        quantiles = _pareto_quantiles(k[vary], sigma, cutoff[vary, 0], size)
        fits = np.isfinite(quantiles)
        smoothed[vary] = np.where(fits, np.minimum(quantiles, tail[vary, -1:]), tail[vary])
    np.put_along_axis(log_w, order[:, 1:], smoothed, axis=1)
    return log_w, k


def good_shape(draws: int) -> float:
    """The Pareto k above which an importance estimate of so many draws is unreliable."""
    return float(min(1 - 1 / np.log10(draws), 0.7))


def sum_and_error(pointwise: Float[np.ndarray, " observations"]) -> tuple[float, float]:
    """Sum of independent terms and its standard error sqrt(N var)."""
    return float(pointwise.sum()), float(np.sqrt(pointwise.size * pointwise.var()))


def _tail_size(draws: int, relative_ess: float | int) -> int:
    """Number of weights to smooth: 3 sqrt(draws / relative ESS), at most a fifth of few draws."""
    return int(3 * (draws / relative_ess) ** 0.5) if draws * relative_ess > 225 else draws // 5


def _pareto_fit(excess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Generalised Paretos of sorted excesses (rows, size), with a prior of 10 observations at shape .5."""
    size = excess.shape[1]
    grid = 30 + int(size**0.5)
    quartile, largest = excess[:, int(size / 4 + 0.5) - 1], excess[:, -1]
    with np.errstate(divide="ignore", invalid="ignore"):  # a tail of equal excesses: k is not finite
        b = (1 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5)))[None, :] / (3 * quartile[:, None])
        b = b + 1 / largest[:, None]
        k = np.log1p(-b[:, :, None] * excess[:, None, :]).mean(axis=2)
        weight = softmax(size * (np.log(-b / k) - k - 1), axis=1)
        weight = np.where(weight >= _NEGLIGIBLE, weight, 0.0)
        mean = (b * weight).sum(axis=1) / weight.sum(axis=1)
        shape = np.log1p(-mean[:, None] * excess).mean(axis=1)
        sigma = -shape / mean
    return (size * shape + 10 * 0.5) / (size + 10), sigma


def _pareto_quantiles(k: np.ndarray, sigma: np.ndarray, cutoff: np.ndarray, size: int) -> np.ndarray:
    """Logarithms of the smoothed weights, (rows, size); NaN where there is no fit."""
    log_upper = np.log1p(-(np.arange(size) + 0.5) / size)[None, :]
    flat = k == 0
    shape = np.where(flat, 1.0, k)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        above = np.where(flat[:, None], -log_upper, np.expm1(-shape * log_upper) / shape)
        return np.log(cutoff[:, None] + np.where(sigma > 0, sigma, np.nan)[:, None] * above)


def arviz() -> tuple[Any, Any]:
    """`arviz_base.from_dict` and `arviz_stats`, or an ImportError that says what to install."""
    try:
        from arviz_base import from_dict

        stats: Any = import_module("arviz_stats")  # its `loo` is a function and a folder
        stats.loo  # noqa: B018
    except (ImportError, AttributeError) as error:
        raise ImportError(
            "exporting fits needs ArviZ; install it with: pip install 'arviz-base>=0.8' "
            "'arviz-stats[xarray]>=0.8'"
        ) from error
    return from_dict, stats


def power_scaled(
    log_density: Numbers, power: float, relative_ess: float = 1.0
) -> tuple[Numbers, float, bool]:
    """Weights of posterior draws after the prior or the likelihood is raised to a power.

    `log_density` is the log prior, or log likelihood, of each draw, up to a constant. Returns weights of sum
    1, their Pareto k, and whether they are reliable.

    Raises:
        ValueError: a power that is not positive, or a density that is not finite.

    >>> x = np.random.default_rng(0).normal(size=4000)  # a posterior N(0, 1); its prior was N(0, 4)
    >>> weights, _, reliable = power_scaled(-0.5 * x**2 / 4, 2.0)  # then the posterior has 1/variance 1.25
    >>> reliable, bool(abs(weights @ x**2 - 0.8) < 0.05)
    (True, True)
    """
    values = np.asarray(log_density, np.float64)
    check_positive(power, "power", "a number")
    check_finite(values, "log_density", "every draw needs a finite one")
    log_w, k = smoothed_weights((power - 1) * values[None], relative_ess)
    weights = np.exp(log_w[0] - log_w.max())
    return weights / weights.sum(), float(k[0]), bool(k[0] < good_shape(values.size))


def equal_draws(values: Numbers, weights: Numbers, size: int) -> Float[np.ndarray, " size"]:
    """Equally weighted draws of the same distribution: quantiles (i + 1/2)/size, ascending, NaN last.

    >>> equal_draws(np.array([1.0, 2.0]), np.array([0.25, 0.75]), 4)
    array([1., 2., 2., 2.])
    """
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    place = np.searchsorted(below / below[-1], (np.arange(size) + 0.5) / size)
    return values[order][np.minimum(place, values.size - 1)]
