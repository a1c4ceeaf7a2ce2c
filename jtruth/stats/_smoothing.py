"""Atoms and draws smoothed by a normal kernel: for mode, density, region, and the tails of an interval."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

_CELLS_PER_SD = 40
_BANDWIDTH = 0.2  # of the smoothing kernel, in sd: it widens the law by 2 %
_QUANTILE_CELLS = 512  # on which draws are smoothed to choose the tails
_FOLDED = (
    0.3  # their kernel: with .2 laws of heavy tails held .948 with 400 draws, with .6 no more than with .3
)


class Smoothed(NamedTuple):
    """Atoms on equal cells, as they are and spread by a normal kernel."""

    edges: np.ndarray  # (cells + 1,)
    raw: np.ndarray  # (cells,) mass
    smooth: np.ndarray  # (cells,) mass


def smoothed(values: np.ndarray, pmf: np.ndarray, sd: float) -> Smoothed:
    """The law of atoms on cells of sd/40 over their range and a little more, smoothed."""
    width = max(sd / _CELLS_PER_SD, float(np.ptp(values)) / 20_000)
    margin = int(np.ceil(4 * _BANDWIDTH * sd / width))
    number = int(np.ceil(np.ptp(values) / width)) + 2 * margin + 1
    edges = values[0] + width * (np.arange(number + 1) - margin - 0.5)
    where = np.clip(((values - edges[0]) / width).astype(int), 0, number - 1)
    raw = np.bincount(where, weights=pmf, minlength=number)
    kernel = np.exp(-0.5 * (np.arange(-margin, margin + 1) * width / (_BANDWIDTH * sd)) ** 2)
    return Smoothed(edges, raw, np.convolve(raw, kernel / kernel.sum(), "same"))


def smooth_quantiles(draws: Float[np.ndarray, " draws"], share: Float[np.ndarray, "..."]) -> np.ndarray:
    """Quantiles of sorted draws smoothed by a normal kernel; what leaves their range is folded back."""
    low, span, sd = draws[0], draws[-1] - draws[0], draws.std()
    if not sd > 0 or not span > 0:
        return np.full(np.shape(share), low)
    edges = low + span * np.linspace(0, 1, _QUANTILE_CELLS + 1)
    cell = np.minimum((_QUANTILE_CELLS * ((draws - low) / span)).astype(int), _QUANTILE_CELLS - 1)
    mass = np.bincount(cell, minlength=_QUANTILE_CELLS)
    reach = min(int(np.ceil(4 * _FOLDED * sd / span * _QUANTILE_CELLS)), _QUANTILE_CELLS - 1)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * span / (_QUANTILE_CELLS * _FOLDED * sd)) ** 2)
    spread = np.convolve(mass, kernel)  # `reach` cells more on either side
    inside = spread[reach : reach + _QUANTILE_CELLS].copy()
    inside[:reach] += spread[:reach][::-1]
    inside[_QUANTILE_CELLS - reach :] += spread[reach + _QUANTILE_CELLS :][::-1]
    upto = np.concatenate([[0.0], np.cumsum(inside)])
    return np.interp(share, upto / upto[-1], edges)
