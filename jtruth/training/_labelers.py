"""Confusion matrices of labelers from classes that are known, predicted, or probable."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jtruth.labels import Labels
from jtruth.training._inputs import check_not_negative


def check_pseudo_counts(pseudo_counts: Any) -> None:
    """Two numbers that are not negative: of the diagonal, and of every other entry."""
    if np.shape(pseudo_counts) != (2,):
        raise ValueError(f"pseudo_counts must be two numbers, (diagonal, other); got {pseudo_counts!r}")
    check_not_negative(pseudo_counts, "pseudo_counts")


def counted_matrices(
    labels: Labels, weights: Float[Array, "samples classes"], pseudo_counts: Float[Array, " 2"]
) -> Float[Array, "labelers classes classes"]:
    """Expected counts of (true, given) labels plus pseudo-counts (diagonal, other), as rows that sum to 1.

    Rows of zero counts are uniform.
    """
    classes = labels.num_classes
    label = jnp.asarray(labels.label)
    given = jnp.where((label >= 0)[:, None], weights[jnp.asarray(labels.sample)], 0)
    counts = jnp.zeros((labels.num_labelers, classes, classes), weights.dtype)
    counts = counts.at[jnp.asarray(labels.labeler), jnp.maximum(label, 0)].add(given).swapaxes(1, 2)
    counts = counts + pseudo_matrix(classes, pseudo_counts)[None]
    total = counts.sum(axis=2, keepdims=True)
    return jnp.where(total > 0, counts / jnp.where(total > 0, total, 1), 1 / classes)


def pseudo_matrix(num_classes: int, pseudo_counts: Float[Array, " 2"]) -> Array:
    """(classes, classes): the first on the diagonal, the second elsewhere."""
    right = jnp.eye(num_classes, dtype=bool)
    return jnp.where(right, pseudo_counts[0], pseudo_counts[1])
