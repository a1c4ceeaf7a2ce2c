"""`jtruth sensitivity`: what would have to be true for the answer to change?"""

from dataclasses import dataclass

from jtruth.cli.evaluate import Graded, judged
from jtruth.cli.options import Beside, Columns, Draws, LabelsFile, option
from jtruth.cli.output import Output, progress


@dataclass(frozen=True)
class Moved:
    """Which assumption, and which claim."""

    what: str = option(
        "--what", "shared_errors, hard_samples, prior, ...; a wrong name lists all.", "shared_errors"
    )
    metric: str = option("--metric", "Of the claim.", "accuracy")
    threshold: float | None = option("--threshold", "When would the metric cross this number?")


def sensitivity(
    source: LabelsFile,
    graded: Graded,
    moved: Moved,
    draws: Draws,
    columns: Columns,
    beside: Beside,
    output: Output,
) -> None:
    """Posteriors along one assumption that is moved by hand, and its tipping point."""
    from jtruth._validation import choose
    from jtruth.answers import facts
    from jtruth.cli.reading import with_notes
    from jtruth.evaluation.assumptions.sensitivity import ways

    choose("--what", moved.what, tuple(ways()))
    with progress("values") as advance:
        result, notes = judged(source, graded, draws, columns, beside)
        found = with_notes(result.sensitivity(moved.what, key=draws.seed, progress=advance), notes)
    shown, said = found.blocks(), None
    if moved.threshold is not None:
        said = found.sentence(moved.metric, moved.threshold)
        shown = shown._replace(sentence=f"{said} {shown.sentence}")
    output.give(shown.more(facts(tipping=said)))
