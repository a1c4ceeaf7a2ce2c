"""A plan applied to its table: the only place where cells become samples, labelers and labels."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from jtruth._validation.coded import Coded, coded, different, merged, occurring, recode
from jtruth._validation.columns import unused_counts
from jtruth._validation.ids import MissingColumn, check_columns, with_tasks
from jtruth._validation.text import TextTable, whole_numbers
from jtruth._validation.times import times_of
from jtruth._validation.words import Source, duplicates, number_in, quoted
from jtruth.io.cells import decimal_points, numbers_of, sets_of
from jtruth.io.columns import is_rater, role_of, says_something
from jtruth.io.exports import GOLD, LabelRows
from jtruth.io.plan import LONG, SINGLE, TRANSPOSED, UNKNOWN, WIDE, FilePlan
from jtruth.labels import Labels

_KNOWN = ("gold", "derived")  # roles of columns that say what is true
BETWEEN = " | "  # stands between the parts of a key of several columns


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
    rows = list(zip(*picked, strict=True))
    if empty := [k for k, row in enumerate(rows) if "" in row]:
        name = plan.task[rows[empty[0]].index("")]
        raise ValueError(f"{table.source.at(empty)}: no {name}, which is part of the sample. Fill it in")
    if len(set(map(BETWEEN.join, set(rows)))) < len(set(rows)):
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
    rows.label = decimal_points(rows.label)
    rows.form, rows.notes = plan.sentence(), (*table.notes, *rows.notes)
    return rows


def _unknown(table: TextTable, plan: FilePlan) -> ValueError:
    """What is missing, by the words that say it; and what structure proposes."""
    task, worker, label = (plan.task or ("task",))[0], plan.worker or "worker", plan.label or "label"
    more = "If each labeler has a column, list these: labelers=... (at the command line --labelers A,B)"
    try:
        check_columns(table.header, {"task": task, "worker": worker, "label": label}, table.source)
    except MissingColumn as problem:
        return MissingColumn(f"{problem} {plan.roles.get('proposed', more)}.")
    return ValueError(table.source.says("which column is the labeler? Give worker=..."))


def _long(table: TextTable, plan: FilePlan) -> LabelRows:
    """A row is a label."""
    (label,), task = table.pick({"label": str(plan.label)}), ids_of(table, plan)
    if plan.layout == SINGLE:
        worker: Sequence[str] = Coded(np.zeros(len(task), np.int32), [str(plan.label)])
    else:
        worker = whole_numbers(table.pick({"worker": str(plan.worker)})[0])
    rows = LabelRows(task, worker, label, table.source)
    if plan.aside and plan.layout == LONG:
        _set_aside(rows, plan.aside)
    used = {name for name in (*(plan.task or ()), plan.worker, plan.label) if name is not None}
    counts = unused_counts(
        table.header, used, lambda name: table.columns[table.header.index(name)], table.source
    )
    rows.notes = (*rows.notes, *counts)
    return rows


def _set_aside(rows: LabelRows, aside: Mapping[str, str]) -> None:
    """Move the labels of workers that are no labelers beside the others."""
    out = recode(rows.worker, aside.__contains__) > 0
    for k in np.flatnonzero(out).tolist():
        if says_something(rows.label[k]):
            rows.beside.setdefault(rows.worker[k], {})[rows.task[k]] = rows.label[k]
    kept = np.flatnonzero(~out).tolist()
    columns = rows.task, rows.worker, rows.label
    rows.task, rows.worker, rows.label = ([column[k] for k in kept] for column in columns)
    rows.source = rows.source.only(kept)
    for name, role in aside.items():
        if role != "used":
            rows.notes += (f"{_no_labeler(f'Labeler {name!r}', role, f'worker:{name}')}.",)


_NO_LABELER = {
    "gold": "{} is named like verified labels, so it is not a labeler; to use it: --gold {}",
    "left out": "{} is not one of the listed labelers",
    "derived": "{} is a consensus of the others by its name, so it is not a labeler",
    "prediction": "{} is a classifier by its name, so it is not a labeler; use it by --predictions {}",
}


def _no_labeler(who: str, role: str, name: str) -> str:
    """Said of a labeler, or a column, that is called like something else."""
    return _NO_LABELER[role].format(who, name)


def _cells(table: TextTable, plan: FilePlan) -> LabelRows:
    """A cell is a label: its row the sample, its column the labeler; transposed the other way round."""
    names, turned = list(plan.labelers or ()), plan.layout == TRANSPOSED
    if not names:
        raise ValueError(table.source.says("there is no column of a labeler in this wide table"))
    if twice := duplicates(names):
        raise ValueError(f"labelers lists {quoted(twice)} twice")
    key = coded(table.pick({"worker": str(plan.worker)})[0] if turned else ids_of(table, plan))
    cells = merged(*_stacked([coded(column) for column in table.pick({name: name for name in names})]))
    empty = [k for k, name in enumerate(cells.names) if not name]
    kept = np.flatnonzero(~np.isin(cells.codes, empty))
    row, column = np.divmod(kept, len(names))
    task, worker = Coded(key.codes[row], key.names), Coded(column.astype(np.int32), names)
    given = table.source.numbers
    numbers: Any = row + table.source.first if given is None else np.asarray(given, object)[row]
    source = Source(table.source.name, table.source.unit, 0, numbers)
    label = _first_seen(Coded(cells.codes[kept], cells.names))
    rows = LabelRows(*((worker, task) if turned else (task, worker)), label, source)
    rows.notes = tuple(_about_columns(plan))
    if len(key) > 1 and len(set(key.names)) < len(key):
        rows.notes += (f"Some values of {quoted(plan.task or (str(plan.worker),))} occur in several rows.",)
    return rows


def _about_columns(plan: FilePlan) -> Iterator[str]:
    """Said of the columns of a wide table that are no labelers."""
    for name, role in plan.roles.items():
        if role in ("gold", "derived", "prediction"):
            yield f"Column {_no_labeler(repr(name), role, f'column:{name}')}."
    if rest := [name for name, role in plan.roles.items() if role in ("ignored", "score")]:
        yield f"Ignored columns: {quoted(rest, 8)}."


def _stacked(columns: Sequence[Coded]) -> tuple[np.ndarray, list[str]]:
    """Codes of all cells, row after row, and the (perhaps equal) names of all columns one after another."""
    start = np.cumsum([0, *(len(column.names) for column in columns[:-1])])
    codes = np.stack([column.codes + begin for column, begin in zip(columns, start, strict=True)], axis=1)
    return codes.ravel(), [name for column in columns for name in column.names]


def _first_seen(column: Coded) -> Coded:
    """The same column with its names in the order of their appearance, and no others."""
    present, first, _ = occurring(column.codes, len(column.names))
    order, place = np.argsort(first), np.zeros(len(column.names), np.int32)
    place[present[order]] = np.arange(present.size)
    return Coded(place[column.codes], [column.names[k] for k in present[order]])


class NotOneClass(ValueError):
    """Labels are sets of classes, or numbers on a continuous scale."""


def _not_classes(rows: LabelRows, plan: FilePlan) -> dict[str, Any] | None:
    """The set or number of each different cell, where labels are such and keep the words of the file."""
    named = not plan.as_written or plan.classes is not None
    return None if named else sets_of(rows.label) or numbers_of(rows.label)


def values_of(rows: LabelRows, plan: FilePlan) -> tuple[list, list, list] | None:
    """Samples, labelers and sets, or numbers, of labels that are not one class each; of repeats the first."""
    found = _not_classes(rows, plan)
    if found is None:
        return None
    kept: dict[tuple, Any] = {}
    for task, worker, label in zip(rows.task, rows.worker, rows.label, strict=True):
        if label in found:
            kept.setdefault((task, worker), found[label])
    return [task for task, _ in kept], [worker for _, worker in kept], list(kept.values())


def check_single(rows: LabelRows, plan: FilePlan) -> None:
    """Refuse sets of classes, and numbers on a continuous scale, where one class a label is needed."""
    found = _not_classes(rows, plan)
    if found is None:
        lists = [name for name in different(rows.label) if re.fullmatch(r"[\[{].*[\]}]", name, re.DOTALL)]
        if lists and plan.as_written and plan.classes is None:
            text = f"a label is a list or an object of JSON ({lists[0]:.50})"
            raise ValueError(rows.source.says(f"{text}: write a row, or a column, for each one"))
        return
    values = list(found.values())
    if isinstance(values[0], frozenset):
        names = Counter(name for some in values for name in some).most_common(1)
        cell = next(cell for cell, some in found.items() if len(some) > 1)
        text = (
            f"labels are sets of classes (such as {cell!r}), but this needs one class per label. Analyse one "
            f"class by contains={names[0][0]!r}, or translate sets by map=.... `jtruth agreement` compares "
            "sets"
        )
    else:
        text = (
            f"labels are {len(values)} different numbers from {min(values):g} to {max(values):g}, but this "
            "needs classes: cut them by pass_at=..., or list all classes. `jtruth agreement` compares numbers"
        )
    raise NotOneClass(rows.source.says(text))


_MOST_CHECKED = 500_000  # labels beyond which nobody asks
_CHANCE, _CHANCE_OF_RATERS = -7.0, -9.2  # log of the probability that somebody did so alone


def check_derived(labels: Labels, source: Source) -> None:
    """Refuse a labeler who gives the majority of the others wherever they disagree: a column made of them."""
    if labels.num_labelers < 4 or labels.num_labels > _MOST_CHECKED or labels.has_repeats():
        return
    sample, who, label = labels.entries()
    order = np.argsort(who, kind="stable")  # the labels of each labeler, found once
    ends = np.cumsum(labels.labels_per_labeler())
    for name, mine in zip(labels.worker_names, np.split(order, ends[:-1]), strict=True):
        same, chance = _with_the_majority(labels, sample[mine], label[mine])
        if not same.size or same.mean() < 0.98:
            continue
        if chance[same].sum() < (_CHANCE_OF_RATERS if is_rater(str(name)) else _CHANCE):
            rest = ",".join(str(one) for one in labels.worker_names if one != name)
            text = (
                f"labeler {name!r} equals the majority of the others on {same.sum()} of {same.size} samples "
                "on which they disagree, like a column derived from theirs. To leave it out, give "
                f"labelers=... (at the command line --labelers {rest}); to keep it, list it there too"
            )
            raise ValueError(source.says(text))


def _with_the_majority(
    labels: Labels, sample: np.ndarray, label: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Whether a labeler is with the majority of each disputed sample, and the log chance of that.

    Somebody with labels of his own is with them no more often than they are right: for others of one
    accuracy, which their agreement gives, and a majority by m votes odds^m / (odds^m + C - 1).
    """
    classes, votes = labels.num_classes, labels.counts()[sample].astype(np.int64)
    votes[np.arange(len(votes)), label] -= 1
    number = votes.sum(axis=1)
    second, most = np.sort(votes, axis=1)[:, -2:].T
    disputed = (most < number) & (most > second)
    same = (votes.argmax(axis=1) == label)[disputed]
    pairs = (number * (number - 1)).sum()
    agree = (votes * (votes - 1)).sum() / max(pairs, 1)  # p^2 + (1 - p)^2 / (C - 1)
    p = (1 + np.sqrt(max((classes - 1) * (classes * agree - 1), 0.0))) / classes
    odds = (p * (classes - 1) / max(1 - p, 1e-9)) ** (most - second)[disputed]
    return same, np.log(odds / (odds + classes - 1))


