"""How good is every labeler? Accuracy and confusion matrix with intervals, from the joint posterior."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

import numpy as np

from jtruth._page import Page, write_page
from jtruth._random import as_key, stream
from jtruth._version import __version__
from jtruth.evaluation._given import as_labels
from jtruth.evaluation.checks.verdicts import labeler_checks, refused
from jtruth.evaluation.consensus_report import consensus_table
from jtruth.evaluation.gold.labelers import right_shares
from jtruth.evaluation.gold.shares import labels_only_posterior
from jtruth.evaluation.inputs import read_gold, read_labelled
from jtruth.evaluation.labelers_text import contradicted, labelers_text
from jtruth.evaluation.page import labelers_page
from jtruth.evaluation.result import Check
from jtruth.evaluation.text import INDEPENDENT, MORE_RIGHT
from jtruth.inspection import Finding, suspicions
from jtruth.labels import Labels
from jtruth.learning.joint.posterior import JointPosterior, fit_joint
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.regions import check_level

MISFIT = (
    "the labels contradict what these intervals rest on (see the checks): they are too narrow and may be off "
    "centre. Only gold tells: find out the truth of 30 samples chosen at random (gold=...)"
)
ONLY_GOLD = (
    "labels alone cannot show whether labelers are wrong together: these intervals take errors to be "
    "independent, and held real labelers in 18 to 80 % where samples differ in difficulty. Only "
    "gold can tell: find out the truth of 30 samples chosen at random (gold=...)"
)


@dataclass(frozen=True)
class LabelerReport:
    """Every labeler, worst first; `rows` are dictionaries ready for JSON."""

    level: float
    classes: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]  # worker, num_labels, accuracy, low, high, ...: see to_dict
    prior: tuple[float, ...]
    warnings: tuple[str, ...]
    posterior: JointPosterior
    checks: tuple[Check, ...] = ()
    assumed: tuple[str, ...] = ()  # what the numbers rest on, a sentence each
    suspicious: tuple[Finding, ...] = ()  # what is odd in the labels, as `inspect_labels` finds it

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "jtruth": __version__,
            "level": self.level,
            "classes": list(self.classes),
            "prior": list(self.prior),
            "labelers": list(self.rows),
            "checks": [check._asdict() for check in self.checks],
            "assumed": list(self.assumed),
            "suspicious": [asdict(finding) for finding in self.suspicious],
            "warnings": list(self.warnings),
        }

    def noise_dict(self) -> dict[str, Any]:
        """Mean error rates and prior as `read_noise` (and `--noise`) takes them.

        Whoever takes them for known forgets how well they are known: intervals become narrower.

        Raises:
            ValueError: labels that determine nothing.
        """
        if not self.rows:
            raise ValueError("these labels do not determine error rates: there is nothing to save")
        matrices = {row["worker"]: row["confusion_matrix"]["mean"] for row in self.rows}
        return {"classes": list(self.classes), "prior": list(self.prior), "confusion_matrices": matrices}

    def consensus(self, labels: Labels) -> tuple[list[str], list[list[Any]]]:
        """Header and rows of a table: each task's most probable class and its class probabilities."""
        return consensus_table(labels, self.posterior.class_posterior)

    def page(self) -> Page:
        """The report as a page."""
        return labelers_page(self.to_dict())

    def report(self, path: str | PathLike) -> None:
        """Write a page to forward: one HTML file with pictures, that loads nothing from anywhere."""
        write_page(path, self.page())

    def __str__(self) -> str:
        return labelers_text(self.to_dict())


