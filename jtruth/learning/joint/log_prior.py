"""The log prior of the draws of a latent-class model, for `jtruth.stats.loo`.

Of rows with a Dirichlet prior it is their density; of rows that are alike (`latent.models.alike`) that of
what their families have in common. The law of such rows given the family is part of the model.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth._one_line import one_line
from jtruth.latent.model import LatentModel
from jtruth.latent.models import alike
from jtruth.latent.models.alike import Alike
from jtruth.learning.joint._digest import COMMON, FAMILIES

_LEAST = 1e-38  # a probability that float32 cannot hold
ALIKE_ROWS = {"labelers": "the population of labelers", "classifier": "what the classifier's rows share"}
HARD = "how many samples are hard"  # weights of strata
EFFECT = "how labelers and classifier feel difficulty"


class LogPrior(NamedTuple):
    """What has a fixed prior."""

    values: Float[np.ndarray, " kept"]  # up to a constant
    least: float  # the smallest Dirichlet or Beta concentration in it
    covers: tuple[str, ...]  # of "classes", "labelers", "classifier", or what their rows share

    __repr__ = one_line

    def proper(self, power: float) -> bool:
        """Whether the prior raised to this power is one: concentrations become 1 + power (a - 1)."""
        return 1 + power * (self.least - 1) > 0


def log_prior(model: LatentModel, found: Any, large: Mapping[str, np.ndarray]) -> LogPrior:
    """Sum of the log priors of class shares, strata and rows, for draws `found.matrix_draw`.

    Args:
        model: with rows that are independent, alike, or around common ones.
        found: the `JointPosterior` of its draws.
        large: the draws that were kept like `found.matrices`, (chains, kept, ...): of several strata with
            weights and rows, and what rows share.
    """
    draw, flat = found.matrix_draw, {n: a.reshape(-1, *a.shape[2:]) for n, a in large.items()}
    parts = [] if model.class_fixed else [row_prior(found.prior[draw], model.class_prior, "classes")]
    if model.num_strata > 1:
        parts.append(row_prior(flat["weights"], model.stratum_prior, HARD))
    every = zip(("labelers", "classifier"), model.raters, FAMILIES, COMMON, strict=False)
    for k, (name, raters, families, common) in enumerate(every):
        if raters.alike is not None:
            parts.append(_family_prior(raters.alike, large[families], ALIKE_ROWS[name]))
        elif raters.common_prior is not None:
            parts.append(row_prior(flat[common], raters.common_prior, ALIKE_ROWS[name]))
        elif model.num_strata > 1:
            parts.append(row_prior(flat[f"raters{k}"], raters.prior, name))
        else:
            theta = found.matrices if name == "labelers" else found.classifier[draw][:, None]
            parts.append(row_prior(theta, raters.prior, name))
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