def beside(table: TextTable, plan: FilePlan, name: str, role: str = "label") -> TextTable:
    """Column `name` of a table beside its samples: a row for each that has a value there, and one only.

    Raises:
        ValueError: two values for one sample; a table whose rows are labelers.
    """
    if plan.layout == TRANSPOSED:
        raise ValueError(table.source.says(f"rows are labelers here, so {name!r} does not describe samples"))
    (values,) = table.pick({role: name})
    ids, first = ids_of(table, plan), {}
    for k, (one, value) in enumerate(zip(ids, values, strict=True)):
        if says_something(value):
            before = first.setdefault(one, k)
            if values[before] != value:
                both = f"{values[before]!r} and {value!r}"
                raise ValueError(f"{table.source.at([before, k])}: task {one!r} has {name} {both}")
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


_PEOPLE = re.compile(
    r"(?:(?:the|by|from)[\W_])?(?:humans?|people|persons?|experts?)(?:[\W_]?(?:label|rating|grade|verdict)s?)?"
)


def found_beside(rows: LabelRows, plan: FilePlan) -> dict[str, str]:
    """Gold, predictions and scores that stand beside the labels of a file, as they are asked for there."""
    found = {role: f"column:{name}" for name, role in reversed(plan.roles.items())}
    for name in rows.beside:
        role = "gold" if name == GOLD or plan.aside.get(name) == "gold" else "prediction"
        found[role] = f"{'worker' if name in plan.aside else 'export'}:{name}"
    people = [name for name in plan.labelers or () if _PEOPLE.fullmatch(name.casefold())]
    if plan.layout == WIDE and len(people) == 1 < len(plan.labelers or ()):  # beside judges that are models
        found.setdefault("gold", f"column:{people[0]}")
    names = {"gold": "gold", "prediction": "predictions", "score": "scores"}
    return {what: found[role] for role, what in names.items() if role in found}


