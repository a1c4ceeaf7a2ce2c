"""`errs_on`: which columns the labelers' errors are associated with, given verified labels.

A column x is a number, a time in days, the length of a text, or membership in a category. For every labeler
two outcomes are tested given the true class: errors, and the use of a class ("judge_a says 'pass' 9 points
more per 100 words"). With y the outcome (0 or 1), and x and y centered within each true class,

    slope = sum x y / sum x^2,

a linear probability model with a level for each class; for a category the difference of the rates, weighted
as by Mantel and Haenszel. The interval has the HC3 variance (MacKinnon and White 1985), but at least that of
equal rates with half a count on either side, and Student's t with (sum x^2)^2 / sum x^4 degrees of freedom.
Values beyond a quartile by more than three interquartile ranges are clipped there.

The p-value is that of a permutation of the ranks r of x within the true classes. Sum r y has variance sum_c
A2 B2 / (n - 1) and third moment sum_c n A3 B3 / ((n - 1) (n - 2)), Ak and Bk the sums of the k-th powers of r
and y in class c; a Pearson curve with these replaces the permutations (Mielke and Berry 2007). q-values are
those of Benjamini and Hochberg (1995) over all labelers, columns and outcomes. Intervals of R findings among
m tests have the level 1 - (1 - level) R / m (Benjamini and Yekutieli 2005). False findings, power and
coverage: `benchmarks/errs_on.py`.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import gammaincc, ndtr, stdtrit

from jtruth import _validation as check
from jtruth._one_line import one_line
from jtruth._random import host_rng
from jtruth._validation.ids import is_missing
from jtruth._validation.times import times_of
from jtruth._validation.words import number_in, number_of, plain, some
from jtruth.answers import Answer, Column, Document, Table, facts, sentence_notes
from jtruth.answers.data import plain_json
from jtruth.evaluation.inputs import read_gold
from jtruth.io.columns import is_beside, says_something
from jtruth.labels import Labels

Numbers = Float[np.ndarray, " n"]
_FEW, _FEWEST, _MOST_CATEGORIES = 5, 10, 20  # labels in a category; of a labeler; categories of a column
_MOST = 200_000  # labels of verified samples that are looked at
_MOST_NAMED, _MOST_CLASSES, _ERRS_WEIGHT = 5, 6, 100
_ID = re.compile(
    r"(.*[_ .-])?(id|uid|uuid|guid|idx|index|key|hash|url|uri|link)|unnamed: \d+|row.*|line|no\.?|#|"
)
NOT_CAUSE = "A column associated with errors need not cause them; correlated columns are all listed."


class Explaining(NamedTuple):
    """A number of each label that may be associated with errors, in readable steps."""

    column: str
    category: str | None  # coded as 1
    x: Float[np.ndarray, " labels"]  # NaN: unknown
    per: str  # what is a step: "100 words"; empty of a category

    __repr__ = one_line


@dataclass(frozen=True, repr=False)
class ErrsOn(Answer):
    """Associations with each labeler's errors; `rows` are ready for JSON, the smallest p-value first."""

    rows: tuple[dict[str, Any], ...]  # worker, does, column, category or per, points, low, high, q_value, ...
    fdr: float
    level: float
    num_gold: int
    columns: tuple[str, ...]  # that were looked at
    left_out: Mapping[str, str]  # column -> why
    warnings: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[str, ...]:
        """A sentence for each labeler and column that are clearly associated, the clearest first."""
        ranked = sorted(  # the class that is named is more informative than an error
            (row for row in self.rows if row["clear"]),
            key=lambda row: row["p_value"] * (_ERRS_WEIGHT if row["does"] == "errs" else 1),
        )
        first: dict[tuple[str, str], dict[str, Any]] = {}
        for row in ranked:
            first.setdefault((row["worker"], row["column"]), row)
        return tuple(map(_sentence, first.values()))

    def blocks(self) -> Document:
        """Build the document of the result."""
        heads = (
            Column("points", f"points [{100 * self.level:g} %]", ("low", "high"), "+.1f"),
            Column("with", "with"), Column("q_value", "q", form=".2g"),
        )  # fmt: skip
        title = "Columns associated with errors, given the true class (percentage points"
        title += "; intervals of findings adjusted for selection)" if self.findings else ")"
        does = (f"{plain(row['worker'])} {row['does']}" for row in self.rows)
        rows = [row | {"what": what, "with": _with(row)} for row, what in zip(self.rows, does, strict=True)]
        why = [f"Column {name!r} was skipped: {text}." for name, text in self.left_out.items()]
        found = self.findings
        rest = [f"{len(found) - _MOST_NAMED} more in the table."] if len(found) > _MOST_NAMED else []
        blocks = (
            Table("errs_on.rows", title, "what", heads, rows, unit=None, say=str,
                  aside=("what", "with")),
            sentence_notes("errs_on.findings", "Errors and columns", [*found[:_MOST_NAMED], *rest], "look"),
            sentence_notes("errs_on.warnings", "Notes on columns", [*self.warnings, *why], "say"),
            facts(**{"errs_on.fdr": self.fdr, "errs_on.level": self.level, "errs_on.num_gold": self.num_gold,
                     "errs_on.columns": self.columns, "errs_on.left_out": dict(self.left_out)}),
        )  # fmt: skip
        workers = {row["worker"] for row in self.rows if row["clear"]}
        names = [repr(plain(name)) for name in dict.fromkeys(r["column"] for r in self.rows if r["clear"])]
        sentence = f"No column is clearly associated with errors (false-discovery rate {self.fdr:g})."
        if found:
            sentence = (
                f"Errors of {number_of(len(workers), 'labeler')} depend on {some(names)}: {found[0]} "
                f"(false-discovery rate {self.fdr:g})."
            )
        about = f"{number_of(self.num_gold, 'verified label')}; columns {some(map(repr, self.columns), 8)}"
        return Document("What are the labelers' errors associated with?", about, sentence, blocks)


