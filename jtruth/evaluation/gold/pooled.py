"""A little gold: how good the classifier is when a few true classes are known.

Gold that is only clamped inside a model hardly moves it, because thousands of labels outweigh thirty answers;
gold alone is honest and wide. The rule here pools equal numbers of draws of three answers:

- models in which labelers and classifier share difficulty (shared strata; for two classes also a random
  effect), with the gold clamped: narrow, and wrong in ways that the labels cannot show;
- PPI++ (`jtruth.stats.ppi`): gold corrects the class posterior of labels alone. Right whatever the labelers
  do, as wide as the gold is little, and given as a Student t law kept to [0, 1].

Where they agree the pool is narrower than PPI++, where they do not it holds both. The pool is a measured
rule, not a posterior. With 30 random gold answers for up to 400 samples of five real label sets and
simulated classifiers (30 sets in all) its intervals for accuracy held the truth in 97 % at a mean width of
.19; PPI++ in 97 % at .22, gold only in 90 % at .27, shared strata with gold clamped in 73 % at .10.

A ratio of two sums of counts is what PPI++ estimates as it stands. Any other metric (kappa, macro F1) is
taken to first order around the table of PPI++, whose cells are means (the delta method).

Gold must be a random sample, or come with the probability of each sample to be asked: see `ask`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float, Int, UInt32

from jtruth._random import Key, host_rng, key_words
from jtruth.asking.gold import gold_to_halve
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.ppi import GoldSample, PpiEstimate, gold_sample, ppi_mean, ppi_ratio
from jtruth.tables.joint import JointEstimate
from jtruth.tables.metrics import Metric, named_metric, shown
from jtruth.tables.posterior import TableDraws, TablePosterior, thinned

RANDOM_GOLD = "the gold samples are taken to be a random sample of all; if they are not, give inclusion=..."
FEW_GOLD = (
    "{} of the {} gold samples tell something about {}: the gold corrects it little, and its interval is "
    "wide because of that"
)
_MOST = 4000  # draws of each part of the pool
_LEAST = 5  # informative gold samples below which that is said


class GoldAnswer(NamedTuple):
    """Metrics by the pooled rule, what went in, and what more gold would bring."""

    metrics: Mapping[str, DrawsEstimate]
    ppi: Mapping[str, PpiEstimate]
    gold_only: Mapping[str, PpiEstimate]
    more_gold: Mapping[str, int]  # further random gold answers that halve the interval of PPI++
    warnings: tuple[str, ...]
    posterior: "GoldPosterior"


class GoldSampling(NamedTuple):
    """How the gold samples were chosen; at random if both are None. See `jtruth.stats.ppi.gold_sample`."""

    inclusion: np.ndarray | None = None  # (samples,) probability of each to be asked
    strata: np.ndarray | None = None  # (samples,) inside which gold is random


AT_RANDOM = GoldSampling()


class Judged(NamedTuple):
    """Samples with predictions, class posteriors made without the gold, and gold for some of them."""

    y_pred: Int[np.ndarray, " samples"]
    class_posterior: Float[np.ndarray, "samples classes"]
    gold: Int[np.ndarray, " samples"]  # -1 where unknown
    sample: GoldSample  # how gold was chosen
    taken_as_random: bool = False  # because nobody said
    num_symbols: int | None = None  # of predictions; None: they are the classes

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of classes and symbols."""
        classes = self.class_posterior.shape[1]
        return classes, classes if self.num_symbols is None else self.num_symbols

    def table(self) -> Float[np.ndarray, "classes symbols"]:
        """Counts by PPI++, cell by cell; a cell below 0 is 0: the table is a place to take derivatives at."""
        classes, symbols = self.shape
        rows, cells = self.sample.chosen, np.zeros((classes, symbols))
        for u in np.unique(self.y_pred):
            here = self.y_pred == u
            for c in range(classes):
                truth = (here[rows] & (self.gold[rows] == c)).astype(np.float64)
                cells[c, u] = ppi_mean(truth, here * self.class_posterior[:, c], self.sample).value
        return np.maximum(cells, 0.0) * self.y_pred.size

    def ppi(self, metric: Metric, **options: Any) -> PpiEstimate:
        """PPI++ of a metric; options of `ppi_ratio`, power=0 is gold only."""
        rows = self.sample.chosen
        exact = metric.is_ratio or metric.joint is not None
        terms = metric.terms(np.ones(self.shape) if exact else self.table()).of_samples(self.y_pred)
        a, b = (part[rows, self.gold[rows]] for part in terms)
        f, g = ((part * self.class_posterior).sum(axis=1) for part in terms)
        possible = (terms.numerator[rows], terms.denominator[rows])
        return ppi_ratio(
            (a, b), (f, g), self.sample, possible=possible, **{"bounds": metric.bounds, **options}
        )


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


