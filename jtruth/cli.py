"""The command line: `jtruth inspect`, `jtruth evaluate`, `jtruth labelers` and `jtruth plan`.

Exit codes: 0 done, 2 input that cannot be used (one readable line, no traceback), 1 anything else.
"""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import jax
import typer
from tqdm import tqdm

from jtruth._cache import use_compilation_cache
from jtruth.evaluation import evaluate as evaluate_classifier
from jtruth.evaluation import evaluate_labelers
from jtruth.inspection import inspect_file, inspect_labels
from jtruth.io import read_gold, read_labels, read_noise, read_predictions
from jtruth.labels import Labels
from jtruth.noise import ConfusionMatrices, DifficultyFallibility, Symmetric
from jtruth.planning.requests import plan_request
from jtruth.planning.text import search_dict

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="How good are your classifier, your labelers and your labels, when nobody knows the true labels?",
)

LabelsFile = Annotated[
    Path, typer.Argument(metavar="LABELS.csv", help="Table with columns task, worker, label.")
]
Task = Annotated[str, typer.Option("--task", help="Name of the column of task ids.")]
Worker = Annotated[str, typer.Option("--worker", help="Name of the column of worker ids.")]
Label = Annotated[str, typer.Option("--label", help="Name of the column of labels.")]
Sep = Annotated[str | None, typer.Option("--sep", help="Separator; a comma (tab in .tsv) by default.")]
Classes = Annotated[str | None, typer.Option("--classes", help="Class names in order, comma separated.")]
Repeats = Annotated[
    str, typer.Option("--repeats", help="A worker labels a task again: error, keep, first, last.")
]
Missing = Annotated[str, typer.Option("--missing", help="Rows without a label: error or drop.")]
Json = Annotated[Path | None, typer.Option("--json", help="Also write the answer as JSON to this file.")]


def _read(path: Path, task: str, worker: str, label: str, sep, classes, repeats: str, missing: str) -> Labels:
    names = None if classes is None else [name.strip() for name in classes.split(",")]
    return read_labels(
        path, task=task, worker=worker, label=label, sep=sep, classes=names, repeats=repeats, missing=missing
    )


def _write_json(path: Path | None, answer: dict[str, Any]) -> None:
    if path is not None:
        path.write_text(json.dumps(answer, indent=1, allow_nan=False) + "\n", encoding="utf-8")


@app.command()
def inspect(
    file: LabelsFile,
    task: Task = "task",
    worker: Worker = "worker",
    label: Label = "label",
    sep: Sep = None,
    classes: Classes = None,
    repeats: Repeats = "keep",
    missing: Missing = "drop",
    json_file: Json = None,
) -> None:
    """Say what a label file looks like, what can be estimated from it, and what is suspicious."""
    look = inspect_file(file, sep=sep)
    if not {task, worker, label} <= {column.name for column in look.columns}:
        typer.echo(str(look))
        _write_json(json_file, look.to_dict())
        return
    labels = _read(file, task, worker, label, sep, classes, repeats, missing)
    found = inspect_labels(labels, file=str(file))
    typer.echo(str(found))
    _write_json(json_file, found.to_dict())