def errs_on(
    labels: Labels, gold: Any, columns: Mapping[str, Any], *, fdr: float = 0.05, level: float = 0.95
) -> ErrsOn:
    """Find columns associated with the errors of each labeler, at a false-discovery rate.

    Args:
        labels: the noisy labels.
        gold: (samples,) known classes, -1 where unknown; or a Series or dict by task id, or a `jt.io.Gold`.
        columns: by name: (samples,) numbers, times, categories or texts, or a Series or dict by task id;
            (samples, labelers) if they differ by label. Those of a file are `jt.read(path).columns`.
        fdr: accepted share of false ones among the findings.
        level: probability of the intervals.

    Raises:
        ValueError: no gold, or columns that do not fit the labels.

    >>> z = np.array([0, 1] * 100); words = np.arange(200) % 50
    >>> said = np.where((z == 0) & (words > 35), 1, z)
    >>> found = errs_on(Labels.from_matrix(said[:, None], classes=["fail", "pass"]), z, {"words": words})
    >>> print(found.findings[0])
    0 says 'pass' 24 points more [18, 30] per 20 of 'words'
    """
    known, _ = read_gold(getattr(gold, "classes", gold), labels)
    sample, labeler, label = labels.entries()
    kept = np.flatnonzero(known[sample] >= 0)
    if not kept.size:
        raise ValueError("no sample with gold has labels, so there are no errors to look at")
    if kept.size > _MOST:
        kept = np.sort(host_rng(0, "labels looked at").choice(kept, _MOST, replace=False))
    sample, labeler, label = sample[kept], labeler[kept], label[kept]
    left_out: dict[str, str] = {}
    asked: list[Explaining] = []
    for name, values in columns.items():
        try:
            cells = _cells(values, labels, sample, labeler, name)
            if len(set(cells)) == np.unique(sample).size and _counts(cells) and not is_beside(name):
                raise _LeftOut("it only numbers the samples")
            asked += explaining(name, cells)
        except _LeftOut as why:
            left_out[name] = str(why)
    rows = _discovered(_rows(labels, (labeler, label, known[sample]), asked), fdr, level)
    return ErrsOn(
        rows, float(fdr), float(level), int((known >= 0).sum()),
        tuple(dict.fromkeys(one.column for one in asked)), left_out, _warnings(labels, labeler, rows),
    )  # fmt: skip


class _LeftOut(ValueError):
    """The reason why a column is skipped."""


