"""TARS: unbiased counts of a classifier's results from noisy labels (Dolatshah et al. 2018).

**One label from many** (1)-(5). The consolidated label of a sample is its most probable class (2). With it
comes the distribution of this *rule*, R[y, k] = P(consolidated label k | true class y). R depends on who
labelled the sample and on its known difficulty, not on the labels, so the estimators are unbiased. For two
classes and independent labelers the rule is the sign of a sum of log-odds: exact up to 36 different labelers.
Otherwise all label vectors are enumerated up to a few million numbers, and drawn above that.

**Counts** (6)-(8). W = row `label` of R^-1 has the expectation "1 at the true class, 0 elsewhere": E[W(c) |
y] = sum_k R[y, k] R^-1[k, c] = [y = c]; for two classes this is (7). The count of (true class c, prediction
u) is the sum of W(c) over the samples predicted u, unbiased and not confined to 0..N. Precision is unbiased
too, recall and F are not. (Figure 3 of the paper swaps FP and FN.)

**Intervals** (9)-(15), 4.2.2, are confidence intervals for the population, by the bootstrap. Samples that
contribute equally are interchangeable, so a resample is one multinomial draw. A resample in which a metric's
denominator is not positive has no value (`probability_defined`).
"""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import ndtri

from jtruth._host import log, picked
from jtruth._one_line import one_line
from jtruth._random import as_key, host_rng, seeded
from jtruth._validation import some
from jtruth._validation.in_range import check_codes
from jtruth.labels import Labels
from jtruth.noise import NoiseModel
from jtruth.noise.base import Strata
from jtruth.posterior import check_not_contradictory, validate_prior
from jtruth.stats.estimates import Interval, check_level
from jtruth.stats.poisson_binomial import binomial_pmf
from jtruth.tables.metrics import expected_table, named_metric
from jtruth.tables.posterior import TableDraws

TOLERANCE = 1e-12  # log-odds below this share of the largest possible are ties
LEAST_SIGNAL = 0.01  # of |1 - a - b|: below it the error is more than a hundred times that of true labels
_MOST_NUMBERS = 1 << 22  # strata x classes x label vectors that are enumerated
_MOST_VALUES = 1 << 18  # of one half of the labelers: 18 different ones
_DRAWS = 20_000  # for each class, where there are too many to enumerate

Members = tuple[int | None, tuple[int, ...]]  # a known stratum, and the labelers


class Consolidated(NamedTuple):
    """One label for each sample, and the distribution of the rule that made it."""

    label: Int[np.ndarray, " samples"]
    rates: Float[np.ndarray, "samples classes classes"]  # P(label | true class), rows true, sum to 1
    error: Float[np.ndarray, " samples"]  # how far `rates` may be off: 0 exact; else a standard error
    tied: Bool[np.ndarray, " samples"]
    prior: Float[np.ndarray, " classes"]

    __repr__ = one_line


@seeded
def consolidate(labels: Labels, noise: NoiseModel, prior: Any, *, key: Any = None) -> Consolidated:
    """Find the most probable class of each sample, and how often that rule errs (TARS (1)-(5)).

    Ties are broken at random.

    Args:
        labels: of any number of classes.
        noise: a noise model of known error rates with a distribution of a sample's labels (`strata`).
        prior: (classes,), positive. The estimators are unbiased whatever it is; near 0 or 1 the rule no
            longer depends on the labels, and nothing can be estimated.
        key: for ties and for distributions by draws; 0 if None.

    Raises:
        ValueError: a noise model without `strata`, a prior of 0, or labelers who cannot err and contradict
            each other (the samples are named).

    >>> from jtruth.noise import Symmetric
    >>> labels = Labels.from_matrix(np.array([[1, 1, 0], [0, -1, -1]]), 2)
    >>> found = consolidate(labels, Symmetric(0.2, 2), [0.5, 0.5])
    >>> print(found.label, found.rates[:, 0, 1].round(3))
    [1 0] [0.104 0.2  ]
    """
    prior = validate_prior(prior, labels.num_classes, labels.class_names).astype(np.float64)
    if (prior <= 0).any():
        raise ValueError(f"prior is {prior.tolist()}: a class of prior 0 is never the consolidated label")
    strata = noise.strata(labels.num_labelers)
    if strata is None:
        raise ValueError(
            f"{type(noise).__name__} has no distribution of the labels of one sample (method `strata`), so "
            "the error rates of consolidated labels are unknown; use method='bayes'"
        )
    with jax.enable_x64(True):
        log_likelihood = np.asarray(noise.log_likelihood(labels), np.float64)
    check_not_contradictory(log_likelihood, labels.tasks)
    key = as_key(key)
    joint = log_likelihood + log(prior)[None, :]
    sizes = np.where(np.isfinite(joint), np.abs(joint), 1.0).max(axis=1, keepdims=True)
    best = joint >= joint.max(axis=1, keepdims=True) - TOLERANCE * np.maximum(sizes, 1.0)
    height = best * host_rng(key, "ties of consolidated labels").uniform(0.5, 1.0, joint.shape)
    label, tied = height.argmax(axis=1).astype(np.int32), best.sum(axis=1) > 1  # (2)
    members_of = _members_of(labels, strata)
    dist_of = {members: dist_of_rule(strata, members, prior, key) for members in set(members_of)}
    rates, error = zip(*(dist_of[members] for members in members_of), strict=True)
    return Consolidated(label, np.stack(rates), np.array(error), tied, prior)


