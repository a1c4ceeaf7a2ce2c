"""The result of `compare_classifiers`: metrics, differences, and the probability that each is the best.

Labels alone often do not show which is better: with LLM judges as labelers, pairs with a probability of .7 to
.9 were right in half of the cases. Then no probability is given, but the number of verified labels that would
decide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from jtruth._one_line import one_line
from jtruth._random import Key, Stated, host_rng
from jtruth._validation import positive_line
from jtruth._validation.words import number_of, plain
from jtruth.answers import Answer, Column, Document, Table, check_notes, dist_row, facts, how, warning_notes
from jtruth.answers.blocks import cell_text, dist_column, facts_of, value_of
from jtruth.answers.require import Gate, Quantity, named_quantity, require
from jtruth.evaluation import parts
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate, check_level
from jtruth.tables.metrics import Metric, of_one_class, title
from jtruth.tables.pairs import Decided, NewDifference

CLEAR = 0.95  # probability from which a difference is clear
_DRAWS, _MOST_ORDERED = 4000, 5  # of so many at most the whole order is shown
_ORDINAL = ("1st", "2nd", "3rd", "4th", "5th")
_AGREEMENT = (
    "Agreement with labels is the share of all labels that a classifier repeats (Lam and Stork 2003). Up to "
    "random error, it ranks classifiers by accuracy if labels are mostly right, have the same error rate in "
    "every class, and err independently of the classifiers."
)
CLOSE = 0.03  # two are close if the interval of their difference is within this
Pair = tuple[str, str]


@dataclass(frozen=True, repr=False, eq=False)
class Dists:
    """Distributions of numbers by name, of their differences, and joint draws."""

    values: Mapping[str, Estimate]
    differences: Mapping[Pair, DrawsEstimate]  # first minus second, in the order of `values`
    columns: Float[np.ndarray, "draws numbers"]
    sign: float  # -1 where smaller is better, else 1

    __repr__ = one_line

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the numbers."""
        return tuple(self.values)

    @property
    def ranking(self) -> tuple[str, ...]:
        """Names, the best mean first."""
        means = {name: np.nan_to_num(dist.mean) for name, dist in self.values.items()}
        return tuple(sorted(means, key=lambda name: -self.sign * means[name]))

    @cached_property
    def ranks(self) -> Float[np.ndarray, "numbers ranks"]:
        """Probability of each of `values` to be first, second, ...; equal ones share their ranks."""
        if len(self.values) == 2:  # the exact distribution of their difference
            one, other = self.values
            first = self.p_better(one, other)
            return np.array([[first, 1 - first], [1 - first, first]])
        known = self.columns[~np.isnan(self.columns).any(axis=1)] * self.sign
        size = self.columns.shape[1]
        if not len(known):
            return np.full((size, size), np.nan)
        order, place = np.argsort(-known, axis=1), np.arange(size)
        falling = np.take_along_axis(known, order, axis=1)
        new = np.pad(falling[:, 1:] != falling[:, :-1], ((0, 0), (1, 1)), constant_values=True)
        first = np.maximum.accumulate(np.where(new[:, :-1], place, 0), axis=1)  # of those that are equal
        last = np.minimum.accumulate(np.where(new[:, 1:], place, size)[:, ::-1], axis=1)[:, ::-1]
        share, cells = (1 / (last - first + 1)).ravel(), size * (size + 1)
        at = ((order * (size + 1) + end).ravel() for end in (first, last + 1))
        begun, ended = (np.bincount(cell, share, cells).reshape(size, -1) for cell in at)
        return (begun - ended).cumsum(axis=1)[:, :size] / len(known)

    @property
    def best(self) -> dict[str, float]:
        """Probability of each to be the best; equal ones share it."""
        return dict(zip(self.values, self.ranks[:, 0].tolist(), strict=True))

    def difference(self, first: str, second: str) -> Float[np.ndarray, " draws"]:
        """Draws of first minus second, if defined."""
        dist, sign = _turned(self.differences, first, second)
        return sign * dist.draws[~np.isnan(dist.draws)]

    def p_better(self, first: str, second: str, beyond: float = 0.0) -> float:
        """P(first is better by more than `beyond`, which may be below 0); at 0 a tie counts half."""
        dist, turned = _turned(self.differences, first, second)
        draws = self.sign * self.difference(first, second)
        if not draws.size or (beyond == 0 and isinstance(dist, NewDifference)):
            above = dist.above if isinstance(dist, NewDifference) else float("nan")
            return above if self.sign * turned > 0 else 1 - above
        half = 0.5 if beyond == 0 else 0.0
        return float((draws > beyond).mean() + half * (draws == beyond).mean())

    def p_tie(self, first: str, second: str) -> float:
        """P(first = second)."""
        draws = self.difference(first, second)
        return float((draws == 0).mean()) if draws.size else float("nan")


