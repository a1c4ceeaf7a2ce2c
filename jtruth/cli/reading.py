"""From what a person typed to labels, predictions, gold and noise models."""

from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from jtruth._validation import check_columns, quoted, with_tasks
from jtruth._validation.names import column_called
from jtruth._validation.text import TextTable
from jtruth._validation.words import Read
from jtruth.cli.options import Beside, Columns
from jtruth.io import Gold, Reading, Words, read_labels, read_noise, read_predictions, read_scores
from jtruth.io.exports import of_records
from jtruth.io.gold import INCLUSION, STRATUM, read_gold_sample
from jtruth.io.parsing import Parsed, as_table, parsed
from jtruth.io.reading import export_table
from jtruth.io.tables import probability_columns, task_table, tasks_by_group
from jtruth.io.vocabulary import typed_map
from jtruth.labels import Labels
from jtruth.noise import ConfusionMatrices, DifficultyFallibility, DrawnMatrices, NoiseModel, Symmetric

_STDIN = Path("-")
_COLUMN, _EXPORT = "column:", "export:"
UNUSED = "column {!r} of the gold has no say in this answer"


def table_of(path: Any, columns: Columns) -> TextTable:
    """A table beside the labels, read as was typed."""
    return as_table(path, columns.sep)._replace(decimal=columns.decimal)


class Given(NamedTuple):
    """The file of labels, and how it and the tables beside it are to be read."""

    file: Parsed
    columns: Columns
    beside: Beside = Beside()
    by: str | None = None  # the column of groups
    group_of: Mapping[str, tuple[str, str]] = {}  # group and item of every task


def begin(asked: Any, *others: Path | None, by: str | None = None) -> tuple[Given, Labels]:
    """The file of labels, read once, and its labels.

    Args:
        asked: a command that reads a `LabelsFile`.
        others: the files that it reads beside it.
        by: a column of groups: tasks that stand in several groups are a sample in each.
    """
    file, columns = asked.file, asked
    if [file, *others].count(_STDIN) > 1:
        raise ValueError("only one file can be '-': standard input is read once")
    beside = asked if isinstance(asked, Beside) else Beside()
    given = Given(parsed(file, columns.sep), columns, beside, by)
    if by is not None:
        if given.file.records is not None and of_records(given.file.records, given.file.source, None):
            why = "this is an export of an annotation tool, in which --by finds no column; save it as a table"
            raise ValueError(given.file.source.says(why))
        table, group_of = tasks_by_group(table_of(given.file, columns), columns.task, by)
        given = given._replace(file=Parsed(None, table, table.source), group_of=group_of)
        others = (*others, Path(f"{_COLUMN}{by}"))
    return given, labels_of(given.file, columns, others)


def groups_of(given: Given, labels: Labels, positive: int) -> Any:
    """The group and the item of each sample, as `Groups`; None without a column of groups."""
    if given.by is None:
        return None
    from jtruth.evaluation.by_group import Groups

    tasks = list(map(str, labels.task_names))
    lost = [task for task in tasks if task not in given.group_of]
    if lost:
        raise ValueError(
            f"the column {given.by!r} says no group of {quoted(lost, 3)}: groups are read from tables with a "
            "column of tasks; say which by --task"
        )
    both = [given.group_of[task] for task in tasks]
    group, item = (with_tasks(np.array(one), labels.tasks) for one in zip(*both, strict=True))
    return Groups(group, item, positive)


