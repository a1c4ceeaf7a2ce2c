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
from jaxtyping import Float

from jtruth._one_line import one_line
from jtruth.labels import Labels
from jtruth.latent import density
from jtruth.latent.fit import RowLikelihood, row_likelihood
from jtruth.latent.infer.nuts_run import arithmetic
from jtruth.latent.rows import merge_samples
from jtruth.learning.annotation import channels
from jtruth.learning.annotation.spec import SPECS
from jtruth.learning.em.columns import bucket
from jtruth.learning.joint.posterior import JointPosterior

Draws = dict[str, np.ndarray]
BLOCK = 4096  # rows at a time
_MOST = 40_000_000  # draws x rows
_NOT_THE_SAME = 0.3  # a class probability of the same labels and draws does not differ by this


class LabelRows(NamedTuple):
    """(rows, width) entries, -1 padded, and how many samples each row stands for."""

    labeler: Any  # (rows, width) int32
    label: Any  # (rows, width) int32; None: let the model draw it
    weight: Any  # (rows,) float

    __repr__ = one_line


MergedRows = tuple[LabelRows, np.ndarray]  # padded rows, and the row of each sample


def merged_rows(labels: Labels) -> MergedRows:
    """Padded rows; sizes are rounded up so that data sets of about the same size share a program."""
    merged = merge_samples(labels, None, None)
    labeler, label = merged.labels.padded()
    size, width = labeler.shape
    pad = ((0, bucket(size) - size), (0, bucket(width) - width))
    rows = LabelRows(
        np.pad(labeler, pad, constant_values=-1).astype(np.int32),
        np.pad(label, pad, constant_values=-1).astype(np.int32),
        np.pad(merged.multiplicity.astype(np.float64), pad[0]),
    )
    return rows, merged.row_of_sample


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


def pointwise(
    channel: Callable, draws: Draws, data: MergedRows, hyper: dict, num_labelers: int, *, thin: bool = True
) -> RowLikelihood:
    """log p(labels of the row | draw): the pointwise log-likelihood of any sample with these labels.

    Of large sets at every second, third, ... draw, so that it fits in memory, unless `thin` is False.
    """
    rows, row_of_sample = data
    size = int(row_of_sample.max()) + 1
    chains, length = next(iter(draws.values())).shape[:2]
    step = -(-chains * length * size // _MOST) if thin else 1
    chosen, parts = {name: x[:, ::step] for name, x in draws.items()}, []
    for first in range(0, size, BLOCK):
        labeler, label = (np.asarray(a)[first : first + BLOCK] for a in rows[:2])
        more = BLOCK - len(labeler) if size > BLOCK else 0
        labeler, label = (np.pad(a, ((0, more), (0, 0)), constant_values=-1) for a in (labeler, label))
        with arithmetic():
            given = jax.tree.map(jnp.asarray, (chosen, labeler, label, hyper))
            parts.append(np.asarray(_pointwise(channel, num_labelers, *given)))
    return row_likelihood(np.concatenate(parts, axis=2)[:, :, :size], row_of_sample)


def pointwise_of_joint(fit: JointPosterior, labels: Labels) -> RowLikelihood:
    """The same of a fit of the joint posterior that was made without it (`Effort(pointwise=True)`).

    Raises:
        ValueError: a fit with another dependence, a classifier or gold labels, or of other labels.
    """
    if fit.dependence != "independent" or fit.classifier is not None:
        raise ValueError(
            "a JointPosterior gives a pointwise log-likelihood under dependence='independent' and without "
            f"y_pred; this one has {fit.dependence!r}{'' if fit.classifier is None else ' and y_pred'}. "
            "Append predictions to the labels as one more labeler."
        )
    sizes = labels.num_labelers, labels.num_classes, labels.num_samples
    if (*fit.mean_matrices.shape[:2], len(fit.class_posterior)) != sizes:
        raise ValueError("the JointPosterior is of other labels: it has other numbers of samples or labelers")
    chains = int(fit.chain.max()) + 1
    prior = fit.prior[fit.matrix_draw].reshape(chains, -1, labels.num_classes)
    matrices = fit.matrices.astype(np.float64).reshape(*prior.shape[:2], *fit.matrices.shape[1:])
    samples = {"prior": prior, "matrices": matrices / matrices.sum(axis=-1, keepdims=True)}
    data, channel = merged_rows(labels), SPECS["dawid_skene"].channel
    again = digest(channel, samples, data[0], {}, labels.num_labelers)[0][data[1]]
    certain = ((fit.class_posterior == 1) & (again < 1 - 1e-9)).any()
    if certain or np.abs(again - fit.class_posterior).max() > _NOT_THE_SAME:
        raise ValueError(
            "the class posterior of this JointPosterior is not that of these labels alone: it was fitted to "
            "other labels, or with gold labels, whose samples are no observations of labels only"
        )
    return pointwise(channel, samples, data, {}, labels.num_labelers)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _pointwise(channel, num_labelers, draws, labeler, label, hyper):
    def one(draw):
        joint = channels.log_joint(channel(draw, hyper, num_labelers), labeler, label, num_labelers)
        return density.total(joint)[:, 0]

    return jax.lax.map(lambda chain: jax.lax.map(one, chain, batch_size=16), draws)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _digest(channel, num_labelers, draws, rows, hyper):
    def one(draw):
        now = channel(draw, hyper, num_labelers)
        joint = channels.log_joint(now, rows.labeler, rows.label, num_labelers)
        matrices = channels.matrices(now, num_labelers)
        return density.class_law(joint, matrices.shape[1])[:, :, 0], matrices

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
    return jax.lax.map(lambda p: channels.matrices(channel(p, hyper, num_labelers), num_labelers), draws)
