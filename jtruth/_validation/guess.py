"""What the columns of a text table look like, and which of them could be task, worker and label."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jtruth._one_line import one_line
from jtruth._validation.coded import Coded, different
from jtruth._validation.ids import MISSING_TEXT
from jtruth._validation.terminal import plain
from jtruth._validation.text import Table
from jtruth._validation.words import SIDE, quoted

# Other words for the three columns, most specific first; compared without case, signs and a final "id".
_WORDS = {
    "task": "task item question sample example document doc instance image sentence unit record case patient",
    "worker": "worker rater annotator labeler labeller coder judge expert observer reader user assessor",
    "label": "label rating answer response annotation category class judgment judgement vote value",
}
COUNT_WORDS = {"n", "count", "counts", "freq", "frequency", "weight"}
_ASK = (
    "jtruth needs three columns: which task, which worker, which label.",
    "Say which they are: --task NAME --worker NAME --label NAME",
)
FEW_VALUES = 20  # a column of labels in a wide table has no more different values than this


@dataclass(frozen=True)
class ColumnLook:
    """One column."""

    name: str
    num_values: int  # different values
    num_missing: int  # empty, or text such as "NA"
    examples: tuple

    __repr__ = one_line


@dataclass(frozen=True)
class FileLook:
    """The columns of a file and how to read it."""

    file: str
    num_rows: int
    columns: tuple[ColumnLook, ...]
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
        width = max(len(plain(column.name)) for column in self.columns)
        lines = [f"{plain(self.file)}: {self.num_rows} rows, {len(self.columns)} columns"]
        for column in self.columns[:12]:
            missing = f", {column.num_missing} missing" if column.num_missing else ""
            values = f"{column.num_values} values{missing}: {quoted(column.examples, 4)}"
            lines.append(f"  {plain(column.name):<{width}}  {values}")
        if len(self.columns) > 12:
            lines.append(f"  and {len(self.columns) - 12} more columns")
        return "\n".join(lines + list(self.advice))


def look_at(table: Table, given: Mapping[str, str] | None = None) -> FileLook:
    """Describe a table; guesses are by the names of columns and by their values, nothing is converted.

    Args:
        table: the table.
        given: role ("task", "worker", "label") -> column, as far as the user said; not guessed then.
    """
    columns = tuple(
        _column(name, values) for name, values in zip(table.header, table.columns[:], strict=True)
    )
    said = {role: name for role, name in (given or {}).items() if name in table.header}
    roles = {role: said.get(role) or _guess(role, table.header) for role in _WORDS}
    layout, advice, labelers, task = "unknown", _ASK, (), None
    wide = _label_columns(columns, len(table.columns[0]))
    if _is_data(table.header):
        advice += ("The first line looks like data. Put a line with the names of the columns before it.",)
    elif all(roles.values()) and len(set(roles.values())) == 3:
        layout, advice = "long", _long_advice(roles)
    elif len(wide) > 1:
        layout, labelers = "wide", tuple(name for name in wide if name != said.get("task"))
        task = _wide_task(table.header, labelers, said.get("task"))
        advice = _wide_advice(table.header, labelers, task)
    elif roles["task"] and roles["label"] and not roles["worker"]:
        layout, advice = "one row per task", _pairs_advice(table, roles)
    mapping = {role: str(name) for role, name in roles.items()} if layout == "long" else None
    return FileLook(
        table.source.name, len(table.columns[0]), columns, layout, mapping, advice, labelers, task
    )


def _column(name: str, values: Sequence[str]) -> ColumnLook:
    names = different(values)
    missing = {value for value in names if value.strip().casefold() in MISSING_TEXT - {"-1"}}
    examples = [value for value in names if value not in missing][:4]
    absent = sum(v in missing for v in values) if missing or not isinstance(values, Coded) else 0
    return ColumnLook(name, len(names) - len(missing), absent, tuple(examples))


def _guess(role: str, header: tuple) -> str | None:
    """The column that plays a role, by its name; None if no column or several of them could."""
    if role in header:
        return role
    plain = {name: re.sub(r"[^a-z]", "", name.casefold()) for name in header}
    plain = {name: word.removesuffix("id") or word for name, word in plain.items()}
    for word in _WORDS[role].split():
        fits = [name for name in header if plain[name] in (word, word + "s", word + "name")]
        if fits:
            return fits[0] if len(fits) == 1 else None
    return None


def _label_columns(columns: tuple[ColumnLook, ...], num_rows: int) -> list[str]:
    """Columns that look like one labeler each: few values, and the same ones."""
    few = [c for c in columns if 0 < c.num_values <= min(FEW_VALUES, num_rows // 2)]
    few = [c for c in few if c.name.casefold() not in COUNT_WORDS]
    said = [{SIDE.get(value.casefold(), value) for value in c.examples} for c in few]  # yes is true is pass
    return [c.name for c, mine in zip(few, said, strict=True) if sum(bool(mine & one) for one in said) > 1]


def _long_advice(roles: dict) -> tuple:
    other = {role: name for role, name in roles.items() if role != name}
    if not other:
        return ("The columns are task, worker, label: ready.",)
    python = ", ".join(f"{role}={name!r}" for role, name in other.items())
    shell = " ".join(f"--{role} {shlex.quote(name)}" for role, name in other.items())
    return (f"This looks like one label per row. Read it by {shell} (in Python: {python}).",)


def _wide_task(header: tuple, workers: tuple, task: str | None) -> str | None:
    """The column of task ids of a wide table."""
    other = tuple(name for name in header if name not in workers and name.casefold() not in COUNT_WORDS)
    return task or _guess("task", other) or next(iter(other), None)


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


def _pairs_advice(table: Table, roles: dict) -> tuple:
    tasks = table.columns[table.header.index(roles["task"])]
    if len(different(tasks)) < len(tasks):
        return (
            f"Several rows have the same {roles['task']}, but no column says who gave the label. Add one.",
        )
    return (
        "One label per task and no worker: predictions or gold labels. Use it beside a file of labels:",
        "  jtruth evaluate LABELS.csv --predictions THIS.csv  # or --gold THIS.csv",
    )


def _is_data(header: tuple) -> bool:
    """Whether the names of the columns are all numbers."""
    return all(re.fullmatch(r"-?[0-9.]+", name) for name in header)
