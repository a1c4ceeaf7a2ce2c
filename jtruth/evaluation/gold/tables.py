"""Posterior of the count table, of all samples and of each labeler, from a few true classes.

Samples are stratified by the prediction and by the class that the labels make most probable. In each stratum
the labels guess the classes, and gold shows how good the guess is (`jtruth.stats.ppi`). So gold is used once,
models never see it, and nothing is assumed about shared errors. Clamped gold would hardly change a joint
posterior, because the likelihood of all labels outweighs a few known classes. Gold is assumed to be a random
part of all samples, unless its design is given.
"""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from jtruth._host import smoothed_vote_shares
from jtruth._random import Key, host_rng, stream
from jtruth._validation.words import number_of, part_of, some
from jtruth.asking.gold import ask_next, by_vote, gold_that_halves
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.model_error import PredictiveTable, of_no_effect
from jtruth.evaluation.assumptions.ranges import labels_fit
from jtruth.evaluation.assumptions.registry import entries
from jtruth.evaluation.checks.columns import random_gold_check
from jtruth.evaluation.inputs import Inputs, read_labels_alone
from jtruth.evaluation.parts import ABOUT, FEW, FEW_GOLD, IN_SAMPLE, ONLY_GOLD, RANDOM_GOLD, Assumption, Check
from jtruth.io.gold import Gold
from jtruth.labels import Labels
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats import ppi
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.ppi import FittedPower, GoldSample, PpiEstimate, gold_sample
from jtruth.stats.student import StudentEstimate
from jtruth.tables.metrics import Metric, named_metric, settled
from jtruth.tables.posterior import TableDraws, thinned

Codes = Int[np.ndarray, " samples"]
Posteriors = Float[np.ndarray, "samples classes"]
POWER = FittedPower(pseudo_gold=10.0)  # of PPI++: pulled by ten answers as the labels foretell them
_DRAWS, _ROUNDING = 4000, 1e-12
_MOVED = {0.35: 0.15, 0.7: 0.15}  # the classifier may know better: share of the prediction, how probable
_TILTED = {1.0: 0.15, 2.0: 0.2, 4.0: 0.2, 8.0: 0.15}  # so may a score: log odds at its last rank
_BIASED = {1.5: 0.15, 3.0: 0.15}  # and labels may name a class too often: log odds that are taken from it
_MOST_BIASED = 5  # classes


def gold_tables(
    symbols: Codes,
    num_symbols: int,
    class_posterior: Posteriors,
    gold: Codes,
    sample: GoldSample,
    key: Key,
    *,
    rising: int | None = None,
    predicted: Int[np.ndarray, "symbols classifiers"] | None = None,
) -> TableDraws:
    """Draws of the count table (classes, symbols) by labels and gold (-1 where unknown).

    Symbols are classes, tuples of predictions or score bins, of which higher ones indicate class `rising`.
    `predicted` has the class that each of several classifiers predicts (-1: none); None: symbols that are
    classes are the predictions of one classifier.
    """
    classes, chance = class_posterior.shape[1], None
    votes, _ = by_vote(symbols, num_symbols, class_posterior)
    num_votes = int(votes.max()) + 1
    if np.ptp(sample.inclusion) > 0:
        chance = np.full(gold.size, np.nan)
        chance[sample.chosen] = sample.inclusion
    strata, names = ppi.strata_of(symbols * num_votes + votes, class_posterior, gold, chance)
    symbol_of = names // num_votes
    others = []
    if rising is not None:
        others = [(p, ppi.tilted(strata, symbol_of, by, rising)) for by, p in _TILTED.items()]
    elif predicted is not None or num_symbols == classes:
        named = np.arange(classes)[:, None] if predicted is None else predicted
        if (named < 0).any():  # groups: each symbol is of one classifier
            named = named.max(axis=1, keepdims=True)
        for (by, p), one in product(_MOVED.items(), named.T):
            moved = (1 - by) * strata[3] + by * np.eye(classes)[one[symbol_of]]
            others.append((p / named.shape[1], moved))
    if classes <= _MOST_BIASED and rising is None:
        for c, (by, p) in product(range(classes), _BIASED.items()):
            others.append((p / classes, ppi.less_of(strata, c, by)))
    draws = ppi.class_counts(strata, host_rng(key, "classes given gold"), others=others, num_draws=_DRAWS)
    tables = np.zeros((_DRAWS, classes, num_symbols), np.int64)
    for k, symbol in enumerate(symbol_of):
        tables[:, :, symbol] += draws[:, k]
    return TableDraws(tables)


