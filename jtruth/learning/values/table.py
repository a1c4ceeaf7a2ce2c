"""What labelers gave, in long form, where a label is not a class code: one value of any shape each.

The value may be a symbol (whole number), a set of classes (booleans), a probability for each class, a grade
or a rating. What it must look like is checked by the channel that reads it.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth import _host
from jtruth import _validation as check


class Values(NamedTuple):
    """Entry e says: labeler `labeler[e]` gave `value[e]` to sample `sample[e]`. Build it by `from_long`."""

    sample: Int[np.ndarray, " labels"]
    labeler: Int[np.ndarray, " labels"]
    value: np.ndarray  # (labels, ...)
    tasks: tuple
    workers: tuple

    @classmethod
    def from_long(cls, task: Iterable, worker: Iterable, value: Any) -> "Values":
        """Values from three columns; ids are numbered in the order in which they first appear.

        Raises:
            ValueError: columns of different lengths, no row, or a worker who gave a task two values.
        """
        tasks, workers, value = list(task), list(worker), np.asarray(value)
        if not tasks or not len(tasks) == len(workers) == len(value):
            sizes = f"{len(tasks)}, {len(workers)}, {len(value)}"
            raise ValueError(f"task, worker and value need one entry a row each; got {sizes}")
        found = []
        for column in (tasks, workers):
            place: dict = {}
            codes = [place.setdefault(name, len(place)) for name in column]
            found.append((np.array(codes), tuple(place)))
        (sample, task_names), (labeler, worker_names) = found
        pair = sample * len(worker_names) + labeler
        if check.has_duplicates(pair):
            order = np.argsort(pair, kind="stable")
            again = order[1:][np.diff(pair[order]) == 0].min()
            raise ValueError(
                f"row {again}: worker {workers[again]!r} gave task {tasks[again]!r} a second value"
            )
        return cls(sample, labeler, value, task_names, worker_names)

    def sums(self, rows: Float[np.ndarray, "labels classes"]) -> Float[np.ndarray, "samples classes"]:
        """Su (58): the sum over the labels of each sample."""
        size = len(self.tasks)
        return np.stack([np.bincount(self.sample, one, size) for one in rows.T], axis=1)

    def by_labeler(self, rows: Float[np.ndarray, "labels k"]) -> Float[np.ndarray, "labelers k"]:
        """The sum over the labels of each labeler."""
        size = len(self.workers)
        return np.stack([np.bincount(self.labeler, one, size) for one in rows.T], axis=1)

    def counts(self, weight: Float[np.ndarray, "labels classes"], symbols: int) -> Float[np.ndarray, "t c k"]:
        """For each labeler and symbol: the sum of the weights of the classes."""
        cell, size = self.labeler * symbols + self.value.astype(np.int64), len(self.workers) * symbols
        sums = np.stack([np.bincount(cell, one, size) for one in weight.T], axis=1)
        return sums.reshape(-1, symbols, weight.shape[1]).swapaxes(1, 2)


def log_prior_of_rows(channel: Any) -> float:
    """Sum of pseudo-count times log probability, of a channel with `matrices` and `pseudo`."""
    return float((channel.pseudo * _host.log(channel.matrices)).sum())


def moving(channel: Any) -> float:
    """Log prior of a channel that leans on all labelers, who move with it: there is none, 0."""
    return 0.0


def shares_of_votes(
    values: Values, votes: Float[np.ndarray, "labels classes"]
) -> Float[np.ndarray, "n classes"]:
    """Where EM starts: the mean vote on each sample; a vote is a distribution over the classes."""
    found = values.sums(votes)
    return found / found.sum(axis=1, keepdims=True)


def whole_numbers(values: Values, most: int, what: str) -> Int[np.ndarray, " labels"]:
    """The values as codes 0..most-1, or a ValueError that names the first that is none."""
    value = values.value
    good = value.ndim == 1 and value.dtype.kind in "iuf"
    bad = np.flatnonzero(~((value >= 0) & (value < most) & (value == np.floor(value)))) if good else [0]
    if len(bad):
        raise ValueError(f"row {bad[0]}: {value[bad[0]]!r} is no {what}; give whole numbers 0 to {most - 1}")
    return value.astype(np.int64)
