"""Dawid and Skene's EM for many label sets at once, in NumPy, for the parametric bootstrap of the checks.

All sets share one sparse matrix with a block for each, so that a step costs two sparse products. Every
simulated set starts at the parameters it was drawn from, a standard error away from its own mode, and every
second pair of steps is lengthened (SQUAREM), each set by its own factor; a set whose likelihood would fall
goes on from plain EM. `tests` compare the modes with `fit_dawid_skene`.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from jtruth._host import log
from jtruth._squarem import squarem
from jtruth.evaluation.checks.sets import Parameters, Sets

PSEUDO_COUNT = 0.01  # to every probability: keeps them off 0, and is otherwise maximum likelihood
_LONGEST = 16.0  # jump, where 1 is a step of EM


class Fitted(NamedTuple):
    """Modes of label sets. Rows are those of the design."""

    parameters: Parameters
    posterior: np.ndarray  # (sets, rows, classes) p(class | labels, parameters)
    log_p: np.ndarray  # (sets, rows) log p(labels of the row, and its known class | parameters)
    moved: np.ndarray  # (sets,) largest change of a probability by the last plain EM step


class Modes:
    """EM for label sets that share a design.

    `prior` holds the class prior fixed; `alike` gives all raters but the last, the classifier, one matrix.
    """

    def __init__(self, sets: Sets, prior: np.ndarray | None = None, *, alike: bool = False):
        design, (num, entries) = sets.design, sets.label.shape
        self.sets, self.prior, self.alike = sets, prior, alike
        self.shape = (num, design.known.size, design.num_raters, design.num_classes)
        _, rows, raters, classes = self.shape
        dtype = np.int32 if num * max(entries, raters * classes) < 2**31 else np.int64
        column = design.rater * classes + sets.label + np.arange(num)[:, None] * (raters * classes)
        starts = np.arange(num)[:, None] * entries + design.first
        pointer = np.append(starts.ravel(), num * entries).astype(dtype)
        self.given = sparse.csr_array(
            (np.ones(num * entries), column.ravel().astype(dtype), pointer),
            shape=(num * rows, num * raters * classes),
        )
        self.total = (self.given.T @ sets.weight.ravel()).reshape(num, raters, 1, classes)
        unknown = (design.known < 0)[:, None]
        self.offset = np.where(unknown | (design.known[:, None] == np.arange(classes)), 0.0, -np.inf)

    def posterior(self, at: Parameters) -> tuple[np.ndarray, np.ndarray]:
        """E step: class posterior and log probability of every row."""
        num, rows, raters, classes = self.shape
        log_psi = log(at.matrices).transpose(0, 1, 3, 2).reshape(num * raters * classes, classes)
        joint = (self.given @ log_psi).reshape(num, rows, classes)
        joint += log(at.prior)[:, None, :] + self.offset
        top = joint.max(axis=2)
        joint -= top[:, :, None]
        np.exp(joint, out=joint)
        mass = joint.sum(axis=2)
        joint /= mass[:, :, None]
        return joint, np.log(mass) + top

    def parameters(self, posterior: np.ndarray) -> Parameters:
        """M step, with pseudo-counts."""
        num, rows, raters, classes = self.shape
        weighted = posterior * self.sets.weight[:, :, None]
        counts = (self.given.T @ weighted.reshape(num * rows, classes)).reshape(num, raters, classes, classes)
        if self.alike:
            counts[:, :-1] = counts[:, :-1].sum(axis=1, keepdims=True)
        matrices = counts.transpose(0, 1, 3, 2) + PSEUDO_COUNT
        share = weighted.sum(axis=1) + PSEUDO_COUNT
        prior = np.broadcast_to(self.prior, share.shape) if self.prior is not None else _normal(share)
        return Parameters(prior, _normal(matrices))

    def fit(self, start: Parameters, *, max_cycles: int = 10, tol: float = 2e-4) -> Fitted:
        """Modes near `start`, which is broadcast to all sets. A cycle is three EM steps."""
        num = self.shape[0]
        theta = Parameters(*(np.broadcast_to(a, (num, *a.shape[1:])) for a in start))
        moved = np.full(num, np.inf)
        for _ in range(max_cycles):
            one, _ = self._step(theta)
            two, log_two = self._step(one)
            far = _jump(theta, one, two)
            after, log_far = self._step(far)
            worse = ~(log_far >= log_two)
            theta = Parameters(*(np.where(_like(worse, b), b, a) for a, b in zip(after, two, strict=True)))
            moved = np.max(
                [np.abs(b - a).reshape(num, -1).max(axis=1) for a, b in zip(one, two, strict=True)], 0
            )
            if moved.max() < tol:
                break
        return Fitted(theta, *self.posterior(theta), moved)

    def _step(self, theta: Parameters) -> tuple[Parameters, np.ndarray]:
        """One EM step, and the log likelihood of where it started."""
        posterior, log_p = self.posterior(theta)
        return self.parameters(posterior), (self.sets.weight * log_p).sum(axis=1)


def _jump(zero: Parameters, one: Parameters, two: Parameters) -> Parameters:
    """Further along the way of two EM steps, kept inside the simplex."""
    far, _ = squarem(zero, one, two, _LONGEST, batch=1)
    return Parameters(*(_normal(np.maximum(a, 1e-9)) for a in far))


def _like(values: np.ndarray, array: np.ndarray) -> np.ndarray:
    """(sets,) with further axes of size 1."""
    return values.reshape(-1, *[1] * (array.ndim - 1))


def _normal(array: np.ndarray) -> np.ndarray:
    return array / array.sum(axis=-1, keepdims=True)
