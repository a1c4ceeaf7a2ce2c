"""MBEM of Khetan et al. (2018): bootstrap labelers and any model from each other (Su 3.2, 3.4.1).

Round after round: train the model on the class posterior of the labels, that is, minimise (40); take its
predicted classes for the correct ones, count how the labelers err against them, and form the class posterior
anew. It needs no likelihood, so the model can be anything that can be trained, and one label for each sample
is enough: what the labelers share is not a second opinion but the model.

What the model gets wrong for everybody looks like errors of the labelers, so a model that fits poorly, or so
well that it repeats the labels, misleads it; hold samples out, or stop training early. And hard decisions
feed back: where labels are poor a slight excess of one class becomes the prior of the next round, and after a
few rounds every sample is of that class (in our tests, with two labelers in three right in 62 % and one label
for each sample). A `prior` that is kept prevents it, and few rounds limit it. Host-side loop.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from jtruth._one_line import one_line
from jtruth.labels import Labels
from jtruth.noise import ConfusionMatrices
from jtruth.posterior import class_posterior, validate_prior
from jtruth.training._inputs import as_labels, check_labels, check_whole
from jtruth.training._labelers import check_pseudo_counts, counted_matrices
from jtruth.training.hard_labels import vote_shares

Train = Callable[[np.ndarray], tuple[Any, Any]]


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
    train: Train,
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
    check_pseudo_counts(pseudo_counts)
    if not callable(train):
        raise ValueError(f"train is a {type(train).__name__}; give a function of the class posterior")
    fixed = None if prior is None else validate_prior(prior, labels.num_classes)
    rho, previous, changed = vote_shares(labels), None, []
    for _ in range(num_rounds):
        model, y_pred = train(rho)
        y_pred = _classes(y_pred, labels)
        matrices, prior, rho = _labelers_given(y_pred, labels, pseudo_counts, fixed)
        if previous is not None:
            changed.append(int((y_pred != previous).sum()))
        previous = y_pred
        if changed and changed[-1] == 0:
            break
    done = bool(changed) and changed[-1] == 0
    return MBEMFit(model, matrices, np.asarray(prior), rho, y_pred, done, len(changed) + 1, tuple(changed))


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


def _classes(y_pred: Any, labels: Labels) -> Int[np.ndarray, " samples"]:
    """Predictions as whole numbers, one for each sample."""
    y_pred = np.asarray(y_pred)
    if y_pred.shape != (labels.num_samples,):
        raise ValueError(
            f"train must return (model, y_pred) with y_pred of shape ({labels.num_samples},), one class for "
            f"each sample; got {y_pred.shape}"
        )
    check_labels(y_pred, labels.num_classes, "y_pred")
    return y_pred.astype(np.int32)
