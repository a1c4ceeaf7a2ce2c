"""Expected reduction of a model's risk by an oracle's answer, without retraining; and stopping advice.

If an oracle answers k about sample i, the evidence of the sample changes, and the model, which minimises a
mean of losses, moves by one Newton step:

    theta_new = theta - H^-1 g_ik,     g_ik = what the answer adds to the gradient at theta,

with H the Hessian. The value of an answer is the reduction of the risk (40) under the current beliefs, J: the
mean of losses under p(y | z, x), proportional to p(z | y) p(y | x). With r the gradient of J at theta, and
b_ik what the answer adds to it, J falls to second order by

    (r + b_ik)' H^-1 g_ik - 1/2 g_ik' H^-1 g_ik,

averaged over answers with probabilities p(y | z, x). A learner that knows the noise has r = 0 and b = g,
which leaves 1/2 g' H^-1 g: for logistic regression and the likelihood (32) p(1 - p) x' H^-1 x / (2 N^2),
uncertainty times leverage. For a learner that ignores the noise, answers are best that move it toward the
model of clean labels; its p(y | x) is that of its twin, the same linear model trained with known noise, or
`start(probabilities=)`. Within a batch the answer to i adds N E[g g'] to H and subtracts E[g] from r (exactly
for the likelihood).

*Stopping advice.* True models theta* are drawn around the present one (normal, with the covariance H^-1 / N
of a likelihood's penalised posterior, else the sandwich), then classes y ~ p(z | y) p_theta*(y | x) of the
next samples. The gain is the accuracy after one Newton step minus the present one, both under theta*. For a
learner that ignores the noise the draws are around its twin with a tenth of the penalty, because gains were
understated by half otherwise. Cleaning is not worth it if the expected gain is below the requested one, and
so are nine of ten simulated gains. With rates learned from one label a sample the forecast is not calibrated
(`benchmarks/label_issues.py`), so `jtruth clean` does not print it.

*Splits of known labels* between noise estimation, training and testing (Su 6.3.2) are simulated: two classes,
normal features, one noisy label a sample. Rates and class share come from the first part (with one
pseudo-count each); logistic regression is trained by the likelihood (32) with these and the second part
known; the third part gives the accuracy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float
from scipy.special import softmax

from jtruth._host import known_classes, log, picked
from jtruth._one_line import one_line
from jtruth._random import as_key, host_rng, seeded
from jtruth._validation.words import number_of
from jtruth.answers import Answer, Column, Document, Table, facts
from jtruth.cleaning.learners import Learner, LinearLearner
from jtruth.cleaning.state import State, model_chances

_MOST = 2000  # parameters: their Hessian is written down
_NEVER = 1e-8  # probability of omitted answers, relative to the largest uncertainty


@dataclass(frozen=True, eq=False, repr=False)
class Influence:
    """Gradients of all possible answers, and the matrices they act on.

    Of a linear model they are slopes in its outputs times the sample's inputs (1, x), and are kept as such.
    """

    slopes: Float[np.ndarray, "samples answers outputs"]  # of g
    aimed: Float[np.ndarray, "samples answers outputs"]  # of b: the same of the risk that is believed
    inputs: Float[np.ndarray, "rows inputs"]  # of each sample; one row with a 1 where slopes are gradients
    gap: Float[np.ndarray, " parameters"]  # r: gradient of that risk now
    chance: Float[np.ndarray, "samples answers"]  # p(answer | labels, features)
    inverse: Float[np.ndarray, "parameters parameters"]  # H^-1
    gradients: Float[np.ndarray, "samples parameters"]  # of each sample's loss now
    num_samples: int

    __repr__ = one_line

    @property
    def changes(self) -> Float[np.ndarray, "samples answers parameters"]:
        """g."""
        return _spread(self.inputs, self.slopes)

    @property
    def aims(self) -> Float[np.ndarray, "samples answers parameters"]:
        """b."""
        return _spread(self.inputs, self.aimed)

    @property
    def falls(self) -> Float[np.ndarray, " samples"]:
        """Expected reduction of the risk by asking for each sample."""
        own, cross, turned = self.moved
        return own - cross + turned @ self.gap

    @cached_property
    def batches(self) -> dict[bytes, list[int]]:
        """What `best_batch` has chosen, by the factors of the falls."""
        return {}

    def of_outputs(self, root: Float[np.ndarray, "parameters k"]) -> Float[np.ndarray, "rows outputs k"]:
        """What slopes are multiplied by, for g' root."""
        rows, inputs = self.inputs.shape
        return (self.inputs @ root.reshape(inputs, -1)).reshape(rows, -1, root.shape[1])

    @cached_property
    def moved(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of every sample: E[(b - g / 2)' H^-1 g], E[b]' H^-1 E[g] and E[g] H^-1."""
        (weighted, half), (mean, mean_aim) = self.possible, self.expected
        turning = self.of_outputs(self.inverse)
        by_input = turning.reshape(*turning.shape[:2], -1, turning.shape[1])
        within = np.einsum("rcid,ri->rcd", by_input, self.inputs)
        own = np.einsum("iac,iac->i", weighted @ within, half)
        cross = np.einsum("ic,ic->i", (mean[:, None] @ within)[:, 0], mean_aim)
        return own, cross, (mean[:, None] @ turning)[:, 0]

    @cached_property
    def possible(self) -> tuple[np.ndarray, np.ndarray]:
        """Slopes of g, and of b - g / 2, times the root of the chance of each answer that may come."""
        often = self.chance > _NEVER * (max(1 - self.chance.max(axis=1).min(), 0.0) or 1.0)
        root = np.where(often, np.sqrt(self.chance), 0.0)[:, :, None]
        return root * self.slopes, root * (self.aimed - 0.5 * self.slopes)

    @cached_property
    def expected(self) -> tuple[np.ndarray, np.ndarray]:
        """(samples, outputs) mean slopes of g and b over the answers."""
        mean, aim = (np.einsum("ik,ikc->ic", self.chance, slopes) for slopes in (self.slopes, self.aimed))
        return mean, aim


def _spread(inputs: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Gradients in all parameters, from slopes (samples, ..., outputs)."""
    shape = (len(inputs), *[1] * (slopes.ndim - 2), inputs.shape[1], 1)
    return (inputs.reshape(shape) * slopes[..., None, :]).reshape(*slopes.shape[:-1], -1)


def influence(state: State) -> Influence:
    """Effect of every possible answer on the model of a state.

    Raises:
        ValueError: a learner without derivatives, or a model of more than 2000 parameters.
    """
    learner = state.learner
    inverse, model, data = _inverse_hessian(state)
    with jax.enable_x64(True):
        slopes, now = map(np.asarray, _slopes(learner, model, *data, jnp.asarray(possible_evidence(state))))
        inputs = _inputs(learner, np.asarray(data[0]))
        believed, now = class_chances(state), _spread(inputs, now)
        chance, aims, gap = believed @ state.oracle, slopes, np.zeros(now.shape[1])
        if learner.kind != "ml":
            joint = believed[:, None, :] * state.oracle.T[None]  # with each answer
            total = joint.sum(axis=2, keepdims=True)
            after = np.where(total > 0, joint / np.where(total > 0, total, 1), believed[:, None, :])
            aims = np.asarray(_slopes(learner, model, *data, jnp.asarray(after))[0])
            gap = _spread(inputs, np.einsum("ik,ikc->ic", chance, aims))[~state.validation].sum(axis=0)
    return Influence(slopes, aims, inputs, gap, chance, inverse, now, int((~state.validation).sum()))


def _inverse_hessian(state: State) -> tuple[np.ndarray, Any, tuple[Any, Any, Any]]:
    """H^-1 of a state, with its model and (features, evidence, which are used) as JAX arrays."""
    learner = state.learner
    if type(learner).sample_loss is Learner.sample_loss:
        learner.sample_loss(None, None, None)  # raises a ValueError
    with jax.enable_x64(True):
        model, x = jax.tree.map(jnp.asarray, learner.standard(state.model, state.x))
        data = x, jnp.asarray(state.evidence), jnp.asarray(~state.validation)
        size = sum(leaf.size for leaf in jax.tree.leaves(model))
        if size > _MOST:
            raise ValueError(f"the model has {size} parameters, but strategy 'risk' and stopping advice need "
                             f"{_MOST} or fewer; use fewer features, or another strategy")  # fmt: skip
        # Intercepts of a softmax are known up to a constant, where H is 0 and so are all gradients.
        return np.linalg.pinv(np.asarray(_hessian(learner, model, *data)), 1e-9, hermitian=True), model, data


def _linear(learner: Learner) -> bool:
    return type(learner).sample_loss is LinearLearner.sample_loss


def _inputs(learner: Learner, x: Any) -> Any:
    """(rows, inputs) of `Influence`."""
    if not _linear(learner):
        return np.ones((1, 1))
    return (np if isinstance(x, np.ndarray) else jnp).insert(x, 0, 1.0, axis=1)


def _moving(learner: Learner, model: Any) -> tuple[Any, Callable[[Any], Any]]:
    """What slopes are in, flat: outputs of a linear model, by its intercept; or all parameters."""
    if not _linear(learner):
        return ravel_pytree(model)
    shape = model.intercept.shape
    return model.intercept.ravel(), lambda theta: model._replace(intercept=theta.reshape(shape))


@partial(jax.jit, static_argnames=("learner",))
def _hessian(learner: Learner, model: Any, x: Any, evidence: Any, where: Any) -> Any:
    """H of the learner's objective in flat parameters."""
    (flat, unravel), count = ravel_pytree(model), where.sum().astype(x.dtype)
    of_penalty = jax.hessian(lambda theta: learner.penalty(unravel(theta), count))(flat)
    return _curvature(learner, model, x, evidence, where.astype(x.dtype)) / count + of_penalty


@partial(jax.jit, static_argnames=("learner",))
def _curvature(learner: Learner, model: Any, x: Any, evidence: Any, weight: Any) -> Any:
    """Hessian of a weighted sum of samples' losses in flat parameters, without those of weight 0."""
    flat, model_at = _moving(learner, model)

    def loss(theta, xi, ei):
        return learner.sample_loss(model_at(theta), xi, ei)

    def total(theta):
        losses = jax.vmap(loss, in_axes=(None, 0, 0))(theta, x, evidence)
        return jnp.where(weight != 0, weight * losses, 0.0).sum()

    if not _linear(learner):
        return jax.hessian(total)(flat)
    of_sample = jax.vmap(jax.hessian(loss), in_axes=(None, 0, 0))(flat, x, evidence)
    weight = weight[:, None, None]
    each, inputs = jnp.where(weight != 0, weight * of_sample, 0.0), _inputs(learner, x)
    return jnp.einsum("if,icd,ig->fcgd", inputs, each, inputs).reshape(inputs.shape[1] * flat.size, -1)


@partial(jax.jit, static_argnames=("learner",))
def _slopes(learner: Learner, model: Any, x: Any, evidence: Any, where: Any, outcome: Any) -> Any:
    """Slopes of g of every sample and answer, and those of the losses now."""
    flat, model_at = _moving(learner, model)
    of_sample = jax.grad(lambda theta, xi, ei: learner.sample_loss(model_at(theta), xi, ei))
    now = jax.vmap(of_sample, in_axes=(None, 0, 0))(flat, x, evidence)
    then = jax.vmap(jax.vmap(of_sample, in_axes=(None, None, 0)), in_axes=(None, 0, 0))(flat, x, outcome)
    return (then - now[:, None, :]) / where.sum().astype(now.dtype), now


def twin(state: State) -> State:
    """The same linear model trained with known noise, if there is one; else the state itself."""
    if not isinstance(state.learner, LinearLearner) or state.learner.kind == "ml":
        return state
    return state._replace(learner=LinearLearner("ml", state.learner.regularisation)).refitted()


def class_chances(state: State) -> Float[np.ndarray, "samples classes"]:
    """p(y | z, x), with p(y | x) from `start`, or that of the twin."""
    known = state.probabilities
    if known is None:
        known = model_chances(twin(state))
    joint = state.log_likelihood + log(known)
    refuted = ~(joint > -np.inf).any(axis=1, keepdims=True)  # the answer is a class that had probability 0
    return softmax(np.where(refuted, state.log_likelihood, joint), axis=1)


def answer_chances(state: State) -> Float[np.ndarray, "samples answers"]:
    """p(answer | z, x): an oracle that errs gives a label."""
    return class_chances(state) @ state.oracle


def possible_evidence(state: State) -> Float[np.ndarray, "samples answers classes"]:
    """The evidence of each sample after each answer."""
    classes = np.arange(state.prior.size)
    log_p = state.log_likelihood[:, None, :] + log(state.oracle.T)[None]
    impossible = ~(log_p > -np.inf).any(axis=2)  # an answer that the labels exclude: its probability is 0
    log_p = np.where(np.expand_dims(impossible, 2), 0.0, log_p)
    rows = [state.learner.evidence(log_p[:, k], state.prior, np.full(len(state.x), k)) for k in classes]
    return np.stack(rows, axis=1)


def best_batch(effects: Influence, value: Float[np.ndarray, " samples"], num: int) -> list[int]:
    """Choose `num` samples greedily; `value` is the factor of a sample's gain, 0 to exclude it."""
    free, chosen = value > 0, effects.batches.get(value.tobytes(), [])
    num = min(num, int(free.sum()))
    if num <= len(chosen):  # the first of a larger batch
        return chosen[:num]
    inverse, gap, chosen = effects.inverse.copy(), effects.gap.copy(), []
    (weighted, half), (mean, mean_aim) = effects.possible, effects.expected
    own, cross, turned = (part.copy() for part in effects.moved)
    for _ in range(num):
        falls = own - cross + turned @ gap
        best = int(np.argmax(np.where(free, worth(falls, value), -np.inf)))
        chosen.append(best)
        free[best] = False
        inputs = effects.inputs[[best if len(effects.inputs) > 1 else 0]]
        gap -= _spread(inputs, mean[[best]])[0]
        g = _spread(inputs, weighted[[best]])[0].T  # H gains N g g'; its inverse loses root root' (Woodbury)
        root = inverse @ g
        factor = np.linalg.cholesky(np.eye(g.shape[1]) / effects.num_samples + g.T @ root)
        root = np.linalg.solve(factor, root.T).T
        inverse -= root @ root.T
        along = effects.of_outputs(root)
        of_mean, of_aim = ((slopes[:, None] @ along)[:, 0] for slopes in (mean, mean_aim))
        own -= ((weighted @ along) * (half @ along)).sum(axis=(1, 2))
        cross -= (of_mean * of_aim).sum(axis=1)
        turned -= of_mean @ root.T
    effects.batches[value.tobytes()] = chosen
    return list(chosen)


def worth(falls: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Gains per unit of cost; a negative one is multiplied by the cost."""
    cost = 1 / np.where(value > 0, value, 1.0)
    return np.where(falls > 0, falls * value, falls * cost)


_WEAK = 0.1  # of the penalty is left where the truth is drawn: see the module docstring
_SURE = 0.9  # P(gain below the requested one) from which cleaning is not worth it


@dataclass(frozen=True, repr=False)
class Advice(Answer):
    """Expected gain of further cleaning."""

    gain: float  # expected gain of accuracy by the next `num` answers
    low: float  # the middle 90 % of what it may be
    high: float
    error: float  # Monte Carlo standard error of `gain`
    chance: float  # that the gain is at least what is worth asking
    num: int
    worth_it: bool
    sentence: str

    def blocks(self) -> Document:
        """Build the document of the result."""
        row = {"of": f"the next {self.num} answers", "gain": self.gain, "low": self.low, "high": self.high,
               "chance": self.chance, "error": self.error}  # fmt: skip
        columns = (
            Column("gain", "change in accuracy [90 %]", ("low", "high"), "+.4f"),
            Column("chance", "P(worthwhile)", form=".2f"),
            Column("error", "Monte Carlo error", form=".1e"),
        )
        table = Table("gains", "Expected gain", "of", columns, (row,), unit=None)
        blocks = table, facts(num=self.num, worth_it=self.worth_it)
        return Document("Is more cleaning worth it?", "", self.sentence, blocks)


@seeded
def stopping_advice(
    state: State, num: int = 20, *, worth: float = 0.002, num_draws: int = 200, key: Any = None,
    effects: Influence | None = None,
) -> Advice:  # fmt: skip
    """Expected gain of accuracy by the next `num` answers, and whether that is worth it.

    Args:
        state: of a learner with derivatives.
        num: number of answers.
        worth: smallest gain of accuracy by `num` answers that is worth asking (.002 is .2 points).
        num_draws: number of simulated truths.
        key: 0 if None.
        effects: of this state, if `ask` has computed them (`Request.effects`).

    Raises:
        ValueError: a learner without derivatives, or fewer samples left than `num`.
    """
    free = int(state.open.sum())
    if not 1 <= num <= free:
        left = number_of(free, "sample is", "samples are")
        raise ValueError(f"num is {num}, but {left} left to ask for; give 1 to {free}")
    effects = influence(state) if effects is None else effects
    chosen = best_batch(effects, state.open / state.costs, num)
    gains = simulated_gains(state, effects, chosen, num_draws, host_rng(as_key(key), "stopping advice"))
    gain, error = float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(num_draws))
    low, high = (float(q) for q in np.quantile(gains, [0.05, 0.95]))
    chance = float((gains >= worth).mean())
    worth_it = gain >= worth or chance > 1 - _SURE
    verdict = "More cleaning may be worthwhile" if worth_it else "More cleaning is not worthwhile"
    sentence = (
        f"{verdict}: {num} more checks change accuracy by {100 * gain:+.2g} points (90 % interval "
        f"{100 * low:+.2g} to {100 * high:+.2g}); P(at least {100 * worth:g} points) = {chance:.2f}."
    )
    return Advice(gain, low, high, error, chance, num, worth_it, sentence)


def simulated_gains(
    state: State, effects: Influence, chosen: list[int], num_draws: int, rng: np.random.Generator
) -> np.ndarray:
    """(draws,) gain of accuracy by answers about the chosen samples."""
    learner = state.learner
    of_x, x = learner.standard(state.model, state.x)
    flat, unravel = ravel_pytree(jax.tree.map(np.asarray, of_x))
    flat = np.asarray(flat, np.float64)
    centre, spread = _believed(state, effects)
    root = np.linalg.cholesky(spread + 1e-14 * np.trace(spread) * np.eye(flat.size))
    outcome, chances = possible_evidence(state)[chosen], answer_chances(state)[chosen]
    answers = np.repeat(chosen, chances.shape[1])
    rows = x[[*answers, *chosen]], np.concatenate([np.concatenate(outcome), state.evidence[chosen]])
    weight = np.concatenate([chances.ravel(), np.full(len(chosen), -1.0)])
    with jax.enable_x64(True):
        # The expected change of H by these answers is 0 for losses that are linear in the score.
        arrays = jax.tree.map(jnp.asarray, (of_x, *rows, weight))
        change = np.asarray(_curvature(learner, *arrays))
    after_all = np.linalg.pinv(effects.inverse, 1e-9, hermitian=True) + change / effects.num_samples
    inputs = effects.inputs[chosen] if len(effects.inputs) > 1 else effects.inputs
    steps = -_spread(inputs, effects.slopes[chosen]) @ np.linalg.pinv(after_all, 1e-9, hermitian=True)
    log_p = state.log_likelihood[chosen]

    def probabilities(theta):
        return learner.probabilities(unravel(theta), x)

    now = probabilities(flat).argmax(axis=1)
    gains = np.zeros(num_draws)
    for m in range(num_draws):
        truth = probabilities(centre + root @ rng.standard_normal(flat.size))
        chance = softmax(log_p + log(truth[chosen]), axis=1) @ state.oracle
        answers = picked(chance, rng.random(len(chosen)))
        after = probabilities(flat + steps[np.arange(len(chosen)), answers].sum(axis=0)).argmax(axis=1)
        at = np.arange(len(now))
        gains[m] = (truth[at, after] - truth[at, now]).mean()
    return gains


def _believed(state: State, effects: Influence) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the true model, by a learner that knows the noise."""
    if state.learner.kind == "labels" and not isinstance(state.learner, LinearLearner):
        raise ValueError("stopping advice for a learner that ignores label noise needs LinearLearner")
    used, inverse = effects.gradients[~state.validation], effects.inverse
    if isinstance(state.learner, LinearLearner):
        weak = LinearLearner("ml", _WEAK * state.learner.regularisation)
        state = state._replace(learner=weak).refitted()
        inverse = _inverse_hessian(state)[0]
    flat, _ = ravel_pytree(jax.tree.map(np.asarray, state.learner.standard(state.model, state.x)[0]))
    covariance = inverse / len(used)
    if state.learner.kind != "ml":  # a loss that is no likelihood
        covariance = inverse @ (used.T @ used / len(used)) @ covariance
    return np.asarray(flat, np.float64), covariance


@seeded
def gold_splits(
    splits: Sequence[tuple[int, int, int]],
    *,
    num_samples: int = 400,
    rates: tuple[float, float] = (0.3, 0.1),
    share: float = 0.5,
    num_sims: int = 50,
    key: Any = None,
) -> dict[str, Float[np.ndarray, " splits"]]:
    """Simulate ways to divide the known labels between noise estimation, training and testing.

    All splits use the same simulated sets, so their differences are more precise than their values.

    Args:
        splits: three numbers of known labels each.
        num_samples: of a set, of two features; the means of the classes are 3 standard deviations apart.
        rates: P(label 1 | class 0), P(label 0 | class 1).
        share: of class 1.
        num_sims: number of simulations.
        key: 0 if None.

    Returns:
        For every split "accuracy", the mean true accuracy of the trained model; "accuracy_error", its
        standard error; and root mean squared errors: "test_error" of the accuracy in the test part (NaN
        without one), "rate_error" of the two noise rates.

    Raises:
        ValueError: more known labels than samples, or negative numbers of them.
    """
    bad = [s for s in splits if min(s) < 0 or sum(s) > num_samples]
    if bad or num_sims < 2:
        raise ValueError(f"split {bad[0] if bad else '()'} does not fit "
                         f"{num_samples} samples; and simulate twice or more")  # fmt: skip
    key = as_key(key)

    def drawn(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
        y = (rng.random(size) < share).astype(np.int64)
        x = rng.standard_normal((size, 2))
        x[:, 0] += 3.0 * y
        return x, y

    results = np.empty((len(splits), num_sims, 3))
    for (row, split), sim in product(enumerate(splits), range(num_sims)):
        rng = host_rng(key, "splits of known labels", sim)
        x, y = drawn(rng, num_samples)
        z = np.where(rng.random(num_samples) < np.where(y == 1, rates[1], rates[0]), 1 - y, y)
        learned, predict = _trained_by(split, x, y, z)
        new_x, new_y = drawn(rng, 4000)
        true, test = (predict(new_x) == new_y).mean(), slice(num_samples - split[2], num_samples)
        tested = (predict(x[test]) == y[test]).mean() if split[2] else np.nan
        results[row, sim] = true, (tested - true) ** 2, np.mean((learned - np.array(rates)) ** 2)
    accuracy, test_error, rate_error = results.mean(axis=1).T
    return {
        "accuracy": accuracy,
        "accuracy_error": results[:, :, 0].std(axis=1, ddof=1) / np.sqrt(num_sims),
        "test_error": test_error**0.5,
        "rate_error": rate_error**0.5,
    }


def _trained_by(split, x, y, z) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Rates estimated from the first part, and predictions of a model trained with the second one."""
    noise, train, test = split
    known, labels = y[:noise], z[:noise]  # with one pseudo-count at .2 for each rate
    wrong = [((labels != known) & (known == c)).sum() + 0.2 for c in (0, 1)]
    rates = np.clip(np.array(wrong) / [(known == c).sum() + 1 for c in (0, 1)], 1e-3, 1 - 1e-3)
    share = (known.sum() + 0.5) / (noise + 1)
    matrix = np.array([[1 - rates[0], rates[0]], [rates[1], 1 - rates[1]]])
    place, learner = np.arange(y.size), LinearLearner("ml")
    evidence = known_classes(log(matrix[:, z].T), np.where(place < noise + train, y, -1))
    evidence = learner.evidence(evidence, np.array([1 - share, share]), z)
    model = learner.fit(x, evidence, place < y.size - test)[0]
    return rates, lambda new: learner.probabilities(model, new).argmax(axis=1)
