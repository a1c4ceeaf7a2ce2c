"""Labels from files of any kind: parse, plan, apply. Open this file first.

`opened` parses a file and makes its plan (`jtruth.io.plan`); `jtruth.io.apply` makes rows of it; `read` and
`read_labels` make `Labels` of the rows. Fields are read as text and every field stays what it is: "001" is
not 1, a worker may be called "NA", and a row that does not fit the header is an error with its line number.
How a file was read is its labels' first note, where anything had to be decided.

Where labels lie on several machines each process reads its own file, a shard with all labels of some tasks,
and they tell one another which labelers and classes there are (docs/many_devices.md).
"""

import shlex
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jtruth import _mesh
from jtruth import _validation as check
from jtruth._one_line import one_line
from jtruth._validation.coded import different
from jtruth._validation.text import NoRows, TextTable
from jtruth._validation.words import number_of, plain, quoted
from jtruth.io import apply, exports
from jtruth.io.cells import classes_of, in_words
from jtruth.io.columns import Columns, role_of, says_something
from jtruth.io.exports import LabelRows
from jtruth.io.gold import read_gold
from jtruth.io.parsing import as_table, parsed
from jtruth.io.plan import LONG, SINGLE, TRANSPOSED, UNKNOWN, FilePlan, make_plan
from jtruth.io.tables import by_sample, numbers, per_sample, read_predictions
from jtruth.labels import Labels

PathOrTable = Any  # a path, "-", a data frame, a matrix of codes, a `TextTable`, what `parsed` gave


class Opened(NamedTuple):
    """A file with its plan; `rows` makes its labels, and refuses doubts."""

    table: TextTable
    plan: FilePlan
    export: LabelRows | None = None  # what a known format holds beside its rows

    __repr__ = one_line

    def rows(self) -> LabelRows:
        """One row for each label."""
        rows = apply.rows_of(self.table, self.plan)
        if self.export is not None:
            rows.beside |= self.export.beside
            rows.notes, rows.verdicts = (*self.export.notes, *rows.notes), self.export.verdicts
        return rows


class Data(NamedTuple):
    """What a file says: labels, and what stands beside them, by sample in the order of the labels."""

    labels: Labels
    gold: Any  # (samples,) class codes, -1 unknown; None: no column is called like gold
    predictions: dict[str, Any]  # by column: (samples,) class codes
    scores: dict[str, Any]  # by column: (samples,) numbers
    groups: dict[str, Any]  # by column: (samples,) names, of columns that are constant within samples
    columns: dict[str, Any]  # other cells, neither labels nor gold: (samples,) or (samples, labelers)
    times: Any  # (samples,) seconds, or (samples, labelers) of each label; None: no column of times
    plan: FilePlan
    notes: tuple  # sentences: how the file was read, what was left out

    __repr__ = one_line


def opened(
    path: PathOrTable, asked: FilePlan | None = None, sep: str | None = None, leave_out: Iterable[str] = ()
) -> Opened:
    """Parse a file and make its plan.

    Args:
        path: the file, or "-" for standard input; a data frame; or what is parsed already.
        asked: what the user asked for (`FilePlan.asked`).
        sep: separator; what the header says unless given.
        leave_out: columns that are used for something else, and so are no labelers.
    """
    if isinstance(path, Opened):
        return path
    asked = asked or FilePlan()
    file, rows = parsed(path, sep), None
    if asked.labelers or None not in (asked.task, asked.worker, asked.label):
        pass  # no format is needed
    elif not isinstance(file, TextTable):
        rows = exports.of_records(*file, asked.label)
    elif not {"task", "worker", "label"} <= set(file.header):
        rows = exports.of_table(file, asked.label)
    if rows is not None:
        return _of_export(rows, asked, leave_out, getattr(file, "notes", ()))
    table = as_table(file, known=False)
    return Opened(table, make_plan(table, asked, tuple(leave_out)))


