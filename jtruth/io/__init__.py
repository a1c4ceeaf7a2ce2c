"""Files to labels, predictions, gold labels and noise models, and back."""

from jtruth._validation.text import File, TextTable
from jtruth.io.gold import Gold, read_gold
from jtruth.io.noise import read_noise
from jtruth.io.plan import FilePlan
from jtruth.io.reading import Data, inspect_file, read, read_labels, read_shard
from jtruth.io.tables import read_features, read_predictions, read_scores
from jtruth.io.writing import write, write_labels

__all__ = [
    "Data",
    "File",
    "FilePlan",
    "Gold",
    "TextTable",
    "inspect_file",
    "read",
    "read_features",
    "read_gold",
    "read_labels",
    "read_noise",
    "read_predictions",
    "read_scores",
    "read_shard",
    "write",
    "write_labels",
]  # fmt: skip
