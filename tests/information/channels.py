"""Channels of labelers, entropies in bits, and information by two exact ways."""

import math

import numpy as np

from jtruth.information.dist import (
    counts_information,
    equal_labelers,
    independent_information,
    label_distribution,
)


def entropy(p):
    return -sum(x * math.log2(x) for x in p if x > 0)


def matrices(seed, num_labelers, num_classes):
    """Random confusion matrices."""
    return np.random.default_rng(seed).dirichlet(np.ones(num_classes), (num_labelers, num_classes))


def by_both(rows, prior, **options):
    """I(Z; Y) of independent labelers by sums over counts and by the integral."""
    dist, prior = label_distribution(rows, **options), np.asarray(prior, float)
    of_kinds, sizes = equal_labelers(dist.rows)
    integral = independent_information(dist._replace(rows=of_kinds), prior, sizes[None])
    return counts_information(dist, prior), float(integral[0])
