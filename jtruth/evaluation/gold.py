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

Gold must be a random sample, or come with the probability of each sample to be asked: see `ask`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth._random import host_rng
from jtruth.evaluation.answers import CountDrawsPosterior
from jtruth.evaluation.ask import gold_to_halve
from jtruth.evaluation.terms import metric_terms
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.ppi import GoldSample, PpiEstimate, gold_sample, ppi_ratio

RANDOM_GOLD = "the gold samples are taken to be a random sample of all; if they are not, give inclusion=..."
FEW_GOLD = (
    "{} of the {} gold samples tell something about {}: the gold corrects it little, and its interval is "
    "wide because of that"
)
_LEAST = 5  # informative gold samples below which that is said


class GoldAnswer(NamedTuple):
    """Metrics by the pooled rule, what went in, and what more gold would bring."""

    metrics: Mapping[str, DrawsEstimate]
    ppi: Mapping[str, PpiEstimate]
    gold_only: Mapping[str, PpiEstimate]
    more_gold: Mapping[str, int]  # further random gold answers that halve the interval of PPI++
    warnings: tuple[str, ...]


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
        name: see `metric_terms`.
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
    terms = metric_terms(name, y_pred, names, positive)
    sample = gold_sample(gold >= 0) if sample is None else sample
    rows = sample.chosen
    a, b = (part[rows, gold[rows]] for part in terms)
    f, g = ((part * class_posterior).sum(axis=1) for part in terms)
    return ppi_ratio(a, b, f, g, sample, **options)


def pooled_gold(
    draws: Sequence[Int[np.ndarray, "_ classes classes"]],
    y_pred: Int[np.ndarray, " samples"],
    class_posterior: Float[np.ndarray, "samples classes"],
    gold: Int[np.ndarray, " samples"],
    *,
    key: Any,
    classes: Sequence[str],
    positive: int = 1,
    names: Sequence[str] = ("accuracy", "precision", "recall", "false_alarm_rate", "f1"),
    inclusion: Any = None,
    strata: Any = None,
    level: float = 0.95,
) -> GoldAnswer:
    """Pool the draws of models with gold clamped and of PPI++.

    Args:
        draws: of each model, draws of the count table (rows true, columns predicted).
        y_pred: (samples,) predicted classes.
        class_posterior: (samples, classes) for PPI++, made without the gold
            (`jtruth.evaluation.prevalence.labels_only_posterior`).
        gold: (samples,) known classes, -1 where unknown.
        key: JAX random key.
        classes, positive: class names, and the class of precision, recall and so on.
        names: metrics; see `metric_terms`.
        inclusion, strata: how gold was chosen, see `gold_sample`; at random if both are None.
        level: of the interval that `more_gold` would halve.

    Raises:
        ValueError: no gold, no draws, or an unknown metric.
    """
    if not draws:
        raise ValueError("draws is empty; give the count tables of one model or more")
    sample = gold_sample(gold >= 0, inclusion=inclusion, strata=strata)
    rng = host_rng(key, "pooled gold")
    most = min(4000, *(len(d) for d in draws)) if len(draws) > 1 else min(4000, len(draws[0]))
    models = [
        CountDrawsPosterior(d[np.linspace(0, len(d) - 1, most).astype(int)], tuple(classes), positive, None)
        for d in draws
    ]
    about: dict[str, Any] = {"sample": sample, "classes": classes, "positive": positive}
    metrics, ppi, only, more = {}, {}, {}, {}
    warnings = [RANDOM_GOLD] if inclusion is None and strata is None else []
    for name in names:
        ppi[name] = ppi_metric(name, y_pred, class_posterior, gold, **about)
        only[name] = ppi_metric(name, y_pred, class_posterior, gold, power=0.0, **about)
        corrected = ppi[name].law._quantile((rng.permutation(most) + rng.random(most)) / most)
        parts = [_defined(model.estimate(name).draws, rng) for model in models]
        metrics[name] = DrawsEstimate(np.concatenate([*parts, corrected]))
        more[name] = gold_to_halve(ppi[name], sample, level)
        if ppi[name].num_informative < _LEAST:
            warnings.append(FEW_GOLD.format(ppi[name].num_informative, sample.chosen.size, name))
    return GoldAnswer(metrics, ppi, only, more, tuple(warnings))


def _defined(draws: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draws where the metric is 0/0 are replaced by others of the same model, so that members stay equal."""
    bad = np.isnan(draws)
    if bad.all() or not bad.any():
        return draws
    return np.where(bad, rng.choice(draws[~bad], draws.size), draws)
