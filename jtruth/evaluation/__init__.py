"""How good is a classifier, judged by noisy labels? `evaluate` answers with an `Evaluation`."""

from jtruth.evaluation.classifier import evaluate
from jtruth.evaluation.gold.shares import Prevalence, prevalence
from jtruth.evaluation.labelers import LabelerReport, evaluate_labelers
from jtruth.evaluation.result import Assumption, Check, Evaluation

__all__ = [
    "Assumption",
    "Check",
    "Evaluation",
    "LabelerReport",
    "Prevalence",
    "evaluate",
    "evaluate_labelers",
    "prevalence",
]
