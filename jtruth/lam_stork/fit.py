"""The same model by maximum likelihood: class shares and confusion matrix that stay probabilities.

With n[a, b] samples of label a and prediction b and a labeler L known, the log-likelihood of J[c, b] =
P(true class c, prediction b) is sum n[a, b] log (L' J)[a, b], concave in J. Where the solution of Lam & Stork
(5) is a probability table it is the maximum. Elsewhere the maximum is on the border of the simplex, and EM
climbs to it:

    J[c, b] <- J[c, b] D[c, b],   D[c, b] = sum_a n[a, b] L[c, a] / (L' J)[a, b] / N,

three steps at a time by squared extrapolation (Varadhan and Roland 2008, scheme S3), which is taken back
where it does not help. Because the log-likelihood is concave and J sums to 1, no table is better than J by
more than N (max D - 1): a bound, in units of log-likelihood, at which the climb stops.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

GAP = 1e-6


class JointFit(NamedTuple):
    """Maximum of the likelihood over tables J; all with the axes of the batch in front."""

    joint: np.ndarray  # (..., true, predicted)
    log_likelihood: np.ndarray
    gap: np.ndarray  # no table has a log-likelihood higher by more than this
    num_steps: int


def log_likelihood(joint: np.ndarray, labeler: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """sum n[a, b] log (L' J)[a, b]."""
    with np.errstate(divide="ignore"):
        return np.asarray(xlogy(counts, np.swapaxes(labeler, -1, -2) @ joint).sum(axis=(-2, -1)))


def gradient(joint: np.ndarray, labeler: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """D[c, b], derivative of the log-likelihood over N; at the maximum 1 where J > 0, at most 1 elsewhere."""
    seen = np.swapaxes(labeler, -1, -2) @ joint
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(counts > 0, counts / seen, 0.0)
    return labeler @ share / counts.sum(axis=(-2, -1), keepdims=True)


def em_step(joint: np.ndarray, labeler: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """One EM step; keeps the sum 1 and never lowers the likelihood."""
    return joint * gradient(joint, labeler, counts)


def _extrapolated(joint: np.ndarray, labeler: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Three EM steps, with a squared extrapolation between the second and the third where that climbs."""
    one = em_step(joint, labeler, counts)
    two = em_step(one, labeler, counts)
    r, v = one - joint, two - 2 * one + joint
    norm = np.sqrt((v**2).sum(axis=(-2, -1), keepdims=True))
    step = np.maximum(np.sqrt((r**2).sum(axis=(-2, -1), keepdims=True)) / np.where(norm > 0, norm, 1.0), 1.0)
    jump = joint + 2 * step * r + step**2 * v
    jump = np.where(jump > 0, jump, two)  # a cell that would leave the simplex takes the plain steps
    jump = jump / jump.sum(axis=(-2, -1), keepdims=True)
    better = log_likelihood(jump, labeler, counts) >= log_likelihood(two, labeler, counts)
    return em_step(np.where(better[..., None, None], jump, two), labeler, counts)


def maximise(
    counts: np.ndarray, labeler: np.ndarray, *, max_steps: int = 20_000, gap: float = GAP
) -> JointFit:
    """The table J of highest likelihood, for counts (..., label, prediction) and labelers (..., true, given).

    >>> fit = maximise(np.array([[60.0, 2.0], [30.0, 8.0]]), np.array([[0.9, 0.1], [0.1, 0.9]]))
    >>> print(fit.joint.round(4), bool(fit.gap < 1e-6))
    [[0.6375 0.0125]
     [0.2625 0.0875]] True
    """
    size = counts.shape[-1]
    batch = np.broadcast_shapes(counts.shape[:-2], labeler.shape[:-2])
    total = counts.sum(axis=(-2, -1))
    joint = np.full((*batch, size, size), 1 / size**2)
    steps = 0
    while True:
        distance = total * (gradient(joint, labeler, counts).max(axis=(-2, -1)) - 1)
        if (distance < gap).all() or steps >= max_steps:
            return JointFit(joint, log_likelihood(joint, labeler, counts), distance, steps)
        for _ in range(10):
            joint = _extrapolated(joint, labeler, counts)
        steps += 30
