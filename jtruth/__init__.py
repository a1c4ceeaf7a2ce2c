"""How good are your classifier, your labelers and your labels, when nobody knows the true labels?"""

from jtruth import information, learning, noise, testing
from jtruth._cache import use_compilation_cache
from jtruth._version import __version__
from jtruth.comparison import compare_models
from jtruth.evaluation import Evaluation, evaluate, evaluate_labelers, prevalence
from jtruth.io import read_gold, read_labels, read_noise, read_predictions
from jtruth.labels import Labels
from jtruth.posterior import class_posterior, class_posterior_given_prediction
from jtruth.simulate import simulate, simulate_difficulty_fallibility

__all__ = [
    "Evaluation",
    "Labels",
    "__version__",
    "class_posterior",
    "class_posterior_given_prediction",
    "compare_models",
    "evaluate",
    "evaluate_labelers",
    "information",
    "learning",
    "noise",
    "prevalence",
    "read_gold",
    "read_labels",
    "read_noise",
    "read_predictions",
    "simulate",
    "simulate_difficulty_fallibility",
    "testing",
    "use_compilation_cache",
]
