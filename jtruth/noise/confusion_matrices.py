"""One confusion matrix per labeler: the model of Dawid and Skene (1979), Su Tables 2-3.

Given the correct class the labelers are independent (58), and labeler t gives label k to a sample of class c
with probability `matrices[t, c, k]`. There may be more symbols than classes: "cannot tell" is a column of its
own. Labels are then codes of symbols, and the log-likelihood has a column for each class.

Matrices may be known by draws only (`jtruth labelers --save`, `fit_joint`, `laplace_draws`): an answer is
computed for each of them and mixed (`jtruth.evaluation`). Functions that take one set use the mean.

**Dependent labelers** (`SharedErrors`). Every sample of class y has ONE shared draw s ~ q(. | y), for
instance what the image seems to show. Labeler t reports s with probability r_t, and otherwise draws from its
own confusion matrix psi_t (Su 5.1.2 mentions such models):

    p(z | y) = sum_s q(s | y) prod_t [ r_t 1(z_t = s) + (1 - r_t) psi_t(z_t | y) ].

With r = 0 this is `ConfusionMatrices`. With r = 1 all labels of a sample are worth exactly one.
"""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from jtruth._arrays import AnyArray, safe_log
from jtruth._random import Key, as_key
from jtruth.labels import Labels
from jtruth.noise import base


def check_matrices(values, name: str, *, symbols: bool = False) -> base.Parameter:
    """(labelers, classes, classes) checked: probabilities, rows sum to 1; `symbols` allows more columns."""
    matrices = base.as_parameter(values, name)
    axes = "(labelers, classes, symbols)" if symbols else "(labelers, classes, classes)"
    base.check_ndim(matrices, name, (3,), axes)
    classes, columns = matrices.shape[1:]
    if classes < 2 or columns < classes or (columns > classes and not symbols):
        wider = ", as many symbols or more" if symbols else ""
        raise ValueError(f"{name} must have shape {axes}, 2 or more classes{wider}; got {matrices.shape}")
    base.check_matrix_rows(matrices, name, values)
    return matrices


_CLASSES: Any = property(lambda model: model.matrices.shape[-2], doc="Number of classes C.")
_LABELERS: Any = property(lambda model: model.matrices.shape[-3], doc="Number of labelers T.")


class ConfusionMatrices(base.IndependentLabelers):
    """Conditionally independent labelers, each with a confusion matrix (Dawid-Skene).

    Args:
        matrices: (labelers, classes, symbols); rows = true class, columns = label, rows sum to 1 within 1e-6
            (they are not rescaled). Symbols beyond the classes are no classes.

    Raises:
        ValueError: fewer columns than rows, an entry outside [0, 1], or a row that does not sum to 1, with
            its place.

    >>> labels = Labels.from_matrix(np.array([[1, 0], [0, -1]]), num_classes=2)
    >>> model = ConfusionMatrices([[[.9, .1], [.2, .8]], [[.6, .4], [.5, .5]]])
    >>> print(np.exp(model.log_likelihood(labels)).round(3))
    [[0.06 0.4 ]
     [0.9  0.2 ]]
    """

    matrices: Float[AnyArray, "labelers classes symbols"]

    def __init__(self, matrices):
        self.matrices = check_matrices(matrices, "matrices", symbols=True)

    num_classes, num_labelers = _CLASSES, _LABELERS

    @property
    def num_symbols(self) -> int:
        """Number of symbols that a labeler can give: C, or more."""
        return self.matrices.shape[2]

    def scaled(self, factor: float) -> "ConfusionMatrices":
        """Entries off the diagonal times `factor`; ValueError where some symbols are no classes."""
        if self.num_symbols > self.num_classes:
            raise ValueError(
                f"with {self.num_symbols} symbols for {self.num_classes} classes, errors are undefined"
            )
        return ConfusionMatrices(base.scale_errors(np.asarray(self.matrices, np.float64), factor))

    def rows(self) -> Float[Array, "labelers classes symbols"]:
        """The matrices."""
        return base.current(self.matrices)[0]


_FEWEST = 20


class DrawnMatrices(base.IndependentLabelers):
    """Conditionally independent labelers whose matrices, with the class prior, are known by draws.

    Args:
        matrices: (draws, labelers, classes, classes); rows = true class, columns = label, rows sum to 1
            within 1e-6.
        prior: (draws, classes), class probabilities of the same draws.

    Raises:
        ValueError: fewer than 20 draws, shapes that do not fit, or a row that does not sum to 1.

    >>> rng = np.random.default_rng(0)
    >>> rows = np.stack([rng.dirichlet([90, 10], 40), rng.dirichlet([5, 45], 40)], axis=1)[:, None]
    >>> model = DrawnMatrices(rows, rng.dirichlet([30, 70], 40))
    >>> model.num_labelers, model.mean.matrices.shape, len(list(model.models(8)))
    (1, (1, 2, 2), 8)
    """

    matrices: Float[AnyArray, "draws labelers classes classes"]
    prior: Float[AnyArray, "draws classes"]

    def __init__(self, matrices, prior):
        if hasattr(prior, "columns"):
            raise ValueError("prior is a frame: give .to_numpy() with columns in the order of the classes")
        rows, shares = base.as_parameter(matrices, "matrices"), base.as_parameter(prior, "prior")
        if rows.ndim != 4 or rows.shape[2] != rows.shape[3] or shares.shape != (len(rows), rows.shape[-1]):
            raise ValueError(
                "matrices must be (draws, labelers, classes, classes) and prior (draws, classes); got "
                f"{rows.shape} and {shares.shape}"
            )
        if len(rows) < _FEWEST:
            raise ValueError(f"{len(rows)} draws are too few to show uncertainty; give {_FEWEST} or more")
        base.check_matrix_rows(rows, "matrices", matrices)
        base.check_matrix_rows(shares, "prior", prior)
        self.matrices, self.prior = rows, shares

    num_classes, num_labelers = _CLASSES, _LABELERS

    @property
    def mean(self) -> ConfusionMatrices:
        """The matrices at the mean of the draws."""
        rows = np.asarray(self.matrices, np.float64).mean(axis=0)
        return ConfusionMatrices(rows / rows.sum(axis=-1, keepdims=True))

    def models(self, most: int) -> Iterator[tuple[base.NoiseModel, np.ndarray]]:
        """At most `most` of the draws, evenly spaced, each a model and its class prior."""
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
        return DrawnMatrices(base.scale_errors(np.asarray(self.matrices, np.float64), factor), self.prior)

    def rows(self) -> Float[Array, "labelers classes classes"]:
        """The mean of the draws."""
        rows = base.current(self.matrices)[0].mean(axis=0)
        return rows / rows.sum(axis=-1, keepdims=True)


