"""Information by simulation, with a standard error: for labels whose sum has too many terms.

Draw labels, look at the class posterior rho that they give, and average its divergence from the prior:
I(Z; Y) = E KL(rho || prior). That is never negative, and small where there is little to learn. The posterior
is on average the prior, so its C entries, less the prior, are quantities of known mean 0; the part of the
divergence that they explain by linear regression is taken away before averaging (control variates), which
leaves a much smaller error for good labelers, whose divergence is nearly a function of the class.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray
from scipy.special import logsumexp, rel_entr

from jtruth._host import log
from jtruth._random import required_key
from jtruth.information._entropy import BITS
from jtruth.information.law import LabelLaw
from jtruth.noise.base import draw_rows

_BLOCK = 1 << 22  # random numbers held at once


def monte_carlo_information(
    key: Any, law: LabelLaw, prior: Float[np.ndarray, " classes"], num_draws: int
) -> tuple[float, float]:
    """I(Z; Y) in bits and its standard error, from `num_draws` samples of any law.

    Args:
        key: a whole number or a JAX key.
        law: its strata are seen by nobody.
        prior: (classes,), float64.
        num_draws: number of simulated samples.

    Example:
        >>> import jax
        >>> from jtruth.information.law import label_law
        >>> from jtruth.noise import Symmetric
        >>> law = label_law(Symmetric(.25, 2), num_labelers=9)
        >>> bits, error = monte_carlo_information(jax.random.key(0), law, np.array([225, 126]) / 351, 10_000)
        >>> abs(bits - 0.75780) < 4 * error < .02
        True
    """
    step = max(1, _BLOCK // max(1, law.num_labelers * law.rows.shape[3]))
    starts = range(0, num_draws, step)
    blocks = [
        _log_likelihood(law, _draw(k, law, prior, min(step, num_draws - start)))
        for start, k in zip(starts, jax.random.split(required_key(key), len(starts)), strict=True)
    ]
    return average_information(np.concatenate(blocks), prior)


def average_information(
    log_likelihood: Float[np.ndarray, "draws classes"], prior: Float[np.ndarray, " classes"]
) -> tuple[float, float]:
    """Mean divergence of posterior and prior in bits, and its standard error, from draws of p(z)."""
    possible = prior > 0
    joint = log_likelihood[:, possible] + np.log(prior[possible])
    rho = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    divergence = rel_entr(rho, prior[possible]).sum(axis=1) * BITS
    design = np.column_stack([np.ones(len(rho)), (rho - prior[possible])[:, 1:]])
    solution = np.linalg.lstsq(design, divergence)[0]
    residual = divergence - design @ solution
    freedom = max(1, len(rho) - design.shape[1])
    return float(solution[0]), float(np.sqrt(residual @ residual / freedom / len(rho)))


def _draw(
    key: PRNGKeyArray, law: LabelLaw, prior: np.ndarray, size: int
) -> Int[np.ndarray, "draws labelers"]:
    """Symbols of `size` samples: class, stratum given the class, symbols given both."""
    rows = np.moveaxis(law.rows, 1, 2)  # (strata, classes, labelers, symbols)
    return np.asarray(_drawn(key, *(jnp.asarray(p, float) for p in (prior, law.weights.T, rows)), size=size))


@partial(jax.jit, static_argnames="size")
def _drawn(
    key: PRNGKeyArray,
    prior: Float[Array, " classes"],
    weights: Float[Array, "classes strata"],
    rows: Float[Array, "strata classes labelers symbols"],
    *,
    size: int,
) -> Int[Array, "draws labelers"]:
    key_y, key_s, key_z = jax.random.split(key, 3)
    y = draw_rows(key_y, jnp.broadcast_to(prior, (size, prior.size)))
    s = draw_rows(key_s, weights[y])
    return draw_rows(key_z, rows[s, y])


def _log_likelihood(
    law: LabelLaw, z: Int[np.ndarray, "draws labelers"]
) -> Float[np.ndarray, "draws classes"]:
    """log p(z | y) in float64, summed over the strata, (draws, classes)."""
    log_rows, log_weights = log(law.rows), log(law.weights)
    total = np.repeat(log_weights[..., None], len(z), axis=-1)  # (strata, classes, draws)
    for t in range(law.num_labelers):
        total += log_rows[:, t][..., z[:, t]]
    return np.asarray(logsumexp(total, axis=0)).T
