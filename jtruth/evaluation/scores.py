"""Evaluate scores by noisy labels: ROC and precision-recall curves, and the areas under them.

Scores are cut into bins of about equal size; the bin is the classifier's symbol (`score_tables`). Scores of
each class are evaluated one against the rest, in a table whose other rows are added up. Averages of areas
assume fully dependent classes (the same quantile of each), which gives the widest interval.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Unpack

import numpy as np
from jaxtyping import Array, Float

from jtruth._random import Stated, stated, stream
from jtruth._validation import choose, positive_line
from jtruth._validation.in_range import check_shape
from jtruth.answers import Answer, Column, Curve, Document, Table
from jtruth.answers.blocks import check_notes, dist_column, facts, facts_of, how, warning_notes
from jtruth.answers.data import dist_row, plain_json
from jtruth.answers.require import Gate, Quantity, one_of, require
from jtruth.evaluation import calibrated, inputs, one_judge, parts
from jtruth.evaluation import score_tables as tables
from jtruth.evaluation.assumptions.model_error import width_assumption
from jtruth.evaluation.assumptions.registry import ASSUMPTIONS, INDEPENDENT, assumption_of
from jtruth.evaluation.checks import first_look
from jtruth.evaluation.checks.of_labels import REFUSED, refusal
from jtruth.evaluation.gold.tables import BY_GOLD
from jtruth.evaluation.inputs import Judging
from jtruth.evaluation.score_tables import AT, AtThreshold, Number, checked_cost
from jtruth.labels import Labels
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.elsewhere import verdicts_by_one_rule
from jtruth.stats.estimates import Estimate
from jtruth.tables.curves import Band, Curves, against_rest, curves

AREAS = {"auc": "area under the ROC curve", "average_precision": "average precision"}
AnyCurves = Curves | tables.PredictiveCurves


@dataclass(frozen=True, repr=False)
class ScoreEvaluation(Answer):
    """The result of `evaluate_scores`; print it."""

    auc: Estimate  # area under the ROC curve, ties within a bin counted half
    average_precision: Estimate
    curves: AnyCurves  # of the target
    counted: AnyCurves  # of the samples at hand
    assumption: str
    edges: Float[np.ndarray, " inner_edges"]  # a score is in bin k if k edges are at or below it
    hidden: float  # most that the AUC of the scores themselves can differ from that of the bins, on average
    positive: str
    level: float
    warnings: tuple[str, ...]
    key: Stated
    interval_kind: str = "posterior"  # or "predictive"
    num_gold: int = 0
    num_calibration: int = 0  # verified items of other data, for the error rates
    target: str = parts.POPULATION  # or "in-sample"
    asked: tuple[AtThreshold, ...] = ()  # at the requested threshold, and of the lowest cost
    checks: tuple[parts.Check, ...] = ()
    positive_chosen: str = ""  # how the positive class was, in words
    classes: tuple[str, ...] = ()

    @property
    def assumptions(self) -> tuple[parts.Assumption, ...]:
        """Areas under each base model of a predictive result; empty if the checks reject all models."""
        if not isinstance(self.curves, tables.PredictiveCurves) or REFUSED in self.warnings:
            return ()
        return tuple(
            parts.Assumption(name, ASSUMPTIONS[name].sentence, {n: getattr(one, n) for n in AREAS}, None, one)
            for name, one in self.curves.by_model.items()
        )

    @property
    def in_sample(self) -> "ScoreEvaluation":
        """The same result for these samples, without rows for a threshold."""
        if self.target == parts.IN_SAMPLE:
            return self
        areas = {name: self.counted.dist(attrgetter(name)) for name in AREAS}
        return replace(self, **areas, curves=self.counted, target=parts.IN_SAMPLE, asked=())

    @property
    def thresholds(self) -> Float[np.ndarray, " thresholds"]:
        """Scores at the points of the curve, from above all (infinite) to below all."""
        above = np.full(self.curves.num_thresholds - 1 - self.edges.size, np.inf)
        return np.concatenate([above, self.edges[::-1], [-np.inf]])

    @property
    def auc_of_scores(self) -> tuple[float, float]:
        """Interval of the AUC without bins: that of the bins, widened by the largest binning error."""
        low, high = self.auc.interval(self.level)
        return max(low - self.hidden, 0.0), min(high + self.hidden, 1.0)

    def dist(
        self, of: Callable[[Curves], DrawsEstimate], bounds: tuple[Number, Number] = (0, 1)
    ) -> DrawsEstimate:
        """Distribution of a number of the curve; its mean is that of these samples."""
        return _about(self.curves, self.counted, of, bounds)

    def partial_auc(self, most: Number) -> Estimate:
        """Mean recall over the false-alarm rates up to `most`; see `Curves.partial_auc`."""
        return self.dist(lambda c: c.partial_auc(most))

    def at_threshold(self, threshold: Number, cost: tuple[Number, Number] | None = None) -> AtThreshold:
        """Metrics of predicting positive at or above one of `thresholds`.

        `cost` is of a false positive and of a false negative. `evaluate_scores(threshold=...)` makes any
        number a threshold.

        Raises:
            ValueError: a threshold inside a bin, or invalid costs.
        """
        place = np.flatnonzero(self.thresholds == threshold)
        if not place.size:
            raise ValueError(
                f"threshold {threshold} lies inside a bin of scores; evaluate_scores(..., threshold="
                f"{threshold}) makes it an edge"
            )
        return self._at(int(place[-1]), None if cost is None else checked_cost(cost))

    def best_threshold(self, cost: tuple[Number, Number]) -> AtThreshold:
        """Threshold with the lowest expected cost of false positives and false negatives."""
        each, (fp, fn) = range(self.curves.num_thresholds), checked_cost(cost)
        means = [self.dist(lambda c, k=k: c.cost_at(k, fp, fn), (0, max(fp, fn))).mean for k in each]
        cheapest = self._at(int(np.argmin(means)), (fp, fn))
        if not isinstance(self.curves, Curves):
            return cheapest  # a predictive distribution has no draws of whole curves
        drawn = self.thresholds[self.curves.best_thresholds(fp, fn)]
        tails = (1 - self.level) / 2, (1 + self.level) / 2
        low, high = (float(np.quantile(drawn, t, method="inverted_cdf")) for t in tails)
        return cheapest._replace(cheapest=(low, high))

    def _at(self, k: int, cost: tuple[Number, Number] | None) -> AtThreshold:
        names = ("false_alarm", "detection", "precision", "accuracy", "specificity")
        rates = (self.dist(lambda c, name=name: c.at(name, k)) for name in names)
        mean = None if cost is None else self.dist(lambda c: c.cost_at(k, *cost), (0, max(cost)))
        return AtThreshold(float(self.thresholds[k]), *rates, cost=mean)

    @property
    def quantities(self) -> dict[str, Quantity]:
        """Numbers for requirements: the areas, and rates at the threshold."""
        areas = {name: getattr(self, name) for name in AREAS}
        return tables.quantities(areas, self.counted.dist(attrgetter("share")).mean, self.asked[:1])

    def require(self, *requirements: str, confidence: float = 0.95) -> Gate:
        """Check "auc >= .8", or "recall >= .9" at the threshold; see `jtruth.answers.require`."""
        return require(self, one_of(self.quantities), requirements, confidence, self.num_gold, "auc >= .8")

    def blocks(self) -> Document:
        """Build the document of the result."""
        kind = parts.interval_title(self.level, self.interval_kind)
        areas = {name: _area(getattr(self, name), self.level) for name in AREAS}
        in_sample = {name: _area(self.counted.dist(attrgetter(name)), self.level) for name in AREAS}
        views = [
            {"name": a.name, "sentence": a.sentence,
             **{name: _area(dist, self.level) for name, dist in a.metrics.items()}}
            for a in self.assumptions
        ]  # fmt: skip
        (low, high), note = self.auc_of_scores, ""
        if np.isfinite(self.hidden):
            note = f"Binning error of the area: at most {self.hidden:.3f}; the area without bins lies in "
            note += f"[{low:.3f}, {high:.3f}]."
        known = [n for n in (*AT, "cost") if any(getattr(one, n) is not None for one in self.asked)]
        titles = {name: one_judge.NAMES.get(name, name.replace("_", " ")) for name in known}
        columns = tuple(dist_column(name, title) for name, title in titles.items())
        asked = [one.row(self.level) for one in self.asked]
        cheapest = any(one.cheapest is not None for one in self.asked)
        title = "Metrics at a threshold" + (" (lowest expected cost)" if cheapest else "")
        blocks = (
            Table("", f"Areas, with {kind}s", "area", (Column("mean", "area [interval]", ("low", "high")),),
                  [{"area": title} | areas[name] for name, title in AREAS.items()], note),
            Table("thresholds", title, "from", columns, asked, missing="undefined", aside=("from",)),
            parts.assumption_table(views, [Column((n, "mean"), t) for n, t in AREAS.items()]),
            *score_curves({"": self}), check_notes(self.checks), warning_notes(self.warnings),
            how(("interval", kind), ("target", self.target), ("assumption", self.assumption)),
            facts_of(self, "key", "target", "interval_kind", "assumption", "level", "positive",
                     "positive_chosen", "num_gold", "num_calibration"),
            facts(**areas, in_sample=in_sample, num_bins=self.edges.size + 1, hidden_by_bins=self.hidden,
                  auc_of_scores={"low": low, "high": high}),
        )  # fmt: skip
        text = parts.interval_text(self.auc, self.level)
        kind, truth = kind.replace("posterior ", ""), parts.taken_as_true(self.num_gold, self.num_calibration)
        sentence = f"The area under the ROC curve is {text} {parts.ABOUT[self.target]} ({kind}; {truth})."
        about = f"{self.edges.size + 1} bins of scores; key {self.key}"
        lines = (positive_line(self.classes, self.positive, self.positive_chosen),
                 *(one.sentence(self.level) for one in self.asked))  # fmt: skip
        return Document("How well do the scores rank?", about, sentence, blocks, lines=lines)


def score_curves(evaluations: Mapping[str, ScoreEvaluation]) -> list[Curve]:
    """ROC and precision-recall curves with their bands."""

    def points(band: Band) -> dict[str, Any]:
        return {name: plain_json(values) for name, values in band._asdict().items() if name != "level"}

    roc = {name: points(one.curves.roc(one.level)) for name, one in evaluations.items()}
    pr = {name: points(one.curves.precision_recall(one.level)) for name, one in evaluations.items()}
    note = "Bands cover each point of the curve with the stated probability."
    return [
        Curve("curves.roc", "ROC curve", "false alarm rate", "recall", roc, note, diagonal=True),
        Curve("curves.precision_recall", "Precision and recall", "recall", "precision", pr, note),
    ]


def _area(dist: Estimate, level: float) -> dict[str, Any]:
    row = dist_row(dist, level)
    return {name: row[name] for name in ("mean", "low", "high")}


AVERAGES = ("macro", "weighted")
_MOST_CURVES = 6  # that can be distinguished


@dataclass(frozen=True, repr=False)
class ClassScores(Answer):
    """The result of `evaluate_class_scores`; print it."""

    each: Mapping[str, ScoreEvaluation]  # by class, against the rest
    auc: Mapping[str, Estimate]  # "macro" and "weighted" averages over the classes
    average_precision: Mapping[str, Estimate]
    weights: Mapping[str, float]  # of the weighted average: shares of the classes, posterior means
    key: Stated
    checks: tuple[parts.Check, ...] = ()
    warnings: tuple[str, ...] = ()  # what is doubtful about any of the classes

    @property
    def level(self) -> float:
        """Probability of the intervals."""
        return next(iter(self.each.values())).level

    @property
    def interval_kind(self) -> str:
        """Posterior or predictive."""
        return next(iter(self.each.values())).interval_kind

    def require(self, *requirements: str, confidence: float = 0.95) -> Gate:
        """Check "auc >= .8", the mean of all classes, or "auc[cat] >= .8"."""
        found = {f"{area}[{c}]": one.quantities[area] for c, one in self.each.items() for area in AREAS}
        for area in AREAS:  # as if all items were of its least informative class
            most = max(q.variance for name, q in found.items() if name.startswith(area))
            found[area] = Quantity(getattr(self, area)["macro"], most)
        num_gold = next(iter(self.each.values())).num_gold
        return require(self, one_of(found), requirements, confidence, num_gold, "auc >= .8")

    def blocks(self) -> Document:
        """Build the document of the result."""
        first, level = next(iter(self.each.values())), self.level
        kind = parts.interval_title(level, first.interval_kind)
        averages = {n: {a: _area(dist, level) for a, dist in getattr(self, n).items()} for n in AREAS}
        rows = [
            {"class": name, **{n: _area(getattr(one, n), level) for n in AREAS}}
            for name, one in self.each.items()
        ]
        rows += [{"class": f"{a} average", **{n: averages[n][a] for n in AREAS}} for a in AVERAGES]
        some = dict(list(self.each.items())[:_MOST_CURVES])
        blocks = (
            Table("areas", "One class against the rest", "class",
                  tuple(dist_column(n, t) for n, t in AREAS.items()), rows,
                  f"{kind}s; averages assume fully dependent classes", by_name=True),
            *(curve._replace(name="") for curve in score_curves(some)),
            check_notes(self.checks), warning_notes(self.warnings),
            how(("interval", kind), ("target", first.target), ("assumption", first.assumption)),
            facts_of(self, "key", "level"),
            facts(averages=averages, weights=dict(self.weights), target=first.target,
                  each={name: one.to_dict() for name, one in self.each.items()}),
        )  # fmt: skip
        text = parts.interval_text(self.auc["macro"], level)
        what = "The mean area under the ROC curve (one class against the rest)"
        truth = f"({kind}; {parts.taken_as_true(first.num_gold, first.num_calibration)})"
        sentence = f"{what} is {text} {parts.ABOUT[first.target]} {truth}."
        about = f"{len(self.each)} classes; key {self.key}"
        return Document("How well do the scores rank?", about, sentence, blocks)


def evaluate_scores(
    scores: Any,
    labels: Labels | np.ndarray | Array,
    *,
    bins: int = 20,
    threshold: Number | None = None,
    cost: tuple[Number, Number] | None = None,
    calibration: Any = None,
    positive: int | str | None = None,
    target: str = parts.POPULATION,
    **how: Unpack[Judging],
) -> ScoreEvaluation:
    """Evaluate how well a score separates two classes, by noisy labels.

    Args:
        scores: (samples,) finite numbers, larger for the positive class; matched by task ids if they have
            some.
        labels: `Labels`, or the array log p(z_i | y_i = c) of shape (samples, 2).
        bins: maximum number of bins of scores, 2 to 200.
        threshold: threshold to evaluate: positive at or above this score.
        cost: of a false positive and of a false negative; adds the threshold of the lowest cost.
        calibration: as for `evaluate`; the score is independent of the labelers given the class.
        positive: code or name of the class with high scores; chosen as by `evaluate` if None.
        target: "population", new samples of the same kind, or "in-sample", these samples.
        how: see `Judging`; known noise needs the prior.

    Raises:
        ValueError: scores that are no finite numbers, not two classes, invalid costs or threshold, or
            unusable labels.

    Nominal 95 % intervals of the AUC covered .93 to .98 in nine simulated settings with known noise (one and
    five labels, 10 and 40 bins, half and a twentieth of positives). They covered .90 if some positives rank
    below all negatives, and .82 on 88 samples of a real set with one label each. A warning says if another
    prior of the bins changes the result (`benchmarks/curves.py`).

    >>> import jtruth as jt
    >>> z = np.array([[1, 1], [0, 0], [1, 0], [0, 0], [1, 1], [0, 0]])
    >>> labels, noise = jt.Labels.from_matrix(z, 2), jt.noise.Symmetric(0.1, 2)
    >>> score = [0.9, 0.2, 0.6, 0.1, 0.8, 0.3]
    >>> found = jt.evaluate_scores(score, labels, noise=noise, prior=[0.5, 0.5], threshold=0.5)
    >>> bool(found.auc.mean > 0.8), len(found.edges), bool(found.asked[0].recall.mean > 0.8)
    (True, 5, True)
    """
    asked_cost = None if cost is None else checked_cost(cost)
    data, found = _read("evaluate_scores", labels, calibration, target, how, positive)
    if len(data.classes) != 2:
        raise ValueError(
            f"scores rank two classes, but there are {len(data.classes)}: {data.classes}; give "
            "evaluate_class_scores one column of scores for each class"
        )
    if threshold is not None and not np.isfinite(threshold):
        raise ValueError(f"threshold is {threshold}; give a finite score")
    values = tables.finite_scores(inputs.aligned(scores, "scores", data))
    result = judged(data, values, bins, threshold, found)
    asked = []
    if threshold is not None:
        score = _at_or_above(values, threshold)
        place = -np.inf if score == values.min() else score
        asked.append(result.at_threshold(place, asked_cost)._replace(threshold=float(threshold)))
    if asked_cost is not None:
        asked.append(result.best_threshold(asked_cost))
    share = float(first_look.labels_opinion(data)[:, data.positive].mean())
    odd = (
        *first_look.row_numbers(values, data), *first_look.backward_scores(values, data),
        *first_look.threshold_outside(values, threshold, share),
    )  # fmt: skip
    return replace(result, asked=tuple(asked), checks=(*first_look.look_at(data, {}), *odd, *result.checks))


def _read(
    asked: str, labels: Any, calibration: Any, target: str, how: Judging, positive: Any = None
) -> tuple[inputs.Inputs, calibrated.Calibrated | None]:
    choose("target", target, parts.TARGETS)
    if calibration is not None:
        labels, calibration = calibrated.together(labels, calibration, **how)
    data = inputs.read_one_assumption(asked, None, labels, how, positive=positive)
    data.target = target
    if calibration is None:
        return data, None
    one_symbol = replace(data, symbols=np.ones((len(data.classes), 1)))
    return data, calibrated.by_calibration(one_symbol, calibration, hard=verdicts_by_one_rule)


def judged(
    data: inputs.Inputs, values: Float[np.ndarray, " samples"], bins: int, threshold: Number | None = None,
    found: calibrated.Calibrated | None = None,
) -> ScoreEvaluation:  # fmt: skip
    """The result for the class `data.positive` against the rest; `found` by a calibration."""
    learned = data.open and found is None
    opinion = first_look.labels_opinion(data)[:, data.positive] if learned else None
    edges = tables.bin_edges(values, min(bins, tables.BINS) if learned else bins, opinion)
    if threshold is not None:
        inner = _at_or_above(values, threshold)
        edges = np.union1d(edges, [inner] if values.min() < inner < np.inf else [])
    coded = np.searchsorted(edges, values, side="right")
    kind, basis = "posterior", {}
    if found is not None:
        drawn, doubts = tables.calibrated_tables(data, coded, found)
        basis = found.basis | {"assumption": calibrated.ASSUMED + calibrated.APART}
        whole, doubts = curves(against_rest(drawn, data.positive)), (*found.warnings, *doubts)
        assumed = ""
    elif not data.open:
        drawn, doubts = tables.score_tables(data, coded, values)
        whole, assumed = curves(against_rest(drawn, data.positive)), assumption_of(INDEPENDENT)
    else:
        whole, doubts = tables.learned_curves(data, coded)
        assumed = BY_GOLD
        if not data.num_gold:
            kind, assumed = parts.PREDICTIVE, width_assumption(data.labelers_are)
            doubts = (*refusal(data.own_labels(), data.key), *doubts)
    counted = whole
    if data.target == parts.POPULATION:
        whole = tables.for_new(whole, stream(data.key, "curves of new samples"))
    equal = () if edges.size else ("All scores are equal, so they rank nothing, and the area is 1/2.",)
    auc, average, hidden = (_about(whole, counted, attrgetter(name)) for name in (*AREAS, "hidden"))
    answer = ScoreEvaluation(
        auc, average, whole, counted, assumed, edges, hidden.mean, data.classes[data.positive], data.level,
        (*doubts, *data.notes, *equal), data.stated, kind, data.num_gold, target=data.target,
        positive_chosen=data.chosen, classes=data.classes,
    )  # fmt: skip
    return replace(answer, **basis)


def _about(
    curves: AnyCurves,
    counted: AnyCurves,
    of: Callable[[Curves], DrawsEstimate],
    bounds: tuple[Number, Number] = (0, 1),
) -> DrawsEstimate:
    dist = curves.dist(of, bounds)
    return dist if curves is counted else replace(dist, middle=counted.dist(of, bounds).mean)


def _at_or_above(values: np.ndarray, threshold: Number) -> float:
    """The lowest score at or above a threshold; infinite if there is none."""
    return float(values[values >= threshold].min(initial=np.inf))


def evaluate_class_scores(
    scores: Any, labels: Labels | np.ndarray | Array, *, bins: int = 8, calibration: Any = None,
    target: str = parts.POPULATION, **how: Unpack[Judging],
) -> ClassScores:  # fmt: skip
    """Evaluate how well a column of scores for each class separates it from the rest, by noisy labels.

    Args:
        scores: (samples, classes) finite numbers, in the order of the classes; rows of a frame are matched by
            task id, its columns by class.
        labels: `Labels`, or the array log p(z_i | y_i = c) of shape (samples, classes).
        bins: maximum number of bins of a column.
        calibration: as for `evaluate_scores`.
        target: "population", new samples of the same kind, or "in-sample", these samples.
        how: as for `evaluate_scores`. Each class is fitted by itself.

    Raises:
        ValueError: scores of another shape or not finite, or unusable labels.

    >>> import jtruth as jt
    >>> z = np.array([[0, 0], [1, 1], [2, 2], [0, 1], [1, 1], [2, 0]])
    >>> labels, noise = jt.Labels.from_matrix(z, 3), jt.noise.Symmetric(0.1, 3)
    >>> p = np.eye(3)[[0, 1, 2, 0, 1, 2]] * 0.7 + 0.1
    >>> found = jt.evaluate_class_scores(p, labels, noise=noise, prior=np.full(3, 1 / 3))
    >>> list(found.each), bool(found.auc["macro"].mean > 0.8)
    (['0', '1', '2'], True)
    """
    data, found = _read("evaluate_class_scores", labels, calibration, target, how)
    try:
        columns = np.asarray(inputs.aligned_table(scores, "scores", data), np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"scores must be numbers: {error}") from None
    check_shape(columns, "scores", "samples classes", samples=data.y_pred.size, classes=len(data.classes))
    bad, by_class = np.argwhere(~np.isfinite(columns)), {}
    if len(bad):
        i, c = bad[0]
        raise ValueError(
            f"the score of sample {i} for class {data.classes[c]!r} is {columns[i, c]}; scores must be "
            f"finite ({len(bad)} such)"
        )
    for c, name in enumerate(data.classes):
        key = stream(data.key, "scores of class", c)
        part = replace(data, positive=c, key=key, stated=stated(key))
        by_class[name] = judged(part, columns[:, c], bins, found=found)
    named = enumerate(data.classes)
    rows = [first_look.row_numbers(columns[:, c], data, f"scores of {n!r}") for c, n in named]
    alarms = (*first_look.look_at(data, {}), *sum(rows, ()), *first_look.backward_columns(columns, data),
              *(found.basis["checks"] if found else ()))  # fmt: skip
    weights = np.array([one.counted.dist(attrgetter("share")).mean for one in by_class.values()])
    shares = {"macro": np.full(weights.size, 1 / weights.size), "weighted": weights / weights.sum()}
    each = list(by_class.values())
    auc, precision = ({n: _average(each, attrgetter(area), w) for n, w in shares.items()} for area in AREAS)
    named = dict(zip(by_class, shares["weighted"].tolist(), strict=True))
    doubts = dict.fromkeys(text for one in by_class.values() for text in one.warnings)
    return ClassScores(by_class, auc, precision, named, data.stated, alarms, tuple(doubts))


def _average(
    each: Sequence[ScoreEvaluation],
    of: Callable[[Curves], DrawsEstimate],
    weights: Float[np.ndarray, " classes"],
) -> DrawsEstimate:
    """Weighted mean of the same quantile of every class's distribution; NaN if one is never defined."""
    dists = [one.dist(of) for one in each]
    known = [dist.draws[~np.isnan(dist.draws)] for dist in dists]
    places = (np.arange(4000) + 0.5) / 4000
    columns = [np.quantile(draws, places) if draws.size else np.full(4000, np.nan) for draws in known]
    middle = float(np.array([dist.mean for dist in dists]) @ weights)
    return DrawsEstimate(np.stack(columns, axis=1) @ weights, middle=middle)
