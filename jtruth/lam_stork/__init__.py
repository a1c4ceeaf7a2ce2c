"""Error rates and shares corrected for labels that err: Lam and Stork (2003), Rogan and Gladen (1978).

Counts in, no labels: what disagreements say of a classifier, and a judge's pass rate of the true one.
"""

from jtruth.lam_stork.confusion import ConfusionRecovery, fit_confusion, recover_confusion
from jtruth.lam_stork.error_rate import BoundsEstimate, estimate_bounds, estimate_error_rate
from jtruth.lam_stork.intervals import RateEstimate
from jtruth.lam_stork.matrix import Recovered
from jtruth.lam_stork.posterior import ErrorPosterior, error_rate_posterior
from jtruth.lam_stork.rates import (
    ErrorBounds,
    apparent_breakeven,
    apparent_error_rate,
    breakeven_matrix,
    error_bounds,
    labels_per_perfect_label,
    more_samples_better,
    nonnegative_lower_bound,
    policy_boundary,
    policy_margin,
    policy_threshold,
    true_breakeven,
    true_error_rate,
    true_error_variance,
)
from jtruth.lam_stork.shares import corrected_share, rogan_gladen

__all__ = [
    "BoundsEstimate",
    "ConfusionRecovery",
    "ErrorBounds",
    "ErrorPosterior",
    "RateEstimate",
    "Recovered",
    "apparent_breakeven",
    "apparent_error_rate",
    "breakeven_matrix",
    "corrected_share",
    "error_bounds",
    "error_rate_posterior",
    "estimate_bounds",
    "estimate_error_rate",
    "fit_confusion",
    "labels_per_perfect_label",
    "more_samples_better",
    "nonnegative_lower_bound",
    "policy_boundary",
    "policy_margin",
    "policy_threshold",
    "recover_confusion",
    "rogan_gladen",
    "true_breakeven",
    "true_error_rate",
    "true_error_variance",
]
