"""Two classes without a likelihood: messages between samples and labelers, and moments of triplets.

**Messages (Karger, Oh and Shah 2014).** Samples and labelers tell each other how much to be believed. With
labels A_it = +1 or -1, two messages go back and forth along every label ((3), (4) there):

    sample i to labeler t:   x[i, t] = sum of A[i, s] y[s, i] over the other labelers s of i
    labeler t to sample i:   y[t, i] = sum of A[j, t] x[j, t] over the other samples j of t

x is what the others think of sample i; y how reliable t looks without sample i. The answer is the sign of
sum_t A[i, t] y[t, i]: a power iteration that leaves out what came from the receiver. On a random regular
assignment (`jtruth.planning.regular_assignment`) with enough labels it needs, up to a constant, as few labels
as any method could. The class posterior here is 1 or 0, or 1/2 where the sum is 0. First messages are
1, where the paper draws them from N(1, 1). Messages are scaled in every step, and a sample of known class
sends +-1, the root mean square of what others send.

**The label model by moments and triplets (Ratner et al. 2016, 2017; Fu et al. 2020).** With x = +1, -1 for
the classes, the covariance of two labelers who err independently given the class is

    Cov(x_t, x_u) = v_t v_u,     v_t = sqrt(p (1 - p)) (E[x_t | 1] - E[x_t | 0]),

whatever their error rates, so three of them give each other away: v_t^2 = Cov(t, u) Cov(t, w) / Cov(u, w). Of
all triplets the weighted least-squares solution is taken: with covariances C, zero on the diagonal, and
weights W (samples that two labelers share), v_t^2 = [(W o C)^3]_tt / [W (W o C o C) W]_tt. Third central
moments are (1 - 2p) / sqrt(p (1 - p)) v_t v_u v_w and give the class prior, if it is not known; and the
covariance of x_t with the others gives p(t says s | class). Labelers are taken to be better than chance on
the whole, which names the classes; a missing label says nothing.

More than two classes are refused: labelers who err independently given the class do not given "the rest".
"""

from typing import Any

import numpy as np
from jaxtyping import Int
from scipy.special import softmax

from jtruth import _validation as check
from jtruth._host import labels_log_likelihood, log, vote_shares
from jtruth.labels import Labels
from jtruth.learning._fit import Fit, check_steps, clamp, exchanged, gold_and_prior, not_converged, unlabelled

_NO_PRIOR = "KOS has no use for a class prior; leave prior out, or choose another method"
_MOST_VOTERS = 20  # labelers whose third moments give the class prior: those with most labels


def kos_refuses(labels: Labels) -> str | None:
    """Why KOS cannot take these labels."""
    if labels.num_classes != 2:
        return (
            f"KOS knows two classes and the labels have {labels.num_classes}; for more choose dawid_skene "
            "(a matrix for each labeler) or one_coin (one error rate each)"
        )
    return None


