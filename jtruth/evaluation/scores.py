"""How well does a score rank, judged by noisy labels? ROC, precision-recall, their areas.

`evaluate_scores`, two classes. Scores are cut into bins of about equal numbers of samples, equal scores
together, and the bin is the symbol that the classifier "predicts". Given error rates and class prior tables
of bins are drawn from their posterior, with a prior for which neighbouring bins are alike
(`jtruth.testing.binary.chain`). Learned error rates are drawn by `fit_joint`, with the score in four coarse
bins as one more labeler, and every draw of them gives tables of the fine bins. Where nobody vouches for
independence the answer is predictive, or by gold (`score_tables`).

`evaluate_class_scores`, a column of scores for each class, judged one against the rest, and averages. Every
column is cut into bins too, and the bins are the symbols of a table with a row for each class: labels of
"dog" and of "plane" speak differently of a high score for "cat". Its rows of all other classes are then added
up. Each class has its own posterior of its area. Averages need more, how the areas of the classes vary
together. A sample that is of class a rather than b raises both areas if its scores say so, so they tend to
vary together, but no draw holds all of them. They are taken to move together entirely (the same quantile of
every law), which makes the interval of an average the widest that the single laws allow: cautious by up to
the square root of the number of classes.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, Unpack

import numpy as np
from jaxtyping import Array, Float

from jtruth._random import stated, stream
from jtruth._validation.in_range import check_shape
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions.model_error import rests_on
from jtruth.evaluation.assumptions.registry import INDEPENDENT, granted
from jtruth.evaluation.checks.first_look import (
    backward_columns,
    backward_scores,
    look_at,
    said_shares,
    threshold_outside,
)
from jtruth.evaluation.checks.of_labels import refusal
from jtruth.evaluation.gold.answer import BY_GOLD
from jtruth.evaluation.inputs import Judging
from jtruth.evaluation.parts import PREDICTIVE
from jtruth.evaluation.score_result import (
    AREAS,
    AnyCurves,
    ClassScores,
    Number,
    ScoreEvaluation,
    checked_cost,
)
from jtruth.evaluation.score_tables import BINS as RANGE_BINS
from jtruth.evaluation.score_tables import bin_edges, finite_scores, score_by_gold, score_range, score_tables
from jtruth.labels import Labels
from jtruth.stats.draws import DrawsEstimate
from jtruth.tables.curves import Curves, against_rest, curves

_OF_CURVES = tuple(map(attrgetter, ("auc", "average_precision", "hidden")))  # of `Curves`


def evaluate_scores(
    scores: Any,
    labels: Labels | np.ndarray | Array,
    *,
    bins: int = 20,
    threshold: Number | None = None,
    cost: tuple[Number, Number] | None = None,
    positive: int | str | None = None,
    **how: Unpack[Judging],
) -> ScoreEvaluation:
    """How well does a score separate two classes, judged by noisy labels?

    Args:
        scores: (samples,) finite numbers, larger for the positive class; a Series, dict or frame with task
            ids is matched by them.
        labels: `Labels`, or the array log p(z_i | y_i = c) of shape (samples, 2).
        bins: most bins of scores, 2 to 200.
        threshold: a decision to judge: positive at or above this score.
        cost: of a false positive and of a false negative; the threshold of the lowest cost is looked for.
        positive: code or name of the class that high scores speak for; class 1 if None.
        how: noise, prior (needed where the noise is known), gold, assume (by default the answer is
            predictive), labelers_are, level, key, progress: see `Judging`.

    Raises:
        ValueError: scores that are no finite numbers, other than two classes, costs or a threshold that
            cannot be, or unusable labels.

    Nominal 95 % of the AUC held .93 to .98 in nine simulated settings of known noise (one and five labels,
    10 and 40 bins, half and a twentieth of positives), .90 where a part of the positives ranks below all
    negatives, and .82 on 88 samples of a real set with one label each. The answer says where another prior
    of the bins would move it (`benchmarks/curves.py`).

    >>> import jtruth as jt
    >>> z = np.array([[1, 1], [0, 0], [1, 0], [0, 0], [1, 1], [0, 0]])
    >>> labels, noise = jt.Labels.from_matrix(z, 2), jt.noise.Symmetric(0.1, 2)
    >>> score = [0.9, 0.2, 0.6, 0.1, 0.8, 0.3]
    >>> found = jt.evaluate_scores(score, labels, noise=noise, prior=[0.5, 0.5], threshold=0.5)
    >>> bool(found.auc.mean > 0.8), len(found.edges), bool(found.asked[0].recall.mean > 0.8)
    (True, 5, True)
    """
    asked_cost = None if cost is None else checked_cost(cost)
    data = inputs.read_one_assumption("evaluate_scores", None, labels, how, positive=positive)
    if len(data.classes) != 2:
        raise ValueError(
            f"scores rank two classes and there are {len(data.classes)}: {data.classes}; give one column of "
            "scores for each class to evaluate_class_scores"
        )
    if threshold is not None and not np.isfinite(threshold):
        raise ValueError(f"threshold is {threshold}; give a finite score")
    values = finite_scores(inputs.aligned(scores, "scores", data))
    found = judged(data, values, bins, threshold)
    asked = []
    if threshold is not None:
        score = _at_or_above(values, threshold)
        place = -np.inf if score == values.min() else score
        asked.append(found.at_threshold(place, asked_cost)._replace(threshold=float(threshold)))
    if asked_cost is not None:
        asked.append(found.best_threshold(asked_cost))
    odd = (*backward_scores(values, data), *threshold_outside(values, threshold))
    return replace(found, asked=tuple(asked), checks=(*look_at(data, {}), *odd))


def judged(
    data: inputs.Inputs, values: Float[np.ndarray, " samples"], bins: int, threshold: Number | None = None
) -> ScoreEvaluation:
    """The answer for the class `data.positive` against the rest."""
    said = said_shares(data)[:, data.positive] if data.open else None
    edges = bin_edges(values, min(bins, RANGE_BINS) if data.open else bins, said)
    if threshold is not None:
        inner = _at_or_above(values, threshold)
        edges = np.union1d(edges, [inner] if values.min() < inner < np.inf else [])
    coded = np.searchsorted(edges, values, side="right")
    found: AnyCurves
    if not data.open:
        tables, doubts = score_tables(data, coded, values)
        found = curves(against_rest(tables, data.positive))
        kind, assumed = "posterior", granted(INDEPENDENT)
    elif data.num_gold:
        found, doubts = score_by_gold(data, coded)
        kind, assumed = "posterior", BY_GOLD
    else:
        found, doubts = score_range(data, coded)
        doubts = (*refusal(data.own_labels(), data.key), *doubts)
        kind, assumed = PREDICTIVE, rests_on(data.labelers_are)
    equal = () if edges.size else ("all scores are equal: they rank nothing, and the area is 1/2",)
    auc, average, hidden = map(found.law, _OF_CURVES)
    return ScoreEvaluation(
        auc, average, found, assumed, edges, hidden.mean, data.classes[data.positive], data.level,
        (*doubts, *data.notes, *equal), data.stated, kind, data.num_gold,
    )  # fmt: skip


def _at_or_above(values: np.ndarray, threshold: Number) -> float:
    """The lowest score that is positive there: a threshold that is one of the scores; infinite: none is."""
    return float(values[values >= threshold].min(initial=np.inf))


_QUANTILES = (np.arange(4000) + 0.5) / 4000


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
    data = inputs.read_one_assumption("evaluate_class_scores", None, labels, how)
    given, found = _columns(scores, data), {}
    for c, name in enumerate(data.classes):
        key = stream(data.key, "scores of class", c)
        found[name] = judged(replace(data, positive=c, key=key, stated=stated(key)), given[:, c], bins)
    alarms = (*look_at(data, {}), *backward_columns(given, data))
    each = [one.curves for one in found.values()]
    weights = np.array([one.law(attrgetter("share")).mean for one in each])
    shares = {"macro": np.full(len(each), 1 / len(each)), "weighted": weights / weights.sum()}
    auc, precision = (
        {name: _average(each, attrgetter(area), share) for name, share in shares.items()} for area in AREAS
    )
    named = dict(zip(found, shares["weighted"].tolist(), strict=True))
    doubts = dict.fromkeys(text for one in found.values() for text in one.warnings)
    return ClassScores(found, auc, precision, named, data.stated, alarms, tuple(doubts))


def _columns(scores: Any, data: inputs.Inputs) -> Float[np.ndarray, "samples classes"]:
    """The scores as they can be used, or ValueError."""
    try:
        given = np.asarray(inputs.aligned_table(scores, "scores", data), np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"scores must be numbers: {error}") from None
    check_shape(given, "scores", "samples classes", samples=data.y_pred.size, classes=len(data.classes))
    bad = np.argwhere(~np.isfinite(given))
    if len(bad):
        i, c = bad[0]
        raise ValueError(
            f"the score of sample {i} for class {data.classes[c]!r} is {given[i, c]}; scores must be finite "
            f"({len(bad)} such)"
        )
    return given


def _average(
    found: Sequence[AnyCurves], of: Callable[[Curves], DrawsEstimate], weights: Float[np.ndarray, " classes"]
) -> DrawsEstimate:
    """Weighted mean of the same quantile of every class's law; NaN where one is never defined."""
    laws = [one.law(of).draws for one in found]
    known = [draws[~np.isnan(draws)] for draws in laws]
    columns = [np.quantile(d, _QUANTILES) if d.size else np.full(_QUANTILES.size, np.nan) for d in known]
    return DrawsEstimate(np.stack(columns, axis=1) @ weights)
