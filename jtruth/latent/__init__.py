"""Latent-class models whose error rates are not known, as pure log densities, and samplers for them.

A model is a few arrays and pure functions: the log prior of its coordinates, and the `Channel` that they mean
(how likely each class, each level inside a class, and each label there is). `density` turns channels and
`rows` (equal samples merged) into log p(row, class, level | parameters), which everything else follows from.
`models` are short files, `infer` are samplers: tempering, Gibbs, and NUTS for models of NumPyro. How long
they run is an `Effort`; who is told and which file is kept, a `Progress`.
"""

from jtruth.latent.checkpoint import Progress
from jtruth.latent.infer.gibbs import Digest, run_gibbs
from jtruth.latent.infer.nuts import NutsSettings
from jtruth.latent.model import LatentModel, Observed, Raters
from jtruth.latent.models.strata import constrain, log_density, prior_means, unconstrain
from jtruth.latent.walk import STANDARD, Effort, TooLarge

__all__ = [
    "STANDARD",
    "Digest",
    "Effort",
    "LatentModel",
    "NutsSettings",
    "Observed",
    "Progress",
    "Raters",
    "TooLarge",
    "constrain",
    "log_density",
    "prior_means",
    "run_gibbs",
    "unconstrain",
]