def labels_of(
    file: Path | Parsed,
    columns: Columns,
    beside: tuple[Path | None, ...] = (),
    classes: Sequence[str] | None = None,
) -> Labels:
    """The labels of a file; columns of it that are predictions or gold (`beside`) are no labelers.

    `classes` are known from elsewhere; what `--classes` says must be the same.
    """
    typed = None if columns.classes is None else [name.strip() for name in columns.classes.split(",")]
    if classes is not None and typed is not None and list(classes) != typed:
        names = ", ".join(classes)
        raise ValueError(f"--classes {columns.classes}: the state has {names}; leave --classes out")
    classes = typed if classes is None else classes
    leave_out = tuple(name for path in beside if (name := column_of(path)) is not None)
    return read_labels(
        file, task=columns.task, worker=columns.worker, label=columns.label, sep=columns.sep,
        classes=classes, repeats=columns.repeats, missing=columns.missing,
        abstain=columns.abstain.split(",") if columns.abstain else (),
        how=Reading(columns.wide, leave_out, words_of(columns)),
    )  # fmt: skip


def words_of(columns: Columns) -> Words:
    """What labels mean, as far as that was said."""
    return Words(None if columns.map is None else typed_map(columns.map), columns.pass_at).with_silent(())


def column_of(path: Path | None) -> str | None:
    """The name in column:NAME or export:NAME; None for a file."""
    begin, _, name = str(path).partition(":")
    return name if f"{begin}:" in (_COLUMN, _EXPORT) else None


def gold_of(path: Path | None, labels: Labels, given: Given, common_only: bool = False) -> np.ndarray | None:
    """Class codes known to be true, -1 elsewhere; None without a file. How gold was chosen has no say."""
    found = gold_sample_of(path, labels, given, common_only)
    if found is None:
        return None
    ways = {INCLUSION: found.inclusion, STRATUM: found.strata}
    unused = tuple(UNUSED.format(name) for name, column in ways.items() if column is not None)
    return with_tasks(found.classes, labels.tasks, (*getattr(found.classes, "notes", ()), *unused))


def gold_sample_of(path: Path | None, labels: Labels, given: Given, common_only: bool = False) -> Gold | None:
    """Gold, and how it was chosen if the table has a column inclusion or stratum; None without a file."""
    if path is None:
        return None
    table, options = _beside(path, given, "gold", labels)
    return read_gold_sample(table, labels, common_only=common_only, **options)


def known(asked: Any, given: Given, labels: Labels, inclusion: Path | None = None) -> dict[str, Any]:
    """What a question takes beside labels and predictions; the command has options of these names."""
    noise, prior = noise_of(asked.noise, labels)
    gold = gold_sample_of(asked.gold, labels, given, asked.common_only)
    return {
        "noise": noise, "prior": prior if asked.prior is None else numbers(asked.prior),
        "gold": sampled(inclusion, gold, labels), "assume": asked.assume, "labelers_are": asked.labelers_are,
        "level": asked.level, "key": asked.seed,
    }  # fmt: skip


def predictions_of(
    path: Path, labels: Labels, given: Given, common_only: bool
) -> tuple[np.ndarray, Labels, tuple[str, ...]]:
    """(y_pred, labels to judge it by, notes) of a file or column of predictions."""
    table, options = _beside(path, given, "pred", labels)
    read = read_predictions(table, labels, common_only=common_only, **options)
    chosen = labels if read.samples.size == labels.num_samples else labels.restrict(read.samples)
    return read.y_pred, chosen, read.notes


def scores_of(
    path: Path, labels: Labels, given: Given, common_only: bool
) -> tuple[np.ndarray, Labels, tuple[str, ...]]:
    """(scores, labels to judge them by, notes) of a file of predictions: its score, or its probabilities.

    Scores are (samples,) of a column score, or (samples, classes) of a probability for each class.
    """
    table, options = _scored(path, given)
    read = read_scores(table, labels, common_only=common_only, **options)
    either = (read.scores, read.probabilities)
    scores = next((s for s in (either[::-1] if labels.num_classes > 2 else either) if s is not None), None)
    if scores is None:
        names = ", ".join(map(str, labels.class_names))
        raise ValueError(f"{path}: there is no column 'score' to grade, nor one for each class ({names})")
    chosen = labels if read.samples.size == labels.num_samples else labels.restrict(read.samples)
    return scores, chosen, read.notes


