"""The posterior of the count table for two classes and ordered score bins, whose neighbours are alike.

Bin b has a share pi_b of positives; its logit f_b is a walk along the bins in the normal quantile u of their
middle ranks,

    f_(b+1) = f_b + slope (u_(b+1) - u_b) + step sqrt(u_(b+1) - u_b) noise,

so with step 0 this is the binormal model's logistic line, and with large steps every bin has a share of its
own. Slope and step are learned: a score that ranks well over many bins is taken to rank well in the bins
where labels do not say, unless they do. (A prior that takes neighbouring bins for *equal* there, as Polya
trees and Dirichlet rows do, spreads the few samples that are ranked wrong evenly and pulls the area to one
half: `benchmarks/curves.py`.)

Given the walk the classes of the samples are independent. With PB_b(a) the law of the number of positives
among the n_b samples of a bin by the labels alone, and o, p the odds of pi_b and of the class prior,

    p(labels of bin b | f_b) ~ sum_a PB_b(a) (o/p)^a ((1 - pi_b) / (1 - prior))^n_b,

and the same terms are the law of a. So each f_b is put on a grid of its own, where its likelihood is within
e^-30 of the largest, and one pass from the last bin to the first gives the evidence of every slope and step
and independent draws: a hidden Markov chain. A known class prior is the mean of pi over the bins of the
population: drawn walks weigh by the normal density of the prior given the bins at hand. Where labels and
prior contradict each other so much that few walks would be left, their weights are tempered (`tempered`).

Host side, float64.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int
from scipy.special import expit, logit, ndtr, ndtri, softmax

from jtruth._host import log
from jtruth._random import Key, host_rng
from jtruth.tables.posterior import TableDraws
from jtruth.testing.binary.chain import checked_symbols, law_of_positives

_SLOPES = np.array([-6, -3, -1, 0, 0.5, 1, 1.5, 2, 3, 4.5, 6.5, 9, 13.0])
_STEPS = np.array([0.3, 0.8, 2.0, 5.0, 12.0])  # of a half-Cauchy prior of scale 1
_SLOPE_SD, _MIDDLE_SD = 5.0, 3.0  # of their normal priors; the middle is f at u = 0
_FARTHEST, _BELOW = 15.0, 30.0  # a share is never nearer to 0 than e^-15; of what likelihoods are left out
_SPARE, _ENOUGH = 8, 100  # walks drawn for each that is kept; fewer good ones are tempered to so many
_AT_ONCE = 4_000_000


class WalkDraws(NamedTuple):
    """Independent draws of the shares and numbers of positives in ordered bins."""

    sizes: Int[np.ndarray, " bins"]
    shares: Float[np.ndarray, "draws bins"]  # of positives in the population of each bin
    positives: Int[np.ndarray, "draws bins"]  # among the samples at hand
    tempered: float  # 1, or the power of the class prior's weights where it contradicts the labels

    def tables(self) -> TableDraws:
        """The count tables, (draws, 2, bins)."""
        return TableDraws(np.stack([self.sizes - self.positives, self.positives], axis=1))


class _Bin(NamedTuple):
    """Grid of a bin's f, the likelihood there, and the laws of its number of positives by labels alone."""

    edges: Float[np.ndarray, " cells_and_one"]
    log_likelihood: Float[np.ndarray, "rates cells"]
    laws: tuple[tuple[int, Float[np.ndarray, " counts"]], ...]  # of each row of rates: smallest, logs
    size: int

    @property
    def cells(self) -> Float[np.ndarray, " cells"]:
        return (self.edges[1:] + self.edges[:-1]) / 2


