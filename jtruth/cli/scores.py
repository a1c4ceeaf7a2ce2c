"""`jtruth evaluate --scores`: how well do the scores or probabilities of a file of predictions rank?"""

from typing import Any

from jtruth._pictures import write_picture
from jtruth.cli.options import Beside, Columns, Draws, LabelsFile
from jtruth.cli.output import Output, progress


def grade_scores(
    source: LabelsFile, graded: Any, scored: Any, draws: Draws, columns: Columns, beside: Beside,
    output: Output,
) -> None:  # fmt: skip
    """Areas and curves of two classes, or one against the rest; `graded`, `scored` are groups of `evaluate`.

    Raises:
        ValueError: an option that has no say here, or predictions without scores.
    """
    from jtruth.cli import reading

    _check(graded)
    with progress("answer") as advance:
        files = graded.predictions, graded.gold, graded.noise
        given, labels = reading.begin(source.file, columns, beside, *files)
        scores, labels, notes = reading.scores_of(graded.predictions, labels, given, graded.common_only)
        known = reading.known(graded, draws, given, labels, graded.inclusion)
        found = _judged(scores, labels, (graded.positive, scored), **known, progress=advance)
    found = reading.with_notes(found, [text for text in notes if text not in found.warnings])
    if scored.plot is not None:
        from jtruth.plots import plot_curves

        write_picture(scored.plot, plot_curves(found))
    output.give(found, draws.seed)


def _judged(scores: Any, labels: Any, asked: tuple[Any, Any], **options: Any) -> Any:
    """The answer for two classes, or for each of more."""
    from jtruth.cli import reading
    from jtruth.evaluation import evaluate_class_scores, evaluate_scores

    named, scored = asked
    if labels.num_classes > 2:
        idle = {"--threshold": scored.threshold, "--cost": scored.cost, "--plot": scored.plot}
        for option, given in {**idle, "--positive": named}.items():
            if given is not None:
                raise ValueError(
                    f"{option} is for two classes and there are {labels.num_classes}, which are judged one "
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


def _check(graded: Any) -> None:
    """Refuse options that have no say."""
    if graded.predictions is None:
        raise ValueError("--scores grades the scores of a file: give --predictions PRED.csv")
    idle = {"--rater": graded.rater, "--order": graded.order}
    idle |= {"--target": graded.target}
    idle["--method"] = None if graded.method == "bayes" else graded.method
    for option, given in idle.items():
        if given is not None:
            raise ValueError(f"{option} has no say where scores are graded; leave it out")
