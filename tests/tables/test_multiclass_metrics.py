"""Metrics of count tables against scikit-learn on perfect labels, and against their own definitions."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from jtruth.tables import metrics as binary
from jtruth.tables.metrics import class_counts

CLASSES = [0, 1, 2, 3]


def named_metric(name, classes):
    return binary.named_metric(name, classes).of_table


AVERAGES = (
    "accuracy", "balanced_accuracy", "macro_precision", "macro_recall", "macro_f1", "micro_f1", "weighted_f1",
    "kappa", "mcc",
)  # fmt: skip
METRICS = {name: named_metric(name, CLASSES) for name in AVERAGES}
NAMES = (*METRICS, "weighted_precision", "micro_recall", "macro_f2", "precision[1]", "recall[3]", "f0.5[2]")
pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40)


def table_of(y, y_pred, symbols=4):
    table = np.zeros((4, symbols), int)
    np.add.at(table, (y, y_pred), 1)
    return table


def scikit(name, y, y_pred):
    """The value by scikit-learn; NaN is its word for 0/0 if asked with zero_division=nan."""
    options = {"labels": CLASSES, "zero_division": np.nan}
    recall = sk.recall_score(y, y_pred, average=None, **options)
    known = {
        "accuracy": lambda: sk.accuracy_score(y, y_pred),
        "balanced_accuracy": lambda: sk.balanced_accuracy_score(y, y_pred),
        "macro_precision": lambda: sk.precision_score(y, y_pred, average="macro", **options),
        "macro_recall": lambda: recall[~np.isnan(recall)].mean(),
        "macro_f1": lambda: sk.f1_score(y, y_pred, average="macro", **options),
        "micro_f1": lambda: sk.f1_score(y, y_pred, average="micro", **options),
        "weighted_f1": lambda: sk.f1_score(y, y_pred, average="weighted", **options),
        "kappa": lambda: sk.cohen_kappa_score(y, y_pred, labels=CLASSES),
        "mcc": lambda: sk.matthews_corrcoef(y, y_pred),
        "weighted_precision": lambda: sk.precision_score(y, y_pred, average="weighted", **options),
        "micro_recall": lambda: sk.recall_score(y, y_pred, average="micro", **options),
        "macro_f2": lambda: sk.fbeta_score(y, y_pred, beta=2, average="macro", **options),
        "precision[1]": lambda: sk.precision_score(y, y_pred, average=None, **options)[1],
        "recall[3]": lambda: recall[3],
        "f0.5[2]": lambda: sk.fbeta_score(y, y_pred, beta=0.5, average=None, **options)[2],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return known[name]()


SLOW = ("micro_recall", "micro_f1", "macro_recall", "macro_f2", "f0.5[2]")  # by the lines of others


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in NAMES])
@given(pairs)
def test_perfect_labels_give_scikit_learn(name, found):
    y, y_pred = (np.array(v) for v in zip(*found, strict=True))
    value = float(named_metric(name, CLASSES)(table_of(y, y_pred)))
    if np.isnan(value) and name in ("kappa", "mcc"):  # 0/0: scikit-learn says 0 for mcc
        assert np.unique(y).size == 1 or np.unique(y_pred).size == 1
        return
    if np.isnan(value) and name == "weighted_precision":  # weights sum to 0: scikit-learn says 0
        assert not set(y) & set(y_pred)
        return
    np.testing.assert_allclose(value, scikit(name, y, y_pred), rtol=0, atol=1e-12)


tables = np.random.default_rng(0).poisson(3.0, (50, 4, 4))
tables[0] = 0  # nothing at all
tables[1, :, 2] = 0  # a class never predicted
tables[2, 1] = 0  # a class that does not occur


def all_metrics(table):
    return {name: named_metric(name, CLASSES)(table) for name in NAMES}


@pytest.mark.parametrize("dtype", [np.int32, np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])
def test_draws_numpy_jax_jit_vmap_and_short_dtypes_agree(dtype):
    one_by_one = [all_metrics(table) for table in tables]
    short = dtype == np.float32
    for found in (
        all_metrics(tables.astype(dtype)),
        jax.jit(all_metrics)(jnp.asarray(tables, dtype)),
        jax.jit(jax.vmap(all_metrics))(jnp.asarray(tables, dtype)),
    ):
        for name in NAMES:
            expected = [float(metrics[name]) for metrics in one_by_one]
            assert found[name].dtype == (np.float32 if short else np.float64)
            np.testing.assert_allclose(found[name], expected, atol=1e-5 if short else 1e-12)


def test_a_symbol_that_is_no_class_is_an_error_for_every_class():
    table = np.array([[4, 1, 5], [2, 8, 0]])
    tp, fp, fn, tn = class_counts(table)
    np.testing.assert_array_equal(tp, [4, 8])
    np.testing.assert_array_equal(fp, [2, 1])
    np.testing.assert_array_equal(fn, [6, 2])
    np.testing.assert_array_equal(tn, [8, 9])
    assert METRICS["accuracy"](table) == 12 / 20
    with pytest.raises(ValueError, match="3 classes but 2 symbols"):
        METRICS["accuracy"](table.T)


def test_classes_without_a_value_are_left_out():
    table = np.array([[3, 1, 0], [2, 4, 0], [0, 2, 0]])  # class 2 is never predicted
    np.testing.assert_allclose(METRICS["macro_precision"](table), (3 / 5 + 4 / 7) / 2, rtol=1e-15)
    np.testing.assert_allclose(METRICS["macro_recall"](table), (3 / 4 + 4 / 6 + 0) / 3, rtol=1e-15)
    assert np.isnan(METRICS["macro_precision"](np.zeros((3, 3), int)))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("recal", "unknown metric 'recal'"),
        ("macro_g1", "unknown metric 'macro_g1'"),
        ("recall[dog]", "no class 'dog'"),
        ("g1[0]", "unknown metric"),
        ("recall", "of one class: name it"),
    ],
)
def test_unknown_names(name, message):
    with pytest.raises(ValueError, match=message):
        named_metric(name, CLASSES)
