"""The difficulty-fallibility model of Su 5.1.2: equations (59) and (60).

Every sample i has a difficulty delta_i and every labeler t a fallibility phi_t, both in [0, 1]. A label is
wrong with probability

    eps(delta, phi) = (delta + phi - delta phi) (C - 1) / C,

and then each wrong class is equally likely. With delta = phi = 0 the label is certain; with delta = 1 or
phi = 1 it is a uniform draw over the C classes. A constant worst-case error eps0 is delta = 0 and
phi = C eps0 / (C - 1).
"""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

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
    per_labeler,
)
from jtruth.noise.symmetric import channel_log_likelihood, channel_matrices, channel_sample


def labeling_error(
    difficulty: Float[Array, "*shape"], fallibility: Float[Array, "*shape"], num_classes: int
) -> Float[Array, "*shape"]:
    """Su (60): probability of a wrong label; the arrays have one shape."""
    return (difficulty + fallibility * (1 - difficulty)) * ((num_classes - 1) / num_classes)


class DifficultyFallibility(NoiseModel):
    """Su (59)-(60): conditionally independent labelers, errors from difficulty and fallibility.

    Args:
        difficulty: delta, (samples,) in [0, 1]; or one number for all samples.
        fallibility: phi, (labelers,) in [0, 1]; or one number for all labelers.
        num_classes: number of classes C.

    Raises:
        ValueError: an entry outside [0, 1], a wrong number of axes, or fewer than two classes.

    Example:
        >>> import numpy as np
        >>> from jtruth.labels import Labels
        >>> from jtruth.noise import DifficultyFallibility
        >>> labels = Labels.from_matrix(np.array([[1, -1], [0, 1]]), num_classes=2)
        >>> model = DifficultyFallibility([.1, .2], [.2, .3], 2)
        >>> print(np.exp(model.log_likelihood(labels)).round(4))
        [[0.14   0.86  ]
         [0.1804 0.1404]]
    """

    difficulty: Float[Array | np.ndarray, "*samples"]
    fallibility: Float[Array | np.ndarray, "*labelers"]
    num_classes: int = eqx.field(static=True)

    def __init__(self, difficulty, fallibility, num_classes: int):
        # Runs only where a model is constructed, never when JAX rebuilds one (see base.py).
        check_whole(2, num_classes=num_classes)
        self.num_classes = int(num_classes)
        self.difficulty = as_parameter(difficulty, "difficulty")
        self.fallibility = as_parameter(fallibility, "fallibility")
        check_ndim(self.difficulty, "difficulty", (0, 1), "() or (samples,)")
        check_ndim(self.fallibility, "fallibility", (0, 1), "() or (labelers,)")
        check_probabilities(self.difficulty, "difficulty")
        check_probabilities(self.fallibility, "fallibility")

    @property
    def num_labelers(self) -> int | None:
        """Number of labelers T; None if one fallibility stands for all."""
        return self.fallibility.shape[0] if self.fallibility.ndim else None

    @property
    def hardness(self) -> Float[np.ndarray, " samples"] | None:
        """The difficulty of each sample; None if one stands for all."""
        return np.asarray(self.difficulty, np.float64) if np.size(self.difficulty) > 1 else None

    def scaled(self, factor: float) -> "DifficultyFallibility":
        """Fallibility times `factor`, at most 1; samples are as difficult."""
        fallibility = np.minimum(np.asarray(self.fallibility, np.float64) * factor, 1.0)
        return DifficultyFallibility(self.difficulty, fallibility, self.num_classes)

    def strata(self, num_labelers: int | None) -> Strata:
        """One stratum for each difficulty that occurs, known for each sample where there are several."""
        fallibility = per_labeler(self.fallibility, num_labelers, "fallibility")
        delta, of_sample, count = np.unique(
            np.asarray(self.difficulty, np.float64).ravel(), return_inverse=True, return_counts=True
        )
        both = np.broadcast_arrays(delta[:, None], fallibility[None, :])
        with jax.enable_x64(True):
            error = np.asarray(labeling_error(jnp.asarray(both[0]), jnp.asarray(both[1]), self.num_classes))
        weights = np.repeat((count / count.sum())[:, None], self.num_classes, axis=1)
        rows = channel_matrices(error, self.num_classes)
        return Strata(rows, weights, of_sample.ravel() if delta.size > 1 else None)

    def log_likelihood(self, labels: Labels) -> Float[Array, "samples classes"]:
        """Su (58)-(60), (61). ValueError if `labels` has other numbers of samples, labelers or classes."""
        check_sizes("classes", labels.num_classes, self.num_classes, "num_classes")
        difficulty, fallibility = self._vectors(labels.num_samples, labels.num_labelers)
        return _log_likelihood(difficulty, fallibility, labels, self.num_classes)

    def sample(self, key: PRNGKeyArray, y: Truth, mask: Mask) -> Given:
        """Draw labels for samples of class `y`; -1 where `mask` is False."""
        y, mask = jnp.asarray(y, jnp.int32), jnp.asarray(mask)
        difficulty, fallibility = self._vectors(*mask.shape)
        error = _error_of_cells(difficulty, fallibility, *mask.shape, self.num_classes)
        return channel_sample(key, y, mask, error, self.num_classes)

    def _vectors(
        self, num_samples: int, num_labelers: int
    ) -> tuple[Float[Array, "*samples"], Float[Array, "*labelers"]]:
        """Difficulty and fallibility in the current dtype, of each or one for all."""
        difficulty, fallibility = current(self.difficulty, self.fallibility)
        if difficulty.ndim == 1:
            check_sizes("samples", num_samples, difficulty.shape[0], "difficulty")
        if fallibility.ndim == 1:
            check_sizes("labelers", num_labelers, fallibility.shape[0], "fallibility")
        return difficulty, fallibility


@partial(jax.jit, static_argnames="num_classes")
def _log_likelihood(
    difficulty: Float[Array, "*samples"],
    fallibility: Float[Array, "*labelers"],
    labels: Labels,
    num_classes: int,
) -> Float[Array, "samples classes"]:
    """(58) with (60) for every label that was given, compiled as a whole."""
    of_sample = jnp.broadcast_to(difficulty, (labels.num_samples,))[jnp.asarray(labels.sample)]
    of_labeler = jnp.broadcast_to(fallibility, (labels.num_labelers,))[jnp.asarray(labels.labeler)]
    return channel_log_likelihood(labeling_error(of_sample, of_labeler, num_classes), labels, num_classes)


@partial(jax.jit, static_argnames=("num_samples", "num_labelers", "num_classes"))
def _error_of_cells(
    difficulty: Float[Array, "*samples"],
    fallibility: Float[Array, "*labelers"],
    num_samples: int,
    num_labelers: int,
    num_classes: int,
) -> Float[Array, "{num_samples} {num_labelers}"]:
    """(60) for every sample and labeler."""
    shape = (num_samples, num_labelers)
    of_sample = jnp.broadcast_to(difficulty[:, None] if difficulty.ndim else difficulty, shape)
    return labeling_error(of_sample, jnp.broadcast_to(fallibility, shape), num_classes)
