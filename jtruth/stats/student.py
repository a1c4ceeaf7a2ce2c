"""A Student t distribution confined to an interval, such as that of a share estimated from a small sample.

With centre m, scale s and d degrees of freedom it is the distribution of m + s T, T ~ t_d, given that it lies
in [low, high]: the posterior under a flat prior there. Without bounds its intervals are m +- t s. A scale of
infinity is flat on the interval, a scale of 0 a point.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln, stdtr, stdtrit

from jtruth.stats.estimates import Estimate, Interval, check_level


@dataclass(frozen=True, eq=False, repr=False)
class StudentEstimate(Estimate):
    """Distribution of centre + scale * t(freedom), given that it lies in [low, high].

    >>> dist = StudentEstimate(0.8, 0.05, 28.0)
    >>> print([round(end, 3) for end in dist.interval(0.95)])
    [0.698, 0.902]
    """

    centre: float
    scale: float  # 0: a point; infinity: flat on [low, high]
    freedom: float
    low: float = -np.inf
    high: float = np.inf
    probability_defined: float = 1.0

    @property
    def _flat(self) -> bool:
        return bool(np.isinf(self.scale))

    @cached_property  # a moment asks for the density some hundred times
    def _tails(self) -> tuple[float, float, float]:
        """Sign, and probabilities of t below both bounds, seen from the nearer tail."""
        a, b = (self.low - self.centre) / self.scale, (self.high - self.centre) / self.scale
        sign = -1.0 if a > 0 else 1.0  # beyond the centre differences of cdf cancel; those of sf do not
        below, upto = (float(stdtr(self.freedom, sign * end)) for end in (a, b))
        return sign, below, upto

    def _quantile(self, u: float | np.ndarray) -> np.ndarray:
        if self.scale == 0:
            return np.full(np.shape(u), self.mode)
        if self._flat and np.isinf([self.low, self.high]).any():
            return np.where(np.asarray(u) < 0.5, self.low, self.high)  # any number may be it
        if self._flat:
            return np.asarray(self.low + np.asarray(u) * (self.high - self.low))
        sign, below, upto = self._tails
        z = sign * t_quantile(below + np.asarray(u) * (upto - below), self.freedom)
        return np.asarray(np.clip(self.centre + self.scale * z, self.low, self.high))

    @property
    def mode(self) -> float:
        """The centre, or the bound nearest to it."""
        return float(np.clip(self.centre, self.low, self.high))

    @cached_property
    def mean(self) -> float:
        """Mean (NaN without bounds and with one degree of freedom or less)."""
        if self.scale == 0:
            return self.mode
        if self._flat:
            return 0.5 * (self.low + self.high)
        if np.isinf([self.low, self.high]).all():
            return self.centre if self.freedom > 1 else float("nan")
        return self._moment(1, 0.0)

    @cached_property
    def sd(self) -> float:
        """Standard deviation (infinite without bounds and with two degrees of freedom or less)."""
        if self.scale == 0:
            return 0.0
        if self._flat:
            return float((self.high - self.low) / np.sqrt(12))
        if np.isinf([self.low, self.high]).all():
            d = self.freedom
            return float(self.scale * np.sqrt(d / (d - 2))) if d > 2 else float("inf")
        return float(np.sqrt(self._moment(2, self.mean)))

    def _moment(self, power: int, about: float) -> float:
        """Integral of (x - about)^power times the density, in pieces around the peak."""
        from scipy.integrate import quad  # a tenth of a second to import, and only here

        near = self.mode + self.scale * np.array([-20.0, -4.0, 0.0, 4.0, 20.0])
        breaks = np.unique(np.clip([self.low, *near, self.high], self.low, self.high))

        def part(x: float) -> float:
            return (x - about) ** power * float(self.density(np.array(x)))

        return float(sum(quad(part, *ends)[0] for ends in pairwise(breaks)))

    def interval(self, level: float = 0.95) -> Interval:
        """Shortest interval: symmetric about the centre, or up to a bound."""
        check_level(level)
        if self.scale == 0 or self._flat:
            return self.equal_tails(level)
        _, below, upto = self._tails
        half = self.scale * float(-t_quantile(0.5 * (1 - level * abs(upto - below)), self.freedom))
        low, high = self.centre - half, self.centre + half
        if low >= self.low and high <= self.high:
            return Interval(low, high, level)
        if self.centre - self.low < self.high - self.centre:
            return Interval(self.low, float(self._quantile(level)), level)
        return Interval(float(self._quantile(1 - level)), self.high, level)

    def density(self, x: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Density inside the bounds, 0 outside; not defined for a point."""
        if self.scale == 0:
            raise ValueError(f"the distribution is the point {self.mode}, so it has no density")
        x = np.asarray(x, np.float64)
        inside = (x >= self.low) & (x <= self.high)
        if self._flat:
            return np.where(inside, 1 / (self.high - self.low), 0.0)
        _, below, upto = self._tails
        d, away = self.freedom, (x - self.centre) / self.scale
        constant = gammaln((d + 1) / 2) - gammaln(d / 2) - 0.5 * np.log(np.pi * d)
        height = np.exp(constant - 0.5 * (d + 1) * np.log1p(away**2 / d)) / self.scale
        return np.where(inside, height / abs(upto - below), 0.0)


def t_quantile(p: Float[np.ndarray, "..."] | float, freedom: float | np.ndarray) -> Float[np.ndarray, "..."]:
    """The point below which T has probability p; infinite at 0 and 1.

    >>> print(round(float(t_quantile(0.975, 28.0)), 4), t_quantile(np.array([0.0, 0.5, 1.0]), 3.0))
    2.0484 [-inf   0.  inf]
    """
    p = np.asarray(p, np.float64)
    inside = (p > 0) & (p < 1)
    quantile = stdtrit(freedom, np.where(inside, p, 0.5))
    return np.where(inside, quantile, np.where(p <= 0, -np.inf, np.inf))
