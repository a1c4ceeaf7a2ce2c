"""Fits as ArviZ wants them: draws with named dimensions, statistics of NUTS, pointwise log-likelihood.

    tree = to_datatree(fit)
    arviz_stats.summary(tree); arviz_stats.loo(tree); arviz_plots.plot_trace(tree)
    arviz_stats.compare({"one coin": tree, "pooled": to_datatree(other)})

Every fit with draws can be handed over: an annotation model (`fit_nuts`), the Gibbs sampler (`fit_joint`),
testing by NUTS (`binary_nuts`, `multiclass_nuts`), training (`fit_bayes`) and a bare `NutsRun`. The pointwise
log-likelihood, which `loo` and `compare` need, is there where the fit is one of labels: of an annotation
model always, of the Gibbs sampler where its labels are given too (it does not hold them) and err
independently.

The dimension of samples is called "task", because ArviZ uses "sample" for draws, and the dimension of what
labelers said is "given": `arviz_stats.summary` makes a dimension called "label" of its own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from jtruth.labels import Labels
from jtruth.latent.infer.nuts_run import NutsRun
from jtruth.learning.annotation.rows import pointwise_of_joint
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.loo import arviz

if TYPE_CHECKING:
    from jtruth.learning.annotation.bayes import NutsFit

_OBSERVED = {"labels": ("task",), "votes": ("task", "given")}
_OF_JOINT = {
    "prior": ("class",),
    "matrices": ("labeler", "class", "given"),
    "labeler_accuracy": ("labeler",),
    "classifier": ("class", "predicted"),
    "counts": ("class", "predicted"),
}


# What becomes a tree: groups of variables (chains, draws, ...), dimensions of these, and their names.
_Groups = tuple[dict[str, dict[str, np.ndarray]], dict[str, list[str]], dict[str, list[Any]]]


def to_datatree(fit: Any, labels: Labels | None = None) -> Any:
    """A fit as an ArviZ DataTree: posterior, sample_stats, and for labels log_likelihood and observed_data.

    Args:
        fit: `NutsFit`, `JointPosterior`, `NutsTesting`, `BayesFit` or `NutsRun`. Of a `JointPosterior` that
            keeps the matrices of every few sweeps only, all variables are those of these sweeps.
        labels: those that a `JointPosterior` was fitted to, for its log-likelihood; not for other fits.

    Returns:
        `xarray.DataTree`. The log-likelihood of N samples takes 8 N bytes a draw.

    Raises:
        ImportError: without arviz-base and arviz-stats.
        ValueError: something without draws, or labels that do not belong to the fit.
    """
    from_dict, _ = arviz()
    groups, dims, coords = _groups(fit, labels)
    return from_dict(_wide_first(groups), coords=coords, dims=dims)


def to_inference_data(fit: Any, labels: Labels | None = None) -> Any:
    """The same for ArviZ 0.22 and 0.23, whose functions take an `InferenceData`.

    Args:
        fit, labels: as in `to_datatree`.

    Raises:
        ImportError: no ArviZ, or one from 1.0 on, which has no `InferenceData` any more.
    """
    try:
        old: Any = import_module("arviz")
        make = old.from_dict
        old.InferenceData  # noqa: B018
    except (ImportError, AttributeError) as error:
        raise ImportError(
            "to_inference_data is for arviz 0.22 and 0.23 (pip install 'arviz<1'), and "
            "none is installed here. Everything newer takes to_datatree(fit)"
        ) from error
    groups, dims, coords = _groups(fit, labels)
    return make(**_wide_first(groups), coords=coords, dims=dims)


def _wide_first(groups: dict[str, dict[str, np.ndarray]]) -> dict[str, dict[str, np.ndarray]]:
    """Variables of many axes first.

    `arviz_stats.summary` 0.8 writes the numbers of a variable in the order in which the data set meets axes,
    but names them in the variable's own: behind "prior" (class), the rows of "matrices" (labeler, class,
    given) bear each other's names. With the widest variable first both orders are the same.
    """
    order = {g: sorted(values, key=lambda name: -np.ndim(values[name])) for g, values in groups.items()}
    return {group: {name: groups[group][name] for name in names} for group, names in order.items()}


def _groups(fit: Any, labels: Labels | None) -> _Groups:
    if isinstance(fit, JointPosterior):
        return _of_joint(fit, labels)
    if labels is not None:
        raise ValueError("labels are given beside a JointPosterior only; other fits hold theirs")
    if hasattr(fit, "spec") and hasattr(fit, "labels"):
        return _of_annotation(fit)
    run = getattr(fit, "run", fit)
    if not isinstance(run, NutsRun):
        raise ValueError(
            f"{type(fit).__name__} holds no draws that ArviZ could show; give a fit by a sampler"
        )
    groups = {"posterior": dict(run.samples), "sample_stats": dict(run.statistics)}
    dims = {"confusion": ["class", "predicted"]} if "confusion" in run.samples else {}
    coords = {"class": list(range(run.samples["confusion"].shape[2]))} if dims else {}
    return groups, dims, coords


def _of_annotation(fit: "NutsFit") -> _Groups:
    run = fit.run
    by_sample = fit.log_likelihood().reshape(*run.statistics["diverging"].shape, -1)
    groups = {
        "posterior": dict(run.samples),
        "sample_stats": dict(run.statistics),
        "log_likelihood": {"labels": by_sample},
        "observed_data": {"votes": fit.labels.counts()},
    }
    dims = {"prior": ("class",), **fit.spec.dims, **_OBSERVED}
    return groups, _named(dims, (*run.samples, *_OBSERVED)), _coords(fit.labels)


def _of_joint(fit: JointPosterior, labels: Labels | None) -> _Groups:
    """Draws of the Gibbs sampler at the sweeps whose matrices were kept."""
    chains, kept = int(fit.chain.max()) + 1, fit.matrix_draw
    values = {"matrices": fit.matrices}
    for name in ("prior", "labeler_accuracy", "classifier", "counts"):
        draws = getattr(fit, name)
        if draws is not None:
            values[name] = draws[kept]
    posterior = {name: np.asarray(x).reshape(chains, -1, *x.shape[1:]) for name, x in values.items()}
    groups: dict[str, dict[str, np.ndarray]] = {"posterior": posterior}
    if labels is None:
        return groups, _named(_OF_JOINT, tuple(values)), {}
    rows = pointwise_of_joint(fit, labels)
    groups["log_likelihood"] = {"labels": rows.log_p[:, :, rows.row_of_sample]}
    groups["observed_data"] = {"votes": labels.counts()}
    dims = {**_OF_JOINT, **_OBSERVED}
    return groups, _named(dims, (*values, *_OBSERVED)), _coords(labels)


def _named(dims: Any, variables: tuple[str, ...]) -> dict[str, list[str]]:
    return {name: list(axes) for name, axes in dims.items() if name in variables}


def _coords(labels: Labels) -> dict[str, list[Any]]:
    classes = list(labels.class_names)
    return {
        "labeler": list(labels.workers or range(labels.num_labelers)),
        "task": list(labels.tasks or range(labels.num_samples)),
        "class": classes,
        "given": classes,
        "wrong": list(range(len(classes) - 1)),
    }
