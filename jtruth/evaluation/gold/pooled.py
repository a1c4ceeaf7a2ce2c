"""No gold, a little, or much: one law of a metric of the samples at hand.

Models of the labels, fitted without any gold, each say where a metric is. How far such models are from the
truth on other data sets is known (`jtruth.evaluation.assumptions.missed`), so each says it with an error
learned there, and a flat part stands for what no model knows. That mixture is the law without gold: true if
what labelers and classifier share is like what it was in those sets.

Gold enters once, as a measurement: prediction-powered inference (`jtruth.stats.ppi`), which is right whatever
the labelers share, has a law that is as wide as the gold is little. The mixture times that law is the answer
(`jtruth.stats.predictive`): with one gold answer nearly the mixture, with many PPI++ alone, and in between a
model keeps the more weight the better it foretold what PPI++ found. Models never see gold, so nothing is used
twice. Where the product would be more than 5 % wider than PPI++ (at 95 %), models and gold contradict each
other and PPI++ alone answers. Measured on sets left out of the learning: `benchmarks/shared_errors.py`.

What gold measures, and how it must have been chosen: `measured`.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from jtruth._one_line import one_line
from jtruth._validation import some
from jtruth._validation.words import number_of
from jtruth.asking.gold import gold_that_halves
from jtruth.evaluation.assumptions.missed import SHARE, kind_of, opinions, said_of, size_of
from jtruth.evaluation.gold.measured import Judged, point, settled
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.ppi import PpiEstimate
from jtruth.stats.predictive import Opinion, Predictive, opinion, predictive
from jtruth.stats.student import StudentEstimate
from jtruth.tables.joint import JointEstimate
from jtruth.tables.metrics import Metric, Terms, named_metric, of_one_class, shown
from jtruth.tables.posterior import Cells, TableDraws, TablePosterior, cells_of

RANDOM_GOLD = (
    "the gold samples are taken to be a random sample of all; if they are not, give "
    "gold=jt.io.Gold(classes, inclusion or strata)"
)
FEW_GOLD = (
    "{} of the {} tell something about {}: gold corrects that little, and intervals are wide because of it"
)
LITTLE_GOLD = (
    "{}: the answer rests on what models of the labels missed on other data sets rather than on "
    "this gold; 20 or more make it rest on the gold"
)
_LEAST, LITTLE = 5, 20  # informative gold samples, and all of them, below which that is said
_WIDER = 1.05  # than PPI++ alone, at most, at 95 %


class GoldAnswer(NamedTuple):
    """Metrics given the gold, what went in, and what more gold would bring."""

    metrics: Mapping[str, DrawsEstimate]
    ppi: Mapping[str, PpiEstimate]
    gold_only: Mapping[str, PpiEstimate]
    more_gold: Mapping[str, int]  # further random gold answers that are expected to halve the interval
    warnings: tuple[str, ...]
    posterior: "GoldPosterior"

    __repr__ = one_line


class GoldPosterior(TablePosterior, eqx.Module):
    """Models fitted without gold, with the errors that such models had elsewhere, and PPI++ where gold is."""

    models: dict[str, TableDraws]  # by the name of the assumption
    judged: Judged | None  # None: no gold
    size: tuple[int, int]
    num_samples: int

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of classes and symbols."""
        return self.size

    def estimate(self, metric: str | Metric) -> DrawsEstimate:
        """Law of a metric."""
        found = self.metric(metric)
        return self.given(found, None if self.judged is None else self.judged.ppi(found).law).law

    def given(self, metric: Metric, measured: StudentEstimate | None, power: float = 1.0) -> Predictive:
        """Law of a metric and weights of the models, given a law of it that gold alone answers for.

        `power`: what models say counts so many times (`jtruth.stats.predictive`).
        """
        if measured is None and self.models and metric.joint is None:
            predicted = next(iter(self.models.values())).counts[0].sum(axis=0)
            value = settled(metric, predicted, self.size[0], np.zeros(0, np.int64))
            measured = None if value is None else point(value, metric)
        size = float(np.mean([size_of(m, metric) for m in self.models.values()])) if self.models else np.inf
        said = {name: said_of(model, metric, size) for name, model in self.models.items()}
        return together(said, kind_of(metric), measured, metric.bounds, size, power)

    def joint(self, first: str | Metric, second: str | Metric) -> JointEstimate:
        """Does not exist: each metric has a law by itself."""
        raise ValueError(
            f"no joint posterior of {self.metric(first).name} and {self.metric(second).name}: the pooled "
            "rule of gold is made for single metrics; a model's is result.joint(..., assumption=...)"
        )

    def cell(self, true: int, symbol: int) -> DrawsEstimate:
        """Law of n[true, symbol]: of its share of the samples, times their number."""
        tables, size = {name: model.counts for name, model in self.models.items()}, float(self.num_samples)
        said = {n: opinion(t[:, true, symbol] / t.sum((1, 2)), size) for n, t in tables.items()}
        one = np.zeros(self.size)
        one[true, symbol] = 1.0
        measured = None if self.judged is None else self.judged.ppi_of(Terms(one, np.ones(self.size))).law
        return DrawsEstimate(together(said, SHARE, measured, (0.0, 1.0), size).law.draws * size)

    def cells(self, level: float = 0.95) -> Cells:
        """Every cell, each column times one factor: then the means add up to the predictions."""
        found = cells_of([self.cell(c, u) for c, u in np.ndindex(*self.size)], self.size, level)
        if self.judged is not None:
            predicted = np.bincount(self.judged.y_pred, minlength=self.size[1])
        else:
            predicted = next(iter(self.models.values())).counts[0].sum(axis=0)
        factor = predicted / np.maximum(found.mean.sum(axis=0), 1e-300)
        return Cells(*(part * factor[None, :] for part in found))

    def draws(self, key: Any, n: int) -> Float[np.ndarray, "n classes symbols"]:
        """Does not exist: PPI++ has no draws of whole tables."""
        raise ValueError(
            "models and gold are put together for one metric at a time and there are no draws of tables; "
            "take those of one model, assumptions[k].posterior.draws(...)"
        )


