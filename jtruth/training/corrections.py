"""Alternatives to (32) and (40): losses for noisy labels (Su 3.6.1 to 3.6.4), and hard or soft labels (3.7).

- *Weak loss* of partial labels (Cid-Sueiro 2012; Su (56)) and *proxy loss* (Natarajan et al. 2013): the loss
  of a noisy symbol z such that its mean over z, given the class, is the loss of that class: P L_weak = L. For
  as many symbols as classes the solution is unique, *backward correction*; for more symbols (sets of classes,
  "unsure") it is the minimum-norm solution. Unbiased without a prior, but it can be negative, so it need not
  have a minimum.
- *Forward correction*: pass the predicted probabilities through the labeler, sum_c p(c | x) P[c, z], and use
  the likelihood of the label. For one labeler that is (32).
- *Noise layer*: learn the matrices too, by gradient descent. On top of p(y | x) every labeler has a layer
  without input whose rows are p(z_t | y), removed afterwards (for one labeler Sukhbaatar et al. 2015 and
  Jindal et al. 2016). Many pairs of a model and matrices predict the labels equally well; a multiple of the
  trace of the matrices (Tanno et al. 2019) selects the one with the least accurate labelers.
- *Label estimation*: use the most probable class of every sample as its label. *Voting*: train one classifier
  on each labeler's labels alone, and let them vote. Both ignore the uncertainty of the decision.
- *Soft labels*: the class posterior with the cross-entropy is (40); without a noise model, vote shares.
- *Sample replication*: copies of a sample carry its classes in proportion to the class posterior. With many
  copies this is (40), and not (32), as the paper has it in 5.4.

Matrices have rows of true classes. With several labelers `z` is (samples, labelers), -1 where there is no
label, and every label has equal weight.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, Int

from jtruth import _host
from jtruth._arrays import AnyArray, is_concrete, must_be_concrete, safe_log
from jtruth._validation import in_range as check
from jtruth.labels import Labels
from jtruth.posterior import validate_confusion
from jtruth.training._inputs import (
    ModelFit,
    Stop,
    as_features,
    as_labels,
    check_matrices,
    check_per_class,
    check_posterior,
)
from jtruth.training.linear import check_options, solve_linear, zero_start
from jtruth.training.objectives import (
    BatchObjective,
    Mask,
    Rows,
    checked,
    discriminative_ml,
    empirical_risk,
    log_probabilities,
)

Matrices = Float[AnyArray, "labelers classes symbols"]
LabelMatrix = Int[AnyArray, "samples labelers"]


def weak_losses(losses: Rows, channel: Float[AnyArray, "classes symbols"]) -> Float[Array, "samples symbols"]:
    """Losses of noisy symbols whose mean, given the class, is the loss of that class: P L_weak = L, Su (56).

    With as many symbols as classes this is the proxy loss; with more, the minimum-norm solution.

    Args:
        losses: (samples, classes), the loss of every sample under every class.
        channel: (classes, symbols), P = p(z | y); of full row rank. Labels may be worse than random.

    Returns:
        (samples, symbols), linear in the losses. Entries may be negative.

    Raises:
        ValueError: classes with (nearly) the same distribution of symbols, or fewer symbols than classes.

    >>> channel = jnp.array([[.7, .1, .2], [.1, .6, .3]])  # the third symbol: "unsure"
    >>> print((weak_losses(jnp.array([[2.0, 1.0]]), channel) @ channel.T).round(4))
    [[2. 1.]]
    """
    check_per_class({"losses": losses})
    check.check_shape(channel, "channel", "classes symbols", classes=np.shape(losses)[1])
    if is_concrete(channel):
        validate_confusion(channel)
        _check_invertible(channel)
    losses = jnp.asarray(losses)
    q, r = jnp.linalg.qr(jnp.asarray(channel, losses.dtype).T)  # P = r' q': the shortest solution is in q
    return jnp.matmul(q, solve_triangular(r, losses.T, trans=1), precision="highest").T


def forward_risk(
    log_probabilities: Rows, log_matrices: Matrices, z: LabelMatrix, *, where: Mask = None
) -> Array:
    """Forward correction: the mean of -log sum_c p(c | x_i) P_t[c, z_it] over all labels.

    Raises:
        ValueError: sizes that do not match, NaN, rows of the matrices that do not sum to 1, a label that is
            no symbol.
    """
    check.check_no_nan(log_matrices, "log_matrices")
    matrices = np.exp(np.asarray(log_matrices)) if is_concrete(log_matrices) else log_matrices
    log_p, z = _checked(log_probabilities, matrices, z, where)
    by_label = jnp.swapaxes(jnp.asarray(log_matrices, log_p.dtype), 1, 2)  # (labelers, given, true)
    labelers = jnp.arange(z.shape[1], dtype=jnp.int32)
    log_likelihood = by_label[labelers[None, :], jnp.maximum(z, 0)]  # (samples, labelers, true)
    classes = log_p.shape[1]
    repeated = jnp.broadcast_to(log_p[:, None, :], log_likelihood.shape).reshape(-1, classes)
    mask = _label_mask(z, where).ravel()
    return discriminative_ml(repeated, log_likelihood.reshape(-1, classes), where=mask)


def backward_risk(
    log_probabilities: Rows, matrices: Matrices, z: LabelMatrix, *, where: Mask = None
) -> Array:
    """Backward correction: the mean of the `weak_losses` of the cross-entropy over all labels.

    Raises:
        ValueError: as `forward_risk`, or matrices that are (nearly) singular.
    """
    log_p, z = _checked(log_probabilities, matrices, z, where)
    _check_invertible(matrices)
    matrices = jnp.asarray(matrices, log_p.dtype)
    rows = jax.vmap(weak_losses, in_axes=(None, 0))(-log_p, matrices).reshape(-1, matrices.shape[2])
    return empirical_risk(rows, jnp.maximum(z, 0).T.ravel(), where=_label_mask(z, where).T.ravel())


def _checked(log_probabilities: Any, matrices: Any, z: Any, where: Any) -> tuple[Array, Array]:
    """Log probabilities and labels, where they, the matrices and `where` fit together."""
    check_per_class({"log_probabilities": log_probabilities}, where=where)
    check_matrices(matrices, np.shape(log_probabilities)[1], symbols=True)
    _check_labels(z, np.shape(log_probabilities)[0], matrices)
    return jnp.asarray(log_probabilities), jnp.asarray(z, jnp.int32)


@cache
def _corrected(ahead: bool, confusion: tuple) -> BatchObjective:
    """Forward or backward correction, cached by matrices, so that it compiles once."""

    def objective(outputs, evidence, *, where=None):
        log_p = log_probabilities(outputs)
        matrices = jnp.array(confusion, log_p.dtype)
        risk, channels = (forward_risk, safe_log(matrices)) if ahead else (backward_risk, matrices)
        return risk(log_p, channels, jnp.asarray(evidence, jnp.int32), where=where)

    return checked(objective, lambda z: _check_labels(z, len(z), confusion))


def _check_labels(z: Any, num_samples: int, matrices: Any) -> None:
    """Check labels (samples, labelers), codes of symbols or -1, against the matrices."""
    labelers, _, symbols = np.shape(matrices)
    check.check_codes(z, symbols, "z", size=(num_samples, labelers), missing=True, kinds="iu")


def backward(matrices: Any) -> BatchObjective:
    """Backward correction as a batch objective of `fit`: the mean of `weak_losses` of the cross-entropy.

    The evidence is z (samples, labelers), codes of symbols.

    Args:
        matrices: (labelers, classes, symbols), p(z_t | y). Symbols that a labeler never uses are columns of
            zeros.

    Raises:
        ValueError: matrices whose rows do not sum to 1, that are (nearly) singular, or that have fewer
            symbols than classes.
    """
    check_matrices(matrices, symbols=True)
    _check_invertible(matrices)
    return _corrected(False, _frozen(matrices))


def forward(matrices: Any) -> BatchObjective:
    """`forward_risk` as a batch objective of `fit`; the evidence is z (samples, labelers).

    Raises:
        ValueError: matrices that are not (labelers, classes, symbols) with rows that sum to 1.
    """
    check_matrices(matrices, symbols=True)
    return _corrected(True, _frozen(matrices))


def _frozen(matrices: Any) -> tuple:
    """(labelers, classes, symbols) as nested tuples."""
    must_be_concrete("an objective of fixed matrices", "forward_risk or backward_risk", matrices)
    return tuple(tuple(map(tuple, matrix)) for matrix in np.asarray(matrices, np.float64).tolist())


def _label_mask(z: Array, where: Mask) -> Array:
    return z >= 0 if where is None else (z >= 0) & jnp.asarray(where)[:, None]


def _check_invertible(channel: Any) -> None:
    """Check that the smallest singular value of concrete matrices p(symbol | class) is not 0."""
    if not is_concrete(channel):
        return
    matrices = np.asarray(channel, np.float64)
    smallest = np.atleast_1d(np.linalg.svd(matrices, compute_uv=False)[..., -1])
    bad = np.flatnonzero(~(smallest > 1e-6))
    if bad.size or matrices.shape[-2] > matrices.shape[-1]:
        which = f" of labeler {bad[0]}" if matrices.ndim == 3 and bad.size else ""
        raise ValueError(
            f"the matrix p(label | class){which} does not distinguish all classes (smallest singular value "
            f"{smallest[bad[0]] if bad.size else 0:.2g}); no loss of labels can be unbiased: use mmse_risk"
        )


# A base model, and the labelers on top of it: the rows of A_t before the softmax.
WithLabelers = tuple[Any, Float[Array, "labelers classes classes"]]


def with_labelers(base: Any, num_labelers: int, num_classes: int) -> WithLabelers:
    """Put labelers on a model, right with probability .9 at the start, errors spread evenly.

    The start identifies the classes: labelers must be better than random, and not much worse than it. `base`
    is any pytree of parameters.
    """
    check.check_whole(num_labelers=num_labelers)
    check.check_whole(2, num_classes=num_classes)
    logits = jnp.eye(num_classes) * np.log(9.0 * (num_classes - 1))
    return base, jnp.broadcast_to(logits[None], (num_labelers, num_classes, num_classes))


def labeler_matrices(model: WithLabelers) -> Float[Array, "labelers classes classes"]:
    """A_t, (labelers, classes, classes), as for a `jtruth.noise.ConfusionMatrices`."""
    shape = np.shape(model[1]) if isinstance(model, tuple) and len(model) == 2 else ()
    if len(shape) != 3 or shape[1] != shape[2]:
        raise ValueError(
            f"give the model from with_labelers, with logits (labelers, classes, classes): {shape}"
        )
    check.check_no_nan(model[1], "logits")
    return jax.nn.softmax(model[1], axis=2)


@cache
def layered(apply: Callable[[Any, Any], Array]) -> Callable[[WithLabelers, Any], tuple[Array, Array]]:
    """`apply` of the base model as that of the whole: log p(y | x) (samples, classes), and log A."""

    def whole(model: WithLabelers, x: Any) -> tuple[Array, Array]:
        return log_probabilities(apply(model[0], x)), jax.nn.log_softmax(model[1], axis=2)

    return whole


@cache
def predict_labels() -> BatchObjective:
    """Mean of -log p(z_it | x_i) over all labels; outputs are those of `layered`, evidence is z."""

    def objective(outputs, evidence, *, where=None):
        log_p, log_matrices = outputs
        return forward_risk(log_p, log_matrices, evidence, where=where)

    return objective


@cache
def trace_penalty(strength: float) -> Callable[[WithLabelers], Array]:
    """Tanno et al. (2019): `strength` times the mean diagonal entry of the labelers' matrices.

    The paper's sum over labels and samples is a mean here, so `strength` does not depend on either number;
    try .01 to .1. The matrix of a single labeler that labels everything is not identified.
    """
    check.check_not_negative(strength, "strength")

    def penalty(model: WithLabelers) -> Array:
        return strength * jnp.diagonal(labeler_matrices(model), axis1=1, axis2=2).mean()

    return penalty


def label_estimates(posterior: Rows) -> Int[Array, " samples"]:
    """Su 3.7, (2), (22): the most probable class of every sample; ties go to the lowest."""
    check_posterior(posterior)
    return jnp.argmax(jnp.asarray(posterior), axis=1).astype(jnp.int32)


def replication_counts(posterior: Rows, num_copies: int) -> Int[AnyArray, "samples classes"]:
    """Copies of a sample to label with each class, sample replication of Su 3.7.

    Counts sum to `num_copies` and are nearest to its multiple of the class posterior: rounded down, and the
    rest to the largest remainders (ties: the lower class). Divided by `num_copies` they are a posterior for
    `mmse_risk`.

    Raises:
        ValueError: rows that are no class probabilities, or no positive whole number of copies.

    >>> replication_counts(np.array([[.2, .8], [.49, .51]]), 5).tolist()
    [[1, 4], [2, 3]]
    """
    check.check_whole(num_copies=num_copies)
    check_posterior(posterior)
    concrete = is_concrete(posterior)  # exact on the host, else in the dtype of the trace
    xp, wanted = (np, np.asarray(posterior, np.float64)) if concrete else (jnp, posterior)
    wanted = wanted / wanted.sum(axis=1, keepdims=True) * num_copies
    counts = xp.floor(wanted)
    left = (num_copies - counts.sum(axis=1, keepdims=True)).astype(int)
    rank = xp.argsort(xp.argsort(counts - wanted, axis=1, stable=True), axis=1, stable=True)
    return (counts + (rank < left).astype(counts.dtype)).astype(int)


def vote_shares(labels: Labels) -> Float[np.ndarray, "samples classes"]:
    """Share of a sample's labels that each class has; equal shares without labels."""
    return _host.vote_shares(as_labels(labels).counts())


