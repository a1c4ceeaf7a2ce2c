"""Known labels through the waist, and known labels that certain labelers contradict."""

import jax
import numpy as np
import pytest

from jtruth.labels import Labels
from jtruth.noise import Symmetric, with_known_labels
from jtruth.noise.base import check_known_labels

LOG_LIKELIHOOD = np.log(np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]]))


def test_known_rows_are_zero_and_minus_infinity():
    known = np.array([0, -1, 1])
    expected = [[0, -np.inf], LOG_LIKELIHOOD[1], [-np.inf, 0]]
    np.testing.assert_array_equal(with_known_labels(LOG_LIKELIHOOD, known), expected)
    np.testing.assert_array_equal(jax.jit(with_known_labels)(LOG_LIKELIHOOD, known), expected)
    batch = jax.vmap(with_known_labels)(np.stack([LOG_LIKELIHOOD] * 2), np.array([[0, -1, 1], [-1, -1, -1]]))
    np.testing.assert_array_equal(batch, [expected, LOG_LIKELIHOOD])
    single = with_known_labels(LOG_LIKELIHOOD.astype(np.float32), known)
    assert single.dtype == np.float32


def test_contradicted_known_labels_are_refused():
    labels = Labels.from_matrix(np.array([[1], [0], [1]]), 2)
    log_likelihood = Symmetric(0.0, 2).log_likelihood(labels)
    with pytest.raises(ValueError, match=r"2 sample\(s\) have likelihood 0.*gave another label: 0, 2"):
        with_known_labels(log_likelihood, np.array([0, 0, 0]))
    with pytest.raises(ValueError, match="'x-ray 3'"):
        check_known_labels(log_likelihood, np.array([1, -1, 0]), ("x-ray 1", "x-ray 2", "x-ray 3"))
    many = Symmetric(0.0, 2).log_likelihood(Labels.from_matrix(np.ones((9, 1), int), 2))
    with pytest.raises(ValueError, match="0, 1, 2, 3, 4 and 4 more"):
        with_known_labels(many, np.zeros(9, int))


@pytest.mark.parametrize(
    ("known", "message"),
    [([0, 2, -1], r"known\[1\] is 2"), ([0, 1, -2], r"known\[2\] is -2"), ([0, 1], r"shape \(3,\)")],
)
def test_bad_known_labels(as_installed, known, message):
    with pytest.raises(ValueError, match=message):
        check_known_labels(np.zeros((3, 2)), np.array(known))
