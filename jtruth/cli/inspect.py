"""`jtruth inspect`: a first look at a file."""

from dataclasses import dataclass
from typing import Any

from jtruth.cli.options import LabelsFile, Missing, Repeats, typed
from jtruth.cli.output import Output


@dataclass(frozen=True, kw_only=True)
class Inspect(LabelsFile, Output):
    """Say what a label file looks like, what can be estimated from it, and what is suspicious."""

    # A first look takes repeated labels and missing ones as they are.
    repeats: Repeats = "keep"
    missing: Missing = "drop"

    def run(self) -> None:
        """Look at it."""
        from jtruth._validation.ids import MissingColumn
        from jtruth.cli.reading import labels_of
        from jtruth.inspection import inspect_file, inspect_labels
        from jtruth.io.parsing import as_table, parsed
        from jtruth.io.reading import beside_of

        file = parsed(self.file, self.sep)  # once: a pipe cannot be read again, and a long file takes time
        try:
            labels = labels_of(file, self)
        except MissingColumn:
            look = inspect_file(as_table(file), task=self.task, worker=self.worker, label=self.label)
            self.give(_file(look))
        else:
            beside = beside_of(file, label=self.label)
            needed = self._needed(labels)
            self.give(inspect_labels(labels, file=str(self.file), options=needed, beside=beside))

    def _needed(self, labels: Any) -> str:
        """The options that other commands need to read this file; they are stricter than a first look."""
        options = [typed(self)]
        if self.repeats == "keep" and labels.has_repeats():
            options.append("--repeats keep")
        dropped = self.missing == "drop" and any("missing='drop'" in note for note in labels.notes)
        if dropped and not labels.notes[0].startswith("Read as wide"):
            options.append("--missing drop")
        return " ".join(filter(None, options))


def _file(look: Any) -> Any:
    """The columns of a file and how to read it, as an answer."""
    from jtruth._validation import quoted
    from jtruth._validation.terminal import plain
    from jtruth.answers import Column, Fact, Facts, Shown, Table, sentence_notes

    found = look.to_dict()
    advice = found.pop("advice")
    rows = [row | {"values": quoted(row["examples"], 4)} for row in found.pop("columns")]
    columns = (Column("num_values", "values"), Column("num_missing", "missing"), Column("values", "such as"))
    blocks = (
        Table("columns", "Columns", "name", columns, rows, aside=("values",)),
        sentence_notes("advice", "How to read it", advice, "do"),
        Facts("", [Fact(name, value) for name, value in found.items()]),
    )
    sentence = f"{plain(look.file)}: {look.num_rows} rows, {len(look.columns)} columns"
    return Shown("How to read this file?", "", sentence, blocks)
