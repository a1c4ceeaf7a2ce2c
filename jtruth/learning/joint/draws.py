"""From draws of states and rows to the fields of `JointPosterior`: everything by class, strata averaged out.

`log_prior` is the log prior of such draws, for `jtruth.stats.loo`. For rows that are alike
(`latent.models.alike`) it is that of their families; that of rows given the family is part of the model.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth._one_line import one_line
from jtruth.labels import Labels
from jtruth.latent import STANDARD, Digest, Effort
from jtruth.latent.model import LatentModel
from jtruth.latent.models import alike
from jtruth.latent.walk import Arrays

FAMILIES = ("families0", "families1")  # of rows that are alike: the labelers', the classifier's
COMMON = ("common0", "common1")  # rows around which others are drawn
_LEAST = 1e-38  # a probability that float32 cannot hold
ALIKE_ROWS = {"labelers": "the population of labelers", "classifier": "the classifier's rows"}
HARD = "the share of hard samples"  # weights of strata
EFFECT = "the effect of difficulty"


def joint_digest(
    model: LatentModel, effort: Effort = STANDARD, *, labeler_share: np.ndarray | None = None,
    group_share: np.ndarray | None = None, shared: bool = False, named: bool = False,
) -> Digest:  # fmt: skip
    """What is kept of the draws of a model, and what of it must converge.

    `labeler_share`: how often a copied label is whose; `group_share`: share of the samples in each group,
    where groups have their own class priors; `shared`: draws hold the effect of difficulty; `named`: gold
    names the classes. An effort without `nuisance` monitors less.
    """
    has_classifier = len(model.raters) > 1
    metrics = ("accuracy", "precision", "recall") if _same_symbols(model) else ("mean_symbol",)
    monitored: tuple[str, ...] = ("prior", "mean_diagonal", *(["weights"] if model.num_strata > 1 else []))
    if shared:
        monitored = ("prior", "counts", "accuracy", "recall") if has_classifier else ("prior", "class_counts")
        monitored += ("shared",) if effort.nuisance else ()
    elif has_classifier and effort.nuisance:
        monitored += ("counts", *metrics)
    elif has_classifier:
        monitored = ("prior", *(metrics if model.num_classes == 2 else metrics[:1]))
    states: tuple[str, ...] = ()
    if effort.pointwise:
        states = ("pi", "weights", "raters0", "raters1")
    elif model.num_strata > 1:  # what the log prior needs
        hierarchy = model.raters[0].alike is not None or model.raters[0].common_prior is not None
        states = ("weights", "raters1") if hierarchy else ("weights", "raters0", "raters1")
    keep = partial(_kept, model, labeler_share, group_share, (*FAMILIES, *COMMON, *states))
    return Digest(keep, monitored, None if named else partial(_mirrored, model), effort.pointwise)


def _same_symbols(model: LatentModel) -> bool:
    """Whether there is a classifier whose symbols are the classes."""
    return len(model.raters) > 1 and model.raters[1].prior.shape[2] == model.num_classes


def _kept(
    model: LatentModel, labeler_share: np.ndarray | None, group_share: np.ndarray | None,
    large: tuple[str, ...], draws: Arrays,
) -> tuple[Arrays, Arrays]:  # fmt: skip
    size = next(iter(draws.values())).shape[:2]
    fixed = np.broadcast_to(model.class_prior, (*size, model.num_classes))
    prior = fixed if model.class_fixed else draws["pi"]
    if group_share is not None and not model.class_fixed:
        prior = group_share @ prior
    weights, matrices = draws.get("weights"), _by_class(model, draws, 0)
    own = np.diagonal(matrices, axis1=-2, axis2=-1)  # (chains, sweeps, labelers, classes)
    of_class = _of_classes(model, draws["table0"])
    by_labeler = of_class.reshape(*of_class.shape[:3], -1, model.num_classes)
    small = {
        "prior": np.array(prior),
        "labeler_accuracy": np.einsum("mstc,msc->mst", own, prior),
        "mean_diagonal": own.mean(axis=2),
        "right": np.rint(np.einsum("mkctc->mkt", by_labeler)).astype(np.int32),
    }
    if "samples" in draws:
        small["class_counts"] = np.rint(_of_classes(model, draws["samples"])[..., 0]).astype(np.int32)
    if weights is not None:
        small["weights"] = weights
    if "shared" in draws:
        small |= {"shared": draws["shared"], "log_prior": draws["log_prior"][..., 0]}
    if len(model.raters) > 1:
        classifier = _by_class(model, draws, 1)[:, :, 0]
        if labeler_share is not None and weights is not None:
            copied = np.einsum("t,mstcu->mscu", labeler_share, matrices)
            classifier = classifier + weights[:, :, 0, 1, None, None] * copied
        small["counts"] = np.rint(_of_classes(model, draws["table1"])).astype(np.int64)
        small["classifier"] = classifier
        if _same_symbols(model):
            small |= population_metrics(prior, classifier)
        else:
            small["mean_symbol"] = classifier @ np.arange(classifier.shape[-1])
    return small, {"matrices": matrices} | {name: draws[name] for name in large if name in draws}


def _of_classes(model: LatentModel, table: np.ndarray) -> np.ndarray:
    """(chains, sweeps, classes, columns) from a table by state, or by class already."""
    chains, sweeps, _, columns = table.shape
    return table.reshape(chains, sweeps, model.num_classes, -1, columns).sum(axis=3)


def _mirrored(model: LatentModel, draws: Arrays) -> np.ndarray:
    """(chains, sweeps) whether raters would be right more often if classes exchanged names."""
    parts = [_by_class(model, draws, group) for group in range(1 + _same_symbols(model))]
    total = np.concatenate(parts, axis=2).sum(axis=2)  # (chains, sweeps, classes, classes)
    right = np.diagonal(total, axis1=-2, axis2=-1)
    gain = right[..., :, None] + right[..., None, :] - total - np.swapaxes(total, -1, -2)
    return (gain < 0).any(axis=(-2, -1))


def _by_class(model: LatentModel, draws: Arrays, group: int) -> np.ndarray:
    """Matrices (..., raters, classes, symbols), the sum over strata h of w[c, h] theta[row(c, h)]."""
    theta, rows, total = draws[f"raters{group}"], model.raters[group].row_of_state, 0.0
    if "weights" not in draws:
        return theta[:, :, :, rows]
    rows = rows.reshape(model.num_classes, model.num_strata)
    for h in range(model.num_strata):
        share = np.where(rows[:, h] >= 0, draws["weights"][..., h], 0.0)
        total = total + share[:, :, None, :, None] * theta[:, :, :, np.maximum(rows[:, h], 0)]
    return np.asarray(total)


def population_metrics(prior: np.ndarray, classifier: np.ndarray) -> dict[str, np.ndarray]:
    """Accuracy, precision and recall of each class for a new sample, from pi and K."""
    joint = prior[..., None] * classifier
    right = np.diagonal(joint, axis1=-2, axis2=-1)
    recall = np.diagonal(classifier, axis1=-2, axis2=-1)
    precision = right / np.maximum(joint.sum(axis=-2), 1e-300)
    return {"accuracy": right.sum(axis=-1), "precision": precision, "recall": np.array(recall)}


def mean_share(labels: Labels) -> np.ndarray:
    """(labelers,) probability that a random label of a random labelled sample is whose."""
    sample, labeler, _ = labels.entries()
    share = np.bincount(labeler, 1 / labels.labels_per_sample()[sample], labels.num_labelers)
    return share / share.sum()


class LogPrior(NamedTuple):
    """Log prior of draws."""

    values: Float[np.ndarray, " kept"]  # up to a constant
    least: float  # the smallest Dirichlet or Beta concentration in it
    covers: tuple[str, ...]  # of "classes", "labelers", "classifier", or what their rows share

    __repr__ = one_line

    def proper(self, power: float) -> bool:
        """Whether the prior to this power is proper: concentrations become 1 + power (a - 1)."""
        return 1 + power * (self.least - 1) > 0


def log_prior(model: LatentModel, found: Any, large: Mapping[str, np.ndarray]) -> LogPrior:
    """Sum of the log priors of class shares, strata and rows, for draws `found.matrix_draw`.

    `large`: the draws that were kept like `found.matrices`, (chains, kept, ...).
    """
    draw = found.matrix_draw

    def flat(name: str) -> np.ndarray:
        return large[name].reshape(-1, *large[name].shape[2:])

    parts = [] if model.class_fixed else [row_prior(found.prior[draw], model.class_prior, "classes")]
    if model.num_strata > 1:
        parts.append(row_prior(flat("weights"), model.stratum_prior, HARD))
    every = zip(("labelers", "classifier"), model.raters, FAMILIES, COMMON, strict=False)
    for k, (name, raters, families, common) in enumerate(every):
        if raters.alike is not None:
            values, least = alike.log_prior(raters.alike, large[families]), np.min(raters.alike.mean_prior)
            parts.append(LogPrior(values.ravel(), float(least), (ALIKE_ROWS[name],)))
        elif raters.common_prior is not None:
            parts.append(row_prior(flat(common), raters.common_prior, ALIKE_ROWS[name]))
        elif model.num_strata > 1:
            parts.append(row_prior(flat(f"raters{k}"), raters.prior, name))
        else:
            theta = found.matrices if name == "labelers" else found.classifier[draw][:, None]
            parts.append(row_prior(theta, raters.prior, name))
    total = np.sum([part.values for part in parts], axis=0)
    return LogPrior(total, min(part.least for part in parts), tuple(p.covers[0] for p in parts))


def row_prior(theta: np.ndarray, concentration: np.ndarray, covers: str = "classifier") -> LogPrior:
    """Of rows (draws, ...) that are Dirichlet with the concentrations (...)."""
    weight = np.asarray(concentration, np.float64).ravel() - 1
    logs = np.log(np.maximum(theta.reshape(len(theta), -1), _LEAST, dtype=np.float64))
    return LogPrior(logs @ weight, float(weight.min()) + 1, (covers,))
