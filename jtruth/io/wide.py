"""Wide tables: one row for each task, one column for each labeler, and empty cells where nobody looked."""

import re
from collections.abc import Sequence

from jtruth._validation.guess import COUNT_WORDS, look_at
from jtruth._validation.text import Table
from jtruth._validation.words import Source, number_of, quoted
from jtruth.io.exports.rows import LabelRows

# A column of this name is the truth or a classifier, and no labeler, unless somebody says so.
_JUDGED = re.compile(
    r"(gold|truth|true|ground|pred|model|expected|target|consensus|majority|y_?(true|pred)?$)"
)


def wide_rows(
    table: Table, task: str | None, *, forced: bool = False, leave_out: Sequence[str] = ()
) -> LabelRows | None:
    """Rows of a wide table; None if it does not look like one and nobody said that it is.

    Args:
        table: the table.
        task: column of task ids; None: guessed, or the number of the row.
        forced: every column but `task` and `leave_out` is a labeler.
        leave_out: columns of predictions and gold.

    Raises:
        ValueError: a table in which rows are counted, or (forced) without a labeler.
    """
    look = look_at(table, {} if task is None else {"task": task})
    if not forced and look.layout != "wide":
        return None
    task = task if task in table.header else look.wide_task
    out = {task, *leave_out}
    names = (
        [c for c in table.header if c not in out] if forced else [c for c in look.labelers if c not in out]
    )
    judged = [] if forced else [c for c in names if _JUDGED.match(c.casefold())]
    names = [c for c in names if c not in judged]
    counts = [c for c in table.header if c.casefold() in COUNT_WORDS and c not in leave_out]
    if counts:
        raise ValueError(
            table.source.says(
                f"{counts[0]!r} may count rows: first repeat each row, with a task id of its own"
            )
        )
    if not names:
        raise ValueError(table.source.says("there is no column of a labeler in this wide table"))
    picked = dict(zip(names, map(list, table.pick({name: name for name in names})), strict=True))
    size = len(table.columns[0])
    ids = list(table.pick({"task": task})[0]) if task else [str(k) for k in range(size)]
    rows = [(ids[k], name, column[k]) for k in range(size) for name, column in picked.items() if column[k]]
    form = f"wide table, {number_of(len(names), 'labeler')}: {quoted(names, 8)}"
    form += f", task {task!r}" if task else ", tasks are the numbers of the rows"
    rest = [c for c in table.header if c not in names and c not in out]
    notes = (f"{quoted(rest, 8)} was not read as a labeler (--wide does).",) if rest else ()
    where = [k for k in range(size) for column in picked.values() if column[k]]
    source = table.source
    numbers = [source.first + k if source.numbers is None else source.numbers[k] for k in where]
    task_of, worker, label = ([row[k] for row in rows] for k in range(3))
    return LabelRows(
        task_of, worker, label, Source(source.name, source.unit, source.first, numbers), form, notes
    )
