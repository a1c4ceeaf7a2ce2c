"""The answers of `evaluate_scores` and `evaluate_class_scores`: areas, curves, what a threshold brings.

Curves come from one posterior (`jtruth.tables.curves`), from readings of the labels or from gold
(`score_tables`). Each of them gives the law of any number that is a function of a curve, `law(of)`, and the
two bands; all that stands here is asked of `law`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth._one_line import one_line
from jtruth._random import Stated
from jtruth.answers import (
    Answer,
    Column,
    Curve,
    Series,
    Shown,
    Table,
    check_notes,
    facts,
    how,
    law_row,
    warning_notes,
)
from jtruth.answers.blocks import Block
from jtruth.answers.data import plain_json
from jtruth.evaluation.checks.of_labels import REFUSED
from jtruth.evaluation.parts import (
    IN_SAMPLE,
    Check,
    View,
    assumption_table,
    first_lines,
    interval_text,
    interval_title,
)
from jtruth.evaluation.score_tables import PredictiveCurves
from jtruth.stats.estimates import Estimate
from jtruth.tables.curves import Curves

AREAS = {"auc": "area under the ROC curve", "average_precision": "average precision"}
Number = float | int
AnyCurves = Curves | PredictiveCurves


class AtThreshold(NamedTuple):
    """What predicting positive at or above a threshold brings."""

    threshold: float  # infinite: nothing is predicted positive; minus infinity: everything
    false_alarm_rate: Estimate
    recall: Estimate
    precision: Estimate
    cost: Estimate | None = None  # mean of a sample
    cheapest: tuple[float, float] | None = None  # the level's middle part of the thresholds that are cheapest

    __repr__ = one_line

    def row(self, level: float) -> dict[str, Any]:
        """Plain values; an infinite threshold is None."""
        where = {np.inf: "nothing", -np.inf: "everything"}.get(self.threshold, f"{self.threshold:g}")
        found: dict[str, Any] = {"threshold": self.threshold, "from": where}
        for name in ("false_alarm_rate", "recall", "precision", "cost"):
            law = getattr(self, name)
            found[name] = None if law is None else law_row(law, level)
        return found | {"cheapest": self.cheapest}


@dataclass(frozen=True, repr=False)
class ScoreEvaluation(Answer):
    """What `evaluate_scores` found; print it."""

    auc: Estimate  # area under the ROC curve, ties within a bin counted half
    average_precision: Estimate
    curves: AnyCurves
    assumption: str
    edges: Float[np.ndarray, " inner_edges"]  # a score is in bin k if k edges are at or below it
    hidden: float  # most that the AUC of the scores themselves can differ from that of the bins, on average
    positive: str
    level: float
    warnings: tuple[str, ...]
    key: Stated
    interval_kind: str = "posterior"  # or "predictive"
    num_gold: int = 0
    asked: tuple[AtThreshold, ...] = ()  # what a threshold and a cost that were stated bring
    checks: tuple[Check, ...] = ()  # alarms that stand above the answer

    @property
    def assumptions(self) -> tuple[View, ...]:
        """What each reading of the labels says, where the answer is predictive and not all are refused."""
        if not isinstance(self.curves, PredictiveCurves) or REFUSED in self.warnings:
            return ()
        return self.curves.views

    @property
    def truth(self) -> str:
        """Which labels were taken as true, in words."""
        return f"{self.num_gold or 'no'} {'gold labels were' if self.num_gold else 'label was'} taken as true"

    @property
    def thresholds(self) -> Float[np.ndarray, " thresholds"]:
        """Scores at which the curve has points, from above all (infinite) to below all."""
        above = np.full(self.curves.num_thresholds - 1 - self.edges.size, np.inf)
        return np.concatenate([above, self.edges[::-1], [-np.inf]])

    @property
    def auc_of_scores(self) -> tuple[float, float]:
        """Interval of the area of the scores themselves: that of the bins, widened by what bins can hide."""
        low, high = self.auc.interval(self.level)
        return max(low - self.hidden, 0.0), min(high + self.hidden, 1.0)

    def partial_auc(self, most: Number) -> Estimate:
        """Mean recall over the false-alarm rates up to `most`, see `Curves.partial_auc`."""
        return self.curves.law(lambda c: c.partial_auc(most))

    def at_threshold(self, threshold: Number, cost: tuple[Number, Number] | None = None) -> AtThreshold:
        """What predicting positive at or above `threshold` brings.

        Args:
            threshold: one of `thresholds`; `evaluate_scores(threshold=...)` makes any number one of them.
            cost: of a false positive and of a false negative, if the mean cost is wanted too.

        Raises:
            ValueError: a threshold inside a bin, or costs that are negative, not finite or both 0.
        """
        place = np.flatnonzero(self.thresholds == threshold)
        if not place.size:
            raise ValueError(
                f"threshold {threshold} lies inside a bin of scores; evaluate_scores(..., threshold="
                f"{threshold}) makes it an edge"
            )
        return self._at(int(place[-1]), None if cost is None else checked_cost(cost))

    def best_threshold(self, cost: tuple[Number, Number]) -> AtThreshold:
        """The threshold of the lowest expected cost, by the law's mean.

        Args:
            cost: of a false positive and of a false negative.

        Raises:
            ValueError: costs that are negative, not finite or both 0.
        """
        each, (fp, fn) = range(self.curves.num_thresholds), checked_cost(cost)
        law = self.curves.law
        means = [law(lambda c, k=k: c.cost_at(k, fp, fn), (0, max(fp, fn))).mean for k in each]
        found = self._at(int(np.argmin(means)), (fp, fn))
        if not isinstance(self.curves, Curves):
            return found  # a predictive law has no draws of whole curves
        drawn = self.thresholds[self.curves.best_thresholds(fp, fn)]
        tails = (1 - self.level) / 2, (1 + self.level) / 2
        low, high = (float(np.quantile(drawn, t, method="inverted_cdf")) for t in tails)
        return found._replace(cheapest=(low, high))

    def _at(self, k: int, cost: tuple[Number, Number] | None) -> AtThreshold:
        law = self.curves.law
        found = AtThreshold(
            float(self.thresholds[k]),
            law(lambda c: c.false_alarm_at(k)),
            law(lambda c: c.recall_at(k)),
            law(lambda c: c.precision_at(k)),
        )
        return found if cost is None else found._replace(
            cost=law(lambda c: c.cost_at(k, *cost), (0, max(cost)))
        )  # fmt: skip

    def blocks(self) -> Shown:
        """The question, the answer and what stands behind it, for all faces."""
        laws, kind = (self.auc, self.average_precision), interval_title(self.level, self.interval_kind)
        sentence = f"Area under the ROC curve {interval_text(laws[0], self.level)} ({kind}; {self.truth})."
        about = f"positive {self.positive!r}; {self.edges.size + 1} bins of scores; key {self.key}"
        alarms = tuple(first_lines(self.checks, self.warnings))
        return Shown("How well do the scores rank?", about, sentence, tuple(self._blocks(kind)), alarms)

    def _blocks(self, kind: str) -> list[Block]:
        """Areas, thresholds, curves, what each assumption says, doubts."""
        rows = [
            {"area": title, **area_row(law, self.level)}
            for title, law in zip(AREAS.values(), (self.auc, self.average_precision), strict=True)
        ]
        views = [
            {"name": view.name, "sentence": view.sentence, "auc": area_row(view.drawn.auc, self.level),
             "average_precision": area_row(view.drawn.average_precision, self.level)}
            for view in self.assumptions
        ]  # fmt: skip
        (low, high), seen = self.auc_of_scores, np.isfinite(self.hidden)
        note = (
            f"Bins hide at most {self.hidden:.3f} of the area: that of the scores themselves is in "
            f"[{low:.3f}, {high:.3f}]."
        )
        names = ("recall", "precision", "false_alarm_rate", "cost")
        shown = [n for n in names if any(getattr(one, n) is not None for one in self.asked)]
        columns = [Column((n, "mean"), n.replace("_", " "), ((n, "low"), (n, "high"))) for n in shown]
        title = "Positive from this threshold up"
        if any(one.cheapest is not None for one in self.asked):
            title += " (cheapest for the cost)"
        asked = [one.row(self.level) for one in self.asked]
        return [
            Table("", f"Areas, with {kind}s", "area", (Column("mean", "area [interval]", ("low", "high")),),
                  rows, note if seen else ""),
            Table("thresholds", title, "from", tuple(columns), asked, missing="undefined", aside=("from",)),
            assumption_table("assumptions", views, [Column((n, "mean"), t) for n, t in AREAS.items()]),
            *score_curves({"": self}), check_notes(self.checks), warning_notes(self.warnings),
            how(("interval", kind), ("target", IN_SAMPLE), ("assumed", self.assumption)),
            facts(
                key=self.key, interval_kind=self.interval_kind, assumption=self.assumption,
                auc=area_row(self.auc, self.level), target=IN_SAMPLE, level=self.level,
                average_precision=area_row(self.average_precision, self.level), positive=self.positive,
                num_bins=self.edges.size + 1, num_gold=self.num_gold, hidden_by_bins=self.hidden,
                auc_of_scores={"low": low, "high": high},
            ),
        ]  # fmt: skip


def score_curves(found: Mapping[str, ScoreEvaluation]) -> list[Curve]:
    """Both curves, each with its bands."""
    roc, pr = {}, {}
    for name, one in found.items():
        roc[name], pr[name] = one.curves.roc(one.level), one.curves.precision_recall(one.level)
    note = "Bands hold each point of the curve with the stated probability."
    return [
        Curve("curves.roc", "ROC curve", "false alarm rate", "recall", _series(roc), note, diagonal=True),
        Curve("curves.precision_recall", "Precision and recall", "recall", "precision", _series(pr), note),
    ]


def _series(bands: Mapping[str, Any]) -> tuple[Series, ...]:
    rows = {name: band._asdict() for name, band in bands.items()}
    return tuple(
        Series(name, {k: plain_json(values) for k, values in row.items() if k != "level"})
        for name, row in rows.items()
    )


def area_row(law: Estimate, level: float) -> dict[str, Any]:
    """Mean and interval."""
    row = law_row(law, level)
    return {name: row[name] for name in ("mean", "low", "high")}


def checked_cost(cost: tuple[Number, Number]) -> tuple[float, float]:
    """Costs of a false positive and of a false negative as they can be, or ValueError."""
    given = np.asarray(cost, np.float64)
    if given.shape != (2,) or not np.isfinite(given).all() or (given < 0).any() or not given.any():
        raise ValueError(
            f"cost is {cost}; give two numbers, of a false positive and of a false negative, neither "
            "negative and not both 0"
        )
    return float(given[0]), float(given[1])


AVERAGES = ("macro", "weighted")
_MOST_CURVES = 6  # that can be told apart


@dataclass(frozen=True, repr=False)
class ClassScores(Answer):
    """What `evaluate_class_scores` found; print it."""

    each: Mapping[str, ScoreEvaluation]  # by class, against the rest
    auc: Mapping[str, Estimate]  # "macro" and "weighted" averages over the classes
    average_precision: Mapping[str, Estimate]
    weights: Mapping[str, float]  # of the weighted average: shares of the classes, posterior means
    key: Stated
    checks: tuple[Check, ...] = ()  # alarms that stand above the answer

    @property
    def level(self) -> float:
        """Probability of the intervals."""
        return next(iter(self.each.values())).level

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is doubtful about any of the classes."""
        return tuple(dict.fromkeys(text for one in self.each.values() for text in one.warnings))

    def with_warnings(self, sentences: Iterable[str]) -> "ClassScores":
        """The same answer with more warnings, before those of every class."""
        more = tuple(sentences)
        each = {
            name: replace(one, warnings=tuple(dict.fromkeys((*more, *one.warnings))))
            for name, one in self.each.items()
        }
        return replace(self, each=each)

    def blocks(self) -> Shown:
        """The question, the answer and what stands behind it, for all faces."""
        first = next(iter(self.each.values()))
        kind = interval_title(self.level, first.interval_kind)
        laws = {name: (one.auc, one.average_precision) for name, one in self.each.items()}
        laws |= {f"{name} average": (self.auc[name], self.average_precision[name]) for name in AVERAGES}
        rows = [
            {
                "class": name,
                **{what: area_row(law, self.level) for what, law in zip(AREAS, pair, strict=True)},
            }
            for name, pair in laws.items()
        ]
        columns = tuple(Column((n, "mean"), t, ((n, "low"), (n, "high"))) for n, t in AREAS.items())
        note = f"{kind}s; averages as if all classes erred together"
        averages = {
            what: {name: area_row(law, self.level) for name, law in getattr(self, what).items()}
            for what in AREAS
        }
        some = dict(list(self.each.items())[:_MOST_CURVES])
        blocks = (
            Table("areas", "One class against the rest", "class", columns, rows, note, by_name=True),
            *(curve._replace(name="") for curve in score_curves(some)),
            check_notes(self.checks), warning_notes(self.warnings),
            how(("interval", kind), ("target", IN_SAMPLE), ("assumed", first.assumption)),
            facts(
                key=self.key, averages=averages, weights=dict(self.weights), level=self.level,
                target=IN_SAMPLE, each={name: one.to_dict() for name, one in self.each.items()},
            ),
        )  # fmt: skip
        text = interval_text(self.auc["macro"], self.level)
        what = "Area under the ROC curve, one class against the rest"
        sentence = f"{what}: {text} on average ({kind}s; {first.truth})."
        alarms = tuple(first_lines(self.checks, self.warnings))
        about = f"{len(self.each)} classes; key {self.key}"
        return Shown("How well do the scores rank?", about, sentence, blocks, alarms)
