"""One label from many, and how often that one label is wrong: TARS (1)-(5).

The labels of a sample become its most probable class given them (2). What is kept beside it is the law of
this *rule*, r[y, k] = P(consolidated label k | true class y) (3)-(5): how often the rule, applied to labels
that these labelers might have given, says k. It depends on who labelled the sample and on nothing that they
said. That is what makes the estimators of `counts` unbiased.

Samples labelled by equal sets of labelers share one law. Where it comes from:

- two classes and independent labelers: the sign of a sum of log-odds, exact up to 36 different labelers and
  any number of equal ones;
- more classes, or labelers that depend on each other through a hidden stratum: all label vectors, up to a
  few million numbers;
- else draws (`error` is their largest standard error);
- a difficulty that is known for each sample is a part of who labelled it.

Ties (two reliable labelers who disagree) go to one of the tied classes at random, as in the paper, or to the
first of them. Log-odds that are 0 up to rounding are a tie.
"""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from jtruth._host import log
from jtruth._one_line import one_line
from jtruth._random import as_key, host_rng
from jtruth._validation import choose
from jtruth.labels import Labels
from jtruth.noise import NoiseModel
from jtruth.noise.base import Strata
from jtruth.posterior import check_not_contradictory, validate_prior
from jtruth.stats.poisson_binomial import binomial_pmf

TOLERANCE = 1e-12  # log-odds of so small a part of the largest possible are 0 but for rounding
_MOST_NUMBERS = 1 << 22  # strata x classes x label vectors that are enumerated
_MOST_VALUES = 1 << 18  # of one half of the labelers: 18 different ones
_DRAWS = 20_000  # for each class, where they are too many

Members = tuple[int | None, tuple[int, ...]]  # a known stratum, and the labelers


def law_of_rule(
    strata: Strata, members: Members, prior: np.ndarray, ties: str, key: Any
) -> tuple[np.ndarray, float]:
    """(classes, classes) P(rule says k | true class c), and how far that may be off."""
    stratum, labelers = members
    rows, weights = strata.rows[:, list(labelers)], strata.weights
    if stratum is not None:
        rows, weights = rows[stratum : stratum + 1], np.ones((1, prior.size))
    if len(rows) == 1 and prior.size == 2 and (law := independent_law(rows[0], prior, ties)) is not None:
        return law, 0.0
    count, symbols = rows.shape[1], rows.shape[3]
    if len(rows) * prior.size * float(symbols) ** count <= _MOST_NUMBERS:
        return enumerated_law(rows, weights, prior, ties), 0.0
    return drawn_law(rows, weights, prior, ties, key)


def independent_law(rows: np.ndarray, prior: np.ndarray, ties: str) -> np.ndarray | None:
    """Two classes, independent labelers: the sign of the log-odds, meeting in the middle.

    Equal labelers are one group, whose sum has counts + 1 values. The groups are split into two halves; the
    values of one half are sorted, and each value of the other finds by bisection how many of them leave the
    sum below 0. Log-odds may be infinite: +inf beside -inf is impossible under either class. Probabilities
    are sums of positive numbers.

    Args:
        rows: (labelers, classes, labels).
        prior: (classes,).
        ties: "random" or "first".

    Returns:
        (classes, classes) as in `law_of_rule`; None where a half has more than 2^18 values.
    """
    kinds, counts = np.unique(rows.reshape(-1, 4), axis=0, return_counts=True)
    kinds = kinds.reshape(-1, 2, 2)
    given = (kinds > 0).any(axis=1)  # (groups, labels) that somebody can give
    odds = np.where(given, log(kinds[:, 1]) - np.where(given, log(kinds[:, 0]), 0.0), 0.0)
    sizes, sides = np.log2(counts + 1.0), ([], [])
    for g in np.argsort(-sizes, kind="stable"):
        sides[int(sizes[sides[1]].sum() < sizes[sides[0]].sum())].append(g)
    if max(sizes[side].sum() for side in sides) > np.log2(_MOST_VALUES) + 1e-9:
        return None
    (first, w1), (second, w2) = (_sums(odds[side], kinds[side], counts[side]) for side in sides)
    offset = float(np.log(prior[1]) - np.log(prior[0]))
    largest = np.abs(np.where(np.isfinite(odds), odds, 0.0)).max(axis=1, initial=0.0)
    tie = TOLERANCE * max(1.0, abs(offset) + float(counts @ largest))
    below = np.searchsorted(second, -tie - offset - first, side="left")
    above = np.searchsorted(second, tie - offset - first, side="right")
    from_on = np.concatenate([np.cumsum(w2[:, ::-1], axis=1)[:, ::-1], np.zeros((2, 1))], axis=1)
    upto = np.concatenate([np.zeros((2, 1)), np.cumsum(w2, axis=1)], axis=1)
    says_1 = (w1 * from_on[:, above]).sum(axis=1)
    if ties == "random":  # few are tied: their probability is a difference, so it is summed by itself
        tied = above > below
        says_1 += 0.5 * (w1[:, tied] * (upto[:, above[tied]] - upto[:, below[tied]])).sum(axis=1)
    return np.stack([1 - says_1, says_1], axis=1)