def _turned(differences: Mapping[Pair, DrawsEstimate], first: str, second: str) -> tuple[DrawsEstimate, int]:
    """The stored difference of two, and -1 if it is that of the second minus the first."""
    turned = (second, first) in differences
    return differences[(second, first) if turned else (first, second)], -1 if turned else 1


def consistent(
    values: Mapping[str, Estimate], differences: Mapping[Pair, DrawsEstimate]
) -> dict[Pair, DrawsEstimate]:
    """Differences whose means are the differences of the values' means."""
    gaps = {(a, b): values[a].mean - values[b].mean for a, b in differences}
    known = {pair: replace(differences[pair], middle=gap) for pair, gap in gaps.items() if not np.isnan(gap)}
    return {**differences, **known}


def joined(
    values: Mapping[str, Estimate], differences: Mapping[Pair, DrawsEstimate], key: Key
) -> Float[np.ndarray, "draws numbers"]:
    """Joint draws by a normal copula, from each distribution and those of all differences."""
    size, place = len(values), {name: k for k, name in enumerate(values)}
    sd = {name: max(dist.sd, 0.0) for name, dist in values.items()}
    together = np.eye(size)
    for (a, b), dist in differences.items():
        product, at = sd[a] * sd[b], (place[a], place[b])
        correlation = (sd[a] ** 2 + sd[b] ** 2 - dist.sd**2) / (2 * product) if product > 0 else 0.0
        together[at] = together[at[::-1]] = np.clip(np.nan_to_num(correlation), -1.0, 1.0)
    root, axes = np.linalg.eigh(together)
    half = axes * np.sqrt(np.maximum(root, 0.0))
    half = half / np.sqrt((half**2).sum(axis=1, keepdims=True))
    normal = host_rng(key, "compared together").standard_normal((_DRAWS, size)) @ half.T
    return np.stack([dist._quantile(ndtr(normal[:, k])) for k, dist in enumerate(values.values())], axis=1)


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Dists, Answer):
    """Which classifier is better, with probabilities. `print` it; `to_dict` for JSON."""

    target: str  # "population", new samples, or "in-sample", these
    other: Dists  # the same for the other target
    measure: Metric
    level: float  # probability of the intervals
    interval_kind: str  # "posterior" or "predictive"
    assumption: str  # in words
    assumptions: tuple[tuple[str, tuple[float, ...]], ...]  # a sentence, and each one's metric under it
    num_samples: int
    num_gold: int
    positive: str
    positive_chosen: str  # how it was, in words
    classes: tuple[str, ...]
    warnings: tuple[str, ...]
    key: Stated
    checks: tuple[parts.Check, ...] = ()
    margin: float = 0.0  # by more than this a classifier counts as better
    at_least: float | None = None  # the requirement
    num_calibration: int = 0  # verified items of other data, for the error rates
    agreement: Mapping[str, float] = field(default_factory=dict)  # share of all labels that each repeats
    sizes: tuple[int, ...] = ()  # samples of each, where they are groups of samples and no classifiers
    axis: tuple[list[float], str, dict[float, str]] | None = None  # of groups in order: see `Groups.axis`
    decided: Mapping[Pair, Decided] = field(default_factory=dict)  # samples on which one of two is right

    @property
    def in_sample(self) -> "Comparison":
        """The same result for these samples."""
        return self if self.target == parts.IN_SAMPLE else self.turned

    @property
    def population(self) -> "Comparison":
        """The same result for new samples of the same kind."""
        return self if self.target == parts.POPULATION else self.turned

    @property
    def turned(self) -> "Comparison":
        """The same result for the other target."""
        mine = Dists(self.values, self.differences, self.columns, self.sign)
        now = {name: getattr(self.other, name) for name in ("values", "differences", "columns")}
        target = parts.IN_SAMPLE if self.target == parts.POPULATION else parts.POPULATION
        return replace(self, target=target, other=mine, **now)

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.measure.name

    @property
    def better(self) -> dict[Pair, float]:
        """P(first better by more than `margin`) for both orders of every pair; ties count half."""
        return {pair: self.p_better(*pair, self.margin) for pair in permutations(self.names, 2)}

    @property
    def meets(self) -> dict[str, float]:
        """Probability that each meets `at_least`; empty without one."""
        if self.at_least is None:
            return {}
        above = {n: dist.p_above(self.at_least, strict=self.sign < 0) for n, dist in self.values.items()}
        return above if self.sign > 0 else {name: 1 - p for name, p in above.items()}

    def of_pair(self, first: str, second: str) -> Decided | None:
        """Number of samples on which only one of two is right; None for groups."""
        found, turned = self.decided.get((first, second)), self.decided.get((second, first))
        return found if turned is None else turned._replace(first=turned.second, second=turned.first)

    @property
    def told(self) -> bool:
        """Whether the first of the ranking is clearly better than the second."""
        first, second = self.ranking[:2]
        return self.p_better(first, second, self.margin) >= CLEAR

    @property
    def unclear(self) -> bool:
        """Whether labels alone do not show which is better; then no probability is given."""
        return self.interval_kind == parts.PREDICTIVE and not self.told

    @property
    def close(self) -> bool:
        """Whether the interval of the difference of the first two is within `CLOSE`."""
        dist, _ = _turned(self.differences, *self.ranking[:2])
        low, high = dist.interval(self.level)[:2]
        return max(abs(low), abs(high)) <= CLOSE

    @property
    def gold_to_tell(self) -> int | None:
        """Number of random verified labels that would separate the first two; None if all would not.

        With n verified labels the difference d has variance of about D/n, D the share of samples on which the
        two differ; it is clear at two standard errors. Each of G groups has n/G of them, and d the variances
        p (1 - p) G/n of both.
        """
        pair = self.ranking[:2]
        draws = self.in_sample.difference(*pair)
        if not draws.size:
            return None
        d, apart = abs(self.values[pair[0]].mean - self.values[pair[1]].mean), float(np.abs(draws).max())
        if self.sizes:
            p = np.array([self.values[name].mean for name in pair])
            apart = len(self.sizes) * float((p * (1 - p)).sum())
        needed = 4 * apart / d**2 if d > 0 else np.inf
        if needed > self.num_samples or self.num_gold >= self.num_samples:
            return None
        return max(int(np.ceil(needed / 10) * 10), 10)

    @property
    def noun(self) -> str:
        """Word for what is compared."""
        return "group" if self.sizes else "classifier"

    @property
    def beyond(self) -> str:
        """The margin in words."""
        return f" by more than {self.margin:g}" if self.margin else ""

    def require(self, *requirements: str, confidence: float = 0.95) -> Gate:
        """Check "m1 > m2", "m1 - m2 >= -.02" or "m1 accuracy >= .8"; see `jtruth.answers.require`."""

        def find(text: str) -> Quantity:
            found = named_quantity(text, self, self.noun, (self.metric, title(self.metric)))
            alone = self.interval_kind == parts.PREDICTIVE and not np.isnan(found.variance)  # of a difference
            return found._replace(sure=CLEAR) if alone else found

        return require(self, find, requirements, confidence, self.num_gold, " > ".join(self.ranking[:2]))

    def at_level(self, level: float) -> "Comparison":
        """The same result with intervals of another probability."""
        return replace(self, level=check_level(level))

    def blocks(self) -> Document:
        """Build the document of the result."""
        metric, kind = title(self.metric), parts.interval_title(self.level, self.interval_kind)
        sentences = [(text, dict(zip(self.names, v, strict=True))) for text, v in self.assumptions]
        views = [{"sentence": text, "values": values} for text, values in sentences]
        heads = [Column(("values", name), plain(name)) for name in self.ranking]
        rows, other = self._rows(), self.turned
        there = {"classifiers": _classifiers(other, metric).rows, "differences": other._rows()}
        chance = Column("first_better", f"P(first better{self.beyond})", form=".2f")
        shown = [] if all(row["first_better"] is None for row in rows) else [chance]
        groups = _classifiers(self, metric)
        blocks = (
            groups,
            *parts.curve_of("comparison.curve", groups, self.axis, metric),
            difference_table("comparison.differences", f"Differences {parts.ABOUT[self.target]}", rows, shown,
                             "not clear"),
            *_decided_table(self, rows),
            parts.assumption_table(views, heads),
            check_notes(self.checks), warning_notes(self.warnings),
            how(("metric", metric), ("interval", kind), ("assumption", self.assumption),
                ("target", f"{self.target}, {parts.ABOUT[self.target]}")),
            facts_of(self, "metric", "positive", "positive_chosen", "level", "interval_kind", "assumption",
                     "num_samples", "num_gold", "num_calibration", "margin", "at_least", "ranking", "told",
                     "target", "order_probability", within="comparison"),
            facts(**{"comparison.smaller_is_better": self.sign < 0,
                     "comparison.gold_to_tell": None if self.told else self.gold_to_tell, "key": self.key,
                     "comparison." + other.target.replace("-", "_"): there}),
        )  # fmt: skip
        counts = (len(self.names), self.noun), (self.num_samples, "sample"), (self.num_gold, "verified label")
        about = f"{', '.join(number_of(*count) for count in counts)}; key {self.key}"
        lines = (positive_line(self.classes, self.positive, self.positive_chosen),)
        lines, question = lines * of_one_class(self.metric), f"Which {self.noun} has the better {metric}?"
        return Document(question, about, _sentence(self, metric, kind), blocks, lines=lines)

    def _rows(self) -> list[dict[str, Any]]:
        """A row for every pair, the better one first: see `difference_rows`."""
        rows = difference_rows(self.differences, self.ranking, self.level)
        for row in rows:
            pair = row["first"], row["second"]
            row |= {"first_better": self._p_stated(pair), "second_better": self._p_stated(pair[::-1])}
            only = self.of_pair(*pair)
            row |= {} if only is None else {
                "only_first": dist_row(only.first, self.level), "mcnemar": only.mcnemar,
                "only_second": dist_row(only.second, self.level),
                "decided_of": {"metric": only.metric, "samples": only.size},
            }  # fmt: skip
        return rows

    @property
    def order_probability(self) -> float:
        """Probability that the whole ranking is right; ties count as right."""
        if len(self.names) == 2:
            return self.best[self.ranking[0]]
        order = [self.names.index(name) for name in self.ranking]
        columns = self.sign * self.columns[:, order]
        known = columns[~np.isnan(columns).any(axis=1)]
        return float((np.diff(known, axis=1) <= 0).all(axis=1).mean()) if len(known) else float("nan")

    def _p_stated(self, pair: Pair) -> float | None:
        """P(the first of a pair is better); None if labels alone would make it too confident."""
        p, other = (self.p_better(one, two, self.margin) for one, two in (pair, pair[::-1]))
        sure = self.interval_kind != parts.PREDICTIVE or max(p, other) >= CLEAR
        return p if sure else None

    def __repr__(self) -> str:
        first = self.ranking[0]
        text = "which is best is not clear" if self.unclear else f"{first!r} is best with probability "
        return f"Comparison({self.metric}: {text}{'' if self.unclear else format(self.best[first], '.2f')})"


