"""Models learned by EM: Gaussians, logistic regression with its labelers, and any model with its labelers.

*Generative Gaussian models*: naive Bayes and linear discriminant analysis (Su 3.3, E.2). Features of class c
are normal with mean mu_c, in naive Bayes with a variance for each class and feature, in LDA with one
covariance matrix. The objective is that of `generative_ml`,

    J = -1/N sum_i log sum_c N(x_i; mu_c, .) p(z_i | c) pi(c)   ( - 1/N log p(theta) for MAP ),

a mixture whose responsibilities the labels inform, so EM has closed forms; with ideal labels (0 and -inf) one
step is the usual fit. The prior of MAP is conjugate: `pseudo_count` samples of the spread `pseudo_spread`
(naive Bayes: an inverse gamma, LDA: an inverse Wishart, both with flat means), which keep a small class from
collapsing onto one point, where the likelihood is unbounded.

*Raykar et al. (2010)*: a logistic regression and the labelers together (Su 3.2, 3.6). The likelihood is (31)
with the labelers' confusion matrices unknown:

    J = -1/N (sum_i log sum_c p(c | x_i; theta) prod_t psi_t[c, z_it] + log p(psi)) + lambda/(2N) |theta|^2

    E:  rho_i[c]     proportional to  p(c | x_i; theta) * the product of psi_t[c, z_it]
    M:  psi_t[c, k]  proportional to  the sum of rho_i[c] over labels k of labeler t, plus a pseudo-count
        theta        minimises the MMSE risk (40) of the logistic loss with rho for the class posterior

For two classes psi is sensitivity and specificity, and the model has one score; for more it is a softmax. J
never increases. The start is the vote shares. Labels of different labelers must be independent given the
class.

*MBEM of Khetan et al. (2018)*: labelers and any model from each other (Su 3.2, 3.4.1). In each round the
model is trained on the class posterior of the labels by (40), its predictions serve as correct classes to
count the errors of the labelers, and a new class posterior follows. One label for each sample is enough. A
model that repeats the labels misleads it: hold samples out, or stop early. Hard decisions feed back: with
poor labels a slight excess of one class becomes the prior of the next round, until every sample is of that
class. A fixed `prior` prevents it, and few rounds limit it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jtruth._arrays import AnyArray, as_array, is_concrete, safe_log
from jtruth._iterate import climb, inside_simplex, normalised
from jtruth._one_line import one_line
from jtruth._validation import choose, some
from jtruth._validation.in_range import check_codes, check_no_nan, check_not_negative, check_whole
from jtruth.labels import Labels
from jtruth.noise import ConfusionMatrices
from jtruth.posterior import class_posterior, validate_prior
from jtruth.training._inputs import ModelFit, Stop, as_features, as_labels, check_evidence, check_matrices
from jtruth.training.corrections import vote_shares
from jtruth.training.linear import Linear, check_options, l2, linear_outputs, solve_linear, zero_start
from jtruth.training.objectives import discriminative_ml, generative_ml, log_probabilities


def _climbed(improve: Callable, rho: Any, steps: int, tol: Any, first: Any = None) -> tuple[Any, ModelFit]:
    """EM by plain steps from responsibilities: the parameters at the end, and the rest of the fit."""
    end = climb(
        improve, rho, inside_simplex, max_steps=steps, tol=tol, plain_steps=steps + 1, terms=1.0, kept=first
    )
    return end.kept, ModelFit(
        None, -end.objective, end.converged, end.num_steps, class_posterior=end.mapped, path=-end.path
    )


Spread = Float[AnyArray, "classes features"] | Float[AnyArray, "features features"]
Pseudo = tuple[Any, Any]  # number of the pseudo-samples of MAP, and their variance (features,)
Features = Float[AnyArray, "samples features"]
Rows = Float[Array, "samples classes"]


class Gaussians(NamedTuple):
    """theta: means, and variances (classes, features) or one covariance matrix (features, features)."""

    means: Float[AnyArray, "classes features"]
    spread: Spread

    __repr__ = one_line


FAMILIES = ("naive_bayes", "lda")


def log_densities(model: Gaussians, x: Features, family: str) -> Rows:
    """log N(x_i; means[c], spread of class c); LDA by a Cholesky factor."""
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


def update(x: Features, weights: Rows, pseudo: Pseudo, family: str) -> Gaussians:
    """The M step: weighted means, and the spread about them with the pseudo-samples."""
    total, (count, spread) = weights.sum(axis=0), pseudo
    means = weights.T @ x / total[:, None]
    if family == "naive_bayes":
        squares = jax.vmap(lambda w, mean: w @ (x - mean[None]) ** 2, in_axes=(1, 0))(weights, means)
        return Gaussians(means, (squares + (count * spread)[None]) / (total[:, None] + count))
    squares = jax.vmap(lambda w, mean: (x - mean[None]).T @ (w[:, None] * (x - mean[None])), in_axes=(1, 0))
    scatter = squares(weights, means).sum(axis=0) + jnp.diag(count * spread)
    return Gaussians(means, scatter / (total.sum() + count))


def log_prior(model: Gaussians, pseudo: Pseudo, family: str) -> Float[Array, ""]:
    """log p(theta) up to a constant: the conjugate prior of the pseudo-samples."""
    (count, spread), spread_of_model = pseudo, jnp.asarray(model.spread)
    if family == "naive_bayes":
        return -0.5 * (count * (jnp.log(spread_of_model) + spread[None] / spread_of_model)).sum()
    trace = (jnp.diagonal(jnp.linalg.inv(spread_of_model)) * spread).sum()
    return -0.5 * count * (jnp.linalg.slogdet(spread_of_model)[1] + trace)


def gaussian_log_probabilities(
    model: Gaussians, x: Features, prior: Float[AnyArray, " classes"], *, family: str
) -> Rows:
    """log p(y = c | x) of a fitted model, for samples without labels.

    Raises:
        ValueError: an unknown family, a bad prior, sizes that do not match, NaN, or an invalid spread.
    """
    choose("family", family, FAMILIES)
    if is_concrete(prior):
        prior = validate_prior(prior, np.shape(model.means)[0])
    density = log_densities(model, x, family)
    return jax.nn.log_softmax(density + safe_log(jnp.asarray(prior, density.dtype))[None], axis=1)


def fit_gaussians(
    x: Any,
    log_likelihood: Float[AnyArray, "samples classes"],
    prior: Float[AnyArray, " classes"],
    *,
    family: str = "naive_bayes",
    pseudo_count: Any = 0.0,
    pseudo_spread: Any = 1.0,
    learn_prior: bool = False,
    stop: Stop = Stop(),
) -> ModelFit:
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
        ValueError: bad shapes or values, an unknown family, a negative pseudo-count, a class without labels.

    >>> import numpy as np
    >>> from jtruth.training import fit_gaussians
    >>> x = np.array([[-2.2], [-2.0], [-1.5], [1.6], [2.0], [2.3]])
    >>> log_likelihood = np.log([[.8, .2]] * 2 + [[.4, .6]] + [[.2, .8]] * 3)
    >>> fit = fit_gaussians(x, log_likelihood, np.array([.5, .5]))
    >>> bool(fit.converged), np.asarray(fit.model.means, float).round(2).ravel().tolist()
    (True, [-1.9, 1.97])
    """
    choose("family", family, FAMILIES)
    x = as_features(x)
    prior = check_evidence(x, log_likelihood, prior)
    max_steps, tol = stop.checked(x.dtype, least=0)
    check_not_negative(pseudo_count, "pseudo_count")
    check_not_negative(pseudo_spread, "pseudo_spread")
    log_likelihood = as_array(log_likelihood).astype(x.dtype)
    prior = jnp.asarray(prior, x.dtype)
    weights = class_posterior(log_likelihood, prior)
    if is_concrete(weights):
        empty = np.flatnonzero(np.asarray(weights).sum(axis=0) <= 0)
        if empty.size:
            why = "its mean cannot be learned: leave it out"
            raise ValueError(f"class {some(empty)} has no label; {why}")
    spread = jnp.broadcast_to(jnp.asarray(pseudo_spread, x.dtype), x.shape[1:])
    pseudo = jnp.asarray(pseudo_count, x.dtype), spread
    return _gaussian_em(x, log_likelihood, prior, weights, pseudo, tol, (family, learn_prior, max_steps))


