"""Labels as NUTS takes them, and what draws of an annotation model say about samples and labelers.

Rows are padded samples, equal ones merged into one with a weight. Everything that is said follows from the
`Channel` of a draw. Draws are dictionaries of arrays (chains, draws, ...). The programs depend on the padded
shapes only, and take rows block by block.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from jtruth._one_line import one_line
from jtruth.labels import Labels
from jtruth.latent.infer.nuts_run import arithmetic
from jtruth.learning.annotation import channels
from jtruth.learning.em.columns import bucket

Draws = dict[str, np.ndarray]
BLOCK = 4096  # rows at a time: the log-likelihood of all draws for all rows of a large set fits nowhere


class LabelRows(NamedTuple):
    """(rows, width) entries, -1 padded, and how many samples each row stands for."""

    labeler: Any  # (rows, width) int32
    label: Any  # (rows, width) int32; None: let the model draw it
    weight: Any  # (rows,) float

    __repr__ = one_line


class MergedRows(NamedTuple):
    """The rows of a data set. Sample i is row `row_of_sample[i]`; rows from `size` on are padding."""

    rows: LabelRows
    row_of_sample: Int[np.ndarray, " samples"]
    size: int

    __repr__ = one_line


def merged_rows(labels: Labels, *, merge: bool = True) -> MergedRows:
    """Padded rows; sizes are rounded up so that data sets of about the same size share a program."""
    if merge:
        patterns = labels.patterns()
        labeler, label = patterns.labels.padded()
        row_of_sample, weight = patterns.inverse, patterns.counts.astype(np.float64)
    else:
        labeler, label = labels.padded()
        row_of_sample, weight = np.arange(labels.num_samples), np.ones(labels.num_samples)
    size, width = labeler.shape
    pad = ((0, bucket(size) - size), (0, bucket(width) - width))
    rows = LabelRows(
        np.pad(labeler, pad, constant_values=-1).astype(np.int32),
        np.pad(label, pad, constant_values=-1).astype(np.int32),
        np.pad(weight, pad[0]),
    )
    return MergedRows(rows, row_of_sample, size)


def blank_rows(num_samples: int, num_labelers: int) -> LabelRows:
    """Every labeler labels every sample, labels to be drawn."""
    labeler = np.broadcast_to(np.arange(num_labelers, dtype=np.int32), (num_samples, num_labelers))
    return LabelRows(labeler.copy(), None, np.ones(num_samples))


def digest(
    channel: Callable, draws: Draws, rows: LabelRows, hyper: dict, num_labelers: int
) -> tuple[Float[np.ndarray, "rows classes"], Float[np.ndarray, "chains labelers classes classes"]]:
    """Means over draws: p(class | labels of the row) of all draws, and matrices of every chain."""
    with arithmetic():
        found = _digest(channel, num_labelers, *jax.tree.map(jnp.asarray, (draws, rows, hyper)))
        return np.asarray(found[0]), np.asarray(found[1])


def matrices_of(
    channel: Callable, draws: Draws, hyper: dict, num_labelers: int
) -> Float[np.ndarray, "draws labelers classes classes"]:
    """p(label | class) of each labeler by every draw; draws are (draws, ...)."""
    with arithmetic():
        return np.asarray(_matrices(channel, num_labelers, *jax.tree.map(jnp.asarray, (draws, hyper))))


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


@functools.partial(jax.jit, static_argnums=(0, 1))
def _matrices(channel, num_labelers, draws, hyper):
    return jax.lax.map(lambda draw: channel(draw, hyper, num_labelers).matrices(), draws)
