"""Calibrated class probabilities: softmax(W u + b) of a classifier's logits u, fitted on label histograms.

Temperature (W = v I, b = 0), vector (W diagonal) and matrix scaling, and Dirichlet calibration, which is
matrix scaling of u = log f, by maximum likelihood of the labels (46)-(47), (82):

    - sum_i sum_k y_ik log p_ik / sum_i n_i  +  lambda_b mean_k b_k^2  +  lambda_w mean_{k != l} W_kl^2
    (48), (49)

L2 on b is the penalty of vector scaling, both together (ODIR) that of matrix scaling. All problems are
convex. `fit_scaling` is pure JAX: penalties and data may be traced, so vmap runs it over seeds, folds and
penalties, and the minimum can be differentiated: W and b move with data and penalties by the implicit
function theorem.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray
from scipy.optimize import isotonic_regression

from jtruth._arrays import as_array, is_concrete
from jtruth._minimise import minimise
from jtruth._one_line import one_line
from jtruth._validation import choose
from jtruth.histograms.label_counts import Histograms, check_logits, check_probabilities, samples_of

SCALINGS = ("temperature", "vector", "matrix", "dirichlet")
Logits = Float[Array | np.ndarray, "samples classes"]
Where = Bool[Array | np.ndarray, " samples"] | None
Number = float | Float[Array, ""]


class Scaling(NamedTuple):
    """Fitted W and b with the solver's report."""

    weights: Float[Array, "classes classes"]  # row k makes the new logit k
    bias: Float[Array, " classes"]
    value: Float[Array, ""]  # loss with penalties
    converged: Bool[Array, ""]
    num_steps: Int[Array, ""]

    __repr__ = one_line


def scaled_log_probabilities(scaling: Scaling, logits: Logits) -> Float[Array, "samples classes"]:
    """(46)-(47): log softmax(W u + b). For "dirichlet" the logits are log probabilities."""
    u = as_array(logits)
    moved = jnp.matmul(u, scaling.weights.T, precision="highest") + scaling.bias[None]
    return jax.nn.log_softmax(moved, axis=1)


def scaling_loss(
    weights: Float[Array, "classes classes"],
    bias: Float[Array, " classes"],
    logits: Logits,
    histograms: Histograms,
    *,
    bias_penalty: Number = 0.0,
    weight_penalty: Number = 0.0,
    where: Where = None,
) -> Float[Array, ""]:
    """(82) of the scaled probabilities, with (48) and (49)."""
    u = as_array(logits)
    log_p = scaled_log_probabilities(Scaling(weights, bias, *(jnp.zeros(()),) * 3), u)
    mask = samples_of(where, u.shape[0])[:, None]
    y = jnp.where(mask, jnp.asarray(histograms.counts), 0).astype(u.dtype)
    size = u.shape[1]
    off = weights * (1 - jnp.eye(size, dtype=u.dtype))
    penalty = bias_penalty * (bias**2).mean() + weight_penalty * (off**2).sum() / (size * (size - 1))
    return -(y * log_p).sum() / y.sum() + penalty


def _expand(params: dict[str, Array], size: int) -> tuple[Array, Array]:
    """W and b of the free parameters."""
    bias = params.get("bias", jnp.zeros(size, params["weights"].dtype))
    w = params["weights"]
    return (w if w.ndim == 2 else jnp.diag(jnp.broadcast_to(w, (size,)))), bias


def fit_scaling(
    logits: Logits,
    histograms: Histograms,
    *,
    method: str = "temperature",
    bias_penalty: Number = 0.0,
    weight_penalty: Number = 0.0,
    where: Where = None,
    max_steps: int = 500,
    tol: float | None = None,
) -> Scaling:
    """Fit W and b by L-BFGS from W = I, b = 0.

    Args:
        logits: (samples, classes) of the classifier; for "dirichlet" log probabilities.
        histograms: of the same samples.
        method: one of `SCALINGS`.
        bias_penalty, weight_penalty: lambda_b (48) and lambda_w (49).
        where: samples to fit on.
        max_steps, tol: of the solver; tol bounds the gradient, by default by the dtype.

    Raises:
        ValueError: (concrete input) logits that are not finite or of other classes; a class without any label
            (only temperature scaling can do without, the others would send its probability to 0).
    """
    choose("method", method, SCALINGS)
    check_logits(logits, histograms.num_classes)
    u, size = as_array(logits), histograms.num_classes
    if method != "temperature" and is_concrete((histograms, where)):
        check_every_class(histograms, where)
    shape = {"temperature": (), "vector": (size,)}.get(method, (size, size))
    first = jnp.eye(size, dtype=u.dtype) if len(shape) == 2 else jnp.ones(shape, u.dtype)
    start = {"weights": first} | ({} if method == "temperature" else {"bias": jnp.zeros(size, u.dtype)})
    tol = 0.1 * float(jnp.finfo(u.dtype).eps) ** 0.5 if tol is None else tol

    def objective(params: dict, data: tuple) -> Array:
        u, lambda_b, lambda_w = data
        options = {"bias_penalty": lambda_b, "weight_penalty": lambda_w, "where": where}
        return scaling_loss(*_expand(params, size), u, histograms, **options)

    data = (u, jnp.asarray(bias_penalty, u.dtype), jnp.asarray(weight_penalty, u.dtype))
    still = jax.lax.stop_gradient(data)
    found = minimise(lambda p: objective(p, still), start, max_steps=max_steps, tol=tol)
    params = _with_derivative(objective, jax.lax.stop_gradient(found.params), data)
    return Scaling(*_expand(params, size), objective(params, data), found.converged, found.num_steps)


