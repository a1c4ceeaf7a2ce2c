"""Grades: labels and classes have an order, and each labeler has thresholds of his own (cumulative link).

Class c stands at c on a line. Labeler t sees it with logistic noise, and gives the grade whose stretch of the
line he thinks to see:

    p(grade <= k | class c) = logistic(threshold[t, k] - slope[t] c)

A strict labeler has high thresholds, a coarse one a small slope, and nobody confuses far grades more often
than near ones. So T labelers have T C parameters instead of T C (C - 1), which is what makes few labels go
far. The matrices that follow are ordinary ones: everything behind them is as for any labels.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize
from scipy.special import expit

from jtruth import _host
from jtruth.learning.values.table import Values, shares_of_votes, whole_numbers

_SLOPE, _SPREAD = (3.0, 1.5), 2.0  # prior: mean and sd of a slope; sd of a threshold around half-way


class OrdinalLink(NamedTuple):
    """Slope and thresholds of each labeler."""

    slope: Float[np.ndarray, " labelers"]
    threshold: Float[np.ndarray, "labelers steps"]  # increasing

    @classmethod
    def before(cls, values: Values, num_classes: int) -> "OrdinalLink":
        """Values are grades 0..C-1 in their order; at least three, since two have no order to speak of."""
        if num_classes < 3:
            raise ValueError(
                f"{num_classes} grades have no order that matters: use Labels and fit_dawid_skene"
            )
        whole_numbers(values, num_classes, "grade")
        size = len(values.workers)
        half = (np.arange(num_classes - 1) + 0.5) * _SLOPE[0]
        return cls(np.full(size, _SLOPE[0]), np.tile(half, (size, 1)))

    def start(self, values: Values) -> Float[np.ndarray, "samples classes"]:
        """Vote shares."""
        classes = self.threshold.shape[1] + 1
        return shares_of_votes(values, (values.value[:, None] == np.arange(classes)).astype(np.float64))

    @property
    def matrices(self) -> Float[np.ndarray, "labelers classes classes"]:
        """p(grade | class) of each labeler."""
        return _rows(self.slope, self.threshold)

    def log_p(self, values: Values) -> Float[np.ndarray, "labels classes"]:
        """log p(grade | class) of each label."""
        return _host.log(self.matrices[values.labeler, :, values.value.astype(np.int64)])

    def refit(self, values: Values, weight: Float[np.ndarray, "labels classes"]) -> "OrdinalLink":
        """For each labeler the mode given expected counts, by BFGS from where he was."""
        counts, slope, threshold = (
            values.counts(weight, weight.shape[1]),
            self.slope.copy(),
            self.threshold.copy(),
        )
        for t in range(len(counts)):
            begin = np.concatenate([[np.log(slope[t])], threshold[t, :1], np.log(np.diff(threshold[t]))])
            found = minimize(_loss, begin, args=(counts[t],), method="BFGS", options={"gtol": 1e-7})
            slope[t], threshold[t] = _parts(found.x if found.fun <= _loss(begin, counts[t]) else begin)
        return OrdinalLink(slope, threshold)

    def log_prior(self) -> float:
        """Normal laws of slopes and thresholds, without their constants."""
        return -sum(_penalty(s, b) for s, b in zip(self.slope, self.threshold, strict=True))

    def kappa(self, prior: Float[np.ndarray, " classes"]) -> Float[np.ndarray, " labelers"]:
        """Each labeler's quadratic weighted kappa with the class: 1 for a perfect one, 0 by chance."""
        joint = prior[:, None] * self.matrices
        far = (np.arange(prior.size)[:, None] - np.arange(prior.size)) ** 2
        chance = np.einsum("c,tk,ck->t", prior, joint.sum(axis=1), far)
        return 1 - (joint * far).sum(axis=(1, 2)) / chance


def _rows(slope: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    """Differences of the distribution function, (..., classes, grades)."""
    at = threshold[..., None, :] - slope[..., None, None] * np.arange(threshold.shape[-1] + 1)[:, None]
    ends = np.ones((*at.shape[:-1], 1))
    below = np.concatenate([0 * ends, expit(at), ends], axis=-1)
    return np.maximum(np.diff(below, axis=-1), 1e-12)


def _parts(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Slope and increasing thresholds from free numbers."""
    return float(np.exp(x[0])), np.cumsum(np.concatenate([x[1:2], np.exp(x[2:])]))


def _penalty(slope: float, threshold: np.ndarray) -> float:
    """Minus log prior."""
    half = (np.arange(threshold.size) + 0.5) * slope
    return 0.5 * ((slope - _SLOPE[0]) / _SLOPE[1]) ** 2 + 0.5 * (((threshold - half) / _SPREAD) ** 2).sum()


def _loss(x: np.ndarray, counts: np.ndarray) -> float:
    slope, threshold = _parts(x)
    return _penalty(slope, threshold) - float((counts * np.log(_rows(np.asarray(slope), threshold))).sum())