class GoldPosterior(TablePosterior, eqx.Module):
    """The pooled rule: equal numbers of draws of models with gold clamped, and of PPI++."""

    models: tuple[TableDraws, ...]
    judged: Judged
    key: UInt32[np.ndarray, " words"]  # of the draws that are pooled

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of classes and symbols."""
        return self.models[0].shape

    def estimate(self, metric: str | Metric) -> DrawsEstimate:
        """Law of a metric."""
        found = self.metric(metric)
        return self.pool(found, self.judged.ppi(found))

    def pool(self, metric: Metric, corrected: PpiEstimate) -> DrawsEstimate:
        """Draws of the models and of PPI++, as one law."""
        rng = host_rng(self.key, "pooled gold")
        most = min(_MOST, *(len(model.counts) for model in self.models))
        parts = [_defined(thinned([model], most).estimate(metric).draws, rng) for model in self.models]
        place = (rng.permutation(most) + rng.random(most)) / most
        return DrawsEstimate(np.concatenate([*parts, corrected.law._quantile(place)]))

    def joint(self, first: str | Metric, second: str | Metric) -> JointEstimate:
        """Does not exist: PPI++ has a law for each metric by itself."""
        raise ValueError(
            f"no joint posterior of {self.metric(first).name} and {self.metric(second).name}: the pooled "
            "rule of gold is made for single metrics; one model's is assumptions[0].posterior.joint(...)"
        )

    def cell(self, true: int, symbol: int) -> DrawsEstimate:
        """Law of n[true, symbol] under the models."""
        return thinned(self.models).cell(true, symbol)

    def draws(self, key: Any, n: int) -> Float[np.ndarray, "n classes symbols"]:
        """Does not exist: PPI++ has no draws of whole tables."""
        raise ValueError(
            "the pooled rule of gold is made for one metric at a time and has no draws of tables; "
            "take those of one model, assumptions[0].posterior.draws(...)"
        )


def judged_samples(
    y_pred: Int[np.ndarray, " samples"],
    class_posterior: Float[np.ndarray, "samples classes"],
    gold: Int[np.ndarray, " samples"],
    sampling: GoldSampling = AT_RANDOM,
) -> Judged:
    """What `pooled_gold` judges by.

    Args:
        y_pred: (samples,) predicted classes.
        class_posterior: (samples, classes) for PPI++, made without the gold
            (`jtruth.evaluation.gold.shares.labels_only_posterior`).
        gold: (samples,) known classes, -1 where unknown.
        sampling: how gold was chosen.

    Raises:
        ValueError: no gold, or a sampling that cannot be.
    """
    sample = gold_sample(gold >= 0, **sampling._asdict())
    unknown = sampling.inclusion is None and sampling.strata is None
    return Judged(np.asarray(y_pred), class_posterior, np.asarray(gold), sample, unknown)


def pooled_gold(
    draws: Sequence[Int[np.ndarray, "_ classes classes"]],
    judged: Judged,
    *,
    key: Key,
    classes: Sequence[str],
    positive: int = 1,
    names: Sequence[str] | None = None,
    level: float = 0.95,
) -> GoldAnswer:
    """Pool the draws of models with gold clamped and of PPI++.

    Args:
        draws: of each model, draws of the count table (rows true, columns predicted).
        judged: predictions, class posteriors and gold, by `judged_samples`.
        key: JAX random key.
        classes, positive: class names, and the class of precision, recall and so on.
        names: metrics; those that answers show if None.
        level: of the interval that `more_gold` would halve.

    Raises:
        ValueError: no draws, or an unknown metric.
    """
    if not draws:
        raise ValueError("draws is empty; give the count tables of one model or more")
    words, sample = np.array(key_words(key), np.uint32), judged.sample
    posterior = GoldPosterior(tuple(TableDraws(d) for d in draws), judged, words)
    metrics, ppi, only, more = {}, {}, {}, {}
    warnings = [RANDOM_GOLD] if judged.taken_as_random else []
    for name in shown(classes) if names is None else names:
        metric = named_metric(name, classes, positive)
        ppi[name], only[name] = judged.ppi(metric), judged.ppi(metric, power=0.0)
        metrics[name] = posterior.pool(metric, ppi[name])
        more[name] = gold_to_halve(ppi[name], sample, level)
        if ppi[name].num_informative < _LEAST:
            warnings.append(FEW_GOLD.format(ppi[name].num_informative, sample.chosen.size, name))
    return GoldAnswer(metrics, ppi, only, more, tuple(warnings), posterior)


def _defined(draws: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draws where the metric is 0/0 are replaced by others of the same model, so that members stay equal."""
    bad = np.isnan(draws)
    if bad.all() or not bad.any():
        return draws
    return np.where(bad, rng.choice(draws[~bad], draws.size), draws)
