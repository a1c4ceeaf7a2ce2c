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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from jtruth._one_line import one_line
from jtruth._validation.coded import different, has_duplicates, recode
from jtruth._validation.columns import COUNT_WORDS
from jtruth._validation.ids import MISSING_TEXT, check_columns
from jtruth._validation.text import TextTable, whole_numbers
from jtruth._validation.words import (
    COLUMN_WORDS,
    SIDE,
    column_called,
    number_in,
    number_of,
    quoted,
)

LONG, WIDE, TRANSPOSED, SINGLE, UNKNOWN = "long", "wide", "transposed", "one label each", "unknown"
# What a column of such a name is, by its first or last word; never a labeler unless somebody says so.
_GOLD = {"gold", "truth", "gt", "groundtruth"}
_GOLD_COLUMNS = {"true", "ground", "expected", "target", "y", "ytrue", "reference"}
_DERIVED = {
    "final", "adjudicated", "adjudication", "consensus", "majority", "resolved", "aggregated", "aggregate",
    "agreed", "mv", "median", "mean", "average", "avg",
}  # fmt: skip
_OTHERS = {
    "gold": re.compile(
        r"true[ _.-](class|label|answer)|(class|label|y)[ _.-]true|correct[ _.-](label|answer|class)"
    ),
    "prediction": re.compile(r"(pred|model|classifier|y_?pred).*"),
    "score": re.compile(r"(score|prob|confidence|p_).*"),
}
_REPEAT = re.compile(
    r"(epoch|repeat|repetition|rep|run|trial|attempt|seed|iteration|iter|round|replicate|pass|try|retry)s?"
    r"([_ .-]?(id|no|num|number|index|idx|n))?"
)
_INDEX = re.compile(r"unnamed: \d+|index|row([_ .-]?(id|no|num|number))?|line|no\.?|#|")
_META = re.compile(r"(num|n|len|length|count)_.*|.*_(count|length|len)|age|year|month|day|hour|week|fold|batch|page"
                   r"|position|pos|rank|version|session|order|seconds|duration|lead_time|time.*|date.*")  # fmt: skip
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")
_FEW_ROWS = 5  # of fewer, whole numbers 1 to n may be grades
_RATER = set(COLUMN_WORDS["worker"].split()) | {
    "r", "ann", "model", "llm", "gpt", "claude", "gemini", "respondent", "participant", "reviewer", "evaluator",
    "person", "team",
}  # fmt: skip
_FEATURE = {"f", "x", "v", "feat", "feature", "pixel", "px", "col", "var", "dim", "emb", "pc", "component"}
_PEOPLE = re.compile(
    r"(e-?mail.*|respond.*|participant.*|user_?name|full_?name|name|response_?id|prolific.*|your .*)"
)
_ITEM = set(COLUMN_WORDS["task"].split()) | {"q", "i", "t", "s", "stimulus", "statement", "text"}
_MOST, _MOST_GRADES = 20, 11  # different values of a labeler in a wide table: words, and whole numbers
_LONG_TEXT = 40  # letters that no class name needs in the mean
TIMES = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?|\d{9,19}(\.\d+)?|\d{1,2}:\d\d(:\d\d)?.*")


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
    def asked(cls, base: "FilePlan | str | Path | None" = None, **options: Any) -> "FilePlan":
        """A plan with what somebody said: `base` (a plan, or a JSON file of one) and edits that are not None.

        Raises:
            ValueError: an unknown field, or a file that holds no plan.
        """
        if base is not None and not isinstance(base, FilePlan):
            base = cls.from_dict(json.loads(Path(base).read_text()), str(base))
        for name in ("task", "labelers", "classes", "silent"):
            value = options.get(name)
            options[name] = (value,) if isinstance(value, str) else None if value is None else tuple(value)
        given = {name: value for name, value in options.items() if value not in (None, ())}
        if given.keys() & {"task", "worker", "label", "labelers", "layout"}:
            base = replace(base or cls(), doubts=())
        return replace(base or cls(), **given)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; `from_dict` reads them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Any, name: str = "plan") -> "FilePlan":
        """The plan of a JSON object; ValueError: what is none."""
        known = {one.name for one in fields(cls)}
        if not isinstance(values, dict) or not values or not set(values) <= known:
            odd = quoted(set(values) - known) if isinstance(values, dict) else type(values).__name__
            raise ValueError(
                f"{name}: this is no plan of jtruth (found {odd}); inspect --save-plan writes one"
            )
        lists: dict[str, Any] = {key: tuple(one) for key, one in values.items() if isinstance(one, list)}
        return cls(**dict(values) | lists)

    @property
    def unsaid(self) -> bool:
        """Whether nobody said what labels mean."""
        return self.map is None and self.pass_at is None and self.contains is None

    def sentence(self) -> str:
        """How the table is read, in one sentence; empty where it says so itself (task, worker, label)."""
        if self.form or self.layout in (None, UNKNOWN):
            return f"Read as {self.form}." if self.form else ""
        key = f"the sample is {quoted(self.task)}" if self.task else "samples are the numbers of the rows"
        names = quoted(self.labelers or (), 8)
        if self.layout == WIDE:
            return f"Read as a wide table, {number_of(len(self.labelers or ()), 'labeler')}: {names}; {key}."
        if self.layout == TRANSPOSED:
            many = number_of(len(self.labelers or ()), "sample")
            return f"Read as a table whose rows are labelers ({self.worker!r}), {many}: {names}."
        if self.layout == SINGLE:
            return (
                f"Read as one label {self.label!r} for each sample {', '.join(map(repr, self.task or ()))}, "
                "all by one labeler: no column says who gave them."
            )
        if (self.task, self.worker, self.label) == (("task",), "worker", "label"):
            return ""
        return f"Read as: {key}, the labeler {self.worker!r}, the label {self.label!r}."

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