def rivals_of(
    files: Sequence[Path], labels: Labels, given: Given, common_only: bool
) -> tuple[dict[str, np.ndarray], Labels, tuple[str, ...]]:
    """(predictions by name of the file, labels to judge them by, notes) of several files of predictions."""
    names = [column_of(file) or file.name.removesuffix(".gz").rsplit(".", 1)[0] for file in files]
    twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if twice is not None:
        raise ValueError(f"two classifiers are called {twice!r}: the name of the file is the classifier's")
    tables = [_beside(file, given, "pred", labels) for file in files]
    read = [read_predictions(one, labels, common_only=common_only, **options) for one, options in tables]
    notes = tuple(note for one in read for note in one.notes)
    common = reduce(np.intersect1d, [one.samples for one in read])
    if not common.size:
        raise ValueError("no task has a prediction of every classifier")
    kept = {
        name: one.y_pred if one.samples.size == common.size else one.y_pred[np.isin(one.samples, common)]
        for name, one in zip(names, read, strict=True)
    }
    if common.size == labels.num_samples:
        return kept, labels, notes
    chosen = labels.restrict(common)
    return {name: with_tasks(np.asarray(y), chosen.tasks) for name, y in kept.items()}, chosen, notes


def order_of(name: str, given: Given, labels: Labels) -> np.ndarray:
    """When each sample was labelled, from a column of numbers."""
    table = task_table(given.file, given.columns.task, name, sep=given.columns.sep)
    return _number_each(dict(zip(*table.columns, strict=True)), labels, f"--order {name}")


def sampled(inclusion: Path | None, gold: Gold | None, labels: Labels) -> Gold | None:
    """Gold with the chances by a table of all tasks, where its own columns do not say them."""
    if inclusion is None:
        return gold
    if gold is None:
        gold = Gold(np.full(labels.num_samples, -1, np.int32))
    if gold.inclusion is not None:
        why = "the chances are said twice: leave --inclusion out, or the column 'inclusion' of --gold"
        raise ValueError(why)
    return gold._replace(inclusion=inclusion_of(inclusion, labels))


def inclusion_of(path: Path, labels: Labels) -> np.ndarray:
    """Each sample's chance to be among the gold, from a table task, inclusion."""
    given = as_table(path).pick({"task": "task", "inclusion": "inclusion"})
    return _number_each(dict(zip(*given, strict=True)), labels, f"--inclusion {path.name}")


def _number_each(found: dict[str, str], labels: Labels, what: str) -> np.ndarray:
    """A number for each sample, by task."""
    tasks = list(map(str, labels.task_names))
    numbers = np.empty(len(tasks))
    for k, task in enumerate(tasks):
        try:
            numbers[k] = float(found.get(task, ""))
        except ValueError:
            text = repr(found[task]) if task in found else "nothing"
            raise ValueError(f"{what}: task {task!r} has {text}; a number is needed for each task") from None
    return with_tasks(numbers, labels.tasks)


