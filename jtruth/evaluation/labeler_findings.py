"""What single labelers do, in words: who answers by habit, copies, changed, or takes one class for another.

`jtruth.learning.behaviour` has the model; here its numbers become entries of the report's rows, and what is
more probable than not becomes a sentence among the odd things (`suspicions` counts, this computes). Exchanged
classes are read from confusion matrices: a cell is named where a labeler certainly says one class more often
than the right one, the low end of its interval above the high end of the right one's.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jtruth._validation.words import number_of
from jtruth.evaluation.inputs import Inputs, Model
from jtruth.inspection import Finding, suspicions
from jtruth.labels import Labels
from jtruth.learning.behaviour import Behaviour, labeler_behaviour

NAMED = 0.5  # probability above which a labeler is named
_SHOWN = 3


def with_behaviour(
    rows: Sequence[dict[str, Any]],
    labels: Labels,
    prior: np.ndarray,
    matrices: np.ndarray,
    order: np.ndarray | None,
    gold: np.ndarray | None,
) -> tuple[tuple[dict[str, Any], ...], tuple[Finding, ...]]:
    """The rows of a report with probabilities of spam and drift, and what is probable as findings."""
    found = labeler_behaviour(labels, prior, matrices, order=order, gold=gold)
    workers = [str(name) for name in labels.workers or range(labels.num_labelers)]
    place = {name: t for t, name in enumerate(workers)}
    number, pairs = len(found.pairs), found.pairs.ravel()
    first = np.full(len(workers), number)  # of the pairs that a labeler is in, the most probable
    np.minimum.at(first, pairs, np.repeat(np.arange(number), 2))
    more = tuple({**row, **_of_labeler(found, place[row["worker"]], workers, first)} for row in rows)
    return more, tuple(_findings(found, workers, _habits(matrices, labels.class_names)))


def drift_findings(
    labels: Labels, prior: np.ndarray, matrices: np.ndarray, order: np.ndarray, gold: np.ndarray | None
) -> tuple[Finding, ...]:
    """Labelers who changed, named, where the question is about a classifier."""
    found = labeler_behaviour(labels, prior, matrices, order=order, gold=gold)
    workers = [str(name) for name in labels.workers or range(labels.num_labelers)]
    said = _findings(found, workers, _habits(matrices, labels.class_names))
    return tuple(finding for finding in said if finding.name == "drift")


def _habits(matrices: np.ndarray, classes: Sequence[str]) -> list[str]:
    """What each labeler says most, whatever the class is."""
    said = matrices.mean(axis=1)
    return [f"says {classes[row.argmax()]!r} in {row.max():.0%}" for row in said]


def _of_labeler(found: Behaviour, t: int, workers: list[str], first: np.ndarray) -> dict[str, Any]:
    """Probabilities of one labeler, ready for JSON; None where the labels cannot tell."""
    best = int(first[t]) if first[t] < len(found.pairs) else None
    changed = {"moment": found.moment, "before": found.before, "after": found.after}
    return {
        "spam": _number(found.spam[t]),
        "drift": None if found.drift is None or np.isnan(found.drift[t]) else {
            "probability": float(found.drift[t]), **{name: float(x[t]) for name, x in changed.items()}
        },
        "duplicate": None if best is None else {
            "of": workers[int(found.pairs[best].sum() - t)], "probability": float(found.duplicate[best])
        },
    }  # fmt: skip


def _findings(found: Behaviour, workers: list[str], habits: list[str]) -> list[Finding]:
    """One sentence for spam, drift and duplicates, with the most probable names."""
    said = []
    spam = _ranked(found.spam)
    if spam.size:
        names = _listed(f"{workers[t]!r} ({found.spam[t]:.2f}, {habits[t]})" for t in spam)
        text = f"Answers by habit, whatever the class is (spam), with probability: {names}. Leave them out."
        said.append(Finding("spam", text))
    pairs = _likely(found, workers)
    if pairs:
        text = f"Labelers who repeat one another, with probability: {_listed(pairs)}. Keep one of each pair."
        said.append(Finding("duplicates", text))
    if found.drift is not None:
        names = _listed(
            f"{workers[t]!r} ({found.drift[t]:.2f}) after {found.moment[t]:g}, accuracy "
            f"{found.before[t]:.2f} before and {found.after[t]:.2f} since"
            for t in _ranked(found.drift)
        )
        if names:
            said.append(
                Finding("drift", f"Labelers who changed, with probability: {names}. Judge the two apart.")
            )
    return said


def _likely(found: Behaviour, workers: list[str]) -> list[str]:
    return [
        f"{workers[a]!r} and {workers[b]!r} ({p:.2f}; {same} of {shared} alike)"
        for (a, b), p, shared, same in zip(*found[-4:], strict=True)
        if p > NAMED
    ]


def _ranked(probability: np.ndarray) -> np.ndarray:
    """Labelers above `NAMED`, the most probable first."""
    order = np.argsort(-np.nan_to_num(probability), kind="stable")
    return order[np.nan_to_num(probability)[order] > NAMED]


def _listed(parts: Any) -> str:
    parts = list(parts)
    more = f" and {len(parts) - _SHOWN} more in the JSON" if len(parts) > _SHOWN else ""
    return "; ".join(parts[:_SHOWN]) + more


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


_OFTEN = 0.25
Cell = tuple[int, int]  # true class, class said


def odd_things(data: Inputs, model: Model, order: np.ndarray | None) -> tuple[Finding, ...]:
    """What is odd in the labels that judge a classifier: who changed (with an order), and all counts."""
    if data.labels is None:
        return ()
    changed = () if order is None or model.rates is None else drift_findings(
        data.labels, model.rates.prior[0], model.rates.matrices[0][:-1], order, data.some_gold
    )  # fmt: skip
    return (*changed, *suspicions(data.labels))


def certain_cells(matrix: dict[str, Any]) -> list[Cell]:
    """Cells (true, said) that are said often, and certainly more often than the right class."""
    mean, low, high = (np.array(matrix[name], float) for name in ("mean", "low", "high"))
    above = (low > np.diagonal(high)[:, None]) & (mean >= _OFTEN)
    return [(int(a), int(b)) for a, b in np.argwhere(above & ~np.eye(len(low), dtype=bool))]


def swap_findings(rows: Sequence[dict[str, Any]], classes: Sequence[str]) -> tuple[Finding, ...]:
    """Who says another class instead of the right one, or exchanges two; not who answers by habit.

    Args:
        rows: of a labelers' report.
        classes: their names.
    """
    said = []
    for row in rows:
        cells = certain_cells(row["confusion_matrix"])
        if not cells or (row.get("spam") or 0.0) > NAMED:
            continue
        share = row["confusion_matrix"]["mean"]
        parts = [f"says {classes[b]!r} for {classes[a]!r} in {share[a][b]:.0%}" for a, b in cells]
        swapped = [f"{classes[a]!r} and {classes[b]!r}" for a, b in cells if a < b and (b, a) in cells]
        exchanged = f"exchanges {', '.join(swapped)}: " if swapped else ""
        said.append(f"{row['worker']!r} {exchanged}{', '.join(parts[:_SHOWN])}")
    if not said:
        return ()
    more = f"; {number_of(len(said) - _SHOWN, 'labeler')} more in the page" if len(said) > _SHOWN else ""
    text = (
        f"Another class instead of the right one: {'; '.join(said[:_SHOWN])}{more}. Ask what they "
        "understood, or correct their labels."
    )
    return (Finding("swaps", text),)
