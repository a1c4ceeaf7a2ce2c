"""Simulated data sets that two plans share as far as they can: common random numbers.

Every sample of every set has its own row of uniform numbers: one for its class, one for its prediction, and
two for each person who may label it. Plans use the first N rows and the first people of each kind, so a plan
with more samples, labels or gold contains the data of a plan with fewer, and the difference of two plans is
far better known than either.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth._host import known_classes, labels_log_likelihood
from jtruth._random import host_rng
from jtruth.planning.settings import Plan, Setting


class DataSet(NamedTuple):
    """One simulated data set."""

    y: Int[np.ndarray, " samples"]
    y_pred: Int[np.ndarray, " samples"]
    z: Int[np.ndarray, "samples people"]  # -1 where there is no label
    kind: Int[np.ndarray, " people"]  # which kind each column of z is of
    gold: Int[np.ndarray, " samples"]  # -1 where the class is not known


def draw(setting: Setting, plan: Plan, key: Any, number: int) -> DataSet:
    """Set `number` of a plan; the same key gives the same uniform numbers to every plan."""
    people = np.array([kind.people for kind in setting.labelers])
    rng = host_rng(key, "data set", number)
    u = rng.random((plan.num_samples, 2 + 2 * int(people.sum())))  # rows first: more samples only append
    y = _pick(np.tile(setting.prior, (len(u), 1)), u[:, 0])
    y_pred = _pick(setting.confusion[y], u[:, 1])
    columns, kinds = [], []
    first = 2 + 2 * np.concatenate([[0], np.cumsum(people)[:-1]])
    for g, count in enumerate(plan.labels):
        used = int(np.ceil(count - 1e-9))
        for t in range(used):
            at = first[g] + 2 * t
            given = _pick(setting.labelers[g].matrix[y], u[:, at + 1])
            columns.append(np.where(u[:, at] < count / used, given, -1))
            kinds.append(g)
    z = np.array(columns, int).reshape(len(columns), len(u)).T
    gold = np.where(np.arange(len(u)) < plan.num_gold, y, -1)  # rows are exchangeable: the first are random
    return DataSet(y, y_pred, z, np.array(kinds, int), gold)


def _pick(rows: Float[np.ndarray, "samples classes"], u: Float[np.ndarray, " samples"]) -> np.ndarray:
    """One class from each row by inversion; a class of probability 0 is never picked."""
    upto = np.cumsum(rows, axis=1)
    upto[:, -1] = np.inf
    last = rows.shape[1] - 1 - np.argmax(rows[:, ::-1] > 0, axis=1)
    return np.minimum((u[:, None] >= upto).sum(axis=1), last)


def log_likelihood(setting: Setting, data: DataSet) -> Float[np.ndarray, "samples classes"]:
    """log p(labels | class) at the known matrices; gold is certain. Labels of gold samples are not used."""
    matrices = np.array([setting.labelers[g].matrix for g in data.kind]).reshape(-1, *setting.confusion.shape)
    sample, labeler = (index.ravel() for index in np.indices(data.z.shape))
    total = labels_log_likelihood(matrices, sample, labeler, data.z.ravel(), data.y.size)
    return known_classes(total, data.gold)
