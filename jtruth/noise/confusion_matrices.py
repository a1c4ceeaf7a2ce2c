"""One confusion matrix per labeler: the model of Dawid and Skene (1979), Su Tables 2-3.

Given the correct class the labelers are independent (58), and labeler t gives class k to a sample of
class c with probability `matrices[t, c, k]`. There may be more symbols than classes: "cannot tell" is a
column of its own. Labels are then codes of symbols, and the array that comes out has a column for each class.

Matrices may be known by draws only (`jtruth labelers --save`, `fit_joint`, `laplace_draws`): an answer is
worked out for each of them and mixed (`jtruth.evaluation`). A question that takes one set gets the mean.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Array, Float

from jtruth.noise.base import (
    IndependentLabelers,
    NoiseModel,
    Parameter,
    as_parameter,
    check_matrix_rows,
    check_ndim,
    current,
    scale_errors,
)


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


class ConfusionMatrices(IndependentLabelers):
    """Conditionally independent labelers, each with a confusion matrix (Dawid-Skene).

    Args:
        matrices: (labelers, classes, symbols); rows = true class, columns = given class, rows sum to 1
            within 1e-6 (they are used as given, not rescaled). Symbols beyond the classes are no classes.

    Raises:
        ValueError: fewer columns than rows, an entry outside [0, 1], or a row that does not sum to 1; the
        row is named.

    >>> from jtruth.labels import Labels
    >>> labels = Labels.from_matrix(np.array([[1, 0], [0, -1]]), num_classes=2)
    >>> model = ConfusionMatrices([[[.9, .1], [.2, .8]], [[.6, .4], [.5, .5]]])
    >>> print(np.exp(model.log_likelihood(labels)).round(3))
    [[0.06 0.4 ]
     [0.9  0.2 ]]
    """

    matrices: Float[Array | np.ndarray, "labelers classes symbols"]

    def __init__(self, matrices):
        # Runs only where a model is constructed, never when JAX rebuilds one (see base.py).
        self.matrices = check_matrices(matrices, "matrices", symbols=True)

    @property
    def num_classes(self) -> int:
        """Number of classes C."""
        return self.matrices.shape[-2]

    @property
    def num_labelers(self) -> int:
        """Number of labelers T."""
        return self.matrices.shape[-3]

    @property
    def num_symbols(self) -> int:
        """Number of symbols that a labeler can give: C, or more."""
        return self.matrices.shape[2]

    def scaled(self, factor: float) -> "ConfusionMatrices":
        """Entries off the diagonal times `factor`; not where symbols are no classes, which are no errors."""
        if self.num_symbols > self.num_classes:
            raise ValueError(
                f"{self.num_symbols} symbols for {self.num_classes} classes: which are errors is not said"
            )
        return ConfusionMatrices(scale_errors(np.asarray(self.matrices, np.float64), factor))

    def rows(self) -> Float[Array, "labelers classes symbols"]:
        """The matrices."""
        return current(self.matrices)[0]


_FEWEST = 20


class DrawnMatrices(IndependentLabelers):
    """Conditionally independent labelers whose matrices, with the class prior, are known by draws.

    Args:
        matrices: (draws, labelers, classes, classes); rows = true class, columns = given class, rows sum to
            1 within 1e-6.
        prior: (draws, classes), class probabilities of the same draws.

    Raises:
        ValueError: fewer than 20 draws, shapes that do not fit, or a row that does not sum to 1.

    >>> rng = np.random.default_rng(0)
    >>> rows = np.stack([rng.dirichlet([90, 10], 40), rng.dirichlet([5, 45], 40)], axis=1)[:, None]
    >>> model = DrawnMatrices(rows, rng.dirichlet([30, 70], 40))
    >>> model.num_labelers, model.mean.matrices.shape, len(list(model.models(8)))
    (1, (1, 2, 2), 8)
    """

    matrices: Float[Array | np.ndarray, "draws labelers classes classes"]
    prior: Float[Array | np.ndarray, "draws classes"]

    def __init__(self, matrices, prior):
        rows, shares = np.asarray(matrices, np.float64), np.asarray(prior, np.float64)
        if rows.ndim != 4 or rows.shape[2] != rows.shape[3] or shares.shape != (len(rows), rows.shape[-1]):
            raise ValueError(
                "matrices must be (draws, labelers, classes, classes) and prior (draws, classes); got "
                f"{rows.shape} and {shares.shape}"
            )
        if len(rows) < _FEWEST:
            raise ValueError(f"{len(rows)} draws do not say how well a rate is known; give {_FEWEST} or more")
        check_matrix_rows(rows, "matrices", matrices)
        check_matrix_rows(shares, "prior", prior)
        self.matrices, self.prior = rows, shares

    @property
    def num_classes(self) -> int:
        """Number of classes C."""
        return self.matrices.shape[-2]

    @property
    def num_labelers(self) -> int:
        """Number of labelers T."""
        return self.matrices.shape[-3]

    @property
    def mean(self) -> ConfusionMatrices:
        """The matrices at the mean of the draws."""
        rows = np.asarray(self.matrices, np.float64).mean(axis=0)
        return ConfusionMatrices(rows / rows.sum(axis=-1, keepdims=True))

    def models(self, most: int) -> Iterator[tuple[NoiseModel, np.ndarray]]:
        """At most so many of the draws, evenly spaced, each a model and its class prior."""
        number = len(self.matrices)
        for place in np.unique(np.linspace(0, number - 1, min(most, number)).round().astype(int)):
            shares = np.asarray(self.prior[place], np.float64)
            yield ConfusionMatrices(self.matrices[place]), shares / shares.sum()

    @property
    def mean_prior(self) -> Float[np.ndarray, " classes"]:
        """Class prior at the mean of the draws."""
        shares = np.asarray(self.prior, np.float64).mean(axis=0)
        return shares / shares.sum()

    def scaled(self, factor: float) -> "DrawnMatrices":
        """Entries off the diagonal of every draw times `factor`."""
        return DrawnMatrices(scale_errors(np.asarray(self.matrices, np.float64), factor), self.prior)

    def rows(self) -> Float[Array, "labelers classes classes"]:
        """The mean of the draws."""
        rows = current(self.matrices)[0].mean(axis=0)
        return rows / rows.sum(axis=-1, keepdims=True)
