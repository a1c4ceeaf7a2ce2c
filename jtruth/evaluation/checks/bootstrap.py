"""p-values of the checks of learned error rates, by parametric bootstrap, and what is looked at.

Label sets are drawn from the fitted model and fitted again, so that a statistic is compared with what it is
when the model is true and its parameters had to be learned. A check with several components (one for each
class, labeler or pair) takes the largest standardised one; the observed set is one of those that mean and
standard deviation come from, which makes it exchangeable with the others when the model holds.

A statistic is a row for every set. All but `patterns` are sums of products of residuals. The residual of a
label under class c is 1(label is not c) - P(it is not c); under the model the residuals of two raters of one
sample are uncorrelated given the class, so a sum of their products, each weighted with the posterior of c, is
the score of the model that lets these two depend on one another. The classifier is the last rater.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from jtruth._random import Key, host_rng
from jtruth._validation import present
from jtruth.evaluation.checks.label_sets import (
    Design,
    Fitted,
    Modes,
    Parameters,
    Sets,
    observed,
    simulate,
    sum_by,
)
from jtruth.labels import Labels

_ENTRIES = 3_000_000  # labels of all simulated sets together, of up to four classes
_USUAL, _MANY = 4, 16  # classes: beyond the first a label counts as more; beyond the second more is allowed
_FEWEST, _MOST = 99, 399  # simulated sets
_BATCH = 400_000  # labels handled at once
_RATIOS = ("label patterns", "given prior")  # large is bad, small is good
_LEAST_SHARED, _MAX_PAIRS, _MAX_RATERS = 5, 300, 1000  # samples in common; looked at


class Component(NamedTuple):
    """One check: its p-values, and which component stands out."""

    p_values: np.ndarray  # (sets,) of each set among all; the first is the observed one
    worst: int  # component with the largest standardised value
    value: float  # that value: standard deviations from what is expected (a likelihood ratio: the ratio)

    @property
    def p_value(self) -> float:
        """Of the observed set."""
        return float(self.p_values[0])


class Pairs(NamedTuple):
    """Pairs of labels of one sample by two raters, of those raters with the most samples in common."""

    raters: np.ndarray  # (pairs, 2)
    pair: np.ndarray  # (entries,) which pair of raters
    first: np.ndarray  # (entries,) entry of the first rater's label
    second: np.ndarray


class Bootstrap(NamedTuple):
    """All checks of one label set."""

    checks: dict[str, Component]
    adjusted: dict[str, float]  # p-values for all checks together: below .05 in 5 % of the sets that fit
    pairs: np.ndarray  # (pairs, 2) raters behind the components of "pairwise agreement"
    num_samples: int  # samples that were looked at
    design: Design


def bootstrap(
    raters: Labels,
    start: Parameters,
    key: Key,
    *,
    gold: np.ndarray | None = None,
    order: np.ndarray | None = None,
    prior: np.ndarray | None = None,
) -> Bootstrap:
    """Check the model of independent errors on labels of all raters, the classifier last.

    Args:
        raters: labels, the classifier's predictions as the last rater's.
        start: parameters near the mode.
        key: JAX random key.
        gold: (samples,) known classes, -1 elsewhere.
        order: (samples,) when each sample was labelled, from -1 to 1; adds the check "drift".
        prior: (classes,) class prior that is held fixed.
    """
    rng = host_rng(key, "model bootstrap")
    raters, gold, order = _some_samples(raters, gold, order, rng)
    real = observed(raters, gold, order)
    num = int(np.clip(_ENTRIES // _size(real.design), _FEWEST, _MOST))
    pairs = rater_pairs(real)

    def every(sets: Sets, fitted: Fitted) -> dict[str, np.ndarray]:
        found = _statistics(sets, fitted, pairs)
        if prior is not None:
            found["given prior"] = _prior_ratio(sets, fitted)
        return found

    values = _sets(real, start, every, num, rng, prior)
    if len(pairs.raters):
        values["labeler misfit"] = _by_rater(
            values["pairwise agreement"], pairs.raters, real.design.num_raters
        )
    found = {name: (ratio if name in _RATIOS else largest)(one) for name, one in values.items()}
    checks = {name: one for name, one in found.items() if one is not None}
    adjusted = _adjusted({name: one.p_values for name, one in checks.items()})
    if real.design.num_raters > 2:
        differ = _sets(real, start, _alike, min(num, _FEWEST), rng, prior, alike=True)["labelers alike"]
        checks |= {name: one for name, one in {"labelers alike": largest(differ)}.items() if one is not None}
    return Bootstrap(checks, adjusted, pairs.raters, raters.num_samples, real.design)


def _sets(
    real: Sets,
    start: Parameters,
    measure: Callable[[Sets, Fitted], dict[str, np.ndarray]],
    num: int,
    rng: np.random.Generator,
    prior: np.ndarray | None,
    *,
    alike: bool = False,
) -> dict[str, np.ndarray]:
    """Statistics of the observed set and, below it, of `num` sets drawn from its mode."""
    mode = Modes(real, prior, alike=alike).fit(start, max_cycles=300, tol=1e-6)
    parts = [measure(real, mode)]
    left, step = num, max(1, _BATCH // _size(real.design))
    while left > 0:
        drawn = simulate(real, mode.parameters, np.exp(mode.log_p[0]), min(step, left), rng)
        parts.append(measure(drawn, Modes(drawn, prior, alike=alike).fit(mode.parameters)))
        left -= step
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _size(design: Design) -> int:
    """Labels of a set, or rows of matrices; all is done to each of them once for every class."""
    number = max(design.row.size, design.num_raters * design.num_classes)
    return int(number * max(design.num_classes / _USUAL, 1))


def _alike(sets: Sets, fitted: Fitted) -> dict[str, np.ndarray]:
    return {"labelers alike": alike(sets, residuals(sets, fitted))}


def _prior_ratio(sets: Sets, fitted: Fitted) -> np.ndarray:
    """2 (log-likelihood with the prior free - with the prior held), (sets, 1)."""
    free = Modes(sets).fit(fitted.parameters, max_cycles=40)
    return 2 * (sets.weight * (free.log_p - fitted.log_p)).sum(axis=1, keepdims=True)


def _by_rater(agreement: np.ndarray, pairs: np.ndarray, num_raters: int) -> np.ndarray:
    """Sum of squared standardised residuals of each rater's pairs, (sets, raters)."""
    sd = agreement.std(axis=0)
    z = (agreement - agreement.mean(axis=0)) / np.where(sd > 0, sd, np.inf)
    member = (pairs[:, :, None] == np.arange(num_raters)).any(axis=1)
    return z**2 @ member