def _beside(
    path: Path, given: Given, kind: Literal["pred", "gold"], labels: Labels
) -> tuple[Any, dict[str, Any]]:
    """A table with a row for each task, and how to read it.

    Of two columns that which is not the tasks' holds the classes, whatever its name (but a score or the
    chance to be gold is no class). Predictions may be probabilities of each class, without such a column.
    """
    columns, options = given.columns, {"words": words_of(given.columns)}
    table = _inside(path, given)
    if table is not None:
        return table, options | {"task": table.header[0], "label": table.header[1]}
    own = {role: getattr(given.beside, f"{kind}_{role}") for role in ("task", "label")}
    wanted = {"task": own["task"] or columns.task, "label": own["label"] or columns.label}
    table = table_of(path, columns)
    if own["task"] is None and wanted["task"] == "task":
        wanted["task"] = column_called("task", table.header) or "task"  # ids must agree
    if given.by in table.header:
        table, _ = tasks_by_group(table, wanted["task"], str(given.by))
    others = [one for one in table.header if one not in (wanted["task"], "score", INCLUSION, STRATUM)]
    if own["label"] is None and len(table.header) == 2 and len(others) == 1:
        wanted["label"] = others[0]
    elif own["label"] is None and wanted["label"] == "label":
        wanted["label"] = column_called("label", others) or "label"
    no_label = kind == "pred" and own["label"] is None and wanted["label"] not in table.header
    if no_label and probability_columns(table.header, labels) is not None:
        del wanted["label"]
    elif no_label and "score" in table.header:
        raise ValueError(
            f"{path}: scores, but no column {wanted['label']!r} of predicted classes. Grade the scores by "
            "--scores, or say by --pred-label which column holds the classes"
        )
    check_columns(table.header, wanted, table.source, option=f"--{kind}-")
    return table, options | wanted


def _scored(path: Path, given: Given) -> tuple[Any, dict[str, Any]]:
    """A table of scores or probabilities, and how to read it: no column of classes is needed."""
    table = _inside(path, given)
    if table is not None:
        return table, {"task": table.header[0], "score": table.header[1]}
    table, task = table_of(path, given.columns), given.beside.pred_task or given.columns.task
    wanted = {"task": (column_called("task", table.header) or "task") if task == "task" else task}
    check_columns(table.header, wanted, table.source, option="--pred-")
    return table, wanted


def _inside(path: Path, given: Given) -> TextTable | None:
    """The table of column:NAME, or of export:NAME, both in the file of labels; None for a file."""
    columns, name = given.columns, column_of(path)
    if name is None:
        return None
    if str(path).startswith(_EXPORT):
        return export_table(given.file, name, label=columns.label)
    return task_table(table_of(given.file, columns), columns.task, name)


def rater_of(worker: str, labels: Labels) -> tuple[np.ndarray, Labels, tuple[str, ...]]:
    """(y_pred, labels to judge it by, notes) of one labeler, to be graded by the others."""
    split = labels.split_rater(worker)
    if not len(split.alone):
        return split.y_pred, split.labels, ()
    note = f"{len(split.alone)} samples that only {worker!r} labelled say nothing of its errors; left out"
    return split.y_pred, split.labels, (note,)


def noise_of(file: Path | None, labels: Labels) -> tuple[NoiseModel | None, np.ndarray | None]:
    """(noise model, prior) of a JSON file of known error rates."""
    if file is None:
        return None, None
    given = read_noise(file, labels)
    prior = given.get("prior")
    if "model" in given:
        return NoiseModel.from_dict({k: v for k, v in given.items() if k != "prior"}), prior
    if "draws" in given:
        shares, matrices = given["draws"]
        return DrawnMatrices(matrices, shares), None
    if "confusion_matrices" in given:
        return ConfusionMatrices(given["confusion_matrices"]), prior
    if "symmetric" in given:
        return Symmetric(given["symmetric"], labels.num_classes), prior
    return DifficultyFallibility(given["difficulty"], given["fallibility"], labels.num_classes), prior


def numbers(text: str | None) -> list[float] | None:
    """A class prior as it is typed: .8,.2."""
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--prior {text!r}: give one number for each class, such as .8,.2") from None


def with_notes(found: Any, notes: Sequence[str]) -> Any:
    """An answer with what was said when its tables were read, before its own warnings."""
    return found.with_warnings(map(Read, notes))


def class_code(name: str | None, labels: Labels | None) -> int:
    """Code of the positive class: by name, by number where there are no labels; class 1 if not said."""
    if name is None:
        return 1
    if labels is not None:
        return labels.class_code(name)
    if not (name.isascii() and name.isdigit()):
        raise ValueError(f"--positive {name!r}: without a file of labels classes are numbers, 0, 1, ...")
    return int(name)