@partial(jax.jit, static_argnums=6)
def _gaussian_em(x, log_likelihood, prior, weights, pseudo, tol, options) -> ModelFit:
    family, learn_prior, max_steps = options

    def improve(weights, _):
        model, pi = update(x, weights, pseudo, family), weights.mean(axis=0) if learn_prior else prior
        density = log_densities(model, x, family)
        value = generative_ml(density, log_likelihood, pi) - log_prior(model, pseudo, family) / x.shape[0]
        return -value, jax.nn.softmax(density + log_likelihood + safe_log(pi)[None], axis=1), (model, pi)

    (model, prior_learned), fit = _climbed(improve, weights, max_steps, tol)
    return fit._replace(model=model, prior=prior_learned)


def _check_gaussians(model: Gaussians, x: Any, family: str) -> None:
    """Check means (classes, features), a spread of the family's shape, and features without NaN."""
    means, features = np.shape(model.means), np.shape(x)
    spread, wanted = ("variances", means) if family == "naive_bayes" else ("covariances", means[1:] * 2)
    if len(means) != 2 or len(features) != 2 or means[1] != features[1] or np.shape(model.spread) != wanted:
        raise ValueError(
            f"x has shape {features}, means {means}, {spread} {np.shape(model.spread)}; they do not match"
        )
    for name, values in {"x": x, "means": model.means, spread: model.spread}.items():
        check_no_nan(values, name)
    if is_concrete(model.spread):
        values = np.asarray(model.spread, np.float64)
        smallest = values.min() if spread == "variances" else np.linalg.eigvalsh(values)[0]
        if not smallest > 0:
            raise ValueError(f"{spread} must be positive (definite); the smallest is {smallest:g}")