def dists_by_gold(
    without: Sequence[DrawsEstimate], tables: Sequence[TableDraws | None]
) -> list[DrawsEstimate]:
    """Accuracy of each labeler by its table; without a table the distribution `without` gold."""
    pairs = zip(without, tables, strict=True)
    return [dist if table is None else table.estimate("accuracy") for dist, table in pairs]


def labeler_tables_by_gold(
    labels: Labels, class_posterior: Posteriors, gold: Gold, key: Key = 0
) -> list[TableDraws | None]:
    """Table of each labeler's labels; None with fewer than five verified ones."""
    (sample, labeler, label), known = labels.entries(), gold.classes
    chance, tables = None, []
    if not gold.at_random and (known >= 0).any():  # strata too: of one labeler each may have no gold
        chosen = how_chosen(gold)
        chance = np.full(known.size, np.nan)
        chance[chosen.chosen] = chosen.inclusion
    for t in range(labels.num_labelers):
        entries = np.flatnonzero(labeler == t)
        samples, size = sample[entries], labels.num_classes
        truth, table = known[samples], None
        if (truth >= 0).sum() >= FEW:
            chosen = gold_sample(truth >= 0, inclusion=None if chance is None else chance[samples])
            draws = stream(key, "labeler by gold", t)
            table = gold_tables(label[entries], size, class_posterior[samples], truth, chosen, draws)
        tables.append(table)
    return tables


def kind_warnings(
    labelers_are: str, without: Sequence[DrawsEstimate], dists: Sequence[DrawsEstimate]
) -> tuple[str, ...]:
    """A note that `labelers_are` has no effect, if no distribution without gold is used."""
    pairs = zip(without, dists, strict=True)
    stands = any(dist is now and dist.probability_defined > 0 for dist, now in pairs)
    return () if stands else of_no_effect(labelers_are)


def ppi_metric(
    metric: str | Metric,
    y_pred: Codes,
    class_posterior: Posteriors,
    gold: Codes,
    *,
    sample: GoldSample | None = None,
    table: Float[np.ndarray, "classes symbols"] | None = None,
    **options: Any,
) -> PpiEstimate:
    """PPI++ of a metric of hard predictions; exact if the predictions determine it.

    `class_posterior` was made without the gold, which is -1 where unknown and random unless `sample` has its
    design. "recall" is that of class 1. Derivatives of a metric that is no ratio are taken at `table`
    (`ppi_table` if None). Options are power (0: gold only), target and surprise of `ppi_ratio`.
    """
    size = class_posterior.shape[1]
    if isinstance(metric, str):
        metric = named_metric(metric, tuple(map(str, range(size))), 1)
    sample = gold_sample(gold >= 0) if sample is None else sample
    if metric.joint is None:
        value = settled(metric, np.bincount(y_pred, minlength=size), size, gold)
        if value is not None:
            known = StudentEstimate(value, 0.0, np.inf, *metric.bounds, float(not np.isnan(value)))
            return PpiEstimate(known, value, 0.0, 0.0, sample.chosen.size, True)
    if table is None:
        exact, symbols = metric.is_ratio or metric.joint is not None, max(size, int(y_pred.max()) + 1)
        table = np.ones((size, symbols)) if exact else ppi_table(y_pred, class_posterior, gold, sample)
    cells = metric.terms(table)
    if np.isnan(cells[0]).any():  # not defined at the table by PPI++
        return ppi.uninformative(metric.bounds)
    rows, terms = sample.chosen, cells[:, :, y_pred].swapaxes(1, 2)
    a, b = (part[rows, gold[rows]] for part in terms)
    f, g = ((part * class_posterior).sum(axis=1) for part in terms)
    possible = (terms[0, rows], terms[1, rows])
    return ppi.ppi_ratio((a, b), (f, g), sample, possible=possible,
                         **{"power": POWER, "bounds": metric.bounds, **options})  # fmt: skip