def _sentence(comparison: Comparison, metric: str, kind: str) -> str:
    first, second = pair = comparison.ranking[:2]
    p, names = comparison.p_better(first, second, comparison.margin), (plain(first), plain(second))
    about, random = parts.ABOUT[comparison.target], parts.RANDOM_GOLD in comparison.warnings
    taken = parts.taken_as_true(comparison.num_gold, comparison.num_calibration, random=random)
    taken = f"{taken[0].upper()}{taken[1:]}."
    either = f"{names[0]} or {names[1]} has the better {metric} {about}"
    if np.isnan(p):
        return f"The better {metric} of {names[0]} and {names[1]} is undefined. {taken}"
    only = comparison.of_pair(first, second)
    if only is not None and only.same:
        alike = f"{names[0]} and {names[1]} agree on all {comparison.num_samples} samples."
        return f"{alike} {_order_text(comparison)}".strip()
    if comparison.unclear:
        needed = comparison.gold_to_tell
        help_ = "Even verified labels of all samples may not tell"
        if needed:
            help_ = f"About {number_of(needed, 'verified label')} of random samples would tell"
        elif comparison.close:
            help_ = f"Verified labels may not tell either: the difference is at most {CLOSE:g} either way"
        return f"The labels alone cannot tell whether {either}. {help_}. {taken}"
    row = next(row for row in comparison._rows() if (row["first"], row["second"]) == pair)
    by, form, unit = (100, "+.1f", " points") if comparison.measure.bounds == (0.0, 1.0) else (1, "+.3f", "")
    ends = (format(by * row[name], form) for name in ("mean", "low", "high"))
    gap, low, high = (end.replace("-", "\N{MINUS SIGN}") for end in ends)
    says = f"It is not clear whether {either}"
    says = f"{names[0]} has the better {metric} {about}" if comparison.told else says
    if not comparison.p_tie(first, second) < 1:
        says = f"{' and '.join(names)} have the same {metric} {about}"
    kind = kind.replace("posterior ", "")
    says += f": {names[0]} \N{MINUS SIGN} {names[1]} is {gap}{unit} ({kind} {low} to {high})."
    says += f" P({names[0]} better{comparison.beyond}) = {p:.2f}"
    says += "." if comparison.told else f"; a clear difference needs {CLEAR:g}."
    if only is not None:
        cells = [value_of(dist_column(name, ""), row) for name in ("only_first", "only_second")]
        counts = [cell_text(cell[: 3 if only.mcnemar is None else 1], ".0f") for cell in cells]
        for_ = "" if only.size == comparison.num_samples else f" that count for {title(only.metric)}"
        test = "" if only.mcnemar is None else f" (exact McNemar p = {only.mcnemar:.2f})"
        says += f" {names[0]} alone is right on {counts[0]} of {only.size:.0f} samples{for_}, "
        says += f"{names[1]} alone on {counts[1]}{test}."
    needed = None if comparison.told else comparison.gold_to_tell
    enough = f"about {needed} verified labels in all would make it clear"
    more = f"If the difference stays as it is, {enough}." if needed else ""
    return " ".join(filter(None, (says, _order_text(comparison), taken, more)))


