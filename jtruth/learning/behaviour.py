"""The probability of each labeler to label at random, to copy another, or to change.

By a fit of independent labelers, the labels of each are compared under one matrix and under three others:

- *spam*: the labels do not depend on the class (all rows of the matrix are one row, learned);
- *drift*: for some class the accuracy changed at some moment;
- *duplicate*: the labels repeat another labeler's, up to slips, on the samples that both labelled.

Rows have Dirichlet priors, with the mean and spread of the others' (`population`), and are integrated out.
The class of a sample is estimated from the labels of the others, and integrated out by a variational bound,
exact where classes are certain.

Drift is tested by class. The score of a label, p(class | all labels) (1(label is wrong) - error rate), has
mean 0 while the rate stays the same. A CUSUM is its sum up to one of seven moments, less the part that the
number of samples of the class explains. The largest over all labelers, classes and moments is compared with
those of scores with random signs (wild bootstrap: Wu, Annals of Statistics 14, 1986). Each eighth of the time
has its own class shares. False alarms and power: `benchmarks/checks.py`.
"""

import math
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Num
from scipy import sparse
from scipy.special import betaln, digamma, expit, gammaln, logit, rel_entr, softmax

from jtruth import _host
from jtruth._one_line import one_line
from jtruth._random import as_key, host_rng
from jtruth.inspection import LEAST_SHARED, pairs_of
from jtruth.labels import Labels
from jtruth.learning._fit import clamp
from jtruth.posterior import validate_prior
from jtruth.stats.agreement import first_labels

_STEPS, _STILL = 200, 1e-7  # of the variational bound: logs of rates; the bound errs by its square
_AT_ONCE = 1 << 16  # labels whose classes a processor's cache holds
_PERIODS, _SHARE_STEPS, _PSEUDO = 8, 20, 5.0  # of time; EM of their class shares, drawn to the prior
_LEAST_SPREAD, _SIGNS = 3.0, 20_000_000  # variance of a CUSUM; labels of all drawn sets together
LEAST_EACH = 5  # labels before and after a change
_ALIKE = 0.8  # share of common samples with the same label, below which nobody is taken for a copy
_COPY = 19.0, 1.0  # Dirichlet concentrations of a copier's label: the same, and all others together


BEFORE = MappingProxyType({"spam": 0.05, "duplicate": 0.05})  # of anybody, any label unseen


class Behaviour(NamedTuple):
    """What `labeler_behaviour` found; a probability is NaN where there are too few labels."""

    spam: Float[np.ndarray, " labelers"]  # probability
    # p-values, for all labelers and classes together, of a change; None without an order.
    drift: Float[np.ndarray, "labelers classes"] | None
    moment: Float[np.ndarray, "labelers classes"]  # the last before the largest change
    before: Float[np.ndarray, "labelers classes"]  # share of the class that was labelled right until then
    after: Float[np.ndarray, "labelers classes"]
    pairs: Int[np.ndarray, "pairs 2"]  # of whom one may repeat the other, the most probable first
    duplicate: Float[np.ndarray, " pairs"]  # probability
    shared: Int[np.ndarray, " pairs"]  # samples that both labelled
    agreed: Int[np.ndarray, " pairs"]

    __repr__ = one_line


