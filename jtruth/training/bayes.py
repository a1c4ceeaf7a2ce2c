"""Bayesian logistic regression on noisy labels: the whole posterior of which MAP training is the mode.

    p(theta | z, x)  proportional to  p(theta) prod_i sum_c p(c | x_i; theta) p(z_i | c)        Su (31), E.1

The correct classes are summed out, so NUTS sees theta alone. Weights are normal with variance 1/lambda, which
makes the regulariser of Appendix F; intercepts are normal with a wide scale, where Appendix F has them free.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jaxtyping import Float

from jtruth._arrays import AnyArray
from jtruth._random import as_key
from jtruth._validation.in_range import check_no_nan, check_positive
from jtruth.latent import NutsSettings
from jtruth.latent.infer import nuts
from jtruth.training._inputs import ModelFit, as_features, check_evidence
from jtruth.training.linear import Linear, fit_linear, linear_outputs
from jtruth.training.objectives import discriminative_ml, log_probabilities

_SETTINGS = NutsSettings(num_samples=500)


def logistic_regression(x: Any, log_likelihood: Any, scales: Any, *, outputs: tuple[int, ...]) -> None:
    """The NumPyro model, `scales` of intercepts and weights; `outputs` () for a score, else (classes,)."""
    intercept: Any = numpyro.sample(
        "intercept", dist.Normal(0.0, scales[0]).expand(outputs).to_event(len(outputs))
    )
    shape = (x.shape[1], *outputs)
    weights: Any = numpyro.sample("weights", dist.Normal(0.0, scales[1]).expand(shape).to_event(len(shape)))
    log_p = log_probabilities(linear_outputs(Linear(intercept, weights), x))
    numpyro.factor("labels", -x.shape[0] * discriminative_ml(log_p, log_likelihood))


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
        x: (samples, features), finite numbers; features of like scale help the sampler.
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
        logistic_regression,
        np.asarray(x, np.float64),
        np.asarray(log_likelihood, np.float64),
        np.array([intercept_scale, regularisation**-0.5]),
        key=key,
        static={"outputs": () if classes == 2 else (classes,)},
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
