"""`jtruth calibrate`: are class probabilities right when labelers disagree, and how often will they?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from jtruth._files import write_table
from jtruth.cli.options import Beside, Columns, CommonOnly, Draws, LabelsFile, option, written
from jtruth.cli.output import Output


@dataclass(frozen=True)
class Calibration:
    """What to calibrate, on what, and how."""

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


def calibrate(
    source: LabelsFile, calibration: Calibration, draws: Draws, columns: Columns, output: Output
) -> None:
    """Losses of class probabilities where experts disagree, before and after calibration."""
    from jtruth.cli.reading import begin, table_of, with_notes
    from jtruth.evaluation.calibration import evaluate_calibration
    from jtruth.histograms import MergedBins
    from jtruth.io import read_scores

    given = calibration
    _, labels = begin(source.file, columns, Beside(), given.predictions, given.fit_on)
    table = table_of(given.predictions, columns)
    read = read_scores(table, labels, task=columns.task, common_only=given.common_only)
    if read.probabilities is None:
        names = ", ".join(f"p_{name}" for name in labels.class_names)
        raise ValueError(f"{given.predictions.name} has no class probabilities; give the columns {names}")
    bins = MergedBins(given.bins) if given.merge_bins else given.bins
    labels = labels if read.samples.size == labels.num_samples else labels.restrict(read.samples)
    report = evaluate_calibration(
        read.probabilities, labels, method=given.method, split=_split(given, labels, columns),
        bins=bins, level=draws.level, drop=given.drop, key=draws.seed,
    )  # fmt: skip
    if given.out is not None:
        write_table(given.out, *report.rows())
    report = with_notes(report, (*labels.notes, *read.notes))
    output.give(report, draws.seed)


def _split(given: Calibration, labels: Any, columns: Columns) -> Any:
    """Mask of the samples that a file names; without one the number of folds."""
    import numpy as np

    from jtruth._validation import quoted
    from jtruth._validation.text import read_table

    file = given.fit_on
    if file is None:
        return given.folds
    (chosen,) = read_table(file, columns.sep).pick({"task": columns.task})
    tasks = [str(task) for task in (labels.tasks or range(labels.num_samples))]
    unknown = sorted(set(chosen) - set(tasks))
    if unknown:
        raise ValueError(f"{file.name}: {len(unknown)} tasks have no labels here ({quoted(unknown)})")
    return np.isin(tasks, list(chosen))
