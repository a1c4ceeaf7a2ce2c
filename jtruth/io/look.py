"""A first look at a file: its columns, the plan of how it is read, and what is doubtful."""

import shlex
from dataclasses import dataclass
from typing import Any

from jtruth._one_line import one_line
from jtruth._validation.words import plain, quoted
from jtruth.io.columns import Columns, says_something
from jtruth.io.plan import LONG, SINGLE, UNKNOWN, FilePlan
from jtruth.io.reading import as_asked, opened

_ASK = (
    "jtruth needs three columns: which task, which worker, which label.",
    "Say which they are: --task NAME --worker NAME --label NAME; or name columns of labelers: --labelers A,B",
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
        return "\n".join([*lines, *self.advice])


def inspect_file(path: Any, *, sep: str | None = None, **options: Any) -> FileLook:
    """What the columns of a table look like, how it would be read, and what is doubtful about that.

    Args:
        path: a file of any kind, or "-" for standard input; or its table.
        sep: separator, a comma (in .tsv files a tab) unless given.
        options: what is known of the plan: task, worker, label, labelers, plan.
    """
    file = opened(path, as_asked(options.pop("plan", None), options), sep)
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
        return [f"In doubt: {doubt}." for doubt in plan.doubts]
    if plan.layout == UNKNOWN:
        data = all(name.replace(".", "").replace("-", "").isdigit() for name in columns.header)
        again = plan.task and plan.label and not columns.unique(plan.task)
        more = ["The first line looks like data. Put a line with the names of the columns before it."] * data
        more += ["Samples have several labels, but no column says who gave them. Add one."] * bool(again)
        proposed = plan.roles.get("proposed")
        return [
            *_ASK,
            *more,
            *([proposed] if proposed else []),
        ]
    lines = plan.how() if plan.sentence() else ["The columns are task, worker, label: ready."]
    if plan.layout == SINGLE:
        lines += ["Predictions or gold labels look so too. Use it beside a file of labels:",
                  "  jtruth evaluate LABELS.csv --predictions THIS.csv  # or --gold THIS.csv"]  # fmt: skip
    elif words := plan.options():
        lines.append(f"The same by options: {shlex.join(words)}")
    beside = {what: name for name, what in plan.roles.items() if what in ("gold", "prediction", "score")}
    return lines + [f"Beside the labels: {what}, column {name!r}" for what, name in beside.items()]