def labeler_behaviour(
    labels: Labels,
    prior: Float[np.ndarray, " classes"],
    matrices: Float[np.ndarray, "labelers classes classes"],
    *,
    order: Num[np.ndarray, "samples ..."] | None = None,
    gold: Int[np.ndarray, " samples"] | None = None,
    key: Any = None,
) -> Behaviour:
    """Probabilities of spam and duplicates, and a test of drift, by a fit of independent labelers.

    Args:
        labels: the noisy labels.
        prior, matrices: learned from them; no entry may be 0.
        order: when each sample, or each label (samples, labelers), was labelled; without it no test of drift.
        gold: known classes, -1 where unknown.
        key: of the random signs in the test of drift; 0 if None.

    Returns:
        `Behaviour`. A probability that equals its prior in `BEFORE` means that the labels are uninformative;
            that
        of a duplicate is divided among those with whom a labeler shares samples.

    >>> y = np.arange(200) % 2
    >>> z = np.stack([y, y, y, 1 - (np.arange(200) % 7 < 4)], axis=1)  # the last does not look
    >>> rates = np.array([[[0.95, 0.05], [0.05, 0.95]]] * 3 + [[[0.5, 0.5], [0.5, 0.5]]])
    >>> labeler_behaviour(Labels.from_matrix(z, 2), np.array([0.5, 0.5]), rates).spam.round(2).tolist()
    [0.0, 0.0, 0.0, 1.0]
    """
    if (matrices <= 0).any():
        t = int(np.argwhere((matrices <= 0).any(axis=(1, 2)))[0, 0])
        raise ValueError(
            f"the matrix of labeler {t} has a 0: learn it with pseudo-counts, or use posterior means"
        )
    prior = validate_prior(prior, labels.num_classes, labels.class_names)
    sample, labeler, label = labels.entries()
    size, classes = labels.num_labelers, labels.num_classes
    joint = _host.labels_log_likelihood(matrices, *labels.arrays, labels.num_samples) + _host.log(prior)
    own = np.log(matrices).swapaxes(0, 1).reshape(classes, -1).take(labeler * classes + label, axis=1)
    without = _shares(joint.T.take(sample, axis=1) - own).T  # by all other labels
    if gold is not None:
        without = clamp(without, np.asarray(gold)[sample])
    rows = population(matrices, labels.labels_per_labeler())
    bound = one_matrix(without, labeler, label, size, rows)
    used = labels.used
    spam = expit(_evidence(used, np.ones(classes)) - bound + logit(BEFORE["spam"]))  # one row for all classes
    change = [None, *np.full((3, size, classes), np.nan)]
    if order is not None:
        when = np.asarray(order)
        each = when if when.ndim == 1 else np.nanmean(when, axis=1)
        posterior = _by_period(joint - _host.log(prior), prior, each, gold)
        change = _change(labels, posterior, matrices, when, host_rng(as_key(key), "drift"))
    duplicates = _duplicates(labels, without, matrices)
    return Behaviour(np.where(used.sum(axis=1) > 0, spam, np.nan), *change, *duplicates)


def population(
    matrices: Float[np.ndarray, "labelers classes classes"], num_labels: Int[np.ndarray, " labelers"]
) -> Float[np.ndarray, "labelers classes classes"]:
    """Dirichlet concentrations of the rows of a labeler like the others: their mean, and a total of 3 to 20.

    With fewer than three others of 10 labels: 2 on the diagonal and 1 spread over the rest.
    """
    labelers, classes = matrices.shape[:2]
    used = (num_labels >= 10).astype(np.float64)
    number = used.sum() - used
    if number.min() < 3:
        return np.tile(_host.diagonal_rows(classes, 2.0, 1.0), (labelers, 1, 1))

    def of_others(x: np.ndarray) -> np.ndarray:
        own = used.reshape(-1, *[1] * (x.ndim - 1)) * x
        return (own.sum(axis=0) - own) / number.reshape(-1, *[1] * (x.ndim - 1))

    right = np.einsum("tcc->tc", matrices)
    mean, centre = of_others(matrices), of_others(right)
    variance = (of_others(right**2) - centre**2) * (number / (number - 1))[:, None]
    total = np.clip(centre * (1 - centre) / np.maximum(variance, 1e-6) - 1, 3.0, 20.0)
    return total[:, :, None] * mean


