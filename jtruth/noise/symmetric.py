"""Symmetric noise: one error probability for every sample (Su 3.6 and 4.1, equation (57)).

For two classes and one labeler this is the binary symmetric channel, for several labelers the binary
symmetric broadcast channel; for C classes a labeler errs with probability eps and then names each of the
C - 1 wrong classes with probability eps / (C - 1).
"""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from jtruth._validation.in_range import check_probabilities
from jtruth.labels import Labels
from jtruth.noise._symmetric_channel import channel_log_likelihood, channel_matrices, channel_sample
from jtruth.noise.base import Given, Mask, NoiseModel, Strata, Truth, check_sizes, one_stratum, per_labeler
from jtruth.noise.parameters import as_parameter, check_ndim, check_num_classes, current


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
        # Runs only where a model is constructed, never when JAX rebuilds one (see parameters.py).
        self.num_classes = check_num_classes(num_classes)
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
