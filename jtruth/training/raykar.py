"""Raykar et al. (2010): learn a logistic regression and the labelers together, by EM (Su 3.2, 3.6).

The likelihood is (31) with the labelers' confusion matrices unknown:

    J = -1/N (sum_i log sum_c p(c | x_i; theta) prod_t psi_t[c, z_it] + log p(psi)) + lambda/(2N) |theta|^2

    E:  rho_i[c]     proportional to  p(c | x_i; theta) * the product of psi_t[c, z_it]
    M:  psi_t[c, k]  proportional to  the sum of rho_i[c] over labels k of labeler t, plus a pseudo-count
        theta        minimises the MMSE risk (40) of the logistic loss with rho for the class posterior

So the classifier is itself one of the labelers, and the M step for it is a training run on soft labels. For
two classes psi is sensitivity and specificity, and the model has one score; for more it is a softmax. J never
rises. The start is the vote shares. Labels of different labelers must be independent given the class.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jtruth._arrays import from_here, safe_log
from jtruth._one_line import one_line
from jtruth.labels import Labels
from jtruth.noise import ConfusionMatrices
from jtruth.training._inputs import Stop, as_features, as_labels, check_matrices, check_not_negative
from jtruth.training._labelers import check_pseudo_counts, counted_matrices, pseudo_matrix
from jtruth.training.hard_labels import vote_shares
from jtruth.training.linear import Linear, check_options, l2, linear_outputs, solve_linear, zero_start
from jtruth.training.losses import log_probabilities
from jtruth.training.objectives import discriminative_map

_STOP = Stop(max_steps=200)


class RaykarFit(NamedTuple):
    """What EM found; `path[j]` is J after j steps; the last is repeated."""

    model: Linear
    matrices: Float[Array, "labelers classes classes"]  # rows of true classes
    class_posterior: Float[Array, "samples classes"]  # given features and labels
    objective: Float[Array, ""]
    converged: Bool[Array, ""]
    num_steps: Int[Array, ""]
    path: Float[Array, " steps"]

    __repr__ = one_line


def fit_raykar(
    x: Any,
    labels: Labels,
    *,
    regularisation: float = 1.0,
    pseudo_counts: tuple[float, float] = (0.0, 0.0),
    stop: Stop = _STOP,
) -> RaykarFit:
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
    primary = discriminative_map(log_p, log_likelihood, log_density)
    return primary + regularisation * l2(model.weights, x.shape[0])


def _check_numbers(regularisation: Any, pseudo_counts: Any) -> None:
    """lambda, and the two pseudo-counts."""
    check_not_negative(regularisation, "regularisation")
    check_pseudo_counts(pseudo_counts)


@partial(jax.jit, static_argnames=("loss", "max_steps"))
def _em(x, labels, rho, lam, pseudo_counts, tol, *, loss, max_steps) -> RaykarFit:
    """EM in one loop; L-BFGS inside starts from the last theta, so J cannot rise."""

    def m_step(model, rho):
        fit = solve_linear(x, rho, lam, model, loss=loss, stop=Stop(200, tol))
        return fit.model, counted_matrices(labels, rho, pseudo_counts)

    def e_step(model, matrices):
        log_p = log_probabilities(linear_outputs(model, x))
        joint = log_p + ConfusionMatrices(matrices).log_likelihood(labels)
        return jax.nn.softmax(joint, axis=1)

    def step(carry: RaykarFit) -> RaykarFit:
        model, matrices = m_step(carry.model, carry.class_posterior)
        rho = e_step(model, matrices)
        value = raykar_objective(model, matrices, x, labels, lam, pseudo_counts)
        return RaykarFit(
            model=model,
            matrices=matrices,
            class_posterior=rho,
            objective=value,
            converged=jnp.abs(rho - carry.class_posterior).max() < tol,
            num_steps=carry.num_steps + 1,
            path=from_here(carry.path, carry.num_steps, value),
        )

    start = RaykarFit(
        model=zero_start(x, labels.num_classes, loss),
        matrices=counted_matrices(labels, rho, pseudo_counts),
        class_posterior=rho,
        objective=jnp.array(jnp.inf, x.dtype),
        converged=jnp.array(False),
        num_steps=jnp.zeros((), jnp.int32),
        path=jnp.zeros(max_steps, x.dtype),
    )
    return jax.lax.while_loop(lambda c: ~c.converged & (c.num_steps < max_steps), step, start)
