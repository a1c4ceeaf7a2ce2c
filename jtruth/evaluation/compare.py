"""`compare_classifiers`: which of several classifiers is better, judged by the same noisy labels?

The tuple of all predictions of a sample is the symbol of the count table (`jtruth.tables.pairs`), so whatever
a draw of the table says of one classifier it says of the others on the same true classes: the comparison is
paired. Known error rates: exact by the chain for two classes, by Gibbs sampling for more. Learned ones:
`gold.tables.learned_table`.

With many tuples and few samples in each the prior of a row would drive the answer: with eight classifiers,
300 samples and one label each a nominal 95 % interval of a recall held it in 10 %
(`benchmarks/comparison.py`). So more than 16 tuples (four classifiers of two classes) are taken by twos, put
together by a normal copula (`compared.joined`).

`compare_groups`: the symbol of a sample is the pair of its group and what the classifier says of it. Error
rates are learned from all groups together; shares of classes and errors of the classifier are free in each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Unpack

import numpy as np
from jaxtyping import Array
from scipy.special import softmax

from jtruth import _validation as check
from jtruth._host import log, log_odds
from jtruth._random import Key, host_rng, stream
from jtruth.evaluation import groups as grouped
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions.model_error import DIFFERENCE, PredictiveTable, rests_on
from jtruth.evaluation.assumptions.registry import ASSUMPTIONS, INDEPENDENT, check_assume, granted
from jtruth.evaluation.checks.first_look import look_at
from jtruth.evaluation.checks.of_labels import refusal
from jtruth.evaluation.checks.prior_sensitivity import doubts_of
from jtruth.evaluation.compared import Comparison, Laws, Pair, consistent, joined
from jtruth.evaluation.gold.tables import (
    BY_GOLD,
    equal_chances,
    few_of_classes,
    labels_only_posterior,
    learned_table,
)
from jtruth.evaluation.inputs import Judging
from jtruth.evaluation.parts import PREDICTIVE
from jtruth.labels import Labels
from jtruth.stats.draws import DrawsEstimate
from jtruth.tables.metrics import Metric, named_metric
from jtruth.tables.pairs import Tuples, group_symbols, smaller_is_better, tuples
from jtruth.tables.posterior import TableDraws
from jtruth.testing.binary.chain import symbol_chain
from jtruth.testing.binary.unknown import unknown_prior
from jtruth.testing.multiclass import count_posterior

TIES = "{} and {} are equal with probability {:.2f}; a tie counts half for each"
MOST_TUPLES, _DRAWS = 16, 4000
_RIGHT, _LEARNED_TOTAL = 2 / 3, 3.0  # of a classifier's row where error rates are learned: 2 right, 1 wrong
_RARELY = 0.005  # probability of a tie below which it is not worth a word
_BY_TWOS = (
    "{} classifiers make more than {} tuples of predictions: they are compared by twos, and who is best of "
    "all is put together from the twos by a normal copula"
)
AnyTable = TableDraws | PredictiveTable
Judged = tuple[Sequence[str], Tuples, AnyTable]  # who, what symbols say of them, and what is known


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
        positive, how: as for `evaluate`, see `Judging`.

    Raises:
        ValueError: fewer than two classifiers, unusable predictions or labels, a margin or requirement
            outside the metric's range, or labels from which error rates cannot be learned.

    >>> import jtruth as jt
    >>> z = np.array([[1, 1], [0, 0], [1, 0], [0, 0], [1, 1], [0, 0]])
    >>> labels, noise = jt.Labels.from_matrix(z, 2), jt.noise.Symmetric(0.1, 2)
    >>> two = {"good": [1, 0, 1, 0, 1, 0], "poor": [0, 0, 1, 1, 1, 0]}
    >>> found = jt.compare_classifiers(two, labels, noise=noise, prior=[0.5, 0.5])
    >>> found.ranking, round(found.best["good"], 2)
    (('good', 'poor'), 0.99)
    """
    names = _names(predictions)
    first, *others = names
    data = inputs.read_judged("compare_classifiers", predictions[first], labels, how, positive)
    check_assume(data.assume, data)
    rest = inputs.read_others({name: predictions[name] for name in others}, data)
    codes = np.concatenate([data.y_pred[None], rest]).astype(np.int64)
    measure = named_metric(metric, data.classes, data.positive)
    low, high = measure.bounds
    if not 0 <= margin < high - low:
        raise ValueError(
            f"margin is {margin}; {measure.name} lies in [{low:g}, {high:g}], so give 0 or more and less "
            f"than {high - low:g}"
        )
    if at_least is not None and not low <= at_least <= high:
        raise ValueError(f"at_least is {at_least}; {measure.name} lies in [{low:g}, {high:g}]")
    groups, judged = parts_of(codes, data), []
    doubts = list(inputs.warnings(replace(data, y_pred=codes.ravel())))
    if measure.position is not None:
        doubts += few_of_classes(data, [measure.position], list(codes))
    doubts += [_BY_TWOS.format(len(names), MOST_TUPLES)] if len(groups) > 1 else []
    for number, (members, part, what) in enumerate(groups):
        part.key = stream(data.key, "compared", number)
        table, texts = judged_together(part, what)
        judged.append(([names[k] for k in members], what, table))
        doubts += texts
    laws, agreement = _laws(judged, measure, data.key), {}
    if data.labels is not None and not data.only_gold:  # share of all labels that each classifier repeats
        sample, _, label = data.labels.entries()
        agreement = dict(zip(names, (codes[:, sample] == label).mean(axis=1).tolist(), strict=True))
    pairs = {} if margin else {pair: laws.p_tie(*pair) for pair in laws.differences}
    ties = [TIES.format(*pair, p) for pair, p in pairs.items() if p > _RARELY]
    return comparison_of(
        data, measure, laws, judged, dict(zip(names, codes, strict=True)), doubts, ties, margin=float(margin),
        at_least=None if at_least is None else float(at_least), agreement=agreement,
    )  # fmt: skip


