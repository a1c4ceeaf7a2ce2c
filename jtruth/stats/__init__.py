"""Statistics of numbers and counts, independent of labels."""

from jtruth.stats.ppi import FittedPower, gold_sample, ppi_mean, ppi_ratio
from jtruth.stats.ratio_of_normals import Ratio, marsaglia_mean, ratio_mean

__all__ = [
    "FittedPower", "Ratio", "gold_sample", "marsaglia_mean", "ppi_mean", "ppi_ratio", "ratio_mean",
]  # fmt: skip
