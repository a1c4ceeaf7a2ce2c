"""One judge against verified labels, in words: what he calls wrongly, and what his rate of passes is worth.

A judge (any labeler, or a classifier) says one of two classes. Verified labels say how often he is right in
each: sensitivity (TPR) and specificity (TNR). Youden's index, their sum less one, is the slope of the rate
that he reports against the true one (Rogan and Gladen 1978): at 1 the rate is right, at 0 it says nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from jtruth._validation.words import plain
from jtruth.answers.blocks import cell_text, law_column
from jtruth.answers.data import law_row
from jtruth.stats.estimates import Estimate
from jtruth.tables.metrics import named_metric
from jtruth.tables.posterior import TablePosterior

NAMES = {"recall": "sensitivity (TPR)", "specificity": "specificity (TNR)"}
HEADLINE = ("accuracy", "recall", "specificity", "kappa")  # of a judge of two classes
_ASKED = ("recall", "specificity", "kappa", "share", "balanced_accuracy")
MORE = ("specificity", "kappa")  # of these what other answers about two classes do not have


def judge_row(
    table: TablePosterior, verified: Int[np.ndarray, "2 2"], called: float, classes: Sequence[str],
    positive: int, level: float,
) -> dict[str, Any]:  # fmt: skip
    """What verified labels say of one judge of two classes, ready for JSON and in words.

    Args:
        table: of the classes (rows) that he gives (columns).
        verified: counts of samples of known class; rows and columns in the order of `classes`.
        called: share of his labels that are the positive class.
        classes: their names.
        positive: place of the positive class.
        level: of the intervals.
    """
    of = {name: table.estimate(named_metric(name, classes, positive)) for name in _ASKED}
    turn = 1 if positive else -1
    worth = worth_words(called, of["share"], of["balanced_accuracy"], classes[positive], level)
    laws = {"sensitivity": "recall", "specificity": "specificity", "kappa": "kappa", "truly": "share"}
    return {
        **{name: law_row(of[metric], level) for name, metric in laws.items()}, "called": called,
        "verified": verified.tolist(),
        "in_words": (confusion_words(verified[::turn, ::turn], tuple(classes)[::turn]), worth),
    }  # fmt: skip


COLUMNS = tuple(law_column(name, name, ".0%") for name in ("sensitivity", "specificity"))
COLUMNS += (law_column("kappa", "kappa", ".2f"),)


def judge_sentence(row: Mapping[str, Any]) -> str:
    """Sensitivity, specificity and kappa of a `judge_row`."""
    named = {"sensitivity": NAMES["recall"], "specificity": NAMES["specificity"], "kappa": "Cohen's kappa"}
    values = {name: [row[name][one] for one in ("mean", "low", "high")] for name in named}
    text = ", ".join(f"{named[name]} {cell_text(of, '.2f', 'undefined')}" for name, of in values.items())
    return f"{text[0].upper()}{text[1:]}."


def confusion_words(verified: Int[np.ndarray, "2 2"], classes: Sequence[str]) -> str:
    """Whom a judge calls wrongly, of samples whose class is verified; rows are true, (negative, positive).

    >>> confusion_words(np.array([[15, 9], [6, 70]]), ("fail", "pass"))
    "Of 24 verified 'fail', 9 are called 'pass'; of 76 verified 'pass', 6 'fail'."
    """
    (_, wrong), (missed, _) = verified.tolist()
    (no, yes), (false, true) = map(plain, classes), verified.sum(axis=1).tolist()
    first = f"Of {false} verified {no!r}, {wrong} {'is' if wrong == 1 else 'are'} called {yes!r}"
    return f"{first}; of {true} verified {yes!r}, {missed} {no!r}."


def worth_words(called: float, true: Estimate, balanced: Estimate, positive: str, level: float) -> str:
    """What the share of the positive class that a judge reports is worth; `balanced` is balanced accuracy."""
    if np.isnan(true.mean) or np.isnan(balanced.mean):
        return ""
    low, high = (round(100 * end) for end in true.interval(level)[:2])
    slope = [2 * value - 1 for value in (balanced.mean, *balanced.interval(level)[:2])]
    mean, *ends = (f"{value:.2f}".replace("-", "\N{MINUS SIGN}") for value in slope)
    rate = f"Called {plain(positive)!r}: {round(100 * called)} %, truly: {round(100 * true.mean)} %"
    return f"{rate} [{low}, {high}]; TPR + TNR \N{MINUS SIGN} 1 = {mean} [{', '.join(ends)}]."
