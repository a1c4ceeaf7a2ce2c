"""Predictive distributions from labels alone: estimates, widened by their errors on public data sets.

Two base models need no assumption about shared errors: the majority vote, and independent errors. On public
data with known truth, on the logit scale, their errors in a data set s are

    logit(truth) = slope * logit(estimate) + tau_s t_3,      log tau_s ~ Normal(log_tau, spread),

so the distribution for a new data set is a mixture over tau (`predictive`), with a small flat part. A `slope`
below 1 shrinks the estimate.

The errors were learned on data sets labelled by people and on others labelled by LLM judges, half on
classifiers that are better than all their labelers. If people label, nine tenths of the mixture are of the
first kind. All others get half of each kind, because nothing narrower covered classifiers that are better
than their judges; for differences, nine tenths of the second. The table: `benchmarks/kinds.py`.

The reported point is the median, limited to the range of the base models. Each number has its own
distribution: how errors of different numbers are correlated is unknown, so there are no draws of tables.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float, Int
from scipy.special import logit, ndtri, stdtr

from jtruth import _validation as check
from jtruth.stats.draws import DrawsEstimate, Opinion, opinion, predictive
from jtruth.tables.metrics import Metric, settled
from jtruth.tables.posterior import Cells, JointEstimate, TableDraws, TablePosterior, cells_of

UNKNOWN_KIND, PEOPLE, EXPERTS, LLM_JUDGES = "unknown", "people", "experts", "llm_judges"
KINDS = (UNKNOWN_KIND, PEOPLE, EXPERTS, LLM_JUDGES)
OVERALL, CLASS, SHARE, DIFFERENCE = "overall", "one class", "share of samples", "difference"
LABELERS = "difference of labelers"
FLAT = 0.02  # weight of the part that knows nothing
NO_JOINT = (
    "there is no joint distribution of {} and {}: a predictive distribution is of one number at a time. For "
    "one assumption use result.joint(..., assumption=...)"
)
NO_DRAWS = (
    "a predictive distribution is of one number at a time, so there are no draws of tables; for one "
    "assumption use assumptions[k].posterior.draws(...)"
)
NO_EFFECT = "labelers_are={!r} has no effect here, because the verified labels measure the label errors."
# Errors of estimates from labels: slope, mean over sources of the log of the scale tau (in logits), its
# standard deviation. By what is asked: a metric of the whole table and labelers' accuracies, a metric of one
# class, the share of a class or cell, a difference of classifiers (as a share of the most that it could be),
# a difference of labelers' accuracies.
ERRORS: dict[tuple[str, str], tuple[float, float, float]] = {
    (PEOPLE, OVERALL): (1.0, -1.70, 0.69),
    (PEOPLE, CLASS): (1.0, -0.96, 0.56),
    (PEOPLE, SHARE): (1.0, -2.19, 0.76),
    (PEOPLE, DIFFERENCE): (0.75, -1.12, 0.64),
    (PEOPLE, LABELERS): (0.75, -2.51, 0.75),
    (LLM_JUDGES, OVERALL): (0.5, -0.86, 0.52),
    (LLM_JUDGES, CLASS): (0.5, -0.32, 0.43),
    (LLM_JUDGES, SHARE): (0.75, -0.78, 0.54),
    (LLM_JUDGES, DIFFERENCE): (0.25, -0.30, 0.68),
    (LLM_JUDGES, LABELERS): (0.25, -1.93, 0.65),
}
SOURCES = {
    PEOPLE: ("restaurant", "rte", "dogs", "faces", "bluebirds", "cifar10h", "product", "sentiment_polarity",
             "labelme"),
    LLM_JUDGES: ("cebab", "lgbteen", "summeval", "pandalm", "autoj", "frank", "code", "openqa", "dl23",
                 "llmbar", "judgebench", "triviaqa"),
}  # fmt: skip
_NODES = ndtri((np.arange(7) + 0.5) / 7)  # of the mixture over tau
_LIKE_PEOPLE = 0.9  # of the mixture, where people label
_LIKE_JUDGES = {DIFFERENCE: 0.9, LABELERS: 0.9}  # of the mixture if labelers are unknown; else a half


def check_kind(labelers_are: str | None, learned: bool = True) -> str:
    """The kind of labelers (None: unknown); ValueError if invalid, or if error rates are not learned."""
    kind = UNKNOWN_KIND if labelers_are is None else labelers_are
    check.choose("labelers_are", kind, KINDS)
    if kind != UNKNOWN_KIND and not learned:
        raise ValueError(
            f"labelers_are={kind!r} is for learned error rates, but here they are given or assumed (noise, "
            "assume, another method): leave labelers_are out"
        )
    return kind


def of_no_effect(labelers_are: str) -> tuple[str, ...]:
    """A note that the kind has no effect with gold."""
    return () if labelers_are == UNKNOWN_KIND else (NO_EFFECT.format(labelers_are),)


def width_assumption(labelers_are: str) -> str:
    """The assumption of the predictive distribution, in a sentence."""
    if labelers_are == PEOPLE:
        return (
            f"estimates err as they did on {len(SOURCES[PEOPLE])} public data sets labelled by people (95 % "
            "intervals of accuracy covered 98 % of left-out sets)"
        )
    both = (
        f"estimates err as they did on {sum(map(len, SOURCES.values()))} public data sets, half people and "
        "half LLM judges and automatic metrics (95 % intervals of accuracy covered 94 % of left-out sets "
        "with judges)"
    )
    if labelers_are == UNKNOWN_KIND:
        return f"{both}. With people as labelers, --labelers-are people gives narrower intervals"
    return f"{both}. {_SAME[labelers_are]}"


_SAME = {
    LLM_JUDGES: "The kind llm_judges changes nothing: no narrower interval covered classifiers that are "
    "better than their judges",
    EXPERTS: "The kind experts changes nothing: no public data set has independently verified expert labels",
}


def group_of(metric: Metric) -> str:
    """Row of the table of errors for a metric: metrics of one class have larger errors."""
    if metric.difference:
        return DIFFERENCE
    return OVERALL if metric.position is None else CLASS


def size_of(model: TableDraws, metric: Metric) -> float:
    """Expected number of samples in the denominator of a metric; all samples if it is no ratio of counts."""
    if not metric.is_ratio and metric.joint is None:
        return float(model.counts[0].sum())
    below = metric.terms(np.ones(model.shape))[1]
    return max(float((below * model.mean_counts).sum()), 1.0)


def parts_of(opinions: Iterable[Opinion], error: tuple[float, float, float]) -> list[Opinion]:
    """Components of the mixture: one for each base model and node of tau."""
    slope, log_tau, spread = error
    taus = np.exp(log_tau + spread * _NODES)
    return [(slope * m, float(np.hypot(slope * scale, tau))) for m, scale in opinions for tau in taus]


def shares_of(labelers_are: str, group: str) -> dict[str, float]:
    """Weights of the mixture by kind of the data sets on which errors were learned."""
    judges = 1 - _LIKE_PEOPLE if labelers_are == PEOPLE else _LIKE_JUDGES.get(group, 0.5)
    return {PEOPLE: 1 - judges, LLM_JUDGES: judges}


def widened(opinions: list[Opinion], group: str, labelers_are: str) -> tuple[list[Opinion], list[float]]:
    """Components of the predictive mixture without the flat part, and their weights."""
    parts, weights = [], []
    for kind, share in shares_of(labelers_are, group).items():
        found = parts_of(opinions, ERRORS[kind, group])
        parts, weights = parts + found, weights + [share] * len(found)
    return parts, weights


# Of a hundred classes most cells are empty in all draws, and their distributions the same.
_same_again = lru_cache(maxsize=256)(predictive)


def dist_of(
    draws: dict[str, np.ndarray], group: str, labelers_are: str, size: float,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> DrawsEstimate:  # fmt: skip
    """Predictive distribution of a number by its `group` in `ERRORS`; `size`: of the denominator."""
    known = [values[~np.isnan(values)] for values in draws.values() if not np.isnan(values).all()]
    if not known:
        return _same_again((), 1.0, bounds, size)
    parts, weights = widened([opinion(values, size, bounds) for values in known], group, labelers_are)
    dist = _same_again(tuple(parts), FLAT, bounds, size, tuple(weights))
    means = [float(values.mean()) for values in known]
    return replace(dist, middle=float(np.clip(np.median(dist.draws), min(means), max(means))))


def dists_of(
    draws: Mapping[str, Float[np.ndarray, "draws numbers"]],
    group: str,
    labelers_are: str,
    sizes: Float[np.ndarray, " numbers"],
) -> list[DrawsEstimate]:
    """Predictive distributions of several numbers; NaN where no base model has a value. See `dist_of`."""
    dists = []
    for k, size in enumerate(sizes.tolist()):
        known = {name: values[:, k] for name, values in draws.items() if not np.isnan(values[:, k]).all()}
        nothing = DrawsEstimate(np.array([np.nan]))
        dists.append(dist_of(known, group, labelers_are, size) if known else nothing)
    return dists


def first_larger(
    draws: Mapping[str, Float[np.ndarray, "draws labelers"]],
    pairs: Int[np.ndarray, "pairs 2"],
    labelers_are: str,
    sizes: Float[np.ndarray, " labelers"],
) -> Float[np.ndarray, " pairs"]:
    """P(the first of a pair of labelers is more accurate); errors that all labelers share cancel."""
    size = sizes[pairs].min(axis=1)
    above, weight = np.zeros(len(pairs)), np.zeros(len(pairs))
    for values in draws.values():
        gap = values[:, pairs[:, 0]] - values[:, pairs[:, 1]]
        z = logit(((gap + 1) / 2 * size + 0.5) / (size + 1))
        centre, scale = z.mean(axis=0), z.std(axis=0)
        known = ~np.isnan(centre)
        for kind, share in shares_of(labelers_are, LABELERS).items():
            slope, log_tau, spread = ERRORS[kind, LABELERS]
            for tau in np.exp(log_tau + spread * _NODES):
                p = stdtr(3, slope * centre / np.hypot(slope * scale, tau))
                above[known] += share * p[known]
                weight[known] += share
    mixed = np.divide(above, weight, out=np.full(len(pairs), np.nan), where=weight > 0)
    return (1 - FLAT) * mixed + 0.5 * FLAT


class PredictiveTable(TablePosterior, eqx.Module):
    """Count tables under the base models, with the errors of such estimates on public data."""

    by_model: dict[str, TableDraws]  # by the name of the assumption
    labelers_are: str = eqx.field(static=True)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of classes and symbols."""
        return next(iter(self.by_model.values())).shape

    @property
    def _predicted(self) -> np.ndarray:
        return next(iter(self.by_model.values())).counts[0].sum(axis=0)

    def estimate(self, metric: str | Metric) -> DrawsEstimate:
        """Distribution of a metric; a point if the predictions determine it."""
        metric = self.metric(metric)
        if metric.joint is None and not metric.difference:
            value = settled(metric, self._predicted, self.shape[0], np.zeros(0, np.int64))
            if value is not None:
                return DrawsEstimate(np.array([value]))
        return self.dist(metric, group_of(metric))

    def dist(self, metric: Metric, group: str = OVERALL) -> DrawsEstimate:
        """Distribution of any number of the table, given its row in the table of errors."""
        tables = self.by_model.items()
        size = float(np.mean([size_of(table, metric) for _, table in tables]))
        draws = {name: np.asarray(metric.of_table(table.counts), np.float64) for name, table in tables}
        return dist_of(draws, group, self.labelers_are, size, metric.bounds)

    def joint(self, first: str | Metric, second: str | Metric) -> JointEstimate:
        """Not available: each metric has its own distribution."""
        raise ValueError(NO_JOINT.format(self.metric(first).name, self.metric(second).name))

    def cell(self, true: int, symbol: int) -> DrawsEstimate:
        """Distribution of n[true, symbol], given the number of samples with this symbol."""
        size = float(self._predicted[symbol])
        if size == 0:
            return DrawsEstimate(np.zeros(1))
        columns = {name: table.counts[:, :, symbol] for name, table in self.by_model.items()}
        draws = {name: column[:, true] / column.sum(axis=1) for name, column in columns.items()}
        dist = dist_of(draws, CLASS, self.labelers_are, size)
        return DrawsEstimate(dist.draws * size, middle=dist.mean * size)

    def cells(self, level: float = 0.95) -> Cells:
        """Every cell, scaled by column so that the means add up to the predictions."""
        dists = [self.cell(c, u) for c, u in np.ndindex(*self.shape)]
        cells = cells_of(dists, self.shape, level)
        factor = self._predicted / np.maximum(cells.mean.sum(axis=0), 1e-300)
        return Cells(*(part * factor[None, :] for part in cells))

    def draws(self, key: Any, n: int) -> Float[np.ndarray, "n classes symbols"]:
        """Not available."""
        raise ValueError(NO_DRAWS)
