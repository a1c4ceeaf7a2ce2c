"""Warnings about predictions: duplicates, one class only, gold classes never predicted, few samples."""

import numpy as np
import pytest

import jtruth as jt

pytestmark = pytest.mark.usefixtures("few_lineages")
KNOWN = {"noise": jt.noise.Symmetric(0.2, 3), "prior": np.full(3, 1 / 3)}
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 120)
Z = np.where(RNG.random((120, 4)) < 0.8, Y[:, None], (Y[:, None] + RNG.integers(1, 3, (120, 4))) % 3)
LABELS = jt.Labels.from_matrix(Z, 3).with_names(classes=("a", "b", "c"))
PRED = np.where(RNG.random(120) < 0.85, Y, (Y + 1) % 3)


def test_a_classifier_and_itself():
    found = jt.compare_classifiers({"one": PRED, "two": PRED}, LABELS, **KNOWN)
    assert found.summary(full=True).splitlines()[0] == (
        "Look first: 'one' and 'two' predict the same class on all of 120 samples, so their difference is 0. "
        "Was one file given twice? Give the other's predictions, or leave one out."
    )
    assert found.differences["one", "two"].mean == 0


@pytest.mark.parametrize("gold", [None, np.where(np.arange(120) < 30, Y, -1)])
def test_one_of_two_always_predicts_the_same(gold):
    found = jt.compare_classifiers({"one": PRED, "flat": np.zeros(120, int)}, LABELS, gold=gold, **KNOWN)
    text = (
        "every prediction of 'flat' is 'a', so some metrics are undefined or trivial; compare it by accuracy "
        "or recall, or leave it out"
    )
    assert f": {text}" in found.summary(full=True) and text in str(found.to_dict()["checks"])


def test_an_undefined_metric_is_called_so():
    both = {"one": PRED, "flat": np.zeros(120, int)}
    text = jt.compare_classifiers(both, LABELS, metric="precision", **KNOWN).summary(full=True)
    assert "nan" not in text and "undefined" in text


def test_gold_of_a_class_that_nobody_predicts():
    gold, never = np.where(np.arange(120) < 40, Y, -1), np.where(PRED == 2, 0, PRED)
    number = int((gold == 2).sum())
    text = (
        f"class 'c', although {number} gold samples have it: its recall is 0 and its precision undefined. "
        "Is it named differently there?"
    )
    found = jt.evaluate(never, LABELS, gold=gold, **KNOWN)
    assert f"(worth knowing): the predictions never have {text}" in found.summary(full=True)
    both = jt.compare_classifiers({"one": never, "two": PRED}, LABELS, gold=gold, **KNOWN)
    assert f"'one' never predicts {text}" in both.summary(full=True)


@pytest.mark.slow
def test_gold_of_one_class_and_two_gold_answers():
    """Learned error rates: the answers that rest on gold say how little it tells."""
    labels = jt.Labels.from_matrix(Z % 2, 2)
    one = np.where(np.cumsum(Y % 2 == 1) * (Y % 2 == 1) > 0, 1, -1)
    found = jt.evaluate_labelers(labels, gold=np.where(np.arange(120) < 80, one, -1))
    assert "gold samples are of class '1'" in found.summary(full=True)
    few = jt.evaluate_labelers(labels, gold=np.where(np.arange(120) < 2, Y % 2, -1))
    assert "There are 2 verified labels; useful intervals need 20 or more." in few.summary(full=True)
