"""What every question about a classifier takes beside its own options, in the words of `evaluate`.

`evaluate_scores`, `evaluate_class_scores`, `compare_classifiers` and `metric_posterior` say
`**how: Unpack[Judging]`: the names are keywords as everywhere, and are written and explained here only.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypedDict

import numpy as np

from jtruth import _validation as check
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions.registry import Progress
from jtruth.labels import Labels


class Judging(TypedDict, total=False):
    """How something is to be judged by noisy labels."""

    noise: Any  # a noise model of known parameters; learned from the labels if None
    prior: Any  # (classes,) class prior
    gold: Any  # (samples,) known classes, -1 where unknown; a `jtruth.io.Gold` if not chosen at random
    assume: str | None  # "independent" where error rates are learned and you can vouch for it
    labelers_are: str | None  # "people", "experts" or "llm_judges": how far learned rates may mislead
    level: float  # probability of the intervals, .95
    key: Any  # a whole number or a JAX key; 0 if None
    progress: Progress | None  # called with (sweeps done, sweeps planned) while error rates are sampled


class Judged(NamedTuple):
    """The same with what is taken where nothing is said."""

    noise: Any = None
    prior: Any = None
    gold: Any = None
    assume: str | None = None
    labelers_are: str | None = None
    level: float = 0.95
    key: Any = None
    progress: Progress | None = None

    @classmethod
    def of(cls, asked: str, how: Mapping[str, Any]) -> "Judged":
        """What was said, by the name of the function that was asked.

        Raises:
            TypeError: a keyword that there is not.
        """
        unknown = [name for name in how if name not in cls._fields]
        if unknown:
            raise TypeError(
                f"{asked}() got an unexpected keyword argument {unknown[0]!r}; beside its own it takes "
                f"{', '.join(cls._fields)}"
            )
        return cls(**how)


def read_judged(y_pred: Any, labels: Any, given: Judged, positive: Any = None) -> inputs.Inputs:
    """Checked input; where `y_pred` is None its predictions are still empty.

    Raises:
        ValueError: unusable input, or known error rates without a class prior.
    """
    empty = y_pred is None
    if empty:
        size = labels.num_samples if isinstance(labels, Labels) else len(labels)
        tasks = labels.tasks if isinstance(labels, Labels) else None
        y_pred = check.with_tasks(np.zeros(size, np.int32), tasks)
    data = inputs.read(y_pred, labels, given.noise, given.prior, given.gold, positive)
    if data.model is not None and given.prior is None:
        raise ValueError(
            "known error rates need the class prior too: give prior=[p(class 0), p(class 1), ...]"
        )
    if empty:
        data.notes = tuple(note for note in data.notes if "y_pred" not in note)
    return data
