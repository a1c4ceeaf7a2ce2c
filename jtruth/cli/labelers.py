"""`jtruth labelers`: how good is each labeler?"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from jtruth.cli.options import Beside, Columns, Draws, GoldCommonOnly, KnownGold, LabelsFile, Order
from jtruth.cli.output import Reported, check_writable, progress, write_table


@dataclass(frozen=True)
class Known:
    """What is known of the truth."""

    gold: KnownGold = None
    common_only: GoldCommonOnly = False
    order: Order = None
    target: Annotated[
        str, typer.Option("--target", help="in-sample (labels given), or population: new samples.")
    ] = "in-sample"
    consensus: Annotated[
        Path | None, typer.Option("--consensus", help="Write each task's class probabilities to this table.")
    ] = None
    save: Annotated[
        Path | None, typer.Option("--save", help="Write the error rates to this file, for --noise.")
    ] = None

    def __post_init__(self) -> None:
        check_writable("--consensus", self.consensus)
        check_writable("--save", self.save)


QUICK_ABOVE = 2_000_000  # labels; sampling so many takes minutes
QUICK = (
    "over {:,} labels, so labelers are learned by EM instead of sampling; --no-fast samples, and takes long"
)


@dataclass(frozen=True)
class Engine:
    """How the labelers are learned."""

    fast: Annotated[
        bool | None,
        typer.Option(
            "--fast/--no-fast", help="EM and the normal law around it; by default above 2 million labels."
        ),
    ] = None
    update: Annotated[
        Path | None,
        typer.Option(
            "--update", help="State of a stream of labels (begun if there is none): add LABELS, as --fast."
        ),
    ] = None
    model: Annotated[
        str | None, typer.Option("--model", help="An annotation model by NUTS, as in `jtruth models`.")
    ] = None

    def __post_init__(self) -> None:
        check_writable("--update", self.update)
        chosen = [name for name in ("fast", "update", "model") if getattr(self, name)]
        if self.model is not None and len(chosen) > 1:
            raise ValueError(f"--model and --{chosen[0]} are two ways to learn the labelers: choose one")

    @property
    def chosen(self) -> bool:
        """Whether it is another one than Gibbs sampling."""
        return bool(self.fast) or self.update is not None or self.model is not None


def labelers(
    source: LabelsFile,
    known: Known,
    engine: Engine,
    draws: Draws,
    columns: Columns,
    beside: Beside,
    output: Reported,
) -> None:
    """Each labeler's accuracy and confusion matrix with intervals, worst first."""
    from jtruth._validation.text import read_bytes
    from jtruth.cli.reading import Given, gold_sample_of, labels_of, one_stdin, order_of, with_notes
    from jtruth.evaluation import evaluate_labelers, quick_labelers

    one_stdin(source.file, known.gold)
    if engine.chosen:
        report, labels = _by_engine(source, known, engine, draws, columns)
    else:
        given = Given(read_bytes(source.file), columns, beside)
        labels = labels_of(given.file, columns, (known.gold,))
        if engine.fast is None and known.gold is known.order is None and labels.num_labels > QUICK_ABOVE:
            report = quick_labelers(labels, key=draws.seed, level=draws.level)
            report = replace(report, warnings=(QUICK.format(QUICK_ABOVE), *report.warnings))
        else:
            with progress("sweeps") as advance:
                report = evaluate_labelers(
                    labels, level=draws.level,
                    gold=gold_sample_of(known.gold, labels, given, known.common_only),
                    target=known.target, key=draws.seed, progress=advance,
                    order=None if known.order is None else order_of(known.order, given, labels),
                )  # fmt: skip
            report = with_notes(report, labels.notes)
    if known.consensus is not None:
        header, table = report.consensus(labels)
        write_table(known.consensus, header, table)
    if known.save is not None:
        workers = labels.workers or tuple(range(len(report.rows)))
        written = json.dumps(report.noise_dict(workers), indent=1, allow_nan=False)
        known.save.write_text(written + "\n", encoding="utf-8")
    output.give_page(str(report), report.to_dict(), report.page, draws.seed)


def _by_engine(
    source: LabelsFile, known: Known, engine: Engine, draws: Draws, columns: Columns
) -> tuple[Any, Any]:
    """The report of another engine, and the labels (or the stream) that it is of."""
    from jtruth.cli.reading import labels_of
    from jtruth.evaluation.other_labelers import labelers_by_model, quick_labelers

    if known.target != "in-sample":
        raise ValueError(
            "--target is for Gibbs sampling: leave out --fast, --update and --model, or --target"
        )
    if known.gold is not None or known.order is not None:
        name = "gold" if known.gold is not None else "order"
        raise ValueError(
            f"--{name} is for Gibbs sampling: leave out --fast, --update and --model, or --{name}"
        )
    options: dict[str, Any] = {"key": draws.seed, "level": draws.level}
    if engine.update is not None:
        return _updated(source, engine.update, columns, options)
    labels = labels_of(source.file, columns)
    if engine.model is not None:
        with progress("steps of the model") as advance:
            from jtruth.sampling import NutsSettings, Watch

            settings = NutsSettings(watch=Watch(advance))
            return labelers_by_model(labels, engine.model, settings=settings, **options), labels
    return quick_labelers(labels, **options), labels


def _updated(source: LabelsFile, path: Path, columns: Columns, options: dict[str, Any]) -> tuple[Any, Any]:
    """Labels added to a state; the file is written when the report stands."""
    from jtruth.cli.reading import labels_of
    from jtruth.evaluation.other_labelers import quick_labelers, the_prior
    from jtruth.learning.em.stream_file import read_stream, write_stream
    from jtruth.learning.em.streaming import begin_stream, update

    if path.exists():
        old = read_stream(path)
        labels = labels_of(source.file, columns, classes=old.classes)
        state = update(old, labels)
        how = f"EM went on from the state in {state.num_steps} steps"
    else:
        labels = labels_of(source.file, columns)
        state = begin_stream(labels, smoothing=the_prior(labels.num_classes))
        how = f"there was no file {path.name}, so this is the first set"
    report = quick_labelers(state, **options)
    said = (
        f"{labels.num_labels} labels added, {len(state.batches)} sets in all, {len(state.tasks)} tasks; {how}"
    )
    write_stream(path, state)
    return replace(report, warnings=(said, *labels.notes, *report.warnings)), state.labels()