def _order_text(comparison: Comparison) -> str:
    """Probability of the whole order, or of the change from the first group to the last."""
    if comparison.axis is not None and len(comparison.names) > 2 and not comparison.unclear:
        start, *_, end = comparison.names
        p = comparison.p_better(end, start)
        return f"P({plain(end)}, the last, is better than {plain(start)}, the first) = {p:.2f}."
    if not 2 < len(comparison.names) <= _MOST_ORDERED or comparison.unclear:
        return ""
    order = ", ".join(map(plain, comparison.ranking))
    return f"P(the order {order} is right) = {comparison.order_probability:.2f}."


def _decided_table(comparison: Comparison, rows: Sequence[Mapping]) -> list[Table]:
    """Table of the samples on which only one of two is right; the JSON has them with the differences."""
    if not comparison.decided:
        return []
    certain = [Column("mcnemar", "exact McNemar p")] if rows[0]["mcnemar"] is not None else []
    columns = [dist_column(f"only_{k}", f"only the {k} is right", ".0f") for k in ("first", "second")]
    columns = [one._replace(ends=None) for one in columns] if certain else columns
    of = title(rows[0]["decided_of"]["metric"])
    heading = f"Samples on which only one is right (of those that count for {of})"
    return [Table("", heading, "difference", (*columns, *certain), rows, unit=None, say=str)]


