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
from jaxtyping import Float

from jtruth._one_line import one_line
from jtruth._squarem import inside_simplex
from jtruth.labels import Labels
from jtruth.learning._given import (
    check_steps,
    exchanged,
    first_guess,
    read_given,
)
from jtruth.learning.modes import _long_form as lf
from jtruth.learning.modes._climb import inside_unit
from jtruth.learning.modes._em import Model, em, in_common


class SequentialPriors(NamedTuple):
    """Pseudo-counts, so that rows and influences that rest on little stay off 0 and 1."""

    diagonal: float = 0.5  # to every psi_t[c, c]
    off_diagonal: float = 0.1  # to every psi_t[c, k], k != c
    copied: float = 0.1  # of labels shown, to those that were repeated unseen
    own: float = 0.5  # and to those that were not


class Sequential(NamedTuple):
    """A fitted model of labelers who may repeat what they are shown. All arrays are NumPy float64."""

    prior: Float[np.ndarray, " classes"]
    matrices: Float[np.ndarray, "labelers classes classes"]  # of labels that are no copies
    influence: Float[np.ndarray, " labelers"]  # a: chance to repeat what is shown
    copied: Float[np.ndarray, " labels"]  # chance that each entry of `labels` is a copy
    class_posterior: Float[np.ndarray, "samples classes"]
    label_log_likelihood: Float[np.ndarray, "samples classes"]  # log p(labels of i in their order | class)
    log_likelihood: float  # log p(labels, gold classes | all parameters)
    log_posterior: float  # log_likelihood + sum of pseudo-count * log probability
    converged: bool
    num_steps: int
    warnings: tuple[str, ...]

    __repr__ = one_line

    def noise_model(self) -> Any:
        """Matrices of labelers who are shown nothing, as `jtruth.noise.ConfusionMatrices`."""
        from jtruth.noise import ConfusionMatrices

        return ConfusionMatrices(self.matrices)


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
) -> Sequential:
    """Most probable matrices, influences and class shares, by EM from vote shares.

    Args:
        labels: the noisy labels.
        order: (labels,) when each entry of `labels` was given, on any scale; equal times are refused within a
            sample, because nobody can tell then who was shown what.
        priors: pseudo-counts.
        gold, prior, key, max_steps, tol: as for `fit_glad`.

    Raises:
        ValueError: for input that cannot be used, before any JAX call.
    """
    known, fixed = read_given(labels, gold, prior)
    check_steps(max_steps, tol)
    if not all(np.isfinite(x) and x > 0 for x in priors):
        raise ValueError(f"priors are pseudo-counts and must be positive; got {tuple(priors)}")
    shown, given = last_shown(labels, order), labels.arrays[2] >= 0
    data = lf.long_form(labels, known)
    shown_padded = np.full(data.label.size, -1, np.int32)
    shown_padded[: given.sum()] = shown[given]
    pseudo = np.where(np.eye(labels.num_classes) > 0, priors.diagonal, priors.off_diagonal)
    shares, prior = lf.start_shares(labels, fixed)
    matrices = _first_matrices(labels, first_guess(labels, known), pseudo)
    start = (matrices, np.full(len(matrices), 0.1), shares)
    rest = np.array([priors.copied, priors.own])
    with jax.enable_x64(True):
        found, end, copies = sequential_em(
            data, shown_padded, start, pseudo, rest, prior, max_steps=max_steps, tol=tol
        )
    matrices = np.asarray(found.params[0])[: labels.num_labelers]
    copied = np.zeros(given.size)
    copied[given] = np.asarray(copies)[: given.sum()]
    votes = np.einsum("t,c,tck->ck", labels.labels_per_labeler(), np.asarray(found.params[2]), matrices)
    doubts = tuple(exchanged(votes, labels.class_names))
    return Sequential(
        matrices=matrices,
        influence=np.asarray(found.params[1])[: labels.num_labelers],
        copied=copied,
        **in_common(found, end, labels, known, doubts),
    )


def _first_matrices(labels: Labels, guess: np.ndarray, pseudo: np.ndarray) -> np.ndarray:
    """(padded labelers, classes, classes) rows of a first guess of the classes, with pseudo-counts."""
    sample, labeler, label = labels.entries()
    counts = np.tile(pseudo, (lf.bucket(labels.num_labelers), 1, 1))
    np.add.at(counts.swapaxes(1, 2), (labeler, label), guess[sample])
    return counts / counts.sum(axis=2, keepdims=True)


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
def sequential_em(data, shown, start, pseudo, rest, prior, *, max_steps: int, tol):
    """EM, pure and jitted; `vmap` it over starts or `data.weight`: `Summit`, `End`, and chances of copies.

    Args:
        data: a `LongForm`.
        shown: (labels,) the label shown, -1 for none.
        start: matrices (labelers, classes, classes), influences (labelers,), class prior (classes,).
        pseudo: (classes, classes) pseudo-counts of a matrix.
        rest: (2,) pseudo-counts of copies and of labels that are none.
        prior: (classes,) a known class prior; -1 to learn it.
        max_steps, tol: see `climb`.
    """
    pseudo, rest, shown = jnp.asarray(pseudo), jnp.asarray(rest), jnp.asarray(shown)
    each = data.given * data.weight[data.sample]
    sees, repeats = shown >= 0, shown == data.label

    def parts(params):
        """(labels, classes) chance of a label that is no copy, and (labels,) that of a copy."""
        own = params[0][data.labeler, :, data.label]
        kept = jnp.where(sees, params[1][data.labeler], 0)
        return (1 - kept)[:, None] * own, jnp.where(repeats, kept, 0)

    def joint(params, shares, data):
        own, copy = parts(params)
        log_p = jnp.where(data.given[:, None] > 0, jnp.log(own + copy[:, None]), 0)
        empty = jnp.zeros((data.known.shape[0], shares.shape[0]), log_p.dtype)
        known = data.known[:, None]
        other = (known >= 0) & (known != jnp.arange(shares.shape[0], dtype=known.dtype)[None, :])
        return jnp.where(other, -jnp.inf, jnp.log(shares)[None, :] + empty.at[data.sample].add(log_p))

    def copies(params, posterior):
        """(labels, classes) chance that class and copy hold both."""
        own, copy = parts(params)
        total = own + copy[:, None]
        return posterior[data.sample] * copy[:, None] / jnp.where(total > 0, total, 1)

    def m_step(params, posterior):
        copied = copies(params, posterior)
        own = each[:, None] * (posterior[data.sample] - copied)
        counts = jnp.zeros_like(params[0]).swapaxes(1, 2).at[data.labeler, data.label].add(own)
        rows = counts.swapaxes(1, 2) + pseudo[None]
        none = jnp.zeros_like(params[1])
        kept = none.at[data.labeler].add(each * copied.sum(axis=1)) + rest[0]
        number = none.at[data.labeler].add(jnp.where(sees, each, 0)) + rest.sum()
        return rows / rows.sum(axis=2, keepdims=True), kept / number

    def log_prior(params):
        of_rows = (pseudo[None] * jnp.log(params[0])).sum()
        return of_rows + (rest[0] * jnp.log(params[1]) + rest[1] * jnp.log1p(-params[1])).sum()

    def inside(far, plain):
        return inside_simplex(far[0], plain[0]), inside_unit(far[1], plain[1])

    model = Model(joint, m_step, log_prior, inside)
    found, end, posterior = em(model, data, start, prior, max_steps=max_steps, tol=tol)
    return found, end, copies(found.params, posterior).sum(axis=1)
