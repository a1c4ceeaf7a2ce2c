"""`jtruth calibrate`: are class probabilities right when labelers disagree, and how often will they?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from jtruth._files import write_table
from jtruth.cli.options import CommonOnly, Draws, LabelsFile, next_step, option, written
from jtruth.cli.output import Output


@dataclass(frozen=True, kw_only=True)
class Calibrate(LabelsFile, Draws, Output):
    """Losses of class probabilities where experts disagree, before and after calibration."""

    predictions: Annotated[
        Path, typer.Option("--predictions", help="Columns task, and a probability for each class.")
    ]
    fit_on: Path | None = option("--fit-on", "Column task: samples to fit on; the others are judged.")
    folds: int = option("--folds", "Without --fit-on: parts to cross-fit.", 5)
    method: str = option("--method", "alpha, temperature, vector, matrix, dirichlet.", "alpha")
    bins: int = option("--bins", "Bins of equal width for calibration losses.", 15)
    merge_bins: bool = option("--merge-bins", "Merge bins until each holds two samples, and say so.", False)
    drop: bool = option("--drop", "Leave samples with one label out of losses that need two.", False)
    common_only: CommonOnly = False
    out: Path | None = written("--out", "Write task, probabilities, disagreement, alpha0 to this file.")

    def run(self) -> None:
        """Calibrate and judge."""
        from jtruth.cli.reading import begin, table_of, with_notes
        from jtruth.evaluation.calibration import evaluate_calibration
        from jtruth.histograms import MergedBins
        from jtruth.io import read_scores

        _, labels = begin(self, self.predictions, self.fit_on)
        table = table_of(self.predictions, self)
        read = read_scores(table, labels, task=self.task, common_only=self.common_only)
        if read.probabilities is None:
            names = ", ".join(f"p_{name}" for name in labels.class_names)
            raise ValueError(f"{self.predictions.name} has no class probabilities; give the columns {names}")
        bins = MergedBins(self.bins) if self.merge_bins else self.bins
        labels = labels if read.samples.size == labels.num_samples else labels.restrict(read.samples)
        report = evaluate_calibration(
            read.probabilities, labels, method=self.method, split=self._split(labels), bins=bins,
            level=self.level, drop=self.drop, key=self.seed,
        )  # fmt: skip
        if self.out is not None:
            write_table(self.out, *report.rows())
        step = next_step(self, "--out calibrated.csv", "write the calibrated probabilities")
        self.give(with_notes(report, (*labels.notes, *read.notes)), "" if self.out is not None else step)

    def _split(self, labels: Any) -> Any:
        """Mask of the samples that a file names; without one the number of folds."""
        import numpy as np

        from jtruth._validation import quoted
        from jtruth._validation.text import read_table

        if self.fit_on is None:
            return self.folds
        (chosen,) = read_table(self.fit_on, self.sep).pick({"task": self.task})
        tasks = [str(task) for task in (labels.tasks or range(labels.num_samples))]
        unknown = sorted(set(chosen) - set(tasks))
        if unknown:
            name = self.fit_on.name
            raise ValueError(f"{name}: {len(unknown)} tasks have no labels here ({quoted(unknown)})")
        return np.isin(tasks, list(chosen))
