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

Any differentiable model works: H^-1 g by Hessian-vector products and conjugate gradients where H is too large
to be written down (`solver="cg"`), with `damping` added to H, which of a network is not positive definite.

Which labeler should be checked? What better known error rates of one labeler are expected to gain.

Where many samples hang on one labeler whose error rates rest on a few known answers, checking ten more of
that labeler's labels may help the model more than any ten single samples. The model theta is a function of
the rates, d theta / d rate = -H^-1 dg/d rate (implicit function theorem). With row c of labeler t distributed
as Dirichlet(n p), n known answers, the risk that uncertain rates cost is

    1/2 tr(H^-1 G Cov G'),   G = d gradient / d row,   Cov = (diag(p) - p p') / (n + 1),

and `num` checked labels, of which prior[c] num are of class c, leave (n + 1) / (n + prior[c] num + 1) of it.
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
from jtruth._validation import choose, present
from jtruth.cleaning.learners import Learner, LinearLearner
from jtruth.cleaning.state import State
from jtruth.labels import Labels

_DENSE = 500  # parameters up to which the Hessian is written down


class Influence(NamedTuple):
    """Gradients of all possible answers, and what they act on."""

    changes: Float[np.ndarray, "samples answers parameters"]  # g
    aims: Float[np.ndarray, "samples answers parameters"]  # b: the same of the risk that is believed
    gap: Float[np.ndarray, " parameters"]  # r: gradient of that risk now
    chance: Float[np.ndarray, "samples answers"]  # p(answer | labels, features)
    solved: Float[np.ndarray, "samples answers parameters"]  # H^-1 g
    inverse: Float[np.ndarray, "parameters parameters"] | None  # H^-1, where it was written down
    gradients: Float[np.ndarray, "samples parameters"]  # of each sample's loss now
    num_samples: int

    __repr__ = one_line

    @property
    def falls(self) -> Float[np.ndarray, " samples"]:
        """Expected fall of the risk by asking for each sample."""
        own = self.gap - np.einsum("ik,ikp->ip", self.chance, self.aims)  # without the sample itself
        toward = own[:, None, :] + self.aims - 0.5 * self.changes
        return np.einsum("ik,ikp,ikp->i", self.chance, toward, self.solved)


def influence(state: State, *, solver: str = "auto", damping: float = 0.0) -> Influence:
    """What every possible answer would do to the model of a state.

    Args:
        state: of a learner with derivatives.
        solver: "dense", "cg", or "auto" (dense up to 500 parameters).
        damping: added to the diagonal of H.

    Raises:
        ValueError: a learner without derivatives.
    """
    choose("solver", solver, ("auto", "dense", "cg"))
    p, learner = state.problem, state.learner
    if type(learner).sample_loss is Learner.sample_loss:
        learner.sample_loss(None, None, None)  # says what to use instead
    with jax.enable_x64(True):
        model = jax.tree.map(jnp.asarray, state.fitted.model)
        data = jnp.asarray(p.x), jnp.asarray(state.evidence), jnp.asarray(~p.validation)
        changes, now = _changes(learner, model, *data, jnp.asarray(possible_evidence(state)))
        changes, believed = np.asarray(changes, np.float64), class_chances(state)
        chance, aims, gap = believed @ p.oracle, changes, np.zeros(changes.shape[-1])
        if learner.kind != "ml":
            posterior = jnp.asarray(_after(believed, p.oracle))
            aims = np.asarray(_changes(learner, model, *data, posterior)[0], np.float64)
            gap = np.einsum("ik,ikp->p", chance[~p.validation], aims[~p.validation])
        if solver == "dense" or (solver == "auto" and changes.shape[-1] <= _DENSE):
            hessian = np.asarray(_hessian(learner, model, *data))
            # Intercepts of a softmax are known up to a constant, where H is 0 and so are all gradients.
            inverse = np.linalg.pinv(hessian + damping * np.eye(len(hessian)), 1e-9, hermitian=True)
            solved = changes @ inverse
        else:
            rows = jnp.asarray(changes.reshape(-1, changes.shape[-1]))
            inverse, solved = None, np.asarray(_conjugate(learner, model, *data, rows, damping))
    solved = solved.reshape(changes.shape)
    count = int((~p.validation).sum())
    return Influence(changes, aims, gap, chance, solved, inverse, np.asarray(now), count)


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


