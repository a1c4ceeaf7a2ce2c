"""How good is a classifier, judged by noisy labels? `evaluate` answers with an `Evaluation`."""

from jtruth.evaluation.agreement import LabelerAgreement, labeler_agreement
from jtruth.evaluation.any_metric import MetricPosterior, metric_posterior
from jtruth.evaluation.assumptions.sensitivity import Sensitivity
from jtruth.evaluation.batch import BatchEvaluation, evaluate_batch
from jtruth.evaluation.by_group import Groups, GroupShares
from jtruth.evaluation.classifier import evaluate
from jtruth.evaluation.compare import compare_classifiers
from jtruth.evaluation.compared import Comparison
from jtruth.evaluation.consensus_report import Consensus, consensus
from jtruth.evaluation.gold.shares import Prevalence, prevalence
from jtruth.evaluation.group_metrics import LabelersByGroup, compare_groups, labelers_by_group
from jtruth.evaluation.inputs import Judging
from jtruth.evaluation.labelers import LabelerReport, evaluate_labelers, labelers_by_model, quick_labelers
from jtruth.evaluation.parts import Assumption, Check
from jtruth.evaluation.result import Evaluation
from jtruth.evaluation.score_result import ClassScores, ScoreEvaluation
from jtruth.evaluation.scores import evaluate_class_scores, evaluate_scores

__all__ = [
    "Assumption",
    "BatchEvaluation",
    "Check",
    "ClassScores",
    "Comparison",
    "Consensus",
    "Evaluation",
    "GroupShares",
    "Groups",
    "Judging",
    "LabelerAgreement",
    "LabelerReport",
    "LabelersByGroup",
    "MetricPosterior",
    "Prevalence",
    "ScoreEvaluation",
    "Sensitivity",
    "compare_classifiers",
    "compare_groups",
    "consensus",
    "evaluate",
    "evaluate_batch",
    "evaluate_class_scores",
    "evaluate_labelers",
    "evaluate_scores",
    "labeler_agreement",
    "labelers_by_group",
    "labelers_by_model",
    "metric_posterior",
    "prevalence",
    "quick_labelers",
]
