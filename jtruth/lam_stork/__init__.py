"""Error rates and shares corrected for wrong labels, from counts (Lam & Stork 2003, Rogan & Gladen 1978)."""

from jtruth.lam_stork.confusion import recover_confusion
from jtruth.lam_stork.error_rate import estimate_bounds, estimate_error_rate, rogan_gladen
from jtruth.lam_stork.posterior import error_rate_posterior
from jtruth.lam_stork.rates import (
    apparent_breakeven,
    apparent_error_rate,
    error_bounds,
    labels_per_perfect_label,
    policy_boundary,
    true_error_rate,
)

__all__ = [
    "apparent_breakeven", "apparent_error_rate", "error_bounds", "error_rate_posterior", "estimate_bounds",
    "estimate_error_rate", "labels_per_perfect_label", "policy_boundary", "recover_confusion", "rogan_gladen",
    "true_error_rate",
]  # fmt: skip
