"""The answer about labelers: each one's accuracy and confusion matrix, worst first, and what is odd in words.

The estimand is named in the sentence. An interval wider than one half determines nothing and is not in it.

`jtruth.learning.behaviour` has the model of who answers by habit, copies or changed; here its numbers become
entries of the report's rows, and what is more probable than not becomes a sentence among the odd things.
Exchanged classes are read from confusion matrices: a cell is named where a labeler certainly says one class
more often than the right one, the low end of its interval above the high end of the right one's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from jtruth._random import Stated
from jtruth._validation.words import number_of, plain
from jtruth.answers import (
    Answer,
    Check,
    Column,
    Document,
    Table,
    check_notes,
    facts,
    finding_notes,
    how,
    warning_notes,
)
from jtruth.answers.blocks import Row, cell_text, facts_of, law_column
from jtruth.answers.data import plain_json
from jtruth.evaluation import parts
from jtruth.evaluation.agreement import consensus_table
from jtruth.labels import Labels
from jtruth.learning import LabelerDraws
from jtruth.learning.behaviour import Behaviour, labeler_behaviour
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.draws import DrawsEstimate

NAMED = 0.5  # probability above which a labeler is named
_OFTEN, _MOST_CLASSES, _LISTED = 0.25, 12, 3
_MOST_SAVED, _FEWEST_SAVED = 200_000, 50  # numbers in a file of error rates, and draws


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
    suspicious: tuple[Check, ...] = ()  # what is odd in the labels, as `inspect_labels` finds it
    target: str = parts.IN_SAMPLE  # what accuracies are meant
    interval_kind: str = parts.PREDICTIVE  # or "posterior" (gold)
    rests_on: str = ""  # what the accuracies take for granted
    assumptions: tuple[tuple[str, str], ...] = ()  # name and sentence of those of `by_assumption`
    laws: Mapping[str, DrawsEstimate] = field(default_factory=dict)  # by worker; not of --fast

    def blocks(self) -> Document:
        """The question, the answer and what stands behind it, for all faces."""
        rows, estimand = self.rows, parts.OF_LABELERS[self.target]
        labels = number_of(sum(row["num_labels"] for row in rows), "label")
        about = f"{number_of(len(rows), 'labeler')}, {labels}; classes {parts.listed(self.classes)}"
        prior = parts.listed(self.classes, [f"{p:.3f}" for p in self.prior])
        named = [{"name": name, "sentence": text} for name, text in self.assumptions]
        blocks = (
            parts.labeler_table(rows, self.level, estimand), *_of_classes(self),
            check_notes(self.checks), finding_notes(self.suspicious), warning_notes(self.warnings),
            how(("rests on", self.rests_on), ("class prior", prior), *(("assumed", s) for s in self.assumed)),
            facts_of(self, "level", "key", "target", "interval_kind", "rests_on", "classes", "prior",
                     "assumed"),
            facts(estimand=estimand, assumptions=named),
        )  # fmt: skip
        sentence = labelers_headline(rows, estimand, parts.interval_title(self.level, self.interval_kind))
        alarms, doubt = parts.first_lines(self.checks, self.warnings), parts.loudest(self.checks)
        return Document("How good is every labeler?", about, sentence, blocks, alarms, doubt)

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
        return found | {"draws": _saved_draws(self.posterior, list(map(str, workers)))}

    def consensus(self, labels: Labels) -> tuple[list[str], list[list[Any]]]:
        """Header and rows of a table: each task's most probable class and its class probabilities."""
        return consensus_table(labels, self.posterior.class_posterior)


