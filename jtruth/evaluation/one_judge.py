"""One judge of two classes against verified labels: rates, confusions, and the value of the reported rate.

Youden's index, sensitivity (TPR) + specificity (TNR) - 1, is the slope of the rate that the judge reports
against the true one (Rogan and Gladen 1978): at 1 the rate is right, at 0 it carries no information.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Int

from jtruth._random import host_rng, stream
from jtruth._validation import as_list
from jtruth._validation.words import plain
from jtruth.answers.blocks import cell_text, dist_column
from jtruth.answers.data import dist_row
from jtruth.io.gold import Gold
from jtruth.labels import Labels
from jtruth.stats.draws import DrawsEstimate
from jtruth.tables.metrics import named_metric
from jtruth.tables.new_samples import NewSamples
from jtruth.tables.posterior import TablePosterior

NAMES = {"recall": "sensitivity (TPR)", "specificity": "specificity (TNR)"}
HEADLINE = ("accuracy", "recall", "specificity", "kappa")  # of a judge of two classes
MORE = ("specificity", "kappa")  # of these what other answers about two classes do not have
_PERCENT = tuple(dist_column(name, f"{name} (%)", "%") for name in ("sensitivity", "specificity"))
COLUMNS = (*_PERCENT, dist_column("kappa", "kappa", ".2f"))
_DRAWS, _ENDS = 4000, ("mean", "low", "high")


def judge_row(
    table: TablePosterior, verified: Int[np.ndarray, "2 2"], called: float, classes: Sequence[str],
    positive: int, level: float,
) -> dict[str, Any]:  # fmt: skip
    """One judge against verified labels, for JSON and in words; `called` is the share called positive."""
    named = {"sensitivity": "recall", "specificity": "specificity", "kappa": "kappa", "truly": "share"}
    of = {name: table.estimate(named_metric(name, classes, positive)) for name in named.values()}
    row = {name: dist_row(of[metric], level) for name, metric in named.items()}
    rates = ", ".join(
        f"{NAMES.get(named[name], name)} {cell_text([row[name][end] for end in _ENDS], '.2f', 'undefined')}"
        for name in ("sensitivity", "specificity", "kappa")
    )
    turn = 1 if positive else -1
    words = (
        f"{rates[0].upper()}{rates[1:]}.", confusion_words(verified[::turn, ::turn], tuple(classes)[::turn]),
        worth_words(table, verified, called, classes, positive, level), youden_words(table, verified, level),
    )  # fmt: skip
    return row | {"called": called, "verified": verified.tolist(), "in_words": tuple(filter(None, words))}


def confusion_words(verified: Int[np.ndarray, "2 2"], classes: Sequence[str]) -> str:
    """Confusions of a judge on verified samples; rows are true, (negative, positive).

    >>> confusion_words(np.array([[15, 9], [6, 70]]), ("bad", "ok"))
    "9 of 24 verified 'bad' samples are called 'ok', and 6 of 76 verified 'ok' samples are called 'bad'."
    """
    (_, wrong), (missed, _) = verified.tolist()
    (no, yes), (false, true) = map(plain, classes), verified.sum(axis=1).tolist()
    if not false or not true:
        absent = no if not false else yes
        return f"No sample is verified as {absent!r}, so the accuracy on that class is unknown."
    first, second = (
        f"{k} of {size} verified {was!r} samples {'is' if k == 1 else 'are'} called {said!r}"
        for k, size, was, said in ((wrong, false, no, yes), (missed, true, yes, no))
    )
    unseen = " The estimates allow for errors not seen here." * (0 in (wrong, missed))
    return f"{first}, and {second}.{unseen}"


def youden(table: TablePosterior) -> DrawsEstimate:
    """Posterior of sensitivity + specificity - 1, both Beta (Jeffreys); see `benchmarks/one_judge.py`."""
    counted = table.in_sample if isinstance(table, NewSamples) else table
    counts = np.asarray(counted.draws(stream(0, "Youden's index"), _DRAWS), np.float64)
    right, size = np.diagonal(counts, axis1=1, axis2=2), counts.sum(axis=2)
    here = (right / size).sum(axis=1) - 1
    if counted is table:
        return DrawsEstimate(here)
    new = host_rng(0, "both rates").beta(right + 0.5, size - right + 0.5).sum(axis=1) - 1
    return DrawsEstimate(new, middle=float(here.mean()))


def worth_words(
    table: TablePosterior, verified: Int[np.ndarray, "2 2"], called: float, classes: Sequence[str],
    positive: int, level: float,
) -> str:  # fmt: skip
    """The share that a judge calls positive, next to the true one; arguments of `judge_row`."""
    if not verified.any(axis=1).all():
        return ""
    share = table.estimate(named_metric("share", classes, positive))
    low, high = (round(100 * end) for end in share.interval(level)[:2])
    rate = f"{round(100 * called)} % of all samples are called {plain(classes[positive])!r}; the estimated "
    return f"{rate}true share is {round(100 * share.mean)} % [{low}, {high}]."


def youden_words(table: TablePosterior, verified: Int[np.ndarray, "2 2"] | None, level: float) -> str:
    """Youden's index of a judge, in words; none where it is not known."""
    if verified is None or not verified.any(axis=1).all():
        return ""
    slope = youden(table)
    values = (slope.mean, *slope.interval(level)[:2])
    mean, *ends = (f"{value:.2f}".replace("-", "\N{MINUS SIGN}") for value in values)
    return f"Youden's index (TPR + TNR \N{MINUS SIGN} 1) is {mean} [{', '.join(ends)}]."


def labels_of_columns(**columns: Any) -> Labels:
    """Labels of two labelers, each a sequence in the order of the samples, or a dict or Series by task id."""
    ids, entries = {}, {}
    for name, column in columns.items():
        keyed = isinstance(column, Mapping)
        if keyed or hasattr(column, "iloc"):
            ids[name] = list(column if keyed else column.index)
        entries[name] = as_list(list(column.values()) if keyed else column, name)
    if len(ids) < 2 and len(set(map(len, entries.values()))) > 1:
        numbers = " and ".join(f"{name} has {len(one)} entries" for name, one in entries.items())
        raise ValueError(f"{numbers}: give one entry of each per sample, or dicts or Series by task id")
    usual = next(iter(ids.values()), list(range(len(next(iter(entries.values()))))))
    tasks = [task for name in entries for task in ids.get(name, usual)]
    order = None if usual == list(range(len(usual))) else tuple(dict.fromkeys(tasks))
    workers = [name for name in entries for _ in entries[name]]
    labels = [one for name in entries for one in entries[name]]
    return Labels.from_long(tasks, workers, labels, tasks=order, missing="drop", allow_unlabelled=True)


def labels_of_nobody(y_pred: Any, gold: Any) -> Labels:
    """Labels without a labeler: the samples of predictions, and the classes of these and of gold."""
    if gold is None or y_pred is None:
        raise ValueError("labels is None: give labels, or verified classes as gold=...")
    both = labels_of_columns(y_pred=y_pred, gold=gold.classes if isinstance(gold, Gold) else gold)
    return replace(both.select_labelers([]), notes=())
