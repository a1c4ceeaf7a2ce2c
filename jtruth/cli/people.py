"""What is in labels (`jtruth inspect`, `agreement`)? How good are `labelers` (`consensus`, `models`)?"""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from jtruth._files import write_table, write_text
from jtruth.cli.options import (
    BESIDE,
    DRAWS,
    EVERY,
    KNOWN_GOLD,
    LABELS,
    OUTPUT,
    SMOOTH,
    TABLE,
    WRITTEN,
    argument,
    command,
    next_step,
    option,
    refuse,
    shared,
    typed,
    written,
)
from jtruth.cli.output import give, progress

COMPARISONS = "This is a file of preferences: each row compares two systems."
_MODELS = ("dawid_skene", "hierarchical_dawid_skene", "one_coin", "pooled", "item_difficulty")
QUICK_ABOVE = 2_000_000  # labels; sampling so many takes minutes
QUICK = "There are more than {:,} labels, so labelers are estimated by EM; --no-fast samples instead, slowly."


@command(
    "LABELS.csv", LABELS, OUTPUT,
    save_plan=written("Write how the file is read, for the option --plan."),
)  # fmt: skip
def inspect(args: Any) -> None:
    """Show how a file of labels is read, and what looks unusual in it."""
    from jtruth.answers import Document
    from jtruth.cli.reading import open_labels
    from jtruth.inspection import inspect_labels
    from jtruth.io import inspect_file
    from jtruth.io.apply import NotOneClass, found_beside
    from jtruth.io.plan import UNKNOWN
    from jtruth.io.reading import labels_of_rows
    from jtruth.pairwise.columns import compares

    args.missing = args.missing or "drop"  # a first look takes missing labels as they are
    file = open_labels(args)  # once: a pipe cannot be read again, and a long file takes time
    if args.save_plan is not None:
        plan = replace(file.plan, missing=None) if file.plan.missing == "drop" else file.plan
        write_text(args.save_plan, json.dumps(plan.to_dict(), indent=1, ensure_ascii=False) + "\n")
    open_ = file.plan.doubts or file.plan.layout == UNKNOWN
    compared = compares(file.table) and not any((args.task, args.worker, args.label, args.labelers))
    plain = SimpleNamespace(**vars(args) | {"missing": None, "save_plan": None})
    step = next_step(plain, "", "show which system is preferred", "preferences") if compared else ""
    if open_ and not compared:
        return _give_look(args, inspect_file(file))
    try:
        rows = file.rows()
        labels = labels_of_rows(rows, file.plan)
    except ValueError as why:
        if compared:  # not as labels, then
            args.how_read = ""
            return give(args, Document("How is this file read?", "", COMPARISONS, ()), step)
        if not isinstance(why, NotOneClass):
            raise
        return _give_look(args, inspect_file(file), f"{why}.")
    beside = found_beside(rows, file.plan)
    found = inspect_labels(labels, file=str(args.file), options=_needed(args, labels), beside=beside)
    if not compared:
        return give(args, found)
    document = found.blocks()
    give(args, document._replace(lines=(COMPARISONS, *document.lines)), step)


def _needed(args: Any, labels: Any) -> str:
    """The options that other commands need to read this file; they are stricter than a first look."""
    dropped = any("missing='drop'" in note for note in labels.notes)
    wide = any(note.startswith("Read as a wide") for note in labels.notes)
    missing = "drop" if dropped and not wide else None
    return typed(SimpleNamespace(**vars(args) | {"missing": missing, "save_plan": None}))


def _give_look(args: Any, look: Any, *more: str) -> None:
    """Print how a file is read, whole: nothing else can be said of it yet."""
    from jtruth._validation import quoted
    from jtruth.answers import Column, Document, Table, facts, sentence_notes

    args.full, args.how_read = True, ""
    answer = look.to_dict()
    advice = [*answer.pop("advice"), *more]
    rows = [row | {"values": quoted(row["examples"], 4)} for row in answer.pop("columns")]
    columns = (Column("num_values", "values"), Column("num_missing", "missing"), Column("values", "examples"))
    blocks = (
        Table("columns", "Columns", "name", columns, rows, aside=("values",)),
        sentence_notes("advice", "How to read it", advice, "do"),
        facts(**answer),
    )
    give(args, Document("How to read this file?", "", look.headline, blocks))


