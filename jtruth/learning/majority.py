"""Majority vote: the baseline that takes labels at face value.

Two readings of "the majority" are kept apart. `majority_vote` gives the share of a sample's votes that each
class received (three votes for class 1 out of five: .6), which is also where EM for Dawid-Skene starts.
`majority_winner` gives the class with the most votes; tied classes share it equally, so that an accuracy
computed from it counts a two-way tie as half right instead of depending on the order of the classes.
`fit_majority_vote` is the first reading, with the face of all consensus methods (`jtruth.learning.methods`).
"""

from typing import Any

import numpy as np
from jaxtyping import Array, Float, Int

from jtruth import _host
from jtruth._validation.in_range import check_codes
from jtruth.labels import Labels
from jtruth.learning._fit import Fit, clamp, read_given


def fit_majority_vote(labels: Labels, *, key: Any = None, gold: Any = None, prior: Any = None) -> Fit:
    """`majority_vote` with the face of a fit: nothing says how sure the shares are.

    Args:
        labels: the noisy labels.
        key: has no say: nothing is drawn.
        gold: (samples,) known classes, -1 where unknown.
        prior: refused: votes have no prior.

    Raises:
        ValueError: input that cannot be used, or a prior.

    >>> from jtruth.labels import Labels
    >>> print(fit_majority_vote(Labels.from_matrix(np.array([[0, 1, 1, 1], [0, 1, -1, -1]]), 2)).prior)
    [0.375 0.625]
    """
    known, prior = read_given(labels, gold, prior)
    if prior is not None:
        raise ValueError(
            "majority vote has no use for a class prior; leave prior out, or choose another method"
        )
    shares = clamp(_host.vote_shares(labels.counts()), known)
    none = np.count_nonzero((labels.labels_per_sample() == 0) & (known < 0))
    doubts = (f"{none} samples have no label; every class has the same share there.",) if none else ()
    return Fit(shares.mean(axis=0), shares, float("nan"), warnings=doubts)


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
    return clamp(shares, np.asarray(gold))