def _members_of(labels: Labels, strata: Strata) -> list[Members]:
    """For each sample its known stratum, if any, and its labelers, equal ones by their first."""
    flat = np.moveaxis(strata.rows, 1, 0).reshape(labels.num_labelers, -1)
    _, first, which = np.unique(flat, axis=0, return_index=True, return_inverse=True)
    sample, labeler, _ = labels.entries()
    labelers = first[which.ravel()][labeler][np.argsort(sample, kind="stable")]
    ends = np.cumsum(labels.labels_per_sample())
    known = [None] * ends.size if strata.of_sample is None else strata.of_sample.tolist()
    teams = np.split(labelers, ends[:-1])
    return [(stratum, tuple(sorted(team.tolist()))) for stratum, team in zip(known, teams, strict=True)]


# ---- the distribution of the rule --------------------------------------------------------------------------


def dist_of_rule(strata: Strata, members: Members, prior: np.ndarray, key: Any) -> tuple[np.ndarray, float]:
    """P(rule gives k | true class c), (classes, classes), and its possible error."""
    stratum, labelers = members
    rows, weights = strata.rows[:, list(labelers)], strata.weights
    if stratum is not None:
        rows, weights = rows[stratum : stratum + 1], np.ones((1, prior.size))
    if len(rows) == 1 and prior.size == 2 and (dist := independent_dist(rows[0], prior)) is not None:
        return dist, 0.0
    count, symbols = rows.shape[1], rows.shape[3]
    if len(rows) * prior.size * float(symbols) ** count <= _MOST_NUMBERS:
        return enumerated_dist(rows, weights, prior), 0.0
    return drawn_dist(rows, weights, prior, key)


