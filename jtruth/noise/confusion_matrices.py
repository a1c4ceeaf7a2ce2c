"""One confusion matrix per labeler: the model of Dawid and Skene (1979), Su Tables 2-3.

Given the correct class the labelers are independent (58), and labeler t gives class k to a sample of
class c with probability `matrices[t, c, k]`. Nothing else is assumed, so a labeler may favour some classes,
confuse a pair of classes, or be adversarial.

There may be more symbols than classes: "cannot tell" is a column of its own, more likely under some classes
than under others or not. Labels are then codes of symbols (their `num_classes` is the number of symbols),
the array that comes out has a column for each class, and nothing behind it knows.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from jtruth._arrays import safe_log
from jtruth.labels import Labels
from jtruth.noise.base import (
    Given,
    Mask,
    NoiseModel,
    Strata,
    Truth,
    check_sizes,
    draw_rows,
    one_stratum,
    scale_errors,
    sum_over_labels,
)
from jtruth.noise.parameters import Parameter, as_parameter, check_matrix_rows, check_ndim, current


def check_matrices(given, name: str, *, symbols: bool = False) -> Parameter:
    """(labelers, classes, classes) checked: probabilities, rows sum to 1; `symbols` allows more columns."""
    matrices = as_parameter(given, name)
    axes = "(labelers, classes, symbols)" if symbols else "(labelers, classes, classes)"
    check_ndim(matrices, name, (3,), axes)
    classes, columns = matrices.shape[1:]
    if classes < 2 or columns < classes or (columns > classes and not symbols):
        more = ", as many symbols or more" if symbols else ""
        raise ValueError(f"{name} must have shape {axes}, 2 or more classes{more}; got {matrices.shape}")
    check_matrix_rows(matrices, name, given)
    return matrices


class ConfusionMatrices(NoiseModel):
    """Conditionally independent labelers, each with a confusion matrix (Dawid-Skene).

    Args:
        matrices: (labelers, classes, symbols); rows = true class, columns = given class, rows sum to 1
            within 1e-6 (they are used as given, not rescaled). Symbols beyond the classes are no classes.

    Raises:
        ValueError: fewer columns than rows, an entry outside [0, 1], or a row that does not sum to 1; the
        row is named.

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

    matrices: Float[Array | np.ndarray, "labelers classes symbols"]

    def __init__(self, matrices):
        # Runs only where a model is constructed, never when JAX rebuilds one (see parameters.py).
        self.matrices = check_matrices(matrices, "matrices", symbols=True)

    @property
    def num_classes(self) -> int:
        """Number of classes C."""
        return self.matrices.shape[1]

    @property
    def num_symbols(self) -> int:
        """Number of symbols that a labeler can give: C, or more."""
        return self.matrices.shape[2]

    @property
    def num_labelers(self) -> int:
        """Number of labelers T."""
        return self.matrices.shape[0]

    def scaled(self, factor: float) -> "ConfusionMatrices":
        """Entries off the diagonal times `factor`; not where symbols are no classes, which are no errors."""
        if self.num_symbols > self.num_classes:
            raise ValueError(
                f"{self.num_symbols} symbols for {self.num_classes} classes: which are errors is not said"
            )
        return ConfusionMatrices(scale_errors(np.asarray(self.matrices, np.float64), factor))

    def strata(self, num_labelers: int | None) -> Strata:
        """Independent labelers."""
        return one_stratum(np.asarray(self.matrices, np.float64))

    def log_likelihood(self, labels: Labels) -> Float[Array, "samples classes"]:
        """Su (58). ValueError if `labels` has other numbers of symbols or labelers."""
        check_sizes("classes", labels.num_classes, self.num_symbols, "matrices")
        check_sizes("labelers", labels.num_labelers, self.matrices.shape[0], "matrices")
        (matrices,) = current(self.matrices)
        return rows_log_likelihood(matrices, labels)

    def sample(self, key: PRNGKeyArray, y: Truth, mask: Mask) -> Given:
        """Draw labels for samples of class `y`; -1 where `mask` is False."""
        y, mask = jnp.asarray(y, jnp.int32), jnp.asarray(mask)
        check_sizes("labelers", mask.shape[1], self.matrices.shape[0], "matrices")
        (matrices,) = current(self.matrices)
        return sample_rows(key, matrices, y, mask)


@jax.jit
def rows_log_likelihood(
    matrices: Float[Array, "labelers classes symbols"], labels: Labels
) -> Float[Array, "samples classes"]:
    """Su (58), compiled as a whole."""
    by_label = safe_log(jnp.swapaxes(matrices, 1, 2))  # (labelers, given, true): one row per lookup
    log_p = by_label[jnp.asarray(labels.labeler), jnp.asarray(labels.label)]
    return sum_over_labels(log_p, labels)


@jax.jit
def sample_rows(
    key: PRNGKeyArray,
    matrices: Float[Array, "labelers classes symbols"],
    y: Int[Array, " samples"],
    mask: Bool[Array, "samples labelers"],
) -> Int[Array, "samples labelers"]:
    """One draw from row y of every labeler's matrix."""
    rows = jnp.swapaxes(matrices, 0, 1)[y]  # (samples, labelers, symbols)
    return jnp.where(mask, draw_rows(key, rows), -1)
