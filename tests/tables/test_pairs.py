"""Tables of tuples of predictions: marginals, differences and their terms against plain counting."""

import numpy as np
import pytest

from jtruth._host import lattice
from jtruth.tables.metrics import expected_table, named_metric
from jtruth.tables.pairs import new_by_tuples, new_difference, smaller_is_better, tuples
from jtruth.tables.posterior import TableDraws


@pytest.mark.parametrize(("classes", "classifiers", "size"), [(2, 2, 30), (3, 2, 4), (2, 5, 12)])
def test_a_table_of_tuples_holds_every_classifiers_own(classes, classifiers, size):
    rng = np.random.default_rng(0)
    y, codes = rng.integers(0, classes, size), rng.integers(0, classes, (classifiers, size))
    symbols, what = tuples(codes, classes)
    table = expected_table(np.eye(classes)[y], symbols, what.num_symbols)
    alone = [expected_table(np.eye(classes)[y], row, classes) for row in codes]
    assert what.num_symbols != classes  # never taken for a table of classes
    for k in range(classifiers):
        np.testing.assert_array_equal(what.marginal(table, k), alone[k])
    positive = classes - 1
    for name in ("accuracy", "recall", "precision", "kappa", "macro_f1"):
        metric = named_metric(name, range(classes), positive)
        values = [float(metric.of_table(one)) for one in alone]
        difference = what.difference(metric, 0, 1)
        np.testing.assert_allclose(what.of_one(metric, 1).of_table(table), values[1])
        np.testing.assert_allclose(difference.of_table(table), values[0] - values[1])
        for one, value in ((what.of_one(metric, 1), values[1]), (difference, values[0] - values[1])):
            above, below = one.terms(table)
            if np.isfinite(value):
                np.testing.assert_allclose((above * table).sum() / (below * table).sum(), value, atol=1e-6)


def test_terms_of_a_difference_are_exact_where_the_denominators_agree():
    _, what = tuples(np.array([[0, 1, 1, 0], [0, 0, 1, 1]]), 2)
    for name, exact in (("accuracy", True), ("recall", True), ("false_alarm_rate", True), ("f1", False)):
        assert (what.difference(named_metric(name), 0, 1).joint is not None) == exact


@pytest.mark.parametrize(("classes", "classifiers"), [(2, 2), (3, 2), (2, 4)])
def test_prior_of_tuples_gives_each_classifier_its_own(classes, classifiers):
    """Concentrations of the tuples in which a classifier says u add up to what it would have alone."""
    _, what = tuples(np.random.default_rng(1).integers(0, classes, (classifiers, 3)), classes)
    prior = what.prior(3.0, 0.7)
    assert prior.shape == (classes, what.num_symbols) and (prior > 0).all()
    np.testing.assert_allclose(prior.sum(axis=1), 3.0)
    every = np.array(np.unravel_index(np.arange(classes**classifiers), (classes,) * classifiers))
    whole = tuples(every, classes)[1].prior(3.0, 0.7)
    right = tuples(every, classes)[1].marginal(whole, 0)
    off = 3.0 * 0.3 / (classes - 1)
    np.testing.assert_allclose(right, np.where(np.eye(classes, dtype=bool), 2.1, off))


@pytest.mark.parametrize(("first", "empty"), [([0, 1, 1], 2), ([0, 1, 0], 1)])
def test_tuples_are_never_as_many_as_classes(first, empty):
    """Two tuples of three classes and one empty symbol would pass for what one classifier predicts."""
    symbols, what = tuples(np.array([first, [2, 1, 1]]), 3)
    assert what.num_empty == empty and what.num_symbols == 4 and symbols.max() == 3 - empty
    prior = what.prior(3.0, 0.7)  # what is left for tuples that do not occur is shared evenly
    np.testing.assert_allclose(
        prior[:, -empty:], (3 - prior[:, :-empty].sum(1))[:, None] / empty * np.ones(empty)
    )
    table = expected_table(np.eye(3)[[0, 1, 2]], symbols, what.num_symbols)
    assert np.trace(what.marginal(table, 0)) == 2 and np.trace(what.marginal(table, 1)) == 1


def test_smaller_is_better_for_false_alarms_alone():
    names = ("accuracy", "recall", "precision", "f2", "kappa", "mcc", "macro_f1", "false_alarm_rate")
    assert [n for n in names if smaller_is_better(named_metric(n))] == ["false_alarm_rate"]


def test_nothing_to_compare_is_refused(as_installed):
    with pytest.raises(ValueError, match="shape"):
        tuples(np.zeros((0, 3), int), 2)


@pytest.mark.parametrize("name", ["accuracy", "recall[2]", "false_alarm_rate[0]"])
def test_a_paired_difference_for_new_samples_is_that_of_four_cells(name):
    """Three classes, two possible truths of all samples: against a million draws of the four chances."""
    rng = np.random.default_rng(5)
    symbols, what = tuples(rng.integers(0, 3, (2, 40)), 3)
    counts = [expected_table(np.eye(3)[rng.integers(0, 3, 40)], symbols, what.num_symbols) for _ in range(2)]
    table, metric = TableDraws(np.array(counts)), named_metric(name, range(3))
    cells, sign = what.decided(metric, 0, 1), -1 if smaller_is_better(metric) else 1
    dist, drawn = new_difference(table, cells, sign), []
    for one in counts:
        first, second, size = (cells * one).sum(axis=(1, 2))
        chance = rng.dirichlet([first + 0.5, second + 0.5, size - first - second + 1], 500_000)
        drawn.append(sign * (chance[:, 0] - chance[:, 1]))
    drawn = np.concatenate(drawn)
    assert dist.above == pytest.approx((drawn > 0).mean(), abs=4.5 * 0.5 / 1000)
    assert (dist.draws > 0).mean() == pytest.approx(dist.above, abs=3e-3)
    np.testing.assert_allclose(dist.interval(0.9), np.quantile(drawn, [0.05, 0.95]), atol=4e-3)
    np.testing.assert_allclose([dist.mean, dist.sd], [drawn.mean(), drawn.std()], atol=1e-3)


def test_tuples_that_never_occur_may_in_new_samples():
    """Three samples on which only the first is right, none for the second: F1 is not better for certain."""
    y = np.arange(20) % 2
    codes = np.stack([y, np.where(np.arange(20) < 3, 1 - y, y)])
    symbols, what = tuples(codes[:, y == 1], 2)
    table = expected_table(np.eye(2)[y[y == 1]], symbols, what.num_symbols)
    new, laid = new_by_tuples(np.array([table]), what, 0)
    assert laid.num_symbols == 4 and len(new.counts) == 16_000
    gap = laid.difference(named_metric("f1"), 0, 1).of_table(new.counts)
    assert 0.005 < (gap < 0).mean() < 0.2
    assert what.same(0, 0) and not what.same(0, 1)


def test_a_lattice_is_even():
    points = lattice(8)
    assert (np.sort(points, axis=0) == points[:, :1]).all() and (np.diff(points[:, 0]) > 0).all()
    values = np.prod(1 + (points - 0.5) / 2, axis=1)  # of mean 1: a tenth of the error of as many draws
    assert abs(values.mean() - 1) < 0.1 * values.std() / np.sqrt(len(points))
    np.testing.assert_allclose(np.corrcoef(points.T), np.eye(8), atol=5e-3)
