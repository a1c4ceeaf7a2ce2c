"""Labelers who see earlier labels: some of their agreement is repetition.

Where a tool shows the label that a sample has already, the next labeler may keep it without a look. Two
labels that agree are then less than two opinions, and models of independent labelers are too sure. Here
labeler t repeats the last label given before with probability a_t, their influence, and else answers by a
confusion matrix:

    p(z = k | y = c, h shown) = a_t [k = h] + (1 - a_t) psi_t[c, k];   the first label has psi_t[c, k] alone.

That is the sequential dependence of Van Horn et al. (2018) in its simplest form: there a labeler weighs the
labels shown by how far they are trusted, here they are kept or not looked at. EM has closed steps: a label
that repeats what was shown is a copy with probability a / (a + (1 - a) psi[c, k]), copies teach nothing about
psi, and a_t is the expected share of copies. Without the order of labels nothing is learned of influence.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jtruth.labels import Labels
from jtruth.learning._fit import Fit
from jtruth.learning._given import check_steps, exchanged, first_guess, read_given, soft_counts
from jtruth.learning.modes import _em


class SequentialPriors(NamedTuple):
    """Pseudo-counts, so that rows and influences that rest on little stay off 0 and 1."""

    diagonal: float = 0.5  # to every psi_t[c, c]
    off_diagonal: float = 0.1  # to every psi_t[c, k], k != c
    copied: float = 0.1  # of labels shown, to those that were repeated unseen
    own: float = 0.5  # and to those that were not


DEFAULT = SequentialPriors()


def fit_sequential(
    labels: Labels,
    order: Any,
    *,
    priors: SequentialPriors = DEFAULT,
    gold: Any = None,
    prior: Any = None,
    key: Any = None,
    max_steps: int = 10_000,
    tol: float = 1e-8,
) -> Fit:
    """Most probable matrices, influences and class shares, by EM from vote shares.

    Args:
        labels: the noisy labels.
        order: (labels,) when each entry of `labels` was given, on any scale; equal times are refused within a
            sample, because nobody can tell then who was shown what.
        priors: pseudo-counts.
        gold, prior, key, max_steps, tol: as for `fit_glad`.

    Returns:
        `Fit`. Its own: `matrices` (labelers, classes, classes) of labels that are no copies; `influence` a
        (labelers,), the chance to repeat what is shown; `copied` (labels,), the chance that each entry of
        `labels` is a copy; `label_log_likelihood` (samples, classes), log p(labels of a sample in their order
        | class); `log_posterior`, log-likelihood and sum of pseudo-count * log probability.

    Raises:
        ValueError: for input that cannot be used, before any JAX call.
    """
    known, fixed = read_given(labels, gold, prior)
    check_steps(max_steps, tol)
    if not all(np.isfinite(x) and x > 0 for x in priors):
        raise ValueError(f"priors are pseudo-counts and must be positive; got {tuple(priors)}")
    shown, given = last_shown(labels, order), labels.arrays[2] >= 0
    data = _em.long_form(labels, known)
    shown_padded = np.full(data.label.size, -1, np.int32)
    shown_padded[: given.sum()] = shown[given]
    labelers, size = labels.num_labelers, _em.bucket(labels.num_labelers)
    pseudo = np.where(np.eye(labels.num_classes) > 0, priors.diagonal, priors.off_diagonal)
    pseudo, rest = np.tile(pseudo, (size, 1, 1)), np.tile([priors.copied, priors.own], (size, 1))
    matrices = pseudo + soft_counts(labels, first_guess(labels, known), size)
    matrices /= matrices.sum(axis=2, keepdims=True)
    shares, prior = _em.start_shares(labels, fixed)
    start = matrices, np.tile([0.1, 0.9], (size, 1)), shares
    with jax.enable_x64(True):
        end, copies = sequential_em(
            data, shown_padded, start, (pseudo, rest), prior, max_steps=max_steps, tol=tol
        )
    matrices, influence, shares = (np.asarray(x) for x in end.summit.params)
    copied = np.zeros(given.size)
    copied[given] = np.asarray(copies)[: given.sum()]
    votes = np.einsum("t,c,tck->ck", labels.labels_per_labeler(), shares, matrices[:labelers])
    doubts = tuple(exchanged(votes, labels.class_names))
    return _em.fitted(
        labels,
        known,
        end,
        doubts,
        matrices=matrices[:labelers],
        influence=influence[:labelers, 0],
        copied=copied,
    )


def last_shown(labels: Labels, order: Any) -> np.ndarray:
    """(labels,) the label that each entry's sample had last before it; -1 for first ones and for no label.

    Raises:
        ValueError: another number of times than of entries, no numbers, or equal ones within a sample.
    """
    sample, _, label = labels.arrays
    when = np.asarray(order)
    if when.shape != label.shape or when.dtype.kind not in "iuf" or not np.isfinite(when).all():
        raise ValueError(
            f"order must be a number for each of the {label.size} entries of labels; got shape {when.shape}, "
            f"dtype {when.dtype}"
        )
    entry = np.flatnonzero(label >= 0)
    entry = entry[np.lexsort((when[entry], sample[entry]))]
    same = sample[entry][1:] == sample[entry][:-1]
    tied = np.flatnonzero(same & (when[entry][1:] == when[entry][:-1]))
    if tied.size:
        k, other = sorted(entry[tied[0] : tied[0] + 2].tolist())
        raise ValueError(f"entries {k} and {other} of sample {sample[k]} have the same time: who was first?")
    shown = np.full(label.size, -1, np.int64)
    shown[entry[1:][same]] = label[entry[:-1][same]]
    return shown


@partial(jax.jit, static_argnames=("max_steps",))
def sequential_em(data, shown, start, pseudo, prior, *, max_steps: int, tol):
    """EM, pure and jitted; `vmap` it over starts or `data.weight`: its end, and (labels,) chances of copies.

    Args:
        data: a `LongForm`.
        shown: (labels,) the label shown, -1 for none.
        start: matrices (labelers, classes, classes), influences a and 1 - a (labelers, 2), class prior.
        pseudo: pseudo-counts of matrices and influences.
        prior: (classes,) a known class prior; -1 to learn it.
        max_steps, tol: see `climb`.
    """
    shown = jnp.asarray(shown)
    sees, repeats = shown >= 0, shown == data.label

    def parts(params):
        """(labels, classes) chance of a label that is no copy, and (labels, 1) that of a copy."""
        own, (kept, looked) = params[0][data.labeler, :, data.label], params[1][data.labeler].T
        return jnp.where(sees, looked, 1)[:, None] * own, jnp.where(repeats, kept, 0)[:, None]

    def joint(params, data):
        log_p = jnp.where(data.given[:, None] > 0, jnp.log(sum(parts(params))), 0)
        return data.shares(params[2]).at[data.sample].add(log_p)

    model = _em.of_probabilities(joint, jax.tree.map(jnp.asarray, pseudo))
    end = _em.em(model, data, start, prior, max_steps=max_steps, tol=tol)
    own, copy = parts(end.summit.params)
    return end, (end.posterior[data.sample] * copy / (own + copy)).sum(axis=1)