def _twice(name: str, classes: Sequence[str]) -> bool:
    """Whether a metric is the positive one's of many classes, which stands there by its class as well."""
    return len(classes) > 2 and of_one_class(name)


def together(
    said: Mapping[str, Opinion | None],
    kind: str,
    measured: StudentEstimate | None,
    bounds: tuple[float, float],
    size: float,
    power: float = 1.0,
) -> Predictive:
    """The mixture given the measurement, or the measurement alone where they contradict each other."""
    parts, flat = opinions(said, kind)
    found = predictive(parts, flat, measured, bounds, size, power)
    if measured is None or measured.scale == 0 or np.isinf(measured.scale):
        return found
    wide, alone = (law.interval(0.95) for law in (found.law, measured))
    if wide.high - wide.low <= _WIDER * (alone.high - alone.low):
        return found
    return predictive((), 1.0, measured, bounds)


def pooled_gold(
    models: Mapping[str, TableDraws],
    judged: Judged,
    *,
    classes: Sequence[str],
    positive: int = 1,
    names: Sequence[str] | None = None,
    level: float = 0.95,
) -> GoldAnswer:
    """What models fitted without gold, and gold, say together.

    Args:
        models: by the name of the assumption, draws of the count table (rows true, columns predicted);
            without any the answer is that of PPI++.
        judged: predictions, class posteriors and gold, by `judged_samples`.
        classes, positive: class names, and the class of precision, recall and so on.
        names: metrics; those that answers show if None.
        level: of the interval that `more_gold` would halve.

    Raises:
        ValueError: an unknown metric.
    """
    shape, sample = (len(classes), len(classes)), judged.sample
    posterior = GoldPosterior(dict(models), judged, shape, judged.y_pred.size)
    metrics, ppi, only, more = {}, {}, {}, {}
    warnings = [RANDOM_GOLD] if judged.taken_as_random else []
    if sample.chosen.size < LITTLE:
        warnings.append(LITTLE_GOLD.format(number_of(sample.chosen.size, "gold answer")))
    for name in shown(classes) if names is None else names:
        metric = named_metric(name, classes, positive)
        ppi[name], only[name] = judged.ppi(metric), judged.ppi(metric, power=0.0)
        metrics[name] = posterior.given(metric, ppi[name].law).law
        law_given = partial(lambda metric, law: posterior.given(metric, law).law, metric)
        more[name] = gold_that_halves(law_given, metrics[name], ppi[name], sample, level)
    for number in range(_LEAST):
        told = [n for n, found in ppi.items() if found.num_informative == number and not _twice(n, classes)]
        all_gold = number_of(sample.chosen.size, "gold sample")
        warnings += [FEW_GOLD.format(number, all_gold, some(told, 6))] if told else []
    return GoldAnswer(metrics, ppi, only, more, tuple(warnings), posterior)