@command(
    "LABELS.csv --weights quadratic --full", TABLE,
    weights=option("Weights of kappa: nominal, linear or quadratic.", "nominal"),
    differences=option("Distances of alpha: nominal, ordinal or interval."),
)  # fmt: skip
def agreement(args: Any) -> None:
    """Compute agreement coefficients with intervals, for all labelers and for each pair."""
    from jtruth.cli.reading import open_labels, with_notes
    from jtruth.evaluation import labeler_agreement, rating_agreement, set_agreement
    from jtruth.io.apply import values_of
    from jtruth.io.reading import labels_of_rows

    file = open_labels(args)
    rows = file.rows()
    if values := values_of(rows, file.plan):
        idle = {"--weights": args.weights != "nominal", "--differences": args.differences}
        refuse(idle, "needs single classes, but these labels are sets or numbers: leave it out")
        compare = set_agreement if isinstance(values[-1][0], frozenset) else rating_agreement
        answer, step = compare(*values, level=args.level, key=args.seed), ""
        if shares := getattr(answer, "shares", None):
            most = shlex.quote(max(shares, key=shares.__getitem__))
            step = next_step(args, f"--contains {most}", "grade labelers on one class", "labelers")
        return give(args, with_notes(answer, (*filter(None, [rows.form]), *rows.notes)), step)
    labels = labels_of_rows(rows, file.plan)
    answer = labeler_agreement(labels, weights=args.weights, differences=args.differences,
                              level=args.level, key=args.seed)  # fmt: skip
    step = next_step(args, "", "estimate how good each labeler is", "labelers")
    give(args, with_notes(answer, labels.notes), step)


@command(
    "FOLDER --samples 500 --labelers 5", DRAWS, OUTPUT,
    folder=argument("FOLDER", "Folder for the three tables."),
    samples=option("Number of samples.", 500),
    labelers=option("Number of labelers.", 5),
    error=option("Error rate of each labeler.", 0.2),
    looks=option("Share of samples that each labeler labels.", 1.0),
    classes=option("Names of the classes.", "no,yes"),
    **shared("prior"),
    accuracy=option("Accuracy of the classifier in each class.", 0.9),
)  # fmt: skip
def simulate(args: Any) -> None:
    """Simulate labels, predictions and true classes, with independent errors."""
    from jtruth.answers import Document, facts
    from jtruth.evaluation.parts import counts_text
    from jtruth.io import write_labels

    data, names, prior = _drawn(args)
    labels = data.to_labels().with_names(
        tasks=[f"t{i}" for i in range(args.samples)],
        workers=[f"w{t}" for t in range(args.labelers)],
        classes=names,
    )
    args.folder.mkdir(parents=True, exist_ok=True)
    write_labels(args.folder / "labels.csv", labels)
    for name, codes in (("predictions", data.y_pred), ("truth", data.y)):
        rows = [[f"t{i}", names[c]] for i, c in enumerate(codes.tolist())]
        write_table(args.folder / f"{name}.csv", ["task", "label"], rows)
    right = float((data.y == data.y_pred).mean())
    named = {name: shlex.quote(str(args.folder / f"{name}.csv")) for name in ("labels", "predictions")}
    sentence = (
        f"Simulated {counts_text(labels)} and a classifier with accuracy {100 * right:.1f} %. "
        f"{args.folder} has the files labels.csv, predictions.csv and truth.csv."
    )
    size = {"num_samples": labels.num_samples, "num_labels": labels.num_labels}
    step = f"jtruth evaluate {named['labels']} --predictions {named['predictions']}"
    values = facts(**size, accuracy=right, prior=prior)
    give(args, Document("What was simulated?", "", sentence, (values,)), step)


def _drawn(args: Any) -> tuple[Any, list[str], Any]:
    import numpy as np

    from jtruth._validation import by_class
    from jtruth._validation.in_range import check_probabilities
    from jtruth.cli.reading import numbers
    from jtruth.noise import Symmetric
    from jtruth.simulation import simulate

    names = [name.strip() for name in args.classes.split(",")]
    size = len(names)
    if min(args.samples, args.labelers) < 1:
        raise ValueError(f"--samples {args.samples}, --labelers {args.labelers}: give 1 or more of both")
    check_probabilities(np.array([args.error, args.accuracy, args.looks]), "error, accuracy, looks")
    shares = numbers(args.prior)
    prior = np.full(size, 1 / size) if shares is None else np.array(by_class(shares, names))
    off = (1 - args.accuracy) / max(size - 1, 1)
    confusion = np.where(np.eye(size, dtype=bool), args.accuracy, off)
    data = simulate(args.seed, args.samples, prior, confusion, Symmetric(args.error, size),
                    np.full(args.labelers, args.looks))  # fmt: skip
    return data._replace(y=np.asarray(data.y), y_pred=np.asarray(data.y_pred)), names, prior