def _sums(odds: np.ndarray, kinds: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All possible sums of log-odds of some groups, sorted, and the probability of each under each class."""
    values, weight = np.zeros(1), np.ones((2, 1))
    for two, rows, m in zip(odds, kinds, counts.tolist(), strict=True):
        often = np.stack([np.arange(m, -1, -1), np.arange(m + 1)])  # labels 0 and 1
        law = np.stack([binomial_pmf(p[1], m, p[0]) for p in rows])
        with np.errstate(invalid="ignore"):  # +inf beside -inf, and 0 times an infinite value
            step = np.where(often > 0, often * two[:, None], 0.0).sum(axis=0)
            values = (values[:, None] + step).ravel()
        weight = (weight[:, :, None] * law[:, None, :]).reshape(2, -1)
        possible = (weight > 0).any(axis=0)
        values, weight = values[possible], weight[:, possible]
    order = np.argsort(values)
    return values[order], weight[:, order]


def enumerated_law(rows: np.ndarray, weights: np.ndarray, prior: np.ndarray, ties: str) -> np.ndarray:
    """Any classes, any hidden strata: (3) as it stands, over all label vectors.

    Args:
        rows: (strata, labelers, classes, labels).
        weights: (strata, classes), p(stratum | class).
        prior: (classes,).
        ties: "random" or "first".
    """
    p = np.ones((*rows.shape[:1], prior.size, 1))
    for t in range(rows.shape[1]):
        p = (p[..., None] * rows[:, t, :, None, :]).reshape(*p.shape[:2], -1)
    of_class = np.einsum("sc,scv->cv", weights, p)
    sizes = np.abs(np.where(rows > 0, log(rows), 0.0)).max(axis=(0, 2, 3)).sum()
    return of_class @ _winners(log(prior)[:, None] + log(of_class), ties, float(sizes)).T


def drawn_law(
    rows: np.ndarray, weights: np.ndarray, prior: np.ndarray, ties: str, key: Any
) -> tuple[np.ndarray, float]:
    """The same by draws of labels, and the largest standard error."""
    rng, law = host_rng(key, "laws of consolidated labels"), np.zeros((prior.size, prior.size))
    top = np.cumsum(rows, axis=3)
    for c in range(prior.size):
        stratum = rng.choice(len(rows), _DRAWS, p=weights[:, c] / weights[:, c].sum())
        u = rng.random((_DRAWS, rows.shape[1], 1)) * top[stratum][:, :, c, -1:]
        z = (u >= top[stratum][:, :, c]).sum(axis=2)  # (draws, labelers)
        given = np.tile(log(weights), (_DRAWS, 1, 1))  # (draws, strata, classes)
        for t in range(rows.shape[1]):
            given += np.moveaxis(log(rows[:, t])[:, :, z[:, t]], 2, 0)
        of_class = np.logaddexp.reduce(given, axis=1).T
        sizes = float(np.abs(np.where(np.isfinite(of_class), of_class, 0.0)).max())
        law[c] = _winners(log(prior)[:, None] + of_class, ties, sizes).mean(axis=1)
    return law, float(np.sqrt(law * (1 - law) / _DRAWS).max())


def _winners(joint: np.ndarray, ties: str, sizes: float) -> np.ndarray:
    """(classes, vectors) share of each class in the decision; tied classes share it, or the first has it."""
    best = joint.max(axis=0, keepdims=True)
    among = (joint >= best - TOLERANCE * max(1.0, sizes)) & np.isfinite(best)
    if ties == "first":
        among &= np.cumsum(among, axis=0) == 1
    return among / np.maximum(among.sum(axis=0, keepdims=True), 1)


TIES = ("random", "first")


class Consolidated(NamedTuple):
    """One label for each sample, and the law of the rule that made it."""

    label: Int[np.ndarray, " samples"]
    rates: Float[np.ndarray, "samples classes classes"]  # P(label | true class), rows true, sum to 1
    error: Float[np.ndarray, " samples"]  # how far `rates` may be off: 0 exact; else a standard error
    tied: Bool[np.ndarray, " samples"]
    prior: Float[np.ndarray, " classes"]

    __repr__ = one_line


def consolidate(
    labels: Labels, noise: NoiseModel, prior: Any, *, ties: str = "random", key: Any = None
) -> Consolidated:
    """The most probable class of each sample given its labels, and how often that rule errs (TARS (1)-(5)).

    Args:
        labels: of any number of classes.
        noise: a noise model of known error rates that says the law of a sample's labels (`strata`).
        prior: (classes,), positive. The estimators are unbiased whatever it is; a prior near 0 or 1 makes
            rules that say the same class whatever the labels, from which nothing can be estimated.
        ties: "random", or "first" of the tied classes.
        key: of random ties and of laws by draws; 0 if None.

    Raises:
        ValueError: a model that does not say its law, a prior of 0, or labelers who cannot err and contradict
            each other (the samples are named).

    Example:
        >>> import numpy as np
        >>> from jtruth.labels import Labels
        >>> from jtruth.noise import Symmetric
        >>> labels = Labels.from_matrix(np.array([[1, 1, 0], [0, -1, -1]]), 2)
        >>> found = consolidate(labels, Symmetric(0.2, 2), [0.5, 0.5])
        >>> print(found.label, found.rates[:, 0, 1].round(3))
        [1 0] [0.104 0.2  ]
    """
    choose("ties", ties, TIES)
    prior = _positive_prior(prior, labels.num_classes)
    strata = noise.strata(labels.num_labelers)
    if strata is None:
        raise ValueError(
            f"{type(noise).__name__} does not say the law of the labels of one sample (method `strata`), so "
            "how often a consolidated label is wrong is not known; method='bayes' needs no such law"
        )
    with jax.enable_x64(True):
        log_likelihood = np.asarray(noise.log_likelihood(labels), np.float64)
    check_not_contradictory(log_likelihood, labels.tasks)
    key = as_key(key)
    label, tied = _most_probable(log_likelihood + log(prior)[None, :], ties, key)
    law_of, rates, error = {}, [], []
    for members in _who_labelled(labels, strata):
        if members not in law_of:
            law_of[members] = law_of_rule(strata, members, prior, ties, key)
        law, off = law_of[members]
        rates.append(law)
        error.append(off)
    return Consolidated(label, np.stack(rates), np.array(error), tied, prior)


def _positive_prior(prior: Any, num_classes: int) -> np.ndarray:
    """The class prior, without zeros."""
    found = validate_prior(np.asarray(prior, np.float64), num_classes)
    if (found <= 0).any():
        raise ValueError(f"prior is {found.tolist()}: a class of prior 0 is never the consolidated label")
    return found


def _most_probable(joint: np.ndarray, ties: str, key: Any) -> tuple[np.ndarray, np.ndarray]:
    """(2): the class of largest log prior + log-likelihood, and where several are."""
    best = joint.max(axis=1, keepdims=True)
    sizes = np.where(np.isfinite(joint), np.abs(joint), 1.0).max(axis=1, keepdims=True)
    among = joint >= best - TOLERANCE * np.maximum(sizes, 1.0)
    tied = among.sum(axis=1) > 1
    height = np.where(among, 1.0, 0.0)
    if ties == "random":
        height = height * host_rng(key, "ties of consolidated labels").uniform(0.5, 1.0, joint.shape)
    return height.argmax(axis=1).astype(np.int32), tied


def _who_labelled(labels: Labels, strata: Any) -> list[tuple[int | None, tuple[int, ...]]]:
    """For each sample its known stratum, if any, and its labelers, the first of those that are equal."""
    kinds = np.moveaxis(strata.rows, 1, 0).reshape(labels.num_labelers, -1)
    _, first, kind = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
    sample, labeler, label = labels.arrays
    given = label >= 0
    order = np.lexsort((labeler[given], sample[given]))
    alike = first[kind.ravel()][labeler[given]][order]
    ends = np.cumsum(np.bincount(sample[given], minlength=labels.num_samples))
    known = strata.of_sample
    return [
        (None if known is None else int(known[i]), tuple(sorted(alike[start:end].tolist())))
        for i, (start, end) in enumerate(zip(np.concatenate([[0], ends[:-1]]), ends, strict=True))
    ]