_AS = "2026-01-31 09:30, or seconds or milliseconds since 1970"
_YEARS = 946_684_800.0, 4_102_444_800.0  # 2000 to 2100, in seconds
UNITS = {"hour": "%Y-%m-%d %H:00", "day": "%Y-%m-%d", "week": "%Y-%m-%d", "month": "%Y-%m",
         "quarter": "%Y-%m", "year": "%Y"}  # fmt: skip


def by_group(table: TextTable, plan: FilePlan, name: str) -> tuple[FilePlan, dict[str, tuple[str, str]]]:
    """A plan whose samples lie in one group each, by the column `name`; group and item of every sample.

    A task that stands in several groups (one question, several systems) is a sample in each: the group is
    part of its key then. The item is the task as it was. Where no column has this name it may be one of
    `UNITS` of the column of times, such as day, or COLUMN:day. Of several times of a sample the first counts.
    """
    column, _, unit = name.rpartition(":")
    if name in table.header:
        (groups,) = table.pick({"group": name})
    elif unit in UNITS and (not column or column in table.header):
        column = column or _time_column(table, plan, unit)
        groups = _units(table, plan, column, unit)
    else:
        there = quoted(table.header, 12)
        units = f"A column of times can be grouped by {', '.join(UNITS)}."
        text = f"no column {name!r} to group by; the columns are {there}. {units}"
        raise ValueError(table.source.says(text))
    groups = coded(groups)
    if not all(groups.names) and (empty := [k for k, one in enumerate(groups) if not one]):
        raise ValueError(
            f"{table.source.at(empty)}: column {(name if name in table.header else column)!r} is empty, but "
            "each row needs a group. Fill it in, or remove such rows from the file"
        )
    alone = tuple(one for one in plan.task or () if one != name)
    plan = replace(plan, task=alone) if plan.task and not alone else plan  # samples are rows then
    items = coded(ids_of(table, FilePlan(task=alone)))
    if _in_several(items, groups):
        if name in table.header and not all(number_in(one) == number_in(one) for one in groups.names):
            when = times_of(groups, f"column {name!r}")
            groups = groups if when is None else _first(items, when, groups)
        if _in_several(items, groups):
            plan = replace(plan, task=(*alone, name))
    ids = coded(ids_of(table, plan))
    place, first, _ = occurring(ids.codes, len(ids.names))
    return plan, {ids.names[k]: (groups[j], items[j]) for k, j in zip(place, first.tolist(), strict=True)}


