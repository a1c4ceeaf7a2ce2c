"""Latent-class models with unknown error rates, as pure log densities, and samplers for them.

A model is the log prior of its coordinates and the `Channel` that they mean: how likely each class, each
level inside a class, and each label is. `density` turns channels and `rows` (equal samples merged) into log
p(row, class, level | parameters). `models` has the models, `infer` the samplers: tempering, Gibbs, and NUTS
for NumPyro models. `Effort` limits a run; `Progress` reports it and keeps its checkpoint.
"""

from jtruth._checkpoint import Progress
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
