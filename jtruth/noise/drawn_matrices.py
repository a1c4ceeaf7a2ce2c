"""Confusion matrices known by draws: how well error rates are known is part of the model.

Error rates that were learned yesterday, or from other samples, are known only so well. Draws of their
posterior carry this on (`jtruth labelers --save`, `fit_joint`, `laplace_draws`): an answer is worked out for
each of them and mixed (`jtruth.evaluation`). A question that takes one set of matrices gets the mean.
"""

from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from jtruth.labels import Labels
from jtruth.noise.base import Given, Mask, NoiseModel, Strata, Truth, check_sizes, scale_errors
from jtruth.noise.confusion_matrices import ConfusionMatrices, rows_log_likelihood, sample_rows
from jtruth.noise.parameters import check_matrix_rows, current

_FEWEST = 20


class DrawnMatrices(NoiseModel):
    """Conditionally independent labelers whose matrices, with the class prior, are known by draws.

    Args:
        matrices: (draws, labelers, classes, classes); rows = true class, columns = given class, rows sum to
            1 within 1e-6.
        prior: (draws, classes), class probabilities of the same draws.

    Raises:
        ValueError: fewer than 20 draws, shapes that do not fit, or a row that does not sum to 1.

    Example:
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
        return self.matrices.shape[-1]

    @property
    def num_labelers(self) -> int:
        """Number of labelers T."""
        return self.matrices.shape[1]

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

    def strata(self, num_labelers: int | None) -> Strata | None:
        """Independent labelers, at the mean of the draws."""
        return self.mean.strata(num_labelers)

    def log_likelihood(self, labels: Labels) -> Float[Array, "samples classes"]:
        """Su (58) at the mean of the draws. ValueError if `labels` has other classes or labelers."""
        check_sizes("classes", labels.num_classes, self.num_classes, "matrices")
        check_sizes("labelers", labels.num_labelers, self.num_labelers, "matrices")
        return rows_log_likelihood(self._at_mean(), labels)

    def sample(self, key: PRNGKeyArray, y: Truth, mask: Mask) -> Given:
        """Draw labels at the mean of the draws; -1 where `mask` is False."""
        y, mask = jnp.asarray(y, jnp.int32), jnp.asarray(mask)
        check_sizes("labelers", mask.shape[1], self.num_labelers, "matrices")
        return sample_rows(key, self._at_mean(), y, mask)

    def _at_mean(self) -> Float[Array, "labelers classes classes"]:
        (matrices,) = current(self.matrices)
        rows = matrices.mean(axis=0)
        return rows / rows.sum(axis=-1, keepdims=True)
