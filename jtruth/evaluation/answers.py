"""Posteriors of the count table of an evaluation, by the ways that need nothing but the table.

With two classes rows and columns are (negative, positive), whatever the classes' codes; with more they keep
the order of the classes, and `positive` is the one that precision and recall mean.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from jtruth._host import majority
from jtruth._one_line import one_line
from jtruth.evaluation.inputs import Inputs, Model
from jtruth.evaluation.parts import (
    OF_ALL_CLASSES,
    OF_ONE_CLASS,
    Assumption,
    Check,
    worst_first,
)
from jtruth.stats.estimates import Estimate
from jtruth.tables.metrics import named_metric, shown
from jtruth.tables.posterior import TableDraws
from jtruth.testing.methods import Tested


@dataclass
class WhatIf:
    """What each assumption says: rows that are there, or are made when somebody asks for them."""

    there: Sequence[Assumption] = ()
    make: Callable[[], tuple[Sequence[Assumption], Sequence[str]]] | None = None  # rows, and doubts of them

    __repr__ = one_line

    @cached_property
    def _found(self) -> tuple[tuple[Assumption, ...], tuple[str, ...]]:
        rows, doubts = (self.there, ()) if self.make is None else self.make()
        return tuple(rows), tuple(doubts)

    @property
    def rows(self) -> tuple[Assumption, ...]:
        """A row for each assumption that has an answer."""
        return self._found[0]

    @property
    def doubts(self) -> tuple[str, ...]:
        """Sentences on models that are left out or did not converge."""
        return self._found[1]


class Found(NamedTuple):
    """What `evaluate` found, and what it rests on."""

    answer: Tested
    model: Model
    labelers: tuple[dict[str, Any], ...]
    kind: str = "posterior"
    what_if: WhatIf | None = None  # None: the answer is that of one assumption
    advice: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()


def labelers_of(data: Inputs, laws: Sequence[Estimate]) -> tuple[dict[str, Any], ...]:
    """A row for each labeler, given the laws of their accuracies; the worst first."""
    ends = [(law.mean, *law.interval(data.level)[:2]) for law in laws]
    labels = data.own_labels()
    found = worst_first(labels.worker_names, labels.labels_per_labeler(), ends)
    return tuple(one for _, one in found)


def answer_of(
    counts: np.ndarray, data: Inputs, method: str = "bayes", warnings: tuple[str, ...] = ()
) -> Tested:
    """Draws of the count table (draws, classes, symbols), in the order of the codes, as an answer."""
    return Tested(method, tables_of(counts, data), None, float("nan"), warnings, *names_of(data))


def tables_of(counts: np.ndarray, data: Inputs) -> TableDraws:
    """Draws of the count table in the order that answers use."""
    return TableDraws(counts[:, ::-1, ::-1] if len(data.classes) == 2 and data.positive == 0 else counts)


def names_of(data: Inputs) -> tuple[tuple[str, ...], int]:
    """Names of the classes of an answer's table, and the position of the positive one."""
    return (data.binary_classes, 1) if len(data.classes) == 2 else (data.classes, data.positive)


def prior_of(data: Inputs, model: Model, classes: tuple[str, ...]) -> np.ndarray:
    """The class prior in the order of an answer's classes: (rest, positive) of one class against the rest."""
    if set(classes) == set(data.classes):
        return model.prior[[data.classes.index(name) for name in classes]]
    return np.array([1 - model.prior[data.positive], model.prior[data.positive]])


def headline_of(data: Inputs) -> tuple[str, ...]:
    """Metrics of the first sentence; of many classes those of all, unless one of them is asked about."""
    return OF_ALL_CLASSES if len(data.classes) > 2 and not data.one_against_rest else OF_ONE_CLASS


def of_nothing(data: Inputs, method: str) -> Tested:
    """Not identified: NaN everywhere."""
    return answer_of(np.full((1, len(data.classes), len(data.classes)), np.nan), data, method)


def of_votes(data: Inputs) -> Tested:
    """The majority vote taken as the truth."""
    doubt = ("majority vote is taken as the truth: there is no uncertainty",)
    return answer_of(vote_table(data)[None], data, "majority_vote", doubt)


def vote_table(data: Inputs) -> np.ndarray:
    """Counts with the majority vote as truth, (classes, classes); tied classes share a sample."""
    if data.labels is None:
        raise ValueError("the majority vote needs labels; an array of log-likelihoods has none")
    kinds = data.labels.patterns()
    return majority(kinds.labels.counts()).T @ kinds.table(data.y_pred, data.num_symbols)


def vote_metrics(data: Inputs, answer: Tested) -> dict[str, float]:
    """What the majority vote says of the metrics that the answer shows."""
    table = vote_table(data)
    if len(answer.classes) == 2:
        one = np.arange(len(data.classes)) == data.positive
        merged = np.stack([~one, one]).astype(np.float64)  # (negative, positive)
        table = merged @ table @ merged.T
    names = shown(answer.classes)
    return {n: float(named_metric(n, answer.classes, answer.positive).of_table(table)) for n in names}


def beyond_shares(metrics: Mapping[str, Estimate], level: float) -> tuple[str, ...]:
    """A warning about intervals of normal laws of few samples that reach where no share can be."""
    asked = [name for name in ("accuracy", "precision") if name in metrics]
    ends = {name: metrics[name].interval(level) for name in asked if not np.isnan(metrics[name].mean)}
    out = [name for name, (low, high) in ends.items() if low < -1e-9 or high > 1 + 1e-9]
    if not out:
        return ()
    return (
        f"the interval of {' and '.join(out)} reaches beyond [0, 1]: it is that of a normal law, for which "
        "there are too few samples; method='bayes' needs none",
    )
