"""Count tables, classes by predicted symbols: the registry of metrics, and posteriors over tables."""

from jtruth.tables.metrics import (
    METRICS,
    LinearRatio,
    Metric,
    OfTable,
    Terms,
    binary_counts,
    named_metric,
    shown,
)
from jtruth.tables.posterior import TableDraws, TablePosterior

__all__ = [
    "METRICS", "LinearRatio", "Metric", "OfTable", "TableDraws", "TablePosterior", "Terms", "binary_counts",
    "named_metric", "shown",
]  # fmt: skip
