"""A distribution given by draws, and predictive distributions that pool several estimates.

`DrawsEstimate` is the third kind of `estimates.Estimate`. The shortest interval that contains 95 % of the
draws covers less of the distribution. So the draws, smoothed by a normal kernel, only choose the share to
leave out below, and the ends are order statistics: between the r-th and the (r + k)-th of n draws lies the
share k/(n + 1) of the distribution on average. The choice of r costs a little, so k is one more than the
level requires (2500 sets of 400 normal draws: .9492).

`predictive` pools several estimates of a number between two bounds, none of which is trusted. Estimate m has
centre c_m on the logit scale; on other data the errors of its kind were Student t with 3 degrees of freedom
and scale s_m. The distribution is the robust meta-analytic predictive prior (Schmidli et al. 2014):

    p(x) = (1 - flat) mean_m t_3(logit x; c_m, s_m) |d logit x / dx| + flat / (high - low),

summed over a grid of logits that is dense around every part.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import jax
import numpy as np
import scipy  # its modules are loaded lazily
from jaxtyping import Float
from scipy.special import expit, logit

from jtruth._random import Key, as_key
from jtruth.stats.estimates import WITH_MEAN, Estimate, Interval, PmfEstimate, Region, check_level

_ROUNDING = 8 * np.finfo(float).eps
_QUANTILE_CELLS = 512  # on which draws are smoothed to choose the tails
# Width of the kernel in sd: with .2 heavy tails were covered .948 with 400 draws, with .6 no better than .3.
_FOLDED = 0.3


@dataclass(frozen=True, eq=False, repr=False)
class DrawsEstimate(Estimate):
    """A distribution given by equally weighted draws; a NaN draw is an undefined number.

    With a `point` it is a number estimated from data, and the draws are its values in resamples: confidence,
    not probability. Mean and mode are then the point, and intervals lie between two quantiles.
    """

    draws: Float[np.ndarray, " draws"]
    point: float | None = None
    middle: float | None = None  # reported as the mean of a predictive distribution

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
        """Distinct draws; those that differ by rounding only are merged."""
        values, counts = np.unique(self._defined, return_counts=True)
        apart = np.diff(values) > _ROUNDING * np.abs(values).max(initial=1.0)
        if not apart.all():
            first = np.flatnonzero(np.append(True, apart))
            values, counts = values[first], np.add.reduceat(counts, first)
        return PmfEstimate(values, counts / max(counts.sum(), 1))

    @property
    def mean(self) -> float:
        """Mean of the draws, or the point or middle that stands for it."""
        stated = self.middle if self.point is None else self.point
        return self._atoms.mean if stated is None else stated

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

    def p_above(self, limit: float, *, strict: bool = False) -> float:
        """Share of the draws at or above the limit."""
        return self._atoms.p_above(limit, strict=strict)

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


def draws_of(dist: Estimate) -> Float[np.ndarray, " draws"]:
    """Draws of a distribution, NaN where it is undefined; of one without draws 4000 even quantiles."""
    return dist.draws if isinstance(dist, DrawsEstimate) else dist._quantile(_DRAWS)


def _smooth_quantiles(draws: Float[np.ndarray, " draws"], share: Float[np.ndarray, "..."]) -> np.ndarray:
    """Quantiles of sorted draws smoothed by a normal kernel, reflected at the ends of their range."""
    low, span, sd = draws[0], draws[-1] - draws[0], draws.std()
    if not sd > 0 or not span > 0:
        return np.full(np.shape(share), low)
    edges = low + span * np.linspace(0, 1, _QUANTILE_CELLS + 1)
    cell = np.minimum((_QUANTILE_CELLS * ((draws - low) / span)).astype(int), _QUANTILE_CELLS - 1)
    mass = np.bincount(cell, minlength=_QUANTILE_CELLS).astype(np.float64)
    width = _FOLDED * sd / span * _QUANTILE_CELLS  # of the kernel, in cells
    reach = min(int(np.ceil(4 * width)), _QUANTILE_CELLS - 1)
    smooth = scipy.ndimage.gaussian_filter1d(mass, width, mode="reflect", radius=reach)
    upto = np.concatenate([[0.0], np.cumsum(smooth)])
    return np.interp(share, upto / upto[-1], edges)


_REACH = 25.0  # largest logit: 1e-11 to 1 - 1e-11
_AWAY = np.concatenate([np.linspace(0.04, 5, 125), np.geomspace(5.1, 1e6, 100)])  # in scales
_DRAWS = (np.arange(4000) + 0.5) / 4000
Bounds = tuple[float, float]
Opinion = tuple[float, float]  # logit of the place in the range, and scale of its errors there


def predictive(
    opinions: Sequence[Opinion],
    flat: float,
    bounds: Bounds = (0.0, 1.0),
    size: float = np.inf,
    weights: Sequence[float] | None = None,
) -> DrawsEstimate:
    """Mixture of estimates (`opinion`), as evenly spaced quantiles.

    `flat` is the weight of the flat part, above 0; 1 without estimates. `size` is the denominator of a ratio
    of counts; see `opinion`. `weights` are those of the estimates; None: equal.

    >>> low, high = predictive([(1.4, 0.3)], 0.02).equal_tails(0.9)
    >>> print(f"{low:.2f} {high:.2f}")
    0.65 0.89
    """
    parts = np.array(opinions, np.float64).reshape(-1, 2)
    away = np.concatenate([-_AWAY[::-1], [0.0], _AWAY])
    z = np.append(np.linspace(-_REACH, _REACH, 1001), parts[:, :1] + parts[:, 1:] * away)
    z = np.unique(z[np.abs(z) <= _REACH])
    away = (z - parts[:, :1]) / parts[:, 1:]
    t_3 = 2 / (np.pi * np.sqrt(3.0)) / (1 + away**2 / 3) ** 2
    share = np.ones(len(parts)) if weights is None else np.asarray(weights, np.float64)
    share = (1 - flat) * share / max(share.sum(), 1e-300)
    density = (share[:, None] / parts[:, 1:] * t_3).sum(axis=0)
    density += flat * expit(z) * expit(-z)
    upto = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(z))])
    place = expit(np.interp(_DRAWS, upto / upto[-1], z))
    if not np.isinf(size):
        place = np.clip((place * (size + 1.0) - 0.5) / size, 0.0, 1.0)
    return DrawsEstimate(bounds[0] + (bounds[1] - bounds[0]) * place)


def opinion(draws: Float[np.ndarray, " draws"], size: float, bounds: Bounds = (0.0, 1.0)) -> Opinion:
    """Centre and spread of draws of a ratio of counts, on the logit scale.

    Half a count is added to either side, so logits stay finite; `predictive` with this size removes it again.
    """
    share = np.clip((draws[~np.isnan(draws)] - bounds[0]) / (bounds[1] - bounds[0]), 0.0, 1.0)
    z = logit(share if np.isinf(size) else (share * size + 0.5) / (size + 1.0))
    return float(z.mean()), float(z.std())
