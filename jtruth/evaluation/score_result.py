"""The answers of `evaluate_scores` and `evaluate_class_scores`: areas, curves, what a threshold brings.

Curves come from one posterior (`jtruth.tables.curves`), from readings of the labels or from gold
(`score_tables`). Each of them gives the law of any number that is a function of a curve, `law(of)`, and the
two bands; all that stands here is asked of `law`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth._one_line import one_line
from jtruth._random import Stated
from jtruth.answers import Answer, Column, Curve, Shown, Table
from jtruth.answers.blocks import check_notes, facts, facts_of, how, law_column, warning_notes
from jtruth.answers.data import law_row, plain_json
from jtruth.evaluation.assumptions.registry import ASSUMPTIONS
from jtruth.evaluation.checks.of_labels import REFUSED
from jtruth.evaluation.parts import (
    IN_SAMPLE,
    Assumption,
    Check,
    assumption_table,
    first_lines,
    interval_text,
    interval_title,
    taken_as_true,
)
from jtruth.evaluation.score_tables import PredictiveCurves
from jtruth.stats.estimates import Estimate
from jtruth.tables.curves import Band, Curves

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
    def assumptions(self) -> tuple[Assumption, ...]:
        """What each reading of the labels says, where the answer is predictive and not all are refused."""
        if not isinstance(self.curves, PredictiveCurves) or REFUSED in self.warnings:
            return ()
        return tuple(
            Assumption(name, ASSUMPTIONS[name].sentence, {n: getattr(one, n) for n in AREAS}, None, one)
            for name, one in self.curves.readings.items()
        )

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
        kind = interval_title(self.level, self.interval_kind)
        areas = {name: _area(getattr(self, name), self.level) for name in AREAS}
        views = [
            {"name": a.name, "sentence": a.sentence,
             **{name: _area(law, self.level) for name, law in a.metrics.items()}}
            for a in self.assumptions
        ]  # fmt: skip
        (low, high), seen = self.auc_of_scores, np.isfinite(self.hidden)
        note = (
            f"Bins hide at most {self.hidden:.3f} of the area: that of the scores themselves is in "
            f"[{low:.3f}, {high:.3f}]."
        )
        blocks = (
            Table("", f"Areas, with {kind}s", "area", (Column("mean", "area [interval]", ("low", "high")),),
                  [{"area": title} | areas[name] for name, title in AREAS.items()], note if seen else ""),
            self._thresholds(),
            assumption_table("assumptions", views, [Column((n, "mean"), t) for n, t in AREAS.items()]),
            *score_curves({"": self}), check_notes(self.checks), warning_notes(self.warnings),
            how(("interval", kind), ("target", IN_SAMPLE), ("assumed", self.assumption)),
            facts_of(self, "key", "interval_kind", "assumption", "level", "positive", "num_gold"),
            facts(**areas, target=IN_SAMPLE, num_bins=self.edges.size + 1, hidden_by_bins=self.hidden,
                  auc_of_scores={"low": low, "high": high}),
        )  # fmt: skip
        text = interval_text(self.auc, self.level)
        sentence = f"Area under the ROC curve {text} ({kind}; {taken_as_true(self.num_gold)})."
        about = f"positive {self.positive!r}; {self.edges.size + 1} bins of scores; key {self.key}"
        alarms = first_lines(self.checks, self.warnings)
        return Shown("How well do the scores rank?", about, sentence, blocks, alarms)

    def _thresholds(self) -> Table:
        """What thresholds bring that were asked for."""
        names = ("recall", "precision", "false_alarm_rate", "cost")
        known = [n for n in names if any(getattr(one, n) is not None for one in self.asked)]
        title = "Positive from this threshold up"
        if any(one.cheapest is not None for one in self.asked):
            title += " (cheapest for the cost)"
        columns = tuple(law_column(name, name.replace("_", " ")) for name in known)
        asked = [one.row(self.level) for one in self.asked]
        return Table("thresholds", title, "from", columns, asked, missing="undefined", aside=("from",))


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


def _series(bands: Mapping[str, Band]) -> dict[str, dict[str, Any]]:
    points = {name: plain_json(band._asdict()) for name, band in bands.items()}
    return {name: {k: v for k, v in row.items() if k != "level"} for name, row in points.items()}


def _area(law: Estimate, level: float) -> dict[str, Any]:
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
    warnings: tuple[str, ...] = ()  # what is doubtful about any of the classes

    @property
    def level(self) -> float:
        """Probability of the intervals."""
        return next(iter(self.each.values())).level

    def blocks(self) -> Shown:
        """The question, the answer and what stands behind it, for all faces."""
        first, level = next(iter(self.each.values())), self.level
        kind = interval_title(level, first.interval_kind)
        averages = {n: {a: _area(law, level) for a, law in getattr(self, n).items()} for n in AREAS}
        rows = [
            {"class": name, **{n: _area(getattr(one, n), level) for n in AREAS}}
            for name, one in self.each.items()
        ]
        rows += [{"class": f"{a} average", **{n: averages[n][a] for n in AREAS}} for a in AVERAGES]
        some = dict(list(self.each.items())[:_MOST_CURVES])
        blocks = (
            Table("areas", "One class against the rest", "class",
                  tuple(law_column(n, t) for n, t in AREAS.items()), rows,
                  f"{kind}s; averages as if all classes erred together", by_name=True),
            *(curve._replace(name="") for curve in score_curves(some)),
            check_notes(self.checks), warning_notes(self.warnings),
            how(("interval", kind), ("target", IN_SAMPLE), ("assumed", first.assumption)),
            facts_of(self, "key", "level"),
            facts(averages=averages, weights=dict(self.weights), target=IN_SAMPLE,
                  each={name: one.to_dict() for name, one in self.each.items()}),
        )  # fmt: skip
        text = interval_text(self.auc["macro"], level)
        what = "Area under the ROC curve, one class against the rest"
        sentence = f"{what}: {text} on average ({kind}s; {taken_as_true(first.num_gold)})."
        about = f"{len(self.each)} classes; key {self.key}"
        alarms = first_lines(self.checks, self.warnings)
        return Shown("How well do the scores rank?", about, sentence, blocks, alarms)