def fit_voters(x: Any, labels: Labels, *, regularisation: float = 1.0) -> ModelFit:
    """Voting (Su 3.7) with linear models: one fit for each labeler, with an axis of labelers in front.

    Args:
        x: (samples, features), finite numbers.
        labels: at most one label of each labeler for a sample.
        regularisation: as for `fit_linear`; N is the number of that labeler's labels.

    Raises:
        ValueError: bad features or options, repeated labels, or a labeler without labels.
    """
    x = as_features(x)
    labels = as_labels(labels, x)
    idle = np.flatnonzero(labels.labels_per_labeler() == 0)
    if idle.size:
        raise ValueError(f"labeler {idle[0]} gave no label and has no classifier; leave it out")
    loss = check_options("mmse", None, labels.num_classes)
    check.check_not_negative(regularisation, "regularisation")
    z = labels.to_matrix().T  # (labelers, samples), -1 where there is none
    one_hot = (z[:, :, None] == np.arange(labels.num_classes)).astype(np.float64)
    start, lam = zero_start(x, labels.num_classes, loss), jnp.asarray(regularisation, x.dtype)

    def of_labeler(evidence, where):
        return solve_linear(x, evidence, lam, start, loss=loss, where=where, stop=Stop())

    return jax.vmap(of_labeler)(jnp.asarray(one_hot, x.dtype), jnp.asarray(z >= 0))


def vote(predictions: Int[AnyArray, "labelers samples"], num_classes: int) -> Int[Array, " samples"]:
    """The class that most classifiers predict (-1 abstains); ties go to the lowest."""
    check.check_whole(2, num_classes=num_classes)
    shape = check.check_shape(predictions, "predictions", "labelers samples")
    check.check_codes(predictions, num_classes, "predictions", size=shape, missing=True, kinds="iu")
    classes = jnp.arange(num_classes, dtype=jnp.int32)
    votes = jnp.asarray(predictions, jnp.int32)[:, :, None] == classes[None, None, :]
    return jnp.argmax(votes.sum(axis=0), axis=1).astype(jnp.int32)


def median_scores(scores: Float[AnyArray, "labelers samples"]) -> Float[Array, " samples"]:
    """The score of a vote: the median score exceeds the threshold where most voters do.

    For an odd number of voters the ROC curve of voting is that of the median.
    """
    check.check_shape(scores, "scores", "labelers samples")
    check.check_no_nan(scores, "scores")
    return jnp.median(jnp.asarray(scores), axis=0)
