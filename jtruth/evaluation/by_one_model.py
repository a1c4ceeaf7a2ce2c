"""Evaluate labelers by one model: a Gaussian approximation around a mode, or an annotation model by NUTS.

EM (for many labels, and streams: `jtruth.learning.update`) and NUTS skip the checks of independent errors.
"""

from typing import Any

import numpy as np

from jtruth._random import as_key, seeded, stated
from jtruth._validation import choose
from jtruth._validation.words import Read
from jtruth.answers import Check
from jtruth.evaluation import parts
from jtruth.evaluation.assumptions.model_error import OVERALL, check_kind, dists_of, width_assumption
from jtruth.evaluation.checks.verdicts import refused
from jtruth.evaluation.habits import behaviour_of, with_repeats
from jtruth.evaluation.inputs import as_labels, read_labels_alone
from jtruth.evaluation.labelers import LabelerReport, ends_of, labeler_rows, report_of
from jtruth.inspection import suspicions
from jtruth.labels import Labels
from jtruth.latent.infer.normal import MOST_TOGETHER
from jtruth.learning import LabelerDraws
from jtruth.learning.em.columns import expected_counts, posterior_of
from jtruth.learning.em.laplace import laplace_draws
from jtruth.learning.em.streaming import Smoothing, Stream, begin_stream
from jtruth.learning.joint.guard import check_identified
from jtruth.learning.joint.inputs import prior_decides
from jtruth.stats.estimates import check_level
from jtruth.tables.new_samples import new_share

_CHEAP = 50_000  # labels times classes
QUICK = (
    "Fast mode: {}. Independence of errors was assumed and not checked; without --fast it is checked "
    "(evaluate_labelers)."
)
BY_MODEL = "{}. Independence of errors was not checked (evaluate_labelers checks it)."

BY_ONE_MODEL = (
    "These intervals are too narrow if labelers share mistakes: they covered 18 to 80 % of real labelers "
    "where samples differ in difficulty. Verify 30 random samples (jtruth.asking.ask_next names them; "
    "gold=...)."
)


_ONE_READING: dict[str, Any] = {
    "assumed": (parts.INDEPENDENT_ERRORS, parts.MORE_RIGHT),
    "assumptions": (("independent", parts.INDEPENDENT_ERRORS),),
}


def the_prior(num_classes: int) -> Smoothing:
    """Pseudo-counts equivalent to the prior of `fit_joint` in the basis of the Gaussian approximation."""
    return Smoothing(2.0, 1.0 / (num_classes - 1), 1.0)


@seeded
def quick_labelers(labels: Labels | Stream, *, key: Any = None, level: float = 0.95) -> LabelerReport:
    """Evaluate each labeler like `evaluate_labelers`, by a Gaussian approximation instead of sampling.

    With few labels, and enough for each labeler, only the model of independent errors differs: it has
    weighted draws of the approximation. Otherwise, and for a stream, the only estimate is EM with the
    Gaussian approximation at its mode. The expected share of right labels is centred at the mode, and the
    predictive distribution is that of `jtruth.evaluation.assumptions.model_error`.

    Args:
        labels: the noisy labels; or a stream of them, begun with `Smoothing` above 0 (`the_prior`).
        key, level: as for `evaluate_labelers`.

    Raises:
        ValueError: no label, or a stream without pseudo-counts.

    >>> z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [400, 300, 60, 50], axis=0)
    >>> report = quick_labelers(Labels.from_matrix(z, 2))
    >>> report.rows[0]["worker"], report.rows[0]["low"] < 0.87 < report.rows[0]["high"]
    ('1', True)
    """
    check_level(level)
    odd, notes = (), ()
    order, checks = None, ()
    if isinstance(labels, Stream):
        state, named = labels, labels.labels() if labels.pattern.size else None
        order = labels.order if labels.pattern.size and np.ptp(labels.order) > 0 else None
    else:
        named = as_labels(labels)
        cheap = named.num_labels * named.num_classes <= _CHEAP
        alone = named.num_labelers * named.num_classes**2 < MOST_TOGETHER and not prior_decides(named)
        if cheap and alone and check_identified(named, None, None, False) is None:
            data = read_labels_alone(named, key=key, level=level)
            data.normal, data.target = True, parts.POPULATION
            return report_of(data)
        odd, notes = suspicions(named), tuple(map(Read, named.notes))
        if named.tasks is None:
            named = named.with_names(tasks=range(named.num_samples))
        if named.workers is None:
            named = named.with_names(workers=range(named.num_labelers))
        state = begin_stream(named, smoothing=the_prior(named.num_classes))
    posterior = posterior_of(state.patterns, state.prior, state.matrices)
    draws = laplace_draws(state, as_key(key), posterior)
    counts = expected_counts(state.patterns, posterior, len(state.workers))[0]
    number, kind = counts.sum(axis=(1, 2)), check_kind(None)
    right = np.trace(counts, axis1=1, axis2=2) / np.maximum(number, 1)
    values = np.clip(draws.labeler_accuracy - draws.labeler_accuracy.mean(axis=0) + right, 0, 1)
    dists = dists_of({"independent": values}, OVERALL, kind, np.maximum(number, 1.0))
    dists = [new_share(dist, size) for dist, size in zip(dists, number.tolist(), strict=True)]
    rows = labeler_rows(state.workers, np.rint(number), parts.means_and_ends(dists, level), draws, level)
    if named is not None:
        rows, likely, checks = _habits_of_some(named, draws, rows, key, order)
        odd, rows = (*likely, *odd), with_repeats(rows, named, level)
    warnings = (*notes, *draws.warnings, QUICK.format(draws.how), parts.ONLY_GOLD)
    return LabelerReport(
        level, tuple(map(str, state.classes)), rows, tuple(draws.prior.mean(axis=0).tolist()), warnings,
        draws, stated(key), checks, suspicious=odd, target=parts.POPULATION, rests_on=width_assumption(kind),
        **_ONE_READING,
    )  # fmt: skip


