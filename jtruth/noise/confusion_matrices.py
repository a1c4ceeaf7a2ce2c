"""One confusion matrix per labeler: the model of Dawid and Skene (1979), Su Tables 2-3.

Given the correct class the labelers are independent (58), and labeler t gives class k to a sample of
class c with probability `matrices[t, c, k]`. Nothing else is assumed, so a labeler may favour some classes,
confuse a pair of classes, or be adversarial.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from jtruth._arrays import safe_log
from jtruth.labels import Labels
from jtruth.noise.base import (
    NoiseModel,
    Strata,
    check_sizes,
    draw_rows,
    one_stratum,
    scale_errors,
    sum_over_labels,
)
from jtruth.noise.parameters import Parameter, as_parameter, check_matrix_rows, check_ndim, current


def check_matrices(given, name: str) -> Parameter:
    """(labelers, classes, classes) checked: square, probabilities, rows sum to 1."""
    matrices = as_parameter(given, name)
    check_ndim(matrices, name, (3,), "(labelers, classes, classes)")
    if matrices.shape[1] != matrices.shape[2] or matrices.shape[1] < 2:
        raise ValueError(
            f"{name} must have shape (labelers, classes, classes), 2 or more classes; got {matrices.shape}"
        )
    check_matrix_rows(matrices, name, given)
    return matrices


class ConfusionMatrices(NoiseModel):
    """Conditionally independent labelers, each with a confusion matrix (Dawid-Skene).

    Args:
        matrices: (labelers, classes, classes); rows = true class, columns = given class, rows sum to 1
            within 1e-6 (they are used as given, not rescaled).

    Raises:
        ValueError: not square, an entry outside [0, 1], or a row that does not sum to 1; the row is named.

    Example:
        >>> import numpy as np
        >>> from jtruth.labels import Labels
        >>> from jtruth.noise import ConfusionMatrices
        >>> labels = Labels.from_matrix(np.array([[1, 0], [0, -1]]), num_classes=2)
        >>> model = ConfusionMatrices([[[.9, .1], [.2, .8]], [[.6, .4], [.5, .5]]])
        >>> print(np.exp(model.log_likelihood(labels)).round(3))
        [[0.06 0.4 ]
         [0.9  0.2 ]]
    """

    matrices: Float[Array | np.ndarray, "labelers classes classes"]

    def __init__(self, matrices):
        # Runs only where a model is constructed, never when JAX rebuilds one (see parameters.py).
        self.matrices = check_matrices(matrices, "matrices")

    @property
    def num_classes(self) -> int:
        """Number of classes C."""
        return self.matrices.shape[-1]

    @property
    def num_labelers(self) -> int:
        """Number of labelers T."""
        return self.matrices.shape[0]

    def scaled(self, factor: float) -> "ConfusionMatrices":
        """Entries off the diagonal times `factor`."""
        return ConfusionMatrices(scale_errors(np.asarray(self.matrices, np.float64), factor))

    def strata(self, num_labelers: int | None) -> Strata:
        """Independent labelers."""
        return one_stratum(np.asarray(self.matrices, np.float64))

    def log_likelihood(self, labels: Labels) -> Float[Array, "samples classes"]:
        """Su (58). ValueError if `labels` has other numbers of classes or labelers."""
        check_sizes("classes", labels.num_classes, self.num_classes, "matrices")
        check_sizes("labelers", labels.num_labelers, self.matrices.shape[0], "matrices")
        (matrices,) = current(self.matrices)
        return _log_likelihood(matrices, labels)

    def sample(
        self,
        key: PRNGKeyArray,
        y: Int[Array | np.ndarray, " samples"],
        mask: Bool[Array | np.ndarray, "samples labelers"],
    ) -> Int[Array, "samples labelers"]:
        """Draw labels for samples of class `y`; -1 where `mask` is False."""
        y, mask = jnp.asarray(y, jnp.int32), jnp.asarray(mask)
        check_sizes("labelers", mask.shape[1], self.matrices.shape[0], "matrices")
        (matrices,) = current(self.matrices)
        return _sample(key, matrices, y, mask)


@jax.jit
def _log_likelihood(
    matrices: Float[Array, "labelers classes classes"], labels: Labels
) -> Float[Array, "samples classes"]:
    """Su (58), compiled as a whole."""
    by_label = safe_log(jnp.swapaxes(matrices, 1, 2))  # (labelers, given, true): one row per lookup
    log_p = by_label[jnp.asarray(labels.labeler), jnp.asarray(labels.label)]
    return sum_over_labels(log_p, labels)


@jax.jit
def _sample(
    key: PRNGKeyArray,
    matrices: Float[Array, "labelers classes classes"],
    y: Int[Array, " samples"],
    mask: Bool[Array, "samples labelers"],
) -> Int[Array, "samples labelers"]:
    """One draw from row y of every labeler's matrix."""
    rows = jnp.swapaxes(matrices, 0, 1)[y]  # (samples, labelers, classes)
    return jnp.where(mask, draw_rows(key, rows), -1)
