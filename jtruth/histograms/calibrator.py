"""A fitted calibrator: scaling of the class probabilities, if any, and a concentration around them.

`fit_calibrator` puts together `scaling` and `concentration`: first the class probabilities ("alpha" leaves
them as they are), then alpha_0 by a linear head on their logarithms. The classifier's logits and its log
probabilities are the same thing here, up to a constant of each sample, which softmax does not see.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from jtruth._arrays import as_array, safe_log
from jtruth._one_line import one_line
from jtruth._validation import choose
from jtruth.histograms.concentration import Head, Where, fit_concentration_head
from jtruth.histograms.dirichlet import disagreement_probability, posterior_probabilities
from jtruth.histograms.label_counts import Histograms, check_probabilities
from jtruth.histograms.losses import epistemic_loss
from jtruth.histograms.scaling import (
    SCALINGS,
    Scaling,
    check_every_class,
    fit_scaling,
    scaled_log_probabilities,
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
        return Calibrated(scaled, self.head(_features(scaled)))


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
    normalise: str = "labels",
) -> Calibrator:
    """Fit on label histograms.

    Args:
        key: of the validation split of the head.
        histograms, probabilities: of the same samples.
        method: "alpha" (class probabilities stay), "temperature", "vector", "matrix" or "dirichlet".
        bias_penalty, weight_penalty: (48), (49), where the method has them; see `choose_penalties`.
        penalty, normalise: of alpha-calibration, see `concentration`.

    Raises:
        ValueError: a probability of 0 where its logarithm is needed or its class was given, or a class
            without labels.
    """
    choose("method", method, CALIBRATIONS)
    check_probabilities(histograms, probabilities)
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
    return _fit(key, histograms, p, bias_penalty, weight_penalty, penalty, method, normalise)


@eqx.filter_jit
def _fit(
    key: Array,
    histograms: Histograms,
    p: Any,
    bias_penalty: Any,
    weight_penalty: Any,
    penalty: Any,
    method: str,
    normalise: str,
) -> Calibrator:
    scaling, scaled = None, as_array(p)
    if method != "alpha":
        log_p = safe_log(scaled)
        lambda_b = 0.0 if method == "temperature" else bias_penalty
        lambda_w = weight_penalty if method in ("matrix", "dirichlet") else 0.0
        options: dict[str, Any] = {"bias_penalty": lambda_b, "weight_penalty": lambda_w}
        scaling = fit_scaling(log_p, histograms, method=method, **options)
        scaled = jnp.exp(scaled_log_probabilities(scaling, log_p))
    options = {"penalty": penalty, "normalise": normalise}
    return Calibrator(
        scaling, fit_concentration_head(key, _features(scaled), histograms, scaled, **options).head
    )


def epistemic_after_one_label(
    histograms: Histograms, law: Calibrated, *, where: Where = None
) -> Float[Array, " samples"]:
    """Unbiased epistemic loss (10) of the posterior (19) after one label, judged by the other labels.

    The mean over which label is seen: sum_k y_k / n EL(y - e_k, (alpha_0 f + e_k) / (alpha_0 + 1)). Samples
    need three labels: NaN otherwise, and outside `where`.
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
    usable = (jnp.asarray(histograms.n) > 2) if where is None else (jnp.asarray(histograms.n) > 2) & where
    return jnp.where(usable, total, jnp.nan)
