"""How far models of labels are from the truth, by who labels: learned on public data of known truth.

Two readings of labels need no guess of what labelers share: the majority vote, and the model of independent
errors. Both say where a number is; what neither knows is how labelers and classifier err together. On data
with known truth that can be seen. On the logit scale a source of data s has errors

    logit(truth) = slope * logit(reading) + tau_s t_3,      log tau_s ~ Normal(log_tau, spread),

so the law for a new source is a mixture over tau (`stats.predictive`), with a little that is flat. Sources
are the units: subsamples and classifiers of one data set share samples and labelers. A `slope` below 1 says
that what labels claim is to be believed by that part only: LLM judges who call a classifier .95 right were
measured with classifiers of .6 to .95.

Each kind of labelers has its own numbers, drawn towards those of the other kind (a prior of sd 1/4 around
their middle on `log_tau`). Whoever does not say who labels gets half of each, which is wide because LLM
judges are. Of experts no public set with an independent truth is at hand, so they get the same. Models that
guess what is shared (strata, random effect) did not make the law better or narrower on sources left out,
nor did a model in which labelers share mistakes that the classifier does not make; they are shown as
what-if and have no say here. Coverage and width on sources left out, and what makes the table:
`benchmarks/kinds.py`.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from jtruth import _validation as check
from jtruth.stats.predictive import Opinion, opinion
from jtruth.tables.metrics import Metric
from jtruth.tables.posterior import TableDraws

UNKNOWN_KIND, PEOPLE, EXPERTS, LLM_JUDGES = "unknown", "people", "experts", "llm_judges"
KINDS = (UNKNOWN_KIND, PEOPLE, EXPERTS, LLM_JUDGES)
OVERALL, CLASS, SHARE, DIFFERENCE = "overall", "one class", "share of samples", "difference"
FLAT = 0.02  # weight of the part that knows nothing
NO_EFFECT = "labelers_are={!r} is of no effect here: gold says how far these labels mislead"


class ModelError(NamedTuple):
    """How far a reading of labels is off."""

    slope: float
    log_tau: float  # mean over sources of the log of the scale, in logits
    spread: float  # its standard deviation over sources


# By what is asked: a metric of the whole table and labelers' accuracies, a metric of one class, the share
# of a class or cell, a difference of two classifiers (as a share of the most that it could be).
ERRORS: dict[tuple[str, str], ModelError] = {
    (PEOPLE, OVERALL): ModelError(1.0, -1.48, 0.56),
    (PEOPLE, CLASS): ModelError(1.0, -1.02, 0.55),
    (PEOPLE, SHARE): ModelError(1.0, -1.52, 0.72),
    (PEOPLE, DIFFERENCE): ModelError(0.5, -0.63, 0.67),
    (LLM_JUDGES, OVERALL): ModelError(0.5, -1.14, 0.47),
    (LLM_JUDGES, CLASS): ModelError(0.6, -0.65, 0.46),
    (LLM_JUDGES, SHARE): ModelError(0.75, -1.09, 0.64),
    (LLM_JUDGES, DIFFERENCE): ModelError(0.5, -0.59, 0.53),
}
SOURCES = {
    PEOPLE: ("restaurant", "rte", "dogs", "faces", "bluebirds", "cifar10h", "product", "sentiment_polarity",
             "labelme"),
    LLM_JUDGES: ("cebab", "lgbteen", "summeval", "pandalm", "autoj", "frank", "code", "openqa", "dl23"),
}  # fmt: skip
_MIXED = (PEOPLE, LLM_JUDGES)  # for labelers of whom nobody says who they are
_NODES = ndtri((np.arange(7) + 0.5) / 7)  # of the mixture over tau
# By kind: how the law did on sources left out, accuracy, and for what that speaks.
_COVERAGE = {PEOPLE: ("people", 93), LLM_JUDGES: ("LLM judges and automatic metrics", 95)}


def check_kind(labelers_are: str | None, learned: bool = True) -> str:
    """The kind of labelers, or ValueError.

    Args:
        labelers_are: one of `KINDS`; None: unknown.
        learned: whether error rates are learned, so that the kind has a meaning.
    """
    kind = UNKNOWN_KIND if labelers_are is None else labelers_are
    check.choose("labelers_are", kind, KINDS)
    if kind != UNKNOWN_KIND and not learned:
        raise ValueError(
            f"labelers_are={kind!r} says how far learned error rates may mislead; here they are given or "
            "vouched for (noise, assume, another method): leave labelers_are out, or let them be learned"
        )
    return kind


def of_no_effect(labelers_are: str) -> tuple[str, ...]:
    """What is to be said where gold answers."""
    return () if labelers_are == UNKNOWN_KIND else (NO_EFFECT.format(labelers_are),)


def rests_on(labelers_are: str) -> str:
    """What the predictive law takes for granted, in a sentence."""
    if labelers_are in _COVERAGE:
        name, held = _COVERAGE[labelers_are]
        return (
            f"labels mislead models here as on {len(SOURCES[labelers_are])} public sources labelled by "
            f"{name} (each left out in turn, 95 % intervals of accuracy held {held} %)"
        )
    both = (
        f"labels mislead models here as on {sum(map(len, SOURCES.values()))} public sources, half of them "
        "labelled by people, half by LLM judges or automatic metrics"
    )
    if labelers_are == EXPERTS:
        return f"{both}; of experts there is no public source whose truth others found"
    return f"{both}; say who labels (labelers_are=...) for the law of that kind"


def group_of(metric: Metric) -> str:
    """Which row of the table a metric takes: metrics of one class are known less well."""
    if metric.difference:
        return DIFFERENCE
    return OVERALL if metric.position is None else CLASS


def size_of(model: TableDraws, metric: Metric) -> float:
    """How many samples stand below the line of a metric, on average; of what is no ratio of counts, all."""
    if not metric.is_ratio and metric.joint is None:
        return float(model.counts[0].sum())
    below = metric.terms(np.ones(model.shape)).denominator
    return max(float((below * model.mean_counts).sum()), 1.0)


def reading(draws: np.ndarray, size: float, bounds: tuple[float, float] = (0.0, 1.0)) -> Opinion | None:
    """What one reading of the labels says of a number; None where it says that it is undefined."""
    return None if np.isnan(draws).all() else opinion(draws, size, bounds)


def widened(
    readings: Mapping[str, Opinion | None], group: str, labelers_are: str
) -> tuple[list[Opinion], float]:
    """The parts of the predictive mixture, and the weight of the flat one.

    Args:
        readings: by name, what each says; None: nothing.
        group: which row of the table.
        labelers_are: which kind.
    """
    known = [one for one in readings.values() if one is not None]
    kinds = (labelers_are,) if labelers_are in SOURCES else _MIXED
    parts = [part for kind in kinds for part in parts_of(known, ERRORS[kind, group])]
    return parts, FLAT if parts else 1.0


def parts_of(readings: Iterable[Opinion], error: ModelError) -> list[Opinion]:
    """What readings say, with such errors: a part for each reading and node of tau."""
    taus = np.exp(error.log_tau + error.spread * _NODES)
    return [
        Opinion(error.slope * one.centre, float(np.hypot(error.slope * one.scale, tau)))
        for one in readings
        for tau in taus
    ]
