"""`jtruth evaluate --scores`: how well does the column score of the predictions rank?"""

from typing import Any

from jtruth.cli.options import Beside, Columns, Draws, LabelsFile
from jtruth.cli.output import Reported


def grade_scores(
    source: LabelsFile, graded: Any, draws: Draws, columns: Columns, beside: Beside, output: Reported
) -> None:
    """Area under the ROC curve, average precision and curves; `graded` are the options of `evaluate`.

    Raises:
        ValueError: an option that has no say here, or predictions without scores.
    """
    from jtruth._validation.text import read_bytes
    from jtruth.cli import reading
    from jtruth.evaluation import evaluate_scores

    if graded.predictions is None:
        raise ValueError("--scores grades the column score of a file: give --predictions PRED.csv")
    idle = {"--rater": graded.rater, "--gold": graded.gold, "--order": graded.order}
    idle |= {"--fast": graded.fast or None, "--report": output.report_file}
    idle["--method"] = None if graded.method == "bayes" else graded.method
    for option, given in idle.items():
        if given is not None:
            raise ValueError(f"{option} has no say where scores are graded; leave it out")
    reading.one_stdin(source.file, graded.predictions, graded.noise)
    given = reading.Given(read_bytes(source.file), columns, beside)
    labels = reading.labels_of(given.file, columns, (graded.predictions,))
    scores, labels, notes = reading.scores_of(graded.predictions, labels, given, graded.common_only)
    noise, prior = reading.noise_of(graded.noise, labels)
    found = evaluate_scores(
        scores,
        labels,
        noise=noise,
        prior=prior if graded.prior is None else reading.numbers(graded.prior),
        assume=graded.assume,
        positive=None if graded.positive is None else reading.class_code(graded.positive, labels),
        level=draws.level,
        key=draws.seed,
    )
    found = found._replace(warnings=tuple(dict.fromkeys((*found.warnings, *notes))))
    if graded.plot is not None:
        from jtruth.plots import plot_curves

        plot_curves(found).savefig(graded.plot)
    output.give(str(found), found.to_dict())
