"""`jtruth compare`: which of several classifiers is better?"""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from jtruth._pictures import write_picture
from jtruth.cli.options import (
    Assume,
    Beside,
    Draws,
    LabelersAre,
    LabelsFile,
    Noise,
    Positive,
    Prior,
    next_step,
    option,
    written,
)
from jtruth.cli.output import Output, progress


@dataclass(frozen=True, kw_only=True)
class Compare(LabelsFile, Draws, Beside, Output):
    """Which classifier is better, and with what probability: no label is taken as true."""

    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="A.csv B.csv [C.csv ...]", help="Predictions: columns task, label; or column:NAME."
        ),
    ]
    metric: str = option("--metric", "accuracy, recall, f1, kappa, ...", "accuracy")
    margin: float = option("--margin", "Better means: by more than this.", 0.0)
    at_least: float | None = option("--at-least", "A requirement, such as .9 of the recall.")
    gold: Path | None = option("--gold", "Table task, label of labels known to be true.")
    noise: Noise = None
    prior: Prior = None
    assume: Assume = None
    labelers_are: LabelersAre = None
    positive: Positive = None
    common_only: bool = option("--common-only", "Use only tasks with labels and all predictions.", False)
    plot: Path | None = written("--plot", "Also draw a picture: FILE.svg, .png, .pdf.")

    def run(self) -> None:
        """Compare them; a classifier is called by the name of its file."""
        from jtruth.cli import reading
        from jtruth.evaluation import compare_classifiers

        with progress("answer") as advance:
            given, labels = reading.begin(self, *self.files, self.gold, self.noise)
            predictions, labels, notes = reading.rivals_of(self.files, labels, given, self.common_only)
            found = compare_classifiers(
                predictions, labels, metric=self.metric, margin=self.margin, at_least=self.at_least,
                positive=None if self.positive is None else reading.class_code(self.positive, labels),
                **reading.known(self, given, labels), progress=advance,
            )  # fmt: skip
        found = reading.with_notes(found, notes)
        if self.plot is not None:
            write_picture(self.plot, found.plot())
        more = f"{shlex.join(map(str, self.files))} --gold GOLD.csv"
        step = next_step(self, more, f"columns {self.task}, {self.label}: the truth of 30 random samples")
        self.give(found, "" if self.gold is not None else step)
