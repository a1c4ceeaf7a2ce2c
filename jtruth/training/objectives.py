"""Objectives for noisy labels: the rows of Table 9 of Su (2023), and the losses they use.

*Losses* turn the outputs of a model into an array (samples, classes) whose entry [i, c] is the loss of sample
i if its correct class were c: L(s, y) of Su (33) for all y at once. Outputs are one *score* for each sample,
the log-odds of class 1 (`logistic`, `hinge`, `squared_hinge`), or *logits* (samples, classes)
(`cross_entropy`, `brier`). For certain labels they are the losses of the same names in optax.

*Objectives* are the primary term of (28), from the model's outputs and the labels' `log_likelihood`
log p(z_i | y_i = c) or class posterior p(y_i = c | z_i).

    discriminative ML     -1/N sum_i log sum_c p(z_i | c) p(c | x_i)               (31)-(32)
    generative ML         -1/N sum_i log sum_c p(x_i | c) p(z_i | c) pi(c)         Appendix E.2
    MAP                    either of them - 1/N log p(theta)                       Appendix E.1, E.3
    MMSE                   1/N sum_i sum_c p(c | z_i) L(s_i, c)                    (40)

(32) does not use the class prior; (40) does, through the class posterior. (40) is as convex as its loss; (32)
is not: use several starts. (40) is unbiased on average over classes drawn from the prior, not given the
features: weak labels pull its fit from p(c | x) towards the prior, so thresholds suffer before the order of
the samples does. For a probabilistic model (32) is the better of the two. The gradient (50) is `jax.grad` of
`mmse_risk`.

`where` (samples,) masks samples, for padding: they count neither in the sum nor in N, and no gradient flows
to them (pad features with zeros: a model's own backward pass turns NaN into NaN times 0). An empty mean is 0.
Pure JAX, of the dtype given.

A *batch objective* is a function `objective(outputs, evidence, where=mask)` of the model's outputs and of the
rows of the evidence, for `fit` or a loop of your own: `mmse(loss)` of `class_posterior(log_likelihood,
prior)`, `ml()` of `log_likelihood`. Makers are cached, so that compiled programs are reused.

The *area under the ROC curve* selects a model without correct labels. Let rho_i = p(y_i = 1 | z_i) and r_i
the rank of sample i's score. If scores and labels are independent given the class, and the noise model is
right, ranks regress on rho with slope N (AUC - 1/2), because the mean of rho differs between the classes by
var(rho) / (pi (1 - pi)):

    AUC = 1/2 + cov(rho, r) / (N var(rho)).

With certain labels this is the Mann-Whitney statistic; with uncertain ones it is unbiased and may leave [0,
1]. `estimated_auc` is the nearest number in [0, 1]; `negative_auc`, for model selection, is not clipped.
`jtruth.testing` has the area with its uncertainty.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jtruth._arrays import AnyArray, is_concrete, safe_log
from jtruth._validation import choose
from jtruth._validation.in_range import check_codes, check_no_nan, check_shape
from jtruth.noise.base import log_total
from jtruth.training._inputs import check_outputs, check_per_class, check_posterior

Scores = Float[Array, " samples"]
Logits = Float[Array, "samples classes"]
Outputs = Scores | Logits
ClassLosses = Float[Array, "samples classes"]


def log_probabilities(outputs: Outputs) -> ClassLosses:
    """log p(y_i = c | x_i; theta) from scores (a sigmoid, App. F) or logits (a softmax)."""
    check_outputs(outputs)
    outputs = jnp.asarray(outputs)
    if outputs.ndim == 1:
        return _log_sigmoid(jnp.stack([-outputs, outputs], axis=1))
    return jax.nn.log_softmax(outputs, axis=1)


@jax.custom_jvp
def _log_sigmoid(scores: Array) -> Array:
    return jax.nn.log_sigmoid(scores)


@_log_sigmoid.defjvp
def _slope_of_log_sigmoid(primals, tangents):
    # JAX's own rule costs a logarithm and four exponentials.
    (scores,), (moves,) = primals, tangents
    return _log_sigmoid(scores), jax.nn.sigmoid(-scores) * moves


def logistic(scores: Scores) -> ClassLosses:
    """log(1 + exp(s)) if the class is 0, log(1 + exp(-s)) if it is 1; the loss of Su F.2."""
    check_outputs(scores, (1,))
    return -log_probabilities(scores)


def hinge(scores: Scores) -> ClassLosses:
    """max(0, 1 + s) if the class is 0, max(0, 1 - s) if it is 1: the support vector machine."""
    return jax.nn.relu(1 - _signed(scores))


def rounded_hinge(scores: Scores, width: float) -> ClassLosses:
    """The hinge with its kink replaced by a parabola of this width; lower by at most width / 2."""
    gap = 1 - _signed(scores)
    inside = jnp.clip(gap, 0, width)
    return inside * (gap - inside / 2) / width


def squared_hinge(scores: Scores) -> ClassLosses:
    """The square of `hinge`, which is smooth."""
    return hinge(scores) ** 2


def cross_entropy(logits: Logits) -> ClassLosses:
    """-log p(y_i = c | x_i) of a softmax."""
    check_outputs(logits, (2,))
    return -log_probabilities(logits)


def brier(logits: Logits) -> ClassLosses:
    """sum_k (p_k - [k = c])^2 of a softmax, a bounded proper score between 0 and 2 (Su 3.4.5)."""
    check_outputs(logits, (2,))
    p = jax.nn.softmax(jnp.asarray(logits), axis=1)
    return (p**2).sum(axis=1, keepdims=True) - 2 * p + 1


def _signed(scores: Scores) -> ClassLosses:
    """The margin y s with y = -1 for class 0 and +1 for class 1."""
    check_outputs(scores, (1,))
    scores = jnp.asarray(scores)
    return jnp.stack([-scores, scores], axis=1)


LOSSES: dict[str, Callable[[Array], Array]] = {
    f.__name__: f for f in (logistic, hinge, squared_hinge, cross_entropy, brier)
}
BINARY_LOSSES = ("logistic", "hinge", "squared_hinge")  # take scores (samples,); the others take logits

Rows = Float[AnyArray, "samples classes"]
Prior = Float[AnyArray, " classes"]
Mask = Bool[AnyArray, " samples"] | None
Scalar = Float[Array, ""]


def discriminative_ml(log_probabilities: Rows, log_likelihood: Rows, *, where: Mask = None) -> Scalar:
    """Su (32): -1/N sum_i log sum_c p(z_i | c) p(c | x_i; theta).

    Args:
        log_probabilities: (samples, classes), log p(y_i = c | x_i; theta), as of the function of this name.
        log_likelihood: (samples, classes), from a noise model; 0 and -inf for a known class (30).
        where: (samples,), False for padding.

    >>> import jax.numpy as jnp
    >>> from jtruth.training import discriminative_ml, log_probabilities
    >>> log_p = log_probabilities(jnp.array([0.0, 2.0]))
    >>> print(f"{discriminative_ml(log_p, jnp.log(jnp.array([[.9, .2], [.1, .8]]))):.4f}")
    0.4656
    """
    check_per_class({"log_probabilities": log_probabilities, "log_likelihood": log_likelihood}, where=where)
    log_probabilities, log_likelihood = _same_dtype(log_probabilities, log_likelihood)
    return _mean(-_log_sum(log_probabilities + log_likelihood, where), where)


def generative_ml(log_densities: Rows, log_likelihood: Rows, prior: Prior, *, where: Mask = None) -> Scalar:
    """Su E.2: -1/N sum_i log sum_c p(x_i | c; theta) p(z_i | c) pi(c).

    `log_densities` are log p(x_i | y_i = c; theta), the rest as for `discriminative_ml`; `prior` is pi.
    """
    rows = {"log_densities": log_densities, "log_likelihood": log_likelihood}
    prior = check_per_class(rows, prior=prior, where=where)
    log_densities, log_likelihood, prior = _same_dtype(log_densities, log_likelihood, prior)
    return _mean(-_log_sum(log_densities + log_likelihood + safe_log(prior)[None, :], where), where)


def mmse_risk(losses: Rows, posterior: Rows, *, where: Mask = None) -> Scalar:
    """Su (40): the MMSE estimate of the empirical risk, 1/N sum_i sum_c p(c | z_i) L(s_i, c).

    Args:
        losses: (samples, classes), the loss of every sample under every class.
        posterior: (samples, classes), p(y_i = c | z_i) (41); of one-hot rows this is the empirical risk (33).
        where: (samples,), False for padding.
    """
    losses, posterior = _checked_losses(losses, posterior, where)
    return _mean(_weighted(losses, posterior, where), where)


def risk_variance(losses: Rows, posterior: Rows, *, where: Mask = None) -> Scalar:
    """Variance of the empirical risk given the labels, the mean squared error of `mmse_risk` on these data.

    1/N^2 sum_i var(L(s_i, Y_i) | z_i): the risk of the true classes is nearly normal around (40) with this
    variance, an unbiased estimate of (47). Arguments and errors of `mmse_risk`. Source: Su 3.4.2, (47) and
    the equation after it.

    >>> print(risk_variance(jnp.array([[0., 1.], [0., 2.]]), jnp.array([[.5, .5], [1., 0.]])))
    0.0625
    """
    losses, posterior = _checked_losses(losses, posterior, where)
    spread = _loss_variances(losses, posterior, where)
    return _mean(spread, where) / _count(spread, where)


def _checked_losses(losses: Rows, posterior: Rows, where: Mask) -> tuple[Array, ...]:
    """Both as arrays of one dtype; ValueError for invalid shapes, rows or losses."""
    samples, classes = check_shape(losses, "losses", "samples classes")
    check_shape(posterior, "posterior", "samples classes", samples=samples, classes=classes)
    check_posterior(posterior, where)
    losses, posterior = _same_dtype(losses, posterior)
    if is_concrete((losses, posterior, where)):
        used = np.asarray(_possible(posterior, where))
        check_no_nan(np.where(used, np.asarray(losses), 0), "losses")
    return losses, posterior


def _possible(posterior: Array, where: Mask) -> Bool[Array, "samples classes"]:
    return posterior > 0 if where is None else (posterior > 0) & jnp.asarray(where)[:, None]


@jax.jit
def _weighted(losses: Array, posterior: Array, where: Mask = None) -> Float[Array, " samples"]:
    """Su (43): the estimate of every sample's loss; a class of probability 0 may have any loss."""
    possible = _possible(posterior, where)
    return jnp.where(possible, posterior * jnp.where(possible, losses, 0), 0).sum(axis=1)


