"""How good is a classifier, judged by noisy labels? `evaluate` answers with an `Evaluation`."""

from jtruth.evaluation.evaluate import evaluate
from jtruth.evaluation.labelers import LabelerReport, evaluate_labelers
from jtruth.evaluation.result import Assumption, Check, Evaluation

__all__ = ["Assumption", "Check", "Evaluation", "LabelerReport", "evaluate", "evaluate_labelers"]
