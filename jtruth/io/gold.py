"""A table of gold: true classes of some tasks, and how these tasks were chosen.

Gold that was not a simple random sample has columns that say so: `inclusion`, each task's probability to
be asked for, or `stratum`, the part of the tasks inside which gold is random. How large a stratum is stands
beside it (`stratum_size`; `jtruth ask --truth` writes both), else the table has a row for each task. Such a
table may hold rows without a label, for tasks of unknown class; other tables of gold may not.
"""

from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from jtruth._one_line import one_line
from jtruth._validation.text import File, TextTable
from jtruth._validation.words import number_of, part_of
from jtruth.io.columns import NOTHING
from jtruth.io.parsing import as_table
from jtruth.io.plan import FilePlan
from jtruth.io.tables import align_rows, by_sample, class_codes, numbers, one_column, only_rows, usual_columns
from jtruth.labels import Labels

_PLAN = FilePlan()
INCLUSION, STRATUM, SIZE = "inclusion", "stratum", "stratum_size"  # columns of a table of gold
NOT_ANSWERED = (
    "{} no label yet; the others are assumed to be a random part of their stratum. "
    "Fill in rows from the top, and do not skip hard ones."
)
NOT_ASKED = (
    "{} no label, assumed not to have been asked. If an answer was asked for and not given, "
    "the inclusion probabilities are wrong."
)
_NO_SIZE = (
    f"there is a column {STRATUM!r}, but {{}} no row, so the size of each stratum is "
    f"unknown: add a column {SIZE!r}, or their rows with an empty label."
)


class Gold(NamedTuple):
    """Known classes, and how their samples were chosen: what `gold=` takes where that was not at random.

    Each is an array in the order of the samples, or what `evaluate` matches by task ids.
    """

    classes: Any  # (samples,) codes, -1 unknown; a file's with `notes`
    # (samples,) each sample's probability to be asked for; one without gold is not used and may be NaN
    inclusion: Any = None
    strata: Any = None  # (samples,) strata inside which gold is random: whole numbers or names
    sizes: Any = None  # (samples,) sizes of these strata, where samples without gold have no stratum

    __repr__ = one_line

    @property
    def how(self) -> dict[str, Any]:
        """What `jtruth.stats.gold_sample` asks about how gold was chosen."""
        return {"inclusion": self.inclusion, "strata": self.strata, "sizes": self.sizes}

    @property
    def at_random(self) -> bool:
        """Whether gold is taken as a random part of the samples, because nothing else is known."""
        return self.inclusion is None and self.strata is None

    def refuse_sampling(self, why: str) -> None:
        """Refuse gold that was not chosen at random."""
        for name, value in zip(self._fields[1:], self[1:], strict=True):
            if value is not None:
                raise ValueError(f"{name} of gold would not be used: {why}. Leave it out")


def read_gold(
    path: str | PathLike | File | TextTable, labels: Labels, **options: Any
) -> Int[np.ndarray, " samples"]:
    """Class codes that are known to be right, -1 for samples that are not in the file.

    Gold labels for tasks that nobody labelled are an error unless `common_only`; then the array's `notes` say
    what was left out, and answers repeat it. Options are those of `read_gold_sample`.
    """
    return read_gold_sample(path, labels, **options).classes


def read_gold_sample(
    path: str | PathLike | File | TextTable,
    labels: Labels,
    *,
    task: str = "task",
    label: str | None = None,
    common_only: bool = False,
    sep: str | None = None,
    plan: FilePlan = _PLAN,
) -> Gold:
    """Gold and how it was chosen, for `evaluate(gold=...)` and its like; arguments as `read_predictions`.

    A column `inclusion` holds each task's probability to be asked for, a column `stratum` the part of the
    tasks inside which gold is random. Beside such a column a row without a label is a task of unknown class:
    strata need their sizes (a column `stratum_size`) or a row for each task.

    Raises:
        ValueError: as for `read_predictions`; no label at all, a probability outside [0, 1] or 0 where there
            is a label, or a stratum that is not there for each task and has no size.
    """
    table = as_table(path, sep)
    named = label is not None
    task, label = usual_columns(table, task, label, "gold")
    if not named:
        one_column(table, label, "gold", labels)
    ways = [name for name in (INCLUSION, STRATUM) if name in table.header and name not in (task, label)]
    known, empty = _labelled(table, label) if ways else (table, 0)
    codes, remarks = class_codes(known, task, label, labels, plan)
    rows, samples, notes = every = align_rows(table, task, labels, common_only, complete=False)
    if empty:
        empty_rows = number_of(empty, "row of gold has", "rows of gold have")
        notes += ((NOT_ANSWERED if SIZE in table.header else NOT_ASKED).format(empty_rows),)
    if ways:
        rows, samples, _ = align_rows(known, task, labels, common_only, complete=False)
    classes = by_sample(codes[rows], samples, labels, -1, notes + remarks)
    chance, strata, sizes = None, None, None
    rows, samples, _ = every
    if INCLUSION in ways:
        chance = by_sample(_chances(table, known)[rows], samples, labels, np.nan)
    if STRATUM in ways:
        if SIZE in table.header:
            sizes = by_sample(numbers(table, SIZE)[rows], samples, labels, np.nan)
        elif samples.size < labels.num_samples:
            bare = labels.num_samples - samples.size
            raise ValueError(table.source.says(_NO_SIZE.format(part_of(bare, labels.num_samples, "task"))))
        names = np.array(list(table.pick({STRATUM: STRATUM})[0]), str)
        strata = by_sample(names[rows], samples, labels, "")
    return Gold(classes, chance, strata, sizes)


def _labelled(table: TextTable, label: str) -> tuple[TextTable, int]:
    """The rows of a table that have a label, and how many have none."""
    (values,) = table.pick({"label": label})
    kept = [k for k, value in enumerate(values) if value.strip().casefold() not in NOTHING]
    if not kept:
        text = f"column {label!r} is empty: write down the true class of each task."
        raise ValueError(table.source.says(text))
    return only_rows(table, kept), len(values) - len(kept)


def _chances(table: TextTable, known: TextTable) -> np.ndarray:
    """(rows,) chances to be asked; above 0 in the rows that are known."""
    for one, lowest in ((table, 0.0), (known, np.nextafter(0, 1))):
        p = numbers(one, INCLUSION)
        wrong = np.flatnonzero((p < lowest) | (p > 1))
        if wrong.size:
            where = one.source.entry(wrong, f"{INCLUSION} ", f"{p[wrong[0]]:g}")
            raise ValueError(f"{where} not an inclusion probability, above 0 and at most 1.")
    return numbers(table, INCLUSION)