def one_matrix(
    without: Float[np.ndarray, "labels classes"],
    labeler: np.ndarray,
    label: np.ndarray,
    num_labelers: int,
    rows: Float[np.ndarray, "labelers classes classes"],
) -> Float[np.ndarray, " labelers"]:
    """A bound of log p(labels of t | the others' labels).

    `without` is the class posterior of each label's sample without that label; each labeler has one matrix.
    """
    place, shape = labeler * rows.shape[2] + label, (num_labelers, rows.shape[2])
    without = np.ascontiguousarray(without.T)  # (classes, labels): millions of labels, class by class
    log_without, used = _host.log(without), np.bincount(place, minlength=math.prod(shape)).reshape(shape)
    before, q, two = np.inf, without.copy(), len(without) == 2
    logs = log_without[1:] - log_without[0] if two else log_without  # of two classes those of the odds

    def counts() -> np.ndarray:
        found = [np.bincount(place, of, used.size).reshape(shape) for of in q[:-1]]
        return np.stack([*found, used - sum(found)], axis=1)

    for _ in range(_STEPS):
        alpha = rows + counts()
        mean_log = digamma(alpha) - digamma(alpha.sum(axis=2, keepdims=True))
        by_cell = [each.ravel() for each in (np.diff(mean_log, axis=1) if two else mean_log).swapaxes(0, 1)]
        for k in range(0, place.size, _AT_ONCE):
            some = slice(k, k + _AT_ONCE)
            for of, each, log in zip(q, by_cell, logs, strict=not two):
                np.add(each.take(place[some], out=of[some], mode="clip"), log[some], out=of[some])
            if two:  # p of the first, from the odds of the second
                with np.errstate(over="ignore"):
                    np.exp(q[0, some], out=q[0, some])
                np.reciprocal(1 + q[0, some], out=q[0, some])
            else:
                _shares(q[:, some])
        still, before = np.abs(mean_log - before).max(initial=0) < _STILL, mean_log
        if still:
            break
    q[1] = 1 - q[0] if two else q[1]
    entropy = -rel_entr(q, without).sum(axis=0)
    return np.bincount(labeler, entropy, num_labelers) + _evidence(counts(), rows).sum(axis=1)


def _shares(logs: Float[np.ndarray, "classes labels"]) -> Float[np.ndarray, "classes labels"]:
    """Probabilities of classes, in place of their logs; many times as fast as along the last axis."""
    logs -= logs.max(axis=0)
    np.exp(logs, out=logs)
    logs /= logs.sum(axis=0)
    return logs


def _evidence(
    counts: Num[np.ndarray, "... k"], prior: Float[np.ndarray, "... k"]
) -> Float[np.ndarray, "..."]:
    """log of the integral of prod p[k]^counts[k] over a Dirichlet: log B(prior + counts) - log B(prior)."""
    both = prior + counts
    log_beta = gammaln(both).sum(axis=-1) - gammaln(both.sum(axis=-1))
    return log_beta - gammaln(prior).sum(axis=-1) + gammaln(prior.sum(axis=-1))


def _by_period(
    log_likelihood: np.ndarray, prior: np.ndarray, order: np.ndarray, gold: np.ndarray | None
) -> Float[np.ndarray, "samples classes"]:
    """p(class | labels) with class shares near `prior` for each eighth of the time."""
    period = np.searchsorted(np.sort(order), order) * _PERIODS // order.size
    log_share = np.tile(_host.log(prior), (_PERIODS, 1))
    for _ in range(_SHARE_STEPS):
        p = softmax(log_likelihood + log_share[period], axis=1)
        p = p if gold is None else clamp(p, np.asarray(gold))
        total = np.stack([np.bincount(period, column, _PERIODS) for column in p.T], axis=1)
        log_share = _host.log(
            (total + _PSEUDO * prior) / (total + _PSEUDO * prior).sum(axis=1, keepdims=True)
        )
    return p


