"""Files to labels, predictions, gold labels and noise models, and back."""

from jtruth.io.noise import read_noise
from jtruth.io.tables import Predictions, read_gold, read_labels, read_predictions, write_labels

__all__ = ["Predictions", "read_gold", "read_labels", "read_noise", "read_predictions", "write_labels"]
