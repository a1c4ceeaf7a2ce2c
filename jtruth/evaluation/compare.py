"""`compare_classifiers`: which of several classifiers is better, judged by the same noisy labels?

The tuple of all predictions of a sample is the symbol of the count table (`jtruth.tables.pairs`), so whatever
one draw of the table says of one classifier it says of the others on the same true classes: the comparison is
paired. `tuples` makes the posterior of that table, in the situations of `evaluate`: one for known error rates
or an assumption that somebody vouches for, several that are shown side by side with their hull, or a pool
with gold. Where classifiers are too many to be taken at once they are taken by twos, and the twos are put
together by a normal copula (`compared.joined`).
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, Unpack

import numpy as np
from jaxtyping import Array

from jtruth._random import Key, Stated, as_key, stated, stream
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions.registry import UNKNOWN, check_assume
from jtruth.evaluation.compared import Chance, Comparison, Pair, View, chance, joined
from jtruth.evaluation.gold.measured import GoldSampling
from jtruth.evaluation.judging import Judged, Judging
from jtruth.evaluation.tuples import MOST_TUPLES, Held, Part, held_of, parts_of
from jtruth.labels import Labels
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate
from jtruth.stats.regions import check_level
from jtruth.tables.metrics import Metric, named_metric
from jtruth.tables.pairs import smaller_is_better
from jtruth.tables.posterior import TableDraws, TablePosterior
from jtruth.tables.several import RangeEstimate

TIES = "{} and {} are equal with probability {:.2f}; a tie counts half for each"
_RARELY = 0.005  # probability of a tie below which it is not worth a word


def compare_classifiers(
    predictions: Mapping[str, Any],
    labels: Labels | np.ndarray | Array,
    *,
    metric: str = "accuracy",
    margin: float | int = 0.0,
    at_least: float | int | None = None,
    positive: int | str | None = None,
    **how: Unpack[Judging],
) -> Comparison:
    """Which classifier is better, judged by noisy labels, and with what probability?

    Args:
        predictions: name of each classifier, and its predictions as `evaluate` takes them.
        labels: `Labels`, or the array log p(z_i | y_i = c) of shape (samples, classes).
        metric: any metric of hard predictions by name, see `jtruth.tables.metrics`.
        margin: a classifier counts as better if it is by more than this.
        at_least: a requirement; the answer holds the probability that each meets it. Where a smaller value
            is better (false_alarm_rate) it is what the metric may be at most.
        positive: as for `evaluate`.
        how: noise, prior, gold, assume, level, key, progress, as for `evaluate`: see `Judging`.

    Raises:
        ValueError: fewer than two classifiers, unusable predictions or labels, a margin or requirement
            outside the metric's range, or labels from which error rates cannot be learned.

    Coverage of differences, widths and how well P(best) is calibrated are in `benchmarks/comparison.py`.

    >>> import jtruth as jt
    >>> z = np.array([[1, 1], [0, 0], [1, 0], [0, 0], [1, 1], [0, 0]])
    >>> labels, noise = jt.Labels.from_matrix(z, 2), jt.noise.Symmetric(0.1, 2)
    >>> two = {"good": [1, 0, 1, 0, 1, 0], "poor": [0, 0, 1, 1, 1, 0]}
    >>> found = jt.compare_classifiers(two, labels, noise=noise, prior=[0.5, 0.5])
    >>> found.ranking, round(found.best["good"].mean, 2)
    (('good', 'poor'), 0.99)
    """
    given = Judged.of("compare_classifiers", how)
    level, assume = check_level(given.level), given.assume
    check_assume(assume)
    names = _names(predictions)
    first, *others = names
    data = inputs.read(predictions[first], labels, given.noise, given.prior, given.gold, positive)
    rest = inputs.read_others({name: predictions[name] for name in others}, data)
    codes = np.concatenate([data.y_pred[None], rest]).astype(np.int64)
    found = named_metric(metric, data.classes, data.positive)
    _check_wishes(found, margin, at_least)
    nobody, learned = assume in (None, UNKNOWN), data.model is None
    sampling = GoldSampling(*inputs.read_sampling(given.gold, data, learned and nobody))
    key, parts = as_key(given.key), parts_of(codes, data)
    held, doubts = [], list(inputs.warnings(replace(data, y_pred=codes.ravel())))
    if len(parts) > 1:
        doubts.append(
            f"{len(names)} classifiers make more than {MOST_TUPLES} tuples of predictions: they are compared "
            "by twos, and who is best of all is put together from the twos by a normal copula"
        )
    for number, part in enumerate(parts):
        each, texts = held_of(part, assume, sampling, stream(key, "compared", number), given.progress)
        held.append(each)
        doubts += texts
    views = _views(held, parts, found, key)
    return _comparison(
        views,
        data,
        codes,
        names,
        found,
        (margin, at_least, level),
        tuple(dict.fromkeys(doubts)),
        stated(given.key),
    )


def _names(predictions: Any) -> tuple[str, ...]:
    if not isinstance(predictions, Mapping):
        raise ValueError(
            f"predictions is a {type(predictions).__name__}; give a dict, {{name: its predictions}}"
        )
    if len(predictions) < 2:
        raise ValueError(f"{len(predictions)} classifiers cannot be compared; give two or more")
    bad = next((name for name in predictions if not isinstance(name, str) or not name), None)
    if bad is not None or "" in predictions:
        raise ValueError(f"the name of a classifier is {bad!r}; names are text and not empty")
    return tuple(predictions)


def _check_wishes(metric: Metric, margin: float, at_least: float | None) -> None:
    """Refuse what no value of the metric can reach."""
    low, high = metric.bounds
    if not 0 <= margin < high - low:
        raise ValueError(
            f"margin is {margin}; {metric.name} lies in [{low:g}, {high:g}], so give 0 or more and less "
            f"than {high - low:g}"
        )
    if at_least is not None and not low <= at_least <= high:
        raise ValueError(f"at_least is {at_least}; {metric.name} lies in [{low:g}, {high:g}]")


def _views(held: list[list[Held]], parts: list[Part], metric: Metric, key: Key) -> tuple[View, ...]:
    """Laws of values and differences under every assumption that all parts could be judged by."""
    shared = [one for one in held[0] if all(any(one.name == two.name for two in each) for each in held)]
    views = []
    for row in shared:
        values: dict[int, DrawsEstimate] = {}
        differences: dict[Pair, DrawsEstimate] = {}
        columns = None
        for part, each in zip(parts, held, strict=True):
            table = next(two.table for two in each if two.name == row.name)
            of = {k: part.what.of_one(metric, place) for place, k in enumerate(part.members)}
            for k, one in of.items():
                if k not in values:
                    values[k] = _law(table, one)
            for (a, first), (b, second) in combinations(enumerate(part.members), 2):
                differences[first, second] = _law(table, part.what.difference(metric, a, b))
            if len(parts) == 1 and isinstance(table, TableDraws):
                columns = np.stack([values[k].draws for k in part.members], axis=1)
        laws = tuple(values[k] for k in sorted(values))
        if columns is None:
            columns = joined(laws, differences, key)
        views.append(View(row.name, row.sentence, laws, differences, columns, row.point, row.hull))
    return tuple(views)


def _law(table: TablePosterior, metric: Metric) -> DrawsEstimate:
    found = table.estimate(metric)
    if not isinstance(found, DrawsEstimate):
        raise TypeError(f"a comparison needs draws, and {type(table).__name__} has none")
    return found


def _comparison(
    views: tuple[View, ...], data: inputs.Inputs, codes: np.ndarray, names: tuple[str, ...], metric: Metric,
    wishes: tuple[float, float | None, float], warnings: tuple[str, ...], key: Stated,
) -> Comparison:  # fmt: skip
    """Everything that the views say, under the classifiers' names."""
    margin, at_least, level = wishes
    sign = -1.0 if smaller_is_better(metric) else 1.0
    best = np.array([view.best(sign) for view in views])
    every = range(len(names))

    def better(a: int, b: int) -> Chance:
        first, second = (a, b) if sign > 0 else (b, a)
        return chance([view.better(first, second, margin) for view in views], views)

    def meets(k: int) -> Chance:
        found = [view.values[k].draws[~np.isnan(view.values[k].draws)] for view in views]
        return chance([float((sign * d >= sign * float(at_least or 0)).mean()) if d.size else np.nan
                       for d in found], views)  # fmt: skip

    kind = "pooled interval" if views[0].name == "pooled" else (
        "sensitivity range" if len(views) > 1 else "posterior")  # fmt: skip
    values = {name: _one(tuple(view.values[k] for view in views), views) for k, name in enumerate(names)}
    return Comparison(
        metric=metric.name,
        names=names,
        level=level,
        interval_kind=kind,
        values=values,
        differences={
            (names[a], names[b]): _one(tuple(view.differences[a, b] for view in views), views)
            for a, b in combinations(every, 2)
        },
        best={name: chance(best[:, k].tolist(), views) for k, name in enumerate(names)},
        better={(names[a], names[b]): better(a, b) for a in every for b in every if a != b},
        meets={} if at_least is None else {name: meets(k) for k, name in enumerate(names)},
        margin=float(margin),
        at_least=None if at_least is None else float(at_least),
        smaller_is_better=sign < 0,
        agreement=_agreement(codes, data, names),
        assumptions=views,
        num_samples=codes.shape[1],
        num_gold=data.num_gold,
        positive=data.classes[data.positive],
        warnings=(*warnings, *_undefined(values, metric), *_ties(views, names, margin)),
        key=key,
    )


