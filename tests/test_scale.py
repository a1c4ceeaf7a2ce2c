"""Scales of classes: sources of orders and distances, and answers that use nothing else."""

import itertools

import jax
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score

import jtruth as jt
from jtruth._validation import scale as scales
from jtruth._validation.columns import lazy_patterns
from jtruth._validation.scale import at_least, scale_of
from jtruth.evaluation import labeler_agreement
from jtruth.learning.values import OrdinalLink, Values, fit_values
from jtruth.stats.agreement import brennan_prediger, fleiss, gwet_ac1, krippendorff, point
from jtruth.testing.of_labels import kappa

Labels = jt.Labels
LIKERT = "strongly disagree, disagree, somewhat disagree, neutral, somewhat agree, agree, strongly agree"
LADDERS = (
    "none, low, medium, high, critical", "low, moderate, high", "mild, moderate, severe", "minor, major",
    LIKERT, "strongly disagree, tend to disagree, neither agree nor disagree, tend to agree, strongly agree",
    "disagree strongly, disagree somewhat, undecided, agree somewhat, agree strongly",
    "never, rarely, sometimes, often, always", "never, seldom, occasionally, frequently, always",
    "poor, fair, good, very good, excellent", "very poor, poor, average, good, excellent", "bad, okay, great",
    "very dissatisfied, dissatisfied, neutral, satisfied, very satisfied",
    "extremely dissatisfied, moderately dissatisfied, neither, slightly satisfied, extremely satisfied",
    "very unlikely, unlikely, possible, likely, almost certain", "definitely not, maybe, definitely",
    "small, medium, large", "xs, s, m, l, xl", "F, D, C, B, A", "C, B-, B, B+, A-", "low risk, high risk",
    "not at all important, slightly important, important, very important", "not toxic, toxic, very toxic",
    "negative, neutral, positive", "incorrect, partially correct, correct", "1 star, 2 stars, 5 stars",
    "worse, about the same, better", "unlikely, very likely", "good, excellent",
)  # fmt: skip
NOMINAL = (
    "cat dog eel", "no yes", "fail pass", "agree disagree", "correct incorrect", "A B C", "A B C D E",
    "A B tie", "M S", "low good", "high cat low", "low medium moderate", "angry neutral",
    "maybe no yes", "? good", "l1 l2 l3", "Low low", "spam not_spam",
)  # fmt: skip


@pytest.mark.parametrize("ladder", LADDERS)
def test_words_of_a_common_scale_are_in_its_order(ladder):
    names = tuple(ladder.split(", "))
    for turned in (names[::-1], sorted(names)):
        found = scale_of(turned)
        assert found[:3] == ("ordinal", names, None)
        assert bool(found[3]) == (len(names) > 2 or list(names) != sorted(names))  # two in any order are said
    if "A" not in ladder and "B" not in ladder:  # letters in small print are no grades
        other = tuple(name.replace(" ", "_").upper() for name in names)
        assert scale_of(other[::-1])[1] == other
    assert scale_of(names, named=True)[0] == scale_of(names[::-1], named=True)[0] == "ordinal"
    if len(names) > 2:
        assert scale_of((*names[1:], names[0]), named=True)[0] == "nominal"  # an order that words deny
        assert scale_of((*names[1:], "cat"))[0] == "nominal"  # one word of none
    for few in itertools.combinations(names[:4], 3):
        assert "F, D" in ladder or "undecided" in few or scale_of(few[::-1])[1] == few


def test_common_scales_never_contradict_each_other():
    for a, b in itertools.combinations(scales._ladders(True), 2):
        both = [word for word in a if word in b]
        assert not [(x, y) for x in both for y in both if a[x] < a[y] and b[x] > b[y]]


@pytest.mark.parametrize("names", NOMINAL)
def test_other_words_are_nominal_and_in_alphabetical_order(names):
    names = names.split()
    assert scale_of(names) == ("nominal", tuple(sorted(names)), None, ())


def test_numbers_stand_where_they_say():
    assert scale_of(["10", "9", "-1", "2.5"]) == ("interval", ("-1", "2.5", "9", "10"), (-1, 2.5, 9, 10), ())
    assert scale_of(["10", "9"], "ordinal")[:3] == ("ordinal", ("9", "10"), None)
    assert scale_of(["3", "1", "2"], named=True)[1:3] == (("3", "1", "2"), (3.0, 1.0, 2.0))
    assert scale_of(["nan", "inf", "1"])[0] == scale_of(["1", "1.0"])[0] == "nominal"


@pytest.mark.parametrize(
    ("scale", "said"),
    [("ordinal", "order of the classes 'a', 'b', 'c' is unknown. Give the order from .* --scale ordinal"),
     ("interval", "needs classes that are different numbers; they are 'b', 'a', 'c'"),
     ("ratio", "scale must be one of 'nominal'")],
)  # fmt: skip
def test_scales_that_words_do_not_have(scale, said):
    with pytest.raises(ValueError, match=said):
        Labels.from_long([1, 2, 3], ["x"] * 3, ["b", "a", "c"], scale=scale)