def ppi_table(
    y_pred: Codes, class_posterior: Posteriors, gold: Codes, sample: GoldSample
) -> Float[np.ndarray, "classes symbols"]:
    """Counts by PPI++, cell by cell; negative ones are 0, because only derivatives are taken there."""
    classes, rows = class_posterior.shape[1], sample.chosen
    cells = np.zeros((classes, max(classes, int(y_pred.max()) + 1)))
    for c, u in product(range(classes), np.unique(y_pred)):
        predicted = y_pred == u
        truth = (predicted[rows] & (gold[rows] == c)).astype(np.float64)
        cells[c, u] = ppi.ppi_mean(truth, predicted * class_posterior[:, c], sample, power=POWER).value
    return np.where(cells < _ROUNDING, 0.0, cells) * y_pred.size  # a class that never occurs has a row of 0


NO_MODEL = "The estimate uses gold, adjusted by vote shares, because the labels alone determine nothing: {}"
BY_GOLD = "the gold samples represent all samples, and measure the label errors"
LITTLE_GOLD = "There are {}; useful intervals need 20 or more."
ASK_NEXT = "Verify next: {} (jtruth.asking.ask_next gives more, with their strata)."
NOT_DETERMINED = FEW_GOLD + ("{}. Its recall, precision and F1 need more verified samples.")
_ASKED = 5  # samples named in the advice
LITTLE = 20  # gold answers below which a warning is given


def learned_table(
    data: Inputs, name: str, so: str, **symbols: Any
) -> tuple[TableDraws | PredictiveTable, list[str], list[Assumption]]:
    """Table of these symbols with learned error rates, warnings, and the fits behind it.

    Draws if an assumption is named or gold is known, else the base models; `name` is of the random stream,
    `symbols` are options of `gold_tables` (`rising`, `predicted`).

    Raises:
        ValueError: labels from which error rates cannot be learned, and the consequence (`so`).
    """
    by_gold = data.open and data.num_gold > 0
    asked = [entry for entry in entries(data) if (entry.base if data.open else entry.group == data.assume)]
    members, doubts = ranges.members(asked, data.without_gold() if by_gold else data, data.key)
    if not any(member.fit is not None for member in members):
        why = next(iter(doubts), "no model can be fitted to these labels")
        if not by_gold:
            raise ValueError(f"error rates cannot be learned, so {so}: {why}")
        members, doubts = [], [] if data.only_gold else [NO_MODEL.format(why)]
    if not data.open:
        return thinned([member.posterior for member in members]), doubts, members
    if not by_gold:
        table = PredictiveTable({member.name: member.posterior for member in members}, data.labelers_are)
        return table, [ONLY_GOLD, *doubts], members
    posterior = labels_posterior([member.fit for member in members], data.own_labels())
    was = [check.message for check in random_gold_checks(data, posterior) if check.verdict != "fits"]
    notes = [*of_no_effect(data.labelers_are), *gold_warnings(data), *was]
    return tables_by_gold(data, posterior, name, **symbols), [*notes, *doubts], members


def tables_by_gold(data: Inputs, posterior: np.ndarray, name: str, **symbols: Any) -> TableDraws:
    """Draws of the count table, given class probabilities by labels alone; `name` is of the random stream."""
    return gold_tables(data.y_pred, data.num_symbols, posterior, data.gold, how_chosen(data.known),
                       stream(data.key, name), **symbols)  # fmt: skip


def how_chosen(gold: Gold) -> GoldSample:
    """Design of the gold sample."""
    return gold_sample(gold.classes >= 0, **gold.how)


def equal_chances(data: Inputs) -> bool:
    """Whether every sample was equally likely to be verified; then so are pairs of samples."""
    return bool(np.ptp(how_chosen(data.known).inclusion) < 1e-9)


def few_of_classes(
    data: Inputs, codes: Iterable[int], predictions: Sequence[np.ndarray] = ()
) -> tuple[str, ...]:
    """A warning about classes with fewer than five verified samples, or predicted ones among these."""
    known, number = data.gold >= 0, data.num_gold
    texts = []
    for c in codes if 0 < number < data.gold.size else ():
        own, predicted = int((data.gold == c).sum()), [int((one[known] == c).sum()) for one in predictions]
        if own < FEW:
            texts.append(f"{part_of(own, number, 'verified label', 'is')} of class {data.classes[c]!r}")
        elif min(predicted, default=FEW) < FEW:
            of_all = part_of(min(predicted), number, "verified sample", "is")
            texts.append(f"{of_all} predicted {data.classes[c]!r}")
    return (NOT_DETERMINED.format(some(texts, 3)),) if texts else ()


