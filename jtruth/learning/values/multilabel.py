"""Several classes at once: C independent questions "does it hold?", fitted one by one, in one report.

Where a sample may show a cat and a dog there is no one class. Each class becomes a binary problem: who named
it said yes, who labelled the sample and did not name it said no. The problems are fitted one by one by Dawid
and Skene's EM; that classes exclude or imply one another is not used, so a set may come out that nobody would
give.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth._one_line import one_line
from jtruth.labels import Labels
from jtruth.learning._fit import Fit
from jtruth.learning.em.dawid_skene import Smoothing, fit_dawid_skene

_USUAL = Smoothing(1.0, 0.5, 0.5)


class MultiLabel(NamedTuple):
    """One fit for each class, and what is most probable for each sample."""

    classes: tuple
    tasks: tuple
    workers: tuple
    probability: Float[np.ndarray, "samples classes"]  # that the class holds
    share: Float[np.ndarray, " classes"]  # of the samples where it holds
    sensitivity: Float[np.ndarray, "labelers classes"]  # named where it holds
    specificity: Float[np.ndarray, "labelers classes"]  # not named where it does not
    fits: tuple[Fit, ...]
    warnings: tuple[str, ...]  # with the class in front

    __repr__ = one_line

    def sets(self, at_least: float = 0.5) -> list[tuple]:
        """The classes that hold with this probability or more, for each sample."""
        return [tuple(np.array(self.classes, object)[row >= at_least]) for row in self.probability]

    def __str__(self) -> str:
        """A line for each class."""
        width = max(len(str(name)) for name in self.classes)
        lines = [f"{len(self.tasks)} samples, {len(self.workers)} labelers, {len(self.classes)} questions",
                 f"{'':>{width}}  share  sensitivity, specificity: lowest to highest labeler"]  # fmt: skip
        for c, name in enumerate(self.classes):
            ends = [
                f"{x[:, c].min():.2f} to {x[:, c].max():.2f}" for x in (self.sensitivity, self.specificity)
            ]
            lines.append(f"{name!s:>{width}}  {self.share[c]:.3f}  {ends[0]}, {ends[1]}")
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])


def fit_multilabel(
    task: Iterable,
    worker: Iterable,
    named: Iterable[Iterable],
    *,
    classes: Sequence,
    smoothing: Smoothing = _USUAL,
) -> MultiLabel:
    """Fit every class as a binary problem.

    Args:
        task, worker: ids, one a row.
        named: for each row the classes that the worker named; may be empty.
        classes: all classes that could be named.
        smoothing: pseudo-counts of each fit.

    Raises:
        ValueError: a name that is no class, or columns of different lengths.

    >>> task, worker = np.repeat(np.arange(20), 3), np.tile(["x", "y", "z"], 20)
    >>> named = [["cat"] * int(i % 2) + ["dog"] * int(i % 4 == 0) for i in task]
    >>> found = fit_multilabel(task, worker, named, classes=["cat", "dog"])
    >>> found.sets()[:3], found.sensitivity.shape
    ([('dog',), ('cat',), ()], (3, 2))
    """
    task, worker, chosen = list(task), list(worker), [set(one) for one in named]
    if not len(task) == len(worker) == len(chosen):
        raise ValueError(f"task, worker and named have {len(task)}, {len(worker)} and {len(chosen)} rows")
    unknown = [(row, name) for row, one in enumerate(chosen) for name in one if name not in set(classes)]
    if unknown:
        raise ValueError(f"row {unknown[0][0]}: {unknown[0][1]!r} is none of the classes {list(classes)}")
    tasks, workers = tuple(dict.fromkeys(task)), tuple(dict.fromkeys(worker))
    fits: list[Fit] = []
    for name in classes:
        said = [int(name in one) for one in chosen]
        labels = Labels.from_long(task, worker, said, tasks=tasks, workers=workers, classes=["no", "yes"])
        fits.append(fit_dawid_skene(labels, smoothing=smoothing))
    doubts = [f"{name}: {text}" for name, fit in zip(classes, fits, strict=True) for text in fit.warnings]
    right = np.stack([np.einsum("tcc->ct", fit.matrices) for fit in fits], axis=2)
    probability = np.stack([fit.class_posterior[:, 1] for fit in fits], axis=1)
    share = np.array([fit.prior[1] for fit in fits])
    return MultiLabel(
        tuple(classes), tasks, workers, probability, share, right[1], right[0], tuple(fits), tuple(doubts)
    )
