"""The answer of `evaluate` when some true classes are known: labels and gold together, and whom to ask."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from jtruth._host import smoothed_vote_shares
from jtruth._random import Key, stream
from jtruth._validation.words import number_of
from jtruth.asking.gold import ask_next, gold_that_halves
from jtruth.evaluation.answers import answer_of, names_of
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.learned import labels_fit
from jtruth.evaluation.assumptions.predictive import labeler_draws, labeler_laws
from jtruth.evaluation.assumptions.ranges import Rows
from jtruth.evaluation.assumptions.registry import INDEPENDENT, Progress, entries
from jtruth.evaluation.checks.of_gold import random_gold_check
from jtruth.evaluation.gold.measured import GoldSampling, judged_samples
from jtruth.evaluation.gold.tables import gold_tables, labeler_laws_by_gold
from jtruth.evaluation.inputs import Inputs
from jtruth.evaluation.parts import IN_SAMPLE, Assumption, Check, Labeler, worst_first
from jtruth.io.gold import Gold
from jtruth.labels import Labels
from jtruth.latent import Watch
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.tables.metrics import named_metric, shown
from jtruth.testing.tested import Tested

SENTENCES = {
    "ppi": "if gold corrects what the labels alone say (PPI++)",
    "gold_only": "if nothing but gold is believed",
}
NO_MODEL = "labels alone determine nothing ({}): gold alone answers, corrected by vote shares"
RANDOM_GOLD = (
    "the gold samples are taken to be a random sample of all; if they are not, give "
    "gold=jt.io.Gold(classes, inclusion or strata)"
)
BY_GOLD = "the gold samples are as the others; they say what the labels are worth"
LITTLE_GOLD = "{}: 20 or more make intervals that are worth having"
LITTLE = 20  # gold answers below which that is said
_ASKED = 5  # samples named in the advice


def without_gold(data: Inputs) -> Inputs:
    """The same with no class known: what models are fitted to, so that gold is used once."""
    return replace(data, gold=np.full_like(data.gold, -1))


class WithGold(NamedTuple):
    """What labels and gold say together."""

    answer: Tested
    what_if: Rows  # what would be said without one of them
    advice: tuple[str, ...]  # on more gold
    checks: tuple[Check, ...]  # was it random?
    labelers: tuple[Labeler, ...]  # the share of right labels


def gold_answer(
    data: Inputs, fit: JointPosterior, sampling: GoldSampling, level: float, key: Key,
    progress: Progress | None,
) -> WithGold:  # fmt: skip
    """The answer; `fit` is independence without gold."""
    found, doubts = [], [NO_MODEL.format(fit.warnings[0])] if not fit.identified else []
    if fit.identified:
        some = [entry for entry in entries(data) if entry.reading]
        found, doubts = ranges.members(
            some, without_gold(data), key, progress=progress, known={INDEPENDENT: fit}
        )
    posterior = labels_posterior(found, data.own_labels())
    judged = judged_samples(data.y_pred, posterior, data.gold, sampling)
    drawn = gold_tables(
        data.y_pred, len(data.classes), posterior, data.gold, judged.sample, stream(key, "tables by gold")
    )
    warnings = gold_warnings(judged.taken_as_random, data.num_gold)
    answer = answer_of(drawn.counts, data, warnings=(*warnings, *doubts))
    rows = [*(ranges.row(m, data) for m in found), *_by_ppi(data, posterior, sampling)]
    checks = random_gold_check(posterior, data.gold, key, data.classes) if judged.taken_as_random else ()
    advice = _advice(data, posterior, stream(key, "pool"), sampling)
    labelers = _labelers(data, found, posterior, sampling, level, key)
    return WithGold(answer, Rows(tuple(rows)), advice, checks, labelers)


def gold_warnings(taken_as_random: bool, number: int) -> tuple[str, ...]:
    """What is to be said of the gold that an answer rests on."""
    said = (RANDOM_GOLD,) if taken_as_random else ()
    return (*said, LITTLE_GOLD.format(number_of(number, "gold answer"))) if number < LITTLE else said


def _by_ppi(data: Inputs, posterior: np.ndarray, sampling: GoldSampling) -> list[Assumption]:
    """What prediction-powered inference and gold alone say of the headline's metrics."""
    classes, positive = names_of(data)
    turned = len(data.classes) == 2 and data.positive == 0  # (negative, positive), as `tables_of` has it
    judged = judged_samples(
        1 - data.y_pred if turned else data.y_pred,
        posterior[:, ::-1] if turned else posterior,
        np.where(data.gold >= 0, 1 - data.gold, -1) if turned else data.gold,
        sampling,
    )
    metrics = {name: named_metric(name, classes, positive) for name in shown(classes)}
    return [
        Assumption(name, SENTENCES[name], {k: judged.ppi(m, **how).law for k, m in metrics.items()})
        for name, how in (("ppi", {}), ("gold_only", {"power": 0.0}))
    ]


