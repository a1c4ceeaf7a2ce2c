"""What a posterior would be with its prior, or its likelihood, raised to a power: weights for the same draws.

A posterior p(x) L(x) whose answer changes when the prior counts half or twice as much rests on the prior
more than on the data. No new fit is needed to see it: raising the prior to the power a multiplies the weight
of each draw by p(x)^(a - 1), and the likelihood by L(x)^(a - 1) (Kallioinen, Paananen, Buerkner and Vehtari
2024). The weights are Pareto-smoothed (`jtruth.stats.loo`), and the shape k of their tail says whether there
are enough draws where the other posterior lies.

Constants of the density cancel. Where a prior depends on parameters that have a prior themselves, only the
latter is to be scaled: the former is part of the model.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth.stats.loo import good_shape, smoothed_weights


class PowerScaled(NamedTuple):
    """Weights of draws, and whether they can be trusted."""

    weights: Float[np.ndarray, " draws"]  # sum to 1
    pareto_k: float
    good_k: float  # above it they cannot

    @property
    def reliable(self) -> bool:
        """Whether the draws reach where the scaled posterior lies."""
        return self.pareto_k < self.good_k


def power_scaled(
    log_density: Float[np.ndarray, " draws"], power: float, relative_ess: float = 1.0
) -> PowerScaled:
    """Weights of draws of a posterior after the prior or the likelihood was raised to a power.

    Args:
        log_density: log prior, or log likelihood, of each draw, up to a constant.
        power: positive; 1 changes nothing.
        relative_ess: effective sample size of `log_density` over the number of draws.

    Raises:
        ValueError: a power that is not positive, or a density that is not finite.

    >>> x = np.random.default_rng(0).normal(size=4000)  # a posterior N(0, 1); its prior was N(0, 4)
    >>> found = power_scaled(-0.5 * x**2 / 4, 2.0)  # then the posterior has 1/variance 1.25
    >>> found.reliable, bool(abs(found.weights @ x**2 - 0.8) < 0.05)
    (True, True)
    """
    given = np.asarray(log_density, np.float64)
    if not (np.isfinite(power) and power > 0):
        raise ValueError(f"power must be positive; got {power}")
    bad = np.flatnonzero(~np.isfinite(given))
    if bad.size:
        raise ValueError(f"log_density[{bad[0]}] is {given[bad[0]]}; every draw needs a finite one")
    log_w, k = smoothed_weights((power - 1) * given[None], relative_ess)
    weights = np.exp(log_w[0] - log_w.max())
    return PowerScaled(weights / weights.sum(), float(k[0]), good_shape(given.size))


def equal_draws(
    values: Float[np.ndarray, " draws"], weights: Float[np.ndarray, " draws"], size: int
) -> Float[np.ndarray, " size"]:
    """Equally weighted draws of the same law: its quantiles (i + 1/2)/size, ascending, NaN last.

    >>> equal_draws(np.array([1.0, 2.0]), np.array([0.25, 0.75]), 4)
    array([1., 2., 2., 2.])
    """
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    place = np.searchsorted(below / below[-1], (np.arange(size) + 0.5) / size)
    return values[order][np.minimum(place, values.size - 1)]
