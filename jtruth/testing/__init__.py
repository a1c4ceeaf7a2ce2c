"""Posteriors of a classifier's metrics, given a log-likelihood of the labels and a class prior."""

from jtruth.tables.metrics import METRICS, binary_counts, named_metric
from jtruth.testing.baselines import labeler_metrics
from jtruth.testing.binary.batch import exact_batch, exact_counts
from jtruth.testing.binary.chain import symbol_chain
from jtruth.testing.binary.empirical_bayes import (
    exact_step,
    log_odds_of,
    moments,
    normal_posterior,
    precision_recall_density,
    ratio_step,
    roc_density,
)
from jtruth.testing.binary.exact import exact_posterior
from jtruth.testing.binary.operating_point import BetaPrior, collapse
from jtruth.testing.binary.threshold_curves import curve_density, curves_at_thresholds
from jtruth.testing.methods import binary_posterior, multiclass_posterior
from jtruth.testing.multiclass import CountDraws, count_posterior
from jtruth.testing.steps import iterate
from jtruth.testing.tars import Consolidated, consolidate, estimate_counts, resampled_table
from jtruth.testing.weighted_tables import count_draws

__all__ = [
    "METRICS", "BetaPrior", "Consolidated", "CountDraws", "binary_counts", "binary_posterior", "collapse",
    "consolidate", "count_draws", "count_posterior", "curve_density", "curves_at_thresholds",
    "estimate_counts", "exact_batch", "exact_counts", "exact_posterior", "exact_step", "iterate",
    "labeler_metrics", "log_odds_of", "moments", "multiclass_posterior",
    "named_metric", "normal_posterior", "precision_recall_density", "ratio_step", "resampled_table",
    "roc_density", "symbol_chain",
]  # fmt: skip
