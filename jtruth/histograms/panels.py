"""Statistics of several labels of one sample: disagreement, unanimity, the strength of a majority.

A symmetric kernel phi of n labels is a function of their histogram h = (h_1 ... h_C), h_1 + ... + h_C = n.
Its mean over all subsets of n of a sample's labels, (16) = (39), is unbiased for E[phi | sample] if the
sample has n labels or more (Mimori et al. 2021, section 4). No subset is listed: subsets with the same
histogram are counted, by prod_k C(y_k, h_k) / C(N, n), and what is summed over h is built class by class.

One sum serves three laws of h, so the same kernel is also predicted:

    weights          h of a panel of n drawn
    C(y_k, h_k)      from the labels of a sample, without replacement: U-statistics
    z_k^h / h!       from class probabilities z: multinomial
    a_k^(h) / h!     from class probabilities with a Dirichlet law of parameters a (rising factorials)

`panel_moments` gives mean and mean square of phi; the expected loss (40) of a prediction needs both, unless
phi is 0 or 1. Calibration losses of such predictions (42)-(45) are `calibration_loss(mean[:, None],
prediction[:, None])`.
"""

from collections.abc import Callable
from functools import cache
from itertools import combinations_with_replacement
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jtruth._arrays import as_array
from jtruth._one_line import one_line
from jtruth.histograms.label_counts import Histograms
from jtruth.histograms.losses import mu_variance

Weights = Float[Array, "samples classes sizes"]
Samples = Float[Array | np.ndarray, " samples"]


class PanelMoments(NamedTuple):
    """Of phi over panels, for each sample; NaN where a sample has fewer labels than the panel."""

    mean: Float[Array, " samples"]
    square: Float[Array, " samples"]  # mean of phi^2

    __repr__ = one_line


class Kernel(NamedTuple):
    """phi of a panel of `size` labels: `moments` turns weights by class and number into `PanelMoments`."""

    size: int
    moments: Callable[[Weights], PanelMoments]

    __repr__ = one_line


@eqx.filter_jit
def disagreement(histograms: Histograms, dtype=None) -> Float[Array, " samples"]:
    """(16) for "two labels differ": 1 - sum y (y - 1) / (n (n - 1)), the Gini-Simpson index; NaN if n = 1."""
    dtype = jnp.result_type(float) if dtype is None else dtype
    n = jnp.asarray(histograms.n).astype(dtype)
    return (n * mu_variance(histograms, dtype).sum(axis=1)).astype(dtype)


@eqx.filter_jit
def label_weights(histograms: Histograms, size: int, dtype=None) -> Weights:
    """C(y_k, h) for h = 0..size: panels drawn from a sample's labels. All NaN where n < size."""
    dtype = jnp.result_type(float) if dtype is None else dtype
    y = jnp.asarray(histograms.counts).astype(dtype)
    enough = (jnp.asarray(histograms.n) >= size)[:, None, None]
    return jnp.where(enough, _running(lambda h: jnp.maximum(y - h, 0.0), y, size), jnp.nan)


@eqx.filter_jit
def multinomial_weights(probabilities: Float[Array | np.ndarray, "samples classes"], size: int) -> Weights:
    """z_k^h / h!: panels drawn from class probabilities."""
    z = as_array(probabilities)
    return _running(lambda h: z, z, size)


@eqx.filter_jit
def dirichlet_weights(
    probabilities: Float[Array | np.ndarray, "samples classes"], concentration: Samples, size: int
) -> Weights:
    """Rising factorials of alpha_0 z_k over h!, scaled by 1/(1 + alpha_0) each: safe for any alpha_0."""
    z = as_array(probabilities)
    alpha = as_array(concentration)[:, None]
    near, far = alpha / (1 + alpha), 1 / (1 + alpha)
    return _running(lambda h: near * z + far * h, z, size)


def _running(factor: Callable[[int], Array], like: Array, size: int) -> Weights:
    """Products of factor(0) ... factor(h - 1) over h!, for h = 0..size."""
    rows = [jnp.ones_like(like)]
    for h in range(size):
        rows.append(rows[-1] * factor(h) / (h + 1))
    return jnp.stack(rows, axis=-1)


@eqx.filter_jit
def panel_moments(kernel: Kernel, weights: Weights) -> PanelMoments:
    """Mean and mean square of phi over panels drawn by `weights`, whose last axis is 0..kernel.size.

    Example:
        >>> from jtruth.histograms import from_counts, label_weights, panel_moments, unanimity
        >>> mean = panel_moments(unanimity(2), label_weights(from_counts([[3, 1], [4, 0]]), 2)).mean
        >>> print(mean)
        [0.5 1. ]
    """
    if weights.shape[-1] != kernel.size + 1:
        raise ValueError(
            f"the kernel is of {kernel.size} labels but the weights go to {weights.shape[-1] - 1}: make them "
            f"with size={kernel.size}"
        )
    return kernel.moments(weights)


