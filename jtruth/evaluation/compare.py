"""`compare_classifiers`: which classifier is better, by the same noisy labels; and `compare_groups`.

The tuple of all predictions of a sample is the symbol of the count table (`jtruth.tables.pairs`), so the
comparison is paired. Known error rates: exact by the chain for two classes, by Gibbs sampling for more.
Learned ones: `gold.tables.learned_table`. Above 16 tuples (four classifiers of two classes) the prior of a
row would dominate (`benchmarks/comparison.py`), so classifiers are compared in pairs, which a normal copula
combines (`compared.joined`).

`compare_groups`: the symbol of a sample is the pair of its group and its prediction. Error rates are learned
from all groups together; class shares and the classifier's errors are free in each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Unpack

import numpy as np
from jaxtyping import Array, Float
from scipy.special import softmax

from jtruth import _validation as check
from jtruth._host import log, log_odds
from jtruth._random import Key, host_rng, stream
from jtruth._validation.words import number_of
from jtruth.evaluation import calibrated, inputs
from jtruth.evaluation import groups as grouped
from jtruth.evaluation.assumptions.model_error import DIFFERENCE, PredictiveTable, width_assumption
from jtruth.evaluation.assumptions.registry import ASSUMPTIONS, INDEPENDENT, assumption_of, check_assume
from jtruth.evaluation.checks.first_look import look_at
from jtruth.evaluation.checks.of_labels import refusal
from jtruth.evaluation.checks.prior_sensitivity import doubts_of
from jtruth.evaluation.compared import Comparison, Dists, Pair, consistent, joined
from jtruth.evaluation.gold.tables import (
    BY_GOLD,
    equal_chances,
    few_of_classes,
    labels_only_posterior,
    learned_table,
)
from jtruth.evaluation.inputs import Judging
from jtruth.evaluation.parts import IN_SAMPLE, POPULATION, PREDICTIVE, TARGETS
from jtruth.labels import Labels
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate
from jtruth.tables.metrics import Metric, named_metric
from jtruth.tables.new_samples import NewSamples, as_ratio
from jtruth.tables.pairs import (
    Decided,
    Tuples,
    group_symbols,
    new_by_tuples,
    new_difference,
    smaller_is_better,
    tuples,
)
from jtruth.tables.posterior import TableDraws
from jtruth.testing.binary.chain import chain_tables, symbol_chain
from jtruth.testing.binary.exact import unknown_prior
from jtruth.testing.multiclass import count_posterior

TIES = "{} and {} are equal with probability {:.2f}; a tie counts half for each."
MOST_TUPLES = 16
_RIGHT, _LEARNED_TOTAL = 2 / 3, 3.0  # of a classifier's row where error rates are learned: 2 right, 1 wrong
_RARELY = 0.005  # probability of a tie below which it is not worth a word
_IN_PAIRS = (
    "{} classifiers make more than {} tuples of predictions, so they are compared in pairs; P(best) combines "
    "the pairs by a normal copula."
)
AnyTable = TableDraws | PredictiveTable


@dataclass(frozen=True)
class _Asked:
    """A table of tuples, for these samples or for new ones."""

    table: AnyTable
    what: Tuples
    key: Key

    @property
    def whole(self) -> bool:
        """Whether one joint distribution holds all classifiers or groups."""
        return isinstance(self.table, TableDraws)

    @cached_property
    def drawn(self) -> list[tuple[TableDraws, TableDraws, Tuples]]:
        """For each base model: tables of these samples, of new ones, and the tuples of the latter."""
        tables = [self.table] if isinstance(self.table, TableDraws) else [*self.table.by_model.values()]
        keys = [stream(self.key, "reading", k) for k in range(len(tables))]
        return [(one, *new_by_tuples(one.counts, self.what, k)) for one, k in zip(tables, keys, strict=True)]

    def value(self, metric: Metric, place: int, new: bool) -> Estimate:
        """A metric of one classifier or group."""
        one = self.what.of_one(metric, place)
        if not new:
            return self.table.estimate(one)
        if not self.whole or as_ratio(one, self.table.shape):
            return NewSamples(self.table, self.key).estimate(one)
        _, later, what = self.drawn[0]
        return replace(later.estimate(what.of_one(metric, place)), middle=self.table.estimate(one).mean)

    def difference(self, metric: Metric, pair: tuple[int, int], new: bool) -> DrawsEstimate:
        """Distribution of the difference of a pair; for new samples with the error of drawing them."""
        ones = self.what.difference(metric, *pair)
        if isinstance(self.table, TableDraws):
            here, cells = self.table.estimate(ones), self.what.decided(metric, *pair)
            if not new or self.what.same(*pair) or np.isnan(here.draws).all():
                return here
            if cells is not None:
                return new_difference(self.table, cells, int(_sign(metric)))
            _, later, what = self.drawn[0]
            return later.estimate(what.difference(metric, *pair))
        most = self.what.most(metric, *pair, next(iter(self.table.by_model.values())).counts[0].sum(axis=0))
        if most == 0:
            return DrawsEstimate(np.zeros(1))
        here = self.table.dist(ones._replace(bounds=(-most, most)), DIFFERENCE)
        if not new:
            return here
        errors = np.concatenate([
            what.difference(metric, *pair).of_table(later.counts)
            - ones.of_table(one.counts.repeat(len(later.counts) // len(one.counts), axis=0))
            for one, later, what in self.drawn
        ])  # fmt: skip
        errors = host_rng(self.key, "drawn").choice(errors[~np.isnan(errors)], here.draws.size)
        return DrawsEstimate(np.clip(here.draws + errors, *ones.bounds), middle=here.middle)

    def columns(self, metric: Metric, new: bool) -> Float[np.ndarray, "draws classifiers"]:
        """Joint draws of all classifiers or groups; equal ones have equal draws."""
        _, later, what = self.drawn[0] if new else (None, self.table, self.what)
        size = self.what.num_classifiers
        first = [next(j for j in range(k + 1) if self.what.same(j, k)) for k in range(size)]
        return np.stack([later.estimate(what.of_one(metric, k)).draws for k in first], axis=1)


def _sign(metric: Metric) -> float:
    return -1.0 if smaller_is_better(metric) else 1.0


Judged = tuple[Sequence[str], _Asked]  # who, and what is known of them


def compare_classifiers(
    predictions: Mapping[str, Any],
    labels: Labels | np.ndarray | Array,
    *,
    metric: str = "accuracy",
    margin: float | int = 0.0,
    at_least: float | int | None = None,
    positive: int | str | None = None,
    target: str = POPULATION,
    **how: Unpack[Judging],
) -> Comparison:
    """Compare classifiers by noisy labels: differences, rankings and their probabilities.

    Args:
        predictions: name of each classifier, and its predictions as `evaluate` takes them.
        labels: `Labels`, or the array log p(z_i | y_i = c) of shape (samples, classes).
        metric: any metric of hard predictions by name, see `jtruth.tables.metrics`.
        margin: a classifier counts as better if it is by more than this.
        at_least: a requirement; the result has the probability that each meets it. If smaller values are
            better (false_alarm_rate) it is the largest acceptable value.
        target: "population", new samples of the same kind, or "in-sample", these; `in_sample` of the result
            gives the latter too. Differences for new samples are paired: see
            `jtruth.tables.pairs.new_difference`.
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
    (('good', 'poor'), 0.92)
    """
    check.choose("target", target, TARGETS)
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
            f"margin is {margin}; {measure.name} lies in [{low:g}, {high:g}], so give a number from 0 to "
            f"below {high - low:g}"
        )
    if at_least is not None and not low <= at_least <= high:
        raise ValueError(f"at_least is {at_least}; {measure.name} lies in [{low:g}, {high:g}]")
    groups, judged = parts_of(codes, data), []
    doubts = list(inputs.warnings(replace(data, y_pred=codes.ravel())))
    if measure.position is not None:
        doubts += few_of_classes(data, [measure.position], list(codes))
    doubts += [_IN_PAIRS.format(len(names), MOST_TUPLES)] if len(groups) > 1 else []
    for number, (members, part, what) in enumerate(groups):
        part.key = stream(data.key, "compared", number)
        table, texts = judged_together(part, what)
        judged.append(([names[k] for k in members], _Asked(table, what, stream(data.key, "new", number))))
        doubts += texts
    dists = _dists(judged, measure, data.key, True), _dists(judged, measure, data.key, False)
    decided, agreement = _decided(judged, measure), {}
    if data.labels is not None and not data.only_gold:  # share of all labels that each classifier repeats
        sample, _, label = data.labels.entries()
        agreement = dict(zip(names, (codes[:, sample] == label).mean(axis=1).tolist(), strict=True))
    predicted = dict(zip(names, codes, strict=True))
    now = dists[target == IN_SAMPLE]
    pairs = {} if margin else {pair: now.p_tie(*pair) for pair in now.differences if not decided[pair].same}
    ties = [TIES.format(*pair, p) for pair, p in pairs.items() if p > _RARELY]
    return comparison_of(
        data, measure, dists, judged, predicted, doubts, ties, target=target, margin=float(margin),
        at_least=None if at_least is None else float(at_least), agreement=agreement,
        decided=decided,
    )  # fmt: skip


def compare_groups(
    y_pred: Any,
    labels: Labels | np.ndarray | Array,
    by: Any,
    *,
    metric: str = "accuracy",
    calibration: Any = None,
    positive: int | str | None = None,
    target: str = POPULATION,
    **how: Unpack[Judging],
) -> Comparison:
    """Compare groups of samples: in which group a classifier is better, and with what probability.

    Args:
        y_pred, labels, calibration, positive, how: as for `evaluate`; groups share the error rates.
        by: (samples,) the group of each sample; or a Series or dict by task id.
        metric: any metric of hard predictions by name, see `jtruth.tables.metrics`.
        target: as for `compare_classifiers`; new samples are drawn within each group.

    Raises:
        ValueError: input that `evaluate` refuses, groups of other samples, fewer than 2 groups.

    >>> import jtruth as jt
    >>> y = np.arange(60) % 2
    >>> labels, noise = jt.Labels.from_matrix(np.stack([y, y], axis=1), 2), jt.noise.Symmetric(0.1, 2)
    >>> site, y_pred = np.repeat(["a", "b"], 30), np.where(np.arange(60) < 30, y, 1 - y)
    >>> found = compare_groups(y_pred, labels, site, noise=noise, prior=[0.5, 0.5])
    >>> found.ranking, found.best["a"] > 0.99
    (('a', 'b'), True)
    """
    check.choose("target", target, TARGETS)
    if calibration is not None:
        labels, calibration = calibrated.together(labels, calibration, **how)
    data = inputs.read_judged("compare_groups", y_pred, labels, how, positive)
    check_assume(data.assume, data)
    groups, measure = grouped.read_groups(by, data.samples), named_metric(metric, data.classes, data.positive)
    names, what = groups.names, group_symbols(len(groups.names), len(data.classes))
    codes, symbols = groups.group * what.num_classes + data.y_pred, what.prior(1.0, _RIGHT)
    part = replace(data, y_pred=codes, symbols=symbols, positive=1, key=stream(data.key, "groups"))
    found, predictions = None, {"predictions": data.y_pred}
    if calibration is None:
        table, doubts = judged_together(part, what)
    else:
        found = calibrated.by_calibration(data, calibration, group=groups.group)
        table, predictions = TableDraws(found.counts), {}
        doubts = (*found.warnings, *([calibrated.ONE_RATE] if found.own else []))
    paired = _paired(groups, data) if measure.name == "accuracy" else {}
    whole = isinstance(table, TableDraws)
    few = () if measure.position is None else few_of_classes(data, [measure.position], [data.y_pred])
    notes = [*inputs.warnings(data), *few, *groups.notes, *([grouped.PAIRED] if paired else [])]
    notes += [*([] if data.model else [grouped.SAME_ERRORS]), *([] if whole else [grouped.WIDE]), *doubts]
    asked = _Asked(table, what, data.key)
    dists = _group_dists(names, asked, measure, paired)
    answer = comparison_of(data, measure, dists, [(names, asked)], predictions, notes,
                           target=target, sizes=tuple(groups.sizes.tolist()),
                           axis=None if groups.when is None else groups.axis())  # fmt: skip
    return answer if found is None else replace(answer, **found.basis)


def _group_dists(
    names: tuple[str, ...], of: _Asked, metric: Metric, paired: Mapping[Pair, tuple[DrawsEstimate, ...]]
) -> tuple[Dists, Dists]:
    found = []
    for number, new in enumerate((True, False)):
        each = [of.value(metric, g, new) for g in range(len(names))]
        columns = of.columns(metric, new) if of.whole else grouped.independent_draws(each, of.key)
        pairs, points = {pair: two[1 - number] for pair, two in paired.items()}, [dist.mean for dist in each]
        compared = grouped.compared_pairs(np.array(points), _sign(metric), ordered=True)
        dists = grouped.dists_of(names, columns, pairs, _sign(metric), points, compared)
        found.append(replace(dists, values=dict(zip(names, each, strict=True))))
    return found[0], found[1]


def _paired(groups: grouped.Groups, data: inputs.Inputs) -> dict[Pair, tuple[DrawsEstimate, DrawsEstimate]]:
    """Differences in accuracy of groups with the same items, by gold of both predictions."""
    at_random = data.open and data.num_gold and equal_chances(data)
    if not (at_random and grouped.same_items(groups, data.gold >= 0)):
        return {}
    h, _ = labels_only_posterior(data.own_labels(), stream(data.key, "labels only, groups compared"))
    right = h[np.arange(len(h)), data.y_pred]
    return grouped.paired_shares(groups, right, data.gold == data.y_pred, data.gold >= 0, data.key)


def comparison_of(
    data: inputs.Inputs, metric: Metric, both: tuple[Dists, Dists], judged: Sequence[Judged],
    predictions: Mapping[str, Any], doubts: Sequence[str], last: Sequence[str] = (), *, target: str,
    **more: Any,
) -> Comparison:  # fmt: skip
    """Build the `Comparison`; `last` are warnings about the numbers themselves."""
    dists, other = both if target == POPULATION else both[::-1]
    open_ = isinstance(judged[0][1].table, PredictiveTable)
    refused = refusal(data.own_labels(), data.key) if open_ else ()
    if data.open:
        assumed = BY_GOLD if data.num_gold else width_assumption(data.labelers_are)
    else:
        learned = data.model is None
        assumed = assumption_of(str(data.assume) if learned else INDEPENDENT, learned=learned)
    never = [
        f"The {metric.name} of {name!r} is undefined with probability {1 - dist.probability_defined:.2g}; "
        "probabilities are conditional on its being defined."
        for name, dist in dists.values.items()
        if dist.probability_defined < 1 - 1e-9
    ]
    return Comparison(
        dists.values, dists.differences, dists.columns, dists.sign, target=target, other=other,
        measure=metric,
        level=data.level, interval_kind=PREDICTIVE if open_ else "posterior", assumption=assumed,
        assumptions=() if refused else _by_assumption(judged, metric, tuple(dists.values)),
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
        raise ValueError(f"{number_of(len(predictions), 'classifier')} cannot be compared; give two or more")
    bad = next((name for name in predictions if not isinstance(name, str) or not name), None)
    if bad is not None or "" in predictions:
        raise ValueError(f"the name of a classifier is {bad!r}; names are text and not empty")
    return tuple(predictions)


def _dists(judged: Sequence[Judged], metric: Metric, key: Key, new: bool) -> Dists:
    values, differences = {}, {}
    for members, asked in judged:
        places = [(k, name) for k, name in enumerate(members) if name not in values]
        values |= {name: asked.value(metric, k, new) for k, name in places}
        for a, b in combinations(range(len(members)), 2):
            differences[members[a], members[b]] = asked.difference(metric, (a, b), new)
    differences, one = consistent(values, differences), judged[0][1]
    together = len(judged) == 1 and one.whole
    columns = one.columns(metric, new) if together else joined(values, differences, key)
    return Dists(values, differences, columns, _sign(metric))


def _decided(judged: Sequence[Judged], metric: Metric) -> dict[Pair, Decided]:
    """For every pair: number of these samples on which only the first, or only the second, is right."""
    found = {}
    for members, one in judged:
        what, table = one.what, one.table
        for a, b in combinations(range(len(members)), 2):
            asked = named_metric("accuracy", range(what.num_classes))
            if what.decided(metric, a, b) is not None:
                asked = metric
            cells = check.present(what.decided(asked, a, b), "cells that decide")
            if isinstance(table, TableDraws):
                first, second, size = np.einsum("dcs,kcs->kd", table.counts, cells)
                dists = DrawsEstimate(first), DrawsEstimate(second)
            else:  # base models give how often one of both is right, the difference which
                dist = one.difference(asked, (a, b), False)
                tables = [model.mean_counts for model in table.by_model.values()]
                *only, size = np.einsum("rcs,kcs->k", np.stack(tables), cells) / len(tables)
                gap = np.append(dist.draws, dist.mean) * size * _sign(asked)
                counts = [(np.maximum(sum(only), np.abs(gap)) + side * gap) / 2 for side in (1, -1)]
                dists = [DrawsEstimate(each[:-1], middle=float(each[-1])) for each in counts]
            number, same = float(np.mean(size)), what.same(a, b)
            found[members[a], members[b]] = Decided(dists[0], dists[1], number, asked.name, same)
    return found


def _by_assumption(
    judged: Sequence[Judged], metric: Metric, names: tuple[str, ...]
) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """The metric of every classifier under each base model, by its sentence."""
    first, rows = judged[0][1].table, []
    for model in first.by_model if isinstance(first, PredictiveTable) else ():
        values = {  # of a name the first table that has it
            name: one.table.by_model[model].estimate(one.what.of_one(metric, place)).mean
            for members, one in reversed(judged)
            if isinstance(one.table, PredictiveTable) and model in one.table.by_model
            for place, name in enumerate(members)
        }
        rows.append((ASSUMPTIONS[model].sentence, tuple(values.get(name, np.nan) for name in names)))
    return tuple(rows)


def parts_of(codes: np.ndarray, data: inputs.Inputs) -> list[tuple[tuple[int, ...], inputs.Inputs, Tuples]]:
    """All classifiers at once, or in pairs: indices, the input with tuples as predictions, and the tuples."""
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
    """The tuples' table (draws, or base models), and warnings."""
    if data.model is not None:
        return _known(data, what), list(data.model.warnings)
    so, predicted = "nothing can be compared", what.predicted
    table, doubts, members = learned_table(data, "tuples by gold", so, predicted=predicted)
    fit = next((each.fit for each in members if each.name == INDEPENDENT), None)
    if not isinstance(table, PredictiveTable) or fit is None or fit.counts is None or what.apart:
        return table, doubts
    # Where errors are independent: does the prior drive the classifiers' differences in accuracy?
    counts, size = fit.counts[fit.matrix_draw], data.y_pred.size
    each = (what.marginal(counts, k) for k in range(what.num_classifiers))
    first, *others = (np.trace(table, axis1=1, axis2=2) / size for table in each)
    title = "difference in accuracy of classifiers 1 and {}"
    named = {title.format(k): first - share for k, share in enumerate(others, 2)}
    return table, [*doubts, *doubts_of(named, fit, 0.95)]


