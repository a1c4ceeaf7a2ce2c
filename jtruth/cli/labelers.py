"""`jtruth labelers`: how good is each labeler?"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from jtruth.cli.options import Beside, Columns, Draws, LabelsFile, Order
from jtruth.cli.output import Reported, check_writable, progress, write_table


@dataclass(frozen=True)
class Known:
    """What is known of the truth."""

    gold: Annotated[
        Path | None,
        typer.Option("--gold", help="Labels known to be true: a table task, label; or column:NAME."),
    ] = None
    order: Order = None
    consensus: Annotated[
        Path | None, typer.Option("--consensus", help="Write each task's class probabilities to this table.")
    ] = None
    save: Annotated[
        Path | None, typer.Option("--save", help="Write the error rates to this file, for --noise.")
    ] = None

    def __post_init__(self) -> None:
        check_writable("--consensus", self.consensus)
        check_writable("--save", self.save)


def labelers(
    source: LabelsFile, known: Known, draws: Draws, columns: Columns, beside: Beside, output: Reported
) -> None:
    """Each labeler's accuracy and confusion matrix with intervals, worst first."""
    import jax

    from jtruth._validation.text import read_bytes
    from jtruth.cli.reading import Given, gold_of, labels_of, one_stdin, order_of
    from jtruth.evaluation import evaluate_labelers

    one_stdin(source.file, known.gold)
    with progress("sweeps") as advance:
        given = Given(read_bytes(source.file), columns, beside)
        labels = labels_of(given.file, columns, (known.gold,))
        report = evaluate_labelers(
            labels, gold=gold_of(known.gold, labels, given), level=draws.level,
            order=None if known.order is None else order_of(known.order, given, labels),
            key=jax.random.key(draws.seed), progress=advance,
        )  # fmt: skip
    if known.consensus is not None:
        write_table(known.consensus, *report.consensus(labels))
    if known.save is not None:
        written = json.dumps(report.noise_dict(), indent=1, allow_nan=False)
        known.save.write_text(written + "\n", encoding="utf-8")
    output.give_page(str(report), report.to_dict(), report.page, draws.seed)