def symbol_walk(
    log_odds: Float[Array | np.ndarray, "*rates samples"],
    bins: Int[Array | np.ndarray, " samples"],
    num_bins: int,
    prior: Float[Array | np.ndarray, "*rates"] | float,
    key: Key,
    n: int,
    *,
    cells: int = 64,
) -> WalkDraws:
    """Draws from the posterior.

    Args:
        log_odds: (samples,) logit p(y_i = 1 | z_i), prior included, +-inf where certain; or (rates, samples)
            for several states of knowledge of the error rates: draw d is of row d mod rates.
        bins: (samples,) 0..num_bins-1, in the order of the scores.
        num_bins: at least 2.
        prior: p(y = 1) that is in `log_odds`, for each row.
        key: random.
        n: number of draws, a multiple of the number of rows.
        cells: of the grid of each bin.

    Raises:
        ValueError: sizes that differ, bins out of range, NaN, a prior that is not inside (0, 1).

    >>> found = symbol_walk(np.array([2.0, 1.0, -1.0, -2.0]), np.array([2, 1, 1, 0]), 3, 0.5, 0, 10)
    >>> found.tables().counts.shape
    (10, 2, 3)
    """
    rows, share = np.atleast_2d(np.asarray(log_odds, np.float64)), np.atleast_1d(np.asarray(prior, float))
    for x in rows:
        _, u = checked_symbols(x, bins, num_bins)
    if share.shape != rows.shape[:1] or not ((share > 0) & (share < 1)).all():
        raise ValueError(f"prior is {prior}; give p(y = 1), above 0 and below 1, for each row of log_odds")
    if n < 1 or n % len(rows):
        raise ValueError(f"n is {n}; give a multiple of the {len(rows)} rows of log_odds")
    sizes, rng = np.bincount(u, minlength=num_bins), host_rng(key, "symbol walk")
    if not np.isfinite(rows).any():  # every class is certain: there is nothing to draw
        sure = np.stack([np.bincount(u, weights=x > 0, minlength=num_bins) for x in rows]).astype(np.int64)
        sure = np.tile(sure, (n // len(rows), 1))
        return WalkDraws(sizes, (sure + 0.5) / (sizes + 1), sure, 1.0)
    laws = [_bin([x[u == b] for x in rows], share, cells) for b in range(num_bins)]
    middle = ndtri((np.cumsum(sizes) - sizes / 2 + 1e-3) / (sizes.sum() + 2e-3))
    each = n // len(rows)
    place = _walked(laws, middle, logit(share), _SPARE * each, rng)
    shares = expit(np.stack([one.cells[at] for one, at in zip(laws, place, strict=True)], axis=2))
    kept, power = _with_prior(shares, sizes, share, each, rng)
    taken = [np.take_along_axis(at, kept, axis=1) for at in place]
    counts = np.stack([_positives(one, at, share, rng) for one, at in zip(laws, taken, strict=True)], axis=2)
    chosen = np.take_along_axis(shares, kept[:, :, None], axis=1)
    chosen, counts = (np.swapaxes(part, 0, 1).reshape(n, num_bins) for part in (chosen, counts))
    return WalkDraws(sizes, chosen, counts, power)


def _bin(x: list[np.ndarray], prior: np.ndarray, cells: int) -> _Bin:
    """A bin whose grid is laid three times, each time where the likelihood was."""
    laws, size = tuple(law_of_positives(one) for one in x), x[0].size
    low, high = -_FARTHEST, _FARTHEST
    for last in (False, False, True):
        edges = np.linspace(low, high, cells + 1)
        found = _Bin(edges, np.zeros((0, 0)), laws, size)
        value = np.stack([_log_terms(found, r, p)[1] for r, p in enumerate(prior)])
        if last:
            break
        near = np.flatnonzero((value > value.max(axis=1, keepdims=True) - _BELOW).any(axis=0))
        low, high = edges[max(near[0] - 1, 0)], edges[min(near[-1] + 2, cells)]
    return found._replace(log_likelihood=value)


def _log_terms(
    one: _Bin, row: int, prior: float, at: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Of cells: scaled weights of every number of positives, as sums from the smallest, and their log sum."""
    f = one.cells if at is None else one.cells[at]
    start, law = one.laws[row]
    sums, total = np.empty((f.size if at is not None else 0, law.size)), np.empty(f.size)
    step = max(_AT_ONCE // law.size, 1)
    for k in range(0, f.size, step):
        part = f[k : k + step]
        log_weight = law + (part - logit(prior))[:, None] * (start + np.arange(law.size))
        top = log_weight.max(axis=1, keepdims=True)
        weight = np.exp(log_weight - top)
        if at is not None:
            sums[k : k + step] = weight.cumsum(axis=1)
        total[k : k + step] = top[:, 0] + np.log(weight.sum(axis=1))
    return sums, total - one.size * (np.logaddexp(0, f) + np.log1p(-prior))


def _walked(
    bins: list[_Bin], middle: Float[np.ndarray, " bins"], start: Float[np.ndarray, " rates"], number: int,
    rng: np.random.Generator,
) -> list[Int[np.ndarray, "rates number"]]:  # fmt: skip
    """Cells of every bin by the hidden Markov chain, `number` of each row of rates.

    `middle` holds u of the bins, `start` the logit of the class prior, around which f begins.
    """
    grid = [(slope, step) for slope in _SLOPES for step in _STEPS]
    slope_weight = np.gradient(_SLOPES) * np.exp(-0.5 * (_SLOPES / _SLOPE_SD) ** 2)
    weight = np.outer(slope_weight, np.gradient(_STEPS) / (1 + _STEPS**2))
    evidence = np.stack([_back(bins, middle, start, *one)[0] for one in grid], axis=1)  # (rates, grid)
    p = softmax(evidence + np.log(weight.ravel()), axis=1).cumsum(axis=1)
    picked = (p[:, None, :-1] < rng.random((len(p), number))[..., None]).sum(axis=2)
    found = [np.zeros(picked.shape, np.int64) for _ in bins]
    for k in np.unique(picked):
        rate, place = np.nonzero(picked == k)
        _, first, ahead, kernels = _back(bins, middle, start, *grid[k])
        at = _chosen(first[rate], rng)
        found[0][rate, place] = at
        for b, kernel in enumerate(kernels):
            at = _chosen(kernel[at] * ahead[b + 1][rate], rng)
            found[b + 1][rate, place] = at
    return found


def _back(
    bins: list[_Bin], middle: np.ndarray, start: np.ndarray, slope: float, step: float
) -> tuple[np.ndarray, np.ndarray, list, list]:
    """(log evidence (rates,), weights of the first bin's cells, messages of all bins, kernels)."""
    kernels = [
        _kernel(one, two, slope * gap, step**2 * gap)
        for one, two, gap in zip(bins[:-1], bins[1:], np.diff(middle), strict=True)
    ]
    scale, message = np.zeros(start.size), np.ones((start.size, bins[-1].cells.size))
    ahead = []
    for b in range(len(bins) - 1, -1, -1):
        log_p = bins[b].log_likelihood
        top = log_p.max(axis=1, keepdims=True)
        message = message * np.exp(log_p - top)
        if b == 0:
            sd = np.sqrt(_MIDDLE_SD**2 + step**2 * abs(middle[0]))
            message = message * np.diff(
                ndtr((bins[0].edges - start[:, None] - slope * middle[0]) / sd), axis=1
            )
        most = np.maximum(message.max(axis=1, keepdims=True), 1e-300)
        message, scale = message / most, scale + (top + np.log(most))[:, 0]
        ahead.insert(0, message)
        if b:
            message = message @ kernels[b - 1].T
    return scale + log(message.sum(axis=1)), message, ahead, kernels


def _kernel(one: _Bin, two: _Bin, drift: float, variance: float) -> Float[np.ndarray, "cells next_cells"]:
    """Probability to go from a cell, anywhere in it, into each of the next bin's."""
    width = one.edges[1] - one.edges[0]
    sd = np.sqrt(variance + width**2 / 12)
    return np.diff(ndtr((two.edges[None, :] - one.cells[:, None] - drift) / sd), axis=1)


def _chosen(weight: Float[np.ndarray, "draws cells"], rng: np.random.Generator) -> Int[np.ndarray, " draws"]:
    """One of each row's cells."""
    upto = weight.cumsum(axis=1)
    return (upto < ((1 - rng.random(len(upto))) * upto[:, -1])[:, None]).sum(axis=1)


def _with_prior(
    shares: Float[np.ndarray, "rates walks bins"], sizes: np.ndarray, prior: np.ndarray, each: int,
    rng: np.random.Generator,
) -> tuple[Int[np.ndarray, "rates each"], float]:  # fmt: skip
    """Walks that are kept, by how well the class prior is the mean of their shares."""
    share = sizes / sizes.sum()
    mean = shares @ share
    variance = np.maximum((shares - mean[..., None]) ** 2 @ share, 1e-12) / sizes.sum()
    log_weight = -0.5 * (mean - prior[:, None]) ** 2 / variance - 0.5 * np.log(variance)
    kept, least = [], 1.0
    for row in log_weight:
        low, high = 0.0, 1.0
        wanted = min(_ENOUGH, row.size // 4)
        if _effective(row) < wanted:
            for _ in range(40):
                power = (low + high) / 2
                low, high = (power, high) if _effective(power * row) >= wanted else (low, power)
            least, row = min(least, low), low * row
        kept.append(rng.choice(row.size, each, p=softmax(row)))
    return np.stack(kept), least


def _effective(log_weight: np.ndarray) -> float:
    """Effective number of weights."""
    p = np.exp(log_weight - log_weight.max())
    return float(p.sum() ** 2 / (p**2).sum())


def _positives(
    one: _Bin, at: Int[np.ndarray, "rates draws"], prior: np.ndarray, rng: np.random.Generator
) -> Int[np.ndarray, "rates draws"]:
    """Numbers of positives given the cells."""
    found = np.empty(at.shape, np.int64)
    for r, p in enumerate(prior):
        cells, which = np.unique(at[r], return_inverse=True)
        upto = _log_terms(one, r, p, cells)[0]
        # Every row of sums is brought to (k, k + 1], so that one search finds all.
        upto = upto / upto[:, -1:] + np.arange(cells.size)[:, None]
        height = which + 1 - rng.random(which.size)
        found[r] = one.laws[r][0] + np.searchsorted(upto.ravel(), height) - which * upto.shape[1]
    return found
