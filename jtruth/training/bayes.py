"""Bayesian logistic regression on noisy labels: the posterior whose mode is MAP training.

    p(theta | z, x)  proportional to  p(theta) prod_i sum_c p(c | x_i; theta) p(z_i | c)        Su (31), E.1

The correct classes are summed out, so NUTS samples theta alone. Weights are normal with variance 1/lambda,
the regulariser of Appendix F; intercepts are normal with a wide scale, where Appendix F has them free.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jaxtyping import Float

from jtruth._arrays import AnyArray, safe_log
from jtruth._host import diagonal_rows
from jtruth._random import as_key
from jtruth._validation.in_range import check_no_nan, check_positive
from jtruth.latent import NutsSettings
from jtruth.latent.infer import nuts
from jtruth.learning.annotation.functions import data_of, majority_start, observe, starting
from jtruth.learning.annotation.models import as_channel
from jtruth.training._inputs import ModelFit, as_features, check_evidence
from jtruth.training.linear import Linear, fit_linear, linear_outputs
from jtruth.training.objectives import log_probabilities

_SETTINGS = NutsSettings(num_samples=500)


def noisy_label_regression(
    labels: Any,
    x: Any,
    *,
    noise: Any = None,
    num_classes: int | None = None,
    intercept_scale: Any = 10.0,
    weight_scale: Any = 1.0,
    row_concentration: Any = None,
) -> None:
    """NumPyro model: logistic (two classes) or softmax regression on noisy labels (Su (31)).

    Sites "intercept" and "weights" (features, *outputs), outputs () for two classes, else (classes,). Labels
    without a noise model also have "confusion" (labeler, true_class, labeled_as), as in Raykar et al. (2010).

    Args:
        labels: `Labels` or whole numbers (samples, labelers), -1 for no label; or log p(labels | class) as
            floating numbers (samples, classes).
        x: (samples, features).
        noise: a model of `jtruth.noise` with known parameters.
        num_classes: of an array, as in `jtruth.models.data_of`.
        intercept_scale, weight_scale: standard deviations of the normal priors.
        row_concentration: (classes, classes) of the Dirichlet rows of "confusion"; 2 on the diagonal and 1
            spread over the rest if None.
    """
    data = data_of(labels if noise is None else noise.log_likelihood(labels), num_classes)
    classes, x = data.num_classes, jnp.asarray(x)
    outputs = () if classes == 2 else (classes,)
    offset = dist.Normal(0.0, intercept_scale).expand(outputs).to_event(len(outputs))
    intercept: Any = numpyro.sample("intercept", offset)
    shape = (x.shape[1], *outputs)
    slopes = dist.Normal(0.0, weight_scale).expand(shape).to_event(len(shape))
    weights: Any = numpyro.sample("weights", slopes)
    log_p = log_probabilities(linear_outputs(Linear(intercept, weights), x))
    rows: Any = jnp.ones((0, classes, classes), log_p.dtype)
    if data.num_labelers:
        alpha = diagonal_rows(classes, 2.0, 1.0) if row_concentration is None else row_concentration
        distribution = dist.Dirichlet(jnp.asarray(alpha)).expand((data.num_labelers, classes)).to_event(2)
        with starting({"confusion": majority_start(data)[1]}):
            rows = numpyro.sample("confusion", distribution)
    table = jnp.swapaxes(safe_log(rows), 1, 2)[..., None]
    observe(data, channel=as_channel(log_p, jnp.zeros(1, log_p.dtype), table))


def _given_evidence(x: Any, log_likelihood: Any, scales: Any) -> None:
    noisy_label_regression(log_likelihood, x, intercept_scale=scales[0], weight_scale=scales[1])


def fit_bayes(
    x: Any,
    log_likelihood: Float[AnyArray, "samples classes"],
    *,
    key: Any = None,
    regularisation: float = 1.0,
    intercept_scale: float = 10.0,
    settings: NutsSettings = _SETTINGS,
) -> ModelFit:
    """Sample the posterior of logistic (2 classes) or softmax regression, noisy labels marginalised.

    Args:
        x: (samples, features), finite numbers; features of similar scale help the sampler.
        log_likelihood: (samples, classes), from a noise model.
        key: a whole number or a JAX key; 0 if None.
        regularisation: lambda > 0; weights have variance 1/lambda.
        intercept_scale: standard deviation of the intercepts.
        settings: of NUTS.

    Returns:
        Draws of theta, intercept (draws, *outputs) and weights (draws, features, *outputs), their `mode` and
        its objective, and the `run` of NUTS.

    Raises:
        ValueError: bad features or sizes, lambda or a scale that is not positive.
    """
    key = as_key(key)
    x = as_features(x)
    check_evidence(x, log_likelihood)
    for name, value in {"regularisation": regularisation, "intercept_scale": intercept_scale}.items():
        check_positive(value, name, "a number for a proper prior", size=1)
    classes = np.shape(log_likelihood)[1]
    with jax.enable_x64(True):
        start = np.full(classes, 1 / classes)  # a prior, of the start only
        options = {"objective": "ml", "regularisation": regularisation}
        fit = fit_linear(jnp.asarray(x, float), log_likelihood, start, **options)
        mode = jax.tree.map(np.asarray, fit.model)
    run = nuts.run_nuts(
        _given_evidence,
        np.asarray(x, np.float64),
        np.asarray(log_likelihood, np.float64),
        np.array([intercept_scale, regularisation**-0.5]),
        key=key,
        init=mode._asdict(),
        jitter=0.1,
        settings=settings,
    )
    draws = Linear(run.flat("intercept"), run.flat("weights"))
    value = np.asarray(fit.objective)
    return ModelFit(draws, value, run.converged, settings.num_samples, mode=mode, run=run)


def predictive_probabilities(
    model: Linear, x: Float[AnyArray, "samples features"]
) -> Float[np.ndarray, "samples classes"]:
    """p(y = c | x, training labels): the mean over the draws of p(c | x; theta).

    Raises:
        ValueError: x is not (samples, features) of finite numbers, or the draws have other features.
    """
    x = as_features(x)
    weights = np.shape(model.weights)
    if len(weights) not in (2, 3) or weights[1] != np.shape(x)[1] or not weights[0]:
        raise ValueError(f"x has shape {np.shape(x)}, weights {weights}; give draws (draws, features, ...)")
    if np.shape(model.intercept) != (weights[0], *weights[2:]):
        raise ValueError(f"intercept has shape {np.shape(model.intercept)}, weights {weights}")
    for name, values in model._asdict().items():
        check_no_nan(values, name)
    with jax.enable_x64(True):
        draws, x = jax.tree.map(jnp.asarray, model), jnp.asarray(x, float)
        log_p = jax.lax.map(lambda theta: log_probabilities(linear_outputs(theta, x)), draws, batch_size=64)
        return np.asarray(jnp.exp(log_p).mean(axis=0))
