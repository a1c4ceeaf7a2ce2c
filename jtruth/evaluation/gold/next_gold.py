"""Gold for the share of a class: how much more would halve the interval, and which samples to ask for.

The share of class c is the accuracy of somebody who always says c, so what is known of gold for metrics
(`jtruth.asking.gold`) is known of shares. How much is needed is what PPI++ would need; the interval of the
recalibrated answer is narrower and shrinks about as fast.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth._random import as_key, stream
from jtruth.asking.gold import ask_next, gold_to_halve
from jtruth.evaluation.assumptions.registry import Progress
from jtruth.evaluation.gold.answer import labels_only_posterior
from jtruth.evaluation.gold.measured import ppi_metric
from jtruth.evaluation.inputs import read_gold
from jtruth.io.gold import Gold
from jtruth.labels import Labels
from jtruth.stats.ppi import gold_sample

_LEAST = 2  # gold answers below which a spread cannot be seen


class ShareRequest(NamedTuple):
    """Samples to find the truth of, for the share of one class."""

    samples: Int[np.ndarray, " asked"]  # the most useful first
    inclusion: Float[np.ndarray, " samples"]  # chance of each sample to be among old and new gold
    to_halve: int | None  # more random gold answers that would halve the interval; None: too few to say


def gold_for_share(
    labels: Labels,
    code: int,
    num: int,
    *,
    gold: Any = None,
    level: float = 0.95,
    key: Any = None,
    progress: Progress | None = None,
) -> ShareRequest:
    """Which samples to find the truth of next, for the share of one class.

    Args:
        labels: noisy labels.
        code: of the class.
        num: how many samples to ask for.
        gold: (samples,) known classes, -1 where unknown; a Series or dict by task id.
        level: of the interval that is to be halved.
        key: a whole number or a JAX key; 0 if None.
        progress: called with (sweeps done, sweeps planned).

    Raises:
        ValueError: more samples wanted than there are without gold, or a class that there is not.

    >>> z = np.repeat([[1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 1, 0]], [10, 10, 5, 5], axis=0)
    >>> asked = gold_for_share(Labels.from_matrix(z, 2), 1, 5)
    >>> asked.samples.size, asked.to_halve
    (5, None)
    """
    if not 0 <= code < labels.num_classes:
        raise ValueError(f"code is {code}, but there are {labels.num_classes} classes")
    key, (known, _) = as_key(key), read_gold(gold, labels)
    h, _ = labels_only_posterior(labels, stream(key, "labels only, for gold to ask"), progress)
    always, names = np.full(labels.num_samples, code), tuple(map(str, labels.class_names))
    halve = None
    if (known >= 0).sum() >= _LEAST:
        found = ppi_metric("accuracy", always, h, known, classes=names, positive=code)
        halve = gold_to_halve(found, gold_sample(known >= 0), level)
    asked = ask_next(always, h, Gold(known), num, key=key, classes=names, positive=code)
    return ShareRequest(asked.samples, asked.inclusion, halve)
