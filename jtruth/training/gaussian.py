"""Generative Gaussian models on noisy labels: naive Bayes and linear discriminant analysis (Su 3.3, E.2).

Features of class c are normal with mean mu_c; in naive Bayes with variances of their own for each class and
feature, in LDA with one covariance matrix for all classes. The objective is that of `generative_ml`,

    J = -1/N sum_i log sum_c N(x_i; mu_c, .) p(z_i | c) pi(c)   ( - 1/N log p(theta) for MAP ),

a mixture whose responsibilities the labels inform, so EM climbs it with closed forms; of ideal labels (0 and
-inf) one step is the usual fit. The prior of MAP is conjugate: `pseudo_count` samples of the spread
`pseudo_spread` (naive Bayes: an inverse gamma, LDA: an inverse Wishart, both with flat means), which keep a
class of few samples from collapsing onto one point, where the likelihood has no bound.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jtruth._arrays import as_array, is_concrete, safe_log
from jtruth._iterate import climb, inside_simplex
from jtruth._one_line import one_line
from jtruth._validation import choose, some
from jtruth._validation.in_range import check_no_nan, check_not_negative
from jtruth.posterior import class_posterior, validate_prior
from jtruth.training._inputs import EMFit, Stop, as_features, check_evidence
from jtruth.training.objectives import generative_ml

Spread = Float[Array | np.ndarray, "classes features"] | Float[Array | np.ndarray, "features features"]
Pseudo = tuple[Any, Any]  # number of the pseudo-samples of MAP, and their variance


class Gaussians(NamedTuple):
    """theta: means, and variances (classes, features) or one covariance matrix (features, features)."""

    means: Float[Array | np.ndarray, "classes features"]
    spread: Spread

    __repr__ = one_line


FAMILIES = ("naive_bayes", "lda")


def log_densities(
    model: Gaussians, x: Float[Array | np.ndarray, "samples features"], family: str
) -> Float[Array, "samples classes"]:
    """log N(x_i; means[c], spread of class c), of LDA by a Cholesky factor of its one covariance matrix.

    Raises:
        ValueError: sizes that do not match, NaN, or a spread that is not positive (definite).
    """
    _check_gaussians(model, x, family)
    means, spread = jnp.asarray(model.means), jnp.asarray(model.spread)
    x = jnp.asarray(x, means.dtype)
    if family == "naive_bayes":
        sd = jnp.sqrt(spread)
        apart, log_volume = (x[:, None, :] - means[None]) / sd[None], jnp.log(sd).sum(axis=1)[None]
    else:
        factor = jnp.linalg.cholesky(spread)
        whiten = partial(jax.scipy.linalg.solve_triangular, factor, lower=True)
        apart = whiten(x.T).T[:, None, :] - whiten(means.T).T[None]
        log_volume = jnp.log(jnp.diagonal(factor)).sum()
    constant = x.shape[1] * np.log(2 * np.pi) / 2
    return -0.5 * (apart**2).sum(axis=2) - log_volume - constant


def update(
    x: Float[Array, "samples features"], weights: Float[Array, "samples classes"], pseudo: Pseudo, family: str
) -> Gaussians:
    """The M step: weighted means, and the spread about them with the pseudo-samples."""
    total, (count, spread) = weights.sum(axis=0), _pseudo(pseudo, x)
    means = weights.T @ x / total[:, None]
    if family == "naive_bayes":
        squares = jax.vmap(lambda w, mean: w @ (x - mean[None]) ** 2, in_axes=(1, 0))(weights, means)
        return Gaussians(means, (squares + (count * spread)[None]) / (total[:, None] + count))
    squares = jax.vmap(lambda w, mean: (x - mean[None]).T @ (w[:, None] * (x - mean[None])), in_axes=(1, 0))
    scatter = squares(weights, means).sum(axis=0) + jnp.diag(count * spread)
    return Gaussians(means, scatter / (total.sum() + count))


def log_prior(model: Gaussians, pseudo: Pseudo, family: str) -> Float[Array, ""]:
    """log p(theta) up to a constant: that of the pseudo-samples, for every class or for the one matrix."""
    (count, spread), own = _pseudo(pseudo, model.means), jnp.asarray(model.spread)
    if family == "naive_bayes":
        return -0.5 * (count * (jnp.log(own) + spread[None] / own)).sum()
    trace = (jnp.diagonal(jnp.linalg.inv(own)) * spread).sum()
    return -0.5 * count * (jnp.linalg.slogdet(own)[1] + trace)


def gaussian_log_probabilities(
    model: Gaussians,
    x: Float[Array | np.ndarray, "samples features"],
    prior: Float[Array | np.ndarray, " classes"],
    *,
    family: str,
) -> Float[Array, "samples classes"]:
    """log p(y = c | x) of a fitted model: what it predicts for samples without labels.

    Raises:
        ValueError: an unknown family, a bad prior, or a model or x as in `log_densities`.
    """
    choose("family", family, FAMILIES)
    if is_concrete(prior):
        validate_prior(prior, np.shape(model.means)[0])
    density = log_densities(model, x, family)
    return jax.nn.log_softmax(density + safe_log(jnp.asarray(prior, density.dtype))[None], axis=1)


def fit_gaussians(
    x: Any,
    log_likelihood: Float[Array | np.ndarray, "samples classes"],
    prior: Float[Array | np.ndarray, " classes"],
    *,
    family: str = "naive_bayes",
    pseudo_count: Any = 0.0,
    pseudo_spread: Any = 1.0,
    learn_prior: bool = False,
    stop: Stop = Stop(),
) -> EMFit:
    """Generative training on noisy labels by EM, from the class posterior of the labels alone.

    Args:
        x: (samples, features), finite numbers.
        log_likelihood: (samples, classes), from a noise model.
        prior: (classes,), the class prior; with `learn_prior` only the start.
        family: "naive_bayes" or "lda".
        pseudo_count: pseudo-samples of MAP; none is maximum likelihood.
        pseudo_spread: their variance: a number, or (features,).
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
    choose("family", family, FAMILIES)
    x = as_features(x)
    check_evidence(x, log_likelihood, prior)
    max_steps, tol = stop.checked(x.dtype, least=0)
    check_not_negative(pseudo_count, "pseudo_count")
    check_not_negative(pseudo_spread, "pseudo_spread")
    log_likelihood = as_array(log_likelihood).astype(x.dtype)
    prior = jnp.asarray(prior, x.dtype)
    weights = class_posterior(log_likelihood, prior)
    if is_concrete(weights):  # a mean of no weight is 0/0
        empty = np.flatnonzero(np.asarray(weights).sum(axis=0) <= 0)
        if empty.size:
            why = "its mean cannot be learned: leave it out"
            raise ValueError(f"no label supports class {some(empty)}; {why}")
    pseudo = pseudo_count, pseudo_spread
    return _em(x, log_likelihood, prior, weights, pseudo, tol, (family, learn_prior, max_steps))