def _of_export(rows: LabelRows, asked: FilePlan, leave_out: Iterable[str], notes: tuple) -> Opened:
    """The rows of a known format as a table; what was asked may name its field, or its own columns."""
    header = ("task", "worker", "label", *rows.more)
    columns = (rows.task, rows.worker, rows.label, *rows.more.values())
    table = TextTable(header, columns, rows.source, notes=notes)
    asked = replace(
        asked,
        layout=None,
        form=rows.form,
        task=asked.task if asked.task and set(asked.task) <= set(header) else ("task",),
        worker=asked.worker if asked.worker in header else None,
        label=asked.label if asked.label in header else None,
        aside={rows.person: "used"} if rows.person and exports.GOLD in leave_out else asked.aside,
    )
    return Opened(table, make_plan(table, asked), rows)


def read(path: PathOrTable, *, plan: FilePlan | str | PathLike | None = None, sep: str | None = None,
         **options: Any) -> Data:  # fmt: skip
    r"""Everything that a file says: labels, gold, predictions, scores, groups and times, and the plan of it.

    Args:
        path: any file that `read_labels` takes.
        plan: how to read it, as `jtruth inspect --save-plan` writes it; made from the file unless given.
        sep: separator.
        options: edits of the plan: those of `read_labels`.

    Example:
        >>> import tempfile; from pathlib import Path
        >>> path = Path(tempfile.mkdtemp()) / "wide.csv"
        >>> _ = path.write_text("item,ann,bob,truth\n1,yes,yes,yes\n2,no,yes,no\n3,no,no,\n")
        >>> data = read(path)
        >>> data.labels.worker_names, data.gold.tolist(), data.plan.layout
        (('ann', 'bob'), [1, 0, -1], 'wide')
    """
    file = opened(path, FilePlan.asked(plan, **options), sep)
    rows = file.rows()
    labels = labels_of_rows(rows, file.plan)
    columns = apply.columns_beside(file.table, file.plan, labels)
    data, notes = Data(labels, None, {}, {}, {}, columns, None, file.plan, ()), labels.notes
    for name, table in _beside(file, rows).items():
        try:
            data = _with_column(data, name, table)
        except ValueError as problem:
            notes += (f"Column {name!r} was not used: {problem}",)
    for name, cells in columns.items():  # times of labels, which differ within samples
        try:
            if cells.ndim == 2 and (when := apply.moments(cells.ravel().tolist())) is not None:
                data = data._replace(times=when.reshape(cells.shape))
                break
        except ValueError as problem:  # days that may be months
            notes += (f"Column {name!r} was not used: {problem}.",)
    return data._replace(notes=notes)


def _beside(file: Opened, rows: LabelRows) -> dict[str, TextTable]:
    """What stands beside labels: a table for each column that has one value a sample, and of each model."""
    plan, tables = file.plan, {name: apply.of_worker(rows, name) for name in rows.beside}
    used = {*(plan.task or ()), plan.worker, plan.label, *(plan.labelers or ())}
    for name in file.table.header:
        if name not in used and plan.layout != TRANSPOSED:
            with suppress(ValueError):  # several values a sample
                tables[name] = apply.beside(file.table, plan, name)
    return tables


def _with_column(data: Data, name: str, table: TextTable) -> Data:
    """The same with one more column in its role: by its name, or else times or groups by what it holds."""
    labels, plan, values = data.labels, data.plan, list(table.columns[1])
    role = plan.roles.get(name) or plan.aside.get(name) or role_of(name)
    if role == "prediction" and not set(values) & set(labels.class_names):  # names of models
        role = None
    name_of = table.header[1]
    if role == "gold" and data.gold is None:
        return data._replace(gold=read_gold(table, labels, label=name_of, common_only=True, plan=plan))
    if role == "prediction":
        found = read_predictions(table, labels, label=name_of, common_only=True, plan=plan)
        data.predictions[name] = by_sample(found.y_pred, found.samples, labels, -1)
    elif role == "score":
        data.scores[name] = per_sample(table, labels, numbers(table, name), np.nan)
    elif role in (None, "ignored") and (seconds := apply.moments(values)) is not None:
        return data._replace(times=per_sample(table, labels, seconds, np.nan))
    elif role in (None, "ignored") and 1 < len(set(values)) <= len(values) // 2:
        data.groups[name] = per_sample(table, labels, np.array(values, object), "")
    return data