class SharedErrors(base.NoiseModel):
    """Labelers that copy a shared draw of the sample with probability `copying`.

    Args:
        matrices: psi, (labelers, classes, classes): what a labeler reports when it does not copy; rows =
            true class, rows sum to 1.
        shared: q, (classes, classes): distribution of the shared draw given the true class, rows sum to 1.
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

    matrices: Float[AnyArray, "labelers classes classes"]
    shared: Float[AnyArray, "classes classes"]
    copying: Float[AnyArray, "*labelers"]

    def __init__(self, matrices, shared, copying):
        self.matrices = check_matrices(matrices, "matrices")
        self.shared = base.as_parameter(shared, "shared")
        self.copying = base.as_probabilities(copying, "copying", "labelers")
        if self.shared.shape != self.matrices.shape[1:]:
            raise ValueError(
                f"shared must have shape (classes, classes), here {self.matrices.shape[1:]}, "
                f"got {self.shared.shape}"
            )
        base.check_matrix_rows(self.shared, "shared", shared)
        if self.copying.ndim == 1 and self.copying.shape[0] != self.matrices.shape[0]:
            raise ValueError(
                f"copying has {self.copying.shape[0]} entries but matrices is for {self.matrices.shape[0]} "
                "labelers; give one probability per labeler, or one number"
            )

    num_classes, num_labelers = _CLASSES, _LABELERS

    def scaled(self, factor: float) -> "SharedErrors":
        """Errors of the labelers and of the shared draw times `factor`; copying stays as it is."""
        matrices, shared = (
            base.scale_errors(np.asarray(a, np.float64), factor) for a in (self.matrices, self.shared)
        )
        return SharedErrors(matrices, shared, self.copying)

    def strata(self, num_labelers: int | None) -> base.Strata:
        """One stratum for each value of the shared draw, unknown for every sample."""
        parameters = (np.asarray(x, np.float64) for x in (self.matrices, self.copying, self.shared))
        matrices, copying, shared = parameters
        return base.Strata(_rows_given_shared(matrices, copying), shared.T.copy())

    def log_likelihood(self, labels: base.Given) -> Float[Array, "samples classes"]:
        """Log of the sum over the shared draw. ValueError if `labels` has other sizes or wrong codes."""
        labels = base.as_entries(labels, self.num_classes)
        base.check_sizes("classes", labels.num_classes, self.num_classes, "matrices")
        base.check_sizes("labelers", labels.num_labelers, len(self.matrices), "matrices")
        return _log_likelihood(base.as_current(self), labels)

    def sample(self, key: Key, y: base.Truth, mask: base.Mask) -> base.DrawnLabels:
        """Draw labels for samples of class `y`; -1 where `mask` is False."""
        y, mask = base.as_asked(y, mask, self.num_classes)
        base.check_sizes("labelers", mask.shape[1], len(self.matrices), "matrices")
        return _sample(base.as_current(self), as_key(key), y, mask)


def _rows_given_shared(matrices: Any, copying: Any) -> Any:
    """p(label | class) of each labeler for each value of the shared draw: (strata, labelers, true, label)."""
    copied, copying = np.eye(matrices.shape[1], dtype=matrices.dtype), copying.reshape(1, -1, 1, 1)
    return copying * copied[:, None, None, :] + (1 - copying) * matrices[None]


@jax.jit
def _log_likelihood(model: SharedErrors, labels: Labels) -> Float[Array, "samples classes"]:
    """Log of the sum over the shared draw, one pass over the labels for each value of it to save memory."""
    rows = _rows_given_shared(model.matrices, model.copying)
    parts = jax.lax.map(lambda matrices: base.rows_log_likelihood(matrices, labels), rows)
    return base.log_total(parts + safe_log(model.shared.T)[:, None, :], axis=0)


@jax.jit
def _sample(
    model: SharedErrors, key: PRNGKeyArray, y: Int[Array, " samples"], mask: Bool[Array, "samples labelers"]
) -> Int[Array, "samples labelers"]:
    """The shared draw of each sample, every labeler's own draw, and who copies."""
    key_shared, key_draw, key_copy = jax.random.split(key, 3)
    common = base.draw_rows(key_shared, model.shared[y])
    drawn = base.drawn_labels(key_draw, model.matrices, y, mask)
    copying = jnp.broadcast_to(model.copying, (model.num_labelers,))
    copies = jax.random.bernoulli(key_copy, jnp.broadcast_to(copying[None, :], mask.shape))
    return jnp.where(mask & copies, common[:, None], drawn)