def _known(data: inputs.Inputs, what: Tuples) -> TableDraws:
    model, classes, key = check.present(data.model, "the noise model"), what.num_classes, data.key
    alpha = what.prior(float(classes), 1 / classes)  # each classifier alone: flat rows, as in `evaluate`
    if classes > 2:
        return count_posterior(model.log_likelihood, model.prior, data.y_pred, key=key,
                               num_symbols=what.num_symbols, alpha=alpha)  # fmt: skip
    if not model.prior_unknown:
        odds = log_odds(model.log_likelihood, model.prior)
        return chain_tables([symbol_chain(odds, data.y_pred, what.num_symbols, alpha)], np.ones(1))
    # The prior is integrated out at the nodes of one classifier's answer, with the evidence of all.
    ratio = model.log_likelihood[:, 1] - model.log_likelihood[:, 0]
    right_for_one = what.predicted[data.y_pred].max(axis=1) if what.apart else what.predicted[data.y_pred, 0]
    mixture = unknown_prior(ratio, right_for_one)
    odds = (ratio + np.log(share) - np.log1p(-share) for share in mixture.parameter)
    chains = [symbol_chain(one, data.y_pred, what.num_symbols, alpha) for one in odds]
    gain = [c.log_evidence - t.log_evidence for c, t in zip(chains, mixture.tables, strict=True)]
    return chain_tables(chains, softmax(log(mixture.weight) + np.array(gain)))
