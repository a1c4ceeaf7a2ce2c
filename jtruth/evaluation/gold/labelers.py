"""Each labeler by gold: which share of the labels they gave is right, whatever labelers share.

Gold clamped into the joint posterior hardly moves it: the likelihood of all labels outweighs a few known
classes, and where labelers err together their accuracies stay wrong. Here gold corrects what the labels say
instead. A label is right with some probability by the labels alone; prediction-powered inference
(`jtruth.stats.ppi`) takes the mean of these over the labels of one labeler and adds the error that gold shows
on the labels whose truth is known. With fewer than five of these there is no spread to go by, and they are
counted: of the labels of unknown truth as many are right as a beta-binomial law says, after a uniform prior.

The share is that of the labels given, in these samples. Gold is taken to be a random part of all samples.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

from jtruth.evaluation.gold.pooled import PSEUDO_GOLD
from jtruth.labels import Labels
from jtruth.stats.ppi import gold_sample, ppi_mean
from jtruth.stats.regions import check_level

ESTIMAND = "share of the labels given that are right"
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
) -> list[RightShare | None]:
    """For each labeler the share of right labels; None for who gave no label of known truth.

    Args:
        labels: the labels of all.
        class_posterior: by labels alone, made without the gold.
        gold: (samples,) known classes, -1 where unknown.
        level: of the intervals.

    >>> labels = Labels.from_matrix(np.array([[0, 1], [0, 0], [1, 1]]), 2)
    >>> one, two = right_shares(labels, np.full((3, 2), 0.5), np.array([0, 0, 0]))
    >>> round(one.mean, 3), one.low == one.high, round(two.mean, 3)
    (0.667, True, 0.333)
    """
    check_level(level)
    sample, labeler, label = labels.arrays
    found = []
    for t in range(labels.num_labelers):
        own = np.flatnonzero((labeler == t) & (label >= 0))
        truth, guess = gold[sample[own]], class_posterior[sample[own], label[own]]
        known = truth >= 0
        right = (label[own] == truth)[known].astype(np.float64)
        if not right.size:
            found.append(None)
        elif right.size < _FEW:
            found.append(_counted(int(right.sum()), right.size, own.size, level))
        else:
            law = ppi_mean(right, guess, gold_sample(known), pseudo_gold=PSEUDO_GOLD).law
            low, high, _ = law.interval(level)
            found.append(RightShare(law.mean, float(low), float(high), right.size, PPI))
    return found


def _counted(right: int, known: int, size: int, level: float) -> RightShare:
    """Equal tails of (right + X)/size, X beta-binomial over the labels of unknown truth."""
    a, b = right + 1, known - right + 1
    if size == known:
        share = right / size
        return RightShare(share, share, share, known, COUNTED)
    law, tail = stats.betabinom(size - known, a, b), (1 - level) / 2
    low, high = law.ppf(tail), law.ppf(1 - tail)
    mean = (right + law.mean()) / size
    return RightShare(float(mean), float(right + low) / size, float(right + high) / size, known, COUNTED)