@app.command()
def evaluate(
    file: LabelsFile,
    predictions: Annotated[
        Path | None,
        typer.Option("--predictions", help="Table with columns task, label: the classifier to grade."),
    ] = None,
    rater: Annotated[
        str | None, typer.Option("--rater", help="Grade this worker against the others instead.")
    ] = None,
    gold: Annotated[
        Path | None, typer.Option("--gold", help="Table task, label of labels known to be true.")
    ] = None,
    noise: Annotated[Path | None, typer.Option("--noise", help="JSON file with known error rates.")] = None,
    prior: Annotated[str | None, typer.Option("--prior", help="Class prior, for example .8,.2")] = None,
    assume: Annotated[
        str | None, typer.Option("--assume", help="unknown (default), independent, shared_difficulty.")
    ] = None,
    method: Annotated[str, typer.Option("--method", help="bayes, empirical_bayes, sampling, ...")] = "bayes",
    positive: Annotated[str | None, typer.Option("--positive", help="Name of the positive class.")] = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="A sensitivity range of fewer assumptions, sooner.")
    ] = False,
    level: Annotated[float, typer.Option("--level", help="Probability of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option("--seed", help="Seed of whatever is drawn at random.")] = 0,
    common_only: Annotated[
        bool, typer.Option("--common-only", help="Use only tasks with labels and a prediction.")
    ] = False,
    task: Task = "task",
    worker: Worker = "worker",
    label: Label = "label",
    sep: Sep = None,
    classes: Classes = None,
    repeats: Repeats = "error",
    missing: Missing = "error",
    json_file: Json = None,
    cache: Annotated[
        Path | None,
        typer.Option("--compilation-cache", help="Folder that keeps compiled programs between runs."),
    ] = None,
) -> None:
    """Grade a classifier (or one labeler) with noisy labels: no label is taken as true."""
    if (predictions is None) == (rater is None):
        raise ValueError("say what to grade: either --predictions PRED.csv or --rater WORKER")
    _use_cache(cache)
    with _progress("sweeps") as bar:
        labels = _read(file, task, worker, label, sep, classes, repeats, missing)
        y_pred, labels, notes = _what_to_grade(labels, predictions, rater, task, label, common_only)
        known = (
            None if gold is None else read_gold(gold, labels, task=task, label=label, common_only=common_only)
        )
        model, given_prior = _noise(noise, labels)
        if prior is not None:
            given_prior = _numbers(prior)
        result = evaluate_classifier(
            y_pred,
            labels,
            noise=model,
            prior=given_prior,
            gold=known,
            assume=assume,
            method=method,
            fast=fast,
            positive=_positive(positive, labels),
            level=level,
            key=jax.random.key(seed),
            progress=lambda done, planned: _advance(bar, done, planned),
        )
    result = result.with_warnings(notes)
    typer.echo(str(result))
    typer.echo(f"\nnext: {_next(file, predictions, rater, result.interval_kind)}")
    _write_json(json_file, result.to_dict())


def _next(file: Path, predictions: Path | None, rater: str | None, kind: str) -> str:
    """The command worth running next: gold where only gold helps, else a look at the labels."""
    if kind != "sensitivity range":
        return f"jtruth inspect {file}   (what the labels look like, and what is suspicious)"
    what = f"--rater {rater}" if predictions is None else f"--predictions {predictions}"
    return f"jtruth evaluate {file} {what} --gold GOLD.csv   (task,label: the truth of 30 random samples)"


def _progress(unit: str) -> Any:
    """A bar on stderr that appears after a second."""
    return tqdm(desc=unit, delay=1.0, leave=False, disable=None, file=sys.stderr)


def _advance(bar: tqdm, done: int, planned: int) -> None:
    bar.total = planned
    bar.update(done - bar.n)


@app.command()
def labelers(
    file: LabelsFile,
    gold: Annotated[
        Path | None, typer.Option("--gold", help="Table task, label of labels known to be true.")
    ] = None,
    level: Annotated[float, typer.Option("--level", help="Probability of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the sampler.")] = 0,
    task: Task = "task",
    worker: Worker = "worker",
    label: Label = "label",
    sep: Sep = None,
    classes: Classes = None,
    repeats: Repeats = "error",
    missing: Missing = "error",
    json_file: Json = None,
) -> None:
    """Each labeler's accuracy and confusion matrix with intervals, worst first."""
    with _progress("sweeps") as bar:
        labels = _read(file, task, worker, label, sep, classes, repeats, missing)
        known = None if gold is None else read_gold(gold, labels, task=task, label=label)
        report = evaluate_labelers(
            labels, gold=known, level=level, key=jax.random.key(seed),
            progress=lambda done, planned: _advance(bar, done, planned),
        )  # fmt: skip
    typer.echo(str(report))
    _write_json(json_file, report.to_dict())


@app.command()
def plan(
    file: Annotated[
        Path | None, typer.Argument(metavar="[LABELS.csv]", help="Labels to learn the labelers from.")
    ] = None,
    width: Annotated[float | None, typer.Option("--width", help="How wide the interval may be.")] = None,
    budget: Annotated[float | None, typer.Option("--budget", help="Or: what may be spent.")] = None,
    metric: Annotated[
        str, typer.Option("--metric", help="accuracy, precision, recall, f1, ...")
    ] = "accuracy",
    prior: Annotated[str | None, typer.Option("--prior", help="Class prior, for example .8,.2")] = None,
    classifier: Annotated[
        str, typer.Option("--classifier", help="Guessed accuracy, .9; or detection and false alarms, .85,.1")
    ] = "0.9",
    labeler: Annotated[
        list[str] | None,
        typer.Option("--labeler", help="name:error:cost[:people]; again for every kind. File: name::cost."),
    ] = None,
    cost_label: Annotated[float, typer.Option("--cost-label", help="Of a label by the file's people.")] = 1.0,
    cost_sample: Annotated[float, typer.Option("--cost-sample", help="Of a sample without labels.")] = 0.0,
    cost_gold: Annotated[
        float, typer.Option("--cost-gold", help="Of a gold answer; no gold if unset.")
    ] = float("inf"),
    samples: Annotated[int | None, typer.Option("--samples", help="Fix the number of samples.")] = None,
    max_samples: Annotated[int, typer.Option("--max-samples", help="How many there are.")] = 100_000,
    sets: Annotated[int | None, typer.Option("--sets", help="Data sets that a plan is simulated in.")] = None,
    rates: Annotated[
        str, typer.Option("--rates", help="learned (from the same labels, default) or known error rates.")
    ] = "learned",
    target: Annotated[
        str, typer.Option("--target", help="population, or in-sample (--samples).")
    ] = "population",
    positive: Annotated[str | None, typer.Option("--positive", help="Name of the positive class.")] = None,
    level: Annotated[float, typer.Option("--level", help="Probability of the interval.")] = 0.95,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the simulation.")] = 0,
    task: Task = "task",
    worker: Worker = "worker",
    label: Label = "label",
    sep: Sep = None,
    classes: Classes = None,
    repeats: Repeats = "error",
    missing: Missing = "error",
    json_file: Json = None,
) -> None:
    """The cheapest number of samples, labels and gold answers for an interval of a given width."""
    labels = None if file is None else _read(file, task, worker, label, sep, classes, repeats, missing)
    code = 1 if positive is None else _class_code(positive, labels)
    with _progress("sets") as bar:
        found = plan_request(
            key=jax.random.key(seed), width=width, budget=budget, labels=labels, labelers=labeler or (),
            prior=None if prior is None else _numbers(prior), classifier=classifier, metric=metric,
            cost_label=cost_label, cost_sample=cost_sample, cost_gold=cost_gold, rates=rates, target=target,
            num_samples=samples, max_samples=max_samples, num_sets=sets, positive=code, level=level,
            progress=lambda done, planned: _advance(bar, done, planned),
        )  # fmt: skip
    typer.echo(str(found))
    _write_json(json_file, search_dict(found))


def _class_code(name: str, labels: Labels | None) -> int:
    """Code of a class by its name in the labels, or by its number where there are none."""
    if labels is not None:
        return labels.class_code(name)
    if not name.isdigit():
        raise ValueError(f"--positive {name!r}: without a file of labels classes are numbers, 0, 1, ...")
    return int(name)


def _use_cache(folder: Path | None) -> None:
    if folder is not None:
        use_compilation_cache(folder)


def _what_to_grade(
    labels: Labels, predictions: Path | None, rater: str | None, task: str, label: str, common: bool
):
    """(y_pred, labels to judge it by, notes)."""
    if predictions is not None:
        read = read_predictions(predictions, labels, task=task, label=label, common_only=common)
        chosen = labels if read.samples.size == labels.num_samples else labels.restrict(read.samples)
        return read.y_pred, chosen, read.notes
    split = labels.split_rater(rater)
    notes: tuple[str, ...] = ()
    if len(split.alone):
        notes = (
            f"{len(split.alone)} samples that only {rater!r} labelled say nothing of its errors; left out",
        )
    return split.y_pred, split.labels, notes


def _noise(path: Path | None, labels: Labels):
    """(noise model, prior) of a JSON file of known error rates."""
    if path is None:
        return None, None
    given = read_noise(path, labels)
    prior = given.get("prior")
    if "confusion_matrices" in given:
        return ConfusionMatrices(given["confusion_matrices"]), prior
    if "symmetric" in given:
        return Symmetric(given["symmetric"], labels.num_classes), prior
    return DifficultyFallibility(given["difficulty"], given["fallibility"], labels.num_classes), prior


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--prior {text!r}: give one number for each class, such as .8,.2") from None


def _positive(name: str | None, labels: Labels) -> int:
    """Code of the positive class: by name; class 1 if not said."""
    return 1 if name is None else labels.class_code(name)


def main() -> None:
    """Entry point of the console script."""
    try:
        app(standalone_mode=True)
    except (ValueError, OSError) as error:
        print(f"jtruth: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