def _check_numbers(regularisation: Any, pseudo_counts: Any) -> None:
    """Check lambda, and the two pseudo-counts: of the diagonal, and of every other entry."""
    check_not_negative(regularisation, "regularisation")
    if np.shape(pseudo_counts) != (2,):
        raise ValueError(f"pseudo_counts must be two numbers, (diagonal, other); got {pseudo_counts!r}")
    check_not_negative(pseudo_counts, "pseudo_counts")


def counted_matrices(
    labels: Labels, weights: Rows, pseudo_counts: Float[Array, " 2"]
) -> Float[Array, "labelers classes classes"]:
    """Expected counts of (true, label) plus pseudo-counts (diagonal, other), as rows that sum to 1."""
    classes = labels.num_classes
    label = jnp.asarray(labels.label)
    of_label = jnp.where((label >= 0)[:, None], weights[jnp.asarray(labels.sample)], 0)
    counts = jnp.zeros((labels.num_labelers, classes, classes), weights.dtype)
    counts = counts.at[jnp.asarray(labels.labeler), jnp.maximum(label, 0)].add(of_label).swapaxes(1, 2)
    return normalised(counts + pseudo_matrix(classes, pseudo_counts)[None])


def pseudo_matrix(num_classes: int, pseudo_counts: Float[Array, " 2"]) -> Array:
    """(classes, classes): the first number on the diagonal, the second elsewhere."""
    right = jnp.eye(num_classes, dtype=bool)
    return jnp.where(right, pseudo_counts[0], pseudo_counts[1])


_STOP = Stop(max_steps=200)


def fit_raykar(
    x: Any,
    labels: Labels,
    *,
    regularisation: float = 1.0,
    pseudo_counts: tuple[float, float] = (0.0, 0.0),
    stop: Stop = _STOP,
) -> ModelFit:
    """Train logistic (2 classes) or softmax regression and estimate every labeler's confusion matrix.

    Args:
        x: (samples, features), finite numbers.
        labels: any number of labelers and labels.
        regularisation: lambda >= 0, on the weights and not on the intercepts.
        pseudo_counts: added to the diagonal and to the other entries of every matrix (0: likelihood).
        stop: of EM.

    Raises:
        ValueError: bad features, or another number of samples than the labels have.

    >>> import numpy as np
    >>> from jtruth.labels import Labels
    >>> from jtruth.training import fit_raykar
    >>> x = np.array([[-2.], [-1.5], [-1.], [1.], [1.5], [2.]])
    >>> z = np.array([[0, 0], [0, 1], [0, 0], [1, 1], [1, 0], [1, 1]])  # the second one errs
    >>> fit = fit_raykar(x, Labels.from_matrix(z, 2), regularisation=.1)
    >>> bool(fit.converged), np.asarray(fit.matrices[:, 1, 1], float).round(2).tolist()
    (True, [1.0, 0.67])
    """
    x = as_features(x)
    labels = as_labels(labels, x)
    _check_numbers(regularisation, pseudo_counts)
    max_steps, tol = stop.checked(x.dtype)
    loss = check_options("mmse", None, labels.num_classes)
    rho = jnp.asarray(vote_shares(labels), x.dtype)
    numbers = [jnp.asarray(value, x.dtype) for value in (regularisation, pseudo_counts, tol)]
    return _raykar_em(x, labels, rho, *numbers, loss=loss, max_steps=max_steps)


def raykar_objective(
    model: Linear,
    matrices: Float[Array, "labelers classes classes"],
    x: Features,
    labels: Labels,
    regularisation: Float[Array, ""],
    pseudo_counts: Float[Array, " 2"],
) -> Float[Array, ""]:
    """J(theta, psi) of Raykar et al. (module docstring)."""
    labels = as_labels(labels, x)
    check_matrices(matrices, labels.num_classes)
    _check_numbers(regularisation, pseudo_counts)
    log_p = log_probabilities(linear_outputs(model, x))
    pseudo = jnp.broadcast_to(pseudo_matrix(labels.num_classes, pseudo_counts)[None], matrices.shape)
    log_density = jnp.where(pseudo > 0, pseudo * safe_log(matrices), 0).sum()
    log_likelihood = ConfusionMatrices(matrices).log_likelihood(labels)
    primary = discriminative_ml(log_p, log_likelihood) - log_density / x.shape[0]
    return primary + regularisation * l2(model.weights, x.shape[0])


