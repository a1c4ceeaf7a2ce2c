"""What the columns of a text table look like, and which of them could be task, worker and label."""

import re
import shlex
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jtruth._one_line import one_line
from jtruth._validation.coded import Coded, different
from jtruth._validation.ids import MISSING_TEXT
from jtruth._validation.text import TextTable
from jtruth._validation.words import COLUMN_WORDS, LOOK, SIDE, Source, column_called, plain, quoted

COUNT_WORDS = {
    "n", "count", "counts", "freq", "frequency", "weight", "votes", "num_votes", "n_votes", "num_labels",
}  # fmt: skip
_ASK = (
    "jtruth needs three columns: which task, which worker, which label.",
    "Say which they are: --task NAME --worker NAME --label NAME",
)
FEW_VALUES = 20  # a column of labels in a wide table has no more different values than this


@dataclass(frozen=True)
class FileLook:
    """The columns of a file and how to read it."""

    file: str
    num_rows: int
    columns: tuple[dict[str, Any], ...]  # name; number of different values, of missing ones; examples
    layout: str  # "long", "one row per task", "wide" or "unknown"
    mapping: dict | None  # role -> column name, where all three are clear
    advice: tuple
    labelers: tuple = ()  # columns of labelers, where the layout is wide
    wide_task: str | None = None  # the column of tasks there; None: the number of the row

    __repr__ = one_line

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        """The columns and the advice, a line each."""
        width = max(len(plain(column["name"])) for column in self.columns)
        lines = [f"{plain(self.file)}: {self.num_rows} rows, {len(self.columns)} columns"]
        for column in self.columns[:12]:
            missing = f", {column['num_missing']} missing" if column["num_missing"] else ""
            values = f"{column['num_values']} values{missing}: {quoted(column['examples'], 4)}"
            lines.append(f"  {plain(column['name']):<{width}}  {values}")
        if len(self.columns) > 12:
            lines.append(f"  and {len(self.columns) - 12} more columns")
        return "\n".join(lines + list(self.advice))


def look_at(table: TextTable, named_columns: Mapping[str, str] | None = None) -> FileLook:
    """Describe a table; guesses are by names of columns and values. `given` roles are not guessed."""
    columns = tuple(
        _column(name, values) for name, values in zip(table.header, table.columns[:], strict=True)
    )
    named = {role: name for role, name in (named_columns or {}).items() if name in table.header}
    roles = {role: named.get(role) or column_called(role, table.header) for role in COLUMN_WORDS}
    layout, advice, labelers, wide_task = "unknown", _ASK, (), None
    wide, one_each = _label_columns(columns, len(table.columns[0])), False
    if wide and all(roles.values()):  # a wide table of both, where the "worker" says what the label says
        task, worker, label = (different(table.columns[table.header.index(roles[r])]) for r in COLUMN_WORDS)
        one_each = len(task) == len(table.columns[0]) and bool(set(worker) & set(label))
    if all(re.fullmatch(r"-?[0-9.]+", name) for name in table.header):
        advice += ("The first line looks like data. Put a line with the names of the columns before it.",)
    elif all(roles.values()) and len(set(roles.values())) == 3 and not (wide and one_each):
        layout, advice = "long", _long_advice(roles)
    elif len(wide) > 1:
        layout, labelers = "wide", tuple(name for name in wide if name != named.get("task"))
        rest = [n for n in table.header if n not in labelers and n.casefold() not in COUNT_WORDS]
        wide_task = named.get("task") or column_called("task", rest) or next(iter(rest), None)
        advice = _wide_advice(table.header, labelers, wide_task)
    elif roles["task"] and roles["label"] and not roles["worker"]:
        layout, advice = "one row per task", _pairs_advice(table, roles)
    mapping = {role: str(name) for role, name in roles.items()} if layout == "long" else None
    return FileLook(
        table.source.name, len(table.columns[0]), columns, layout, mapping, advice, labelers, wide_task
    )


def unused_counts(
    header: Sequence[str], used: Container[str], values_of: Callable[[str], Iterable], source: Source
) -> tuple[str, ...]:
    """Said of a column of counts that is not `used`: whole numbers, some above 1, that number no rows."""
    for name in (name for name in header if str(name).strip().casefold() in COUNT_WORDS and name not in used):
        values = [str(value).strip().removesuffix(".0") for value in values_of(name)]
        if not all(value.isascii() and value.isdigit() for value in values):
            continue
        whole = [int(value) for value in values]
        if max(whole, default=0) > 1 and (len(set(whole)) < len(whole) or len(whole) == 1):
            text = (
                f"column {name!r} was not used, and it may count how often a label was given (up to "
                f"{max(whole)}): here a row is one label. Write a row for each of them, with a worker of its "
                "own, or remove the column."
            )
            return (LOOK + source.says(text),)
    return ()


def _column(name: str, values: Sequence[str]) -> dict[str, Any]:
    """Name; number of different values, and of those that are empty or text such as "NA"; four examples."""
    names = different(values)
    missing = {value for value in names if value.strip().casefold() in MISSING_TEXT - {"-1"}}
    examples = [value for value in names if value not in missing][:4]
    absent = sum(v in missing for v in values) if missing or not isinstance(values, Coded) else 0
    return {"name": name, "num_values": len(names) - len(missing), "num_missing": absent,
            "examples": tuple(examples)}  # fmt: skip


def _label_columns(columns: tuple[dict[str, Any], ...], num_rows: int) -> list[str]:
    """Columns that look like one labeler each: few values, and the same ones."""
    values = {
        c["name"]: {SIDE.get(value.casefold(), value) for value in c["examples"]}  # yes is true is pass
        for c in columns
        if 0 < c["num_values"] <= min(FEW_VALUES, num_rows // 2) and c["name"].casefold() not in COUNT_WORDS
    }
    return [name for name, mine in values.items() if sum(bool(mine & one) for one in values.values()) > 1]


def _long_advice(roles: dict) -> tuple:
    other = {role: name for role, name in roles.items() if role != name}
    if not other:
        return ("The columns are task, worker, label: ready.",)
    python = ", ".join(f"{role}={name!r}" for role, name in other.items())
    shell = " ".join(f"--{role} {shlex.quote(name)}" for role, name in other.items())
    return (f"This looks like one label per row. Read it by {shell} (in Python: {python}).",)


def _wide_advice(header: tuple, workers: tuple, task: str | None) -> tuple:
    """How a wide table will be read, and what would change that."""
    where = f"the task is {task!r}" if task else "tasks are the numbers of the rows"
    lines = [f"This looks wide: one row per task and one column per worker ({quoted(workers)}); {where}."]
    counts = [name for name in header if name.casefold() in COUNT_WORDS]
    if counts:
        lines.append(f"{counts[0]!r} may count rows: first repeat each row, with a task id of its own.")
    else:
        lines.append("It is read as it is; --task NAME names the task, --wide takes all other columns.")
    return tuple(lines)


def _pairs_advice(table: TextTable, roles: dict) -> tuple:
    tasks = table.columns[table.header.index(roles["task"])]
    if len(different(tasks)) < len(tasks):
        return (
            f"Several rows have the same {roles['task']}, but no column says who gave the label. Add one.",
        )
    return (
        "One label per task and no worker: predictions or gold labels. Use it beside a file of labels:",
        "  jtruth evaluate LABELS.csv --predictions THIS.csv  # or --gold THIS.csv",
    )
