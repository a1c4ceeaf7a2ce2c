"""The symmetric channel of Su (57) and (59): wrong with probability eps, all wrong classes equally likely.

`Symmetric` and `DifficultyFallibility` differ only in where eps comes from. Both functions are compiled as
a whole: run operation by operation, a million labels take ten times as long.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from jtruth._arrays import safe_log, safe_log1m
from jtruth.labels import Labels
from jtruth.noise.base import sum_over_labels, uniform_numbers


@partial(jax.jit, static_argnames="num_classes")
def channel_log_likelihood(
    error: Float[Array, " labels"], labels: Labels, num_classes: int
) -> Float[Array, "samples classes"]:
    """Su (58)-(59): log-likelihood of every class, given the error probability of every label."""
    log_right = safe_log1m(error)
    log_wrong = safe_log(error) - math.log(num_classes - 1)
    classes = jnp.arange(num_classes, dtype=jnp.asarray(labels.label).dtype)
    right = jnp.asarray(labels.label)[:, None] == classes[None, :]
    return sum_over_labels(jnp.where(right, log_right[:, None], log_wrong[:, None]), labels)


@partial(jax.jit, static_argnames="num_classes")
def channel_sample(
    key: PRNGKeyArray,
    y: Int[Array, " samples"],
    mask: Bool[Array, "samples labelers"],
    error: Float[Array, "*cells"],
    num_classes: int,
) -> Int[Array, "samples labelers"]:
    """Draw labels by (59): a wrong label is the class moved on by 1..C-1 places, all equally likely.

    One error may stand for all cells, or each labeler have its own.
    """
    key_error, key_class = jax.random.split(key)
    wrong = uniform_numbers(key_error, mask.shape, error.dtype) < jnp.broadcast_to(error, mask.shape)
    if num_classes == 2:  # there is only one wrong class
        shift = jnp.ones((), jnp.int32)
    else:
        shift = jax.random.randint(key_class, mask.shape, 1, num_classes, dtype=jnp.int32)
    z = jnp.where(wrong, (y[:, None] + shift) % num_classes, y[:, None])
    return jnp.where(mask, z, -1)


def channel_matrices(error: Float[np.ndarray, "*shape"], num_classes: int) -> np.ndarray:
    """(57) for C classes: (*shape, classes, classes) of errors (*shape,), float64 on the host."""
    wrong = error[..., None, None] / (num_classes - 1)
    return np.where(np.eye(num_classes, dtype=bool), 1.0 - error[..., None, None], wrong)