def compare_groups(
    y_pred: Any,
    labels: Labels | np.ndarray | Array,
    by: Any,
    *,
    metric: str = "accuracy",
    positive: int | str | None = None,
    **how: Unpack[Judging],
) -> Comparison:
    """In which group of the samples is a classifier better, and with what probability?

    Args:
        y_pred, labels, positive, how: as for `evaluate`.
        by: (samples,) the group of each sample, 2 to 50 of them; or a Series or dict by task id.
        metric: any metric of hard predictions by name, see `jtruth.tables.metrics`.

    Raises:
        ValueError: what `evaluate` refuses, groups of other samples, fewer than 2 groups or above 50.

    >>> import jtruth as jt
    >>> y = np.arange(60) % 2
    >>> labels, noise = jt.Labels.from_matrix(np.stack([y, y], axis=1), 2), jt.noise.Symmetric(0.1, 2)
    >>> site, y_pred = np.repeat(["a", "b"], 30), np.where(np.arange(60) < 30, y, 1 - y)
    >>> found = compare_groups(y_pred, labels, site, noise=noise, prior=[0.5, 0.5])
    >>> found.ranking, found.best["a"] > 0.99
    (('a', 'b'), True)
    """
    data = inputs.read_judged("compare_groups", y_pred, labels, how, positive)
    check_assume(data.assume, data)
    groups, measure = grouped.read_groups(by, data.samples), named_metric(metric, data.classes, data.positive)
    names, what = groups.names, group_symbols(len(groups.names), len(data.classes))
    codes, symbols = groups.group * what.num_classes + data.y_pred, what.prior(1.0, _RIGHT)
    part = replace(data, y_pred=codes, symbols=symbols, positive=1, key=stream(data.key, "groups"))
    table, doubts = judged_together(part, what)
    each = [table.estimate(what.of_one(measure, g)) for g in range(len(names))]
    whole = isinstance(table, TableDraws)
    columns = np.stack([law.draws for law in each], axis=1) if whole else grouped.apart(each, data.key)
    points = [law.mean for law in each]
    pairs = _paired(groups, data) if measure.name == "accuracy" else {}
    sign = -1.0 if smaller_is_better(measure) else 1.0
    laws = grouped.laws_of(names, columns, pairs, sign, None if whole else points)
    few = () if measure.position is None else few_of_classes(data, [measure.position], [data.y_pred])
    notes = [*inputs.warnings(data), *few, *groups.notes, *([grouped.PAIRED] if pairs else [])]
    notes += [*([] if data.model else [grouped.SAME_ERRORS]), *([] if whole else [grouped.WIDE]), *doubts]
    return comparison_of(data, measure, laws, [(names, what, table)], {"predictions": data.y_pred}, notes,
                         sizes=tuple(groups.sizes.tolist()))  # fmt: skip