def _in_several(items: Coded, groups: Coded) -> bool:
    """Whether some item lies in two groups."""
    last = np.zeros(len(items.names), np.int32)
    last[items.codes] = groups.codes
    return bool((last[items.codes] != groups.codes).any())


def columns_beside(
    table: TextTable, plan: FilePlan, labels: Labels, leave_out: Iterable[str | None] = ()
) -> dict[str, np.ndarray]:
    """Cells of the columns that are no part of the labels, and no gold or consensus, by name; "" unknown.

    Returns:
        (samples,) where all labels of a sample have one cell; else (samples, labelers).
    """
    if plan.layout == TRANSPOSED:
        return {}
    used = {*(plan.task or ()), plan.worker, plan.label, *(plan.labelers or ()), *leave_out}
    names = [name for name in table.header if name not in used]
    names = [n for n in names if {plan.roles.get(n), plan.aside.get(n), role_of(n)}.isdisjoint(_KNOWN)]
    sample = _places(ids_of(table, plan), labels.task_names)
    rows, shape = (
        np.flatnonzero(sample >= 0)[::-1],
        (labels.num_samples, labels.num_labelers),
    )  # the first stays
    labeler = np.full(sample.size, -1)
    if plan.layout == LONG and names:
        labeler = _places(whole_numbers(table.pick({"worker": str(plan.worker)})[0]), labels.worker_names)
    each_label, found = rows[labeler[rows] >= 0], {}
    for name, column in zip(names, table.pick({name: name for name in names}), strict=True):
        cells, each = np.array(list(column), object), np.full(shape[0], "", object)
        each[sample[rows]] = cells[rows]
        found[name] = each
        if (each[sample[each_label]] != cells[each_label]).any():
            found[name] = np.full(shape, "", object)
            found[name][sample[each_label], labeler[each_label]] = cells[each_label]
    return found


def moments(cells: Sequence[str], name: str = "the column of times") -> np.ndarray | None:
    """(rows,) seconds of times from 2000 to 2100, NaN unknown; None of others, such as ids of nine digits."""
    when = times_of(cells, name)
    fits = when is not None and ((when > _YEARS[0]) & (when < _YEARS[1]) | np.isnan(when)).all()
    return when if fits else None


