"""Which annotation model predicts labels best? PSIS-LOO over samples, the true class summed out.

Each sample in turn is left out, and its labels are predicted from the rest (Vehtari, Gelman and Gabry 2017);
the expected log predictive density elpd is the sum over samples. Leaving out a sample, not a label, asks how
well labels of a new sample are predicted, and the class is summed out because conditional on it the question
would be another one. Samples with equal labels have equal terms, which are computed once.

Differences and their standard errors come from the pointwise values. They say which model describes the
labels better, which is not the same as which model gives better metrics: on real sets with shared errors
choosing one model by LOO was no better than ignoring dependence, so look at the checks of every fit too.
Models that differ by less than their standard errors, or by less than 4, are not told apart, and the result
says so instead of naming a winner.

Beside it stands the evidence, log p(all labels) with everything unknown integrated out, by tempering the same
density from the prior. It compares models with their priors: a wide prior costs. Where tempering would take
long, and of a Gibbs sampler's fit, there is none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth._one_line import one_line
from jtruth._random import Stated, as_key, stated, stream
from jtruth.answers import Answer, Column, Shown, Table, facts, warning_notes
from jtruth.labels import Labels, must_be_labels
from jtruth.latent import NutsSettings
from jtruth.learning.annotation.rows import pointwise_of_joint
from jtruth.learning.annotation.spec import Spec
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.loo import arviz, psis_loo, sum_and_error

if TYPE_CHECKING:
    from jtruth.learning.annotation.bayes import NutsFit

STANDARD_MODELS = ("dawid_skene", "hierarchical_dawid_skene", "one_coin", "pooled", "item_difficulty")
_SMALL_DIFFERENCE = (
    4.0  # below it models predict alike, and standard errors are too small (Sivula et al. 2020)
)
_STANDARD_ERRORS = 2.0
_FEW_SAMPLES = 100


class LeaveOneOut(NamedTuple):
    """PSIS-LOO of one model."""

    elpd: float  # sum of `pointwise`
    se: float  # sqrt(N var(pointwise))
    p_loo: float  # effective number of parameters: log density with all samples minus elpd
    pointwise: Float[np.ndarray, " samples"]  # log p(labels of sample i | labels of all others)
    pareto_k: Float[np.ndarray, " samples"]
    good_k: float  # above it a term is not to be trusted: min(1 - 1/log10(draws), .7)

    __repr__ = one_line

    @property
    def num_bad(self) -> int:
        """Number of samples whose term is not to be trusted."""
        return int((self.pareto_k > self.good_k).sum())


@dataclass(frozen=True, repr=False)
class ModelComparison(Answer):
    """Models in order of elpd. `told_apart` says which are worse than the first beyond doubt."""

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

    def blocks(self) -> Shown:
        """The question, the answer and what stands behind it, for all faces."""
        known = self.evidence or (None,) * len(self.names)
        parts = zip(self.names, self.loo, self.difference, self.difference_se, self.told_apart, known,
                    strict=True)  # fmt: skip
        rows = [
            {"name": name, "elpd": loo.elpd, "se": loo.se, "p_loo": loo.p_loo, "num_bad": loo.num_bad,
             "worst_k": float(loo.pareto_k.max()), "difference": float(difference),
             "difference_se": float(se), "told_apart": bool(apart),
             "log_evidence": None if own is None else own[0],
             "log_evidence_se": None if own is None else own[1],
             "low": float(difference - 2 * se), "high": float(difference + 2 * se)}
            for name, loo, difference, se, apart, own in parts
        ]  # fmt: skip
        columns = [
            Column("elpd", "elpd", form=".1f"), Column("difference", "difference", ("low", "high"), "+.1f"),
            Column("se", "se", form=".1f"), Column("p_loo", "p_loo", form=".1f"),
            Column("num_bad", "bad terms"), Column("worst_k", "worst k", form=".2f"),
        ]  # fmt: skip
        if any(self.evidence):
            columns += [Column("log_evidence", "log evidence", form=".1f"),
                        Column("log_evidence_se", "+-", form=".1f")]  # fmt: skip
        note = "Difference of elpd to the first model, with two standard errors; it picks no truth."
        if None in known:
            note += " Log evidence: not of fits that are too large to be tempered."
        blocks = (
            Table("models", "Models, the best first", "name", tuple(columns), rows, note, unit=None,
                  aside=("low", "high")),
            warning_notes(self.warnings), facts(verdict=self.verdict, key=self.key),
        )  # fmt: skip
        about = f"{len(rows)} models, PSIS-LOO"
        return Shown("Which annotation model predicts the labels best?", about, self.verdict, blocks)


def compare_models(
    labels: Labels,
    *,
    key: Any = None,
    models: Sequence[Any] | Mapping[str, Any] = STANDARD_MODELS,
    settings: NutsSettings = NutsSettings(),
) -> ModelComparison:
    """Fit annotation models and compare how well they predict the labels of a sample left out.

    Args:
        labels: noisy labels.
        key: of whatever is drawn: a whole number or a JAX key; 0 if None.
        models: names (see `jtruth.learning.annotation.bayes.MODELS`), models of your own (`Spec`), or fits of
            the same labels: `NutsFit`, or `JointPosterior` under independence without predictions or gold
            labels. A mapping gives them names of your own.
        settings: of NUTS, for the names and your own models.

    Returns:
        `ModelComparison`; print it for a table. Models are ordered; `verdict` says what the order is worth.

    Raises:
        ValueError: fewer than two models, a model twice, or a fit of other labels.
        ImportError: without arviz-base and arviz-stats.
    """
    given, labels = models if isinstance(models, Mapping) else None, must_be_labels(labels)
    names = list(given) if given is not None else [_name(model) for model in models]
    fits = list(given.values()) if given is not None else list(models)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"give two models or more, each once; got {', '.join(names) or 'none'}")
    given_key, key = stated(key), as_key(key)
    for name, fit in zip(names, fits, strict=True):
        _check_labels(name, fit, labels)
    arviz()  # a missing package is found before anything is fitted
    found = []
    for k, fit in enumerate(fits):
        if isinstance(fit, str | Spec):
            from jtruth.learning.annotation.bayes import fit_nuts

            fit = fit_nuts(fit, labels, key=stream(key, "model", k), settings=settings)
        if isinstance(fit, JointPosterior):
            evidence = fit.evidence
        else:
            from jtruth.learning.annotation.bayes import evidence_of

            evidence = evidence_of(fit, stream(key, "evidence", k))
        found.append((leave_one_out(fit, labels), fit.warnings, evidence))
    return _ordered(names, found, given_key, labels.tasks)


def leave_one_out(fit: "NutsFit | JointPosterior", labels: Labels | None = None) -> LeaveOneOut:
    """PSIS-LOO of a fit, one term for each sample.

    A `JointPosterior` needs `Effort(pointwise=True)` when it is fitted, or the labels it was fitted to.
    """
    if not isinstance(fit, JointPosterior):
        rows = fit.pointwise()
    else:
        rows = fit.pointwise or pointwise_of_joint(fit, _needed(labels))
    terms = psis_loo(rows.log_p, rows.relative_ess)
    full = np.logaddexp.reduce(rows.log_p.reshape(-1, rows.log_p.shape[2]), axis=0)
    full = full - np.log(rows.log_p.shape[0] * rows.log_p.shape[1])
    own, k, everything = (x[rows.row_of_sample] for x in (terms.elpd, terms.pareto_k, full))
    elpd, se = sum_and_error(own)
    return LeaveOneOut(elpd, se, float(everything.sum() - elpd), own, k, terms.good_k)


def _ordered(
    names: list[str],
    found: list[tuple[LeaveOneOut, tuple[str, ...], tuple[float, float] | None]],
    key: Stated,
    tasks: tuple | None,
) -> ModelComparison:
    """Models by elpd, differences to the first from pointwise values, and what they are worth."""
    order = sorted(range(len(names)), key=lambda k: -found[k][0].elpd)
    loo = tuple(found[k][0] for k in order)
    pairs = [sum_and_error(one.pointwise - loo[0].pointwise) for one in loo]
    apart = tuple(-d > max(_SMALL_DIFFERENCE, _STANDARD_ERRORS * se) for d, se in pairs)
    doubts = [text for k in order for text in _doubts(names[k], *found[k][:2], tasks)]
    if loo[0].pointwise.size < _FEW_SAMPLES:
        doubts.append(f"{loo[0].pointwise.size} samples are few: standard errors are probably too small.")
    named = tuple(names[k] for k in order)
    level = [name for name, worse in zip(named, apart, strict=True) if not worse]
    verdict = (
        f"{named[0]} predicts the labels of a left-out sample best."
        if len(level) == 1
        else f"Not told apart by these labels: {', '.join(level)}."
    )
    if any(one.num_bad for one in loo):
        verdict += " Some terms cannot be trusted (see below), so neither can the order."
    difference, error = (np.array(x) for x in zip(*pairs, strict=True))
    known = tuple(found[k][2] for k in order)
    return ModelComparison(named, loo, difference, error, apart, verdict, tuple(doubts), key, known)


def _needed(labels: Labels | None) -> Labels:
    if labels is None:
        raise ValueError("a JointPosterior does not hold its labels; give them as the second argument")
    return labels


def _name(model: Any) -> str:
    if isinstance(model, JointPosterior):
        return "joint"
    if isinstance(model, Spec):
        return model.name
    return model if isinstance(model, str) else model.model


def _check_labels(name: str, fit: Any, labels: Labels) -> None:
    """ValueError for a NUTS fit of other labels; `pointwise_of_joint` checks those of the Gibbs sampler."""
    if isinstance(fit, str | Spec | JointPosterior) or fit.labels is labels:
        return
    same_sizes = fit.labels.tree_flatten()[1] == labels.tree_flatten()[1]
    if not same_sizes or not all(map(np.array_equal, fit.labels.padded(), labels.padded())):
        raise ValueError(f"the fit of {name!r} is of other labels; models can be compared on the same only")


def _doubts(name: str, loo: LeaveOneOut, of_fit: tuple[str, ...], tasks: tuple | None):
    """Sentences about what cannot be trusted."""
    if loo.num_bad:
        worst = int(loo.pareto_k.argmax())
        where = f"sample {worst}" if tasks is None else f"task {tasks[worst]!r}"
        yield (
            f"{name}: {loo.num_bad} of {loo.pareto_k.size} samples have Pareto k above {loo.good_k:.2f} "
            f"(worst {loo.pareto_k.max():.2f} at {where}); its elpd is probably "
            "too high. Draw more, or compare without it."
        )
    yield from (f"{name}: {text}" for text in of_fit)
