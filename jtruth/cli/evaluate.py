"""`jtruth evaluate`: grade a classifier, or one labeler by the others."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from jtruth.cli.options import (
    Assume,
    Beside,
    Columns,
    CommonOnly,
    Draws,
    LabelsFile,
    Noise,
    Order,
    Positive,
    Prior,
    typed,
)
from jtruth.cli.output import Reported, check_writable, progress


@dataclass(frozen=True)
class Graded:
    """What to grade, by what, and how."""

    predictions: Annotated[
        Path | None,
        typer.Option("--predictions", help="The classifier: a table task, label; or column:NAME."),
    ] = None
    rater: Annotated[
        str | None, typer.Option("--rater", help="Grade this worker against the others instead.")
    ] = None
    gold: Annotated[
        Path | None,
        typer.Option("--gold", help="True labels: a table task, label (inclusion, stratum); or column:NAME."),
    ] = None
    noise: Noise = None
    prior: Prior = None
    assume: Assume = None
    method: Annotated[str, typer.Option("--method", help="bayes, empirical_bayes, sampling, ...")] = "bayes"
    positive: Positive = None
    fast: Annotated[
        bool, typer.Option("--fast", help="A sensitivity range of fewer assumptions, sooner.")
    ] = False
    target: Annotated[
        str | None, typer.Option("--target", help="in-sample (default), or population: new samples.")
    ] = None
    inclusion: Annotated[
        Path | None,
        typer.Option("--inclusion", help="A table task, inclusion of all, where --gold has no such column."),
    ] = None
    order: Order = None
    common_only: CommonOnly = False


@dataclass(frozen=True)
class Scored:
    """Scores instead of classes."""

    scores: Annotated[
        bool,
        typer.Option("--scores", help="Grade column score of the predictions: ROC, areas, two classes."),
    ] = False
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="With --scores: positive at or above this score.")
    ] = None
    cost: Annotated[
        str | None,
        typer.Option("--cost", help="With --scores: FP,FN, for example 1,5; finds the cheapest threshold."),
    ] = None
    plot: Annotated[
        Path | None, typer.Option("--plot", help="With --scores: draw the curves, FILE.svg, .png, .pdf.")
    ] = None

    def __post_init__(self) -> None:
        check_writable("--plot", self.plot)
        if self.plot is not None and not self.scores:
            raise ValueError("--plot draws the curves of --scores; say --scores too, or leave it out")
        for option, given in (("--threshold", self.threshold), ("--cost", self.cost)):
            if given is not None and not self.scores:
                raise ValueError(f"{option} is about scores; say --scores too, or leave it out")


@dataclass(frozen=True)
class Cache:
    """Compiled programs on disk, and how much is printed."""

    brief: Annotated[bool, typer.Option("--brief", help="Print the sentence and the table only.")] = False

    cache: Annotated[
        Path | None,
        typer.Option("--compilation-cache", help="Folder that keeps compiled programs between runs."),
    ] = None


def evaluate(
    source: LabelsFile,
    graded: Graded,
    scored: Scored,
    draws: Draws,
    columns: Columns,
    beside: Beside,
    output: Reported,
    cache: Cache,
) -> None:
    """Grade a classifier (or one labeler) with noisy labels: no label is taken as true."""
    from jtruth._cache import use_compilation_cache

    if cache.cache is not None:
        use_compilation_cache(cache.cache)
    if scored.scores:
        from jtruth.cli.scores import grade_scores

        return grade_scores(source, graded, scored, draws, columns, beside, output)
    result, _ = judged(source, graded, draws, columns, beside)
    step = _next(source.file, (graded, draws, columns, beside), result.interval_kind)
    text = result.summary(brief=cache.brief)
    output.give_page(f"{text}\n\nnext: {step}", result.to_dict(), result.page, draws.seed)


def judged(
    source: LabelsFile, graded: Graded, draws: Draws, columns: Columns, beside: Beside
) -> tuple[Any, tuple[str, ...]]:
    """The `Evaluation` of what was asked for, and what was said when its tables were read."""
    if (graded.predictions is None) == (graded.rater is None):
        raise ValueError("say what to grade: either --predictions PRED.csv or --rater WORKER")
    from jtruth import evaluation
    from jtruth._validation.text import read_bytes
    from jtruth.cli import reading

    reading.one_stdin(source.file, graded.predictions, graded.gold, graded.noise)
    with progress("sweeps") as advance:
        given = reading.Given(read_bytes(source.file), columns, beside)
        labels = reading.labels_of(given.file, columns, (graded.predictions, graded.gold))
        if graded.predictions is not None:
            found = reading.predictions_of(graded.predictions, labels, given, graded.common_only)
        else:
            found = reading.rater_of(str(graded.rater), labels)
        y_pred, labels, notes = found
        noise, prior = reading.noise_of(graded.noise, labels)
        gold = reading.gold_sample_of(graded.gold, labels, given, graded.common_only)
        gold = reading.sampled(graded.inclusion, gold, labels)
        result = evaluation.evaluate(
            y_pred,
            labels,
            noise=noise,
            prior=prior if graded.prior is None else reading.numbers(graded.prior),
            gold=gold,
            assume=graded.assume,
            method=graded.method,
            order=None if graded.order is None else reading.order_of(graded.order, given, labels),
            fast=graded.fast,
            target=graded.target,
            positive=None if graded.positive is None else reading.class_code(graded.positive, labels),
            level=draws.level,
            key=draws.seed,
            progress=advance,
        )
    return result.with_warnings(notes), (*labels.notes, *notes)


def _next(file: Path, given: tuple[Graded, Draws, Columns, Beside], kind: str) -> str:
    """The command worth running next: gold where only gold helps, else a look at the labels."""
    name, columns = shlex.quote(str(file)), given[2]
    if kind != "sensitivity range":
        command = f"jtruth inspect {name} {typed(columns)}".strip()
        return f"{command}  # what the labels look like, and what is suspicious"
    command = f"jtruth evaluate {name} {typed(*given)} --gold GOLD.csv"
    return f"{command}  # columns {columns.task}, {columns.label}: the truth of 30 random samples"
