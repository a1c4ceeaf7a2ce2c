"""A fitted calibrator: scaling of the class probabilities, if any, and a concentration around them.

First the class probabilities ("alpha" leaves them as they are), then alpha_0 by a linear head on their
logarithms (`concentration`). Calibrated class probabilities are softmax(W u + b) of logits u: temperature (W
= v I, b = 0), vector (W diagonal) and matrix scaling, and Dirichlet calibration, which is matrix scaling of
u = log f, by maximum likelihood of the labels (46)-(47), (82):

    - sum_i sum_k y_ik log p_ik / sum_i n_i  +  lambda_b mean_k b_k^2  +  lambda_w mean_{k != l} W_kl^2
    (48), (49)

All problems are convex. `fit_scaling` is pure JAX: penalties and data may be traced.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from jtruth._arrays import as_array, is_concrete, safe_log
from jtruth._iterate import Minimum, minimise
from jtruth._one_line import one_line
from jtruth._validation import choose
from jtruth._validation.in_range import check_finite, check_shape
from jtruth.histograms.concentration import (
    Head,
    disagreement_probability,
    fit_concentration_head,
    posterior_probabilities,
)
from jtruth.histograms.label_counts import Histograms, check_probabilities_of, epistemic_loss

_MOST_STEPS = 500
SCALINGS = ("temperature", "vector", "matrix", "dirichlet")
Logits = Float[Array | np.ndarray, "samples classes"]
Number = float | Float[Array, ""]


# W (classes, classes), whose row k makes the new logit k, and b (classes,).
Scaling = tuple[Float[Array, "classes classes"], Float[Array, " classes"]]


def scaled_log_probabilities(scaling: Scaling, logits: Logits) -> Float[Array, "samples classes"]:
    """(46)-(47): log softmax(W u + b). For "dirichlet" the logits are log probabilities."""
    weights, bias = scaling
    moved = jnp.matmul(as_array(logits), weights.T, precision="highest") + bias[None]
    return jax.nn.log_softmax(moved, axis=1)


def scaling_loss(
    weights: Float[Array, "classes classes"],
    bias: Float[Array, " classes"],
    logits: Logits,
    histograms: Histograms,
    *,
    bias_penalty: Number = 0.0,
    weight_penalty: Number = 0.0,
) -> Float[Array, ""]:
    """(82) of the scaled probabilities, with (48) and (49)."""
    u = as_array(logits)
    log_p = scaled_log_probabilities((weights, bias), u)
    y = jnp.asarray(histograms.counts).astype(u.dtype)
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
) -> Minimum:
    """Fit W and b, the `params` of what comes back, by L-BFGS from W = I, b = 0.

    Args:
        logits: (samples, classes) of the classifier; for "dirichlet" log probabilities.
        histograms: of the same samples.
        method: one of `SCALINGS`.
        bias_penalty, weight_penalty: lambda_b (48) and lambda_w (49).

    Raises:
        ValueError: (concrete input) logits that are not finite or of other classes; a class without any label
            (only temperature scaling can do without, the others would send its probability to 0).
    """
    choose("method", method, SCALINGS)
    check_shape(logits, "logits", "samples classes", classes=histograms.num_classes)
    if is_concrete(logits):
        check_finite(np.asarray(logits), "logits", "logits are finite")
    u, size = as_array(logits), histograms.num_classes
    if method != "temperature" and is_concrete(histograms):
        check_every_class(histograms)
    shape = {"temperature": (), "vector": (size,)}.get(method, (size, size))
    first = jnp.eye(size, dtype=u.dtype) if len(shape) == 2 else jnp.ones(shape, u.dtype)
    start = {"weights": first} | ({} if method == "temperature" else {"bias": jnp.zeros(size, u.dtype)})

    given = {"bias_penalty": bias_penalty, "weight_penalty": weight_penalty}

    def objective(params: dict) -> Array:
        return scaling_loss(*_expand(params, size), u, histograms, **given)

    tol = 0.1 * float(jnp.finfo(u.dtype).eps) ** 0.5
    found = minimise(objective, start, max_steps=_MOST_STEPS, tol=tol)
    return found._replace(params=_expand(found.params, size))


def check_every_class(histograms: Histograms) -> None:
    """Every class occurs among the labels to fit on."""
    absent = np.flatnonzero(np.asarray(histograms.counts).sum(axis=0) == 0)
    if absent.size:
        raise ValueError(
            f"no label of class {absent[0]} in the samples to fit on ({absent.size} classes are missing): "
            "use more samples, or method='temperature'"
        )


CALIBRATIONS = (*SCALINGS, "alpha")
_FLOOR = -30.0  # of a log probability that is a feature of the head; the probabilities themselves stay
Rows = Float[Array | np.ndarray, "samples classes"]


class Calibrated(NamedTuple):
    """A law Dir(concentration * probabilities) for each sample."""

    probabilities: Float[Array | np.ndarray, "samples classes"]
    concentration: Float[Array | np.ndarray, " samples"]

    __repr__ = one_line

    @property
    def disagreement(self) -> Float[Array, " samples"]:
        """(71): probability that two labels differ."""
        return disagreement_probability(self.probabilities, self.concentration)


class Calibrator(eqx.Module):
    """From predicted class probabilities to calibrated ones with their concentration."""

    scaling: Scaling | None
    head: Head

    __repr__ = one_line

    def __call__(self, probabilities: Rows) -> Calibrated:
        """Calibrate predictions of the same classifier."""
        p = as_array(probabilities)
        scaled = p if self.scaling is None else jnp.exp(scaled_log_probabilities(self.scaling, safe_log(p)))
        weights, bias = self.head
        return Calibrated(scaled, jnp.exp(_features(scaled) @ weights + bias))


def _features(probabilities: Array) -> Array:
    return jnp.maximum(safe_log(probabilities), _FLOOR)


def fit_calibrator(
    key: PRNGKeyArray,
    histograms: Histograms,
    probabilities: Rows,
    *,
    method: str = "alpha",
    bias_penalty: float = 0.1,
    weight_penalty: float = 1.0,
    penalty: float = 0.005,
) -> Calibrator:
    """Fit on label histograms.

    Args:
        key: of the validation split of the head.
        histograms, probabilities: of the same samples.
        method: "alpha" (class probabilities stay), "temperature", "vector", "matrix" or "dirichlet".
        bias_penalty, weight_penalty: (48), (49), where the method has them.
        penalty: of alpha-calibration, see `concentration`.

    Raises:
        ValueError: a probability of 0 where its logarithm is needed or its class was given, or a class
            without labels.
    """
    choose("method", method, CALIBRATIONS)
    check_probabilities_of(histograms, probabilities)
    p = np.asarray(probabilities)
    p = p if jnp.issubdtype(p.dtype, jnp.floating) else p.astype(np.float64)
    zero = np.argwhere((p == 0) & ((np.asarray(histograms.counts) > 0) if method == "alpha" else True))
    if len(zero):
        i, k = map(int, zero[0])
        why = "but was given" if method == "alpha" else f"which method={method!r} cannot scale"
        raise ValueError(
            f"sample {i} has probability 0 of class {k}, {why} ({len(zero)} such): give logits, or "
            "probabilities that were not rounded to 0"
        )
    if method not in ("alpha", "temperature"):
        check_every_class(histograms)
    return _fit(key, histograms, p, method, bias_penalty, weight_penalty, penalty)


@eqx.filter_jit
def _fit(key, histograms, p, method, bias_penalty, weight_penalty, penalty) -> Calibrator:
    scaling, scaled = None, as_array(p)
    if method != "alpha":
        log_p = safe_log(scaled)
        lambda_b = 0.0 if method == "temperature" else bias_penalty
        lambda_w = weight_penalty if method in ("matrix", "dirichlet") else 0.0
        penalties = {"bias_penalty": lambda_b, "weight_penalty": lambda_w}
        scaling = fit_scaling(log_p, histograms, method=method, **penalties).params
        scaled = jnp.exp(scaled_log_probabilities(scaling, log_p))
    head = fit_concentration_head(key, _features(scaled), histograms, scaled, penalty=penalty)
    return Calibrator(scaling, head)


def epistemic_after_one_label(histograms: Histograms, law: Calibrated) -> Float[Array, " samples"]:
    """Unbiased epistemic loss (10) of the posterior (19) after one label, judged by the other labels.

    sum_k y_k / n EL(y - e_k, (alpha_0 f + e_k) / (alpha_0 + 1)); NaN for samples of fewer than three labels.
    """
    y = jnp.asarray(histograms.counts)
    f = as_array(law.probabilities)

    def after(k: Array) -> Array:
        seen = jnp.broadcast_to(jax.nn.one_hot(k, y.shape[1], dtype=y.dtype), y.shape)
        rest = Histograms(jnp.maximum(y - seen, 0), jnp.asarray(histograms.n) - 1, histograms.most)
        posterior = posterior_probabilities(Histograms(seen, seen.sum(axis=1), 1), f, law.concentration)
        share = jnp.take(y, k, axis=1).astype(f.dtype) / jnp.maximum(histograms.n, 1).astype(f.dtype)
        loss = epistemic_loss(rest, posterior).sum(axis=1)
        return jnp.where(share > 0, share * loss, 0.0)

    total = jax.lax.map(after, jnp.arange(y.shape[1])).sum(axis=0)
    return jnp.where(jnp.asarray(histograms.n) > 2, total, jnp.nan)
