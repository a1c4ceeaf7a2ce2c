"""Intervals of a number computed from a few shares, each known or seen in a binomial sample.

The number is a function of shares x_1, x_2, ... that is monotone in each of them while the others stay (true
of (a - m)/(1 - 2m) and of Rogan and Gladen's formula). Three intervals:

- delta: value +- z standard errors, from the slopes. Textbook; too short near 0 and 1, empty if a sample was
  all of one kind.
- bootstrap: percentiles over samples redrawn from binomials with the shares as seen. The same weakness.
- exact: Clopper-Pearson intervals of the shares with the risk divided among them (Bonferroni), and the least
  and greatest value on their product. It holds its level for any sizes and even if the samples overlap; wide.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import betaincinv, ndtri

from jtruth import _validation as check
from jtruth._one_line import one_line
from jtruth._random import host_rng, required_key
from jtruth.stats.regions import check_level

INTERVALS = ("delta", "bootstrap", "exact")

HowMany = tuple[Any, Any]  # whole numbers: how many, of how many
Known = float | HowMany


class Share(NamedTuple):
    """A share, and how many observations it rests on (infinity: known)."""

    name: str
    value: float
    size: float

    @property
    def variance(self) -> float:
        """Of the share; 0 if it is known."""
        return self.value * (1 - self.value) / self.size

    @property
    def one_sided(self) -> bool:
        """Seen in a sample that was all of one kind: its variance looks like 0 and is not."""
        return bool(np.isfinite(self.size)) and self.value in (0.0, 1.0)

    def redraw(self, rng: np.random.Generator, number: int) -> Float[np.ndarray, " draws"]:
        """Shares of new samples of the same size."""
        if np.isinf(self.size):
            return np.full(number, self.value)
        return rng.binomial(int(self.size), self.value, number) / self.size

    def ends(self, risk: float) -> tuple[float, float]:
        """Clopper-Pearson interval that misses the share with a probability of at most `risk`."""
        if np.isinf(self.size):
            return self.value, self.value
        k = round(self.value * self.size)
        low = betaincinv(k, self.size - k + 1, risk / 2) if k > 0 else 0.0
        high = betaincinv(k + 1, self.size - k, 1 - risk / 2) if k < self.size else 1.0
        return float(low), float(high)


def share(given: Known, name: str) -> Share:
    """A known rate, or a pair (how many, of how many), checked."""
    if isinstance(given, tuple):
        count, size = given if len(given) == 2 else (-1, 0)
        if size < 1 or not 0 <= count <= size or count != int(count) or size != int(size):
            raise ValueError(
                f"{name} is {given}; give a rate, or a pair of whole numbers (how many, of how many)"
            )
        return Share(name, int(count) / int(size), float(size))
    if not 0 <= given <= 1:
        raise ValueError(
            f"{name} is {given}; a rate lies between 0 and 1; counts go in as (how many, of how many)"
        )
    return Share(name, float(given), np.inf)


class RateEstimate(NamedTuple):
    """An estimated rate and its interval; may lie outside [0, 1], and `warnings` says so."""

    value: float
    standard_error: float  # delta method, or sd of the bootstrap
    low: float
    high: float
    level: float
    method: str
    warnings: tuple[str, ...]

    __repr__ = one_line

    @property
    def inside(self) -> bool:
        """Does the estimate lie in [0, 1]?"""
        return 0 <= self.value <= 1


class Spread(NamedTuple):
    """Standard error and ends of an interval."""

    standard_error: float
    low: float
    high: float
    warnings: tuple[str, ...] = ()


def generator(key: Any) -> np.random.Generator:
    """A NumPy generator from a JAX key, typed or raw."""
    return host_rng(required_key(key, "the bootstrap draws at random: it"), "bootstrap")


def percentiles(values: Float[np.ndarray, "draws ..."], level: float) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the middle `level` of the draws; an undefined draw (NaN) counts as beyond both ends."""
    tail = (1 - level) / 2
    below, above = np.where(np.isnan(values), -np.inf, values), np.where(np.isnan(values), np.inf, values)
    low = np.quantile(below, tail, axis=0, method="inverted_cdf")
    return np.asarray(low), np.asarray(np.quantile(above, 1 - tail, axis=0, method="inverted_cdf"))


