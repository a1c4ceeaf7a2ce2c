"""The answer of `evaluate` when some true classes are known: the pooled rule, and what to ask next."""

from collections.abc import Mapping

import numpy as np

from jtruth._random import Key, stream
from jtruth.asking.gold import ask_next
from jtruth.evaluation.answers import names_of
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.registry import Progress, entries
from jtruth.evaluation.gold.pooled import GoldSampling, judged_samples, pooled_gold
from jtruth.evaluation.gold.shares import labels_only_posterior
from jtruth.evaluation.inputs import Inputs
from jtruth.evaluation.result import Assumption
from jtruth.testing.tested import Tested

SENTENCES = {
    "ppi": "if gold corrects what the labels alone say (PPI++)",
    "gold_only": "if nothing but gold is believed",
}
_ASKED = 5  # samples named in the advice


def gold_answer(
    data: Inputs, sampling: GoldSampling, level: float, key: Key, progress: Progress | None
) -> tuple[Tested, tuple[Assumption, ...], tuple[str, ...]]:
    """The posterior by the pooled rule; what each part of the pool says; advice on more gold."""
    known = entries(data)
    found, doubts = ranges.members([e for e in known if e.gold], data, key, progress=progress)
    if not found:
        last = [e for e in known if e.last_resort]
        found, more_doubts = ranges.members(last, data, key, progress=progress)
        doubts += more_doubts
    posterior, more_doubts = labels_only_posterior(data.own_labels(), stream(key, "labels beside gold"))
    classes, positive = names_of(data)
    key = stream(key, "pool")
    turned = len(data.classes) == 2 and data.positive == 0  # (negative, positive), as `tables_of` has it
    judged = judged_samples(
        1 - data.y_pred if turned else data.y_pred,
        posterior[:, ::-1] if turned else posterior,
        np.where(data.gold >= 0, 1 - data.gold, -1) if turned else data.gold,
        sampling,
    )
    draws = [m.posterior.counts for m in found]
    pool = pooled_gold(draws, judged, key=key, classes=classes, positive=positive, level=level)
    rows = [ranges.row(m, data) for m in found]
    rows += [
        Assumption(name, SENTENCES[name], {k: v.law for k, v in part.items()})
        for name, part in (("ppi", pool.ppi), ("gold_only", pool.gold_only))
    ]
    warnings = (*pool.warnings, *doubts, *more_doubts)
    advice = _advice(data, pool.more_gold, posterior, key, sampling)
    answer = Tested("bayes", pool.posterior, None, float("nan"), warnings, classes, positive)
    return answer, tuple(rows), advice


def _advice(
    data: Inputs, more: Mapping[str, int], posterior: np.ndarray, key: Key, sampling: GoldSampling
) -> tuple[str, ...]:
    """How many more answers would halve the intervals, and which samples to ask for."""
    left = data.gold.size - data.num_gold
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
        tasks = data.own_labels().tasks or tuple(range(data.y_pred.size))
        named = ", ".join(str(tasks[i]) for i in asked.samples)
        sentences.append(
            f"ask next for {named}: drawn at random, uncertain samples more often; for more, and the "
            "inclusion probabilities to hand over with the answers, see jtruth.asking.gold.ask_next"
        )
    return tuple(sentences)
