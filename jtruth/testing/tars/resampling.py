"""Confidence intervals of every metric of the estimated counts, by resamples (TARS 4.2.2).

The bootstrap draws the samples with replacement. Samples that add the same to the counts are interchangeable,
so a resample is one multinomial draw of how often each kind of sample occurs, and all resamples are one
matrix product: nothing is looped over. That is for the target "population". For "in-sample" the samples stay
as they are and only the labels' noise varies: tables are drawn from a normal law whose covariance is that of
W given the true class,

    cov(W(c), W(d) | y)  estimated by  W(c) W(d) - [c = d] W(c)      (unbiased; negative eigenvalues are 0).

A resample in which a metric's denominator is not positive has no value; `probability_defined` says how many
have one. Estimates are outside of [0, 1] where the data say so; nothing is cut.
"""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Key

from jtruth._random import as_key, host_rng
from jtruth._validation import choose
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate
from jtruth.stats.regions import Interval, Region, check_level
from jtruth.tables.joint import JointEstimate
from jtruth.tables.metrics import Metric
from jtruth.tables.posterior import TableDraws, TablePosterior
from jtruth.testing.tars.counts import TARGETS, CountEstimate, check_in_sample


@dataclass(frozen=True, eq=False, repr=False)
class Resampled(Estimate):
    """A number estimated from the data, and its values in resamples: confidence, not probability."""

    point: float
    draws: Float[np.ndarray, " draws"]  # NaN where undefined

    @property
    def _law(self) -> DrawsEstimate:
        return DrawsEstimate(self.draws)

    @property
    def probability_defined(self) -> float:  # type: ignore[override]
        """Share of resamples in which it is defined; 0 if it is not in the data themselves."""
        return 0.0 if np.isnan(self.point) else self._law.probability_defined

    @property
    def mean(self) -> float:
        """The estimate itself, not the mean of the resamples."""
        return self.point

    @property
    def mode(self) -> float:
        """The estimate itself."""
        return self.point

    @property
    def sd(self) -> float:
        """Standard error by the resamples."""
        return self._law.sd

    def interval(self, level: float = 0.95) -> Interval:
        """Quantiles of the resamples."""
        check_level(level)
        return self._law.equal_tails(level)

    def equal_tails(self, level: float = 0.95) -> Interval:
        """The same as `interval`."""
        return self.interval(level)

    def region(self, level: float = 0.95) -> Region:
        """The interval."""
        low, high = ends = self.interval(level)
        return Region(((low, high),), ends.mass)

    def density(self, x: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Density of the resamples, smoothed."""
        return self._law.density(x)

    def sample(self, key: Key[Array, ""], n: int) -> Float[np.ndarray, " n"]:
        """Values of n resamples."""
        return self._law.sample(key, n)


class EstimatedTable(TablePosterior, eqx.Module):
    """An estimated count table with resamples of it: confidence statements, not a posterior."""

    point: Float[np.ndarray, "classes symbols"]
    resamples: Float[np.ndarray, "draws classes symbols"]
    target: str = eqx.field(static=True)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of classes and symbols."""
        return self.point.shape[0], self.point.shape[1]

    def estimate(self, metric: str | Metric) -> Resampled:
        """A metric of the estimated table, and of the resamples."""
        metric = self.metric(metric)
        point = float(_value(metric, self.point[None])[0])
        return Resampled(point, _value(metric, self.resamples))

    def joint(self, first: str | Metric, second: str | Metric) -> JointEstimate:
        """Joint law of two metrics over the resamples."""
        return TableDraws(self.resamples).joint(first, second)

    def cell(self, true: int, symbol: int) -> Resampled:
        """An estimated count."""
        return Resampled(float(self.point[true, symbol]), self.resamples[:, true, symbol])

    def draws(self, key: Key[Array, ""], n: int) -> Float[np.ndarray, "n classes symbols"]:
        """n resampled tables, drawn with replacement."""
        return TableDraws(self.resamples).draws(key, n)


def resampled_table(
    counts: CountEstimate,
    *,
    target: str = "population",
    num: int = 2000,
    key: Any = None,
) -> EstimatedTable:
    """The estimated table with `num` resamples, for confidence intervals of any metric.

    Args:
        counts: from `estimate_counts`.
        target: "population" (bootstrap) or "in-sample" (labels' noise alone); see the module docstring.
        num: number of resamples.
        key: 0 if None.

    Raises:
        ValueError: an unknown target, or "in-sample" with weights.
    """
    choose("target", target, TARGETS)
    rng = host_rng(as_key(key), "resampled counts")
    draw = _bootstrap if target == "population" else _label_noise
    return EstimatedTable(counts.table, draw(counts, num, rng), target)


def _bootstrap(counts: CountEstimate, num: int, rng: np.random.Generator) -> np.ndarray:
    """Tables of resamples: multinomial numbers of each kind of sample times what it adds."""
    classes = counts.table.shape[0]
    what = np.column_stack([counts.y_pred, counts.weight, counts.truth])
    kinds, often = np.unique(what, axis=0, return_counts=True)
    chosen = np.eye(counts.table.shape[1])[kinds[:, 0].astype(int)]
    adds = (kinds[:, 1, None] * kinds[:, 2:])[:, :, None] * chosen[:, None, :]
    total = counts.y_pred.size
    drawn = rng.multinomial(total, often / total, num).astype(np.float64)
    tables = (drawn @ adds.reshape(len(kinds), -1)).reshape(num, classes, -1)
    return tables * (total / (drawn @ kinds[:, 1]))[:, None, None]


def _label_noise(counts: CountEstimate, num: int, rng: np.random.Generator) -> np.ndarray:
    """Tables from the normal law of the labels' noise; columns are independent."""
    check_in_sample(counts)
    tables = np.repeat(counts.table[None], num, axis=0)
    for symbol in range(counts.table.shape[1]):
        w = counts.truth[counts.y_pred == symbol]
        values, vectors = np.linalg.eigh(w.T @ w - np.diag(w.sum(axis=0)))
        root = vectors * np.sqrt(np.maximum(values, 0.0))[None, :]
        tables[:, :, symbol] += rng.standard_normal((num, len(root))) @ root.T
    return tables


def _value(metric: Metric, tables: np.ndarray) -> np.ndarray:
    """(draws,) the metric, NaN where its denominator is not positive."""
    value = np.asarray(metric.of_table(tables), np.float64)
    if not metric.is_ratio:
        return value
    below = (tables * metric.terms(np.ones(tables.shape[1:])).denominator[None]).sum(axis=(1, 2))
    return np.where(below > 0, value, np.nan)
