"""Noisy-label models: p(labels of a sample | its class)."""

from jtruth.noise.base import NoiseModel, Strata, check_known_labels, scale_errors, with_known_labels
from jtruth.noise.confusion_matrices import ConfusionMatrices, DrawnMatrices
from jtruth.noise.difficulty_fallibility import DifficultyFallibility
from jtruth.noise.shared_errors import SharedErrors
from jtruth.noise.symmetric import Symmetric

__all__ = [
    "ConfusionMatrices", "DifficultyFallibility", "DrawnMatrices", "NoiseModel", "SharedErrors", "Strata",
    "Symmetric", "check_known_labels", "scale_errors", "with_known_labels",
]  # fmt: skip