def _product(a: Array, b: Array) -> Array:
    """Coefficients 0..n of the product of two polynomials (..., n + 1)."""
    size = a.shape[-1]
    return jnp.stack(
        [(a[..., : d + 1] * jnp.flip(b[..., : d + 1], -1)).sum(-1) for d in range(size)], axis=-1
    )


def _total(weights: Weights) -> Array:
    """Sum over all h with |h| = n of the product of weights."""
    out = weights[:, 0]
    for k in range(1, weights.shape[1]):
        out = _product(out, weights[:, k])
    return out[..., -1]


@cache
def unanimity(size: int) -> Kernel:
    """1 if all labels of the panel agree, else 0."""
    check_size(size)

    def moments(weights: Weights) -> PanelMoments:
        mean = weights[:, :, -1].sum(axis=1) / _total(weights)
        return PanelMoments(mean, mean)

    return Kernel(size, moments)


@cache
def majority_strength(size: int) -> Kernel:
    """Share of the panel that the largest group has: 1 if unanimous."""
    check_size(size)

    def moments(weights: Weights) -> PanelMoments:
        degree = jnp.arange(size + 1)
        below = [_total(jnp.where((degree <= t)[None, None], weights, 0.0)) for t in range(size + 1)]
        cdf = jnp.stack(below, axis=-1) / _total(weights)[:, None]
        pmf = jnp.diff(cdf, axis=-1)
        share = (jnp.arange(1, size + 1) / size).astype(pmf.dtype)
        return PanelMoments((pmf * share[None]).sum(axis=1), (pmf * share[None] ** 2).sum(axis=1))

    return Kernel(size, moments)


@cache
def panel_entropy(size: int) -> Kernel:
    """Entropy of the panel's histogram in nats: 0 if unanimous."""
    check_size(size)
    share = np.arange(size + 1) / size
    return additive(size, -share * np.log(np.where(share > 0, share, 1)))


def additive(size: int, term: Float[np.ndarray, " sizes"]) -> Kernel:
    """phi = sum_k term[h_k], for any table of terms for h = 0..size."""
    check_size(size)

    def moments(weights: Weights) -> PanelMoments:
        g = jnp.asarray(term, weights.dtype)[None, None]
        zeroth, first, second = weights, weights * g, weights * g**2
        a, b, c = zeroth[:, 0], first[:, 0], second[:, 0]
        for k in range(1, weights.shape[1]):
            w0, w1, w2 = zeroth[:, k], first[:, k], second[:, k]
            c = _product(c, w0) + 2 * _product(b, w1) + _product(a, w2)
            a, b = _product(a, w0), _product(b, w0) + _product(a, w1)
        return PanelMoments(b[:, -1] / a[:, -1], c[:, -1] / a[:, -1])

    return Kernel(size, moments)


def any_kernel(phi: Callable[[np.ndarray], float], size: int, num_classes: int) -> Kernel:
    """Any symmetric phi, given as a function of the panel's histogram (classes,).

    All C(size + classes - 1, size) histograms are tabulated, so small panels only; the ready kernels need no
    table.
    """
    check_size(size)
    panels = [
        np.bincount(p, minlength=num_classes) for p in combinations_with_replacement(range(num_classes), size)
    ]
    table = np.array(panels)
    values = np.array([float(phi(h)) for h in panels])

    def moments(weights: Weights) -> PanelMoments:
        def add(carry: tuple, row: tuple) -> tuple:
            h, value = row
            one = jnp.take_along_axis(weights, h[None, :, None], axis=2)[..., 0].prod(axis=1)
            return (carry[0] + one, carry[1] + value * one, carry[2] + value**2 * one), None

        start = (jnp.zeros(weights.shape[0], weights.dtype),) * 3
        rows = (jnp.asarray(table), jnp.asarray(values, weights.dtype))
        (total, first, second), _ = jax.lax.scan(add, start, rows)
        return PanelMoments(first / total, second / total)

    return Kernel(size, moments)


def statistic_loss(moments: PanelMoments, predicted: Samples) -> Float[Array, " samples"]:
    """(40): mean over panels of (phi - prediction)^2, unbiased for the expected loss (37)."""
    p = jnp.asarray(predicted, moments.mean.dtype)
    return moments.square - 2 * p * moments.mean + p**2


def check_size(size: int) -> None:
    """Panels have two labels or more."""
    if size < 2:
        raise ValueError(f"a panel needs two labels or more, got size={size}")
