"""A law of a number between two bounds from several opinions, none of which is trusted.

Opinion m says that the number's logit is near c_m; on other data the errors of its kind were Student t with 3
degrees of freedom and scale s_m. The law is the robust meta-analytic predictive prior (Schmidli et al. 2014):

    p(x) = (1 - flat) mean_m t_3(logit x; c_m, s_m) |d logit x / dx| + flat / (high - low),

summed over a grid of logits that is dense around every part.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit, logit

from jtruth.stats.draws import DrawsEstimate

_REACH = 25.0  # logits looked at: 1e-11 to 1 - 1e-11
_AWAY = np.concatenate([np.linspace(0.04, 5, 125), np.geomspace(5.1, 1e6, 100)])  # in scales
_DRAWS = (np.arange(4000) + 0.5) / 4000


class Opinion(NamedTuple):
    """One part of the mixture."""

    centre: float  # logit of the place in the range
    scale: float  # of its errors, on the logit scale


def predictive(
    opinions: Sequence[Opinion], flat: float, bounds: tuple[float, float] = (0.0, 1.0), size: float = np.inf
) -> DrawsEstimate:
    """The mixture of opinions of equal weight, as evenly spaced quantiles.

    `flat` is the weight of the flat part, above 0; it is 1 without opinions. `size` is that of the count
    below the line, if the number is a ratio of counts; see `opinion`.

    Raises:
        ValueError: a flat weight outside (0, 1], or opinions of no scale.

    >>> low, high = predictive([Opinion(1.4, 0.3)], 0.02).equal_tails(0.9)
    >>> print(f"{low:.2f} {high:.2f}")
    0.65 0.89
    """
    parts = _checked(opinions, flat)
    z = _grid(parts)
    away = (z - parts[:, :1]) / parts[:, 1:]
    t_3 = 2 / (np.pi * np.sqrt(3.0)) / (1 + away**2 / 3) ** 2
    density = ((1 - flat) / max(len(parts), 1) / parts[:, 1:] * t_3).sum(axis=0)
    density += flat * expit(z) * expit(-z)
    upto = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(z))])
    place = expit(np.interp(_DRAWS, upto / upto[-1], z))
    if not np.isinf(size):
        place = np.clip((place * (size + 1.0) - 0.5) / size, 0.0, 1.0)
    return DrawsEstimate(bounds[0] + (bounds[1] - bounds[0]) * place)


def opinion(
    draws: Float[np.ndarray, " draws"], size: float, bounds: tuple[float, float] = (0.0, 1.0)
) -> Opinion:
    """What draws of a ratio of counts say: centre and spread on the logit scale.

    A ratio k/size may be 0 or 1: half a count is added to either side, so logits stay finite. `predictive`
    with this size takes it away again, and what lies beyond the bounds is at them, as ratios of counts are.
    """
    share = np.clip((draws[~np.isnan(draws)] - bounds[0]) / (bounds[1] - bounds[0]), 0.0, 1.0)
    z = logit(share if np.isinf(size) else (share * size + 0.5) / (size + 1.0))
    return Opinion(float(z.mean()), float(z.std()))


def _checked(opinions: Sequence[Opinion], flat: float) -> np.ndarray:
    """(parts, 2) centre and scale."""
    parts = np.array(opinions, np.float64).reshape(-1, 2)
    if not 0 < flat <= 1 or (flat < 1 and not len(parts)):
        raise ValueError(f"flat is {flat}; it must be above 0 and at most 1, and 1 without opinions")
    bad = np.flatnonzero(~(np.isfinite(parts).all(axis=1) & (parts[:, 1] > 0)))
    if bad.size:
        raise ValueError(f"{opinions[bad[0]]}: an opinion needs a finite centre and a scale above 0")
    return parts


def _grid(parts: np.ndarray) -> np.ndarray:
    """Logits where the mixture is looked at: dense around each part, sparser further off."""
    away = np.concatenate([-_AWAY[::-1], [0.0], _AWAY])
    points = [np.linspace(-_REACH, _REACH, 1001), (parts[:, :1] + parts[:, 1:] * away).ravel()]
    z = np.concatenate(points)
    return np.unique(z[np.abs(z) <= _REACH])
