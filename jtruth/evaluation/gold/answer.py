"""The answer of `evaluate` when some true classes are known: labels and gold together, and whom to ask."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jtruth._host import smoothed_vote_shares
from jtruth._random import Key, stream
from jtruth._validation.words import number_of
from jtruth.asking.gold import ask_next, gold_that_halves
from jtruth.evaluation.answers import Found, WhatIf, answer_of, labelers_of, names_of
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.ranges import labeler_draws, labeler_laws, labels_fit
from jtruth.evaluation.assumptions.registry import INDEPENDENT, entries, nobody_judged
from jtruth.evaluation.checks.of_gold import random_gold_check
from jtruth.evaluation.gold.tables import gold_tables, labeler_laws_by_gold, ppi_metric, ppi_table
from jtruth.evaluation.inputs import Inputs, Model
from jtruth.evaluation.parts import IN_SAMPLE, Assumption, Check
from jtruth.labels import Labels
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.estimates import Estimate
from jtruth.stats.ppi import GoldSample, gold_sample
from jtruth.tables.metrics import named_metric, shown
from jtruth.tables.posterior import TableDraws

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


def gold_answer(data: Inputs, model: Model, fit: JointPosterior) -> Found:
    """What labels and gold say together; `model` is for the checks, `fit` independence without gold."""
    found, doubts = [], [NO_MODEL.format(fit.warnings[0])] if not fit.identified else []
    if fit.identified:
        some = [entry for entry in entries(data) if entry.reading]
        found, doubts = ranges.members(some, data.without_gold(), data.key, known={INDEPENDENT: fit})
    posterior = labels_posterior(found, data.own_labels())
    drawn = tables_by_gold(data, posterior, "tables by gold")
    answer = answer_of(drawn.counts, data, warnings=(*gold_warnings(data), *doubts))
    rows = [*(ranges.row(m, data) for m in found), *_by_ppi(data, posterior)]
    return Found(answer, model, _labelers(data, found, posterior), what_if=WhatIf(rows),
                 advice=_advice(data, posterior), checks=random_gold_checks(data, posterior))  # fmt: skip


def tables_by_gold(data: Inputs, posterior: np.ndarray, name: str, rising: int | None = None) -> TableDraws:
    """Draws of the count table, given what labels alone say; `name` is of the stream of random numbers."""
    return gold_tables(data.y_pred, data.num_symbols, posterior, data.gold, _gold_sample(data),
                       stream(data.key, name), rising=rising)  # fmt: skip


def _gold_sample(data: Inputs) -> GoldSample:
    """How gold was chosen."""
    return gold_sample(data.gold >= 0, inclusion=data.sampling.inclusion, strata=data.sampling.strata)


def random_gold_checks(data: Inputs, posterior: np.ndarray) -> tuple[Check, ...]:
    """Was gold random, where it is taken to be?"""
    if not data.sampling.at_random:
        return ()
    return random_gold_check(posterior, data.gold, data.key, data.classes)


def gold_warnings(data: Inputs) -> tuple[str, ...]:
    """What is to be said of the gold that an answer rests on."""
    said, number = (RANDOM_GOLD,) if data.sampling.at_random else (), data.num_gold
    return (*said, LITTLE_GOLD.format(number_of(number, "gold answer"))) if number < LITTLE else said


def _by_ppi(data: Inputs, posterior: np.ndarray) -> list[Assumption]:
    """What prediction-powered inference and gold alone say of the headline's metrics."""
    classes, positive = names_of(data)
    y_pred, gold, sample = data.y_pred, data.gold, _gold_sample(data)
    if len(data.classes) == 2 and data.positive == 0:  # (negative, positive), as `tables_of` has it
        y_pred, gold, posterior = 1 - y_pred, np.where(gold >= 0, 1 - gold, -1), posterior[:, ::-1]
    table, names = ppi_table(y_pred, posterior, gold, sample), shown(classes)

    def law(name: str, **how: Any) -> Estimate:
        metric = named_metric(name, classes, positive)
        return ppi_metric(metric, y_pred, posterior, gold, sample=sample, table=table, **how).law

    return [
        Assumption("ppi", SENTENCES["ppi"], {name: law(name) for name in names}),
        Assumption("gold_only", SENTENCES["gold_only"], {name: law(name, power=0.0) for name in names}),
    ]


def _labelers(data: Inputs, found: list[ranges.Member], posterior: np.ndarray) -> tuple[dict[str, Any], ...]:
    """How often each labeler is right, the worst first; as in `evaluate_labelers`."""
    labels = data.own_labels()
    draws = labeler_draws(found, labels, IN_SAMPLE, stream(data.key, "labelers beside gold"))
    without = labeler_laws(draws, labels, data.labelers_are)
    return labelers_of(data, labeler_laws_by_gold(without, labels, posterior, data.known, data.key))


def labels_posterior(found: Sequence[ranges.Member], labels: Labels) -> np.ndarray:
    """What labels and predictions alone say of each sample's class, (samples, classes): a guess for PPI++."""
    return _mixed([m.fit for m in found if m.fit is not None], labels)


def _mixed(fits: Sequence[JointPosterior], labels: Labels) -> np.ndarray:
    """The mean of vote shares and of the mean of class posteriors, untouched by gold, (samples, classes).

    Models believe that labelers err independently and are far too sure if they do not; vote shares (one vote
    spread over the classes is added) know nothing of good and bad labelers: the first alone covered 86 to
    92 % with judges that copy each other. Where labels alone determine nothing: vote shares.
    """
    shares = smoothed_vote_shares(labels.counts())
    return 0.5 * (shares + np.mean([fit.class_posterior for fit in fits], axis=0)) if fits else shares


def labels_only_posterior(labels: Labels, key: Key) -> tuple[np.ndarray, tuple[str, ...]]:
    """What the labels alone say of each sample's class, (samples, classes), and doubts."""
    data = nobody_judged(labels)
    data.key = key
    return unaided_posterior(data)


def unaided_posterior(data: Inputs) -> tuple[np.ndarray, tuple[str, ...]]:
    """The same of input without gold."""
    labels, doubt = data.own_labels(), "no sample has three labels"
    if not too_few_labels(labels):
        fit = labels_fit(data)
        if fit.usable:
            return _mixed([fit], labels), () if fit.converged else fit.warnings
        doubt = fit.warnings[0]
    found = f"labels alone determine nothing ({doubt}); samples are ranked by their vote shares"
    return _mixed([], labels), (found,)


def too_few_labels(labels: Labels) -> bool:
    """Two labels a sample leave a continuum of matrices that fit equally well."""
    return int(labels.labels_per_sample().max()) < 3


def _advice(data: Inputs, posterior: np.ndarray) -> tuple[str, ...]:
    """How many more answers would halve the intervals, and which samples to ask for."""
    left = data.gold.size - data.num_gold
    if left == 0:
        return ()
    more = gold_that_halves(data.num_gold, data.gold.size)
    number = number_of(more, "more gold answer")
    sentences = [f"{number} at random would about halve the intervals (of {left} left)"]
    if data.sampling.strata is None:
        asked = ask_next(
            data.y_pred, posterior, data.known, min(_ASKED, left), key=stream(data.key, "pool"),
            classes=data.classes, positive=data.positive,
        )  # fmt: skip
        tasks = data.own_labels().task_names
        named = ", ".join(str(tasks[i]) for i in asked.samples)
        sentences.append(
            f"ask next for {named}: drawn at random, uncertain samples more often; for more, and the "
            "inclusion probabilities to hand over with the answers, see jtruth.asking.gold.ask_next"
        )
    return tuple(sentences)