def delta_spread(value: float, shares: Sequence[Share], slopes: Sequence[float], level: float) -> Spread:
    """value +- z standard errors; `slopes` are derivatives of the value by each share."""
    error = float(np.sqrt(sum(g**2 * x.variance for g, x in zip(slopes, shares, strict=True))))
    half = float(ndtri(0.5 + level / 2)) * error
    return Spread(error, value - half, value + half, _one_sided(shares, "delta"))


def bootstrap_spread(
    formula: Callable, shares: Sequence[Share], level: float, key: Any, num_draws: int
) -> Spread:
    """Percentiles of `formula` over redrawn shares."""
    rng = generator(key)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.asarray(formula(*(x.redraw(rng, num_draws) for x in shares)))
    values = np.where(np.isfinite(values), values, np.nan)
    low, high = percentiles(values, level)
    lost, warnings = int(np.isnan(values).sum()), _one_sided(shares, "bootstrap")
    if lost:
        warnings += (
            f"{lost} of {num_draws} bootstrap samples leave the rate undefined: counted as beyond both ends",
        )
    error = float(np.nanstd(values)) if lost < num_draws else float("nan")
    return Spread(error, float(low), float(high), warnings)


def exact_spread(
    formula: Callable, divisor: Callable, value: float, shares: Sequence[Share], slopes: Sequence[float],
    level: float,
) -> Spread:  # fmt: skip
    """Extremes of `formula` over the product of Clopper-Pearson intervals.

    Where `divisor` changes its sign on that product the shares do not rule out labels that say nothing, and
    the interval is the whole line.
    """
    uncertain = max(1, sum(np.isfinite(x.size) for x in shares))
    corners = np.array(list(product(*(x.ends((1 - level) / uncertain) for x in shares)))).T
    error = delta_spread(value, shares, slopes, level).standard_error
    signs = np.sign(divisor(*corners))
    if not (signs == signs[0]).all() or signs[0] == 0:
        text = "at this level the counts do not rule out labels that say nothing: the interval is unbounded"
        return Spread(error, -np.inf, np.inf, (text,))
    values = formula(*corners)
    return Spread(error, float(np.min(values)), float(np.max(values)))


def _one_sided(shares: Sequence[Share], method: str) -> tuple[str, ...]:
    return tuple(
        f"all {x.size:.0f} observations of {x.name} agree ({x.value:.0f}): the {method} interval takes that "
        "for certain and is too short; use method='exact'"
        for x in shares
        if x.one_sided
    )


class Corrected(NamedTuple):
    """A rate as a function of shares: a quotient, its divisor, its slopes at the shares."""

    formula: Callable
    divisor: Callable
    slopes: Sequence[float]
    why_outside: str  # why the value may lie outside [0, 1]


def rate_estimate(
    corrected: Corrected, shares: Sequence[Share], *, method: str, level: float, key: Any, num_draws: int
) -> RateEstimate:
    """The corrected rate at the shares and one of the three intervals."""
    formula, divisor, slopes, why_outside = corrected
    check.choose("method", method, INTERVALS)
    check_level(level)
    if num_draws < 100:
        raise ValueError(f"num_draws is {num_draws}; percentiles need at least 100 draws")
    value = float(formula(*(x.value for x in shares)))
    if method == "delta":
        spread = delta_spread(value, shares, slopes, level)
    elif method == "bootstrap":
        spread = bootstrap_spread(formula, shares, level, key, num_draws)
    else:
        spread = exact_spread(formula, divisor, value, shares, slopes, level)
    return finish(value, spread, level, method, why_outside)


def finish(value: float, spread: Spread, level: float, method: str, why_outside: str) -> RateEstimate:
    """The result; says where it lies outside [0, 1]."""
    warnings = spread.warnings
    if not 0 <= value <= 1:
        warnings = (f"the estimate is {value:.4g}, outside [0, 1]: {why_outside}", *warnings)
    elif spread.low < 0 or spread.high > 1:
        warnings += (
            f"the interval [{spread.low:.4g}, {spread.high:.4g}] reaches beyond [0, 1]; shown as computed",
        )
    return RateEstimate(value, spread.standard_error, spread.low, spread.high, level, method, warnings)