def read_labels(
    path: PathOrTable,
    *,
    task: str | Iterable[str] | None = None,
    worker: str | None = None,
    label: str | None = None,
    labelers: Iterable[str] | None = None,
    classes: Iterable | None = None,
    scale: str | None = None,
    repeats: str | None = None,
    missing: str | None = None,
    abstain: Iterable = (),
    map: Mapping[str, str] | None = None,
    pass_at: float | str | None = None,
    contains: str | None = None,
    plan: FilePlan | str | PathLike | None = None,
    sep: str | None = None,
) -> Labels:
    """Labels from any file: a table with a row for each label, a wide table, a log or export of a tool.

    CSV and TSV (possibly gzipped), Excel, JSON, JSON lines and Parquet; exports of annotation tools and logs
    of evaluation tools (`jtruth.io.exports` lists them); a matrix of codes (.npy, -1 where there is no
    label). How a file was read is the first of the labels' notes, where anything had to be decided.

    Args:
        path: the file, or "-" for standard input; or a data frame (eager or lazy: see `Labels.from_frame`),
            or a matrix of codes, or what `jtruth.io.parsing.parsed` made of a file.
        task: column of samples, or several that together name one.
        worker, label: columns of labelers and labels. In an export `label` is the field.
        labelers: columns of a wide table that are one labeler each.
        classes: class names in order of their codes, for instance ("no", "yes").
        scale: "nominal", "ordinal" or "interval"; as in `Labels.from_long`.
        repeats: "majority", "first", "last", "keep" or "error", when a worker labelled a task again.
        missing: "error" or "drop", for rows without a label; cells of wide tables are dropped.
        abstain: labels that say nothing, such as ["unsure"]: left out and counted in a note.
        map: label in the file -> class. pass_at: numbers, or grades of a scale, of at least this are "pass",
            others "fail".
            contains: of sets of classes, whether this one is among them, "yes" or "no".
        plan: a plan, or the JSON file of one: how a file like this is read.
        sep: separator; a comma (in .tsv files a tab), or what alone stands in the header, unless given.

    Raises:
        ValueError: naming the file and the first lines that cannot be used, and what to do; or two ways to
            read the file that are about as good, with what chooses each.
    """
    options = {"task": task, "worker": worker, "label": label, "labelers": labelers, "classes": classes,
               "scale": scale, "repeats": repeats, "missing": missing, "map": map, "pass_at": pass_at,
               "contains": contains}  # fmt: skip
    if not isinstance(path, tuple) and check.is_frame(path):
        given = {name: value for name, value in options.items() if value is not None}
        if _plain_frame(path, given):
            meant = {name: value for name, value in given.items() if name not in _NEED_PLAN}
            return Labels.from_frame(path, abstain=abstain, **meant)
    elif not isinstance(path, tuple) and (matrix := _matrix(path)) is not None:
        return Labels.from_matrix(matrix, None if classes else int(matrix.max()) + 1, classes=classes)
    file = opened(path, FilePlan.asked(plan, abstain=abstain, **options), sep)
    return labels_of_rows(file.rows(), file.plan)


_NEED_PLAN = {"map", "pass_at", "contains", "labelers"}


def _plain_frame(frame: Any, given: Mapping[str, Any]) -> bool:
    """Whether a frame has a row for each label and needs no plan; a lazy one is never collected."""
    from jtruth._validation.ids import read_frame

    table = read_frame(frame, lazy=True)
    if hasattr(table, "collect"):
        if asked := sorted(given.keys() & _NEED_PLAN):
            text = f"{quoted(asked)} of a {type(frame).__name__}"
            raise ValueError(f"{text}: do it in the query, or collect it first")
        return True
    task, worker, label = (given.get(role, role) for role in ("task", "worker", "label"))
    if given.keys() & _NEED_PLAN or not {task, worker, label} <= set(table.columns):
        return False
    if "bool" in str(table.schema[label]).casefold():  # false and true, as in a file
        return False
    return not any(role_of(str(name), of_worker=True) for name in table[worker].unique().to_list())


