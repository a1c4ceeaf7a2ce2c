"""What the checks look at: statistics of label sets under fitted error rates, one row for every set.

All but `patterns` are sums of products of residuals. The residual of a label under class c is
1(label is not c) - P(it is not c); under the model the residuals of two raters of one sample are uncorrelated
given the class, so a sum of their products, each weighted with the posterior of c, is the score of the model
that lets these two depend on one another. The classifier is the last rater.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from jtruth._validation import present
from jtruth.evaluation.checks._fit import Fitted
from jtruth.evaluation.checks.sets import Sets, sum_by

_LEAST_SHARED = 5  # samples that two raters need in common
_MAX_PAIRS = 300
_MAX_RATERS = 1000


class Pairs(NamedTuple):
    """Pairs of labels of one sample by two raters, of those raters with the most samples in common."""

    raters: np.ndarray  # (pairs, 2)
    pair: np.ndarray  # (entries,) which pair of raters
    first: np.ndarray  # (entries,) entry of the first rater's label
    second: np.ndarray


def rater_pairs(sets: Sets) -> Pairs:
    """Pairs of raters who share samples, looked for among the raters with most labels.

    Weights are those of the first set. Memory follows the labels, not the pairs of labels of a sample.
    """
    design = sets.design
    weight = sets.weight[0][design.row]
    given = np.bincount(design.rater, weight, design.num_raters)
    busy = np.sort(np.argsort(-given, kind="stable")[:_MAX_RATERS])
    place = np.full(design.num_raters, -1)
    place[busy] = np.arange(busy.size)
    entries = np.flatnonzero(place[design.rater] >= 0)
    one = (design.row[entries], place[design.rater[entries]])
    seen = sparse.csr_array((np.ones(entries.size), one), shape=(design.known.size, busy.size))
    weighted = sparse.csr_array((weight[entries], one), shape=seen.shape)
    shared = np.triu((seen.T @ weighted).toarray(), 1).ravel()
    usable = np.flatnonzero(shared >= _LEAST_SHARED)
    chosen = np.sort(usable[np.argsort(-shared[usable], kind="stable")[:_MAX_PAIRS]])
    raters = np.stack([busy[chosen // busy.size], busy[chosen % busy.size]], axis=1)
    of_rater = {t: np.flatnonzero(design.rater == t) for t in np.unique(raters)}  # in the order of the rows
    met = [_met(design.row, of_rater[a], of_rater[b]) for a, b in raters]
    pair = np.repeat(np.arange(len(met)), [first.size for first, _ in met])
    first, second = (np.concatenate([[], *(m[k] for m in met)]).astype(np.intp) for k in (0, 1))
    return Pairs(raters, pair, first, second)


def _met(row: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of entries `a` and `b`, each in the order of their rows, every pair in one row."""
    left, right = (np.searchsorted(row[b], row[a], side) for side in ("left", "right"))
    times = right - left
    within = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    return np.repeat(a, times), b[np.repeat(left, times) + within]


def patterns(sets: Sets, fitted: Fitted) -> np.ndarray:
    """Likelihood-ratio statistic G2 of the pattern counts, (sets, 1); every possible pattern is a row."""
    design = sets.design
    kind, kind_size = present(design.kind, "the kind of a row"), present(design.kind_size, "the kinds' sizes")
    p = np.exp(fitted.log_p)
    per_kind = sum_by(p, kind, kind_size.size)
    expected = p / per_kind[:, kind] * kind_size[kind]
    seen = sets.weight > 0
    ratio = np.where(seen, sets.weight / np.maximum(expected, 1e-300), 1.0)
    return 2 * (sets.weight * np.log(ratio)).sum(axis=1, keepdims=True)