def evaluate_labelers(
    labels: Labels,
    *,
    key: Any = None,
    gold: Any = None,
    order: Any = None,
    level: float = 0.95,
    progress: Callable[[int, int], None] | None = None,
) -> LabelerReport:
    """Accuracy and confusion matrix of each labeler when nobody knows the true classes.

    Args:
        labels: the noisy labels.
        key: a whole number or a JAX key; 0 if None.
        gold: (samples,) known classes, -1 where unknown; or a Series or dict by task id. A random part of all
            samples: each labeler's `right_by_gold` is then the share of their labels that are right, by PPI++
            or, below five labels of known truth, by counting (`jtruth.evaluation.gold.labelers`).
        order: (samples,) when each sample was labelled, on any scale; adds a check for labelers who change.
        level: probability of the shortest intervals.
        progress: called with (sweeps done, sweeps planned).

    Returns:
        A LabelerReport; print it. Without rows when the labels determine nothing, with the reason.
    """
    check_level(level)
    key = as_key(key)
    labels = as_labels(labels)
    names = tuple(map(str, labels.class_names))
    known, notes = read_gold(gold, labels)
    when, said = read_labelled(order, labels)
    notes, odd = (*notes, *said), suspicions(labels)
    fit = fit_joint(labels, gold=None if gold is None else known, key=key, progress=progress)
    if not fit.usable:
        none = refused(fit.warnings[0])
        return LabelerReport(level, names, (), (), (*notes, *fit.warnings), fit, none, suspicious=odd)
    prior = fit.prior.mean(0)
    aside = stream(key, "labeler checks")
    checks = labeler_checks(labels, prior, fit.mean_matrices, aside, gold=known, order=when)
    named = bool((known >= 0).any())
    by_gold, unaided = [None] * labels.num_labelers, ()
    if named:
        alone, unaided = labels_only_posterior(labels, stream(key, "labelers without gold"))
        by_gold = right_shares(labels, alone, known, level)
    rows = _rows(labels, fit, by_gold, level)
    doubts = (MISFIT,) if contradicted([check._asdict() for check in checks]) else ()
    warnings = (*notes, *doubts, *dict.fromkeys((*fit.warnings, *unaided)), *(() if named else (ONLY_GOLD,)))
    assumed = (INDEPENDENT,) if named else (INDEPENDENT, MORE_RIGHT)
    return LabelerReport(level, names, rows, tuple(prior.tolist()), warnings, fit, checks, assumed, odd)


def _rows(
    labels: Labels, fit: JointPosterior, by_gold: Sequence[Any], level: float
) -> tuple[dict[str, Any], ...]:
    """A dictionary for each labeler, the least accurate first."""
    counts, right = labels.labels_per_labeler(), expected_right(labels, fit.class_posterior)
    workers = labels.workers or tuple(range(labels.num_labelers))
    return tuple(
        {
            "worker": str(workers[t]),
            "num_labels": int(counts[t]),
            **_learned(fit, t, level),
            "share_right": None if np.isnan(right[t]) else float(right[t]),
            "right_by_gold": None if (share := by_gold[t]) is None else share._asdict(),
        }
        for t in np.argsort(fit.labeler_accuracy.mean(0), kind="stable").tolist()
    )


def _learned(fit: JointPosterior, t: int, level: float) -> dict[str, Any]:
    """Accuracy and confusion matrix of labeler t, each with the ends of its interval."""
    law, mean = DrawsEstimate(fit.labeler_accuracy[:, t]), fit.mean_matrices[t]
    low, high, _ = law.interval(level)
    cells = fit.matrices[:, t].reshape(len(fit.matrices), -1).T.astype(np.float64)
    ends = np.array([DrawsEstimate(cell).interval(level)[:2] for cell in cells]).reshape(*mean.shape, 2)
    matrix = {"mean": mean.tolist(), "low": ends[..., 0].tolist(), "high": ends[..., 1].tolist()}
    return {"accuracy": law.mean, "low": low, "high": high, "confusion_matrix": matrix}


def expected_right(labels: Labels, class_posterior: np.ndarray) -> np.ndarray:
    """(labelers,) expected share of the labels given that are right: in-sample, NaN without labels.

    The accuracy beside it is for a new sample, each class weighted by its learned share. What people labelled
    differs, and the share of right labels ranks labelers better (rank correlation with the truth on two real
    sets .59 and .77 against .37 and .66).
    """
    sample, labeler, label = labels.arrays
    given = label >= 0
    right = class_posterior[sample[given], label[given]]
    number = np.bincount(labeler[given], minlength=labels.num_labelers)
    total = np.bincount(labeler[given], right, labels.num_labelers)
    return np.divide(total, number, out=np.full(number.size, np.nan), where=number > 0)
