"""Only what draws needs a key."""

import numpy as np
import pytest

from jtruth.testing import binary_posterior


@pytest.mark.parametrize("method", ["bayes", "empirical_bayes", "exact_means", "labels", "no_predictions"])
def test_nothing_is_drawn_without_a_key(method):
    found = binary_posterior(np.linspace(-2, 2, 12), np.arange(12) % 2, method=method)
    assert 0 < found.table.estimate("accuracy").mean < 1