def _labelers(
    data: Inputs, found: list[ranges.Member], posterior: np.ndarray, sampling: GoldSampling, level: float,
    key: Key,
) -> tuple[Labeler, ...]:  # fmt: skip
    """How often each labeler is right, the worst first; as in `evaluate_labelers`."""
    labels = data.own_labels()
    draws = labeler_draws(found, labels, IN_SAMPLE, stream(key, "labelers beside gold"))
    without = labeler_laws(draws, labels, data.labelers_are)
    laws = labeler_laws_by_gold(without, labels, posterior, data.gold, sampling, key)
    rows = worst_first(labels, [(law.mean, *law.interval(level)[:2]) for law in laws])
    return tuple(one for _, one in rows)


def labels_posterior(found: list[ranges.Member], labels: Labels) -> np.ndarray:
    """What labels and predictions alone say of each sample's class, (samples, classes): a guess for PPI++.

    The mean of two readings: the mean of the models' posteriors, which are too sure where errors are shared,
    and vote shares (one vote spread over the classes is added), which know nothing of good and bad labelers.
    """
    shares = smoothed_vote_shares(labels.counts())
    models = [m.fit.class_posterior for m in found if m.fit is not None]
    return 0.5 * (shares + np.mean(models, axis=0)) if models else shares


def labels_only_posterior(
    labels: Labels, key: Key, progress: Progress | None = None, **options: Any
) -> tuple[np.ndarray, tuple[str, ...]]:
    """What the labels alone say of each sample's class, untouched by gold, (samples, classes), and doubts.

    The mean of two readings: p(y_i = c | labels) of the joint posterior, which believes that labelers err
    independently and is far too sure if they do not, and vote shares (one vote spread over the classes is
    added), which know nothing of good and bad labelers. With judges that copy each other, recalibrated by 30
    gold answers, the first alone covered 86 to 92 %, the mean 95 to 96 %; with independent judges the mean is
    a tenth wider. Where labels alone determine nothing: vote shares. `options` are those of `fit_joint`.
    """
    shares = smoothed_vote_shares(labels.counts())
    doubt = "no sample has three labels"
    if not too_few_labels(labels):
        fit, _ = labels_fit(labels, key=key, watch=Watch(progress), **options)
        if fit.usable:
            return 0.5 * (fit.class_posterior + shares), () if fit.converged else fit.warnings
        doubt = fit.warnings[0]
    return shares, (f"labels alone determine nothing ({doubt}); samples are ranked by their vote shares",)


def too_few_labels(labels: Labels) -> bool:
    """Two labels a sample leave a continuum of matrices that fit equally well."""
    return int(labels.labels_per_sample().max()) < 3


def _advice(data: Inputs, posterior: np.ndarray, key: Key, sampling: GoldSampling) -> tuple[str, ...]:
    """How many more answers would halve the intervals, and which samples to ask for."""
    left = data.gold.size - data.num_gold
    if left == 0:
        return ()
    more = gold_that_halves(data.num_gold, data.gold.size)
    number = number_of(more, "more gold answer")
    sentences = [f"{number} at random would about halve the intervals (of {left} left)"]
    if sampling.strata is None:
        asked = ask_next(
            data.y_pred, posterior, Gold(data.gold, sampling.inclusion), min(_ASKED, left), key=key,
            classes=data.classes, positive=data.positive,
        )  # fmt: skip
        tasks = data.own_labels().tasks or tuple(range(data.y_pred.size))
        named = ", ".join(str(tasks[i]) for i in asked.samples)
        sentences.append(
            f"ask next for {named}: drawn at random, uncertain samples more often; for more, and the "
            "inclusion probabilities to hand over with the answers, see jtruth.asking.gold.ask_next"
        )
    return tuple(sentences)
