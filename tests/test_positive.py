"""The positive class: by the meaning of names in any order, else a given order, else the rarer; reported."""

import numpy as np
import pytest

import jtruth as jt
from jtruth._validation.positive import ASKED, MEANING, positive_of

PAIRS = [  # the one that is meant, the other
    ("pass", "fail"), ("PASSED", "Failed"), ("yes", "no"), ("True", "False"), ("1", "0"), ("y", "n"),
    ("disease", "healthy"), ("pneumonia", "Normal"), ("malignant", "benign"), ("positive", "negative"),
    ("toxic", "ok"), ("toxic", "not toxic"), ("toxic", "non-toxic"), ("spam", "ham"), ("unsafe", "safe"),
    ("incorrect", "correct"), ("wrong", "right"), ("hallucinated", "faithful"), ("relevant", "irrelevant"),
    ("accept", "reject"), ("tumor", "no tumor"), ("fraud", "legitimate"), ("helpful", "unhelpful"),
    ("+", "-"), ("ja", "nein"), ("oui", "non"), ("Sí", "No"), ("sim", "não"), ("да", "нет"),
    ("はい", "いいえ"), ("bestanden", "nicht bestanden"), ("réussi", "échec"), ("falsch", "richtig"),
    ("krank", "gesund"), ("合格", "不合格"),
]  # fmt: skip


def labels_of(names, counts, **options):
    """Three labelers who agree, so often on each class."""
    column = np.repeat(names, counts)
    return jt.Labels.from_matrix(np.stack([column] * 3, axis=1), **options)


@pytest.mark.parametrize("pair", PAIRS, ids="/".join)
def test_words_say_which_class_is_meant_whatever_their_order_and_number(pair):
    for names, counts in ((pair, (9, 3)), (pair[::-1], (9, 3)), (pair, (3, 9))):
        labels = labels_of(names, counts)
        code, why = positive_of(labels)
        assert (labels.class_names[code], why) == (pair[0], MEANING)


def test_names_that_say_nothing_leave_it_to_an_order_or_to_the_rarer_class():
    labels = labels_of(["b", "a"], (9, 3))
    said = lambda *more: (labels.class_names[positive_of(labels, *more)[0]], positive_of(labels, *more)[1])  # noqa: E731
    assert said() == ("a", "the rarer among 36 labels")
    gold = np.repeat([1, 0, -1], (1, 3, 8))
    assert said(None, gold) == said()  # four gold answers do not say which class is rare
    assert positive_of(labels, None, np.repeat([0, 1], (15, 9))) == (1, "the rarer among 24 gold labels")
    assert said("b") == said(1) == ("b", ASKED)
    assert positive_of(labels_of(["b", "a"], (5, 5)))[1] == "as frequent as the other among 30 labels"
    assert positive_of(labels_of(["b", "a"], (9, 3), classes=["b", "a"])) == (
        1, "the second class in the given order")  # fmt: skip
    assert positive_of(labels_of([2, 1], (9, 3))) == (1, "the higher one")
    assert positive_of(labels_of(["high", "low"], (9, 3))) == (1, "the higher one")
    assert positive_of(labels_of(["c", "b", "a"], (9, 2, 4))) == (1, "the rarest among 45 labels")
    for codes in ((9, 3), (3, 9)):  # class 1, without names
        assert positive_of(labels_of([0, 1], codes))[0] == 1
    with pytest.raises(ValueError, match="positive='c' is not one of the classes 'a', 'b'"):
        positive_of(labels, "c")


def test_every_question_takes_the_same_class_and_says_it():
    rng = np.random.default_rng(3)
    truth = np.where(rng.random(80) < 0.3, "disease", "healthy")
    wrong = rng.random((80, 4)) < [0.1, 0.2, 0.2, 0.2]
    said = np.where(wrong, np.where(truth == "disease", "healthy", "disease")[:, None], truth[:, None])
    labels = jt.Labels.from_matrix(said[:, 1:])
    found = jt.evaluate(said[:, 0], labels, gold=truth)
    hit = (truth == "disease") & (said[:, 0] == "disease")
    assert found.confusion_matrix[1, 1] == hit.sum()
    assert found.classes == ("healthy", "disease")
    line = "Positive class: disease (to change: positive='healthy')."
    assert line in str(found).splitlines()
    assert line in found._repr_html_().replace("&#x27;", "'")
    rivals = {"a": said[:, 0], "b": said[:, 1]}
    assert "Positive class" not in str(jt.compare_classifiers(rivals, labels, gold=truth))
    ranked = jt.evaluate_scores((truth == "disease") + 0.5 * rng.random(80), labels, gold=truth)
    assert (ranked.positive, line in str(ranked).splitlines()) == ("disease", True)
