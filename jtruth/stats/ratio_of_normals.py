"""The ratio Z/W of two jointly normal variables (Su Appendix B, after Marsaglia 1965, 2006).

P_D, P_FA and F_beta are such ratios under normal counts (Su Table 16). Their mean is one of three:
`second_order_mean` (Taylor), `marsaglia_mean` (the printed closed form, 1 % off however small the variances
are), `mean_on_unit_interval` (an integral); `ratio_mean` chooses. Pure JAX functions of scalars.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf
from jaxtyping import Array, Float

from jtruth._arrays import largest
from jtruth._validation import choose

MOMENT_CONDITION = 4.0  # Marsaglia: moments are meaningful if mean(W) > 4 sd(W)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


class Ratio(NamedTuple):
    """First and second moments of jointly normal (Z, W): floats or arrays of one shape."""

    mean_z: Any
    mean_w: Any
    var_z: Any
    var_w: Any
    cov: Any


def second_order_mean(ratio: Ratio) -> Any:
    """E[Z/W] to second order in the deviations: mz/mw - cov/mw^2 + var_w mz/mw^3."""
    return (
        ratio.mean_z - ratio.cov / ratio.mean_w + ratio.var_w * ratio.mean_z / ratio.mean_w**2
    ) / ratio.mean_w


def second_order_variance(ratio: Ratio) -> Any:
    """var(Z/W) to second order: (var_z - 2 q cov + q^2 var_w)/mw^2 with q = mz/mw."""
    q = ratio.mean_z / ratio.mean_w
    return (ratio.var_z - 2.0 * q * ratio.cov + q**2 * ratio.var_w) / ratio.mean_w**2


def _regression(ratio: Ratio) -> tuple[Array, Array, Array, Array]:
    """(k, s, h >= 0, sd_w) of Z = k + s W + h X', X' standard normal, independent of W; finite."""
    constant = ratio.var_w == 0
    var_w = jnp.where(constant, 1.0, ratio.var_w)
    s = jnp.where(constant, 0.0, ratio.cov / var_w)
    k, residual = ratio.mean_z - s * ratio.mean_w, ratio.var_z - s * ratio.cov
    linear = residual <= _rounding(ratio) * ratio.var_z
    h = jnp.where(linear, 0.0, jnp.sqrt(jnp.where(linear, 1.0, residual)))
    return k, s, h, jnp.sqrt(var_w)


def _rounding(ratio: Ratio) -> float:
    return 64.0 * float(jnp.finfo(jnp.result_type(ratio.var_z)).eps)


def marsaglia_mean(ratio: Ratio) -> Float[Array, "..."]:
    """Mean of Z/W by Marsaglia's closed form s + a/(r (1.01 b - .2713)), meant for b = mean(W)/sd(W) > 4.

    For large b it is off by about 1 %. Source: Su Appendix B, after Marsaglia (2006).

    >>> print(f"{marsaglia_mean(Ratio(0.3, 0.5, 4e-4, 9e-4, 2e-4)):.4f}")
    0.6024
    """
    k, s, _, sd_w = _regression(ratio)
    # a/r = k/sd_w, which stays finite when a and r do not.
    closed = s + k / sd_w / (1.01 * ratio.mean_w / sd_w - 0.2713)
    return jnp.where(ratio.var_w == 0, ratio.mean_z / ratio.mean_w, closed)


def density(ratio: Ratio, q: Float[Array, "..."]) -> Float[Array, "..."]:
    """Density of Z/W at q (Appendix B), written so that nothing overflows; NaN where var_w = 0.

    exp(-(a^2+b^2)/2) exp(t-quantile^2/2) = exp(-(a - b t)^2 / (2 (1 + t^2))), which is at most 1. Fractions
    are multiplied by h, so that h = 0 (Z = k + s W) gives the density of s + k/W.
    """
    k, s, h, sd_w = _regression(ratio)
    b, d = ratio.mean_w / sd_w, sd_w * (q - s)  # d = t h
    root = jnp.hypot(h, d)
    root = jnp.where(root == 0, jnp.finfo(root.dtype).tiny ** 0.25, root)  # h = 0 and q = s: the density is 0
    scaled = (b * h**2 + k * d) / root  # quantile times h
    linear = h == 0
    safe_h = jnp.where(linear, 1.0, h)
    bulge = jnp.where(linear, 0.0, h * jnp.exp(-0.5 * ((k / safe_h) ** 2 + b**2)))
    sign = jnp.where(linear, jnp.sign(scaled), erf(scaled / safe_h / jnp.sqrt(2.0)))
    ridge = jnp.exp(-0.5 * ((k - b * d) / root) ** 2) * scaled * jnp.sqrt(jnp.pi / 2.0) * sign
    return jnp.where(ratio.var_w == 0, jnp.nan, sd_w * (bulge + ridge) / (jnp.pi * root**2))


def mean_on_unit_interval(ratio: Ratio, *, normalised: bool = True) -> Float[Array, ""]:
    """Integral over [0, 1] of q p(q), divided by the mass there if `normalised` (the paper's is not).

    A point mass (no variance, or Z = s W: every prediction positive, say) gives its place.
    """
    # Nodes are concentrated where the density of Z/W is.
    centre = jnp.clip(ratio.mean_z / ratio.mean_w, 0.0, 1.0)
    spread = jnp.sqrt(jnp.maximum(second_order_variance(ratio), 0.0))
    offsets = jnp.asarray([-12.0, -5.0, 0.0, 5.0, 12.0], centre.dtype)
    edges = jnp.clip(centre + offsets * spread, 0.0, 1.0)
    edges = jnp.concatenate([jnp.zeros(1, centre.dtype), edges, jnp.ones(1, centre.dtype)])
    half = 0.5 * jnp.diff(edges)[:, None]
    middle = 0.5 * (edges[1:] + edges[:-1])[:, None]
    nodes = (middle + half * jnp.asarray(_NODES, centre.dtype)[None, :]).ravel()
    mass = density(ratio, nodes) * (half * jnp.asarray(_WEIGHTS, centre.dtype)[None, :]).ravel()
    point = second_order_variance(ratio) * ratio.mean_w**2 <= _rounding(ratio) * ratio.var_z
    total = jnp.sum(mass) if normalised else 1.0
    return jnp.where(point, ratio.mean_z / ratio.mean_w, jnp.sum(nodes * mass) / total)


MEANS = ("second_order", "marsaglia", "integral")


def ratio_mean(ratio: Ratio, mean: str = "second_order") -> Float[Array, ""]:
    """Mean of Z/W in Algorithm 1 (Su 2.4.1): a closed form if mean(W) > 4 sd(W), else an integral.

    Args:
        ratio: moments of (Z, W), scalars.
        mean: "second_order", the integral divided by the mass on [0, 1]; "marsaglia", both as printed, the
            integral not divided; or "integral", always integrated and divided.
    """
    choose("mean", mean, MEANS)
    if mean == "integral":
        return mean_on_unit_interval(ratio)
    printed = mean == "marsaglia"
    closed = marsaglia_mean(ratio) if printed else second_order_mean(ratio)
    exists = ratio.mean_w > MOMENT_CONDITION * jnp.sqrt(ratio.var_w)
    integrate = partial(mean_on_unit_interval, normalised=not printed)
    needed = largest(~jax.lax.stop_gradient(exists))  # two thirds of the time of Algorithm 1
    return jnp.where(exists, closed, jax.lax.cond(needed, integrate, lambda _: closed, ratio))
