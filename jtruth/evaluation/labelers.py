"""How good is every labeler? Accuracy and confusion matrix with intervals, from the joint posterior."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jtruth._random import as_key
from jtruth._version import __version__
from jtruth.evaluation.inputs import codes
from jtruth.labels import Labels
from jtruth.learning.joint import JointPosterior, fit_joint
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.regions import check_level


@dataclass(frozen=True)
class LabelerReport:
    """Every labeler, worst first; `rows` are dictionaries ready for JSON."""

    level: float
    classes: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]  # worker, num_labels, accuracy, low, high, confusion_matrix
    prior: tuple[float, ...]
    warnings: tuple[str, ...]
    posterior: JointPosterior

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "jtruth": __version__,
            "level": self.level,
            "classes": list(self.classes),
            "prior": list(self.prior),
            "labelers": list(self.rows),
            "warnings": list(self.warnings),
        }

    def __str__(self) -> str:
        if not self.rows:
            return "\n".join(["No answer.", *self.warnings])
        worst, best = self.rows[0], self.rows[-1]
        lines = [
            f"{len(self.rows)} labelers: accuracy from {worst['accuracy']:.2f} ({worst['worker']}) to "
            f"{best['accuracy']:.2f} ({best['worker']}); {100 * self.level:g} % posterior intervals, "
            "labelers taken to err independently given the class.",
            "",
            "labeler, accuracy [interval], labels, and the chance to give the right label when the class is",
        ]
        width = max(6, *(len(r["worker"]) for r in self.rows))
        columns = [str(c)[:14] for c in self.classes]
        lines.append(
            f"{'':>{width}}  {'':>4} {'':<12} {'labels':>6}  " + "  ".join(f"{c:>14}" for c in columns)
        )
        for r in self.rows:
            m = r["confusion_matrix"]
            own = [
                f"{m['mean'][c][c]:.2f} [{m['low'][c][c]:.2f}, {m['high'][c][c]:.2f}]"
                for c in range(len(self.classes))
            ]
            accuracy = f"{r['accuracy']:.2f} [{r['low']:.2f}, {r['high']:.2f}]"
            head = f"{r['worker']:>{width}}  {accuracy} {r['num_labels']:>6}"
            lines.append(head + "  " + "  ".join(f"{v:>14}" for v in own))
        return "\n".join(
            [*lines, *(["", "warnings"] if self.warnings else []), *(f"  {w}" for w in self.warnings)]
        )


def evaluate_labelers(
    labels: Labels,
    *,
    key: Any = None,
    gold: Any = None,
    level: float = 0.95,
    progress: Callable[[int, int], None] | None = None,
) -> LabelerReport:
    """Accuracy and confusion matrix of each labeler when nobody knows the true classes.

    Args:
        labels: the noisy labels.
        key: a whole number or a JAX key; 0 if None.
        gold: (samples,) known classes as codes or names, -1 where unknown.
        level: probability of the shortest intervals.
        progress: called with (sweeps done, sweeps planned).

    Returns:
        A LabelerReport; print it. Without rows when the labels determine nothing, with the reason.
    """
    check_level(level)
    key = as_key(key)
    names = tuple(map(str, labels.class_names))
    known = None if gold is None else codes(gold, names, "gold", missing=True)
    fit = fit_joint(labels, gold=known, key=key, progress=progress)
    if not fit.usable:
        return LabelerReport(level, names, (), (), fit.warnings, fit)
    counts = labels.labels_per_labeler()
    workers = labels.workers or tuple(range(labels.num_labelers))
    rows = []
    for t in np.argsort(fit.labeler_accuracy.mean(0), kind="stable"):
        law = DrawsEstimate(fit.labeler_accuracy[:, t])
        cells = fit.matrices[:, t].reshape(len(fit.matrices), -1).T.astype(np.float64)
        ends = np.array([DrawsEstimate(cell).interval(level)[:2] for cell in cells])
        shape = (len(names), len(names))
        low, high, _ = law.interval(level)
        rows.append(
            {
                "worker": str(workers[t]),
                "num_labels": int(counts[t]),
                "accuracy": law.mean,
                "low": low,
                "high": high,
                "confusion_matrix": {
                    "mean": fit.mean_matrices[t].tolist(),
                    "low": ends[:, 0].reshape(shape).tolist(),
                    "high": ends[:, 1].reshape(shape).tolist(),
                },
            }
        )
    return LabelerReport(level, names, tuple(rows), tuple(fit.prior.mean(0).tolist()), fit.warnings, fit)
