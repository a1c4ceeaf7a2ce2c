"""A first look: `jtruth inspect` a file, `jtruth agreement` of its labelers, `jtruth simulate` one to try."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from jtruth.cli.options import Draws, LabelsFile, Missing, Prior, Repeats, next_step, option, typed
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
    from jtruth._validation.words import plain
    from jtruth.answers import Column, Shown, Table, facts, sentence_notes

    found = look.to_dict()
    advice = found.pop("advice")
    rows = [row | {"values": quoted(row["examples"], 4)} for row in found.pop("columns")]
    columns = (Column("num_values", "values"), Column("num_missing", "missing"), Column("values", "such as"))
    blocks = (
        Table("columns", "Columns", "name", columns, rows, aside=("values",)),
        sentence_notes("advice", "How to read it", advice, "do"),
        facts(**found),
    )
    sentence = f"{plain(look.file)}: {look.num_rows} rows, {len(look.columns)} columns"
    return Shown("How to read this file?", "", sentence, blocks)


@dataclass(frozen=True, kw_only=True)
class Agreement(LabelsFile, Draws, Output):
    """Coefficients of agreement with intervals: of all labelers, and of every two who share samples."""

    weights: str = option("--weights", "nominal, linear or quadratic in the order of the classes.", "nominal")
    differences: str | None = option("--differences", "Of alpha: nominal, ordinal or interval.")

    def run(self) -> None:
        """Say how far labelers agree."""
        from jtruth.cli.reading import labels_of, with_notes
        from jtruth.evaluation import labeler_agreement

        labels = labels_of(self.file, self)
        found = labeler_agreement(labels, weights=self.weights, differences=self.differences,
                                  level=self.level, key=self.seed)  # fmt: skip
        step = next_step(self, "", "how good each labeler is", "labelers", LabelsFile)
        self.give(with_notes(found, labels.notes), step)


@dataclass(frozen=True, kw_only=True)
class Simulate(Draws, Output):
    """Write labels.csv, predictions.csv and truth.csv, whose errors are independent given the class."""

    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the three tables are written.")]
    samples: int = option("--samples", "How many samples.", 500)
    labelers: int = option("--labelers", "How many labelers.", 5)
    error: float = option("--error", "Share of wrong labels of every labeler.", 0.2)
    looks: float = option("--looks", "Share of samples that a labeler looks at.", 1.0)
    classes: str = option("--classes", "Names of the classes.", "no,yes")
    prior: Prior = None
    accuracy: float = option("--accuracy", "Of the classifier, in every class.", 0.9)

    def run(self) -> None:
        """Draw and write them."""
        from jtruth._files import write_table
        from jtruth.answers import Shown, facts
        from jtruth.io import write_labels

        data, names, prior = self._drawn()
        labels = data.to_labels().with_names(
            tasks=[f"t{i}" for i in range(self.samples)],
            workers=[f"w{t}" for t in range(self.labelers)],
            classes=names,
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        write_labels(self.folder / "labels.csv", labels)
        for name, codes in (("predictions", data.y_pred), ("truth", data.y)):
            rows = [[f"t{i}", names[c]] for i, c in enumerate(codes.tolist())]
            write_table(self.folder / f"{name}.csv", ["task", "label"], rows)
        right = float((data.y == data.y_pred).mean())
        named = {name: shlex.quote(str(self.folder / f"{name}.csv")) for name in ("labels", "predictions")}
        sentence = (
            f"{labels.num_samples} samples, {labels.num_labels} labels by {self.labelers} labelers; the "
            f"classifier is right on {right:.3f}. Written to {self.folder}: labels.csv, "
            "predictions.csv, truth.csv"
        )
        size = {"num_samples": labels.num_samples, "num_labels": labels.num_labels}
        step = f"jtruth evaluate {named['labels']} --predictions {named['predictions']}"
        values = facts(**size, accuracy=right, prior=prior)
        self.give(Shown("What was simulated?", "", sentence, (values,)), step)

    def _drawn(self) -> tuple[Any, list[str], Any]:
        """The data, names of the classes, and their prior."""
        import numpy as np

        from jtruth._validation.in_range import check_probabilities
        from jtruth.cli.reading import numbers
        from jtruth.noise import Symmetric
        from jtruth.simulation import simulate

        names = [name.strip() for name in self.classes.split(",")]
        size = len(names)
        if min(self.samples, self.labelers) < 1:
            raise ValueError(f"--samples {self.samples}, --labelers {self.labelers}: give 1 or more of both")
        check_probabilities(np.array([self.error, self.accuracy, self.looks]), "error, accuracy, looks")
        given = numbers(self.prior)
        prior = np.full(size, 1 / size) if given is None else np.array(given)
        off = (1 - self.accuracy) / max(size - 1, 1)
        confusion = np.where(np.eye(size, dtype=bool), self.accuracy, off)
        data = simulate(self.seed, self.samples, prior, confusion, Symmetric(self.error, size),
                        np.full(self.labelers, self.looks))  # fmt: skip
        return data._replace(y=np.asarray(data.y), y_pred=np.asarray(data.y_pred)), names, prior
