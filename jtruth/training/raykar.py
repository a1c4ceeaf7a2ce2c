"""Raykar et al. (2010): learn a logistic regression and the labelers together, by EM (Su 3.2, 3.6).

The likelihood is (31) with the labelers' confusion matrices unknown:

    J = -1/N (sum_i log sum_c p(c | x_i; theta) prod_t psi_t[c, z_it] + log p(psi)) + lambda/(2N) |theta|^2

    E:  rho_i[c]     proportional to  p(c | x_i; theta) * the product of psi_t[c, z_it]
    M:  psi_t[c, k]  proportional to  the sum of rho_i[c] over labels k of labeler t, plus a pseudo-count
        theta        minimises the MMSE risk (40) of the logistic loss with rho for the class posterior

So the classifier is one more labeler, whose M step is a training run on soft labels. For two classes psi is
sensitivity and specificity, and the model has one score; for more it is a softmax. J never rises. The start
is the vote shares. Labels of different labelers must be independent given the class.

MBEM of Khetan et al. (2018): bootstrap labelers and any model from each other (Su 3.2, 3.4.1).

Round after round: train the model on the class posterior of the labels, that is, minimise (40); take its
predicted classes for the correct ones, count how the labelers err against them, and form the class posterior
anew. It needs no likelihood, so any model will do, and one label for each sample is enough.

A model that fits poorly, or so well that it repeats the labels, misleads it; hold samples out, or stop early.
And hard decisions feed back: where labels are poor a slight excess of one class becomes the prior of the next
round, until every sample is of that class. A `prior` that is kept prevents it, and few rounds limit it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jtruth._arrays import safe_log
from jtruth._iterate import climb, inside_simplex, normalised
from jtruth._one_line import one_line
from jtruth._validation.in_range import check_codes, check_not_negative, check_whole
from jtruth.labels import Labels
from jtruth.noise import ConfusionMatrices
from jtruth.posterior import class_posterior, validate_prior
from jtruth.training._inputs import EMFit, Stop, as_features, as_labels, check_matrices
from jtruth.training.corrections import vote_shares
from jtruth.training.linear import Linear, check_options, l2, linear_outputs, solve_linear, zero_start
from jtruth.training.objectives import discriminative_ml, log_probabilities


def _check_numbers(regularisation: Any, pseudo_counts: Any) -> None:
    """lambda, and the two pseudo-counts: of the diagonal, and of every other entry."""
    check_not_negative(regularisation, "regularisation")
    if np.shape(pseudo_counts) != (2,):
        raise ValueError(f"pseudo_counts must be two numbers, (diagonal, other); got {pseudo_counts!r}")
    check_not_negative(pseudo_counts, "pseudo_counts")


def counted_matrices(
    labels: Labels, weights: Float[Array, "samples classes"], pseudo_counts: Float[Array, " 2"]
) -> Float[Array, "labelers classes classes"]:
    """Expected counts of (true, given) labels plus pseudo-counts (diagonal, other), as rows that sum to 1.

    Rows of zero counts are uniform.
    """
    classes = labels.num_classes
    label = jnp.asarray(labels.label)
    given = jnp.where((label >= 0)[:, None], weights[jnp.asarray(labels.sample)], 0)
    counts = jnp.zeros((labels.num_labelers, classes, classes), weights.dtype)
    counts = counts.at[jnp.asarray(labels.labeler), jnp.maximum(label, 0)].add(given).swapaxes(1, 2)
    return normalised(counts + pseudo_matrix(classes, pseudo_counts)[None])


def pseudo_matrix(num_classes: int, pseudo_counts: Float[Array, " 2"]) -> Array:
    """(classes, classes): the first on the diagonal, the second elsewhere."""
    right = jnp.eye(num_classes, dtype=bool)
    return jnp.where(right, pseudo_counts[0], pseudo_counts[1])


_STOP = Stop(max_steps=200)


def fit_raykar(
    x: Any,
    labels: Labels,
    *,
    regularisation: float = 1.0,
    pseudo_counts: tuple[float, float] = (0.0, 0.0),
    stop: Stop = _STOP,
) -> EMFit:
    """Train logistic (2 classes) or softmax regression and estimate every labeler's confusion matrix.

    Args:
        x: (samples, features), finite numbers.
        labels: any number of labelers and labels.
        regularisation: lambda >= 0, on the weights and not on the intercepts.
        pseudo_counts: added to the diagonal and to the other entries of every matrix (0: likelihood).
        stop: of EM.

    Raises:
        ValueError: bad features, or another number of samples than the labels have.

    Example:
        >>> import numpy as np
        >>> from jtruth.labels import Labels
        >>> from jtruth.training import fit_raykar
        >>> x = np.array([[-2.], [-1.5], [-1.], [1.], [1.5], [2.]])
        >>> z = np.array([[0, 0], [0, 1], [0, 0], [1, 1], [1, 0], [1, 1]])  # the second one errs
        >>> fit = fit_raykar(x, Labels.from_matrix(z, 2), regularisation=.1)
        >>> bool(fit.converged), np.asarray(fit.matrices[:, 1, 1], float).round(2).tolist()
        (True, [1.0, 0.67])
    """
    x = as_features(x)
    labels = as_labels(labels, x)
    _check_numbers(regularisation, pseudo_counts)
    max_steps, tol = stop.checked(x.dtype)
    loss = check_options("mmse", None, labels.num_classes)
    rho = jnp.asarray(vote_shares(labels), x.dtype)
    numbers = [jnp.asarray(value, x.dtype) for value in (regularisation, pseudo_counts, tol)]
    return _em(x, labels, rho, *numbers, loss=loss, max_steps=max_steps)


def raykar_objective(
    model: Linear,
    matrices: Float[Array, "labelers classes classes"],
    x: Float[Array, "samples features"],
    labels: Labels,
    regularisation: Float[Array, ""],
    pseudo_counts: Float[Array, " 2"],
) -> Float[Array, ""]:
    """J(theta, psi) of this module.

    Raises:
        ValueError: sizes that do not match, rows of matrices that do not sum to 1, numbers below 0.
    """
    labels = as_labels(labels, x)
    check_matrices(matrices, labels.num_classes)
    _check_numbers(regularisation, pseudo_counts)
    log_p = log_probabilities(linear_outputs(model, x))
    pseudo = jnp.broadcast_to(pseudo_matrix(labels.num_classes, pseudo_counts)[None], matrices.shape)
    log_density = jnp.where(pseudo > 0, pseudo * safe_log(matrices), 0).sum()
    log_likelihood = ConfusionMatrices(matrices).log_likelihood(labels)
    primary = discriminative_ml(log_p, log_likelihood) - log_density / x.shape[0]
    return primary + regularisation * l2(model.weights, x.shape[0])


@partial(jax.jit, static_argnames=("loss", "max_steps"))
def _em(x, labels, rho, lam, pseudo_counts, tol, *, loss, max_steps) -> EMFit:
    """EM from responsibilities; L-BFGS inside starts from the last theta, so J cannot rise."""

    def improve(rho, last):
        model = solve_linear(x, rho, lam, last[0], loss=loss, stop=Stop(200, tol)).model
        matrices = counted_matrices(labels, rho, pseudo_counts)
        log_p = log_probabilities(linear_outputs(model, x))
        joint = log_p + ConfusionMatrices(matrices).log_likelihood(labels)
        value = raykar_objective(model, matrices, x, labels, lam, pseudo_counts)
        return -value, jax.nn.softmax(joint, axis=1), (model, matrices)

    first = zero_start(x, labels.num_classes, loss), counted_matrices(labels, rho, pseudo_counts)
    end = climb(
        improve, rho, inside_simplex, max_steps=max_steps - 1, tol=tol, plain_steps=max_steps, terms=1.0,
        kept=first,
    )  # fmt: skip
    model, rates = end.kept
    steps = end.num_steps + 1
    return EMFit(model, end.mapped, -end.objective, end.converged, steps, -end.path, matrices=rates)


class MBEMFit(NamedTuple):
    """The last round. Arrays are NumPy."""

    model: Any  # what `train` returned first
    matrices: Float[np.ndarray, "labelers classes classes"]  # rows of true classes
    prior: Float[np.ndarray, " classes"]  # that given, or else the shares of the predicted classes
    class_posterior: Float[np.ndarray, "samples classes"]  # of the labels alone, under these matrices
    y_pred: Int[np.ndarray, " samples"]
    converged: bool  # the last round changed no prediction
    num_steps: int
    changed: tuple[int, ...]  # how many predictions each round changed, from the second one

    __repr__ = one_line


def fit_mbem(
    train: Callable[[np.ndarray], tuple[Any, Any]],
    labels: Labels,
    *,
    prior: Any = None,
    num_rounds: int = 2,
    pseudo_counts: tuple[float, float] = (0.1, 0.1),
) -> MBEMFit:
    """Alternate between training a model and estimating the labelers (Khetan et al. 2018, Algorithm 1).

    Args:
        train: takes a class posterior (samples, classes), minimises (40) with it, and returns (model,
            y_pred) with predicted classes (samples,) of the same samples.
        labels: at least one label for a sample.
        prior: (classes,), kept in all rounds; by default learned from the predictions.
        num_rounds: at most; the rounds end when the predictions no longer change.
        pseudo_counts: added to the diagonal and to the other entries of the counts, and (the second) to
            those of the prior. Positive ones keep a label from becoming impossible.

    Raises:
        ValueError: `train` returned something else than one class for each sample, or bad numbers.

    Example:
        >>> import numpy as np
        >>> from jtruth.labels import Labels
        >>> from jtruth.training import fit_linear, fit_mbem, linear_outputs
        >>> x = np.array([[-2.], [-1.5], [-1.], [1.], [1.5], [2.]])
        >>> labels = Labels.from_matrix(np.array([[0], [1], [0], [1], [1], [1]]), 2)
        >>> def train(rho):
        ...     fit = fit_linear(x, np.log(rho + 1e-9), np.array([.5, .5]), regularisation=.1)
        ...     return fit.model, np.asarray(linear_outputs(fit.model, x) > 0).astype(int)
        >>> found = fit_mbem(train, labels, prior=[.5, .5], pseudo_counts=(1, .5))
        >>> found.y_pred.tolist(), [[round(float(p), 2) for p in row] for row in found.matrices[0]]
        ([0, 0, 0, 1, 1, 1], [[0.67, 0.33], [0.11, 0.89]])
    """
    labels = as_labels(labels)
    check_whole(num_rounds=num_rounds)
    _check_numbers(0.0, pseudo_counts)
    if not callable(train):
        raise ValueError(f"train is a {type(train).__name__}; give a function of the class posterior")
    fixed = None if prior is None else validate_prior(prior, labels.num_classes)
    rho, previous, changed = vote_shares(labels), None, []
    for _ in range(num_rounds):
        model, y_pred = train(rho)
        y_pred = np.asarray(y_pred)
        check_codes(y_pred, labels.num_classes, "y_pred", size=labels.num_samples, kinds="iu")
        matrices, prior, rho = _labelers_given(y_pred, labels, pseudo_counts, fixed)
        if previous is not None:
            changed.append(int((y_pred != previous).sum()))
        previous = y_pred
        if changed and changed[-1] == 0:
            break
    done, codes = bool(changed) and changed[-1] == 0, y_pred.astype(np.int32)
    return MBEMFit(model, matrices, np.asarray(prior), rho, codes, done, len(changed) + 1, tuple(changed))


def _labelers_given(y_pred, labels: Labels, pseudo_counts: tuple[float, float], prior: Any):
    """Confusion matrices and prior from predicted classes, and the class posterior under them."""
    one_hot = (y_pred[:, None] == np.arange(labels.num_classes)).astype(np.float64)
    pseudo = jnp.asarray(pseudo_counts, float)
    matrices = np.asarray(counted_matrices(labels, jnp.asarray(one_hot, pseudo.dtype), pseudo))
    if prior is None:
        total = one_hot.sum(axis=0) + pseudo_counts[1]
        prior = total / total.sum()
    log_likelihood = ConfusionMatrices(matrices).log_likelihood(labels)
    return matrices, prior, np.asarray(class_posterior(log_likelihood, prior))
