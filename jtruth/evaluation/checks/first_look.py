"""What must be looked at before any number is: gold, labels or predictions that are not what they are called.

Gold with exchanged codes, gold that is the majority vote, a column of labels that was written by a program:
no model answers them, and the numbers below them mean nothing. Each alarm is one function of counts, in
`gold_gone_wrong`, `columns`, `predictions`, `scores_look` and (where they are read) `jtruth.io.tables`; each
says by which rule it rings, and what is then the probability of a false one: at most 1e-4 on labels that are
what they seem.
They are printed above the answer, a line each, "Look first: ..." (`jtruth.evaluation.parts.first_lines`).
A quiet first look proves nothing.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from jtruth._validation.words import LOOK
from jtruth.evaluation.checks.chance import ALARM, correlation, votes_of
from jtruth.evaluation.checks.chance import NAME as CHANCE
from jtruth.evaluation.checks.columns import repeats_labels, standing_twice, vote_column, written_back
from jtruth.evaluation.checks.gold_gone_wrong import (
    chosen_gold,
    exchanged_codes,
    gold_is_predictions,
    gold_is_vote,
)
from jtruth.evaluation.checks.predictions import never_predicted, one_class_only, same_predictions
from jtruth.evaluation.inputs import Inputs
from jtruth.evaluation.parts import LOOK_FIRST, Check
from jtruth.labels import Labels


class Look(NamedTuple):
    """What is looked at."""

    labels: Labels
    predictions: Mapping[str, Int[np.ndarray, " samples"]]  # by the classifier's name, "" if there is one
    gold: Int[np.ndarray, " samples"]  # -1 where unknown
    random_gold: bool = False  # whether gold is taken to be a random part of the samples


def look_at(
    data: Inputs, predictions: Mapping[str, Int[np.ndarray, " samples"]], random_gold: bool
) -> tuple[Check, ...]:
    """The first look at checked input; nothing where there are no labels."""
    return () if data.labels is None else first_look(Look(data.labels, predictions, data.gold, random_gold))


def first_look(look: Look) -> tuple[Check, ...]:
    """All that labels, predictions and gold make one look at; nothing on data that are what they seem."""
    labels, gold, several = look.labels, look.gold, len(look.predictions) > 1
    some = (gold >= 0).any()
    found = exchanged_codes(gold, labels.counts(), look.predictions, labels.class_names) if some else ()
    if some and not found:
        found = (*gold_is_vote(gold, labels), *gold_is_predictions(gold, labels, look.predictions))
    if some and look.random_gold:
        found = (*found, *chosen_gold(gold, labels.counts()))
    found = (*found, *(written_back(labels) or (*standing_twice(labels), *vote_column(labels))))
    for name, y_pred in look.predictions.items():
        found = (*found, *repeats_labels(labels, y_pred, name))
        found = (*found, *(against_chance(labels, y_pred, name) if several else ()))
    found = (
        *found,
        *same_predictions(look.predictions),
        *one_class_only(look.predictions, labels.class_names),
    )
    return (*found, *never_predicted(gold, look.predictions, labels.class_names), *said_by_readers(labels))


def said_by_readers(labels: Labels) -> tuple[Check, ...]:
    """What was said when the labels were read and belongs above the answer."""
    said = [note.removeprefix(LOOK).removesuffix(".") for note in labels.notes if note.startswith(LOOK)]
    return tuple(Check("reading", None, None, LOOK_FIRST, text) for text in said)


def against_chance(labels: Labels, y_pred: Int[np.ndarray, " samples"], name: str) -> tuple[Check, ...]:
    """One of several classifiers who agrees with the labels less than by chance: by four standard errors.

    A classifier at chance does so with probability 3e-5, one that is better with less.
    """
    votes, shared = votes_of(labels)
    found = correlation(votes, y_pred)
    if found is None or shared < 1e-6 or found[0] > -4 * found[1]:
        return ()
    text = ALARM.format("worse than", found[0] / shared, found[1] / shared)
    return (Check(f"{CHANCE}: {name}", found[0] / shared, None, LOOK_FIRST, f"{name!r}: {text}"),)
