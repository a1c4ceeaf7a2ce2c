"""The answer of `evaluate`: posteriors of the metrics, with assumptions, checks and warnings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jtruth._random import Stated
from jtruth.answers import Answer, Shown
from jtruth.evaluation.assumptions.registry import Progress
from jtruth.evaluation.assumptions.sensitivity import Basis, Sensitivity, sensitivity
from jtruth.evaluation.assumptions.what_if import Rows, WhatIf
from jtruth.evaluation.evaluation_blocks import evaluation_blocks
from jtruth.evaluation.labeler_rows import Labeler
from jtruth.evaluation.parts import PREDICTIVE, Assumption, Check, Provenance
from jtruth.evaluation.text import MORE_RIGHT, OF_ONE_CLASS
from jtruth.inspection import Finding
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.estimates import Estimate
from jtruth.stats.regions import check_level
from jtruth.tables.joint import JointDensity, JointEstimate
from jtruth.tables.metrics import Metric, named_metric
from jtruth.tables.posterior import Cells, TablePosterior
from jtruth.testing.binary.empirical_bayes import OperatingPointFit
from jtruth.testing.multiclass.count_draws import CountDraws
from jtruth.testing.steps import ConfusionFit


@dataclass(frozen=True, repr=False)
class Evaluation(Answer):
    """How good a classifier is, and how sure one may be. `print` it; `to_dict` for JSON.

    `metrics` maps names to `Estimate`s (mean, mode, sd, interval, region, density, sample). In binary
    problems: accuracy, precision, recall, false_alarm_rate, f1 of class `positive`.
    """

    provenance: Provenance
    metrics: Mapping[str, Estimate]
    posterior: TablePosterior  # of the count table, rows and columns in the order of `classes`
    cells: Cells  # mean and ends of the interval at `level` of each count
    num_samples: int
    num_labelers: int
    num_labels: int
    classes: tuple[str, ...]
    positive: str
    prior: np.ndarray  # of the classes, in the order of `classes`
    labelers: tuple[Labeler, ...]  # worst first; empty if not modelled
    baselines: Mapping[str, Mapping[str, float]]
    what_if: WhatIf  # what each assumption says
    checks: tuple[Check, ...]
    warnings: tuple[str, ...]
    advice: tuple[str, ...] = ()  # what would make the answer better
    num_gold: int = 0
    log_evidence: float = float("nan")  # log p(y_pred, z | noise model, prior), where those are given
    fit: OperatingPointFit | ConfusionFit | CountDraws | JointPosterior | None = None  # of steps or draws
    basis: Basis | None = None  # what `sensitivity` moves
    rests_on: str = ""  # what a predictive law takes for granted
    suspicious: tuple[Finding, ...] = ()  # what is odd in the labels, as `inspect_labels` finds it
    headline: tuple[str, ...] = OF_ONE_CLASS  # metrics of the first sentence

    @property
    def method(self) -> str:
        """As `evaluate` was asked: "bayes", "majority_vote", ..."""
        return self.provenance.method

    @property
    def target(self) -> str:
        """What the metrics are of: "in-sample" or "population"."""
        return self.provenance.target

    @property
    def level(self) -> float:
        """Probability of the printed intervals."""
        return self.provenance.level

    @property
    def interval_kind(self) -> str:
        """One of "posterior", "predictive", "confidence interval"."""
        return self.provenance.interval_kind

    @property
    def key(self) -> Stated:
        """Of whatever was drawn; given again it draws the same."""
        return self.provenance.key

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What each assumption says, a row each; fitted when it is asked for the first time."""
        return self.what_if.rows

    @property
    def accuracy(self) -> Estimate:
        """Share of samples predicted right."""
        return self.metrics["accuracy"]

    @property
    def precision(self) -> Estimate:
        """Share of predicted positives that are positive."""
        return self.metrics["precision"]

    @property
    def recall(self) -> Estimate:
        """P_D, the share of positives that are predicted positive."""
        return self.metrics["recall"]

    @property
    def false_alarm_rate(self) -> Estimate:
        """P_FA, the share of negatives that are predicted positive."""
        return self.metrics["false_alarm_rate"]

    def f_score(self, beta: float = 1.0) -> Estimate:
        """F_beta of the positive class, in which recall weighs beta times as much as precision."""
        if not 0 < beta < np.inf:
            raise ValueError(f"F_beta for {beta!r}: it needs 0 < beta < inf (0: precision, inf: recall)")
        return self.estimate(f"f{beta:g}" if float(f"{beta:g}") == beta else f"f{float(beta)!r}")

    def estimate(self, metric: str) -> Estimate:
        """Law of any metric by name: "kappa", "f2", "recall[cat]"; see `jtruth.tables.metrics`."""
        return self.posterior.estimate(self._metric(metric))

    def _metric(self, name: str) -> Metric:
        return named_metric(name, self.classes, self.classes.index(self.positive))

    @property
    def confusion_matrix(self) -> np.ndarray:
        """(classes, symbols) posterior mean counts, rows true, columns predicted."""
        return self.cells.mean

    @property
    def confusion_low(self) -> np.ndarray:
        """Low ends of the elements' shortest intervals at `level`."""
        return self.cells.low

    @property
    def confusion_high(self) -> np.ndarray:
        """High ends of the elements' shortest intervals at `level`."""
        return self.cells.high

    def sensitivity(
        self,
        what: str = "shared_errors",
        *,
        values: Sequence[float] | np.ndarray | None = None,
        key: Any = None,
        progress: Progress | None = None,
    ) -> Sensitivity:
        """Posteriors along one assumption that is moved by hand; print it, or ask for its tipping points.

        Args:
            what: "shared_errors" (share of the classifier's errors that repeat a label), "hard_samples"
                (share of samples hard for labelers and classifier), "labeler_dependence" (share hard for the
                labelers only), "prior" (share of the positive class), "error_rates" (factor).
            values: where to look; for "shared_errors" how often the classifier copies.
            key: PRNG key; jax.random.key(0) if None.
            progress: called with (values done, values in all); some seconds for each on large sets.

        Returns:
            `jtruth.evaluation.assumptions.sensitivity.Sensitivity`.

        Raises:
            ValueError: an assumption that this answer does not rest on, or values that make no sense.
        """
        if self.basis is None:
            raise ValueError("this result does not know its input; use the one that evaluate returned")
        return sensitivity(
            self.basis, what, level=self.level, values=values, key=key, progress=progress, shown=self.headline
        )

    def joint(
        self,
        first: str = "recall",
        second: str = "false_alarm_rate",
        *,
        assumption: str | None = None,
    ) -> JointEstimate | JointDensity:
        """Joint posterior of two metrics by name.

        Args:
            first, second: as in `estimate`.
            assumption: name of one of `assumptions`; needed where the answer is predictive, a law for each
                metric by itself.

        Raises:
            ValueError: neither one law nor an assumption that has one, or counts that are not identified.
        """
        metrics = self._metric(first), self._metric(second)
        if assumption is None and self.interval_kind != PREDICTIVE:
            return self.posterior.joint(*metrics)
        if assumption not in self._with_tables:
            why = "has no joint posterior" if assumption is None else f"knows no {assumption!r}"
            names = ", ".join(self._with_tables)
            raise ValueError(f"this {self.interval_kind} law {why}; say under which assumption=...: {names}")
        return self._with_tables[assumption].joint(*metrics)

    @property
    def _with_tables(self) -> dict[str, TablePosterior]:
        """Posteriors of the assumptions that have one."""
        return {row.name: row.posterior for row in self.assumptions if row.posterior is not None}

    @property
    def assumed(self) -> tuple[str, ...]:
        """What every row of `assumptions` takes for granted: without gold, labels do not name the classes."""
        learned = self.labelers or self.interval_kind == PREDICTIVE
        return (MORE_RIGHT,) if learned and not self.num_gold else ()

    def with_warnings(self, sentences: Iterable[str]) -> "Evaluation":
        """The same answer with more warnings."""
        return replace(self, warnings=tuple(dict.fromkeys((*self.warnings, *sentences))))

    def at_level(self, level: float) -> "Evaluation":
        """The same answer with intervals of another probability (those of the counts stay)."""
        return replace(self, provenance=self.provenance._replace(level=check_level(level)))

    def blocks(self) -> Shown:
        """The question, the answer and what stands behind it, for all faces."""
        return evaluation_blocks(self, self.what_if.rows, self.what_if.doubts)

    def brief(self) -> Shown:
        """The same without what each assumption says, which may have to be fitted; one alone is named."""
        shown, found = evaluation_blocks(self), self.what_if
        if not (isinstance(found, Rows) and len(found.rows) == 1):
            return shown
        return shown._replace(about=f"{shown.about}; assumed: {found.rows[0].sentence}")

    def __repr__(self) -> str:
        """One line: the sentence with the answer."""
        shown = self.brief()
        return f"Evaluation({' '.join([*shown.alarms, shown.sentence])})"
