"""The posterior of multi-class metrics by every method: reference file, enumeration, relations, bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtruth._host import cross_table
from jtruth.latent import Effort
from jtruth.tables.metrics import default_metrics, named_metric
from jtruth.tables.posterior import TableDraws
from jtruth.testing import methods as multiclass
from jtruth.testing import steps
from jtruth.testing.methods import MULTICLASS_METHODS, GivenMatrix, multiclass_posterior
from tests.reference import su_binary as su
from tests.testing.golden_cases import log_rho_of, random_case

KEY = jax.random.key(3)


def test_dists_given_the_matrix_equal_the_reference_file(multi3):
    case, lik, prior, y_pred = multi3
    found = multiclass_posterior(np.log(lik), prior, y_pred, key=KEY, method="plug_in")
    x, y = log_rho_of(lik, prior), jnp.asarray(y_pred)
    k = jnp.asarray(found.fit.confusion)
    np.testing.assert_allclose(
        np.exp(steps.log_testing_posterior(x, y, k)), case["testing_posterior"], rtol=0, atol=1e-10
    )
    mean, variance = steps.expected_counts(x, y, k)
    np.testing.assert_allclose(mean, case["E_C"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(variance, case["var_C"], rtol=0, atol=1e-10)
    dist = found.estimate("accuracy")
    np.testing.assert_allclose([dist.mean, dist.sd**2], [case["acc"]["mean"], case["acc"]["var"]], atol=1e-10)
    for true in range(3):
        for symbol in range(3):
            dist = found.table.cell(true, symbol)
            np.testing.assert_allclose(dist.mean, case["E_C"][true][symbol], rtol=0, atol=1e-10)
            np.testing.assert_allclose(dist.sd**2, case["var_C"][true][symbol], rtol=0, atol=1e-9)


@pytest.mark.parametrize(("classes", "symbols"), [(3, 3), (3, 2), (2, 4)])
def test_dists_given_the_matrix_equal_enumeration(classes, symbols):
    lik, prior, y_pred = random_case(40, 7, classes, symbols)
    k = np.random.default_rng(0).dirichlet(np.ones(symbols), classes)
    found = GivenMatrix(
        np.zeros((1, *k.shape), int), np.log(su.testing_posterior(lik, prior, y_pred, k)), y_pred, False
    )
    posterior, _ = su.enumerate_labels(lik, prior, y_pred, k=k)
    tables, p = su.count_tables(posterior, y_pred, classes, symbols)
    for true in range(classes):
        for symbol in range(symbols):
            assert_dist(found.cell(true, symbol), tables[:, true, symbol], p)
            total = tables[:, true].sum(1)
            share = np.where(total > 0, tables[:, true, symbol] / np.maximum(total, 1), np.nan)
            assert_dist(found.rate(true, symbol), share, p)
    if symbols >= classes:
        for metric in ("accuracy", "precision[1]", "recall[0]", "f1[1]"):
            names = tuple(map(str, range(classes)))
            asked = named_metric(metric, names)
            assert_dist(found.estimate(asked), asked.of_table(tables), p)


def assert_dist(dist, values, p):
    defined = ~np.isnan(values)
    np.testing.assert_allclose(dist.probability_defined, p[defined].sum(), atol=1e-12)
    if not defined.any():
        return
    weight = p[defined] / p[defined].sum()
    np.testing.assert_allclose(dist.mean, weight @ values[defined], atol=1e-10)
    for value in np.unique(values[defined]):
        expected = weight[np.abs(values[defined] - value) < 1e-12].sum()
        found = dist.pmf[np.abs(dist.values - value) < 1e-12].sum()
        np.testing.assert_allclose(found, expected, atol=1e-10)


SLOW = ("exact_means", "no_predictions")  # tables drawn by the lines that draw those of "plug_in"


@pytest.mark.parametrize(
    "method", ["plug_in", "sampling", *(pytest.param(m, marks=pytest.mark.slow) for m in SLOW)]
)
def test_joint_draws_agree_with_the_dists_of_single_metrics(multi3, method):
    """Means of 4000 draws within 5 standard errors (normal: plus their own error) of the distributions."""
    _, lik, prior, y_pred = multi3
    found = multiclass_posterior(np.log(lik), prior, y_pred, key=KEY, method=method)
    names = ("accuracy", "recall[0]", "precision[1]", "f1[2]", "macro_f1", "kappa", "mcc")
    for name in names:
        column, dist = TableDraws(found.table.counts).estimate(name).draws, found.estimate(name)
        assert column.shape == (4000,)
        slack = 3e-3 if method == "sampling" else 1e-12
        assert abs(column.mean() - dist.mean) < 5 * column.std() / np.sqrt(4000) + slack
    assert found.warnings


@pytest.mark.parametrize("method", MULTICLASS_METHODS)
def test_perfect_labels_leave_no_doubt(method):
    y, y_pred = np.random.default_rng(0).integers(0, 3, (2, 60)).astype(np.int32)
    with np.errstate(divide="ignore"):
        log_lik = np.log(np.eye(3)[y])
    found = multiclass_posterior(log_lik, np.full(3, 1 / 3), y_pred, key=KEY, method=method)
    table = cross_table(y, y_pred, (3, 3))
    for name in (*default_metrics("012")[5:], "accuracy", "balanced_accuracy", "micro_f1"):
        dist, metric = found.estimate(name), named_metric(name, range(3))
        np.testing.assert_allclose([dist.mean, dist.mode], metric.of_table(table), atol=1e-12)
        assert dist.sd < 1e-12 and dist.probability_defined == 1
    for pair in np.ndindex(3, 3):
        np.testing.assert_allclose(found.table.cell(*pair).mean, table[pair], atol=1e-12)
        np.testing.assert_allclose(
            found.table.rate(*pair).mean, table[pair] / table[pair[0]].sum(), atol=1e-12
        )


def test_labels_method_is_algorithm_3(multi3):
    _, lik, prior, y_pred = multi3
    found = multiclass_posterior(np.log(lik), prior, y_pred, key=KEY, method="labels", classes="abc")
    k = np.full((3, 3), 1 / 3)
    for _ in range(int(found.fit.num_steps)):
        y = su.testing_posterior(lik, prior, y_pred, k).argmax(1)
        table = np.array(su.confusion_counts(y, y_pred, 3))
        k = np.clip(table / table.sum(1, keepdims=True), 1e-3, 1 - 1e-3)
        k = k / k.sum(1, keepdims=True)
    np.testing.assert_allclose(found.fit.confusion, k, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.table.counts[0], table)
    assert found.estimate("accuracy").mean == np.mean(y == y_pred)
    np.testing.assert_allclose(found.estimate("recall[b]").mean, table[1, 1] / table[1].sum())
    assert (
        found.table.rate(2, 0).mean == table[2, 0] / table[2].sum()
        and found.table.cell(2, 0).mean == table[2, 0]
    )


def test_unfinished_draws_say_so(multi3, monkeypatch):
    _, lik, prior, y_pred = multi3
    monkeypatch.setattr(multiclass, "EFFORT", Effort(chains=4, burn_in=5, min_sweeps=16, max_sweeps=16))
    short = multiclass_posterior(np.log(lik), prior, y_pred, key=KEY)
    assert not short.fit.converged and "did not converge in" in short.warnings[0]


def test_a_known_label_and_a_class_that_never_occurs():
    lik, prior, y_pred = random_case(9, 60, 3, 3)
    lik[:5] = np.eye(3)[[0, 1, 1, 0, 0]]
    prior = np.array([0.5, 0.5, 0.0])
    with np.errstate(divide="ignore"):
        for method in MULTICLASS_METHODS:
            found = multiclass_posterior(np.log(lik), prior, y_pred, key=KEY, method=method)
            assert (found.table.counts[:, 2] == 0).all()
            assert found.fit is None or np.isfinite(found.fit.confusion).all()
            assert found.estimate("recall[2]").probability_defined == 0
            assert 0 < found.estimate("macro_recall").mean < 1
            assert found.table.cell(0, int(y_pred[0])).interval(0.99).low >= 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "magic"}, "method must be one of"),
        ({"y_pred": np.array([0, 3])}, r"y_pred\[1\] is 3"),
        ({"classes": "ab"}, "2 class names for 3 classes"),
        ({"prior": np.array([0.5, 0.6, 0.1])}, "sums to 1.2"),
    ],
)
def test_bad_input(as_installed, change, message):
    good = {"log_likelihood": np.zeros((2, 3)), "prior": np.full(3, 1 / 3), "y_pred": np.array([0, 1])}
    with pytest.raises(ValueError, match=message):
        multiclass_posterior(**{**good, **change}, key=KEY)
    with pytest.raises(ValueError, match="of one class: name it"):
        multiclass_posterior(**good, key=KEY, method="plug_in").estimate("recall")
