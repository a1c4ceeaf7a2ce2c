"""Two classes without a likelihood: messages between samples and labelers, and moments of triplets.

**Messages (Karger, Oh and Shah 2014).** With labels A_it = +1 or -1, two messages go back and forth along
every label ((3), (4) there):

    sample i to labeler t:   x[i, t] = sum of A[i, s] y[s, i] over the other labelers s of i
    labeler t to sample i:   y[t, i] = sum of A[j, t] x[j, t] over the other samples j of t

x is the others' estimate of sample i, y the reliability of t without sample i, and the answer is the sign of
sum_t A[i, t] y[t, i]: a power iteration that leaves out what came from the receiver. On a random regular
assignment (`jtruth.planning.regular_assignment`) with enough labels it needs, up to a constant, as few labels
as any method could. The class posterior here is 1 or 0, or 1/2 where the sum is 0. First messages are 1 (the
paper draws them from N(1, 1)) and all are scaled in every step. A sample of known class sends +-1, the root
mean square of what others send.

**The label model by moments and triplets (Ratner et al. 2016, 2017; Fu et al. 2020).** With x = +1, -1 for
the classes, the covariance of two labelers who err independently given the class is a product,

    Cov(x_t, x_u) = v_t v_u,     v_t = sqrt(p (1 - p)) (E[x_t | 1] - E[x_t | 0]),

so any three determine each other: v_t^2 = Cov(t, u) Cov(t, w) / Cov(u, w). Of all triplets the weighted
least-squares solution is taken: with covariances C, zero on the diagonal, and weights W (samples that two
labelers share), v_t^2 = [(W o C)^3]_tt / [W (W o C o C) W]_tt. Third central moments are
(1 - 2p) / sqrt(p (1 - p)) v_t v_u v_w and give the class prior, if it is unknown. The covariance of an
indicator, "t gives s", with the others gives p(t gives s | class). Labelers are assumed to be better than
chance on the whole, which names the classes. More than two classes are refused: errors that are independent
given the class are not independent given "the rest".
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from jtruth import _validation as check
from jtruth._host import labels_log_likelihood, log, vote_shares
from jtruth._random import seeded
from jtruth._validation.words import number_of
from jtruth.labels import Labels
from jtruth.learning._fit import Fit, check_steps, clamp, exchanged, gold_and_prior, not_converged, unlabelled

_NO_PRIOR = "KOS does not use a class prior; leave prior out, or choose another method"
_MOST_VOTERS = 20  # labelers whose third moments give the class prior: those with most labels


def kos_refuses(labels: Labels) -> str | None:
    """Why KOS cannot take these labels."""
    if labels.num_classes != 2:
        return (
            f"KOS handles two classes, but the labels have {labels.num_classes}; for more choose dawid_skene "
            "(a matrix for each labeler) or one_coin (one error rate each)"
        )
    return None


@seeded
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
        `Fit`. Its own: `score` (samples,), above 0 for class 1, without a unit; `weight` (labelers,), the
        reliability of a labeler, below 0 for one who reports the opposite class.

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
        doubts.append(
            f"Messages about {number_of(tied, 'sample')} cancel or are missing; both classes get 1/2."
        )
    own, shares = {"score": score, "weight": weight}, posterior.mean(axis=0)
    return Fit(shares, posterior, float("nan"), converged, steps, tuple(doubts), own)


def triplet_moments(
    z: Int[np.ndarray, "samples labelers"],
    weight: Float[np.ndarray, " samples"],
    voters: Int[np.ndarray, " voters"],
    prior: float,
) -> dict[str, np.ndarray]:
    """Moments of labels (0 and 1, -1 for none) and what follows from them.

    Args:
        z, weight: labels, and how often each sample counts.
        voters: labelers whose third moments are used.
        prior: of class 1, NaN if it is to be estimated.

    Returns:
        By name: "strength" v and "square" v^2 (labelers,), contradicted below 0; "prior" of class 1; "shares"
        (labelers, 2), how often each label is given, and "shifts", p(label | 1) - p(label | 0).
    """
    weight, mask = weight[:, None], (z >= 0).astype(np.float64)
    x = (2 * z - 1) * mask
    shared, apart = (weight * mask).T @ mask, 1 - np.eye(z.shape[1])

    def with_others(f):
        """Cov(f, x_u) over the samples where both are there, for every u."""
        safe = np.where(shared > 0, shared, 1)
        return ((weight * f).T @ x) / safe - ((weight * f).T @ mask) * ((weight * mask).T @ x) / safe**2

    v, square = _strengths(with_others(x) * apart, apart * shared, shared.diagonal())
    number = (weight * mask).sum(axis=0)
    number = np.where(number > 0, number, 1)
    mean = (weight * x).sum(axis=0) / number

    voting = mask[:, voters], (x - mean[None, :])[:, voters], v[voters], apart[voters][:, voters]
    p = _second_class(weight[:, 0], *voting) if np.isnan(prior) else prior

    def shift(f):
        """p(f | 1) - p(f | 0) of an indicator, from its covariances with the other labelers."""
        use = shared * apart
        power = (use * v[None, :] ** 2).sum(axis=1)
        slope = (use * with_others(f) * v[None, :]).sum(axis=1) / np.where(power > 0, power, 1)
        return slope / np.sqrt(p * (1 - p))

    given = np.stack([(z == s) * mask for s in range(2)])
    shares = (weight[None] * given).sum(axis=1).T / number[:, None]
    shifts = np.stack([shift(f) for f in given], axis=1)
    return {"strength": v, "square": square, "prior": np.asarray(p), "shares": shares, "shifts": shifts}


def _strengths(
    covariance: np.ndarray, pairs: np.ndarray, samples: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """v and v^2 of every labeler, from all triples; the sign makes most v positive."""
    weighted = pairs * covariance
    cube = np.einsum("tu,ut->t", weighted @ weighted, weighted)
    total = np.einsum("tu,ut->t", pairs @ (weighted * covariance), pairs)
    square = cube / np.where(total > 0, total, 1)
    side = np.linalg.eigh(weighted)[1][:, -1]
    v = np.where(side < 0, -1.0, 1.0) * np.sqrt(np.maximum(square, 0))
    return np.where((samples * v).sum() < 0, -v, v), square


def _second_class(
    weight: np.ndarray, here: np.ndarray, away: np.ndarray, v: np.ndarray, apart: np.ndarray
) -> float:
    """p(class 1) from third moments of triples who are apart, by (voters, voters) blocks; else NaN."""
    along = (apart[:, None, :] * apart[None, :, :] * apart[:, :, None]).reshape(-1, v.shape[0])

    def triples(a: np.ndarray) -> float:
        third = (a @ along.T).reshape(a.shape[0], v.shape[0], v.shape[0])
        return (weight * (third * a[:, :, None] * a[:, None, :]).sum(axis=(1, 2))).sum()

    skew, size = triples(here * away * v[None, :]), triples(here * v[None, :] ** 2)
    if not size > 0:
        return float("nan")
    ratio = skew / size
    return float((1 - ratio / np.sqrt(4 + ratio**2)) / 2)


def label_model_refuses(labels: Labels) -> str | None:
    """Why the label model cannot take these labels."""
    return _unusable(labels) or _no_triplet(labels)


def _unusable(labels: Labels) -> str | None:
    if labels.num_classes != 2:
        return (
            f"the label model handles two classes, but these are {labels.num_classes}; for more choose "
            "dawid_skene, the same model by maximum likelihood"
        )
    active = labels.labels_per_labeler() > 0
    if active.sum() < 3:
        return f"triplets need three labelers, but {active.sum()} gave labels; collect labels from a third"
    if np.count_nonzero(labels.counts().sum(axis=0)) < 2:
        return "all labels are equal, so they have no covariance to learn from"
    if labels.has_repeats():
        return "a labeler labelled a sample twice, which moments cannot use; keep one label (repeats='first')"
    return None


@seeded
def fit_label_model(labels: Labels, *, key: Any = None, gold: Any = None, prior: Any = None) -> Fit:
    """Error rates of labelers, class prior and classes by the method of moments.

    Args:
        labels: of two classes, by three labelers or more, at most one label of a sample by each.
        key, gold: see `jtruth.learning.methods`; rates do not use gold.
        prior: (classes,) known class prior; from third moments if None.

    Returns:
        `Fit`; moments do not maximise its log-likelihood. Its own: `matrices` (labelers, 2, 2); `strength` v
        (labelers,), 0 for a labeler whose labels do not depend on the class.

    Raises:
        ValueError: input that cannot be used, fewer than three labelers, or a labeler without a triplet.

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
    z, number = labels.to_matrix().astype(np.int32), labels.labels_per_labeler()
    voters = np.argsort(-number, kind="stable")[:_MOST_VOTERS].astype(np.int32)
    p1 = float("nan") if fixed is None else float(fixed[1])
    moments = triplet_moments(z, np.ones(len(z)), voters, p1)
    if np.isnan(moments["prior"]):
        raise ValueError(
            "no three labelers share a sample, so third moments do not give the class prior; give prior"
        )
    share = np.array([1 - moments["prior"], moments["prior"]])
    matrices, moved = _matrices(moments["shares"], moments["shifts"], share, number)
    joint = log(share)[None] + labels_log_likelihood(matrices, *labels.arrays, labels.num_samples)
    joint = np.where((known[:, None] >= 0) & (known[:, None] != np.arange(2)), -np.inf, joint)
    own = {"matrices": matrices, "strength": moments["strength"]}
    doubts = tuple(_doubts_of_moments(matrices, moments["square"], labels, moved))
    log_likelihood = float(np.logaddexp.reduce(joint, axis=1).sum())
    return Fit(share, clamp(softmax(joint, axis=1), known), log_likelihood, warnings=doubts, own=own)


