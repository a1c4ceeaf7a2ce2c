"""`compare_models`: which annotation model predicts labels best, by PSIS-LOO over samples.

Each sample in turn is left out, and its labels are predicted from the rest, with the true class summed out
(Vehtari, Gelman and Gabry 2017). The expected log predictive density elpd is the sum over samples;
differences and their standard errors come from the pointwise values. They show which model describes the
labels better, not which gives better metrics: see the checks of every fit too. The evidence, log p(all
labels) with all unknowns integrated out, is computed by tempering from the prior.

`to_datatree` exports any fit with draws to ArviZ. Its dimension of samples is "task", because ArviZ uses
"sample" for draws, and that of labels is "labeled_as", because `arviz_stats.summary` makes an axis "label".

    tree = to_datatree(fit)
    arviz_stats.summary(tree); arviz_stats.loo(tree); arviz_plots.plot_trace(tree)
    arviz_stats.compare({"one coin": tree, "pooled": to_datatree(other)})
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from jtruth._cache import keep_programs
from jtruth._random import Stated, as_key, seeded, stated, stream
from jtruth._validation.words import part_of, series
from jtruth.answers import Answer, Column, Document, Table, facts, warning_notes
from jtruth.labels import Labels, must_be_labels
from jtruth.latent import NutsSettings, Progress
from jtruth.latent.fit import RowLikelihood, chosen_draws
from jtruth.latent.infer.nuts import NutsRun
from jtruth.learning.annotation.models import DIMS, coords
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.loo import LeaveOneOut, arviz, psis_loo, sum_and_error

if TYPE_CHECKING:
    from jtruth.learning.annotation.bayes import NutsFit

STANDARD_MODELS = ("dawid_skene", "hierarchical_dawid_skene", "one_coin", "pooled", "item_difficulty")
# Below it models predict equally well, and standard errors are too small (Sivula et al. 2020).
_SMALL_DIFFERENCE = 4.0
_STANDARD_ERRORS = 2.0
_FEW_SAMPLES = 100


@dataclass(frozen=True, repr=False)
class ModelComparison(Answer):
    """Models in order of elpd. `told_apart` marks those that are clearly worse than the first."""

    names: tuple[str, ...]
    loo: tuple[LeaveOneOut, ...]
    difference: Float[np.ndarray, " models"]  # elpd minus that of the first; 0 for it, negative below
    difference_se: Float[np.ndarray, " models"]  # sqrt(N var(pointwise difference))
    told_apart: tuple[bool, ...]  # by more than 2 standard errors and more than 4
    verdict: str
    warnings: tuple[str, ...]
    key: Stated
    # log p(all labels) of each model, parameters integrated out, and its standard error; None: too large
    evidence: tuple[tuple[float, float] | None, ...] = ()

    def blocks(self) -> Document:
        """Build the document of the result."""
        known = self.evidence or (None,) * len(self.names)
        rows = [
            {"name": name, "elpd": loo.elpd, "se": loo.se, "p_loo": loo.p_loo, "num_bad": loo.num_bad,
             "worst_k": float(loo.pareto_k.max()), "difference": float(gap), "difference_se": float(se),
             "told_apart": bool(apart), "log_evidence": own and own[0], "log_evidence_se": own and own[1],
             "low": float(gap - 2 * se), "high": float(gap + 2 * se)}
            for name, loo, gap, se, apart, own in zip(
                self.names, self.loo, self.difference, self.difference_se, self.told_apart, known,
                strict=True)
        ]  # fmt: skip
        columns = [
            Column("elpd", "elpd", form=".1f"), Column("difference", "difference", ("low", "high"), "+.1f"),
        ]  # fmt: skip
        if any(self.evidence):
            columns += [Column("log_evidence", "log evidence", form=".1f"),
                        Column("log_evidence_se", "se of evidence", form=".1f")]  # fmt: skip
        columns += [
            Column("num_bad", "unreliable terms"), Column("worst_k", "largest Pareto k", form=".2f"),
            Column("se", "se of elpd", form=".1f"), Column("p_loo", "p_loo", form=".1f"),
        ]  # fmt: skip
        note = "The elpd difference to the first model has an interval of two standard errors on each side."
        if None in known:
            note += " Log evidence is missing where a fit is too large to be tempered."
        blocks = (
            Table("models", "Models, the best first", "name", tuple(columns), rows, note, unit=None,
                  aside=("low", "high")),
            warning_notes(self.warnings), facts(verdict=self.verdict, key=self.key),
        )  # fmt: skip
        about = f"{len(rows)} models, PSIS-LOO"
        return Document("Which annotation model predicts the labels best?", about, self.verdict, blocks)


@seeded
def compare_models(
    labels: Labels,
    *,
    key: Any = None,
    models: Sequence[Any] | Mapping[str, Any] = STANDARD_MODELS,
    settings: NutsSettings = NutsSettings(),
    nuts: bool | None = None,
) -> ModelComparison:
    """Fit annotation models and compare how well they predict the labels of a sample left out.

    Args:
        labels: noisy labels.
        key: seed of all random draws: a whole number or a JAX key; 0 if None.
        models: names (see `jtruth.learning.annotation.functions.SPECS`), functions of `jtruth.models` or of
            your own (docs/your_own_model.md), or fits of the same labels: `NutsFit`, or `JointPosterior`
            with `Effort(pointwise=True)`. A mapping gives them other names.
        settings: of NUTS, for names and functions; its `progress` is for any sampler.
        nuts: whether names and functions are sampled by NUTS. False: by tempering, whose one run gives both
            draws and evidence in a fraction of the time (NUTS if the model is too large). None: by NUTS only
            if `settings` are given.

    Returns:
        `ModelComparison`; print it for a table. Models are ordered; `verdict` says whether they differ.

    Raises:
        ValueError: fewer than two models, a model twice, or a fit of other labels.
    """
    labels = must_be_labels(labels)
    names = list(models) if isinstance(models, Mapping) else [_name(model) for model in models]
    fits = list(models.values()) if isinstance(models, Mapping) else list(models)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"give two models or more, each once; got {', '.join(names) or 'none'}")
    own = labels.padded()
    for name, fit in zip(names, fits, strict=True):
        if _to_fit(fit):
            continue
        if isinstance(fit, JointPosterior):  # it does not hold its labels
            sizes = len(fit.class_posterior), *fit.mean_matrices.shape[:2]
            same = sizes == (labels.num_samples, labels.num_labelers, labels.num_classes)
        else:
            same = fit.labels.tree_flatten()[1] == labels.tree_flatten()[1]
            same = same and all(map(np.array_equal, fit.labels.padded(), own))
        if not same:
            raise ValueError(
                f"the fit of {name!r} is of other labels; models are compared on the same labels only"
            )
    keep_programs()  # most of the time is compilation, of the first comparison of such a size
    from jtruth.learning.annotation.bayes import evidence_of, fit_nuts, fit_tempered

    compared, seed = [], as_key(key)
    by_nuts = settings._replace(progress=Progress()) != NutsSettings() if nuts is None else nuts
    for k, fit in enumerate(fits):
        found, drawn = None, stream(seed, "model", k)
        if _to_fit(fit) and not by_nuts:
            found = fit_tempered(fit, labels, key=drawn, progress=settings.progress)
        if found is not None:
            loo, evidence, texts = _loo(found.pointwise), found.evidence, found.warnings
        else:
            if _to_fit(fit):
                fit = fit_nuts(fit, labels, key=drawn, settings=settings)
            own_key = stream(seed, "evidence", k)
            evidence = fit.evidence if isinstance(fit, JointPosterior) else evidence_of(fit, own_key)
            loo, texts = leave_one_out(fit), fit.warnings
        compared.append((names[k], loo, texts, evidence))
    return _ordered(compared, stated(key), labels.tasks)


def leave_one_out(fit: "NutsFit | JointPosterior") -> LeaveOneOut:
    """Leave-one-out log predictive density of one fit by PSIS (Vehtari, Gelman and Gabry 2017).

    One term for each sample. ValueError for a `JointPosterior` without `Effort(pointwise=True)`.
    """
    rows = fit.pointwise if isinstance(fit, JointPosterior) else fit.pointwise()
    if rows is None:
        raise ValueError("this JointPosterior has no pointwise log-likelihood: fit it with pointwise=True")
    return _loo(rows)


def _loo(rows: RowLikelihood) -> LeaveOneOut:
    return psis_loo(rows.log_p, rows.relative_ess, rows.row_of_sample)


def _ordered(compared: list[tuple], key: Stated, tasks: tuple | None) -> ModelComparison:
    """Order models (name, terms, warnings, evidence) by elpd, with differences to the first."""
    names, loo, warnings, known = zip(*sorted(compared, key=lambda one: -one[1].elpd), strict=True)
    pairs = [sum_and_error(one.pointwise - loo[0].pointwise) for one in loo]
    apart = tuple(-d > max(_SMALL_DIFFERENCE, _STANDARD_ERRORS * se) for d, se in pairs)
    doubts = [text for one in zip(names, loo, warnings, strict=True) for text in _doubts(*one, tasks)]
    if loo[0].pointwise.size < _FEW_SAMPLES:
        doubts.append(f"With only {loo[0].pointwise.size} samples, standard errors are probably too small.")
    level = [name for name, worse in zip(names, apart, strict=True) if not worse]
    verdict = f"These labels do not distinguish {series(level)}."
    if len(level) == 1:
        verdict = f"{names[0]} predicts the labels of left-out samples best."
    if any(one.num_bad for one in loo):
        verdict += " Some terms are unreliable (see the notes), and so is the order."
    difference, error = (np.array(x) for x in zip(*pairs, strict=True))
    return ModelComparison(names, loo, difference, error, apart, verdict, tuple(doubts), key, known)


def _to_fit(model: Any) -> bool:
    return isinstance(model, str) or callable(model)


def _name(model: Any) -> str:
    if isinstance(model, JointPosterior):
        return "joint"
    if callable(model):
        return getattr(model, "func", model).__name__  # a partial has no name
    return model if isinstance(model, str) else model.model


def _doubts(name: str, loo: LeaveOneOut, of_fit: tuple[str, ...], tasks: tuple | None):
    if loo.num_bad:
        worst = int(loo.pareto_k.argmax())
        where = f"sample {worst}" if tasks is None else f"task {tasks[worst]!r}"
        yield (
            f"{name}: {part_of(loo.num_bad, loo.pareto_k.size, 'sample')} Pareto k above "
            f"{loo.good_k:.2f} (worst {loo.pareto_k.max():.2f} at {where}). Its elpd is probably too high: "
            "take more draws, or leave the model out."
        )
    yield from (f"{name}: {text}" for text in of_fit)


_OBSERVED = {"labels": ("task",), "votes": ("task", "labeled_as")}
_OF_JOINT = {"labeler_accuracy": ("labeler",), "counts": ("true_class", "predicted")}


# What becomes a tree: groups of variables (chains, draws, ...), dimensions of these, and their names.
_Groups = tuple[dict[str, dict[str, np.ndarray]], dict[str, list[str]], dict[str, list[Any]]]


def to_datatree(fit: Any, labels: Labels | None = None) -> Any:
    """A fit as an ArviZ DataTree: posterior, sample_stats, and for labels log_likelihood and observed_data.

    Args:
        fit: `NutsFit` of an annotation model, `JointPosterior`, tables by NUTS, or `NutsRun`. The draws of a
            `JointPosterior` are those with matrices and, with `Effort(pointwise=True)`, log-likelihoods.
        labels: of a `JointPosterior`, for names; not for other fits.

    Returns:
        `xarray.DataTree`. The log-likelihood of N samples takes 8 N bytes a draw.
    """
    from_dict, _ = arviz()
    groups, dims, coords = _groups(fit, labels)
    # Variables of many axes first: `arviz_stats.summary` 0.8 writes the numbers of a variable in the order in
    # which the data set meets axes, but names them in the variable's own. Behind "prior" (true_class), the
    # rows of "confusion" (labeler, true_class, labeled_as) bear each other's names.
    for name, values in groups.items():
        groups[name] = dict(sorted(values.items(), key=lambda one: -np.ndim(one[1])))
    return from_dict(groups, coords=coords, dims=dims)


def _groups(fit: Any, labels: Labels | None) -> _Groups:
    if isinstance(fit, JointPosterior):
        return _of_joint(fit, labels)
    if labels is not None:
        raise ValueError("labels are only needed with a JointPosterior; other fits hold them")
    if hasattr(fit, "spec") and hasattr(fit, "labels"):
        return _of_annotation(fit)
    run = getattr(fit, "run", fit)
    if not isinstance(run, NutsRun):
        raise ValueError(f"{type(fit).__name__} has no posterior draws; give a fit by a sampler")
    groups = {"posterior": dict(run.samples), "sample_stats": dict(run.statistics)}
    dims = {"classifier": DIMS["classifier"]} if "classifier" in run.samples else {}
    coords = {"true_class": list(range(run.samples["classifier"].shape[2]))} if dims else {}
    return groups, dims, coords


def _of_annotation(fit: "NutsFit") -> _Groups:
    run = fit.run
    by_sample = fit.log_likelihood().reshape(*run.statistics["diverging"].shape, -1)
    groups = {
        "posterior": dict(run.samples), "sample_stats": dict(run.statistics),
        "log_likelihood": {"labels": by_sample}, "observed_data": {"votes": fit.labels.counts()},
    }  # fmt: skip
    dims = {**DIMS, **_OBSERVED}
    return groups, _named(dims, (*run.samples, *_OBSERVED)), coords(fit.labels)


def _of_joint(fit: JointPosterior, labels: Labels | None) -> _Groups:
    """Draws whose matrices, and log-likelihoods, were kept."""
    chains, kept = int(fit.chain.max()) + 1, fit.matrix_draw
    draws = {name: getattr(fit, name) for name in ("prior", "labeler_accuracy", "classifier", "counts")}
    values = {"confusion": fit.matrices, **{k: x[kept] for k, x in draws.items() if x is not None}}
    posterior = {name: np.asarray(x).reshape(chains, -1, *x.shape[1:]) for name, x in values.items()}
    groups: dict[str, dict[str, np.ndarray]] = {"posterior": posterior}
    if (rows := fit.pointwise) is not None:
        chosen = chosen_draws(chains, kept.size // chains, rows.log_p.shape[2])
        groups["posterior"] = {name: x[:, chosen] for name, x in posterior.items()}
        groups["log_likelihood"] = {"labels": rows.log_p[:, :, rows.row_of_sample]}
    if labels is not None:
        groups["observed_data"] = {"votes": labels.counts()}
    dims = _named({**DIMS, **_OF_JOINT, **_OBSERVED}, tuple(n for group in groups.values() for n in group))
    return groups, dims, {} if labels is None else coords(labels)


def _named(dims: Any, variables: tuple[str, ...]) -> dict[str, list[str]]:
    return {name: list(axes) for name, axes in dims.items() if name in variables}