def labels_of_rows(rows: LabelRows, plan: FilePlan, others: Iterable[str] = ()) -> Labels:
    """The labels of rows, in the words of the plan; `others`: classes if all labels are the same."""
    apply.check_single(rows, plan)
    in_classes, remarks = in_words(rows.label, plan, rows.source)
    classes, more = classes_of(in_classes, plan, rows, others)
    labels = Labels.from_long(
        rows.task, rows.worker, in_classes, classes=classes, repeats=plan.repeats or "majority",
        missing=plan.missing or "error", abstain=plan.silent, scale=plan.scale, source=rows.source,
    )  # fmt: skip
    if "labelers" not in plan.reasons:
        apply.check_derived(labels, rows.source)
    form = (rows.form,) if rows.form else ()
    return replace(labels, notes=(*form, *rows.notes, *remarks, *more, *labels.notes))


def _matrix(path: Any) -> np.ndarray | None:
    if isinstance(path, np.ndarray):
        return path
    path = Path(path)
    return np.load(path, allow_pickle=False) if path.suffix == ".npy" else None


_ASK = (
    "jtruth needs three columns: which task, which worker, which label.",
    "Name them: --task NAME --worker NAME --label NAME; or list the columns of labelers: --labelers A,B",
)


@dataclass(frozen=True)
class FileLook:
    """The columns of a file and how to read it."""

    file: str
    num_rows: int
    columns: tuple[dict[str, Any], ...]  # name; number of different values, of missing ones; examples
    plan: FilePlan
    advice: tuple[str, ...]

    __repr__ = one_line

    @property
    def layout(self) -> str:
        """How the table is laid out."""
        return str(self.plan.layout)

    @property
    def mapping(self) -> dict[str, str] | None:
        """Role -> column, where each row is a label."""
        if self.plan.layout != LONG or self.plan.doubts:
            return None
        return {"task": ",".join(self.plan.task or ()), "worker": str(self.plan.worker),
                "label": str(self.plan.label)}  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"file": self.file, "num_rows": self.num_rows, "columns": self.columns, "layout": self.layout,
                "mapping": self.mapping, "advice": self.advice, "plan": self.plan.to_dict()}  # fmt: skip

    @property
    def headline(self) -> str:
        """How large the table is."""
        rows, columns = number_of(self.num_rows, "row"), number_of(len(self.columns), "column")
        return f"{plain(self.file)}: {rows}, {columns}"

    def __str__(self) -> str:
        """The columns and the advice, a line each."""
        width, lines = max(len(plain(column["name"])) for column in self.columns), [self.headline]
        for column in self.columns[:12]:
            missing = f", {column['num_missing']} missing" if column["num_missing"] else ""
            values = f"{number_of(column['num_values'], 'value')}{missing}: {quoted(column['examples'], 4)}"
            lines.append(f"  {plain(column['name']):<{width}}  {values}")
        if len(self.columns) > 12:
            lines.append(f"  and {number_of(len(self.columns) - 12, 'more column')}")
        return "\n".join([*lines, *self.advice])


def inspect_file(path: Any, *, sep: str | None = None, **options: Any) -> FileLook:
    """What the columns of a table look like, how it would be read, and what is doubtful about that.

    Args:
        path: a file of any kind, or "-" for standard input; or its table.
        sep: separator, a comma (in .tsv files a tab) unless given.
        options: what is known of the plan: task, worker, label, labelers, plan.
    """
    file = opened(path, FilePlan.asked(options.pop("plan", None), **options), sep)
    columns = Columns(file.table)
    rows = tuple(_column(columns, name) for name in columns.header)
    name = file.table.source.name
    return FileLook(name, columns.size, rows, file.plan, tuple(_advice(columns, file.plan)))


