"""Learn the labelers while training, by gradient descent: predict the noisy labels (Su 3.6.3, 3.6.4).

The base model gives p(y | x). On top of it every labeler t has a matrix A_t, a layer without input whose rows
are p(z_t | y), and the two together predict the labels: p(z_t | x) = sum_y p(y | x) A_t[y, z]. Both are
trained on all labels at once; afterwards the layer is taken off.

- One labeler: the noise-adaptation layer of Sukhbaatar et al. (2015) and Jindal et al. (2016).
- Several: Tanno et al. (2019), who add a multiple of the trace of the matrices to the loss. Many pairs of a
  model and matrices predict the labels equally well. A small trace says that labelers are as bad as the
  labels allow, so that the model must be the one that explains what they have in common.

Everything plugs into `fit`: `with_labelers` makes the model, `layered` its `apply`, `predict_labels` the
batch objective, `trace_penalty` the penalty; the evidence is z (samples, labelers) with -1 for no label.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jtruth._one_line import one_line
from jtruth.training._inputs import check_no_nan, check_not_negative, check_whole
from jtruth.training.batch_objectives import BatchObjective
from jtruth.training.corrections import forward_risk
from jtruth.training.losses import log_probabilities


class WithLabelers(NamedTuple):
    """A base model and the labelers on top of it, trained together."""

    base: Any
    logits: Float[Array, "labelers classes classes"]  # the rows of A_t before the softmax

    __repr__ = one_line


def with_labelers(
    base: Any, num_labelers: int, num_classes: int, *, diagonal: float = 0.9, dtype: Any = None
) -> WithLabelers:
    """A model with labelers that start out right with probability `diagonal`, their errors spread evenly.

    The start matters: it says which class is which. It should say that labelers are better than chance, and
    not much worse than they are.

    Args:
        base: any pytree of parameters.
        num_labelers, num_classes: sizes.
        diagonal: between 1/C and 1.
        dtype: of the layer; JAX's default floating type if None.
    """
    check_whole(num_labelers=num_labelers)
    check_whole(2, num_classes=num_classes)
    if not 1 / num_classes < diagonal < 1:
        raise ValueError(f"diagonal must lie between 1/{num_classes} and 1, got {diagonal}")
    dtype = jnp.result_type(float) if dtype is None else dtype
    wrong = (1 - diagonal) / (num_classes - 1)
    eye = jnp.eye(num_classes, dtype=dtype)
    logits = eye * (jnp.log(jnp.asarray(diagonal, dtype)) - jnp.log(jnp.asarray(wrong, dtype)))
    return WithLabelers(base, jnp.broadcast_to(logits[None], (num_labelers, num_classes, num_classes)))


def labeler_matrices(model: WithLabelers) -> Float[Array, "labelers classes classes"]:
    """A_t: rows of true classes, which sum to 1. They make a `jtruth.noise.ConfusionMatrices`."""
    shape = np.shape(model.logits) if isinstance(model, WithLabelers) else ()
    if len(shape) != 3 or shape[1] != shape[2]:
        raise ValueError(
            f"give the model that with_labelers made, its logits (labelers, classes, classes): {shape}"
        )
    check_no_nan(model.logits, "logits")
    return jax.nn.softmax(model.logits, axis=2)


@cache
def layered(apply: Callable[[Any, Any], Array]) -> Callable[[WithLabelers, Any], tuple[Array, Array]]:
    """`apply` of the base model as that of the whole: log p(y | x) (samples, classes), and log A."""

    def whole(model: WithLabelers, x: Any) -> tuple[Array, Array]:
        return log_probabilities(apply(model.base, x)), jax.nn.log_softmax(model.logits, axis=2)

    return whole


@cache
def predict_labels() -> BatchObjective:
    """Mean of -log p(z_it | x_i) over all labels given; outputs are those of `layered`, evidence is z."""

    def objective(outputs, evidence, *, where=None):
        log_p, log_matrices = outputs
        return forward_risk(log_p, log_matrices, evidence, where=where)

    return objective


@cache
def trace_penalty(strength: float) -> Callable[[WithLabelers], Array]:
    """Tanno et al. (2019): `strength` times the mean diagonal entry of the labelers' matrices.

    Their sum over labels and samples is a mean here, so `strength` does not depend on either number; .01 to
    .1 is a start. A single labeler that labels everything is not helped: its matrix is not identified.

    Raises:
        ValueError: a strength below 0.
    """
    check_not_negative(strength, "strength")

    def penalty(model: WithLabelers) -> Array:
        return strength * jnp.diagonal(labeler_matrices(model), axis1=1, axis2=2).mean()

    return penalty
