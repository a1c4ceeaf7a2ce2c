"""Even errors: a label is wrong with probability eps, and all wrong classes are equally likely.

Su (57) and (59). `Symmetric` has one eps for all samples (Su 3.6 and 4.1); each of the C - 1 wrong classes
has probability eps / (C - 1).

`DifficultyFallibility` is the model of Su 5.1.2. Every sample i has a difficulty delta_i and every labeler t
a fallibility phi_t, both in [0, 1], and

    eps(delta, phi) = (delta + phi - delta phi) (C - 1) / C.                                            (60)

With delta = phi = 0 the label is certain; with delta = 1 or phi = 1 it is a uniform draw over the C classes.
"""

import abc
import math
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from jtruth._arrays import AnyArray, safe_log, safe_log1m
from jtruth._random import Key, as_key
from jtruth._validation.in_range import check_whole
from jtruth.labels import Labels
from jtruth.noise import base


class EvenErrors(base.NoiseModel):
    """A model with a probability of error for every sample and labeler."""

    num_classes: eqx.AbstractVar[int]
    axes: ClassVar[dict[str, str]]  # name of a parameter -> "samples" or "labelers": it has as many, or one

    @abc.abstractmethod
    def at(self, sample: Int[Array, "*cells"], labeler: Int[Array, "*cells"]) -> Float[Array, "*cells"]:
        """Probability of a wrong label by the labeler on the sample; one number where all are equal."""

    @property
    def num_labelers(self) -> int | None:
        """Number of labelers T; None where one number is that of all."""
        parameters = [getattr(self, name) for name, what in self.axes.items() if what == "labelers"]
        return parameters[0].shape[0] if parameters[0].ndim else None

    def check_fits(self, num_samples: int, num_labelers: int) -> None:
        """ValueError if parameters are for other numbers of samples or labelers."""
        size = {"samples": num_samples, "labelers": num_labelers}
        for name, what in self.axes.items():
            if (parameter := getattr(self, name)).ndim == 1:
                base.check_sizes(what, size[what], parameter.shape[0], name)

    def log_likelihood(self, labels: base.Given) -> Float[Array, "samples classes"]:
        """Su (58)-(59). ValueError if `labels` has other sizes than the model, or wrong codes."""
        labels = base.as_entries(labels, self.num_classes)
        base.check_sizes("classes", labels.num_classes, self.num_classes, "num_classes")
        self.check_fits(labels.num_samples, labels.num_labelers)
        return _log_likelihood(base.as_current(self), labels)

    def sample(self, key: Key, y: base.Truth, mask: base.Mask) -> base.DrawnLabels:
        """Draw labels for samples of class `y`; -1 where `mask` is False."""
        y, mask = base.as_asked(y, mask, self.num_classes)
        self.check_fits(*mask.shape)
        return _sample(base.as_current(self), as_key(key), y, mask)


@jax.jit
def _log_likelihood(model: EvenErrors, labels: Labels) -> Float[Array, "samples classes"]:
    """Log-likelihood of every class, from the error probability of every label."""
    sample, labeler, label = (jnp.asarray(part) for part in (labels.sample, labels.labeler, labels.label))
    error = jnp.broadcast_to(model.at(sample, labeler), label.shape)
    log_right = safe_log1m(error)
    log_wrong = safe_log(error) - math.log(model.num_classes - 1)
    every = jnp.arange(model.num_classes, dtype=label.dtype)
    right = label[..., None] == every.reshape(*[1] * label.ndim, -1)
    return base.sum_over_labels(jnp.where(right, log_right[..., None], log_wrong[..., None]), labels)


@jax.jit
def _sample(
    model: EvenErrors, key: PRNGKeyArray, y: Int[Array, " samples"], mask: Bool[Array, "samples labelers"]
) -> Int[Array, "samples labelers"]:
    """Draw labels by (59): a wrong label is the class moved on by 1..C-1 places, all equally likely."""
    key_error, key_class = jax.random.split(key)
    error = jnp.broadcast_to(model.at(*jnp.indices(mask.shape)), mask.shape)
    wrong = base.uniform_numbers(key_error, mask.shape, error.dtype) < error
    if model.num_classes == 2:  # there is only one wrong class
        shift = jnp.ones((), jnp.int32)
    else:
        shift = jax.random.randint(key_class, mask.shape, 1, model.num_classes, dtype=jnp.int32)
    z = jnp.where(wrong, (y[:, None] + shift) % model.num_classes, y[:, None])
    return jnp.where(mask, z, -1)


def _picked(parameter: AnyArray, index: Array) -> AnyArray:
    """The entries at an index, or the one number for all."""
    return parameter[index] if parameter.ndim else parameter


def labeling_error(
    difficulty: Float[AnyArray, "*shape"], fallibility: Float[AnyArray, "*shape"], num_classes: int
) -> Float[AnyArray, "*shape"]:
    """Su (60): probability of a wrong label; the arrays have one shape."""
    return (difficulty + fallibility * (1 - difficulty)) * ((num_classes - 1) / num_classes)


