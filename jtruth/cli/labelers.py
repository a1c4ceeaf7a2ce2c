"""`jtruth labelers`: how good is each labeler?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from jtruth.cli.options import Columns, Draws, LabelsFile
from jtruth.cli.output import Reported, progress


@dataclass(frozen=True)
class Known:
    """What is known of the truth."""

    gold: Annotated[
        Path | None, typer.Option("--gold", help="Table task, label of labels known to be true.")
    ] = None


def labelers(source: LabelsFile, known: Known, draws: Draws, columns: Columns, output: Reported) -> None:
    """Each labeler's accuracy and confusion matrix with intervals, worst first."""
    import jax

    from jtruth.cli.reading import gold_of, labels_of, one_stdin
    from jtruth.evaluation import evaluate_labelers

    one_stdin(source.file, known.gold)
    with progress("sweeps") as advance:
        labels = labels_of(source.file, columns)
        report = evaluate_labelers(
            labels, gold=gold_of(known.gold, labels, columns), level=draws.level,
            key=jax.random.key(draws.seed), progress=advance,
        )  # fmt: skip
    output.give_page(str(report), report.to_dict(), report.page, draws.seed)
