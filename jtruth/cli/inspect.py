"""`jtruth inspect`: a first look at a file."""

from dataclasses import dataclass
from typing import Any

from jtruth.cli.options import Columns, LabelsFile, Missing, Repeats, typed
from jtruth.cli.output import Output


@dataclass(frozen=True)
class LooseColumns(Columns):
    """A first look takes repeated labels and missing ones as they are."""

    repeats: Repeats = "keep"
    missing: Missing = "drop"


def inspect(source: LabelsFile, columns: LooseColumns, output: Output) -> None:
    """Say what a label file looks like, what can be estimated from it, and what is suspicious."""
    from jtruth._validation.ids import MissingColumn
    from jtruth.cli.reading import labels_of
    from jtruth.inspection import inspect_file, inspect_labels
    from jtruth.io.parsing import as_table, parsed

    file = parsed(source.file, columns.sep)  # once: a pipe cannot be read again, and a long file takes time
    try:
        labels = labels_of(file, columns)
    except MissingColumn:
        roles = {"task": columns.task, "worker": columns.worker, "label": columns.label}
        look = inspect_file(as_table(file), **roles)
        output.give(str(look), look.to_dict())
    else:
        found = inspect_labels(labels, file=str(source.file), options=_needed(columns, labels))
        output.give(str(found), found.to_dict())


def _needed(columns: LooseColumns, labels: Any) -> str:
    """The options that other commands need to read this file; they are stricter than a first look."""
    options = [typed(columns)]
    if columns.repeats == "keep" and labels.has_repeats():
        options.append("--repeats keep")
    if columns.missing == "drop" and any("missing='drop'" in note for note in labels.notes):
        options.append("--missing drop")
    return " ".join(filter(None, options))
