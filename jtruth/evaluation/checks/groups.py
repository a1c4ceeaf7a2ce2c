"""Labelers who agree with one another beyond what any accuracy allows: groups that repeat their mistakes.

Let K_ij be how much more often labelers i and j agree than their use of the classes makes them,

    K_ij = mean over common samples of 1(z_i = z_j) - p_j[z_i] - p_i[z_j] + p_i . p_j.

If they err independently given the class (of more than two classes, each alike in all), K_ij = f_i f_j: a
labeler brings one number, and none is beyond that of a labeler who is always right.
Two panels of three who copy inside each panel do not fit that, however good anybody is: inside K is larger,
across it is smaller, than any f allows. The f are fitted by least squares; what is left of each pair is held
against its spread over samples drawn again, and the largest against the largest of those (one p-value for all
pairs; false alarms 1 in 100 by construction). It also needs four labelers and agreements 3 points above what
is expected, for in thousands of samples every small departure is certain.

What it can show: at least one of the groups it names does not judge by itself. What it cannot: which one,
where the others are few (three who copy make two who do not look like a pair), and mistakes that ALL labelers
share, which look like truth. Measured: two panels of three who copy (slips 0 to 5 %) are named in 20 of 20
sets of 300 samples, 16 of 20 of 200; of 400 sets of independent labelers one raised it.

`all_refused` says when such departures leave no model that could be believed.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse.csgraph import connected_components

from jtruth._random import Key, host_rng
from jtruth._validation.words import quoted
from jtruth.evaluation.parts import LOOK_FIRST, Check
from jtruth.labels import Labels

NAME = "groups of labelers"
EVERYBODY = "groups of labelers, everybody in one"
LEVEL = 0.01
_AGAIN, _MOST_RATERS, _MOST_SAMPLES, _LEAST_SHARED = 199, 20, 2000, 30
_LARGE, _STEPS, _ROUNDS = 0.03, 60, 4
_EXTREME, _MOST, _FEW = 0.1, 0.75, 3  # excess of agreement; share of labelers in groups; others that may copy
FITS = "no labelers agree more often than their agreement with all others allows"
MISFIT = (
    "labelers {} agree with one another more often than any accuracy allows, given how they agree with all "
    "others ({:.0%} where {:.0%} are to be expected; p <= {:.2g}): {}. Count such a group as one labeler "
    "(keep one of it), or find out the truth of 30 samples chosen at random"
)
THEY = "they repeat each other's mistakes"
EITHER = "either they repeat each other's mistakes, or {} do, and the labels cannot say which"
SO_DO = "so do {}, and at least one of these groups repeats its own mistakes; the labels cannot say which"


class Excess(NamedTuple):
    """Agreement of pairs beyond one factor."""

    left: Float[np.ndarray, "raters raters"]  # K - f f'
    size: Float[np.ndarray, "raters raters"]  # in standard deviations
    p_value: float  # of the largest
    sure: Float[np.ndarray, "raters raters"]  # pairs that no accuracy explains


def groups_check(labels: Labels, key: Key) -> tuple[Check, ...]:
    """The check; nothing with fewer than four labelers who share samples.

    Args:
        labels: of all labelers; their first for each sample.
        key: of the samples drawn again.
    """
    z, who = _most_labels(labels, key)
    if len(who) < 4:
        return ()
    first = excess(z, labels.num_classes, key, np.zeros((len(who),) * 2, bool))
    if first is None:
        return ()
    names = [str(name) for name in labels.workers or range(labels.num_labelers)]
    if first.p_value > LEVEL or not first.sure.any():
        text = f"{FITS} (p = {first.p_value:.2g})"
        return (Check(NAME, float(first.left.max()), first.p_value, "fits", text),)
    groups, linked, left = _groups(first.sure, first.size), first.sure, first.left
    everybody = len(groups) > 1 and sum(map(len, groups)) >= _MOST * len(who) and all(
        _mean(left, linked, group) >= _EXTREME for group in groups
    )  # fmt: skip
    if not everybody:
        linked, left = _one_by_one(z, labels.num_classes, key, first)
        groups = _groups(linked, left)
    more = _mean(left, linked, groups[0])
    pairs = np.argwhere(np.triu(linked, 1))
    same = float(np.mean([_agree(z[:, i], z[:, j]) for i, j in pairs if i in groups[0]]))
    said = [quoted((names[who[t]] for t in group), 8) for group in groups]
    rest = np.setdiff1d(np.arange(len(who)), groups[0])
    why = THEY
    if len(groups) > 1:
        why = SO_DO.format(" and ".join(said[1:]))
    elif 2 <= rest.size <= max(_FEW, groups[0].size):
        why = EITHER.format(quoted((names[who[t]] for t in rest), 8))
    text = MISFIT.format(said[0], same, same - more, first.p_value, why)
    return (Check(EVERYBODY if everybody else NAME, more, first.p_value, "does not fit", text),)


def _mean(left: np.ndarray, linked: np.ndarray, group: np.ndarray) -> float:
    """Mean excess of the linked pairs of a group."""
    return float(left[np.ix_(group, group)][linked[np.ix_(group, group)]].mean())


def _one_by_one(
    z: Int[np.ndarray, "samples raters"], classes: int, key: Key, found: Excess | None
) -> tuple[Bool[np.ndarray, "raters raters"], Float[np.ndarray, "raters raters"]]:
    """Pairs beyond any accuracy and their excess: group after group, each without those before it.

    A pair that copies makes others look too much alike as well; held aside, they no longer do.
    """
    linked, left = np.zeros((z.shape[1],) * 2, bool), np.zeros((z.shape[1],) * 2)
    aside = linked.copy()
    for _ in range(_ROUNDS):
        if found is None or found.p_value > LEVEL or not found.sure.any():
            break
        inside = np.ix_(*[_groups(found.sure, found.size)[0]] * 2)
        linked[inside] |= found.sure[inside]
        left[inside] = np.where(aside[inside], left[inside], found.left[inside])
        aside[inside] = True
        found = excess(z, classes, key, aside)
    return linked, left


def _groups(
    linked: Bool[np.ndarray, "raters raters"], size: Float[np.ndarray, "raters raters"]
) -> list[Int[np.ndarray, " members"]]:
    """Labelers whom pairs connect, the group of the largest first."""
    _, part = connected_components(linked, directed=False)
    groups = [np.flatnonzero(part == k) for k in np.unique(part) if (part == k).sum() > 1]
    return sorted(groups, key=lambda group: -size[np.ix_(group, group)].max())


def _most_labels(labels: Labels, key: Key) -> tuple[Int[np.ndarray, "samples raters"], list[int]]:
    """Labels of those with the most, one a sample, on some thousand samples that have two at least."""
    number = labels.labels_per_labeler()
    who = np.sort(np.argsort(-number, kind="stable")[:_MOST_RATERS])
    who = who[number[who] >= _LEAST_SHARED]
    z = np.full((labels.num_samples, len(who)), -1, np.int16)
    sample, labeler, label = (a[::-1] for a in labels.select_labelers(who).entries())
    z[sample, labeler] = label  # NumPy keeps the last assignment, which is the first label
    seen = np.flatnonzero((z >= 0).sum(axis=1) >= 2)
    if seen.size > _MOST_SAMPLES:
        seen = np.sort(host_rng(key, "groups: samples").choice(seen, _MOST_SAMPLES, replace=False))
    return z[seen], who.tolist()


def _agree(one: np.ndarray, two: np.ndarray) -> float:
    both = (one >= 0) & (two >= 0)
    return float((one == two)[both].mean())


def excess(
    z: Int[np.ndarray, "samples raters"], classes: int, key: Key, aside: Bool[np.ndarray, "raters raters"]
) -> Excess | None:
    """What one factor leaves of the agreement of pairs, without those `aside`; None where pairs are few."""
    said = np.array([z == c for c in range(classes)], np.float64)  # (classes, samples, raters)
    seen = (z >= 0).astype(np.float64)
    shared = seen.T @ seen
    use = (shared >= _LEAST_SHARED) & ~np.eye(len(shared), dtype=bool) & ~aside
    if use.sum() / 2 <= len(shared) or (use.sum(axis=1) < 2).any():
        return None
    rng, weights = host_rng(key, "groups: again"), np.where(use, shared, 0.0)
    shares = said.sum(axis=(1, 2)) / max(said.sum(), 1)
    most = float(1 - (0.5 * shares + 0.5 / classes) @ (0.5 * shares + 0.5 / classes))
    lefts = [_left(said, seen, np.ones(len(z)), weights, most)]
    for _ in range(_AGAIN):
        again = rng.multinomial(len(z), np.full(len(z), 1 / len(z))).astype(np.float64)
        lefts.append(_left(said, seen, again, weights, most))
    left, others = lefts[0], np.array(lefts[1:])
    spread = np.where(use, others.std(axis=0), np.inf)
    spread = np.maximum(spread, 1e-9)
    size = np.where(use, left / spread, 0.0)
    chance = ((others - left) / spread).max(axis=(1, 2), where=use, initial=0.0)
    p_value = (1 + int((chance >= size.max()).sum())) / (1 + _AGAIN)
    sure = use & (size > np.quantile(chance, 1 - LEVEL)) & (left > _LARGE)
    return Excess(left, size, p_value, sure)


def _left(
    said: np.ndarray, seen: np.ndarray, weight: np.ndarray, pairs: np.ndarray, most: float
) -> Float[np.ndarray, "raters raters"]:
    """K - f f' of samples that count so often, f by least squares over `pairs` (their weights)."""
    shared = np.maximum(seen.T @ (seen * weight[:, None]), 1e-9)
    again = said * weight[:, None]
    same = (said.transpose(0, 2, 1) @ again).sum(axis=0) / shared
    use = seen.T @ again / shared  # (classes, i, j): how j uses the classes on the samples it shares with i
    beyond = same - (use * use.transpose(0, 2, 1)).sum(axis=0)
    f, top = (
        np.full(len(beyond), np.sqrt(np.clip((beyond * pairs).sum() / pairs.sum(), 0.01, most))),
        most**0.5,
    )
    for _ in range(_STEPS):
        new = np.clip((beyond * pairs) @ f / np.maximum(pairs @ f**2, 1e-12), -top, top)
        f = 0.5 * (f + new)
    return beyond - np.outer(f, f)


def all_refused(checks: Sequence[Any]) -> bool:
    """Whether the labels contradict every model of labelers, so that no assumption's answer means anything.

    So where labels of different labelers are one label (alarms "labelers never disagree", "labelers stand
    twice"); or where groups that agree by 10 points beyond any accuracy hold three quarters of all labelers,
    and neither the agreement of pairs nor (where they can be counted) the patterns of labels fit independent
    errors: panels that copy inside each. One pair or one group that copies does not reach it.

    Args:
        checks: `Check`s of an answer.
    """
    said = {check.name: check.verdict for check in checks}
    if LOOK_FIRST in (said.get("labelers never disagree"), said.get("labelers stand twice")):
        return True
    against = (said.get(name, "does not fit") for name in ("pairwise agreement", "label patterns"))
    return EVERYBODY in said and all(verdict == "does not fit" for verdict in against)
