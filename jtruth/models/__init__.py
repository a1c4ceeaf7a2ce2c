"""NumPyro models of noisy labels for your own MCMC, SVI and Predictive (docs/your_own_model.md)."""

from jtruth.learning.annotation.bayes import classes_by_draw
from jtruth.learning.annotation.functions import (
    NoisyLabels,
    data_of,
    dawid_skene,
    difficulty_fallibility,
    glad,
    hierarchical,
    mace,
    observe,
    one_coin,
    strata,
    welinder,
)
from jtruth.learning.annotation.models import DIMS as dims
from jtruth.learning.annotation.models import coords
from jtruth.models.bayes import testing
from jtruth.training.bayes import noisy_label_regression

__all__ = [
    "NoisyLabels", "classes_by_draw", "coords", "data_of", "dawid_skene", "difficulty_fallibility", "dims",
    "glad", "hierarchical", "mace", "noisy_label_regression", "observe", "one_coin", "strata", "testing",
    "welinder",
]  # fmt: skip
