"""`evaluate_class_scores`: a column of scores for each class, judged one against the rest, and averages.

Every column is cut into bins as in `evaluate_scores`, and the bins are the symbols of a table with a row for
each class: labels of "dog" and of "plane" speak differently of a high score for "cat". Its rows of all other
classes are then added up. Each class has its own posterior of its area.

Averages need more, how the areas of the classes vary together. A sample that is of class a rather than b
raises both areas if its scores say so, so they tend to vary together, but no draw holds all of them. They
are taken to move together entirely (the same quantile of every law), which makes the interval of an average
the widest that the single laws allow: cautious by up to the square root of the number of classes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Unpack

import numpy as np
from jaxtyping import Array, Float

from jtruth._random import Stated, as_key, stated, stream
from jtruth.answers import Answer, Column, Shown, Table, check_notes, facts, how, warning_notes
from jtruth.evaluation import inputs
from jtruth.evaluation.checks.first_look import look_at
from jtruth.evaluation.checks.scores_look import backward_columns
from jtruth.evaluation.judging import Judged, Judging, read_judged
from jtruth.evaluation.parts import Check, first_lines
from jtruth.evaluation.score_result import AREAS, AnyCurves, ScoreEvaluation, area_row, score_curves
from jtruth.evaluation.scores import judged, nobody_says, read_asked
from jtruth.evaluation.text import IN_SAMPLE, interval_text, interval_title
from jtruth.labels import Labels
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate
from jtruth.tables.curves import Curves

_QUANTILES = (np.arange(4000) + 0.5) / 4000
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


def evaluate_class_scores(
    scores: Any,
    labels: Labels | np.ndarray | Array,
    *,
    bins: int = 8,
    **how: Unpack[Judging],
) -> ClassScores:
    """How well does a column of scores for each class separate it from the rest, judged by noisy labels?

    Args:
        scores: (samples, classes) finite numbers, such as probabilities, in the order of the classes; rows of
            a frame are matched by task id, its columns by class.
        labels: `Labels`, or the array log p(z_i | y_i = c) of shape (samples, classes).
        bins: most bins of a column.
        how: noise, prior, gold, assume, level, key, progress, as for `evaluate_scores`: see `Judging`.

    Raises:
        ValueError: scores of another shape or not finite, or unusable labels.

    Each class is fitted by itself: without known noise that takes as long as `evaluate` for every class.

    >>> import jtruth as jt
    >>> z = np.array([[0, 0], [1, 1], [2, 2], [0, 1], [1, 1], [2, 0]])
    >>> labels, noise = jt.Labels.from_matrix(z, 3), jt.noise.Symmetric(0.1, 3)
    >>> p = np.eye(3)[[0, 1, 2, 0, 1, 2]] * 0.7 + 0.1
    >>> found = jt.evaluate_class_scores(p, labels, noise=noise, prior=np.full(3, 1 / 3))
    >>> list(found.each), bool(found.auc["macro"].mean > 0.8)
    (['0', '1', '2'], True)
    """
    said = Judged.of("evaluate_class_scores", how)
    data = read_judged(None, labels, said)
    given = _columns(scores, data)
    asked = read_asked(data, said, bins, None)
    found = {}
    for c, name in enumerate(data.classes):
        data.positive = c
        found[name] = judged(data, given[:, c], asked, stream(as_key(said.key), "scores of class", c))
    alarms = (*look_at(data, {}, nobody_says(data, asked)), *backward_columns(given, data))
    weights = np.array([one.curves.law(attrgetter("share")).mean for one in found.values()])
    laws = tuple(one.curves for one in found.values())
    share = {"macro": np.full(len(laws), 1 / len(laws)), "weighted": weights / weights.sum()}
    averages = {
        k: {name: _average(laws, f, share[name]) for name in AVERAGES}
        for k, f in zip(AREAS, map(attrgetter, AREAS), strict=True)
    }
    return ClassScores(found, averages["auc"], averages["average_precision"],
                       dict(zip(found, share["weighted"].tolist(), strict=True)),
                       stated(said.key), alarms)  # fmt: skip


def _columns(scores: Any, data: inputs.Inputs) -> Float[np.ndarray, "samples classes"]:
    """The scores as they can be used, or ValueError."""
    try:
        given = np.asarray(inputs.aligned_table(scores, "scores", data), np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"scores must be numbers: {error}") from None
    shape = (data.y_pred.size, len(data.classes))
    if given.shape != shape:
        raise ValueError(f"scores have shape {given.shape}; give ({shape[0]} samples, {shape[1]} classes)")
    bad = np.argwhere(~np.isfinite(given))
    if len(bad):
        i, c = bad[0]
        raise ValueError(
            f"the score of sample {i} for class {data.classes[c]!r} is {given[i, c]}; scores must be finite "
            f"({len(bad)} such)"
        )
    return given


def _average(
    parts: Sequence[AnyCurves], of: Callable[[Curves], DrawsEstimate], weights: Float[np.ndarray, " classes"]
) -> Estimate:
    """The average of all classes."""
    return _together([_draws(one.law(of)) for one in parts], weights)


def _draws(law: Estimate) -> DrawsEstimate:
    if not isinstance(law, DrawsEstimate):
        raise TypeError(f"an average needs draws, and {type(law).__name__} has none")
    return law


def _together(laws: Sequence[DrawsEstimate], weights: np.ndarray) -> DrawsEstimate:
    """Weighted mean of the same quantile of every law; NaN where one is never defined."""
    known = [law.draws[~np.isnan(law.draws)] for law in laws]
    columns = [np.quantile(d, _QUANTILES) if d.size else np.full(_QUANTILES.size, np.nan) for d in known]
    return DrawsEstimate(np.stack(columns, axis=1) @ weights)