def test_at_least_a_class():
    assert at_least(["low", "mid", "top"], "MID") == ("mid", "top")
    assert at_least(["low", "high", "critical"], "medium") == ("high", "critical")  # nobody gave it
    assert at_least(["a", "A"], "A") == ("A",)
    with pytest.raises(ValueError, match="'best' is not one of the classes 'low', 'high'"):
        at_least(["low", "high"], "best")


def _kinds(values, order):
    """One table, long, in every kind of column with an order."""
    ids = {"task": range(len(values)), "worker": ["x"] * len(values)}
    enum = pl.Series(values, dtype=pl.Enum(order))
    yield pd.DataFrame(ids | {"label": pd.Categorical(values, order, ordered=True)})
    yield pl.DataFrame(ids | {"label": enum})
    yield pl.DataFrame(ids | {"label": enum}).lazy()


def test_a_type_of_column_says_the_order_and_the_classes():
    order, values = ["low", "mid", "top"], ["top", "low", "low"]
    for frame in _kinds(values, order):
        labels = Labels.from_frame(frame)
        assert (labels.scale, labels.classes, labels.values) == ("ordinal", tuple(order), None)
        assert labels.label.tolist() == [2, 0, 0] and "never occurs: 'mid'" in labels.notes[-1]
        assert Labels.from_frame(frame, scale="nominal").scale == "nominal"
    same = {name: name for name in ("task", "worker", "label")}
    assert lazy_patterns(frame, same, None, "error")[2] == tuple(order)
    words = pd.Categorical(["low", "high", "medium"])
    plain = Labels.from_frame(pd.DataFrame({"task": [1, 2, 3], "worker": ["x"] * 3, "label": words}))
    assert plain.scale == "nominal" and plain.classes[0] == "high"
    numbers = pd.Categorical([10.0, 2.5], [1.0, 2.5, 10.0], ordered=True)
    labels = Labels.from_frame(pd.DataFrame({"task": [1, 2], "worker": ["x"] * 2, "label": numbers}))
    assert labels.classes == ("1", "2.5", "10") and labels.label.tolist() == [2, 1]
    one, two = (pd.Categorical(["a", "b"], order, ordered=True) for order in (["a", "b"], ["b", "a"]))
    with pytest.raises(ValueError, match="order their classes in two ways: 'a', 'b', and 'b', 'a'"):
        Labels.from_matrix(pd.DataFrame({"x": one, "y": two}))


def test_labels_keep_their_scale_but_in_transformations():
    labels = Labels.from_matrix([["low", "high"], ["medium", "low"]])
    assert labels.restrict([1]).select_labelers([0]).patterns().labels.scale == "ordinal"
    out = jax.jit(lambda z: z)(labels)
    assert (out.scale, out.values) == ("nominal", None)
    assert out.with_names(classes=labels.classes).scale == "ordinal"
    assert out.with_names(classes=["a", "b", "c"], scale="ordinal").scale == "ordinal"
    assert labels.with_names(classes=["a", "b", "c"]).scale == "ordinal"
    codes = Labels.from_matrix([[0, 1], [2, 1]], 3)
    assert (codes.scale, codes.values) == ("interval", (0.0, 1.0, 2.0))
    assert codes.with_names(classes=["cat", "dog", "eel"]).scale == "nominal"
    assert Labels.from_matrix([[0, 1], [2, 1]], 3, scale="nominal").values is None
    assert Labels.from_long([1, 2], ["x"] * 2, [0.5, 2], scale="interval").values == (0.5, 2.0)


RNG = np.random.default_rng(46)
CODE = np.clip(RNG.integers(0, 4, 50)[:, None] + RNG.integers(-1, 2, (50, 2)), 0, 3)
STEPS = np.array([1.0, 2.0, 4.5, 10.0])  # what the codes stand for, where they are numbers


def _by_pairs(z, apart):
    """Krippendorff's alpha of two labelers by going through all pairs; `apart` of two codes."""
    every = z.ravel()
    inside = sum(apart(a, b) for a, b in z) / len(z)
    across = sum(apart(a, b) for a, b in itertools.permutations(every, 2)) / (every.size * (every.size - 1))
    return 1 - inside / across