@partial(jax.jit, static_argnums=0)
def _conjugate(
    learner: Learner, model: Any, x: Any, evidence: Any, where: Any, rows: Any, damping: Any
) -> Any:
    """H^-1 g for all samples and answers by conjugate gradients on Hessian-vector products."""
    flat, unravel = ravel_pytree(model)
    cost = _cost(learner, unravel, x, evidence, where)

    def times(v):
        return jax.jvp(jax.grad(cost), (flat,), (v,))[1] + damping * v

    return jax.lax.map(lambda b: jax.scipy.sparse.linalg.cg(times, b, tol=1e-8, maxiter=200)[0], rows)


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
        found: with `inverse`; without, the `num` largest falls are taken as they are.
        value: factor of each sample's fall (1 / cost), 0 for samples that may not be asked for.
        num: how many.
    """
    if found.inverse is None:
        return np.argsort(-np.where(value > 0, worth(found.falls, value), -np.inf), kind="stable")[
            :num
        ].tolist()
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


def labeler_gains(
    state: State,
    labels: Labels,
    matrices: Float[np.ndarray, "labelers classes classes"],
    known: Float[np.ndarray, "labelers classes"],
    num: int = 10,
) -> Float[np.ndarray, " labelers"]:
    """Expected fall of the risk by checking `num` more labels of each labeler.

    Args:
        state: of a noise-aware learner ("mmse" or "ml") with derivatives, of at most 500 parameters.
        labels: those the state was started with.
        matrices: the rates the state was started with.
        known: on how many known answers each row rests.
        num: how many of a labeler's labels would be checked, at random.

    Raises:
        ValueError: a learner that ignores noise, or arrays that do not fit.
    """
    p, learner = state.problem, state.learner
    if learner.kind == "labels":
        raise ValueError("this learner ignores error rates, so knowing them better gains nothing")
    if (
        matrices.shape != (labels.num_labelers, p.prior.size, p.prior.size)
        or known.shape != matrices.shape[:2]
    ):
        raise ValueError(f"matrices {matrices.shape} and known {known.shape} are not those of these labels")
    inverse = present(influence(state, solver="dense").inverse, "the inverse Hessian")
    sensitivity = rate_sensitivity(state, labels, matrices)
    spread = (np.einsum("tck,kl->tckl", matrices, np.eye(p.prior.size))
              - matrices[..., :, None] * matrices[..., None, :]) / (known + 1)[..., None, None]  # fmt: skip
    cost = 0.5 * np.einsum("tckp,pq,tclq,tckl->tc", sensitivity, inverse, sensitivity, spread, optimize=True)
    return (cost * (1 - (known + 1) / (known + num * p.prior[None] + 1))).sum(axis=1)


def rate_sensitivity(
    state: State, labels: Labels, matrices: Float[np.ndarray, "labelers classes classes"]
) -> Float[np.ndarray, "labelers classes classes parameters"]:
    """d gradient / d matrices[t, c, k]; answered and held-out samples have no say."""
    p = state.problem
    used = ~p.validation
    used[[a.sample for a in state.answers]] = False
    with jax.enable_x64(True):
        model = jax.tree.map(jnp.asarray, state.fitted.model)
        prior = jnp.asarray(p.prior)
        each = _by_log_likelihood(
            state.learner, model, jnp.asarray(p.x), jnp.asarray(p.log_likelihood), prior
        )
    each = np.asarray(each) * used[:, None, None] / (~p.validation).sum()  # (samples, parameters, classes)
    sample, labeler, label = labels.arrays
    found = np.zeros((*matrices.shape, each.shape[1]))
    given = label >= 0
    for c in range(p.prior.size):
        of_class = found[:, c]
        np.add.at(of_class, (labeler[given], label[given]), each[sample[given], :, c])
    return found / np.where(matrices > 0, matrices, 1.0)[..., None]


@partial(jax.jit, static_argnums=0)
def _by_log_likelihood(learner: Learner, model: Any, x: Any, log_likelihood: Any, prior: Any) -> Any:
    """d gradient of each sample / d log p(labels | class)."""
    flat, unravel = ravel_pytree(model)

    def gradient(xi, given):
        evidence = given if learner.kind == "ml" else jax.nn.softmax(given + jnp.log(prior))
        return jax.grad(lambda theta: learner.sample_loss(unravel(theta), xi, evidence))(flat)

    return jax.vmap(jax.jacfwd(gradient, argnums=1))(x, log_likelihood)
