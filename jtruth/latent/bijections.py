"""Rows of probabilities as unconstrained coordinates, and Dirichlet distributions there.

log p = log softmax(B u) with an orthonormal basis B of the vectors that sum to 0 (isometric log ratios;
Egozcue et al. 2003). With y = log(p_k / p_C), d p / d y has determinant prod p_k and y = A u has determinant
sqrt(C), so

    p ~ Dirichlet(a)   has the density   sqrt(C) Gamma(sum a) / prod Gamma(a) prod p_k^a_k   in u.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jaxtyping import Float
from scipy.special import gammaln

from jtruth._arrays import AnyArray

_FARTHEST = 50.0  # log ratios of draws from the prior
_STRETCH = 2.0


def basis(symbols: int, dtype: Any = np.float32) -> Float[np.ndarray, "symbols others"]:
    """Orthonormal vectors that sum to 0 (Helmert's)."""
    return scipy.linalg.helmert(symbols).T.astype(dtype)


def log_rows(u: Float[AnyArray, "*rows others P"]) -> Float[AnyArray, "*rows symbols P"]:
    """Logs of probabilities from isometric log ratios."""
    weights, column = basis(u.shape[-2] + 1, u.dtype), (1,) * (u.ndim - 2) + (-1, 1)
    # not a product of matrices: XLA compiles and fuses sums of a few terms better
    logits = sum(weights[:, k].reshape(column) * u[..., k : k + 1, :] for k in range(weights.shape[1]))
    return jax.nn.log_softmax(logits, axis=-2)


def stretched(x: Float[AnyArray, "*shape"]) -> tuple[Float[AnyArray, "*shape"], Float[AnyArray, "*shape"]]:
    """Log ratios from coordinates, 2 sinh(x / 2), and the log of the derivative.

    With a concentration a below 1 log ratios have a long tail, of length 1 / a; these coordinates do not.
    """
    up, down = jnp.exp(x / _STRETCH), jnp.exp(-x / _STRETCH)
    return 0.5 * _STRETCH * (up - down), jnp.log(up + down) - float(np.log(2))


def unstretched(u: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Coordinates from log ratios."""
    return (_STRETCH * np.arcsinh(u / _STRETCH)).astype(np.float32)


def ratios(logs: Float[np.ndarray, "*rows symbols P"]) -> Float[np.ndarray, "*rows others P"]:
    """Isometric log ratios of rows whose logs are known up to a constant."""
    return np.clip(np.einsum("ko,...kp->...op", basis(logs.shape[-2]), logs), -_FARTHEST, _FARTHEST)


def constant(concentration: Float[np.ndarray, "*rows symbols"]) -> Float[np.ndarray, "*rows"]:
    """Log of the constant factor in the density of a Dirichlet distribution in these coordinates."""
    a = np.asarray(concentration, np.float64)
    return gammaln(a.sum(axis=-1)) - gammaln(a).sum(axis=-1) + 0.5 * np.log(a.shape[-1])


def log_sigmoid(x: Float[AnyArray, "*shape"]) -> Float[AnyArray, "*shape"]:
    """log(1 / (1 + exp(-x))), in fewer operations than `jax.nn.log_sigmoid` has."""
    size = jnp.abs(x)  # of derivative 0 at 0
    return 0.5 * (x - size) - jnp.log1p(jnp.exp(-size))
