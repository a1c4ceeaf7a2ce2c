"""Training with tools that know only correct labels (Su 3.7): estimated, voted and soft labels.

- *Label estimation*: take the most probable class of every sample for its label.
- *Voting*: train one classifier on each labeler's labels alone, and let the classifiers vote.
- *Soft labels*: give the tool probabilities. The class posterior with the cross-entropy is exactly (40); the
  shares of the votes are what one has without a noise model.

The first two decide before they train, and lose what the decision forgets. Sample replication (Su 3.7)
labels copies in proportion to the class posterior: with many copies it is (40) too, and not (32), as the
paper has it in 5.4.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jtruth import _host
from jtruth._validation.in_range import (
    check_codes,
    check_no_nan,
    check_not_negative,
    check_shape,
    check_whole,
)
from jtruth.labels import Labels
from jtruth.training._inputs import Stop, as_features, as_labels, check_posterior
from jtruth.training.linear import LinearFit, check_options, solve_linear, zero_start

Posterior = Float[Array | np.ndarray, "samples classes"]


def label_estimates(posterior: Posterior) -> Int[Array, " samples"]:
    """Su 3.7, (2), (22): the most probable class of every sample, the lowest one among equals."""
    check_posterior(posterior)
    return jnp.argmax(jnp.asarray(posterior), axis=1).astype(jnp.int32)


def vote_shares(labels: Labels) -> Float[np.ndarray, "samples classes"]:
    """The share of a sample's labels (checked here) that each class has; equal shares where there is none."""
    return _host.vote_shares(as_labels(labels).counts())


def fit_voters(
    x: Any,
    labels: Labels,
    *,
    loss: str | None = None,
    regularisation: float = 1.0,
    stop: Stop = Stop(),
) -> LinearFit:
    """Voting (Su 3.7) with linear models: one fit for each labeler, with an axis of labelers in front.

    Args:
        x: (samples, features), finite numbers.
        labels: at most one label of each labeler for a sample.
        loss, regularisation, stop: as for `fit_linear`; N is what that labeler has labelled.

    Raises:
        ValueError: bad features or options, repeated labels, or a labeler without labels.
    """
    x = as_features(x)
    labels = as_labels(labels, x)
    idle = np.flatnonzero(labels.labels_per_labeler() == 0)
    if idle.size:
        raise ValueError(f"labeler {idle[0]} gave no label, so has no classifier; leave it out")
    loss = check_options("mmse", loss, labels.num_classes)
    check_not_negative(regularisation, "regularisation")
    z = labels.to_matrix().T  # (labelers, samples), -1 where there is none
    one_hot = (z[:, :, None] == np.arange(labels.num_classes)).astype(np.float64)
    stop = stop.checked(x.dtype)
    start, lam = zero_start(x, labels.num_classes, loss), jnp.asarray(regularisation, x.dtype)

    def one(evidence, where):
        return solve_linear(x, evidence, lam, start, loss=loss, where=where, stop=stop)

    return jax.vmap(one)(jnp.asarray(one_hot, x.dtype), jnp.asarray(z >= 0))


def vote(
    predictions: Int[Array | np.ndarray, "labelers samples"], num_classes: int
) -> Int[Array, " samples"]:
    """The class that most classifiers predict (-1 abstains); the lowest one among equals."""
    check_whole(2, num_classes=num_classes)
    shape = check_shape(predictions, "predictions", "labelers samples")
    check_codes(predictions, num_classes, "predictions", size=shape, missing=True, kinds="iu")
    classes = jnp.arange(num_classes, dtype=jnp.int32)
    votes = jnp.asarray(predictions, jnp.int32)[:, :, None] == classes[None, None, :]
    return jnp.argmax(votes.sum(axis=0), axis=1).astype(jnp.int32)


def median_scores(scores: Float[Array | np.ndarray, "labelers samples"]) -> Float[Array, " samples"]:
    """The score of a vote: a sample is voted positive when the median score exceeds the threshold.

    That holds for an odd number of voters, so the ROC curve of voting is that of the median.
    """
    check_shape(scores, "scores", "labelers samples")
    check_no_nan(scores, "scores")
    return jnp.median(jnp.asarray(scores), axis=0)
