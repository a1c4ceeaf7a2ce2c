"""Losses for noisy labels instead of estimates of the loss for correct ones (Su 3.6.1, 3.6.2).

- *Weak loss* of partial labels (Cid-Sueiro 2012; Su (56)) and *proxy loss* (Natarajan et al. 2013): the loss
  of a noisy symbol z such that its mean over z, given the class, is the loss of that class: P L_weak = L. For
  as many symbols as classes the solution is unique, and is known as *backward correction*; for more it is
  taken of least norm. Unbiased without a prior, but it can be negative, so it need not have a minimum.
- *Forward correction*: push the predicted probabilities through the labeler, sum_c p(c | x) P[c, z], and take
  the likelihood of the label. For one labeler that is exactly (32).

Matrices have rows of true classes, as everywhere. With several labelers `z` is (samples, labelers), -1 where
there is no label, and every label counts alike.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jtruth._arrays import is_concrete, safe_log
from jtruth._validation import choose
from jtruth.posterior import validate_confusion
from jtruth.training._inputs import (
    check_label_matrix,
    check_matrices,
    check_no_nan,
    check_not_negative,
    check_per_class,
    check_whole,
)
from jtruth.training.batch_objectives import BatchObjective, Checked
from jtruth.training.losses import LOSSES, log_probabilities
from jtruth.training.objectives import Mask, PerClass, discriminative_ml, empirical_risk

Matrices = Float[Array | np.ndarray, "labelers classes classes"]
LabelMatrix = Int[Array | np.ndarray, "samples labelers"]


def proxy_losses(
    losses: PerClass, confusion: Float[Array | np.ndarray, "classes classes"]
) -> Float[Array, "samples classes"]:
    """Natarajan et al. (2013) for C classes: L_proxy(s, z) with sum_z P[y, z] L_proxy(s, z) = L(s, y).

    Args:
        losses: (samples, classes), of the correct class.
        confusion: P = p(z | y), rows of true classes; invertible. Labels worse than chance are fine.

    Returns:
        (samples, classes): the loss of every label z. Its entries may be negative.

    Raises:
        ValueError: the matrix is (nearly) singular, so labels do not tell classes apart.

    Example:
        >>> import jax.numpy as jnp
        >>> from jtruth.training import proxy_losses
        >>> print(proxy_losses(jnp.array([[0., 1.]]), jnp.array([[.9, .1], [.3, .7]])).round(3))
        [[-0.167  1.5  ]]
    """
    _check_losses_and_channel(losses, confusion, "confusion")
    losses = jnp.asarray(losses)
    return jnp.linalg.solve(jnp.asarray(confusion, losses.dtype), losses.T).T


def weak_losses(
    losses: PerClass, channel: Float[Array | np.ndarray, "classes symbols"]
) -> Float[Array, "samples symbols"]:
    """Su (56): the loss of every noisy symbol, of least norm if there are more symbols than classes.

    Args:
        losses: (samples, classes).
        channel: p(symbol | y), rows of true classes, which sum to 1; of full row rank.

    Raises:
        ValueError: some classes send (nearly) the same symbols.
    """
    _check_losses_and_channel(losses, channel, "channel")
    losses = jnp.asarray(losses)
    return jnp.linalg.lstsq(jnp.asarray(channel, losses.dtype), losses.T)[0].T


def candidate_sets(
    num_classes: int, p_extra: float
) -> tuple[np.ndarray, Float[np.ndarray, "classes symbols"]]:
    """Partial labels: a labeler names the correct class, and each other class with probability `p_extra`.

    Returns:
        The 2**C - 1 non-empty sets as rows of booleans (symbols, classes), and p(set | y) (classes, symbols).
    """
    check_whole(2, num_classes=num_classes)
    check_not_negative(p_extra, "p_extra")
    if not p_extra < 1 or num_classes > 16:
        raise ValueError(f"need 0 <= p_extra < 1 and 2 to 16 classes, got {p_extra} and {num_classes}")
    codes = np.arange(1, 2**num_classes)
    sets = (codes[:, None] >> np.arange(num_classes)) & 1 == 1
    size = sets.sum(axis=1)
    chance = p_extra ** (size - 1.0) * (1 - p_extra) ** (num_classes - size)
    return sets, (sets * chance[:, None]).T


def backward_risk(losses: PerClass, matrices: Matrices, z: LabelMatrix, *, where: Mask = None) -> Array:
    """Backward correction: the mean proxy loss of all labels given.

    Args:
        losses: (samples, classes), of the correct class.
        matrices: (labelers, classes, classes), each invertible.
        z: (samples, labelers), -1 for no label.
        where: (samples,), False for padding.

    Raises:
        ValueError: sizes that do not match, rows that do not sum to 1, a label that is no class, or a matrix
            that is (nearly) singular.
    """
    check_per_class({"losses": losses}, where=where)
    check_matrices(matrices, np.shape(losses)[1])
    _check_invertible(matrices)
    check_label_matrix(z, np.shape(losses)[0], *np.shape(matrices)[:2])
    losses, z = jnp.asarray(losses), jnp.asarray(z, jnp.int32)
    solved = jax.vmap(proxy_losses, in_axes=(None, 0))
    by_labeler = solved(losses, jnp.asarray(matrices, losses.dtype))  # (labelers, samples, classes)
    rows = by_labeler.reshape(-1, losses.shape[1])
    return empirical_risk(rows, jnp.maximum(z, 0).T.ravel(), where=_given(z, where).T.ravel())


def forward_risk(
    log_probabilities: PerClass,
    log_matrices: Float[Array | np.ndarray, "labelers classes classes"],
    z: LabelMatrix,
    *,
    where: Mask = None,
) -> Array:
    """Forward correction: the mean of -log sum_c p(c | x_i) P_t[c, z_it] over all labels given.

    Args:
        log_probabilities: (samples, classes), log p(c | x_i).
        log_matrices: (labelers, classes, classes), logarithms of p(z | c).
        z: (samples, labelers), -1 for no label.
        where: (samples,), False for padding.

    Raises:
        ValueError: sizes that do not match, NaN, rows of the matrices that do not sum to 1, a label that is
            no class.
    """
    check_per_class({"log_probabilities": log_probabilities}, where=where)
    check_no_nan(log_matrices, "log_matrices")
    concrete = is_concrete(log_matrices)
    check_matrices(
        np.exp(np.asarray(log_matrices)) if concrete else log_matrices, np.shape(log_probabilities)[1]
    )
    check_label_matrix(z, np.shape(log_probabilities)[0], *np.shape(log_matrices)[:2])
    log_p, z = jnp.asarray(log_probabilities), jnp.asarray(z, jnp.int32)
    by_label = jnp.swapaxes(jnp.asarray(log_matrices, log_p.dtype), 1, 2)  # (labelers, given, true)
    labelers = jnp.arange(z.shape[1], dtype=jnp.int32)
    log_likelihood = by_label[labelers[None, :], jnp.maximum(z, 0)]  # (samples, labelers, true)
    classes = log_p.shape[1]
    repeated = jnp.broadcast_to(log_p[:, None, :], log_likelihood.shape).reshape(-1, classes)
    given = _given(z, where).ravel()
    return discriminative_ml(repeated, log_likelihood.reshape(-1, classes), where=given)


@cache
def _backward(loss: str, confusion: tuple) -> BatchObjective:
    def objective(outputs, evidence, *, where=None):
        return backward_risk(LOSSES[loss](outputs), np.array(confusion), evidence, where=where)

    return Checked(objective, _label_check(np.shape(confusion)))


@cache
def _forward(confusion: tuple) -> BatchObjective:
    def objective(outputs, evidence, *, where=None):
        log_p = log_probabilities(outputs)
        return forward_risk(log_p, safe_log(jnp.array(confusion, log_p.dtype)), evidence, where=where)

    return Checked(objective, _label_check(np.shape(confusion)))


def _label_check(shape: tuple[int, ...]) -> Callable[[Any], None]:
    """What z must be for matrices of this shape."""
    return lambda z: check_label_matrix(z, len(z), *shape[:2])


def backward(matrices: Any, loss: str = "cross_entropy") -> BatchObjective:
    """`backward_risk` as a batch objective of `fit`; the evidence is z (samples, labelers).

    Raises:
        ValueError: an unknown loss, matrices whose rows do not sum to 1 or that are (nearly) singular.
    """
    choose("loss", loss, tuple(LOSSES))
    check_matrices(matrices)
    _check_invertible(matrices)
    return _backward(loss, _frozen(matrices))


def forward(matrices: Any) -> BatchObjective:
    """`forward_risk` as a batch objective of `fit`; the evidence is z (samples, labelers).

    Raises:
        ValueError: matrices that are not (labelers, classes, classes) with rows that sum to 1.
    """
    check_matrices(matrices)
    return _forward(_frozen(matrices))


def _frozen(matrices: Any) -> tuple:
    """(labelers, classes, classes) as nested tuples: the same matrices find the same compiled program."""
    return tuple(tuple(map(tuple, matrix)) for matrix in np.asarray(matrices, np.float64).tolist())


def _given(z: Array, where: Mask) -> Array:
    return z >= 0 if where is None else (z >= 0) & jnp.asarray(where)[:, None]


def _check_losses_and_channel(losses: Any, channel: Any, name: str) -> None:
    """Losses (samples, classes), and p(symbol | class) with a row for each class."""
    check_per_class({"losses": losses})
    shape, classes = np.shape(channel), np.shape(losses)[1]
    if len(shape) != 2 or shape[0] != classes or (name == "confusion" and shape[1] != classes):
        columns = classes if name == "confusion" else "symbols"
        raise ValueError(f"{name} has shape {shape}; it must be ({classes}, {columns}), rows of true classes")
    if is_concrete(channel):
        validate_confusion(channel)
        _check_invertible(channel)


def _check_invertible(channel: Any) -> None:
    """Concrete matrices p(symbol | class) whose smallest singular value is away from 0."""
    if not is_concrete(channel):
        return
    matrices = np.asarray(channel, np.float64)
    smallest = np.atleast_1d(np.linalg.svd(matrices, compute_uv=False)[..., -1])
    bad = np.flatnonzero(~(smallest > 1e-6))
    if bad.size or matrices.shape[-2] > matrices.shape[-1]:
        which = f" of labeler {bad[0]}" if matrices.ndim == 3 and bad.size else ""
        raise ValueError(
            f"the matrix p(label | class){which} does not tell all classes apart (smallest singular value "
            f"{smallest[bad[0]] if bad.size else 0:.2g}); no loss of labels can be unbiased: use mmse_risk"
        )
