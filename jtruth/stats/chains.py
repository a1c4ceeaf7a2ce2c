"""Convergence of several Markov chains, and their effective sample size.

Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), "Rank-normalization, folding, and localization". Every
chain is split into two halves, and draws are replaced by normal scores of their ranks, so that tails do not
matter. Axes are (chains, draws, ...); the result has the shape of the rest. A constant quantity is NaN.
"""

import numpy as np
import scipy  # its modules are loaded lazily
from jaxtyping import Float, Int
from scipy.special import ndtri

Draws = Float[np.ndarray, "chains draws ..."] | Int[np.ndarray, "chains draws ..."]


def split_rhat(draws: Draws, *, groups: int | None = None) -> Float[np.ndarray, "..."]:
    """Rank-normalised split R-hat: the larger of the bulk and the folded one; 1.01 is the usual limit.

    With `groups`, many short chains are merged into so many groups, first and second halves separately
    (nested R-hat: Margossian et al. 2024), if their number is a multiple of it.

    >>> rng = np.random.default_rng(0)
    >>> print(round(float(split_rhat(rng.normal(size=(4, 1000)))), 2))
    1.0
    >>> print(round(float(split_rhat(rng.normal(size=(4, 1000)) + [[0.0], [0.0], [0.0], [3.0]])), 1))
    1.5
    """
    halves = _split(draws)
    chains = halves.shape[0] // 2
    if groups is not None and chains > groups and chains % groups == 0:
        halves = halves.reshape(2 * groups, -1, *halves.shape[2:])
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    return np.asarray(np.maximum(_rhat(_normal_scores(halves)), _rhat(_normal_scores(folded))))


def effective_sample_size(draws: Draws, *, ranked: bool = True) -> Float[np.ndarray, "..."]:
    """Effective sample size: of normal scores of ranks ("bulk" ESS), or of the draws themselves.

    The latter is that of the error of the mean.
    """
    halves = _split(draws)
    return _ess(_normal_scores(halves) if ranked else halves)


def tail_sample_size(draws: Draws) -> Float[np.ndarray, "..."]:
    """Effective sample size for the ends of 95 % intervals (4.3): the ESS of "is beyond the end".

    Chains that seldom visit a tail and then stay there show it here, hardly in the bulk.
    """
    halves = _split(draws)
    ends = np.quantile(halves, [0.025, 0.975], axis=(0, 1))
    beyond = (halves <= ends[0]), (halves >= ends[1])
    return np.asarray(np.fmin(*(_ess(part.astype(np.float64)) for part in beyond)))


def mean_error(draws: Draws) -> Float[np.ndarray, "..."]:
    """Monte Carlo standard error of the mean of each quantity: sd / sqrt(ESS)."""
    flat = np.asarray(draws, np.float64)
    return np.asarray(flat.std(axis=(0, 1), ddof=1) / np.sqrt(effective_sample_size(draws, ranked=False)))


def _split(draws: np.ndarray) -> np.ndarray:
    """Halves of each chain as chains; the middle draw of an odd number is left out."""
    draws = np.asarray(draws, np.float64)
    if draws.ndim < 2 or draws.shape[1] < 4:
        raise ValueError(f"draws must be (chains, draws, ...) with 4 draws or more; got shape {draws.shape}")
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _normal_scores(draws: np.ndarray) -> np.ndarray:
    """Phi^-1((rank - 3/8) / (S + 1/4)), ranks over all chains, ties averaged: equation (14)."""
    flat = draws.reshape(draws.shape[0] * draws.shape[1], -1)
    ranks = mean_ranks(flat)
    return ndtri((ranks - 0.375) / (flat.shape[0] + 0.25)).reshape(draws.shape)


def mean_ranks(x: Float[np.ndarray, "rows columns"]) -> Float[np.ndarray, "rows columns"]:
    """Ranks 1, 2, ... within each column; ties share their mean. A column with NaN is NaN.

    >>> mean_ranks(np.array([[3.0], [1.0], [3.0], [2.0]])).ravel().tolist()
    [3.5, 1.0, 3.5, 2.0]
    """
    order = np.argsort(x, axis=0)
    ordered = np.take_along_axis(x, order, axis=0)
    row = np.broadcast_to(np.arange(len(x))[:, None], x.shape)
    apart, first, last = ordered[1:] != ordered[:-1], row, row
    if not apart.all():
        always = np.ones((1, x.shape[1]), bool)
        first = np.maximum.accumulate(np.where(np.concatenate([always, apart]), row, 0), axis=0)
        last = np.where(np.concatenate([apart, always]), row, len(x))
        last = np.minimum.accumulate(last[::-1], axis=0)[::-1]
    ranks = np.empty(x.shape)
    np.put_along_axis(ranks, order, 0.5 * (first + last) + 1, axis=0)
    return np.where(np.isnan(x).any(axis=0), np.nan, ranks)


def _rhat(draws: np.ndarray) -> np.ndarray:
    """sqrt(((n-1)/n W + B/n) / W): equations (1) to (4)."""
    n = draws.shape[1]
    within = draws.var(axis=1, ddof=1).mean(axis=0)
    between = draws.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sqrt((between / within) + (n - 1) / n)
    return np.where(np.ptp(draws, axis=(0, 1)) > 0, ratio, np.nan)


def _ess(draws: np.ndarray) -> np.ndarray:
    """(10) and (13); autocovariances at lag > 0 are divided by n, as Stan, posterior and ArviZ do."""
    chains, n = draws.shape[:2]
    flat, size = draws.reshape(chains, n, -1), scipy.fft.next_fast_len(2 * n)
    spectrum = np.asarray(scipy.fft.rfft(flat - flat.mean(axis=1, keepdims=True), size, axis=1))
    covariance = np.asarray(scipy.fft.irfft(np.abs(spectrum) ** 2, size, axis=1))[:, :n] / n
    within = covariance[:, 0].mean(axis=0) * n / (n - 1)
    marginal = within * (n - 1) / n
    if chains > 1:
        marginal = marginal + flat.mean(axis=1).var(axis=0, ddof=1)
    moving = np.ptp(flat, axis=(0, 1)) > 0
    rho = 1 - (within - covariance.mean(axis=0)) / np.where(moving, marginal, 1)
    rho[0] = 1.0
    time = np.array([_autocorrelation_time(r) for r in rho.T])
    time = np.maximum(time, 1 / np.log10(chains * n))  # the limit for antithetic chains
    return np.where(moving, chains * n / time, np.nan).reshape(draws.shape[2:])


def _autocorrelation_time(rho: np.ndarray) -> float:
    """-1 + 2 sum rho over Geyer's positive pairs, and the next rho if positive."""
    most = max((rho.size - 3) // 2, 0)
    pairs = rho[: 2 * most].reshape(most, 2).sum(axis=1)
    stop = np.flatnonzero(pairs <= 0)
    count = int(stop[0]) if stop.size else most
    kept = np.minimum.accumulate(pairs[:count])
    return float(-1 + 2 * kept.sum() + max(rho[2 * count], 0.0))
