"""Tables with one row for each sample beside labels: predictions, scores, gold, numbers.

Task ids connect the files. They are compared as text, so labels built in Python with tasks 1, 2, 3 meet the
ids "1", "2", "3" of a file; where labels have no ids, the number of the sample is its id. Predictions and
gold may also be a column of the file of labels (`jtruth.io.apply.beside`).
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth import _validation as check
from jtruth._one_line import one_line
from jtruth._validation.coded import different
from jtruth._validation.text import TextTable
from jtruth._validation.words import LOOK, column_called, number_in, number_of
from jtruth.io.cells import in_words
from jtruth.io.columns import role_of
from jtruth.io.parsing import as_table
from jtruth.io.plan import FilePlan
from jtruth.labels import Labels

_MOST_CONTRADICT, _LEAST_ROWS, _LEAST_EACH = 0.5, 20, 5  # rows whose class is not the most probable one
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?")  # or decimals: 1,234
_ROUNDING = 1e-6  # probabilities summing to 1 this closely are float32 arithmetic
_PLAN = FilePlan()
_ROUNDED_TEXT = 1e-2  # ... and this closely they were rounded when written: rescaled, with a note


class Predictions(NamedTuple):
    """What a classifier says of the samples that it covers; entry k is for sample `samples[k]`."""

    samples: Int[np.ndarray, " covered"]  # increasing; all samples unless only common tasks were asked for
    scores: Float[np.ndarray, " covered"] | None
    probabilities: Float[np.ndarray, "covered classes"] | None
    notes: tuple  # sentences: what was left out
    y_pred: Any = None  # (covered,) class codes; None of `read_scores`, which reads none

    __repr__ = one_line


def read_scores(
    path: Any,
    labels: Labels,
    *,
    task: str = "task",
    score: str | None = None,
    common_only: bool | None = False,
    sep: str | None = None,
) -> Predictions:
    """Scores and class probabilities alone: arguments and errors of `read_predictions`, no classes read.

    `common_only` is None where every sample needs its row, so that errors do not offer it.
    """
    return _scores(as_table(path, sep), labels, task, score, common_only)[0]


def read_predictions(
    path: Any,
    labels: Labels,
    *,
    task: str = "task",
    label: str | None = None,
    score: str | None = None,
    common_only: bool = False,
    sep: str | None = None,
    plan: FilePlan = _PLAN,
) -> Predictions:
    """Predictions of one classifier, in the order of the samples of `labels`.

    Args:
        path: a text table with one row per task.
        labels: the labels they are to be compared with; these define tasks and classes.
        task: column of task ids.
        label: column of predicted classes; by default "label", and where there is none but a probability
            for each class, the most probable class.
        score: column of scores; "score" is used if there is such a column.
        common_only: use the tasks that have labels and a prediction, and say in `notes` what was left out.
            By default any difference is an error.
        sep: separator, a comma (in .tsv files a tab) unless given.
        plan: what labels mean, as for the labels themselves.

    Probabilities are read if there is one column for each class, called by the name of the class, or by
    p_ or prob_ and the name.

    Raises:
        ValueError: naming the file and the first lines that cannot be used, and what to do.
    """
    table = as_table(path, sep)
    task, column = usual_columns(table, task, label, "prediction")
    if label is None:
        one_column(table, column, "prediction", labels)
    if label is None and column not in table.header and probability_columns(table.header, labels):
        read, rows = _scores(table, labels, task, score, common_only)
        y_pred, remarks = _most_probable(np.asarray(read.probabilities), rows, table.source)
    else:
        codes, remarks = class_codes(table, task, column, labels, plan)
        read, rows = _scores(table, labels, task, score, common_only, label=column)
        y_pred = codes[rows]
        remarks += _against_probabilities(table, column, y_pred, read.probabilities)
    number = np.bincount(y_pred, minlength=labels.num_classes)
    names = labels.class_names
    unused = check.unused(number, names, "class is never predicted", "classes are never predicted")
    if plan.pass_at is not None and number.max() == y_pred.size > 1:
        name = labels.class_names[y_pred[0]]
        text = f"every prediction is {name!r} after the cut at {plan.pass_at}: do the scales differ?"
        unused = (LOOK + table.source.says(text),)
    notes = read.notes + remarks + unused
    y_pred = check.with_tasks(y_pred, _tasks_of(labels, read.samples), notes)
    return read._replace(notes=notes, y_pred=y_pred)


def _scores(
    table: TextTable,
    labels: Labels,
    task: str,
    score: str | None,
    common_only: bool | None,
    label: str = "label",
) -> tuple[Predictions, np.ndarray]:
    """What `read_scores` says, and the row of the table that each entry is of."""
    score = "score" if score is None and "score" in table.header else score
    scores, counted = None if score is None else numbers(table, score), ()
    steps = np.diff([] if scores is None else scores)
    if steps.size >= _LEAST_ROWS and steps[0] and np.ptp(steps) <= 1e-9 * abs(steps[0]):
        text = f"column {score!r} numbers the rows, so it ranks well only where rows are sorted"
        counted = (LOOK + table.source.says(f"{text}. Give the scores."),)
    probabilities, rounded = _probabilities(table, labels, taken=(task, label, score))
    rows, samples, notes = align_rows(table, task, labels, common_only, complete=True)
    notes, p = notes + rounded + counted, None if probabilities is None else probabilities[rows]
    if scores is not None:
        scores = check.with_tasks(scores[rows], _tasks_of(labels, samples), notes)
    return Predictions(samples, scores, p, notes), rows


def _tasks_of(labels: Labels, samples: np.ndarray) -> tuple | None:
    return None if labels.tasks is None else tuple(labels.tasks[i] for i in samples)


def _most_probable(
    p: Float[np.ndarray, "covered classes"], rows: np.ndarray, source: check.Source
) -> tuple[np.ndarray, tuple[str, ...]]:
    """The class of the greatest probability, and the sentence that it was taken; ties are refused."""
    tied = np.flatnonzero((p == p.max(axis=1, keepdims=True)).sum(axis=1) > 1)
    if tied.size:
        text = "no class is the most probable one. Give a column 'label' with the predicted classes."
        raise ValueError(f"{source.at(rows[tied])}: {text}")
    note = "There is no column 'label', so the most probable class is the prediction."
    return p.argmax(axis=1), (source.says(note),)


def _against_probabilities(
    table: TextTable, label: str, y_pred: np.ndarray, probabilities: np.ndarray | None
) -> tuple[str, ...]:
    """Said of predicted classes that are not the most probable ones in most rows.

    A threshold for a rare class moves rows one way only; the alarm needs rows of two classes that were moved.
    """
    if probabilities is None or len(y_pred) < _LEAST_ROWS:
        return ()
    best = probabilities.argmax(axis=1)
    differ = (best != y_pred) & (probabilities[np.arange(len(best)), y_pred] < probabilities.max(axis=1))
    ways = np.bincount(best[differ], minlength=probabilities.shape[1])
    if differ.mean() <= _MOST_CONTRADICT or (ways >= _LEAST_EACH).sum() < 2:
        return ()
    text = (
        f"column {label!r} is not the most probable class in {int(differ.sum())} of {len(best)} rows: do the "
        "columns of probabilities have the right names? Correct them, or the column of classes."
    )
    return (LOOK + table.source.says(text),)


def class_codes(
    table: TextTable, task: str, label: str, labels: Labels, plan: FilePlan
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Codes of the label column of a table with one row per task, and how its words were read."""
    _, values = table.pick({"task": task, "label": label})
    names = tuple(map(str, labels.class_names))
    coded = "classes" not in labels.inferred
    try:
        values, remarks = in_words(values, plan, table.source, known=names)
    except ValueError as problem:
        raise ValueError(f"column {label!r}: {problem}") from None
    codes = check.class_codes(
        values, names, table.source, coded=coded, if_missing="Leave such rows out.", what="label "
    )
    return codes, remarks


