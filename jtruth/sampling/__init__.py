"""Draws from models of hidden states: Gibbs, Hamiltonian and NUTS chains, until they are good enough."""

from jtruth.sampling.effort import STANDARD, Convergence, Effort, TooLarge, diagnose
from jtruth.sampling.gibbs import Digest, GibbsRun, run_gibbs
from jtruth.sampling.model import LatentModel, Observed, Raters
from jtruth.sampling.nuts_run import NutsRun, NutsSettings
from jtruth.sampling.watch import Watch

__all__ = [
    "STANDARD",
    "Convergence",
    "Digest",
    "Effort",
    "GibbsRun",
    "LatentModel",
    "NutsRun",
    "NutsSettings",
    "Observed",
    "Raters",
    "TooLarge",
    "Watch",
    "diagnose",
    "run_gibbs",
]
