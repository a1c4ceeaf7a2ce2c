"""Channels of labelers, and entropies in bits."""

import math

import numpy as np


def entropy(p):
    return -sum(x * math.log2(x) for x in p if x > 0)


def matrices(seed, num_labelers, num_classes):
    """Random confusion matrices."""
    return np.random.default_rng(seed).dirichlet(np.ones(num_classes), (num_labelers, num_classes))
