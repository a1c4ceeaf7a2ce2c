"""Majority vote: the baseline that takes labels at face value.

Two readings of "the majority" are kept apart. `majority_vote` gives the share of a sample's votes that each
class received (three votes for class 1 out of five: .6), which is also where EM for Dawid-Skene starts.
`majority_winner` gives the class with the most votes; tied classes share it equally, so that an accuracy
computed from it counts a two-way tie as half right instead of depending on the order of the classes.
"""

import numpy as np
from jaxtyping import Array, Float, Int

from jtruth import _host
from jtruth._validation.in_range import check_codes
from jtruth.labels import Labels


def majority_vote(
    labels: Labels, *, gold: Int[Array | np.ndarray, " samples"] | None = None
) -> Float[np.ndarray, "samples classes"]:
    """Share of the votes for each class.

    Args:
        labels: the noisy labels; a labeler who labels a sample twice has two votes.
        gold: known classes, -1 where unknown. A known sample has share 1 at its class.

    Returns:
        Vote shares; rows sum to 1. A sample without any vote has equal shares.

    >>> from jtruth.labels import Labels
    >>> votes = Labels.from_matrix(np.array([[0, 1, 1, 1], [0, 1, -1, -1]]), 2)
    >>> print(majority_vote(votes))
    [[0.25 0.75]
     [0.5  0.5 ]]
    """
    return _clamp(_host.vote_shares(labels.counts()), gold)


def majority_winner(
    labels: Labels, *, gold: Int[Array | np.ndarray, " samples"] | None = None
) -> Float[np.ndarray, "samples classes"]:
    """The class with the most votes as a one-hot row; k tied classes get 1/k each.

    Arguments are those of `majority_vote`. Without any vote all classes are tied.
    """
    return _clamp(_host.majority(labels.counts()), gold)


def _clamp(shares, gold):
    """Rows with a known class become one-hot at it."""
    if gold is None:
        return shares
    check_codes(gold, shares.shape[1], "gold", size=shares.shape[0], missing=True)
    gold = np.asarray(gold)[:, None]
    return np.where(gold < 0, shares, (gold == np.arange(shares.shape[1])).astype(float))
