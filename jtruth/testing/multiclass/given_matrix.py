"""Posteriors of multi-class metrics with the operating matrix K plugged in (Su 2.7.2).

Given K, the classes are independent with the law (25). So ACC and every element C[l, n] are sums of
independent coin flips, and whatever looks at one class only (its recall, precision, F, and K[l, n]) is a
function of two such sums: A, the samples of class l among those predicted n, and B, those among the others.
That is the binary table of `exact`, taken from there. `normal` replaces the sums by normal variables, as the
paper does, and ratios by ratios of normals, as it remarks one could. Metrics that involve several classes
(macro averages, kappa, MCC) have no closed law given K, and are taken from joint draws of the count table.
Host side, float64.
"""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from jtruth.stats.estimates import Estimate
from jtruth.tables.joint import JointEstimate
from jtruth.tables.metrics import Metric, named_metric
from jtruth.tables.posterior import TableDraws, TablePosterior
from jtruth.testing.binary.empirical_bayes import ShareMoments
from jtruth.testing.binary.exact import CountTable
from jtruth.testing.binary.nodes import NodeTable, law_at
from jtruth.testing.binary.operating_point import collapse
from jtruth.testing.binary.plug_in import _normal, normal_law


class GivenMatrix(TablePosterior, eqx.Module):
    """Posterior of the table given K.

    `log_p` is the logarithm of (25); `normal` chooses the central limit theorem, else the laws are exact.
    `counts` are joint draws of the table, for what looks at several classes.
    """

    log_p: Float[np.ndarray, "samples classes"]
    y_pred: Int[np.ndarray, " samples"]
    normal: bool
    confusion: Float[np.ndarray, "classes symbols"]  # K
    counts: Int[np.ndarray, "draws classes symbols"]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of classes and symbols."""
        return self.confusion.shape[0], self.confusion.shape[1]

    def joint(self, first: str | Metric, second: str | Metric) -> JointEstimate:
        """Joint draws of two metrics."""
        return TableDraws(self.counts).joint(self.metric(first), self.metric(second))

    def draws(self, key: Key[Array, ""], n: int) -> Float[np.ndarray, "n classes symbols"]:
        """n of the joint draws, with replacement."""
        return TableDraws(self.counts).draws(key, n)

    def _log_odds(self, true: int) -> Float[np.ndarray, " samples"]:
        """logit p(y_i = l | .), from the sum over the other classes, so that nothing cancels."""
        others = np.delete(self.log_p, true, axis=1)
        with np.errstate(divide="ignore"):
            return self.log_p[:, true] - np.logaddexp.reduce(others, axis=1)

    def _table(self, true: int, chosen: Bool[np.ndarray, " samples"]) -> CountTable | NodeTable:
        """Law of (A, B): (25) is in the log-odds already, and the point (1/2, 1/2) leaves them so."""
        return law_at(collapse(self._log_odds(true), chosen.astype(np.int64)), 0.5, 0.5)

    def _moments(self, true: int, chosen: Bool[np.ndarray, " samples"]) -> ShareMoments:
        """Means and variances of A/N and B/N, and the share of chosen samples."""
        p, n = np.exp(self.log_p[:, true]), chosen.size
        spread = -p * np.expm1(self.log_p[:, true])
        return ShareMoments(
            p[chosen].sum() / n,
            spread[chosen].sum() / n**2,
            p[~chosen].sum() / n,
            spread[~chosen].sum() / n**2,
            chosen.mean(),
        )

    def cell(self, true: int, symbol: int) -> Estimate:
        """Law of the element C[l, n] of the confusion matrix."""
        chosen = self.y_pred == symbol
        if not self.normal:
            return self._table(true, chosen).count_law(0)
        m, n = self._moments(true, chosen), chosen.size
        return _normal(m.mean_u * n, m.var_u * n**2)

    def rate(self, true: int, symbol: int) -> Estimate:
        """Law of K[l, n] = C[l, n] / (number of samples of class l)."""
        return self._one_class(named_metric("recall"), true, symbol)

    def _one_class(self, metric: Metric, true: int, symbol: int) -> Estimate:
        chosen = self.y_pred == symbol
        if self.normal:
            return normal_law(self._moments(true, chosen), metric)
        return self._table(true, chosen).estimate(metric)

    def estimate(self, metric: str | Metric) -> Estimate:
        """Law of accuracy and of ratios of one class in closed form; of anything else by the draws."""
        found = self.metric(metric)
        if found.is_ratio and found.position is not None:
            return self._one_class(found.alone, found.position, found.position)
        return self._accuracy() if found.name == "accuracy" else TableDraws(self.counts).estimate(found)

    def _accuracy(self) -> Estimate:
        right = self.y_pred[:, None] == np.arange(self.log_p.shape[1])[None, :]
        with np.errstate(divide="ignore"):  # a symbol that is no class is never right
            log_right = np.logaddexp.reduce(np.where(right, self.log_p, -np.inf), axis=1)
            log_wrong = np.logaddexp.reduce(np.where(right, -np.inf, self.log_p), axis=1)
        n = log_right.size
        if self.normal:
            p = np.exp(log_right)
            return _normal(p.sum() / n, (p * np.exp(log_wrong)).sum() / n**2)
        data = collapse(log_right - log_wrong, np.ones(n, np.int64))
        return law_at(data, 0.5, 0.5).estimate("accuracy")
