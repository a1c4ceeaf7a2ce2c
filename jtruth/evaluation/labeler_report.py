"""The answer about labelers: each one's accuracy and confusion matrix, worst first, and its blocks.

The estimand is named in the sentence. An interval wider than one half determines nothing and is not in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from jtruth._random import Stated
from jtruth._validation.terminal import plain
from jtruth._validation.words import number_of
from jtruth.answers import Answer, Column, Shown, Table, check_notes, facts, finding_notes, how, warning_notes
from jtruth.answers.blocks import Row, cell_text
from jtruth.evaluation.consensus_report import consensus_table
from jtruth.evaluation.parts import (
    IN_SAMPLE,
    OF_LABELERS,
    PREDICTIVE,
    Check,
    first_lines,
    interval_title,
    labeler_table,
    listed,
    loudest,
    undetermined,
    worst_first,
)
from jtruth.inspection import Finding
from jtruth.labels import Labels
from jtruth.learning import LabelerDraws
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.draws import DrawsEstimate


@dataclass(frozen=True, repr=False)
class LabelerReport(Answer):
    """Every labeler, worst first; `rows` are dictionaries ready for JSON."""

    level: float
    classes: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]  # worker, num_labels, accuracy, low, high, ...: see to_dict
    prior: tuple[float, ...]
    warnings: tuple[str, ...]
    posterior: JointPosterior | LabelerDraws  # of independent errors, gold clamped
    key: Stated
    checks: tuple[Check, ...] = ()
    assumed: tuple[str, ...] = ()  # what the numbers rest on, a sentence each
    suspicious: tuple[Finding, ...] = ()  # what is odd in the labels, as `inspect_labels` finds it
    target: str = IN_SAMPLE  # what accuracies are meant
    interval_kind: str = PREDICTIVE  # or "posterior" (gold)
    rests_on: str = ""  # what the accuracies take for granted
    assumptions: tuple[tuple[str, str], ...] = ()  # name and sentence of those of `by_assumption`
    laws: Mapping[str, DrawsEstimate] = field(
        default_factory=dict
    )  # of the accuracies, by worker; not of --fast

    def blocks(self) -> Shown:
        """The question, the answer and what stands behind it, for all faces."""
        return labelers_blocks(self)

    def noise_dict(self, workers: Any = None) -> dict[str, Any]:
        """Error rates and prior as `read_noise` (and `--noise`) takes them: means, and draws beside them.

        Whoever takes the means for known forgets how well they are known: intervals become narrower.

        Args:
            workers: names of the labelers in the order of `posterior`; left out, no draws are written.

        Raises:
            ValueError: labels that determine nothing.
        """
        if not self.rows:
            raise ValueError("these labels do not determine error rates: there is nothing to save")
        matrices = {row["worker"]: row["confusion_matrix"]["mean"] for row in self.rows}
        found = {"classes": list(self.classes), "prior": list(self.prior), "confusion_matrices": matrices}
        if workers is None:
            return found
        return found | {"draws": saved_draws(self.posterior, list(map(str, workers)))}

    def consensus(self, labels: Labels) -> tuple[list[str], list[list[Any]]]:
        """Header and rows of a table: each task's most probable class and its class probabilities."""
        return consensus_table(labels, self.posterior.class_posterior)


_MOST_SAVED, _FEWEST_SAVED = 200_000, 50  # numbers in a file of error rates, and draws


def labeler_rows(
    workers: Sequence[Any], num_labels: np.ndarray, accuracies: Sequence[tuple[float, float, float]],
    matrices: Mapping[str, np.ndarray], by_assumption: Mapping[str, np.ndarray],
) -> tuple[dict[str, Any], ...]:  # fmt: skip
    """A dictionary for each labeler, the worst first, who gave no labels last.

    Args:
        workers: name of each labeler.
        num_labels: that each gave.
        accuracies: mean and the two ends of the interval of each; NaN where there is none.
        matrices: "mean", "low" and "high", each (labelers, classes, classes).
        by_assumption: mean accuracies under each assumption, (labelers,).
    """
    return tuple(
        asdict(row) | {
            "by_assumption": {name: _known(values[t]) for name, values in by_assumption.items()},
            "confusion_matrix": {name: part[t].tolist() for name, part in matrices.items()},
        }
        for t, row in worst_first(workers, num_labels, accuracies)
    )  # fmt: skip


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def ends_of(draws: np.ndarray, level: float) -> dict[str, np.ndarray]:
    """Mean and equal tails of draws along their first axis: "mean", "low" and "high"."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return {"mean": draws.mean(axis=0), "low": low.astype(np.float64), "high": high.astype(np.float64)}


def saved_draws(fit: LabelerDraws | JointPosterior, workers: list[str]) -> dict[str, Any]:
    """Draws of prior and matrices for a file of error rates; thinned to what a file can hold.

    Args:
        fit: the draws; `workers` are in the order of its labelers.
        workers: their names.
    """
    of_matrix = fit.matrix_draw if isinstance(fit, JointPosterior) else np.arange(len(fit.matrices))
    size, classes = fit.matrices.shape[1:3]
    most = max(_FEWEST_SAVED, _MOST_SAVED // (size * classes**2))
    at = np.unique(np.linspace(0, len(of_matrix) - 1, min(most, len(of_matrix))).astype(int))
    matrices = fit.matrices[at].astype(np.float64)
    matrices /= matrices.sum(axis=3, keepdims=True)
    return {
        "prior": fit.prior[of_matrix[at]].tolist(),
        "confusion_matrices": {name: matrices[:, t].tolist() for t, name in enumerate(workers)},
    }


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
