"""Which label should be cleaned next, and is it worth it? Dolatshah et al. 2018, and better advice."""

from jtruth.cleaning.influence import Influence, best_batch, influence
from jtruth.cleaning.learners import DifferentiableLearner, Learner, LinearLearner, SklearnLearner
from jtruth.cleaning.loop import Request, answer, ask, clean, start
from jtruth.cleaning.state import Problem, State, read_state, write_state
from jtruth.cleaning.stopping import Advice, stopping_advice
from jtruth.cleaning.strategies import STRATEGIES

__all__ = [
    "STRATEGIES",
    "Advice",
    "DifferentiableLearner",
    "Influence",
    "Learner",
    "LinearLearner",
    "Problem",
    "Request",
    "SklearnLearner",
    "State",
    "answer",
    "ask",
    "best_batch",
    "clean",
    "influence",
    "read_state",
    "start",
    "stopping_advice",
    "write_state",
]