def _one(laws: tuple[DrawsEstimate, ...], views: tuple[View, ...]) -> Estimate:
    """One law, or the range of several."""
    if len(laws) == 1:
        return laws[0]
    point = tuple(law for law, view in zip(laws, views, strict=True) if view.point)
    return RangeEstimate(point, tuple(law for law, view in zip(laws, views, strict=True) if view.hull))


def _agreement(codes: np.ndarray, data: inputs.Inputs, names: tuple[str, ...]) -> dict[str, float]:
    """Share of all labels that each classifier repeats."""
    if data.labels is None:
        return {}
    sample, _, label = (np.asarray(a) for a in data.labels.arrays)
    given = label >= 0
    return {
        name: float((row[sample[given]] == label[given]).mean())
        for name, row in zip(names, codes, strict=True)
    }


def _ties(views: tuple[View, ...], names: tuple[str, ...], margin: float) -> list[str]:
    """Which classifiers may be equal; where a margin is asked for nothing is halved."""
    if margin:
        return []
    found = {pair: chance([view.tie(*pair) for view in views], views).mean for pair in views[0].differences}
    return [TIES.format(names[a], names[b], p) for (a, b), p in found.items() if p > _RARELY]


def _undefined(values: Mapping[str, Estimate], metric: Metric) -> list[str]:
    """What is to be said where a metric is not always defined."""
    return [
        f"{metric.name} of {name!r} is undefined with probability {1 - law.probability_defined:.2g}; "
        "probabilities are of the cases in which it is defined"
        for name, law in values.items()
        if law.probability_defined < 1 - 1e-9
    ]