def few_of_labelers(labels: Labels, gold: np.ndarray) -> tuple[str, ...]:
    """A warning about labelers with fewer than five verified labels."""
    sample, labeler, _ = labels.entries()
    known = np.bincount(labeler[gold[sample] >= 0], minlength=labels.num_labelers)
    few = np.flatnonzero((known < FEW) & (labels.labels_per_labeler() >= FEW))
    which = some(
        [f"{number_of(known[t], 'verified label')} of {str(labels.worker_names[t])!r}" for t in few], 3
    )
    return (f"{FEW_GOLD}{which}. Their estimates come mostly from unverified labels.",) if few.size else ()


def random_gold_checks(data: Inputs, posterior: np.ndarray) -> tuple[Check, ...]:
    """Check that gold is random, if it is assumed to be."""
    if not data.sampling.at_random:
        return ()
    return random_gold_check(posterior, data.gold, data.key, data.classes)


def gold_warnings(data: Inputs) -> tuple[str, ...]:
    """Warnings about the design and the number of gold samples."""
    sampled = data.sampling.at_random and data.num_gold < data.gold.size
    notes, number = (RANDOM_GOLD,) if sampled else (), data.num_gold
    return (*notes, LITTLE_GOLD.format(number_of(number, "verified label"))) if number < LITTLE else notes


def advice(data: Inputs, y_pred: np.ndarray | None) -> tuple[str, ...]:
    """Samples to verify next, and the number that would halve the intervals."""
    left = data.gold.size - data.num_gold
    if not left:
        return ()
    about = ABOUT[data.target]
    number = gold_that_halves(data.num_gold, data.gold.size if data.target == IN_SAMPLE else np.inf)
    halve = f"{number_of(number, 'more verified label')} would about halve the intervals {about}."
    if number > left:
        halve = f"All of the {left} other samples verified would not halve the intervals {about}."
    try:
        asked = ask_next(data.own_labels(), min(_ASKED, left), y_pred=y_pred, gold=data.known, key=data.key)
    except ValueError:  # gold of unequal probabilities, which no further answers can complete
        return (halve,)
    named = ", ".join(str(data.own_labels().task_names[i]) for i in asked.samples)
    return (halve, ASK_NEXT.format(named))


def labels_posterior(fits: Iterable[JointPosterior | None], labels: Labels) -> np.ndarray:
    """Class probabilities of each sample by labels and predictions alone, (samples, classes), for PPI++.

    The mean of vote shares (with one vote spread over the classes) and of class posteriors, which alone
    covered 86 to 92 % with judges that copy each other. Without models: vote shares.
    """
    shares = smoothed_vote_shares(labels.counts())
    models = [fit.class_posterior for fit in fits if fit is not None]
    return 0.5 * (shares + np.mean(models, axis=0)) if models else shares


def labels_only_posterior(labels: Labels, key: Key) -> tuple[np.ndarray, tuple[str, ...]]:
    """Class probabilities of each sample by the labels alone, (samples, classes), and warnings."""
    return unaided_posterior(read_labels_alone(labels, key=key))


def unaided_posterior(data: Inputs) -> tuple[np.ndarray, tuple[str, ...]]:
    """The same for input without gold."""
    labels, doubt = data.own_labels(), "no sample has three labels"
    if not too_few_labels(labels):
        fit = labels_fit(data)
        if fit.usable:
            return labels_posterior([fit], labels), () if fit.converged else fit.warnings
        doubt = fit.warnings[0]
    doubt = f"Samples are ranked by their vote shares, because the labels alone determine nothing: {doubt}"
    return labels_posterior([], labels), (doubt,)


def too_few_labels(labels: Labels) -> bool:
    """Whether no sample has three labels: then many matrices fit equally well."""
    return int(labels.labels_per_sample().max()) < 3