def _counts(cells: Sequence[str]) -> bool:
    """Whether the cells are consecutive numbers from 0 or 1."""
    numbers = sorted({int(one) if one.isascii() and one.isdigit() else -1 for one in cells})
    return numbers in ([*range(len(numbers))], [*range(1, len(numbers) + 1)])


def _cells(values: Any, labels: Labels, sample: np.ndarray, labeler: np.ndarray, name: str) -> list[str]:
    """The value of every label as text, "" if there is none."""
    table = np.asarray(values, object) if isinstance(values, np.ndarray) and values.ndim == 2 else None
    if table is None:
        aligned = check.align(values, labels, f"columns[{name!r}]", partial=True)
        each = np.full(labels.num_samples, None, object)
        each[aligned.samples] = aligned.values
        cells = each[sample]
    elif table.shape != (labels.num_samples, labels.num_labelers):
        raise ValueError(f"columns[{name!r}] has shape {table.shape}; give (samples,) or (samples, labelers)")
    else:
        cells = table[sample, labeler]
    texts = ["" if is_missing(one) else str(one).strip() for one in cells.tolist()]
    return [text if says_something(text) else "" for text in texts]


def explaining(name: str, cells: Sequence[str]) -> list[Explaining]:
    """Variables of a column: a number, a time, the length of a text, or each category."""
    values, there = Counter(filter(None, cells)), sum(map(bool, cells))
    if len(values) < 2:
        raise _LeftOut("it has one value")
    if _ID.fullmatch(name.strip().casefold()):
        raise _LeftOut("its name is that of an id")
    x, unit = _measure(name, cells, values)
    if x is None:
        return _categories(name, cells, values)
    quartiles = np.nanquantile(x, [0.25, 0.75])
    if reach := 3 * float(np.ptp(quartiles)):
        x = np.clip(x, quartiles[0] - reach, quartiles[1] + reach)
    step = round_step(float(np.nanstd(x)))
    step = max(step, 1.0) if step and not np.nanmax(x % 1) else step  # of whole numbers
    if not step:
        raise _LeftOut("it has one value")
    per = f"{step:,g} {unit[:-1] if step == 1 else unit}".strip()
    return [Explaining(name, None, x / step, per)] if there else []


def _measure(name: str, cells: Sequence[str], values: Counter) -> tuple[np.ndarray | None, str]:
    """Numbers of a column and their unit; None for categories."""
    for change in (str, lambda text: text.replace(",", ".")):
        numbers = {value: number_in(change(value)) for value in values}
        if np.isfinite(list(numbers.values())).all():
            return (None if len(values) == 2 else np.array([numbers.get(c, np.nan) for c in cells])), ""
    try:
        seconds = times_of(list(cells), f"column {name!r}")
    except ValueError as why:
        raise _LeftOut(str(why)) from None
    if seconds is not None:
        return seconds / 86400, "days"
    words = sum(len(value.split()) * n for value, n in values.items()) / values.total()
    long = sum(len(value) * n for value, n in values.items()) / values.total() > 40
    if len(values) <= _MOST_CATEGORIES or not (long or words >= 3):
        return None, ""
    length, unit = (lambda text: len(text.split()), "words") if words >= 3 else (len, "characters")
    return np.array([length(c) if c else np.nan for c in cells], np.float64), unit


def _categories(name: str, cells: Sequence[str], values: Counter) -> list[Explaining]:
    """Each frequent category against all others; of two the second."""
    often = [value for value, n in values.most_common(_MOST_CATEGORIES) if n >= _FEW]
    if len(often) < 2 or sum(values[value] for value in often) < values.total() / 2:
        raise _LeftOut(f"{len(values)} different values, hardly any of them on {_FEW} labels")
    column, known = np.array(cells, object), np.array([bool(cell) for cell in cells])
    asked = often if len(often) > 2 or len(values) > 2 else often[1:]
    inside = (np.where(known, column == value, np.nan).astype(np.float64) for value in asked)
    return [Explaining(name, value, x, "") for value, x in zip(asked, inside, strict=True)]


