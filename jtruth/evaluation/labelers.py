"""How good is every labeler? Accuracy and confusion matrix, predictive or by gold.

Without gold a labeler gets what a classifier gets: a predictive law, what readings of the labels say
widened by how far they were off elsewhere (`jtruth.evaluation.assumptions.of_labelers`). With gold labelers
are judged by it (`jtruth.evaluation.gold.labelers`). Confusion matrices are those of independent errors.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from jtruth._random import Stated, as_key, stated, stream
from jtruth._validation import choose
from jtruth.answers import Answer, Shown
from jtruth.evaluation._given import as_labels
from jtruth.evaluation.assumptions import learned, ranges
from jtruth.evaluation.assumptions.model_error import check_kind, rests_on
from jtruth.evaluation.assumptions.of_labelers import (
    labeler_draws,
    labeler_laws,
    matrix_ends,
)
from jtruth.evaluation.assumptions.registry import INDEPENDENT, entries, nobody_judged
from jtruth.evaluation.checks.first_look import Look, first_look
from jtruth.evaluation.checks.missing import missing_check
from jtruth.evaluation.checks.prior_driven import labeler_check
from jtruth.evaluation.checks.random_gold import random_gold_check
from jtruth.evaluation.checks.verdicts import labeler_checks, refused
from jtruth.evaluation.consensus_report import consensus_table
from jtruth.evaluation.gold.answer import BY_GOLD, gold_warnings, labels_posterior
from jtruth.evaluation.gold.labelers import labeler_laws_by_gold
from jtruth.evaluation.gold.measured import GoldSampling
from jtruth.evaluation.inputs import read_gold, read_sampling
from jtruth.evaluation.labeler_behaviour import with_behaviour
from jtruth.evaluation.labeler_rows import saved_draws, worst_first
from jtruth.evaluation.labeler_words import swap_findings
from jtruth.evaluation.labelers_blocks import labelers_blocks
from jtruth.evaluation.order import read_labelled
from jtruth.evaluation.parts import PREDICTIVE, Check
from jtruth.evaluation.text import IN_SAMPLE, MORE_RIGHT, OF_LABELERS
from jtruth.inspection import Finding, suspicions
from jtruth.io.gold import Gold
from jtruth.labels import Labels
from jtruth.learning.joint.guard import check_identified
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.learning.labeler_draws import LabelerDraws
from jtruth.sampling.watch import Watch
from jtruth.stats.regions import check_level

ONLY_GOLD = (
    "labels alone cannot show whether labelers are wrong together, hence the width: only gold can tell. Find "
    "out the truth of 30 samples chosen at random (gold=...)"
)
BY_GOLD_ONLY = "labels alone determine nothing ({}): gold alone answers, corrected by vote shares"
GOLD_IS_IN_SAMPLE = (
    "target={!r} has no answer with gold: gold says which of the labels given are right. Leave target out"
)


@dataclass(frozen=True, repr=False)
class LabelerReport(Answer):
    """Every labeler, worst first; `rows` are dictionaries ready for JSON."""

    level: float
    classes: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]  # worker, num_labels, accuracy, low, high, ...: see to_dict
    prior: tuple[float, ...]
    warnings: tuple[str, ...]
    posterior: JointPosterior | LabelerDraws  # of independent errors, gold clamped
    key: Stated
    checks: tuple[Check, ...] = ()
    assumed: tuple[str, ...] = ()  # what the numbers rest on, a sentence each
    suspicious: tuple[Finding, ...] = ()  # what is odd in the labels, as `inspect_labels` finds it
    target: str = IN_SAMPLE  # what accuracies are meant
    interval_kind: str = PREDICTIVE  # or "posterior" (gold)
    rests_on: str = ""  # what the accuracies take for granted
    assumptions: tuple[tuple[str, str], ...] = ()  # name and sentence of those of `by_assumption`

    def blocks(self) -> Shown:
        """The question, the answer and what stands behind it, for all faces."""
        return labelers_blocks(self)

    def noise_dict(self, workers: Any = None) -> dict[str, Any]:
        """Error rates and prior as `read_noise` (and `--noise`) takes them: means, and draws beside them.

        Whoever takes the means for known forgets how well they are known: intervals become narrower.

        Args:
            workers: names of the labelers in the order of `posterior`; left out, no draws are written.

        Raises:
            ValueError: labels that determine nothing.
        """
        if not self.rows:
            raise ValueError("these labels do not determine error rates: there is nothing to save")
        matrices = {row["worker"]: row["confusion_matrix"]["mean"] for row in self.rows}
        found = {"classes": list(self.classes), "prior": list(self.prior), "confusion_matrices": matrices}
        if workers is None:
            return found
        return found | {"draws": saved_draws(self.posterior, list(map(str, workers)))}

    def consensus(self, labels: Labels) -> tuple[list[str], list[list[Any]]]:
        """Header and rows of a table: each task's most probable class and its class probabilities."""
        return consensus_table(labels, self.posterior.class_posterior)


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
            (`jtruth.evaluation.gold.labelers`).
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
    first = first_look(Look(labels, {}, known, named and sampling.unknown))
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
    rows = _rows(how, found, fit)
    if named:
        warnings += gold_warnings(sampling.unknown, int((known >= 0).sum()))
        checks += random_gold_check(how.posterior, known, key, names) if sampling.unknown else ()
    if fit.usable:
        rows, behaviour = with_behaviour(
            rows, labels, prior, fit.mean_matrices, when, known if named else None
        )
        odd = (*swap_findings(rows, names), *behaviour, *odd)
    said_of = nobody_judged(labels)
    return LabelerReport(
        level, names, rows, tuple(prior.tolist()), (*warnings, *(() if named else (ONLY_GOLD,))), fit, given,
        (*first, *checks), () if named else (MORE_RIGHT,), odd, target,
        "posterior" if named else PREDICTIVE, BY_GOLD if named else rests_on(kind),
        tuple((member.name, member.entry.said_of(said_of)) for member in found),
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


def _rows(asked: _Asked, found: list[ranges.Member], fit: JointPosterior) -> tuple[dict[str, Any], ...]:
    """A dictionary for each labeler, the worst first."""
    labels, level = asked.labels, asked.level
    draws = labeler_draws(found, labels, asked.target, asked.key)
    laws = labeler_laws(draws, labels, asked.labelers_are)
    if asked.named:
        laws = labeler_laws_by_gold(laws, labels, asked.posterior, asked.gold, asked.sampling, asked.key)
    alone = next((member.fit for member in found if member.fit is not None), fit)
    matrices = matrix_ends(alone, level)
    rows = worst_first(labels, [(law.mean, *law.interval(level)[:2]) for law in laws])
    return tuple(
        asdict(row) | {
            "by_assumption": {k: _mean(v[:, t]) for k, v in draws.items()},
            "confusion_matrix": {name: part[t].tolist() for name, part in matrices.items()},
        }
        for t, row in rows
    )  # fmt: skip


def _mean(draws: np.ndarray) -> float | None:
    return None if np.isnan(draws).all() else float(np.nanmean(draws))
