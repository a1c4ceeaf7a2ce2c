"""Count tables, classes by predicted symbols: the registry of metrics, and posteriors over tables."""

from jtruth.tables.metrics import METRICS, binary_counts, default_metrics

__all__ = ["METRICS", "binary_counts", "default_metrics"]
