"""Labels as integer codes: three columns (task, worker, label), a wide table, or a table of an engine.

A table that an engine holds (DuckDB, Polars, PySpark, whatever narwhals calls lazy) may be larger than
memory: joining and sorting are its work, and here come its different ids and classes and, for each row, three
whole numbers. It has no order of rows, so all is in sorted order, and a row is named in messages by what it
says. For `lazy_patterns` it groups its rows into distinct patterns of labels: a task is whole numbers in
which every worker has a bit for each label. Powers of 2 are exact in every engine, and a sum of n of them has
n bits only if they differ: so it also shows whether a worker gave two labels.
"""

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int
from scipy.special import bdtrc

from jtruth._validation import ids
from jtruth._validation.classes import check_labelers, encode_classes, inferred_classes
from jtruth._validation.coded import ABSENT, IDLE, REPEATS, Coded, different, keep_one_label_each, unused
from jtruth._validation.scale import scale_of
from jtruth._validation.words import (
    LOOK,
    Source,
    alike_note,
    brief,
    choose,
    number_of,
    part_of,
    quoted,
    rounded_note,
)

# What was read, as the fields of `Labels` in their order.
Found = tuple[np.ndarray, np.ndarray, np.ndarray, int, int, int, tuple | None, tuple | None, tuple | None,
              tuple, tuple, str, np.ndarray | None]  # fmt: skip


def encode_columns(
    columns: dict[str, Any], *, tasks: Iterable | None, workers: Iterable | None, classes: Iterable | None,
    num_classes: int | None, rules: tuple[str, str, Iterable], source: Source, scale: str | None = None,
) -> Found:  # fmt: skip
    """Codes of columns with options of `Labels.from_long`; `rules`: its `repeats`, `missing`, `abstain`."""
    repeats, missing, abstain = rules
    choose("repeats", repeats, REPEATS)
    choose("missing", missing, ("error", "drop"))
    task, worker, label = (ids.as_list(columns[name], name) for name in ("task", "worker", "label"))
    if not len(task) == len(worker) == len(label):
        sizes = f"{len(task)}, {len(worker)} and {len(label)}"
        raise ValueError(source.says(f"task, worker and label must be equally long; got {sizes} values"))
    if not task:
        raise ValueError(source.says("no labels: the table has no rows"))
    sample, task_ids = ids.encode_ids(task, "task", tasks, source)
    labeler, worker_ids = ids.encode_ids(worker, "worker", workers, source)
    advice = "Leave such rows out, or set missing='drop' to do so." if missing == "error" else None
    silent, remarks = _silent(label, abstain)
    codes, names, notes, scale = encode_classes(
        label, classes, num_classes, source, advice, silent=silent, scale=scale
    )
    if classes is None and num_classes is None:
        check_labelers(labeler, codes, worker_ids)
    notes += alike_note(worker_ids, "worker ids") + rounded_note(task_ids, "task ids") + remarks
    lost = np.count_nonzero(codes < 0) - (sum(map(silent.__contains__, label)) if silent else 0)
    if lost:
        notes += (_without_label(lost, len(label)),)
    _check_no_counts(sample, labeler, codes, worker_ids, source)
    both, labelled = (sample, labeler, codes), np.flatnonzero(codes >= 0)
    rows, more, own = keep_one_label_each(both, labelled, repeats, (task_ids, worker_ids), source)
    inferred = ("tasks",) if tasks is None and not ids.in_order(task_ids) else ()
    inferred += inferred_classes(names, classes, num_classes)
    if rows.size < len(label):
        sample, labeler, codes = sample[rows], labeler[rows], codes[rows]
    sizes = len(task_ids), len(worker_ids), len(names)
    return (sample, labeler, codes, *sizes, task_ids, worker_ids, names, notes + more, inferred, scale, own)


_FALSE_ALARM = 1e-4


