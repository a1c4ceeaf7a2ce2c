"""Answers where error rates are learned: over all assumptions, or under one that somebody vouches for."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jtruth._random import Key, stream
from jtruth.evaluation.answers import names_of, of_nothing
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.of_labelers import labeler_draws, labeler_laws
from jtruth.evaluation.assumptions.predictive import PredictiveTable, readings_of
from jtruth.evaluation.assumptions.registry import INDEPENDENT, Progress, entries, granted
from jtruth.evaluation.assumptions.what_if import Rows, RowsOnDemand, WhatIf
from jtruth.evaluation.checks.prior_driven import vouched_check
from jtruth.evaluation.inputs import Inputs
from jtruth.evaluation.labeler_rows import Labeler, worst_first
from jtruth.evaluation.parts import Assumption, Check
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate
from jtruth.tables.posterior import estimates
from jtruth.testing.tested import Tested


class Predicted(NamedTuple):
    """The predictive answer, what each assumption says, and the labelers."""

    answer: Tested
    what_if: WhatIf
    labelers: tuple[Labeler, ...]


def vouched(
    data: Inputs, assume: str, level: float, key: Key, progress: Progress | None
) -> tuple[Tested, tuple[Assumption, ...], tuple[Check, ...], tuple[Labeler, ...]]:
    """Somebody vouches for an assumption: one law, of equally many draws of every model that makes it.

    Returns:
        The answer, its line, whether the priors of these models decide it, and the labelers.
    """
    some = [entry for entry in entries(data) if entry.group == assume]
    found, doubts = ranges.members(some, data, key, progress=progress)
    if not found:
        return of_nothing(data, "bayes")._replace(warnings=tuple(doubts)), (), (), ()
    answer = ranges.pooled_answer(found, data)
    laws = estimates(answer.table, *names_of(data))
    one = Assumption(assume, granted(assume, learned=True), laws, None, answer.table)
    draws = list(
        labeler_draws(found, data.own_labels(), data.target, stream(key, "vouched labelers")).values()
    )
    size = min(map(len, draws))
    alike = np.concatenate([part[np.linspace(0, len(part) - 1, size).astype(int)] for part in draws])
    labelers = _labelers(data, [DrawsEstimate(column) for column in alike.T], level)
    return answer._replace(warnings=tuple(doubts)), (one,), vouched_check(found, data, level), labelers


def over_assumptions(
    data: Inputs, fit: JointPosterior, level: float, key: Key, progress: Progress | None
) -> Predicted:
    """Nobody vouches for anything: readings of the labels, widened by what such readings missed elsewhere.

    `fit` is that of independence. If no model has an answer there is none, whatever the votes say.
    """
    some = [entry for entry in entries(data) if entry.reading]
    found, doubts = ranges.members(some, data, key, progress=progress, known={INDEPENDENT: fit})
    what_if = RowsOnDemand(data, key, progress)
    if all(member.fit is None for member in found) and len(what_if.rows) == len(found):
        return Predicted(of_nothing(data, "bayes")._replace(warnings=tuple(doubts)), Rows(), ())
    table = PredictiveTable(readings_of(found), data.labelers_are)
    answer = Tested("bayes", table, None, float("nan"), (ranges.ONLY_GOLD, *doubts), *names_of(data))
    labels = data.own_labels()
    draws = labeler_draws(found, labels, data.target, stream(key, "labelers of a range"))
    labelers = _labelers(data, labeler_laws(draws, labels, data.labelers_are), level)
    return Predicted(answer, what_if, labelers)


def _labelers(data: Inputs, laws: Sequence[Estimate], level: float) -> tuple[Labeler, ...]:
    rows = worst_first(data.own_labels(), [(law.mean, *law.interval(level)[:2]) for law in laws])
    return tuple(one for _, one in rows)
