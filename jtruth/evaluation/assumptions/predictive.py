"""The answer on labels alone: what two readings of the labels say, widened by how far such readings were off.

`model_error` holds how far they were off, by who labels; here they meet a question. A number of the count
table (a metric, a cell, a difference, an area, a class's share) gets a law by itself: how errors of different
numbers hang together is not known, so there is no joint law and there are no draws of tables. A class share
is a row of the count table with one symbol (`registry.nobody_judged`).

Labelers are as uncertain as classifiers: each is judged by the others as a classifier is, with the errors of
metrics of the whole table. Two targets can be meant. "in-sample" is the share of the labels given that are
right; it ranks labelers better, since people label different samples. "population" is the chance that a label
of theirs for a new sample is right, each class weighted by its learned share. The majority vote that judges a
labeler is that of the others, ties broken by chance: with the own label in it a labeler of three is wrong
only where both others agree. It says nothing of the population. Measured on sources left out:
`benchmarks/kinds.py`.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from jtruth._random import Key, host_rng
from jtruth._validation import choose
from jtruth.evaluation.assumptions.model_error import (
    CLASS,
    OVERALL,
    SHARE,
    group_of,
    reading,
    size_of,
    widened,
)
from jtruth.evaluation.assumptions.ranges import Member
from jtruth.evaluation.assumptions.registry import ASSUMPTIONS
from jtruth.evaluation.parts import IN_SAMPLE, OF_LABELERS, POPULATION
from jtruth.labels import Labels
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.predictive import Opinion, predictive
from jtruth.tables.joint import JointEstimate
from jtruth.tables.metrics import Metric, settled
from jtruth.tables.posterior import Cells, TableDraws, TablePosterior, cells_of

NO_JOINT = (
    "no joint law of {} and {}: the predictive law is made for one number at a time; that of one assumption "
    "is result.joint(..., assumption=...)"
)
NO_DRAWS = (
    "the predictive law is made for one number at a time and there are no draws of tables; take those of one "
    "assumption, assumptions[k].posterior.draws(...)"
)


def readings_of(found: Sequence[Member]) -> dict[str, TableDraws]:
    """By name, the members that are readings."""
    return {member.name: member.posterior for member in found if member.entry.reading}


def law_of(
    draws: dict[str, np.ndarray], group: str, labelers_are: str, size: float,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> DrawsEstimate:  # fmt: skip
    """Predictive law of one number.

    Args:
        draws: by the name of the reading, what it says.
        group: of the number, in `model_error.ERRORS`.
        labelers_are: kind of the labelers.
        size: of the count below the line, if it is a ratio of counts.
        bounds: of the number.
    """
    said = {name: reading(values, size, bounds) for name, values in draws.items()}
    parts, flat = widened(said, group, labelers_are)
    return _same_again(tuple(parts), flat, bounds, size)


@lru_cache(maxsize=256)
def _same_again(
    parts: tuple[Opinion, ...], flat: float, bounds: tuple[float, float], size: float
) -> DrawsEstimate:
    """The law; of a hundred classes most cells are empty in all draws, and their laws the same."""
    return predictive(parts, flat, bounds, size)


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
        """(symbols,) how many samples have each."""
        return next(iter(self.readings.values())).counts[0].sum(axis=0)

    def estimate(self, metric: str | Metric) -> DrawsEstimate:
        """Law of a metric; a point where predictions settle it whatever the truth."""
        found = self.metric(metric)
        if found.joint is None and not found.difference:
            value = settled(found, self._predicted, self.shape[0], np.zeros(0, np.int64))
            if value is not None:
                return DrawsEstimate(np.array([value]))
        return self.law(found, group_of(found))

    def law(self, metric: Metric, group: str = OVERALL) -> DrawsEstimate:
        """Law of any number of the table, given which row of errors it takes."""
        size = float(np.mean([size_of(one, metric) for one in self.readings.values()]))
        draws = {
            name: np.asarray(metric.of_table(one.counts), np.float64) for name, one in self.readings.items()
        }
        return law_of(draws, group, self.labelers_are, size, metric.bounds)

    def joint(self, first: str | Metric, second: str | Metric) -> JointEstimate:
        """Does not exist: each metric has a law by itself."""
        raise ValueError(NO_JOINT.format(self.metric(first).name, self.metric(second).name))

    def cell(self, true: int, symbol: int) -> DrawsEstimate:
        """Law of n[true, symbol], given how many samples have this symbol."""
        return self._cell(
            true, symbol, {k: one.counts[:, :, symbol].sum(1) for k, one in self.readings.items()}
        )

    def _cell(self, true: int, symbol: int, predicted: dict[str, np.ndarray]) -> DrawsEstimate:
        """The same, given by reading how many samples have the symbol in each draw."""
        size = float(self._predicted[symbol])
        if size == 0:
            return DrawsEstimate(np.zeros(1))
        draws = {k: one.counts[:, true, symbol] / predicted[k] for k, one in self.readings.items()}
        return DrawsEstimate(law_of(draws, CLASS, self.labelers_are, size).draws * size)

    def cells(self, level: float = 0.95) -> Cells:
        """Every cell, each column times one factor: then the means add up to the predictions."""
        totals = {k: one.counts.sum(axis=1) for k, one in self.readings.items()}
        laws = [
            self._cell(c, u, {k: total[:, u] for k, total in totals.items()})
            for c, u in np.ndindex(*self.shape)
        ]
        found = cells_of(laws, self.shape, level)
        factor = self._predicted / np.maximum(found.mean.sum(axis=0), 1e-300)
        return Cells(*(part * factor[None, :] for part in found))

    def draws(self, key: Any, n: int) -> Float[np.ndarray, "n classes symbols"]:
        """Does not exist."""
        raise ValueError(NO_DRAWS)


def share_laws(member: Member) -> list[DrawsEstimate]:
    """The law of each class's share under one assumption."""
    counts = member.posterior.counts.sum(axis=2)
    shares = counts / counts.sum(axis=1, keepdims=True)
    return [DrawsEstimate(np.array(one)) for one in shares.T]