_LOOKED_AT = 100_000  # labels in which habits of labelers are looked for, where there are more


def _habits_of_some(
    labels: Labels, fit: LabelerDraws, rows: tuple[dict[str, Any], ...], key: Any, order: np.ndarray | None
) -> tuple[tuple[dict[str, Any], ...], tuple[Check, ...], tuple[Check, ...]]:
    """Rows with probabilities of spam and copies, findings, and changes over `order`, by some samples."""
    some_ = np.arange(0, labels.num_samples, -(-labels.num_labels // _LOOKED_AT))
    if some_.size < labels.num_samples:
        labels, order = labels.restrict(some_), None if order is None else order[some_]
    data, prior = read_labels_alone(labels, key=key), fit.prior.mean(axis=0)
    habits, likely, changed = behaviour_of(labels, prior, fit.mean_matrices, data, order, unit="set ")
    return tuple({**row, **habits[row["worker"]]} for row in rows), likely, changed


@seeded
def labelers_by_model(
    labels: Labels, model: str, *, key: Any = None, level: float = 0.95, settings: Any = None
) -> LabelerReport:
    """Accuracy and confusion matrix of each labeler by an annotation model (NUTS).

    Args:
        labels, key, level: as for `evaluate_labelers`.
        model: a name of `jtruth.learning.annotation.functions.SPECS`, such as "hierarchical_dawid_skene".
        settings: `jtruth.latent.NutsSettings`.

    Raises:
        ValueError: an unknown model, or no label.
    """
    from jtruth.latent import NutsSettings
    from jtruth.learning.annotation.bayes import SPECS, fit_nuts

    check_level(level)
    choose("model", model, tuple(SPECS))
    labels = as_labels(labels)
    fit = fit_nuts(model, labels, key=as_key(key), settings=settings or NutsSettings())
    draws = fit.matrix_draws()
    if fit.usable:
        accuracies = list(zip(*ends_of(draws.labeler_accuracy, level).values(), strict=True))
        rows = labeler_rows(labels.worker_names, labels.labels_per_labeler(), accuracies, draws, level)
        rows = with_repeats(rows, labels, level)
        warnings, checks = (*draws.warnings, BY_MODEL.format(draws.how), BY_ONE_MODEL), ()
    else:
        rows, warnings, checks = (), fit.warnings, refused(fit.warnings[0])
    return LabelerReport(
        level, tuple(map(str, labels.class_names)), rows, tuple(draws.prior.mean(axis=0).tolist()),
        (*map(Read, labels.notes), *warnings), draws, stated(key), checks, suspicious=suspicions(labels),
        target=parts.POPULATION, interval_kind="posterior", **_ONE_READING,
    )  # fmt: skip