def round_step(spread: float) -> float:
    """The nearest of 1, 2, 5, 10, ... (by ratio) to a standard deviation; 0 of 0.

    >>> [round_step(x) for x in (0.13, 3.4, 37.0, 80.0, 0.0)]
    [0.1, 5.0, 50.0, 100.0, 0.0]
    """
    if not spread > 0:
        return 0.0
    power = int(np.floor(np.log10(spread)))
    steps = [float(f"{digit}e{power}") for digit in (1, 2, 5, 10)]
    return min(steps, key=lambda step: abs(np.log(step / spread)))


def _rows(labels: Labels, entries: tuple[np.ndarray, ...], asked: list[Explaining]) -> list[dict[str, Any]]:
    """A row for each labeler, column or category, and outcome that can be tested."""
    names, size, (labeler, label, true) = [*map(str, labels.class_names)], labels.num_classes, entries
    tested = [1] if size == 2 else range(size) if size <= _MOST_CLASSES else []
    questions = {None: label != true} | {names[c]: label == c for c in tested}
    rows = []
    for one in asked:
        for says, y in questions.items():
            found = slopes(one.x, y.astype(np.float64), true, labeler, (labels.num_labelers, size))
            fit = found.usable & (found.num >= _FEWEST)
            if one.category is not None:
                fit &= (found.inside >= _FEW) & (found.num - found.inside >= _FEW)
            for t in np.flatnonzero(fit).tolist():
                # Of two classes the one is named that is used more.
                turned = says is not None and size == 2 and found.slope[t] < 0
                word = "errs" if says is None else f"says {plain(names[0] if turned else says)!r}"
                rows.append({
                    "worker": str(labels.worker_names[t]), "column": one.column, "category": one.category,
                    "does": word, "points": 100 * abs(found.slope[t]) if turned else 100 * found.slope[t],
                    "se": 100 * found.se[t], "freedom": found.freedom[t], "per": one.per or None,
                    "num_labels": found.num[t], "num_inside": found.inside[t] if one.category else None,
                    "p_value": found.p_value[t],
                })  # fmt: skip
    return [plain_json(row) for row in rows]


class Slopes(NamedTuple):
    """Slope, standard error, degrees of freedom, p-value, labels, and labels with x > 0, by labeler."""

    slope: Float[np.ndarray, " labelers"]
    se: Float[np.ndarray, " labelers"]
    freedom: Float[np.ndarray, " labelers"]
    p_value: Float[np.ndarray, " labelers"]
    num: Int[np.ndarray, " labelers"]
    inside: Int[np.ndarray, " labelers"]
    usable: Bool[np.ndarray, " labelers"]

    __repr__ = one_line


def slopes(
    x: Float[np.ndarray, " labels"], y: Float[np.ndarray, " labels"], true: Int[np.ndarray, " labels"],
    labeler: Int[np.ndarray, " labels"], sizes: tuple[int, int],
) -> Slopes:  # fmt: skip
    """Slope of y (0 or 1) on x of each labeler, given the true class; `sizes` are (labelers, classes)."""
    known = np.isfinite(x)
    x, y, true, labeler = x[known], y[known], true[known], labeler[known]
    stratum = labeler * sizes[1] + true

    def total(values: Any) -> np.ndarray:
        return np.bincount(stratum, values, sizes[0] * sizes[1]).reshape(sizes)

    n = total(None)
    whole = np.maximum(n, 1)

    def centered(values: np.ndarray) -> np.ndarray:
        return values - (total(values) / whole).ravel()[stratum]

    a, b = centered(x), centered(y)
    a2, b2 = total(a**2), total(b**2)
    spread = a2.sum(axis=1)
    usable = (spread > 1e-12) & (b2.sum(axis=1) > 0)
    divide = np.where(spread > 1e-12, spread, 1.0)
    slope = total(a * b).sum(axis=1) / divide
    left = 1 - a**2 / divide[labeler] - 1 / whole.ravel()[stratum]
    off = (b - slope[labeler] * a) / np.where(left > 1e-9, left, np.inf)
    robust = total(a**2 * off**2).sum(axis=1)
    even = (total(y) + 0.5) / (n + 1)
    se = np.sqrt(np.maximum(robust, (a2 * even * (1 - even)).sum(axis=1))) / divide
    freedom = np.minimum(spread**2 / np.maximum(total(a**4).sum(axis=1), 1e-300), n.sum(axis=1) - 2)
    values, place, number = np.unique(x, return_inverse=True, return_counts=True)
    rank = centered((np.cumsum(number) - (number - 1) / 2)[place])
    variance = (total(rank**2) * b2 / np.maximum(n - 1, 1)).sum(axis=1)
    third = (n * total(rank**3) * total(b**3) / np.maximum((n - 1) * (n - 2), 1)).sum(axis=1)
    moved = total(rank * b).sum(axis=1)
    if values.size == 2:  # whole counts: half a step for continuity
        moved = np.sign(moved) * np.maximum(np.abs(moved) - x.size / 4, 0.0)
    p_value = np.where(usable, pearson_tails(moved, variance, third), 1.0)
    inside = np.bincount(labeler[x > 0], minlength=sizes[0])
    num = n.sum(axis=1).astype(np.int64)
    return Slopes(slope, se, np.maximum(freedom, 1.0), p_value, num, inside, usable)


