"""E[A/(A+B) | A+B > 0] of independent coins, some of them chosen: the means of Algorithms 2 and 4.

With y_1, y_2, ... independent given the operating point (or the confusion matrix), the metric "share of the
positives that are predicted positive" is such a ratio of two Poisson-binomial counts (Su 2023, 2.2).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_POWERS = 8
_ENOUGH = 64.0  # expected count above which 8 power sums give 1e-10 (at 50: 4e-10)
_BLOCK = 4096  # samples whose powers stay in the cache


def mean_shares(
    p: Float[Array, "sets samples"],
    chosen: Bool[Array, "choices samples"],
    weight: Float[Array, " samples"] | None = None,
) -> Float[Array, "sets choices"]:
    """E[A/(A+B) | A+B > 0], A (B) the number of heads among (not) chosen coins with probabilities p.

    `weight` is how many coins of each there are, where equal ones are merged (or on a grid).
    E[A/(A+B); A+B > 0] = integral_0^1 G_A'(t) G_B(t) dt with the probability generating functions G; with
    t = 1 - u both are expanded in u when the expected count is large, else evaluated node by node. Sets that
    are all large are expanded together.
    """
    every = jnp.ones_like(p[:1]) if weight is None else weight[None]
    picked = chosen.astype(p.dtype) * every
    expected = (p * every).sum(axis=1)
    reach = jnp.minimum(1.0, 40.0 / jnp.maximum(expected, 1e-30))[:, None]
    u = 0.5 * reach * (1.0 + jnp.asarray(_NODES, p.dtype)[None, :])
    gauss = 0.5 * reach * jnp.asarray(_WEIGHTS, p.dtype)[None, :]

    def by_nodes(p, u, expected):
        heads = p * u[0][:, None]
        logs, nobody = jnp.log1p(-heads), jnp.log1p(-p[0])
        if weight is not None:  # none of a coin: 0 times the log of 0
            logs = logs * every
            nobody = jnp.where(weight == 0, 0, weight * jnp.where(weight == 0, 0, nobody))
        slope = _product(picked, p / (1.0 - heads))
        return slope[None], logs.sum(1)[None], nobody.sum()[None]

    def by_powers(p, u, expected):
        sums = _power_sums(p, jnp.concatenate([every, picked]))[..., None]
        log_g = jnp.zeros_like(u)
        slope = jnp.zeros_like(u)[:, None, :]
        for k in range(_POWERS, 0, -1):  # Horner
            log_g = (log_g - sums[k - 1, :, 0] / k) * u
            slope = (slope + sums[k, :, 1:]) * u[:, None, :]
        return slope + sums[0, :, 1:], log_g, -expected  # P(no head) <= exp(-expected) < 2e-28: as good as 0

    def one_by_one(p, u, expected):
        def one(of_set):
            alone = [part[None] for part in of_set]
            found = jax.lax.cond(of_set[2] > _ENOUGH, by_powers, by_nodes, *alone)
            return tuple(part[0] for part in found)

        return jax.lax.map(one, (p, u, expected))

    many = (expected > _ENOUGH).all()
    slope, log_g, log_no_head = jax.lax.cond(many, by_powers, one_by_one, p, u, expected)
    inside = (gauss * jnp.exp(log_g))[:, None, :]
    return (inside * slope).sum(axis=2) / -jnp.expm1(log_no_head)[:, None]


def _power_sums(
    p: Float[Array, "sets samples"], weights: Float[Array, "columns samples"]
) -> Float[Array, "powers sets columns"]:
    """Weighted sums of p, p^2, ..., block by block where samples are many."""
    samples = p.shape[1]
    if samples > _BLOCK:
        blocks = -(-samples // _BLOCK)
        filled = ((0, 0), (0, blocks * _BLOCK - samples))
        parts = [jnp.pad(x, filled).reshape(len(x), blocks, _BLOCK).swapaxes(0, 1) for x in (p, weights)]
        zero = jnp.zeros((_POWERS + 1, p.shape[0], weights.shape[0]), p.dtype)
        return jax.lax.scan(lambda sums, part: (sums + _power_sums(*part), None), zero, tuple(parts))[0]
    powers = [p]
    for _ in range(_POWERS):
        powers.append(powers[-1] * p)
    sums = _product(jnp.concatenate(powers), weights)
    return sums.reshape(_POWERS + 1, p.shape[0], weights.shape[0])


def _product(
    a: Float[Array, "rows samples"], b: Float[Array, "columns samples"]
) -> Float[Array, "rows columns"]:
    """a @ b.T in full precision: accelerators may round float32 products to 10 bits otherwise."""
    return jnp.matmul(a, b.T, precision=jax.lax.Precision.HIGHEST)