def _classifiers(comparison: Comparison, metric: str) -> Table:
    best, meets, place = comparison.best, comparison.meets, comparison.names.index
    rows = [
        {"name": name, **dist_row(comparison.values[name], comparison.level), "meets": meets.get(name),
         "best": None if comparison.unclear else best[name],
         "ranks": None if comparison.unclear else comparison.ranks[place(name)],
         "agreement_with_labels": comparison.agreement.get(name),
         **({"num_samples": comparison.sizes[place(name)]} if comparison.sizes else {})}
        for name in (comparison.ranking if comparison.axis is None else comparison.names)
    ]  # fmt: skip
    columns = [Column("mean", metric, ("low", "high"))]
    columns += [] if comparison.unclear else [Column("best", "P(best)", form=".2f")]
    if 2 < len(rows) <= _MOST_ORDERED and not comparison.unclear:
        rows = [row | {"rank": dict(zip(_ORDINAL, map(float, row["ranks"]), strict=False))} for row in rows]
        columns[1:] = [Column(("rank", k), f"P({k})", form=".2f") for k in _ORDINAL[: len(rows)]]
    if meets:
        side = "at most" if comparison.sign < 0 else "at least"
        columns.append(Column("meets", f"P({side} {comparison.at_least:g})", form=".2f"))
    agreed = [Column("agreement_with_labels", "share of labels it agrees with")]
    columns += agreed if comparison.agreement else []
    columns += [Column("num_samples", "samples")] if comparison.sizes else []
    heading = f"{comparison.noun.capitalize()}s {parts.ABOUT[comparison.target]}"
    heading += ", the best first" if comparison.axis is None else ""
    note = _AGREEMENT if comparison.agreement else ""
    order = () if comparison.axis is None else [place(name) for name in comparison.ranking]
    return Table("comparison.classifiers", heading, "name", tuple(columns), rows, note, order=order,
                 sequence=comparison.axis is not None)  # fmt: skip


def difference_table(
    name: str, heading: str, rows: Sequence[Mapping], more: Sequence[Column], missing: str = "-"
) -> Table:
    """Table of differences with intervals, and further columns."""
    columns = (Column("mean", "difference", ("low", "high"), "+.3f"), *more)
    return Table(name, heading, "difference", columns, rows, unit=None, missing=missing,
                 aside=("difference",), say=str)  # fmt: skip


def difference_rows(
    differences: Mapping[Pair, DrawsEstimate], ranking: Sequence[str], level: float
) -> list[dict[str, Any]]:
    """A row for every pair, the better one first: neighbors in the ranking, then the others."""
    order, rows = {name: rank for rank, name in enumerate(ranking)}, []
    for (a, b), dist in differences.items():
        row = dist_row(dist, level)
        if order[a] > order[b]:
            a, b = b, a
            turned = {"mean": row["mean"], "mode": row["mode"], "low": row["high"], "high": row["low"]}
            row |= {name: None if value is None else -value for name, value in turned.items()}
        rows.append({"first": a, "second": b, **row, "difference": f"{plain(a)} - {plain(b)}"})
    rows.sort(key=lambda row: (order[row["second"]] - order[row["first"]], order[row["first"]]))
    return rows
