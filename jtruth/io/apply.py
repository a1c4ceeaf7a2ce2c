"""A plan applied to its table: the only place where cells become samples, labelers and labels."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

from jtruth._validation.coded import Coded, different, merged, recode
from jtruth._validation.columns import unused_counts
from jtruth._validation.ids import MissingColumn, check_columns, with_tasks
from jtruth._validation.text import TextTable, whole_numbers
from jtruth._validation.times import times_of
from jtruth._validation.words import Source, duplicates, number_in, quoted
from jtruth.io.cells import numbers_of, sets_of
from jtruth.io.columns import is_rater, says_something
from jtruth.io.exports import GOLD, LabelRows
from jtruth.io.plan import LONG, SINGLE, TRANSPOSED, UNKNOWN, FilePlan
from jtruth.labels import Labels

BETWEEN = " | "  # stands between the parts of a key of several columns


def coded(values: Sequence[str]) -> Coded:
    """A column as whole numbers, each different text once."""
    if isinstance(values, Coded):
        return values
    number = defaultdict(count().__next__)
    return Coded(recode(values, number.__getitem__), list(number))


def ids_of(table: TextTable, plan: FilePlan) -> Sequence[str]:
    """The id of the sample of every row: the cell of its key, several joined; without a key its number.

    Raises:
        ValueError: different keys that would have one name.
    """
    if not plan.task:
        return [str(k) for k in range(len(table.columns[0]))]
    picked = table.pick({name: name for name in plan.task})
    if len(picked) == 1:
        return whole_numbers(picked[0])
    empty = [k for k, row in enumerate(zip(*picked, strict=True)) if not all(row)]
    if empty:
        name = plan.task[[bool(column[empty[0]]) for column in picked].index(False)]
        raise ValueError(f"{table.source.at(empty)}: no {name}, which is part of the sample. Fill it in")
    rows = list(zip(*picked, strict=True))
    if len({BETWEEN.join(row) for row in set(rows)}) < len(set(rows)):
        names = " and ".join(map(repr, plan.task))
        raise ValueError(table.source.says(f"{names} hold {BETWEEN!r}, so their joined names are ambiguous"))
    return [BETWEEN.join(row) for row in rows]


def rows_of(table: TextTable, plan: FilePlan) -> LabelRows:
    """Sample, labeler and label of every label of a table.

    Raises:
        ValueError: a plan with doubts, which says each way to read the table; columns that are not there.
    """
    if plan.doubts:
        raise ValueError(table.source.says("; ".join(plan.doubts)))
    if plan.layout == UNKNOWN:
        raise _unknown(table, plan)
    rows = (_long if plan.layout in (LONG, SINGLE) else _cells)(table, plan)
    if plan.layout in (LONG, SINGLE):
        used = {*(plan.task or ()), plan.worker, plan.label}
        every = lambda name: table.columns[table.header.index(name)]  # noqa: E731
        rows.notes = (*rows.notes, *unused_counts(table.header, used, every, table.source))
    rows.form, rows.notes = plan.sentence(), (*table.notes, *rows.notes)
    return rows


def _unknown(table: TextTable, plan: FilePlan) -> ValueError:
    """What is missing, by the words that say it; and what structure proposes."""
    wanted = {"task": (plan.task or ("task",))[0], "worker": plan.worker or "worker",
              "label": plan.label or "label"}  # fmt: skip
    try:
        check_columns(table.header, wanted, table.source)
    except MissingColumn as problem:
        more = "If each labeler has a column, name them: labelers=... (at the command line --labelers A,B)"
        if found := plan.roles.get("proposed"):
            more = found
        return MissingColumn(f"{problem} {more}.")
    return ValueError(table.source.says("which column is the labeler? say worker=..."))


def _long(table: TextTable, plan: FilePlan) -> LabelRows:
    """A row is a label."""
    label = table.pick({"label": str(plan.label)})[0]
    task = ids_of(table, plan)
    if plan.layout == SINGLE:
        return LabelRows(task, Coded(np.zeros(len(task), np.int32), [str(plan.label)]), label, table.source)
    worker = whole_numbers(table.pick({"worker": str(plan.worker)})[0])
    rows = LabelRows(task, worker, label, table.source)
    if not plan.aside:
        return rows
    who = recode(worker, {name: k for k, name in enumerate(different(worker))}.__getitem__)
    out = np.isin(who, [k for k, name in enumerate(different(worker)) if name in plan.aside])
    kept = np.flatnonzero(~out)
    for k in np.flatnonzero(out).tolist():
        if says_something(label[k]):
            rows.beside.setdefault(worker[k], {})[task[k]] = label[k]
    rows.task, rows.worker, rows.label = ([c[k] for k in kept.tolist()] for c in (task, worker, label))
    rows.source = table.source.only(kept.tolist())
    for name, role in ((name, role) for name, role in plan.aside.items() if role != "used"):
        rows.notes += (f"{_no_labeler(f'Labeler {name!r}', role, f'worker:{name}')}.",)
    return rows


def _no_labeler(who: str, role: str, name: str) -> str:
    """Said of a labeler, or a column, that is called like something else."""
    if role == "gold":
        return f"{who} is called like verified labels, so it is no labeler; to use it, --gold {name}"
    if role == "left out":
        return f"{who} is not among the labelers that were named"
    if role == "derived":
        return f"{who} is called like a consensus of the others, so it is no labeler"
    return f"{who} is called like a classifier, so it is no labeler; to use it, --predictions {name}"


def _cells(table: TextTable, plan: FilePlan) -> LabelRows:
    """A cell is a label: its row the sample, its column the labeler; transposed the other way round."""
    names, size = list(plan.labelers or ()), len(table.columns[0])
    if not names:
        raise ValueError(table.source.says("there is no column of a labeler in this wide table"))
    if twice := duplicates(names):
        raise ValueError(f"the columns of labelers name {quoted(twice)} twice")
    columns = [coded(column) for column in table.pick({name: name for name in names})]
    turned = plan.layout == TRANSPOSED
    key = coded(table.pick({"worker": str(plan.worker)})[0] if turned else ids_of(table, plan))
    cells = merged(*_stacked(columns))
    empty = [k for k, name in enumerate(cells.names) if not name]
    kept = np.flatnonzero(~np.isin(cells.codes, empty)) if empty else np.arange(cells.codes.size)
    row, column = np.divmod(kept, len(names))
    of_row, of_column = Coded(key.codes[row], key.names), Coded(column.astype(np.int32), names)
    label = Coded(cells.codes[kept], cells.names)
    given = table.source.numbers
    numbers: Any = row + table.source.first if given is None else np.asarray(given, object)[row]
    source = Source(table.source.name, table.source.unit, 0, numbers)
    task, worker = (of_column, of_row) if turned else (of_row, of_column)
    rows = LabelRows(task, worker, _first_seen(label), source)
    said = [n for n in plan.roles if plan.roles[n] in ("gold", "derived", "prediction")]
    rest = [n for n, role in plan.roles.items() if role in ("ignored", "score")]
    rows.notes = tuple(f"Column {_no_labeler(repr(n), plan.roles[n], f'column:{n}')}." for n in said)
    rows.notes += (f"Not used: {quoted(rest, 8)}.",) if rest else ()
    if size > 1 and len(set(key.names)) < size:
        rows.notes += (f"{quoted(plan.task or (str(plan.worker),))} stands in several rows.",)
    return rows


def _stacked(columns: Sequence[Coded]) -> tuple[np.ndarray, list[str]]:
    """Codes of all cells, row after row, and the (perhaps equal) names of all columns one after another."""
    start = np.cumsum([0, *(len(column.names) for column in columns[:-1])])
    codes = np.stack([column.codes + begin for column, begin in zip(columns, start, strict=True)], axis=1)
    return codes.ravel(), [name for column in columns for name in column.names]


def _first_seen(column: Coded) -> Coded:
    """The same column with its names in the order of their appearance, and no others."""
    present, first = np.unique(column.codes, return_index=True)
    order = np.argsort(first)
    place = np.zeros(len(column.names), np.int32)
    place[present[order]] = np.arange(present.size)
    return Coded(place[column.codes], [column.names[k] for k in present[order]])


class NotOneClass(ValueError):
    """Labels are sets of classes, or numbers on a continuous scale."""


def values_of(rows: LabelRows, plan: FilePlan) -> tuple[list, list, list] | None:
    """Samples, labelers and sets, or numbers, of labels that are not one class each; of repeats the first."""
    if not plan.unsaid or plan.classes is not None:
        return None
    found = sets_of(rows.label) or numbers_of(rows.label)
    if found is None:
        return None
    kept: dict[tuple, Any] = {}
    for task, worker, label in zip(rows.task, rows.worker, rows.label, strict=True):
        if label in found:
            kept.setdefault((task, worker), found[label])
    return [task for task, _ in kept], [worker for _, worker in kept], list(kept.values())


def check_single(rows: LabelRows, plan: FilePlan) -> None:
    """Refuse sets of classes, and numbers on a continuous scale, where one class a label is needed."""
    if not plan.unsaid or plan.classes is not None:
        return
    sets = sets_of(rows.label)
    lists = [name for name in different(rows.label) if name[:1] in "[{" and name[-1:] in "]}"]
    if lists and sets is None:
        text = (
            f"a label is a list or an object of JSON ({lists[0]:.50}): write a row, or a column, for each one"
        )
        raise ValueError(rows.source.says(text))
    if sets is not None:
        names = [name for name, _ in Counter(c for one in sets.values() for c in one).most_common()]
        cell = next(value for value in sets if len(sets[value]) > 1)
        text = (
            f"labels are sets of classes (such as {cell!r}), and this needs one class a label. Ask about one "
            f"class, contains={names[0]!r}, or say by map=... what each set means. "
            "`jtruth agreement` compares sets"
        )
        raise NotOneClass(rows.source.says(text))
    if (numbers := numbers_of(rows.label)) is not None:
        low, high = min(numbers.values()), max(numbers.values())
        text = (
            f"labels are {len(numbers)} different numbers from {low:g} to {high:g}, and this needs classes: "
            "cut them by pass_at=..., or name all classes. `jtruth agreement` compares numbers"
        )
        raise NotOneClass(rows.source.says(text))


_MOST_CHECKED = 500_000  # labels beyond which nobody asks
_CHANCE, _CHANCE_OF_RATERS = -7.0, -9.2  # log of the probability that somebody did so alone


def check_derived(labels: Labels, source: Source) -> None:
    """Refuse a labeler who gives the majority of the others wherever they disagree: a column made of them.

    Somebody with labels of his own is with them no more often than they are right: for others of one
    accuracy, which their agreement gives, and a majority by m votes odds^m / (odds^m + C - 1).
    """
    sample, labeler, label, classes = *labels.entries(), labels.num_classes
    if labels.num_labelers < 4 or label.size > _MOST_CHECKED or labels.has_repeats():
        return
    for t, name in enumerate(labels.worker_names):
        mine = labeler == t
        votes = labels.counts()[sample[mine]].astype(np.int64)
        votes[np.arange(len(votes)), label[mine]] -= 1
        number = votes.sum(axis=1)
        pairs = (number * (number - 1)).sum()
        second, most = np.sort(votes, axis=1)[:, -2:].T
        disputed = (most < number) & (most > second)
        same = votes.argmax(axis=1)[disputed] == label[mine][disputed]
        if pairs == 0 or same.sum() < 0.98 * same.size or not same.size:
            continue
        agree = (votes * (votes - 1)).sum() / pairs  # p^2 + (1 - p)^2 / (C - 1)
        p = (1 + np.sqrt(max((classes - 1) * (classes * agree - 1), 0.0))) / classes
        odds = (p * (classes - 1) / max(1 - p, 1e-9)) ** (most - second)[disputed][same]
        chance = _CHANCE_OF_RATERS if is_rater(str(name)) else _CHANCE
        if np.log(odds / (odds + classes - 1)).sum() < chance:
            rest = ",".join(str(one) for one in labels.worker_names if one != name)
            raise ValueError(
                source.says(
                    f"labeler {name!r} gives the majority of the others in {same.sum()} of {same.size} "
                    "samples on which they disagree, as a column made of theirs does. To leave it out say "
                    f"labelers=... (at the command line --labelers {rest}); to keep it, name it there too"
                )
            )


def beside(table: TextTable, plan: FilePlan, name: str, role: str = "label") -> TextTable:
    """Column `name` of a table beside its samples: a row for each that has a value there, and one only.

    Raises:
        ValueError: two values for one sample; a table whose rows are labelers.
    """
    if plan.layout == TRANSPOSED:
        raise ValueError(table.source.says(f"rows are labelers here, so {name!r} says nothing of a sample"))
    (values,) = table.pick({role: name})
    ids, first = ids_of(table, plan), {}
    for k, (one, value) in enumerate(zip(ids, values, strict=True)):
        if says_something(value):
            before = first.setdefault(one, k)
            if values[before] != value:
                raise ValueError(
                    f"{table.source.at([before, k])}: task {one!r} has {name} {values[before]!r} and "
                    f"{value!r}"
                )
    kept = list(first.values())
    columns = [ids[k] for k in kept], [values[k] for k in kept]
    return table._replace(header=("task", name), columns=columns, source=table.source.only(kept))


def of_worker(rows: LabelRows, name: str) -> TextTable:
    """What a model, gold or a worker that is no labeler says, as a table task, label."""
    if name not in rows.beside:
        there = quoted(rows.beside) if rows.beside else "none"
        raise ValueError(rows.source.says(f"no predictions or gold called {name!r} here; there are {there}"))
    columns = list(rows.beside[name]), list(rows.beside[name].values())
    return TextTable(("task", "label"), columns, Source(name, "entry"))


def found_beside(rows: LabelRows, plan: FilePlan) -> dict[str, str]:
    """Gold, predictions and scores that stand beside the labels of a file, as they are asked for there."""
    found = {role: f"column:{name}" for name, role in reversed(plan.roles.items())}
    for name in rows.beside:
        role = "gold" if name == GOLD or plan.aside.get(name) == "gold" else "prediction"
        found[role] = f"{'worker' if name in plan.aside else 'export'}:{name}"
    names = {"gold": "gold", "prediction": "predictions", "score": "scores"}
    return {what: found[role] for role, what in names.items() if role in found}


def by_group(
    table: TextTable, plan: FilePlan, name: str, key: Callable[[FilePlan], Any] = lambda plan: plan
) -> tuple[FilePlan, dict[str, tuple[str, str]]]:
    """A plan whose samples lie in one group each, by the column `name`; group and item of every sample.

    A task that stands in several groups (one question, several systems) is a sample in each: the group is
    part of its key then. The item is the task as it was.
    """
    if name not in table.header:
        there = quoted(table.header, 12)
        raise ValueError(table.source.says(f"no column {name!r} to group by; the columns are {there}"))
    (groups,), plan = table.pick({"group": name}), key(plan)
    alone = tuple(one for one in plan.task or () if one != name)
    if not alone and plan.task:  # the column of groups is all the key there is: samples are rows
        plan = FilePlan(**{**plan.__dict__, "task": ()})
    items = ids_of(table, FilePlan(task=alone))
    empty = [k for k, one in enumerate(groups) if not one]
    if empty:
        raise ValueError(
            f"{table.source.at(empty)}: no {name}; each row needs the group it is of. Fill it in, or leave "
            "such rows out of the file"
        )
    pairs = set(zip(items, groups, strict=True))
    if len(pairs) > len({one for one, _ in pairs}):
        plan = FilePlan(**{**plan.__dict__, "task": (*alone, name)})
    ids = ids_of(table, plan)
    return plan, {one: (g, i) for one, g, i in zip(ids, groups, items, strict=True)}


def order_of(table: TextTable, plan: FilePlan, name: str, labels: Labels) -> np.ndarray:
    """When labels were given, from a column of dates, times or numbers.

    Returns:
        (samples,) where all labels of a sample have one time; else (samples, labelers), NaN without a label.

    Raises:
        ValueError: a cell that is no time, dates that two conventions read differently, a sample without one.
    """
    (cells,) = table.pick({name: name})
    numbers = np.array([number_in(cell) for cell in cells])
    when = numbers if np.isfinite(numbers).all() else times_of(cells, f"column {name!r}")
    if when is None:
        bad = int(np.flatnonzero(~np.isfinite(numbers))[0])
        where = table.source.entry([bad], f"{name} ", cells[bad])
        raise ValueError(f"{where} neither a number nor a date: write 2026-01-31 09:30, or seconds")
    place = {str(task): i for i, task in enumerate(labels.task_names)}
    sample = np.array([place.get(task, -1) for task in ids_of(table, plan)])
    used = (sample >= 0) & np.isfinite(when)
    each = np.full(labels.num_samples, np.nan)
    each[sample[used]] = when[used]
    if np.isnan(each).any():
        task = labels.task_names[int(np.flatnonzero(np.isnan(each))[0])]
        raise ValueError(table.source.says(f"task {task!r} has no {name}; every sample needs a time"))
    if plan.layout != LONG or (each[sample[used]] == when[used]).all():
        return with_tasks(each, labels.tasks)
    who = {str(worker): t for t, worker in enumerate(labels.worker_names)}
    labeler = np.array([who.get(worker, -1) for worker in table.pick({"worker": str(plan.worker)})[0]])
    times = np.full((labels.num_samples, labels.num_labelers), np.nan)
    used &= labeler >= 0
    times[sample[used], labeler[used]] = when[used]
    return times
