"""How good are your classifier, your labelers and your labels, when nobody knows the true labels?

Every name below is imported on first use (PEP 562): `import jtruth` alone loads neither JAX nor any other
library, and `jt.plots` needs matplotlib only for pictures.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from jtruth._version import __version__

if TYPE_CHECKING:  # the same names for editors and type checkers
    from jtruth import (
        answers,
        asking,
        cleaning,
        comparison,
        evaluation,
        histograms,
        information,
        inspection,
        io,
        labels,
        lam_stork,
        latent,
        learning,
        models,
        noise,
        pairwise,
        planning,
        plots,
        posterior,
        simulation,
        stats,
        tables,
        testing,
        training,
    )
    from jtruth._cache import use_compilation_cache
    from jtruth.comparison import compare_models
    from jtruth.evaluation import (
        Comparison,
        Consensus,
        Evaluation,
        compare_classifiers,
        consensus,
        evaluate,
        evaluate_batch,
        evaluate_class_scores,
        evaluate_labelers,
        evaluate_scores,
        labeler_agreement,
        metric_posterior,
        prevalence,
        rating_agreement,
        set_agreement,
    )
    from jtruth.inspection import inspect_labels
    from jtruth.io import inspect_file, read, read_gold, read_labels, read_noise, read_predictions, write
    from jtruth.labels import Labels
    from jtruth.pairwise import preferences
    from jtruth.posterior import class_posterior, class_posterior_given_prediction
    from jtruth.simulation import simulate, simulate_difficulty_fallibility

_HOMES = {  # names that are no modules, and the module of each
    name: home for home, names in {
        "_cache": ("use_compilation_cache",),
        "comparison": ("compare_models",),
        "evaluation": (
            "Comparison", "Consensus", "Evaluation", "compare_classifiers", "consensus", "evaluate",
            "evaluate_batch", "evaluate_class_scores", "evaluate_labelers", "evaluate_scores",
            "labeler_agreement", "metric_posterior", "prevalence", "rating_agreement", "set_agreement",
        ),
        "inspection": ("inspect_labels",),
        "io": ("inspect_file", "read", "read_gold", "read_labels", "read_noise", "read_predictions",
               "write"),
        "labels": ("Labels",),
        "pairwise": ("preferences",),
        "posterior": ("class_posterior", "class_posterior_given_prediction"),
        "simulation": ("simulate", "simulate_difficulty_fallibility"),
    }.items() for name in names
}  # fmt: skip

__all__ = [
    "Comparison", "Consensus", "Evaluation", "Labels", "__version__", "answers", "asking", "class_posterior",
    "class_posterior_given_prediction", "cleaning", "compare_classifiers", "compare_models", "comparison",
    "consensus", "evaluate", "evaluate_batch", "evaluate_class_scores", "evaluate_labelers",
    "evaluate_scores", "evaluation", "histograms", "information", "inspect_file", "inspect_labels",
    "inspection", "io", "labeler_agreement", "labels", "lam_stork", "latent", "learning", "metric_posterior",
    "models", "noise", "pairwise", "planning", "plots", "posterior", "preferences", "prevalence",
    "rating_agreement", "read", "read_gold", "read_labels", "read_noise", "read_predictions", "set_agreement",
    "simulate", "simulate_difficulty_fallibility", "simulation", "stats", "tables", "testing", "training",
    "use_compilation_cache", "write",
]  # fmt: skip


def __getattr__(name: str) -> _Any:
    """Import a name on first use."""
    if name not in __all__:
        raise AttributeError(f"module 'jtruth' has no attribute {name!r}")
    if name not in _HOMES:
        return _import_module(f"jtruth.{name}")
    found = getattr(_import_module(f"jtruth.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