@jax.jit
def _loss_variances(losses: Array, posterior: Array, where: Mask) -> Float[Array, " samples"]:
    """var(L(s_i, Y_i) | z_i), as squares around the mean (43), which do not cancel."""
    losses = jnp.where(_possible(posterior, where), losses, 0)
    return _weighted((losses - _weighted(losses, posterior, where)[:, None]) ** 2, posterior, where)


def empirical_risk(losses: Rows, y: Int[AnyArray, " samples"], *, where: Mask = None) -> Scalar:
    """Su (33): 1/N sum_i L(s_i, y_i), for known classes y."""
    check_per_class({"losses": losses}, where=where)
    check_codes(y, np.shape(losses)[1], "y", size=np.shape(losses)[0])
    losses = jnp.asarray(losses)
    return _mean(jnp.take_along_axis(losses, jnp.asarray(y, jnp.int32)[:, None], axis=1)[:, 0], where)


@jax.jit
def _log_sum(joint: Rows, where: Mask) -> Float[Array, " samples"]:
    """log sum_c exp(joint[i, c]) of the samples that count."""
    joint = jnp.asarray(joint)
    if where is not None:
        joint = jnp.where(jnp.asarray(where)[:, None], joint, -jnp.inf)
    return log_total(joint, axis=1)


