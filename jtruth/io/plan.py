"""How a file is read: one plan, made once, shown, and obeyed.

    bytes --parse--> table --plan(what was asked)--> plan --apply--> labels, gold, predictions, groups, times

A plan says which column is the sample (one or several), which the labeler and which the label, or which
columns are one labeler each; which labelers are none (a worker called GOLD); what the cells mean; and what
happens with repeats. What a person says goes first; then the names of columns decide, then structure (which
columns make a cell unique), then values. Every decision keeps its reason. Where two ways to read a table are
about as good, nothing is guessed: the plan has a doubt, which shows both with the option that chooses each.

`make_plan` decides; `jtruth.io.apply` is the only place where cells become labels. What cells mean (missing,
yes and true, sets, numbers) is `jtruth.io.cells`.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from jtruth._one_line import one_line
from jtruth._validation.columns import COUNT_WORDS, one_order
from jtruth._validation.ids import check_columns
from jtruth._validation.text import TextTable
from jtruth._validation.words import column_called, number_in, number_of, quoted
from jtruth.io.columns import (
    REPEAT,
    Columns,
    grid_of,
    is_beside,
    is_item,
    is_rater,
    names_people,
    role_of,
    stem,
)

LONG, WIDE, TRANSPOSED, SINGLE, UNKNOWN = "long", "wide", "transposed", "one label each", "unknown"


@dataclass(frozen=True)
class FilePlan:
    """How a file is read. A field that is None is open: `make_plan` decides it."""

    layout: str | None = None  # "long", "wide", "transposed", "one label each" (of one labeler)
    task: tuple[str, ...] | None = None  # columns that together name the sample; (): the number of the row
    worker: str | None = None  # the column of labelers; where transposed the rows are labelers
    label: str | None = None  # the column of labels; of an export its field
    labelers: tuple[str, ...] | None = None  # wide: columns of labelers; transposed: columns of samples
    roles: dict[str, str] = field(default_factory=dict)  # other columns: gold, derived, repeat, ...
    aside: dict[str, str] = field(default_factory=dict)  # workers that are no labelers: gold, derived
    classes: tuple[str, ...] | None = None
    scale: str | None = None  # nominal, ordinal or interval; None: by the labels (`Labels.scale`)
    map: Mapping[str, str] | None = None  # label in the file -> class; compared without case
    pass_at: float | str | None = None  # numbers (or classes of a scale) of at least this are "pass"
    contains: str | None = None  # sets of classes: whether they contain this one, yes or no
    silent: tuple[str, ...] = ()  # labels that say nothing; what `map` maps to nothing joins them
    recognise: bool = True  # yes, true, pass, ... as two classes where labels mix them
    repeats: str | None = None  # majority, first, last, keep or error
    missing: str | None = None  # error or drop, for rows without a label
    form: str = ""  # what kind of file it was found to be, in words
    reasons: dict[str, str] = field(default_factory=dict)  # role -> why
    doubts: tuple[str, ...] = ()  # ways to read it that are about as good

    __repr__ = one_line

    @classmethod
    def asked(cls, base: "FilePlan | str | PathLike | None" = None, **options: Any) -> "FilePlan":
        """What a user asked for: `base` (a plan, or a JSON file of one) and edits that are not None.

        Options are the fields, and `abstain` for `silent`; labels that `map` maps to nothing are silent too.

        Raises:
            ValueError: an unknown field, or a file that holds no plan.
        """
        if base is not None and not isinstance(base, FilePlan):
            base = cls.from_dict(json.loads(Path(base).read_text()), str(base))
        options["silent"] = tuple(map(str, options.pop("abstain", None) or ()))
        for name in ("task", "labelers", "classes"):
            value = options.get(name) or ()
            options[name] = (value,) if isinstance(value, str) else tuple(value)
        given = {name: value for name, value in options.items() if value not in (None, ())}
        settled = given.keys() & {"task", "worker", "label", "labelers", "layout"}
        plan = replace(base or cls(), **given, **({"doubts": ()} if settled else {}))
        nothing = tuple(key for key, name in (plan.map or {}).items() if not name)
        kept = {key: name for key, name in (plan.map or {}).items() if name}
        return replace(plan, map=kept or None, silent=plan.silent + nothing) if nothing else plan

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; `from_dict` reads them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Any, name: str = "plan") -> "FilePlan":
        """The plan of a JSON object; ValueError: what is none."""
        known = {one.name for one in fields(cls)}
        if not isinstance(values, dict) or not values or not set(values) <= known:
            odd = quoted(set(values) - known) if isinstance(values, dict) else type(values).__name__
            text = f"this is no plan of jtruth (found {odd}); inspect --save-plan writes one"
            raise ValueError(f"{name}: {text}")
        lists: dict[str, Any] = {key: tuple(one) for key, one in values.items() if isinstance(one, list)}
        return cls(**dict(values) | lists)

    @property
    def as_written(self) -> bool:
        """Whether labels keep the words of the file: no option translates them."""
        return self.map is None and self.pass_at is None and self.contains is None

    def sentence(self) -> str:
        """How the table is read, and what passes; empty where it says so itself (task, worker, label)."""
        least = f"{self.pass_at:g}" if isinstance(self.pass_at, float) else self.pass_at
        cut = "" if least is None else f"Labels of {least} or more are pass."
        return " ".join(filter(None, (self._columns(), cut)))

    def _columns(self) -> str:
        if self.form or self.layout in (None, UNKNOWN):
            return f"Read as {self.form}." if self.form else ""
        key = f"samples in {quoted(self.task)}" if self.task else "each row is a sample"
        names, many = quoted(self.labelers or (), 8), len(self.labelers or ())
        if self.layout == WIDE:
            key = f"IDs in {quoted(self.task)}" if self.task else key
            return f"Read as a wide table: {number_of(many, 'labeler')} {names}; {key}."
        if self.layout == TRANSPOSED:
            rows = f"whose rows are labelers ({self.worker!r}), {number_of(many, 'sample')}"
            return f"Read as a table {rows} {names}."
        if self.layout == SINGLE:
            key = ", ".join(map(repr, self.task or ()))
            return f"Read as one label {self.label!r} per sample {key}, by one labeler."
        if (self.task, self.worker, self.label) == (("task",), "worker", "label"):
            return ""
        return f"Read as a long table: {key}, labelers in {self.worker!r}, labels in {self.label!r}."

    def how(self) -> list[str]:
        """The plan in words: the sentence, and every decision with its reason."""
        first = self.sentence() or "The columns are task, worker and label."
        return [first, *(f"{role}: {why}." for role, why in self.reasons.items())]

    def options(self) -> list[str]:
        """Words of the command line that choose this way to read a table."""
        words = ["--task", ",".join(self.task)] if self.task and self.task != ("task",) else []
        if self.layout == LONG:
            named = (("--worker", self.worker, "worker"), ("--label", self.label, "label"))
            return words + [w for option, name, usual in named if name != usual for w in (option, str(name))]
        return words + (["--labelers", ",".join(self.labelers)] if self.labelers else [])


def make_plan(table: TextTable, asked: FilePlan | None = None, leave_out: Sequence[str] = ()) -> FilePlan:
    """The plan of a table: what was `asked` first, then names, structure and values.

    Args:
        table: any table of text.
        asked: a plan whose open fields are decided here.
        leave_out: columns that are used for something else (--gold column:NAME, --by), never labelers.

    Raises:
        ValueError: a column that was asked for and is not there.
    """
    plan = asked = asked or FilePlan()
    columns = Columns(table, asked.classes, leave_out)
    are_columns = set(asked.labelers or ()) & set(table.header)  # or else names of workers
    named = {"task": asked.task or (), "worker": [asked.worker], "label": [asked.label]}
    for role, names in (named | {"labelers": asked.labelers if are_columns else ()}).items():
        for name in names or ():
            if name is not None:
                check_columns(table.header, {role: name}, table.source)
    if asked.layout is None or not (asked.labelers or asked.label):
        plan = _layout(columns, asked)
    if plan.layout == LONG and not plan.doubts:
        plan = _long(columns, plan, asked)
    plan = _with_order(plan, table.orders or {})
    return replace(
        plan,
        reasons=plan.reasons | ({"labelers": "as was asked"} if asked.labelers else {}),
        roles=plan.roles | {name: "used" for name in leave_out if name in table.header},
        missing=plan.missing or ("error" if plan.layout in (LONG, SINGLE) else "drop"),
        repeats=plan.repeats or "majority",
    )


def _with_order(plan: FilePlan, orders: Mapping[str, Sequence[str]]) -> FilePlan:
    """The plan with the classes as the columns of labels declare them, unless somebody named them."""
    names = [plan.label] if plan.layout in (LONG, SINGLE) else plan.labelers or ()
    found = [orders[name] for name in names if name and name in orders]
    if not found or plan.classes is not None or not plan.as_written:
        return plan
    return replace(plan, classes=tuple(one_order(found)), scale=plan.scale or "ordinal")


def _doubt(plan: FilePlan, text: str) -> FilePlan:
    """The plan with ways to read the table that are about as good."""
    return replace(plan, doubts=(text,))


def _typed(role: str, option: str) -> str:
    """An option as Python and the command line have it."""
    return f"{role}=... (at the command line {option})"


def _part_of_key(name: str, task: Sequence[str]) -> str:
    """What to do where a column may be one more part of the name of a sample."""
    option = _typed("task", f"--task {','.join((*task, name))}")
    return f"If {name!r} is part of the sample, add {option}; to compare its groups, --by {name}"


def _layout(columns: Columns, asked: FilePlan) -> FilePlan:
    """Which columns are which: as was asked, or else by their names."""
    found = column_called("task", columns.free)
    task = asked.task or (None if found is None else (found,))
    worker = asked.worker or column_called("worker", columns.free)
    worker = None if task and worker in task else worker  # one name for two roles
    label = asked.label or _label_called(columns, worker, _without(columns.free, worker, *(task or ())))
    plan = replace(asked, task=task)
    columns.together([*task, worker, label] if task and worker and label else columns.header)
    if asked.labelers is not None and not (worker and set(asked.labelers) <= set(columns.values(worker))):
        check_columns(columns.header, {"labelers": asked.labelers[0]}, columns.table.source)
        if asked.worker and not asked.task:
            return replace(plan, layout=TRANSPOSED, task=(), labelers=asked.labelers)
        return _wide(columns, plan, list(asked.labelers))
    if asked.layout == WIDE:
        key = task or tuple(n for n in columns.free if columns.unique((n,)) and role_of(n) is None)[:1]
        return _wide(columns, replace(plan, task=key), _without(columns.free, *key))
    if {"key", "inner"} <= set(columns.header) and not task and not worker:  # JSON objects in objects
        text = "the samples may be the outer or the inner names. For the outer ones use"
        first, second = _typed("task, worker", "--task key --worker inner"), "--task inner --worker key"
        return _doubt(replace(plan, layout=UNKNOWN), f"{text} {first}, for the inner ones {second}")
    if np.isfinite([number_in(name) for name in columns.header]).all():  # the first line looks like data
        return replace(plan, layout=UNKNOWN)
    if task and worker and label and _is_long(columns, task, worker, label, asked):
        return replace(plan, layout=LONG, worker=worker, label=label)
    return _by_cells(columns, plan, worker, label)


def _by_cells(columns: Columns, plan: FilePlan, worker: str | None, label: str | None) -> FilePlan:
    """Which columns are which, where names do not say all of it (`plan` has those that were asked)."""
    task, free = plan.task, columns.free
    keyed = worker is not None and not task and columns.unique((worker,))
    alike = columns.labelers(_without(free, *(task or ()), worker if plan.worker or keyed else None))
    if not task and worker and label is None and len(alike) > 1 and worker not in alike:
        return _transposed(columns, plan, worker, alike)
    if label and not worker and (plan.label or label not in alike or len(alike) < 3):
        return _without_worker(columns, plan, label)
    three = None
    if task and not label and worker not in alike:
        three = _by_structure(columns, task, worker, alike)
    if not task and worker and label and len(alike) < 2:
        three = _only_key(columns, worker, label)
    if three:
        return replace(plan, layout=LONG, **three)
    if len(alike) > 1 or (len(alike) == 1 and len(free) < len(columns.header)):
        return _maybe_turned(columns, plan, alike)
    return _unknown(columns, replace(plan, worker=worker, label=label))


def _without(names: Sequence[str], *some: str | None) -> list[str]:
    """All names but some."""
    return [name for name in names if name not in some]


def _label_called(columns: Columns, worker: str | None, names: list[str]) -> str | None:
    """The column that is called a label; ids (answer_id) and what never repeats are none."""
    name = column_called("label", [n for n in names if not re.search(r"[\W_]id$|Id$|ID$", n)])
    if name is None and worker is not None:
        return next((n for n in names if n.casefold() in ("score", "grade", "pass", "passed")), None)
    once = name not in (None, "label") and worker is None and columns.size > 3 and columns.unique((name,))
    return None if once else name


def _is_long(columns: Columns, task: tuple[str, ...], worker: str, label: str, asked: FilePlan) -> bool:
    """Not so where "judge" and "label" are two labelers of a wide table: each sample once, the same words."""
    usual = (*task, worker, label) == ("task", "worker", "label")
    if usual or {asked.worker, asked.label} == {worker, label} or columns.size >= 10**6:
        return True
    return not (set(columns.values(worker)) & set(columns.values(label)) and columns.unique(task))


def _by_structure(
    columns: Columns, task: tuple[str, ...], worker: str | None, alike: list[str]
) -> dict[str, Any] | None:
    """Labeler and label of three columns whose names say less: what is left, or what makes rows unique."""
    rest = _without(columns.free, worker, *task)
    if len(rest) == 1 and worker:
        why = f"{rest[0]!r} is the only other column"
        return {"worker": worker, "label": rest[0], "reasons": {"label": why}}
    who = [name for name in rest if columns.unique((*task, name))]
    if len(rest) != 2 or worker or alike or len(who) != 1 or columns.unique(task):
        return None
    label = rest[1 - rest.index(who[0])]
    why = f"{who[0]!r} distinguishes the labels of a sample, and {label!r} repeats"
    return {"worker": who[0], "label": label, "reasons": {"worker": why}}


def _only_key(columns: Columns, worker: str, label: str) -> dict[str, Any] | None:
    """The sample, where names tell labeler and label: the one column that repeats with each labeler."""
    rest = [n for n in _without(columns.free, worker, label) if role_of(n) is None and not is_beside(n)]
    rest = [n for n in rest if not columns.is_time(n) and 4 * columns.repeated((n,)) >= columns.size > 1]
    keys = [name for name in rest if len(columns.values(name)) > 1 and columns.unique((name, worker))]
    if not keys or columns.repeated(keys[:1]) != columns.repeated(keys):  # none, or they name other samples
        return None
    why = f"{keys[0]!r} repeats, once for each labeler, and no other column does"
    return {"task": (keys[0],), "worker": worker, "label": label, "reasons": {"task": why}}


def _unknown(columns: Columns, plan: FilePlan) -> FilePlan:
    """Names say too little: what structure would propose, for the message alone."""
    if words := columns.as_numbers(plan.task):
        votes = _votes(columns, words[-1].split(","))
        text = f"If these numeric columns are labelers and not features, add {shlex.join(words)}"
        text = f"The columns {votes}" if votes else text
    elif words := columns.as_rows(plan.task, plan.label):
        text = f"If each row is a label, add {shlex.join(words)}"
    return replace(plan, layout=UNKNOWN, roles={"proposed": text} if words else plan.roles)


def _transposed(columns: Columns, plan: FilePlan, worker: str, names: list[str]) -> FilePlan:
    """Rows are labelers, and columns samples."""
    why = f"the column {worker!r} names labelers, and no column names samples"
    rest = [n for n in _without(columns.free, worker, *names) if role_of(n) is None and columns.values(n)]
    rest = [name for name in rest if not columns.is_time(name)]
    words = set().union(*map(columns.words, names))
    names = [n for n in columns.header if n in names or (n in rest and columns.words(n) <= words)]
    if rest := _without(rest, *names):
        option = f"--worker {worker} --labelers {','.join(names[:2])},..."
        text = f"rows are labelers ({worker!r}), and {quoted(rest)} have other answers. List "
        plan = _doubt(plan, f"{text}the columns that are samples: {_typed('labelers', option)}")
    return replace(plan, layout=TRANSPOSED, task=(), worker=worker, labelers=tuple(names),
                   reasons={"layout": why})  # fmt: skip


def _maybe_turned(columns: Columns, plan: FilePlan, alike: list[str]) -> FilePlan:
    """A wide table, unless names say that its rows are labelers; a doubt where nothing says which."""
    rest = [name for name in _without(columns.free, *alike) if name.casefold() not in COUNT_WORDS]
    ids = columns.ids(rest) if columns.size > 1 else []
    if plan.task or not ids:
        return _wide(columns, plan, alike)
    who = [name for name in ids if names_people(columns, name)]
    key, raters = (who or ids)[0], bool(who) or all(map(is_rater, columns.values(ids[0])))
    if (all(map(is_item, alike)) and not is_item(key)) or (raters and not all(map(is_rater, alike))):
        return _transposed(columns, plan, key, alike)
    if columns.size < 10 and 2 * columns.size < len(alike) and not any(map(is_rater, alike)):
        text = (
            f"rows may be samples or labelers: there are {columns.size} rows and {len(alike)} columns of "
            f"labels. If rows are samples, add {_typed('task', f'--task {key}')}. If they are labelers, add "
            f"{_typed('worker', f'--worker {key}')}"
        )
        plan = _doubt(plan, text)
    return _wide(columns, replace(plan, task=(key,)), alike)


def _wide(columns: Columns, plan: FilePlan, names: list[str]) -> FilePlan:
    """One row for each sample, one column for each labeler."""
    task, rest = plan.task, _without(columns.header, *names)
    if task is None:
        named = column_called("task", rest)
        task = (named,) if named else tuple(columns.ids(rest)[:1])
    names = _without(names, *task)
    roles = {name: role_of(name) or "ignored" for name in _without(rest, *task)}
    for name in [name for name, role in roles.items() if role == "prediction" and names and plan.as_written]:
        words = set().union(*map(columns.words, names))
        if columns.numbers(name) is None and not columns.words(name) & words:
            roles[name] = "ignored"  # names of models, which are no classes
    if plan.labelers is None:
        counts = [name for name in rest if name.casefold() in COUNT_WORDS]
        counts = [name for name in counts if not re.search("vote|label", name.casefold())]
        text = "first repeat each row, with different task ids"
        text = f"{counts[0]!r} may count rows: {text}" if counts else ""
        if not text and plan.layout != WIDE:
            text = _rows_or_labels(columns, task, roles, names) or _one_more(columns, roles, names)
            text = text or _votes(columns, names) or _two_parts(names)
        plan = _doubt(plan, text) if text else plan
    return replace(plan, layout=WIDE, task=task, labelers=tuple(names), roles=roles)


def _votes(columns: Columns, names: list[str]) -> str | None:
    """The doubt where columns may count votes."""
    if (why := columns.count_votes(names)) is None:
        return None
    option = _typed("labelers", f"--labelers {','.join(names)}")
    text = f"{quoted(names, 8)}{why} may count the votes for each class. Write one row for each vote then"
    return f"{text}; if they are labelers, add {option}"


def _two_parts(names: list[str]) -> str | None:
    """The doubt where names are a labeler and a question each: ann_tone, ann_style, bob_tone, bob_style."""
    if (some := grid_of(names)) is None:
        return None
    ways = f"--labelers {some[0]}, --labelers {some[1]}, or --labelers {','.join(names)} for all"
    text = f"{quoted(names, 8)} have two parts, such as a labeler and a question"
    return f"{text}. Give the labelers of one question: labelers=... ({ways})"


def _one_more(columns: Columns, roles: dict[str, str], names: list[str]) -> str | None:
    """The doubt where a column among labelers has classes of its own, in a table of two or three rows."""
    places = [columns.header.index(name) for name in names]
    between = columns.header[min(places) : max(places)] if 1 < columns.size < 4 and len(names) > 2 else ()
    numeric = all(columns.numbers(name) for name in names)
    for name in between:
        alike = bool(columns.numbers(name)) == numeric and len(columns.values(name)) < columns.size
        if roles.get(name) == "ignored" and alike and columns.may_label(name):
            text = f"{name!r} is between columns of labelers but has other labels. If it is a labeler, add "
            every, others = ",".join((*names, name)), ",".join(names)
            return f"{text}{_typed('labelers', f'--labelers {every}')}; if not, --labelers {others}"
    return None


def _rows_or_labels(
    columns: Columns, task: tuple[str, ...], roles: dict[str, str], names: list[str]
) -> str | None:
    """The doubt where rows of a wide table may be labels: several of one sample, or no key at all."""
    wide = _typed("labelers", f"--labelers {','.join(names)}")
    alike = all(map(is_rater, names)) or (len(names) > 1 and len(set(map(stem, names))) == 1)
    if not task and not alike:
        others = [n for n, role in roles.items() if role == "ignored" and not is_beside(n)]
        long = _typed("task=..., worker=..., label", "--task NAME --worker NAME --label NAME")
        text = f"a row may be a sample with labelers {quoted(names)}, or a label. For a sample add {wide}"
        unclear = not all(map(columns.is_text_or_time, others))
        return f"no column identifies each row: {text}, for a label {long}" if unclear else None
    if not task or columns.unique(task):
        return None
    text = f"{quoted(names, 8)} look like labelers, but rows repeat {'+'.join(task)}. "
    if column_called("worker", list(roles)):
        ways = (f"for the label {name!r} add {_typed('label', f'--label {name}')}" for name in names[:3])
        return f"{text}F{'; '.join(ways)[1:]}"
    key = next((n for n in roles if columns.unique((*task, n)) and not columns.unique((n,))), None)
    if key:
        return text + _part_of_key(key, task)
    long = _typed("worker=..., label", f"--worker NAME --label {names[0]}")
    return f"{text}If each row is a sample, add {wide}; if each row is a label, {long}"


def _without_worker(columns: Columns, plan: FilePlan, label: str) -> FilePlan:
    """A label and no column that says who gave it: one label each, or another column tells who."""
    rest = _without(columns.free, label, *(plan.task or ()))
    task = plan.task or tuple(name for name in rest if columns.unique((name,)))[:1]
    plan = replace(plan, task=task or None, label=label)
    if task and columns.unique(task):
        why = {"worker": "no column identifies the labelers, and each sample has one label"}
        return replace(plan, layout=SINGLE, reasons=why)
    who = [name for name in _without(rest, *task) if task and columns.tells_apart(task, name)]
    one = columns.repeated(who)
    who = who[:1] if all(columns.repeated((name,)) == one for name in who) else who  # an id and its name
    if not who:
        return replace(plan, layout=UNKNOWN)
    why = {"worker": f"only {who[0]!r} distinguishes the labels of a sample"}
    plan = replace(plan, layout=LONG, worker=who[0], reasons=why)
    if len(who) == 1:
        return plan
    ways = " or ".join(f"--worker {name}" for name in who[:3])
    text = f"samples have several labels, and {quoted(who)} may identify the labelers"
    return _doubt(plan, f"{text}: give worker=... ({ways})")


def _long(columns: Columns, plan: FilePlan, asked: FilePlan) -> FilePlan:
    """What stands beside task, worker and label: labelers that are none, repeats, a second key."""
    task, worker, label = plan.task or (), str(plan.worker), str(plan.label)
    rest, workers = _without(columns.free, *task, worker, label), columns.values(worker)
    if asked.labelers is None:
        aside = {name: role for name in workers if (role := role_of(name, of_worker=True))} | asked.aside
    else:
        aside = dict.fromkeys(_without(workers, *asked.labelers), "left out")
    if len(aside) < len(workers):
        plan = replace(plan, aside=aside, labelers=asked.labelers)
    repeated = bool(rest) and not plan.form and not columns.unique((*task, worker))
    if not rest or plan.form or repeated:
        repeat = [name for name in rest if REPEAT.fullmatch(name.casefold())][:1]
        plan = replace(plan, roles=plan.roles | dict.fromkeys(repeat, "repeat"))
        return plan if repeat or not repeated else _repeated(columns, plan, rest)
    ids = [name for name in rest if columns.may_be_key(name, worker)]
    if asked.task or not ids or len(workers) < 2 or columns.size < 4 or not columns.unique(task):
        return plan
    one = ",".join(task)
    text = f"no two rows have the same {one}, so no sample has two labels, and {ids[0]!r} repeats. If"
    option = _typed("task", f"--task {ids[0]}")
    return _doubt(plan, f"{text} {ids[0]!r} is the sample, add {option}; if {one} is, --task {one}")


def _repeated(columns: Columns, plan: FilePlan, rest: list[str]) -> FilePlan:
    """The same labeler on the same sample again: another column may be part of the key."""
    task, worker = plan.task or (), str(plan.worker)
    keys = [name for name in rest if plan.repeats is None and columns.tells_apart((*task, worker), name)]
    if not keys:
        return plan
    text = f"the same {worker} labels the same {'+'.join(task)} again, and column {keys[0]!r} differs there."
    more = "If these are repeated labels, add repeats='majority'"
    return _doubt(plan, f"{text} {_part_of_key(keys[0], task)}. {more}")
