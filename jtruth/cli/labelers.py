"""`jtruth labelers`: how good is each labeler?"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jtruth._files import write_table, write_text
from jtruth.cli.options import (
    Beside,
    By,
    Columns,
    Draws,
    GoldCommonOnly,
    KnownGold,
    LabelersAre,
    LabelsFile,
    Order,
    option,
    written,
)
from jtruth.cli.output import Output, progress


@dataclass(frozen=True)
class Known:
    """What is known of the truth."""

    gold: KnownGold = None
    common_only: GoldCommonOnly = False
    order: Order = None
    by: By = None
    target: str = option("--target", "in-sample (labels given), or population: new samples.", "in-sample")
    labelers_are: LabelersAre = None
    consensus: Path | None = written("--consensus", "Write each task's class probabilities to this table.")
    save: Path | None = written("--save", "Write the error rates to this file, for --noise.")


QUICK_ABOVE = 2_000_000  # labels; sampling so many takes minutes
QUICK = (
    "over {:,} labels, so labelers are learned by EM instead of sampling; --no-fast samples, and takes long"
)


@dataclass(frozen=True)
class Engine:
    """How the labelers are learned."""

    fast: bool | None = option(
        "--fast/--no-fast", "EM and the normal law around it; by default above 2 million labels."
    )
    update: Path | None = written(
        "--update", "State of a stream of labels (begun if there is none): add LABELS, as --fast."
    )
    model: str | None = option("--model", "An annotation model by NUTS, as in `jtruth models`.")

    def __post_init__(self) -> None:
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
    output: Output,
) -> None:
    """Each labeler's accuracy and confusion matrix with intervals, worst first."""
    from jtruth.cli.reading import begin, gold_sample_of, order_of, with_notes
    from jtruth.evaluation import evaluate_labelers, quick_labelers

    if known.by is not None:
        return _by_group(source, known, engine, draws, columns, beside, output)
    if engine.chosen:
        report, labels = _by_engine(source, known, engine, draws, columns)
    else:
        given, labels = begin(source.file, columns, beside, known.gold)
        plain = engine.fast is known.gold is known.order is known.labelers_are is None
        if plain and labels.num_labels > QUICK_ABOVE:
            report = quick_labelers(labels, key=draws.seed, level=draws.level)
            report = replace(report, warnings=(QUICK.format(QUICK_ABOVE), *report.warnings))
        else:
            with progress("answer") as advance:
                report = evaluate_labelers(
                    labels, level=draws.level,
                    gold=gold_sample_of(known.gold, labels, given, known.common_only),
                    target=known.target, labelers_are=known.labelers_are, key=draws.seed,
                    progress=advance,
                    order=None if known.order is None else order_of(known.order, given, labels),
                )  # fmt: skip
            report = with_notes(report, labels.notes)
    if known.consensus is not None:
        header, table = report.consensus(labels)
        write_table(known.consensus, header, table)
    if known.save is not None:
        workers = labels.workers or tuple(range(len(report.rows)))
        write_text(known.save, json.dumps(report.noise_dict(workers), indent=1, allow_nan=False) + "\n")
    output.give(report, draws.seed)


def _by_group(
    source: LabelsFile, known: Known, engine: Engine, draws: Draws, columns: Columns, beside: Beside,
    output: Output,
) -> None:  # fmt: skip
    """Every labeler in each group."""
    from jtruth.cli.reading import begin, gold_of, groups_of, with_notes
    from jtruth.evaluation import labelers_by_group

    idle = {"--fast, --update and --model": engine.chosen, "--order": known.order, "--save": known.save,
            "--consensus": known.consensus, "--target": known.target != "in-sample"}  # fmt: skip
    for name in (name for name, given in idle.items() if given):
        raise ValueError(f"{name} and --by do not go together; leave one out")
    given, labels = begin(source.file, columns, beside, known.gold, by=known.by)
    gold, groups = gold_of(known.gold, labels, given, known.common_only), groups_of(given, labels, 1)
    with progress("group", len(set(groups.group))) as advance:
        found = labelers_by_group(
            labels, groups, gold=gold, key=draws.seed, level=draws.level, labelers_are=known.labelers_are,
            progress=advance,
        )  # fmt: skip
    output.give(with_notes(found, labels.notes), draws.seed)


def _by_engine(
    source: LabelsFile, known: Known, engine: Engine, draws: Draws, columns: Columns
) -> tuple[Any, Any]:
    """The report of another engine, and the labels (or the stream) that it is of."""
    from jtruth.cli.reading import labels_of
    from jtruth.evaluation.labelers import labelers_by_model, quick_labelers

    idle = {"--target": known.target != "in-sample", "--gold": known.gold, "--order": known.order}
    for name in (name for name, given in (idle | {"--labelers-are": known.labelers_are}).items() if given):
        raise ValueError(f"{name} is for Gibbs sampling: leave out --fast, --update and --model, or {name}")
    options: dict[str, Any] = {"key": draws.seed, "level": draws.level}
    if engine.update is not None:
        return _updated(source, engine.update, columns, options)
    labels = labels_of(source.file, columns)
    if engine.model is not None:
        with progress("steps of the model") as advance:
            from jtruth.latent import NutsSettings, Watch

            settings = NutsSettings(watch=Watch(advance))
            return labelers_by_model(labels, engine.model, settings=settings, **options), labels
    return quick_labelers(labels, **options), labels


def _updated(source: LabelsFile, path: Path, columns: Columns, options: dict[str, Any]) -> tuple[Any, Any]:
    """Labels added to a state; the file is written when the report stands."""
    from jtruth._validation.words import Read
    from jtruth.cli.reading import labels_of
    from jtruth.evaluation.labelers import quick_labelers, the_prior
    from jtruth.learning.em.streaming import begin_stream, read_stream, update, write_stream

    old = read_stream(path) if path.exists() else None
    labels = labels_of(source.file, columns, classes=None if old is None else old.classes)
    if old is None:
        state = begin_stream(labels, smoothing=the_prior(labels.num_classes))
        how = f"there was no file {path.name}, so this is the first set"
    else:
        state = update(old, labels)
        how = f"EM went on from the state in {state.num_steps} steps"
    report = quick_labelers(state, **options)
    said = (
        f"{labels.num_labels} labels added, {len(state.batches)} sets in all, {len(state.tasks)} tasks; {how}"
    )
    write_stream(path, state)
    return replace(report, warnings=(said, *map(Read, labels.notes), *report.warnings)), state.labels()