@jax.jit
def _mean(values: Float[Array, " samples"], where: Mask) -> Scalar:
    """Mean of the samples that count; 0 if there are none."""
    if where is None:
        return values.mean()
    return jnp.where(jnp.asarray(where), values, 0).sum() / _count(values, where)


def _count(values: Float[Array, " samples"], where: Mask) -> Any:
    """Number of samples that count, at least 1."""
    return values.size if where is None else jnp.maximum(jnp.asarray(where).sum(), 1).astype(values.dtype)


def _same_dtype(first, *others) -> tuple[Array, ...]:
    """Arrays of the dtype of the first, which is the model's."""
    first = jnp.asarray(first)
    return (first, *(jnp.asarray(x, first.dtype) for x in others))


BatchObjective = Callable[..., Array]  # (outputs, evidence, *, where) -> scalar


def checked(objective: BatchObjective, check: Callable[[Any], None]) -> BatchObjective:
    """Attach the check of all evidence that `fit` runs once, before compiling."""
    objective.__dict__["check"] = check
    return objective


@cache
def mmse(loss: str = "cross_entropy") -> BatchObjective:
    """(40) of a loss in `LOSSES`; the evidence is the class posterior."""
    choose("loss", loss, tuple(LOSSES))

    def objective(outputs, evidence, *, where=None):
        return mmse_risk(LOSSES[loss](outputs), evidence, where=where)

    return checked(objective, check_posterior)