def independent_dist(rows: np.ndarray, prior: np.ndarray) -> np.ndarray | None:
    """Two classes, independent labelers: distribution of the sign of the log-odds.

    `rows`: (labelers, classes, labels). Equal labelers are one group, whose sum has counts + 1 values. The
    groups are split into two halves; for each value of one, bisection finds how many of the other leave the
    sum below 0. None where a half has more than 2^18 values.
    """
    distinct, counts = np.unique(rows.reshape(-1, 4), axis=0, return_counts=True)
    distinct = distinct.reshape(-1, 2, 2)
    possible = (distinct > 0).any(axis=1)  # (groups, labels)
    odds = np.where(possible, log(distinct[:, 1]) - np.where(possible, log(distinct[:, 0]), 0.0), 0.0)
    sizes, sides = np.log2(counts + 1.0), ([], [])
    for g in np.argsort(-sizes, kind="stable"):
        sides[int(sizes[sides[1]].sum() < sizes[sides[0]].sum())].append(g)
    if max(sizes[side].sum() for side in sides) > np.log2(_MOST_VALUES) + 1e-9:
        return None
    (first, w1), (second, w2) = (_sums(odds[side], distinct[side], counts[side]) for side in sides)
    offset = float(np.log(prior[1]) - np.log(prior[0]))
    largest = np.abs(np.where(np.isfinite(odds), odds, 0.0)).max(axis=1, initial=0.0)
    tie = TOLERANCE * max(1.0, abs(offset) + float(counts @ largest))
    below = np.searchsorted(second, -tie - offset - first, side="left")
    above = np.searchsorted(second, tie - offset - first, side="right")
    from_on = np.pad(np.cumsum(w2[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))
    gives_1 = (w1 * from_on[:, above]).sum(axis=1)
    # The probability of ties is a difference, so it is summed separately.
    upto, tied = np.pad(np.cumsum(w2, axis=1), ((0, 0), (1, 0))), above > below
    gives_1 += 0.5 * (w1[:, tied] * (upto[:, above[tied]] - upto[:, below[tied]])).sum(axis=1)
    return np.stack([1 - gives_1, gives_1], axis=1)


def _sums(odds: np.ndarray, distinct: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All sums of log-odds of some groups, sorted, and the probability of each under each class."""
    values, weight = np.zeros(1), np.ones((2, 1))
    for two, rows, m in zip(odds, distinct, counts.tolist(), strict=True):
        often = np.stack([np.arange(m, -1, -1), np.arange(m + 1)])  # labels 0 and 1
        dist = np.stack([binomial_pmf(p[1], m, p[0]) for p in rows])
        with np.errstate(invalid="ignore"):  # +inf beside -inf, and 0 times an infinite value
            step = np.where(often > 0, often * two[:, None], 0.0).sum(axis=0)
            values = (values[:, None] + step).ravel()
        weight = (weight[:, :, None] * dist[:, None, :]).reshape(2, -1)
        possible = (weight > 0).any(axis=0)
        values, weight = values[possible], weight[:, possible]
    order = np.argsort(values)
    return values[order], weight[:, order]


def enumerated_dist(rows: np.ndarray, weights: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """(3) over all label vectors: `rows` (strata, labelers, classes, labels), p(stratum | class)."""
    p = np.ones((*rows.shape[:1], prior.size, 1))
    for t in range(rows.shape[1]):
        p = (p[..., None] * rows[:, t, :, None, :]).reshape(*p.shape[:2], -1)
    of_class = np.einsum("sc,scv->cv", weights, p)
    sizes = np.abs(np.where(rows > 0, log(rows), 0.0)).max(axis=(0, 2, 3)).sum()
    return of_class @ _winners(log(prior)[:, None] + log(of_class), float(sizes)).T


def drawn_dist(
    rows: np.ndarray, weights: np.ndarray, prior: np.ndarray, key: Any
) -> tuple[np.ndarray, float]:
    """The same by draws of labels, and the largest standard error."""
    rng, dist = host_rng(key, "laws of consolidated labels"), np.zeros((prior.size, prior.size))
    for c in range(prior.size):
        stratum = rng.choice(len(rows), _DRAWS, p=weights[:, c] / weights[:, c].sum())
        z = picked(rows[:, :, c][stratum], rng.random((_DRAWS, rows.shape[1])))  # (draws, labelers)
        log_p = np.tile(log(weights), (_DRAWS, 1, 1))  # (draws, strata, classes)
        for t in range(rows.shape[1]):
            log_p += np.moveaxis(log(rows[:, t])[:, :, z[:, t]], 2, 0)
        of_class = np.logaddexp.reduce(log_p, axis=1).T
        sizes = float(np.abs(np.where(np.isfinite(of_class), of_class, 0.0)).max())
        dist[c] = _winners(log(prior)[:, None] + of_class, sizes).mean(axis=1)
    return dist, float(np.sqrt(dist * (1 - dist) / _DRAWS).max())


def _winners(joint: np.ndarray, sizes: float) -> np.ndarray:
    """Share of each class in the decision, (classes, vectors); tied classes share it."""
    best = joint.max(axis=0, keepdims=True)
    among = (joint >= best - TOLERANCE * max(1.0, sizes)) & np.isfinite(best)
    return among / np.maximum(among.sum(axis=0, keepdims=True), 1)


# ---- counts ------------------------------------------------------------------------------------------------


class CountEstimate(NamedTuple):
    """Estimated counts, and the contribution of each sample."""

    table: Float[np.ndarray, "classes symbols"]  # rows true, columns predicted
    truth: Float[np.ndarray, "samples classes"]  # W: estimates "1 at the true class"
    y_pred: Int[np.ndarray, " samples"]

    __repr__ = one_line

    def metric(self, name: str) -> float:
        """A metric of the estimated table, by name; class 1 is positive. It may lie outside [0, 1]."""
        return float(named_metric(name, range(len(self.table)), 1).of_table(self.table))

    def accuracy_interval(self, level: float = 0.95) -> Interval:
        """(10): accuracy +- lambda sqrt(var / N), by the central limit theorem."""
        check_level(level)
        x = self.truth[np.arange(self.y_pred.size), self.y_pred]
        half = float(ndtri(0.5 + level / 2) * x.std() / np.sqrt(x.size))
        centre = self.metric("accuracy")
        return Interval(centre - half, centre + half, level)


def estimate_counts(y_pred: Int[np.ndarray, " samples"], consolidated: Consolidated) -> CountEstimate:
    """Estimate the count table without bias (TARS (6)-(8)).

    Args:
        y_pred: (samples,) predicted classes, 0..C-1.
        consolidated: labels and their noise rates, from `consolidate`, or built from known rates.

    Raises:
        ValueError: predictions that do not fit, or labels that hardly depend on the class (|1 - a - b| below
            .01; of more classes the smallest singular value of R), naming samples.

    >>> rates = np.tile(np.array([[0.8, 0.2], [0.2, 0.8]]), (4, 1, 1))
    >>> label = np.array([1, 1, 0, 0])
    >>> given = Consolidated(label, rates, np.zeros(4), np.zeros(4, bool), np.array([0.5, 0.5]))
    >>> found = estimate_counts(np.array([1, 0, 0, 0]), given)
    >>> print(found.table.round(2), round(found.metric("accuracy"), 3))
    [[ 2.33 -0.33]
     [ 0.67  1.33]] 0.917
    """
    y_pred, rates, classes = np.asarray(y_pred), consolidated.rates, consolidated.rates.shape[-1]
    check_codes(y_pred, classes, "y_pred", size=consolidated.label.size)
    if classes == 2:
        signal = np.abs(rates[:, 1, 1] - rates[:, 0, 1])
    else:
        distinct, inverse = np.unique(rates, axis=0, return_inverse=True)
        signal = np.linalg.svd(distinct, compute_uv=False).min(axis=-1)[inverse.ravel()]
    bad = np.flatnonzero(signal < LEAST_SIGNAL)
    if bad.size:
        raise ValueError(
            f"the consolidated label of sample(s) {some(bad)} hardly depends on the class (|1 - a - b| is "
            f"{signal[bad[0]]:.3g}, the limit {LEAST_SIGNAL}), and the estimate divides by that. Leave them "
            "out, consolidate with a more even prior, or use method='bayes'"
        )
    chosen = np.eye(classes)[consolidated.label]
    truth = np.linalg.solve(np.swapaxes(rates, 1, 2), chosen[..., None])[..., 0]
    return CountEstimate(expected_table(truth, y_pred, classes), truth, y_pred)


@seeded
def resampled_table(counts: CountEstimate, *, num: int = 2000, key: Any = None) -> TableDraws:
    """Resample the estimated table, for confidence intervals of any metric: not a posterior.

    Args:
        counts: from `estimate_counts`.
        num: number of resamples.
        key: 0 if None.
    """
    rng, (classes, symbols) = host_rng(as_key(key), "resampled counts"), counts.table.shape
    # Multinomial numbers of each kind of sample, times its contribution.
    kinds = np.column_stack([counts.y_pred, counts.truth])
    distinct, often = np.unique(kinds, axis=0, return_counts=True)
    adds = distinct[:, 1:, None] * np.eye(symbols)[distinct[:, 0].astype(int)][:, None, :]
    drawn = rng.multinomial(counts.y_pred.size, often / counts.y_pred.size, num).astype(np.float64)
    tables = (drawn @ adds.reshape(len(distinct), -1)).reshape(num, classes, -1)
    return TableDraws(tables, point=counts.table)
