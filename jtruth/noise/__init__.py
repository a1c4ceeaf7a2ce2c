"""Noisy-label models: p(labels of a sample | its class)."""

from jtruth.noise.base import IndependentLabelers, NoiseModel, with_known_labels
from jtruth.noise.confusion_matrices import ConfusionMatrices, DrawnMatrices, SharedErrors
from jtruth.noise.even_errors import DifficultyFallibility, Symmetric

__all__ = [
    "ConfusionMatrices", "DifficultyFallibility", "DrawnMatrices", "IndependentLabelers", "NoiseModel",
    "SharedErrors", "Symmetric", "with_known_labels",
]  # fmt: skip
