"""Which labeler should be checked? What better known error rates of one labeler are expected to gain.

Where many samples hang on one labeler whose error rates rest on a few known answers, checking ten more of
that labeler's labels may help the model more than any ten single samples. The model theta is a function of
the rates, d theta / d rate = -H^-1 dg/d rate (implicit function theorem). With row c of labeler t distributed
as Dirichlet(n p), n known answers, the risk that uncertain rates cost is

    1/2 tr(H^-1 G Cov G'),   G = d gradient / d row,   Cov = (diag(p) - p p') / (n + 1),

and `num` checked labels, of which prior[c] num are of class c, leave (n + 1) / (n + prior[c] num + 1) of it.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from jtruth._validation import present
from jtruth.cleaning.expected_fall import influence
from jtruth.cleaning.learners import Learner
from jtruth.cleaning.state import State
from jtruth.labels import Labels


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
