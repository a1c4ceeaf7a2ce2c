"""Each labeler by gold: which share of the labels they gave is right, whatever labelers share.

Gold clamped into the joint posterior hardly moves it: the likelihood of all labels outweighs a few known
classes, and where labelers err together their accuracies stay wrong. Here gold corrects what the labels say
instead. A label is right with some probability by the labels alone; prediction-powered inference
(`jtruth.stats.ppi`) takes the mean of these over the labels of one labeler and adds the error that gold shows
on the labels whose truth is known. With fewer than five of these there is no spread to go by, and they are
counted: of the labels of unknown truth as many are right as a beta-binomial law says, after a uniform prior.

With five or more labels of known truth the law of PPI++ is also put together with what models fitted without
gold say (`pooled_shares`), as for a classifier (`jtruth.evaluation.gold.pooled`).

The share is that of the labels given, in these samples. Gold is taken to be a random part of all samples,
unless it is said how it was chosen.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth.evaluation.assumptions.missed import LABELS
from jtruth.evaluation.gold.measured import AT_RANDOM, POWER, GoldSampling
from jtruth.evaluation.gold.pooled import together
from jtruth.labels import Labels
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.ppi import gold_sample, ppi_mean
from jtruth.stats.predictive import opinion
from jtruth.stats.regions import check_level
from jtruth.stats.student import StudentEstimate

PPI, COUNTED = "PPI++", "gold counts"
_FEW = 5  # labels of known truth, below which they are counted


class RightShare(NamedTuple):
    """Which share of one labeler's labels is right."""

    mean: float
    low: float
    high: float
    num_gold: int  # labels whose truth is known
    rule: str  # "PPI++" or "gold counts"


def right_shares(
    labels: Labels,
    class_posterior: Float[np.ndarray, "samples classes"],
    gold: Int[np.ndarray, " samples"],
    level: float = 0.95,
    sampling: GoldSampling = AT_RANDOM,
) -> list[RightShare | None]:
    """For each labeler the share of right labels; None for who gave no label of known truth.

    Args:
        labels: the labels of all.
        class_posterior: by labels alone, made without the gold.
        gold: (samples,) known classes, -1 where unknown.
        level: of the intervals.
        sampling: how the gold samples were chosen.

    >>> labels = Labels.from_matrix(np.array([[0, 1], [0, 0], [1, 1]]), 2)
    >>> one, two = right_shares(labels, np.full((3, 2), 0.5), np.array([0, 0, 0]))
    >>> round(one.mean, 3), one.low == one.high, round(two.mean, 3)
    (0.667, True, 0.333)
    """
    check_level(level)
    found = []
    for one in _each(labels, class_posterior, gold, sampling):
        if not one.right.size:
            found.append(None)
        elif one.right.size < _FEW:
            found.append(_counted(int(one.right.sum()), one.right.size, one.guess.size, level))
        else:
            law = _measured(one)
            low, high, _ = law.interval(level)
            found.append(RightShare(law.mean, float(low), float(high), one.right.size, PPI))
    return found


def pooled_shares(
    draws: Mapping[str, Float[np.ndarray, "draws labelers"]],
    labels: Labels,
    class_posterior: Float[np.ndarray, "samples classes"],
    gold: Int[np.ndarray, " samples"],
    sampling: GoldSampling = AT_RANDOM,
) -> list[DrawsEstimate]:
    """For each labeler the law of the share of right labels, by models and gold together.

    Without gold it is what is to be expected if models err as they did on public data sets. Fewer than five
    labels of known truth are no measurement and leave it as it is.

    Args:
        draws: of the shares, by the name of the assumption, from fits without gold; NaN of whom it says
            nothing.
        labels, class_posterior, gold, sampling: as for `right_shares`.
    """
    found = []
    for t, one in enumerate(_each(labels, class_posterior, gold, sampling)):
        size = float(max(one.guess.size, 1))
        own = {name: values[:, t] for name, values in draws.items() if not np.isnan(values[:, t]).all()}
        said = {name: opinion(values, size) for name, values in own.items()}
        measured = _measured(one) if one.right.size >= _FEW else None
        found.append(together(said, LABELS, measured, (0.0, 1.0), size).law)
    return found


class _Labeler(NamedTuple):
    """One labeler's labels."""

    guess: np.ndarray  # (labels,) chance to be right by labels alone
    known: np.ndarray  # (labels,) whether the truth is
    right: np.ndarray  # (known labels,)
    inclusion: np.ndarray | None  # (labels,) the chance that their truth became known; None: alike


def _each(
    labels: Labels, class_posterior: np.ndarray, gold: np.ndarray, sampling: GoldSampling
) -> Iterator[_Labeler]:
    sample, labeler, label = labels.arrays
    chance = None
    if not sampling.unknown and (gold >= 0).any():  # strata too: of one labeler each may have no gold
        chosen = gold_sample(gold >= 0, **sampling._asdict())
        chance = np.full(gold.size, np.nan)
        chance[chosen.chosen] = chosen.inclusion
    for t in range(labels.num_labelers):
        own = np.flatnonzero((labeler == t) & (label >= 0))
        truth, guess = gold[sample[own]], class_posterior[sample[own], label[own]]
        known = truth >= 0
        asked = None if chance is None else chance[sample[own]]
        yield _Labeler(guess, known, (label[own] == truth)[known].astype(np.float64), asked)


def _measured(one: _Labeler) -> StudentEstimate:
    return ppi_mean(one.right, one.guess, gold_sample(one.known, inclusion=one.inclusion), power=POWER).law


def _counted(right: int, known: int, size: int, level: float) -> RightShare:
    """Equal tails of (right + X)/size, X beta-binomial over the labels of unknown truth."""
    a, b = right + 1, known - right + 1
    if size == known:
        share = right / size
        return RightShare(share, share, share, known, COUNTED)
    from scipy.stats import betabinom  # half a second to import, and only here

    law, tail = betabinom(size - known, a, b), (1 - level) / 2
    low, high = law.ppf(tail), law.ppf(1 - tail)
    mean = (right + law.mean()) / size
    return RightShare(float(mean), float(right + low) / size, float(right + high) / size, known, COUNTED)
