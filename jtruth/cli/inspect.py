"""`jtruth inspect`: a first look at a file."""

from dataclasses import dataclass
from typing import Annotated

import typer

from jtruth.cli.options import Columns, LabelsFile, Output
from jtruth.cli.output import give


@dataclass(frozen=True)
class LooseColumns(Columns):
    """A first look takes repeated labels and missing ones as they are."""

    repeats: Annotated[
        str, typer.Option("--repeats", help="A worker labels a task again: error, keep, first, last.")
    ] = "keep"
    missing: Annotated[str, typer.Option("--missing", help="Rows without a label: error or drop.")] = "drop"


def inspect(source: LabelsFile, columns: LooseColumns, output: Output) -> None:
    """Say what a label file looks like, what can be estimated from it, and what is suspicious."""
    from jtruth.cli.reading import labels_of
    from jtruth.inspection import inspect_file, inspect_labels

    look = inspect_file(source.file, sep=columns.sep)
    if {columns.task, columns.worker, columns.label} <= {column.name for column in look.columns}:
        found = inspect_labels(labels_of(source.file, columns), file=str(source.file))
        give(str(found), found.to_dict(), output.json_file)
    else:
        give(str(look), look.to_dict(), output.json_file)
