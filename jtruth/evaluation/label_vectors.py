"""Drawn vectors of true classes, for metrics that are functions of all samples (`any_metric`).

Where errors are independent, classes are independent given the classifier's rows K,

    p(y_i = c | K, z, symbols) ~ p(z_i | c) prior[c] K[c, symbol_i],

and K is drawn from its posterior: two classes and known noise by the chain of symbols, then K given the
table, or for bins of scores by a walk along them; more classes by Gibbs sampling; learned rates together with
those of the labelers.

Under another assumption of the registry what is kept of a fit are draws of the count table and each sample's
class posterior. A vector is tied to a drawn table: among the samples of a symbol as many are of class c as
the table says, chosen with the odds of their class posterior, shifted until the expected number is that one
(systematic sampling in random order: a fixed number with given chances). What is lost is what samples of one
symbol share beyond their numbers. The majority vote has no posterior: its vector is the vote, ties drawn.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit

from jtruth import _validation as check
from jtruth._host import known_classes, labels_log_likelihood, log, log_odds, majority
from jtruth._random import Key, host_rng, stream
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.score_tables import odds_given_rates
from jtruth.learning.joint.posterior import fit_joint
from jtruth.testing.binary.chain import symbol_chain, symbol_walk
from jtruth.testing.multiclass import count_posterior

_AT_ONCE = 4_000_000  # numbers in one array of log-probabilities
_COARSE, _RATES = 4, 50


Vectors = Int[np.ndarray, "draws samples"]  # of classes


# log p(z_i | c) prior[c] (samples, classes) and draws of the classifier's rows (draws, classes, symbols), for
# one state of knowledge of the labelers.
State = tuple[Float[np.ndarray, "samples classes"], Float[np.ndarray, "draws classes symbols"]]


def independent_vectors(data: inputs.Inputs, num_draws: int) -> Iterator[Vectors]:
    """Vectors if errors are independent, in chunks of bounded memory; notes are added to `data`.

    Args:
        data: with what the labels are told of predictions: classes, or bins of a score as `symbols`.
        num_draws: how many.

    Raises:
        ValueError: labels from which error rates cannot be learned.
    """
    states = (_known if data.model is not None else _learned)(data, num_draws, data.key)
    for k, joint in enumerate(_chunks(states, data.y_pred)):
        yield _drawn(joint, stream(data.key, "label vectors", k))


def member_vectors(member: ranges.Member, data: inputs.Inputs, num_draws: int) -> Iterator[Vectors]:
    """Vectors under one assumption that was fitted with these symbols, in chunks of bounded memory."""
    rng = host_rng(stream(data.key, member.name), "label vectors of one assumption")
    counts = np.asarray(member.posterior.counts)
    chosen = np.linspace(0, len(counts) - 1, num_draws).astype(int)
    size = max(_AT_ONCE // max(data.y_pred.size, 1), 1)
    for k in range(0, num_draws, size):
        few = chosen[k : k + size]
        if member.fit is None:
            yield _voted(data, len(few), rng)
        else:
            yield tied_vectors(member.fit.class_posterior, data.y_pred, counts[few], rng)


def tied_vectors(
    p: Float[np.ndarray, "samples classes"],
    symbols: Int[np.ndarray, " samples"],
    tables: Int[np.ndarray, "draws classes symbols"],
    rng: np.random.Generator,
) -> Int[np.ndarray, "draws samples"]:
    """A vector of classes for each table, which counts what the table says.

    Args:
        p: class posteriors; what is 0 is never drawn.
        symbols: of the samples.
        tables: whole numbers; a column adds up to the number of samples of its symbol.
        rng: random numbers.

    >>> y = tied_vectors(np.full((4, 2), 0.5), np.zeros(4, int), np.array([[[3], [1]]] * 5), host_rng(0, "x"))
    >>> y.sum(axis=1).tolist()
    [1, 1, 1, 1, 1]
    """
    classes = p.shape[1]
    y = np.full((len(tables), len(p)), classes - 1, np.int32)
    for u in np.unique(symbols):
        rows = np.flatnonzero(symbols == u)
        left = np.ones((len(tables), rows.size), bool)
        for c in range(classes - 1):
            with np.errstate(invalid="ignore"):  # NaN where a sample is of an earlier class for certain
                odds = log(p[rows, c]) - log(p[rows, c + 1 :].sum(axis=1))
            taken = _fixed_number(odds, left, tables[:, c, u].astype(np.float64), rng)
            draw, place = np.nonzero(taken)
            y[draw, rows[place]] = c
            left &= ~taken
    return y


def _fixed_number(
    odds: Float[np.ndarray, " samples"],
    left: Bool[np.ndarray, "draws samples"],
    number: Float[np.ndarray, " draws"],
    rng: np.random.Generator,
) -> Bool[np.ndarray, "draws samples"]:
    """In each draw `number` of the samples that are left, with chances whose odds keep their ratios."""
    odds = np.where(np.isnan(odds), np.inf, odds)
    low, high = np.full((len(left), 1), -60.0), np.full((len(left), 1), 60.0)
    for _ in range(40):
        middle = (low + high) / 2
        few = (expit(odds + middle) * left).sum(axis=1, keepdims=True) < number[:, None]
        low, high = np.where(few, middle, low), np.where(few, high, middle)
    chance = expit(odds + high) * left
    order = rng.random(left.shape).argsort(axis=1)
    upto = np.cumsum(np.take_along_axis(chance, order, axis=1), axis=1)
    upto *= (number / np.maximum(upto[:, -1], 1e-300))[:, None]
    step = np.floor(upto + rng.random((len(left), 1)))
    taken = np.diff(step, axis=1, prepend=0.0) > 0
    found = np.zeros(left.shape, bool)
    np.put_along_axis(found, order, taken, axis=1)
    return found & left


def _voted(data: inputs.Inputs, number: int, rng: np.random.Generator) -> Vectors:
    """The majority vote, ties broken by chance; a sample without labels is as another of its prediction."""
    labels = data.own_labels()
    share, known = majority(labels.counts()), data.gold >= 0
    share[known] = np.eye(labels.num_classes)[data.gold[known]]
    silent = (labels.labels_per_sample() == 0) & ~known
    height = share.cumsum(axis=1)
    y = (height[None, :, :] <= rng.random((number, labels.num_samples))[..., None]).sum(axis=2)
    for i in np.flatnonzero(silent):
        alike = np.flatnonzero(~silent & (data.y_pred == data.y_pred[i]))
        alike = alike if alike.size else np.flatnonzero(~silent)
        y[:, i] = y[np.arange(number), rng.choice(alike, number)]
    return y.astype(np.int32)


def _known(data: inputs.Inputs, num_draws: int, key: Key) -> Iterator[State]:
    """The error rates are given."""
    model = check.present(data.model, "the noise model")
    joint = model.log_likelihood + log(model.prior)[None, :]
    if len(data.classes) > 2:
        key = stream(key, "rows of a metric, many classes")
        found = count_posterior(model.log_likelihood, model.prior, data.y_pred, key=key)
        chosen = np.linspace(0, len(found.confusion) - 1, num_draws).astype(int)
        yield joint, found.confusion[chosen]
        return
    odds = log_odds(model.log_likelihood, model.prior)
    if data.symbols is not None:
        yield joint, _bin_rows(odds, data, float(model.prior[1]), num_draws, key)
        return
    law = symbol_chain(odds, data.y_pred, data.num_symbols)
    drawn = law.draws(stream(key, "tables of a metric"), num_draws)
    yield joint, law.shares(drawn, stream(key, "rows given bins"))


def _bin_rows(
    odds: Float[np.ndarray, "*rates samples"], data: inputs.Inputs,
    prior: Float[np.ndarray, " rates"] | float, draws: int, key: Key,
) -> Float[np.ndarray, "draws classes bins"]:  # fmt: skip
    """Rows of K by a walk along the bins, up to a factor for each bin; draw d is of row d mod rates."""
    found = symbol_walk(odds, data.y_pred, data.num_symbols, prior, stream(key, "rows of a metric"), draws)
    p = np.resize(prior, draws)[:, None]
    return np.stack([(1 - found.shares) / (1 - p), found.shares / p], axis=1)


def _learned(data: inputs.Inputs, num_draws: int, key: Key) -> Iterator[State]:
    """Error rates and prior are drawn too; scores inform them through four coarse bins."""
    labels, scored, number = data.own_labels(), data.symbols is not None, data.num_symbols
    coarse = min(_COARSE, number)
    rough = data.y_pred * coarse // number if scored else data.y_pred
    fit = fit_joint(labels, y_pred=rough, gold=data.some_gold, prior=data.prior,
                    key=stream(key, "rates of a metric"), num_symbols=coarse if scored else None)  # fmt: skip
    if not fit.usable:
        raise ValueError(fit.warnings[0])
    data.notes += fit.warnings
    if scored:
        odds, prior = odds_given_rates(fit, labels, data.gold, min(num_draws, _RATES))
        few, planned = len(odds), -(-num_draws // len(odds)) * len(odds)
        rows = _bin_rows(odds, data, prior, planned, key)[:num_draws]
        for k in range(few):
            # log p(z_i | c) prior[c] up to a factor for each sample
            yield np.stack([-np.logaddexp(0, odds[k]), -np.logaddexp(0, -odds[k])], axis=1), rows[k::few]
        return
    few = min(num_draws, len(fit.matrices))
    chosen = np.linspace(0, len(fit.matrices) - 1, few).astype(int)
    share = np.diff(np.linspace(0, num_draws, few + 1).astype(int))
    for place, draws in zip(chosen, share, strict=True):
        at = fit.matrix_draw[place]
        matrices = fit.matrices[place].astype(np.float64)
        log_p = labels_log_likelihood(matrices, *labels.arrays, labels.num_samples)
        log_p = known_classes(log_p, data.gold)
        rows = np.repeat(check.present(fit.classifier, "the classifier")[at][None], draws, axis=0)
        yield log_p + log(fit.prior[at])[None, :], rows


def _chunks(states: Iterator[State], symbols: np.ndarray) -> Iterator[Float[np.ndarray, "_ samples classes"]]:
    """log p(z_i | c) prior[c] K[c, symbol_i] of as many draws as memory is meant for, in equal pieces."""
    waiting: list[np.ndarray] = []
    for log_joint, rows in states:
        most = max(_AT_ONCE // log_joint.size, 1)
        for row in rows:
            waiting.append(log_joint + log(row)[:, symbols].T)
            if len(waiting) == most:
                yield np.stack(waiting)
                waiting = []
    if waiting:
        yield np.stack(waiting)


def _drawn(log_joint: np.ndarray, key: Key) -> Int[np.ndarray, "draws samples"]:
    """A class for every sample of every draw."""
    height = np.exp(log_joint - log_joint.max(axis=2, keepdims=True)).cumsum(axis=2)
    point = host_rng(key, "classes of a metric").random(log_joint.shape[:2]) * height[..., -1]
    return (height <= point[..., None]).sum(axis=2).astype(np.int32)