def _with_derivative(objective, params: dict, data: tuple) -> dict:
    """The same parameters, moving with the data as the minimum does: d params = -H^-1 d gradient."""
    flat, unravel = ravel_pytree(params)
    gradient = jax.grad(lambda v, d: objective(unravel(v), d))
    hessian = jax.jacfwd(gradient)(flat, jax.lax.stop_gradient(data))
    step = -jnp.linalg.pinv(hessian, hermitian=True) @ gradient(flat, data)
    return unravel(flat + step - jax.lax.stop_gradient(step))


def check_every_class(histograms: Histograms, where: Where = None) -> None:
    """Every class occurs among the labels to fit on."""
    counts = np.asarray(histograms.counts)
    total = (counts if where is None else counts[np.asarray(where)]).sum(axis=0)
    absent = np.flatnonzero(total == 0)
    if absent.size:
        raise ValueError(
            f"no label of class {absent[0]} in the samples to fit on ({absent.size} classes are missing): "
            "use more samples, or method='temperature'"
        )


class PenaltyChoice(NamedTuple):
    """Held-out loss of every pair of penalties, and the best pair."""

    bias_penalty: Float[Array, ""]
    weight_penalty: Float[Array, ""]
    held_out: Float[Array, "bias_penalties weight_penalties"]  # mean over labels of -log p

    __repr__ = one_line


def choose_penalties(
    key: PRNGKeyArray,
    logits: Logits,
    histograms: Histograms,
    *,
    method: str,
    bias_penalties: tuple[float, ...] = (0.1, 1.0, 10.0),
    weight_penalties: tuple[float, ...] = (0.1, 1.0, 10.0),
    folds: int = 5,
    max_steps: int = 200,
) -> PenaltyChoice:
    """Cross-validation of the penalties: all fits at once by vmap. (48) alone: weight_penalties=(0.0,)."""
    u = as_array(logits)
    fold = jax.random.permutation(key, jnp.arange(u.shape[0]) % folds)
    number = jnp.asarray(histograms.counts).sum().astype(u.dtype)

    def loss(lambda_b: Array, lambda_w: Array, held: Array) -> Array:
        options = {"method": method, "max_steps": max_steps, "tol": 1e-4}
        penalties = {"bias_penalty": lambda_b, "weight_penalty": lambda_w}
        fitted = fit_scaling(u, histograms, where=fold != held, **penalties, **options)
        log_p = scaled_log_probabilities(fitted, u)
        y = jnp.asarray(histograms.counts).astype(u.dtype)
        return -jnp.where((fold == held)[:, None], y * log_p, 0.0).sum() / number

    pairs = [(b, w) for b in bias_penalties for w in weight_penalties]
    table = jnp.asarray(pairs, u.dtype)
    by_fold = jax.vmap(jax.vmap(loss, (None, None, 0)), (0, 0, None))
    found = jax.jit(by_fold)(table[:, 0], table[:, 1], jnp.arange(folds)).sum(axis=1)
    best = table[jnp.argmin(found)]
    return PenaltyChoice(best[0], best[1], found.reshape(len(bias_penalties), len(weight_penalties)))


class Isotonic(NamedTuple):
    """One step function for each class: `levels[k]` at the predictions `points[k]`, linear in between."""

    points: tuple[np.ndarray, ...]
    levels: tuple[np.ndarray, ...]

    __repr__ = one_line


def fit_isotonic(
    probabilities: Float[Array | np.ndarray, "samples classes"], histograms: Histograms
) -> Isotonic:
    """Isotonic regression of each class against the others, weights n: the rival without a formula. Host."""
    check_probabilities(histograms, probabilities)
    z, n = np.asarray(probabilities, np.float64), np.asarray(histograms.n, np.float64)
    shares = np.asarray(histograms.counts) / n[:, None]
    points, levels = [], []
    for k in range(z.shape[1]):
        at, inverse = np.unique(z[:, k], return_inverse=True)
        weight = np.bincount(inverse, weights=n)
        mean = np.bincount(inverse, weights=n * shares[:, k]) / weight
        points.append(at)
        levels.append(np.asarray(isotonic_regression(mean, weights=weight).x))
    return Isotonic(tuple(points), tuple(levels))


def isotonic_probabilities(
    fitted: Isotonic, probabilities: Float[Array | np.ndarray, "samples classes"]
) -> Float[np.ndarray, "samples classes"]:
    """The step functions, divided by their sum; a row in which all are 0 stays what it was."""
    z = np.asarray(probabilities, np.float64)
    columns = zip(fitted.points, fitted.levels, strict=True)
    raw = np.stack([np.interp(z[:, k], *pair) for k, pair in enumerate(columns)], axis=1)
    total = raw.sum(axis=1, keepdims=True)
    return np.where(total > 0, raw / np.where(total > 0, total, 1.0), z)