@command(
    "LABELS.csv --consensus consensus.csv", EVERY,
    **KNOWN_GOLD, **shared("order", "by", "labelers_are"),
    **shared("target"),
    consensus=written("Write the class probabilities of each sample to this table.", True),
    out=written("Write the estimates to this table: .csv, .tsv, .json, .jsonl, .parquet.", True),
    save=written("Write the error rates, for --noise of evaluate and clean."),
    fast=option("Laplace approximation (faster, less exact); default above 2 million labels.", kind=bool,
                name="--fast/--no-fast"),
    update=written("File of running counts, to which LABELS are added (Laplace approximation)."),
    model=option("Fit this model by MCMC instead; `jtruth models --help` has the names."),
    smooth=SMOOTH,
)  # fmt: skip
def labelers(args: Any) -> None:
    """Estimate each labeler's accuracy and confusion matrix with intervals, worst first."""
    chosen = [name for name in ("fast", "update", "model") if getattr(args, name)]
    if args.model is not None and len(chosen) > 1:
        raise ValueError(f"--model and --{chosen[0]} are two different methods: choose one")
    from jtruth.cli.reading import counted, with_notes

    if args.by is args.update is args.model is None and args.fast is not False:
        idle = {"--consensus": args.consensus, "--order": args.order, "--gold": args.gold,
                "--target": args.target, "--labelers-are": args.labelers_are}  # fmt: skip
        if (state := counted(args, **idle)) is not None:
            from jtruth.evaluation import quick_labelers

            report = quick_labelers(state, key=args.seed, level=args.level)
            step = next_step(args, "", "how many samples are of each class", "prevalence")
            return _given(args, report, list(map(str, state.workers)), step)
    other = bool(args.fast) or args.update is not None or args.model is not None
    if args.by is not None:
        return _by_group(args, other)
    report, labels, tables = (*_by_engine(args), None) if other else _sampled(args)
    report = report if other else with_notes(report, labels.notes)
    if args.consensus is not None:
        write_table(args.consensus, *report.consensus(labels))
    _given(args, report, labels.worker_names, _next(args, tables))


def _given(args: Any, report: Any, workers: Any, step: str) -> None:
    """Write what was asked for, and print the report."""
    from jtruth.io import write

    if args.out is not None:
        write(report, args.out)
    if args.save is not None:
        noise = report.noise_dict(workers)
        write_text(args.save, json.dumps(noise, indent=1, allow_nan=False) + "\n")
    give(args, report, step)


def _sampled(args: Any) -> tuple[Any, Any, Any]:
    """The report by Gibbs sampling (of very many labels by EM), the labels, and their tables."""
    from jtruth.cli.reading import Tables
    from jtruth.evaluation import errs_on, evaluate_labelers, quick_labelers

    tables = Tables(args, args.gold)
    labels, gold = tables.labels, tables.gold_sample()
    plain = args.fast is args.gold is args.order is args.labelers_are is None
    if plain and labels.num_labels > QUICK_ABOVE:
        report = quick_labelers(labels, key=args.seed, level=args.level)
        return replace(report, warnings=(QUICK.format(QUICK_ABOVE), *report.warnings)), labels, None
    with progress("answer") as advance:
        report = evaluate_labelers(
            labels, level=args.level, target=args.target or "population", labelers_are=args.labelers_are,
            key=args.seed, gold=gold, order=tables.order(), progress=advance,
        )  # fmt: skip
    if gold is not None and (columns := tables.columns()):
        report = replace(report, errs=errs_on(labels, gold, columns, level=args.level))
    return report, labels, tables


def _by_group(args: Any, other: bool) -> None:
    from jtruth.cli.reading import Tables, with_notes
    from jtruth.evaluation import labelers_by_group
    from jtruth.io import write

    idle = {"--fast, --update and --model": other, "--order": args.order, "--save": args.save,
            "--consensus": args.consensus, "--target": args.target}  # fmt: skip
    refuse(idle, "and --by cannot be combined: leave one out")
    tables = Tables(args, args.gold, by=args.by)
    gold, groups = tables.gold_sample(), tables.groups(1)
    with progress("group", len(set(groups.group))) as advance:
        answer = labelers_by_group(
            tables.labels, groups, gold=gold, key=args.seed, level=args.level,
            labelers_are=args.labelers_are, progress=advance,
        )  # fmt: skip
    if args.out is not None:
        write(answer, args.out)
    give(args, with_notes(answer, tables.labels.notes), _next(args, tables))


def _next(args: Any, tables: Any = None) -> str:
    if tables is not None and args.gold is None and (step := tables.gold_step()):
        return step
    return next_step(args, "", "show the most probable class of each sample", "consensus")


def _by_engine(args: Any) -> tuple[Any, Any]:
    """The report of another engine, and the labels (or the stream) that it is of."""
    from jtruth.cli.reading import labels_of
    from jtruth.evaluation.by_one_model import labelers_by_model, quick_labelers

    order = args.order if args.update is None else None
    idle = {"--target": args.target, "--gold": args.gold, "--order": order,
            "--labelers-are": args.labelers_are}  # fmt: skip
    refuse(idle, "needs Gibbs sampling: leave it out, or leave out --fast, --update and --model")
    options: dict[str, Any] = {"key": args.seed, "level": args.level}
    if args.update is not None:
        return _updated(args, args.update, options)
    labels = labels_of(args)
    if args.model is not None:
        with progress("steps of the model") as advance:
            from jtruth.latent import NutsSettings, Progress

            settings = NutsSettings(progress=Progress(advance))
            return labelers_by_model(labels, args.model, settings=settings, **options), labels
    return quick_labelers(labels, **options), labels


