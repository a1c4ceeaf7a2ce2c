"""Clean labels one by one: which to check next, and whether it is worth it (Dolatshah et al. 2018)."""

from jtruth.cleaning.expected_fall import gold_splits, influence, stopping_advice
from jtruth.cleaning.issues import Issues, shared_confusion, suspicious_labels
from jtruth.cleaning.learners import Learner, LinearLearner, SklearnLearner
from jtruth.cleaning.loop import answer, ask, clean, start
from jtruth.cleaning.request import layer_draws, posterior_draws

__all__ = [
    "Issues", "Learner", "LinearLearner", "SklearnLearner", "answer", "ask", "clean", "gold_splits",
    "influence", "layer_draws", "posterior_draws", "shared_confusion", "start", "stopping_advice",
    "suspicious_labels",
]  # fmt: skip
