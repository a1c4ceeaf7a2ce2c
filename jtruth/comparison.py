"""Which annotation model predicts labels best? PSIS-LOO over samples, the true class summed out.

Each sample in turn is left out, and its labels are predicted from the rest (Vehtari, Gelman and Gabry 2017);
the expected log predictive density elpd is the sum over samples. Leaving out a sample, not a label, asks how
well labels of a new sample are predicted, and the class is summed out because conditional on it the question
would be another one. Samples with equal labels have equal terms, which are computed once.

Differences and their standard errors come from the pointwise values. They say which model describes the
labels better, which is not the same as which model gives better metrics: on real sets with shared errors
choosing one model by LOO was no better than ignoring dependence, so look at the checks of every fit too.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from jtruth.labels import Labels

if TYPE_CHECKING:
    from jtruth.learning.bayes import BayesFit

STANDARD_MODELS = ("dawid_skene", "hierarchical_dawid_skene", "one_coin", "pooled", "item_difficulty")


class LeaveOneOut(NamedTuple):
    """PSIS-LOO of one model."""

    elpd: float  # sum of `pointwise`
    se: float  # sqrt(N var(pointwise))
    p_loo: float  # effective number of parameters: log density with all samples minus elpd
    pointwise: Float[np.ndarray, " samples"]
    pareto_k: Float[np.ndarray, " samples"]
    good_k: float  # above it a term is not to be trusted: min(1 - 1/log10(draws), .7)


class ModelComparison(NamedTuple):
    """Models from best to worst."""

    names: tuple[str, ...]
    loo: tuple[LeaveOneOut, ...]
    difference: Float[np.ndarray, " models"]  # elpd minus that of the best; 0 for it, negative below
    difference_se: Float[np.ndarray, " models"]  # sqrt(N var(pointwise difference))
    fits: tuple["BayesFit", ...]
    warnings: tuple[str, ...]

    def __str__(self) -> str:
        """A table; differences are to the best model, with their standard errors."""
        wide = max(len(name) for name in (*self.names, "model"))
        lines = [f"{'model':<{wide}}      elpd      se   p_loo  difference      se  bad k  worst k"]
        rows = zip(self.names, self.loo, self.difference, self.difference_se, strict=True)
        for name, loo, difference, se in rows:
            bad = int((loo.pareto_k > loo.good_k).sum())
            lines.append(
                f"{name:<{wide}} {loo.elpd:9.1f} {loo.se:7.1f} {loo.p_loo:7.1f} {difference:11.1f} {se:7.1f} "
                f"{bad:6d} {loo.pareto_k.max():8.2f}"
            )
        return "\n".join([*lines, *(f"! {text}" for text in self.warnings)])


def compare_models(
    labels: Labels,
    *,
    key: Any,
    models: Sequence[Any] = STANDARD_MODELS,
    **options: Any,
) -> ModelComparison:
    """Fit annotation models and compare how well they predict the labels of a sample left out.

    Args:
        labels: noisy labels.
        key: JAX random key.
        models: names (see `jtruth.learning.bayes.MODELS`), or fits of the same labels.
        options: of `fit_bayes`, for the names.

    Raises:
        ValueError: fewer than two models, a model twice, or a fit of other labels.
    """
    from jtruth.learning.bayes import fit_bayes

    names = [model if isinstance(model, str) else model.model for model in models]
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"give two models or more, each once; got {', '.join(names) or 'none'}")
    if key is None:
        raise ValueError("sampling needs a key; pass key=jax.random.key(0), or any other seed")
    fits = [
        fit_bayes(labels, key=jax.random.fold_in(key, k), model=model, **options)
        if isinstance(model, str)
        else model
        for k, model in enumerate(models)
    ]
    for name, fit in zip(names, fits, strict=True):
        if not _same_labels(fit.labels, labels):
            raise ValueError(
                f"the fit of {name!r} is of other labels; models can be compared on the same only"
            )
    found = [leave_one_out(fit) for fit in fits]
    order = sorted(range(len(fits)), key=lambda k: -found[k].elpd)
    loo = tuple(found[k] for k in order)
    best = loo[0].pointwise
    pairs = [_sum_and_error(one.pointwise - best) for one in loo]
    warnings = [text for k in order for text in _doubts(names[k], found[k], fits[k])]
    return ModelComparison(
        tuple(names[k] for k in order),
        loo,
        np.array([p[0] for p in pairs]),
        np.array([p[1] for p in pairs]),
        tuple(fits[k] for k in order),
        tuple(warnings),
    )


def leave_one_out(fit: "BayesFit") -> LeaveOneOut:
    """PSIS-LOO of a fit, one term for each sample."""
    from arviz_base import from_dict

    arviz_stats: Any = import_module("arviz_stats")  # its `loo` is a function and a folder
    rows = fit.row_log_likelihood
    tree = from_dict({"log_likelihood": {"labels": rows}}, dims={"labels": ["row"]})
    relative = [
        e / (rows.shape[0] * rows.shape[1]) for values in fit.run.ess.values() for e in values.ravel()
    ]
    reff = float(np.clip(np.nanmean(relative), 1e-3, 1.0))
    found = arviz_stats.loo(tree, pointwise=True, var_name="labels", reff=reff)
    pointwise = np.asarray(found.elpd_i, np.float64)[fit.row_of_sample]
    everything = np.logaddexp.reduce(rows.reshape(-1, rows.shape[2]), axis=0)
    everything = (everything - np.log(rows.shape[0] * rows.shape[1]))[fit.row_of_sample]
    elpd, se = _sum_and_error(pointwise)
    pareto_k = np.asarray(found.pareto_k, np.float64)[fit.row_of_sample]
    return LeaveOneOut(elpd, se, float(everything.sum() - elpd), pointwise, pareto_k, float(found.good_k))


def to_datatree(fit: "BayesFit") -> Any:
    """The fit as an ArviZ DataTree: posterior, log_likelihood by sample, observed votes."""
    from arviz_base import from_dict

    labels = fit.labels
    workers = list(labels.workers or range(labels.num_labelers))
    classes = list(labels.class_names)
    tasks = list(labels.tasks or range(labels.num_samples))
    coords = {"labeler": workers, "class": classes, "label": classes, "wrong": range(len(classes) - 1)}
    dims = {
        "prior": ["class"],
        "matrices": ["labeler", "class", "label"],
        "matrix": ["class", "label"],
        "accuracy": ["labeler"],
        "fallibility": ["labeler"],
        "ability": ["labeler"],
        "competence": ["labeler"],
        "spam": ["labeler", "label"],
        "population": ["class", "wrong"],
        "spread": ["class", "wrong"],
        "own": ["labeler", "class", "wrong"],
        "labels": ["task"],
        "votes": ["task", "label"],
    }
    return from_dict(
        {
            "posterior": dict(fit.run.samples),
            "log_likelihood": {"labels": fit.row_log_likelihood[:, :, fit.row_of_sample]},
            "observed_data": {"votes": labels.counts()},
        },
        coords=coords | {"task": tasks},
        dims=dims,
    )


def _sum_and_error(pointwise: np.ndarray) -> tuple[float, float]:
    """Sum of independent terms and its standard error sqrt(N var)."""
    return float(pointwise.sum()), float(np.sqrt(pointwise.size * pointwise.var()))


def _same_labels(first: Labels, second: Labels) -> bool:
    if first is second:
        return True
    same_sizes = first.tree_flatten()[1] == second.tree_flatten()[1]
    return same_sizes and all(
        np.array_equal(a, b) for a, b in zip(first.padded(), second.padded(), strict=True)
    )


def _doubts(name: str, loo: LeaveOneOut, fit: "BayesFit"):
    """Sentences about what cannot be trusted."""
    bad = int((loo.pareto_k > loo.good_k).sum())
    if bad:
        yield (
            f"{name}: {bad} of {loo.pareto_k.size} samples have Pareto k above {loo.good_k:.2f} (worst "
            f"{loo.pareto_k.max():.2f} at sample {int(loo.pareto_k.argmax())}); its elpd is probably too "
            "high. Draw more, or compare without it."
        )
    yield from (f"{name}: {text}" for text in fit.warnings)
