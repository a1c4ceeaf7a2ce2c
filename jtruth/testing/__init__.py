"""How good is my classifier? Posteriors of its metrics, given a log-likelihood of the labels and a prior."""

from jtruth.tables.joint import JointDensity, JointEstimate
from jtruth.tables.metrics import METRICS, binary_counts, named_metric
from jtruth.testing.baselines import (
    LabelerMetrics,
    labeler_metrics,
    lehner_accuracy,
    weighted_vote_accuracy,
)
from jtruth.testing.binary.batch import BatchSummary, exact_batch
from jtruth.testing.binary.chain import SymbolChain, symbol_chain
from jtruth.testing.binary.empirical_bayes import (
    OperatingPointFit,
    ShareMoments,
    exact_step,
    iterate,
    log_odds_of,
    moments,
    ratio_step,
)
from jtruth.testing.binary.exact import CountTable, count_table
from jtruth.testing.binary.nodes import NodeTable, exact_posterior
from jtruth.testing.binary.operating_point import BetaPrior, LogOdds, OperatingPoint, collapse
from jtruth.testing.binary.plug_in import normal_law
from jtruth.testing.binary.threshold_curves import (
    CurveDensity,
    ThresholdCurves,
    curve_density,
    curves_at_thresholds,
)
from jtruth.testing.binary.unknown import Mixture, unknown_prior
from jtruth.testing.methods import BINARY_METHODS, Tested, binary_posterior, multiclass_posterior
from jtruth.testing.multiclass.count_draws import CountDraws, count_posterior
from jtruth.testing.tars.consolidated import Consolidated, consolidate
from jtruth.testing.tars.counts import CountEstimate, estimate_counts, resampled_table

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
    "JointDensity",
    "JointEstimate",
    "LabelerMetrics",
    "LogOdds",
    "Mixture",
    "NodeTable",
    "OperatingPoint",
    "OperatingPointFit",
    "ShareMoments",
    "SymbolChain",
    "Tested",
    "ThresholdCurves",
    "binary_counts",
    "binary_posterior",
    "collapse",
    "consolidate",
    "count_posterior",
    "count_table",
    "curve_density",
    "curves_at_thresholds",
    "estimate_counts",
    "exact_batch",
    "exact_posterior",
    "exact_step",
    "iterate",
    "labeler_metrics",
    "lehner_accuracy",
    "log_odds_of",
    "moments",
    "multiclass_posterior",
    "named_metric",
    "normal_law",
    "ratio_step",
    "resampled_table",
    "symbol_chain",
    "unknown_prior",
    "weighted_vote_accuracy",
]
