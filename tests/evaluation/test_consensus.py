"""`jt.consensus`: class, probability and disagreeing labelers, in Python and at the command line."""

import json

import numpy as np
import pytest

import jtruth as jt
from jtruth.learning.methods import deserted

VOTES = [["a", "a", "b"], ["b", "b", "b"], ["a", "a", "a"], ["a", "b", None]]


@pytest.fixture
def votes():
    return jt.Labels.from_matrix(VOTES, classes=["a", "b"]).with_names(workers=["ann", "bob", "cy"])


def test_class_probability_and_who_disagrees(votes):
    found = jt.consensus(votes, "majority_vote")
    assert found.label.tolist() == [0, 1, 0, 0] and found.tied.tolist() == [False] * 3 + [True]
    np.testing.assert_allclose(found.probability, [2 / 3, 1, 1, 1 / 2])
    assert found.who_disagrees() == [("cy",), (), (), ("bob",)]
    assert found.labelers() == [
        {"worker": "cy", "num_labels": 3, "num_disagree": 1},
        {"worker": "bob", "num_labels": 4, "num_disagree": 1},
        {"worker": "ann", "num_labels": 4, "num_disagree": 0},
    ]
    assert "1 sample is tied between classes; the first class is shown." in found.warnings
    text = found.summary(full=True)
    assert (
        "4 samples by majority_vote" in text and "2 of 11 labels disagree with the consensus (18 %)" in text
    )
    json.dumps(found.to_dict(), allow_nan=False)


def test_gold_goes_by_task_and_disagrees_too(votes):
    found = jt.consensus(votes.with_names(tasks=["p", "q", "r", "s"]), "majority_vote", gold={"q": "a"})
    assert found.label.tolist() == [0, 0, 0, 0] and found.who_disagrees()[1] == ("ann", "bob", "cy")


def test_dawid_skene_is_what_the_fit_says(votes):
    found = jt.consensus(votes, smoothing=jt.learning.Smoothing(1.0, 0.5))
    fit = jt.learning.fit_dawid_skene(votes, smoothing=jt.learning.Smoothing(1.0, 0.5))
    np.testing.assert_array_equal(found.class_posterior, fit.class_posterior)
    assert found.fit.log_likelihood == fit.log_likelihood and found.method == "dawid_skene"


def test_a_class_without_samples_is_named():
    """Half of the votes are for "b", and a method gives none to it."""
    labels = jt.Labels.from_matrix([["a", "b"]] * 6, classes=["a", "b"])
    (said,) = deserted(np.tile([1.0, 0.0], (6, 1)), labels)
    assert "of class 'b' (0.0 expected)" in said and "by vote shares 3.0" in said
    assert not list(deserted(np.tile([0.8, 0.2], (6, 1)), labels))
    found = jt.consensus(labels, gold=["a"] * 6)
    assert said in found.warnings


def test_an_unknown_method_says_which_there_are(votes):
    with pytest.raises(ValueError, match="choose one of majority_vote, dawid_skene"):
        jt.consensus(votes, "vote")
