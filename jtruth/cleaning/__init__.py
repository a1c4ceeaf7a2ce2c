"""Which label should be cleaned next, and is it worth it? Dolatshah et al. 2018, and better advice."""

from jtruth.cleaning.expected_fall import Influence, influence
from jtruth.cleaning.issues import (
    Issues,
    SharedConfusion,
    shared_confusion,
    suspicious_labels,
)
from jtruth.cleaning.learners import Learner, LinearLearner, SklearnLearner
from jtruth.cleaning.loop import STRATEGIES, Request, answer, ask, clean, start
from jtruth.cleaning.request import Wanted, clean_request, layer_draws, posterior_draws
from jtruth.cleaning.state import Problem, State
from jtruth.cleaning.stopping import Advice, SplitOutcome, World, gold_splits, stopping_advice

__all__ = [
    "STRATEGIES",
    "Advice",
    "Influence",
    "Issues",
    "Learner",
    "LinearLearner",
    "Problem",
    "Request",
    "SharedConfusion",
    "SklearnLearner",
    "SplitOutcome",
    "State",
    "Wanted",
    "World",
    "answer",
    "ask",
    "clean",
    "clean_request",
    "gold_splits",
    "influence",
    "layer_draws",
    "posterior_draws",
    "shared_confusion",
    "start",
    "stopping_advice",
    "suspicious_labels",
]
