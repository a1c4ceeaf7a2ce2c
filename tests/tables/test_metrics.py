"""Metrics of a count table against scikit-learn on label vectors, and their derivatives."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from jtruth.tables.metrics import (
    METRICS,
    LinearRatio,
    binary_counts,
    class_counts,
    default_metrics,
    named_metric,
)

NAMES = ("accuracy", "precision", "recall", "false_alarm_rate", "f1", "f0.5", "f2", "f3")
one_pair = st.tuples(st.integers(0, 1), st.integers(0, 1))
pairs = st.sampled_from([1, 2, 6, 25]).flatmap(lambda n: st.lists(one_pair, min_size=n, max_size=n))
in_one = jax.jit(lambda counts: [named_metric(name).of_counts(*counts) for name in NAMES])


def by_scikit_learn(name, y, y_pred):
    undefined = {"zero_division": np.nan}
    if name == "accuracy":
        return sk.accuracy_score(y, y_pred)
    if name == "precision":
        return sk.precision_score(y, y_pred, **undefined)
    if name == "recall":
        return sk.recall_score(y, y_pred, **undefined)
    if name == "false_alarm_rate":  # one minus the recall of class 0
        return 1 - sk.recall_score(y, y_pred, pos_label=0, **undefined)
    return sk.fbeta_score(y, y_pred, beta=float(name[1:]), **undefined)


@given(pairs)
def test_equal_to_scikit_learn_undefined_ones_included(rows):
    y, y_pred = (np.array(v) for v in zip(*rows, strict=True))
    counts = binary_counts(y_pred, y)
    tn, fp, fn, tp = sk.confusion_matrix(y, y_pred, labels=[0, 1]).ravel()
    assert tuple(map(int, counts)) == (tp, fp, fn, tn)
    in_jax = jax.jit(binary_counts)(jnp.asarray(y_pred), jnp.asarray(y))
    for name, found in zip(NAMES, in_one(in_jax), strict=True):
        expected = by_scikit_learn(name, y, y_pred)
        function = named_metric(name).of_counts
        np.testing.assert_allclose(function(*counts), expected, rtol=1e-14)
        np.testing.assert_allclose(found, expected, rtol=1e-14)
        np.testing.assert_allclose(function(*(int(c) for c in counts)), expected, rtol=1e-14)


@pytest.mark.parametrize("name", [*NAMES[:5], *(pytest.param(n, marks=pytest.mark.slow) for n in NAMES[5:])])
def test_gradients_are_right_and_finite_where_the_metric_is_not(name):
    function = named_metric(name).of_counts
    at = np.array([3.0, 1.0, 2.0, 5.0])
    found = jax.grad(lambda c: function(*c))(jnp.asarray(at))
    step = 1e-6 * np.eye(4)
    numeric = [(function(*(at + h)) - function(*(at - h))) / 2e-6 for h in step]
    np.testing.assert_allclose(found, numeric, atol=1e-9)
    undefined = jnp.zeros(4)
    assert np.isnan(float(function(*undefined)))
    assert np.isfinite(jax.grad(lambda c: function(*c))(undefined)).all()


def test_names():
    assert named_metric("accuracy").entry is METRICS["accuracy"]
    expected = {"sensitivity": 3 / 5, "specificity": 5 / 6, "ppv": 3 / 4, "npv": 5 / 7}
    assert {name: named_metric(name).of_counts(3, 1, 2, 5) for name in expected} == expected
    counts = (3, 1, 2, 5)
    assert named_metric("f2").of_counts(*counts) == pytest.approx(5 * 3 / (4 * 5 + 4))
    assert named_metric("f1").of_counts(*counts) == named_metric("f1.0").of_counts(*counts)
    for name in ("f", "f0", "f-1", "finf", "fnan", "g1", "2", "", "ff2"):
        with pytest.raises(ValueError, match=r"unknown metric .*f<beta> with beta > 0"):
            named_metric(name)


def test_names_as_answers_print_them():
    for printed, name in (("F1", "f1"), ("Macro F1", "macro_f1"), ("false alarm rate", "false_alarm_rate")):
        assert named_metric(printed, "abc", 1).name == name
    assert named_metric("Recall[Big Cat]", ["Dog", "Big Cat"]).of_counts(3, 1, 2, 5) == 3 / 5


def test_a_metric_of_one_class_wants_to_know_which():
    table = np.array([[8, 1, 1], [2, 5, 3], [0, 1, 9]])
    with pytest.raises(ValueError, match=r"of one class: name it, for example recall\[a\]"):
        named_metric("recall", "abc")
    assert named_metric("recall", "abc", 1).of_table(table) == named_metric("recall[b]", "abc").of_table(
        table
    )
    assert named_metric("accuracy", "abc", 1).of_table(table) == 22 / 30
    assert named_metric("accuracy[b]", "abc").of_table(table) == (5 + 18) / 30


def test_weights_that_could_leave_the_unit_interval_are_refused(monkeypatch):
    monkeypatch.setitem(METRICS, "odds", LinearRatio("odds", num=(1, 0, 0, 0), den=(0, 0, 1, 0)))
    with pytest.raises(ValueError, match=r"'odds' have 1 / 0, but a LinearRatio needs 0 <= num <= den"):
        named_metric("odds")


@pytest.mark.parametrize(
    "name",
    [
        *("accuracy", "recall[2]", "precision[0]", "kappa", "mcc", "macro_f1"),
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("f2[1]", "micro_f1", "accuracy[1]")),
        pytest.param("weighted_recall", marks=pytest.mark.slow),
    ],
)
def test_terms_give_the_value_and_its_derivatives(name):
    """Two ways to a ratio: as a function of the table, and as a ratio of sums over samples."""
    table = np.random.default_rng(0).uniform(3, 30, (3, 4))
    metric = named_metric(name, "012")
    above, below = metric.terms(table)
    value = (above * table).sum() / (below * table).sum()
    np.testing.assert_allclose(value, metric.of_table(table), rtol=1e-12)
    influence = (above - value * below) / (below * table).sum()
    exact = jax.jit(jax.grad(metric.of_table))(jnp.asarray(table))
    np.testing.assert_allclose(influence, exact, rtol=1e-6, atol=1e-10)
    if metric.is_ratio:  # its weights do not depend on the table
        np.testing.assert_array_equal(metric.terms(np.ones((3, 4)))[0], above)


@pytest.mark.parametrize("name", ["accuracy", "recall", "recall[0]", "micro_f1", "kappa", "mcc", "macro_f2"])
def test_two_classes_by_counts_and_by_tables(name):
    tables = np.random.default_rng(1).integers(0, 6, (40, 2, 2))
    metric = named_metric(name)
    by_counts = metric.of_counts(tables[:, 1, 1], tables[:, 0, 1], tables[:, 1, 0], tables[:, 0, 0])
    np.testing.assert_allclose(by_counts, metric.of_table(tables), rtol=1e-14)
    tp, fp, fn, tn = class_counts(tables)
    if name == "recall[0]":
        np.testing.assert_array_equal(by_counts, METRICS["recall"](tp, fp, fn, tn)[:, 0])


def test_what_answers_show():
    assert default_metrics("ab") == ("accuracy", "precision", "recall", "false_alarm_rate", "f1")
    assert default_metrics("abc")[5:12] == (
        "macro_precision", "macro_recall", "macro_f1", "weighted_f1", "kappa", "mcc", "precision[a]"
    )  # fmt: skip
    assert len(default_metrics("abc")) == 20


def test_a_share_that_rounds_to_one_leaves_mcc_undefined():
    """Counts whose sum differs by the order it is taken in: no root of a number below 0."""
    rng = np.random.default_rng(0)
    tables = np.zeros((200, 6, 6))
    tables[:, :, 0] = 150 * rng.dirichlet(np.ones(6), 200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(named_metric("mcc", "abcdef").of_table(tables)).all()
        assert np.abs(named_metric("kappa", "abcdef").of_table(tables)).max() < 1e-12