class Columns:
    """The columns of a table, each looked at when somebody asks."""

    def __init__(self, table: TextTable, classes: Sequence[str] | None = None):
        self.table, self.header, self.classes = table, tuple(table.header), frozenset(classes or ())
        self.size = len(table.columns[0]) if table.header else 0
        self._values: dict[str, list[str]] = {}

    def __getitem__(self, name: str) -> Sequence[str]:
        return self.table.columns[self.header.index(name)]

    def values(self, name: str) -> list[str]:
        """The different cells of a column that say something."""
        if name not in self._values:
            cells = different(whole_numbers(self[name]))
            self._values[name] = [v for v in cells if v in self.classes or says_something(v)]
        return self._values[name]

    def codes(self, names: Iterable[str]) -> np.ndarray:
        """(rows,) int64, one number for each combination of cells of these columns."""
        code = np.zeros(self.size, np.int64)
        for name in names:
            place = {value: k for k, value in enumerate(different(self[name]))}
            code = np.unique(code * len(place) + recode(self[name], place.__getitem__), return_inverse=True)[
                1
            ]
        return code

    def unique(self, names: Iterable[str]) -> bool:
        """Whether no two rows have the same cells in these columns."""
        return not has_duplicates(self.codes(names))

    def numbers(self, name: str) -> list[float] | None:
        """The numbers of a column that holds nothing else."""
        found = [number_in(value) for value in self.values(name)]
        return found if found and all(np.isfinite(found)) else None

    def is_text(self, name: str) -> bool:
        """Free text: long, and hardly ever the same."""
        values = self.values(name)
        return 2 * len(values) > self.size and sum(map(len, values)) > _LONG_TEXT * len(values)

    def is_time(self, name: str) -> bool:
        """Dates or times."""
        values = self.values(name)
        return bool(values) and all(TIMES.fullmatch(value.strip()) for value in values[:50])

    def counts_rows(self, name: str) -> bool:
        """Whole numbers 0, 1, ... or 1, 2, ..., one for each row: in its order, or of many rows in any order."""
        if _INDEX.fullmatch(name.casefold()):
            return True
        cells = list(self[name]) if len(self.values(name)) == self.size > 2 else []
        numbers = [int(cell) if cell.isascii() and cell.isdigit() else -1 for cell in cells]
        ordered = numbers if len(numbers) < _FEW_ROWS else sorted(numbers)
        return bool(cells) and any(ordered == list(range(k, k + len(cells))) for k in (0, 1))


