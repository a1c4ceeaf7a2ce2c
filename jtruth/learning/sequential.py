"""Labelers who see earlier labels: some of their agreement is repetition.

Where a tool shows the label that a sample has already, models of independent labelers are too sure. Labeler t
repeats the last label given before with probability a_t, their influence, and else has a confusion matrix:

    p(z = k | y = c, h shown) = a_t [k = h] + (1 - a_t) psi_t[c, k];   the first label has psi_t[c, k] alone,

the sequential dependence of Van Horn et al. (2018) in its simplest form.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jtruth._validation.in_range import check_positive
from jtruth.labels import Labels
from jtruth.learning._fit import Fit, exchanged, first_guess, soft_counts, unlabelled
from jtruth.learning.em import long_form as lf
from jtruth.learning.em.dawid_skene import Smoothing

_USUAL = Smoothing(0.5, 0.1)


def fit_sequential(
    labels: Labels,
    order: Any,
    *,
    smoothing: Smoothing = _USUAL,
    influence: tuple[float, float] = (0.1, 0.5),
    gold: Any = None,
    prior: Any = None,
    max_steps: int = 10_000,
    tol: float = 1e-8,
) -> Fit:
    """Most probable matrices, influences and class shares, by EM from vote shares.

    Args:
        order: (labels,) when each entry of `labels` was given, on any scale; equal times are refused within a
            sample, because nobody can tell then who was shown what.
        smoothing: pseudo-counts of the matrices; of its numbers the first two are used.
        influence: pseudo-counts of labels shown that were repeated unseen, and of those that were not.
        labels, gold, prior, max_steps, tol: as for `fit_glad`.

    Returns:
        `Fit`. Its own: `matrices` (labelers, classes, classes) of labels that are no copies; `influence` a
        (labelers,); `copied` (labels,), the chance that each entry is a copy; `label_log_likelihood`
        (samples, classes), log p(labels of a sample in their order | class); `log_posterior`.

    Raises:
        ValueError: equal times within a sample, or other input that cannot be used.
    """
    data, known, (shares, prior) = lf.read(labels, gold, prior, max_steps, tol)
    pseudo_counts = (*smoothing[:2], *influence)
    check_positive(pseudo_counts, "smoothing and influence", "two pseudo-counts of each", size=4)
    shown, given = last_shown(labels, order), labels.arrays[2] >= 0
    more = data.sample.size - given.sum()
    filled = np.pad(shown[given], (0, more), constant_values=-1).astype(np.int32)
    labelers, size = labels.num_labelers, lf.bucket(labels.num_labelers)
    pseudo = np.where(np.eye(labels.num_classes) > 0, smoothing.diagonal, smoothing.off_diagonal)
    pseudo, rest = np.tile(pseudo, (size, 1, 1)), np.tile(np.array(influence, np.float64), (size, 1))
    matrices = pseudo + soft_counts(labels, first_guess(labels, known), size)
    start = matrices / matrices.sum(axis=2, keepdims=True), np.tile([0.1, 0.9], (size, 1)), shares
    end = lf.run(sequential, data, start, (filled, pseudo, rest), prior, max_steps=max_steps, tol=tol)
    matrices, repeats, shares = end.summit.params
    copied = np.zeros(given.size)
    copied[given] = _copies(end, data, filled)[: given.sum()]
    votes = np.einsum("t,c,tck->ck", labels.labels_per_labeler(), shares, matrices[:labelers])
    own = {"matrices": matrices[:labelers], "influence": repeats[:labelers, 0], "copied": copied}
    return lf.fitted(labels, known, end, (*unlabelled(labels), *exchanged(votes, labels.class_names)), **own)


def last_shown(labels: Labels, order: Any) -> np.ndarray:
    """(labels,) the label that each entry's sample had last before it; -1 for first ones and for no label."""
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


def _parts(params: Any, data: lf.LongForm, shown: Any) -> tuple[Any, Any]:
    """(labels, classes) chance of a label that is no copy, and (labels, 1) that of a copy."""
    own, (kept, looked) = params[0][data.labeler, :, data.label], params[1][data.labeler].T
    here = jnp if isinstance(own, jnp.ndarray) else np
    free, copy = here.where(shown >= 0, looked, 1), here.where(shown == data.label, kept, 0)
    return free[:, None] * own, copy[:, None]


def sequential(data: lf.LongForm, settings: Any) -> lf.Model:
    """The model for `em`: matrices, a and 1 - a (labelers, 2); `settings`: labels shown, pseudo-counts."""
    shown, *pseudo = settings

    def joint(params):
        own, copy = _parts(params, data, shown)
        return data.shares(params[2]) + data.by_sample(jnp.log(own + copy))

    return lf.of_probabilities(joint, tuple(pseudo))


def _copies(end: lf.End, data: lf.LongForm, shown: np.ndarray) -> np.ndarray:
    """(labels,) the chance that each is a copy."""
    own, copy = _parts(end.summit.params, data, shown)
    return (end.posterior[data.sample] * copy / (own + copy)).sum(axis=1)
