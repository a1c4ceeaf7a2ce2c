"""Count tables, classes by predicted symbols: the registry of metrics, and posteriors over tables."""

from jtruth.tables.metrics import METRICS, binary_counts, shown

__all__ = [
    "METRICS", "binary_counts", "shown",
]  # fmt: skip