def agreement(sets: Sets, fitted: Fitted, pairs: Pairs) -> np.ndarray:
    """Agreements minus expected agreements of every pair of raters, (sets, pairs)."""
    design, theta = sets.design, fitted.parameters.matrices
    same = (sets.label[:, pairs.first] == sets.label[:, pairs.second]).astype(np.float64)
    given = np.einsum("spck,spck->spc", theta[:, pairs.raters[:, 0]], theta[:, pairs.raters[:, 1]])
    marginal = np.einsum("sc,spc->sp", fitted.parameters.prior, given)
    row = design.row[pairs.first]
    known = design.known[row]
    chance = marginal[:, pairs.pair]
    if (known >= 0).any():
        chance = np.where(known >= 0, given[:, pairs.pair, np.maximum(known, 0)], chance)
    weight, size = sets.weight[:, row], len(pairs.raters)
    spread = np.sqrt(sum_by(chance * (1 - chance) * weight, pairs.pair, size))
    return sum_by((same - chance) * weight, pairs.pair, size) / np.maximum(spread, 1e-12)


class Residuals(NamedTuple):
    """Posterior weights and residuals, class by class."""

    weight: np.ndarray  # (classes, sets, rows) posterior times samples of the row
    entry: np.ndarray  # (classes, sets, entries)
    classifier: np.ndarray  # (classes, sets, rows) residual of the classifier's label
    labelers: np.ndarray  # (classes, sets, rows) sum over the labelers' residuals


def residuals(sets: Sets, fitted: Fitted) -> Residuals:
    """Residuals of every label under every class."""
    design, theta = sets.design, fitted.parameters.matrices
    classes = range(design.num_classes)
    own = np.einsum("stcc->cst", theta)
    entry = np.stack([(sets.label != c) - (1 - own[c][:, design.rater]) for c in classes])
    last = np.flatnonzero(design.rater == design.num_raters - 1)
    classifier = np.zeros((*entry.shape[:2], design.known.size))
    classifier[:, :, design.row[last]] = entry[:, :, last]
    labelers = design.per_row(entry) - classifier
    weight = np.moveaxis(fitted.posterior, 2, 0) * sets.weight
    return Residuals(weight, entry, classifier, labelers)


def labelers_together(sets: Sets, r: Residuals) -> np.ndarray:
    """Products of the residuals of two labelers of a sample, by true class, (sets, classes)."""
    squares = sets.design.per_row(r.entry**2) - r.classifier**2
    return _studentised(r.weight, (r.labelers**2 - squares) / 2)


def classifier_with_difficulty(sets: Sets, r: Residuals) -> np.ndarray:
    """The classifier's residual times the mean one of the sample's labelers, by class, (sets, classes)."""
    number = np.maximum(sets.design.per_row(np.ones(sets.design.row.size)) - 1, 1)
    return _studentised(r.weight, r.classifier * r.labelers / number)


def classifier_with_labeler(sets: Sets, r: Residuals) -> np.ndarray:
    """The classifier's residual times that of one labeler, (sets, labelers)."""
    row = sets.design.row
    term, weight = r.entry * r.classifier[:, :, row], r.weight[:, :, row]
    total = sets.design.per_rater((weight * term).sum(axis=0))
    spread = np.sqrt(sets.design.per_rater((weight * term**2).sum(axis=0)))
    return (total / np.maximum(spread, 1e-12))[:, :-1]


def alike(sets: Sets, r: Residuals) -> np.ndarray:
    """Residuals of each labeler by true class, under one matrix for all, (sets, labelers * classes)."""
    row = sets.design.row
    parts = [sets.design.per_rater(e * w[:, row])[:, :-1] for e, w in zip(r.entry, r.weight, strict=True)]
    return np.concatenate(parts, axis=1)


def drift(sets: Sets, r: Residuals) -> np.ndarray:
    """Residuals of each rater times when the label was given, (sets, raters)."""
    design, order = sets.design, present(sets.design.order, "the order of labels")
    return design.per_rater((r.entry * r.weight[:, :, design.row]).sum(axis=0) * order)


def _studentised(weight: np.ndarray, term: np.ndarray) -> np.ndarray:
    """Sums of weight * term over the roots of those of weight * term^2, (sets, classes)."""
    spread = np.sqrt((weight * term**2).sum(axis=2))
    return ((weight * term).sum(axis=2) / np.maximum(spread, 1e-12)).T
