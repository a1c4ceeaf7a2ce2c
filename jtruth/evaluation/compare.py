"""`compare_classifiers`: which of several classifiers is better, judged by the same noisy labels?

The tuple of all predictions of a sample is the symbol of the count table (`jtruth.tables.pairs`), so whatever
one draw of the table says of one classifier it says of the others on the same true classes: the comparison is
paired. `tuples` makes the posterior of that table, in the situations of `evaluate`: known error rates, an
assumption that somebody vouches for, gold, or a predictive law of each number: what paired readings of labels
missed of differences elsewhere. Where classifiers are too many to be taken at once they are taken by twos,
and the twos are put together by a normal copula (`compared.joined`).
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, Unpack

import numpy as np
from jaxtyping import Array

from jtruth._random import Key, as_key, stated, stream
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions.model_error import DIFFERENCE, check_kind
from jtruth.evaluation.assumptions.predictive import PredictiveTable
from jtruth.evaluation.assumptions.registry import UNKNOWN, check_assume
from jtruth.evaluation.checks.first_look import look_at
from jtruth.evaluation.compared import Comparison, Laws, Pair, Wishes, joined
from jtruth.evaluation.gold.measured import GoldSampling
from jtruth.evaluation.judging import Judged, Judging
from jtruth.evaluation.tuples import MOST_TUPLES, Held, Part, held_of, parts_of
from jtruth.labels import Labels
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.regions import check_level
from jtruth.tables.metrics import Metric, named_metric
from jtruth.tables.posterior import TableDraws

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
        how: noise, prior, gold, assume, labelers_are, level, key, progress, as for `evaluate`: see `Judging`.

    Raises:
        ValueError: fewer than two classifiers, unusable predictions or labels, a margin or requirement
            outside the metric's range, or labels from which error rates cannot be learned.

    Coverage of differences, widths and how well P(best) is calibrated are in `benchmarks/comparison.py`.

    >>> import jtruth as jt
    >>> z = np.array([[1, 1], [0, 0], [1, 0], [0, 0], [1, 1], [0, 0]])
    >>> labels, noise = jt.Labels.from_matrix(z, 2), jt.noise.Symmetric(0.1, 2)
    >>> two = {"good": [1, 0, 1, 0, 1, 0], "poor": [0, 0, 1, 1, 1, 0]}
    >>> found = jt.compare_classifiers(two, labels, noise=noise, prior=[0.5, 0.5])
    >>> found.ranking, round(found.best["good"], 2)
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
    data.labelers_are = check_kind(given.labelers_are, learned and nobody)
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
    wishes = Wishes(found, float(margin), None if at_least is None else float(at_least), level)
    laws = _laws(held, parts, found, key)
    said = (*dict.fromkeys(doubts), *_undefined(laws, names, found), *_ties(laws, names, wishes.margin))
    alarms = look_at(data, dict(zip(names, codes, strict=True)), nobody and learned and sampling.unknown)
    return Comparison(
        wishes, names, laws, held[0].kind, held[0].sentence, _rows(held, parts, found),
        _agreement(codes, data, names), codes.shape[1], data.num_gold, data.classes[data.positive], said,
        stated(given.key), alarms,
    )  # fmt: skip


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


def _laws(held: list[Held], parts: list[Part], metric: Metric, key: Key) -> Laws:
    """Laws of values and differences, and draws of all values together."""
    values: dict[int, DrawsEstimate] = {}
    differences: dict[Pair, DrawsEstimate] = {}
    for part, one in zip(parts, held, strict=True):
        for place, k in enumerate(part.members):
            if k not in values:
                values[k] = _law(one, part.what.of_one(metric, place))
        for (a, first), (b, second) in combinations(enumerate(part.members), 2):
            differences[first, second] = _difference(one, part, metric, (a, b))
    laws = tuple(values[k] for k in sorted(values))
    if len(parts) == 1 and isinstance(held[0].table, TableDraws):
        columns = np.stack([law.draws for law in laws], axis=1)
    else:
        columns = joined(laws, differences, key)
    return Laws(laws, differences, columns)


def _difference(held: Held, part: Part, metric: Metric, pair: Pair) -> DrawsEstimate:
    """Law of a difference; a predictive one within what samples allow on which predictions differ."""
    found = part.what.difference(metric, *pair)
    if not isinstance(held.table, PredictiveTable):
        return _law(held, found)
    means = np.mean([one.counts.mean(axis=0) for one in held.table.readings.values()], axis=0)
    most = part.what.most(metric, *pair, means)
    if most == 0:
        return DrawsEstimate(np.zeros(1))
    return held.table.law(found._replace(bounds=(-most, most)), DIFFERENCE)


def _law(held: Held, metric: Metric) -> DrawsEstimate:
    found = held.table.estimate(metric)
    if not isinstance(found, DrawsEstimate):
        raise TypeError(f"a comparison needs draws, and {type(held.table).__name__} has none")
    return found


def _rows(held: list[Held], parts: list[Part], metric: Metric) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """Under each assumption, in words, the metric of every classifier; of readings only."""
    rows = []
    for sentence, _ in held[0].readings:
        values: dict[int, float] = {}
        for part, one in zip(parts, held, strict=True):
            table = next((table for text, table in one.readings if text == sentence), None)
            for place, k in enumerate(part.members):
                if table is not None and k not in values:
                    values[k] = table.estimate(part.what.of_one(metric, place)).mean
        size = 1 + max(k for part in parts for k in part.members)
        rows.append((sentence, tuple(values.get(k, np.nan) for k in range(size))))
    return tuple(rows)


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


def _ties(laws: Laws, names: tuple[str, ...], margin: float) -> list[str]:
    """Which classifiers may be equal; where a margin is asked for nothing is halved."""
    if margin:
        return []
    found = {pair: laws.tie(*pair) for pair in laws.differences}
    return [TIES.format(names[a], names[b], p) for (a, b), p in found.items() if p > _RARELY]


def _undefined(laws: Laws, names: tuple[str, ...], metric: Metric) -> list[str]:
    """What is to be said where a metric is not always defined."""
    return [
        f"{metric.name} of {name!r} is undefined with probability {1 - law.probability_defined:.2g}; "
        "probabilities are of the cases in which it is defined"
        for name, law in zip(names, laws.values, strict=True)
        if law.probability_defined < 1 - 1e-9
    ]
