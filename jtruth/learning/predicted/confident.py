"""Confident learning (Northcutt, Jiang and Chuang 2021): counts of the labels that a classifier contradicts.

There is one noisy label for each sample, and p(y | x) by a classifier that has not seen that label. A sample
is *confidently* of class c where its probability of c reaches the threshold t_c, the mean probability of c
over the samples labelled c (2); of several such classes it is the most probable one. Counting gives

    counts[c, k]    samples labelled k that are confidently of class c                                   (1)
    joint[c, k]     counts[c, k] / sum_c counts[c, k] * (share of the labels that are k)                  (3)

and from the joint follow p(y), p(label | y), and how many labels to distrust. Rows are true classes here,
as everywhere in jtruth; the paper's rows are given labels.

Thresholds take the place of a likelihood. They are right where every sample is clear cut, and a threshold
forgives a classifier that is too sure or too timid as long as it is so in the same way for a whole class.
They
mislead where classes overlap: a sample halfway between two classes counts as a wrong label or not at all.
`fit_noise_layer` beside it is the likelihood of the same data, with intervals; its `against` says where the
two disagree by more than chance.

`prune` holds the five rules of section 3.2 that say which labels to take out.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jtruth import _validation as check
from jtruth._host import vote_shares
from jtruth._one_line import one_line
from jtruth._validation.in_range import check_rows
from jtruth.labels import Labels
from jtruth.learning._fit import Fit
from jtruth.learning._given import clamp, read_given

RULES = ("argmax", "off_diagonal", "class", "noise_rate", "both")


class ConfidentCounts(NamedTuple):
    """What `confident_joint` returns; C x C arrays have rows of true classes."""

    thresholds: Float[Array, " classes"]  # inf where no sample has this label
    confident: Int[Array, " samples"]  # the class a sample is confidently of, -1 where none
    counts: Float[Array, "classes classes"]  # (1)
    joint: Float[Array, "classes classes"]  # (3), sums to 1

    __repr__ = one_line


class Pruned(NamedTuple):
    """Labels to take out."""

    found: Bool[np.ndarray, " samples"]
    order: Int[np.ndarray, " found"]  # those samples, the least believable label first

    __repr__ = one_line


@jax.jit
def confident_joint(
    probabilities: Float[Array | np.ndarray, "samples classes"],
    label: Int[Array | np.ndarray, " samples"],
    weight: Float[Array | np.ndarray, " samples"],
    known: Int[Array | np.ndarray, " samples"],
) -> ConfidentCounts:
    """Thresholds (2), confident joint (1) and its calibration (3); pure, to be vmapped over weights.

    Args:
        probabilities: p(y | x), rows sum to 1.
        label: 0..C-1.
        weight: how often each sample counts; 0 leaves it out.
        known: true class where it is known, else -1: such a sample is of that class, no threshold asked.
    """
    classes = probabilities.shape[1]
    given = jax.nn.one_hot(label, classes, dtype=probabilities.dtype) * weight[:, None]
    number = given.sum(axis=0)
    mean = (given * probabilities).sum(axis=0) / jnp.where(number > 0, number, 1)
    thresholds = jnp.where(number > 0, mean, jnp.inf)
    # A mean of equal numbers may be rounded up past them, and a sample must not fall below itself.
    reached = probabilities >= (thresholds * (1 - 64 * jnp.finfo(mean.dtype).eps))[None, :]
    best = jnp.where(reached, probabilities, -1).argmax(axis=1).astype(jnp.int32)
    confident = jnp.where(known >= 0, known, jnp.where(reached.any(axis=1), best, -1))
    counts = jax.nn.one_hot(confident, classes, dtype=given.dtype).T @ given  # -1 has a row of zeros
    column = counts.sum(axis=0)
    joint = counts * (number / number.sum() / jnp.where(column > 0, column, 1))[None, :]
    return ConfidentCounts(thresholds, confident, counts, joint)


def one_label(
    labels: Labels, probabilities: Any, gold: Any
) -> tuple[Int[np.ndarray, " samples"], Float[np.ndarray, "samples classes"], Int[np.ndarray, " samples"]]:
    """(label, probabilities, known class or -1) of each sample, checked."""
    known, _ = read_given(labels, gold, None)
    number = labels.labels_per_sample()
    bad = np.flatnonzero(number != 1)
    if bad.size:
        raise ValueError(
            f"sample {bad[0]} has {number[bad[0]]} labels ({bad.size} such samples); this method takes one"
            " for each. For several labelers use fit_joint, or choose one label (select_labelers)"
        )
    shape = (labels.num_samples, labels.num_classes)
    q = np.asarray(probabilities, np.float64)
    if q.shape != shape:
        raise ValueError(f"probabilities has shape {q.shape}; it must be {shape}, samples by classes")
    check_rows(q, "probabilities", tolerance=1e-4, hint="rows must be p(y | x) of every class")
    label = labels.counts().argmax(axis=1).astype(np.int32)
    return label, q / q.sum(axis=1, keepdims=True), known.astype(np.int32)


def fit_confident(labels: Labels, probabilities: Any, *, gold: Any = None) -> Fit:
    """Confident learning for one noisy label a sample.

    Args:
        labels: exactly one label for each sample, by one labeler or by many who are taken as one.
        probabilities: (samples, classes) p(y | x) of a classifier that was not fitted to these labels of
            these samples: trained elsewhere, or by cross-validation.
        gold: (samples,) known classes, -1 where unknown.

    Returns:
        `Fit`. Its prior holds the row sums of the joint, its class posterior p(y | x) p(label | y),
        normalised; its log-likelihood is NaN, thresholds maximise none. Its own: `matrices` (1, classes,
        classes), p(label | y), one for all labels; `expected_wrong`, the number of wrong labels according to
        the joint; and the fields of `ConfidentCounts`.

    Raises:
        ValueError: a sample with no label or several, or rows that are no distributions.

    >>> labels = Labels.from_matrix(np.array([[0], [0], [0], [1], [1], [1]]), 2)
    >>> p = np.array([0.1, 0.2, 0.9, 0.8, 0.9, 0.7])
    >>> fit = fit_confident(labels, np.stack([1 - p, p], axis=1))
    >>> print(fit.thresholds.round(3), fit.counts.tolist(), round(fit.expected_wrong, 2))
    [0.6 0.8] [[2.0, 0.0], [1.0, 2.0]] 1.0
    """
    label, q, known = one_label(labels, probabilities, gold)
    with jax.enable_x64(True):
        found = jax.tree.map(np.asarray, confident_joint(q, label, np.ones(label.size), known))
    prior = found.joint.sum(axis=1)
    matrix = vote_shares(found.joint)  # rows of a class that no sample is confidently of are uniform
    by_label = q * matrix[:, label].T
    posterior = clamp(vote_shares(by_label), known)
    wrong = float((1 - np.trace(found.joint)) * label.size)
    own = {"matrices": matrix[None], "expected_wrong": wrong, **found._asdict()}
    return Fit(prior, posterior, float("nan"), True, 1, tuple(_doubts(found, labels, by_label)), own)


def prune(labels: Labels, probabilities: Any, fit: Fit, rule: str = "both") -> Pruned:
    """Which labels to take out: the five rules of section 3.2.

    Args:
        labels, probabilities: those of the fit.
        fit: of `fit_confident`.
        rule: "argmax", where the most probable class is another (C_confusion); "off_diagonal", the samples
            counted off the diagonal of the confident joint; "class", of each label as many as the joint calls
            wrong, the least probable first (PBC); "noise_rate", for each pair of label and other class as
            many as the joint says, by the margin between the two (PBNR); "both" of the last two (C+NR).

    Numbers are rounded to whole labels; ties go to the sample that comes first.
    """
    check.choose("rule", rule, RULES)
    label, q, _ = one_label(labels, probabilities, None)
    if fit.confident.shape != label.shape or fit.prior.size != q.shape[1]:
        raise ValueError(
            f"this fit is of {fit.confident.size} samples and {fit.prior.size} classes; the labels have "
            f"{label.size} and {q.shape[1]}: give the labels and probabilities that were fitted"
        )
    own = q[np.arange(label.size), label]
    if rule == "argmax":
        found = q.max(axis=1) > own
    elif rule == "off_diagonal":
        found = (fit.confident >= 0) & (fit.confident != label)
    else:
        numbers = np.rint(fit.joint * label.size).astype(int)
        classes = range(q.shape[1])
        by_class, by_rate = np.zeros((2, label.size), bool)
        for k in classes:
            wrong = numbers[:, k].sum() - numbers[k, k]
            by_class |= _lowest(own, label == k, int(wrong))
            for c in classes:
                by_rate |= _lowest(q[:, k] - q[:, c], label == k, int(numbers[c, k]) * (c != k))
        found = {"class": by_class, "noise_rate": by_rate, "both": by_class & by_rate}[rule]
    score = own - np.where(np.arange(q.shape[1])[None, :] == label[:, None], -np.inf, q).max(axis=1)
    rank = score if rule == "noise_rate" else own
    order = np.flatnonzero(found)
    return Pruned(found, order[np.argsort(rank[order], kind="stable")])


def _lowest(score: np.ndarray, among: np.ndarray, number: int) -> np.ndarray:
    """So many samples of lowest score among some; ties go to the first."""
    mine = np.flatnonzero(among)
    found = np.zeros(score.size, bool)
    found[mine[np.argsort(score[mine], kind="stable")[:number]]] = True
    return found


def _doubts(found: Any, labels: Labels, by_label: np.ndarray) -> Any:
    """Sentences about what the counts could not settle."""
    names = labels.class_names
    for c in np.flatnonzero(np.isinf(found.thresholds)):
        yield f"No sample is labelled {names[c]!r}, so nothing says how sure is sure enough of that class."
    for c in np.flatnonzero((found.counts.sum(axis=1) == 0) & np.isfinite(found.thresholds)):
        yield f"No sample is confidently of class {names[c]!r}: its row is uniform and means nothing."
    if (none := (found.confident < 0).mean()) > 0.5:
        yield f"{none:.0%} of the samples are confidently of no class: the counts rest on the others."
    if stray := int((by_label.sum(axis=1) == 0).sum()):
        yield f"{stray} labels are impossible by probabilities and counts; their class posterior is uniform."
