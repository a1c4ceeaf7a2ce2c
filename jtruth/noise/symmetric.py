"""Symmetric noise: one error probability for every sample (Su 3.6 and 4.1, equation (57)).

For two classes and one labeler this is the binary symmetric channel, for several labelers the binary
symmetric broadcast channel; for C classes a labeler errs with probability eps and then names each of the
C - 1 wrong classes with probability eps / (C - 1).

The symmetric channel of Su (57) and (59): wrong with probability eps, all wrong classes equally likely.

`Symmetric` and `DifficultyFallibility` differ only in where eps comes from. Both functions are compiled as
a whole: run operation by operation, a million labels take ten times as long.
"""

import math
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from jtruth._arrays import safe_log, safe_log1m
from jtruth._validation.in_range import check_probabilities, check_whole
from jtruth.labels import Labels
from jtruth.noise.base import (
    Given,
    Mask,
    NoiseModel,
    Strata,
    Truth,
    as_parameter,
    check_ndim,
    check_sizes,
    current,
    one_stratum,
    per_labeler,
    sum_over_labels,
    uniform_numbers,
)


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


class Symmetric(NoiseModel):
    """Symmetric channel: `error` is one probability for all labelers, or one for each labeler.

    An error above (C - 1) / C is allowed: such a labeler is worse than chance, hence informative.

    Args:
        error: probability of a wrong label, a number or (labelers,), in [0, 1].
        num_classes: number of classes C.

    Raises:
        ValueError: an error outside [0, 1], more than one axis, or fewer than two classes.

    Example:
        >>> import numpy as np
        >>> from jtruth.labels import Labels
        >>> from jtruth.noise import Symmetric
        >>> labels = Labels.from_matrix(np.array([[1, 1], [0, -1]]), num_classes=2)
        >>> print(np.exp(Symmetric(.1, 2).log_likelihood(labels)).round(3))
        [[0.01 0.81]
         [0.9  0.1 ]]
    """

    error: Float[Array | np.ndarray, "*labelers"]
    num_classes: int = eqx.field(static=True)

    def __init__(self, error, num_classes: int):
        # Runs only where a model is constructed, never when JAX rebuilds one (see base.py).
        check_whole(2, num_classes=num_classes)
        self.num_classes = int(num_classes)
        self.error = as_parameter(error, "error")
        check_ndim(self.error, "error", (0, 1), "() or (labelers,)")
        check_probabilities(self.error, "error")

    def log_likelihood(self, labels: Labels) -> Float[Array, "samples classes"]:
        """Su (57)-(58). ValueError if `labels` has other numbers of classes or labelers."""
        check_sizes("classes", labels.num_classes, self.num_classes, "num_classes")
        (error,) = current(self.error)
        if error.ndim == 1:
            check_sizes("labelers", labels.num_labelers, error.shape[0], "error")
        return _log_likelihood(error, labels, self.num_classes)

    def sample(self, key: PRNGKeyArray, y: Truth, mask: Mask) -> Given:
        """Draw labels for samples of class `y`; -1 where `mask` is False."""
        y, mask = jnp.asarray(y, jnp.int32), jnp.asarray(mask)
        (error,) = current(self.error)
        if error.ndim == 1:
            check_sizes("labelers", mask.shape[1], error.shape[0], "error")
        return channel_sample(key, y, mask, error, self.num_classes)

    @property
    def num_labelers(self) -> int | None:
        """Number of labelers T; None if one error stands for all."""
        return self.error.shape[0] if self.error.ndim else None

    def scaled(self, factor: float) -> "Symmetric":
        """The error times `factor`, at most 1."""
        return Symmetric(np.minimum(np.asarray(self.error, np.float64) * factor, 1.0), self.num_classes)

    def strata(self, num_labelers: int | None) -> Strata:
        """Independent labelers."""
        return one_stratum(channel_matrices(per_labeler(self.error, num_labelers, "error"), self.num_classes))


@partial(jax.jit, static_argnames="num_classes")
def _log_likelihood(
    error: Float[Array, "*labelers"], labels: Labels, num_classes: int
) -> Float[Array, "samples classes"]:
    """(58) with the error of every label's labeler, compiled as a whole."""
    shape = jnp.shape(labels.label)
    of_label = error[jnp.asarray(labels.labeler)] if error.ndim else jnp.broadcast_to(error, shape)
    return channel_log_likelihood(of_label, labels, num_classes)
