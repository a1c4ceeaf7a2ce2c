"""Which label should be cleaned next, and is it worth it? Dolatshah et al. 2018, and better advice."""

from jtruth.cleaning.confusion import SharedConfusion, shared_confusion
from jtruth.cleaning.expected_fall import Influence, best_batch, influence
from jtruth.cleaning.issues import Issues, layer_draws, posterior_draws, suspicious_labels
from jtruth.cleaning.labelers import labeler_gains, rate_sensitivity
from jtruth.cleaning.learners import DifferentiableLearner, Learner, LinearLearner, SklearnLearner
from jtruth.cleaning.loop import Request, answer, ask, clean, start
from jtruth.cleaning.request import Wanted, clean_request
from jtruth.cleaning.splits import SplitOutcome, World, gold_splits
from jtruth.cleaning.state import Problem, State, read_state, write_state
from jtruth.cleaning.stopping import Advice, stopping_advice
from jtruth.cleaning.strategies import STRATEGIES

__all__ = [
    "STRATEGIES",
    "Advice",
    "DifferentiableLearner",
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
    "best_batch",
    "clean",
    "clean_request",
    "gold_splits",
    "influence",
    "labeler_gains",
    "layer_draws",
    "posterior_draws",
    "rate_sensitivity",
    "read_state",
    "shared_confusion",
    "start",
    "stopping_advice",
    "suspicious_labels",
    "write_state",
]