def predictive_shares(found: Sequence[Member], num_samples: int, labelers_are: str) -> list[DrawsEstimate]:
    """Each class's law, given how far readings of labels were off elsewhere."""
    each = {member.name: share_laws(member) for member in found if member.entry.reading}
    number = len(next(iter(each.values())))
    return [
        law_of({name: laws[c].draws for name, laws in each.items()}, SHARE, labelers_are, float(num_samples))
        for c in range(number)
    ]


_DRAWS = 1000  # of the majority vote, whose ties are all that is random

Draws = Float[np.ndarray, "draws labelers"]


def labeler_draws(found: Sequence[Member], labels: Labels, target: str, key: Key) -> dict[str, Draws]:
    """Draws of every labeler's accuracy by the name of the assumption; NaN of whom it says nothing.

    Args:
        found: assumptions with their fits.
        labels: that the fits are of.
        target: "in-sample" or "population".
        key: of the ties.

    Raises:
        ValueError: another target.
    """
    choose("target", target, tuple(OF_LABELERS))
    number = labels.labels_per_labeler().astype(np.float64)
    number[number == 0] = np.nan
    draws = {}
    for member in found:
        if member.fit is not None and target == POPULATION:
            draws[member.name] = member.fit.labeler_accuracy
        elif member.fit is not None and member.fit.right is not None:
            draws[member.name] = member.fit.right / number
        elif member.fit is None and target == IN_SAMPLE:
            draws[member.name] = others_vote(labels, host_rng(key, "majority of the others"))
    return draws


def others_vote(labels: Labels, rng: np.random.Generator) -> Draws:
    """Share of each labeler's labels that agree with the majority of the others, where others gave one."""
    sample, labeler, label = labels.arrays
    given = label >= 0
    sample, labeler, label = sample[given], labeler[given], label[given]
    votes = labels.counts()
    pair, own = np.unique(sample * labels.num_labelers + labeler, return_inverse=True)
    mine = np.zeros((pair.size, labels.num_classes), votes.dtype)
    np.add.at(mine, (own, label), 1)
    others = votes[sample] - mine[own]
    top = others == others.max(axis=1, keepdims=True)
    chance = top[np.arange(label.size), label] / top.sum(axis=1)
    seen = others.any(axis=1)
    size = labels.num_labelers
    total = np.zeros((_DRAWS, size))
    for p in np.unique(chance[seen]):
        times = np.bincount(labeler[seen & (chance == p)], minlength=size)
        total += rng.binomial(times, p, (_DRAWS, size))
    number = np.bincount(labeler[seen], minlength=size).astype(np.float64)
    number[number == 0] = np.nan
    return total / number


def labeler_laws(draws: Mapping[str, Draws], labels: Labels, labelers_are: str) -> list[DrawsEstimate]:
    """Predictive law of each labeler's accuracy; NaN of whom no reading says anything.

    Args:
        draws: by the name of the assumption; those of readings have a say.
        labels: that the fits are of.
        labelers_are: their kind.
    """
    number, found = labels.labels_per_labeler(), []
    for t in range(labels.num_labelers):
        own = {
            name: values[:, t]
            for name, values in draws.items()
            if ASSUMPTIONS[name].reading and not np.isnan(values[:, t]).all()
        }
        law = law_of(own, OVERALL, labelers_are, float(max(number[t], 1))) if own else _NOTHING
        found.append(law)
    return found


_NOTHING = DrawsEstimate(np.array([np.nan]))
