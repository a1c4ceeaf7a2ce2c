"""Labelers who label at random, copy, change, repeat labels or confuse classes: rows and sentences.

Probabilities and tests come from `jtruth.learning.behaviour`; a sentence needs a probability above one half.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import betaincinv

from jtruth._validation.times import moment_text
from jtruth._validation.words import number_of
from jtruth.answers import Check, Column, Table
from jtruth.answers.data import plain_json
from jtruth.evaluation.checks.of_labels import drift_findings
from jtruth.evaluation.inputs import Inputs
from jtruth.labels import Labels
from jtruth.learning.behaviour import Behaviour, labeler_behaviour

NAMED = 0.5  # probability above which a labeler is named
_OFTEN, _LISTED = 0.25, 3


def behaviour_of(
    labels: Labels,
    prior: np.ndarray,
    matrices: np.ndarray,
    data: Inputs,
    order: np.ndarray | None,
    judged: bool = False,
    unit: str = "",
) -> tuple[dict[str, dict[str, Any]], tuple[Check, ...], tuple[Check, ...]]:
    """By worker spam, drift and copies; findings; the check for drift. `judged`: a classifier is the last."""
    order = order if len(matrices) > 2 or data.num_gold else None  # of two it is unknown which changed
    behaviour = labeler_behaviour(labels, prior, matrices, order=order, gold=data.some_gold, key=data.key)
    workers = [str(name) for name in labels.worker_names]
    number = len(behaviour.pairs)
    first = np.full(len(workers), number)  # of the pairs that a labeler is in, the most probable
    np.minimum.at(first, behaviour.pairs.ravel(), np.repeat(np.arange(number), 2))
    rows = {}
    for t, (name, best) in enumerate(zip(workers, first.tolist(), strict=True)):
        drift = copy = None
        if behaviour.drift is not None and not np.isnan(behaviour.drift[t]).all():
            c = int(np.nanargmin(behaviour.drift[t]))  # the class in which the change is clearest
            drift = {"class": labels.class_names[c], "p_value": float(behaviour.drift[t, c])}
            for field in ("moment", "before", "after"):
                drift[field] = plain_json(getattr(behaviour, field)[t, c])
            drift["date"] = moment_text(float(behaviour.moment[t, c]))
        if best < number:
            other = workers[int(behaviour.pairs[best].sum() - t)]
            copy = {"of": other, "probability": float(behaviour.duplicate[best])}
        rows[name] = {"spam": plain_json(behaviour.spam[t]), "drift": drift, "duplicate": copy}
    usage = matrices.mean(axis=1)  # most frequent label of each, for any class
    habits = [f"says {labels.class_names[row.argmax()]!r} in {row.max():.0%}" for row in usage]
    who = [*map(repr, workers[:-1]), "the classifier" if judged else repr(workers[-1])]
    found, checks = drift_findings(behaviour, who, list(map(str, labels.class_names)), order, unit)
    return rows, (*_findings(behaviour, workers, habits), *found), checks


def _findings(behaviour: Behaviour, workers: list[str], habits: list[str]) -> list[Check]:
    spam = [f"{workers[t]!r} ({behaviour.spam[t]:.2f}, {habits[t]})" for t in _ranked(behaviour.spam)]
    pairs = [
        f"{workers[a]!r} and {workers[b]!r} ({p:.2f}; {same} of {shared} alike)"
        for (a, b), p, shared, same in zip(*behaviour[-4:], strict=True)
        if p > NAMED
    ]
    sentences = {
        "spam": (spam, "Labels at random, whatever the class", "Leave these labelers out"),
        "duplicates": (pairs, "Labelers who copy each other", "Keep one of each pair"),
    }
    findings = []
    for name, (who, what, todo) in sentences.items():
        more = f"; {len(who) - _LISTED} more in the JSON" if len(who) > _LISTED else ""
        text = f"{what} (with probability): {'; '.join(who[:_LISTED])}{more}. {todo}."
        findings += [Check(name, message=text)] if who else []
    return findings


def _ranked(probability: np.ndarray) -> np.ndarray:
    order = np.argsort(-np.nan_to_num(probability), kind="stable")
    return order[np.nan_to_num(probability)[order] > NAMED]


def certain_cells(matrix: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Cells (true, label) that are frequent, and clearly more so than the right class."""
    mean, low, high = (np.array(matrix[name], float) for name in ("mean", "low", "high"))
    above = (low > np.diagonal(high)[:, None]) & (mean >= _OFTEN)
    return [(int(a), int(b)) for a, b in np.argwhere(above & ~np.eye(len(low), dtype=bool))]


