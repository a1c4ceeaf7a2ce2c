"""Metrics of new samples of the same kind: a count table of these samples, plus sampling error.

A ratio that counts k of n samples has for new ones the distribution Beta(k + 1/2, n - k + 1/2) (Jeffreys'
prior), and uncertain counts give a mixture of these (`NewShare`), without Monte Carlo error. F1 is an
increasing function of tp / (tp + fp + fn), which is such a ratio. Other metrics (kappa, macro averages, F2,
areas under curves) use draws of tables whose cells are Dirichlet(counts + small weights) (`new_tables`).

In theta = arcsin(sqrt(share)) the density of a part is 2 sin(theta)^2k cos(theta)^2(n - k) / B(k + 1/2,
n - k + 1/2), smooth up to both ends of the range, so one grid serves every mixture.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Num
from scipy.special import betaln

from jtruth._random import Key, host_rng, stream
from jtruth.stats.draws import DrawsEstimate, draws_of
from jtruth.stats.estimates import WITH_MEAN, Estimate, Interval, check_level, shortest_interval
from jtruth.tables.metrics import Metric
from jtruth.tables.posterior import Cells, JointDensity, JointEstimate, TableDraws, TablePosterior

_PARTS, _POINTS, _REACH = 400, 1601, 9.0  # of a mixture; of its grid; standard deviations around its parts
_NEAR, _SOME = 8.0, 50  # parts to a standard deviation; added up at once
_TINY, _NEVER = 1e-12, 1e-300  # weight of parts that are left out; probability 0
_DRAWS = 4000
Counts = Num[np.ndarray, "draws classes symbols"]


@dataclass(frozen=True, eq=False, repr=False)
class NewShare(Estimate):
    """Mixture of Beta(hits + 1/2, misses + 1/2): a share of new samples; intervals leave equal tails.

    The mean is that of hits / (hits + misses), as in the samples at hand. With `weights` (u, v) the number is
    u s / (u s + v (1 - s)) of the share s: (2, 1) makes F1 of tp / (tp + fp + fn).
    """

    hits: Num[np.ndarray, " parts"]
    misses: Num[np.ndarray, " parts"]
    weight: Float[np.ndarray, " parts"]
    probability_defined: float = 1.0
    weights: tuple[float, float] = (1.0, 1.0)
    middle: float | None = None  # reported as the mean
    shortest: bool = False  # whether intervals are the shortest ones (predictive distributions)

    @cached_property
    def _parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Hits, misses and weights of at most 400 parts; near ones are merged and widened accordingly.

        Near are those an eighth of the narrowest part's standard deviation apart.
        """
        keep = self.weight > _TINY * self.weight.max(initial=0.0)
        hits, misses = (np.asarray(n, np.float64)[keep] for n in (self.hits, self.misses))
        weight = self.weight[keep] / self.weight[keep].sum()
        if hits.size < 100 * _PARTS:  # merge repeated draws
            pairs, at = np.unique(hits + 1j * misses, return_inverse=True)
            hits, misses, weight = pairs.real, pairs.imag, np.bincount(at, weight)
        size = hits + misses
        center = np.arcsin(np.sqrt((hits + 0.5) / (size + 1)))
        span, narrow = float(np.ptp(center)), 0.5 / float(np.sqrt(size.max() + 1))
        cells = int(np.clip(_NEAR * span / narrow, 1, _PARTS))
        if center.size <= cells and span < 0.5 * _POINTS * narrow:
            return hits, misses, weight
        cell = np.minimum((cells * (center - center.min()) / max(span, 1e-300)).astype(int), cells - 1)
        total, first, second, number = (
            np.bincount(cell, weight * n, cells) for n in (1.0, center, center**2, size)
        )
        there = total > 0
        total, first, second, number = (n[there] for n in (total, first, second, number))
        first, number = first / total, number / total
        spread = np.maximum(second / total - first**2, (span / cells) ** 2 / 12)
        number = 1 / (1 / (number + 1) + 4 * spread) - 1  # the variance of theta is about 1 / (4 (n + 1))
        share = np.clip((np.sin(first) ** 2 * (number + 1) - 0.5) / np.maximum(number, 1e-300), 0.0, 1.0)
        number = np.maximum(number, 0.0)
        return share * number, (1 - share) * number, total

    @cached_property
    def _grid(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points theta, density there and probability below."""
        hits, misses, weight = self._parts
        center, sd = np.arcsin(np.sqrt((hits + 0.5) / (hits + misses + 1))), 0.5 / np.sqrt(hits + misses + 1)
        low = max(float((center - _REACH * sd).min()), 0.0)
        theta = np.linspace(low, min(float((center + _REACH * sd).max()), np.pi / 2), _POINTS)
        log_weight = np.log(2 * weight) - betaln(hits + 0.5, misses + 0.5)
        logs = 2 * np.log(np.maximum([np.sin(theta), np.cos(theta)], _NEVER))  # 0 times it is 0
        number, density = np.stack([hits, misses], axis=1), np.zeros(_POINTS)
        for some in np.array_split(np.argsort(center), -(-center.size // _SOME)):  # each near its center only
            ends = (center - _REACH * sd)[some].min(), (center + _REACH * sd)[some].max()
            near = slice(*np.searchsorted(theta, ends))
            density[near] += np.exp(number[some] @ logs[:, near] + log_weight[some, None]).sum(axis=0)
        below = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(theta))])
        return theta, density / below[-1], below / below[-1]

    def _value(self, theta: np.ndarray) -> np.ndarray:
        share, (u, v) = np.sin(theta) ** 2, self.weights
        return share if u == v else u * share / (u * share + v * (1 - share))

    def _moment(self, about: float, power: int) -> float:
        theta, density, _ = self._grid
        return float(np.trapezoid((self._value(theta) - about) ** power * density, theta))

    @property
    def _nowhere(self) -> bool:
        return not self.probability_defined > 0 or not self.weight.size

    @cached_property
    def mean(self) -> float:
        """Mean over the samples at hand, or `middle`."""
        if self.middle is not None or self._nowhere:
            return float("nan") if self.middle is None else self.middle
        (u, v), hits, misses = self.weights, self.hits, self.misses
        return float(self.weight @ (u * hits / (u * hits + v * misses)) / self.weight.sum())

    @cached_property
    def sd(self) -> float:
        """Standard deviation."""
        return float("nan") if self._nowhere else float(np.sqrt(self._moment(self._moment(0.0, 1), 2)))

    @property
    def draws(self) -> Float[np.ndarray, " 4000"]:
        """Evenly spaced quantiles in place of draws."""
        return draws_of(self)

    @property
    def mode(self) -> float:
        """Peak of the density by arcsin(sqrt(share)), in which Jeffreys' prior is flat."""
        if self._nowhere:
            return float("nan")
        theta, density, _ = self._grid
        return float(self._value(theta)[np.argmax(density)])

    def interval(self, level: float = 0.95) -> Interval:
        """Interval with equal tails (Jeffreys' if all classes are known); or the shortest."""
        if not self.shortest or self._nowhere:
            return self.equal_tails(level)
        theta, _, below = self._grid
        values = self._value(0.5 * (theta[1:] + theta[:-1]))
        point = float(np.clip(self.mean, values[0], values[-1])) if level >= WITH_MEAN else None
        return shortest_interval(values, np.diff(below), check_level(level), point)

    def equal_tails(self, level: float = 0.95) -> Interval:
        """Interval that leaves (1 - level)/2 on either side."""
        if self._nowhere:
            return Interval(float("nan"), float("nan"), float("nan"))
        low, high = super().equal_tails(check_level(level))
        return Interval(min(low, self.mean), max(high, self.mean), level)  # all right: up to 1

    def p_above(self, limit: float, *, strict: bool = False) -> float:
        """P(number >= limit)."""
        if self._nowhere:
            return float("nan")
        (u, v), limit = self.weights, min(max(limit, 0.0), 1.0)
        share = v * limit / (v * limit + u * (1 - limit))
        return 1 - float(np.interp(np.arcsin(np.sqrt(share)), self._grid[0], self._grid[2]))

    def density(self, x: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Density of the number; NaN where it is never defined."""
        x = np.asarray(x, np.float64)
        if self._nowhere:
            return np.full(x.shape, np.nan)
        u, v = self.weights
        inside = (x > 0) & (x < 1)
        y = np.where(inside, x, 0.5)
        share = v * y / (v * y + u * (1 - y))
        slope = (u * share + v * (1 - share)) ** 2 / (u * v)  # d share / d number
        theta, density, _ = self._grid
        at = np.interp(np.arcsin(np.sqrt(share)), theta, density, left=0.0, right=0.0)
        return np.where(inside, at * slope / (2 * np.sqrt(share * (1 - share))), 0.0)

    def _quantile(self, u: np.ndarray) -> np.ndarray:
        if self._nowhere:
            return np.full(np.shape(u), np.nan)
        theta, _, below = self._grid
        return self._value(np.interp(u, below, theta))


def new_share(dist: Estimate, size: float, weights: tuple[float, float] = (1.0, 1.0)) -> Estimate:
    """A number of `size` samples with this distribution, for new samples; `middle` is kept.

    With `weights` it is u s / (u s + v (1 - s)) of a share s of so many samples.
    """
    if np.isnan(dist.mean) or not size > 0:
        return dist
    u, v = weights
    values = np.clip(dist._quantile((np.arange(_PARTS) + 0.5) / _PARTS), 0.0, 1.0)
    shares, weight = v * values / (v * values + u * (1 - values)), np.full(values.size, 1 / values.size)
    found = NewShare(size * shares, size * (1 - shares), weight, dist.probability_defined, weights)
    if getattr(dist, "middle", None) is None:
        return found
    return replace(found, middle=dist.mean, shortest=True)


def new_shares(
    shares: Float[np.ndarray, "draws numbers"], sizes: Num[np.ndarray, " numbers"], key: Key
) -> Float[np.ndarray, "draws numbers"]:
    """Draws of shares of so many samples, for new samples: Beta with Jeffreys' prior; NaN stays."""
    hits = np.clip(np.nan_to_num(shares), 0.0, 1.0) * sizes
    drawn = host_rng(key, "new shares").beta(hits + 0.5, sizes - hits + 0.5)
    return np.where(np.isnan(shares), np.nan, drawn)


def class_shares(counts: Num[np.ndarray, "draws classes"]) -> list[Estimate]:
    """Share of each class among new samples, by draws of its count; means add up to one."""
    number, dists = float(counts[0].sum()), []
    for column in counts.T:
        hits, times = np.unique(column, return_counts=True)
        dists.append(NewShare(hits, number - hits, times / times.sum()))
    return dists


def new_tables(
    counts: Counts, key: Key, prior: Float[np.ndarray, "classes symbols"] | None = None
) -> Float[np.ndarray, "draws classes symbols"]:
    """For each table one of as many new samples, cell probabilities drawn from Dirichlet(counts + prior).

    The prior's weights, if None, add up to one: half of it on right answers where symbols are classes.
    """
    counts = np.asarray(counts, np.float64)
    classes, symbols = counts.shape[1:]
    if prior is None and classes == symbols > 1:
        prior = np.where(np.eye(classes) > 0, 0.5 / classes, 0.5 / (classes * (classes - 1)))
    prior = np.full((classes, symbols), 1 / (classes * symbols)) if prior is None else prior
    drawn = host_rng(key, "new samples").standard_gamma(np.where(np.isnan(counts), 1.0, counts) + prior)
    total = np.where(np.isnan(counts), np.nan, counts).sum(axis=(1, 2), keepdims=True)
    return drawn / drawn.sum(axis=(1, 2), keepdims=True) * total


class Ratio(NamedTuple):
    """A metric u hits / (u hits + v misses): cells of hits and of misses, and (u, v)."""

    hits: Float[np.ndarray, "classes symbols"]
    misses: Float[np.ndarray, "classes symbols"]
    weights: tuple[float, float]


def as_ratio(metric: Metric, shape: tuple[int, int]) -> Ratio | None:
    """The metric as a `Ratio`, or None."""
    if not (metric.is_ratio or metric.joint is not None) or metric.difference:
        return None
    above, below = metric.terms(np.ones(shape))
    hit, miss = (above > 0) & (above == below), (above == 0) & (below > 0)
    u, v = np.unique(below[hit]), np.unique(below[miss])
    if ((below > 0) & ~hit & ~miss).any() or u.size != 1 or v.size != 1:
        return None
    return Ratio(hit.astype(np.float64), miss.astype(np.float64), (float(u[0]), float(v[0])))


@dataclass(frozen=True, eq=False, repr=False)
class NewSamples(TablePosterior):
    """Metrics for new samples; `in_sample` has the counts of the samples at hand, as `cells` do."""

    in_sample: TablePosterior
    key: Any = field(default=0)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of classes and symbols."""
        return self.in_sample.shape

    def estimate(self, metric: str | Metric) -> Estimate:
        """Distribution of a metric for new samples; undefined as often as for these."""
        metric, table = self.metric(metric), self.in_sample
        ratio = as_ratio(metric, self.shape)
        if ratio is None:
            dist, middle = self._drawn.estimate(metric), table.estimate(metric).mean
            return replace(dist, middle=middle) if isinstance(dist, DrawsEstimate) else dist
        counted = table.counted(ratio.hits, ratio.misses)
        if counted is None:
            by_model = getattr(table, "by_model", {}).values()
            means = [one.mean_counts for one in by_model] or [table.cells().mean]
            size = float(np.nan_to_num(np.sum(np.mean(means, axis=0) * (ratio.hits + ratio.misses))))
            return new_share(table.estimate(metric), size, ratio.weights)
        hits, misses, weight = counted
        defined = hits + misses > 0
        share = float(weight[defined].sum() / weight.sum())
        found = NewShare(hits[defined], misses[defined], weight[defined], share, ratio.weights)
        return found if share > 0 else DrawsEstimate(np.array([np.nan]))

    @cached_property
    def _drawn(self) -> TablePosterior:
        """Draws of tables of new samples; of a predictive table, draws of each of its estimates."""
        by_model = getattr(self.in_sample, "by_model", None)
        if by_model is None:
            return TableDraws(self.draws(stream(self.key, "tables of new samples"), _DRAWS))
        drawn = {name: TableDraws(new_tables(one.counts, self.key)) for name, one in by_model.items()}
        return replace(self.in_sample, by_model=drawn)  # type: ignore[type-var]

    def joint(self, first: str | Metric, second: str | Metric) -> JointEstimate | JointDensity:
        """Joint distribution of two metrics."""
        return self._drawn.joint(self.metric(first), self.metric(second))

    def cell(self, true: int, symbol: int) -> Estimate:
        """Distribution of n[true, symbol] of the samples at hand."""
        return self.in_sample.cell(true, symbol)

    def cells(self, level: float = 0.95) -> Cells:
        """Mean and shortest interval of every cell of the samples at hand."""
        return self.in_sample.cells(level)

    def draws(self, key: Key, n: int) -> Float[np.ndarray, "n classes symbols"]:
        """n tables of as many new samples, expected counts by drawn cell probabilities."""
        return new_tables(self.in_sample.draws(key, n), stream(key, "cells of new samples"))