def _check_no_counts(
    sample: np.ndarray, labeler: np.ndarray, codes: np.ndarray, workers: Sequence, source: Source
) -> None:
    """Refuse "workers" that are numbers of votes: a row is a class of a task then, and none stands twice."""
    if len(workers) < 3 or not all(str(name).isascii() and str(name).isdecimal() for name in workers):
        return
    used = codes >= 0
    cell = np.sort(sample[used].astype(np.int64) * (int(codes.max()) + 1) + codes[used])
    number = np.bincount(sample[used])
    if len(workers) <= number.max(initial=0):  # a row of each of them: these are people
        return
    pairs, share = int((number * (number - 1)).sum()) // 2, np.bincount(codes[used]) / max(used.sum(), 1)
    if (cell[1:] == cell[:-1]).any() or (1 - share @ share) ** pairs > _FALSE_ALARM:
        return
    rows = np.flatnonzero(sample == np.flatnonzero(number > 1)[0])
    what = "the worker column has numbers, and no two rows of a task have the same label"
    advice = "Write one row per label, each with its worker"
    raise ValueError(f"{source.at(rows)}: {what}: does it count how often each label was given? {advice}")


def _silent(label: Sequence, abstain: Iterable) -> tuple[set, tuple[str, ...]]:
    """The labels that say nothing, and a sentence of how many rows that is."""
    words = {str(word).strip().casefold() for word in abstain}
    if not words:
        return set(), ()
    silent = {value for value in different(label) if str(value).strip().casefold() in words}
    if not silent:
        return silent, (f"The labels in `abstain` never occur: {quoted(sorted(words))}.",)
    number, names = sum(map(silent.__contains__, label)), quoted(sorted(map(str, silent)))
    verbs = f"is an abstention ({names}) and was", f"are abstentions ({names}) and were"
    return silent, (f"{part_of(number, len(label), 'label', *verbs)} left out.",)


def bare_note(number: int | np.integer, end: str = ".") -> str:
    """What is said of tasks whose only rows had no label."""
    return f"{number_of(number, 'task has no label and was', 'tasks have no label and were')} left out{end}"


def _without_label(lost: int | np.integer, rows: int) -> str:
    gone = part_of(lost, rows, "row", "has no label and was", "have no label and were")
    return f"{gone} left out (missing='drop')."


def frame_columns(frame: Any, columns: dict[str, str]) -> tuple[tuple, Source | None, tuple[str, ...]]:
    """Columns of any data frame narwhals can read, where they came from if an engine, and notes."""
    table = ids.read_frame(frame, lazy=True)
    if hasattr(table, "collect"):
        return *lazy_columns(table, columns), ()
    ids.check_columns(table.columns, columns, Source())
    used, values_of = columns.values(), lambda name: table[name].to_list()
    counts = unused_counts(table.columns, used, values_of, Source())
    return tuple(_whole(values_of(name)) for name in used), None, counts


COUNT_WORDS = {
    "n", "count", "counts", "freq", "frequency", "weight", "votes", "num_votes", "n_votes", "num_labels",
}  # fmt: skip


def unused_counts(
    header: Sequence[str], used: Container[str], values_of: Callable[[str], Sequence], source: Source
) -> tuple[str, ...]:
    """Said of a column that is not `used` and counts: whole numbers, some above 1, not each different."""
    for name in header:
        asked = str(name).strip().casefold() in COUNT_WORDS and name not in used
        texts = [str(value).strip().removesuffix(".0") for value in values_of(name)] if asked else []
        numbers = [int(text) for text in texts if text.isascii() and text.isdigit()]
        again = len(set(numbers)) < len(numbers) or len(numbers) == 1
        if again and len(numbers) == len(texts) and max(numbers) > 1:
            what = f"it may count labels (up to {max(numbers)}), but each row is one label"
            advice = "Write one row per label, each with its worker, or remove the column."
            return (LOOK + source.says(f"column {name!r} was not used; {what}. {advice}"),)
    return ()


def frame_order(
    frame: Any, columns: Iterable[str], classes: Iterable | None, scale: str | None
) -> tuple[Any, str | None]:
    """Classes and scale as ordered Categoricals and Enums declare them, where nobody gave them."""
    import narwhals as nw

    schema = ids.read_frame(frame, lazy=True).collect_schema()
    kinds = [schema[name] for name in columns]
    text = lambda one: f"{one:g}" if isinstance(one, float) else str(one)  # noqa: E731
    orders = [list(map(text, kind.categories)) for kind in kinds if isinstance(kind, nw.Enum)]
    if not orders:
        plain = classes is None and all(kind == nw.Categorical for kind in kinds)
        return classes, scale or ("nominal" if plain else None)
    return one_order(orders) if classes is None else classes, scale or "ordinal"


