"""What single labelers do, in words: who takes one class for another, who answers by habit, who changed.

All of it is read from confusion matrices. A cell is named where a labeler certainly says one class more often
than the right one: the low end of its interval above the high end of the right one's.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jtruth._validation.words import number_of
from jtruth.evaluation.inputs import Inputs, Model
from jtruth.evaluation.labeler_behaviour import NAMED, drift_findings
from jtruth.inspection import Finding, suspicions

_SHOWN, _OFTEN = 3, 0.25
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
