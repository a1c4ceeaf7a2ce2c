"""How should a few known labels be divided between learning the noise, training and testing? Su 6.3.2.

Known labels are worth something three times: they say how labelers err, they are certain rows of the
training set, and they test. Which is worth most depends on all the numbers, so the answer is a simulation of
the user's situation under each way of dividing them.

The simulated world: two classes, normal features whose means are `distance` apart, one noisy label a sample.
Rates and class share are estimated from the first part (with one pseudo-count each); logistic regression is
trained on the noisy labels by the likelihood (32) with the estimated rates and the second part known; the
third part, kept out of training, gives the accuracy. A part of no labels is allowed: without a first part the
rates are those of `guess`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth._host import known_classes, log
from jtruth._one_line import one_line
from jtruth._random import as_key, host_rng
from jtruth.cleaning.learners import LinearLearner


class World(NamedTuple):
    """What is simulated."""

    num_samples: int = 400
    distance: float = 3.0  # between the means of the classes, in standard deviations
    num_features: int = 2
    rates: tuple[float, float] = (0.3, 0.1)  # P(label 1 | class 0), P(label 0 | class 1)
    share: float = 0.5  # of class 1
    guess: tuple[float, float] = (0.2, 0.2)  # rates that are believed without known labels


class SplitOutcome(NamedTuple):
    """What one way of dividing the known labels gave."""

    split: tuple[int, int, int]  # known labels for noise, training, testing
    accuracy: float  # true accuracy of the trained model, mean of the simulations
    accuracy_error: float  # its standard error
    test_error: float  # root mean squared error of the accuracy that the test part says; NaN without one
    rate_error: float  # root mean squared error of the two noise rates

    __repr__ = one_line


def gold_splits(
    splits: Sequence[tuple[int, int, int]], world: World | None = None, *, num_sims: int = 50, key: Any = None
) -> tuple[SplitOutcome, ...]:
    """Simulate each way of dividing the known labels between noise, training and testing.

    All ways see the same simulated sets, so that their differences are known better than each.

    Args:
        splits: ways, each three numbers of known labels.
        world: what is simulated; `World()` if None.
        num_sims: how often.
        key: 0 if None.

    Raises:
        ValueError: more known labels than samples, or negative numbers of them.
    """
    world = World() if world is None else world
    bad = [s for s in splits if min(s) < 0 or sum(s) > world.num_samples]
    if bad or num_sims < 2:
        raise ValueError(f"split {bad[0] if bad else '()'} does not fit "
                         f"{world.num_samples} samples; and simulate twice or more")  # fmt: skip
    found = np.array([[_once(split, world, as_key(key), sim) for sim in range(num_sims)] for split in splits])
    mean = found.mean(axis=1)
    return tuple(
        SplitOutcome(
            (split[0], split[1], split[2]),
            m[0],
            float(f[:, 0].std(ddof=1) / np.sqrt(num_sims)),
            m[1] ** 0.5,
            m[2] ** 0.5,
        )
        for split, m, f in zip(splits, mean, found, strict=True)
    )


def _once(split: tuple[int, int, int], world: World, key: Any, sim: int) -> tuple[float, float, float]:
    """(true accuracy, squared error of the tested accuracy, mean squared error of the rates) of one set."""
    rng, (noise, train, test) = host_rng(key, "splits of known labels", sim), split
    x, y = _samples(rng, world, world.num_samples)
    a, b = world.rates
    z = np.where(rng.random(y.size) < np.where(y == 1, b, a), 1 - y, y)
    first, last = slice(0, noise), slice(world.num_samples - test, world.num_samples)
    rates, prior = _estimated(z[first], y[first], world)
    matrix = np.array([[1 - rates[0], rates[0]], [rates[1], 1 - rates[1]]])
    gold = np.full(y.size, -1)
    gold[: noise + train] = y[: noise + train]
    where = np.ones(y.size, bool)
    where[last] = False
    learner = LinearLearner("ml")
    evidence = known_classes(log(matrix[:, z].T), gold)
    model = learner.fit(x, learner.evidence(evidence, prior, z), where).model
    new_x, new_y = _samples(rng, world, 4000)
    true = (learner.predictions(_stacked(model), new_x)[0] == new_y).mean()
    said = (learner.predictions(_stacked(model), x[last])[0] == y[last]).mean() if test else np.nan
    return float(true), float((said - true) ** 2), float(np.mean((rates - np.array(world.rates)) ** 2))


def _stacked(model: Any) -> Any:
    return type(model)(*(np.asarray(part)[None] for part in model))


def _samples(rng: np.random.Generator, world: World, size: int) -> tuple[np.ndarray, np.ndarray]:
    y = (rng.random(size) < world.share).astype(np.int64)
    x = rng.standard_normal((size, world.num_features))
    x[:, 0] += world.distance * y
    return x, y


def _estimated(z: np.ndarray, y: np.ndarray, world: World) -> tuple[Float[np.ndarray, " 2"], np.ndarray]:
    """Rates and prior from known labels, with one pseudo-count at the guess for each."""
    rates = np.array([(((z != y) & (y == c)).sum() + world.guess[c]) / ((y == c).sum() + 1) for c in (0, 1)])
    share = (y.sum() + 0.5) / (y.size + 1)
    return np.clip(rates, 1e-3, 1 - 1e-3), np.array([1 - share, share])
