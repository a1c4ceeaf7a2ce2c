"""How much would an answer help? Expected fall of the estimated risk, without training anything again.

The model theta minimises a mean of losses, of what the labels say (evidence) of each sample. If an oracle
answers k about sample i, the evidence of that sample changes, and the model goes one Newton step:

    theta_new = theta - H^-1 g_ik,     g_ik = what the answer adds to the gradient at theta,

where g_ik is one sample's gradient and H the Hessian: one solve for all samples and answers. Good is what
lowers the risk (40) as it is believed, J: the mean of losses under p(y | z, x), proportional to p(z | y)
p(y | x). Let r be the gradient of J at theta, and b_ik what the answer adds to it. To second order J falls by

    (r + b_ik)' H^-1 g_ik - 1/2 g_ik' H^-1 g_ik,

and what is expected is the mean over answers, each as probable as p(y | z, x) says. A learner that knows the
noise has r = 0 and b = g, and 1/2 g' H^-1 g is left: for logistic regression and the likelihood (32)

    p(1 - p) x' H^-1 x / (2 N^2):

uncertain after all that is known, times leverage. It is uncertainty sampling of the right uncertainty. A
learner that takes labels as they are is wrong on average (r is not 0): there an answer is worth most that
pulls the model to where it would be if all labels were clean. What such a learner believes of features is no
measure: p(y | x) is that of its twin, the same linear model trained with the noise known (other learners
have no twin, and their own p(y | x) is taken). Who has a better one hands it to `start(probabilities=)`.

Batches: the answer to i adds N E[g g'] to H and takes E[g] from r, so that the next choice sees less to be
gained near i. (So it is for the likelihood. With losses that are linear in the evidence H stays what it is,
and batches are spread more than that asks for, which on the smallest set measured was .5 points of area
better.)

"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float
from scipy.special import softmax

from jtruth._host import log
from jtruth._one_line import one_line
from jtruth.cleaning.learners import Learner, LinearLearner
from jtruth.cleaning.state import State

_MOST = 2000  # parameters: their Hessian is written down


class Influence(NamedTuple):
    """Gradients of all possible answers, and what they act on."""

    changes: Float[np.ndarray, "samples answers parameters"]  # g
    aims: Float[np.ndarray, "samples answers parameters"]  # b: the same of the risk that is believed
    gap: Float[np.ndarray, " parameters"]  # r: gradient of that risk now
    chance: Float[np.ndarray, "samples answers"]  # p(answer | labels, features)
    solved: Float[np.ndarray, "samples answers parameters"]  # H^-1 g
    inverse: Float[np.ndarray, "parameters parameters"]  # H^-1
    gradients: Float[np.ndarray, "samples parameters"]  # of each sample's loss now
    num_samples: int

    __repr__ = one_line

    @property
    def falls(self) -> Float[np.ndarray, " samples"]:
        """Expected fall of the risk by asking for each sample."""
        own = self.gap - np.einsum("ik,ikp->ip", self.chance, self.aims)  # without the sample itself
        toward = own[:, None, :] + self.aims - 0.5 * self.changes
        return np.einsum("ik,ikp,ikp->i", self.chance, toward, self.solved)


def influence(state: State) -> Influence:
    """What every possible answer would do to the model of a state.

    Args:
        state: of a learner with derivatives.

    Raises:
        ValueError: a learner without derivatives, or a model of more than 2000 parameters.
    """
    p, learner = state.problem, state.learner
    if type(learner).sample_loss is Learner.sample_loss:
        learner.sample_loss(None, None, None)  # says what to use instead
    with jax.enable_x64(True):
        model = jax.tree.map(jnp.asarray, state.fitted.model)
        data = jnp.asarray(p.x), jnp.asarray(state.evidence), jnp.asarray(~p.validation)
        size = sum(leaf.size for leaf in jax.tree.leaves(model))
        if size > _MOST:
            raise ValueError(f"the model has {size} parameters, and strategy 'risk' and stopping advice go "
                             f"up to {_MOST}; take fewer features, or another strategy")  # fmt: skip
        changes, now = _changes(learner, model, *data, jnp.asarray(possible_evidence(state)))
        changes, believed = np.asarray(changes, np.float64), class_chances(state)
        chance, aims, gap = believed @ p.oracle, changes, np.zeros(changes.shape[-1])
        if learner.kind != "ml":
            posterior = jnp.asarray(_after(believed, p.oracle))
            aims = np.asarray(_changes(learner, model, *data, posterior)[0], np.float64)
            gap = np.einsum("ik,ikp->p", chance[~p.validation], aims[~p.validation])
        # Intercepts of a softmax are known up to a constant, where H is 0 and so are all gradients.
        inverse = np.linalg.pinv(np.asarray(_hessian(learner, model, *data)), 1e-9, hermitian=True)
    count = int((~p.validation).sum())
    return Influence(changes, aims, gap, chance, changes @ inverse, inverse, np.asarray(now), count)


def _cost(learner: Learner, unravel: Any, x: Any, evidence: Any, where: Any) -> Any:
    """The learner's objective as a function of flat parameters."""

    def cost(theta):
        losses = jax.vmap(lambda xi, ei: learner.sample_loss(unravel(theta), xi, ei))(x, evidence)
        count = where.sum().astype(losses.dtype)
        return jnp.where(where, losses, 0.0).sum() / count + learner.penalty(unravel(theta), count)

    return cost


@partial(jax.jit, static_argnums=0)
def _hessian(learner: Learner, model: Any, x: Any, evidence: Any, where: Any) -> Any:
    flat, unravel = ravel_pytree(model)
    return jax.hessian(_cost(learner, unravel, x, evidence, where))(flat)


