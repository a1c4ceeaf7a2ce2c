"""Losses of class probabilities against histograms, each by sample and class, so that they add up.

mu is the share of labels, z the predicted probability, n the number of labels. With Q the class probabilities
behind the labels and Y one label, E denotes the mean over samples and labels (Mimori et al. 2021, section 3):

    expected squared loss  L  = E |Y - z|^2        (8), (23): unbiased for any n >= 1
    epistemic loss         EL = E |Q - z|^2        plugin (9), unbiased (10), (28): n >= 2
    expected log loss           E -log z_Y         unbiased for any n >= 1
    epistemic log loss          E KL(Q | z)        no unbiased estimator exists; see `epistemic_log_loss`

L = EL + IL where IL = E |Y - Q|^2 is the labelers' own disagreement: nobody can predict better. The binary
forms (3) are half of the sums over two classes. Means over samples with weights (25) and their standard
errors are in `mean_of`. Pure JAX; `where` masks are given to `mean_of`, and an empty row gives 0, not NaN.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import digamma
from jaxtyping import Array, Bool, Float

from jtruth._arrays import as_array, safe_log
from jtruth._one_line import one_line
from jtruth.histograms.label_counts import Histograms, samples_of

Probabilities = Float[Array | np.ndarray, "samples classes"]
ByClass = Float[Array, "samples classes"]


class Mean(NamedTuple):
    """A mean over samples and its standard error."""

    value: Float[Array, ""]
    standard_error: Float[Array, ""]

    __repr__ = one_line


@eqx.filter_jit
def squared_loss(histograms: Histograms, probabilities: Probabilities) -> ByClass:
    """(23): (mu - z)^2 + mu (1 - mu), the mean over a sample's labels of (Y_k - z_k)^2, unbiased."""
    z = as_array(probabilities)
    mu = histograms.shares(z.dtype)
    return (mu - z) ** 2 + mu * (1 - mu)


@eqx.filter_jit
def epistemic_loss(histograms: Histograms, probabilities: Probabilities, *, debias: bool = True) -> ByClass:
    """(28): (mu - z)^2 - mu (1 - mu) / (n - 1), unbiased for (Q_k - z_k)^2; without `debias` the plugin (27).

    A sample with one label says nothing about its disagreement: NaN, so that it cannot be overlooked (leave
    it out by `with_at_least`, or by `where` in `mean_of`).
    """
    z = as_array(probabilities)
    mu = histograms.shares(z.dtype)
    plugin = (mu - z) ** 2
    return plugin - mu_variance(histograms, z.dtype) if debias else plugin


def mu_variance(histograms: Histograms, dtype) -> ByClass:
    """mu (1 - mu) / (n - 1): unbiased for Q (1 - Q) / n, the variance of mu given Q. NaN if n = 1."""
    mu, n = histograms.shares(dtype), jnp.asarray(histograms.n)[:, None]
    value = mu * (1 - mu) / jnp.maximum(n - 1, 1).astype(dtype)
    return jnp.where(n == 1, jnp.nan, value)


@eqx.filter_jit
def log_loss(histograms: Histograms, probabilities: Probabilities) -> ByClass:
    """-mu log z: unbiased for -Q_k log z_k; infinite where a class that was predicted with 0 occurs."""
    z = as_array(probabilities)
    mu = histograms.shares(z.dtype)
    return jnp.where(mu > 0, -mu * jnp.where(mu > 0, safe_log(z), 0.0), 0.0)


@eqx.filter_jit
def epistemic_log_loss(
    histograms: Histograms, probabilities: Probabilities, *, debias: bool = True
) -> ByClass:
    """KL(Q | z): the plugin puts mu for Q; `debias` uses mu (psi(n) - psi(y)) for the entropy of Q.

    No unbiased estimator exists: the expectation of any function of n labels is a polynomial in Q of degree n
    at most, and -Q log Q is none. The entropy estimator used (Zhang 2012; Chao, Wang and Jost 2013) is
    unbiased for its series up to that degree. What remains, E sum_{j >= n} Q_k (1 - Q_k)^j / j, makes the
    loss too large, by less than the plugin does.
    """
    z = as_array(probabilities)
    mu, n = histograms.shares(z.dtype), jnp.asarray(histograms.n).astype(z.dtype)[:, None]
    if debias:
        y = jnp.asarray(histograms.counts).astype(z.dtype)
        entropy = mu * (digamma(jnp.maximum(n, 1.0)) - digamma(jnp.maximum(y, 1.0)))
    else:
        entropy = -mu * jnp.where(mu > 0, safe_log(mu), 0.0)
    return log_loss(histograms, z) - entropy


@eqx.filter_jit
def mean_of(
    terms: Float[Array, " samples"],
    *,
    weights: Float[Array | np.ndarray, " samples"] | None = None,
    where: Bool[Array | np.ndarray, " samples"] | None = None,
) -> Mean:
    """Weighted mean of one number for each sample, as in (23), and its standard error by (25).

    Samples are taken as drawn at random; the error is the root of sum w^2 (x - mean)^2 N / (N - 1) over sum
    w.
    """
    terms, mask = as_array(terms), samples_of(where, terms.shape[0])
    w = mask.astype(terms.dtype) if weights is None else jnp.where(mask, as_array(weights), 0.0)
    x, number = jnp.where(mask, terms, 0.0), mask.sum().astype(terms.dtype)
    share = w / w.sum()
    value = (share * x).sum()
    spread = (share**2 * (x - value) ** 2).sum() * number / (number - 1)
    return Mean(value, jnp.sqrt(spread))


@eqx.filter_jit
def best_weights(histograms: Histograms, probabilities: Probabilities) -> Float[Array, " samples"]:
    """Weights that minimise the variance (25) of the squared loss when n differs, estimated from the data.

    The variance of one sample's term is a + b / n: a of the samples' own losses, b within a sample. The best
    weights are 1 / (a + b / n): equal if b = 0, n if a = 0 (appendix B.1). b is the mean variance between the
    labels of a sample, a what is left of the variance between samples, 0 if that is negative. Equal weights
    where no sample has two labels. Weighted means are unbiased only if n has nothing to do with the loss.
    """
    z = as_array(probabilities)
    n, y = jnp.asarray(histograms.n).astype(z.dtype), jnp.asarray(histograms.counts).astype(z.dtype)
    by_label = 1 - 2 * z + (z**2).sum(axis=1, keepdims=True)  # |e_k - z|^2
    mean = (y * by_label).sum(axis=1) / jnp.maximum(n, 1.0)
    squares = (y * (by_label - mean[:, None]) ** 2).sum(axis=1)
    several = n > 1
    within = jnp.where(several, squares / jnp.maximum(n - 1, 1.0), 0.0).sum() / jnp.maximum(
        several.sum().astype(z.dtype), 1.0
    )
    between = jnp.maximum(mean.var() - within * (1 / jnp.maximum(n, 1.0)).mean(), 0.0)
    weights = 1 / (between + within / jnp.maximum(n, 1.0))
    return jnp.where(n > 0, jnp.where(jnp.isfinite(weights) & several.any(), weights, 1.0), 0.0)
