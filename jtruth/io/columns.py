"""What the columns of a table look like: by their names, by what makes rows unique, by their cells.

Names go first ("truth" is no labeler, "rater_2" is one), then structure, then values. `jtruth.io.plan`
decides by these which column is which.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from jtruth._validation.coded import coded, different, has_duplicates
from jtruth._validation.columns import COUNT_WORDS
from jtruth._validation.ids import MISSING_TEXT
from jtruth._validation.text import TextTable, whole_numbers
from jtruth._validation.words import COLUMN_WORDS, SIDE, column_called, number_in

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
_OUTCOMES = {"outcome", "result", "decision", "output"}  # of labelers, where there are three or more
REPEAT = re.compile(
    r"(epoch|repeat|repetition|rep|run|trial|attempt|seed|iteration|iter|round|replicate|pass|try|retry)s?"
    r"([_ .-]?(id|no|num|number|index|idx|n))?"
)
_INDEX = re.compile(r"unnamed: \d+|index|row([_ .-]?(id|no|num|number))?|line|no\.?|#|")
_META = re.compile(
    r"(num|n|len|length|count)_.*|.*_(count|length|len)|age|year|month|day|hour|week|fold|batch|page|position"
    r"|pos|rank|version|session|order|seconds|duration|lead_time|time.*|date.*|agreement|kappa|entropy|alpha"
    r"|(.*[_ .-])?(id|uid|uuid|idx|key)"
)
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")
_FEW_ROWS = 5  # of fewer, whole numbers 1 to n may be grades
_RATER = set(COLUMN_WORDS["worker"].split()) | {
    "r", "ann", "model", "llm", "gpt", "claude", "gemini", "respondent", "participant", "reviewer",
    "evaluator", "person", "team",
}  # fmt: skip
_FEATURE = {"f", "x", "v", "feat", "feature", "pixel", "px", "col", "var", "dim", "emb", "pc", "component"}
_PEOPLE = re.compile(
    r"(e-?mail.*|respond.*|participant.*|user_?name|full_?name|name|response_?id|prolific.*|your .*)"
)
_ITEM = set(COLUMN_WORDS["task"].split()) | {"q", "i", "t", "s", "stimulus", "statement", "text"}
_MOST, _MOST_GRADES = 20, 11  # different values of a labeler in a wide table: words, and whole numbers
_LONG_TEXT = 40  # letters that no class name needs in the mean
_TIMES = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?|\d{9,19}(\.\d+)?|\d{1,2}:\d\d(:\d\d)?.*")


class Columns:
    """The columns of a table, each looked at when somebody asks."""

    def __init__(self, table: TextTable, classes: Sequence[str] | None = None, leave_out: Sequence[str] = ()):
        self.table, self.header, self.classes = table, tuple(table.header), frozenset(classes or ())
        self.free = [name for name in self.header if name not in leave_out]  # not used for something else
        self._values: dict[str, list[str]] = {}

    @cached_property
    def size(self) -> int:
        """Number of rows."""
        return len(self.table.columns[0]) if self.header else 0

    def together(self, names: Sequence[str]) -> None:
        """Read these columns in one pass over the file, where it is read when somebody asks."""
        if load := getattr(self.table.columns, "load", None):
            load([self.header.index(name) for name in names])

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
        code, bound = np.zeros(self.size, np.int64), 1
        for name in names:
            column = coded(self[name])
            size = len(column.names)
            if bound * size >= 2**62:
                code = np.unique(code, return_inverse=True)[1]
                bound = self.size
            code, bound = code * size + column.codes, bound * size
        return code

    def repeated(self, names: Iterable[str]) -> int:
        """How many rows have the cells of an earlier one in these columns."""
        return self.size - np.unique(self.codes(names)).size

    def unique(self, names: Iterable[str]) -> bool:
        """Whether no two rows have the same cells in these columns."""
        return not has_duplicates(self.codes(names))

    def numbers(self, name: str) -> list[float] | None:
        """The numbers of a column that holds nothing else."""
        found = [number_in(value) for value in self.values(name)]
        return found if found and all(np.isfinite(found)) else None

    def is_text_or_time(self, name: str) -> bool:
        """Whether cells are remarks (long, and hardly ever the same), dates or times."""
        values = self.values(name)
        many = 2 * len(values) > self.size
        return (many and sum(map(len, values)) > _LONG_TEXT * len(values)) or self.is_time(name)

    def is_time(self, name: str) -> bool:
        """Dates or times."""
        values = self.values(name)
        return bool(values) and all(_TIMES.fullmatch(value.strip()) for value in values[:50])

    def counts_rows(self, name: str, alone: bool = True) -> bool:
        """Whether cells are 0 or 1 and on, one for each row: in its order, or of many rows in any order."""
        index = _INDEX.fullmatch(name.casefold())
        if index and all(map(str.isdecimal, self.values(name))):
            return True
        may = self.size >= _FEW_ROWS or name == self.header[0] or not alone  # else they may be grades
        cells = list(self[name]) if may and len(self.values(name)) == self.size > 2 else []
        numbers = [int(cell) if cell.isascii() and cell.isdigit() else -1 for cell in cells]
        ordered = numbers if len(numbers) < _FEW_ROWS else sorted(numbers)
        return bool(cells) and any(ordered == list(range(k, k + len(cells))) for k in (0, 1))

    def ids(self, names: Iterable[str]) -> list[str]:
        """Columns that name each row: all cells different, and no times; the first one may number them."""
        every = [name for name in names if self.values(name) and self.unique((name,))]
        found = [name for name in every if not (self.is_time(name) or self.counts_rows(name))]
        first = [name for name in every[:1] if name == self.header[0] and self.counts_rows(name)]
        return found or [name for name in first if not (_INDEX.fullmatch(name.casefold()) or is_rater(name))]

    def tells_apart(self, key: Sequence[str], name: str) -> bool:
        """Whether a column of few names makes cells of the key (almost) unique."""
        if not 1 < len(self.values(name)) <= self.size // 2 or self.is_text_or_time(name):
            return False
        return self.repeated((*key, name)) <= 0.1 * self.repeated(key)

    def may_be_key(self, name: str, worker: str) -> bool:
        """Whether this is a column of ids that several labelers share."""
        named = re.search(r"(id|_key|idx|index)$", name.casefold()) or column_called("task", [name])
        many = 1 < len(self.values(name)) <= self.size / 2
        return bool(named) and many and self.unique((name, worker))

    def may_label(self, name: str) -> bool:
        """Whether the cells could be labels: few different ones, and no ids, times, counts or text."""
        values, plain = self.values(name), name.casefold()
        if self.classes:
            return bool(values) and set(values) <= self.classes
        few = 0 < len(values) <= _MOST or (is_rater(name) and bool(self.numbers(name)))
        odd = plain in COUNT_WORDS or is_beside(name) or REPEAT.fullmatch(plain) or self.counts_rows(name)
        return few and not odd and not self.is_text_or_time(name)

    def count_votes(self, names: Sequence[str]) -> str | None:
        """Why columns may count votes, or mark one class: "" by their names, or one sum in all rows."""
        if len(names) < 2 or all(map(is_rater, names)) or not all(map(self.numbers, names)):
            return None
        cells = [coded(self[name]) for name in names]
        number = np.array([np.array(list(map(number_in, one.names)))[one.codes] for one in cells])
        if (number < 0).any() or (number % 1).any():
            return None
        if all(re.match(r"(votes?|counts?)[\W_]", name.casefold()) for name in names):
            return ""
        sums, alike = number.sum(axis=0), (number == number[:, :1]).all()
        constant = sums.size > 2 and not alike and (sums == sums[0]).all()
        return f" sum to {sums[0]:g} in every row, so they" if constant else None

    def as_numbers(self, task: tuple[str, ...] | None) -> list[str]:
        """Options for a wide table of numbers, which may be scores; none where it is no such table."""
        key = task or tuple(n for n in self.free if self.unique((n,)) and not self.is_time(n))[:1]
        many = [n for n in self.free if n not in key and role_of(n) is None and not is_beside(n)]
        many = [name for name in many if self.numbers(name)]
        fits = key and self.unique(key) and len(many) > 1
        return ["--task", ",".join(key), "--labelers", ",".join(many)] if fits else []

    def as_rows(self, task: tuple[str, ...] | None, label: str | None) -> list[str]:
        """Options for a table with a row for each label, where only three columns can be its three."""
        few = [name for name in self.free if 1 < len(self.values(name)) <= self.size // 2][:6]
        few = [name for name in few if not self.is_text_or_time(name)]
        for key in task or few:
            others = [name for name in few if name != key]
            who = [name for name in others if self.unique((key, name)) and name != label]
            labels = [name for name in others if name not in who and len(self.values(name)) <= _MOST]
            if len(who) == 1 and len(labels) == 1:
                return ["--task", key, "--worker", who[0], "--label", labels[0]]
        return []

    def words(self, name: str) -> set[str]:
        """Cells as they are compared: yes is true is pass, 1.0 is 1."""
        values = self.values(name)
        sides = {str(SIDE.get(value.casefold(), value)) for value in values}
        if sides <= {"0", "1"} and (len(sides) == 2 or not {"0", "1"} & set(values)):
            return {("no", "yes")[int(side)] for side in sides} | ({"0", "1"} & set(values))
        words = (value.casefold() if len(value) > 2 else value for value in values)
        return {f"{number_in(word):g}" if _NUMBER.fullmatch(word) else word for word in words}

    def share(self, a: str, b: str) -> bool:
        """Whether two columns use the same words, of numbers half of them; or are called like raters."""
        one, two = self.words(a), self.words(b)
        if self.classes or (stem(a) == stem(b) and is_rater(a)):
            return True
        numeric = self.numbers(a) is not None and self.numbers(b) is not None
        return len(one & two) >= (min(len(one), len(two)) / 2 if numeric else 1)

    def labelers(self, names: Sequence[str]) -> list[str]:
        """Columns that look like one labeler each: few values, and the same ones as others have.

        Columns called like gold, a model or a consensus are not among them, nor features: whole numbers of
        more than eleven values, where names do not say that they are raters.
        """
        may = [name for name in names if self.may_label(name)]
        groups: list[list[str]] = []
        for name in may:
            near = [group for group in groups if any(self.share(name, other) for other in group)]
            joined = [*(one for group in near for one in group), name]
            groups = [*(group for group in groups if group not in near), joined]
        may = [name for name in may if role_of(name) is None]
        best = max(([name for name in group if name in may] for group in groups), key=len, default=[])
        words = set().union(*map(self.words, best))
        stems = set(map(stem, best)) if len(best) > 1 else set()
        best = [n for n in may if n in best or self.words(n) <= words or stems == {stem(n)}]
        alone = [name for name in best if name.casefold() not in _OUTCOMES]
        best = alone if len(alone) > 2 else best
        if best and not self.classes and all(self.numbers(name) is not None for name in best):
            raters = all(map(is_rater, best))
            counts = all(self.counts_rows(name, alone=False) for name in best)
            grades = raters or (not counts and len(words) <= _MOST_GRADES)
            if not grades or all(stem(name) in _FEATURE for name in best):
                return []
        return best


def says_something(value: str) -> bool:
    """Whether a cell is neither empty, nor a word such as NA, nor a lone punctuation mark."""
    word = value.strip().casefold()
    return word not in NOTHING and word not in MARKS


_ERRORS = ("#ref!", "#value!", "#div/0!", "#name?", "#num!", "#null!")  # of spreadsheets
NOTHING = (MISSING_TEXT - {"-1"}) | {"#n/a", "n.a.", "n.a", *_ERRORS}
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


def is_rater(name: str) -> bool:
    """Whether something is called like a labeler: judge_2, Rater B, gpt-4."""
    return stem(name) in _RATER


def grid_of(names: Sequence[str]) -> tuple[str, str] | None:
    """Names with one last part, and with one first part, if every pair of parts has a name; else None."""
    parts = [re.split(r"[\W_]+", name) for name in names]
    first, last = (list(dict.fromkeys(part[k] for part in parts)) for k in (0, -1))
    whole = len(first) > 1 < len(last) and len(first) * len(last) == len(set(names)) == len(names)
    if not whole or any(len(part) != 2 or len(stem(part[1])) < 2 for part in parts):
        return None
    pairs = list(zip(names, parts, strict=True))
    columns = ",".join(name for name, part in pairs if part[1] == last[0])
    return columns, ",".join(name for name, part in pairs if part[0] == first[0])


def is_item(name: str) -> bool:
    """Whether something is called like a sample: q7, item 3."""
    return stem(name) in _ITEM


def is_beside(name: str) -> bool:
    """Whether a column is called like what is known of a row: an age, a page, a time."""
    return _META.fullmatch(name.casefold()) is not None


def names_people(columns: Columns, name: str) -> bool:
    """Whether a column names people: "Email Address", "respondent", or cells that are addresses."""
    return _PEOPLE.fullmatch(name.casefold()) is not None or all("@" in v for v in columns.values(name))
