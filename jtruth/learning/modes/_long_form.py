"""Labels in long form for models in which every label has its own chance to be right, such as GLAD.

A label of sample i by labeler t is right with probability r and names each of the C - 1 wrong classes with
probability (1 - r) / (C - 1), where r may depend on sample, labeler and a level of difficulty. Then

    log p(labels of i, y_i = c) = log pi[c] + sum of log wrong + sum of log (right / wrong) over labels "c"

so that a pass over the labels is two sums, whatever C is. Entries and sizes are padded (weight 0) to a few
sizes, so that programs are reused.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jtruth._arrays import safe_log
from jtruth.labels import Labels
from jtruth.learning.em.columns import bucket


class LongForm(NamedTuple):
    """Labels in long form, NumPy or JAX. Padding has `given` 0 and samples of weight 0."""

    sample: Any  # (labels,) int
    labeler: Any  # (labels,) int
    label: Any  # (labels,) int
    given: Any  # (labels,) float: 1, or 0 for padding
    known: Any  # (samples,) int: the class where it is known, -1 elsewhere
    weight: Any  # (samples,) float: how often a sample counts; a bootstrap is a `vmap` over it


def long_form(labels: Labels, known: np.ndarray) -> LongForm:
    """The entries that are labels, and known classes, padded; float64."""
    sample, labeler, label = labels.entries()
    more = bucket(sample.size) - sample.size
    samples = bucket(labels.num_samples) - labels.num_samples
    codes = [np.pad(each, (0, more)).astype(np.int32) for each in (sample, labeler, label)]
    return LongForm(
        sample=codes[0],
        labeler=codes[1],
        label=codes[2],
        given=np.pad(np.ones(sample.size), (0, more)),
        known=np.pad(known.astype(np.int32), (0, samples), constant_values=-1),
        weight=np.pad(np.ones(labels.num_samples), (0, samples)),
    )


def log_joint(data: LongForm, log_right, log_wrong, prior):
    """log p(labels of a sample, class): (samples, classes), or (samples, classes, levels) with levels.

    Args:
        data: the labels.
        log_right, log_wrong: (labels, *levels) log probability of the right class, and of one wrong class.
        prior: (classes,).
    """
    size, classes, levels = data.known.shape[0], prior.shape[0], log_right.shape[1:]
    given = data.given.reshape(-1, *[1] * len(levels))
    every = jnp.zeros((size, *levels), log_right.dtype).at[data.sample].add(given * log_wrong)
    own = jnp.zeros((size * classes, *levels), log_right.dtype)
    own = own.at[data.sample * classes + data.label].add(given * (log_right - log_wrong))
    known = data.known[:, None]
    other = (known >= 0) & (known != jnp.arange(classes, dtype=known.dtype)[None, :])
    shares = jnp.where(other, -jnp.inf, safe_log(prior)[None, :])
    shares = shares.reshape(size, classes, *[1] * len(levels))
    return shares + every[:, None] + own.reshape(size, classes, *levels)


def unknown(data: LongForm) -> LongForm:
    """The same labels with no class known."""
    return data._replace(known=jnp.full_like(data.known, -1))


def e_step(joint, axis: int | tuple[int, ...] = 1):
    """Posterior of class (and level), and log p(labels of a sample)."""
    evidence = jax.nn.logsumexp(joint, axis=axis, keepdims=True)
    return jnp.exp(joint - evidence), evidence.squeeze(axis)


def total(data: LongForm, evidence):
    """Sum over samples, each as often as its weight says."""
    return jnp.where(data.weight > 0, data.weight * evidence, 0).sum()


def next_shares(data: LongForm, posterior, prior):
    """(classes,) the class prior after an M step: mean class posterior; `prior` itself unless that is -1."""
    mean = (data.weight[:, None] * posterior).sum(axis=0) / data.weight.sum()
    return jnp.where(prior < 0, mean, prior)


def start_shares(labels: Labels, fixed: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """(classes,) the class prior at the start, and `prior` for `next_shares`.

    At the start it is the known one, or the shares of all labels, of half a label at least.
    """
    votes = np.maximum(labels.counts().sum(axis=0), 0.5)
    learn = np.full(votes.size, -1.0)
    return (votes / votes.sum(), learn) if fixed is None else (fixed, fixed)
