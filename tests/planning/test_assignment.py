"""Assignment of labelers: regular, without repeats, random."""

import numpy as np
import pytest

from jtruth.planning import regular_assignment


@pytest.mark.parametrize(
    ("n", "t", "each"), [(12, 6, 3), (100, 7, 3), (50, 5, 5), (40, 9, 8), (2000, 30, 4), (3, 50, 2)]
)
def test_assignments_are_regular_and_nobody_sees_a_sample_twice(n, t, each):
    found = regular_assignment(n, t, each, key=3)
    assert found.shape == (n, t) and (found.sum(axis=1) == each).all() and np.ptp(found.sum(axis=0)) <= 1
    np.testing.assert_array_equal(found, regular_assignment(n, t, each, key=3))


def test_pairs_of_labelers_meet_as_often_as_chance_says():
    """4000 samples x 3 of 12: each pair meets Binomial(4000, 3 * 2 / (12 * 11)) = 182 +- 13; 66 pairs, 5 sd:
    4e-5."""
    mask = regular_assignment(4000, 12, 3, key=0).astype(float)
    meet = (mask.T @ mask)[np.triu_indices(12, 1)]
    assert np.abs(meet - 4000 / 22).max() < 5 * np.sqrt(4000 / 22 * 21 / 22)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((5, 2, 3), "labels_per_sample is 3 but there are 2 labelers"),
        ((0, 2, 1), "num_samples must be a positive whole number"),
        ((5, 2, 1.5), "labels_per_sample must be a positive whole number, got 1.5"),
    ],
)
def test_impossible_assignments_are_refused(sizes, message, as_installed):
    with pytest.raises(ValueError, match=message):
        regular_assignment(*sizes)