def pearson_tails(value: Numbers, variance: Numbers, third: Numbers) -> Numbers:
    """Twice the smaller tail of a Pearson type III distribution of mean 0 with these moments.

    >>> print(pearson_tails(np.array([1.96]), np.ones(1), np.zeros(1)).round(3))
    [0.05]
    """
    sd = np.sqrt(np.where(variance > 0, variance, 1.0))
    skew = third / sd**3
    z = value / sd * np.where(skew < 0, -1.0, 1.0)
    shape = 4 / np.maximum(skew**2, 1e-8)
    upper = gammaincc(shape, np.maximum(shape + z * np.sqrt(shape), 0.0))
    upper = np.where(np.abs(skew) < 1e-3, ndtr(-z), upper)
    return np.minimum(2 * np.minimum(upper, 1 - upper), 1.0)


def _discovered(rows: list[dict[str, Any]], fdr: float, level: float) -> tuple[dict[str, Any], ...]:
    """The rows by p-value, with q-values, whether these are at most `fdr`, and intervals."""
    rows = sorted(rows, key=lambda row: row["p_value"])
    p = np.array([row["p_value"] for row in rows])
    q = np.minimum.accumulate((p * p.size / np.arange(1, p.size + 1))[::-1])[::-1]
    clear = q <= fdr
    outside = (1 - level) * np.where(clear, clear.sum() / max(p.size, 1), 1.0)
    half = [stdtrit(row["freedom"], 1 - out / 2) * row["se"] for row, out in zip(rows, outside, strict=True)]
    return tuple(
        row | {"low": max(row["points"] - h, -100.0), "high": min(row["points"] + h, 100.0),
               "q_value": min(float(one), 1.0), "clear": bool(one <= fdr)}
        for row, h, one in zip(rows, half, q, strict=True)
    )  # fmt: skip


def _warnings(labels: Labels, labeler: np.ndarray, rows: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    number = np.bincount(labeler, minlength=labels.num_labelers)
    few = [plain(labels.worker_names[t]) for t in np.flatnonzero(number < _FEWEST)]
    found = [f"Skipped, with fewer than {_FEWEST} verified labels: {some(few)}."] if few else []
    return (*found, NOT_CAUSE) if any(row["clear"] for row in rows) else tuple(found)


def _sentence(row: Mapping[str, Any]) -> str:
    more, sign = ("more", 1) if row["points"] > 0 else ("less", -1)
    low, high = sorted((sign * row["low"], sign * row["high"]))
    size, low, high = (f"{v:.0f}" if abs(v) >= 10 else f"{v:.2g}" for v in (abs(row["points"]), low, high))
    where = f"per {row['per']} of {plain(row['column'])!r}"
    if row["category"] is not None:
        where = f"where {plain(row['column'])!r} is {plain(row['category'])!r} (n = {row['num_inside']})"
    return f"{plain(row['worker'])} {row['does']} {size} points {more} [{low}, {high}] {where}"


def _with(row: Mapping[str, Any]) -> str:
    column, category = plain(row["column"]), row["category"]
    return f"{column}, per {row['per']}" if category is None else f"{column} = {plain(category)}"