def only_rows(table: TextTable, kept: list[int]) -> TextTable:
    """These rows, which keep their line numbers."""
    columns = tuple([column[k] for k in kept] for column in map(list, table.columns))
    return table._replace(columns=columns, source=table.source.only(kept))


def align_rows(
    table: TextTable, task: str, labels: Labels, common_only: bool | None, complete: bool
) -> tuple[np.ndarray, np.ndarray, tuple]:
    """Rows of the table in the order of the samples they belong to, those samples, and notes.

    `common_only` is None where every sample needs its row, so that there is no such choice.
    """
    (ids,) = table.pick({"task": task})
    check.encode_ids(ids, "task", None, table.source)  # for its checks
    tasks = list(map(str, labels.task_names))
    options = {"noun": "row", "hint": f"; the columns are {check.quoted(table.header, 12)}"}
    rows, samples, problems = check.match_ids(ids, tasks, table.source, complete=complete, **options)
    if not problems:
        return rows, samples, ()
    text = table.source.says("; ".join(problems))
    if not rows.size:
        advice = f"No task is in both: do the ids agree? Labels have {check.quoted(tasks, 3)}."
    elif common_only:
        return (
            rows,
            samples,
            (f"{text}; the {number_of(rows.size, 'common task is', 'common tasks are')} used.",),
        )
    elif common_only is None:
        advice = "Every task needs its row here: correct the ids, or add and remove rows."
    else:
        advice = f"Correct the ids, or set common_only=True to use the {number_of(rows.size, 'common task')}."
    raise ValueError(f"{text}. {advice}")


