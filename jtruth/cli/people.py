"""What is in labels (`jtruth inspect`, `agreement`)? How good are `labelers` (`consensus`, `models`)?"""

import json
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from jtruth._files import write_table, write_text
from jtruth.cli.options import (
    Beside,
    By,
    Draws,
    GoldCommonOnly,
    KnownGold,
    LabelersAre,
    LabelsFile,
    Missing,
    Order,
    Prior,
    Repeats,
    next_step,
    option,
    refuse,
    typed,
    written,
)
from jtruth.cli.output import Output, progress

QUICK_ABOVE = 2_000_000  # labels; sampling so many takes minutes
QUICK = (
    "over {:,} labels, so labelers are learned by EM instead of sampling; --no-fast samples, and takes long"
)


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
    from jtruth.answers import Column, Document, Table, facts, sentence_notes

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
    return Document("How to read this file?", "", sentence, blocks)


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
        from jtruth.answers import Document, facts
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
        self.give(Document("What was simulated?", "", sentence, (values,)), step)

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


@dataclass(frozen=True, kw_only=True)
class Labelers(LabelsFile, Draws, Beside, Output):
    """Each labeler's accuracy and confusion matrix with intervals, worst first."""

    gold: KnownGold = None
    common_only: GoldCommonOnly = False
    order: Order = None
    by: By = None
    target: str = option("--target", "in-sample (labels given), or population: new samples.", "in-sample")
    labelers_are: LabelersAre = None
    consensus: Path | None = written("--consensus", "Write each task's class probabilities to this table.")
    save: Path | None = written("--save", "Write the error rates to this file, for --noise.")
    fast: bool | None = option(
        "--fast/--no-fast", "The normal law around a mode; by default above 2 million labels."
    )
    update: Path | None = written(
        "--update", "State of a stream of labels (begun if there is none): add LABELS, as --fast."
    )
    model: str | None = option("--model", "An annotation model by NUTS, as in `jtruth models`.")

    def check(self) -> None:
        """Two ways to learn the labelers are one too many."""
        chosen = [name for name in ("fast", "update", "model") if getattr(self, name)]
        if self.model is not None and len(chosen) > 1:
            raise ValueError(f"--model and --{chosen[0]} are two ways to learn the labelers: choose one")

    def run(self) -> None:
        """Learn the labelers."""
        from jtruth.cli.reading import with_notes

        other = bool(self.fast) or self.update is not None or self.model is not None
        if self.by is not None:
            return self._by_group(other)
        report, labels = self._by_engine() if other else self._sampled()
        report = report if other else with_notes(report, labels.notes)
        if self.consensus is not None:
            header, table = report.consensus(labels)
            write_table(self.consensus, header, table)
        if self.save is not None:
            noise = report.noise_dict(labels.worker_names)
            write_text(self.save, json.dumps(noise, indent=1, allow_nan=False) + "\n")
        self.give(report, self._next())

    def _sampled(self) -> tuple[Any, Any]:
        """The report by Gibbs sampling (of very many labels by EM), and the labels."""
        from jtruth.cli.reading import Tables
        from jtruth.evaluation import evaluate_labelers, quick_labelers

        tables = Tables(self, self.gold)
        labels = tables.labels
        plain = self.fast is self.gold is self.order is self.labelers_are is None
        if plain and labels.num_labels > QUICK_ABOVE:
            report = quick_labelers(labels, key=self.seed, level=self.level)
            return replace(report, warnings=(QUICK.format(QUICK_ABOVE), *report.warnings)), labels
        with progress("answer") as advance:
            report = evaluate_labelers(
                labels, level=self.level, target=self.target, labelers_are=self.labelers_are, key=self.seed,
                gold=tables.gold_sample(), order=tables.order(), progress=advance,
            )  # fmt: skip
        return report, labels

    def _by_group(self, other: bool) -> None:
        """Every labeler in each group."""
        from jtruth.cli.reading import Tables, with_notes
        from jtruth.evaluation import labelers_by_group

        idle = {"--fast, --update and --model": other, "--order": self.order, "--save": self.save,
                "--consensus": self.consensus, "--target": self.target != "in-sample"}  # fmt: skip
        refuse(idle, "and --by do not go together; leave one out")
        tables = Tables(self, self.gold, by=self.by)
        gold, groups = tables.gold(), tables.groups(1)
        with progress("group", len(set(groups.group))) as advance:
            found = labelers_by_group(
                tables.labels, groups, gold=gold, key=self.seed, level=self.level,
                labelers_are=self.labelers_are, progress=advance,
            )  # fmt: skip
        self.give(with_notes(found, tables.labels.notes), self._next())

    def _next(self) -> str:
        return next_step(self, "", "the class of each task, and who says otherwise", "consensus", LabelsFile)

    def _by_engine(self) -> tuple[Any, Any]:
        """The report of another engine, and the labels (or the stream) that it is of."""
        from jtruth.cli.reading import labels_of
        from jtruth.evaluation.labelers import labelers_by_model, quick_labelers

        idle = {"--target": self.target != "in-sample", "--gold": self.gold, "--order": self.order,
                "--labelers-are": self.labelers_are}  # fmt: skip
        refuse(idle, "is for Gibbs sampling: leave it out, or --fast, --update and --model")
        options: dict[str, Any] = {"key": self.seed, "level": self.level}
        if self.update is not None:
            return self._updated(self.update, options)
        labels = labels_of(self.file, self)
        if self.model is not None:
            with progress("steps of the model") as advance:
                from jtruth.latent import NutsSettings, Progress

                settings = NutsSettings(progress=Progress(advance))
                return labelers_by_model(labels, self.model, settings=settings, **options), labels
        return quick_labelers(labels, **options), labels

    def _updated(self, path: Path, options: dict[str, Any]) -> tuple[Any, Any]:
        """Labels added to a state; the file is written when the report stands."""
        from jtruth._validation.words import Read
        from jtruth.cli.reading import labels_of
        from jtruth.evaluation.labelers import quick_labelers, the_prior
        from jtruth.learning.em.streaming import begin_stream, read_stream, update, write_stream

        old = read_stream(path) if path.exists() else None
        labels = labels_of(self.file, self, classes=None if old is None else old.classes)
        if old is None:
            state = begin_stream(labels, smoothing=the_prior(labels.num_classes))
            how = f"there was no file {path.name}, so this is the first set"
        else:
            state = update(old, labels)
            how = f"EM went on from the state in {state.num_steps} steps"
        report = quick_labelers(state, **options)
        number = f"{len(state.batches)} sets in all, {len(state.tasks)} tasks"
        added = f"{labels.num_labels} labels added, {number}; {how}"
        write_stream(path, state)
        return replace(report, warnings=(added, *map(Read, labels.notes), *report.warnings)), state.labels()