def _statistics(sets: Sets, fitted: Fitted, pairs: Pairs) -> dict[str, np.ndarray]:
    """Every statistic that the design allows, (sets, components)."""
    found = {}
    if sets.design.kind is not None:
        found["label patterns"] = patterns(sets, fitted)
    r = residuals(sets, fitted)
    if len(pairs.raters):
        found["pairwise agreement"] = agreement(sets, fitted, pairs)
    if sets.design.num_raters > 2:
        found["labelers share errors"] = labelers_together(sets, r)
    found["classifier and hard samples"] = classifier_with_difficulty(sets, r)
    found["classifier and single labelers"] = classifier_with_labeler(sets, r)
    if sets.design.order is not None:
        found["drift"] = drift(sets, r)
    return found


def largest(values: np.ndarray) -> Component | None:
    """The largest standardised component of each set of (sets, components); None where nothing varies."""
    sd = values.std(axis=0)
    alive = sd > 1e-6 * max(1.0, float(np.abs(values).max()))
    if not alive.any():
        return None
    z = np.where(alive, (values - values.mean(axis=0)) / np.where(alive, sd, 1.0), 0.0)
    worst = int(np.abs(z[0]).argmax())
    return Component(p_values(np.abs(z).max(axis=1)), worst, float(z[0, worst]))


def ratio(values: np.ndarray) -> Component:
    """A likelihood ratio, (sets, 1)."""
    return Component(p_values(values[:, 0]), 0, float(values[0, 0]))


def p_values(size: np.ndarray) -> np.ndarray:
    """Share of the sets, itself among them, whose statistic is at least as large, for every set."""
    return (size[None, :] >= size[:, None] - 1e-12).mean(axis=1)


def _adjusted(ranks: dict[str, np.ndarray]) -> dict[str, float]:
    """Westfall and Young: how often the smallest p-value of a set is as small as each of the first set's."""
    if not ranks:
        return {}
    smallest = np.min(list(ranks.values()), axis=0)
    return {name: float((smallest <= p[0] + 1e-12).mean()) for name, p in ranks.items()}


def _some_samples(
    raters: Labels, gold: np.ndarray | None, order: np.ndarray | None, rng: np.random.Generator
) -> tuple[Labels, np.ndarray | None, np.ndarray | None]:
    """A random part of the samples, where labels are so many that the bootstrap would take long."""
    classes = raters.num_classes
    most = int(_ENTRIES / _FEWEST / max(classes / _USUAL, 1) * max(classes / _MANY, 1))
    complete = raters.num_classes ** min(raters.num_labelers, 30) <= raters.num_samples and order is None
    if len(raters.sample) <= most or complete:
        return raters, gold, order
    size = max(1, int(raters.num_samples * most / len(raters.sample)))
    chosen = np.sort(rng.choice(raters.num_samples, size, replace=False))
    gold, order = (None if a is None else a[chosen] for a in (gold, order))
    return raters.restrict(chosen), gold, order


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
