"""The answer of `evaluate_scores`: areas and curves, and what a threshold brings, stated or best for a cost.

Curves come from one posterior (`jtruth.tables.curves`), from several assumptions (`score_ranges`) or from
models and gold together (`score_gold`). Each of them gives the law of any number that is a function of a
curve, `law(of)`, and the two bands; all that stands here is asked of `law`.
"""

from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth._one_line import one_line
from jtruth._page import Page, write_page
from jtruth._pictures import as_printed, picture
from jtruth._random import Stated
from jtruth._version import __version__
from jtruth.evaluation.as_json import estimate_dict
from jtruth.evaluation.assumptions.ranges import first_and_rest
from jtruth.evaluation.score_gold import GoldCurves
from jtruth.evaluation.score_page import score_page
from jtruth.evaluation.score_ranges import CurveRange, ScoreView
from jtruth.evaluation.text import IN_SAMPLE, interval_text
from jtruth.stats.estimates import Estimate
from jtruth.tables.curves import Curves

_KINDS = {
    "posterior": "posterior intervals",
    "sensitivity range": "sensitivity ranges",
    "pooled interval": "pooled intervals",
}
Number = float | int
AnyCurves = Curves | CurveRange | GoldCurves


class AtThreshold(NamedTuple):
    """What predicting positive at or above a threshold brings."""

    threshold: float  # infinite: nothing is predicted positive; minus infinity: everything
    false_alarm_rate: Estimate
    recall: Estimate
    precision: Estimate
    cost: Estimate | None = None  # mean of a sample
    cheapest: tuple[float, float] | None = None  # the level's middle part of the thresholds that are cheapest

    __repr__ = one_line

    def to_dict(self, level: float) -> dict[str, Any]:
        """Plain values for JSON; an infinite threshold is null."""
        found: dict[str, Any] = {"threshold": _finite(self.threshold)}
        for name in ("false_alarm_rate", "recall", "precision", "cost"):
            law = getattr(self, name)
            found[name] = None if law is None else estimate_dict(law, level)
        found["cheapest"] = None if self.cheapest is None else [_finite(v) for v in self.cheapest]
        return found

    def sentence(self, level: float) -> str:
        """One line."""
        where = {np.inf: "nothing positive", -np.inf: "everything positive"}.get(self.threshold)
        parts = [
            f"{name.replace('_', ' ')} {interval_text(law, level)}"
            for name in ("recall", "precision", "false_alarm_rate", "cost")
            if (law := getattr(self, name)) is not None
        ]
        least = "cheapest, " if self.cheapest is not None else ""
        return f"{least}{where or f'positive from {self.threshold:g} up'}: {', '.join(parts)}"


class ScoreEvaluation(NamedTuple):
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
    interval_kind: str = "posterior"  # or "sensitivity range", or "pooled interval" with gold
    num_gold: int = 0
    asked: tuple[AtThreshold, ...] = ()  # what a threshold and a cost that were stated bring

    @property
    def assumptions(self) -> tuple[ScoreView, ...]:
        """What every assumption says, where nobody vouched for one."""
        return self.curves.views if isinstance(self.curves, CurveRange) else ()

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
        low, high, _ = self.auc.interval(self.level)
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
        """The threshold of the lowest expected cost, by the law's mean (the middle of a range).

        Args:
            cost: of a false positive and of a false negative.

        Raises:
            ValueError: costs that are negative, not finite or both 0.
        """
        each, (fp, fn) = range(self.curves.num_thresholds), checked_cost(cost)
        law = self.curves.law
        means = [law(lambda c, k=k: c.cost_at(k, fp, fn), (0, max(fp, fn))).mean for k in each]
        found = self._at(int(np.argmin(means)), (fp, fn))
        parts = [v.curves for v in self.assumptions if v.hull] or [self.curves]
        single = [one for one in parts if isinstance(one, Curves)]
        if not single:
            return found  # models and gold have no draws of whole curves
        drawn = [self.thresholds[one.best_thresholds(fp, fn)] for one in single]
        tails = (1 - self.level) / 2, (1 + self.level) / 2
        low, high = ([float(np.quantile(d, t, method="inverted_cdf")) for d in drawn] for t in tails)
        return found._replace(cheapest=(min(low), max(high)))

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

    plot = picture
    _repr_html_ = as_printed
    __repr__ = one_line

    def page(self) -> Page:
        """The answer as a page."""
        return score_page(self.to_dict(), str(self).partition("\n")[0])

    def report(self, path: str | PathLike) -> None:
        """Write a page to forward: one HTML file with pictures, that loads nothing from anywhere."""
        write_page(path, self.page())

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "jtruth": __version__,
            "key": self.key,
            "interval_kind": self.interval_kind,
            "assumptions": [
                {
                    "name": view.name,
                    "sentence": view.sentence,
                    "auc": self._row(view.curves.auc),
                    "average_precision": self._row(view.curves.average_precision),
                }
                for view in self.assumptions
            ],
            "auc": self._row(self.auc),
            "average_precision": self._row(self.average_precision),
            "assumption": self.assumption,
            "level": self.level,
            "target": IN_SAMPLE,
            "positive": self.positive,
            "num_bins": self.edges.size + 1,
            "num_gold": self.num_gold,
            "hidden_by_bins": self.hidden,
            "auc_of_scores": dict(zip(("low", "high"), self.auc_of_scores, strict=True)),
            "thresholds": [one.to_dict(self.level) for one in self.asked],
            "curves": {
                name: {k: [None if np.isnan(v) else float(v) for v in values] for k, values in rows.items()}
                for name, rows in (
                    ("roc", self.curves.roc(self.level)._asdict()),
                    ("precision_recall", self.curves.precision_recall(self.level)._asdict()),
                )
                if rows.pop("level")
            },
            "warnings": list(self.warnings),
        }

    def _row(self, law: Estimate) -> dict[str, float]:
        low, high, _ = law.interval(self.level)
        return {"mean": law.mean, "low": low, "high": high}

    def __str__(self) -> str:
        auc, average = (interval_text(law, self.level) for law in (self.auc, self.average_precision))
        ends, bins = self.auc_of_scores, f"{self.edges.size + 1} bins of scores"
        if np.isfinite(self.hidden):
            bins += (
                f", which hide at most {self.hidden:.3f} of the area: that of the scores themselves is in "
                f"[{ends[0]:.3f}, {ends[1]:.3f}]"
            )
        first, rest = first_and_rest(self.warnings)
        lines = [
            f"area under the ROC curve {auc}; {self.truth}",
            *first,
            f"average precision {average}",
            *(one.sentence(self.level) for one in self.asked),
            f"positive: {self.positive}; {kind_text(self)}; {bins}; key {self.key}",
            f"assumed: {self.assumption}",
        ]
        for view in self.assumptions:
            lines.append(f"  {interval_text(view.curves.auc, self.level)}  {view.sentence}")
        return "\n".join([*lines, *rest])


def checked_cost(cost: tuple[Number, Number]) -> tuple[float, float]:
    """Costs of a false positive and of a false negative as they can be, or ValueError."""
    given = np.asarray(cost, np.float64)
    if given.shape != (2,) or not np.isfinite(given).all() or (given < 0).any() or not given.any():
        raise ValueError(
            f"cost is {cost}; give two numbers, of a false positive and of a false negative, neither "
            "negative and not both 0"
        )
    return float(given[0]), float(given[1])


def kind_text(found: ScoreEvaluation) -> str:
    """What the intervals are."""
    return f"{100 * found.level:g} % {_KINDS[found.interval_kind]}"


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
