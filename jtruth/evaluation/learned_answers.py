"""Answers where error rates are learned: over all assumptions, or under one that somebody vouches for."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jtruth._random import Key, stream
from jtruth.evaluation.answers import names_of, of_nothing
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.of_labelers import labeler_draws, labeler_ranges
from jtruth.evaluation.assumptions.registry import (
    ASSUMPTIONS,
    INDEPENDENT,
    Progress,
    entries,
    granted,
)
from jtruth.evaluation.checks.prior_driven import vouched_check
from jtruth.evaluation.gold.pooled import GoldPosterior
from jtruth.evaluation.inputs import Inputs
from jtruth.evaluation.labeler_rows import Labeler, worst_first
from jtruth.evaluation.parts import Assumption, Check
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate
from jtruth.tables.posterior import estimates
from jtruth.testing.tested import Tested


class Ranged(NamedTuple):
    """A line for each assumption, their hull, what to expect of it, and the labelers under all of them."""

    answer: Tested
    rows: tuple[Assumption, ...]
    predicted: Mapping[str, Estimate]
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
    one = Assumption(assume, granted(assume), laws, None, answer.table)
    draws = list(
        labeler_draws(found, data.own_labels(), data.target, stream(key, "vouched labelers")).values()
    )
    size = min(map(len, draws))
    alike = np.concatenate([part[np.linspace(0, len(part) - 1, size).astype(int)] for part in draws])
    labelers = _labelers(data, [DrawsEstimate(column) for column in alike.T], level)
    return answer._replace(warnings=tuple(doubts)), (one,), vouched_check(found, data, level), labelers


def over_assumptions(
    data: Inputs, fit: JointPosterior, fast: bool, level: float, key: Key, progress: Progress | None
) -> Ranged:
    """Nobody vouches for anything; where one model has no answer the others still do.

    `fit` is that of independence. If no model has an answer there is none, whatever the votes say.
    """
    known = entries(data)
    few = fast and all(entry in known for entry in ASSUMPTIONS.values() if entry.fast)
    some = [entry for entry in known if (entry.fast if few else entry.shown)]
    found, doubts = ranges.members(
        some, data, key, progress=progress, known={INDEPENDENT: fit}, pointwise=not fast
    )
    if all(member.fit is None for member in found):
        return Ranged(of_nothing(data, "bayes")._replace(warnings=tuple(doubts)), (), {}, ())
    answer = ranges.range_answer(found, data, few=few)
    rows = tuple(ranges.row(m, data, loo) for m, loo in zip(found, ranges.loo_of(found), strict=True))
    models = {m.name: m.posterior for m in found if m.entry.gold}
    expected = GoldPosterior(models, None, answer.table.shape, data.y_pred.size)
    predicted = estimates(expected, *names_of(data))
    draws = labeler_draws(found, data.own_labels(), data.target, stream(key, "labelers of a range"))
    labelers = _labelers(data, labeler_ranges(draws), level)
    return Ranged(answer._replace(warnings=(ranges.ONLY_GOLD, *doubts)), rows, predicted, labelers)


def _labelers(data: Inputs, laws: Sequence[Estimate], level: float) -> tuple[Labeler, ...]:
    rows = worst_first(data.own_labels(), [(law.mean, *law.interval(level)[:2]) for law in laws])
    return tuple(one for _, one in rows)
