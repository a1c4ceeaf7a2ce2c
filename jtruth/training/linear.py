"""Linear models of Su 5.4 and Appendix F: regularised logistic and softmax regression, and linear SVMs.

    J(theta) = primary term + lambda / (2N) * sum of squared weights        (28), Appendix F

The intercept is not regularised. The primary term is the MMSE risk (40) of a loss or the likelihood (32);
with (32) the regulariser is a normal prior of variance 1/lambda: MAP training. Ideal labels are a
`log_likelihood` of known labels (0 and -inf).

(40) is convex with the losses here; (32) is not, so `fit_linear` starts it from the minimum of (40) and, on
request, from random points, and keeps the best. `solve_linear` is the pure function under it, for `jax.vmap`
over lambdas, starts or data sets. The hinge has kinks, where the gradient is useless: it is rounded off over
widths from 1 down to .001, which leaves the risk within half a width of the hinge's own.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jtruth._arrays import AnyArray, as_array, is_concrete
from jtruth._iterate import minimise
from jtruth._one_line import one_line
from jtruth._random import as_key
from jtruth._validation import choose
from jtruth._validation.in_range import check_no_nan, check_not_negative, check_shape, check_whole
from jtruth.posterior import class_posterior
from jtruth.training import _inputs as inputs
from jtruth.training import objectives

FITTED_LOSSES = ("logistic", "cross_entropy", "brier", "hinge", "squared_hinge")
_PRECISE = inputs.Stop(tol=1e-6)
_WIDTHS = (1.0, 0.1, 0.01, 0.001)  # of the rounded hinge, in turn


class Linear(NamedTuple):
    """theta: one score (binary) or one logit for each class, `intercept + x @ weights`."""

    intercept: Float[AnyArray, "*outputs"]
    weights: Float[AnyArray, " features *outputs"]
    __repr__ = one_line


def linear_outputs(model: Linear, x: Float[AnyArray, "samples features"]) -> objectives.Outputs:
    """Scores (samples,) or logits (samples, classes) of a linear model, in its dtype.

    Raises:
        ValueError: x and the weights do not match, or hold NaN.
    """
    _check_linear(model, x)
    intercept, weights = jnp.asarray(model.intercept), jnp.asarray(model.weights)
    return jnp.asarray(x, weights.dtype) @ weights + intercept[None]


def _check_linear(model: Any, x: Any) -> None:
    """Check weights (features,) or (features, classes), and the intercept, against the features."""
    if not isinstance(model, Linear):
        raise ValueError(f"model is a {type(model).__name__}; give a Linear(intercept, weights)")
    weights, features = np.shape(model.weights), np.shape(x)
    if len(features) != 2 or len(weights) not in (1, 2) or features[1] != weights[0]:
        raise ValueError(
            f"x has shape {features}, weights {weights}; give (samples, features) and as many weights"
        )
    if np.shape(model.intercept) != weights[1:]:
        raise ValueError(f"intercept has shape {np.shape(model.intercept)}; weights need {weights[1:]}")
    for name, values in {"x": x, "weights": model.weights, "intercept": model.intercept}.items():
        check_no_nan(values, name)


def l2(weights: AnyArray, num_samples: Any) -> Float[Array, ""]:
    """J_reg of Su App. F: the sum of squared weights / (2N)."""
    check_no_nan(weights, "weights")
    if is_concrete(num_samples) and not np.asarray(num_samples) > 0:
        raise ValueError(f"num_samples must be positive, got {num_samples}")
    return (jnp.asarray(weights) ** 2).sum() / (2 * num_samples)


def linear_objective(
    model: Linear,
    x: Float[Array, "samples features"],
    evidence: Float[Array, "samples classes"],
    regularisation: Float[Array, ""] | float,
    *,
    objective: str = "mmse",
    loss: str = "logistic",
    where: objectives.Mask = None,
    width: float | None = None,
) -> Float[Array, ""]:
    """J_ML or J_MMSE of Su App. F, the latter for any loss.

    Args:
        model: theta.
        x, where: (samples, features), and (samples,), False for padding.
        evidence: (samples, classes): the class posterior for "mmse", `log_likelihood` for "ml".
        regularisation: lambda.
        objective, loss: "mmse" (40) with a name in `LOSSES`; "ml" (32) with "logistic" or "cross_entropy".
        width: of the rounded hinge; None for the hinge itself.

    Raises:
        ValueError: an unknown objective or loss, sizes that do not match, lambda below 0.
    """
    choose("objective", objective, ("mmse", "ml"))
    choose("loss", loss, tuple(objectives.LOSSES))
    check_not_negative(regularisation, "regularisation")
    outputs = linear_outputs(model, x)
    if objective == "ml":
        primary = objectives.discriminative_ml(objectives.log_probabilities(outputs), evidence, where=where)
    else:
        losses = objectives.rounded_hinge(outputs, width) if width else objectives.LOSSES[loss](outputs)
        primary = objectives.mmse_risk(losses, evidence, where=where)
    num_samples = x.shape[0] if where is None else jnp.maximum(jnp.asarray(where).sum(), 1).astype(x.dtype)
    return primary + regularisation * l2(model.weights, num_samples)


def solve_linear(
    x: Float[Array, "samples features"],
    evidence: Float[Array, "samples classes"],
    regularisation: Float[Array, ""],
    start: Linear,
    *,
    objective: str = "mmse",
    loss: str = "logistic",
    where: objectives.Mask = None,
    stop: inputs.Stop = _PRECISE,
) -> inputs.ModelFit:
    """Minimise `linear_objective` from one start: pure and jitted, for `vmap` over any argument.

    Raises:
        ValueError: as `linear_objective`; `evidence` that is not a posterior ("mmse") or holds NaN ("ml").
    """
    choose("objective", objective, ("mmse", "ml"))
    choose("loss", loss, FITTED_LOSSES)
    check_not_negative(regularisation, "regularisation")
    max_steps, tol = stop.checked(jnp.asarray(x).dtype)
    _check_linear(start, x)
    inputs.check_per_class({"evidence": evidence}, where=where)
    if objective == "mmse":
        inputs.check_posterior(evidence, where)
    check_shape(evidence, "evidence", "samples classes", samples=np.shape(x)[0])
    return _solve(x, evidence, regularisation, start, where, tol, (objective, loss, max_steps))


@partial(jax.jit, static_argnames=("options",))
def _solve(x, evidence, regularisation, start: Linear, where, tol, options) -> inputs.ModelFit:
    objective, loss, max_steps = options
    widths = _WIDTHS if (objective, loss) == ("mmse", "hinge") else (None,)
    model, steps = start, jnp.zeros((), jnp.int32)
    for width in widths:

        def function(theta, width=width):
            return linear_objective(
                theta, x, evidence, regularisation, objective=objective, loss=loss, where=where, width=width
            )

        model, value, converged, taken = minimise(function, model, max_steps=max_steps, tol=tol)
        steps += taken
    return inputs.ModelFit(model, value, converged, steps, path=value[None])


def zero_start(x: Array, num_classes: int, loss: str) -> Linear:
    """theta = 0 of the right shape and dtype."""
    shape = () if loss in objectives.BINARY_LOSSES else (num_classes,)
    return Linear(jnp.zeros(shape, x.dtype), jnp.zeros((x.shape[1], *shape), x.dtype))


def fit_linear(
    x: Any,
    log_likelihood: Float[AnyArray, "samples classes"],
    prior: Float[AnyArray, " classes"],
    *,
    objective: str = "mmse",
    loss: str | None = None,
    regularisation: float | Float[AnyArray, " lambdas"] = 1.0,
    restarts: tuple[int, Any] = (0, None),
    stop: inputs.Stop = inputs.Stop(),
) -> inputs.ModelFit:
    """Train a linear model on noisy labels (Su 5.4, Appendix F).

    Args:
        x: (samples, features), finite numbers.
        log_likelihood: (samples, classes), log p(z_i | y_i = c) from a noise model.
        prior: (classes,). (32) does not use it, except through the start.
        objective: "mmse" (40), or "ml" (31)-(32), which with the regulariser is MAP.
        loss: "logistic" (the default for 2 classes), "hinge", "squared_hinge" (2 classes), "cross_entropy"
            (the default for more), "brier".
        regularisation: lambda >= 0, or several of them, for one `ModelFit` with an axis of lambdas.
        restarts: number of further starts, of normal weights, for "ml" and "brier", which are not convex; and
            their random key or a whole number, 0 if None.
        stop: of L-BFGS, per start.

    Raises:
        ValueError: x is not a finite matrix, rows or classes do not match, an unknown option.

    >>> import numpy as np
    >>> from jtruth.training import fit_linear, linear_outputs
    >>> x = np.array([[-2.], [-1.], [1.], [2.]])
    >>> log_likelihood = np.log([[.9, .1], [.6, .4], [.3, .7], [.1, .9]])  # log p(labels | class)
    >>> fit = fit_linear(x, log_likelihood, np.array([.5, .5]), regularisation=.1)
    >>> bool(fit.converged), np.asarray(linear_outputs(fit.model, x) > 0).tolist()
    (True, [False, False, True, True])
    """
    x = inputs.as_features(x)
    prior = inputs.check_evidence(x, log_likelihood, prior)
    loss = check_options(objective, loss, log_likelihood.shape[1])
    check_not_negative(regularisation, "regularisation")
    num_restarts, key = restarts
    check_whole(0, num_restarts=num_restarts)
    lam = jnp.asarray(regularisation, x.dtype)
    log_likelihood = as_array(log_likelihood).astype(x.dtype)
    posterior = class_posterior(log_likelihood, jnp.asarray(prior, x.dtype))
    evidence = posterior if objective == "mmse" else log_likelihood
    options: dict[str, Any] = {"loss": loss, "stop": stop.checked(x.dtype)}

    def for_one(lam):
        start = zero_start(x, log_likelihood.shape[1], loss)
        if objective == "ml":
            start = solve_linear(x, posterior, lam, start, **options).model
        starts = _starts(start, num_restarts, as_key(key))
        fits = jax.vmap(partial(solve_linear, x, evidence, lam, objective=objective, **options))(starts)
        values = fits.objective  # of all starts; NaN never wins
        best = jnp.argmin(jnp.where(jnp.isnan(values), jnp.inf, values))
        return jax.tree.map(lambda leaf: leaf[best], fits)._replace(path=values)

    return for_one(lam) if lam.ndim == 0 else jax.vmap(for_one)(lam)


def check_options(objective: str, loss: str | None, num_classes: int) -> str:
    """The loss by its name or default; ValueError for invalid combinations."""
    choose("objective", objective, ("mmse", "ml"))
    loss = loss or ("logistic" if num_classes == 2 else "cross_entropy")
    choose("loss", loss, FITTED_LOSSES)
    if loss in objectives.BINARY_LOSSES and num_classes != 2:
        raise ValueError(f"loss={loss!r} is for 2 classes, but there are {num_classes}; use 'cross_entropy'")
    if objective == "ml" and loss not in ("logistic", "cross_entropy"):
        raise ValueError(f"objective='ml' needs probabilities, which loss={loss!r} lacks; use 'mmse'")
    return loss


def _starts(first: Linear, num_restarts: int, key: Any) -> Linear:
    """The first start and `num_restarts` standard normal ones, stacked."""
    keys = jax.random.split(key, 2)

    def stack(leaf, k):
        drawn = jax.random.normal(k, (num_restarts, *leaf.shape), leaf.dtype)
        return jnp.concatenate([leaf[None], drawn])

    return Linear(stack(first.intercept, keys[0]), stack(first.weights, keys[1]))
