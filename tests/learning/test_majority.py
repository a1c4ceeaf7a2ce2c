"""Majority vote: shares and winners."""

import numpy as np

from jtruth.learning import (
    majority_vote,
)
from jtruth.learning.majority import majority_winner
from tests.learning.crowds import (
    from_matrix,
)


def test_majority_vote_and_winner():
    z = np.array([[0, 1, 1, 2], [2, 2, -1, -1], [0, 1, -1, -1], [-1, -1, -1, -1]])
    labels = from_matrix(z)
    shares = [[0.25, 0.5, 0.25], [0, 0, 1], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]]
    winner = [[0, 1, 0], [0, 0, 1], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]]
    np.testing.assert_allclose(majority_vote(labels), shares, rtol=1e-15)
    np.testing.assert_allclose(majority_winner(labels), winner, rtol=1e-15)
    gold = np.array([-1, 0, 1, 2])
    for function, rows in ((majority_vote, shares), (majority_winner, winner)):
        np.testing.assert_allclose(function(labels, gold=gold)[0], rows[0], rtol=1e-15)
        np.testing.assert_array_equal(function(labels, gold=gold)[1:], np.eye(3))
