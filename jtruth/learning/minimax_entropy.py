"""Minimax conditional entropy (Zhou et al. 2015): labelers confuse classes, and so do samples.

Given the class c of sample i, labeler t gives label k with a probability proportional to

    exp(sigma_t[c, k] + tau_i[c, k]),

sigma a labeler's confusion and tau the sample's. This is the dual of a game, (12) there: the maximum over
sigma and tau of

    sum_i log sum_c prior[c] prod_t p(z_it | c)  -  alpha/2 |sigma|^2  -  beta/2 |tau|^2,

alpha = strength * classes^2, beta = alpha * (labels of a labeler) / (labels of a sample) as in the paper, by
L-BFGS from the vote shares. The class prior is uniform unless it is given.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import softmax

from jtruth._arrays import AnyArray
from jtruth._iterate import minimise
from jtruth._random import seeded
from jtruth._validation.in_range import check_positive
from jtruth.labels import Labels
from jtruth.learning._fit import Fit, exchanged, first_guess, not_converged, soft_counts, unlabelled
from jtruth.learning.em import algorithm as em


@partial(jax.jit, static_argnames="max_steps")
def minimax_entropy(
    data: em.LongForm,
    prior: Float[AnyArray, " classes"],
    start: Float[AnyArray, "labelers classes classes"],
    penalties: Float[AnyArray, " two"],
    *,
    max_steps: int,
    tol: float | Float[Array, ""],
) -> tuple[tuple, Float[Array, "samples classes"]]:
    """Maximum of the dual from a first sigma (tau starts at 0), and log p(class, labels) of samples there.

    `penalties` are alpha and beta.
    """
    data, prior, start, penalties = jax.tree.map(jnp.asarray, (data, prior, start, penalties))
    tau = jnp.zeros((data.known.size, prior.size, prior.size), start.dtype)

    def log_joint(params):
        sigma, tau = params
        log_p = jax.nn.log_softmax(sigma[data.labeler] + tau[data.sample], axis=2)
        of_label = jnp.take_along_axis(log_p, data.label[:, None, None], axis=2)[:, :, 0]
        return em.log_shares(data, prior) + data.by_sample(of_label)

    def loss(params):
        value = em.total(data, jax.nn.logsumexp(log_joint(params), axis=1))
        return -value + (penalties[0] * (params[0] ** 2).sum() + penalties[1] * (params[1] ** 2).sum()) / 2

    optimum = minimise(loss, (start, tau), max_steps=max_steps, tol=tol)
    return optimum, log_joint(optimum[0])


def one_class_only(labels: Labels) -> str | None:
    """Why minimax entropy cannot take these labels."""
    if np.count_nonzero(labels.counts().sum(axis=0)) < 2:
        return "all labels are equal, so even classes cannot be distinguished"
    return None


@seeded
def fit_minimax_entropy(
    labels: Labels,
    *,
    key: Any = None,
    gold: Any = None,
    prior: Any = None,
    strength: float = 0.25,
    max_steps: int = 5000,
    tol: float = 1e-6,
) -> Fit:
    """Consensus by regularized minimax conditional entropy (Zhou et al. 2015).

    Args:
        labels, key, gold: see `jtruth.learning.methods`.
        prior: (classes,) known class prior; uniform if None, as in the paper.
        strength: of the penalties, gamma in the paper, there between 1/4 and 4 by cross-validation. With few
            labels of each labeler, more of it makes all labelers, and then all classes, alike.
        max_steps, tol: of L-BFGS; `tol` is the largest entry of the gradient.

    Returns:
        `Fit`. Its own: `matrices` at tau 0 and `confusion` sigma (labelers, classes, classes); `difficulty`
        tau (samples, classes, classes); `objective`, with penalties.

    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 60)
    >>> z = np.where(rng.random((60, 5)) < [0.9, 0.9, 0.8, 0.5, 0.1], y[:, None], 1 - y[:, None])
    >>> fit = fit_minimax_entropy(Labels.from_matrix(z, 2))
    >>> print((fit.class_posterior.argmax(axis=1) == y).mean().round(2), fit.converged)
    0.95 True
    """
    data, known, (shares, _) = em.read(labels, gold, prior, max_steps, tol)
    if (reason := one_class_only(labels)) is not None:
        raise ValueError(reason)
    check_positive(strength, "strength", "a number", size=1)
    size, classes = labels.num_samples, labels.num_classes
    share = np.full(classes, 1 / classes) if prior is None else shares
    active = max(int((labels.labels_per_labeler() > 0).sum()), 1)
    alpha = strength * classes**2
    penalties = np.array([alpha, alpha * size / active])  # labels per labeler over labels per sample
    start = np.log(1.0 + soft_counts(labels, first_guess(labels, known)))  # one pseudo-label in each cell
    start -= start.mean(axis=2, keepdims=True)
    with jax.enable_x64(True):
        optimum, joint = minimax_entropy(data, share, start, penalties, max_steps=max_steps, tol=float(tol))
        (confusion, difficulty), joint = jax.tree.map(np.asarray, (optimum[0], joint[:size]))
    matrices = softmax(confusion, axis=2)
    converged, steps = bool(optimum[2]), int(optimum[3])
    pooled = np.einsum("t,tck->ck", labels.labels_per_labeler(), matrices)
    doubts = (*not_converged("L-BFGS", converged, steps), *unlabelled(labels),
              *exchanged(pooled, labels.class_names))  # fmt: skip
    own = {"matrices": matrices, "confusion": confusion, "difficulty": difficulty[:size],
           "objective": -float(optimum[1])}  # fmt: skip
    log_likelihood = float(np.logaddexp.reduce(joint, axis=1).sum())
    return Fit(share, softmax(joint, axis=1), log_likelihood, converged, steps, doubts, own)
