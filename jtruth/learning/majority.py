"""Majority vote: the baseline that takes labels at face value.

Two readings of "the majority" are kept apart. `majority_vote` gives the share of a sample's votes that each
class received (three votes for class 1 out of five: .6), which is also where EM for Dawid-Skene starts.
`majority_winner` gives the class with the most votes; tied classes share it equally, so that an accuracy
computed from it counts a two-way tie as half right instead of depending on the order of the classes.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jtruth._validation.in_range import check_codes
from jtruth.labels import Labels


def count_votes(labels: Labels) -> Float[Array, "samples classes"]:
    """Number of labels that each sample received in each class; missing labels (-1) count nowhere."""
    sample, label = jnp.asarray(labels.sample), jnp.asarray(labels.label)
    column = jnp.where(label >= 0, label, labels.num_classes)  # -1 would be the last class: send it outside
    votes = jnp.zeros((labels.num_samples, labels.num_classes))
    return votes.at[sample, column].add(1.0, mode="drop")


def majority_vote(
    labels: Labels, *, gold: Int[Array | np.ndarray, " samples"] | None = None
) -> Float[Array, "samples classes"]:
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
    votes = count_votes(labels)
    total = votes.sum(axis=1, keepdims=True)
    shares = jnp.where(total > 0, votes / jnp.maximum(total, 1.0), 1.0 / labels.num_classes)
    return _clamp(shares, gold)


def majority_winner(
    labels: Labels, *, gold: Int[Array | np.ndarray, " samples"] | None = None
) -> Float[Array, "samples classes"]:
    """The class with the most votes as a one-hot row; k tied classes get 1/k each.

    Arguments are those of `majority_vote`. Without any vote all classes are tied.
    """
    votes = count_votes(labels)
    top = (votes == votes.max(axis=1, keepdims=True)).astype(votes.dtype)
    return _clamp(top / top.sum(axis=1, keepdims=True), gold)


def _clamp(shares, gold):
    """Rows with a known class become one-hot at it."""
    if gold is None:
        return shares
    check_codes(gold, shares.shape[1], "gold", size=shares.shape[0], missing=True)
    gold = jnp.asarray(gold)
    known = (gold[:, None] == jnp.arange(shares.shape[1], dtype=gold.dtype)[None, :]).astype(shares.dtype)
    return jnp.where((gold >= 0)[:, None], known, shares)
