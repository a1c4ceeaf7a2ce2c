"""What gold measures: PPI++ of a metric of the samples at hand, and what the predictions settle without it.

Gold must be a random sample, or come with the probability of each sample to be asked: see `ask`. A ratio of
two sums of counts is what PPI++ (`jtruth.stats.ppi`) estimates as it stands. Any other metric (kappa, macro
F1) is taken to first order around the table of PPI++, whose cells are means (the delta method).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from jtruth._one_line import one_line
from jtruth.io.gold import Gold
from jtruth.stats.ppi import (
    FittedPower,
    GoldSample,
    PpiEstimate,
    gold_sample,
    nothing_told,
    ppi_mean,
    ppi_ratio,
)
from jtruth.stats.student import StudentEstimate
from jtruth.tables.metrics import Metric, Terms, named_metric, settled

POWER = FittedPower(pseudo_gold=10.0)  # of PPI++: pulled by ten answers as the labels foretell them


@dataclass(frozen=True)
class Judged:
    """Samples with predictions, class posteriors made without the gold, and gold for some of them."""

    y_pred: Int[np.ndarray, " samples"]
    class_posterior: Float[np.ndarray, "samples classes"]
    gold: Int[np.ndarray, " samples"]  # -1 where unknown
    sample: GoldSample  # how gold was chosen
    num_symbols: int | None = None  # of predictions; None: they are the classes

    __repr__ = one_line

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of classes and symbols."""
        classes = self.class_posterior.shape[1]
        return classes, classes if self.num_symbols is None else self.num_symbols

    @cached_property
    def table(self) -> Float[np.ndarray, "classes symbols"]:
        """Counts by PPI++, cell by cell; a cell below 0 is 0: the table is a place to take derivatives at."""
        classes, symbols = self.shape
        rows, cells = self.sample.chosen, np.zeros((classes, symbols))
        for u in np.unique(self.y_pred):
            here = self.y_pred == u
            for c in range(classes):
                truth = (here[rows] & (self.gold[rows] == c)).astype(np.float64)
                guess = here * self.class_posterior[:, c]
                cells[c, u] = ppi_mean(truth, guess, self.sample, power=POWER).value
        return np.maximum(cells, 0.0) * self.y_pred.size

    def ppi(self, metric: Metric, **options: Any) -> PpiEstimate:
        """PPI++ of a metric; options of `ppi_ratio`, power=0 is gold only."""
        exact = metric.is_ratio or metric.joint is not None
        value = None
        if metric.joint is None:
            predicted = np.bincount(self.y_pred, minlength=self.shape[1])
            value = settled(metric, predicted, self.shape[0], self.gold)
        if value is not None:
            return PpiEstimate(point(value, metric), value, 0.0, 0.0, self.sample.chosen.size, True)
        terms = metric.terms(np.ones(self.shape) if exact else self.table)
        if np.isnan(terms.numerator).any():  # not defined at the table by PPI++
            return nothing_told(metric.bounds)
        return self.ppi_of(terms, bounds=metric.bounds, **options)

    def ppi_of(self, cells: Terms, **options: Any) -> PpiEstimate:
        """PPI++ of a ratio of sums over the cells."""
        rows, terms = self.sample.chosen, cells.of_samples(self.y_pred)
        a, b = (part[rows, self.gold[rows]] for part in terms)
        f, g = ((part * self.class_posterior).sum(axis=1) for part in terms)
        possible = (terms.numerator[rows], terms.denominator[rows])
        return ppi_ratio((a, b), (f, g), self.sample, possible=possible, **{"power": POWER, **options})


def ppi_metric(
    name: str,
    y_pred: Int[np.ndarray, " samples"],
    class_posterior: Float[np.ndarray, "samples classes"],
    gold: Int[np.ndarray, " samples"],
    *,
    sample: GoldSample | None = None,
    classes: Sequence[str] | None = None,
    positive: int = 1,
    **options: Any,
) -> PpiEstimate:
    """PPI++ of a metric of hard predictions.

    Args:
        name: see `jtruth.tables.metrics`.
        y_pred: (samples,) predicted classes.
        class_posterior: (samples, classes), made without the gold.
        gold: (samples,) known classes, -1 where unknown.
        sample: how gold was chosen; at random if None.
        classes, positive: names, and the class that "recall" means.
        options: power, target, surprise of `ppi_ratio`; power=0 is gold only.

    >>> y_pred, gold = np.arange(100) % 2, np.where(np.arange(100) < 40, 1, -1)
    >>> found = ppi_metric("precision", y_pred, np.full((100, 2), 0.5), gold)
    >>> found.value, found.num_informative
    (1.0, 20)
    """
    names = classes or tuple(map(str, range(class_posterior.shape[1])))
    chosen = gold_sample(gold >= 0) if sample is None else sample
    judged = Judged(np.asarray(y_pred), class_posterior, np.asarray(gold), chosen)
    return judged.ppi(named_metric(name, names, positive), **options)


def judged_samples(
    y_pred: Int[np.ndarray, " samples"], class_posterior: Float[np.ndarray, "samples classes"], gold: Gold
) -> Judged:
    """What `Judged.ppi` judges by.

    Args:
        y_pred: (samples,) predicted classes.
        class_posterior: (samples, classes) for PPI++, made without the gold (`labels_posterior`).
        gold: known classes, -1 where unknown, and how they were chosen.

    Raises:
        ValueError: no gold, or a sampling that cannot be.
    """
    known = np.asarray(gold.classes)
    sample = gold_sample(known >= 0, inclusion=gold.inclusion, strata=gold.strata)
    return Judged(np.asarray(y_pred), class_posterior, known, sample)


def point(value: float, metric: Metric) -> StudentEstimate:
    """The law of a metric that is known; NaN: never defined."""
    return StudentEstimate(value, 0.0, np.inf, *metric.bounds, float(not np.isnan(value)))
