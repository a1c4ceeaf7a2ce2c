"""Problems of several classes."""

import jax.numpy as jnp
import numpy as np


def random_case(seed, samples, classes, symbols):
    """Likelihoods, prior and predictions."""
    rng = np.random.default_rng(seed)
    lik = rng.dirichlet(np.ones(classes), samples)
    return lik, rng.dirichlet(3 * np.ones(classes)), rng.integers(0, symbols, samples).astype(np.int32)


def log_rho_of(lik, prior):
    """log p(class | labels), up to a constant of each sample."""
    return jnp.asarray(np.log(lik) + np.log(prior)[None, :])
