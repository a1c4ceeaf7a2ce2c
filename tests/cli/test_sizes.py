"""Sizes beyond every sampler: an answer, or a sentence with the reason for a refusal.

`benchmarks/engine.py sizes` measures the times.
"""

import numpy as np
import pytest

import jtruth as jt

SIZES = {  # samples, labelers, classes
    "one sample": (1, 10_000, 2),
    "many labelers": (10, 2000, 2),
    "many classes": (2000, 5, 100),
}

pytestmark = pytest.mark.slow


def crowd(samples, labelers, classes):
    """Labels and predictions that are right four times in five."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, samples)
    right = rng.random((samples, labelers + 1)) < 0.8
    z = np.where(right, y[:, None], rng.integers(0, classes, right.shape))
    return z[:, :-1], z[:, -1]


@pytest.mark.parametrize("size", SIZES)
def test_python_answers_and_says_how_far_it_is(size):
    z, y_pred = crowd(*SIZES[size])
    told = []
    found = jt.evaluate(
        y_pred, jt.Labels.from_matrix(z, SIZES[size][2]), progress=lambda *done: told.append(done)
    )
    assert str(found) and told