def _change(
    labels: Labels, posterior: np.ndarray, matrices: np.ndarray, order: np.ndarray, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "labelers classes"], ...]:
    """p-values of a change, its moment, and the share of right labels before and after."""
    sample, labeler, label = labels.entries()
    when = order[sample] if order.ndim == 1 else order[sample, labeler]
    size, classes = matrices.shape[:2]
    by_time = np.lexsort((when, labeler))
    number = np.bincount(labeler, minlength=size)
    first = np.concatenate([[True], (np.diff(when[by_time]) != 0) | (np.diff(labeler[by_time]) != 0)])
    place = np.maximum.accumulate(np.where(first, np.arange(first.size), 0))  # of the first at that moment
    place -= (np.cumsum(number) - number)[labeler[by_time]]
    cell = np.empty(label.size, np.int64)
    cell[by_time] = labeler[by_time] * _PERIODS + place * _PERIODS // number[labeler[by_time]]

    def until(values: np.ndarray) -> np.ndarray:
        """Sums of (labels, classes) up to the end of each period, (labelers, classes, periods)."""
        sums = [np.bincount(cell, column, size * _PERIODS) for column in values.T]
        return np.stack(sums).reshape(classes, size, _PERIODS).swapaxes(0, 1).cumsum(axis=2)

    mass, right = posterior[sample], label[:, None] == np.arange(classes)
    score = mass * (np.einsum("tcc->tc", matrices)[labeler] - right)
    of_class, of_right = until(mass), until(mass * right)
    part = of_class[:, :, :-1] / np.maximum(of_class[:, :, -1:], 1e-300)
    spread = np.sqrt(np.maximum(until(score**2)[:, :, -1:] * part * (1 - part), _LEAST_SPREAD))

    def largest(values: np.ndarray) -> np.ndarray:
        sums = until(values)
        return np.abs((sums[:, :, :-1] - part * sums[:, :, -1:]) / spread)

    found = largest(score)
    score -= mass * (until(score)[:, :, -1] / np.maximum(of_class[:, :, -1], 1e-300))[labeler]
    sets = int(np.clip(_SIGNS // label.size, 59, 399))
    null = np.sort([largest(score * rng.choice([-1.0, 1.0], (label.size, 1))).max() for _ in range(sets)])
    above = sets - np.searchsorted(null, found.max(axis=2) - 1e-12)
    last = found.argmax(axis=2)[:, :, None]
    before, early = (np.take_along_axis(sums, last, axis=2)[:, :, 0] for sums in (of_right, of_class))
    moment = np.full((size, _PERIODS), -np.inf)
    np.maximum.at(moment.reshape(-1), cell, when)
    moment = np.take_along_axis(np.maximum.accumulate(moment, axis=1), last[:, :, 0], axis=1)
    # who labelled at two moments or more, and often enough
    moved = (number >= 2 * LEAST_EACH) & (np.bincount(labeler[by_time], first, size) > 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        after = (of_right[:, :, -1] - before) / (of_class[:, :, -1] - early)
        numbers = (above + 1) / (sets + 1), moment, before / early, after
    return tuple(np.where(moved[:, None], values, np.nan) for values in numbers)


def _duplicates(labels: Labels, without: np.ndarray, matrices: np.ndarray) -> tuple:
    """Pairs of labelers, and the probability that one copies the other."""
    sample, labeler, label = labels.entries()
    size, pairs = (labels.num_labelers, labels.num_samples), pairs_of(labels)
    shared, agreed = pairs.shared.tocoo(), pairs.agreed
    partners = np.bincount(shared.row[shared.data >= LEAST_SHARED], minlength=size[0])
    upper = (shared.row < shared.col) & (shared.data >= LEAST_SHARED)
    one, two, number = shared.row[upper], shared.col[upper], shared.data[upper]
    same = _entries(agreed, one, two)
    close = np.flatnonzero(same >= _ALIKE * number)
    one, two, number, same = one[close], two[close], number[close], same[close]
    kept = np.flatnonzero(np.isin(np.arange(size[0]), [one, two])[labeler])
    kept = kept[first_labels(sample[kept], labeler[kept], size[0])]
    at = labeler[kept], sample[kept]
    alone = np.log((without[kept] * matrices[at[0], :, label[kept]]).sum(axis=1))  # given all other labels
    log_p, labelled = (sparse.csr_array((a, at), shape=size) for a in (alone, np.ones(kept.size)))
    on_both = (log_p @ labelled.T).tocsr()  # log p of the labels of one on the samples of both
    by_itself = np.maximum(_entries(on_both, one, two), _entries(on_both, two, one))
    slips = number - same
    copied = betaln(_COPY[0] + same, _COPY[1] + slips) - betaln(*_COPY)
    chance = BEFORE["duplicate"] / np.maximum(1, np.minimum(partners[one], partners[two]))
    log_odds = copied - slips * np.log(max(1, labels.num_classes - 1)) - by_itself + logit(chance)
    order = np.argsort(-log_odds, kind="stable")
    pair = np.stack([one, two], axis=1)[order].astype(np.int64)
    return pair, expit(log_odds[order]), *(a[order].astype(np.int64) for a in (number, same))


def _entries(table: sparse.csr_array, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    return np.asarray(table[row, column]).ravel() if row.size else np.zeros(0, table.dtype)
