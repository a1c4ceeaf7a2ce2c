"""Losses of one sample under every possible class: what L(s, y) of Su (33) is for y = 0, ..., C-1 at once.

Each function turns the outputs of a model into an array (samples, classes) whose entry [i, c] is the loss of
sample i if its correct class were c. The model is run once; only this last, cheap step is repeated for the
classes. `jtruth.training.objectives` weighs the columns.

Outputs have one of two shapes. Binary models give one *score* for each sample, the log-odds of class 1 where
they are probabilistic: `logistic`, `hinge`, `squared_hinge`. Models of C >= 2 classes give *logits* (samples,
classes): `cross_entropy`, `brier`, `multiclass_hinge`. For certain labels all of them are the losses of the
same names in optax.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jtruth.training._inputs import check_outputs

Scores = Float[Array, " samples"]
Logits = Float[Array, "samples classes"]
Outputs = Scores | Logits
ClassLosses = Float[Array, "samples classes"]


def log_probabilities(outputs: Outputs) -> ClassLosses:
    """log p(y_i = c | x_i; theta) from scores (a sigmoid, App. F) or logits (a softmax).

    Example:
        >>> import jax.numpy as jnp
        >>> from jtruth.training import log_probabilities
        >>> print(jnp.exp(log_probabilities(jnp.array([0.0, 2.0]))).round(3))
        [[0.5   0.5  ]
         [0.119 0.881]]
    """
    check_outputs(outputs)
    outputs = jnp.asarray(outputs)
    if outputs.ndim == 1:
        return _log_sigmoid(jnp.stack([-outputs, outputs], axis=1))
    return jax.nn.log_softmax(outputs, axis=1)


@jax.custom_jvp
def _log_sigmoid(scores: Array) -> Array:
    return jax.nn.log_sigmoid(scores)


@_log_sigmoid.defjvp
def _slope_of_log_sigmoid(primals, tangents):
    # By its own rule every slope costs a logarithm and four exponentials; this is one sigmoid.
    (scores,), (moves,) = primals, tangents
    return _log_sigmoid(scores), jax.nn.sigmoid(-scores) * moves


def logistic(scores: Scores) -> ClassLosses:
    """log(1 + exp(s)) if the class is 0, log(1 + exp(-s)) if it is 1; the loss of Su F.2."""
    check_outputs(scores, (1,))
    return -log_probabilities(scores)


def hinge(scores: Scores) -> ClassLosses:
    """max(0, 1 + s) if the class is 0, max(0, 1 - s) if it is 1: the support vector machine."""
    return jax.nn.relu(1 - _signed(scores))


def rounded_hinge(scores: Scores, width: float) -> ClassLosses:
    """The hinge with its kink replaced by a parabola of this width; below it by at most width / 2."""
    gap = 1 - _signed(scores)
    inside = jnp.clip(gap, 0, width)
    return inside * (gap - inside / 2) / width


def squared_hinge(scores: Scores) -> ClassLosses:
    """The square of `hinge`; smooth, unlike the hinge itself."""
    return hinge(scores) ** 2


def cross_entropy(logits: Logits) -> ClassLosses:
    """-log p(y_i = c | x_i) of a softmax."""
    check_outputs(logits, (2,))
    return -log_probabilities(logits)


def brier(logits: Logits) -> ClassLosses:
    """sum_k (p_k - [k = c])^2 of a softmax: between 0 and 2, a proper score that is bounded (Su 3.4.5)."""
    check_outputs(logits, (2,))
    p = jax.nn.softmax(jnp.asarray(logits), axis=1)
    return (p**2).sum(axis=1, keepdims=True) - 2 * p + 1


def multiclass_hinge(logits: Logits) -> ClassLosses:
    """max_k (s_k + [k != c]) - s_c (Crammer and Singer 2001), which is >= 0."""
    check_outputs(logits, (2,))
    logits = jnp.asarray(logits)
    classes = logits.shape[1]
    margin = 1 - jnp.eye(classes, dtype=logits.dtype)  # (true, rival)
    return (logits[:, None, :] + margin[None, :, :]).max(axis=2) - logits


def _signed(scores: Scores) -> ClassLosses:
    """The margin y s with y = -1 for class 0 and +1 for class 1."""
    check_outputs(scores, (1,))
    scores = jnp.asarray(scores)
    return jnp.stack([-scores, scores], axis=1)


LOSSES: dict[str, Callable[[Array], Array]] = {
    f.__name__: f for f in (logistic, hinge, squared_hinge, cross_entropy, brier, multiclass_hinge)
}
BINARY_LOSSES = ("logistic", "hinge", "squared_hinge")  # take scores (samples,); the others take logits