def says_something(value: str) -> bool:
    """Whether a cell is neither empty, nor a word such as NA, nor a lone punctuation mark."""
    word = value.strip().casefold()
    return word not in NOTHING and word not in MARKS


NOTHING = (MISSING_TEXT - {"-1"}) | {"#n/a", "n.a.", "n.a"}
MARKS = {"*", "**", ".", "..", "...", "-", "--", "---", "?", "??", "_", "__", "/", "\\", "–", "—", "…", "•"}


def role_of(name: str, *, of_worker: bool = False) -> str | None:
    """What a column, or a worker, of this name is other than a labeler; None: it may be one."""
    plain = name.strip().casefold()
    words = re.split(r"[\W_]+", plain)
    if words[-1] in _GOLD or plain in _GOLD or (not of_worker and plain in _GOLD_COLUMNS):
        return "gold"
    if {words[0], words[-1]} & _DERIVED and not (of_worker and {"mean", "average"} & set(words)):
        return "gold" if "expert" in words else "derived"
    return None if of_worker else next((role for role, has in _OTHERS.items() if has.fullmatch(plain)), None)


def stem(name: str) -> str:
    """A name without what numbers it: "rater_1", "Rater A" and "rater" have one stem."""
    return re.sub(r"[\W_]*(\d+|(?<=[\W_])[a-z])?$", "", name.strip().casefold())


def make_plan(table: TextTable, asked: FilePlan | None = None, leave_out: Sequence[str] = ()) -> FilePlan:
    """The plan of a table: what was `asked` first, then names, structure and values.

    Args:
        table: any table of text.
        asked: a plan whose open fields are decided here.
        leave_out: columns that are used for something else (--gold column:NAME, --by), never labelers.

    Raises:
        ValueError: a column that was asked for and is not there.
    """
    asked = asked or FilePlan()
    columns = Columns(table, asked.classes)
    named = {"task": asked.task or (), "worker": (asked.worker,), "label": (asked.label,),
             "labelers": asked.labelers or ()}  # fmt: skip
    for role, names in named.items():
        for name in filter(None, names if role != "labelers" or set(names) & set(table.header) else ()):
            check_columns(table.header, {role: name}, table.source)
    free = [name for name in table.header if name not in leave_out]
    made = asked.layout is not None and (asked.labelers or asked.label)
    plan = asked if made else _layout(columns, asked, free)
    if plan.layout == LONG and not plan.doubts:
        plan = _long(columns, plan, asked, free)
    if asked.labelers:
        plan = replace(plan, reasons=plan.reasons | {"labelers": "as was asked"})
    used = {name: "used" for name in plan.roles if name in leave_out}
    plan = replace(
        plan,
        roles=plan.roles | used,
        missing=plan.missing or ("error" if plan.layout in (LONG, SINGLE) else "drop"),
    )
    return replace(plan, repeats=plan.repeats or "majority")


