"""The log prior of the draws of a model with one stratum, for `jtruth.stats.power_scaling`.

Of rows with a Dirichlet prior it is their density; of rows that are alike (`jtruth.sampling.alike`) that of
what their families have in common. The law of such rows given the family is part of the model.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth.learning.joint._digest import FAMILIES
from jtruth.sampling import alike
from jtruth.sampling.alike import Alike
from jtruth.sampling.model import LatentModel

_LEAST = 1e-38  # a probability that float32 cannot hold
ALIKE_ROWS = {"labelers": "the population of labelers", "classifier": "what the classifier's rows share"}


class LogPrior(NamedTuple):
    """What has a fixed prior."""

    values: Float[np.ndarray, " kept"]  # up to a constant
    least: float  # the smallest Dirichlet or Beta concentration in it
    covers: tuple[str, ...]  # of "classes", "labelers", "classifier", or what their rows share

    def proper(self, power: float) -> bool:
        """Whether the prior raised to this power is one: concentrations become 1 + power (a - 1)."""
        return 1 + power * (self.least - 1) > 0


def log_prior(model: LatentModel, found: Any, large: Mapping[str, np.ndarray]) -> LogPrior:
    """Sum of the log priors of class shares and rows, for draws `found.matrix_draw`.

    Args:
        model: with one stratum and rows that are independent or alike.
        found: the `JointPosterior` of its draws.
        large: the draws that were kept like `found.matrices`, (chains, kept, ...), with those of families.
    """
    draw = found.matrix_draw
    parts = [] if model.class_fixed else [row_prior(found.prior[draw], model.class_prior, "classes")]
    rows = [("labelers", found.matrices)]
    if found.classifier is not None:
        rows.append(("classifier", found.classifier[draw][:, None]))
    for (name, theta), raters, families in zip(rows, model.raters, FAMILIES, strict=False):
        if raters.alike is None:
            parts.append(row_prior(theta, raters.prior, name))
        else:
            parts.append(_family_prior(raters.alike, large[families], ALIKE_ROWS[name]))
    total = np.sum([part.values for part in parts], axis=0)
    return LogPrior(total, min(part.least for part in parts), tuple(p.covers[0] for p in parts))


def row_prior(theta: np.ndarray, concentration: np.ndarray, covers: str = "classifier") -> LogPrior:
    """Of rows (draws, ...) that are Dirichlet with the concentrations (...)."""
    weight = np.asarray(concentration, np.float64).ravel() - 1
    logs = np.log(np.maximum(theta.reshape(len(theta), -1), _LEAST, dtype=np.float64))
    return LogPrior(logs @ weight, float(weight.min()) + 1, (covers,))


def _family_prior(group: Alike, states: np.ndarray, covers: str) -> LogPrior:
    """Of the families (chains, kept, families, 4) of rows that are alike."""
    values = alike.log_prior(group, states).ravel()
    return LogPrior(values, float(np.min(group.mean_prior)), (covers,))