def _updated(args: Any, path: Path, options: dict[str, Any]) -> tuple[Any, Any]:
    """Labels added to a state; the file is written when the report stands."""
    from jtruth._validation.words import Read, number_of
    from jtruth.cli.reading import labels_in_time
    from jtruth.evaluation.by_one_model import quick_labelers, the_prior
    from jtruth.learning.em.streaming import begin_stream, read_stream, update, write_stream

    old = read_stream(path) if path.exists() else None
    labels, when = labels_in_time(args, None if old is None else old.classes)
    if old is None:
        state = begin_stream(labels, smoothing=the_prior(labels.num_classes), when=when)
        how = f"{path.name} is new, so this is the first set"
    else:
        state = update(old, labels, when=when)
        how = f"EM continued from the state for {state.num_steps} steps"
    report = quick_labelers(state, **options)
    number = f"{number_of(len(state.batches), 'set')} in all, {number_of(len(state.tasks), 'task')}"
    added = f"{number_of(labels.num_labels, 'label')} added, {number}; {how}"
    write_stream(path, state)
    return replace(report, warnings=(added, *map(Read, labels.notes), *report.warnings)), state.labels()


@command(
    "LABELS.csv --out consensus.csv", LABELS, BESIDE, OUTPUT,
    method=option("majority_vote, dawid_skene, one_coin, hierarchical, glad, kos, difficulty_fallibility, "
                  "welinder, label_model or minimax_entropy.", "dawid_skene"),
    **KNOWN_GOLD, **shared("prior"),
    seed=option("Seed of methods that draw at random.", 0),
    out=written("Write each sample's class, its probability and who disagrees to this table.", True),
    format=option("Format of --out for import: label_studio, argilla or doccano.",
                  rich_help_panel=WRITTEN),
    question=option("Name of the label in that tool, if the file does not hold it.",
                    rich_help_panel=WRITTEN),
)  # fmt: skip
def consensus(args: Any) -> None:
    """Show the most probable class of each sample, and which labelers disagree."""
    from jtruth.cli.reading import Tables, numbers
    from jtruth.evaluation import consensus
    from jtruth.io.writing import check_written, write
    from jtruth.learning.methods import method_called

    method_called(args.method)
    if args.format is None:
        refuse({"--question": args.question}, "needs --format")
    elif args.out is None:
        raise ValueError(f"--format {args.format} needs a file to write: --out predictions.json")
    else:
        check_written(args.out, args.format)
    tables, prior = Tables(args, args.gold), numbers(args.prior)
    answer = consensus(tables.labels, args.method, gold=tables.gold(), prior=prior, key=args.seed)
    if args.out is not None:
        shown = write(answer, args.out, format=args.format, source=tables.opened, question=args.question)
        answer = answer if shown is None else answer.with_warnings((shown,))
    step = next_step(args, "", "find the labels that may be wrong", "clean")
    give(args, answer, step)


@command(
    "LABELS.csv", TABLE,
    models=option(f"Models, separated by commas.  [default: {', '.join(_MODELS)}]"),
    nuts=option("Sample by NUTS instead of tempering (many times slower).", False),
    warmup=option("Warm-up steps of each NUTS chain (500); implies --nuts.", kind=int),
    samples=option("Draws of each NUTS chain (500); implies --nuts.", kind=int),
)  # fmt: skip
def models(args: Any) -> None:
    """Compare annotation models, such as Dawid-Skene, by how well they predict held-out labels."""
    from jtruth.cli.reading import labels_of, with_notes
    from jtruth.comparison import STANDARD_MODELS, compare_models
    from jtruth.latent import NutsSettings, Progress

    names = STANDARD_MODELS if args.models is None else [n.strip() for n in args.models.split(",")]
    labels = labels_of(args)
    with progress("model", len(names)) as advance:
        warmup, samples = (500 if n is None else n for n in (args.warmup, args.samples))
        long = NutsSettings(num_warmup=warmup, num_samples=samples)
        nuts = args.nuts or args.warmup is not None or args.samples is not None
        settings = long._replace(progress=Progress(advance))
        answer = compare_models(labels, models=names, key=args.seed, settings=settings, nuts=nuts)
    best = f"--model {answer.names[0]}"
    step = next_step(args, best, "grade labelers by the first model", "labelers")
    give(args, with_notes(answer, labels.notes), step)
