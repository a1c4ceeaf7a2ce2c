"""Checks of the labels against assumptions about their labelers.

**Labels missing by class.** If the number of labels n_i of a sample is unrelated to its class, the class
probabilities p_i average to the class shares for every n_i: S_c = sum_i (n_i - mean n) p_ic has mean 0, and
S' V^+ S with V = sum_i (n_i - mean n)^2 r_i r_i', r_i = p_i - mean p, is chi-square with classes - 1 degrees
of freedom.

**Exchangeable labelers.** Histograms ignore who gave a label, which is right if labels of one sample are
independent draws from the same class probabilities (Mimori et al. 2021, D.6). Then every exchange of labels
within a sample is equally likely, so the permutation test is exact; its statistic is the sum over labelers
and classes (and groups of samples) of (count - expected)^2 / variance.

**Groups of labelers** who agree with one another more than any accuracy allows, and so repeat each other's
mistakes. Let K_ij be the agreement of labelers i and j beyond that of their use of the classes,

    K_ij = mean over common samples of 1(z_i = z_j) - p_j[z_i] - p_i[z_j] + p_i . p_j.

If they err independently given the class (with more than two, each alike in all), K_ij = f_i f_j, and no f
exceeds that of a perfect labeler. The f are fitted by least squares; the residual of each pair is compared
with its spread over resampled samples, and the largest with the largest of those (false alarms 1 in 100). It
also needs four labelers and agreements 3 points above expectation. If few other labelers remain it does not
show which group is independent; mistakes that all labelers share cannot be seen.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse
from scipy.special import chdtrc

from jtruth._host import cross_table
from jtruth._random import Key, host_rng
from jtruth._validation.coded import collapse_rows
from jtruth._validation.times import moment_text
from jtruth._validation.words import quoted, some
from jtruth.evaluation.checks.label_sets import sum_by
from jtruth.evaluation.parts import LOOK_FIRST, WORTH_KNOWING, Check
from jtruth.labels import Labels
from jtruth.learning.behaviour import Behaviour

Pairs = Float[np.ndarray, "raters raters"]
Linked = Bool[np.ndarray, "raters raters"]
Coded = Int[np.ndarray, "samples raters"]
REFUSED = (
    "The checks reject every model of these labels, so estimates under each assumption are not shown. The "
    "interval reflects the errors of such labels on public data."
)
MISSING = "labels missing by class"
_LEVEL = 0.01
_UNRELATED = "the number of labels of a sample is unrelated to its class"
_RELATED = (
    "samples that are probably of class {!r} have {} labels than others. The models ignore the number of "
    "labels, so shares, precision and recall may be biased. Collect labels independently of the class, or "
    "verify 30 random samples"
)
_ANSWERED = (
    "samples that are probably of class {!r} have {} labels than others: here class shares depend on the "
    "number of labels"
)
EXCHANGEABLE = "exchangeable labelers"
_ALARM = 0.05
_NAMED = 3  # changes in a sentence
_TWO_DAYS = 172_800.0  # seconds
_BY_DATE = "Grade early and late samples separately"
NO_DRIFT = "no labeler's accuracy changes over time, in any class"
_TO_DO = "Histograms then depend on who was asked. Ask random labelers, or model them: evaluate_labelers"
GROUPS = "groups of labelers"
EVERYBODY = "groups of labelers, everybody in one"
_AGAIN, _MOST_RATERS, _MOST_SAMPLES, _LEAST_SHARED = 199, 20, 2000, 30
_LARGE, _STEPS, _ROUNDS = 0.03, 60, 4
_EXTREME, _MOST, _FEW = 0.1, 0.75, 3  # excess of agreement; share of labelers in groups; others that may copy
_NO_GROUPS = "no labelers agree more often than their agreement with the others explains"
_TOGETHER = (
    "labelers {} agree with one another more often than their agreement with the others explains ({:.0%} "
    "instead of {:.0%}; p <= {:.2g}): {}. Keep one labeler of such a group, or verify 30 random samples"
)
_THEY = "they repeat each other's mistakes"
_EITHER = "either they repeat each other's mistakes, or {} do; the labels cannot tell which"
_SO_DO = "so do {}, and at least one of these groups repeats its own mistakes; the labels cannot tell which"


def missing_check(
    labels: Labels, class_posterior: Float[np.ndarray, "samples classes"], *, answered: bool = False
) -> tuple[Check, ...]:
    """Check for labels missing by class; `answered`: class shares already depend on the number of labels."""
    number = labels.labels_per_sample().astype(np.float64)
    labeled = number > 0
    if np.unique(number[labeled]).size < 2:
        return ()
    away = number[labeled] - number[labeled].mean()
    rest = class_posterior[labeled] - class_posterior[labeled].mean(axis=0)
    score, spread = away @ rest, (rest * away[:, None] ** 2).T @ rest
    value = float(score @ np.linalg.pinv(spread, rcond=1e-9, hermitian=True) @ score)
    p_value = float(chdtrc(class_posterior.shape[1] - 1, value))
    size = f"chi-square {value:.1f}, p = {p_value:.2g}"
    if p_value >= _LEVEL:
        return (Check(MISSING, value, p_value, "fits", f"{_UNRELATED} ({size})"),)
    worst = int(np.argmax(np.abs(score) / np.sqrt(np.maximum(np.diagonal(spread), 1e-300))))
    more = "more" if score[worst] > 0 else "fewer"
    text = (_ANSWERED if answered else _RELATED).format(str(labels.class_names[worst]), more)
    verdict = WORTH_KNOWING if answered else "does not fit"
    return (Check(MISSING, value, p_value, verdict, f"{text} ({size})"),)


def by_number(labels: Labels, class_posterior: Float[np.ndarray, "samples classes"]) -> tuple[Check, ...]:
    """The check once models learn shares for each number of labels; empty if they need not."""
    if not any(check.verdict == "does not fit" for check in missing_check(labels, class_posterior)):
        return ()
    return missing_check(labels, class_posterior, answered=True)


def exchangeability_check(
    labels: Labels, *, key: Key, groups: np.ndarray | None = None, permutations: int = 499
) -> Check:
    """Permutation test that the labelers of a sample are interchangeable, within `groups` of samples."""
    sample, labeler, label = labels.entries()
    counts = labels.counts()
    use = ((counts > 0).sum(axis=1) > 1)[sample]
    if not use.any():
        text = "no sample has two different labels, so differences between labelers cannot be seen"
        return Check(EXCHANGEABLE, None, None, "cannot be seen", text)
    order = np.flatnonzero(use)[np.argsort(sample[use], kind="stable")]
    sample, labeler, label = (a[order] for a in (sample, labeler, label))
    group = np.zeros(labels.num_samples, np.int64) if groups is None else np.asarray(groups, np.int64)
    num_groups = int(group.max()) + 1
    row = labeler * num_groups + group[sample]
    size = (labels.num_labelers * num_groups, labels.num_classes)
    shares = counts[sample] / counts[sample].sum(axis=1, keepdims=True)
    expected, variance = (sum_by(s.T, row, size[0]).T for s in (shares, shares * (1 - shares)))

    def departures(labels: np.ndarray) -> np.ndarray:
        away = (cross_table(row, labels, size) - expected) ** 2
        return np.where(variance > 0, away / np.where(variance > 0, variance, 1.0), 0.0)

    observed = departures(label)
    statistic, rng = float(observed.sum()), host_rng(key, "exchangeability")
    above = 0
    for _ in range(permutations):
        shuffled = label[np.argsort(sample + rng.random(sample.size), kind="stable")]
        above += departures(shuffled).sum() >= statistic * (1 - 1e-12)
    p_value = (1 + above) / (permutations + 1)
    if p_value > _ALARM:
        text = f"no difference between labelers is visible (p = {p_value:.2g})"
        return Check(EXCHANGEABLE, statistic, p_value, "fits", text)
    worst, k = np.unravel_index(np.argmax(observed), size)
    name = labels.worker_names[int(worst) // num_groups]
    rate = cross_table(row, label, size)[worst, k]
    text = (
        f"labelers differ on the same samples (p = {p_value:.2g}): {str(name)!r} gave "
        f"{str(labels.class_names[k])!r} {rate} times where {expected[worst, k]:.1f} are expected. {_TO_DO}"
    )
    return Check(EXCHANGEABLE, statistic, p_value, "does not fit", text)


# Of pairs: agreement beyond one factor, the same in standard deviations, the p-value of the largest, and
# which pairs no accuracy explains.
Excess = tuple[Pairs, Pairs, float,
               Linked]  # fmt: skip


def groups_check(labels: Labels, key: Key) -> tuple[Check, ...]:
    """Check for groups of labelers, by first labels; nothing with fewer than four who share samples."""
    z, names = _most_labels(labels, key)
    first = excess(z, labels.num_classes, key, np.zeros((len(names),) * 2, bool)) if len(names) > 3 else None
    if first is None:
        return ()
    left, size, p_value, linked = first
    if p_value > _LEVEL or not linked.any():
        return (Check(GROUPS, float(left.max()), p_value, "fits", f"{_NO_GROUPS} (p = {p_value:.2g})"),)

    def means(groups: list[np.ndarray]) -> list[float]:
        """Mean excess of the linked pairs of each group."""
        pairs = (np.ix_(group, group) for group in groups)
        return [float(left[pair][linked[pair]].mean()) for pair in pairs]

    groups = _groups(linked, size)
    many = len(groups) > 1 and sum(map(len, groups)) >= _MOST * len(names)
    everybody = many and min(means(groups)) >= _EXTREME
    if not everybody:
        linked, left = _one_by_one(z, labels.num_classes, key, first)
        groups = _groups(linked, left)
    beyond = means(groups)[0]
    pairs = [z[:, pair] for pair in np.argwhere(np.triu(linked, 1)) if pair[0] in groups[0]]
    same = float(np.mean([np.equal(*pair[(pair >= 0).all(axis=1)].T).mean() for pair in pairs]))
    rest = np.setdiff1d(np.arange(len(names)), groups[0])
    named, *others = (quoted((names[t] for t in group), 8) for group in (*groups, rest))
    if len(groups) > 1:
        why = _SO_DO.format(" and ".join(others[:-1]))
    else:
        why = _EITHER.format(*others) if 2 <= rest.size <= max(_FEW, groups[0].size) else _THEY
    text = _TOGETHER.format(named, same, same - beyond, p_value, why)
    return (Check(EVERYBODY if everybody else GROUPS, beyond, p_value, "does not fit", text),)


def _one_by_one(z: Coded, classes: int, key: Key, left_over: Excess | None) -> tuple[Linked, Pairs]:
    """Pairs beyond any accuracy and their excess: group after group, with earlier ones set aside."""
    linked, left = np.zeros((z.shape[1],) * 2, bool), np.zeros((z.shape[1],) * 2)
    aside = linked.copy()
    for _ in range(_ROUNDS):
        if left_over is None or left_over[2] > _LEVEL or not left_over[3].any():
            break
        beyond, size, _, sure = left_over
        inside = np.ix_(*[_groups(sure, size)[0]] * 2)
        linked[inside] |= sure[inside]
        left[inside] = np.where(aside[inside], left[inside], beyond[inside])
        aside[inside] = True
        left_over = excess(z, classes, key, aside)
    return linked, left


def _groups(linked: Linked, size: Pairs) -> list[Int[np.ndarray, " members"]]:
    """Connected groups of labelers, the one with the largest excess first."""
    _, part = sparse.csgraph.connected_components(linked, directed=False)
    groups = [np.flatnonzero(part == k) for k in np.unique(part) if (part == k).sum() > 1]
    return sorted(groups, key=lambda group: -size[np.ix_(group, group)].max())


def _most_labels(labels: Labels, key: Key) -> tuple[Coded, list[str]]:
    """Labels of the most active labelers, one a sample, on some thousand samples; and their names."""
    number = labels.labels_per_labeler()
    raters = np.sort(np.argsort(-number, kind="stable")[:_MOST_RATERS])
    raters = raters[number[raters] >= _LEAST_SHARED]
    z = np.full((labels.num_samples, len(raters)), -1, np.int16)
    sample, labeler, label = (a[::-1] for a in labels.select_labelers(raters).entries())
    z[sample, labeler] = label  # NumPy keeps the last assignment, which is the first label
    shared = np.flatnonzero((z >= 0).sum(axis=1) >= 2)
    if shared.size > _MOST_SAMPLES:
        shared = np.sort(host_rng(key, "groups: samples").choice(shared, _MOST_SAMPLES, replace=False))
    return z[shared], [str(labels.worker_names[t]) for t in raters]


def excess(z: Coded, classes: int, key: Key, aside: Linked) -> Excess | None:
    """Residuals of one factor for the agreement of pairs, without those `aside`; None if pairs are few."""
    first, _, times = collapse_rows(z)
    rows = z[first]
    votes = np.array([rows == c for c in range(classes)], np.float64)  # (classes, rows, raters)
    present = (rows >= 0).astype(np.float64)
    shared = present.T @ (present * times[:, None])
    use = (shared >= _LEAST_SHARED) & ~np.eye(len(shared), dtype=bool) & ~aside
    if use.sum() / 2 <= len(shared) or (use.sum(axis=1) < 2).any():
        return None
    rng, weights = host_rng(key, "groups: again"), np.where(use, shared, 0.0)
    shares = (votes.sum(axis=2) @ times) / max(present.sum(axis=1) @ times, 1)
    most = float(1 - (0.5 * shares + 0.5 / classes) @ (0.5 * shares + 0.5 / classes))
    drawn = np.array([times, *rng.multinomial(len(z), times / len(z), size=_AGAIN)], np.float64)
    left, *lefts = _left(votes, present, drawn, weights, most)
    spread = np.maximum(np.where(use, np.std(lefts, axis=0), np.inf), 1e-9)
    size = np.where(use, left / spread, 0.0)
    chance = ((lefts - left) / spread).max(axis=(1, 2), where=use, initial=0.0)
    p_value = (1 + int((chance >= size.max()).sum())) / (1 + _AGAIN)
    sure = use & (size > np.quantile(chance, 1 - _LEVEL)) & (left > _LARGE)
    return left, size, p_value, sure


def _left(
    votes: np.ndarray, present: np.ndarray, times: np.ndarray, pairs: np.ndarray, most: float
) -> Float[np.ndarray, "repetitions raters raters"]:
    """K - f f' with row counts `times` (repetitions, rows); f by least squares weighted by `pairs`."""

    def met(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """How often pairs of raters are in these states together."""
        together = (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)
        return (times @ together).reshape(len(times), *pairs.shape)

    shared = np.maximum(met(present, present), 1e-9)
    beyond = sum(met(vote, vote) for vote in votes) / shared
    for vote in votes:  # how j uses the classes on the samples shared with i
        use = met(present, vote) / shared
        beyond -= use * use.swapaxes(1, 2)
    top, wanted = most**0.5, beyond * pairs
    start = np.clip(wanted.sum(axis=(1, 2)) / pairs.sum(), 0.01, most)
    f = np.repeat(np.sqrt(start)[:, None], len(pairs), axis=1)
    for _ in range(_STEPS):
        new = np.einsum("rij,rj->ri", wanted, f) / np.maximum(f**2 @ pairs.T, 1e-12)
        f = 0.5 * (f + np.clip(new, -top, top))
    return beyond - f[:, :, None] * f[:, None, :]


def refusal(labels: Labels, key: Any) -> tuple[str, ...]:
    """`REFUSED` if the checks that need labels alone reject every model."""
    return (REFUSED,) if all_refused(groups_check(labels, key)) else ()


def all_refused(checks: Sequence[Any]) -> bool:
    """Whether the labels contradict every model of labelers.

    This holds for copied labels (alarms). It also holds if groups that agree by 10 points more than any
    accuracy allows have three quarters of all labelers, and neither pairs nor patterns of labels fit
    independent errors.
    """
    verdicts = {check.name: check.verdict for check in checks}
    if LOOK_FIRST in (verdicts.get("labelers never disagree"), verdicts.get("labelers stand twice")):
        return True
    against = (verdicts.get(name, "does not fit") for name in ("pairwise agreement", "label patterns"))
    return EVERYBODY in verdicts and all(verdict == "does not fit" for verdict in against)


def drift_findings(
    behaviour: Behaviour, who: Sequence[str], classes: Sequence[str], order: np.ndarray | None, unit: str = ""
) -> tuple[tuple[Check, ...], tuple[Check, ...]]:
    """Labelers who changed, a finding for each class, and the check; `unit` precedes times without date."""
    if behaviour.drift is None or order is None or np.isnan(behaviour.drift).all():
        return (), ()
    p, least, known = behaviour.drift, float(np.nanmin(behaviour.drift)), order[np.isfinite(order)]
    cells = [(t, c) for t, c in np.argwhere(p < _ALARM).tolist()]
    cells.sort(key=lambda cell: p[cell])
    if not cells:
        return (), (Check("drift", None, least, "fits", f"{NO_DRIFT} (p = {least:.2g})"),)
    short, changes = bool(np.ptp(known) < _TWO_DAYS), {c: [] for _, c in cells}
    for t, c in cells:
        before, after, moment = (getattr(behaviour, k)[t, c] for k in ("before", "after", "moment"))
        changes[c].append(
            f"that of {who[t]} {'fell' if after < before else 'rose'} from {100 * before:.0f} % to "
            f"{100 * after:.0f} % after {moment_text(moment, short, unit)} "
            f"({100 * (known <= moment).mean():.0f} % of the samples are earlier)"
        )
    findings = []
    for c, texts in changes.items():
        more = f"; {len(texts) - _NAMED} more in the JSON" if len(texts) > _NAMED else ""
        text = f"Recall of class {classes[c]!r} changed: {'; '.join(texts[:_NAMED])}{more}. {_BY_DATE}."
        findings.append(Check("drift", message=text))
    names = some(list(dict.fromkeys(who[t] for t, _ in cells)), _NAMED)
    check = f"{names} changed over time (p = {least:.2g}). {_BY_DATE}"
    return tuple(findings), (Check("drift", None, least, "does not fit", check),)