def _time_column(table: TextTable, plan: FilePlan, unit: str) -> str:
    """The one column that holds times."""
    used = {*(plan.task or ()), *(plan.labelers or ()), plan.worker, plan.label}
    rest = [one for one in table.header if one not in used]
    found = []
    for one in rest:
        if moments(table.pick({one: one})[0], f"column {one!r}") is not None:
            found.append(one)
    if len(found) != 1:
        several = f"{quoted(found)} hold times: write --by {found[0] if found else ''}:{unit}, or another"
        none = f"no column is called {unit!r}, and none holds times to group by {unit}: write {_AS}"
        raise ValueError(table.source.says(several if found else none))
    return found[0]


def _units(table: TextTable, plan: FilePlan, column: str, unit: str) -> Coded:
    """Of each row the hour, day, week (its Monday), ... in which its sample has its first time."""
    (cells,) = table.pick({column: column})
    when = times_of(cells, f"column {column!r}")
    if when is None:
        raise ValueError(table.source.says(f"{column!r} holds no times; write {_AS}"))
    days = when.astype("M8[s]")
    if unit == "week":  # 1970-01-01 was a Thursday
        days = (days.astype("M8[D]") + 3).astype("M8[W]").astype("M8[D]") - 3
    kept = {"hour": "h", "month": "M", "quarter": "M", "year": "Y"}.get(unit, "D")
    moments, code = np.unique(days.astype(f"M8[{kept}]"), return_inverse=True)
    names = ["" if one is None else f"{one:{UNITS[unit]}}" for one in moments.astype("M8[s]").tolist()]
    if unit == "quarter":
        names = [name and f"{name[:5]}Q{(int(name[5:]) + 2) // 3}" for name in names]
    return _first(ids_of(table, plan), when, merged(code, names))


def _first(samples: Sequence[str], when: np.ndarray, names: Coded) -> Coded:
    """Of each row the name of the earliest row of its sample."""
    order = np.argsort(when, kind="stable")[::-1]  # NaN, the last, is overwritten
    place = coded(samples)
    of = np.zeros(len(place.names), np.int32)
    of[place.codes[order]] = names.codes[order]
    return Coded(of[place.codes], names.names)


def order_of(table: TextTable, plan: FilePlan, name: str, labels: Labels) -> np.ndarray:
    """When labels were given, from a column of dates, times or numbers.

    Returns:
        (samples,) where all labels of a sample have one time; else (samples, labelers), NaN without a label.

    Raises:
        ValueError: a cell that is no time, dates that two conventions read differently, a sample without one.
    """
    when = _times(table, name)
    sample, labeler = places_of(table, plan, labels)
    used = (sample >= 0) & np.isfinite(when)
    each = np.full(labels.num_samples, np.nan)
    each[sample[used]] = when[used]
    if (bare := np.flatnonzero(np.isnan(each))).size:
        task = labels.task_names[int(bare[0])]
        raise ValueError(table.source.says(f"task {task!r} has no {name}; every sample needs a time"))
    if labeler is None or (each[sample[used]] == when[used]).all():
        return with_tasks(each, labels.tasks)
    times = np.full((labels.num_samples, labels.num_labelers), np.nan)
    used &= labeler >= 0
    times[sample[used], labeler[used]] = when[used]
    return times


def places_of(table: TextTable, plan: FilePlan, labels: Labels) -> tuple[np.ndarray, np.ndarray | None]:
    """(rows,) sample and labeler of each row, -1 for none; None: rows are samples, or of one labeler."""
    sample = _places(ids_of(table, plan), labels.task_names)
    if plan.layout != LONG:
        return sample, None
    return sample, _places(whole_numbers(table.pick({"worker": str(plan.worker)})[0]), labels.worker_names)


def _times(table: TextTable, name: str) -> np.ndarray:
    """(rows,) numbers of a column, or seconds of its times."""
    (cells,) = table.pick({name: name})
    numbers = np.array([number_in(cell) for cell in cells])
    when = numbers if np.isfinite(numbers).all() else times_of(cells, f"column {name!r}")
    if when is None:
        bad = int(np.flatnonzero(~np.isfinite(numbers))[0])
        where = table.source.entry([bad], f"{name} ", cells[bad])
        raise ValueError(f"{where} neither a number nor a date: write 2026-01-31 09:30, or seconds")
    return when


def _places(ids: Sequence[str], names: Iterable[Any]) -> np.ndarray:
    """(rows,) where the id of each row stands among names; -1: nowhere."""
    place = {str(name): k for k, name in enumerate(names)}
    return np.array([place.get(one, -1) for one in ids])