def one_order(orders: Sequence[Sequence[str]]) -> Sequence[str]:
    """The longest of several orders of classes, which agree."""
    longest = max(orders, key=len)
    for order in orders:
        if [name for name in longest if name in order] != list(order):
            both = f"{quoted(longest, 8)}, and {quoted(order, 8)}"
            raise ValueError(f"columns order their classes in two ways: {both}. Give the order in `classes`")
    return longest


def _whole(values: list) -> list:
    """Values in which 1.0 is 1, if all their fractions are 0: pandas has whole numbers beside gaps so."""
    fractions = {value for value in values if type(value) is float and value == value}
    if not fractions or not all(value.is_integer() for value in fractions):
        return values
    return [int(value) if type(value) is float and value == value else value for value in values]


def lazy_columns(table: Any, columns: dict[str, str]) -> tuple[tuple[Coded, ...], Source]:
    """Columns of a lazy table (role -> name), coded by its engine and sorted by code; and their place."""
    import narwhals as nw

    ids.check_columns(table.collect_schema().names(), columns, Source())
    picked = table.select(*(nw.col(name).alias(role) for role, name in columns.items()))
    names, codes = {}, [f"code of {role}" for role in columns]
    coded = picked
    for role in columns:
        names[role], numbered = names_of(picked, role)
        coded = coded.join(numbered, on=role, how="left")
    numbers = [nw.col(code).cast(nw.Int64).fill_null(-1) for code in codes]  # -1: a missing value
    ordered = collected(coded.select(*numbers).sort(*codes))
    made = {}
    for role, code in zip(columns, codes, strict=True):
        place = ordered[code].to_numpy()
        place = np.where(place < 0, len(names[role]), place).astype(np.int32)
        made[role] = Coded(place, [*names[role], *[None] * bool((place == len(names[role])).any())])
    row = Source("", "row", 0, lambda k: _row_text({role: column[k] for role, column in made.items()}))
    return tuple(made.values()), row


def names_of(table: Any, role: str) -> tuple[list, Any]:
    """The different values of a column, sorted, and a lazy table of them and of "code of" each."""
    numbered = table.select(role).drop_nulls().unique().with_row_index(f"code of {role}", order_by=role)
    return collected(numbered.sort(f"code of {role}"))[role].to_list(), numbered


def collected(table: Any) -> Any:
    """Run a query."""
    return table.collect()


_PLAIN = r"^[!-~](.*[!-~])?\z"  # text that begins and ends with what can be seen
_TOGETHER = 10_000_000  # rows that are grouped at once
_BITS = 52  # of a whole number that holds labels: no sum of 2000 equal ones reaches the sign


def lazy_patterns(
    frame: Any, columns: dict[str, str], classes: Any, missing: str,
    tell: Callable[[int, int], None] = lambda done, planned: None,
) -> tuple[tuple[np.ndarray, ...], tuple, tuple, tuple] | None:  # fmt: skip
    """Distinct rows of labels of a lazy table; `columns` are the names of "task", "worker" and "label".

    Labeler and label of every label of row 0, then of row 1, ...; labels and tasks of each row; names of
    workers and of classes; and notes. None where a worker labelled a task more than once, or of many labels.
    Of very many rows the tasks are grouped part by part; `tell` is called with (parts done, all parts).
    """
    choose("missing", missing, ("error", "drop"))
    table = ids.read_frame(frame, lazy=True)
    if not hasattr(table, "collect"):
        advice = "use begin_stream(Labels.from_frame(frame))"
        raise ValueError(f"frame is a {type(frame).__name__}, which is in memory: {advice}")
    ids.check_columns(table.collect_schema().names(), columns, Source())
    import narwhals as nw

    picked = table.select(*(nw.col(name).alias(role) for role, name in columns.items()))
    coded, rows, workers, codes, names, notes = _read(picked, classes, missing)
    if len(codes) > _BITS:
        return None
    pieces, found = _pieces(rows, picked.collect_schema()["task"].is_integer()), []
    for k, piece in enumerate(pieces):
        tell(k, len(pieces))
        part = collected(
            _grouped(coded.filter(piece) if len(pieces) > 1 else coded, len(workers), len(codes))
        )
        found.append(np.stack([part[name].to_numpy() for name in part.columns], axis=1))
    *numbers, times, tasks = np.concatenate(found).T
    numbers = np.stack(numbers, axis=1)
    place, labeler, value = _unpacked(numbers, len(workers), len(codes))
    twice = (place[1:] == place[:-1]) & (labeler[1:] == labeler[:-1])
    if twice.any() or (np.bincount(place, minlength=len(numbers)) < times).any():
        return None
    label = codes[value]
    labelled, number = label >= 0, tasks.astype(np.int64)
    length = np.bincount(place[labelled], minlength=len(number)).astype(np.int32)
    some, lost = length > 0, rows - int((length * number).sum())
    notes += (_without_label(lost, rows),) * (lost > 0)
    labeler, label, bare = labeler[labelled], label[labelled], int(number[~some].sum())
    notes += unused(np.bincount(labeler, minlength=len(workers)), workers, *IDLE)
    notes += unused(np.bincount(label, minlength=len(names)), names, *ABSENT)
    notes += (bare_note(bare),) * (bare > 0)
    return (labeler, label, length[some], number[some]), workers, names, notes


