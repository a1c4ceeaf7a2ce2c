"""Fits of several assumptions: the readings of which the answer is made, and what-if rows.

Labels alone do not tell a good classifier whose labelers err independently from a poorer one that shares its
mistakes with them: both worlds give the same labels. So every assumption that somebody could hold gives its
own answer, a row each; the table of assumptions (`registry`) says which are shown.

A member leaves, and a warning names it, if its classes have exchanged names, if the data are too large for
it, or if its chains disagree (R-hat of 1.1 or more, or worth fewer than 50 draws): its interval would be
luck. One that only missed the stricter standard of `EFFORT` stays, with a warning: its error is small beside
its width. If no other model is left, chains that disagree stay too. They also stay among what-if rows of
labelers and class shares (`keep_all`): draws of chains that tell different stories hold the truth more often.

The predictive answer is made of the majority vote and independence alone (`predictive`). Models that have no
say in it take most of the time, so they wait until rows are asked for (`what_if`): by
`Evaluation.assumptions`, a picture, a page, JSON or the long text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from jtruth._random import Key
from jtruth.evaluation.answers import names_of, tables_of
from jtruth.evaluation.assumptions import learned
from jtruth.evaluation.assumptions.learned import learn_shares
from jtruth.evaluation.assumptions.registry import (
    INDEPENDENT,
    Entry,
    entries,
    sampled,
    tables_in,
)
from jtruth.evaluation.inputs import Inputs, Progress
from jtruth.evaluation.parts import Assumption, Loo
from jtruth.latent import Effort, TooLarge
from jtruth.latent.fit import RowLikelihood
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.loo import psis_loo, sum_and_error
from jtruth.tables.posterior import TableDraws, estimates

LEFT_OUT = "the model {!r} is left out: {}"

# An end may have a standard error of a twentieth of the interval. Some 15 s a member, at most.
EFFORT = Effort(max_rhat=1.02, min_ess=300, max_work=3e9, max_bytes=50_000_000, ends=True, nuisance=False)
_WORST_RHAT, _FEWEST_DRAWS = 1.1, 50.0

ONLY_GOLD = (
    "labels alone cannot show whether all err together: only gold can tell, hence the width. Find out the "
    "truth of 30 samples chosen at random (gold=..., --gold FILE), or say assume='independent' if you can "
    "vouch for it"
)


class Member(NamedTuple):
    """One assumption and its answer."""

    entry: Entry
    posterior: TableDraws
    fit: JointPosterior | None  # None where nothing was sampled: the majority vote

    @property
    def name(self) -> str:
        """The assumption's."""
        return self.entry.name


def members(
    entries: Sequence[Entry],
    data: Inputs,
    key: Key,
    *,
    known: Mapping[str, JointPosterior] | None = None,
    pointwise: bool = False,
    keep_all: bool = False,
) -> tuple[list[Member], list[str]]:
    """The answers of these entries of the table, and a warning for each that cannot be given.

    `known`: fits that exist already; `pointwise`: whether new ones can be compared by `loo_of`; `keep_all`:
    whether members stay whose chains disagree. Where a new fit of independence finds labels missing by class,
    it and all members after it have class shares for each number of labels.
    """
    found, doubts = [], []
    for k, entry in enumerate(entries):
        part = replace(data, progress=_part(data.progress, k, len(entries)))
        fit = (known or {}).get(entry.name)
        counts = None if fit is None else tables_in(fit, data)
        if fit is None:
            effort = EFFORT._replace(give_up=not entry.last_resort, pointwise=pointwise)
            try:
                counts, fit = entry.fit(part, key, effort)
                if entry.name == INDEPENDENT and fit is not None and learn_shares(data, fit):
                    doubts += [check.message for check in data.missing]
                    counts, fit = entry.fit(replace(part, missing=data.missing), key, effort)
            except TooLarge as error:
                doubts.append(LEFT_OUT.format(entry.name, error))
                continue
        if counts is None or not (fit is None or fit.usable):
            reason = fit.warnings[0] if fit is not None and fit.warnings else "it has no count tables"
            doubts.append(LEFT_OUT.format(entry.name, reason))
            continue
        found.append(Member(entry, tables_of(counts, data), fit))
    return _without_luck(found, doubts, keep_all)


def _without_luck(found: list[Member], doubts: list[str], keep_all: bool) -> tuple[list[Member], list[str]]:
    """Leave members out whose chains disagree, unless no other model is left; name all that is doubtful."""
    lucky = [m for m in found if m.fit is not None and not keep_all and _disagree(m.fit)]
    if len(lucky) == sum(m.fit is not None for m in found):
        lucky = []
    for member in found:
        for text in () if member.fit is None else member.fit.warnings:
            left = LEFT_OUT.format(member.name, text)
            doubts.append(left if any(member is one for one in lucky) else f"model {member.name!r}: {text}")
    return [m for m in found if not any(m is one for one in lucky)], doubts


def _disagree(fit: JointPosterior) -> bool:
    """Whether the chains are too far from convergence for an interval; NaN: nothing moved."""
    rhat, ess = (list(values.values()) for values in (fit.convergence.rhat, fit.convergence.ess))
    worst = np.nan_to_num(rhat, nan=1.0).max(initial=1.0) >= _WORST_RHAT
    return bool(worst or np.nan_to_num(ess, nan=np.inf).min(initial=np.inf) < _FEWEST_DRAWS)


def row(member: Member, data: Inputs, loo: Loo | None = None) -> Assumption:
    """A member's line in the answer."""
    laws = estimates(member.posterior, *names_of(data))
    return Assumption(member.name, member.entry.sentence_for(data), laws, loo, member.posterior)


def loo_of(found: list[Member]) -> list[Loo | None]:
    """PSIS-LOO of every member that is a model, differences to the first of them."""
    each = [None if m.fit is None or m.fit.pointwise is None else _loo_terms(m.fit.pointwise) for m in found]
    first = next((terms for terms in each if terms is not None), None)
    out: list[Loo | None] = []
    for terms in each:
        if terms is None or first is None:
            out.append(None)
            continue
        out.append(Loo(float(terms[0].sum()), *sum_and_error(terms[0] - first[0]), terms[1]))
    return out


def _loo_terms(rows: RowLikelihood) -> tuple[np.ndarray, int]:
    """One term for each sample, and how many cannot be trusted."""
    found = psis_loo(rows.log_p, rows.relative_ess)
    bad = (found.pareto_k > found.good_k)[rows.row_of_sample]
    return found.elpd[rows.row_of_sample], int(bad.sum())


def _part(progress: Progress | None, k: int, number: int) -> Progress | None:
    """The progress of entry k of so many, as that of all of them."""
    if progress is None:
        return None
    return lambda done, planned: progress(k * planned + done, number * planned)


def what_if(data: Inputs) -> tuple[list[Assumption], list[str]]:
    """Rows of all assumptions that are shown, and doubts; independence draws what it drew in the answer."""
    effort = learned.EFFORT._replace(pointwise=True)
    alone = sampled(data, INDEPENDENT, data.key, effort)
    some = [entry for entry in entries(data) if entry.shown]
    found, doubts = members(some, data, data.key, known={INDEPENDENT: alone}, pointwise=True)
    return [row(member, data, loo) for member, loo in zip(found, loo_of(found), strict=True)], doubts