def fit_kos(
    labels: Labels,
    *,
    key: Any = None,
    gold: Any = None,
    prior: Any = None,
    max_steps: int = 1000,
    tol: float = 1e-10,
) -> Fit:
    """Consensus by message passing between samples and labelers (Karger, Oh and Shah 2014).

    Args:
        labels: of two classes. A labeler who labels a sample twice sends two messages.
        key, gold: see `jtruth.learning.methods`.
        prior: refused: messages have none.
        max_steps, tol: of the iteration.

    Returns:
        `Fit`. Its own: `score` (samples,), above 0 for class 1, its size has no unit; `weight` (labelers,),
        how much a labeler is believed, below 0 who says the opposite.

    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 60)
    >>> z = np.where(rng.random((60, 5)) < [0.9, 0.9, 0.8, 0.5, 0.1], y[:, None], 1 - y[:, None])
    >>> fit = fit_kos(Labels.from_matrix(z, 2))
    >>> print((fit.class_posterior.argmax(axis=1) == y).mean().round(2), fit.weight.argmin(), fit.converged)
    0.95 4 True
    """
    known, prior = gold_and_prior(labels, gold, prior)
    if prior is not None:
        raise ValueError(_NO_PRIOR)
    if (reason := kos_refuses(labels)) is not None:
        raise ValueError(reason)
    check_steps(max_steps, tol)
    sample, labeler, label = labels.entries()
    sign, fixed = 2.0 * label - 1, np.where(known >= 0, 2.0 * known - 1, 0.0)[sample]

    def scaled(message: np.ndarray, on: np.ndarray | bool = True) -> np.ndarray:
        size = np.sqrt((message**2).mean(where=on)) if np.any(on) else 0.0
        return message / (size if size > 0 else 1)

    def others(message: np.ndarray, group: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Sum of sign * message over the other labels of the same sample or labeler, and over all."""
        each = sign * message
        total = np.bincount(group, each, number)
        return total[group] - each, total

    y, weight, moved, steps = np.ones(sign.size), np.zeros(labels.num_labelers), np.inf, 0
    while moved >= tol and steps < max_steps:
        x, _ = others(y, sample, known.size)
        believed = np.where(fixed != 0, fixed, scaled(x, fixed == 0))
        new, weight = others(believed, labeler, labels.num_labelers)
        new = scaled(new)
        moved, y, steps = np.abs(new - y).max(), new, steps + 1
    score, converged = others(y, sample, known.size)[1], bool(moved < tol)
    even = np.abs(score) <= 1e-12 * max(float(np.abs(score).max()), 1e-300)
    one = np.where(even, 0.5, score > 0)
    posterior = clamp(np.stack([1 - one, one], axis=1), known)
    doubts = [*not_converged("Message passing", converged, steps)]
    if tied := int((even & (known < 0)).sum()):
        doubts.append(f"Messages about {tied} samples cancel or are missing; both classes have 1/2 there.")
    own, shares = {"score": score, "weight": weight}, posterior.mean(axis=0)
    return Fit(shares, posterior, float("nan"), converged, steps, tuple(doubts), own)


def triplet_moments(z: Int[np.ndarray, "samples labelers"], prior: float) -> dict[str, np.ndarray]:
    """Moments of labels (-1: none) and what follows from them; `prior` of class 1, NaN: to be estimated.

    By name: "strength" v and "square" v^2 (labelers,), contradicted below 0; "prior" of class 1; "shares"
    (labelers, classes), how often each is given, "shifts", p(label | 1) - p(label | 0).
    """
    mask = (z >= 0).astype(np.float64)
    x = (2 * z - 1) * mask
    shared = mask.T @ mask
    pairs, safe = shared * (1 - np.eye(len(shared))), np.where(shared > 0, shared, 1)
    covariance = x.T @ x / safe - (x.T @ mask) * (mask.T @ x) / safe**2
    v, square = _strengths(covariance, pairs, shared.diagonal())
    number = safe.diagonal()
    voters = np.argsort(-shared.diagonal(), kind="stable")[:_MOST_VOTERS]
    away = (x - x.sum(axis=0) / number)[:, voters]
    p = _second_class(mask[:, voters], away, v[voters]) if np.isnan(prior) else prior
    power = (pairs * v[None, :] ** 2).sum(axis=1)
    slope = (pairs * covariance * v[None, :]).sum(axis=1) / np.where(power > 0, power, 1)
    shift = slope / np.sqrt(p * (1 - p)) / 2  # of a label 1, which is (x + 1) / 2
    shares = np.stack([(z == c).sum(axis=0) / number for c in (0, 1)], axis=1)
    return {"strength": v, "square": square, "prior": np.asarray(p), "shares": shares,
            "shifts": np.stack([-shift, shift], axis=1)}  # fmt: skip


def _strengths(
    covariance: np.ndarray, pairs: np.ndarray, samples: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """v and v^2 of every labeler, from all triples with it; most are right, so most v are positive."""
    weighted = pairs * covariance  # 0 on the diagonal
    cube = np.einsum("tu,ut->t", weighted @ weighted, weighted)
    total = np.einsum("tu,ut->t", pairs @ (weighted * covariance), pairs)
    square = cube / np.where(total > 0, total, 1)
    side = np.linalg.eigh(weighted)[1][:, -1]
    v = np.where(side < 0, -1.0, 1.0) * np.sqrt(np.maximum(square, 0))
    return np.where((samples * v).sum() < 0, -v, v), square


def _second_class(here: np.ndarray, away: np.ndarray, v: np.ndarray) -> float:
    """p(class 1) from third moments of triples of voters, by (voters, voters) blocks; else NaN."""
    apart = 1 - np.eye(v.size)
    along = (apart[:, None, :] * apart[None, :, :] * apart[:, :, None]).reshape(-1, v.size)

    def triples(a: np.ndarray) -> float:
        third = (a @ along.T).reshape(len(a), v.size, v.size)
        return (third * a[:, :, None] * a[:, None, :]).sum()

    skew, size = triples(here * away * v[None, :]), triples(here * v[None, :] ** 2)
    if not size > 0:
        return float("nan")
    ratio = skew / size
    return float((1 - ratio / np.sqrt(4 + ratio**2)) / 2)


def label_model_refuses(labels: Labels) -> str | None:
    """Why the label model cannot take these labels."""
    if labels.num_classes != 2:
        return (
            f"the label model knows two classes and these are {labels.num_classes}; for more choose "
            "dawid_skene, the same model by maximum likelihood"
        )
    active = labels.labels_per_labeler() > 0
    if active.sum() < 3:
        return f"triplets need three labelers and {active.sum()} gave labels; get labels from a third"
    if np.count_nonzero(labels.counts().sum(axis=0)) < 2:
        return "all labels are equal, so they have no covariance to learn from"
    if labels.has_repeats():
        return "a labeler labelled a sample twice, which moments cannot use; keep one label (repeats='first')"
    mask = (labels.to_matrix() >= 0).astype(np.float64)
    together = (mask.T @ mask > 0) * (1 - np.eye(active.size))
    without = np.flatnonzero((np.einsum("tu,ut->t", together @ together, together) == 0) & active)
    if without.size:
        return (
            f"no triplet says how {check.quoted(labels.worker_names[t] for t in without)} err: it takes two "
            "others who share samples with each other and with them; get more labels"
        )
    return None


def fit_label_model(labels: Labels, *, key: Any = None, gold: Any = None, prior: Any = None) -> Fit:
    """Error rates of labelers, class prior and classes by the method of moments.

    Args:
        labels: of two classes, by three labelers or more, at most one label of a sample by each.
        key, gold: see `jtruth.learning.methods`; rates do not use gold.
        prior: (classes,) known class prior; from third moments if None.

    Returns:
        `Fit`; moments do not maximise its log-likelihood. Its own: `matrices` (labelers, 2, 2); `strength` v
        (labelers,), 0 for a labeler who says nothing of the class.

    Raises:
        ValueError: input that cannot be used, or a labeler of whom there is no triplet.

    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 4000)
    >>> z = np.where(rng.random((4000, 4)) < [0.9, 0.8, 0.7, 0.6], y[:, None], 1 - y[:, None])
    >>> fit = fit_label_model(Labels.from_matrix(z, 2))
    >>> print(np.abs(fit.matrices[:, 0, 0] - [0.9, 0.8, 0.7, 0.6]).max() < 0.05)
    True
    """
    known, fixed = gold_and_prior(labels, gold, prior)
    if (reason := label_model_refuses(labels)) is not None:
        raise ValueError(reason)
    found = triplet_moments(labels.to_matrix(), float("nan") if fixed is None else float(fixed[1]))
    if np.isnan(found["prior"]):
        raise ValueError(
            "no three labelers share a sample, or all triplets contradict each other: third moments do not "
            "give the class prior, so give prior"
        )
    share = np.array([1 - found["prior"], found["prior"]])
    shares, shifts = found["shares"][:, None], found["shifts"][:, None]
    raw = shares + np.array([-share[1], share[0]])[None, :, None] * shifts
    number = labels.labels_per_labeler()[:, None, None]
    least = 0.5 / (number * share[None, :, None] + 1) * (shares > 0)  # half a label
    matrices = vote_shares(np.maximum(raw, least).reshape(-1, 2)).reshape(raw.shape)
    joint = log(share)[None] + labels_log_likelihood(matrices, *labels.arrays, labels.num_samples)
    joint = np.where((known[:, None] >= 0) & (known[:, None] != np.arange(2)), -np.inf, joint)
    doubts = tuple(_doubts_of_moments(matrices, found["square"], labels, int((raw < least).sum())))
    log_likelihood = float(np.logaddexp.reduce(joint, axis=1).sum())
    own = {"matrices": matrices, "strength": found["strength"]}
    return Fit(share, clamp(softmax(joint, axis=1), known), log_likelihood, warnings=doubts, own=own)


def _doubts_of_moments(matrices: np.ndarray, square: np.ndarray, labels: Labels, moved: int) -> Any:
    workers = labels.worker_names
    odd = np.flatnonzero((square <= 0) & (labels.labels_per_labeler() > 0))
    if odd.size:
        yield (
            f"Triplets contradict each other for {check.quoted(workers[t] for t in odd)}: chance, or errors "
            "that are not independent."
        )
    if moved:
        yield f"{moved} probabilities were estimated below what half a label allows, and moved there."
    yield from unlabelled(labels)
    yield from exchanged(np.einsum("t,tck->ck", labels.labels_per_labeler(), matrices), labels.class_names)
