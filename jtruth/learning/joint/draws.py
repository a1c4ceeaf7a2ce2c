"""From draws of states and rows to what `JointPosterior` holds: everything by class, strata averaged out.

`log_prior` is the log prior of such draws, for `jtruth.stats.loo`. Of rows with a Dirichlet prior it is their
density; of rows that are alike (`latent.models.alike`) that of what their families have in common. The law of
such rows given the family is part of the model.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth._one_line import one_line
from jtruth.labels import Labels
from jtruth.latent.model import LatentModel
from jtruth.latent.models import alike

FAMILIES = ("families0", "families1")  # of rows that are alike: the labelers', the classifier's
COMMON = ("common0", "common1")  # rows around which others are drawn
_LEAST = 1e-38  # a probability that float32 cannot hold
ALIKE_ROWS = {"labelers": "the population of labelers", "classifier": "what the classifier's rows share"}
HARD = "how many samples are hard"  # weights of strata
EFFECT = "how labelers and classifier feel difficulty"


class JointDigest:
    """Callable for `run_gibbs`; `monitored` names what must converge, `essential` the least of it."""

    def __init__(
        self, model: LatentModel, labeler_share: np.ndarray | None = None, *, keep_states: bool = False,
        group_share: np.ndarray | None = None, shared: bool = False,
    ):  # fmt: skip
        """`labeler_share` (labelers,): how often a copied label is whose, for the copying model.

        `group_share` (groups,): share of the samples in each group with a class prior of its own.
        `shared`: draws hold what all raters feel, "shared", and its "log_prior".
        `keep_states` keeps the rows of every state too, thinned, for the pointwise log-likelihood.
        """
        self.model, self.labeler_share, self.keep_states = model, labeler_share, keep_states
        self.group_share = group_share
        self.has_classifier = len(model.raters) > 1
        self.same_symbols = self.has_classifier and model.raters[1].prior.shape[2] == model.num_classes
        metrics = ("accuracy", "precision", "recall") if self.same_symbols else ("mean_symbol",)
        tested = ("counts", *metrics) if self.has_classifier else ()
        strata = ("weights",) if model.num_strata > 1 else ()
        self.monitored = ("prior", "mean_diagonal", *strata, *tested)
        if shared:
            self.essential = ("prior", "counts", "accuracy", "recall")
            self.essential = self.essential if self.has_classifier else ("prior", "class_counts")
            self.monitored = (*self.essential, "shared")
            return
        few = metrics if model.num_classes == 2 else metrics[:1]
        self.essential = ("prior", *few) if self.has_classifier else self.monitored

    def __call__(self, draws: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """One block of draws, (chains, sweeps, ...)."""
        model, size = self.model, next(iter(draws.values())).shape[:2]
        fixed = np.broadcast_to(model.class_prior, (*size, model.num_classes))
        prior = fixed if model.class_fixed else draws["pi"]
        if self.group_share is not None and not model.class_fixed:
            prior = self.group_share @ prior
        weights = draws.get("weights")
        matrices = self._by_class(draws["raters0"], 0, weights)
        own = np.diagonal(matrices, axis1=-2, axis2=-1)  # (chains, sweeps, labelers, classes)
        of_class = self._of_classes(draws["table0"])
        by_labeler = of_class.reshape(*of_class.shape[:3], -1, model.num_classes)
        small = {
            "prior": np.array(prior),
            "labeler_accuracy": np.einsum("mstc,msc->mst", own, prior),
            "mean_diagonal": own.mean(axis=2),
            "right": np.rint(np.einsum("mkctc->mkt", by_labeler)).astype(np.int32),
        }
        if "samples" in draws:
            small["class_counts"] = np.rint(self._of_classes(draws["samples"])[..., 0]).astype(np.int32)
        if weights is not None:
            small["weights"] = weights
        if "shared" in draws:
            small |= {"shared": draws["shared"], "log_prior": draws["log_prior"][..., 0]}
        if self.has_classifier:
            classifier = self._by_class(draws["raters1"], 1, weights)[:, :, 0]
            if self.labeler_share is not None and weights is not None:
                copied = np.einsum("t,mstcu->mscu", self.labeler_share, matrices)
                classifier = classifier + weights[:, :, 0, 1, None, None] * copied
            small["counts"] = np.rint(self._of_classes(draws["table1"])).astype(np.int64)
            small["classifier"] = classifier
            if self.same_symbols:
                small |= population_metrics(prior, classifier)
            else:
                small["mean_symbol"] = classifier @ np.arange(classifier.shape[-1])
        shared = {name: draws[name] for name in (*FAMILIES, *COMMON) if name in draws}
        return small, {"matrices": matrices} | shared | {n: draws[n] for n in self._states if n in draws}

    @property
    def _states(self) -> tuple[str, ...]:
        """What is kept of rows and weights: all, or what the log prior of strata needs."""
        if self.keep_states:
            return "pi", "weights", "raters0", "raters1"
        if self.model.num_strata == 1:
            return ()
        labelers = self.model.raters[0]
        hierarchy = labelers.alike is not None or labelers.common_prior is not None
        return ("weights", "raters1") if hierarchy else ("weights", "raters0", "raters1")

    def _of_classes(self, table: np.ndarray) -> np.ndarray:
        """(chains, sweeps, classes, columns) from a table by state, or by class already."""
        chains, sweeps, _, columns = table.shape
        return table.reshape(chains, sweeps, self.model.num_classes, -1, columns).sum(axis=3)

    def mirrored(self, draws: dict[str, np.ndarray]) -> np.ndarray:
        """(chains, sweeps) whether raters would be right more often if classes exchanged names."""
        weights, parts = draws.get("weights"), [self._by_class(draws["raters0"], 0, draws.get("weights"))]
        if self.has_classifier and self.same_symbols:
            parts.append(self._by_class(draws["raters1"], 1, weights))
        total = np.concatenate(parts, axis=2).sum(axis=2)  # (chains, sweeps, classes, classes)
        right = np.diagonal(total, axis1=-2, axis2=-1)
        gain = right[..., :, None] + right[..., None, :] - total - np.swapaxes(total, -1, -2)
        return (gain < 0).any(axis=(-2, -1))

    def _by_class(self, theta: np.ndarray, group: int, weights: np.ndarray | None) -> np.ndarray:
        """Matrices (..., raters, classes, symbols) from rows: sum over strata h of w[c, h] theta[row(c, h)].

        A state without a row adds nothing.
        """
        model = self.model
        if weights is None:
            return theta[:, :, :, model.raters[group].row_of_state]
        total = 0.0
        rows = model.raters[group].row_of_state.reshape(model.num_classes, model.num_strata)
        for h in range(model.num_strata):
            share = np.where(rows[:, h] >= 0, weights[:, :, model.weight_row, h], 0.0)
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
    """(labelers,) probability that a label picked at random from a random labelled sample is whose."""
    sample, labeler, label = labels.arrays
    labelled = label >= 0
    per_sample = labels.labels_per_sample()
    share = np.bincount(labeler[labelled], 1 / per_sample[sample[labelled]], labels.num_labelers)
    return share / share.sum()


class LogPrior(NamedTuple):
    """What has a fixed prior."""

    values: Float[np.ndarray, " kept"]  # up to a constant
    least: float  # the smallest Dirichlet or Beta concentration in it
    covers: tuple[str, ...]  # of "classes", "labelers", "classifier", or what their rows share

    __repr__ = one_line

    def proper(self, power: float) -> bool:
        """Whether the prior raised to this power is one: concentrations become 1 + power (a - 1)."""
        return 1 + power * (self.least - 1) > 0


def log_prior(model: LatentModel, found: Any, large: Mapping[str, np.ndarray]) -> LogPrior:
    """Sum of the log priors of class shares, strata and rows, for draws `found.matrix_draw`.

    Args:
        model: with rows that are independent, alike, or around common ones.
        found: the `JointPosterior` of its draws.
        large: the draws that were kept like `found.matrices`, (chains, kept, ...): of several strata with
            weights and rows, and what rows share.
    """
    draw, flat = found.matrix_draw, {n: a.reshape(-1, *a.shape[2:]) for n, a in large.items()}
    parts = [] if model.class_fixed else [row_prior(found.prior[draw], model.class_prior, "classes")]
    if model.num_strata > 1:
        parts.append(row_prior(flat["weights"], model.stratum_prior, HARD))
    every = zip(("labelers", "classifier"), model.raters, FAMILIES, COMMON, strict=False)
    for k, (name, raters, families, common) in enumerate(every):
        if raters.alike is not None:
            values, least = alike.log_prior(raters.alike, large[families]), np.min(raters.alike.mean_prior)
            parts.append(LogPrior(values.ravel(), float(least), (ALIKE_ROWS[name],)))
        elif raters.common_prior is not None:
            parts.append(row_prior(flat[common], raters.common_prior, ALIKE_ROWS[name]))
        elif model.num_strata > 1:
            parts.append(row_prior(flat[f"raters{k}"], raters.prior, name))
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