def _layout(columns: Columns, asked: FilePlan, free: list[str]) -> FilePlan:
    """Which columns are which: the first of these ways that fits."""
    task = asked.task or _called("task", columns, free)
    worker = asked.worker or column_called("worker", free)
    label = asked.label or _label_called(
        columns, worker, [n for n in free if n != worker and n not in (task or ())]
    )
    if task and worker in task:  # one name for two roles
        worker = None
    plan = replace(asked, task=task)
    if asked.labelers is not None and not (worker and set(asked.labelers) <= set(columns.values(worker))):
        check_columns(columns.header, {"labelers": asked.labelers[0]}, columns.table.source)
        if asked.worker and not asked.task:
            return replace(plan, layout=TRANSPOSED, task=(), labelers=asked.labelers)
        return _wide(columns, plan, list(asked.labelers))
    if asked.layout == WIDE:
        key = task or tuple(n for n in free if columns.unique((n,)) and role_of(n) is None)[:1]
        return _wide(columns, replace(plan, task=key), [n for n in free if n not in key])
    if np.isfinite([number_in(name) for name in columns.header]).all():  # the first line looks like data
        return replace(plan, layout=UNKNOWN)
    if task and worker and label and _is_long(columns, task, worker, label, asked):
        return replace(plan, layout=LONG, worker=worker, label=label)
    keyed = worker is not None and not task and columns.unique((worker,))
    taken = {*(task or ()), *((worker,) if asked.worker or keyed else ())}
    alike = labeler_columns(columns, [name for name in free if name not in taken])
    if not task and worker and label is None and len(alike) > 1 and worker not in alike:
        return _transposed(columns, plan, worker, alike, free)
    if label and not worker and (asked.label or label not in alike or len(alike) < 3):
        return _without_worker(columns, plan, label, free)
    if task and not label and worker not in alike:
        rest = [name for name in free if name not in (*task, worker)]
        if len(rest) == 1 and worker:
            reasons = {"label": f"{rest[0]!r} is the only other column"}
            return replace(plan, layout=LONG, worker=worker, label=rest[0], reasons=reasons)
        who = [n for n in rest if columns.unique((*task, n))]
        if len(rest) == 2 and not worker and len(who) == 1 and not alike and not columns.unique(task):
            label = next(n for n in rest if n not in who)
            why = f"{who[0]!r} tells the labels of a sample apart, and {label!r} repeats"
            return replace(plan, layout=LONG, worker=who[0], label=label, reasons={"worker": why})
    if len(alike) > 1 or (len(alike) == 1 and len(free) < len(columns.header)):
        return _maybe_turned(columns, plan, alike, free)
    return _unknown(columns, replace(plan, worker=worker, label=label), free)


