"""Plain statistics that know nothing of labels."""

from jtruth.stats.ppi import FittedPower, gold_sample, ppi_mean, ppi_ratio

__all__ = [
    "FittedPower", "gold_sample", "ppi_mean", "ppi_ratio",
]  # fmt: skip
