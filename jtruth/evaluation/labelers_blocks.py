"""What `evaluate_labelers` answers, as blocks. The estimand is named in the sentence.

An interval wider than one half determines nothing and is not in the sentence.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from jtruth._validation.terminal import plain
from jtruth._validation.words import number_of
from jtruth.answers import Column, Shown, Table, check_notes, facts, finding_notes, how, warning_notes
from jtruth.answers.blocks import Row, cell_text
from jtruth.evaluation.labeler_rows import labeler_table
from jtruth.evaluation.parts import first_lines
from jtruth.evaluation.text import OF_LABELERS, interval_title, listed, loudest, undetermined

LabelerReport = Any  # `labelers.LabelerReport`, which imports this file
_OFTEN, _MOST_CLASSES = 0.25, 12


def labelers_blocks(found: LabelerReport) -> Shown:
    """The answer, for all faces."""
    rows, estimand = found.rows, OF_LABELERS[found.target]
    labels = number_of(sum(row["num_labels"] for row in rows), "label")
    about = f"{number_of(len(rows), 'labeler')}, {labels}; classes {listed(found.classes)}"
    prior = listed(found.classes, [f"{p:.3f}" for p in found.prior])
    blocks = (
        labeler_table(rows, found.level, estimand), *_right_by_class(found), *_instead(found),
        check_notes(found.checks), finding_notes(found.suspicious), warning_notes(found.warnings),
        how(("rests on", found.rests_on), ("class prior", prior), *(("assumed", s) for s in found.assumed)),
        facts(
            level=found.level, key=found.key, target=found.target, estimand=estimand,
            interval_kind=found.interval_kind, rests_on=found.rests_on, classes=found.classes,
            prior=found.prior, assumed=found.assumed,
            assumptions=[{"name": name, "sentence": text} for name, text in found.assumptions],
        ),
    )  # fmt: skip
    alarms = tuple(first_lines(found.checks, found.warnings))
    sentence = labelers_headline(rows, estimand, interval_title(found.level, found.interval_kind))
    return Shown("How good is every labeler?", about, sentence, blocks, alarms, loudest(found.checks))


def labelers_headline(rows: Any, estimand: str, kind: str) -> str:
    """One sentence with the answer, or why there is none."""
    rows = [row for row in rows if row["low"] is not None]
    if not rows:
        return "No answer: these labels do not determine how good the labelers are."
    sure = [row for row in rows if not undetermined(row["low"], row["high"])]
    ends = [f"{_accuracy(row)} ({plain(row['worker'])})" for row in sure[:1] + sure[1:][-1:]]
    parts = [f"from {ends[0]} to {ends[-1]}"] if len(sure) > 1 else ends
    parts += [f"not determined for {len(rows) - len(sure)}"] if len(sure) < len(rows) else []
    sentence = f"{number_of(len(rows), 'labeler')}: {estimand}, {', '.join(parts)} ({kind}s)."
    return " ".join([sentence, *_not_apart(rows)])


def _accuracy(row: Row) -> str:
    return cell_text([row["accuracy"], row["low"], row["high"]], ".2f")


def _not_apart(rows: list[Row]) -> list[str]:
    """Neighbours in the order whose intervals overlap cannot be told apart."""
    pairs = [(a, b) for a, b in pairwise(rows) if a["high"] >= b["low"]]
    if not pairs:
        return []
    if len(pairs) == len(rows) - 1:
        extreme = rows[0]["high"] >= rows[-1]["low"]
        which = "even the worst and the best" if extreme and len(rows) > 2 else "neighbours in this order"
        return [f"Intervals overlap: {which} are not told apart."]
    named = ", ".join(f"{plain(a['worker'])} and {plain(b['worker'])}" for a, b in pairs[:3])
    more = f" and {len(pairs) - 3} more pairs" if len(pairs) > 3 else ""
    return [f"Not told apart: {named}{more}."]


def _law(row: Row, true: int, said: int) -> dict[str, float]:
    return {name: row["confusion_matrix"][name][true][said] for name in ("mean", "low", "high")}


def _right_by_class(found: LabelerReport) -> list[Table]:
    """The chance to give the right label, by class."""
    each = range(len(found.classes))
    if not found.rows or len(each) > _MOST_CLASSES:
        return []
    rows = [{"worker": r["worker"], **{str(c): _law(r, c, c) for c in each}} for r in found.rows]
    columns = tuple(
        Column(
            (str(c), "mean"), f"if {plain(found.classes[c])!r}", ((str(c), "low"), (str(c), "high")), ".2f"
        )
        for c in each
    )
    title = "If errors are independent: the chance to give the right label"
    return [Table("", title, "worker", columns, rows)]


def _instead(found: LabelerReport) -> list[Table]:
    """The cells beside the diagonal that hold most: what labelers say instead of the right class."""
    cells = []
    for row in found.rows if len(found.classes) <= _MOST_CLASSES else ():
        mean = np.array(row["confusion_matrix"]["mean"], float)
        beside = (mean >= _OFTEN) & ~np.eye(len(mean), dtype=bool)
        cells += [
            {"worker": row["worker"], "class": found.classes[a], "says": found.classes[b], **_law(row, a, b)}
            for a, b in np.argwhere(beside).tolist()
        ]
    cells.sort(key=lambda cell: -cell["mean"])
    columns = (Column("class", "if the class is"), Column("says", "says"),
               Column("mean", "how often", ("low", "high"), ".2f"))  # fmt: skip
    return [Table("", "What labelers say instead", "worker", columns, cells)] if cells else []