def _no_triplet(labels: Labels) -> str | None:
    """Why some labelers cannot be judged: no two others share samples with them and with each other."""
    mask = (labels.to_matrix() >= 0).astype(np.float64)
    usable = (1 - np.eye(labels.num_labelers)) * (mask.T @ mask > 0)
    without = (np.einsum("tu,ut->t", usable @ usable, usable) == 0) & (labels.labels_per_labeler() > 0)
    if not without.any():
        return None
    workers = labels.worker_names
    return (
        "no triplet identifies the error rates of "
        f"{check.quoted(workers[t] for t in np.flatnonzero(without))}: it needs two others who share samples "
        "with them and with each other; collect more labels"
    )


def _matrices(shares: Any, shifts: Any, prior: np.ndarray, number: np.ndarray) -> tuple[np.ndarray, int]:
    """p(label | class) (labelers, 2, 2), and how many were moved up to half of a label in `number`."""
    raw = shares[:, None, :] + np.array([-prior[1], prior[0]])[None, :, None] * shifts[:, None, :]
    least = 0.5 / (number[:, None, None] * prior[None, :, None] + 1) * (shares[:, None, :] > 0)
    return vote_shares(np.maximum(raw, least).reshape(-1, 2)).reshape(raw.shape), int((raw < least).sum())


def _doubts_of_moments(matrices: np.ndarray, square: np.ndarray, labels: Labels, moved: int) -> Any:
    workers = labels.worker_names
    odd = np.flatnonzero((square <= 0) & (labels.labels_per_labeler() > 0))
    if odd.size:
        yield f"Triplets disagree for {check.quoted(workers[t] for t in odd)}, at random or by shared errors."
    if moved:
        yield f"{moved} probabilities were estimated below that of half a label, and set to it."
    yield from unlabelled(labels)
    yield from exchanged(np.einsum("t,tck->ck", labels.labels_per_labeler(), matrices), labels.class_names)
