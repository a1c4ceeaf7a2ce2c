"""What draws of an annotation model say about samples and labelers: functions of the draws, block by block.

Everything follows from the `Channel` of a draw. Draws are dictionaries of arrays (chains, draws, ...); rows
are distinct samples (`_bayes_rows`). The programs depend on the padded shapes only.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from jtruth.learning.annotation import channels
from jtruth.learning.annotation.rows import LabelRows
from jtruth.sampling.nuts_run import arithmetic

Draws = dict[str, np.ndarray]
BLOCK = 4096  # rows at a time: the log-likelihood of all draws for all rows of a large set fits nowhere


class Digest(NamedTuple):
    """Means over draws."""

    class_posterior: Float[np.ndarray, "rows classes"]  # p(class | labels of the row), all draws
    mean_matrices: Float[np.ndarray, "chains labelers classes classes"]


def digest(channel: Callable, draws: Draws, rows: LabelRows, hyper: dict, num_labelers: int) -> Digest:
    """Class posterior of every row and mean matrices of every chain."""
    with arithmetic():
        found = _digest(channel, num_labelers, *jax.tree.map(jnp.asarray, (draws, rows, hyper)))
        return Digest(*(np.asarray(x) for x in found))


def row_log_likelihood(
    channel: Callable, draws: Draws, rows: LabelRows, hyper: dict, num_labelers: int
) -> Float[np.ndarray, "chains draws rows"]:
    """log p(labels of the row | draw): the pointwise log-likelihood of any sample with these labels."""
    with arithmetic():
        data = jax.tree.map(jnp.asarray, (draws, rows.labeler, rows.label, hyper))
        return np.asarray(_pointwise(channel, num_labelers, *data))


def row_blocks(rows: LabelRows, size: int) -> list[LabelRows]:
    """The rows in blocks of `BLOCK`, the last one padded; `size` rows are no padding."""
    if size <= BLOCK:
        return [rows]
    blocks = []
    for k in range(0, size, BLOCK):
        part = LabelRows(*(np.asarray(a)[k : min(k + BLOCK, size)] for a in rows))
        pad = BLOCK - part.weight.size
        labeler, label = (np.pad(a, ((0, pad), (0, 0)), constant_values=-1) for a in part[:2])
        blocks.append(LabelRows(labeler, label, np.pad(part.weight, (0, pad))))
    return blocks


@functools.partial(jax.jit, static_argnums=(0, 1))
def _pointwise(channel, num_labelers, draws, labeler, label, hyper):
    def one(draw):
        return channels.log_likelihood(channel(draw, hyper, num_labelers), labeler, label)

    return jax.lax.map(lambda chain: jax.lax.map(one, chain, batch_size=16), draws)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _digest(channel, num_labelers, draws, rows, hyper):
    def one(draw):
        now = channel(draw, hyper, num_labelers)
        joint = channels.log_joint(now, rows.labeler, rows.label)
        return jax.nn.softmax(joint, axis=1), now.matrices()

    def step(sums, draw):
        posterior, matrices = jax.vmap(one)(draw)
        return (sums[0] + posterior.sum(axis=0), sums[1] + matrices), None

    by_draw = {name: jnp.swapaxes(x, 0, 1) for name, x in draws.items()}
    shapes = jax.eval_shape(jax.vmap(one), jax.tree.map(lambda x: x[0], by_draw))
    zero = jnp.zeros(shapes[0].shape[1:], shapes[0].dtype), jnp.zeros(shapes[1].shape, shapes[1].dtype)
    (posterior, matrices), _ = jax.lax.scan(step, zero, by_draw)
    length, chains = next(iter(by_draw.values())).shape[:2]
    return posterior / (length * chains), matrices / length