@dataclass(frozen=True, kw_only=True)
class Consensus(LabelsFile, Beside, Output):
    """The most probable class of each task, its probability, and the labelers who say otherwise."""

    method: str = option(
        "--method", "majority_vote, dawid_skene, ...; a wrong name lists all.", "dawid_skene"
    )
    gold: KnownGold = None
    common_only: GoldCommonOnly = False
    prior: str | None = option("--prior", "Known class shares, comma separated, such as .8,.2")
    seed: int = option("--seed", "Seed of methods that draw at random.", 0)
    out: Path | None = written(
        "--out", "Write each task's class, probabilities and who disagrees to this table."
    )

    def run(self) -> None:
        """Find one class for each task."""
        from jtruth.cli.reading import Tables, numbers
        from jtruth.evaluation import consensus
        from jtruth.learning.methods import method_called

        method_called(self.method)
        tables, prior = Tables(self, self.gold), numbers(self.prior)
        found = consensus(tables.labels, self.method, gold=tables.gold(), prior=prior, key=self.seed)
        if self.out is not None:
            write_table(self.out, *found.table())
        step = next_step(self, "", "which labels may be wrong, and how many", "clean", LabelsFile)
        self.give(found, step)


@dataclass(frozen=True, kw_only=True)
class Models(LabelsFile, Draws, Output):
    """Annotation models by how well they predict the labels of a sample left out (PSIS-LOO)."""

    models: str | None = option("--models", "Names, comma separated; the usual ones if unset.")
    warmup: int = option("--warmup", "NUTS steps before the draws of a chain.", 500)
    samples: int = option("--samples", "NUTS draws of a chain.", 500)

    def run(self) -> None:
        """Fit and compare them."""
        from jtruth.cli.reading import labels_of, with_notes
        from jtruth.comparison import STANDARD_MODELS, compare_models
        from jtruth.latent import NutsSettings, Progress

        names = STANDARD_MODELS if self.models is None else [n.strip() for n in self.models.split(",")]
        labels = labels_of(self.file, self)
        with progress("model", len(names)) as advance:
            settings = NutsSettings(
                num_warmup=self.warmup, num_samples=self.samples, progress=Progress(advance)
            )
            found = compare_models(labels, models=names, key=self.seed, settings=settings)
        best = f"--model {found.names[0]}"
        step = next_step(self, best, "how good each labeler is, by the first model", "labelers", LabelsFile)
        self.give(with_notes(found, labels.notes), step)