def swap_findings(rows: Sequence[dict[str, Any]], classes: Sequence[str]) -> tuple[Check, ...]:
    """Labelers who confuse or exchange classes, without those who label at random."""
    texts = []
    for row in rows:
        cells = certain_cells(row["confusion_matrix"])
        if not cells or (row.get("spam") or 0.0) > NAMED:
            continue
        share = row["confusion_matrix"]["mean"]
        instead = [f"says {classes[b]!r} for {classes[a]!r} in {100 * share[a][b]:.0f} %" for a, b in cells]
        swapped = [f"{classes[a]!r} and {classes[b]!r}" for a, b in cells if a < b and (b, a) in cells]
        exchanged = f"swaps {', '.join(swapped)}: " if swapped else ""
        texts.append(f"{row['worker']!r} {exchanged}{', '.join(instead[:_LISTED])}")
    if not texts:
        return ()
    more = f"; {number_of(len(texts) - _LISTED, 'labeler')} more in the page" if len(texts) > _LISTED else ""
    text = (
        f"Systematic confusions: {'; '.join(texts[:_LISTED])}{more}. Ask how they understood the classes, or "
        "correct their labels."
    )
    return (Check("swaps", message=text),)


def with_repeats(rows: Sequence[dict[str, Any]], labels: Labels, level: float) -> tuple[dict[str, Any], ...]:
    """Add `self_agreement` to rows: how often two labels of a sample by the same labeler agree.

    It has Jeffreys' interval, the number of pairs, and two bounds. Of two labels that differ at most one is
    right, so with agreement r a label is right in at most (1 + r) / 2. With accuracy a, a wrong label is
    wrong again in at least 1 - (1 - r) / (2 (1 - a)), exact for two classes. If one label of each pair is
    used, a is its accuracy.
    """
    if labels.self_agreement is None:
        return tuple(rows)
    own = dict(zip(map(str, labels.worker_names), labels.self_agreement.tolist(), strict=True))
    return tuple(row | _repeats_of(own[row["worker"]], row["accuracy"], level) for row in rows)


def _repeats_of(own: tuple[int, int, int, float], accuracy: float | None, level: float) -> dict[str, Any]:
    _, pairs, agree, worth = own
    if not pairs:
        return {}
    share = agree / pairs
    ends = betaincinv(share * worth + 0.5, (1 - share) * worth + 0.5, [(1 - level) / 2, (1 + level) / 2])
    low, high = float(ends[0]) if agree else 0.0, float(ends[1]) if agree < pairs else 1.0
    wrong = 0.0 if accuracy is None else 1 - accuracy
    bounds = {"right_at_most": (1 + share) / 2, "wrong_again": None}
    if wrong > 0:
        bounds["wrong_again"] = max(0.0, 1 - (1 - share) / (2 * wrong))
    return {"self_agreement": {"share": share, "low": low, "high": high, "pairs": pairs, **bounds}}


def repeats_table(rows: Sequence[dict[str, Any]]) -> tuple[Table, ...]:
    """Table of self-agreement and its bounds; nothing without repeats."""
    columns = (Column("share", "agrees with own repeats", ("low", "high"), ".2f"), Column("pairs", "pairs"),
               Column("right_at_most", "right at most", form=".2f"),
               Column("wrong_again", "P(wrong again), at least", form=".2f"))  # fmt: skip
    own = [{"worker": row["worker"], **row["self_agreement"]} for row in rows if "self_agreement" in row]
    note = "Another label by the same labeler does not remove repeated errors; another labeler may."
    title = "Repeated labels of a sample by the same labeler"
    return (Table("", title, "worker", columns, own, note),) if own else ()
