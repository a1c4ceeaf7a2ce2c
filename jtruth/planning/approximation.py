"""How wide will the interval be? Without simulation: Fisher information of the collapsed likelihood.

With the true classes summed out, a sample with labels tells I_lab about the parameters, a sample with gold
I_gold; both are sums over the few patterns of labels. N samples with G gold answers and the priors give

    J = (N - G) I_lab + G I_gold + I_prior.

The metric is a ratio of two linear forms of the count table; u[c, symbol] is its influence (delta method).
Its posterior variance is, in the population and on the samples at hand,

    population:  d' J^-1 d                                     d = E[u s],  s the complete-data score
    in-sample:   (N - G) E[Var(u | x)] / N^2 + e' J^-1 e       e = (N - G)/N E[Cov(u, s | x)]

x being what is seen on a sample: the first term is what is not known of the classes of these samples
if all rates were known, the second what is not known of the rates. Apart from the prior, the population
variance of accuracy is p (1 - p) / N with perfect labels, and with two even classes and one labeler and a
classifier of symmetric errors that of Lam & Stork section 4. A beta law with this variance, its mean moved by
the prior to first order, gives the width of the shortest interval: that matters near 0 and 1.

It is an approximation at the guessed rates, and off where priors count as much as data (`share_of_prior`):
a handful of samples of a class, labelers near chance, rates that the labels hardly identify.

Labelers of one kind are exchangeable, so what matters of their labels is how many of them named each class:
a pattern is one vector of such counts for every kind, and there are few of them. For a pattern, and for the
predicted symbol u, the complete-data score of class c is e_k - p for every categorical law that was used (the
prior, row c of K, row c of the labelers' matrices), in logits relative to class 0.

Labelers of a kind share one parameter here; each is learned on his own, but exchangeable scores tell of K
through their sum alone.
"""

from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import block_diag
from scipy.special import betaincinv, gammaln, ndtri, xlogy

from jtruth._host import diagonal_rows
from jtruth._one_line import one_line
from jtruth.information.law import compositions
from jtruth.planning.settings import Plan, Setting, check_plan

_MOST_PATTERNS = 60_000
_EDGE = 1e-4  # a probability of 0 or 1 has no logit; the information is taken this far inside


def inside(matrix: np.ndarray) -> np.ndarray:
    """Rows of probabilities moved off 0 and 1."""
    moved = np.maximum(matrix, _EDGE)
    return moved / moved.sum(axis=-1, keepdims=True)


def _kind(matrix: np.ndarray, people: int, share: float):
    """Counts (X_g, C) of one kind's labels and log p(counts | class), (X_g, C)."""
    classes = matrix.shape[0]
    counts = compositions(people, classes + 1)[:, :classes]  # the rest gave no label
    if share == 1:
        counts = counts[counts.sum(axis=1) == people]
    given = counts.sum(axis=1)
    ways = gammaln(people + 1) - gammaln(counts + 1).sum(axis=1) - gammaln(people - given + 1)
    log_p = ways + xlogy(given, share) + xlogy(people - given, 1 - share)
    return counts, log_p[:, None] + counts @ np.log(matrix).T