@partial(jax.jit, static_argnums=0)
def _changes(learner: Learner, model: Any, x: Any, evidence: Any, where: Any, outcome: Any) -> Any:
    """g of every sample and answer, and the gradients now."""
    flat, unravel = ravel_pytree(model)
    one = jax.grad(lambda theta, xi, ei: learner.sample_loss(unravel(theta), xi, ei))
    now = jax.vmap(one, in_axes=(None, 0, 0))(flat, x, evidence)
    then = jax.vmap(jax.vmap(one, in_axes=(None, None, 0)), in_axes=(None, 0, 0))(flat, x, outcome)
    return (then - now[:, None, :]) / where.sum().astype(now.dtype), now


def curvature_change(state: State, chosen: list[int]) -> Float[np.ndarray, "parameters parameters"]:
    """Expected change of H by answers about the chosen samples; 0 for losses that are linear in the score."""
    outcome, chance = possible_evidence(state)[chosen], answer_chances(state)[chosen]
    with jax.enable_x64(True):
        model = jax.tree.map(jnp.asarray, state.fitted.model)
        rows = jnp.asarray(state.problem.x[chosen]), jnp.asarray(state.evidence[chosen]), jnp.asarray(outcome)
        now, then = _curvatures(state.learner, model, *rows)
    change = np.einsum("ik,ikpq->pq", chance, np.asarray(then)) - np.asarray(now).sum(axis=0)
    return change / (~state.problem.validation).sum()


@partial(jax.jit, static_argnums=0)
def _curvatures(learner: Learner, model: Any, x: Any, evidence: Any, outcome: Any) -> Any:
    """Hessians of single samples, now and after each answer."""
    flat, unravel = ravel_pytree(model)
    one = jax.hessian(lambda theta, xi, ei: learner.sample_loss(unravel(theta), xi, ei))
    now = jax.vmap(one, in_axes=(None, 0, 0))(flat, x, evidence)
    return now, jax.vmap(jax.vmap(one, in_axes=(None, None, 0)), in_axes=(None, 0, 0))(flat, x, outcome)


def twin(state: State) -> State:
    """The same linear model trained with the noise known, if there is one; else the state itself.

    Raises:
        RuntimeError: its training does not converge.
    """
    if not isinstance(state.learner, LinearLearner) or state.learner.kind == "ml":
        return state
    return state._replace(learner=LinearLearner("ml", state.learner.regularisation)).refitted()


def class_chances(state: State) -> Float[np.ndarray, "samples classes"]:
    """p(y | z, x): labels and answers, and the probabilities given at the start or, without, the twin's."""
    known = state.problem.probabilities
    if known is None:
        wise = twin(state)
        known = wise.learner.probabilities(wise.fitted.model, wise.problem.x)
    joint = state.log_likelihood + log(known)
    refuted = ~(joint > -np.inf).any(axis=1, keepdims=True)  # the answer is a class that had probability 0
    return softmax(np.where(refuted, state.log_likelihood, joint), axis=1)


def _after(believed: Float[np.ndarray, "samples classes"], oracle: Float[np.ndarray, "classes answers"]):
    """(samples, answers, classes): what is believed of a sample after each answer."""
    joint = believed[:, None, :] * oracle.T[None]
    total = joint.sum(axis=2, keepdims=True)
    return np.where(total > 0, joint / np.where(total > 0, total, 1), believed[:, None, :])


def answer_chances(state: State) -> Float[np.ndarray, "samples answers"]:
    """p(answer | z, x): of an oracle that errs, an answer is a label."""
    return class_chances(state) @ state.problem.oracle


def possible_evidence(state: State) -> Float[np.ndarray, "samples answers classes"]:
    """The evidence of each sample after each answer."""
    p, classes = state.problem, np.arange(state.problem.prior.size)
    given = state.log_likelihood[:, None, :] + log(p.oracle.T)[None]
    impossible = ~(given > -np.inf).any(axis=2)  # an answer that the labels exclude: its chance is 0
    given = np.where(np.expand_dims(impossible, 2), 0.0, given)
    rows = [state.learner.evidence(given[:, k], p.prior, np.full(len(p.x), k)) for k in classes]
    return np.stack(rows, axis=1)


def best_batch(found: Influence, value: Float[np.ndarray, " samples"], num: int) -> list[int]:
    """`num` samples one after the other, each seeing less to gain near those before it.

    Args:
        found: what every answer would do.
        value: factor of each sample's fall (1 / cost), 0 for samples that may not be asked for.
        num: how many.
    """
    inverse, gap, free, chosen = found.inverse.copy(), found.gap.copy(), value > 0, []
    root = np.sqrt(found.chance)[..., None]
    weighted, aimed = root * found.changes, root * (found.aims - 0.5 * found.changes)
    mean, own = (np.einsum("ik,ikp->ip", found.chance, each) for each in (found.changes, found.aims))
    for _ in range(min(num, int(free.sum()))):
        falls = np.einsum("ikp,pq,ikq->i", aimed, inverse, weighted, optimize=True)
        falls += np.einsum("ip,pq,iq->i", gap - own, inverse, mean, optimize=True)
        best = int(np.argmax(np.where(free, worth(falls, value), -np.inf)))
        chosen.append(best)
        free[best] = False
        gap -= mean[best]
        for g in weighted[best]:
            turned = inverse @ g
            inverse -= found.num_samples * np.outer(turned, turned) / (1 + found.num_samples * g @ turned)
    return chosen


def worth(falls: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Falls per unit of cost; one that is below 0 is the worse, the more it costs."""
    cost = 1 / np.where(value > 0, value, 1.0)
    return np.where(falls > 0, falls * value, falls * cost)
