"""Table 3 of Lam & Stork on the public digits."""

import numpy as np
import pytest

from benchmarks._papers import digits as script


def test_golden_counts(shared_data, golden):
    for case in golden("lam_stork_table3")["cases"]:
        pair = tuple(int(digit) for digit in case["pair"].split("-"))
        found, expected = script.count(shared_data("optdigits"), pair), case["multinomial_alpha1"]
        assert found.size == case["n"]
        assert found[:3] == (expected["true"], expected["apparent"], expected["mislabel"])
        # The paper's counts (true, apparent, mislabeled): labels the same, naive Bayes within one digit.
        assert found.mislabeled == case["paper_counts"][2]
        assert np.abs(np.array(found[:2]) - case["paper_counts"][:2]).max() <= 1


def test_what_the_page_says_of_the_cells_that_differ(shared_data):
    """The printed bounds are sums of printed rates; halved grey levels have the paper's other two pairs."""
    halved = {}
    for pair, (upper, true, apparent, lower, mislabeling) in script.PRINTED.items():
        assert (apparent + mislabeling, apparent - mislabeling) == pytest.approx((upper, lower), abs=1e-9)
        found = script.count(shared_data("optdigits"), pair, levels=2)
        halved[pair] = found.true, found.differ
        if pair != (7, 8):
            printed = (round(found.size * rate / 100) for rate in (true, apparent))
            assert halved[pair] == tuple(printed)
    assert halved[7, 8] == (4, 4)


def test_naive_bayes_is_that_of_scikit_learn(shared_data):
    naive_bayes = pytest.importorskip("sklearn.naive_bayes")
    neighbors = pytest.importorskip("sklearn.neighbors")
    for pair in script.PAIRS:
        train, label = script.load(shared_data("optdigits"), "train", pair)
        test, _ = script.load(shared_data("optdigits"), "test", pair)
        expected = naive_bayes.MultinomialNB(alpha=1.0).fit(train, label).predict(test)
        assert (script.naive_bayes(train, label, test) == expected).all()
        nearest = neighbors.KNeighborsClassifier(1, algorithm="brute").fit(train.astype(float), label)
        assert (script.nearest_neighbour(train, label, test) == nearest.predict(test.astype(float))).all()
