"""`jtruth compare`: which of several classifiers is better?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from jtruth._pictures import write_picture
from jtruth.cli.options import (
    Assume,
    Beside,
    Columns,
    Draws,
    LabelersAre,
    LabelsFile,
    Noise,
    Positive,
    Prior,
    option,
    written,
)
from jtruth.cli.output import Output, progress


@dataclass(frozen=True)
class Rivals:
    """The classifiers, one file each, called by the names of the files."""

    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="A.csv B.csv [C.csv ...]", help="Predictions: columns task, label; or column:NAME."
        ),
    ]


@dataclass(frozen=True)
class Question:
    """What is compared, and by what."""

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


def compare(
    source: LabelsFile,
    rivals: Rivals,
    asked: Question,
    draws: Draws,
    columns: Columns,
    beside: Beside,
    output: Output,
) -> None:
    """Which classifier is better, and with what probability: no label is taken as true."""
    from jtruth.cli import reading
    from jtruth.evaluation import compare_classifiers

    with progress("answer") as advance:
        files = *rivals.files, asked.gold, asked.noise
        given, labels = reading.begin(source.file, columns, beside, *files)
        predictions, labels, notes = reading.rivals_of(rivals.files, labels, given, asked.common_only)
        found = compare_classifiers(
            predictions, labels, metric=asked.metric, margin=asked.margin, at_least=asked.at_least,
            positive=None if asked.positive is None else reading.class_code(asked.positive, labels),
            **reading.known(asked, draws, given, labels), progress=advance,
        )  # fmt: skip
    found = reading.with_notes(found, notes)
    if asked.plot is not None:
        write_picture(asked.plot, found.plot())
    output.give(found, draws.seed)