def by_sample(values: Any, samples: np.ndarray, labels: Labels, fill: Any, notes: tuple = ()) -> np.ndarray:
    """An array in the order of the samples of `labels`, of values for some of them; `fill` elsewhere."""
    found = np.full(labels.num_samples, fill, np.asarray(values).dtype)
    found[samples] = values
    return check.with_tasks(found, labels.tasks, notes)


def usual_columns(table: TextTable, task: str, label: str | None, role: str) -> tuple[str, str]:
    """Columns of tasks and classes beside labels: as asked for, by their names, or what is left."""
    if task not in table.header:
        task = column_called("task", table.header) or task
    others = [name for name in table.header if name != task]
    if label is not None or "label" in others:
        return task, label or "label"
    called = [name for name in others if role_of(name) == role]
    called = [name for name in called if "pred" in name.casefold()] or called  # "prediction" beside "model"
    named = column_called("label", others) or (called[0] if called else None)
    return task, named or (others[0] if len(others) == 1 and others != ["score"] else "label")


def per_sample(table: TextTable, labels: Labels, values: np.ndarray, fill: Any) -> np.ndarray:
    """The same of values in the rows of a table with a column `task`."""
    rows, samples, _ = align_rows(table, "task", labels, True, complete=False)
    return by_sample(values[rows], samples, labels, fill)


def numbers(table: TextTable, name: str) -> np.ndarray:
    """A column of finite numbers, float64; commas in them stand before decimals or between thousands."""
    (column,) = table.pick({name: name})
    mark = table.decimal or _decimal_of(different(column))
    points = any("." in text and "," in text for text in different(column))  # 1.234,5 beside 1.234
    plain = {}
    for text in different(column):
        other = text.translate({44: ".", 46: ","}) if mark == "," else text
        other = other if "," in text or (points and _THOUSANDS.fullmatch(other)) else text
        plain[text] = other.replace(",", "") if mark and _THOUSANDS.fullmatch(other) else other
    values = np.array([number_in(plain[text]) for text in column])
    bad = np.flatnonzero(~np.isfinite(values))
    if not bad.size:
        return values
    text, hint = column[int(bad[0])], "If the comma is a decimal mark, add --decimal ,"
    where = table.source.entry(bad, f"{name} ", text)
    if not mark and _THOUSANDS.fullmatch(text):
        meant, how = text.replace(",", "."), "and if it separates thousands, add --decimal ."
        raise ValueError(f"{where} {text.replace(',', '')} or {meant}. {hint} {how}")
    raise ValueError(f"{where} not a finite number.{f' {hint}.' if ',' in text and mark == '.' else ''}")


def _decimal_of(texts: Sequence[str]) -> str:
    """A comma where numbers have commas before their decimals, a point otherwise; "" where it is unclear.

    Commas that three digits follow stand between thousands beside points, or whole numbers of 10 to 999.
    """
    commas = [text for text in texts if "," in text]
    if not commas or any("." in text for text in texts):
        last = {text.rfind(",") > text.rfind(".") for text in commas if "." in text}
        return "," if last == {True} else "."
    if not all(map(_THOUSANDS.fullmatch, commas)):
        return ","
    whole = {len(text.lstrip("+-")) for text in texts if text.lstrip("+-").isdecimal()}
    return "." if max(whole, default=0) in (2, 3) or any(text.count(",") > 1 for text in commas) else ""


