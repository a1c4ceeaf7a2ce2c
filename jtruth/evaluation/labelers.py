"""How good is every labeler? Accuracy and confusion matrix, predictive or by gold.

`evaluate_labelers`: without gold a labeler gets what a classifier gets: a predictive law, what readings of
the labels say widened by how far they were off elsewhere (`jtruth.evaluation.assumptions.predictive`). With
gold labelers are judged by it (`jtruth.evaluation.gold.tables`). Confusion matrices are those of
independent errors.

`quick_labelers`: Dawid and Skene's model by EM, with the normal law around its mode. Millions of labels take
seconds, and a stream of labels (`jtruth.learning.update`) is reported each day. `labelers_by_model`: an
annotation model by NUTS, for instance one in which labelers with few labels lean on the others. Neither runs
the checks against independent errors that `evaluate_labelers` runs; both say so.
"""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np

from jtruth._random import Stated, as_key, stated, stream
from jtruth._validation import choose
from jtruth._validation.words import Read
from jtruth.evaluation.assumptions import learned, ranges
from jtruth.evaluation.assumptions.model_error import OVERALL, check_kind, rests_on
from jtruth.evaluation.assumptions.predictive import (
    labeler_draws,
    labeler_laws,
    law_of,
    matrix_ends,
)
from jtruth.evaluation.assumptions.registry import INDEPENDENT, entries, nobody_judged
from jtruth.evaluation.checks.first_look import first_look
from jtruth.evaluation.checks.of_gold import random_gold_check
from jtruth.evaluation.checks.of_labels import REFUSED, all_refused, missing_check
from jtruth.evaluation.checks.prior_driven import labeler_check
from jtruth.evaluation.checks.verdicts import labeler_checks, refused
from jtruth.evaluation.gold.answer import BY_GOLD, gold_warnings, labels_posterior
from jtruth.evaluation.gold.measured import GoldSampling
from jtruth.evaluation.gold.tables import labeler_laws_by_gold
from jtruth.evaluation.inputs import as_labels, read_gold, read_labelled, read_sampling
from jtruth.evaluation.labeler_findings import swap_findings, with_behaviour
from jtruth.evaluation.labeler_report import LabelerReport, labeler_rows
from jtruth.evaluation.parts import (
    IN_SAMPLE,
    INDEPENDENT_ERRORS,
    MORE_RIGHT,
    OF_LABELERS,
    POPULATION,
    PREDICTIVE,
    Check,
    worst_first,
)
from jtruth.inspection import suspicions
from jtruth.io.gold import Gold
from jtruth.labels import Labels
from jtruth.latent import Watch
from jtruth.learning import LabelerDraws
from jtruth.learning.em.kinds import expected_counts, posterior_of
from jtruth.learning.em.laplace import laplace_draws
from jtruth.learning.em.streaming import Smoothing, Stream, begin_stream
from jtruth.learning.joint.guard import check_identified
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.regions import check_level

ONLY_GOLD = (
    "labels alone cannot show whether labelers are wrong together, hence the width: only gold can tell. Find "
    "out the truth of 30 samples chosen at random (gold=...)"
)
BY_GOLD_ONLY = "labels alone determine nothing ({}): gold alone answers, corrected by vote shares"
GOLD_IS_IN_SAMPLE = (
    "target={!r} has no answer with gold: gold says which of the labels given are right. Leave target out"
)