@pytest.mark.parametrize("kind", ["words", "numbers", "category", "turned"])
def test_weights_and_differences_by_the_scale(kind):
    """scikit-learn's with the order, all pairs with the distances; one class is never given."""
    number = kind in ("numbers", "turned")
    names = ["1", "2", "4.5", "10"] if number else ["low", "medium", "high", "critical"]
    names = np.array(names, object)
    z = np.where(CODE == 1, 2, CODE)  # nobody gives the second
    table = pd.DataFrame(names[z], columns=["x", "y"])
    classes = names[::-1] if kind == "turned" else None if kind == "numbers" else names
    if kind == "category":
        table, classes = table.apply(lambda c: pd.Categorical(c, names, ordered=True)), None
    labels = Labels.from_matrix(table, classes=classes)
    steps = STEPS if number else np.arange(4.0)
    rank = np.bincount(z.ravel(), minlength=4)
    rank = np.cumsum(rank) - rank / 2
    expected = {
        "nominal": lambda a, b: a != b, "interval": lambda a, b: (steps[a] - steps[b]) ** 2,
        "ordinal": lambda a, b: (rank[a] - rank[b]) ** 2,
    }  # fmt: skip
    for differences, apart in expected.items():
        found = labeler_agreement(labels, differences=differences).overall["krippendorff"].value
        assert abs(found - _by_pairs(z, apart)) < 1e-10
    for weights in ("linear", "quadratic"):
        found = labeler_agreement(labels, weights=weights, differences="interval").pairs["x", "y"].value
        power = 1 if weights == "linear" else 2
        share = np.zeros((4, 4))
        np.add.at(share, tuple(z.T), 1 / len(z))
        far = np.abs(steps[:, None] - steps) ** power
        assert abs(found - 1 + (far * share).sum() / (share.sum(1) @ far @ share.sum(0))) < 1e-12
        if not number:
            assert abs(found - cohen_kappa_score(*z.T, labels=range(4), weights=weights)) < 1e-12
        own = kappa(weights, 4, tuple(steps) if number else None)(*map(np.asarray, z.T))
        assert abs(float(own) - found) < 1e-6


def test_numbers_with_equal_steps_are_as_codes_and_units_do_not_matter():
    votes = Labels.from_matrix(CODE, 4).counts()
    alphas = (krippendorff, "interval"), (krippendorff, "ordinal")
    for make, one in (*alphas, (fleiss, "linear"), (gwet_ac1, "quadratic")):
        same = [point(make(votes, one, at)) for at in (None, np.arange(4) * 1e-6, 7.0 + 3 * np.arange(4))]
        assert np.ptp(same) < 1e-9
        assert abs(point(make(votes[:, ::-1], one, STEPS[::-1])) - point(make(votes, one, STEPS))) < 1e-12
    w = 1 - ((STEPS[:, None] - STEPS) / 9) ** 2
    agreed = np.mean([w[a, b] for a, b in CODE])
    chance = w.mean()
    assert abs(point(brennan_prediger(votes, "quadratic", STEPS)) - (agreed - chance) / (1 - chance)) < 1e-12


def test_nominal_classes_have_no_weights():
    labels = Labels.from_matrix(np.array(["ape", "cat", "dog", "eel"], object)[CODE])
    for asked in ({"weights": "quadratic"}, {"differences": "ordinal"}):
        said = "='(quadratic|ordinal)' needs the order of the classes, and 'ape'.*--scale ordinal --classes"
        with pytest.raises(ValueError, match=said):
            labeler_agreement(labels, **asked)
    assert list(labeler_agreement(labels).overall)[:2] == ["krippendorff", "fleiss"]
    given = Labels.from_matrix(CODE, classes=["ape", "cat", "dog", "eel"], scale="ordinal")
    codes = Labels.from_matrix(CODE, 4)
    for asked in ({"weights": "quadratic"}, {"differences": "ordinal"}):
        found, same = (labeler_agreement(one, **asked) for one in (given, codes))
        assert found.overall == same.overall
    two = Labels.from_matrix(np.array(["no", "yes"], object)[CODE // 2])
    assert labeler_agreement(two, weights="quadratic").pairs == labeler_agreement(two).pairs


@pytest.mark.parametrize("scale", ["ordinal", "interval"])
def test_the_scale_decides_which_coefficients_an_answer_has(scale):
    labels = Labels.from_matrix(CODE, 4, scale=scale)
    found, name = labeler_agreement(labels), f"krippendorff_{scale}"
    assert list(found.overall)[:3] == ["krippendorff", name, "fleiss"]
    assert found.overall[name] == labeler_agreement(labels, differences=scale).overall["krippendorff"]
    assert f"Krippendorff's alpha, {scale}" in found.summary() and found.to_dict()["scale"] == scale
    assert jt.inspect_labels(labels).coefficients == found.overall
    assert name not in labeler_agreement(Labels.from_matrix(CODE // 2, 2, scale=scale)).overall
    assert name not in labeler_agreement(labels, differences="nominal").overall


def test_grades_are_labels_in_their_order():
    words = np.array(["mild", "moderate", "severe"], object)
    z = np.clip(RNG.integers(0, 3, 60)[:, None] + (RNG.random((60, 3)) < 0.1), 0, 2)
    labels = Labels.from_matrix(words[z])
    given, by_hand = Values.grades(labels), Values.from_long(*np.indices(z.shape).reshape(2, -1), z.ravel())
    one, two = (fit_values(values, OrdinalLink, 3) for values in (given, by_hand))
    assert (one.class_posterior == two.class_posterior).all()
    turned = Labels.from_matrix(z + 1, classes=["3", "2", "1"])
    assert (Values.grades(turned).value == given.value).all()
    with pytest.raises(ValueError, match="OrdinalLink needs the order of the classes, and 'a', 'b', 'c'"):
        Values.grades(Labels.from_matrix(np.array(["a", "b", "c"], object)[z]))