def _patterns(setting: Setting, labels: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """p(pattern, u, c) of all patterns of a mix, and the complete-data scores (..., parameters)."""
    classes = setting.prior.size
    matrices = [inside(kind.matrix) for kind in setting.labelers]
    used = [g for g, count in enumerate(labels) if count > 0]
    kinds = [_kind(matrices[g], _people(labels[g]), labels[g] / _people(labels[g])) for g in used]
    number = prod(len(counts) for counts, _ in kinds) * classes
    if number > _MOST_PATTERNS:
        raise ValueError(f"{number} patterns of labels; put labelers of like error into one kind")
    where = np.array(list(product(*(range(len(counts)) for counts, _ in kinds))), int)
    where = where.reshape(number // classes, len(kinds))
    log_p = np.zeros((len(where), classes))
    for column, (_, of_kind) in enumerate(kinds):
        log_p = log_p + of_kind[where[:, column]]
    confusion = inside(setting.confusion)
    joint = np.exp(log_p)[:, None, :] * (setting.prior[:, None] * confusion).T[None]
    blocks = [_row_scores(confusion, np.eye(confusion.shape[1]))[None]]
    if setting.rates == "learned":
        blocks.insert(0, (np.eye(classes) - setting.prior)[None, None, :, 1:])
        blocks += [
            _row_scores(matrices[g], counts[where[:, column]])[:, None]
            for column, (g, (counts, _)) in enumerate(zip(used, kinds, strict=True))
        ]
    return joint, np.concatenate([np.broadcast_to(b, (*joint.shape, b.shape[-1])) for b in blocks], axis=-1)


def _people(count: float) -> int:
    """How many of a kind give so many labels a sample."""
    return int(np.ceil(count - 1e-9))


def _row_scores(matrix: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(X, C, C (U - 1)): in row c counts (X, U) - (their sum) matrix[c], elsewhere 0."""
    classes, symbols = matrix.shape
    block = np.zeros((len(counts), classes, classes, symbols))
    for c in range(classes):
        block[:, c, c] = counts - counts.sum(axis=1, keepdims=True) * matrix[c]
    return block[..., 1:].reshape(len(counts), classes, -1)


def row_prior(classes: int, learned: bool) -> np.ndarray:
    """(C, C) Dirichlet concentrations of a matrix: those of `fit_joint`, or flat as in `exact`."""
    if not learned:
        return np.ones((classes, classes))
    return diagonal_rows(classes, 2.0, 1.0)


def _prior_terms(setting: Setting, labels: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Minus the Hessian, and the gradient, of the log prior in logits: a0 (diag p - p p'), a - a0 p.

    In the order of the scores; people who share a parameter bring a prior each.
    """
    learned = setting.rates == "learned"
    matrices = [(inside(setting.confusion), 1)]
    rows = [(setting.prior, np.ones(setting.prior.size))] if learned else []
    matrices += [
        (inside(kind.matrix), _people(count))
        for kind, count in zip(setting.labelers, labels, strict=True)
        if count > 0 and learned
    ]
    for matrix, people in matrices:
        rows += list(zip(matrix, people * row_prior(len(matrix), learned), strict=True))
    information = [alpha.sum() * (np.diag(p) - np.outer(p, p))[1:, 1:] for p, alpha in rows]
    return np.asarray(block_diag(*information)), np.concatenate(
        [(alpha - alpha.sum() * p)[1:] for p, alpha in rows]
    )


_TAILS = 0.5 - 0.5 * np.cos(np.pi * np.arange(14) / 13)  # denser where a tail is empty
_DOUBTFUL = 0.06  # above it predictions were off by more than 10 % in simulations
_FEW = 10.0
_NARROW = 1e5  # beta laws with larger a + b are normal to all digits shown


class ApproximateWidth(NamedTuple):
    """Predicted posterior of the metric under a plan."""

    width: float  # of the shortest interval
    sd: float
    mean: float
    share_of_prior: float  # of the information about the metric, that which the priors supply
    warnings: tuple[str, ...]

    __repr__ = one_line


class Information(NamedTuple):
    """What one sample tells, under one mix of labelers. P parameters."""

    labels: tuple[float, ...]  # per sample, of every kind
    labelled: Float[np.ndarray, "parameters parameters"]  # I_lab
    gold: Float[np.ndarray, "parameters parameters"]  # I_gold
    prior: Float[np.ndarray, "parameters parameters"]  # I_prior, once
    pull: Float[np.ndarray, " parameters"]  # gradient of the log prior
    slope: Float[np.ndarray, " parameters"]  # d
    hidden_slope: Float[np.ndarray, " parameters"]  # E[Cov(u, s | x)]
    hidden: float  # E[Var(u | x)]


def information(setting: Setting, labels: tuple[float, ...]) -> Information:
    """Information of one sample about everything unknown, and the metric's slopes.

    Raises:
        ValueError: more than 60 000 patterns of labels.
    """
    joint, score = _patterns(setting, labels)
    seen = joint.sum(axis=2)
    share = joint / np.where(seen > 0, seen, 1)[..., None]
    observed = (share[..., None] * score).sum(axis=2)
    u = setting.influence.T[None]
    mean_u = (share * u).sum(axis=2)
    slope = np.einsum("xuc,xucp->p", joint * u, score)
    flat = score.reshape(-1, score.shape[-1])
    prior, pull = _prior_terms(setting, labels)
    return Information(
        labels=labels,
        labelled=np.einsum("xu,xup,xuq->pq", seen, observed, observed, optimize=True),
        gold=(flat * joint.reshape(-1, 1)).T @ flat,
        prior=prior,
        pull=pull,
        slope=slope,
        hidden_slope=slope - np.einsum("xu,xup->p", seen * mean_u, observed),
        hidden=float((joint * (u - mean_u[..., None]) ** 2).sum()),
    )


def approximate_width(setting: Setting, plan: Plan) -> ApproximateWidth:
    """Predicted width of the metric's interval under a plan, in milliseconds; look at its `warnings`.

    Raises:
        ValueError: a plan that is impossible, or too many kinds of labelers at once.

    Source: Su 6.3.2 asks the question; Lam & Stork section 4 is the case of one known symmetric labeler.

    >>> from jtruth.planning import Question, labeler, setting
    >>> made = setting([0.7, 0.3], 0.9, [labeler("crowd", 0.2, people=5)], Question(rates="known"))
    >>> for count in (1, 3, 5):
    ...     print(count, f"{approximate_width(made, Plan(500, (count,), 0)).width:.4f}")
    1 0.1180
    3 0.0703
    5 0.0605
    """
    check_plan(setting, plan)
    found = widths(setting, information(setting, plan.labels), np.array([plan.num_samples]), plan.num_gold)
    width, sd, mean, share = (float(found[k][0]) for k in ("width", "sd", "mean", "share_of_prior"))
    warnings, rarest = [], plan.num_samples * float(setting.prior.min())
    if share > _DOUBTFUL:
        warnings.append(
            f"{share:.0%} of what would be known of the rates comes from the priors, not from the data: "
            "predicted widths are rough"
        )
    if rarest < _FEW:
        warnings.append(f"about {rarest:.0f} samples of the rarest class: predicted widths are rough")
    return ApproximateWidth(width, sd, mean, share, tuple(warnings))


def widths(setting: Setting, found: Information, num_samples: np.ndarray, num_gold) -> dict:
    """Width, sd, mean and share of the prior for many (num_samples, num_gold) of one mix."""
    n = np.atleast_1d(np.asarray(num_samples, np.float64))
    g = np.broadcast_to(np.asarray(num_gold, np.float64), n.shape)
    data = (n - g)[:, None, None] * found.labelled + g[:, None, None] * found.gold
    total = data + found.prior
    in_sample = setting.target == "in-sample"
    slope = ((n - g) / n)[:, None] * found.hidden_slope if in_sample else np.tile(found.slope, (n.size, 1))
    spread = np.linalg.solve(total, slope[..., None])[..., 0]
    rates = (slope * spread).sum(axis=1)
    variance = rates + in_sample * (n - g) / n**2 * found.hidden
    by_prior = np.einsum("np,pq,nq->n", spread, found.prior, spread) / np.maximum(rates, 1e-300)
    value = setting.value
    mean = np.clip(value + spread @ found.pull, 1e-6, 1 - 1e-6)
    return {
        "width": beta_width(mean, variance, setting.level),
        "sd": np.sqrt(variance),
        "mean": mean,
        "share_of_prior": by_prior,
    }


def beta_width(mean: np.ndarray, variance: np.ndarray, level: float) -> np.ndarray:
    """Width of the shortest interval of the beta law with these moments; a narrow law is normal."""
    most = mean * (1 - mean)
    size = most / np.clip(variance, most / _NARROW, 0.999 * most) - 1
    a, b = np.maximum(mean * size, 0.05), np.maximum((1 - mean) * size, 0.05)
    low = (1 - level) * _TAILS[None, :]
    ends = betaincinv(a[:, None], b[:, None], low), betaincinv(a[:, None], b[:, None], low + level)
    normal = 2 * ndtri((1 + level) / 2) * np.sqrt(variance)
    return np.where(variance > most / _NARROW, (ends[1] - ends[0]).min(axis=1), normal)
