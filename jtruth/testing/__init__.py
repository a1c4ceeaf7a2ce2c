"""How good is my classifier? Posteriors of its metrics, given a log-likelihood of the labels and a prior."""

from jtruth.tables.joint import JointDensity, JointEstimate
from jtruth.tables.metrics import METRICS, binary_counts, named_metric
from jtruth.testing.agreement_accuracy import lehner_accuracy, weighted_vote_accuracy
from jtruth.testing.baselines import (
    LabelerMetrics,
    apparent_accuracy,
    carlotto_accuracy,
    geometric_median,
    labeler_metrics,
    majority_metrics,
    prior_marginal_table,
)
from jtruth.testing.binary.batch import BatchSummary, exact_batch
from jtruth.testing.binary.chain import SymbolChain, symbol_chain
from jtruth.testing.binary.chain_batch import SymbolChains, symbol_chains
from jtruth.testing.binary.curve_density import CurveDensity, curve_density
from jtruth.testing.binary.empirical_bayes import (
    OperatingPointFit,
    ShareMoments,
    draw_labels,
    exact_step,
    iterate,
    labels_step,
    log_odds_of,
    moments,
    plug_in_step,
    ratio_step,
    sampling_step,
)
from jtruth.testing.binary.exact import CountTable, count_table
from jtruth.testing.binary.large import SmoothTable, smooth_table
from jtruth.testing.binary.methods import BINARY_METHODS, binary_posterior, exact_posterior
from jtruth.testing.binary.operating_point import BetaPrior, LogOdds, OperatingPoint, collapse, most_probable
from jtruth.testing.binary.plug_in import normal_law, precision_recall_density, roc_density, table_at
from jtruth.testing.binary.ridge import NodeTable
from jtruth.testing.binary.threshold_curves import (
    PrecisionRecallPoints,
    RocPoints,
    ThresholdCurves,
    curves_at_thresholds,
    precision_recall_curve,
    roc_curve,
)
from jtruth.testing.binary.unknown import Mixture, integrate_out, unknown_error, unknown_prior
from jtruth.testing.multiclass.count_draws import CountDraws, count_posterior
from jtruth.testing.multiclass.methods import multiclass_posterior
from jtruth.testing.tars.consolidation import Consolidated, consolidate
from jtruth.testing.tars.counts import (
    CountEstimate,
    ErrorSources,
    error_sources,
    estimate_counts,
    labels_as_truth,
)
from jtruth.testing.tars.resampling import EstimatedTable, Resampled, resampled_table
from jtruth.testing.tested import Tested

__all__ = [
    "BINARY_METHODS",
    "METRICS",
    "BatchSummary",
    "BetaPrior",
    "Consolidated",
    "CountDraws",
    "CountEstimate",
    "CountTable",
    "CurveDensity",
    "ErrorSources",
    "EstimatedTable",
    "JointDensity",
    "JointEstimate",
    "LabelerMetrics",
    "LogOdds",
    "Mixture",
    "NodeTable",
    "OperatingPoint",
    "OperatingPointFit",
    "PrecisionRecallPoints",
    "Resampled",
    "RocPoints",
    "ShareMoments",
    "SmoothTable",
    "SymbolChain",
    "SymbolChains",
    "Tested",
    "ThresholdCurves",
    "apparent_accuracy",
    "binary_counts",
    "binary_posterior",
    "carlotto_accuracy",
    "collapse",
    "consolidate",
    "count_posterior",
    "count_table",
    "curve_density",
    "curves_at_thresholds",
    "draw_labels",
    "error_sources",
    "estimate_counts",
    "exact_batch",
    "exact_posterior",
    "exact_step",
    "geometric_median",
    "integrate_out",
    "iterate",
    "labeler_metrics",
    "labels_as_truth",
    "labels_step",
    "lehner_accuracy",
    "log_odds_of",
    "majority_metrics",
    "moments",
    "most_probable",
    "multiclass_posterior",
    "named_metric",
    "normal_law",
    "plug_in_step",
    "precision_recall_curve",
    "precision_recall_density",
    "prior_marginal_table",
    "ratio_step",
    "resampled_table",
    "roc_curve",
    "roc_density",
    "sampling_step",
    "smooth_table",
    "symbol_chain",
    "symbol_chains",
    "table_at",
    "unknown_error",
    "unknown_prior",
    "weighted_vote_accuracy",
]
