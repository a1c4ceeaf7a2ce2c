"""Plain statistics that know nothing of labels."""

from jtruth.stats.chains import effective_sample_size, mean_error, split_rhat, tail_sample_size
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import DensityEstimate, Estimate, PmfEstimate
from jtruth.stats.ppi import FittedPower, GoldSample, PpiEstimate, gold_sample, ppi_mean, ppi_ratio
from jtruth.stats.regions import Interval, Region
from jtruth.stats.student import StudentEstimate

__all__ = [
    "DensityEstimate", "DrawsEstimate", "Estimate", "FittedPower", "GoldSample", "Interval", "PmfEstimate",
    "PpiEstimate", "Region", "StudentEstimate", "effective_sample_size", "gold_sample", "mean_error",
    "ppi_mean", "ppi_ratio", "split_rhat", "tail_sample_size",
]  # fmt: skip
