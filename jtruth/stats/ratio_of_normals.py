"""The ratio Z/W of two jointly normal variables (Su Appendix B, after Marsaglia 1965, 2006).

P_D, P_FA and F_beta are such ratios when the counts are taken as normal (Su Table 16). The ratio has no
moments in the strict sense; what is called its mean here is one of three things, named:

- `second_order_mean`: Taylor expansion around the means, correct to second order. Its error vanishes as the
  variances do.
- `marsaglia_mean`: the printed closed form. It tends to be 1 % off in T' however small the variances are,
  because 1.01 b - .2713 is a fit for moderate b; kept to reproduce the paper.
- `mean_on_unit_interval`: numerical integral of q p(q) over [0, 1], as it stands or divided by the mass there.

Pure JAX functions of scalars; they broadcast and vmap.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf
from jaxtyping import Array, Float

MOMENT_CONDITION = 4.0  # Marsaglia: moments are meaningful if mean(W) > 4 sd(W)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


class Ratio(NamedTuple):
    """First and second moments of (Z, W)."""

    mean_z: Array
    mean_w: Array
    var_z: Array
    var_w: Array
    cov: Array


def second_order_mean(ratio: Ratio) -> Float[Array, "..."]:
    """E[Z/W] to second order in the deviations: mz/mw - cov/mw^2 + var_w mz/mw^3."""
    return (ratio.mean_z - ratio.cov / ratio.mean_w + ratio.var_w * ratio.mean_z / ratio.mean_w**2) / ratio.mean_w


def second_order_variance(ratio: Ratio) -> Float[Array, "..."]:
    """var(Z/W) to second order: (var_z - 2 q cov + q^2 var_w)/mw^2 with q = mz/mw."""
    q = ratio.mean_z / ratio.mean_w
    return (ratio.var_z - 2.0 * q * ratio.cov + q**2 * ratio.var_w) / ratio.mean_w**2


class Marsaglia(NamedTuple):
    """Z/W = s + T'/r with T' = (a + X')/(b + Y'), X', Y' independent standard normal (Appendix B, steps 1-3)."""

    a: Array
    b: Array
    r: Array
    s: Array


def marsaglia_form(ratio: Ratio) -> Marsaglia:
    """Appendix B, steps 1 and 2; the sign of h makes a and b agree in sign."""
    sd_w = jnp.sqrt(ratio.var_w)
    s = ratio.cov / ratio.var_w
    b = ratio.mean_w / sd_w
    residual = jnp.sqrt(jnp.maximum(ratio.var_z - ratio.cov**2 / ratio.var_w, 0.0))
    h = jnp.where((ratio.mean_z - s * ratio.mean_w) * b < 0, -residual, residual)
    return Marsaglia(a=(ratio.mean_z - s * ratio.mean_w) / h, b=b, r=sd_w / h, s=s)


def moments_exist(ratio: Ratio, threshold: float = MOMENT_CONDITION) -> Array:
    """The moment-approximation condition (MAC): mean(W) > threshold * sd(W)."""
    return ratio.mean_w > threshold * jnp.sqrt(ratio.var_w)


def marsaglia_mean(ratio: Ratio) -> Float[Array, "..."]:
    """The printed mean s + a/(r (1.01 b - .2713)), Appendix B."""
    form = marsaglia_form(ratio)
    return form.s + form.a / (1.01 * form.b - 0.2713) / form.r


def marsaglia_variance(ratio: Ratio) -> Float[Array, "..."]:
    """The printed variance ((a^2 + 1)/(b^2 + .108 b - 3.795) - mean(T')^2)/r^2, Appendix B."""
    form = marsaglia_form(ratio)
    mean = form.a / (1.01 * form.b - 0.2713)
    return ((form.a**2 + 1.0) / (form.b**2 + 0.108 * form.b - 3.795) - mean**2) / form.r**2


def density(ratio: Ratio, q: Float[Array, "..."]) -> Float[Array, "..."]:
    """Density of Z/W at q (Appendix B), written so that nothing overflows.

    exp(-(a^2+b^2)/2) exp(t-quantile^2/2) = exp(-(a - b t)^2 / (2 (1 + t^2))), which is at most 1.
    """
    a, b, r, s = marsaglia_form(ratio)
    t = r * (q - s)
    root = jnp.sqrt(1.0 + t**2)
    quantile = (b + a * t) / root
    ridge = jnp.exp(-0.5 * ((a - b * t) / root) ** 2) * quantile * jnp.sqrt(jnp.pi / 2.0) * erf(quantile / jnp.sqrt(2.0))
    return jnp.abs(r) * (jnp.exp(-0.5 * (a**2 + b**2)) + ridge) / (jnp.pi * root**2)


def unit_interval_nodes(ratio: Ratio) -> tuple[Float[Array, " nodes"], Float[Array, " nodes"]]:
    """Quadrature nodes and weights on [0, 1], concentrated where the density of Z/W is."""
    centre = jnp.clip(ratio.mean_z / ratio.mean_w, 0.0, 1.0)
    spread = jnp.sqrt(jnp.maximum(second_order_variance(ratio), 0.0))
    offsets = jnp.asarray([-12.0, -5.0, 0.0, 5.0, 12.0], centre.dtype)
    edges = jnp.clip(centre + offsets * spread, 0.0, 1.0)
    edges = jnp.concatenate([jnp.zeros(1, centre.dtype), edges, jnp.ones(1, centre.dtype)])
    half = 0.5 * jnp.diff(edges)[:, None]
    middle = 0.5 * (edges[1:] + edges[:-1])[:, None]
    nodes = middle + half * jnp.asarray(_NODES, centre.dtype)[None, :]
    return nodes.ravel(), (half * jnp.asarray(_WEIGHTS, centre.dtype)[None, :]).ravel()


def mean_on_unit_interval(ratio: Ratio, *, normalised: bool) -> Float[Array, ""]:
    """Integral over [0, 1] of q p(q), divided by the mass there when `normalised` (the paper's is not)."""
    nodes, weights = unit_interval_nodes(ratio)
    mass = density(ratio, nodes) * weights
    total = jnp.sum(mass) if normalised else jnp.ones((), nodes.dtype)
    return jnp.sum(nodes * mass) / total
