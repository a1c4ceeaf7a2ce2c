"""A law known through draws: the third kind of Estimate (see `estimates`).

The shortest interval that holds 95 % of the draws holds less of the law. So the draws smoothed by a normal
kernel say only which share to leave out below, and the ends are order statistics: between the r-th and the
(r + k)-th of n draws lies the share k/(n + 1) of the law on average. The choice of r costs a little, so k is
one more than the level asks for (2500 sets of 400 normal draws: .9492).
"""

from dataclasses import dataclass
from functools import cached_property

import jax
import numpy as np
from jaxtyping import Float

from jtruth._random import Key, as_key
from jtruth.stats.estimates import Estimate, PmfEstimate
from jtruth.stats.regions import WITH_MEAN, Interval, Region, check_level

_ROUNDING = 8 * np.finfo(float).eps
_QUANTILE_CELLS = 512  # on which draws are smoothed to choose the tails
# Their kernel: with .2 laws of heavy tails held .948 with 400 draws, with .6 no more than with .3.
_FOLDED = 0.3


@dataclass(frozen=True, eq=False, repr=False)
class DrawsEstimate(Estimate):
    """A law given by equally weighted draws; NaN draws are those where the number is undefined.

    With a `point` it is a number estimated from data, and the draws are its values in resamples of these:
    confidence, not probability. Mean and mode are then the point, and intervals lie between two quantiles.
    """

    draws: Float[np.ndarray, " draws"]
    point: float | None = None

    @property
    def _defined(self) -> np.ndarray:
        return self.draws[~np.isnan(self.draws)]

    @property
    def probability_defined(self) -> float:
        """Share of draws that are not NaN; 0 if the point is."""
        if self.point is not None and np.isnan(self.point):
            return 0.0
        return self._defined.size / max(self.draws.size, 1)

    @cached_property
    def _atoms(self) -> PmfEstimate:
        """Equal draws as one; differences of shares, numbers near 1, are equal up to their rounding."""
        values, counts = np.unique(self._defined, return_counts=True)
        apart = np.diff(values) > _ROUNDING * np.abs(values).max(initial=1.0)
        if not apart.all():
            first = np.flatnonzero(np.append(True, apart))
            values, counts = values[first], np.add.reduceat(counts, first)
        return PmfEstimate(values, counts / max(counts.sum(), 1))

    @property
    def mean(self) -> float:
        """Mean of the draws, or the point."""
        return self._atoms.mean if self.point is None else self.point

    @property
    def sd(self) -> float:
        """Standard deviation of the draws."""
        return self._atoms.sd

    @property
    def mode(self) -> float:
        """Peak of the draws smoothed by a normal kernel of sd/5, or the point."""
        return self._atoms.mode if self.point is None else self.point

    def interval(self, level: float = 0.95) -> Interval:
        """Shortest interval by the smoothed draws; its ends are draws.

        `mass` is the share of the draws inside, a little more than `level` on average.
        """
        check_level(level)
        if self.point is not None:
            return self.equal_tails(level)
        draws = np.sort(self._defined)
        if not draws.size:
            return Interval(float("nan"), float("nan"), float("nan"))
        beyond = int(np.ceil(level * (draws.size + 1) - 1e-9)) + 1  # the k of the module docstring
        if beyond >= draws.size:  # too few draws to leave one out
            return Interval(float(draws[0]), float(draws[-1]), 1.0)
        starts = np.arange(draws.size - beyond)
        if level >= WITH_MEAN:
            point = np.clip(self.mean, draws[0], draws[-1])
            starts = starts[(draws[:-beyond] <= point) & (point <= draws[beyond:])]
        below = (np.array([starts, starts + beyond]) + 0.5) / draws.size
        ends = _smooth_quantiles(draws, below)
        first = starts[np.argmin(ends[1] - ends[0])]
        low, high = draws[first], draws[first + beyond]
        return Interval(float(low), float(high), float(((draws >= low) & (draws <= high)).mean()))

    def equal_tails(self, level: float = 0.95) -> Interval:
        """Interval between two quantiles of the draws."""
        return self._atoms.equal_tails(level)

    def region(self, level: float = 0.95) -> Region:
        """Highest-density region of the smoothed draws; of resamples the interval."""
        return self._atoms.region(level) if self.point is None else super().region(level)

    def _quantile(self, u: np.ndarray) -> np.ndarray:
        return self._atoms._quantile(u)

    def density(self, x: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Density of the draws smoothed by a normal kernel of sd/5."""
        return self._atoms.density(x)

    def sample(self, key: Key, n: int) -> Float[np.ndarray, " n"]:
        """n draws with replacement."""
        if not self._defined.size:
            return np.full(n, np.nan)
        return np.asarray(jax.random.choice(as_key(key), self._defined, (n,)))


def _smooth_quantiles(draws: Float[np.ndarray, " draws"], share: Float[np.ndarray, "..."]) -> np.ndarray:
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
