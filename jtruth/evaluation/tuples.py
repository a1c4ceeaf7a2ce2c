"""What is known of the true classes behind tuples of predictions: the table's posterior in every situation.

With many tuples and few samples in each the prior of a row would drive the answer: with eight classifiers,
300 samples and one label each a nominal 95 % interval of a recall held it in 10 %
(`benchmarks/comparison.py`). So all classifiers are taken at once while there are at most 16 tuples (four
classifiers of two classes); more are taken by twos.

Known error rates: exact by the chain for two classes, by Gibbs sampling for more. Learned ones: the posterior
under the assumption that somebody vouches for, or the readings of which a predictive law is made
(`assumptions.predictive`). Gold: draws of the table of tuples (`gold.tables`).
"""

from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from jtruth import _validation as check
from jtruth._host import log, log_odds
from jtruth._random import Key, host_rng, stream
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.model_error import of_no_effect, rests_on
from jtruth.evaluation.assumptions.predictive import PredictiveTable, readings_of
from jtruth.evaluation.assumptions.registry import INDEPENDENT, UNKNOWN, Progress, entries, granted
from jtruth.evaluation.checks.prior_driven import doubts_of
from jtruth.evaluation.checks.random_gold import random_gold_check
from jtruth.evaluation.gold.answer import BY_GOLD, NO_MODEL, gold_warnings, labels_posterior, without_gold
from jtruth.evaluation.gold.measured import GoldSampling, judged_samples
from jtruth.evaluation.gold.tables import gold_tables
from jtruth.evaluation.parts import PREDICTIVE
from jtruth.tables.pairs import Tuples, tuples
from jtruth.tables.posterior import TableDraws, TablePosterior, thinned
from jtruth.testing import exact_posterior, unknown_prior
from jtruth.testing.binary.chain import symbol_chain
from jtruth.testing.multiclass.count_draws import count_posterior

_DRAWS, MOST_TUPLES = 4000, 16
POSTERIOR = "posterior"
_RIGHT, _LEARNED_TOTAL = 2 / 3, 3.0  # of a classifier's row where error rates are learned: 2 right, 1 wrong


class Part(NamedTuple):
    """Classifiers taken at once."""

    members: tuple[int, ...]
    data: inputs.Inputs  # predictions are tuples
    what: Tuples


class Held(NamedTuple):
    """What is known of a part: one law of its table, or the readings of which predictive laws are made."""

    table: TablePosterior
    kind: str  # of interval
    sentence: str  # what is assumed
    readings: tuple[tuple[str, TableDraws], ...] = ()  # sentence and table of each


def parts_of(codes: np.ndarray, data: inputs.Inputs) -> list[Part]:
    """All classifiers at once, or by twos."""
    classes, size = len(data.classes), len(codes)
    every = tuple(range(size))
    groups = [every] if size == 2 or classes**size <= MOST_TUPLES else list(combinations(every, 2))
    parts = []
    for group in groups:
        symbols, what = tuples(codes[list(group)], classes)
        learned = inputs.Symbols(what.num_symbols, what.prior(_LEARNED_TOTAL, _RIGHT))
        # Tables stay in the order of the codes, whatever class is positive: the metric knows which it is.
        parts.append(Part(group, replace(data, y_pred=symbols, symbols=learned, positive=1), what))
    return parts


def held_of(
    part: Part, assume: str | None, sampling: GoldSampling, key: Key, progress: Progress | None
) -> tuple[Held, list[str]]:
    """What is known of the tuples' table, and what is doubtful."""
    data, nobody = part.data, assume in (None, UNKNOWN)
    if data.model is not None:
        return Held(_known(part, key), POSTERIOR, granted(INDEPENDENT)), list(data.model.warnings)
    some = [entry for entry in entries(data) if (entry.reading if nobody else entry.group == assume)]
    unaided = without_gold(data) if nobody and data.num_gold else data
    found, doubts = ranges.members(some, unaided, key, progress=progress)
    if not any(one.fit is not None for one in found):
        why = next((text for text in doubts), "no model can be fitted to these labels")
        if not (nobody and data.num_gold):
            raise ValueError(f"error rates cannot be learned, so nothing can be compared: {why}")
        found, doubts = [], [NO_MODEL.format(why)]
    if not nobody:
        pooled = thinned([one.posterior for one in found])
        return Held(pooled, POSTERIOR, granted(str(assume), learned=True)), doubts
    if data.num_gold:
        gold, more = _with_gold(found, part, sampling, key)
        return gold, [*more, *doubts]
    table = PredictiveTable(readings_of(found), data.labelers_are)
    rows = tuple((one.entry.sentence, one.posterior) for one in found)
    held = Held(table, PREDICTIVE, rests_on(data.labelers_are), rows)
    return held, [ranges.ONLY_GOLD, *doubts, *_prior_driven(part, found)]


def _prior_driven(part: Part, found: list[ranges.Member]) -> tuple[str, ...]:
    """What power scaling says of the classifiers' differences in accuracy, where errors are independent."""
    fit = next((one.fit for one in found if one.name == INDEPENDENT), None)
    if fit is None or fit.counts is None:
        return ()
    counts, size = fit.counts[fit.matrix_draw], part.data.y_pred.size
    number = part.what.num_classifiers
    share = [np.trace(part.what.marginal(counts, k), axis1=1, axis2=2) / size for k in range(number)]
    named = {
        f"difference in accuracy of classifiers 1 and {k + 1}": share[0] - share[k] for k in range(1, number)
    }
    return doubts_of(named, fit, 0.95)


def _known(part: Part, key: Key) -> TableDraws:
    """The error rates are given."""
    data, what = part.data, part.what
    model, classes = check.present(data.model, "the noise model"), what.num_classes
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
    one = what.predicted[data.y_pred, 0]
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


def _with_gold(
    found: list[ranges.Member], part: Part, sampling: GoldSampling, key: Key
) -> tuple[Held, list[str]]:
    """Draws of the table of tuples by gold."""
    data, posterior = part.data, labels_posterior(found, part.data.own_labels())
    judged = judged_samples(data.y_pred, posterior, data.gold, sampling)
    said = [*of_no_effect(data.labelers_are), *gold_warnings(judged.taken_as_random, data.num_gold)]
    if judged.taken_as_random:
        was = random_gold_check(posterior, data.gold, key, data.classes)
        said += [check.message for check in was if check.verdict != "fits"]
    table = gold_tables(
        data.y_pred, part.what.num_symbols, posterior, data.gold, judged.sample, stream(key, "tuples by gold")
    )
    return Held(table, POSTERIOR, BY_GOLD), said
