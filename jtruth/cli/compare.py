"""`jtruth compare`: which of several classifiers is better?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from jtruth.cli.options import Assume, Beside, Columns, Draws, LabelsFile, Noise, Positive, Prior
from jtruth.cli.output import Reported, check_writable, progress


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

    metric: Annotated[str, typer.Option("--metric", help="accuracy, recall, f1, kappa, ...")] = "accuracy"
    margin: Annotated[float, typer.Option("--margin", help="Better means: by more than this.")] = 0.0
    at_least: Annotated[
        float | None, typer.Option("--at-least", help="A requirement, such as .9 of the recall.")
    ] = None
    gold: Annotated[
        Path | None, typer.Option("--gold", help="Table task, label of labels known to be true.")
    ] = None
    noise: Noise = None
    prior: Prior = None
    assume: Assume = None
    positive: Positive = None
    common_only: Annotated[
        bool, typer.Option("--common-only", help="Use only tasks with labels and all predictions.")
    ] = False
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Also draw a picture: FILE.svg, .png, .pdf.")
    ] = None

    def __post_init__(self) -> None:
        check_writable("--plot", self.plot)


def compare(
    source: LabelsFile,
    rivals: Rivals,
    asked: Question,
    draws: Draws,
    columns: Columns,
    beside: Beside,
    output: Reported,
) -> None:
    """Which classifier is better, and with what probability: no label is taken as true."""
    from jtruth._validation.text import read_bytes
    from jtruth.cli import reading
    from jtruth.evaluation import compare_classifiers

    reading.one_stdin(source.file, *rivals.files, asked.gold, asked.noise)
    with progress("sweeps") as advance:
        given = reading.Given(read_bytes(source.file), columns, beside)
        labels = reading.labels_of(given.file, columns, (*rivals.files, asked.gold))
        predictions, labels, notes = reading.rivals_of(rivals.files, labels, given, asked.common_only)
        noise, prior = reading.noise_of(asked.noise, labels)
        gold = reading.gold_sample_of(asked.gold, labels, given, asked.common_only)
        found = compare_classifiers(
            predictions,
            labels,
            metric=asked.metric,
            margin=asked.margin,
            at_least=asked.at_least,
            noise=noise,
            prior=prior if asked.prior is None else reading.numbers(asked.prior),
            gold=gold,
            assume=asked.assume,
            positive=None if asked.positive is None else reading.class_code(asked.positive, labels),
            level=draws.level,
            key=draws.seed,
            progress=advance,
        )
    found = found.with_warnings(notes)
    if asked.plot is not None:
        from jtruth.plots import plot_classifiers

        plot_classifiers(found).figure.canvas.print_figure(asked.plot)
    output.give_page(str(found), found.to_dict(), found.page, draws.seed)
