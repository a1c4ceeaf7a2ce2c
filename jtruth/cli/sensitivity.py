"""`jtruth sensitivity`: what would have to be true for the answer to change?"""

from dataclasses import dataclass
from typing import Annotated

import typer

from jtruth.cli.evaluate import Graded, judged
from jtruth.cli.options import Beside, Columns, Draws, LabelsFile
from jtruth.cli.output import Output, progress


@dataclass(frozen=True)
class Moved:
    """Which assumption, and which claim."""

    what: Annotated[
        str,
        typer.Option("--what", help="shared_errors, hard_samples, prior, ...; a wrong name lists all."),
    ] = "shared_errors"
    metric: Annotated[str, typer.Option("--metric", help="Of the claim.")] = "accuracy"
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="When would the metric cross this number?")
    ] = None


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
    from jtruth.cli.reading import with_notes
    from jtruth.evaluation.as_json import estimate_dict
    from jtruth.evaluation.assumptions.sensitivity import ways

    choose("--what", moved.what, tuple(ways()))
    with progress("values") as advance:
        result, notes = judged(source, graded, draws, columns, beside)
        found = with_notes(result.sensitivity(moved.what, key=draws.seed, progress=advance), notes)
    said = [] if moved.threshold is None else [found.sentence(moved.metric, moved.threshold)]
    answer = {
        "what": found.what,
        "axis": found.axis,
        "values": found.values.tolist(),
        "base": found.base,
        "level": found.level,
        "key": found.key,
        "metrics": {
            name: [estimate_dict(law, found.level) for law in laws] for name, laws in found.metrics.items()
        },
        "sentence": said[0] if said else None,
        "warnings": list(found.warnings),
    }  # fmt: skip
    output.give("\n".join([*said, *([""] if said else []), str(found)]), answer)
