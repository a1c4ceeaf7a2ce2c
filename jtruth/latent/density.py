"""log p(row, class, level | parameters): the one place where labels meet parameters.

A sample has a class c and, inside it, a level h (easy or hard; a node of a difficulty that is integrated),
together a state s. With the `Channel` of its parameters, and how often each thing was seen on a row,

    log p(row, s) = log p(c(s)) + log p(h(s) | c(s)) + sum of log p(seen | s) + offset(row, s),

one product of matrices for all parameters at once, which are the last axis, P. Where rows hardly merge, a row
is instead the numbers of the things seen on it, and the product is a sum of entries of the table.

To keep digits in float32, log-likelihoods are relative to the saturated model, which gives every row its own
share of the samples: `Seen.saturated` is what was subtracted.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jtruth._arrays import AnyArray
from jtruth._one_line import one_line

_HIGHEST = jax.lax.Precision.HIGHEST  # accelerators round float32 products to 10 bits otherwise


class Channel(NamedTuple):
    """Log probabilities of one sample. S states, V groups of samples, K things that may be seen."""

    log_class: Any  # (V, S, P) log prior of the class of each state
    log_level: Any  # (S, P) log weight of the state inside its class
    log_seen: Any  # (K, S, P)

    __repr__ = one_line


class Seen(NamedTuple):
    """The rows of a data set; filling rows stand for no sample."""

    # (rows, K + V) how often each thing was seen, and which group the row is of; or whole numbers, (rows,
    # most): which things were, and K + group; K + V and above is nothing
    design: Any
    offset: Any  # (rows, S) what else is known, such as the class of gold samples
    times: Any  # (rows,) samples that it stands for
    saturated: Any  # (rows,) log share of the samples

    __repr__ = one_line


def log_joint(channel: Channel, seen: Seen) -> Float[Array, "rows states P"]:
    """log p(row, state) of every row."""
    of_state = channel.log_class + channel.log_level[None]
    table = jnp.concatenate([channel.log_seen, of_state])
    if jnp.issubdtype(seen.design.dtype, jnp.integer):
        of_row = table.at[seen.design].get(mode="fill", fill_value=0).sum(axis=1)
    else:
        flat = jnp.matmul(seen.design, table.reshape(len(table), -1), precision=_HIGHEST)
        of_row = flat.reshape(-1, *table.shape[1:])
    return of_row + seen.offset[:, :, None]


def numbers(offset: tuple[int, ...], columns: int) -> float:
    """How many numbers `log_joint` computes for one point, with an offset of this shape."""
    return float(np.prod(offset) * (columns + 8))


def total(joint: Float[AnyArray, "rows states P"]) -> Float[Array, "rows P"]:
    """log p(row), the states summed out."""
    top = jax.lax.stop_gradient(joint.max(axis=1))
    return top + jnp.log(jnp.exp(joint - top[:, None]).sum(axis=1))


def log_likelihood(channel: Channel, seen: Seen) -> Float[Array, " P"]:
    """log p(all samples), less that of the saturated model."""
    terms = total(log_joint(channel, seen)) - seen.saturated[:, None]
    return jnp.matmul(seen.times, terms, precision=_HIGHEST)


def class_dist(joint: Float[Array, "rows states P"], classes: int) -> Float[Array, "rows classes P"]:
    """p(class | row) of every row; states are ordered by class."""
    rows, states, size = joint.shape
    dist = jnp.exp(joint - total(joint)[:, None])
    return dist.reshape(rows, classes, states // classes, size).sum(axis=2)