def probability_columns(header: Iterable[str], labels: Labels) -> tuple[str, list[str]] | None:
    """(prefix, columns) of a probability for each class where at least one of them is there; else None."""
    found = set(header)
    for prefix in ("", "p_", "prob_"):
        names = [prefix + name for name in labels.class_names]
        if found.intersection(names):
            return prefix, names
    return None


def _probabilities(table: TextTable, labels: Labels, taken: tuple) -> tuple[np.ndarray | None, tuple]:
    """(rows, classes) probabilities if the table has a column for each class, and notes."""
    header = set(table.header) - set(taken)
    columns = probability_columns(header, labels)
    if columns is None:
        return None, ()
    prefix, names = columns
    there = next(name for name in names if name in header)
    if absent := [name for name in names if name not in header]:
        text = f"there is a column {there!r} but none for {check.quoted(absent)}."
        raise ValueError(table.source.says(text))
    foreign = sorted(name for name in header if prefix and name.startswith(prefix) and name not in names)
    if foreign:
        text = (
            f"{check.quoted(foreign)} beside {there!r} would belong to a class that does not exist; the "
            f"classes are {check.quoted(labels.class_names)}. Rename or remove such columns."
        )
        raise ValueError(table.source.says(text))
    p = np.stack([numbers(table, name) for name in names], axis=1)
    outside = np.flatnonzero(((p < 0) | (p > 1)).any(axis=1))
    if outside.size:
        value = p[outside[0]].tolist()
        raise ValueError(f"{table.source.at(outside)}: probabilities must lie in [0, 1]; got {value}.")
    off = np.abs(p.sum(axis=1) - 1)
    wrong = np.flatnonzero(off > _ROUNDED_TEXT)
    if wrong.size:
        rest = [name for name in table.header if name not in (*taken, *names)]
        rest = [n for n in rest if all(0 <= number_in(v) <= 1 for v in table.columns[table.header.index(n)])]
        other = f" Column {rest[0]!r} may be a class that no label has: name all classes." if rest else ""
        total = f"{p[wrong[0]].sum():.6g}, not to 1.{other}"
        raise ValueError(f"{table.source.at(wrong)}: the class probabilities sum to {total}")
    rescaled = np.count_nonzero(off > _ROUNDING)
    note = f"Class probabilities were rescaled in {number_of(rescaled, 'row')} (at most {off.max():.1g} off)."
    return p / p.sum(axis=1, keepdims=True), (note,) if rescaled else ()


def read_features(
    path: Any, labels: Labels, *, task: str = "task", sep: str | None = None
) -> Float[np.ndarray, "samples columns"]:
    """All columns of a table with one row per task but the task itself, as numbers, in the labels' order.

    Raises:
        ValueError: a column that is no finite numbers (categories must be encoded first), tasks that are not
            those of the labels, or no column beside the task.
    """
    table = as_table(path, sep)
    names = [name for name in table.header if name != task]
    if not names:
        raise ValueError(table.source.says(f"there is no column beside {task!r}"))
    rows, _, _ = align_rows(table, task, labels, common_only=None, complete=True)
    return np.stack([numbers(table, name) for name in names], axis=1)[rows]


def one_column(table: TextTable, label: str, role: str, labels: Labels) -> None:
    """Refuse a table whose column `label` differs from one of classes that is called by its role."""
    names = [name for name in table.header if role_of(name) == role and name != label]
    for name in names if label in table.header else ():
        both = table.pick({"a": label, "b": name})
        first, second = ([value.strip() for value in column] for column in both)
        rows = [k for k, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
        known = {*map(str, labels.class_names), *map(str, range(labels.num_classes)), ""}
        if rows and set(second) <= known:
            option = "gold-label" if role == "gold" else "pred-label"
            raise ValueError(
                f"{table.source.at(rows)}: {label!r} and {name!r} differ, and either may be the {role}: "
                f"choose one by label=... (at the command line --{option} {name})"
            )
