"""The log prior of the draws of a model with one stratum, for `jtruth.stats.power_scaling`."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth.sampling.model import LatentModel

_LEAST = 1e-38  # a probability that float32 cannot hold


class LogPrior(NamedTuple):
    """What has a fixed prior; rows that are alike have one that is learned, and are part of the model."""

    values: Float[np.ndarray, " kept"]  # up to a constant
    least: float  # the smallest Dirichlet concentration in it
    covers: tuple[str, ...]  # of "classes", "labelers", "classifier"

    def proper(self, power: float) -> bool:
        """Whether the prior raised to this power is one: concentrations become 1 + power (a - 1)."""
        return 1 + power * (self.least - 1) > 0


def log_prior(model: LatentModel, found: Any) -> LogPrior:
    """Sum of (concentration - 1) log(probability) over class prior and rows, for draws `found.matrix_draw`.

    Args:
        model: with one stratum and rows that are independent or alike.
        found: the `JointPosterior` of its draws.
    """
    draw = found.matrix_draw
    own = [("labelers", model.raters[0], found.matrices)]
    if found.classifier is not None:
        own.append(("classifier", model.raters[1], found.classifier[draw][:, None]))
    parts = [(name, raters.prior, theta) for name, raters, theta in own if raters.alike is None]
    if not model.class_fixed:
        parts.insert(0, ("classes", model.class_prior, found.prior[draw]))
    total, least = np.zeros(draw.size), 1.0
    for _, concentration, theta in parts:
        part = row_prior(theta, concentration)
        total, least = total + part.values, min(least, part.least)
    return LogPrior(total, least, tuple(name for name, _, _ in parts))


def row_prior(theta: np.ndarray, concentration: np.ndarray, covers: str = "classifier") -> LogPrior:
    """Of rows (draws, ...) that are Dirichlet with the concentrations (...)."""
    weight = np.asarray(concentration, np.float64).ravel() - 1
    logs = np.log(np.maximum(theta.reshape(len(theta), -1), _LEAST, dtype=np.float64))
    return LogPrior(logs @ weight, float(weight.min()) + 1, (covers,))
