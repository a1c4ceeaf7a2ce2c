"""The answer of `evaluate` when some true classes are known: the pooled rule, and what to ask next."""

from typing import Any, NamedTuple

import numpy as np

from jtruth._random import stream
from jtruth.evaluation import ranges
from jtruth.evaluation.answers import Answer, of_draws
from jtruth.evaluation.ask import ask_next
from jtruth.evaluation.gold import pooled_gold
from jtruth.evaluation.inputs import Inputs
from jtruth.evaluation.prevalence import labels_only_posterior
from jtruth.evaluation.result import Assumption
from jtruth.stats.estimates import Estimate
from jtruth.testing import METRICS

SENTENCES = {
    "ppi": "if gold corrects what the labels alone say (PPI++)",
    "gold_only": "if nothing but gold is believed",
}
_ASKED = 5  # samples named in the advice


class GoldSampling(NamedTuple):
    """How the gold samples were chosen; at random if both are None. See `jtruth.stats.ppi.gold_sample`."""

    inclusion: Any = None
    strata: Any = None


def gold_answer(
    data: Inputs, sampling: GoldSampling, level: float, key: Any, progress: Any
) -> tuple[Answer, tuple[Assumption, ...], tuple[str, ...]]:
    """Metrics by the pooled rule; what each part of the pool says; advice on more gold.

    For more than two classes: accuracy, the metrics of the positive class, and precision, recall and F1 of
    every class.
    """
    assert data.labels is not None
    two = len(data.classes) == 2
    names = ("shared_strata", "random_effect") if two else ("shared_strata",)
    found, doubts = ranges.members(names, data, key, level, progress)
    if not found:
        found, more_doubts = ranges.members(("independent",), data, key, level, progress)
        doubts += more_doubts
    posterior, more_doubts = labels_only_posterior(data.labels, stream(key, "labels beside gold"))
    metrics = [*METRICS]
    if not two:
        metrics += [f"{m}[{c}]" for c in data.classes for m in ("precision", "recall", "f1")]
    draws = [m.fit.counts for m in found if m.fit is not None and m.fit.counts is not None]
    about: dict[str, Any] = {
        "classes": data.classes, "positive": data.positive, "level": level, **sampling._asdict()
    }  # fmt: skip
    key = stream(key, "pool")

    def pooled(some: list[str]) -> Any:
        return pooled_gold(draws, data.y_pred, posterior, data.gold, key=key, names=some, **about)

    def named(name: str) -> Estimate:
        return pooled([name]).metrics[name]

    pool = pooled(metrics)
    confusion = of_draws(ranges.pooled_counts(found, data), level).confusion
    rows = [Assumption(m.name, ranges.SENTENCES[m.name], m.answer.metrics) for m in found]
    rows.append(Assumption("ppi", SENTENCES["ppi"], {k: v.law for k, v in pool.ppi.items()}))
    rows.append(
        Assumption("gold_only", SENTENCES["gold_only"], {k: v.law for k, v in pool.gold_only.items()})
    )
    warnings = (*pool.warnings, *doubts, *more_doubts)
    advice = _advice(data, pool.more_gold, posterior, key, sampling)
    return Answer(pool.metrics, confusion, None, named, warnings), tuple(rows), advice


def _advice(
    data: Inputs, more: Any, posterior: np.ndarray, key: Any, sampling: GoldSampling
) -> tuple[str, ...]:
    """How many more answers would halve the intervals, and which samples to ask for."""
    assert data.labels is not None
    left = int((data.gold < 0).sum())
    if left == 0:
        return ()
    parts = [f"{more[name]} for {name}" for name in ("accuracy", "precision", "recall") if more.get(name)]
    sentences = []
    if parts:
        sentences.append(f"gold answers that would halve the interval: {', '.join(parts)} (of {left} left)")
    if sampling.strata is None:
        asked = ask_next(
            data.y_pred, posterior, data.gold, min(_ASKED, left), key=key, classes=data.classes,
            positive=data.positive, inclusion=sampling.inclusion,
        )  # fmt: skip
        tasks = data.labels.tasks or tuple(range(data.labels.num_samples))
        named = ", ".join(str(tasks[i]) for i in asked.samples)
        sentences.append(
            f"ask next for {named}: drawn at random, uncertain samples more often; for more, and the "
            "inclusion probabilities to hand over with the answers, see jtruth.evaluation.ask.ask_next"
        )
    return tuple(sentences)
