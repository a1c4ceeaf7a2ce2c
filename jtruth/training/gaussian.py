"""Generative Gaussian models on noisy labels: naive Bayes and linear discriminant analysis (Su 3.3, E.2).

Features of class c are normal with mean mu_c; in naive Bayes with variances of their own for each class and
feature, in LDA with one covariance matrix for all classes. The objective is that of `generative_ml`,

    J = -1/N sum_i log sum_c N(x_i; mu_c, .) p(z_i | c) pi(c)   ( - 1/N log p(theta) for MAP ),

a mixture whose responsibilities the labels inform, so EM climbs it with closed forms: a weighted mean, a
weighted spread. Ideal labels (0 and -inf) make the responsibilities certain, and one step is the usual fit.

The prior of MAP is on the spread, and is conjugate: `pseudo_count` samples of the spread `pseudo_spread`
(naive Bayes: an inverse gamma, LDA: an inverse Wishart, both with flat means). It keeps a class that few
samples support from collapsing onto one point, where the likelihood has no bound.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jtruth._arrays import as_array, from_here, is_concrete, safe_log
from jtruth._one_line import one_line
from jtruth._validation import choose, some
from jtruth.posterior import class_posterior, validate_prior
from jtruth.training._inputs import Stop, as_features, check_evidence, check_no_nan, check_not_negative
from jtruth.training.objectives import generative_map

Spread = Float[Array | np.ndarray, "classes features"] | Float[Array | np.ndarray, "features features"]


class Gaussians(NamedTuple):
    """theta: means, and variances (classes, features) or one covariance matrix (features, features)."""

    means: Float[Array | np.ndarray, "classes features"]
    spread: Spread

    __repr__ = one_line


class GaussianFit(NamedTuple):
    """What `fit_gaussians` found; `path[j]` is J after j steps; the last is repeated."""

    model: Gaussians
    prior: Float[Array, " classes"]
    objective: Float[Array, ""]
    responsibilities: Float[Array, "samples classes"]  # p(y_i = c | x_i, z_i)
    converged: Bool[Array, ""]
    num_steps: Int[Array, ""]
    path: Float[Array, " steps"]

    __repr__ = one_line


class SpreadPrior(NamedTuple):
    """Pseudo-samples of MAP training; none is maximum likelihood."""

    pseudo_count: Any = 0.0
    pseudo_spread: Any = 1.0  # their variance: a number, or (features,)


MAXIMUM_LIKELIHOOD = SpreadPrior()


def naive_bayes_log_densities(
    model: Gaussians, x: Float[Array | np.ndarray, "samples features"]
) -> Float[Array, "samples classes"]:
    """log p(x_i | c) = sum_d log N(x_id; means[c, d], spread[c, d]).

    Raises:
        ValueError: sizes that do not match, NaN, or a variance that is not positive.
    """
    _check_gaussians(model, x, np.shape(model.means), "variances")
    means, variances = jnp.asarray(model.means), jnp.asarray(model.spread)
    x = jnp.asarray(x, means.dtype)
    square = (x[:, None, :] - means[None]) ** 2 / variances[None]
    return -0.5 * (square + jnp.log(2 * jnp.pi * variances)[None]).sum(axis=2)


def lda_log_densities(
    model: Gaussians, x: Float[Array | np.ndarray, "samples features"]
) -> Float[Array, "samples classes"]:
    """log N(x_i; means[c], spread), by a Cholesky factor of the one covariance matrix.

    Raises:
        ValueError: sizes that do not match, NaN, or a matrix that is not positive definite.
    """
    _check_gaussians(model, x, np.shape(model.means)[1:] * 2, "covariances")
    means = jnp.asarray(model.means)
    x = jnp.asarray(x, means.dtype)
    factor = jnp.linalg.cholesky(jnp.asarray(model.spread))
    whiten = partial(jax.scipy.linalg.solve_triangular, factor, lower=True)
    apart = whiten(x.T).T[:, None, :] - whiten(means.T).T[None]
    constant = x.shape[1] * jnp.log(2 * jnp.pi) / 2 + jnp.log(jnp.diagonal(factor)).sum()
    return -0.5 * (apart**2).sum(axis=2) - constant.astype(x.dtype)


def naive_bayes_update(
    x: Float[Array, "samples features"], weights: Float[Array, "samples classes"], spread_prior: SpreadPrior
) -> Gaussians:
    """The M step of naive Bayes: weighted means, and variances about them with the pseudo-samples."""
    total = weights.sum(axis=0)[:, None]
    means = weights.T @ x / total
    squares = jax.vmap(lambda w, mean: w @ (x - mean[None]) ** 2, in_axes=(1, 0))(weights, means)
    count, spread = _pseudo(spread_prior, x)
    return Gaussians(means, (squares + (count * spread)[None]) / (total + count))


def lda_update(
    x: Float[Array, "samples features"], weights: Float[Array, "samples classes"], spread_prior: SpreadPrior
) -> Gaussians:
    """The M step of LDA: weighted means, and one covariance matrix about them."""
    means = weights.T @ x / weights.sum(axis=0)[:, None]
    squares = jax.vmap(lambda w, mean: (x - mean[None]).T @ (w[:, None] * (x - mean[None])), in_axes=(1, 0))
    count, spread = _pseudo(spread_prior, x)
    scatter = squares(weights, means).sum(axis=0) + jnp.diag(count * spread)
    return Gaussians(means, scatter / (weights.sum() + count))


def naive_bayes_log_prior(model: Gaussians, spread_prior: SpreadPrior) -> Float[Array, ""]:
    """log p(theta) up to a constant: every class has `pseudo_count` samples of that variance."""
    count, spread = _pseudo(spread_prior, model.means)
    variances = jnp.asarray(model.spread)
    return -0.5 * (count * (jnp.log(variances) + spread[None] / variances)).sum()


def lda_log_prior(model: Gaussians, spread_prior: SpreadPrior) -> Float[Array, ""]:
    """log p(theta) up to a constant: `pseudo_count` samples with a diagonal covariance matrix."""
    count, spread = _pseudo(spread_prior, model.means)
    covariance = jnp.asarray(model.spread)
    trace = (jnp.diagonal(jnp.linalg.inv(covariance)) * spread).sum()
    return -0.5 * count * (jnp.linalg.slogdet(covariance)[1] + trace)


class _Family(NamedTuple):
    log_densities: Callable
    update: Callable
    log_prior: Callable


FAMILIES = {
    "naive_bayes": _Family(naive_bayes_log_densities, naive_bayes_update, naive_bayes_log_prior),
    "lda": _Family(lda_log_densities, lda_update, lda_log_prior),
}


def gaussian_log_probabilities(
    model: Gaussians,
    x: Float[Array | np.ndarray, "samples features"],
    prior: Float[Array | np.ndarray, " classes"],
    *,
    family: str,
) -> Float[Array, "samples classes"]:
    """log p(y = c | x) of a fitted model: what it predicts for samples without labels.

    Raises:
        ValueError: an unknown family, a bad prior, or a model or x as in `lda_log_densities`.
    """
    choose("family", family, tuple(FAMILIES))
    if is_concrete(prior):
        validate_prior(prior, np.shape(model.means)[0])
    log_densities = FAMILIES[family].log_densities(model, x)
    prior = jnp.asarray(prior, log_densities.dtype)
    return jax.nn.log_softmax(log_densities + safe_log(prior)[None], axis=1)


def fit_gaussians(
    x: Any,
    log_likelihood: Float[Array | np.ndarray, "samples classes"],
    prior: Float[Array | np.ndarray, " classes"],
    *,
    family: str = "naive_bayes",
    spread_prior: SpreadPrior = MAXIMUM_LIKELIHOOD,
    learn_prior: bool = False,
    stop: Stop = Stop(),
) -> GaussianFit:
    """Generative training on noisy labels by EM, from the class posterior of the labels alone.

    Args:
        x: (samples, features), finite numbers.
        log_likelihood: (samples, classes), from a noise model.
        prior: (classes,), the class prior; with `learn_prior` only the start.
        family: "naive_bayes" or "lda".
        spread_prior: pseudo-samples of MAP; by default maximum likelihood.
        learn_prior: also estimate pi, by the mean responsibilities.
        stop: of EM; 0 steps are the fit to soft labels (one M step with the class posterior).

    Raises:
        ValueError: bad shapes or values, an unknown family, a negative pseudo-count, a class that no label
            supports.

    Example:
        >>> import numpy as np
        >>> from jtruth.training import fit_gaussians
        >>> x = np.array([[-2.2], [-2.0], [-1.5], [1.6], [2.0], [2.3]])
        >>> labels_say = np.log([[.8, .2]] * 2 + [[.4, .6]] + [[.2, .8]] * 3)
        >>> fit = fit_gaussians(x, labels_say, np.array([.5, .5]))
        >>> bool(fit.converged), np.asarray(fit.model.means, float).round(2).ravel().tolist()
        (True, [-1.9, 1.97])
    """
    choose("family", family, tuple(FAMILIES))
    x = as_features(x)
    check_evidence(x, log_likelihood, prior)
    max_steps, tol = stop.checked(x.dtype, least=0)
    for name, value in zip(spread_prior._fields, spread_prior, strict=True):
        check_not_negative(value, name)
    log_likelihood = as_array(log_likelihood).astype(x.dtype)
    prior = jnp.asarray(prior, x.dtype)
    weights = class_posterior(log_likelihood, prior)
    _check_supported(weights)
    return _em(x, log_likelihood, prior, weights, spread_prior, tol, (family, learn_prior, max_steps))


@partial(jax.jit, static_argnums=6)
def _em(x, log_likelihood, prior, weights, spread_prior, tol, options):
    """EM in one loop: M step, then E step and the objective at these parameters."""
    family, learn_prior, max_steps = options
    which = FAMILIES[family]

    def e_step(model, prior):
        log_densities = which.log_densities(model, x)
        density = which.log_prior(model, spread_prior)
        value = generative_map(log_densities, log_likelihood, prior, density)
        joint = log_densities + log_likelihood + safe_log(prior)[None]
        return jax.nn.softmax(joint, axis=1), value

    def m_step(weights, prior):
        return which.update(x, weights, spread_prior), weights.mean(axis=0) if learn_prior else prior

    def step(carry):
        _, prior, weights, path, count, _ = carry
        model, prior = m_step(weights, prior)
        new, value = e_step(model, prior)
        converged, weights = jnp.abs(new - weights).max() < tol, new
        return model, prior, weights, from_here(path, count + 1, value), count + 1, converged

    model, prior = m_step(weights, prior)
    responsibilities, value = e_step(model, prior)
    path = jnp.full(max_steps + 1, value)
    carry = model, prior, responsibilities, path, jnp.zeros((), jnp.int32), jnp.array(False)
    carry = jax.lax.while_loop(lambda c: ~c[5] & (c[4] < max_steps), step, carry)
    model, prior, responsibilities, path, count, converged = carry
    return GaussianFit(model, prior, path[count], responsibilities, converged, count, path)


def _check_supported(weights: Array) -> None:
    """Every class needs some weight: its mean is 0/0 otherwise."""
    if is_concrete(weights):
        empty = np.flatnonzero(np.asarray(weights).sum(axis=0) <= 0)
        if empty.size:
            raise ValueError(
                f"no label supports class {some(empty)}; its mean cannot be learned: leave it out"
            )


def _check_gaussians(model: Gaussians, x: Any, spread: tuple[int, ...], what: str) -> None:
    """Means (classes, features), a spread of the family's shape that is one, and features without NaN."""
    means, features = np.shape(model.means), np.shape(x)
    if len(means) != 2 or len(features) != 2 or means[1] != features[1] or np.shape(model.spread) != spread:
        raise ValueError(
            f"x has shape {features}, means {means}, {what} {np.shape(model.spread)}; they do not match"
        )
    for name, values in {"x": x, "means": model.means, what: model.spread}.items():
        check_no_nan(values, name)
    if is_concrete(model.spread):
        values = np.asarray(model.spread, np.float64)
        least = values.min() if what == "variances" else np.linalg.eigvalsh(values)[0]
        if not least > 0:
            raise ValueError(f"{what} must be positive (definite); the smallest is {least:g}")


def _pseudo(spread_prior: SpreadPrior, like: Any) -> tuple[Array, Array]:
    """The pseudo-count () and pseudo-spread (features,) as arrays of the dtype of `like`."""
    dtype, features = jnp.asarray(like).dtype, np.shape(like)[1]
    spread = jnp.asarray(spread_prior.pseudo_spread, dtype)
    return jnp.asarray(spread_prior.pseudo_count, dtype), jnp.broadcast_to(spread, (features,))