def evaluate_labelers(
    labels: Labels,
    *,
    key: Any = None,
    gold: Any = None,
    order: Any = None,
    target: str = IN_SAMPLE,
    labelers_are: str | None = None,
    level: float = 0.95,
    progress: Callable[[int, int], None] | None = None,
) -> LabelerReport:
    """Accuracy and confusion matrix of each labeler when nobody knows the true classes.

    Args:
        labels: the noisy labels.
        key: a whole number or a JAX key; 0 if None.
        gold: (samples,) known classes, -1 where unknown; or a Series or dict by task id; a random part of all
            samples, or a `jt.io.Gold` that says how they were chosen. They correct the answer
            (`jtruth.evaluation.gold.tables`).
        order: (samples,) when each sample was labelled, on any scale; adds a check for labelers who change,
            and to each row the probability that its labeler did, and when.
        target: "in-sample", the share of the labels given that are right, or "population", the chance that a
            label for a new sample is right (without gold).
        labelers_are: "people", "experts", "llm_judges" or None: how far models of labels may be off.
        level: probability of the intervals.
        progress: called with (sweeps done, sweeps planned).

    Returns:
        A LabelerReport; print it. Without rows when the labels determine nothing, with the reason.
    """
    level, given, key = check_level(level), stated(key), as_key(key)
    choose("target", target, tuple(OF_LABELERS))
    labels, kind = as_labels(labels), check_kind(labelers_are)
    names = tuple(map(str, labels.class_names))
    known, notes = read_gold(gold.classes if isinstance(gold, Gold) else gold, labels)
    when, said = read_labelled(order, labels)
    named, odd = bool((known >= 0).any()), suspicions(labels)
    sampling = GoldSampling(*read_sampling(gold, replace(nobody_judged(labels), gold=known), named))
    first = first_look(labels, known, {}, named and sampling.unknown)
    if named and target != IN_SAMPLE:
        raise ValueError(GOLD_IS_IN_SAMPLE.format(target))
    fit, missing = learned.labels_fit(
        labels, gold=known if named else None, key=key, effort=learned.EFFORT, watch=Watch(progress)
    )
    found, doubts = _members(labels, None if named else fit, missing, key, progress)
    warnings = tuple(dict.fromkeys((*notes, *said, *doubts, *(fit.warnings if named else ()))))
    if not named and all(member.fit is None for member in found):
        none = (*first, *refused(fit.warnings[0]))
        return LabelerReport(level, names, (), (), warnings, fit, given, none, suspicious=odd)
    prior, aside = fit.prior.mean(0), stream(key, "labeler checks")
    checks = refused(fit.warnings[0]) if not fit.usable else labeler_checks(
        labels, prior, fit.mean_matrices, aside, gold=known, order=when
    )  # fmt: skip
    if fit.usable and target == IN_SAMPLE and not named:
        checks += labeler_check(labels, fit, level)
    if fit.usable:
        checks += missing or missing_check(labels, fit.class_posterior)
    how = _Asked(labels, known, named, sampling, labels_posterior(found, labels), target, kind, level, key)
    (rows, laws), nobody = _rows(how, found, fit), nobody_judged(labels)
    readings = tuple((member.name, member.entry.sentence_for(nobody)) for member in found)
    if not named and all_refused(checks):  # what each assumption says means nothing then
        rows, readings = tuple(row | {"by_assumption": {}} for row in rows), ()
        warnings = (REFUSED, *warnings)
    if named:
        warnings += gold_warnings(sampling.unknown, int((known >= 0).sum()))
        checks += random_gold_check(how.posterior, known, key, names) if sampling.unknown else ()
    if fit.usable:
        rows, behaviour = with_behaviour(
            rows, labels, prior, fit.mean_matrices, when, known if named else None
        )
        odd = (*swap_findings(rows, names), *behaviour, *odd)
    return LabelerReport(
        level, names, rows, tuple(prior.tolist()), (*warnings, *(() if named else (ONLY_GOLD,))), fit, given,
        (*first, *checks), () if named else (MORE_RIGHT,), odd, target,
        "posterior" if named else PREDICTIVE, BY_GOLD if named else rests_on(kind),
        readings, laws,
    )  # fmt: skip


class _Asked(NamedTuple):
    """What the rows are of."""

    labels: Labels
    gold: np.ndarray
    named: bool  # whether there is gold
    sampling: GoldSampling
    posterior: np.ndarray  # (samples, classes) by labels alone
    target: str
    labelers_are: str
    level: float
    key: Any


def _members(
    labels: Labels, fit: JointPosterior | None, missing: tuple[Check, ...], key: Any, progress: Any
) -> tuple[list[ranges.Member], tuple[str, ...]]:
    """Readings of the labels without gold; `fit` is that of independence, where it exists."""
    data = nobody_judged(labels)
    data.missing = missing
    doubt = check_identified(labels, None, None, False)
    if doubt is not None:
        return [], (doubt if fit is not None else BY_GOLD_ONLY.format(doubt),)
    known = {} if fit is None else {INDEPENDENT: fit}
    some = [entry for entry in entries(data) if entry.reading]
    found, doubts = ranges.members(
        some, data, stream(key, "labelers"), progress=progress, known=known, keep_all=True
    )
    return found, tuple(doubts)


def _rows(
    asked: _Asked, found: list[ranges.Member], fit: JointPosterior
) -> tuple[tuple[dict[str, Any], ...], dict[str, DrawsEstimate]]:
    """A dictionary for each labeler, the worst first, and the laws of their accuracies."""
    labels, level = asked.labels, asked.level
    draws = labeler_draws(found, labels, asked.target, asked.key)
    laws = labeler_laws(draws, labels, asked.labelers_are)
    if asked.named:
        laws = labeler_laws_by_gold(laws, labels, asked.posterior, asked.gold, asked.sampling, asked.key)
    alone = next((member.fit for member in found if member.fit is not None), fit)
    matrices = matrix_ends(alone, level)
    rows = worst_first(labels, [(law.mean, *law.interval(level)[:2]) for law in laws])
    made = tuple(
        asdict(row) | {
            "by_assumption": {k: _mean(v[:, t]) for k, v in draws.items()},
            "confusion_matrix": {name: part[t].tolist() for name, part in matrices.items()},
        }
        for t, row in rows
    )  # fmt: skip
    return made, {asdict(row)["worker"]: laws[t] for t, row in rows}


def _mean(draws: np.ndarray) -> float | None:
    return None if np.isnan(draws).all() else float(np.nanmean(draws))


QUICK = (
    "the one reading of the labels is {}, not sampled. No check was made whether the labels contradict "
    "independent errors; without --fast they are, and other readings have a say (evaluate_labelers)"
)
BY_MODEL = "{}. No check was made whether the labels contradict independent errors (evaluate_labelers does)"

