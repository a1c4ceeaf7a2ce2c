"""The answer on labels alone: what readings of the labels say, widened by how far such readings were off.

Two readings of labels need no guess of what labelers share: the majority vote, and the model of independent
errors. How labelers and classifier err together neither knows; on public data with known truth it can be
seen. On the logit scale a source of data s has errors

    logit(truth) = slope * logit(reading) + tau_s t_3,      log tau_s ~ Normal(log_tau, spread),

so the distribution for a new source is a mixture over tau (`predictive`), with a little that is flat. A
`slope` below 1 says that what labels claim is to be believed by that part only.

The errors were learned on sources labelled by people and on sources labelled by LLM judges, in each of these
as much on classifiers that are better than all their labelers as on others. If people label, nine tenths of
the mixture are of the first kind. Judges have no distribution of their own: a narrower one did not cover
classifiers that are better than their judges. So they, experts (of whom no public set has an independent
truth) and whoever does not say who labels get one and the same: half of each; of differences, where labels
of judges hardly say which is larger, nine tenths of the second kind. The table: `benchmarks/kinds.py`.

The point that is printed is the median, but never outside of what the readings say, so its error is never
larger than that of both. A difference of two points is the point of the difference.

A number of the count table gets a distribution by itself (`dist_of`, `PredictiveTable`): how errors of
different numbers hang together is not known, so there is no joint one and there are no draws of tables.
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
# How far a reading of labels is off: slope, mean over sources of the log of the scale tau (in logits), its
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
_LIKE_JUDGES = {DIFFERENCE: 0.9, LABELERS: 0.9}  # of the mixture where nobody says so; else a half


def check_kind(labelers_are: str | None, learned: bool = True) -> str:
    """The kind of labelers (None: unknown); ValueError: no kind, or one where error rates are not learned."""
    kind = UNKNOWN_KIND if labelers_are is None else labelers_are
    check.choose("labelers_are", kind, KINDS)
    if kind != UNKNOWN_KIND and not learned:
        raise ValueError(
            f"labelers_are={kind!r} is for learned error rates, but here they are given or assumed (noise, "
            "assume, another method): leave labelers_are out"
        )
    return kind


def of_no_effect(labelers_are: str) -> tuple[str, ...]:
    """What is to be said where gold answers."""
    return () if labelers_are == UNKNOWN_KIND else (NO_EFFECT.format(labelers_are),)


def rests_on(labelers_are: str) -> str:
    """What the predictive distribution assumes, in a sentence."""
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
    """Which row of the table a metric takes: metrics of one class are known less well."""
    if metric.difference:
        return DIFFERENCE
    return OVERALL if metric.position is None else CLASS


def size_of(model: TableDraws, metric: Metric) -> float:
    """How many samples stand below the line of a metric, on average; of what is no ratio of counts, all."""
    if not metric.is_ratio and metric.joint is None:
        return float(model.counts[0].sum())
    below = metric.terms(np.ones(model.shape))[1]
    return max(float((below * model.mean_counts).sum()), 1.0)


def parts_of(readings: Iterable[Opinion], error: tuple[float, float, float]) -> list[Opinion]:
    """What readings say, with such errors: a part for each reading and node of tau."""
    slope, log_tau, spread = error
    taus = np.exp(log_tau + spread * _NODES)
    return [(slope * m, float(np.hypot(slope * scale, tau))) for m, scale in readings for tau in taus]


def shares_of(labelers_are: str, group: str) -> dict[str, float]:
    """Of the predictive mixture, by kind of the sources on which errors were learned."""
    judges = 1 - _LIKE_PEOPLE if labelers_are == PEOPLE else _LIKE_JUDGES.get(group, 0.5)
    return {PEOPLE: 1 - judges, LLM_JUDGES: judges}


def widened(opinions: list[Opinion], group: str, labelers_are: str) -> tuple[list[Opinion], list[float]]:
    """The parts of the predictive mixture that are not flat, and their weights."""
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
    """Predictive distribution of a number by its `group` in `ERRORS`; `size`: of the count below the line."""
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
    """Predictive distributions of several numbers; NaN where no reading says anything. See `dist_of`."""
    dists = []
    for k, size in enumerate(sizes.tolist()):
        known = {name: values[:, k] for name, values in draws.items() if not np.isnan(values[:, k]).all()}
        dists.append(
            dist_of(known, group, labelers_are, size) if known else DrawsEstimate(np.array([np.nan]))
        )
    return dists


def first_larger(
    draws: Mapping[str, Float[np.ndarray, "draws labelers"]],
    pairs: Int[np.ndarray, "pairs 2"],
    labelers_are: str,
    sizes: Float[np.ndarray, " labelers"],
) -> Float[np.ndarray, " pairs"]:
    """P(the first of a pair of labelers is more accurate), by the predictive distribution of the difference.

    What all labelers share cancels in it. NaN where no reading says anything of both.
    """
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
    """Readings of the labels, with the errors that such readings had elsewhere."""

    readings: dict[str, TableDraws]  # by the name of the assumption
    labelers_are: str = eqx.field(static=True)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of classes and symbols."""
        return next(iter(self.readings.values())).shape

    @property
    def _predicted(self) -> np.ndarray:
        return next(iter(self.readings.values())).counts[0].sum(axis=0)

    def estimate(self, metric: str | Metric) -> DrawsEstimate:
        """Distribution of a metric; a point where predictions settle it whatever the truth."""
        metric = self.metric(metric)
        if metric.joint is None and not metric.difference:
            value = settled(metric, self._predicted, self.shape[0], np.zeros(0, np.int64))
            if value is not None:
                return DrawsEstimate(np.array([value]))
        return self.dist(metric, group_of(metric))

    def dist(self, metric: Metric, group: str = OVERALL) -> DrawsEstimate:
        """Distribution of any number of the table, given which row of errors it takes."""
        tables = self.readings.items()
        size = float(np.mean([size_of(table, metric) for _, table in tables]))
        draws = {name: np.asarray(metric.of_table(table.counts), np.float64) for name, table in tables}
        return dist_of(draws, group, self.labelers_are, size, metric.bounds)

    def joint(self, first: str | Metric, second: str | Metric) -> JointEstimate:
        """Does not exist: each metric has a distribution by itself."""
        raise ValueError(NO_JOINT.format(self.metric(first).name, self.metric(second).name))

    def cell(self, true: int, symbol: int) -> DrawsEstimate:
        """Distribution of n[true, symbol], given how many samples have this symbol."""
        size = float(self._predicted[symbol])
        if size == 0:
            return DrawsEstimate(np.zeros(1))
        columns = {name: table.counts[:, :, symbol] for name, table in self.readings.items()}
        draws = {name: column[:, true] / column.sum(axis=1) for name, column in columns.items()}
        dist = dist_of(draws, CLASS, self.labelers_are, size)
        return DrawsEstimate(dist.draws * size, middle=dist.mean * size)

    def cells(self, level: float = 0.95) -> Cells:
        """Every cell, each column times one factor: then the means add up to the predictions."""
        dists = [self.cell(c, u) for c, u in np.ndindex(*self.shape)]
        cells = cells_of(dists, self.shape, level)
        factor = self._predicted / np.maximum(cells.mean.sum(axis=0), 1e-300)
        return Cells(*(part * factor[None, :] for part in cells))

    def draws(self, key: Any, n: int) -> Float[np.ndarray, "n classes symbols"]:
        """Does not exist."""
        raise ValueError(NO_DRAWS)
