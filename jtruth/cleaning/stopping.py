"""Is more cleaning worth it? What the next answers are expected to gain, by simulation from what is known.

The truth is drawn from what is believed: a model theta* around the one at hand (normal; for a likelihood with
the covariance H^-1 / N of its penalised posterior, else the sandwich), then classes y ~ p(z | y) p_theta*(y |
x) of the samples to be asked for. The answers move the model by one Newton step (`expected_fall`) with the
Hessian that they leave, and the gain is the accuracy of the moved model minus that of the model at hand, both
judged by p_theta*. Nothing is trained.

A learner that takes labels as they are ("labels") does not know how wrong it is. Its truth is drawn around
the same linear model trained with the noise known; without such a twin its advice would be its own opinion of
itself, so it is refused. The twin of every linear learner has a tenth of its penalty: a penalty makes weights
short, classes look less certain than they are, and a better boundary look worth less (with all of the penalty
the gains of learners that know the noise were understated by half).

Cleaning is called not worth it only where that is likely to come true: the expected gain is below what was
asked for, and so is the gain itself in nine of ten of the simulated truths.

What it takes for granted: the learner's family contains a model that is right, and noise rates are as given.

How should a few known labels be divided between learning the noise, training and testing? Su 6.3.2.

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
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float
from scipy.special import softmax

from jtruth._host import known_classes, log
from jtruth._one_line import one_line
from jtruth._random import as_key, host_rng
from jtruth.answers import Answer, Column, Shown, Table, facts
from jtruth.cleaning.expected_fall import Influence, best_batch, curvature_change, influence
from jtruth.cleaning.learners import LinearLearner
from jtruth.cleaning.state import State

_WEAK = 0.1  # of the penalty is left where the truth is drawn: see the module docstring
_SURE = 0.9  # chance that a gain stays below what is worth asking, from which on "not worth it" is said


@dataclass(frozen=True, repr=False)
class Advice(Answer):
    """What cleaning on would bring."""

    gain: float  # expected gain of accuracy by the next `num` answers
    low: float  # the middle 90 % of what it may be
    high: float
    error: float  # Monte Carlo standard error of `gain`
    chance: float  # that the gain is at least what is worth asking
    num: int
    worth_it: bool
    sentence: str

    def blocks(self) -> Shown:
        """The question, the answer and what stands behind it, for all faces."""
        row = {"of": f"the next {self.num} answers", "gain": self.gain, "low": self.low, "high": self.high,
               "chance": self.chance, "error": self.error}  # fmt: skip
        columns = (
            Column("gain", "gain of accuracy [90 %]", ("low", "high"), "+.4f"),
            Column("chance", "P(worth asking)", form=".2f"),
            Column("error", "Monte Carlo error", form=".1e"),
        )
        table = Table("gains", "Expected gain", "of", columns, (row,), unit=None)
        given = facts(num=self.num, worth_it=self.worth_it)
        return Shown("Is more cleaning worth it?", "", self.sentence, (table, given))


def stopping_advice(
    state: State, num: int = 20, *, worth: float = 0.002, num_draws: int = 200, key: Any = None
) -> Advice:
    """Expected gain of accuracy by the next `num` answers, and whether that is worth it.

    Args:
        state: of a learner with derivatives.
        num: how many answers are considered.
        worth: least gain (of accuracy, .002 is .2 points) by `num` answers that is worth asking them.
        num_draws: of the truth.
        key: 0 if None.

    Raises:
        ValueError: a learner without derivatives, or fewer samples left than `num`.
    """
    left = int(state.open.sum())
    if not 1 <= num <= left:
        raise ValueError(f"num is {num}, and {left} samples may still be asked for; give 1 to that number")
    found = influence(state)
    chosen = best_batch(found, state.open / state.problem.costs, num)
    gains = simulated_gains(state, found, chosen, num_draws, host_rng(as_key(key), "stopping advice"))
    gain, error = float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(num_draws))
    low, high = (float(q) for q in np.quantile(gains, [0.05, 0.95]))
    chance = float((gains >= worth).mean())
    worth_it = gain >= worth or chance > 1 - _SURE
    says = "cleaning on may be worth it" if worth_it else "more cleaning is not worth it"
    sentence = (
        f"{says}: {gain / num:.4f} of accuracy per label over the next {num} (in all {gain:.4f}, "
        f"90 % of what may happen [{low:.4f}, {high:.4f}]; {chance:.0%} chance of {worth:g} or more)"
    )
    return Advice(gain, low, high, error, chance, num, worth_it, sentence)


def simulated_gains(
    state: State, found: Influence, chosen: list[int], num_draws: int, rng: np.random.Generator
) -> np.ndarray:
    """(draws,) gain of accuracy by answers about the chosen samples."""
    p, learner = state.problem, state.learner
    flat, unravel = ravel_pytree(jax.tree.map(np.asarray, state.fitted.model))
    flat = np.asarray(flat, np.float64)
    centre, spread = _believed(state, found)
    root = np.linalg.cholesky(spread + 1e-14 * np.trace(spread) * np.eye(flat.size))
    after_all = np.linalg.pinv(found.inverse, 1e-9, hermitian=True) + curvature_change(state, chosen)
    steps = -found.changes[chosen] @ np.linalg.pinv(after_all, 1e-9, hermitian=True)
    given = state.log_likelihood[chosen]

    def probabilities(theta):
        return learner.probabilities(unravel(theta), p.x)

    now = probabilities(flat).argmax(axis=1)
    gains = np.zeros(num_draws)
    for m in range(num_draws):
        truth = probabilities(centre + root @ rng.standard_normal(flat.size))
        chance = softmax(given + log(truth[chosen]), axis=1) @ p.oracle
        said = (rng.random((len(chosen), 1)) >= np.cumsum(chance, axis=1)[:, :-1]).sum(axis=1)
        after = probabilities(flat + steps[np.arange(len(chosen)), said].sum(axis=0)).argmax(axis=1)
        at = np.arange(len(now))
        gains[m] = (truth[at, after] - truth[at, now]).mean()
    return gains


def _believed(state: State, found: Influence) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the model that would be right: of a learner that knows the noise."""
    if state.learner.kind == "labels" and not isinstance(state.learner, LinearLearner):
        raise ValueError("stopping advice for a learner that ignores noise is there for LinearLearner only")
    if isinstance(state.learner, LinearLearner):
        weak = LinearLearner("ml", _WEAK * state.learner.regularisation)
        state = state._replace(learner=weak).refitted()
        found = influence(state)
    used, inverse = found.gradients[~state.problem.validation], found.inverse
    flat, _ = ravel_pytree(jax.tree.map(np.asarray, state.fitted.model))
    covariance = inverse / len(used)
    if state.learner.kind != "ml":  # a loss that is no likelihood
        covariance = inverse @ (used.T @ used / len(used)) @ covariance
    return np.asarray(flat, np.float64), covariance


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