def channel_matrices(error: Float[np.ndarray, "*shape"], num_classes: int) -> np.ndarray:
    """(57) for C classes: (*shape, classes, classes) of errors (*shape,), float64 on the host."""
    wrong = error[..., None, None] / (num_classes - 1)
    return np.where(np.eye(num_classes, dtype=bool), 1.0 - error[..., None, None], wrong)


class Symmetric(EvenErrors):
    """Symmetric channel: `error` is one probability for all labelers, or one for each labeler.

    An error above (C - 1) / C is allowed: such a labeler is worse than chance, hence informative.

    Args:
        error: probability of a wrong label, a number or (labelers,), in [0, 1].
        num_classes: number of classes C.

    Raises:
        ValueError: an error outside [0, 1], more than one axis, or fewer than two classes.

    >>> labels = Labels.from_matrix(np.array([[1, 1], [0, -1]]), num_classes=2)
    >>> print(np.exp(Symmetric(.1, 2).log_likelihood(labels)).round(3))
    [[0.01 0.81]
     [0.9  0.1 ]]
    """

    axes: ClassVar[dict[str, str]] = {"error": "labelers"}
    error: Float[AnyArray, "*labelers"]
    num_classes: int = eqx.field(static=True)

    def __init__(self, error, num_classes: int):
        check_whole(2, num_classes=num_classes)
        self.num_classes = int(num_classes)
        self.error = base.as_probabilities(error, "error", "labelers")

    def at(self, sample: Array, labeler: Array) -> Float[Array, "*cells"]:
        """The error of the labeler."""
        return jnp.asarray(_picked(self.error, labeler))

    def scaled(self, factor: float) -> "Symmetric":
        """The error times `factor`, at most 1."""
        return Symmetric(np.minimum(np.asarray(self.error, np.float64) * factor, 1.0), self.num_classes)

    def strata(self, num_labelers: int | None) -> base.Strata:
        """Independent labelers."""
        return base.one_stratum(
            channel_matrices(base.per_labeler(self.error, num_labelers, "error"), self.num_classes)
        )


class DifficultyFallibility(EvenErrors):
    """Su (59)-(60): conditionally independent labelers, errors from difficulty and fallibility.

    Args:
        difficulty: delta, (samples,) in [0, 1]; or one number for all samples.
        fallibility: phi, (labelers,) in [0, 1]; or one number for all labelers.
        num_classes: number of classes C.

    Raises:
        ValueError: an entry outside [0, 1], a wrong number of axes, or fewer than two classes.

    >>> labels = Labels.from_matrix(np.array([[1, -1], [0, 1]]), num_classes=2)
    >>> model = DifficultyFallibility([.1, .2], [.2, .3], 2)
    >>> print(np.exp(model.log_likelihood(labels)).round(4))
    [[0.14   0.86  ]
     [0.1804 0.1404]]
    """

    axes: ClassVar[dict[str, str]] = {"difficulty": "samples", "fallibility": "labelers"}
    difficulty: Float[AnyArray, "*samples"]
    fallibility: Float[AnyArray, "*labelers"]
    num_classes: int = eqx.field(static=True)

    def __init__(self, difficulty, fallibility, num_classes: int):
        check_whole(2, num_classes=num_classes)
        self.num_classes = int(num_classes)
        self.difficulty = base.as_probabilities(difficulty, "difficulty", "samples")
        self.fallibility = base.as_probabilities(fallibility, "fallibility", "labelers")

    @property
    def hardness(self) -> Float[np.ndarray, " samples"] | None:
        """The difficulty of each sample; None if there is one for all."""
        return np.asarray(self.difficulty, np.float64) if np.size(self.difficulty) > 1 else None

    def scaled(self, factor: float) -> "DifficultyFallibility":
        """Fallibility times `factor`, at most 1; samples are as difficult."""
        fallibility = np.minimum(np.asarray(self.fallibility, np.float64) * factor, 1.0)
        return DifficultyFallibility(self.difficulty, fallibility, self.num_classes)

    def strata(self, num_labelers: int | None) -> base.Strata:
        """One stratum for each difficulty that occurs, known for each sample if there are several."""
        fallibility = base.per_labeler(self.fallibility, num_labelers, "fallibility")
        delta, of_sample, count = np.unique(
            np.asarray(self.difficulty, np.float64).ravel(), return_inverse=True, return_counts=True
        )
        difficult, fallible = np.broadcast_arrays(delta[:, None], fallibility[None, :])
        weights = np.repeat((count / count.sum())[:, None], self.num_classes, axis=1)
        error = np.asarray(labeling_error(difficult, fallible, self.num_classes))
        rows = channel_matrices(error, self.num_classes)
        return base.Strata(rows, weights, of_sample.ravel() if delta.size > 1 else None)

    def at(self, sample: Array, labeler: Array) -> Float[Array, "*cells"]:
        """Su (60) for the sample and the labeler."""
        difficulty, fallibility = _picked(self.difficulty, sample), _picked(self.fallibility, labeler)
        difficulty, fallibility = jnp.broadcast_arrays(difficulty, fallibility)
        return jnp.asarray(labeling_error(difficulty, fallibility, self.num_classes))
