"""Problems of several classes."""

import numpy as np


def random_case(seed, samples, classes, symbols):
    """Likelihoods, prior and predictions."""
    rng = np.random.default_rng(seed)
    lik = rng.dirichlet(np.ones(classes), samples)
    return lik, rng.dirichlet(3 * np.ones(classes)), rng.integers(0, symbols, samples).astype(np.int32)