def _read(picked: Any, classes: Any, missing: str) -> tuple[Any, int, tuple, np.ndarray, tuple, tuple]:
    """The coded table; its rows; workers; class of each different label, -1 for none; classes; notes."""
    import narwhals as nw

    roles = ("task", "worker", "label")
    nulls = (
        nw.col(role).is_null().cast(nw.Int64).sum().alias(role) for role in roles
    )  # Spark adds no booleans
    counted = collected(picked.select(nw.len().alias("rows"), *nulls)).rows(named=True)[0]
    size = {name: int(number or 0) for name, number in counted.items()}
    if not size["rows"]:
        raise ValueError("no labels: the table has no rows")
    suspects = _suspect_tasks(picked) + [None] * (size["task"] > 0)
    ids.encode_ids(suspects, "task", None, _rows_of(picked, "task", suspects))
    (workers, of_worker), (values, of_label) = (names_of(picked, role) for role in ("worker", "label"))
    different = workers + [None] * (size["worker"] > 0)
    ids.encode_ids(different, "worker", None, _rows_of(picked, "worker", different))
    different = values + [None] * (size["label"] > 0)
    advice = "Leave such rows out, or set missing='drop' to do so." if missing == "error" else None
    classes, _ = frame_order(picked, ["label"], classes, None)
    where = _rows_of(picked, "label", different)
    codes, names, notes, _ = encode_classes(different, classes, None, where, advice, size["rows"])
    if not (codes >= 0).any():
        raise ValueError("no labels: the table has no rows with a label")
    nothing = np.flatnonzero(codes[: len(values)] < 0).tolist()  # words that mean no label
    of_label = of_label.filter(~nw.col("code of label").is_in(nothing)) if nothing else of_label
    coded = picked.join(of_worker, on="worker", how="left").join(of_label, on="label", how="left")
    notes += alike_note(workers, "worker ids")
    return coded, size["rows"], tuple(workers), codes[: len(values)], names, notes


def _suspect_tasks(picked: Any) -> list:
    """Task ids that the checks of ids refuse if they refuse any: these look at types, and at ends of text."""
    import narwhals as nw

    if picked.collect_schema()["task"] not in (nw.String, nw.Categorical, nw.Enum):
        return collected(picked.select("task").drop_nulls().head(1))["task"].to_list()
    task = nw.col("task").cast(nw.String)
    ends = (task.str.head(1).alias("head"), task.str.tail(1).alias("tail"))
    plain = task.str.contains(_PLAIN)  # found faster than ends
    suspects = collected(picked.filter(~plain).select(*ends).unique().drop_nulls())
    alone = sorted({end for name in ("head", "tail") for end in suspects[name].to_list()})
    bad = [(ends[0] == end) | (ends[1] == end) for end in alone if not end or not end.isprintable()]
    return [collected(picked.filter(here).select(task).head(1))["task"].to_list()[0] for here in bad]


def _rows_of(table: Any, role: str, values: list) -> Source:
    """Where the different values of a column stand: one row of each, found when a message names it."""
    import narwhals as nw

    def row_with(k: Any) -> str:
        column, value = nw.col(role), values[k]
        none = isinstance(value, float) and value != value
        here = column.is_null() if value is None else column.is_nan() if none else column == value
        rows = collected(table.filter(here).head(1)).rows(named=True)
        return _row_text(rows[0] if rows else {role: value})

    return Source("", "row", 0, row_with)


