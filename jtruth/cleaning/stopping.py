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
the gains of learners that know the noise were understated by half; `benchmarks/tars_stopping.py`).

Cleaning is called not worth it only where that is likely to come true: the expected gain is below what was
asked for, and so is the gain itself in nine of ten of the simulated truths.

What it takes for granted: the learner's family contains a model that is right, and noise rates are as given.
"""

from typing import Any, NamedTuple

import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.special import softmax

from jtruth._host import log
from jtruth._random import as_key, host_rng
from jtruth._validation import present
from jtruth.cleaning.expected_fall import Influence, best_batch, curvature_change, influence
from jtruth.cleaning.learners import LinearLearner
from jtruth.cleaning.state import State

_WEAK = 0.1  # of the penalty is left where the truth is drawn: see the module docstring
_SURE = 0.9  # chance that a gain stays below what is worth asking, from which on "not worth it" is said


class Advice(NamedTuple):
    """What cleaning on would bring."""

    gain: float  # expected gain of accuracy by the next `num` answers
    low: float  # the middle 90 % of what it may be
    high: float
    error: float  # Monte Carlo standard error of `gain`
    chance: float  # that the gain is at least what is worth asking
    num: int
    worth_it: bool
    sentence: str


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
    if found.inverse is None:
        raise ValueError("stopping advice needs the Hessian written down: a model of at most 500 parameters")
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
        found = influence(state, solver="dense")
    used, inverse = found.gradients[~state.problem.validation], present(found.inverse, "the inverse Hessian")
    flat, _ = ravel_pytree(jax.tree.map(np.asarray, state.fitted.model))
    covariance = inverse / len(used)
    if state.learner.kind != "ml":  # a loss that is no likelihood
        covariance = inverse @ (used.T @ used / len(used)) @ covariance
    return np.asarray(flat, np.float64), covariance
