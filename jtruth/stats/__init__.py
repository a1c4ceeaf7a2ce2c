"""Plain statistics that know nothing of labels."""

from jtruth.stats.ppi import gold_sample, ppi_mean, ppi_ratio

__all__ = [
    "gold_sample", "ppi_mean", "ppi_ratio",
]  # fmt: skip