def _paired(groups: grouped.Groups, data: inputs.Inputs) -> dict[Pair, DrawsEstimate]:
    """Differences in accuracy of groups that have the same items, by gold of both answers to some."""
    at_random = data.open and data.num_gold and equal_chances(data)
    if not (at_random and grouped.same_items(groups, data.gold >= 0)):
        return {}
    h, _ = labels_only_posterior(data.own_labels(), stream(data.key, "labels only, of groups"))
    right = h[np.arange(len(h)), data.y_pred]
    pairs = grouped.paired_shares(groups, right, data.gold == data.y_pred, data.gold >= 0, data.key)
    return {pair: here for pair, (here, _) in pairs.items()}


def comparison_of(
    data: inputs.Inputs, metric: Metric, laws: Laws, judged: Sequence[Judged], predictions: Mapping[str, Any],
    doubts: Sequence[str], last: Sequence[str] = (), **more: Any,
) -> Comparison:  # fmt: skip
    """The answer about `judged`, with all that is doubtful; `last` are doubts of the numbers themselves."""
    open_ = isinstance(judged[0][2], PredictiveTable)
    refused = refusal(data.own_labels(), data.key) if open_ else ()
    if data.open:
        assumed = BY_GOLD if data.num_gold else rests_on(data.labelers_are)
    else:
        assumed = granted(str(data.assume) if data.model is None else INDEPENDENT, learned=data.model is None)
    never = [
        f"{metric.name} of {name!r} is undefined with probability {1 - law.probability_defined:.2g}; "
        "probabilities are of the cases in which it is defined"
        for name, law in laws.values.items()
        if law.probability_defined < 1 - 1e-9
    ]
    return Comparison(
        laws.values, laws.differences, laws.columns, laws.sign, measure=metric, level=data.level,
        interval_kind=PREDICTIVE if open_ else "posterior", assumption=assumed,
        assumptions=() if refused else _by_assumption(judged, metric, tuple(laws.values)),
        num_samples=data.y_pred.size, num_gold=data.num_gold, positive=data.classes[data.positive],
        positive_chosen=data.chosen, classes=data.classes,
        warnings=tuple(dict.fromkeys((*refused, *doubts, *never, *last))), key=data.stated,
        checks=look_at(data, predictions), **more,
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


def _laws(judged: Sequence[Judged], metric: Metric, key: Key) -> Laws:
    values, differences = {}, {}
    for members, what, table in judged:
        for place, name in enumerate(members):
            if name not in values:
                values[name] = table.estimate(what.of_one(metric, place))
        for a, b in combinations(range(len(members)), 2):
            differences[members[a], members[b]] = _difference(table, what, metric, (a, b))
    differences = consistent(values, differences)
    if len(judged) == 1 and isinstance(judged[0][2], TableDraws):
        columns = np.stack([law.draws for law in values.values()], axis=1)
    else:
        columns = joined(values, differences, key)
    return Laws(values, differences, columns, -1.0 if smaller_is_better(metric) else 1.0)


def _difference(table: AnyTable, what: Tuples, metric: Metric, pair: tuple[int, int]) -> DrawsEstimate:
    """Law of a difference; a predictive one within what samples allow on which predictions differ."""
    difference = what.difference(metric, *pair)
    if not isinstance(table, PredictiveTable):
        return table.estimate(difference)
    most = what.most(metric, *pair, next(iter(table.readings.values())).counts[0].sum(axis=0))
    if most == 0:
        return DrawsEstimate(np.zeros(1))
    return table.law(difference._replace(bounds=(-most, most)), DIFFERENCE)


def _by_assumption(
    judged: Sequence[Judged], metric: Metric, names: tuple[str, ...]
) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """Under each reading of the labels, in words, the metric of every classifier."""
    first, rows = judged[0][2], []
    for reading in first.readings if isinstance(first, PredictiveTable) else ():
        values = {  # of a name the first table that has it
            name: table.readings[reading].estimate(what.of_one(metric, place)).mean
            for members, what, table in reversed(judged)
            if isinstance(table, PredictiveTable) and reading in table.readings
            for place, name in enumerate(members)
        }
        rows.append((ASSUMPTIONS[reading].sentence, tuple(values.get(name, np.nan) for name in names)))
    return tuple(rows)


def parts_of(codes: np.ndarray, data: inputs.Inputs) -> list[tuple[tuple[int, ...], inputs.Inputs, Tuples]]:
    """All classifiers at once, or by twos: who, the input with tuples as predictions, and what these say."""
    classes, size = len(data.classes), len(codes)
    every = tuple(range(size))
    groups = [every] if size == 2 or classes**size <= MOST_TUPLES else list(combinations(every, 2))
    parts = []
    for group in groups:
        symbols, what = tuples(codes[list(group)], classes)
        learned = what.prior(_LEARNED_TOTAL, _RIGHT)
        # Tables stay in the order of the codes, whatever class is positive: the metric knows which it is.
        parts.append((group, replace(data, y_pred=symbols, symbols=learned, positive=1), what))
    return parts


def judged_together(data: inputs.Inputs, what: Tuples) -> tuple[AnyTable, list[str]]:
    """What is known of the tuples' table: draws, or readings of the labels; and what is doubtful."""
    if data.model is not None:
        return _known(data, what), list(data.model.warnings)
    table, doubts, readings = learned_table(
        data, "tuples by gold", "nothing can be compared", predicted=what.predicted
    )
    fit = next((each.fit for each in readings if each.name == INDEPENDENT), None)
    if not isinstance(table, PredictiveTable) or fit is None or fit.counts is None or what.apart:
        return table, doubts
    # Where errors are independent: does the prior drive the classifiers' differences in accuracy?
    counts, size = fit.counts[fit.matrix_draw], data.y_pred.size
    first, *others = (
        np.trace(what.marginal(counts, k), axis1=1, axis2=2) / size for k in range(what.num_classifiers)
    )
    named = {
        f"difference in accuracy of classifiers 1 and {k}": first - share for k, share in enumerate(others, 2)
    }
    return table, [*doubts, *doubts_of(named, fit, 0.95)]


def _known(data: inputs.Inputs, what: Tuples) -> TableDraws:
    model, classes, key = check.present(data.model, "the noise model"), what.num_classes, data.key
    alpha = what.prior(float(classes), 1 / classes)  # each classifier alone: flat rows, as in `evaluate`
    if classes > 2:
        return count_posterior(model.log_likelihood, model.prior, data.y_pred, key=key,
                               num_symbols=what.num_symbols, alpha=alpha)  # fmt: skip
    if not model.prior_unknown:
        odds = log_odds(model.log_likelihood, model.prior)
        chain = symbol_chain(odds, data.y_pred, what.num_symbols, alpha)
        return chain.tables(stream(key, "tuples of predictions"), _DRAWS)
    # The prior is integrated out at the nodes of one classifier's answer, with the evidence of all.
    ratio = model.log_likelihood[:, 1] - model.log_likelihood[:, 0]
    right_for_one = what.predicted[data.y_pred].max(axis=1) if what.apart else what.predicted[data.y_pred, 0]
    mixture = unknown_prior(ratio, right_for_one)
    chains = [
        symbol_chain(ratio + np.log(share) - np.log1p(-share), data.y_pred, what.num_symbols, alpha)
        for share in mixture.parameter
    ]
    gain = [c.log_evidence - t.log_evidence for c, t in zip(chains, mixture.tables, strict=True)]
    weight = softmax(log(mixture.weight) + np.array(gain))
    number = host_rng(key, "share of positives").multinomial(_DRAWS, weight)
    drawn = [
        chain.tables(stream(key, "tuples given share", k), int(n)).counts
        for k, (chain, n) in enumerate(zip(chains, number, strict=True))
        if n
    ]
    return TableDraws(np.concatenate(drawn))
