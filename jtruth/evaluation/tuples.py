"""What is known of the true classes behind tuples of predictions: the table's posterior in every situation.

With many tuples and few samples in each the prior of a row would drive the answer: with eight classifiers,
300 samples and one label each a nominal 95 % interval of a recall held it in 10 %
(`benchmarks/comparison.py`). So all classifiers are taken at once while there are at most 16 tuples (four
classifiers of two classes); more are taken by twos.

Known error rates: exact by the chain for two classes, by Gibbs sampling for more. Learned ones: one posterior
for each assumption of the registry that can take symbols that are no classes, or the one that somebody
vouches for. Gold: the models fitted without it, and PPI++ once (`jtruth.evaluation.gold.pooled`).
"""

from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from jtruth import _validation as check
from jtruth._host import log, log_odds
from jtruth._random import Key, host_rng, stream
from jtruth._validation.words import number_of
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.registry import INDEPENDENT, UNKNOWN, Progress, entries, granted
from jtruth.evaluation.checks.prior_driven import doubts_of
from jtruth.evaluation.checks.random_gold import random_gold_check
from jtruth.evaluation.gold.answer import NO_MODEL, labels_posterior, without_gold
from jtruth.evaluation.gold.measured import GoldSampling, judged_samples
from jtruth.evaluation.gold.pooled import LITTLE, LITTLE_GOLD, RANDOM_GOLD, GoldPosterior
from jtruth.tables.pairs import Tuples, tuples
from jtruth.tables.posterior import TableDraws, TablePosterior, thinned
from jtruth.testing import exact_posterior, unknown_prior
from jtruth.testing.binary.chain import symbol_chain
from jtruth.testing.multiclass.count_draws import count_posterior

_DRAWS, MOST_TUPLES = 4000, 16
_RIGHT, _LEARNED_TOTAL = 2 / 3, 3.0  # of a classifier's row where error rates are learned: 2 right, 1 wrong


class Part(NamedTuple):
    """Classifiers taken at once."""

    members: tuple[int, ...]
    data: inputs.Inputs  # predictions are tuples
    what: Tuples


class Held(NamedTuple):
    """A posterior of a part under one assumption."""

    name: str
    sentence: str
    table: TablePosterior
    point: bool = True
    hull: bool = True


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
) -> tuple[list[Held], list[str]]:
    """Posteriors of the tuples' table, one for each assumption that is made, and what is doubtful."""
    data, nobody = part.data, assume in (None, UNKNOWN)
    if data.model is not None:
        return [Held(INDEPENDENT, granted(INDEPENDENT), _known(part, key))], list(data.model.warnings)
    known = entries(data)
    if not nobody:
        some = [entry for entry in known if entry.group == assume]
    else:
        some = [entry for entry in known if (entry.gold if data.num_gold else entry.shown)]
    unaided = without_gold(data) if nobody and data.num_gold else data
    found, doubts = ranges.members(some, unaided, key, progress=progress)
    if not any(one.fit is not None for one in found):
        why = next((text for text in doubts), "no model can be fitted to these labels")
        if not (nobody and data.num_gold):
            raise ValueError(f"error rates cannot be learned, so nothing can be compared: {why}")
        found, doubts = [], [NO_MODEL.format(why)]
    if not nobody:
        pooled = thinned([one.posterior for one in found])
        return [Held(str(assume), granted(str(assume)), pooled)], doubts
    if data.num_gold:
        gold, more = _with_gold(found, part, sampling, key)
        return [gold], [*more, *doubts]
    rows = [
        Held(one.name, one.entry.sentence, one.posterior, one.entry.point, one.entry.hull) for one in found
    ]
    return rows, [ranges.ONLY_GOLD, *doubts, *_prior_driven(part, found)]


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
    """Models fitted without gold, and PPI++ of the tuples."""
    data, symbols = part.data, part.what.num_symbols
    judged = judged_samples(data.y_pred, labels_posterior(found, data.own_labels()), data.gold, sampling)
    judged = replace(judged, num_symbols=symbols)
    random = [RANDOM_GOLD] if judged.taken_as_random else []
    if random:
        was = random_gold_check(judged.class_posterior, data.gold, key, data.classes)
        random += [check.message for check in was if check.verdict != "fits"]
    if data.num_gold < LITTLE:
        random.append(LITTLE_GOLD.format(number_of(data.num_gold, "gold answer")))
    models = {one.name: one.posterior for one in found}
    pool = GoldPosterior(models, judged, (len(data.classes), symbols), data.y_pred.size)
    sentence = "models that have not seen the gold, and what gold makes of the labels (PPI++)"
    return Held("pooled", sentence, pool), random