def labeler_rows(
    workers: Sequence[Any], num_labels: np.ndarray, accuracies: Sequence[tuple[float, float, float]],
    fit: LabelerDraws | JointPosterior, level: float, by_assumption: Mapping[str, np.ndarray] | None = None,
) -> tuple[dict[str, Any], ...]:  # fmt: skip
    """A dictionary for each labeler, the worst first, who gave no labels last.

    `accuracies` are means and ends of intervals, confusion matrices those of `fit`; `by_assumption` mean
    accuracies under each, (labelers,); None: the fit is all there is.
    """
    matrices = ends_of(fit.matrices, level) | {"mean": fit.mean_matrices}
    if by_assumption is None:
        by_assumption = {"independent": np.array([mean for mean, _, _ in accuracies])}
    more = [
        {"by_assumption": {name: plain_json(values[t]) for name, values in by_assumption.items()},
         "confusion_matrix": {name: part[t].tolist() for name, part in matrices.items()}}
        for t in range(len(workers))
    ]  # fmt: skip
    return parts.worst_first(workers, num_labels, accuracies, more)


def ends_of(draws: np.ndarray, level: float) -> dict[str, np.ndarray]:
    """Mean and equal tails of draws along their first axis: "mean", "low" and "high"."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return {"mean": draws.mean(axis=0), "low": low.astype(np.float64), "high": high.astype(np.float64)}


def _saved_draws(fit: LabelerDraws | JointPosterior, workers: list[str]) -> dict[str, Any]:
    """Draws of prior and matrices for a file of error rates; thinned to what a file can hold."""
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


def labelers_headline(rows: Any, estimand: str, kind: str) -> str:
    """One sentence with the answer, or why there is none."""
    rows = [row for row in rows if row["low"] is not None]
    if not rows:
        return "No answer: these labels do not determine how good the labelers are."
    sure = [row for row in rows if not parts.undetermined(row["low"], row["high"])]
    ends = [f"{_accuracy(row)} ({plain(row['worker'])})" for row in sure[:1] + sure[1:][-1:]]
    texts = [f"from {ends[0]} to {ends[-1]}"] if len(sure) > 1 else ends
    texts += [f"not determined for {len(rows) - len(sure)}"] if len(sure) < len(rows) else []
    sentence = f"{number_of(len(rows), 'labeler')}: {estimand}, {', '.join(texts)} ({kind}s)."
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


def _of_classes(found: LabelerReport) -> list[Table]:
    """The chance to give the right label, by class, and the cells beside the diagonal that hold most."""
    each = range(len(found.classes))
    if not found.rows or len(each) > _MOST_CLASSES:
        return []

    def law(row: Row, true: int, label: int) -> dict[str, float]:
        return {name: row["confusion_matrix"][name][true][label] for name in ("mean", "low", "high")}

    right = [{"worker": r["worker"], **{str(c): law(r, c, c) for c in each}} for r in found.rows]
    columns = [law_column(str(c), f"if {plain(found.classes[c])!r}", ".2f") for c in each]
    title = "If errors are independent: the chance to give the right label"
    tables = [Table("", title, "worker", tuple(columns), right)]
    cells = [
        {"worker": row["worker"], "class": found.classes[a], "says": found.classes[b], **law(row, a, b)}
        for row in found.rows
        for a in each
        for b in each
        if a != b and row["confusion_matrix"]["mean"][a][b] >= _OFTEN
    ]
    cells.sort(key=lambda cell: -cell["mean"])
    heads = (Column("class", "if the class is"), Column("says", "says"),
             Column("mean", "how often", ("low", "high"), ".2f"))  # fmt: skip
    return tables + ([Table("", "What labelers say instead", "worker", heads, cells)] if cells else [])


def behaviour_of(
    labels: Labels, prior: np.ndarray, matrices: np.ndarray, order: np.ndarray | None, gold: np.ndarray | None
) -> tuple[dict[str, dict[str, Any]], tuple[Check, ...]]:
    """By worker the probabilities of spam, drift and a copy, ready for JSON; and what is probable."""
    found = labeler_behaviour(labels, prior, matrices, order=order, gold=gold)
    workers = [str(name) for name in labels.worker_names]
    number = len(found.pairs)
    first = np.full(len(workers), number)  # of the pairs that a labeler is in, the most probable
    np.minimum.at(first, found.pairs.ravel(), np.repeat(np.arange(number), 2))
    rows = {}
    for t, (name, best) in enumerate(zip(workers, first.tolist(), strict=True)):
        drift = None if found.drift is None or np.isnan(found.drift[t]) else {
            "probability": float(found.drift[t]), "moment": float(found.moment[t]),
            "before": float(found.before[t]), "after": float(found.after[t]),
        }  # fmt: skip
        copy = None if best == number else {
            "of": workers[int(found.pairs[best].sum() - t)], "probability": float(found.duplicate[best])
        }  # fmt: skip
        rows[name] = {"spam": plain_json(found.spam[t]), "drift": drift, "duplicate": copy}
    usage = matrices.mean(axis=1)  # what each says most, whatever the class is
    habits = [f"says {labels.class_names[row.argmax()]!r} in {row.max():.0%}" for row in usage]
    return rows, tuple(_findings(found, workers, habits))


def _findings(found: Behaviour, workers: list[str], habits: list[str]) -> list[Check]:
    """One sentence for spam, drift and duplicates, with the most probable names."""
    spam = [f"{workers[t]!r} ({found.spam[t]:.2f}, {habits[t]})" for t in _ranked(found.spam)]
    pairs = [
        f"{workers[a]!r} and {workers[b]!r} ({p:.2f}; {same} of {shared} alike)"
        for (a, b), p, shared, same in zip(*found[-4:], strict=True)
        if p > NAMED
    ]
    drift = [] if found.drift is None else [
        f"{workers[t]!r} ({found.drift[t]:.2f}) after {found.moment[t]:g}, accuracy "
        f"{found.before[t]:.2f} before and {found.after[t]:.2f} since"
        for t in _ranked(found.drift)
    ]  # fmt: skip
    sentences = {
        "spam": (spam, "Answers by habit, whatever the class is (spam)", "Leave them out"),
        "duplicates": (pairs, "Labelers who repeat one another", "Keep one of each pair"),
        "drift": (drift, "Labelers who changed", "Judge the two apart"),
    }
    findings = []
    for name, (who, what, todo) in sentences.items():
        more = f" and {len(who) - _LISTED} more in the JSON" if len(who) > _LISTED else ""
        text = f"{what}, with probability: {'; '.join(who[:_LISTED])}{more}. {todo}."
        findings += [Check(name, message=text)] if who else []
    return findings


def _ranked(probability: np.ndarray) -> np.ndarray:
    """Labelers above `NAMED`, the most probable first."""
    order = np.argsort(-np.nan_to_num(probability), kind="stable")
    return order[np.nan_to_num(probability)[order] > NAMED]


def certain_cells(matrix: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Cells (true, said) that are said often, and certainly more often than the right class."""
    mean, low, high = (np.array(matrix[name], float) for name in ("mean", "low", "high"))
    above = (low > np.diagonal(high)[:, None]) & (mean >= _OFTEN)
    return [(int(a), int(b)) for a, b in np.argwhere(above & ~np.eye(len(low), dtype=bool))]


def swap_findings(rows: Sequence[dict[str, Any]], classes: Sequence[str]) -> tuple[Check, ...]:
    """Who says another class instead of the right one, or exchanges two; not who answers by habit."""
    texts = []
    for row in rows:
        cells = certain_cells(row["confusion_matrix"])
        if not cells or (row.get("spam") or 0.0) > NAMED:
            continue
        share = row["confusion_matrix"]["mean"]
        instead = [f"says {classes[b]!r} for {classes[a]!r} in {share[a][b]:.0%}" for a, b in cells]
        swapped = [f"{classes[a]!r} and {classes[b]!r}" for a, b in cells if a < b and (b, a) in cells]
        exchanged = f"exchanges {', '.join(swapped)}: " if swapped else ""
        texts.append(f"{row['worker']!r} {exchanged}{', '.join(instead[:_LISTED])}")
    if not texts:
        return ()
    more = f"; {number_of(len(texts) - _LISTED, 'labeler')} more in the page" if len(texts) > _LISTED else ""
    text = (
        f"Another class instead of the right one: {'; '.join(texts[:_LISTED])}{more}. Ask what they "
        "understood, or correct their labels."
    )
    return (Check("swaps", message=text),)
