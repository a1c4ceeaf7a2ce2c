"""`compare_classifiers`: which of several classifiers is better, judged by the same noisy labels?

The tuple of all predictions of a sample is the symbol of the count table (`jtruth.tables.pairs`), so whatever
one draw of the table says of one classifier it says of the others on the same true classes: the comparison is
paired. The posterior of that table comes in the situations of `evaluate`: known error rates, exact by the
chain for two classes, by Gibbs sampling for more; an assumption that somebody vouches for; gold, as draws of
the table of tuples (`gold.tables`); or a predictive law of each number: what paired readings of labels missed
of differences elsewhere.

With many tuples and few samples in each the prior of a row would drive the answer: with eight classifiers,
300 samples and one label each a nominal 95 % interval of a recall held it in 10 %
(`benchmarks/comparison.py`). So all classifiers are taken at once while there are at most 16 tuples (four
classifiers of two classes); more are taken by twos, and the twos are put together by a normal copula
(`compared.joined`).
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple, Unpack

import numpy as np
from jaxtyping import Array
from scipy.special import softmax

from jtruth import _validation as check
from jtruth._host import log, log_odds
from jtruth._random import Key, host_rng, stream
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.model_error import DIFFERENCE, PredictiveTable, of_no_effect, rests_on
from jtruth.evaluation.assumptions.ranges import readings_of
from jtruth.evaluation.assumptions.registry import INDEPENDENT, check_assume, entries, granted
from jtruth.evaluation.checks.first_look import look_at
from jtruth.evaluation.checks.of_labels import refusal
from jtruth.evaluation.checks.prior_sensitivity import doubts_of
from jtruth.evaluation.compared import Comparison, Laws, Pair, joined
from jtruth.evaluation.gold.answer import (
    BY_GOLD,
    NO_MODEL,
    gold_warnings,
    labels_posterior,
    random_gold_checks,
    tables_by_gold,
)
from jtruth.evaluation.inputs import Judging
from jtruth.evaluation.parts import PREDICTIVE
from jtruth.labels import Labels
from jtruth.stats.draws import DrawsEstimate
from jtruth.tables.metrics import Metric, named_metric
from jtruth.tables.pairs import Tuples, tuples
from jtruth.tables.posterior import TableDraws, TablePosterior, thinned
from jtruth.testing import exact_posterior
from jtruth.testing.binary.chain import symbol_chain
from jtruth.testing.binary.unknown import unknown_prior
from jtruth.testing.multiclass import count_posterior

TIES = "{} and {} are equal with probability {:.2f}; a tie counts half for each"
_DRAWS, MOST_TUPLES = 4000, 16
POSTERIOR = "posterior"
_RIGHT, _LEARNED_TOTAL = 2 / 3, 3.0  # of a classifier's row where error rates are learned: 2 right, 1 wrong
_RARELY = 0.005  # probability of a tie below which it is not worth a word


class Compared(NamedTuple):
    """What is known of classifiers taken at once: a law of their table, or readings of the labels."""

    members: tuple[int, ...]
    what: Tuples  # which columns of the table are whose
    table: TablePosterior
    kind: str  # of interval
    sentence: str  # what is assumed
    readings: tuple[tuple[str, TableDraws], ...] = ()  # sentence and table of each


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
    names = _names(predictions)
    first, *others = names
    data = inputs.read_judged("compare_classifiers", predictions[first], labels, how, positive)
    check_assume(data.assume)
    rest = inputs.read_others({name: predictions[name] for name in others}, data)
    codes = np.concatenate([data.y_pred[None], rest]).astype(np.int64)
    found = named_metric(metric, data.classes, data.positive)
    _check_wishes(found, margin, at_least)
    parts, compared = parts_of(codes, data), []
    doubts = list(inputs.warnings(replace(data, y_pred=codes.ravel())))
    if len(parts) > 1:
        doubts.append(
            f"{len(names)} classifiers make more than {MOST_TUPLES} tuples of predictions: they are compared "
            "by twos, and who is best of all is put together from the twos by a normal copula"
        )
    for number, (members, part, what) in enumerate(parts):
        part.key = stream(data.key, "compared", number)
        each, texts = judged_together(members, part, what)
        compared.append(each)
        doubts += texts
    laws, kind = _laws(compared, found, data.key), compared[0].kind
    refused = refusal(data.own_labels(), data.key) if kind == PREDICTIVE else ()
    said = (*refused, *dict.fromkeys(doubts), *undefined(laws, names, found), *_ties(laws, names, margin))
    return Comparison(
        measure=found, margin=float(margin), at_least=None if at_least is None else float(at_least),
        level=data.level, names=names, laws=laws, interval_kind=kind, assumption=compared[0].sentence,
        assumptions=() if refused else rows_of(compared, found), agreement=_agreement(codes, data, names),
        num_samples=codes.shape[1], num_gold=data.num_gold, positive=data.classes[data.positive],
        warnings=said, key=data.stated, checks=look_at(data, dict(zip(names, codes, strict=True))),
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


def _laws(compared: list[Compared], metric: Metric, key: Key) -> Laws:
    """Laws of values and differences, and draws of all values together."""
    values: dict[int, DrawsEstimate] = {}
    differences: dict[Pair, DrawsEstimate] = {}
    for one in compared:
        for place, k in enumerate(one.members):
            if k not in values:
                values[k] = law_in(one.table, one.what.of_one(metric, place))
        for (a, first), (b, second) in combinations(enumerate(one.members), 2):
            differences[first, second] = _difference(one, metric, (a, b))
    laws = tuple(values[k] for k in sorted(values))
    if len(compared) == 1 and isinstance(compared[0].table, TableDraws):
        columns = np.stack([law.draws for law in laws], axis=1)
    else:
        columns = joined(laws, differences, key)
    return Laws(laws, differences, columns)


def _difference(one: Compared, metric: Metric, pair: Pair) -> DrawsEstimate:
    """Law of a difference; a predictive one within what samples allow on which predictions differ."""
    found = one.what.difference(metric, *pair)
    if not isinstance(one.table, PredictiveTable):
        return law_in(one.table, found)
    means = np.mean([table.counts.mean(axis=0) for table in one.table.readings.values()], axis=0)
    most = one.what.most(metric, *pair, means)
    if most == 0:
        return DrawsEstimate(np.zeros(1))
    return one.table.law(found._replace(bounds=(-most, most)), DIFFERENCE)


def law_in(table: TablePosterior, metric: Metric) -> DrawsEstimate:
    """Law of a metric of the table."""
    found = table.estimate(metric)
    if not isinstance(found, DrawsEstimate):
        raise TypeError(f"a comparison needs draws, and {type(table).__name__} has none")
    return found


def rows_of(compared: list[Compared], metric: Metric) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """Under each assumption, in words, the metric of every classifier; of readings only."""
    rows, size = [], 1 + max(k for one in compared for k in one.members)
    for sentence, _ in compared[0].readings:
        values: dict[int, float] = {}
        for one in compared:
            table = dict(one.readings).get(sentence)
            for place, k in enumerate(one.members):
                if table is not None and k not in values:
                    values[k] = table.estimate(one.what.of_one(metric, place)).mean
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


def undefined(laws: Laws, names: tuple[str, ...], metric: Metric) -> list[str]:
    """What is to be said where a metric is not always defined."""
    return [
        f"{metric.name} of {name!r} is undefined with probability {1 - law.probability_defined:.2g}; "
        "probabilities are of the cases in which it is defined"
        for name, law in zip(names, laws.values, strict=True)
        if law.probability_defined < 1 - 1e-9
    ]


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


def judged_together(
    members: tuple[int, ...], data: inputs.Inputs, what: Tuples
) -> tuple[Compared, list[str]]:
    """What is known of the tuples' table, and what is doubtful."""
    found = partial(Compared, members, what)
    if data.model is not None:
        return found(_known(data, what), POSTERIOR, granted(INDEPENDENT)), list(data.model.warnings)
    some = [entry for entry in entries(data) if (entry.reading if data.open else entry.group == data.assume)]
    by_gold = data.open and data.num_gold > 0
    found_members, doubts = ranges.members(some, data.without_gold() if by_gold else data, data.key)
    if not any(one.fit is not None for one in found_members):
        why = next(iter(doubts), "no model can be fitted to these labels")
        if not by_gold:
            raise ValueError(f"error rates cannot be learned, so nothing can be compared: {why}")
        found_members, doubts = [], [NO_MODEL.format(why)]
    if not data.open:
        pooled = thinned([one.posterior for one in found_members])
        return found(pooled, POSTERIOR, granted(str(data.assume), learned=True)), doubts
    if by_gold:
        posterior = labels_posterior(found_members, data.own_labels())
        was = [check.message for check in random_gold_checks(data, posterior) if check.verdict != "fits"]
        said = [*of_no_effect(data.labelers_are), *gold_warnings(data), *was]
        return found(tables_by_gold(data, posterior, "tuples by gold"), POSTERIOR, BY_GOLD), [*said, *doubts]
    table = PredictiveTable(readings_of(found_members), data.labelers_are)
    rows = tuple((one.entry.sentence, one.posterior) for one in found_members)
    doubts = [ranges.ONLY_GOLD, *doubts, *_prior_driven(data, what, found_members)]
    return found(table, PREDICTIVE, rests_on(data.labelers_are), rows), doubts


def _prior_driven(data: inputs.Inputs, what: Tuples, found: list[ranges.Member]) -> tuple[str, ...]:
    """What power scaling says of the classifiers' differences in accuracy, where errors are independent."""
    fit, number = next((one.fit for one in found if one.name == INDEPENDENT), None), what.num_classifiers
    if fit is None or fit.counts is None or what.apart:
        return ()
    counts, size = fit.counts[fit.matrix_draw], data.y_pred.size
    share = [np.trace(what.marginal(counts, k), axis1=1, axis2=2) / size for k in range(number)]
    named = {
        f"difference in accuracy of classifiers 1 and {k + 1}": share[0] - share[k] for k in range(1, number)
    }
    return doubts_of(named, fit, 0.95)


def _known(data: inputs.Inputs, what: Tuples) -> TableDraws:
    """The error rates are given."""
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
    one = what.predicted[data.y_pred].max(axis=1) if what.apart else what.predicted[data.y_pred, 0]
    mixture = unknown_prior(ratio, one, exact_posterior=exact_posterior)
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
