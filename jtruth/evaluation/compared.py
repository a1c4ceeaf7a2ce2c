"""The answer of `compare_classifiers`: metrics, differences, and who is the best, with what probability.

Where classifiers were compared by twos, or each number has a predictive law by itself, no draw holds all of
them. `joined` puts their laws together again by a normal copula: each law keeps its shape, and the mean
difference and correlation of any two are those that the law of their difference shows.

Labels alone often cannot tell who is better: models were more certain of differences than right (11 of 20
intervals that excluded 0 had the right sign). Predictive probabilities say so, and about how many gold
answers would tell.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from jtruth._one_line import one_line
from jtruth._random import Key, Stated, host_rng
from jtruth._validation.terminal import plain
from jtruth._validation.words import number_of
from jtruth.answers import Answer, Column, Shown, Table, check_notes, facts, how, law_row, warning_notes
from jtruth.evaluation.parts import (
    IN_SAMPLE,
    PREDICTIVE,
    Check,
    assumption_table,
    first_lines,
    interval_title,
    taken_as_true,
)
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.regions import check_level
from jtruth.tables.metrics import Metric, title
from jtruth.tables.pairs import smaller_is_better

_DRAWS = 4000
TOLD = 0.95  # probability from which it can be told who is better
Pair = tuple[int, int]


class Laws(NamedTuple):
    """What is known of K classifiers."""

    values: tuple[DrawsEstimate, ...]
    differences: Mapping[Pair, DrawsEstimate]  # first minus second, first < second
    columns: Float[np.ndarray, "draws classifiers"]  # of the metric

    __repr__ = one_line

    def ranks(self, sign: float) -> Float[np.ndarray, "classifiers ranks"]:
        """Probability of each classifier to be first, second, ...; equal ones share their ranks.

        `sign` is -1 if smaller is better.
        """
        if self.columns.shape[1] == 2:  # the law of their difference, of which columns are an approximation
            first = self.better(0, 1, 0.0) if sign > 0 else self.better(1, 0, 0.0)
            return np.array([[first, 1 - first], [1 - first, first]])
        known = self.columns[~np.isnan(self.columns).any(axis=1)] * sign
        size = self.columns.shape[1]
        if not len(known):
            return np.full((size, size), np.nan)
        above = (known[:, None, :] > known[:, :, None]).sum(axis=2)
        equal = (known[:, None, :] == known[:, :, None]).sum(axis=2)
        rank = np.arange(size)
        inside = (rank >= above[..., None]) & (rank < (above + equal)[..., None])
        return (inside / equal[..., None]).mean(axis=0)

    def difference(self, first: int, second: int) -> Float[np.ndarray, " draws"]:
        """Draws of first minus second, in which it is defined."""
        turned = first > second
        draws = self.differences[(second, first) if turned else (first, second)].draws
        return (-draws if turned else draws)[~np.isnan(draws)]

    def better(self, first: int, second: int, beyond: float) -> float:
        """P(first - second > beyond); a negative `beyond` asks whether it is not much worse.

        With `beyond` 0 the better one is meant, and equal ones share it: a tie counts half.
        """
        draws = self.difference(first, second)
        if not draws.size:
            return float("nan")
        half = 0.5 if beyond == 0 else 0.0
        return float((draws > beyond).mean() + half * (draws == beyond).mean())

    def tie(self, first: int, second: int) -> float:
        """P(first = second)."""
        draws = self.difference(first, second)
        return float((draws == 0).mean()) if draws.size else float("nan")

    def meets(self, k: int, least: float, sign: float) -> float:
        """P(the requirement is met)."""
        draws = self.values[k].draws[~np.isnan(self.values[k].draws)]
        return float((sign * draws >= sign * least).mean()) if draws.size else float("nan")


@dataclass(frozen=True, repr=False)
class Comparison(Answer):
    """Which classifier is better, and how sure one may be. `print` it; `to_dict` for JSON."""

    measure: Metric
    margin: float  # by more than this a classifier counts as better
    at_least: float | None  # the requirement
    level: float  # probability of the intervals
    names: tuple[str, ...]
    laws: Laws
    interval_kind: str  # "posterior" or "predictive"
    assumption: str  # what is taken for granted
    assumptions: tuple[tuple[str, tuple[float, ...]], ...]  # a sentence, and each one's metric under it
    agreement: Mapping[str, float]  # share of all labels that each repeats; empty without labels
    num_samples: int
    num_gold: int
    positive: str
    warnings: tuple[str, ...]
    key: Stated
    checks: tuple[Check, ...] = ()  # alarms that stand above the answer
    sizes: tuple[int, ...] = ()  # samples of each, where they are groups of samples and no classifiers

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.measure.name

    @property
    def sign(self) -> float:
        """-1 if smaller is better."""
        return -1.0 if smaller_is_better(self.measure) else 1.0

    @property
    def values(self) -> dict[str, DrawsEstimate]:
        """The metric of each."""
        return dict(zip(self.names, self.laws.values, strict=True))

    @property
    def differences(self) -> dict[tuple[str, str], DrawsEstimate]:
        """First minus second."""
        return {(self.names[a], self.names[b]): law for (a, b), law in self.laws.differences.items()}

    @cached_property
    def ranks(self) -> Float[np.ndarray, "classifiers ranks"]:
        """Probability of each of `names` to be first, second, ..."""
        return self.laws.ranks(self.sign)

    @property
    def best(self) -> dict[str, float]:
        """Probability of each to be the best; equal ones share it."""
        return dict(zip(self.names, self.ranks[:, 0].tolist(), strict=True))

    @property
    def better(self) -> dict[tuple[str, str], float]:
        """By more than `margin`; both orders of every two; ties are halves."""
        every = range(len(self.names))
        turn = (lambda a, b: (a, b)) if self.sign > 0 else (lambda a, b: (b, a))
        return {
            (self.names[a], self.names[b]): self.laws.better(*turn(a, b), self.margin)
            for a in every
            for b in every
            if a != b
        }

    @property
    def meets(self) -> dict[str, float]:
        """Probability that each meets `at_least`; empty without one."""
        if self.at_least is None:
            return {}
        found = {k: self.laws.meets(k, self.at_least, self.sign) for k in range(len(self.names))}
        return {self.names[k]: p for k, p in found.items()}

    @property
    def ranking(self) -> tuple[str, ...]:
        """Names, the best mean first."""
        sign, means = -self.sign, {name: law.mean for name, law in self.values.items()}
        return tuple(sorted(self.names, key=lambda name: sign * np.nan_to_num(means[name])))

    @property
    def told(self) -> bool:
        """Whether it can be told that the first of the ranking is better than the second."""
        first, second = self.ranking[:2]
        return self.better[first, second] >= TOLD

    @property
    def gold_to_tell(self) -> int | None:
        """About how many random gold answers would tell the first two apart; None: not even all of them.

        Of n gold answers a difference d has variance of about D/n, D the share of samples on which the two
        differ; it is told apart where d is two standard errors. Of G groups each has n/G of the answers, and
        d the variances p (1 - p) G/n of both.
        """
        first, second = (self.names.index(name) for name in self.ranking[:2])
        low, high = sorted((first, second))
        draws = self.laws.difference(low, high)
        if not draws.size:
            return None
        d, apart = abs(float(draws.mean())), float(np.abs(draws).max())
        if self.sizes:
            p = np.array([self.laws.values[k].mean for k in (low, high)])
            apart = len(self.sizes) * float((p * (1 - p)).sum())
        needed = 4 * apart / d**2 if d > 0 else np.inf
        return None if needed > self.num_samples else max(int(np.ceil(needed / 10) * 10), 10)

    @property
    def noun(self) -> str:
        """What is compared."""
        return "group" if self.sizes else "classifier"

    def with_warnings(self, sentences: Iterable[str]) -> "Comparison":
        """The same answer with more warnings."""
        return replace(self, warnings=tuple(dict.fromkeys((*self.warnings, *sentences))))

    def at_level(self, level: float) -> "Comparison":
        """The same answer with intervals of another probability."""
        return replace(self, level=check_level(level))

    def blocks(self) -> Shown:
        """The question, the answer and what stands behind it, for all faces."""
        return comparison_blocks(self)

    def __repr__(self) -> str:
        first = self.ranking[0]
        return f"Comparison({self.metric}: {first!r} is best with probability {self.best[first]:.2f})"


def joined(
    values: Sequence[DrawsEstimate], differences: Mapping[Pair, DrawsEstimate], key: Key
) -> Float[np.ndarray, "draws classifiers"]:
    """Draws of all values together, from the law of each and of every difference: a normal copula.

    A number without a law (never defined) is NaN in every draw. Correlations of twos need not fit together;
    the nearest matrix that is one is taken (negative eigenvalues, which are Monte Carlo error, become 0).
    Nor need means: those of values and of differences are least squares apart, and the differences decide.
    """
    size, sd = len(values), np.array([max(law.sd, 0.0) for law in values])
    together = np.eye(size)
    for (a, b), law in differences.items():
        product = sd[a] * sd[b]
        found = (sd[a] ** 2 + sd[b] ** 2 - law.sd**2) / (2 * product) if product > 0 else 0.0
        together[a, b] = together[b, a] = np.clip(np.nan_to_num(found), -1.0, 1.0)
    root, axes = np.linalg.eigh(together)
    half = axes * np.sqrt(np.maximum(root, 0.0))
    half = half / np.sqrt((half**2).sum(axis=1, keepdims=True))
    normal = host_rng(key, "compared together").standard_normal((_DRAWS, size)) @ half.T
    columns = np.full((_DRAWS, size), np.nan)
    for k, law in enumerate(values):
        known = law.draws[~np.isnan(law.draws)]
        if known.size:
            columns[:, k] = np.quantile(known, ndtr(normal[:, k]), method="inverted_cdf")
    lead = np.zeros((size, size))
    for (a, b), law in differences.items():
        lead[a, b] = law.mean - (values[a].mean - values[b].mean)
    lead = np.nan_to_num(lead - lead.T)
    return columns + lead.mean(axis=1)


_ENDS = ("low", "high")
_AGREEMENT = (
    "Share of all labels that each repeats (Lam and Stork 2003, section 7): apart from chance this order is "
    "that of their accuracies if labels are wrong less often than right, equally in all classes, and "
    "independently of the classifiers. Probabilities come from the model."
)
_APART = "Each metric and each difference has a law by itself: they need not add up."


def comparison_blocks(found: Comparison) -> Shown:
    """The answer, for all faces."""
    metric, better = title(found.metric), found.better
    blocks = (
        _classifiers(found, metric), _differences(found, better),
        assumption_table(
            "assumptions",
            [{"sentence": t, "values": dict(zip(found.names, v, strict=True))} for t, v in found.assumptions],
            [Column(("values", name), plain(name)) for name in found.ranking],
        ),
        check_notes(found.checks), warning_notes(found.warnings),
        how(("metric", metric), ("interval", interval_title(found.level, found.interval_kind)),
            ("rests on", found.assumption)),
        facts(**{f"comparison.{name}": value for name, value in _facts(found).items()}, key=found.key),
    )  # fmt: skip
    gold = number_of(found.num_gold, "gold label")
    about = f"{number_of(len(found.names), found.noun)}, {number_of(found.num_samples, 'sample')}, {gold}; "
    about += f"positive {found.positive!r}; key {found.key}"
    alarms = tuple(first_lines(found.checks, found.warnings))
    sentence = _sentence(found, better, metric)
    return Shown(f"Which {found.noun} has the better {metric}?", about, sentence, blocks, alarms)


def _facts(found: Comparison) -> dict[str, Any]:
    return {
        "metric": found.metric, "positive": found.positive, "level": found.level, "target": IN_SAMPLE,
        "interval_kind": found.interval_kind, "assumption": found.assumption,
        "num_samples": found.num_samples, "num_gold": found.num_gold,
        "smaller_is_better": found.sign < 0, "margin": found.margin, "at_least": found.at_least,
        "ranking": found.ranking, "told": found.told,
        "gold_to_tell": None if found.told else found.gold_to_tell,
    }  # fmt: skip


def _sentence(found: Comparison, better: Any, metric: str) -> str:
    first, second = found.ranking[:2]
    p, names = better[first, second], (plain(first), plain(second))
    kind = f"{interval_title(found.level, found.interval_kind)}s; {taken_as_true(found.num_gold)}"
    if np.isnan(p):
        return f"The better {metric} of {names[0]} and {names[1]} is undefined ({kind})."
    if found.interval_kind == PREDICTIVE and not found.told and not found.margin:
        needed = found.gold_to_tell
        help_ = f"about {needed} gold answers would" if needed else "gold may not tell either: they are close"
        return (
            f"Labels alone cannot tell whether {names[0]} or {names[1]} has the better {metric} "
            f"({names[0]} with probability {p:.2f}); {help_} ({kind})."
        )
    return (
        f"{names[0]} has the better {metric} with probability {found.best[first]:.2f}; "
        f"than {names[1]}{_beyond(found)} {p:.2f} ({kind})."
    )


def _beyond(found: Comparison) -> str:
    return f" by more than {found.margin:g}" if found.margin else ""


def _classifiers(found: Comparison, metric: str) -> Table:
    """The ranking, best first."""
    values, best, meets, place = found.values, found.best, found.meets, found.names.index
    rows = [
        {
            "name": name,
            **law_row(values[name], found.level),
            "best": best[name],
            "meets": meets.get(name),
            "ranks": found.ranks[place(name)],
            "agreement_with_labels": found.agreement.get(name),
            **({"num_samples": found.sizes[place(name)]} if found.sizes else {}),
        }
        for name in found.ranking
    ]
    columns = [Column("mean", metric, _ENDS), Column("best", "P(best)", form=".2f")]
    if meets:
        side = "at most" if found.sign < 0 else "at least"
        columns.append(Column("meets", f"P({side} {found.at_least:g})", form=".2f"))
    columns += [Column("agreement_with_labels", "labels repeated")] if found.agreement else []
    columns += [Column("num_samples", "samples")] if found.sizes else []
    note = _AGREEMENT if found.agreement else ""
    return Table(
        "comparison.classifiers",
        f"{found.noun.capitalize()}s, the best first",
        "name",
        tuple(columns),
        rows,
        note,
    )


def _differences(found: Comparison, better: Any) -> Table:
    """Of neighbours in the ranking first, then of all others; the better one first."""
    rows = [
        row | {"first_better": better[row["first"], row["second"]],
               "second_better": better[row["second"], row["first"]]}
        for row in difference_rows(found.differences, found.ranking, found.level)
    ]  # fmt: skip
    columns = (
        Column("mean", "difference", _ENDS, "+.3f"),
        Column("first_better", f"P(the first is better{_beyond(found)})", form=".2f"),
    )
    note = _APART if found.interval_kind == PREDICTIVE else ""
    return Table("comparison.differences", "Differences", "difference", columns, rows, note, unit=None,
                 missing="undefined", aside=("difference",), say=str)  # fmt: skip


def difference_rows(
    differences: Mapping[tuple[str, str], DrawsEstimate], ranking: Sequence[str], level: float
) -> list[dict[str, Any]]:
    """A row for every two, the better one first: neighbours in the ranking, then all others."""
    order, rows = {name: rank for rank, name in enumerate(ranking)}, []
    for (a, b), law in differences.items():
        row = law_row(law, level)
        if order[a] > order[b]:
            a, b = b, a
            low, high = row["low"], row["high"]
            turned = {"mean": row["mean"], "mode": row["mode"], "low": high, "high": low}
            row |= {name: None if value is None else -value for name, value in turned.items()}
        rows.append({"first": a, "second": b, **row, "difference": f"{plain(a)} - {plain(b)}"})
    rows.sort(key=lambda row: (order[row["second"]] - order[row["first"]], order[row["first"]]))
    return rows
