"""What every method that learns from labels is given, checked once: labels, gold, a known prior, steps.

All methods refuse the same input by the same sentence, before any JAX call, because they ask here. Doubts
that do not depend on the method (samples without labels, exchanged classes) are worded here too.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from jtruth import _host
from jtruth import _validation as check
from jtruth._validation.in_range import check_codes
from jtruth.labels import Labels, must_be_labels
from jtruth.posterior import validate_prior


def read_given(labels: Any, gold: Any, prior: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Gold as (samples,) codes, -1 where unknown, and the prior as (classes,) float64 or None.

    Raises:
        ValueError: no labels at all, gold or a prior that cannot be meant, or gold of a class of prior 0.
    """
    must_be_labels(labels)
    check.check_entries(labels.arrays, (labels.num_samples, labels.num_labelers, labels.num_classes))
    if not labels.num_labels:
        raise ValueError("labels holds no label at all, so there is nothing to learn from")
    known = np.full(labels.num_samples, -1, np.int64)
    if gold is not None:
        gold = np.asarray(gold)
        check_codes(gold, labels.num_classes, "gold", size=labels.num_samples, missing=True, kinds="iu")
        known = gold.astype(np.int64)
    if prior is None:
        return known, None
    return known, known_prior(prior, labels.num_classes, known)


def known_prior(prior: Any, classes: int, known: np.ndarray) -> np.ndarray:
    """A class prior as float64 that sums to 1, of no class that gold denies."""
    prior = validate_prior(np.asarray(prior, np.float64), classes)
    if (prior[known[known >= 0]] == 0).any():
        raise ValueError("a class has prior 0 but gold says that it occurs; raise its prior")
    return prior / prior.sum()


def check_steps(max_steps: int, tol: float) -> None:
    """Refuse an iteration that cannot run."""
    if max_steps < 1 or not tol >= 0:
        raise ValueError(f"need max_steps >= 1 and tol >= 0; got {max_steps}, {tol}")


def one_hot(known: np.ndarray, classes: int) -> np.ndarray:
    """(samples, classes), 1 at each known class; rows of unknown samples are 0. NumPy: JAX is not started."""
    return (known[:, None] == np.arange(classes)[None, :]).astype(np.float64)


def clamp(p: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Class probabilities with 1 at the class of every sample whose class is known."""
    return np.where(known[:, None] >= 0, one_hot(known, p.shape[1]), p)


def first_guess(labels: Labels, known: np.ndarray) -> np.ndarray:
    """(samples, classes) vote shares, those of all votes where a sample has none, known classes clamped."""
    votes = labels.counts()
    return clamp(_host.vote_shares(votes, votes.sum(axis=0) / votes.sum()), known)


def soft_counts(labels: Labels, p: np.ndarray, num_labelers: int | None = None) -> np.ndarray:
    """(labelers, true classes, given classes) expected labels, if `p` (samples, classes) says the classes."""
    sample, labeler, label = labels.entries()
    labelers, classes = num_labelers or labels.num_labelers, labels.num_classes
    place = labeler * classes + label
    counts = [np.bincount(place, column[sample], labelers * classes) for column in p.T]
    return np.stack(counts, axis=1).reshape(labelers, classes, -1).swapaxes(1, 2)


def unlabelled(labels: Labels) -> Iterator[str]:
    """A sentence if some samples have no label: nothing but the prior speaks for their class."""
    none = np.count_nonzero(labels.labels_per_sample() == 0)
    if none:
        yield f"{none} samples have no label; their class posterior is the prior."


def not_converged(name: str, converged: bool, num_steps: int) -> Iterator[str]:
    """A sentence if an iteration stopped before its end."""
    if not converged:
        yield f"{name} did not converge in {num_steps} steps; raise max_steps."


def exchanged(
    confusion: np.ndarray, classes: tuple, how: str = "Gold labels for a few samples would settle it."
) -> Iterator[str]:
    """A sentence for each pair of classes that labelers together call by the other's name.

    Args:
        confusion: (classes, classes), expected shares or numbers of labels, rows true class.
        classes: their names.
        how: the end of the sentence.
    """
    own = np.diag(confusion)
    for a, b in np.argwhere(np.triu(own[:, None] + own[None, :] < confusion + confusion.T, 1)).tolist():
        yield (
            f"Classes {classes[a]!r} and {classes[b]!r} look swapped: together the labelers call each by the "
            f"other's name more often than by its own. {how}"
        )