@partial(jax.jit, static_argnums=6)
def _em(x, log_likelihood, prior, weights, pseudo, tol, options):
    """EM from responsibilities: M step, then E step and the objective at these parameters."""
    family, learn_prior, max_steps = options

    def e_step(model, prior):
        density = log_densities(model, x, family)
        value = generative_ml(density, log_likelihood, prior) - log_prior(model, pseudo, family) / x.shape[0]
        joint = density + log_likelihood + safe_log(prior)[None]
        return jax.nn.softmax(joint, axis=1), value

    def improve(weights, _):
        model = update(x, weights, pseudo, family), weights.mean(axis=0) if learn_prior else prior
        new, value = e_step(*model)
        return -value, new, model

    end = climb(
        improve, weights, inside_simplex, max_steps=max_steps, tol=tol, plain_steps=max_steps + 1, terms=1.0
    )
    model, found = end.kept
    return EMFit(model, end.mapped, -end.objective, end.converged, end.num_steps, -end.path, prior=found)


def _check_gaussians(model: Gaussians, x: Any, family: str) -> None:
    """Means (classes, features), a spread of the family's shape that is one, and features without NaN."""
    means, features = np.shape(model.means), np.shape(x)
    what, wanted = ("variances", means) if family == "naive_bayes" else ("covariances", means[1:] * 2)
    if len(means) != 2 or len(features) != 2 or means[1] != features[1] or np.shape(model.spread) != wanted:
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


def _pseudo(pseudo: Pseudo, like: Any) -> tuple[Array, Array]:
    """The pseudo-count () and pseudo-spread (features,) as arrays of the dtype of `like`."""
    dtype, features = jnp.asarray(like).dtype, np.shape(like)[1]
    return jnp.asarray(pseudo[0], dtype), jnp.broadcast_to(jnp.asarray(pseudo[1], dtype), (features,))