@partial(jax.jit, static_argnames=("loss", "max_steps"))
def _raykar_em(x, labels, rho, lam, pseudo_counts, tol, *, loss, max_steps) -> ModelFit:
    """EM whose L-BFGS starts from the last theta, so J cannot rise."""

    def improve(rho, last):
        model = solve_linear(x, rho, lam, last[0], loss=loss, stop=Stop(200, tol)).model
        matrices = counted_matrices(labels, rho, pseudo_counts)
        log_p = log_probabilities(linear_outputs(model, x))
        joint = log_p + ConfusionMatrices(matrices).log_likelihood(labels)
        value = raykar_objective(model, matrices, x, labels, lam, pseudo_counts)
        return -value, jax.nn.softmax(joint, axis=1), (model, matrices)

    first = zero_start(x, labels.num_classes, loss), counted_matrices(labels, rho, pseudo_counts)
    (model, matrices), fit = _climbed(improve, rho, max_steps - 1, tol, first)
    return fit._replace(model=model, matrices=matrices, num_steps=fit.num_steps + 1)


def fit_mbem(
    train: Callable[[np.ndarray], tuple[Any, Any]],
    labels: Labels,
    *,
    prior: Any = None,
    num_rounds: int = 2,
    pseudo_counts: tuple[float, float] = (0.1, 0.1),
) -> ModelFit:
    """Alternate between training a model and estimating the labelers (Khetan et al. 2018, Algorithm 1).

    Args:
        train: takes a class posterior (samples, classes), minimises (40) with it, and returns (model, y_pred)
            with predicted classes (samples,) of the same samples.
        labels: at least one label for a sample.
        prior: (classes,), kept in all rounds; by default learned from the predictions.
        num_rounds: at most; the rounds end when the predictions no longer change.
        pseudo_counts: added to the diagonal and to the other entries of the counts, and (the second) to those
            of the prior. Positive ones keep a label from becoming impossible.

    Returns:
        The last round. `path` is the number of predictions that each round changed, from the second one;
        `class_posterior` is that of the labels alone, `prior` the given one or the shares of the predictions.

    Raises:
        ValueError: `train` did not return one class for each sample, or bad numbers.

    >>> import numpy as np
    >>> from jtruth.labels import Labels
    >>> from jtruth.training import fit_linear, fit_mbem, linear_outputs
    >>> x = np.array([[-2.], [-1.5], [-1.], [1.], [1.5], [2.]])
    >>> labels = Labels.from_matrix(np.array([[0], [1], [0], [1], [1], [1]]), 2)
    >>> def train(rho):
    ...     fit = fit_linear(x, np.log(rho + 1e-9), np.array([.5, .5]), regularisation=.1)
    ...     return fit.model, np.asarray(linear_outputs(fit.model, x) > 0).astype(int)
    >>> found = fit_mbem(train, labels, prior=[.5, .5], pseudo_counts=(1, .5))
    >>> found.y_pred.tolist(), [[round(float(p), 2) for p in row] for row in found.matrices[0]]
    ([0, 0, 0, 1, 1, 1], [[0.67, 0.33], [0.11, 0.89]])
    """
    labels = as_labels(labels)
    check_whole(num_rounds=num_rounds)
    _check_numbers(0.0, pseudo_counts)
    if not callable(train):
        raise ValueError(f"train is a {type(train).__name__}; give a function of the class posterior")
    fixed = None if prior is None else validate_prior(prior, labels.num_classes, labels.class_names)
    rho, previous, changed = vote_shares(labels), None, []
    for _ in range(num_rounds):
        model, y_pred = train(rho)
        y_pred = np.asarray(y_pred)
        check_codes(y_pred, labels.num_classes, "y_pred", size=labels.num_samples, kinds="iu")
        one_hot = (y_pred[:, None] == np.arange(labels.num_classes)).astype(np.float64)
        pseudo = jnp.asarray(pseudo_counts, float)
        matrices = np.asarray(counted_matrices(labels, jnp.asarray(one_hot, pseudo.dtype), pseudo))
        total = one_hot.sum(axis=0) + pseudo_counts[1]
        prior = total / total.sum() if fixed is None else fixed
        rho = np.asarray(class_posterior(ConfusionMatrices(matrices).log_likelihood(labels), prior))
        if previous is not None:
            changed.append(int((y_pred != previous).sum()))
        previous = y_pred
        if changed and changed[-1] == 0:
            break
    done = bool(changed) and changed[-1] == 0
    return ModelFit(
        model, np.nan, done, len(changed) + 1, rho, np.array(changed), np.asarray(prior), matrices,
        y_pred.astype(np.int32),
    )  # fmt: skip
