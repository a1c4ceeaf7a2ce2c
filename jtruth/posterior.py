"""Class posteriors: the correct class given the labels, and the prediction (Su 2.2.2, 3.2).

Bayes' rule with the noise model's `log_likelihood` (samples, classes) and the class prior gives the *class
posterior* rho, Su (21) = (41). If a classifier also predicted the samples, and errs independently of the
labelers given the class, its conditional confusion matrix K adds one factor: the *testing class posterior*,
Su (10) and (25) (in whose first printed line P_D, P_FA mean K). Everything is in logs: the product of the
probabilities of 1500 labels is 0 in float64.

A sample whose labels are impossible under every class has no posterior. Outside of jit and vmap this is a
ValueError that names the samples; inside the row is NaN: call `check_not_contradictory` before.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jtruth._arrays import AnyArray, as_array, is_concrete, is_readable, safe_log
from jtruth._host import across
from jtruth._validation import by_class, quoted, some
from jtruth._validation.in_range import check_codes, check_rows, check_shape

LogLikelihood = Float[AnyArray, "samples classes"]
Prior = Float[AnyArray, " classes"]
Confusion = Float[AnyArray, "classes symbols"]


def class_posterior(log_likelihood: LogLikelihood, prior: Prior) -> Float[Array, "samples classes"]:
    """Su (21) = (41): p(y_i = c | z_i), proportional to prior[c] exp(log_likelihood[i, c]).

    Args:
        log_likelihood: (samples, classes), log p(z_i | y_i = c). A known class is a row with 0 and -inf.
        prior: (classes,), sums to 1; entries may be 0.

    Returns:
        (samples, classes) in the dtype of `log_likelihood`; rows sum to 1.

    Raises:
        ValueError: bad prior, or (for concrete input on one device) samples that are impossible under every
            class.

    >>> rho = class_posterior(np.log([[.1, .9], [.5, .5]]), np.array([.7, .3]))
    >>> print(np.round(np.asarray(rho, float), 3))
    [[0.206 0.794]
     [0.7   0.3  ]]
    """
    if log_likelihood.ndim != 2:
        raise ValueError(
            f"log_likelihood has shape {log_likelihood.shape}; it must be (samples, classes). For a batch "
            "use jax.vmap(class_posterior, (0, None))"
        )
    if not is_concrete(prior):
        check_shape(prior, "prior", "classes", classes=log_likelihood.shape[1])
    else:
        prior = validate_prior(prior, log_likelihood.shape[1])
        if is_readable(log_likelihood):
            check_not_contradictory(log_likelihood, prior=prior)
    log_likelihood = as_array(log_likelihood)
    return _normalised(log_likelihood, jnp.asarray(prior, log_likelihood.dtype))


def class_posterior_given_prediction(
    log_likelihood: LogLikelihood, prior: Prior, confusion: Confusion, y_pred: Int[AnyArray, " samples"]
) -> Float[Array, "samples classes"]:
    """Su (10), (25): p(y_i = c | y_pred_i, z_i) ~ prior[c] K[c, y_pred_i] exp(log_likelihood[i, c]).

    Args:
        log_likelihood: (samples, classes).
        prior: (classes,).
        confusion: K, (classes, symbols), rows = true class, rows sum to 1. The predicted symbol may also be a
            score bin, a pair of predictions or "abstain".
        y_pred: (samples,) predicted symbol, 0..symbols-1.

    Raises:
        ValueError: bad prior, confusion or predictions, or (for concrete input) impossible samples.

    >>> K = np.array([[.7, .3], [.2, .8]])
    >>> rho = class_posterior_given_prediction(np.zeros((2, 2)), np.array([.5, .5]), K, np.array([1, 0]))
    >>> print(np.round(np.asarray(rho, float), 3))
    [[0.273 0.727]
     [0.778 0.222]]
    """
    if confusion.shape[0] != log_likelihood.shape[1]:
        raise ValueError(
            f"confusion has shape {confusion.shape} but there are {log_likelihood.shape[1]} classes; rows "
            "are the true classes"
        )
    if is_concrete(confusion):
        confusion = validate_confusion(confusion)
    check_codes(y_pred, confusion.shape[1], "y_pred")
    log_likelihood = as_array(log_likelihood)
    of_prediction = safe_log(as_array(confusion).T)[jnp.asarray(y_pred, jnp.int32)]  # Su (3)-(6)
    return class_posterior(log_likelihood + of_prediction.astype(log_likelihood.dtype), prior)


def validate_prior(prior, num_classes: int, classes: Sequence | None = None) -> np.ndarray:
    """The prior as a checked (classes,) array of its own floating dtype, on the host.

    A dict or Series is sorted by its keys into the order of the `classes`, or of codes.
    """
    prior = np.asarray(by_class(prior, range(num_classes) if classes is None else classes))
    if prior.shape != (num_classes,):
        raise ValueError(
            f"prior has shape {prior.shape} but there are {num_classes} classes; give one number per class"
        )
    return _distributions(prior, "prior")


def validate_confusion(confusion) -> np.ndarray:
    """A checked (classes, symbols) confusion matrix, rows = true class, on the host."""
    confusion = np.asarray(confusion)
    if confusion.ndim != 2:
        raise ValueError(f"confusion must have shape (classes, symbols), got {confusion.shape}")
    return _distributions(confusion, "confusion")


def check_not_contradictory(
    log_likelihood: LogLikelihood, tasks: Sequence | None = None, *, prior: Prior | None = None
) -> None:
    """Refuse samples (named by `tasks`) that are impossible under every class of positive prior."""
    values = np.asarray(log_likelihood)
    if not jnp.issubdtype(values.dtype, jnp.floating):
        raise ValueError(
            f"a log-likelihood holds floats, got dtype {values.dtype}: is it a matrix of labels? Then give "
            "Labels.from_matrix(z, num_classes) to a noise model, and its log_likelihood here"
        )
    alive = values if prior is None or (np.asarray(prior) > 0).all() else values[:, np.asarray(prior) > 0]
    if np.isfinite(across(np.maximum, alive)).all() and (alive is values or not np.isnan(values).any()):
        return
    bad = np.flatnonzero(across(np.logical_or, np.isnan(values)))
    if bad.size:
        raise ValueError(
            f"the log-likelihood of {_name(bad, tasks)} is NaN; check the noise model's parameters"
        )
    bad = np.flatnonzero(across(np.logical_and, np.isneginf(values)))
    if bad.size:
        raise ValueError(
            f"the labels of {_name(bad, tasks)} are impossible under every class, because labelers (or a "
            "classifier) with error rate 0 disagree; correct these labels, or give those labelers a small "
            "error rate"
        )
    if prior is not None:
        possible = ~np.isneginf(values) & (np.asarray(prior) > 0)[None, :]
        bad = np.flatnonzero(~across(np.logical_or, possible))
        if bad.size:
            raise ValueError(
                f"the labels of {_name(bad, tasks)} are possible only under classes whose prior is 0; give "
                "these classes a positive prior, or correct the labels"
            )


@jax.jit
def _normalised(log_likelihood: LogLikelihood, prior: Prior) -> Float[Array, "samples classes"]:
    return jax.nn.softmax(log_likelihood + safe_log(prior)[None, :], axis=1)


def _name(bad: np.ndarray, tasks: Sequence | None) -> str:
    """Text such as "3 sample(s) (0, 4, 9)", with task names if there are any."""
    return f"{bad.size} sample(s) ({quoted(tasks[i] for i in bad) if tasks is not None else some(bad)})"


def _distributions(x: np.ndarray, name: str) -> np.ndarray:
    x = x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(np.float64)
    check_rows(x, name)
    return x
