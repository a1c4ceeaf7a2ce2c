"""Student's t and ranks without `scipy.stats`, whose import takes longer than a first answer may."""

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln, stdtr, stdtrit


def t_below(x: Float[np.ndarray, "..."] | float, freedom: float) -> Float[np.ndarray, "..."] | float:
    """P(T <= x)."""
    return stdtr(freedom, x)


def t_quantile(p: Float[np.ndarray, "..."] | float, freedom: float | np.ndarray) -> Float[np.ndarray, "..."]:
    """The point below which T has probability p; infinite at 0 and 1.

    >>> print(round(float(t_quantile(0.975, 28.0)), 4), t_quantile(np.array([0.0, 0.5, 1.0]), 3.0))
    2.0484 [-inf   0.  inf]
    """
    p = np.asarray(p, np.float64)
    inside = (p > 0) & (p < 1)
    found = stdtrit(freedom, np.where(inside, p, 0.5))
    return np.where(inside, found, np.where(p <= 0, -np.inf, np.inf))


def t_density(x: Float[np.ndarray, "..."] | float, freedom: float) -> Float[np.ndarray, "..."] | float:
    """Density of T."""
    constant = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - 0.5 * np.log(np.pi * freedom)
    return np.exp(constant - 0.5 * (freedom + 1) * np.log1p(np.asarray(x) ** 2 / freedom))


def mean_ranks(x: Float[np.ndarray, "rows columns"]) -> Float[np.ndarray, "rows columns"]:
    """Ranks 1, 2, ... within each column; equal values share the mean of theirs. NaN ranks a column NaN.

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
