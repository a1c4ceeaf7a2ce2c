"""Posteriors of the table of a binary classifier, held as a law of (A, B).

Of the N1 samples predicted positive A are positive, of the N0 others B: the table is

    [[N0 - B, N1 - A], [B, A]]      rows true (negative, positive), columns predicted,

so that every metric is a function of (A, B). A ratio of two sums of counts is a ratio of two linear forms of
them, `linear_forms`; where its denominator is a constant its law is that of A, of B or of A - B, with equally
spaced values. `exact` and `nodes` (in `jtruth.testing`) hold the law of (A, B) itself.
"""

from abc import abstractmethod
from typing import Any

import numpy as np
from jaxtyping import Float

from jtruth._random import Key, uniforms
from jtruth.stats.estimates import Estimate, PmfEstimate
from jtruth.tables.joint import JointEstimate
from jtruth.tables.metrics import Metric
from jtruth.tables.posterior import TablePosterior

Form = tuple[Any, Any, Any]  # (a, b, c) of a A + b B + c


def linear_forms(metric: Metric, n1: Any, n0: Any) -> tuple[Form, Form]:
    """Numerator and denominator of a metric that is a ratio, as linear forms of (A, B).

    n1, n0: samples predicted positive and negative; as shares of all, A and B are shares too (U and V).
    """
    above, below = (
        (tp - fp, fn - tn, fp * n1 + tn * n0) for tp, fp, fn, tn in metric.terms(np.ones((2, 2))).weights
    )
    return above, below


def moved(law: PmfEstimate, scale: float, shift: float, divisor: float = 1.0) -> PmfEstimate:
    """Law of (scale X + shift) / divisor."""
    order = slice(None) if scale >= 0 else slice(None, None, -1)
    values = (scale * law.values + shift) / divisor
    return PmfEstimate(values[order], law.pmf[order], law.probability_defined, law.lattice)


class BinaryTable(TablePosterior):
    """A posterior of (A, B)."""

    @property
    @abstractmethod
    def predicted(self) -> tuple[int, int]:
        """Numbers of samples predicted positive and negative, (N1, N0)."""

    @property
    def shape(self) -> tuple[int, int]:
        """Two classes, two symbols."""
        return 2, 2

    @abstractmethod
    def count_law(self, axis: int) -> PmfEstimate:
        """Law of the number of true positives A (axis 0) or of false negatives B (axis 1)."""

    def cell(self, true: int, symbol: int) -> Estimate:
        """Law of an element of the table."""
        law = self.count_law(0 if symbol else 1)
        return law if true else moved(law, -1.0, float(self.predicted[0 if symbol else 1]))


class GridTable(BinaryTable):
    """Probabilities of (A, B) on a grid: `counts()` of the cells, broadcastable to `probability`."""

    a: np.ndarray  # true positives of the rows
    b: np.ndarray  # false negatives of the columns
    probability: Float[np.ndarray, "a b"]
    n1: int
    n0: int

    @property
    def predicted(self) -> tuple[int, int]:
        """Numbers of samples predicted positive and negative."""
        return self.n1, self.n0

    def counts(self) -> tuple[Any, Any, Any, Any]:
        """(tp, fp, fn, tn) of every cell."""
        a, b = self.a[:, None], self.b[None, :]
        return a, self.n1 - a, b, self.n0 - b

    @abstractmethod
    def difference_law(self) -> PmfEstimate:
        """Law of A - B."""

    @abstractmethod
    def ratio_law(self, metric: Metric) -> Estimate:
        """Law of a metric whose values are not equally spaced."""

    def estimate(self, metric: str | Metric) -> Estimate:
        """Law of any metric."""
        metric = self.metric(metric)
        return self._lattice_law(metric) or self.ratio_law(metric)

    def _lattice_law(self, metric: Metric) -> PmfEstimate | None:
        """The law where it is that of A, of B or of A - B: nothing to sort; else None."""
        if not metric.is_ratio:
            return None
        (a, b, shift), (below_a, below_b, divisor) = linear_forms(metric, *self.predicted)
        if below_a != 0 or below_b != 0 or divisor <= 0:
            return None
        if b == 0 and a != 0:
            return moved(self.count_law(0), a, shift, divisor)
        if a == 0 and b != 0:
            return moved(self.count_law(1), b, shift, divisor)
        return moved(self.difference_law(), a, shift, divisor) if a == -b and a != 0 else None

    def values(self, metric: str | Metric) -> Float[np.ndarray, "a b"]:
        """The metric in every cell, NaN where it is undefined."""
        return np.broadcast_to(self.metric(metric).of_counts(*self.counts()), self.probability.shape)

    def joint(self, first: str | Metric, second: str | Metric) -> JointEstimate:
        """Joint law of two metrics: the cells in which both are defined."""
        x, y = self.values(first).ravel(), self.values(second).ravel()
        weight = self.probability.ravel()
        defined = ~(np.isnan(x) | np.isnan(y))
        keep = defined & (weight > 1e-16)
        names = [self.metric(metric).name for metric in (first, second)]
        points, total = np.stack([x[keep], y[keep]], 1), weight[keep].sum()
        return JointEstimate(names[0], names[1], points, weight[keep] / total, float(weight[defined].sum()))

    def draws(self, key: Key, n: int) -> Float[np.ndarray, "n 2 2"]:
        """n draws of the table; of a smooth one, nodes of its grid, which are no whole numbers."""
        u = uniforms(key, n)
        upto = np.cumsum(self.probability.ravel())
        where = np.minimum(np.searchsorted(upto, u * upto[-1], side="right"), upto.size - 1)
        tp, fp, fn, tn = (np.broadcast_to(c, self.probability.shape).ravel()[where] for c in self.counts())
        return np.stack([tn, fp, fn, tp], -1).reshape(n, 2, 2).astype(np.float64)