BY_ONE_MODEL = (
    "labels alone cannot show whether labelers are wrong together: these intervals take errors to be "
    "independent, and held real labelers in 18 to 80 % where samples differ in difficulty. Only gold can "
    "tell: find out the truth of 30 samples chosen at random (gold=...)"
)


def the_prior(num_classes: int) -> Smoothing:
    """Pseudo-counts that stand for the prior of `fit_joint` in the basis of the normal law."""
    return Smoothing(2.0, 1.0 / (num_classes - 1), 1.0)


def quick_labelers(labels: Labels | Stream, *, key: Any = None, level: float = 0.95) -> LabelerReport:
    """What `evaluate_labelers` says of each labeler, by one reading of them: EM and the law at its mode.

    The share of the labels given that are right, expected at the mode, has the spread of the chance that a
    new label is right, and then the predictive law of `jtruth.evaluation.assumptions.predictive`.

    Args:
        labels: the noisy labels; or a stream of them, begun with `Smoothing` above 0 (`the_prior`).
        key: a whole number or a JAX key; 0 if None.
        level: probability of the intervals.

    Raises:
        ValueError: no label, or a stream without pseudo-counts.

    >>> z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [400, 300, 60, 50], axis=0)
    >>> report = quick_labelers(Labels.from_matrix(z, 2))
    >>> report.rows[0]["worker"], report.rows[0]["low"] < 0.87 < report.rows[0]["high"]
    ('1', True)
    """
    check_level(level)
    odd, notes = (), ()
    if isinstance(labels, Stream):
        state = labels
    else:
        named = as_labels(labels)
        odd, notes = suspicions(named), tuple(map(Read, named.notes))
        if named.tasks is None or named.workers is None:
            named = named.with_names(tasks=range(named.num_samples), workers=range(named.num_labelers))
        state = begin_stream(named, smoothing=the_prior(named.num_classes))
    posterior = posterior_of(state.kinds, state.prior, state.matrices)
    draws = laplace_draws(state, as_key(key), posterior)
    counts = expected_counts(state.kinds, posterior, len(state.workers))[0] + state.closed.matrices
    given, kind = counts.sum(axis=(1, 2)), check_kind(None)
    right = np.trace(counts, axis1=1, axis2=2) / np.maximum(given, 1)
    values = np.clip(draws.labeler_accuracy - draws.labeler_accuracy.mean(axis=0) + right, 0, 1)
    sizes = np.maximum(given, 1.0)
    laws = [law_of({"independent": x}, OVERALL, kind, n) for x, n in zip(values.T, sizes, strict=True)]
    rows = labeler_rows(draws, state.workers, np.rint(given), level, laws)
    said = (*notes, *draws.warnings, QUICK.format(draws.how), ONLY_GOLD)
    found = _report((level, stated(key)), state.classes, rows, draws, said, odd)
    return replace(found, target=IN_SAMPLE, interval_kind=PREDICTIVE, rests_on=rests_on(kind))


def labelers_by_model(
    labels: Labels, model: str, *, key: Any = None, level: float = 0.95, settings: Any = None
) -> LabelerReport:
    """Accuracy and confusion matrix of each labeler by an annotation model (NUTS).

    Args:
        labels: the noisy labels.
        model: a name of `jtruth.learning.annotation.bayes.MODELS`, such as "hierarchical_dawid_skene".
        key: a whole number or a JAX key; 0 if None.
        level: probability of the intervals.
        settings: `jtruth.latent.NutsSettings`.

    Raises:
        ValueError: an unknown model, or no label.
    """
    from jtruth.latent import NutsSettings
    from jtruth.learning.annotation.bayes import MODELS, fit_nuts

    check_level(level)
    choose("model", model, tuple(MODELS))
    labels = as_labels(labels)
    fit = fit_nuts(model, labels, key=as_key(key), settings=settings or NutsSettings())
    draws, odd = fit.matrix_draws(), suspicions(labels)
    names = tuple(map(str, labels.class_names))
    if not fit.usable:
        none = refused(fit.warnings[0])
        return replace(
            _report((level, stated(key)), names, [], draws, (*map(Read, labels.notes), *fit.warnings), odd),
            checks=none,
        )
    workers = labels.workers or tuple(range(labels.num_labelers))
    rows = labeler_rows(draws, workers, labels.labels_per_labeler(), level)
    said = (*map(Read, labels.notes), *draws.warnings, BY_MODEL.format(draws.how), BY_ONE_MODEL)
    return _report((level, stated(key)), names, rows, draws, said, odd)


def _report(
    asked: tuple[float, Stated], classes: tuple, rows: list, draws: LabelerDraws, warnings: tuple, odd: tuple
) -> LabelerReport:
    prior = tuple(draws.prior.mean(axis=0).tolist())
    return LabelerReport(
        asked[0], tuple(map(str, classes)), tuple(rows), prior, warnings, draws, asked[1],
        assumed=(INDEPENDENT_ERRORS, MORE_RIGHT), suspicious=odd, target=POPULATION,
        interval_kind="posterior", assumptions=(("independent", INDEPENDENT_ERRORS),),
    )  # fmt: skip