def _column(columns: Columns, name: str) -> dict[str, Any]:
    """Name; number of different values, and of those that say nothing; four examples."""
    values = columns.values(name)
    absent = sum(not says_something(cell) for cell in columns[name])
    return {"name": name, "num_values": len(values), "num_missing": absent, "examples": tuple(values[:4])}


def _advice(columns: Columns, plan: FilePlan) -> list[str]:
    """How the file will be read, and what would change that."""
    if plan.doubts:
        return [f"Unclear: {doubt}." for doubt in plan.doubts]
    if plan.layout == UNKNOWN:
        lines: list[str] = list(_ASK)
        if all(name.replace(".", "").replace("-", "").isdigit() for name in columns.header):
            lines.append("The first line looks like data. Add a line with column names before it.")
        if plan.task and plan.label and not columns.unique(plan.task):
            lines.append("Samples have several labels, but no column identifies the labelers. Add one.")
        return lines + [text for role, text in plan.roles.items() if role == "proposed"]
    lines = plan.how() if plan.sentence() else ["The columns are task, worker, label: ready."]
    if plan.layout == SINGLE:
        lines += ["Predictions and gold labels have the same form. Use them with a file of labels:",
                  "  jtruth evaluate LABELS.csv --predictions THIS.csv  # or --gold THIS.csv"]  # fmt: skip
    elif words := plan.options():
        lines.append(f"Equivalent options: {shlex.join(words)}")
    beside = {what: name for name, what in plan.roles.items() if what in ("gold", "prediction", "score")}
    return lines + [f"Also in the file: {what}, column {name!r}" for what, name in beside.items()]


def read_shard(
    path: Any,
    *,
    classes: Iterable | None = None,
    repeats: str = "error",
    missing: str = "error",
    plan: FilePlan | None = None,
    **columns: Any,
) -> Labels:
    """This process's part of the labels, with labelers and classes of all parts; every process must call it.

    Args:
        path: this process's file, of any kind that `read_labels` takes; it may be a header alone.
        classes: names in the order of their codes, the same in every process. Otherwise all labels of all
            parts are the classes, in the order that `read_labels` would give them.
        repeats, missing, columns: as in `read_labels`.
        plan: how each part is read; nothing is recognised by what one part happens to hold.

    Raises:
        ValueError: in every process, what one of them finds: bad rows, other classes than process 0 was given
            (both are shown), a task of which two parts have labels.
    """
    asked = replace(FilePlan.asked(plan, **columns), recognise=False)
    rows, label = _mesh.together(lambda: _rows(path, asked))
    class_names = None if classes is None else [str(name) for name in classes]
    _mesh.same_everywhere("classes", class_names)
    workers = _of_all(different(rows.worker))
    names = [name for name in _of_all(different(label)) if name is not None]
    numbered = lambda: check.encode_classes(names * 3, None, None, rows.source, None)[1]  # noqa: E731
    order = tuple(class_names or _mesh.together(numbered))

    def made() -> Labels:
        if not len(rows.task):
            nothing = np.zeros(0, np.int32)
            return Labels(nothing, nothing, nothing, 0, len(workers), len(order), (), workers, order)
        columns = rows.task, rows.worker, label
        return Labels.from_long(*columns, workers=workers, classes=order, repeats=repeats, missing=missing,
                                source=rows.source)  # fmt: skip

    labels = _mesh.together(made)
    _mesh.no_common("tasks", [str(name) for name in labels.tasks or ()])
    idle = (*check.IDLE, *check.ABSENT)
    kept = tuple(note for note in labels.notes if not any(words in note for words in idle))
    return replace(labels, notes=(*rows.notes, *kept))


def _rows(path: Any, asked: FilePlan) -> tuple[LabelRows, Any]:
    """Rows of a file, none of one that has only a header, and their labels in the words of the classes."""
    try:
        file = opened(path, asked)
    except NoRows:
        return LabelRows([], [], [], check.Source(str(path))), []
    rows = file.rows()
    return rows, in_words(rows.label, file.plan, rows.source)[0]


def _of_all(names: list) -> tuple:
    return tuple(dict.fromkeys(name for some in _mesh.gathered(names) for name in some))
