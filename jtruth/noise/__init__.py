"""Noisy-label models: p(labels of a sample | its class)."""

from jtruth.noise.base import NoiseModel, Strata, scale_errors
from jtruth.noise.confusion_matrices import ConfusionMatrices
from jtruth.noise.difficulty_fallibility import DifficultyFallibility, labeling_error
from jtruth.noise.drawn_matrices import DrawnMatrices
from jtruth.noise.known_labels import check_known_labels, with_known_labels
from jtruth.noise.shared_errors import SharedErrors
from jtruth.noise.symmetric import Symmetric

__all__ = [
    "ConfusionMatrices",
    "DifficultyFallibility",
    "DrawnMatrices",
    "NoiseModel",
    "SharedErrors",
    "Strata",
    "Symmetric",
    "check_known_labels",
    "labeling_error",
    "scale_errors",
    "with_known_labels",
]
