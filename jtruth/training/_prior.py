"""The class prior from noisy labels of known noise: maximum likelihood by EM, on the host."""

import numpy as np
from jaxtyping import Float

_STEPS, _TOL = 10_000, 1e-10


def estimated_prior(
    log_likelihood: Float[np.ndarray, "samples classes"],
) -> Float[np.ndarray, " classes"]:
    """The prior pi that maximises sum_i log sum_c pi[c] p(z_i | c), a concave function: one maximum.

    EM from the uniform prior: pi becomes the mean class posterior, until no entry moves by 1e-10.
    """
    top = log_likelihood.max(axis=1, keepdims=True)
    likelihood = np.exp(log_likelihood - np.where(np.isfinite(top), top, 0))
    prior = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(_STEPS):
        joint = likelihood * prior
        new = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
        if np.abs(new - prior).max() < _TOL:
            break
        prior = new
    return new / new.sum()
