"""A law known through draws: the third kind of Estimate (see `estimates`)."""

from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from jtruth.stats.estimates import Estimate, PmfEstimate
from jtruth.stats.regions import Interval, Region


@dataclass(frozen=True, eq=False)
class DrawsEstimate(Estimate):
    """A law given by equally weighted draws; NaN draws are those where the number is undefined."""

    draws: Float[np.ndarray, " draws"]

    @property
    def _defined(self) -> np.ndarray:
        return self.draws[~np.isnan(self.draws)]

    @property
    def probability_defined(self) -> float:
        """Share of draws that are not NaN."""
        return self._defined.size / max(self.draws.size, 1)

    def _as_atoms(self) -> PmfEstimate:
        values, counts = np.unique(self._defined, return_counts=True)
        return PmfEstimate(values, counts / max(counts.sum(), 1))

    @property
    def mean(self) -> float:
        """Mean of the draws."""
        return self._as_atoms().mean

    @property
    def sd(self) -> float:
        """Standard deviation of the draws."""
        return self._as_atoms().sd

    @property
    def mode(self) -> float:
        """Peak of the draws smoothed by a normal kernel of sd/5."""
        return self._as_atoms().mode

    def interval(self, level: float = 0.95) -> Interval:
        """Shortest interval that holds the share `level` of the draws."""
        return self._as_atoms().interval(level)

    def equal_tails(self, level: float = 0.95) -> Interval:
        """Interval between two quantiles of the draws."""
        return self._as_atoms().equal_tails(level)

    def region(self, level: float = 0.95) -> Region:
        """Highest-density region of the smoothed draws."""
        return self._as_atoms().region(level)

    def density(self, x: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Density of the draws smoothed by a normal kernel of sd/5."""
        return self._as_atoms().density(x)

    def sample(self, key: Key[Array, ""], n: int) -> Float[np.ndarray, " n"]:
        """n draws with replacement."""
        if not self._defined.size:
            return np.full(n, np.nan)
        return np.asarray(jax.random.choice(key, self._defined, (n,)))
