"""Probabilities as labels: a person's confidence, or a model's softmax, with a Dirichlet law for each class.

Labeler t gives to samples of class c a distribution over the classes drawn from Dirichlet(a[t, c]). Its mean
says whom he confuses, its total how sure he makes himself: an overconfident labeler has a small total and is
read with the doubt that he left out. A labeler with few labels leans on all labelers, whose mean counts as
two labels of each class.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import digamma, gammaln, polygamma

from jtruth.learning.values.table import Values, moving, shares_of_votes

_WORTH, _ROUNDS, _NEWTON = 2.0, 60, 6  # labels that all labelers count as; steps of the fixed point


class DirichletChannel(NamedTuple):
    """Concentrations of the probabilities that each labeler gives to samples of each class."""

    concentration: Float[np.ndarray, "labelers classes classes"]

    @classmethod
    def before(cls, values: Values, num_classes: int) -> "DirichletChannel":
        """Values are (labels, classes) probabilities above 0 that sum to 1."""
        p = values.value
        if p.dtype.kind != "f" or p.shape[1:] != (num_classes,):
            raise ValueError(
                f"probabilities must be floats (labels, {num_classes}); got {p.shape} of {p.dtype}"
            )
        bad = np.flatnonzero(~(np.abs(p.sum(axis=1) - 1) <= 1e-6))
        if bad.size:
            raise ValueError(f"row {bad[0]}: {p[bad[0]].tolist()} sums to {p[bad[0]].sum():.6g}, not to 1")
        bad = np.flatnonzero(~(p > 0).all(axis=1))
        if bad.size:
            raise ValueError(
                f"row {bad[0]}: {p[bad[0]].tolist()} holds a 0 or less, which no Dirichlet law gives "
                f"({bad.size} such rows); mix in how sure anybody can be, e.g. 0.98 * p + 0.02 / classes"
            )
        return cls(np.tile(1.0 + 2.0 * np.eye(num_classes), (len(values.workers), 1, 1)))

    def start(self, values: Values) -> Float[np.ndarray, "samples classes"]:
        """The mean probability on each sample."""
        return shares_of_votes(values, values.value)

    def log_p(self, values: Values) -> Float[np.ndarray, "labels classes"]:
        """log density of each label under each class."""
        a = self.concentration[values.labeler]
        log_x = np.log(values.value)[:, None, :]
        return gammaln(a.sum(axis=2)) - gammaln(a).sum(axis=2) + ((a - 1) * log_x).sum(axis=2)

    def refit(self, values: Values, weight: Float[np.ndarray, "labels classes"]) -> "DirichletChannel":
        """Most likely concentrations (Minka 2000, the fixed point for the mean of log p)."""
        classes, log_x = weight.shape[1], np.log(values.value)
        total = np.maximum(weight.sum(axis=0), 1e-12)[:, None]
        pooled = weight.T @ log_x / total  # (classes, classes)
        number = values.by_labeler(weight)[:, :, None]
        sums = [values.by_labeler(weight[:, c, None] * log_x) for c in range(classes)]
        mean = (np.stack(sums, axis=1) + _WORTH * pooled) / (number + _WORTH)
        a = self.concentration
        for _ in range(_ROUNDS):
            a = inverse_digamma(digamma(a.sum(axis=2, keepdims=True)) + mean)
        return DirichletChannel(a)

    log_prior = moving


def inverse_digamma(y: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """x with digamma(x) = y, by Newton from Minka's start."""
    x = np.where(y >= -2.22, np.exp(y) + 0.5, -1 / (y - digamma(1.0)))
    for _ in range(_NEWTON):
        x = x - (digamma(x) - y) / polygamma(1, x)
    return x