def _pieces(rows: int, numbered: bool) -> list[Any]:
    """Which tasks are grouped together, so that an engine need not hold all: by their last digit."""
    import narwhals as nw

    number = int(np.clip(rows // _TOGETHER, 1, 10))
    if numbered:
        return [nw.col("task").abs() % number == k for k in range(number)]
    if number == 1:
        return [nw.lit(True)]
    last = nw.col("task").cast(nw.String).str.tail(1)
    return [*(last == digit for digit in "0123456789"), ~last.is_in(list("0123456789")) | last.is_null()]


def _grouped(coded: Any, num_workers: int, num_labels: int) -> Any:
    """The query: numbers of a pattern and how many labels are in them, tasks of that pattern."""
    import narwhals as nw

    each = max(_BITS // num_labels, 1)  # workers in one number
    worker, label = nw.col("code of worker").cast(nw.Int64), nw.col("code of label").cast(nw.Int64)
    bit = (nw.lit(2.0) ** (worker % each * num_labels + label)).cast(nw.Int64).fill_null(0)
    names = [f"number {k}" for k in range(-(-num_workers // each))]
    parts = (nw.when(worker // each == k).then(bit).otherwise(0) for k in range(len(names)))
    rows = coded.select(
        "task", (bit > 0).cast(nw.Int64).alias("labels"), **dict(zip(names, parts, strict=True))
    )
    tasks = rows.group_by("task").agg(*(nw.col(name).sum().cast(nw.Int64) for name in (*names, "labels")))
    grouped = tasks.group_by(*names, "labels").agg(nw.len().alias("tasks"))
    return grouped.select(*names, "labels", "tasks").sort(*names, "labels")


def _unpacked(
    numbers: Int[np.ndarray, "patterns numbers"], num_workers: int, num_labels: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(pattern, worker, code) of every label, in order of patterns, then of workers."""
    each, places, bits = max(_BITS // num_labels, 1), [], []
    for k in range(num_workers * num_labels):
        here = np.flatnonzero(numbers[:, k // (each * num_labels)] >> k % (each * num_labels) & 1)
        places.append(here.astype(np.int32))
        bits.append(np.full(here.size, k, np.int32))
    place, bit = np.concatenate(places), np.concatenate(bits)
    order = np.argsort(place, kind="stable")
    return place[order], *np.divmod(bit[order], num_labels)


def _row_text(row: dict[str, Any]) -> str:
    parts = (f"{name} {brief(row[name])}" for name in ("task", "worker", "label") if name in row)
    return f"({', '.join(parts)})"


_COUNTED, _USUAL = 30, 0.7  # rows before equal sums are odd, and how probable one sum is among labels


def matrix_entries(
    z: Any, num_classes: int | None, classes: Iterable | None, missing: Any, scale: str | None = None
) -> Found:
    """The labels of a (samples, labelers) array or wide data frame; numbers are codes if `num_classes`."""
    if ids.is_frame(z) and num_classes is None:
        classes, scale = frame_order(z, ids.read_frame(z, "z").columns, classes, scale)
    table, tasks, workers = _axes(z)
    if table.ndim != 2 or table.size == 0 or table.dtype.kind not in "biufOU":
        what = f"shape {table.shape}, dtype {table.dtype}"
        raise ValueError(f"z must be a (samples, labelers) matrix of classes; got {what}")
    notes = _like_counts(table)
    if table.dtype.kind in "biuf" and classes is None and num_classes is not None:
        if workers is not None and table.dtype.kind == "f":
            table = np.where(np.isnan(table), missing, table)
        sizes = len(table), table.shape[1], num_classes
        found = scale_of(map(str, range(num_classes)), scale, named=True)[0]
        return (*_coded(table, num_classes, missing), *sizes, tasks, workers, None, notes, (), found, None)
    cells = table.tolist()
    every = ((i, t) for i, row in enumerate(cells) for t in range(len(row)))
    numbers = [(i, t) for i, t in every if not (ids.is_missing(v := cells[i][t]) or v == missing)]
    values = [cells[i][t] for i, t in numbers]
    advice = "Use None where there is no label, or set `missing` to the value used there."
    cell = Source("z", "cell", numbers=numbers)
    codes, names, remarks, scale = encode_classes(values, classes, num_classes, cell, advice, scale=scale)
    sample, labeler = np.array(numbers, np.int32).reshape(-1, 2).T
    if classes is None and num_classes is None:
        check_labelers(labeler, codes, workers)
    inferred = inferred_classes(names, classes, num_classes)
    sizes, notes = (len(table), table.shape[1], len(names)), remarks + notes
    return (sample, labeler, codes, *sizes, tasks, workers, names, notes, inferred, scale, None)


def _like_counts(table: np.ndarray) -> tuple[str, ...]:
    """Said of whole numbers whose rows have one sum, but for a few, though they differ: votes by class.

    Labels do that by chance in fewer than 1 of 10 000 tables, if a row has the commonest sum with probability
    .7 at most, or if labelers agree in half of these rows: agreement on a common class makes equal sums too.
    """
    if table.dtype.kind not in "biuf" or len(table) < _COUNTED or not (table >= 0).all():
        return ()
    sums, size = sum(column.astype(np.result_type(column, np.int64)) for column in table.T), len(table)
    most = np.partition(sums, size // 2)[size // 2]  # a sum that most rows have is their median
    usual = sums == most
    if most < 1 or bdtrc(np.count_nonzero(usual) - 1.0, size, _USUAL) >= 1e-4:
        return ()
    usual = table[usual] * 1.0
    if (usual == usual[:, :1]).all(axis=1).mean() >= 0.5 or not np.ptp(usual, axis=0).any():
        return ()
    rows = "every row of z sums" if len(usual) == size else f"{len(usual)} of {size} rows of z sum"
    what = "like counts of votes by class, but a column is a labeler and a cell the class given"
    advice = "Write one row task, worker, label per vote (jt.Labels.from_long)."
    return (f"{LOOK}{rows} to {most:g}, {what}. {advice}",)


def _axes(z: Any) -> tuple[np.ndarray, tuple | None, tuple | None]:
    """The cells, and the names of rows and columns where z is a data frame."""
    if not ids.is_frame(z):
        try:
            table = np.asarray(z)
        except ValueError:
            raise ValueError("z must be a (samples, labelers) matrix: its rows differ in length") from None
        return (np.array(z, object) if table.dtype.kind == "U" else table), None, None
    frame = ids.read_frame(z, "z")
    workers = None if list(frame.columns) == list(range(len(frame.columns))) else tuple(frame.columns)
    if getattr(getattr(z, "index", None), "nlevels", 1) > 1:
        raise ValueError("the index of z has several levels, and a task id is one value: keep one level")
    index = z.index.tolist() if hasattr(z, "iloc") else list(range(len(frame)))
    if index == list(range(len(index))):
        return frame.to_numpy(), None, workers
    ids.check_ids(index, "task", Source("the index of z"))
    return frame.to_numpy(), ids.names_for(index, "the index of z", len(index)), workers


def _coded(z: np.ndarray, num_classes: int, missing: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(sample, labeler, label) of the cells of an array of numbers, int32."""
    unmarked = isinstance(missing, float) and np.isnan(missing)
    labelled = ~np.isnan(z) if unmarked else z != missing
    if np.all(labelled):
        sample, labeler = np.indices(z.shape, np.int32).reshape(2, -1)
        label = z.ravel()
    else:
        sample, labeler = np.nonzero(labelled)
        label = z[sample, labeler]
    with np.errstate(invalid="ignore"):
        codes = label.astype(np.int32)
    inside = not label.size or (label.min() >= 0 and label.max() < num_classes)
    if not inside or (label.dtype.kind == "f" and (label != codes).any()):
        bad = np.flatnonzero((label != codes) | (codes < 0) | (codes >= num_classes))
        i, t = sample[bad[0]], labeler[bad[0]]
        what = f"not a class code 0..{num_classes - 1} ({bad.size} such)"
        advice = f"Use {missing} where there is no label, or set `missing` to the value used there."
        raise ValueError(f"z[{i}, {t}] is {z[i, t]}, {what}. {advice}")
    return sample.astype(np.int32), labeler.astype(np.int32), codes
