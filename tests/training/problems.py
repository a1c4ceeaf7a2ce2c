"""Samples with noisy labels that the tests of training share."""

import numpy as np


def problem(seed=0, n=60, c=2, features=3):
    """Features, true classes, and the log-likelihood of noisy labels."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, features))
    y = np.argmax(x @ rng.normal(size=(features, c)) + rng.gumbel(size=(n, c)), axis=1)
    return x, y, np.log(rng.random((n, c)) + (y[:, None] == np.arange(c)))


def crowd(matrices, seed=0, n=400, shown=1.0):
    """Two classes that two features tell apart, and the labels of a few labelers, at least one a sample."""
    rng, matrices = np.random.default_rng(seed), np.array(matrices)
    y = rng.integers(0, 2, n)
    x = rng.normal(size=(n, 2)) + np.array([2.0, -1.0]) * y[:, None]
    z = (rng.random((n, len(matrices))) < matrices[:, y, 1].T).astype(int)
    hidden = rng.random(z.shape) > shown
    hidden[np.arange(n), rng.integers(0, len(matrices), n)] = False
    return x, y, np.where(hidden, -1, z)
