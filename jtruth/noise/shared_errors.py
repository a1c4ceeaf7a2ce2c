"""Dependent labelers: some labels of a sample are copies of one shared draw.

Every sample of class y has ONE shared draw s ~ q(. | y), for instance what the image seems to show. Labeler t
reports s with probability r_t, and otherwise draws from its own confusion matrix psi_t (Su 5.1.2 names such
models):

    p(z | y) = sum_s q(s | y) prod_t [ r_t 1(z_t = s) + (1 - r_t) psi_t(z_t | y) ].

With r = 0 this is `ConfusionMatrices`. With r = 1 many labels are worth exactly one.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from jtruth._arrays import safe_log
from jtruth._random import Key, as_key
from jtruth._validation.in_range import check_probabilities
from jtruth.labels import Labels
from jtruth.noise.base import (
    Given,
    Mask,
    NoiseModel,
    Strata,
    Truth,
    as_current,
    as_parameter,
    check_matrix_rows,
    check_ndim,
    check_sizes,
    draw_rows,
    scale_errors,
    sum_over_labels,
)
from jtruth.noise.confusion_matrices import check_matrices


class SharedErrors(NoiseModel):
    """Labelers that copy a shared draw of the sample with probability `copying`.

    Args:
        matrices: psi, (labelers, classes, classes): what a labeler reports when it does not copy; rows =
            true class, rows sum to 1.
        shared: q, (classes, classes): law of the shared draw given the true class, rows sum to 1.
        copying: r, a number or (labelers,), in [0, 1].

    Raises:
        ValueError: wrong shapes, entries outside [0, 1], or a row that does not sum to 1.

    >>> good = [[.9, .1], [.1, .9]]
    >>> labels = Labels.from_matrix(np.array([[1, 1]]), num_classes=2)
    >>> for r in (0., .5, 1.):
    ...     model = SharedErrors([good, good], good, r)
    ...     print(np.exp(model.log_likelihood(labels)).round(4))
    [[0.01 0.81]]
    [[0.0325 0.8325]]
    [[0.1 0.9]]
    """

    matrices: Float[Array | np.ndarray, "labelers classes classes"]
    shared: Float[Array | np.ndarray, "classes classes"]
    copying: Float[Array | np.ndarray, "*labelers"]

    def __init__(self, matrices, shared, copying):
        # Runs only where a model is constructed, never when JAX rebuilds one (see base.py).
        self.matrices = check_matrices(matrices, "matrices")
        self.shared = as_parameter(shared, "shared")
        self.copying = as_parameter(copying, "copying")
        if self.shared.shape != self.matrices.shape[1:]:
            raise ValueError(
                f"shared must have shape (classes, classes), here {self.matrices.shape[1:]}, "
                f"got {self.shared.shape}"
            )
        check_matrix_rows(self.shared, "shared", shared)
        check_ndim(self.copying, "copying", (0, 1), "() or (labelers,)")
        check_probabilities(self.copying, "copying")
        if self.copying.ndim == 1 and self.copying.shape[0] != self.matrices.shape[0]:
            raise ValueError(
                f"copying has {self.copying.shape[0]} entries but matrices is for {self.matrices.shape[0]} "
                "labelers; give one probability per labeler, or one number"
            )

    @property
    def num_classes(self) -> int:
        """Number of classes C."""
        return self.matrices.shape[-1]

    @property
    def num_labelers(self) -> int:
        """Number of labelers T."""
        return self.matrices.shape[0]

    def scaled(self, factor: float) -> "SharedErrors":
        """Errors of the labelers and of the shared draw times `factor`; they copy as often."""
        own, shared = (scale_errors(np.asarray(a, np.float64), factor) for a in (self.matrices, self.shared))
        return SharedErrors(own, shared, self.copying)

    def strata(self, num_labelers: int | None) -> Strata:
        """One stratum for each value of the shared draw, seen by nobody."""
        matrices, shared = (np.asarray(x, np.float64) for x in (self.matrices, self.shared))
        copying = np.broadcast_to(np.asarray(self.copying, np.float64), matrices.shape[:1])[:, None, None]
        copied = np.eye(shared.shape[0])[:, None, None, :]  # (strata, 1, 1, symbols)
        return Strata(copying * copied + (1 - copying) * matrices[None], shared.T.copy())

    def log_likelihood(self, labels: Labels) -> Float[Array, "samples classes"]:
        """The sum over the shared draw above. ValueError if `labels` has other sizes."""
        check_sizes("classes", labels.num_classes, self.num_classes, "matrices")
        check_sizes("labelers", labels.num_labelers, self.num_labelers, "matrices")
        return _log_likelihood(as_current(self), labels)

    def sample(self, key: Key, y: Truth, mask: Mask) -> Given:
        """Draw labels for samples of class `y`; -1 where `mask` is False."""
        y, mask = jnp.asarray(y, jnp.int32), jnp.asarray(mask)
        check_sizes("labelers", mask.shape[1], self.num_labelers, "matrices")
        return _sample(as_current(self), as_key(key), y, mask)


@jax.jit
def _log_likelihood(model: SharedErrors, labels: Labels) -> Float[Array, "samples classes"]:
    """Log of the sum over the shared draw, one pass over the labels for each value of it to save memory."""
    labeler, label = jnp.asarray(labels.labeler), jnp.asarray(labels.label)
    copies = jnp.broadcast_to(model.copying, (model.num_labelers,))[labeler]
    own = (1 - copies)[:, None] * jnp.swapaxes(model.matrices, 1, 2)[labeler, label]  # (labels, classes)

    def given_shared(s):
        copied = jnp.where(label == s, copies, 0.0)
        return sum_over_labels(safe_log(own + copied[:, None]), labels)

    parts = jax.lax.map(given_shared, jnp.arange(model.num_classes, dtype=label.dtype))
    return _log_sum_exp(parts + safe_log(model.shared.T)[:, None, :])


@jax.jit
def _sample(
    model: SharedErrors, key: PRNGKeyArray, y: Int[Array, " samples"], mask: Bool[Array, "samples labelers"]
) -> Int[Array, "samples labelers"]:
    """The shared draw of each sample, every labeler's own draw, and who copies."""
    key_shared, key_own, key_copy = jax.random.split(key, 3)
    common = draw_rows(key_shared, model.shared[y])
    own = draw_rows(key_own, jnp.swapaxes(model.matrices, 0, 1)[y])
    copying = jnp.broadcast_to(model.copying, (model.num_labelers,))
    copies = jax.random.bernoulli(key_copy, jnp.broadcast_to(copying[None, :], mask.shape))
    return jnp.where(mask, jnp.where(copies, common[:, None], own), -1)


def _log_sum_exp(x: Float[Array, "shared samples classes"]) -> Float[Array, "samples classes"]:
    """log sum exp over the first axis; -inf with gradient 0 where every term is -inf."""
    possible = jnp.any(x > -jnp.inf, axis=0)
    total = jax.nn.logsumexp(jnp.where(possible[None], x, 0.0), axis=0)
    return jnp.where(possible, total, -jnp.inf)
