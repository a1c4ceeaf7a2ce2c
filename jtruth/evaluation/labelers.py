"""How good is every labeler? Accuracy and confusion matrix, predictive or by gold.

`evaluate_labelers`: without gold a labeler gets what a classifier gets: a predictive law, what readings of
the labels say widened by how far they were off elsewhere (`jtruth.evaluation.assumptions.model_error`). With
gold labelers are judged by it (`jtruth.evaluation.gold.tables`). Confusion matrices are those of
independent errors.

`quick_labelers`: the same with independence read by weighed draws of the normal law around its mode, where
labels are few enough for them; else Dawid and Skene's model by EM, with the normal law around its mode.
Millions of labels take seconds, and a stream of labels (`jtruth.learning.update`) is reported each day.
`labelers_by_model`: an annotation model by NUTS, for instance one in which labelers with few labels lean on
the others. EM and NUTS come without the checks against independent errors, and say so.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from jtruth._random import as_key, stated, stream
from jtruth._validation import choose
from jtruth._validation.words import Read
from jtruth.evaluation import parts
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.model_error import OVERALL, check_kind, laws_of, rests_on
from jtruth.evaluation.assumptions.ranges import labeler_draws, labeler_laws
from jtruth.evaluation.assumptions.registry import INDEPENDENT
from jtruth.evaluation.checks.first_look import first_look
from jtruth.evaluation.checks.of_labels import REFUSED, all_refused, missing_check
from jtruth.evaluation.checks.prior_sensitivity import labeler_check
from jtruth.evaluation.checks.verdicts import labeler_checks, refused
from jtruth.evaluation.gold.tables import (
    BY_GOLD,
    gold_warnings,
    labeler_laws_by_gold,
    labels_posterior,
    random_gold_checks,
)
from jtruth.evaluation.inputs import Inputs, as_labels, read_labels_alone, read_order
from jtruth.evaluation.labeler_report import LabelerReport, behaviour_of, ends_of, labeler_rows, swap_findings
from jtruth.inspection import suspicions
from jtruth.labels import Labels
from jtruth.latent.infer.normal import MOST_TOGETHER
from jtruth.learning.em.columns import expected_counts, posterior_of
from jtruth.learning.em.laplace import laplace_draws
from jtruth.learning.em.streaming import Smoothing, Stream, begin_stream
from jtruth.learning.joint.guard import check_identified
from jtruth.learning.joint.inputs import prior_decides
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import check_level

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
    target: str = parts.IN_SAMPLE,
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
    choose("target", target, tuple(parts.OF_LABELERS))
    data = read_labels_alone(labels, gold, key=key, level=level, labelers_are=labelers_are, progress=progress)
    data.target, when = target, read_order(order, data)
    if data.num_gold and target != parts.IN_SAMPLE:
        raise ValueError(GOLD_IS_IN_SAMPLE.format(target))
    return _report_of(data, when)


def _report_of(data: Inputs, when: np.ndarray | None = None) -> LabelerReport:
    """What readings of the labels say of each labeler, with checks."""
    labels, level, by_gold = data.own_labels(), data.level, data.num_gold > 0
    first = first_look(labels, data.gold, {}, by_gold and data.sampling.at_random)
    fit = ranges.labels_fit(data, ranges.ANSWER_EFFORT)
    found, doubts = _members(data, fit)
    warnings = tuple(dict.fromkeys((*data.notes, *doubts, *(fit.warnings if by_gold else ()))))
    odd = suspicions(labels)
    if not by_gold and all(member.fit is None for member in found):
        none = (*first, *refused(fit.warnings[0]))
        return LabelerReport(level, data.classes, (), (), warnings, fit, data.stated, none, suspicious=odd)
    checks = _checks(data, fit, when)
    posterior = labels_posterior([member.fit for member in found], labels)
    rows, laws = _rows(data, posterior, found, fit)
    readings = tuple((member.name, member.sentence) for member in found)
    if by_gold:
        warnings += gold_warnings(data)
        checks += random_gold_checks(data, posterior)
    elif all_refused(checks):  # what each assumption says means nothing then
        rows, readings = tuple(row | {"by_assumption": {}} for row in rows), ()
        warnings = (REFUSED, *warnings)
    prior = fit.prior.mean(0)
    if fit.usable:
        habits, likely = behaviour_of(labels, prior, fit.mean_matrices, when, data.some_gold)
        rows = tuple({**row, **habits[str(row["worker"])]} for row in rows)
        odd = (*swap_findings(rows, data.classes), *likely, *odd)
    return LabelerReport(
        level=level, classes=data.classes, rows=rows, prior=tuple(prior.tolist()),
        warnings=warnings if by_gold else (*warnings, ONLY_GOLD), posterior=fit, key=data.stated,
        checks=(*first, *checks), assumed=() if by_gold else (parts.MORE_RIGHT,), suspicious=odd,
        target=data.target, interval_kind="posterior" if by_gold else parts.PREDICTIVE,
        rests_on=BY_GOLD if by_gold else rests_on(data.labelers_are), assumptions=readings, laws=laws,
    )  # fmt: skip


def _checks(data: Inputs, fit: JointPosterior, when: np.ndarray | None) -> tuple[parts.Check, ...]:
    """What the labels say against independent errors of the labelers."""
    labels, aside = data.own_labels(), stream(data.key, "labeler checks")
    if not fit.usable:
        return refused(fit.warnings[0])
    prior = fit.prior.mean(0)
    checks = labeler_checks(labels, prior, fit.mean_matrices, aside, gold=data.gold, order=when)
    if data.target == parts.IN_SAMPLE and not data.num_gold:
        checks += labeler_check(labels, fit, data.level)
    return (*checks, *(data.missing or missing_check(labels, fit.class_posterior)))


def _members(data: Inputs, fit: JointPosterior) -> tuple[list[parts.Assumption], tuple[str, ...]]:
    """Readings of the labels without gold; `fit` is that of independence, with gold if there is some."""
    doubt = check_identified(data.own_labels(), None, None, False)
    if doubt is not None:
        return [], (BY_GOLD_ONLY.format(doubt) if data.num_gold else doubt,)
    known = {} if data.num_gold else {INDEPENDENT: fit}
    found, doubts = ranges.readings(
        data.without_gold(), stream(data.key, "labelers"), known=known, keep_all=True
    )
    return found, tuple(doubts)


def _rows(
    data: Inputs, posterior: np.ndarray, found: list[parts.Assumption], fit: JointPosterior
) -> tuple[tuple[dict[str, Any], ...], dict[str, DrawsEstimate]]:
    """A dictionary for each labeler, the worst first, and the laws of their accuracies."""
    labels, level = data.own_labels(), data.level
    draws = labeler_draws(found, labels, data.target, data.key)
    laws = labeler_laws(draws, labels, data.labelers_are)
    if data.num_gold:
        laws = labeler_laws_by_gold(laws, labels, posterior, data.known, data.key)
    alone = next((member.fit for member in found if member.fit is not None), fit)
    workers = labels.worker_names
    rows = labeler_rows(
        workers, labels.labels_per_labeler(), parts.means_and_ends(laws, level),
        alone, level,
        {name: np.ma.masked_invalid(one).mean(axis=0).filled(np.nan) for name, one in draws.items()},
    )  # fmt: skip
    return rows, {str(name): law for name, law in zip(workers, laws, strict=True)}


_CHEAP = 50_000  # labels times classes
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


_ONE_READING: dict[str, Any] = {
    "assumed": (parts.INDEPENDENT_ERRORS, parts.MORE_RIGHT),
    "assumptions": (("independent", parts.INDEPENDENT_ERRORS),),
}


def the_prior(num_classes: int) -> Smoothing:
    """Pseudo-counts that stand for the prior of `fit_joint` in the basis of the normal law."""
    return Smoothing(2.0, 1.0 / (num_classes - 1), 1.0)


def quick_labelers(labels: Labels | Stream, *, key: Any = None, level: float = 0.95) -> LabelerReport:
    """What `evaluate_labelers` says of each labeler, by the normal law around a mode instead of sampling.

    Where labels are few, and not too few for their labelers, all is as there, but that independence is read
    by weighed draws of that law. Else, and of a stream, EM and the law at its mode are the one reading: the
    share of the labels given that are right, expected at the mode, has the spread of the chance that a new
    label is right, and then the predictive law of `jtruth.evaluation.assumptions.model_error`.

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
        if _few(named):
            data = read_labels_alone(named, key=key, level=level)
            data.normal = True
            return _report_of(data)
        odd, notes = suspicions(named), tuple(map(Read, named.notes))
        if named.tasks is None or named.workers is None:
            named = named.with_names(tasks=range(named.num_samples), workers=range(named.num_labelers))
        state = begin_stream(named, smoothing=the_prior(named.num_classes))
    posterior = posterior_of(state.patterns, state.prior, state.matrices)
    draws = laplace_draws(state, as_key(key), posterior)
    counts = expected_counts(state.patterns, posterior, len(state.workers))[0] + state.closed_matrices
    number, kind = counts.sum(axis=(1, 2)), check_kind(None)
    right = np.trace(counts, axis1=1, axis2=2) / np.maximum(number, 1)
    values = np.clip(draws.labeler_accuracy - draws.labeler_accuracy.mean(axis=0) + right, 0, 1)
    laws = laws_of({"independent": values}, OVERALL, kind, np.maximum(number, 1.0))
    rows = labeler_rows(state.workers, np.rint(number), parts.means_and_ends(laws, level), draws, level)
    warnings = (*notes, *draws.warnings, QUICK.format(draws.how), ONLY_GOLD)
    return LabelerReport(
        level, tuple(map(str, state.classes)), rows, tuple(draws.prior.mean(axis=0).tolist()), warnings,
        draws, stated(key), suspicious=odd, rests_on=rests_on(kind), **_ONE_READING,
    )  # fmt: skip


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
    draws = fit.matrix_draws()
    if fit.usable:
        accuracies = list(zip(*ends_of(draws.labeler_accuracy, level).values(), strict=True))
        rows = labeler_rows(labels.worker_names, labels.labels_per_labeler(), accuracies, draws, level)
        warnings, checks = (*draws.warnings, BY_MODEL.format(draws.how), BY_ONE_MODEL), ()
    else:
        rows, warnings, checks = (), fit.warnings, refused(fit.warnings[0])
    return LabelerReport(
        level, tuple(map(str, labels.class_names)), rows, tuple(draws.prior.mean(axis=0).tolist()),
        (*map(Read, labels.notes), *warnings), draws, stated(key), checks, suspicious=suspicions(labels),
        target=parts.POPULATION, interval_kind="posterior", **_ONE_READING,
    )  # fmt: skip


def _few(labels: Labels) -> bool:
    """Whether weighed draws take less than to compile EM, and no population of labelers is needed."""
    size = labels.num_labelers * labels.num_classes**2
    cheap = labels.num_labels * labels.num_classes <= _CHEAP and size < MOST_TOGETHER
    return cheap and not prior_decides(labels) and check_identified(labels, None, None, False) is None
