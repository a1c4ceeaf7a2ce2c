"""How good is a classifier, judged by noisy labels? `evaluate` answers with an `Evaluation`."""

from jtruth.evaluation.classifier import evaluate
from jtruth.evaluation.gold.shares import Prevalence, prevalence
from jtruth.evaluation.labelers import LabelerReport, evaluate_labelers
from jtruth.evaluation.result import Assumption, Check, Evaluation
from jtruth.evaluation.scores import ScoreEvaluation, evaluate_scores

__all__ = [
    "Assumption",
    "Check",
    "Evaluation",
    "LabelerReport",
    "Prevalence",
    "ScoreEvaluation",
    "evaluate",
    "evaluate_labelers",
    "evaluate_scores",
    "prevalence",
]