@cache
def ml() -> BatchObjective:
    """(32) of scores or logits; the evidence is the `log_likelihood` of the labels."""

    def objective(outputs, evidence, *, where=None):
        return discriminative_ml(log_probabilities(outputs), evidence, where=where)

    return checked(objective, lambda evidence: check_per_class({"evidence": evidence}))


def estimated_auc(outputs: Outputs, posterior: Rows, *, where: Mask = None) -> Float[Array, ""]:
    """Area under the ROC curve of class 1 against class 0, from scores and class posteriors, in [0, 1].

    Args:
        outputs: scores (samples,), or logits (samples, 2), whose difference is taken. Ties count half.
        posterior: (samples, 2), p(y_i = c | z_i). NaN if it is the same for all samples.
        where: (samples,), False for padding.
    """
    return jnp.clip(_unbiased_auc(outputs, posterior, where=where), 0.0, 1.0)


def _unbiased_auc(outputs: Outputs, posterior: Rows, *, where: Mask = None) -> Float[Array, ""]:
    """The formula of the module docstring, which may leave [0, 1]; arguments of `estimated_auc`."""
    check_posterior(posterior, where)
    if where is None:
        check_outputs(outputs)
    if np.shape(posterior) != (*np.shape(outputs)[:1], 2) or np.shape(outputs)[1:] not in ((), (2,)):
        raise ValueError(
            f"outputs have shape {np.shape(outputs)}, posterior {np.shape(posterior)}; the area is for two "
            "classes: outputs (samples,) or (samples, 2), posterior (samples, 2)"
        )
    outputs = jnp.asarray(outputs)
    scores = outputs if outputs.ndim == 1 else outputs[:, 1] - outputs[:, 0]
    rho = jnp.asarray(posterior, scores.dtype)[:, 1]
    used = jnp.ones(scores.shape, bool) if where is None else jnp.asarray(where)
    ordered = jnp.sort(jnp.where(used, scores, jnp.inf))
    below, upto = (jnp.searchsorted(ordered, scores, side=side) for side in ("left", "right"))
    count = used.sum().astype(scores.dtype)
    weight = used.astype(scores.dtype) / count
    rank = (below + upto).astype(scores.dtype) / 2
    apart = rho - (weight * rho).sum()
    slope = (weight * apart * rank).sum() / (weight * apart**2).sum()
    return 0.5 + slope / count


def negative_auc(outputs: Outputs, evidence: Rows, *, where: Mask = None) -> Float[Array, ""]:
    """Minus the unbiased estimate, as a `judge` of `fit`: lower is better."""
    return -_unbiased_auc(outputs, evidence, where=where)