def _unknown(columns: Columns, plan: FilePlan, free: list[str]) -> FilePlan:
    """Names say too little: the three columns that structure would propose, for the message alone."""
    few = [name for name in free if 1 < len(columns.values(name)) <= columns.size // 2][:6]
    few = [name for name in few if not (columns.is_text(name) or columns.is_time(name))]
    for task in plan.task or few:
        others = [name for name in few if name != task]
        who = [name for name in others if columns.unique((task, name)) and name != plan.label]
        labels = [
            name for name in others if not columns.unique((task, name)) and len(columns.values(name)) <= _MOST
        ]
        if len(who) == 1 and len(labels) == 1:
            words = (
                f"--task {shlex.quote(task)} --worker {shlex.quote(who[0])} --label {shlex.quote(labels[0])}"
            )
            return replace(plan, layout=UNKNOWN, roles={"proposed": words})
    return replace(plan, layout=UNKNOWN)


def _label_called(columns: Columns, worker: str | None, free: list[str]) -> str | None:
    """The column that is called a label; ids (answer_id) and what never repeats are none."""
    may = [n for n in free if not re.search(r"[\W_]id$|Id$|ID$", n)]
    name = column_called("label", may)
    once = name not in (None, "label") and worker is None and columns.size > 3 and columns.unique((name,))
    return None if once else name


def _called(role: str, columns: Columns, free: list[str]) -> tuple[str, ...] | None:
    name = column_called(role, free)
    return None if name is None else (name,)


def _is_long(columns: Columns, task: tuple[str, ...], worker: str, label: str, asked: FilePlan) -> bool:
    """Not so where "judge" and "label" are two labelers of a wide table: each sample once, the same words."""
    if {asked.worker, asked.label} == {worker, label} or (*task, worker, label) == (
        "task",
        "worker",
        "label",
    ):
        return True
    common = set(columns.values(worker)) & set(columns.values(label)) if columns.size < 10**6 else ()
    return not (common and columns.unique(task))


def labeler_columns(columns: Columns, names: Sequence[str]) -> list[str]:
    """Columns that look like one labeler each: few values, and the same ones as others have.

    Columns called like gold, a model or a consensus are not among them, nor ids, times, text and features:
    whole numbers of more than eleven values, where names do not say that they are raters.
    """
    values = {name: _words_of(columns, name) for name in names if _may_label(columns, name)}
    groups: list[list[str]] = []
    for name in values:
        near = [group for group in groups if any(_share(columns, name, other, values) for other in group)]
        groups = [g for g in groups if g not in near] + [[*(one for group in near for one in group), name]]
    groups = [[name for name in group if role_of(name) is None] for group in groups]
    best = max(groups, key=len, default=[])
    words = set().union(*(values[name] for name in best)) if best else set()
    stems = {stem(name) for name in best} if len(best) > 1 else set()
    best = [n for n in names if n in best or (role_of(n) is None and n in values
            and (values[n] <= words or (len(stems) == 1 and stem(n) in stems)))]  # fmt: skip
    if best and all(columns.numbers(name) is not None for name in best) and not columns.classes:
        raters = all(stem(name) in _RATER for name in best)
        if (len(words) > _MOST_GRADES and not raters) or all(stem(name) in _FEATURE for name in best):
            return []
    return best


def _may_label(columns: Columns, name: str) -> bool:
    values = columns.values(name)
    if columns.classes:
        return bool(values) and set(values) <= columns.classes
    few = 0 < len(values) <= max(_MOST, _MOST_GRADES) or (
        stem(name) in _RATER and bool(columns.numbers(name))
    )
    odd = (
        name.casefold() in COUNT_WORDS
        or _META.fullmatch(name.casefold())
        or _REPEAT.fullmatch(name.casefold())
    )
    odd = odd or columns.counts_rows(name) or columns.is_text(name)
    return few and not odd and not columns.is_time(name)


def _words_of(columns: Columns, name: str) -> set[str]:
    """Cells as they are compared: yes is true is pass, 1.0 is 1."""
    values = columns.values(name)
    if all(value.casefold() in SIDE or value in ("0", "1") for value in values):
        return {str(SIDE.get(value.casefold(), value)) for value in values}
    words = (value.casefold() if len(value) > 2 else value for value in values)
    return {f"{number_in(word):g}" if _NUMBER.fullmatch(word) else word for word in words}


def _share(columns: Columns, a: str, b: str, values: Mapping[str, set[str]]) -> bool:
    """Whether two columns use the same words; of numbers at least half of them. Or have numbered names."""
    common, least = len(values[a] & values[b]), min(len(values[a]), len(values[b]))
    if columns.classes:
        return True
    if stem(a) == stem(b) and stem(a) in _RATER:
        return True
    if columns.numbers(a) is not None and columns.numbers(b) is not None:
        return 2 * common >= least and common > 0
    return common > 0


def _transposed(columns: Columns, plan: FilePlan, worker: str, names: list[str], free: list[str]) -> FilePlan:
    """Rows are labelers, and columns samples."""
    why = f"the column {worker!r} names labelers, and no column names samples"
    rest = [n for n in free if n not in (worker, *names) and role_of(n) is None and columns.values(n)]
    rest = [name for name in rest if not columns.is_time(name)]
    if rest:
        text = (
            f"rows are labelers ({worker!r}), and columns {quoted(rest)} have answers that no other column has. "
            "Name the columns that are samples: labelers=... (at the command line "
            f"--worker {worker} --labelers {','.join(names[:2])},...)"
        )
        plan = replace(plan, doubts=(text,))
    return replace(plan, layout=TRANSPOSED, task=(), worker=worker, labelers=tuple(names),
                   reasons={"layout": why})  # fmt: skip


def _maybe_turned(columns: Columns, plan: FilePlan, alike: list[str], free: list[str]) -> FilePlan:
    """A wide table, unless names say that its rows are labelers; a doubt where nothing says which."""
    rest = [name for name in free if name not in alike and name.casefold() not in COUNT_WORDS]
    ids = [n for n in rest if columns.size > 1 and columns.unique((n,)) and "" not in columns.values(n)]
    if plan.task or not ids:
        return _wide(columns, plan, alike)
    who = [n for n in ids if _PEOPLE.fullmatch(n.casefold()) or all("@" in v for v in columns.values(n))]
    key, items = (who or ids)[0], [stem(name) in _ITEM for name in alike]
    raters = [bool(who) or stem(value) in _RATER for value in columns.values(key)]
    if (all(items) and stem(key) not in _ITEM) or (all(raters) and not all(stem(n) in _RATER for n in alike)):
        return _transposed(columns, plan, key, alike, free)
    turned = columns.size < 10 and 2 * columns.size < len(alike)
    if turned and not any(stem(name) in _RATER for name in alike):
        text = (
            f"the rows may be samples or labelers: {columns.size} rows and {len(alike)} columns of labels. If "
            f"rows are samples, say task=... (at the command line --task {key}). If they are labelers, say "
            f"worker=... (at the command line --worker {key})"
        )
        plan = replace(plan, doubts=(text,))
    return _wide(columns, replace(plan, task=(key,)), alike)


def _wide(columns: Columns, plan: FilePlan, names: list[str]) -> FilePlan:
    """One row for each sample, one column for each labeler."""
    counts = [name for name in columns.header if name.casefold() in COUNT_WORDS and name not in names]
    task = plan.task
    if task is None:
        ids = [n for n in columns.header if n not in names and columns.values(n) and columns.unique((n,))]
        named = column_called("task", [n for n in columns.header if n not in names])
        task = (named,) if named else tuple(ids[:1])
    names = [name for name in names if name not in task]
    roles = {name: role_of(name) or "ignored" for name in columns.header if name not in (*task, *names)}
    if plan.layout != WIDE and plan.labelers is None and task and not columns.unique(task):
        key = next(
            (n for n in roles if columns.unique((*task, n)) and len(columns.values(n)) < columns.size), None
        )
        both, last = ",".join((*task, str(key))), f"worker=..., label=... (--worker NAME --label {names[0]})"
        ways = [f"if each row is a sample, labelers=... (at the command line --labelers {','.join(names)})"]
        if key:
            ways = [f"if {key!r} is part of the sample, task=... (at the command line --task {both}), or --by {key} "
                    "to compare its groups"]  # fmt: skip
        if plan.worker or column_called("worker", list(roles)):
            ways = [f"for the label {n!r}, label=... (at the command line --label {n})" for n in names[:3]]
            last = ""
        text = f"{quoted(names, 8)} look like one labeler each, but rows repeat {'+'.join(task)}. Say, " + "; ".join(
            filter(None, (*ways, last and f"if each row is a label, {last}")))  # fmt: skip
        plan = replace(plan, doubts=(text,))
    others = [
        name for name, role in roles.items() if role == "ignored" and not _META.fullmatch(name.casefold())
    ]
    others = [name for name in others if not (columns.is_time(name) or columns.is_text(name))]
    alike = all(stem(name) in _RATER for name in names) or (
        len(names) > 1 and len(set(map(stem, names))) == 1
    )
    if plan.labelers is None and plan.layout != WIDE and not task and others and not alike:
        text = (
            f"no column names each row, so a row may be a sample with labelers {quoted(names)}, or a label. For "
            f"the first say labelers=... (at the command line --labelers {','.join(names)}), for the second "
            "task=..., worker=..., label=... (at the command line --task NAME --worker NAME --label NAME)"
        )
        plan = replace(plan, doubts=(text,))
    if counts and plan.labelers is None:
        text = f"{counts[0]!r} may count rows: first repeat each row, with a task id of its own"
        plan = replace(plan, doubts=(text,))
    return replace(plan, layout=WIDE, task=task, labelers=tuple(names), roles=roles)


def _without_worker(columns: Columns, plan: FilePlan, label: str, free: list[str]) -> FilePlan:
    """A label and no column that says who gave it: one label each, or another column tells who."""
    rest = [name for name in free if name not in (*(plan.task or ()), label)]
    task = plan.task or tuple(n for n in rest if columns.unique((n,)))[:1]
    if not task:
        return replace(plan, layout=UNKNOWN, label=label)
    if columns.unique(task):
        why = {"worker": "no column says who gave the labels, and each sample has one"}
        return replace(plan, layout=SINGLE, task=task, label=label, reasons=why)
    who = [n for n in rest if n not in task and _tells_apart(columns, task, n)]
    if not who:
        return replace(plan, layout=UNKNOWN, task=task, label=label)
    if len(who) > 1:
        ways = " or ".join(f"--worker {name}" for name in who[:3])
        text = (
            f"samples have several labels, and {quoted(who)} may say who gave them: say worker=... ({ways})"
        )
        return replace(plan, layout=LONG, task=task, worker=who[0], label=label, doubts=(text,))
    why = {"worker": f"{who[0]!r} tells the labels of a sample apart, and no other column does"}
    return replace(plan, layout=LONG, task=task, worker=who[0], label=label, reasons=why)


def _tells_apart(columns: Columns, key: Sequence[str], name: str) -> bool:
    """Whether cells of the key are (almost) unique together with this column of few names."""
    values = columns.values(name)
    if not 1 < len(values) <= columns.size // 2 or columns.is_time(name) or columns.is_text(name):
        return False
    number = np.bincount(columns.codes((*key, name)))
    before = np.bincount(columns.codes(key))
    return int((number - 1).sum()) <= 0.1 * int((before - 1).sum())


def _long(columns: Columns, plan: FilePlan, asked: FilePlan, free: list[str]) -> FilePlan:
    """What else stands beside task, worker and label: a second key, repeats, counts, labelers that are none."""
    task, worker, label = plan.task or (), str(plan.worker), str(plan.label)
    rest = [name for name in free if name not in (*task, worker, label)]
    workers, chosen = columns.values(worker), asked.labelers
    aside = {name: role for name in workers if (role := role_of(name, of_worker=True))}
    aside |= asked.aside
    aside = aside if chosen is None else {name: "left out" for name in workers if name not in chosen}
    if len(aside) < len(workers):
        plan = replace(plan, aside=aside, labelers=chosen)
    if not rest:
        return plan
    again = not columns.unique((*task, worker))
    repeat = [name for name in rest if _REPEAT.fullmatch(name.casefold())]
    if again and repeat:
        return replace(plan, roles=plan.roles | {repeat[0]: "repeat"})
    if again and plan.repeats is None and not plan.form:
        keys = [name for name in rest if _tells_apart(columns, (*task, worker), name)]
        if keys:
            both = ",".join((*task, keys[0]))
            text = (
                f"the same {worker} labels the same {'+'.join(task)} again, and column {keys[0]!r} differs "
                f"there. If {keys[0]!r} is part of the sample, say task=... (at the command line --task {both}); "
                f"to compare its groups, --by {keys[0]}. If these are repeats of one label, say "
                "repeats='majority'"
            )
            return replace(plan, doubts=(text,))
    if (
        asked.task is None
        and not plan.form
        and not again
        and len(workers) > 1
        and columns.size > 3
        and columns.unique(task)
    ):
        ids = [name for name in rest if _may_be_key(columns, name, worker)]
        if ids:
            one = ",".join(task)
            text = (
                f"no two rows have the same {one}, so no sample has two labels, and {ids[0]!r} repeats. If "
                f"{ids[0]!r} names the samples, say task=... (at the command line --task {ids[0]}); if "
                f"{one} does, --task {one}"
            )
            return replace(plan, doubts=(text,))
    return plan


def _may_be_key(columns: Columns, name: str, worker: str) -> bool:
    """A column of ids that several labelers share."""
    ids = re.search(r"(id|_key|idx|index)$", name.casefold()) or column_called("task", [name])
    values = columns.values(name)
    if not ids or not 1 < len(values) < columns.size:
        return False
    return columns.unique((name, worker)) and 2 * len(values) <= columns.size
