"""Evaluate classifiers, labelers and scores by noisy labels; `evaluate` returns an `Evaluation`."""

from jtruth.evaluation.agreement import Consensus, consensus, labeler_agreement
from jtruth.evaluation.agreement_of_values import rating_agreement, set_agreement
from jtruth.evaluation.any_metric import metric_posterior
from jtruth.evaluation.batch import evaluate_batch
from jtruth.evaluation.by_one_model import labelers_by_model, quick_labelers
from jtruth.evaluation.classifier import evaluate
from jtruth.evaluation.compare import compare_classifiers, compare_groups
from jtruth.evaluation.compared import Comparison
from jtruth.evaluation.errors_by_column import errs_on
from jtruth.evaluation.gold.shares import prevalence
from jtruth.evaluation.group_labelers import labelers_by_group
from jtruth.evaluation.groups import Groups
from jtruth.evaluation.inputs import Judging
from jtruth.evaluation.labelers import evaluate_labelers
from jtruth.evaluation.result import Evaluation
from jtruth.evaluation.scores import evaluate_class_scores, evaluate_scores

__all__ = [
    "Comparison", "Consensus", "Evaluation", "Groups", "Judging", "compare_classifiers", "compare_groups",
    "consensus", "errs_on", "evaluate", "evaluate_batch", "evaluate_class_scores", "evaluate_labelers",
    "evaluate_scores", "labeler_agreement", "labelers_by_group", "labelers_by_model", "metric_posterior",
    "prevalence", "quick_labelers", "rating_agreement", "set_agreement",
]  # fmt: skip
