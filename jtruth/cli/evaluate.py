"""`jtruth evaluate`: grade a classifier, or one labeler by the others."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jtruth._pictures import write_picture
from jtruth.cli.options import (
    Assume,
    Beside,
    By,
    Columns,
    CommonOnly,
    Draws,
    LabelersAre,
    LabelsFile,
    Noise,
    Order,
    Positive,
    Prior,
    option,
    typed,
    written,
)
from jtruth.cli.output import Output, progress


@dataclass(frozen=True)
class Graded:
    """What to grade, by what, and how."""

    predictions: Path | None = option("--predictions", "The classifier: a table task, label; or column:NAME.")
    rater: str | None = option("--rater", "Grade this worker against the others instead.")
    gold: Path | None = option("--gold", "True labels: a table task, label; or column:NAME.")
    noise: Noise = None
    prior: Prior = None
    assume: Assume = None
    labelers_are: LabelersAre = None
    method: str = option("--method", "bayes, sampling, ...", "bayes")
    positive: Positive = None
    target: str | None = option("--target", "in-sample (default), or population: new samples.")
    inclusion: Path | None = option("--inclusion", "A table task, inclusion: chances to be in gold.")
    order: Order = None
    common_only: CommonOnly = False


@dataclass(frozen=True)
class Scored:
    """Scores instead of classes."""

    scores: bool = option("--scores", "Grade the column score: ROC curve, areas.", False)
    threshold: float | None = option("--threshold", "With --scores: positive at or above this score.")
    cost: str | None = option("--cost", "With --scores: FP,FN, as 1,5: cheapest threshold.")
    plot: Path | None = written("--plot", "With --scores: draw the curves, FILE.svg, .png, .pdf.")

    def __post_init__(self) -> None:
        if self.plot is not None and not self.scores:
            raise ValueError("--plot draws the curves of --scores; say --scores too, or leave it out")
        for name, given in (("--threshold", self.threshold), ("--cost", self.cost)):
            if given is not None and not self.scores:
                raise ValueError(f"{name} is about scores; say --scores too, or leave it out")


@dataclass(frozen=True)
class Grouped:
    """One metric in every group instead of all metrics of all samples."""

    by: By = None
    metric: str = option("--metric", "With --by: recall, f1, ...", "accuracy")

    def __post_init__(self) -> None:
        if self.by is None and self.metric != "accuracy":
            raise ValueError("--metric is what groups are compared by: say --by COLUMN too, or leave it out")


def evaluate(
    source: LabelsFile,
    graded: Graded,
    grouped: Grouped,
    scored: Scored,
    draws: Draws,
    columns: Columns,
    beside: Beside,
    output: Output,
) -> None:
    """Grade a classifier, or one labeler: no label is taken as true."""
    if scored.scores:
        return _grade_scores(source, graded, scored, draws, columns, beside, output)
    if grouped.by is not None:
        found = _groups(source, graded, grouped, draws, columns, beside)
        return output.give(found, draws.seed)
    result, _ = judged(source, graded, draws, columns, beside, what_if=output.whole)
    step = _next(source.file, (graded, draws, columns, beside), result.interval_kind)
    output.give(result, draws.seed, step)


def _groups(
    source: LabelsFile, graded: Graded, grouped: Grouped, draws: Draws, columns: Columns, beside: Beside
) -> Any:
    """Which group has the better metric."""
    idle = {"--rater": graded.rater, "--target": graded.target, "--order": graded.order}
    idle["--method"] = None if graded.method == "bayes" else graded.method
    for name in (name for name, given in idle.items() if given is not None):
        raise ValueError(f"{name} has no say where groups are compared (--by); leave it out")
    if graded.predictions is None:
        raise ValueError("say what to grade in every group: --predictions PRED.csv")
    from jtruth.cli import reading
    from jtruth.evaluation import compare_groups

    with progress("answer") as advance:
        files = graded.predictions, graded.gold, graded.noise
        given, labels = reading.begin(source.file, columns, beside, *files, by=grouped.by)
        y_pred, labels, notes = reading.predictions_of(graded.predictions, labels, given, graded.common_only)
        found = compare_groups(
            y_pred, labels, reading.groups_of(given, labels, 1), metric=grouped.metric,
            positive=None if graded.positive is None else reading.class_code(graded.positive, labels),
            **reading.known(graded, draws, given, labels, graded.inclusion), progress=advance,
        )  # fmt: skip
    return reading.with_notes(found, (*labels.notes, *notes))


def judged(
    source: LabelsFile, graded: Graded, draws: Draws, columns: Columns, beside: Beside,
    *, what_if: bool = False,
) -> tuple[Any, tuple[str, ...]]:  # fmt: skip
    """The `Evaluation` of what was asked for, and what was said when its tables were read.

    `what_if`: whether what each assumption says will be shown, so that the bar runs while it is fitted.
    """
    if (graded.predictions is None) == (graded.rater is None):
        raise ValueError("say what to grade: either --predictions PRED.csv or --rater WORKER")
    from jtruth import evaluation
    from jtruth._validation.words import Read
    from jtruth.cli import reading

    with progress("part", 2 if what_if else 1) as advance:
        files = graded.predictions, graded.gold, graded.noise
        given, labels = reading.begin(source.file, columns, beside, *files)
        if graded.predictions is not None:
            found = reading.predictions_of(graded.predictions, labels, given, graded.common_only)
        else:
            found = reading.rater_of(str(graded.rater), labels)
        y_pred, labels, notes = found
        result = evaluation.evaluate(
            y_pred, labels, method=graded.method, target=graded.target,
            order=None if graded.order is None else reading.order_of(graded.order, given, labels),
            positive=None if graded.positive is None else reading.class_code(graded.positive, labels),
            **reading.known(graded, draws, given, labels, graded.inclusion), progress=advance,
        )  # fmt: skip
        if what_if:
            _ = result.assumptions
    return result.with_warnings(map(Read, notes)), (*labels.notes, *notes)


def _next(file: Path, given: tuple[Graded, Draws, Columns, Beside], kind: str) -> str:
    """The command worth running next: gold where only gold helps, else a look at the labels."""
    name, columns = shlex.quote(str(file)), given[2]
    if kind != "predictive":
        command = f"jtruth inspect {name} {typed(columns)}".strip()
        return f"{command}  # what the labels look like, and what is suspicious"
    command = f"jtruth evaluate {name} {typed(*given)} --gold GOLD.csv"
    return f"{command}  # columns {columns.task}, {columns.label}: the truth of 30 random samples"


def _grade_scores(
    source: LabelsFile, graded: Any, scored: Any, draws: Draws, columns: Columns, beside: Beside,
    output: Output,
) -> None:  # fmt: skip
    """Areas and curves of two classes, or one against the rest; `graded`, `scored` are groups of `evaluate`.

    Raises:
        ValueError: an option that has no say here, or predictions without scores.
    """
    from jtruth.cli import reading

    _check_scored(graded)
    with progress("answer") as advance:
        files = graded.predictions, graded.gold, graded.noise
        given, labels = reading.begin(source.file, columns, beside, *files)
        scores, labels, notes = reading.scores_of(graded.predictions, labels, given, graded.common_only)
        known = reading.known(graded, draws, given, labels, graded.inclusion)
        found = _judged_scores(scores, labels, (graded.positive, scored), **known, progress=advance)
    found = reading.with_notes(found, [text for text in notes if text not in found.warnings])
    if scored.plot is not None:
        from jtruth.plots import plot_curves

        write_picture(scored.plot, plot_curves(found))
    output.give(found, draws.seed)


def _judged_scores(scores: Any, labels: Any, asked: tuple[Any, Any], **options: Any) -> Any:
    """The answer for two classes, or for each of more."""
    from jtruth.cli import reading
    from jtruth.evaluation import evaluate_class_scores, evaluate_scores

    named, scored = asked
    if labels.num_classes > 2:
        idle = {"--threshold": scored.threshold, "--cost": scored.cost, "--plot": scored.plot}
        for name, given in {**idle, "--positive": named}.items():
            if given is not None:
                raise ValueError(
                    f"{name} is for two classes and there are {labels.num_classes}, which are judged one "
                    "against the rest; leave it out"
                )
        if scores.ndim == 1:
            raise ValueError(
                f"one score a sample ranks two classes and there are {labels.num_classes}; give a column of "
                "probabilities for each"
            )
        return evaluate_class_scores(scores, labels, **options)
    positive = reading.class_code(named, labels)
    return evaluate_scores(
        scores if scores.ndim == 1 else scores[:, positive],
        labels,
        positive=None if named is None else positive,
        threshold=scored.threshold,
        cost=None if scored.cost is None else _cost(scored.cost),
        **options,
    )


def _cost(text: str) -> tuple[float, float]:
    """Costs as they are typed: of a false positive, of a false negative."""
    try:
        false_alarm, miss = (float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"--cost {text!r}: give two numbers, FP,FN, such as 1,5") from None
    return false_alarm, miss


def _check_scored(graded: Any) -> None:
    """Refuse options that have no say."""
    if graded.predictions is None:
        raise ValueError("--scores grades the scores of a file: give --predictions PRED.csv")
    idle = {"--rater": graded.rater, "--order": graded.order}
    idle |= {"--target": graded.target}
    idle["--method"] = None if graded.method == "bayes" else graded.method
    for name, given in idle.items():
        if given is not None:
            raise ValueError(f"{name} has no say where scores are graded; leave it out")
